/* rules.c: see rules.h.  Formulas: OPS.md's column "derivative", with r the
 * result, g its cotangent, tx the tangent of x.
 */
#include "grad/rules.h"

#include <math.h>
#include <string.h>

#include "grad/transpose.h"
#include "ops/rule.h"

#define ADD(a, b) tape_binary(t, OP_add, a, b)
#define SUB(a, b) tape_binary(t, OP_sub, a, b)
#define MUL(a, b) tape_binary(t, OP_mul, a, b)
#define DIV(a, b) tape_binary(t, OP_div, a, b)
#define EXP(a) tape_unary(t, OP_exp, a)

static int64_t integer_at(const Tape *t, int k) {
  return args_integer(t->node->op, (const Args *)t->node->arg, k);
}

static Dtype dtype_of(const Tape *t) { return t->node->result[0].dtype; }

static Tensor *choose(Tape *t, Tensor *where, Tensor *x) {
  return tape_ternary(t, OP_where, where, x, tape_number(t, 0));
}

/* ---- extremes: equal ones share ---- */

/* Where x is the extreme: equal to it, or NaN where it is NaN. */
static Tensor *ties(Tape *t) {
  Tensor *x = tape_saved(t, SAVED_X);
  Tensor *r = keep_axes(t, tape_saved(t, SAVED_R));
  Tensor *equal = tape_binary(t, OP_eq, x, r);
  return tape_binary(t, OP_logical_or, equal, tape_unary(t, OP_isnan, x));
}

/* How many there are; axes kept. */
static Tensor *tie_count(Tape *t, Tensor *mask) {
  int64_t dims[MAX_RANK];
  const int count = node_dims(t->node, dims);
  return tape_cast(t, tape_sum_axes(t, mask, count, dims), dtype_of(t));
}

Tensor *ties_back(Tape *t, Tensor *g) {
  Tensor *mask = ties(t);
  return choose(t, mask, DIV(keep_axes(t, g), tie_count(t, mask)));
}

Tensor *ties_push(Tape *t, Tensor *tx) {
  const Result *r = &t->node->result[0];
  int64_t dims[MAX_RANK];
  const int count = node_dims(t->node, dims);
  Tensor *mask = ties(t);
  Tensor *sum = tape_sum_axes(t, choose(t, mask, tx), count, dims);
  return tape_reshape(t, DIV(sum, tie_count(t, mask)), r->rank, r->size);
}

/* ---- positions on each line ---- */

/* The dim of the row: its only param of that kind. */
static int64_t dim_at(const Tape *t) {
  const OpRow *row = &op_rows[t->node->op];
  int k = 0;
  while (row->param[k].kind != PARAM_DIM) k++;
  assert(k < row->params);
  return integer_at(t, k);
}

/* x (of the result's sizes) with the picked axis put back as size 1, if it is
 * gone. */
static Tensor *keep_dim(Tape *t, Tensor *x) {
  const Input *in = &t->node->input[0];
  int64_t size[MAX_RANK];
  if (t->status != OK || x->shape.rank == in->rank) return x;
  for (int i = 0; i < in->rank; i++) size[i] = in->size[i];
  size[dim_at(t)] = 1;
  return tape_reshape(t, x, in->rank, size);
}

Tensor *pick_back(Tape *t, Tensor *g) {
  const Input *in = &t->node->input[0];
  Args a = tape_args(OP_scatter_add);
  if (in->rank == 0) return g;
  a.at[0] = arg_tensor(tape_zeros(t, in));
  a.at[1] = arg_integer(dim_at(t));
  a.at[2] = arg_tensor(keep_dim(t, tape_saved(t, SAVED_R2)));
  a.at[3] = arg_tensor(keep_dim(t, g));
  return tape_call(t, OP_scatter_add, &a);
}

Tensor *pick_push(Tape *t, Tensor *tx) {
  const Result *r = &t->node->result[0];
  Args a = tape_args(OP_gather);
  if (t->node->input[0].rank == 0) return tx;
  a.at[0] = arg_tensor(tx);
  a.at[1] = arg_integer(dim_at(t));
  a.at[2] = arg_tensor(keep_dim(t, tape_saved(t, SAVED_R2)));
  return tape_reshape(t, tape_call(t, OP_gather, &a), r->rank, r->size);
}

