/* conv.c: convolutions over 1 to 3 axes, and their two transposes.
 *
 * The three products of one convolution share one description (Convolution):
 * the transposed one is its pull to x, conv_weight its pull to the weight.
 * Must not know: how images are packed.
 */
#include <string.h>

#include "ops/windows.h"

/* ---- arguments ---- */

static Status groups_at(Context *c, OpId op, Args *a, int k, int64_t *groups) {
  *groups = args_integer(op, a, k);
  a->at[k] = arg_integer(*groups);
  if (*groups >= 1 && *groups <= INT32_MAX) return OK;
  return fail(c, E_GROUPS, "%A is %I, and must be at least 1 and below 2^31",
              "groups", *groups);
}

static Status check_pair_of(Context *c, const char *yname, Tensor *x,
                            Tensor *y) {
  Status s = check_same_device(c, "self", x, yname, y);
  if (s == OK) s = check_same_dtype(c, "self", x, yname, y);
  return s;
}

static Status check_bias(Context *c, Tensor *x, Tensor *bias, int64_t out) {
  if (bias == NULL) return OK;
  const Status s = check_pair_of(c, "bias", x, bias);
  if (s != OK) return s;
  if (bias->shape.rank == 1 && bias->shape.size[0] == out) return OK;
  return fail(c, E_CHANNELS, "%A %S must be {%I}, one for each channel made",
              "bias", SHAPE_ARG(&bias->shape), out);
}

static Tensor *tensor_or_none(const Arg *a) {
  return a->kind == ARG_TENSOR ? a->tensor : NULL;
}

/* ---- the job ---- */

static void set_windows(Convolution *v, const Windows *w) {
  memcpy(v->size, w->size, sizeof v->size);
  memcpy(v->kernel, w->kernel, sizeof v->kernel);
  memcpy(v->stride, w->stride, sizeof v->stride);
  memcpy(v->pad, w->before, sizeof v->pad);
  memcpy(v->dilation, w->dilation, sizeof v->dilation);
  memcpy(v->result, w->result, sizeof v->result);
}

/* Runs v into `out` (contiguous, computing dtype). */
static Status run_job(Context *c, Convolution *v, Tensor *out) {
  Device *d = tensor_device(out);
  char *scratch = NULL;
  if (v->batch == 0 || v->in == 0 || v->out == 0 || out->count == 0) {
    const Arg zero = arg_integer(0);
    return fill_with(c, out, &zero);
  }
  const size_t room = d->backend.conv_room(&d->backend, v);
  Status s = scratch_take(c, d, room, &scratch);
  v->scratch = scratch;
  if (s == OK) s = check_done(c, d->backend.conv(&d->backend, v));
  scratch_give(d, scratch, room);
  return s;
}

/* *r = `out` in x's dtype; without its first axis, which is 1, if x lacks a
 * batch. */
static Status give(Context *c, Tensor *out, const Tensor *like, bool drops,
                   Tensor **r) {
  Tensor *narrow = NULL;
  Status s = plain(c, out, like->dtype, tensor_device(out), &narrow);
  if (s != OK) return s;
  Shape shape = narrow->shape;
  if (drops) shape_drop(&shape, 0);
  s = tensor_view(c, narrow, &shape, narrow->offset, r);
  if (s == OK) (*r)->is_view = false;
  tensor_release(c, narrow);
  return s;
}

/* out += bias along the channels, on a fresh result. */
static Status add_bias(Context *c, Tensor *bias, int axes, Tensor *out) {
  Shape shape = bias->shape;
  Tensor *column = NULL;
  for (int i = 1; i <= axes; i++) shape_insert(&shape, i, 1, 1);
  Status s = tensor_view(c, bias, &shape, bias->offset, &column);
  if (s != OK) return s;
  Args a;
  a.at[0] = arg_tensor(out);
  a.at[1] = arg_tensor(column);
  a.at[2].kind = ARG_NONE;
  s = pointwise_call(c, OP_add, &a, out, NULL);
  tensor_release(c, column);
  return s;
}

/* The tensors of a call as the job reads and writes them. */
typedef struct Operands {
  Tensor *self, *other, *bias; /* plain; other: weight, or grad */
  Tensor *out;
} Operands;

static void operands_close(Context *c, Operands *o) {
  tensor_release(c, o->self);
  tensor_release(c, o->other);
  tensor_release(c, o->bias);
  tensor_release(c, o->out);
}

static Status plain_as(Context *c, Tensor *x, const Tensor *like, Tensor **r) {
  if (x == NULL) return OK;
  return plain(c, x, like->dtype, tensor_device(like), r);
}

/* ---- conv1d, conv2d, conv3d ---- */

static Status check_weight(Context *c, const Convolution *v, const Tensor *x,
                           const Tensor *w) {
  if (v->in % v->groups != 0)
    return fail(c, E_GROUPS, "%I channels of %A do not part into %I groups",
                v->in, "self", v->groups);
  if (w->shape.size[1] * v->groups != v->in)
    return fail(c, E_CHANNELS,
                "self %S has %I channels, %A %S with %I groups wants %I",
                SHAPE_ARG(&x->shape), v->in, "weight", SHAPE_ARG(&w->shape),
                v->groups, w->shape.size[1] * v->groups);
  if (v->out % v->groups != 0)
    return fail(c, E_GROUPS, "%I channels of %A do not part into %I groups",
                v->out, "weight", v->groups);
  return OK;
}

