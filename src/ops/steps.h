/* steps.h: straight-line code in rows, for composed ops.
 *
 * Steps own what they make and remember the first failure, so that calls nest
 * without checks: every function takes and gives borrowed tensors, and NULL
 * once steps->status is not OK.  In a loop, step_next keeps one of them.
 * Must not know: what is computed.
 */
#ifndef TENSUS_STEPS_H
#define TENSUS_STEPS_H

#include "ops/ops.h"

enum { STEPS_ROOM = 64 }; /* matrix_exp makes some fifty */

typedef struct Steps {
  Context *c;
  Status status;
  int count;
  Tensor *made[STEPS_ROOM]; /* owned */
} Steps;

Steps steps_open(Context *c);
/* Releases what was made; *r = result (borrowed, of the steps) as a new
 * reference, unless they failed; r NULL: there is none. */
Status steps_close(Steps *t, Tensor *result, Tensor **r);

/* Hand a fresh reference to the steps. */
Tensor *step_own(Steps *t, Status s, Tensor *x);
/* Forget all but the first `kept` that were made, and x. */
Tensor *step_next(Steps *t, int kept, Tensor *x);

/* Is all well?  Remembers s if it is the first failure. */
bool step_check(Steps *t, Status s);

/* Arguments with x first and all others left out. */
Args step_args(OpId op, Tensor *x);
Tensor *step_call(Steps *t, OpId op, const Args *a, int result);
/* The row of x and one more argument. */
Tensor *step_with(Steps *t, OpId op, Tensor *x, Arg y);
Tensor *step_unary(Steps *t, OpId op, Tensor *x);
Tensor *step_binary(Steps *t, OpId op, Tensor *x, Tensor *y);
Tensor *step_number(Steps *t, OpId op, Tensor *x, double y);
Tensor *step_cast(Steps *t, Tensor *x, Dtype dtype);
Tensor *step_reshape(Steps *t, Tensor *x, int rank, const int64_t *size);
Tensor *step_where(Steps *t, Tensor *mask, Tensor *x, Tensor *y);
Tensor *step_turn(Steps *t, Tensor *x); /* the last two axes swapped */
Tensor *step_axis(Steps *t, Tensor *x, int dim); /* one of size 1 put in */
/* A fold over one axis, kept as size 1 or not. */
Tensor *step_fold(Steps *t, OpId op, Tensor *x, int dim, bool keep);

#endif
