/* rules_reduction.c: reductions whose change is a weighted sum of changes,
 *
 *   dr = row sum(each dx)     each: of the sizes of x; row: of those of r
 *
 * so that both readings follow from the two factors.
 */
#include "grad/rules_reduction.h"

#include <math.h>
#include <string.h>

#include "grad/rules_scan.h"
#include "grad/transpose.h"

#define SUB(a, b) tape_binary(t, OP_sub, a, b)
#define MUL(a, b) tape_binary(t, OP_mul, a, b)
#define DIV(a, b) tape_binary(t, OP_div, a, b)

typedef struct Slope {
  Tensor *each, *row; /* row: axes kept; NULL: 1 */
} Slope;

static Tensor *slope_back(Tape *t, Tensor *g, Slope s) {
  g = keep_axes(t, g);
  if (s.row != NULL) g = MUL(g, s.row);
  return MUL(g, s.each);
}

static Tensor *slope_push(Tape *t, Tensor *tx, Slope s) {
  const Result *r = &t->node->result[0];
  int64_t dims[MAX_RANK];
  const int count = node_dims(t->node, dims);
  Tensor *sum = tape_sum_axes(t, MUL(s.each, tx), count, dims);
  if (s.row != NULL) sum = MUL(sum, s.row);
  return tape_reshape(t, sum, r->rank, r->size);
}

/* Slopes of halves are computed in f32. */
static Tensor *wide(Tape *t, Tensor *x) {
  return t->status != OK ? NULL : tape_cast(t, x, dtype_compute(x->dtype));
}

static Tensor *saved_x(Tape *t) { return wide(t, tape_saved(t, SAVED_X)); }

static Tensor *saved_r(Tape *t) {
  return wide(t, keep_axes(t, tape_saved(t, SAVED_R)));
}

static double count_reduced(const Node *n) {
  int64_t dims[MAX_RANK];
  double count = 1;
  for (int k = node_dims(n, dims) - 1; k >= 0; k--)
    count *= (double)n->input[0].size[dims[k]];
  return count;
}

/* One number, in the dtype of x. */
static Tensor *number(Tape *t, const Tensor *x, double value) {
  Tensor *r = NULL;
  if (t->status != OK) return NULL;
  const Status s = op_scalar(t->c, tensor_device(x), x->dtype, value, &r);
  return tape_own(t, s, r);
}

static Tensor *choose(Tape *t, Tensor *where, Tensor *x, double other) {
  if (t->status != OK) return NULL;
  return tape_ternary(t, OP_where, where, x, number(t, x, other));
}

static Tensor *not_zero(Tape *t, Tensor *x) {
  if (t->status != OK) return NULL;
  return tape_binary(t, OP_ne, x, number(t, x, 0));
}

/* factor / r, and 0 where r is 0. */
static Tensor *over_result(Tape *t, double factor) {
  Tensor *r = saved_r(t);
  Tensor *live = not_zero(t, r), *safe = choose(t, live, r, 1);
  if (t->status != OK) return NULL;
  return choose(t, live, DIV(number(t, r, factor), safe), 0);
}

/* ---- prod: the product of the others ---- */

/* x with the reduced axes last, and as one; *order: where each axis came
 * from. */
static Tensor *as_lines(Tape *t, Tensor *x, int64_t order[MAX_RANK]) {
  int64_t dims[MAX_RANK], size[MAX_RANK];
  bool gone[MAX_RANK] = {false};
  Tensor *turned = NULL;
  const int count = node_dims(t->node, dims), rank = t->node->input[0].rank;
  int n = 0;
  if (t->status != OK) return NULL;
  for (int k = 0; k < count; k++) gone[dims[k]] = true;
  for (int i = 0; i < rank; i++)
    if (!gone[i]) size[n] = x->shape.size[i], order[n++] = i;
  size[n] = 1;
  for (int i = 0, at = n; i < rank; i++)
    if (gone[i]) size[n] *= x->shape.size[i], order[at++] = i;
  const Status s = op_permute(t->c, x, rank, order, &turned);
  return tape_reshape(t, tape_own(t, s, turned), n + 1, size);
}

/* Back to the sizes of x. */
static Tensor *from_lines(Tape *t, Tensor *lines, const int64_t *order) {
  const Input *in = &t->node->input[0];
  int64_t size[MAX_RANK], inverse[MAX_RANK];
  Tensor *r = NULL;
  for (int i = 0; i < in->rank; i++) {
    size[i] = in->size[order[i]];
    inverse[order[i]] = i;
  }
  Tensor *turned = tape_reshape(t, lines, in->rank, size);
  if (t->status != OK) return NULL;
  const Status s = op_permute(t->c, turned, in->rank, inverse, &r);
  return tape_own(t, s, r);
}

/* What comes before each element times what comes after: no division, so
 * zeros are like any number. */
