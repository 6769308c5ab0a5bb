/* pointwise.h: the fused pull of a pointwise row, for grad/. */
#ifndef TENSUS_OPS_POINTWISE_H
#define TENSUS_OPS_POINTWISE_H

#include "ops/ops.h"

/* *r = column `which` (0 gx, 1 gy, 2 gz) of row `op`, in one pass: in = x, y,
 * z, r, g as ARG_TENSOR, as numbers, or ARG_NONE where the column does not
 * read.  g is given; the result has its shape and dtype; all broadcast to it.
 * Not tracked.  E_MEMORY, E_INTERRUPTED. */
Status pointwise_pull(Context *c, OpId op, int which, const Arg in[5],
                      Tensor **r);

#endif
