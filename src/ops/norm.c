/* norm.c: normalisations made of other rows; their derivative follows from
 * those.  Half floats are computed in f32 and rounded once, at the end.
 * Must not know: kernels.
 */
#include "ops/run.h"
#include "ops/steps.h"

/* Mean over `count` dims, which stay as size 1. */
static Tensor *mean_over(Steps *t, Tensor *x, int count, const int64_t *dims,
                    double n) {
  Tensor *r = NULL;
  if (t->status != OK) return NULL;
  const Status s = op_sum(t->c, x, count, dims, true, &r);
  return step_number(t, OP_div, step_own(t, s, r), n);
}

static Status give(Steps *t, Tensor *x, Dtype dtype, Tensor **r) {
  x = step_cast(t, x, dtype);
  return steps_close(t, x, r);
}

static Tensor *given(const Arg *a) {
  return a->kind == ARG_TENSOR ? a->tensor : NULL;
}

/* ---- per channel ---- */

static Status check_channels(Context *c, const char *name, const Tensor *x,
                             const Tensor *w) {
  if (w == NULL) return OK;
  const Status s = check_same_device(c, "self", x, name, w);
  if (s != OK) return s;
  if (w->shape.rank == 1 && w->shape.size[0] == x->shape.size[1]) return OK;
  return fail(c, E_CHANNELS, "%A %S must be {%I}, one for each channel of %S",
              name, SHAPE_ARG(&w->shape), x->shape.size[1],
              SHAPE_ARG(&x->shape));
}

/* w (channels) against x (n, channels, ..). */
static Tensor *along_channels(Steps *t, Tensor *w, const Tensor *x,
                              Dtype dtype) {
  int64_t size[MAX_RANK];
  for (int i = 0; i < x->shape.rank; i++) size[i] = 1;
  size[0] = x->shape.size[1];
  return step_cast(t, step_reshape(t, w, x->shape.rank - 1, size), dtype);
}

/* x w + b, either of which may be NULL. */
static Tensor *affine(Steps *t, Tensor *x, Tensor *w, Tensor *b) {
  if (t->status == OK && w != NULL)
    x = step_binary(t, OP_mul, x, along_channels(t, w, x, x->dtype));
  if (t->status == OK && b != NULL)
    x = step_binary(t, OP_add, x, along_channels(t, b, x, x->dtype));
  return x;
}

/* ---- batch_norm ---- */

enum { WEIGHT = 1, BIAS, MEAN, VAR, TRAINING, MOMENTUM, EPS };

/* (1 - momentum) target + momentum new, for a vector of the channels. */
static Tensor *moved_toward(Steps *t, const Arg *target, Tensor *fresh,
                            double momentum) {
  Tensor *old = given(target);
  if (old == NULL || t->status != OK) return NULL;
  fresh = step_reshape(t, fresh, 1, old->shape.size);
  fresh = step_cast(t, fresh, old->dtype);
  Tensor *kept = step_number(t, OP_mul, old, 1 - momentum);
  Tensor *share = step_number(t, OP_mul, fresh, momentum);
  return step_binary(t, OP_add, kept, share);
}

static void write_back(Steps *t, const Arg *target, Tensor *value) {
  Args a = step_args(OP_copy, given(target));
  if (t->status != OK || value == NULL) return;
  a.at[1] = arg_tensor(value);
  t->status = op_call_inplace(t->c, OP_copy, &a);
}

static Status check_running(Context *c, Args *a, bool training) {
  Tensor *x = a->at[0].tensor;
  const char *const names[] = {"mean", "var"};
  for (int k = MEAN; k <= VAR; k++) {
    Tensor *running = given(&a->at[k]);
    Status s = check_channels(c, names[k - MEAN], x, running);
    if (s == OK && running != NULL && training)
      s = tensor_writable(c, running, names[k - MEAN]);
    if (s == OK && running == NULL && !training)
      s = fail(c, E_OPTION, "%A is needed unless training is true",
               names[k - MEAN]);
    if (s != OK) return s;
  }
  return OK;
}