/* self, weight and what they say of the windows. */
static Status conv_open(Context *c, OpId op, int groups_place, Args *a,
                        Windows *w, Convolution *v, Operands *o) {
  Tensor *self = a->at[0].tensor, *weight = a->at[1].tensor;
  Status s = check_pair_of(c, "weight", self, weight);
  if (s == OK) s = check_rank(c, "weight", weight, w->axes + 2, w->axes + 2);
  if (s != OK) return s;
  windows_sizes(&weight->shape, w->axes, w->kernel);
  s = windows_options(c, op, a, 3, 4, groups_place - 1, w);
  if (s == OK) s = groups_at(c, op, a, groups_place, &v->groups);
  if (s == OK) s = windows_operand(c, "self", self, w->axes, &o->self);
  if (s != OK) return s;
  v->dtype = o->self->dtype;
  v->batch = o->self->shape.size[0];
  return OK;
}

static Status conv_check(Context *c, Args *a, Windows *w, Convolution *v,
                         const Operands *o) {
  Tensor *self = a->at[0].tensor, *weight = a->at[1].tensor;
  v->in = o->self->shape.size[1], v->out = weight->shape.size[0];
  windows_sizes(&o->self->shape, w->axes, w->size);
  Status s = check_weight(c, v, self, weight);
  if (s == OK) s = check_bias(c, self, tensor_or_none(&a->at[2]), v->out);
  return s == OK ? windows_count(c, w) : s;
}

/* The three places of a convolution in memory, and its run. */
static Status conv_make(Context *c, Args *a, const Windows *w, Convolution *v,
                        Operands *o) {
  const int64_t lead[] = {v->batch, v->what == CONV_VALUE ? v->out : v->in};
  const Shape shape = windows_shape(
      2, lead, w->axes, v->what == CONV_VALUE ? w->result : w->size);
  Status s = plain_as(c, a->at[1].tensor, o->self, &o->other);
  if (s == OK)
    s = plain_as(c, tensor_or_none(&a->at[2]), o->self, &o->bias);
  if (s == OK)
    s = tensor_new(c, tensor_device(o->self), v->dtype, &shape, &o->out);
  if (s != OK) return s;
  const bool forward = v->what == CONV_VALUE;
  v->x = tensor_data(forward ? o->self : o->out);
  v->y = tensor_data(forward ? o->out : o->self);
  v->w = tensor_data(o->other);
  v->bias = forward && o->bias != NULL ? tensor_data(o->bias) : NULL;
  set_windows(v, w);
  return run_job(c, v, o->out);
}

static Status conv(Context *c, OpId op, int axes, Args *a, Tensor **r) {
  Windows w = windows_of(axes);
  Convolution v = {.what = CONV_VALUE};
  Operands o = {.other = NULL};
  const Tensor *self = a->at[0].tensor;
  Status s = conv_open(c, op, 6, a, &w, &v, &o);
  if (s == OK) s = conv_check(c, a, &w, &v, &o);
  if (s == OK) s = conv_make(c, a, &w, &v, &o);
  if (s == OK) s = give(c, o.out, self, self->shape.rank == axes + 1, &r[0]);
  operands_close(c, &o);
  return s;
}

Status run_conv1d(Context *c, Args *a, Tensor **r) {
  return conv(c, OP_conv1d, 1, a, r);
}

Status run_conv2d(Context *c, Args *a, Tensor **r) {
  return conv(c, OP_conv2d, 2, a, r);
}

Status run_conv3d(Context *c, Args *a, Tensor **r) {
  return conv(c, OP_conv3d, 3, a, r);
}

/* ---- conv_transpose: self is y of a convolution, the result its x ---- */

static Status transposed_size(Context *c, Windows *w, const int64_t *more,
                              int i) {
  const int64_t pad = w->before[i] + w->after[i];
  w->size[i] = (w->result[i] - 1) * w->stride[i] - pad + windows_reach(w, i) +
               more[i];
  if (more[i] >= w->stride[i])
    return fail(c, E_PADDING, "%A is %I, and must be below the stride %I",
                "output_padding", more[i], w->stride[i]);
  if (w->size[i] < 1)
    return fail(c, E_PADDING, "%A %I leaves a size of %I", "padding",
                w->before[i], w->size[i]);
  return OK;
}

