/* elementwise.c: rows that take several passes of pointwise ones.
 *
 * Written as calls of rows, so a derivative follows from theirs.
 * Must not know: loops, derivatives.
 */
#include <math.h>
#include <string.h>

#include "ops/run.h"

/* ---- nan_to_num ---- */

static double greatest_finite(Dtype d) {
  switch (d) {
  case DTYPE_F16:
    return 65504;
  case DTYPE_BF16:
    return 0x1.fep127;
  case DTYPE_F32:
    return 0x1.fffffep127;
  default:
    return 0x1.fffffffffffffp1023;
  }
}

static Arg or_number(const Arg *given, double missing) {
  return given->kind != ARG_NONE ? *given : arg_number(missing);
}

Status run_nan_to_num(Context *c, Args *a, Tensor **r) {
  Tensor *x = a->at[0].tensor, *bounded = NULL;
  const double most = greatest_finite(x->dtype);
  Args infinite, nan;
  infinite.at[0] = arg_tensor(x);
  infinite.at[1] = or_number(&a->at[2], most);
  infinite.at[2] = or_number(&a->at[3], -most);
  Status s = op_call(c, OP_replace_infinite, &infinite, &bounded);
  if (s != OK) return s;
  nan.at[0] = arg_tensor(bounded);
  nan.at[1] = or_number(&a->at[1], 0);
  s = op_call(c, OP_replace_nan, &nan, r);
  tensor_release(c, bounded);
  return s;
}

/* ---- a third of a sum ---- */

/* self + value (a op b) */
static Status add_pair(Context *c, OpId op, const Args *a, Tensor **r) {
  Tensor *pair = NULL;
  Args both, sum;
  both.at[0] = a->at[1];
  both.at[1] = a->at[2];
  both.at[2].kind = ARG_NONE;
  Status s = op_call(c, op, &both, &pair);
  if (s != OK) return s;
  sum.at[0] = a->at[0];
  sum.at[1] = arg_tensor(pair);
  sum.at[2] = a->at[3];
  s = op_call(c, OP_add, &sum, r);
  tensor_release(c, pair);
  return s;
}

Status run_addcmul(Context *c, Args *a, Tensor **r) {
  return add_pair(c, OP_mul, a, r);
}

Status run_addcdiv(Context *c, Args *a, Tensor **r) {
  return add_pair(c, OP_div, a, r);
}

/* ---- isclose ---- */

/* The number or tensor of an argument in f64, on the device of x. */
static Status wide(Context *c, const Tensor *x, const Arg *arg, Tensor **r) {
  if (arg->kind != ARG_TENSOR)
    return op_scalar(c, tensor_device(x), DTYPE_F64, arg_f64(arg), r);
  return op_cast(c, arg->tensor, DTYPE_F64, r);
}

/* *most = absolute + relative |y| */
static Status tolerance(Context *c, Tensor *y, double relative, double absolute,
                        Tensor **most) {
  Tensor *size = NULL, *part = NULL;
  Status s = op_unary(c, OP_abs, y, &size);
  if (s == OK) s = op_with_number(c, OP_mul, size, relative, &part);
  if (s == OK) s = op_with_number(c, OP_add, part, absolute, most);
  tensor_release(c, size);
  tensor_release(c, part);
  return s;
}

/* *near = |x - y| <= most, the difference being finite */
static Status within(Context *c, Tensor *x, Tensor *y, Tensor *most,
                     Tensor **near) {
  Tensor *apart = NULL, *size = NULL, *finite = NULL, *small = NULL;
  Status s = op_binary(c, OP_sub, x, y, &apart);
  if (s == OK) s = op_unary(c, OP_abs, apart, &size);
  if (s == OK) s = op_unary(c, OP_isfinite, size, &finite);
  if (s == OK) s = op_binary(c, OP_le, size, most, &small);
  if (s == OK) s = op_binary(c, OP_logical_and, finite, small, near);
  tensor_release(c, apart);
  tensor_release(c, size);
  tensor_release(c, finite);
  tensor_release(c, small);
  return s;
}

/* *r = is, or both x and y are NaN */
static Status or_both_nan(Context *c, Tensor *is, Tensor *x, Tensor *y,
                          Tensor **r) {
  Tensor *x_nan = NULL, *y_nan = NULL, *both = NULL;
  Status s = op_unary(c, OP_isnan, x, &x_nan);
  if (s == OK) s = op_unary(c, OP_isnan, y, &y_nan);
  if (s == OK) s = op_binary(c, OP_logical_and, x_nan, y_nan, &both);
  if (s == OK) s = op_binary(c, OP_logical_or, is, both, r);
  tensor_release(c, x_nan);
  tensor_release(c, y_nan);
  tensor_release(c, both);
  return s;
}

/* In f64; but equal is what is equal in its own dtype. */
static Status is_close(Context *c, Args *a, Tensor **r) {
  Tensor *self = a->at[0].tensor, *x = NULL, *y = NULL, *most = NULL;
  Tensor *near = NULL, *same = NULL, *close = NULL;
  Args both;
  both.at[0] = a->at[0];
  both.at[1] = a->at[1];
  Status s = wide(c, self, &a->at[0], &x);
  if (s == OK) s = wide(c, self, &a->at[1], &y);
  if (s == OK)
    s = tolerance(c, y, args_number(OP_isclose, a, 2),
                  args_number(OP_isclose, a, 3), &most);
  if (s == OK) s = within(c, x, y, most, &near);
  if (s == OK) s = op_call(c, OP_eq, &both, &same);
  if (s == OK) s = op_binary(c, OP_logical_or, near, same, &close);
  if (s == OK && args_integer(OP_isclose, a, 4) != 0)
    s = or_both_nan(c, close, x, y, r);
  else if (s == OK)
    *r = tensor_share(close);
  tensor_release(c, x);
  tensor_release(c, y);
  tensor_release(c, most);
  tensor_release(c, near);
  tensor_release(c, same);
  tensor_release(c, close);
  return s;
}

Status run_isclose(Context *c, Args *a, Tensor **r) {
  const bool records = c->is_recording;
  c->is_recording = false; /* flat: nothing inside needs a graph */
  const Status s = is_close(c, a, r);
  c->is_recording = records;
  return s;
}
