/* loss.c: losses, written in rows; cross_entropy in its general forms.
 *
 * Every loss checks its operands first, makes one loss for each element or
 * each label, and reduces them.  Their derivative follows from the rows.
 * Must not know: kernels, derivatives.
 */
#include <string.h>

#include "ops/index.h"
#include "ops/rule.h"
#include "ops/run.h"
#include "ops/steps.h"

static Tensor *scaled(Steps *w, Tensor *x, double factor) {
  return factor == 1 ? x : step_with(w, OP_mul, x, arg_number(factor));
}

static Tensor *sum_dim(Steps *w, Tensor *x, int dim) {
  const int64_t d = dim;
  return step_with(w, OP_sum, x, arg_sizes(1, &d));
}

static Tensor *filled(Steps *w, Tensor *x, Tensor *mask, Arg value) {
  Args a = step_args(OP_masked_fill, x);
  a.at[1] = arg_tensor(mask);
  a.at[2] = value;
  return step_call(w, OP_masked_fill, &a, 0);
}

/* ---- reductions ---- */

typedef enum Reduction {
  REDUCE_MEAN,
  REDUCE_SUM,
  REDUCE_NONE,
  REDUCE_BATCH /* the sum by the size of the first axis */
} Reduction;

static Tensor *reduced(Steps *w, Tensor *losses, Reduction how) {
  if (w->status != OK || how == REDUCE_NONE) return losses;
  if (how == REDUCE_MEAN) return step_unary(w, OP_mean, losses);
  Tensor *sum = step_unary(w, OP_sum, losses);
  if (how == REDUCE_SUM || losses->shape.rank == 0) return sum;
  return step_with(w, OP_div, sum, arg_number((double)losses->shape.size[0]));
}

/* A weight may be stretched to the losses, never the other way. */
static Tensor *weighted(Steps *w, Tensor *losses, Tensor *weight) {
  if (weight == NULL || w->status != OK) return losses;
  Shape stretched;
  if (!shape_expand(&weight->shape, &losses->shape, &stretched)) {
    w->status = fail(w->c, E_SHAPE, "%A %S does not broadcast to self %S",
                     "weight", SHAPE_ARG(&weight->shape),
                     SHAPE_ARG(&losses->shape));
    return NULL;
  }
  return step_binary(w, OP_mul, losses, weight);
}

static Tensor *option_tensor(const Args *a, int k) {
  return a->at[k].kind == ARG_TENSOR ? a->at[k].tensor : NULL;
}

/* ---- element by element ---- */

/* Opens w; do self and target agree? */
static bool open_pair(Steps *w, Context *c, const Args *a) {
  const Tensor *x = a->at[0].tensor, *y = a->at[1].tensor;
  *w = steps_open(c);
  return step_check(w, check_same_shape(c, "self", x, "target", y));
}

static Tensor *difference(Steps *w, const Args *a) {
  return step_binary(w, OP_sub, a->at[0].tensor, a->at[1].tensor);
}

Status run_mse_loss(Context *c, Args *a, Tensor **r) {
  Steps w;
  if (!open_pair(&w, c, a)) return w.status;
  Tensor *losses = step_unary(&w, OP_square, difference(&w, a));
  const Reduction how = (Reduction)args_integer(OP_mse_loss, a, 2);
  return steps_close(&w, reduced(&w, losses, how), r);
}

Status run_l1_loss(Context *c, Args *a, Tensor **r) {
  Steps w;
  if (!open_pair(&w, c, a)) return w.status;
  Tensor *losses = step_unary(&w, OP_abs, difference(&w, a));
  const Reduction how = (Reduction)args_integer(OP_l1_loss, a, 2);
  return steps_close(&w, reduced(&w, losses, how), r);
}

static Status check_width(Context *c, const char *name, double width,
                          bool may_be_zero) {
  if (width > 0 || (may_be_zero && width == 0)) return OK;
  return fail(c, E_RANGE, "%A is %g; it must be %s", name, width,
              may_be_zero ? "at least 0" : "above 0");
}

Status run_huber_loss(Context *c, Args *a, Tensor **r) {
  Steps w;
  const double delta = args_number(OP_huber_loss, a, 2);
  if (!open_pair(&w, c, a)) return w.status;
  if (!step_check(&w, check_width(c, "delta", delta, false))) return w.status;
  Tensor *losses = step_with(&w, OP_huber, difference(&w, a), arg_number(delta));
  const Reduction how = (Reduction)args_integer(OP_huber_loss, a, 3);
  return steps_close(&w, reduced(&w, losses, how), r);
}