static Status check_batch(Context *c, Args *a, bool training, int64_t *n) {
  Tensor *x = a->at[0].tensor;
  Status s = check_rank(c, "self", x, 2, MAX_RANK);
  if (s == OK) s = check_channels(c, "weight", x, given(&a->at[WEIGHT]));
  if (s == OK) s = check_channels(c, "bias", x, given(&a->at[BIAS]));
  if (s == OK) s = check_running(c, a, training);
  if (s != OK) return s;
  *n = x->shape.size[0];
  for (int i = 2; i < x->shape.rank; i++) *n *= x->shape.size[i];
  if (!training || *n > 1) return OK;
  return fail(c, E_SHAPE,
              "%A %S has %I values a channel; training needs more than one",
              "self", SHAPE_ARG(&x->shape), *n);
}

/* The unbiased variance enters the running one.  Both new values are there
 * before the first is written. */
static Status update_running(Context *c, Args *a, Tensor *m, Tensor *v,
                             double n) {
  const double momentum = args_number(OP_batch_norm, a, MOMENTUM);
  const bool was = c->is_recording;
  Steps t = steps_open(c);
  c->is_recording = false;
  v = step_number(&t, OP_mul, v, n / (n - 1));
  Tensor *mean = moved_toward(&t, &a->at[MEAN], m, momentum);
  Tensor *var = moved_toward(&t, &a->at[VAR], v, momentum);
  write_back(&t, &a->at[MEAN], mean);
  write_back(&t, &a->at[VAR], var);
  c->is_recording = was;
  return steps_close(&t, NULL, NULL);
}

/* Detached: running values are constants. */
static Tensor *constant(Steps *t, Tensor *x) {
  Tensor *r = NULL;
  if (t->status != OK) return NULL;
  const Status s = tensor_alias(t->c, x, &r);
  return step_own(t, s, r);
}

/* x less its mean, the mean and the variance, against x. */
typedef struct Centred {
  Tensor *x, *mean, *var;
} Centred;

static Centred centred_batch(Steps *t, Tensor *x, double n) {
  Centred r = {NULL, NULL, NULL};
  int64_t dims[MAX_RANK] = {0};
  if (t->status != OK) return r;
  const int count = x->shape.rank - 1; /* all but the channels */
  for (int i = 1; i < count; i++) dims[i] = i + 1;
  r.mean = mean_over(t, x, count, dims, n);
  r.x = step_binary(t, OP_sub, x, r.mean);
  r.var = mean_over(t, step_unary(t, OP_square, r.x), count, dims, n);
  return r;
}

static Centred centred_running(Steps *t, Tensor *x, const Args *a) {
  Centred r = {NULL, NULL, NULL};
  if (t->status != OK) return r;
  r.mean = along_channels(t, constant(t, given(&a->at[MEAN])), x, x->dtype);
  r.var = along_channels(t, constant(t, given(&a->at[VAR])), x, x->dtype);
  r.x = step_binary(t, OP_sub, x, r.mean);
  return r;
}

Status run_batch_norm(Context *c, Args *a, Tensor **r) {
  Tensor *self = a->at[0].tensor;
  const bool training = args_integer(OP_batch_norm, a, TRAINING) != 0;
  const double eps = args_number(OP_batch_norm, a, EPS);
  int64_t n = 0;
  Steps t = steps_open(c);
  if (!step_check(&t, check_batch(c, a, training, &n))) return t.status;
  Tensor *x = step_cast(&t, self, dtype_compute(self->dtype));
  const Centred seen = training ? centred_batch(&t, x, (double)n)
                                : centred_running(&t, x, a);
  Tensor *wide = step_number(&t, OP_add, seen.var, eps);
  Tensor *y = step_binary(&t, OP_mul, seen.x, step_unary(&t, OP_rsqrt, wide));
  y = affine(&t, y, given(&a->at[WEIGHT]), given(&a->at[BIAS]));
  y = step_cast(&t, y, self->dtype);
  if (t.status == OK && training)
    t.status = update_running(c, a, seen.mean, seen.var, (double)n);
  return steps_close(&t, y, r);
}

/* ---- group_norm, instance_norm ---- */

