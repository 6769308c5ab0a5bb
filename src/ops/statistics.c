/* statistics.c: means, sums and differences written in rows; their derivative
 * follows from the rows.
 *
 * These functions run through op_call, so each row records itself.
 * Must not know: how a fold runs.
 */
#include "ops/reduce.h"
#include "ops/run.h"

/* ---- means ---- */

/* *out: the dtype of a mean; *wide: what is added in.  Halves would overflow
 * at 65504 before they are divided, and integers wrap. */
static Status mean_dtypes(Context *c, const Tensor *x, const Arg *asked,
                          Dtype *out, Dtype *wide) {
  const bool is_float = dtype_class(x->dtype) == CLASS_FLOAT;
  *out = is_float ? x->dtype : c->default_dtype;
  if (asked->kind != ARG_NONE) *out = (Dtype)asked->integer;
  if (dtype_class(*out) != CLASS_FLOAT)
    return fail(c, E_DTYPE, "%A is %s; a mean is a float", "dtype",
                dtype_name(*out));
  *wide = is_float ? dtype_compute(*out) : DTYPE_F64;
  return OK;
}

/* *r = sum of x over the dims of `a` (self, dim, keepdim), added in `wide`. */
static Status wide_sum(Context *c, Tensor *x, const Args *a, Dtype wide,
                       Tensor **r) {
  Args sum;
  sum.at[0] = arg_tensor(x);
  sum.at[1] = a->at[1];
  sum.at[2] = a->at[2];
  sum.at[3] = arg_integer(wide);
  return op_call(c, OP_sum, &sum, r);
}

Status run_mean(Context *c, Args *a, Tensor **r) {
  Tensor *x = a->at[0].tensor, *sum = NULL, *mean = NULL;
  bool gone[MAX_RANK];
  Dtype out, wide;
  Status s = check_dims(c, &a->at[1], x, gone);
  if (s == OK) s = mean_dtypes(c, x, &a->at[3], &out, &wide);
  if (s != OK) return s;
  const double n = (double)reduce_count(x, gone);
  s = wide_sum(c, x, a, wide, &sum);
  if (s == OK) s = op_with_number(c, OP_div, sum, n, &mean);
  if (s == OK) s = op_cast(c, mean, out, &r[0]);
  tensor_release(c, sum);
  tensor_release(c, mean);
  return s;
}

/* ---- NaN left out ---- */

/* *r = x with 0 where it is NaN; x itself for integers. */
static Status without_nan(Context *c, Tensor *x, Tensor **r) {
  Tensor *nan = NULL, *zero = NULL;
  if (dtype_class(x->dtype) != CLASS_FLOAT) {
    *r = tensor_share(x);
    return OK;
  }
  Status s = op_unary(c, OP_isnan, x, &nan);
  if (s == OK) s = op_scalar(c, tensor_device(x), x->dtype, 0, &zero);
  if (s == OK) s = op_ternary(c, OP_where, nan, zero, x, r);
  tensor_release(c, nan);
  tensor_release(c, zero);
  return s;
}

Status run_nansum(Context *c, Args *a, Tensor **r) {
  Tensor *kept = NULL;
  Args sum = *a;
  Status s = without_nan(c, a->at[0].tensor, &kept);
  sum.at[0] = arg_tensor(kept);
  sum.at[3].kind = ARG_NONE;
  if (s == OK) s = op_call(c, OP_sum, &sum, r);
  tensor_release(c, kept);
  return s;
}

/* *r = how many elements are not NaN, as numbers of `dtype`. */
static Status count_numbers(Context *c, Tensor *x, const Args *a, Dtype dtype,
                            Tensor **r) {
  Tensor *is = NULL, *count = NULL;
  Args sum = *a;
  Status s = op_binary(c, OP_eq, x, x, &is);
  sum.at[0] = arg_tensor(is);
  sum.at[3].kind = ARG_NONE;
  if (s == OK) s = op_call(c, OP_sum, &sum, &count);
  if (s == OK) s = op_cast(c, count, dtype, r);
  tensor_release(c, is);
  tensor_release(c, count);
  return s;
}

