/* matrix.c: linear algebra written in rows: their derivatives follow.
 *
 * Also the pseudo-inverse and the rank, which read an SVD and have a rule, or
 * none, of their own.
 * Must not know: how a matrix is factored.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "ops/run.h"
#include "ops/steps.h"

/* max(m, n) units of the dtype that x computes in. */
static double roundoff(const Tensor *x) {
  const int64_t *size = x->shape.size + x->shape.rank - 2;
  const double unit =
      dtype_compute(x->dtype) == DTYPE_F64 ? DBL_EPSILON : FLT_EPSILON;
  return (double)max_i64(size[0], size[1]) * unit;
}

/* Row `op` of x alone, result number `result`. */
static Tensor *part(Steps *t, OpId op, Tensor *x, int result) {
  Args a = {0};
  a.at[0] = arg_tensor(x);
  return step_call(t, op, &a, result);
}

/* x in the dtype that it computes in: a result is rounded once, by close. */
static Tensor *widen(Steps *t, Tensor *x) {
  return step_cast(t, x, dtype_compute(x->dtype));
}

/* *r = y in the dtype of `like`. */
static Status close_like(Steps *t, Tensor *y, const Tensor *like, Tensor **r) {
  return steps_close(t, step_cast(t, y, like->dtype), r);
}

/* ---- what several results are made of ---- */

/* The sign is flat: it leaves the graph. */
Status run_slogdet(Context *c, Args *a, Tensor **r) {
  Tensor *both[MAX_RESULTS] = {NULL};
  Status s = op_call(c, OP_slogdet_parts, a, both);
  if (s == OK) s = op_unary(c, OP_detach, both[0], &r[0]);
  tensor_release(c, both[0]);
  r[1] = both[1];
  return s;
}

Status run_qr(Context *c, Args *a, Tensor **r) {
  enum { REDUCED, COMPLETE, R };
  const int64_t mode = args_integer(OP_qr, a, 1);
  Tensor *both[MAX_RESULTS] = {NULL};
  Args pair = {0};
  pair.at[0] = a->at[0];
  pair.at[1] = arg_integer(mode == COMPLETE);
  const Status s = op_call(c, OP_qr_pair, &pair, both);
  if (mode != R) {
    r[0] = both[0], r[1] = both[1];
  } else {
    tensor_release(c, both[0]);
    r[0] = both[1];
  }
  return s;
}

/* ---- solutions ---- */

static Tensor *solve_triangle(Steps *t, Tensor *x, Tensor *y, bool upper) {
  Args a = {0};
  a.at[0] = arg_tensor(x);
  a.at[1] = arg_tensor(y);
  a.at[2] = arg_integer(upper);
  return step_call(t, OP_triangular_solve, &a, 0);
}

/* L L' x = y, or U' U x = y. */
Status run_cholesky_solve(Context *c, Args *a, Tensor **r) {
  Tensor *y = a->at[0].tensor, *factor = a->at[1].tensor;
  const bool upper = args_integer(OP_cholesky_solve, a, 2) != 0;
  Status s = check_rank(c, "factor", factor, 2, MAX_RANK);
  if (s == OK) s = check_matrix(c, "self", y);
  if (s == OK) s = check_same_dtype(c, "self", y, "factor", factor);
  if (s != OK) return s;
  Steps t = steps_open(c);
  factor = widen(&t, factor);
  Tensor *turned = step_turn(&t, factor);
  Tensor *half =
      solve_triangle(&t, upper ? turned : factor, widen(&t, y), false);
  Tensor *x = solve_triangle(&t, upper ? factor : turned, half, true);
  return close_like(&t, x, y, &r[0]);
}

Status run_lstsq(Context *c, Args *a, Tensor **r) {
  Tensor *x = a->at[0].tensor, *y = a->at[1].tensor;
  Status s = check_matrix(c, "self", x);
  if (s == OK) s = check_same_device(c, "self", x, "other", y);
  if (s == OK) s = check_same_dtype(c, "self", x, "other", y);
  if (s == OK) s = check_rank(c, "other", y, 1, MAX_RANK);
  if (s != OK) return s;
  const int xdim = x->shape.rank - 2;
  const int ydim = y->shape.rank > 1 ? y->shape.rank - 2 : 0;
  if (x->shape.size[xdim] != y->shape.size[ydim])
    return fail(c, E_SHAPE,
                "self %S and %A %S: self dim %P is %I, other dim %P is %I",
                SHAPE_ARG(&x->shape), "other", SHAPE_ARG(&y->shape),
                (int64_t)xdim, x->shape.size[xdim], (int64_t)ydim,
                y->shape.size[ydim]);
  Steps t = steps_open(c);
  Tensor *inverse = part(&t, OP_pinv, widen(&t, x), 0);
  Tensor *product = step_binary(&t, OP_matmul, inverse, widen(&t, y));
  return close_like(&t, product, y, &r[0]);
}

