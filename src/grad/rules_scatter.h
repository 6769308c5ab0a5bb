/* rules_scatter.h: pulls and pushes of reductions over what an index brings
 * together.  Functions give a borrowed tensor, NULL on failure (tape.h). */
#ifndef TENSUS_RULES_SCATTER_H
#define TENSUS_RULES_SCATTER_H

#include "grad/tape.h"

/* Equal extremes, self among them, share. */
Tensor *scatter_ties_x(Tape *t, Tensor *g);
Tensor *scatter_ties_source(Tape *t, Tensor *g);
Tensor *scatter_ties_push(Tape *t, Tensor *tx, Tensor *tz);

/* The product of the other factors, also where some are 0. */
Tensor *scatter_prod_x(Tape *t, Tensor *g);
Tensor *scatter_prod_source(Tape *t, Tensor *g);
Tensor *scatter_prod_push(Tape *t, Tensor *tx, Tensor *tz);

#endif