/* huber by beta; without a width it is the absolute difference. */
Status run_smooth_l1_loss(Context *c, Args *a, Tensor **r) {
  Steps w;
  const double beta = args_number(OP_smooth_l1_loss, a, 2);
  if (!open_pair(&w, c, a)) return w.status;
  if (!step_check(&w, check_width(c, "beta", beta, true))) return w.status;
  Tensor *apart = difference(&w, a), *losses;
  if (beta == 0)
    losses = step_unary(&w, OP_abs, apart);
  else
    losses = scaled(&w, step_with(&w, OP_huber, apart, arg_number(beta)), 1 / beta);
  const Reduction how = (Reduction)args_integer(OP_smooth_l1_loss, a, 3);
  return steps_close(&w, reduced(&w, losses, how), r);
}

Status run_bce_loss(Context *c, Args *a, Tensor **r) {
  Steps w;
  if (!open_pair(&w, c, a)) return w.status;
  Tensor *losses = step_binary(&w, OP_bce, a->at[0].tensor, a->at[1].tensor);
  losses = weighted(&w, losses, option_tensor(a, 2));
  const Reduction how = (Reduction)args_integer(OP_bce_loss, a, 3);
  return steps_close(&w, reduced(&w, losses, how), r);
}

Status run_bce_with_logits(Context *c, Args *a, Tensor **r) {
  Steps w;
  if (!open_pair(&w, c, a)) return w.status;
  Tensor *x = a->at[0].tensor, *positive = option_tensor(a, 3);
  Args each = step_args(OP_bce_logits, x);
  each.at[1] = a->at[1];
  each.at[2] = arg_number(1);
  if (positive != NULL) each.at[2] = arg_tensor(positive);
  Tensor *losses = step_call(&w, OP_bce_logits, &each, 0);
  if (w.status == OK && !shape_same(&losses->shape, &x->shape))
    w.status = fail(c, E_SHAPE, "%A %S does not broadcast to self %S",
                    "pos_weight", SHAPE_ARG(&positive->shape),
                    SHAPE_ARG(&x->shape));
  losses = weighted(&w, losses, option_tensor(a, 2));
  const Reduction how = (Reduction)args_integer(OP_bce_with_logits, a, 4);
  return steps_close(&w, reduced(&w, losses, how), r);
}

/* y (log y - x), where y log y is 0 for y = 0. */
Status run_kl_div(Context *c, Args *a, Tensor **r) {
  static const Reduction reductions[] = {REDUCE_MEAN, REDUCE_SUM, REDUCE_NONE,
                                         REDUCE_BATCH};
  Steps w;
  if (!open_pair(&w, c, a)) return w.status;
  Tensor *x = a->at[0].tensor, *y = a->at[1].tensor, *losses;
  if (args_integer(OP_kl_div, a, 2) != 0) {
    Tensor *weight = step_unary(&w, OP_exp, y);
    Tensor *apart = step_binary(&w, OP_sub, y, x);
    losses = step_binary(&w, OP_mul, weight, apart);
  } else {
    Tensor *own = step_binary(&w, OP_xlogy, y, y);
    Tensor *cross = step_binary(&w, OP_mul, y, x);
    losses = step_binary(&w, OP_sub, own, cross);
  }
  const Reduction how = reductions[args_integer(OP_kl_div, a, 3)];
  return steps_close(&w, reduced(&w, losses, how), r);
}

/* ---- labels ---- */

/* One call of nll_loss or cross_entropy. */
typedef struct Labels {
  Tensor *x, *target, *weight;
  int64_t ignore, classes;
  Reduction how;
  double smoothing;
  int dim; /* of the classes */
} Labels;

static Labels labels_of(OpId op, const Args *a) {
  Labels l = {.x = a->at[0].tensor, .target = a->at[1].tensor};
  l.weight = option_tensor(a, 2);
  l.ignore = args_integer(op, a, 3);
  l.how = (Reduction)args_integer(op, a, 4);
  l.dim = l.x->shape.rank == 1 ? 0 : 1;
  if (op == OP_cross_entropy) l.smoothing = args_number(op, a, 5);
  return l;
}

/* The sizes of x without its classes. */
static Shape label_shape(const Labels *l) {
  Shape s = l->x->shape;
  shape_drop(&s, l->dim);
  shape_contiguous(&s);
  return s;
}