/* The greatest of each line of singular values {..,k}, as {..,1}. */
static Tensor *greatest(Steps *t, Tensor *values) {
  return step_fold(t, OP_amax, values, -1, true);
}

/* V diag(1/s) U', 0 for the singular values that count as 0. */
static Status pinv_values(Context *c, Tensor *x, double rcond, Tensor **r) {
  Tensor *svd[MAX_RESULTS] = {NULL};
  Args a = {0};
  a.at[0] = arg_tensor(x);
  const Status s = op_call(c, OP_svd, &a, svd);
  if (s != OK) return s;
  Steps t = steps_open(c);
  for (int k = 0; k < 3; k++) step_own(&t, OK, svd[k]);
  Tensor *limit = step_number(&t, OP_mul, greatest(&t, svd[1]), rcond);
  Tensor *kept = step_binary(&t, OP_gt, svd[1], limit);
  Tensor *inverse = step_unary(&t, OP_reciprocal, svd[1]);
  Tensor *zero = step_number(&t, OP_mul, limit, 0);
  Tensor *factor = step_where(&t, kept, inverse, zero);
  Tensor *v = step_binary(&t, OP_mul, step_turn(&t, svd[2]),
                          step_axis(&t, factor, -2));
  Tensor *y = step_binary(&t, OP_matmul, v, step_turn(&t, svd[0]));
  return steps_close(&t, y, r);
}

static Status zeros_turned(Context *c, const Tensor *x, Tensor **r) {
  Shape shape = x->shape;
  const int rank = shape.rank;
  shape.size[rank - 2] = x->shape.size[rank - 1];
  shape.size[rank - 1] = x->shape.size[rank - 2];
  return op_full(c, tensor_device(x), x->dtype, rank, shape.size, 0, r);
}

Status run_pinv(Context *c, Args *a, Tensor **r) {
  Tensor *x = a->at[0].tensor, *wide = NULL, *y = NULL;
  Status s = check_matrix(c, "self", x);
  if (s != OK) return s;
  double rcond = args_number(OP_pinv, a, 1);
  if (isnan(rcond)) rcond = roundoff(x);
  if (x->count == 0) return zeros_turned(c, x, &r[0]);
  /* A copy in the computing dtype: it is rounded once, and untracked. */
  s = plain(c, x, dtype_compute(x->dtype), tensor_device(x), &wide);
  if (s == OK && wide == x) {
    tensor_release(c, wide);
    wide = NULL;
    s = tensor_alias(c, x, &wide);
  }
  if (s == OK) s = pinv_values(c, wide, rcond, &y);
  if (s == OK) s = plain(c, y, x->dtype, tensor_device(x), &r[0]);
  tensor_release(c, wide);
  tensor_release(c, y);
  return s;
}

/* ---- powers ---- */

static Status identity_like(Context *c, const Tensor *x, Tensor **r) {
  const int rank = x->shape.rank;
  Args a = {0};
  Tensor *one = NULL;
  a.at[0] = arg_integer(x->shape.size[rank - 1]);
  for (int k = 1; k < op_rows[OP_eye].params; k++) {
    const ParamKind kind = op_rows[OP_eye].param[k].kind;
    if (kind == PARAM_DTYPE) a.at[k] = arg_integer(x->dtype);
    if (kind != PARAM_DEVICE) continue;
    a.at[k].kind = ARG_DEVICE;
    a.at[k].device = tensor_device(x);
  }
  Status s = op_call(c, OP_eye, &a, &one);
  if (s == OK) s = op_expand(c, one, rank, x->shape.size, r);
  tensor_release(c, one);
  return s;
}

/* From the highest bit on: square, and multiply where it is set. */
Status run_matrix_power(Context *c, Args *a, Tensor **r) {
  Tensor *x = a->at[0].tensor;
  const int64_t n = a->at[1].integer;
  const Status s = check_square(c, "self", x);
  if (s != OK) return s;
  if (n == 0) return identity_like(c, x, &r[0]);
  uint64_t size = n < 0 ? 0 - (uint64_t)n : (uint64_t)n, bit = 1;
  while (bit <= size / 2) bit *= 2;
  Steps t = steps_open(c);
  const Tensor *like = x;
  x = widen(&t, x);
  if (n < 0) x = part(&t, OP_inv, x, 0);
  const int kept = t.count;
  Tensor *y = x;
  for (bit /= 2; bit > 0 && t.status == OK; bit /= 2) {
    y = step_binary(&t, OP_matmul, y, y);
    if (size & bit) y = step_binary(&t, OP_matmul, y, x);
    y = step_next(&t, kept, y);
  }
  return close_like(&t, y, like, &r[0]);
}