static Status grouped(Context *c, OpId op, Args *a, int64_t groups, int weight,
                      Tensor **r) {
  Tensor *self = a->at[0].tensor, *w = given(&a->at[weight]);
  Tensor *b = given(&a->at[weight + 1]), *y = NULL;
  Steps t = steps_open(c);
  Status s = check_channels(c, "weight", self, w);
  if (s == OK) s = check_channels(c, "bias", self, b);
  if (s != OK) return s;
  const int64_t lead = self->shape.size[0] * groups;
  if (groups < 1 || self->shape.size[1] % groups != 0)
    return fail(c, E_GROUPS, "%I channels do not part into %I %A",
                self->shape.size[1], groups, "groups");
  const int64_t rows[] = {self->shape.size[0], groups,
                          lead > 0 ? self->count / lead : 1};
  Args norm = {0};
  Tensor *x = step_cast(&t, self, dtype_compute(self->dtype));
  x = step_reshape(&t, x, 3, rows);
  for (int k = 0; k < 5; k++) norm.at[k].kind = ARG_NONE;
  norm.at[0] = arg_tensor(x);
  norm.at[1] = arg_sizes(1, rows + 2);
  norm.at[4] = arg_number(args_number(op, a, weight + 2));
  if (t.status == OK) {
    s = op_call(c, OP_layer_norm, &norm, &y);
    y = step_own(&t, s, y);
  }
  y = step_reshape(&t, y, self->shape.rank, self->shape.size);
  return give(&t, affine(&t, y, w, b), self->dtype, r);
}

Status run_group_norm(Context *c, Args *a, Tensor **r) {
  const Status s = check_rank(c, "self", a->at[0].tensor, 2, MAX_RANK);
  if (s != OK) return s;
  return grouped(c, OP_group_norm, a, args_integer(OP_group_norm, a, 1), 2, r);
}

Status run_instance_norm(Context *c, Args *a, Tensor **r) {
  Tensor *x = a->at[0].tensor;
  const Status s = check_rank(c, "self", x, 3, MAX_RANK);
  if (s != OK) return s;
  const int64_t channels = x->shape.size[1] > 0 ? x->shape.size[1] : 1;
  return grouped(c, OP_instance_norm, a, channels, 1, r);
}

/* ---- rms_norm ---- */

static Status check_last(Context *c, const Tensor *x, const Arg *sizes,
                         const Tensor *w) {
  const int from = x->shape.rank - sizes->count;
  bool same = from >= 0 && sizes->count > 0;
  for (int i = 0; i < sizes->count && same; i++)
    same = x->shape.size[from + i] == sizes->sizes[i];
  if (!same)
    return fail(c, E_SHAPE, "the last dims of self %S must be %A %S",
                SHAPE_ARG(&x->shape), "size", sizes->count, sizes->sizes);
  const Shape want = shape_of(sizes->count, sizes->sizes);
  if (w == NULL || shape_same(&want, &w->shape)) return OK;
  return fail(c, E_SHAPE, "%A is %S, and the normalised sizes are %S",
              "weight", SHAPE_ARG(&w->shape), SHAPE_ARG(&want));
}

Status run_rms_norm(Context *c, Args *a, Tensor **r) {
  Tensor *self = a->at[0].tensor, *w = given(&a->at[2]);
  const Arg *sizes = &a->at[1];
  int64_t dims[MAX_RANK];
  double n = 1;
  Steps t = steps_open(c);
  const Status checked = check_last(c, self, sizes, w);
  if (checked != OK) return checked;
  for (int i = 0; i < sizes->count; i++) {
    dims[i] = self->shape.rank - sizes->count + i;
    n *= (double)sizes->sizes[i];
  }
  Tensor *x = step_cast(&t, self, dtype_compute(self->dtype));
  Tensor *square = mean_over(&t, step_unary(&t, OP_square, x), sizes->count, dims, n);
  const double eps = args_number(OP_rms_norm, a, 3);
  Tensor *scale = step_unary(&t, OP_rsqrt, step_number(&t, OP_add, square, eps));
  Tensor *y = step_binary(&t, OP_mul, x, scale);
  if (t.status == OK && w != NULL) y = step_binary(&t, OP_mul, y, step_cast(&t, w, y->dtype));
  return give(&t, y, self->dtype, r);
}
