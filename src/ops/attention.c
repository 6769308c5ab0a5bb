/* attention.c: weighted means of values, and grids of affine maps; composed.
 *
 * Must not know: how products are made.
 */
#include <math.h>
#include <string.h>

#include "ops/run.h"
#include "ops/steps.h"

/* x where `keep` is true, else `value`. */
static Tensor *kept(Steps *m, Tensor *keep, Tensor *x, double value) {
  Args a = step_args(OP_where, NULL);
  if (m->status != OK) return NULL;
  a.at[0] = arg_tensor(keep);
  a.at[1] = arg_tensor(x);
  a.at[2] = arg_number(value);
  return step_call(m, OP_where, &a, 0);
}

/* ---- attention ---- */

enum { QUERY, KEY, VALUE, MASK, CAUSAL, SCALE, DROPOUT };

static Status check_attention(Context *c, const Args *a) {
  static const char *const name[] = {"self", "key", "value"};
  const Tensor *t[3];
  for (int i = 0; i < 3; i++) {
    t[i] = a->at[i].tensor;
    Status s = check_rank(c, name[i], t[i], 2, MAX_RANK);
    if (s == OK) s = check_same_dtype(c, name[0], t[0], name[i], t[i]);
    if (s == OK) s = check_same_device(c, name[0], t[0], name[i], t[i]);
    if (s != OK) return s;
  }
  const Shape *q = &t[0]->shape, *k = &t[1]->shape, *v = &t[2]->shape;
  if (q->size[q->rank - 1] != k->size[k->rank - 1])
    return fail(c, E_SHAPE, "%A %S and key %S: the last sizes must be equal",
                "self", SHAPE_ARG(q), SHAPE_ARG(k));
  if (k->size[k->rank - 2] != v->size[v->rank - 2])
    return fail(c, E_SHAPE,
                "%A %S and value %S: the sizes before the last must be equal",
                "key", SHAPE_ARG(k), SHAPE_ARG(v));
  return OK;
}

/* True on and below the diagonal of {n, m}. */
static Tensor *causal_mask(Steps *m, const Tensor *scores) {
  const Shape *s = &scores->shape;
  Tensor *ones = NULL;
  const Status status =
      op_full(m->c, tensor_device(scores), DTYPE_BOOL, 2,
              s->size + s->rank - 2, 1, &ones);
  Tensor *full = step_own(m, status, ones);
  return step_unary(m, OP_tril, full);
}

/* Which scores count, or NULL for all; a float mask is added to *scores and
 * counts where it is above -inf. */
static Tensor *read_mask(Steps *m, const Args *a, Tensor **scores) {
  Tensor *keep = NULL;
  if (a->at[MASK].kind == ARG_TENSOR) {
    keep = a->at[MASK].tensor;
    if (dtype_class(keep->dtype) == CLASS_FLOAT) {
      *scores = step_binary(m, OP_add, *scores, keep);
      keep = step_number(m, OP_gt, keep, -INFINITY);
    } else if (keep->dtype != DTYPE_BOOL) {
      m->status = fail(m->c, E_DTYPE, "%A is %s; bool or float is due", "mask",
                       dtype_name(keep->dtype));
    }
  }
  if (m->status != OK || args_integer(OP_attention, a, CAUSAL) == 0)
    return keep;
  Tensor *causal = causal_mask(m, *scores);
  return keep == NULL ? causal : step_binary(m, OP_bitwise_and, keep, causal);
}

static Tensor *softmax_last(Steps *m, Tensor *x) {
  Args a = step_args(OP_softmax, NULL);
  if (m->status != OK) return NULL;
  a.at[0] = arg_tensor(x);
  a.at[1] = arg_integer(-1);
  return step_call(m, OP_softmax, &a, 0);
}

/* Does any key of each query count?  {.., n, 1} */
static Tensor *alive_rows(Steps *m, Tensor *keep) {
  const int64_t last = -1;
  Args a = step_args(OP_any, NULL);
  if (m->status != OK) return NULL;
  a.at[0] = arg_tensor(keep);
  a.at[1] = arg_sizes(1, &last);
  a.at[2] = arg_integer(1);
  return step_call(m, OP_any, &a, 0);
}

/* Rows without a key are given scores that do no harm, and then no weight: no
 * NaN is born that a gradient could meet. */
static Tensor *weights_of(Steps *m, Tensor *scores, Tensor *keep) {
  if (keep == NULL || m->status != OK) return softmax_last(m, scores);
  Tensor *alive = alive_rows(m, keep);
  Tensor *dead = step_unary(m, OP_logical_not, alive);
  Tensor *counts = step_binary(m, OP_logical_or, keep, dead);
  Tensor *finite = kept(m, alive, scores, 0);
  Tensor *masked = kept(m, counts, finite, -INFINITY);
  return kept(m, alive, softmax_last(m, masked), 0);
}

