/* moments.c: how far elements lie apart, and how long they are: var, std, norm.
 *
 * All is added in f64: squares of any f32 fit there, and a mean of 1e8 leaves
 * room for the digits of its elements.
 * Must not know: in which order elements are added (rows/fold.def).
 */
#include <math.h>

#include "ops/reduce.h"
#include "ops/run.h"

static Status fold_wide(Context *c, FoldId fold, const Tensor *x,
                        const bool *gone, const Tensor *by, Tensor **r) {
  const FoldCall f = {.fold = fold, .gone = gone, .keep = true, .by = by,
                      .compute = DTYPE_F64, .out = DTYPE_F64};
  return reduce_fold(c, x, &f, r);
}

/* ---- var, std ---- */

/* *mean and *spread = sum(x - mean)^2, in f64; axes kept as size 1. */
static Status spread_of(Context *c, const Tensor *x, const bool *gone,
                        Tensor **mean, Tensor **spread) {
  Tensor *sum = NULL;
  const double n = (double)reduce_count(x, gone);
  Status s = fold_wide(c, FOLD_sum, x, gone, NULL, &sum);
  if (s == OK) s = op_with_number(c, OP_div, sum, n, mean);
  if (s == OK) s = fold_wide(c, FOLD_spread, x, gone, *mean, spread);
  tensor_release(c, sum);
  return s;
}

/* r[1], hidden: the mean. */
static Status variance(Context *c, OpId op, Args *a, Tensor **r) {
  const Tensor *x = a->at[0].tensor;
  Tensor *spread = NULL, *var = NULL, *root = NULL, *kept = NULL;
  bool gone[MAX_RANK], keep;
  Status s = reduce_args(c, op, a, gone, &keep);
  if (s != OK) return s;
  const double n = (double)reduce_count(x, gone);
  const double freedom = n - args_number(op, a, 3);
  const bool is_float = dtype_class(x->dtype) == CLASS_FLOAT;
  s = spread_of(c, x, gone, &r[1], &spread);
  if (s == OK)
    s = op_with_number(c, OP_div, spread,
                       n > 0 && freedom > 0 ? freedom : (double)NAN, &var);
  if (s == OK && op == OP_std) s = op_unary(c, OP_sqrt, var, &root);
  if (s == OK)
    s = op_cast(c, root != NULL ? root : var,
                is_float ? x->dtype : c->default_dtype, &kept);
  if (s == OK) s = reduce_drop(c, kept, gone, keep, &r[0]);
  tensor_release(c, spread);
  tensor_release(c, var);
  tensor_release(c, root);
  tensor_release(c, kept);
  return s;
}

Status run_var(Context *c, Args *a, Tensor **r) {
  return variance(c, OP_var, a, r);
}

Status run_std(Context *c, Args *a, Tensor **r) {
  return variance(c, OP_std, a, r);
}

/* ---- norm: axes kept as size 1, in any float dtype ---- */

static Status fold_abs(Context *c, FoldId fold, const Tensor *x,
                       const bool *gone, Tensor **r) {
  const FoldCall f = {.fold = fold, .gone = gone, .keep = true,
                      .compute = dtype_compute(x->dtype), .out = x->dtype};
  return reduce_fold(c, x, &f, r);
}

/* *r = `yes` where `test` holds for x against `bound`, else no. */
static Status pick(Context *c, OpId test, Tensor *x, double bound, double yes,
                   Tensor *no, Tensor **r) {
  Tensor *is = NULL, *value = NULL;
  Status s = op_with_number(c, test, x, bound, &is);
  if (s == OK) s = op_scalar(c, tensor_device(x), x->dtype, yes, &value);
  if (s == OK) s = op_ternary(c, OP_where, is, value, no, r);
  tensor_release(c, is);
  tensor_release(c, value);
  return s;
}

/* *scale: a power of 2 for each result that brings its greatest element where
 * squares neither vanish nor overflow: n times 2^960 fits for every n. */
static Status scale_of(Context *c, const Tensor *x, const bool *gone,
                       Tensor **scale) {
  Tensor *top = NULL, *one = NULL, *small = NULL;
  Status s = fold_abs(c, FOLD_abs_max, x, gone, &top);
  if (s == OK) s = op_scalar(c, tensor_device(x), DTYPE_F64, 1, &one);
  if (s == OK) s = pick(c, OP_lt, top, 0x1p-480, 0x1p600, one, &small);
  if (s == OK) s = pick(c, OP_gt, top, 0x1p480, 0x1p-600, small, scale);
  tensor_release(c, top);
  tensor_release(c, one);
  tensor_release(c, small);
  return s;
}