/* A label is the position of its bin. */
Tensor *bincount_back(Tape *t, Tensor *g) {
  Args a = tape_args(OP_index_select);
  a.at[0] = arg_tensor(g);
  a.at[1] = arg_integer(0);
  a.at[2] = arg_tensor(tape_saved(t, SAVED_X));
  return tape_call(t, OP_index_select, &a);
}

/* ---- softmax ---- */

static Tensor *sum_line(Tape *t, Tensor *x) {
  const int64_t dim = t->node->input[0].rank > 0 ? integer_at(t, 1) : 0;
  const int count = t->node->input[0].rank > 0;
  return tape_sum_axes(t, x, count, &dim);
}

/* r (g - sum(g r)); log: g - e^r sum(g). */
Tensor *softmax_back(Tape *t, Tensor *g, bool log) {
  Tensor *r = tape_saved(t, SAVED_R);
  if (!t->is_tracked && t->status == OK) {
    Tensor *gx = NULL;
    const Status s = rule_softmax_pull(t->c, r, g, (int)integer_at(t, 1), log,
                                       &gx);
    return tape_own(t, s, gx);
  }
  if (log) return SUB(g, MUL(EXP(r), sum_line(t, g)));
  return MUL(r, SUB(g, sum_line(t, MUL(g, r))));
}

/* The Jacobian of softmax is symmetric. */
Tensor *softmax_push(Tape *t, Tensor *tx) { return softmax_back(t, tx, false); }

Tensor *log_softmax_push(Tape *t, Tensor *tx) {
  Tensor *r = tape_saved(t, SAVED_R);
  return SUB(tx, sum_line(t, MUL(EXP(r), tx)));
}

/* ---- logsumexp: weights e^(x - r), 0 where r is -inf ---- */

/* Made of x - max(x), not of x - r: where x is large, r has lost the logarithm
 * of the sum.  The greatest is a constant here; the weights do not depend on
 * which number is taken away. */
static Tensor *weights(Tape *t) {
  int64_t dims[MAX_RANK];
  const int count = node_dims(t->node, dims);
  Tensor *x = tape_saved(t, SAVED_X);
  Tensor *most = x;
  if (t->status != OK || x->count == 0) return x; /* no weight to give */
  if (x->shape.rank > 0 && count > 0) {
    Args a = tape_args(OP_amax);
    a.at[0] = arg_tensor(x);
    a.at[1] = arg_sizes(count, dims);
    a.at[2] = arg_integer(1);
    most = tape_call(t, OP_amax, &a);
  }
  most = tape_unary(t, OP_detach, most);
  Tensor *shift = choose(t, tape_unary(t, OP_isfinite, most), most);
  Tensor *e = EXP(SUB(x, shift));
  Tensor *sum = tape_sum_axes(t, e, count, dims);
  Tensor *some = tape_binary(t, OP_ne, sum, tape_number(t, 0));
  Tensor *whole = tape_ternary(t, OP_where, some, sum, tape_number(t, 1));
  return DIV(e, whole);
}

Tensor *logsumexp_back(Tape *t, Tensor *g) {
  return MUL(keep_axes(t, g), weights(t));
}

Tensor *logsumexp_push(Tape *t, Tensor *tx) {
  const Result *r = &t->node->result[0];
  int64_t dims[MAX_RANK];
  const int count = node_dims(t->node, dims);
  Tensor *sum = tape_sum_axes(t, MUL(weights(t), tx), count, dims);
  return tape_reshape(t, sum, r->rank, r->size);
}

/* ---- layer_norm ---- */

/* What its rules share: v = (x - mean) rstd, made of x so that it can be
 * differentiated again. */
typedef struct Normal {
  Tensor *v, *rstd, *w; /* w NULL: none */
  int count;            /* normalised axes, the last ones */
  int64_t dims[MAX_RANK];
  double n;
} Normal;

