/* rules_scan.h: pulls and pushes of scans, in tracked ops.  Functions give a
 * borrowed tensor, NULL on failure (tape.h). */
#ifndef TENSUS_RULES_SCAN_H
#define TENSUS_RULES_SCAN_H

#include "grad/tape.h"

/* Product of what comes before each element along dim, or after it. */
Tensor *product_before(Tape *t, Tensor *x, int dim, bool after);

Tensor *cumsum_back(Tape *t, Tensor *g);
Tensor *cumprod_back(Tape *t, Tensor *g);
Tensor *cumprod_push(Tape *t, Tensor *tx);
Tensor *logcumsumexp_back(Tape *t, Tensor *g);
Tensor *logcumsumexp_push(Tape *t, Tensor *tx);
Tensor *chain_factor(Tape *t, Tensor *g);
Tensor *chain_term(Tape *t, Tensor *g);
Tensor *chain_push(Tape *t, Tensor *tf, Tensor *tt);
Tensor *places_back(Tape *t, Tensor *g);
Tensor *places_push(Tape *t, Tensor *tx);

#endif