static Status norm_2(Context *c, const Tensor *x, const bool *gone,
                     Tensor **r) {
  Tensor *scale = NULL, *squares = NULL, *root = NULL;
  const bool scales = x->dtype == DTYPE_F64;
  Status s = OK;
  if (scales) s = scale_of(c, x, gone, &scale);
  if (s == OK)
    s = fold_wide(c, scales ? FOLD_scaled : FOLD_squares, x, gone, scale,
                  &squares);
  if (s == OK) s = op_unary(c, OP_sqrt, squares, &root);
  if (s == OK && scales) s = op_binary(c, OP_div, root, scale, r);
  if (s == OK && !scales) *r = tensor_share(root);
  tensor_release(c, scale);
  tensor_release(c, squares);
  tensor_release(c, root);
  return s;
}

/* (sum (|x| / top)^p)^(1/p), top being the extreme that lets no term exceed
 * 1; NaN where top is 0 or infinite. */
static Status power_sum(Context *c, Tensor *x, const bool *gone, double p,
                        Tensor *top, Tensor **r) {
  Tensor *size = NULL, *ratio = NULL, *power = NULL, *sum = NULL;
  Status s = op_unary(c, OP_abs, x, &size);
  if (s == OK) s = op_binary(c, OP_div, size, top, &ratio);
  if (s == OK) s = op_with_number(c, OP_pow, ratio, p, &power);
  if (s == OK) s = fold_wide(c, FOLD_sum, power, gone, NULL, &sum);
  if (s == OK) s = op_with_number(c, OP_pow, sum, 1 / p, r);
  tensor_release(c, size);
  tensor_release(c, ratio);
  tensor_release(c, power);
  tensor_release(c, sum);
  return s;
}

/* *r = top is finite and not 0: else it is the norm itself. */
static Status is_ordinary(Context *c, Tensor *top, Tensor **r) {
  Tensor *live = NULL, *finite = NULL;
  Status s = op_with_number(c, OP_gt, top, 0, &live);
  if (s == OK) s = op_unary(c, OP_isfinite, top, &finite);
  if (s == OK) s = op_binary(c, OP_logical_and, live, finite, r);
  tensor_release(c, live);
  tensor_release(c, finite);
  return s;
}

static Status norm_p(Context *c, Tensor *self, const bool *gone, double p,
                     Tensor **r) {
  Tensor *x = NULL, *top = NULL, *sum = NULL, *product = NULL, *is = NULL;
  const FoldId extreme = p > 0 ? FOLD_abs_max : FOLD_abs_min;
  Status s = op_cast(c, self, dtype_compute(self->dtype), &x);
  if (s == OK) s = fold_abs(c, extreme, x, gone, &top);
  if (s == OK) s = power_sum(c, x, gone, p, top, &sum);
  if (s == OK) s = op_binary(c, OP_mul, sum, top, &product);
  if (s == OK) s = is_ordinary(c, top, &is);
  if (s == OK) s = op_ternary(c, OP_where, is, product, top, r);
  tensor_release(c, x);
  tensor_release(c, top);
  tensor_release(c, sum);
  tensor_release(c, product);
  tensor_release(c, is);
  return s;
}

static Status norm_of(Context *c, Tensor *x, const bool *gone, double p,
                      Tensor **r) {
  if (reduce_count(x, gone) == 0) /* 0, whatever p says */
    return fold_abs(c, FOLD_abs_max, x, gone, r);
  if (p == 0) return fold_wide(c, FOLD_count, x, gone, NULL, r);
  if (p == 1) return fold_wide(c, FOLD_sum_abs, x, gone, NULL, r);
  if (p == 2) return norm_2(c, x, gone, r);
  if (isinf(p))
    return fold_abs(c, p > 0 ? FOLD_abs_max : FOLD_abs_min, x, gone, r);
  return norm_p(c, x, gone, p, r);
}

/* The rows that it calls are not recorded: norm has its own derivative. */
Status run_norm(Context *c, Args *a, Tensor **r) {
  Tensor *x = NULL, *wide = NULL, *kept = NULL;
  const double p = args_number(OP_norm, a, 1);
  bool gone[MAX_RANK], keep;
  Status s = reduce_args(c, OP_norm, a, gone, &keep);
  if (s == OK && isnan(p)) s = fail(c, E_RANGE, "%A is NaN", "p");
  if (s == OK && p == (double)-INFINITY)
    s = reduce_check_not_empty(c, a->at[0].tensor, gone, "norm of order -inf");
  if (s == OK) s = tensor_alias(c, a->at[0].tensor, &x);
  if (s == OK) s = norm_of(c, x, gone, p, &wide);
  if (s == OK) s = op_cast(c, wide, x->dtype, &kept);
  if (s == OK) s = reduce_drop(c, kept, gone, keep, &r[0]);
  tensor_release(c, x);
  tensor_release(c, wide);
  tensor_release(c, kept);
  return s;
}