static Tensor *mean_of(Tape *t, const Normal *m, Tensor *x) {
  return tape_scale(t, tape_sum_axes(t, x, m->count, m->dims), 1 / m->n);
}

static void normal_open(Tape *t, Normal *m) {
  const Node *n = t->node;
  const Arg *sizes = &n->arg[1];
  m->count = sizes->count;
  m->n = 1;
  for (int i = 0; i < m->count; i++) {
    m->dims[i] = n->input[0].rank - m->count + i;
    m->n *= (double)sizes->sizes[i];
  }
  Tensor *x = tape_saved(t, SAVED_X);
  Tensor *centred = SUB(x, mean_of(t, m, x));
  Tensor *var = mean_of(t, m, tape_unary(t, OP_square, centred));
  const double eps = args_number(n->op, (const Args *)n->arg, 4);
  m->rstd = tape_unary(t, OP_rsqrt, ADD(var, tape_number(t, eps)));
  m->v = MUL(centred, m->rstd);
  m->w = n->input[1].is_tensor ? tape_saved(t, SAVED_Y) : NULL;
}

/* All three at once, untracked; later columns find theirs in t->also. */
static Tensor *layer_norm_fused(Tape *t, Tensor *g, int k) {
  const Node *n = t->node;
  Tensor *gx = NULL, *gw = NULL, *gb = NULL;
  if (t->also[k] != NULL) return t->also[k];
  const Arg *sizes = &n->arg[1];
  int64_t size = 1;
  for (int i = 0; i < sizes->count; i++) size *= sizes->sizes[i];
  Tensor *x = tape_saved(t, SAVED_X), *mean = tape_saved(t, SAVED_H);
  Tensor *rstd = tape_saved(t, SAVED_H2);
  Tensor *w = n->input[1].is_tensor ? tape_saved(t, SAVED_Y) : NULL;
  if (t->status != OK) return NULL;
  const Status s = rule_layer_norm_pull(
      t->c, x, w, mean, rstd, g, size, &gx,
      n->input[1].node != NULL ? &gw : NULL,
      n->input[2].node != NULL ? &gb : NULL);
  t->also[0] = tape_own(t, s, gx);
  if (gw != NULL)
    t->also[1] = tape_reshape(t, tape_own(t, s, gw), sizes->count,
                              sizes->sizes);
  if (gb != NULL)
    t->also[2] = tape_reshape(t, tape_own(t, s, gb), sizes->count,
                              sizes->sizes);
  return t->status == OK ? t->also[k] : NULL;
}

Tensor *layer_norm_back(Tape *t, Tensor *g, int k) {
  const Input *to = &t->node->input[k];
  Normal m;
  if (!t->is_tracked) return layer_norm_fused(t, g, k);
  if (k == 2) return tape_sum_to(t, g, to->rank, to->size);
  normal_open(t, &m);
  if (k == 1) return tape_sum_to(t, MUL(g, m.v), to->rank, to->size);
  Tensor *h = m.w != NULL ? MUL(g, m.w) : g;
  Tensor *along = MUL(m.v, mean_of(t, &m, MUL(h, m.v)));
  return MUL(m.rstd, SUB(SUB(h, mean_of(t, &m, h)), along));
}

Tensor *layer_norm_push(Tape *t, Tensor *tx, Tensor *ty, Tensor *tz) {
  const Result *out = &t->node->result[0];
  Tensor *r = NULL;
  Normal m;
  normal_open(t, &m);
  if (tx != NULL) {
    Tensor *along = MUL(m.v, mean_of(t, &m, MUL(tx, m.v)));
    r = MUL(m.rstd, SUB(SUB(tx, mean_of(t, &m, tx)), along));
    if (m.w != NULL) r = MUL(r, m.w);
  }
  if (ty != NULL) r = tape_plus(t, r, MUL(m.v, ty));
  if (tz != NULL)
    r = tape_plus(t, r, tape_expand(t, tz, out->rank, out->size));
  return r;
}