static Tensor *dropped(Steps *m, Tensor *weights, double p) {
  Args a = step_args(OP_dropout, NULL);
  if (m->status != OK || p == 0) return weights;
  a.at[0] = arg_tensor(weights);
  a.at[1] = arg_number(p);
  return step_call(m, OP_dropout, &a, 0);
}

Status run_attention(Context *c, Args *a, Tensor **r) {
  Steps m = steps_open(c);
  if (!step_check(&m, check_attention(c, a))) return m.status;
  Tensor *q = a->at[QUERY].tensor;
  const double width = (double)q->shape.size[q->shape.rank - 1];
  const double scale = a->at[SCALE].kind == ARG_NONE
                           ? 1 / sqrt(width)
                           : arg_f64(&a->at[SCALE]);
  Tensor *turned = step_turn(&m, a->at[KEY].tensor);
  Tensor *scaled = step_number(&m, OP_mul, q, scale);
  Tensor *scores = step_binary(&m, OP_matmul, scaled, turned);
  Tensor *keep = m.status == OK ? read_mask(&m, a, &scores) : NULL;
  Tensor *weights = weights_of(&m, scores, keep);
  weights = dropped(&m, weights, args_number(OP_attention, a, DROPOUT));
  Tensor *y = step_binary(&m, OP_matmul, weights, a->at[VALUE].tensor);
  return steps_close(&m, y, &r[0]);
}

/* ---- affine_grid ---- */

/* Coordinate of element i of n in -1 .. 1. */
static double coordinate(int64_t i, int64_t n, bool corners) {
  if (corners) return n > 1 ? -1 + 2 * (double)i / (double)(n - 1) : 0;
  return (2 * (double)i + 1) / (double)n - 1;
}

/* {places, axes + 1}: the coordinates of each place, the last axis of `size`
 * first, and a 1. */
static Tensor *base_grid(Steps *m, const Shape *size, bool corners,
                         const Tensor *like) {
  const int axes = size->rank - 2;
  Shape shape = {.rank = 2};
  shape.size[0] = 1, shape.size[1] = axes + 1;
  for (int i = 0; i < axes; i++) shape.size[0] *= size->size[2 + i];
  shape = shape_of(2, shape.size);
  Tensor *host = NULL, *r = NULL;
  Status s = tensor_new(m->c, &m->c->host, DTYPE_F64, &shape, &host);
  if (step_own(m, s, host) == NULL) return NULL;
  double *at = (double *)(void *)tensor_data(host);
  for (int64_t place = 0; place < shape.size[0]; place++) {
    int64_t left = place;
    for (int i = axes - 1; i >= 0; i--) {
      const int64_t n = size->size[2 + i];
      *at++ = coordinate(left % n, n, corners);
      left /= n;
    }
    *at++ = 1;
  }
  s = plain(m->c, host, like->dtype, tensor_device(like), &r);
  return step_own(m, s, r);
}

Status run_affine_grid(Context *c, Args *a, Tensor **r) {
  Tensor *theta = a->at[0].tensor;
  Shape size;
  Status s = check_sizes(c, &a->at[1], &size);
  if (s == OK) s = check_rank(c, "self", theta, 3, 3);
  if (s != OK) return s;
  const int axes = size.rank - 2;
  if (axes < 2 || axes > 3)
    return fail(c, E_RANK, "%A is %S; {n,c,h,w} or {n,c,d,h,w} is due", "size",
                SHAPE_ARG(&size));
  const Shape *t = &theta->shape;
  if (t->size[0] != size.size[0] || t->size[1] != axes ||
      t->size[2] != axes + 1)
    return fail(c, E_SHAPE, "%A is %S; {%I,%d,%d} is due for size %S", "self",
                SHAPE_ARG(t), size.size[0], axes, axes + 1, SHAPE_ARG(&size));
  Steps m = steps_open(c);
  const bool corners = args_integer(OP_affine_grid, a, 2) != 0;
  Tensor *base = base_grid(&m, &size, corners, theta);
  Tensor *grid = step_binary(&m, OP_matmul, base, step_turn(&m, theta));
  int64_t sizes[MAX_RANK] = {size.size[0]};
  for (int i = 0; i < axes; i++) sizes[1 + i] = size.size[2 + i];
  sizes[1 + axes] = axes;
  grid = step_reshape(&m, grid, 2 + axes, sizes);
  return steps_close(&m, grid, &r[0]);
}
