/* reduce.h: folds over axes, for the rows that are made of them.
 *
 * `gone`: which axes are reduced.  None of this is tracked.
 */
#ifndef TENSUS_OPS_REDUCE_H
#define TENSUS_OPS_REDUCE_H

#include "ops/ops.h"

/* gone: borrowed; keep: reduced axes stay, of size 1; by: NULL, or BY of
 * rows/fold.def: contiguous, of the compute type, one for each result. */
typedef struct FoldCall {
  FoldId fold;
  const bool *gone;
  bool keep;
  Dtype compute, out;
  const Tensor *by;
} FoldCall;

/* *r = the fold of x, contiguous, of dtype f->out. */
Status reduce_fold(Context *c, const Tensor *x, const FoldCall *f, Tensor **r);

/* Dims and keepdim of a row; the dims of *a become resolved ones.
 * E_DIM, E_DUPLICATE. */
Status reduce_args(Context *c, OpId op, Args *a, bool gone[MAX_RANK],
                   bool *keep);

/* How many elements of x meet in one of the result. */
int64_t reduce_count(const Tensor *x, const bool gone[MAX_RANK]);

/* *r = `kept`, whose reduced axes have size 1, with them or without. */
Status reduce_drop(Context *c, const Tensor *kept, const bool gone[MAX_RANK],
                   bool keep, Tensor **r);

/* E_EMPTY where a reduced axis is empty; `what` has no identity. */
Status reduce_check_not_empty(Context *c, const Tensor *x,
                              const bool gone[MAX_RANK], const char *what);

#endif
