/* rules_reduction.h: pulls and pushes of reductions, in tracked ops.  Functions
 * give a borrowed tensor, NULL on failure (tape.h). */
#ifndef TENSUS_RULES_REDUCTION_H
#define TENSUS_RULES_REDUCTION_H

#include "grad/tape.h"

Tensor *prod_back(Tape *t, Tensor *g);
Tensor *prod_push(Tape *t, Tensor *tx);
Tensor *var_back(Tape *t, Tensor *g);
Tensor *var_push(Tape *t, Tensor *tx);
Tensor *std_back(Tape *t, Tensor *g);
Tensor *std_push(Tape *t, Tensor *tx);
Tensor *norm_back(Tape *t, Tensor *g);
Tensor *norm_push(Tape *t, Tensor *tx);

#endif