/* ---- cross_entropy ---- */

enum { MEAN, SUM, EACH };

/* Which labels count. */
static Tensor *counting(Tape *t) {
  Tensor *target = tape_saved(t, SAVED_Y), *r = NULL;
  if (t->status != OK) return NULL;
  Args a = tape_args(OP_ne);
  a.at[0] = arg_tensor(target);
  a.at[1] = arg_integer(integer_at(t, 3));
  const Status s = op_call(t->c, OP_ne, &a, &r);
  return tape_own(t, s, r);
}

static Tensor *sum_all(Tape *t, Tensor *x) {
  Tensor *r = NULL;
  if (t->status != OK) return NULL;
  const int64_t dim = 0;
  const Status s = op_sum(t->c, x, x->shape.rank, &dim, false, &r);
  return tape_own(t, s, r);
}

/* x, shared out among the labels that count when the reduction is a mean. */
static Tensor *shared_out(Tape *t, Tensor *x) {
  if (integer_at(t, 2) != MEAN) return x;
  return DIV(x, sum_all(t, tape_cast(t, counting(t), dtype_of(t))));
}

/* x (n) -> (n, 1), and x () -> (1). */
static Tensor *column(Tape *t, Tensor *x) {
  int64_t size[MAX_RANK];
  if (t->status != OK) return NULL;
  memcpy(size, x->shape.size, sizeof size);
  size[x->shape.rank] = 1;
  return tape_reshape(t, x, x->shape.rank + 1, size);
}

/* softmax(x) - [j is the label]; ignored labels match no class. */
static Tensor *residual(Tape *t) {
  const Input *in = &t->node->input[0];
  const int64_t n = in->size[in->rank - 1], base = t->c->failure.base;
  Args a = tape_args(OP_softmax);
  a.at[0] = arg_tensor(tape_saved(t, SAVED_X));
  a.at[1] = arg_integer(-1);
  Tensor *p = tape_call(t, OP_softmax, &a);
  a = tape_args(OP_arange);
  a.at[0] = arg_integer(base);
  a.at[1] = arg_integer(base + n - 1);
  a.at[4].kind = ARG_DEVICE;
  a.at[4].device = in->device;
  Tensor *classes = tape_call(t, OP_arange, &a);
  Tensor *labels = column(t, tape_saved(t, SAVED_Y));
  Tensor *hot = tape_binary(t, OP_eq, labels, classes);
  return SUB(p, tape_cast(t, hot, dtype_of(t)));
}

/* The factors that the fused kernel needs: 1/n for a mean, else g itself. */
static Tensor *cross_entropy_fused(Tape *t, Tensor *g) {
  Tensor *x = tape_saved(t, SAVED_X), *target = tape_saved(t, SAVED_Y);
  Tensor *lse = tape_saved(t, SAVED_H), *gx = NULL;
  g = shared_out(t, g);
  if (t->status != OK) return NULL;
  const Status s = rule_cross_entropy_pull(t->c, x, target, lse, g,
                                           integer_at(t, 3), &gx);
  return tape_own(t, s, gx);
}

/* Rows whose label does not count are left out, whatever x holds there. */
static Tensor *counted(Tape *t, Tensor *x) {
  return choose(t, column(t, counting(t)), x);
}

Tensor *cross_entropy_back(Tape *t, Tensor *g) {
  if (!t->is_tracked) return cross_entropy_fused(t, g);
  g = shared_out(t, g);
  if (integer_at(t, 2) == EACH) g = column(t, g);
  return counted(t, MUL(residual(t), g));
}

Tensor *cross_entropy_push(Tape *t, Tensor *tx) {
  const Result *out = &t->node->result[0];
  const int64_t last = -1;
  Tensor *changes = counted(t, MUL(residual(t), tx));
  changes = shared_out(t, tape_sum_axes(t, changes, 1, &last));
  if (integer_at(t, 2) == EACH)
    return tape_reshape(t, changes, out->rank, out->size);
  if (t->status != OK) return NULL;
  return tape_sum_to(t, changes, 0, NULL);
}