Status run_nanmean(Context *c, Args *a, Tensor **r) {
  Tensor *x = a->at[0].tensor, *kept = NULL, *sum = NULL, *count = NULL;
  Tensor *mean = NULL;
  const Arg none = {.kind = ARG_NONE};
  Dtype out, wide;
  Status s = mean_dtypes(c, x, &none, &out, &wide);
  if (s == OK) s = without_nan(c, x, &kept);
  if (s == OK) s = wide_sum(c, kept, a, wide, &sum);
  if (s == OK) s = count_numbers(c, x, a, wide, &count);
  if (s == OK) s = op_binary(c, OP_div, sum, count, &mean);
  if (s == OK) s = op_cast(c, mean, out, &r[0]);
  tensor_release(c, kept);
  tensor_release(c, sum);
  tensor_release(c, count);
  tensor_release(c, mean);
  return s;
}

/* ---- two results ---- */

static Status spread_and_mean(Context *c, OpId spread, Args *a, Tensor **r) {
  Args mean = *a;
  mean.at[3].kind = ARG_NONE;
  const Status s = op_call(c, spread, a, &r[0]);
  return s != OK ? s : op_call(c, OP_mean, &mean, &r[1]);
}

Status run_var_mean(Context *c, Args *a, Tensor **r) {
  return spread_and_mean(c, OP_var, a, r);
}

Status run_std_mean(Context *c, Args *a, Tensor **r) {
  return spread_and_mean(c, OP_std, a, r);
}

Status run_aminmax(Context *c, Args *a, Tensor **r) {
  const Status s = op_call(c, OP_amin, a, &r[0]);
  return s != OK ? s : op_call(c, OP_amax, a, &r[1]);
}

/* ---- unit length ---- */

Status run_normalize(Context *c, Args *a, Tensor **r) {
  Tensor *x = a->at[0].tensor, *length = NULL, *size = NULL;
  int dim = 0;
  Status s = check_dim(c, "dim", a->at[1].integer, x->shape.rank, x, &dim);
  if (s != OK) return s;
  const int64_t dims[] = {dim};
  Args norm, least;
  norm.at[0] = arg_tensor(x);
  norm.at[1] = arg_number(args_number(OP_normalize, a, 2));
  norm.at[2] = arg_sizes(x->shape.rank > 0, dims);
  norm.at[3] = arg_integer(1);
  s = op_call(c, OP_norm, &norm, &length);
  least.at[0] = arg_tensor(length);
  least.at[1] = arg_number(args_number(OP_normalize, a, 3));
  least.at[2].kind = ARG_NONE;
  if (s == OK) s = op_call(c, OP_clamp, &least, &size);
  if (s == OK) s = op_binary(c, OP_div, x, size, &r[0]);
  tensor_release(c, length);
  tensor_release(c, size);
  return s;
}

/* ---- differences ---- */

/* *r = positions `first` to `first + length - 1` of dim. */
static Status narrow(Context *c, Tensor *x, int dim, int64_t first,
                     int64_t length, Tensor **r) {
  Args a;
  a.at[0] = arg_tensor(x);
  a.at[1] = arg_integer(dim);
  a.at[2] = arg_integer(first);
  a.at[3] = arg_integer(length);
  return op_call(c, OP_narrow, &a, r);
}

/* *r = x[1 ..] - x[.. n - 1] along dim; empty when n is 0 or 1. */
static Status difference(Context *c, Tensor *x, int dim, Tensor **r) {
  Tensor *later = NULL, *earlier = NULL;
  const int64_t n = x->shape.size[dim], length = n > 0 ? n - 1 : 0;
  Status s = narrow(c, x, dim, n - length, length, &later);
  if (s == OK) s = narrow(c, x, dim, 0, length, &earlier);
  if (s == OK) s = op_binary(c, OP_sub, later, earlier, r);
  tensor_release(c, later);
  tensor_release(c, earlier);
  return s;
}

Status run_diff(Context *c, Args *a, Tensor **r) {
  Tensor *x = a->at[0].tensor;
  const int64_t times = args_integer(OP_diff, a, 1);
  int dim = 0;
  Status s = check_rank(c, "self", x, 1, MAX_RANK);
  if (s == OK)
    s = check_dim(c, "dim", args_integer(OP_diff, a, 2), x->shape.rank, x,
                  &dim);
  if (s == OK && times < 0)
    s = fail(c, E_RANGE, "%A is %I; it must be 0 or more", "n", times);
  if (s != OK) return s;
  Tensor *y = tensor_share(x);
  for (int64_t k = 0; k < times && y->shape.size[dim] > 0 && s == OK; k++) {
    Tensor *next = NULL;
    s = difference(c, y, dim, &next);
    tensor_release(c, y);
    y = next;
  }
  r[0] = y;
  return s;
}
