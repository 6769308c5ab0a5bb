/* steps.c: see steps.h. */
#include "ops/steps.h"

Steps steps_open(Context *c) {
  Steps t;
  t.c = c;
  t.status = OK;
  t.count = 0;
  return t;
}

Status steps_close(Steps *t, Tensor *result, Tensor **r) {
  if (t->status == OK && r != NULL) *r = tensor_share(result);
  for (int i = 0; i < t->count; i++) tensor_release(t->c, t->made[i]);
  t->count = 0;
  return t->status;
}

Tensor *step_own(Steps *t, Status s, Tensor *x) {
  if (s == OK && never(t->count == STEPS_ROOM))
    s = fail(t->c, E_STATE, "too many steps");
  if (s != OK) {
    tensor_release(t->c, x);
    if (t->status == OK) t->status = s;
    return NULL;
  }
  return t->made[t->count++] = x;
}

Tensor *step_next(Steps *t, int kept, Tensor *x) {
  if (x != NULL) tensor_share(x);
  while (t->count > kept) tensor_release(t->c, t->made[--t->count]);
  return step_own(t, t->status, x);
}

bool step_check(Steps *t, Status s) {
  if (t->status == OK) t->status = s;
  return t->status == OK;
}

Args step_args(OpId op, Tensor *x) {
  Args a;
  for (int k = 0; k < op_rows[op].params; k++) a.at[k].kind = ARG_NONE;
  a.at[0] = arg_tensor(x);
  return a;
}

Tensor *step_with(Steps *t, OpId op, Tensor *x, Arg y) {
  Args a = step_args(op, x);
  a.at[1] = y;
  return step_call(t, op, &a, 0);
}

Tensor *step_reshape(Steps *t, Tensor *x, int rank, const int64_t *size) {
  return step_with(t, OP_reshape, x, arg_sizes(rank, size));
}

Tensor *step_call(Steps *t, OpId op, const Args *a, int result) {
  Tensor *r[MAX_RESULTS] = {NULL};
  if (t->status != OK) return NULL;
  const Status s = op_call(t->c, op, a, r);
  for (int k = 0; k < MAX_RESULTS; k++)
    if (k != result) tensor_release(t->c, r[k]);
  return step_own(t, s, r[result]);
}

Tensor *step_unary(Steps *t, OpId op, Tensor *x) {
  Tensor *r = NULL;
  if (t->status != OK) return NULL;
  const Status s = op_unary(t->c, op, x, &r);
  return step_own(t, s, r);
}

Tensor *step_binary(Steps *t, OpId op, Tensor *x, Tensor *y) {
  Tensor *r = NULL;
  if (t->status != OK) return NULL;
  const Status s = op_binary(t->c, op, x, y, &r);
  return step_own(t, s, r);
}

Tensor *step_number(Steps *t, OpId op, Tensor *x, double y) {
  Tensor *r = NULL;
  if (t->status != OK) return NULL;
  const Status s = op_with_number(t->c, op, x, y, &r);
  return step_own(t, s, r);
}

Tensor *step_cast(Steps *t, Tensor *x, Dtype dtype) {
  Tensor *r = NULL;
  if (t->status != OK) return NULL;
  const Status s = op_cast(t->c, x, dtype, &r);
  return step_own(t, s, r);
}

Tensor *step_where(Steps *t, Tensor *mask, Tensor *x, Tensor *y) {
  Tensor *r = NULL;
  if (t->status != OK) return NULL;
  const Status s = op_ternary(t->c, OP_where, mask, x, y, &r);
  return step_own(t, s, r);
}

Tensor *step_turn(Steps *t, Tensor *x) {
  Tensor *r = NULL;
  if (t->status != OK) return NULL;
  const Status s = op_transpose(t->c, x, -2, -1, &r);
  return step_own(t, s, r);
}

Tensor *step_axis(Steps *t, Tensor *x, int dim) {
  Args a = {0};
  a.at[0] = arg_tensor(x);
  a.at[1] = arg_integer(dim);
  return step_call(t, OP_unsqueeze, &a, 0);
}

Tensor *step_fold(Steps *t, OpId op, Tensor *x, int dim, bool keep) {
  Args a = {0};
  const int64_t dims = dim;
  a.at[0] = arg_tensor(x);
  a.at[1] = arg_sizes(1, &dims);
  a.at[2] = arg_integer(keep);
  return step_call(t, op, &a, 0);
}