/* ---- matrix_exp: scaling and squaring (Higham 2005, the approximant of
 *      degree 13) ---- */

/* The greatest element of x on the host; 0 of none. */
static double read_greatest(Steps *t, Tensor *x) {
  Tensor *number = NULL;
  double most = 0;
  if (t->status != OK || x->count == 0) return 0;
  Tensor *top = part(t, OP_amax, x, 0);
  if (t->status != OK) return 0;
  const Status s = op_cast(t->c, top, DTYPE_F64, &number);
  number = step_own(t, s, number);
  if (number != NULL) t->status = tensor_read(t->c, number, &most);
  return most;
}

/* How often each matrix {..,1,1} is halved until its greatest column sum is
 * what the approximant takes (Higham's table 2.3); none that is not finite,
 * for it gives NaN.  Flat. */
static Tensor *halvings(Steps *t, Tensor *x) {
  const double theta = 5.371920351148152;
  Tensor *size = step_unary(t, OP_abs, step_unary(t, OP_detach, x));
  Tensor *norm =
      step_fold(t, OP_amax, step_fold(t, OP_sum, size, -2, true), -1, true);
  Tensor *fits = step_number(t, OP_lt, norm, INFINITY);
  Tensor *one = step_unary(t, OP_ones_like, norm);
  Tensor *safe = step_where(t, fits, norm, one);
  Tensor *power = step_unary(t, OP_log2, step_number(t, OP_div, safe, theta));
  return step_number(t, OP_maximum, step_unary(t, OP_ceil, power), 0);
}

/* c[0] + c[1] x2 + c[2] x4 + c[3] x6, `one` the identity (NULL: no c[0]). */
static Tensor *polynomial(Steps *t, const double k[4], Tensor *one,
                          Tensor *const power[3]) {
  Tensor *sum = one != NULL ? step_number(t, OP_mul, one, k[0]) : NULL;
  for (int i = 0; i < 3; i++) {
    Tensor *term = step_number(t, OP_mul, power[i], k[i + 1]);
    sum = sum == NULL ? term : step_binary(t, OP_add, sum, term);
  }
  return sum;
}

/* Half of the approximant: p(x2) = x6 (high terms) + low terms. */
static Tensor *half_approximant(Steps *t, const double low[4],
                                const double high[4], Tensor *one,
                                Tensor *const power[3]) {
  Tensor *top = step_binary(t, OP_matmul, power[2],
                            polynomial(t, high, NULL, power));
  return step_binary(t, OP_add, top, polynomial(t, low, one, power));
}

/* The approximant of degree 13 at x, whose norm is small. */
static Tensor *approximant(Steps *t, Tensor *x) {
  static const double odd[4] = {32382376266240000., 1187353796428800.,
                                10559470521600., 33522128640.};
  static const double odd_high[4] = {0, 40840800., 16380., 1.};
  static const double even[4] = {64764752532480000., 7771770303897600.,
                                 129060195264000., 670442572800.};
  static const double even_high[4] = {0, 1323241920., 960960., 182.};
  Tensor *one = NULL;
  if (t->status != OK) return NULL;
  const Status s = identity_like(t->c, x, &one);
  one = step_own(t, s, one);
  Tensor *x2 = step_binary(t, OP_matmul, x, x);
  Tensor *x4 = step_binary(t, OP_matmul, x2, x2);
  Tensor *x6 = step_binary(t, OP_matmul, x4, x2);
  Tensor *const power[3] = {x2, x4, x6};
  Tensor *u = half_approximant(t, odd, odd_high, one, power);
  u = step_binary(t, OP_matmul, x, u);
  Tensor *v = half_approximant(t, even, even_high, one, power);
  return step_binary(t, OP_solve, step_binary(t, OP_sub, v, u),
                     step_binary(t, OP_add, v, u));
}

/* x / 2^times; powers of two are exact. */
static Tensor *halve(Steps *t, Tensor *x, Tensor *times) {
  Args a = {0};
  a.at[0] = arg_number(2);
  a.at[1] = arg_tensor(times);
  return step_binary(t, OP_div, x, step_call(t, OP_pow, &a, 0));
}

/* y, squared where it was halved more than i times. */
static Tensor *square(Steps *t, Tensor *y, Tensor *times, int i) {
  Tensor *mask = step_number(t, OP_gt, times, i);
  return step_where(t, mask, step_binary(t, OP_matmul, y, y), y);
}

static Tensor *exponential(Steps *t, Tensor *x) {
  enum { KEPT = 2 }; /* x and times */
  x = widen(t, x);
  Tensor *times = halvings(t, x);
  const double most = read_greatest(t, times);
  times = step_next(t, 1, times);
  Tensor *y = step_next(t, KEPT, approximant(t, halve(t, x, times)));
  for (int i = 0; i < most && t->status == OK; i++)
    y = step_next(t, KEPT, square(t, y, times, i));
  return y;
}