static Status check_weight(Context *c, const Labels *l) {
  if (l->weight == NULL) return OK;
  const Shape want = shape_of(1, &l->classes);
  const Status s = check_same_device(c, "self", l->x, "weight", l->weight);
  if (s != OK || shape_same(&l->weight->shape, &want)) return s;
  return fail(c, E_SHAPE, "%A is %S; a weight for each of %I classes is due",
              "weight", SHAPE_ARG(&l->weight->shape), l->classes);
}

static Status check_labelled(Context *c, Labels *l) {
  Status s = check_rank(c, "self", l->x, 1, MAX_RANK);
  if (s == OK) s = check_same_device(c, "self", l->x, "target", l->target);
  if (s != OK) return s;
  const Shape want = label_shape(l);
  l->classes = l->x->shape.size[l->dim];
  if (!shape_same(&want, &l->target->shape))
    return fail(c, E_SHAPE,
                "self %S wants a label for each row, and %A is %S",
                SHAPE_ARG(&l->x->shape), "target",
                SHAPE_ARG(&l->target->shape));
  if (l->classes == 0)
    return fail(c, E_EMPTY, "%A %S has no classes", "self",
                SHAPE_ARG(&l->x->shape));
  return check_weight(c, l);
}

/* Labels that count, and what they weigh. */
typedef struct Counted {
  Tensor *ignored; /* where a label does not */
  Tensor *labels;  /* with some class there */
  Tensor *weight;  /* of each; NULL: 1 */
} Counted;

static Counted count_labels(Steps *w, const Labels *l) {
  Counted n = {NULL, NULL, NULL};
  Tensor *plain_labels = NULL;
  Device *d = tensor_device(l->x);
  Status s = index_plain(w->c, "target", l->target, d, &plain_labels);
  if (s == OK) s = check_labels(w->c, plain_labels, l->classes, l->ignore);
  if (s == OK) w->made[w->count++] = plain_labels;
  else tensor_release(w->c, plain_labels);
  if (!step_check(w, s)) return n;
  n.ignored = step_with(w, OP_eq, plain_labels, arg_integer(l->ignore));
  n.labels = filled(w, plain_labels, n.ignored, arg_integer(w->c->failure.base));
  if (l->weight == NULL || w->status != OK) return n;
  Tensor *flat = step_reshape(w, n.labels, 1, &plain_labels->count);
  Args pick = step_args(OP_index_select, l->weight);
  pick.at[1] = arg_integer(0);
  pick.at[2] = arg_tensor(flat);
  n.weight = step_reshape(w, step_call(w, OP_index_select, &pick, 0),
                    plain_labels->shape.rank, plain_labels->shape.size);
  n.weight = filled(w, n.weight, n.ignored, arg_integer(0));
  return n;
}

/* The element of x (log-probabilities) at each label. */
static Tensor *picked(Steps *w, Tensor *x, int dim, Tensor *labels) {
  Args a = step_args(OP_gather, x);
  a.at[1] = arg_integer(dim);
  a.at[2] = arg_tensor(step_with(w, OP_unsqueeze, labels, arg_integer(dim)));
  const int64_t gone = dim;
  Tensor *at = step_call(w, OP_gather, &a, 0);
  return step_with(w, OP_squeeze, at, arg_sizes(1, &gone));
}

/* x, its classes weighted. */
static Tensor *class_weighted(Steps *w, Tensor *x, const Labels *l) {
  int64_t size[MAX_RANK];
  if (l->weight == NULL || w->status != OK) return x;
  for (int i = 0; i < x->shape.rank; i++) size[i] = i == l->dim ? l->classes : 1;
  Tensor *weight = step_reshape(w, l->weight, x->shape.rank, size);
  return step_binary(w, OP_mul, x, weight);
}

/* The mean is by the weights of the labels that count. */
static Tensor *reduced_labels(Steps *w, Tensor *losses, const Counted *n,
                              Reduction how) {
  if (how != REDUCE_MEAN) return reduced(w, losses, how);
  Tensor *weight = n->weight;
  if (weight == NULL) weight = step_unary(w, OP_logical_not, n->ignored);
  Tensor *sum = step_unary(w, OP_sum, losses);
  Tensor *whole = step_unary(w, OP_sum, weight);
  if (w->status != OK) return NULL;
  Args a = step_args(OP_cast, whole);
  a.at[1] = arg_integer(losses->dtype);
  return step_binary(w, OP_div, sum, step_call(w, OP_cast, &a, 0));
}

/* -weight x[label], and with smoothing a share of the mean over all classes;
 * x: log-probabilities. */