static Status transposed_check(Context *c, OpId op, Args *a, Windows *w,
                               Convolution *v, const Operands *o) {
  Tensor *self = a->at[0].tensor, *weight = a->at[1].tensor;
  int64_t more[SPACE] = {0};
  Status s = windows_tuple(c, op, a, 5, 0, E_PADDING, w, more);
  if (s != OK) return s;
  v->out = o->self->shape.size[1];
  v->in = weight->shape.size[1] * v->groups;
  windows_sizes(&o->self->shape, w->axes, w->result);
  if (weight->shape.size[0] != v->out)
    return fail(c, E_CHANNELS, "self %S has %I channels, %A %S wants %I",
                SHAPE_ARG(&self->shape), v->out, "weight",
                SHAPE_ARG(&weight->shape), weight->shape.size[0]);
  if (v->out % v->groups != 0)
    return fail(c, E_GROUPS, "%I channels do not part into %I %A", v->out,
                v->groups, "groups");
  s = check_bias(c, self, tensor_or_none(&a->at[2]), v->in);
  for (int i = 0; i < SPACE && s == OK; i++)
    s = transposed_size(c, w, more, i);
  return s;
}

static Status conv_transpose(Context *c, OpId op, int axes, Args *a,
                             Tensor **r) {
  Windows w = windows_of(axes);
  Convolution v = {.what = CONV_TO_X};
  Operands o = {.other = NULL};
  const Tensor *self = a->at[0].tensor;
  Status s = conv_open(c, op, 7, a, &w, &v, &o);
  if (s == OK) s = transposed_check(c, op, a, &w, &v, &o);
  if (s == OK) s = conv_make(c, a, &w, &v, &o);
  if (s == OK && o.bias != NULL) s = add_bias(c, o.bias, axes, o.out);
  if (s == OK) s = give(c, o.out, self, self->shape.rank == axes + 1, &r[0]);
  operands_close(c, &o);
  return s;
}

Status run_conv_transpose1d(Context *c, Args *a, Tensor **r) {
  return conv_transpose(c, OP_conv_transpose1d, 1, a, r);
}

Status run_conv_transpose2d(Context *c, Args *a, Tensor **r) {
  return conv_transpose(c, OP_conv_transpose2d, 2, a, r);
}

Status run_conv_transpose3d(Context *c, Args *a, Tensor **r) {
  return conv_transpose(c, OP_conv_transpose3d, 3, a, r);
}

/* ---- conv_weight: self is x, grad is y, the result the weight ---- */

static Status weight_kernel(Context *c, Args *a, Windows *w) {
  const int axes = a->at[2].count;
  if (axes < 1 || axes > SPACE)
    return fail(c, E_RANK, "%A has %d entries; one for each of 1 to %d axes "
                "is due", "size", axes, SPACE);
  *w = windows_of(axes);
  return windows_tuple(c, OP_conv_weight, a, 2, 1, E_KERNEL, w, w->kernel);
}

/* What grad must be. */
static Status check_grad(Context *c, const Tensor *self, const Tensor *grad,
                         const Windows *w, const Convolution *v,
                         const Tensor *y) {
  const int64_t lead[] = {v->batch, v->out};
  const Shape want = windows_shape(2, lead, w->axes, w->result);
  if (v->in % v->groups != 0 || v->out % v->groups != 0)
    return fail(c, E_GROUPS, "%I and %I channels do not part into %I %A",
                v->in, v->out, v->groups, "groups");
  if (shape_same(&want, &y->shape)) return OK;
  return fail(c, E_SHAPE, "self %S gives %S, and %A is %S",
              SHAPE_ARG(&self->shape), SHAPE_ARG(&want), "grad",
              SHAPE_ARG(&grad->shape));
}

static Status weight_open(Context *c, Args *a, Windows *w, Convolution *v,
                          Operands *o) {
  Tensor *self = a->at[0].tensor, *grad = a->at[1].tensor;
  Status s = check_pair_of(c, "grad", self, grad);
  if (s == OK) s = weight_kernel(c, a, w);
  if (s == OK) s = windows_options(c, OP_conv_weight, a, 3, 4, 5, w);
  if (s == OK) s = groups_at(c, OP_conv_weight, a, 6, &v->groups);
  if (s == OK) s = windows_operand(c, "self", self, w->axes, &o->self);
  if (s == OK) s = windows_operand(c, "grad", grad, w->axes, &o->other);
  if (s != OK) return s;
  v->dtype = o->self->dtype;
  v->batch = o->self->shape.size[0], v->in = o->self->shape.size[1];
  v->out = o->other->shape.size[1];
  windows_sizes(&o->self->shape, w->axes, w->size);
  s = windows_count(c, w);
  return s == OK ? check_grad(c, self, grad, w, v, o->other) : s;
}

Status run_conv_weight(Context *c, Args *a, Tensor **r) {
  Windows w;
  Convolution v = {.what = CONV_TO_WEIGHT};
  Operands o = {.other = NULL};
  Status s = weight_open(c, a, &w, &v, &o);
  if (s == OK) {
    const int64_t lead[] = {v.out, v.in / v.groups};
    const Shape shape = windows_shape(2, lead, w.axes, w.kernel);
    s = tensor_new(c, tensor_device(o.self), v.dtype, &shape, &o.out);
  }
  if (s == OK) {
    v.x = tensor_data(o.self), v.w = tensor_data(o.out);
    v.y = tensor_data(o.other);
    set_windows(&v, &w);
    s = run_job(c, &v, o.out);
  }
  if (s == OK) s = give(c, o.out, a->at[0].tensor, false, &r[0]);
  operands_close(c, &o);
  return s;
}