Status run_matrix_exp(Context *c, Args *a, Tensor **r) {
  Tensor *x = a->at[0].tensor;
  const Status s = check_square(c, "self", x);
  if (s != OK) return s;
  if (x->count == 0) return op_unary(c, OP_clone, x, &r[0]);
  Steps t = steps_open(c);
  return close_like(&t, exponential(&t, x), x, &r[0]);
}

/* ---- norms, rank, condition ---- */

enum { FRO, NUC, TWO, MINUS_TWO, ONE, MINUS_ONE, INF, MINUS_INF };

/* {..,m,n} -> {..,1,1} */
static Tensor *norm_kept(Steps *t, Tensor *x, int64_t kind) {
  static const OpId fold[] = {OP_sum,  OP_sum,  OP_amax, OP_amin,
                              OP_amax, OP_amin, OP_amax, OP_amin};
  if (kind == FRO) {
    Args a = {0};
    const int64_t dims[] = {-2, -1};
    a.at[0] = arg_tensor(x);
    a.at[2] = arg_sizes(2, dims);
    a.at[3] = arg_integer(true);
    return step_call(t, OP_norm, &a, 0);
  }
  if (kind <= MINUS_TWO) {
    Tensor *values = part(t, OP_svdvals, x, 0);
    return step_axis(t, step_fold(t, fold[kind], values, -1, true), -1);
  }
  const int along = kind <= MINUS_ONE ? -2 : -1;
  Tensor *sums = step_fold(t, OP_sum, step_unary(t, OP_abs, x), along, true);
  return step_fold(t, fold[kind], sums, along == -2 ? -1 : -2, true);
}

/* {..,1,1} -> {..} */
static Tensor *drop_axes(Steps *t, Tensor *x) {
  Tensor *r = NULL;
  if (t->status != OK) return NULL;
  const Status s = op_reshape(t->c, x, x->shape.rank - 2, x->shape.size, &r);
  return step_own(t, s, r);
}

Status run_matrix_norm(Context *c, Args *a, Tensor **r) {
  Tensor *x = a->at[0].tensor;
  const Status s = check_matrix(c, "self", x);
  if (s != OK) return s;
  Steps t = steps_open(c);
  Tensor *y =
      norm_kept(&t, widen(&t, x), args_integer(OP_matrix_norm, a, 1));
  if (args_integer(OP_matrix_norm, a, 2) == 0) y = drop_axes(&t, y);
  return close_like(&t, y, x, &r[0]);
}

Status run_vector_norm(Context *c, Args *a, Tensor **r) {
  return op_call(c, OP_norm, a, r);
}

Status run_cond(Context *c, Args *a, Tensor **r) {
  static const int kinds[] = {TWO, MINUS_TWO, FRO, NUC,
                              ONE, MINUS_ONE, INF, MINUS_INF};
  Tensor *x = a->at[0].tensor;
  const int kind = kinds[args_integer(OP_cond, a, 1)];
  const bool is_ratio = kind == TWO || kind == MINUS_TWO;
  const Status s = is_ratio ? check_matrix(c, "self", x) : check_square(c, "self", x);
  if (s != OK) return s;
  Steps t = steps_open(c);
  Tensor *wide = widen(&t, x), *y;
  if (is_ratio) {
    Tensor *values = part(&t, OP_svdvals, wide, 0);
    Tensor *most = step_fold(&t, OP_amax, values, -1, false);
    Tensor *least = step_fold(&t, OP_amin, values, -1, false);
    y = kind == TWO ? step_binary(&t, OP_div, most, least)
                    : step_binary(&t, OP_div, least, most);
  } else {
    Tensor *inverse = part(&t, OP_inv, wide, 0);
    y = drop_axes(&t, step_binary(&t, OP_mul, norm_kept(&t, wide, kind),
                                  norm_kept(&t, inverse, kind)));
  }
  return close_like(&t, y, x, &r[0]);
}

Status run_matrix_rank(Context *c, Args *a, Tensor **r) {
  Tensor *x = a->at[0].tensor;
  const double tol = args_number(OP_matrix_rank, a, 1);
  const Status s = check_matrix(c, "self", x);
  if (s != OK) return s;
  Steps t = steps_open(c);
  Tensor *values = part(&t, OP_svdvals, widen(&t, x), 0), *above;
  if (!isnan(tol))
    above = step_number(&t, OP_gt, values, tol);
  else if (x->count == 0)
    above = values; /* no greatest; nothing to count either */
  else
    above = step_binary(&t, OP_gt, values, step_number(&t, OP_mul,
                                                       greatest(&t, values),
                                                       roundoff(x)));
  return steps_close(&t, step_fold(&t, OP_count_nonzero, above, -1, false),
                     &r[0]);
}