static Tensor *label_losses(Steps *w, Tensor *x, const Labels *l) {
  const Counted n = count_labels(w, l);
  if (w->status != OK) return NULL;
  Tensor *losses = step_unary(w, OP_neg, picked(w, x, l->dim, n.labels));
  if (n.weight != NULL) losses = step_binary(w, OP_mul, losses, n.weight);
  if (l->smoothing != 0 && w->status == OK) {
    const double share = l->smoothing / (double)l->classes;
    Tensor *all = sum_dim(w, class_weighted(w, x, l), l->dim);
    losses = scaled(w, losses, 1 - l->smoothing);
    losses = step_binary(w, OP_sub, losses, scaled(w, all, share));
  }
  losses = filled(w, losses, n.ignored, arg_integer(0));
  return reduced_labels(w, losses, &n, l->how);
}

Status run_nll_loss(Context *c, Args *a, Tensor **r) {
  Steps w;
  Labels l = labels_of(OP_nll_loss, a);
  w = steps_open(c);
  if (!step_check(&w, check_labelled(c, &l))) return w.status;
  return steps_close(&w, label_losses(&w, l.x, &l), r);
}

/* ---- cross_entropy ---- */

/* Rows of classes and one label for each, for the fused kernel; the losses in
 * the shape of the labels again. */
static Tensor *fused_losses(Steps *w, const Labels *l) {
  const int rank = l->x->shape.rank;
  const int64_t count = l->target->count, rows[] = {count, l->classes};
  int64_t order[MAX_RANK];
  Tensor *x = l->x, *target = l->target;
  if (rank > 2) {
    for (int i = 0; i < rank; i++)
      order[i] = i == 0 ? 0 : i == rank - 1 ? 1 : i + 1;
    x = step_with(w, OP_permute, x, arg_sizes(rank, order));
    x = step_reshape(w, x, 2, rows);
    target = step_reshape(w, target, 1, &count);
  }
  Args a = step_args(OP_cross_entropy_rows, x);
  a.at[1] = arg_tensor(target);
  a.at[2] = arg_integer(l->how);
  a.at[3] = arg_integer(l->ignore);
  Tensor *losses = step_call(w, OP_cross_entropy_rows, &a, 0);
  if (rank <= 2 || l->how != REDUCE_NONE) return losses;
  return step_reshape(w, losses, l->target->shape.rank, l->target->shape.size);
}

static Tensor *log_probabilities(Steps *w, const Labels *l) {
  return step_with(w, OP_log_softmax, l->x, arg_integer(l->dim));
}

/* The target holds a probability for each class; the mean is over rows. */
static Tensor *probability_losses(Steps *w, Labels *l) {
  Tensor *target = l->target;
  l->classes = l->x->shape.size[l->dim];
  if (!step_check(w, check_weight(w->c, l))) return NULL;
  if (l->smoothing != 0) {
    const double share = l->smoothing / (double)l->classes;
    target = scaled(w, target, 1 - l->smoothing);
    target = step_with(w, OP_add, target, arg_number(share));
  }
  Tensor *x = class_weighted(w, log_probabilities(w, l), l);
  Tensor *product = step_binary(w, OP_mul, x, target);
  Tensor *losses = step_unary(w, OP_neg, sum_dim(w, product, l->dim));
  return reduced(w, losses, l->how);
}

static Status check_smoothing(Context *c, double smoothing) {
  if (smoothing >= 0 && smoothing <= 1) return OK;
  return fail(c, E_RANGE, "%A is %g; it must be in 0..1", "label_smoothing",
              smoothing);
}

Status run_cross_entropy(Context *c, Args *a, Tensor **r) {
  Steps w;
  Labels l = labels_of(OP_cross_entropy, a);
  w = steps_open(c);
  if (!step_check(&w, check_smoothing(c, l.smoothing))) return w.status;
  if (dtype_class(l.target->dtype) == CLASS_FLOAT) {
    const Status s = check_same_shape(c, "self", l.x, "target", l.target);
    if (!step_check(&w, s)) return s;
    if (!step_check(&w, check_rank(c, "self", l.x, 1, MAX_RANK)))
      return w.status;
    return steps_close(&w, probability_losses(&w, &l), r);
  }
  if (!step_check(&w, check_labelled(c, &l))) return w.status;
  if (l.weight == NULL && l.smoothing == 0)
    return steps_close(&w, fused_losses(&w, &l), r);
  Tensor *x = log_probabilities(&w, &l);
  return steps_close(&w, label_losses(&w, x, &l), r);
}