static Slope prod_slope(Tape *t) {
  int64_t order[MAX_RANK];
  Tensor *lines = as_lines(t, saved_x(t), order);
  if (t->status != OK) return (Slope){NULL, NULL};
  const int last = lines->shape.rank - 1;
  Tensor *before = product_before(t, lines, last, false);
  Tensor *after = product_before(t, lines, last, true);
  return (Slope){from_lines(t, MUL(before, after), order), NULL};
}

Tensor *prod_back(Tape *t, Tensor *g) {
  return slope_back(t, g, prod_slope(t));
}

Tensor *prod_push(Tape *t, Tensor *tx) {
  return slope_push(t, tx, prod_slope(t));
}

/* ---- var and std ---- */

static Tensor *mean_of(Tape *t, Tensor *x) {
  int64_t dims[MAX_RANK];
  const int count = node_dims(t->node, dims);
  Tensor *sum = tape_sum_axes(t, x, count, dims);
  return tape_scale(t, sum, 1 / count_reduced(t->node));
}

/* x - mean, where the rounding of the mean may exceed what is left: x - m is
 * exact near m, and what m lacks is taken away next. */
static Tensor *centred(Tape *t) {
  Tensor *x = saved_x(t);
  if (t->is_tracked) {
    x = SUB(x, mean_of(t, x));
    return SUB(x, mean_of(t, x));
  }
  Tensor *mean = tape_saved(t, SAVED_H); /* f64 */
  if (t->status != OK) return NULL;
  if (x->dtype == DTYPE_F64) return SUB(x, mean);
  Tensor *near = tape_cast(t, mean, x->dtype);
  Tensor *rest = SUB(mean, near);
  return SUB(SUB(x, near), tape_cast(t, rest, x->dtype));
}

/* 1 / (n - correction), NaN where the value is. */
static double per_freedom(const Tape *t) {
  const Node *n = t->node;
  const double correction = args_number(n->op, (const Args *)n->arg, 3);
  const double freedom = count_reduced(n) - correction;
  return freedom > 0 ? 1 / freedom : (double)NAN;
}

static Slope var_slope(Tape *t) {
  Tensor *each = centred(t);
  if (t->status != OK) return (Slope){NULL, NULL};
  return (Slope){each, number(t, each, 2 * per_freedom(t))};
}

Tensor *var_back(Tape *t, Tensor *g) { return slope_back(t, g, var_slope(t)); }
Tensor *var_push(Tape *t, Tensor *tx) {
  return slope_push(t, tx, var_slope(t));
}

static Slope std_slope(Tape *t) {
  Tensor *each = centred(t);
  return (Slope){each, over_result(t, per_freedom(t))};
}

Tensor *std_back(Tape *t, Tensor *g) { return slope_back(t, g, std_slope(t)); }
Tensor *std_push(Tape *t, Tensor *tx) {
  return slope_push(t, tx, std_slope(t));
}

/* ---- norm ---- */

/* Equal ones share; NaN is an extreme. */
static Slope extreme_slope(Tape *t, Tensor *x) {
  int64_t dims[MAX_RANK];
  const int count = node_dims(t->node, dims);
  Tensor *equal =
      tape_binary(t, OP_eq, tape_unary(t, OP_abs, x), saved_r(t));
  Tensor *nan = tape_unary(t, OP_isnan, x);
  Tensor *mask = tape_binary(t, OP_logical_or, equal, nan);
  Tensor *ties = tape_sum_axes(t, mask, count, dims);
  if (t->status != OK) return (Slope){NULL, NULL};
  Tensor *row = DIV(number(t, x, 1), tape_cast(t, ties, x->dtype));
  return (Slope){choose(t, mask, tape_unary(t, OP_sign, x), 0), row};
}

/* sign x (|x| / r)^(p - 1), and 0 where x or r is 0. */
static Slope power_slope(Tape *t, Tensor *x, double p) {
  Tensor *r = saved_r(t);
  Tensor *live = tape_binary(t, OP_logical_and, not_zero(t, x),
                             not_zero(t, r));
  Tensor *ratio = DIV(tape_unary(t, OP_abs, x), choose(t, live, r, 1));
  ratio = choose(t, live, ratio, 1);
  if (t->status != OK) return (Slope){NULL, NULL};
  Tensor *power = tape_binary(t, OP_pow, ratio, number(t, ratio, p - 1));
  return (Slope){choose(t, live, MUL(tape_unary(t, OP_sign, x), power), 0),
                 NULL};
}

static Slope norm_slope(Tape *t) {
  const Node *n = t->node;
  const double p = args_number(n->op, (const Args *)n->arg, 1);
  Tensor *x = saved_x(t);
  if (p == 2) return (Slope){x, over_result(t, 1)};
  if (p == 1) return (Slope){tape_unary(t, OP_sign, x), NULL};
  if (p == 0) return (Slope){tape_zeros(t, &n->input[0]), NULL};
  return isinf(p) ? extreme_slope(t, x) : power_slope(t, x, p);
}

Tensor *norm_back(Tape *t, Tensor *g) {
  return slope_back(t, g, norm_slope(t));
}

Tensor *norm_push(Tape *t, Tensor *tx) {
  return slope_push(t, tx, norm_slope(t));
}
