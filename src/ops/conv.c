/* conv.c: convolution, its two transposes, and the pool of maxima.
 *
 * The three products of one convolution share one description (Conv2d): the
 * transposed one is its pull to x, conv_weight its pull to the weight.
 * Must not know: how images are packed.
 */
#include <string.h>

#include "ops/run.h"

/* ---- arguments ---- */

/* A pair option at param k: one number stands for both axes. */
static Status pair_at(Context *c, OpId op, Args *a, int k, int64_t least,
                      Status code, int64_t pair[2]) {
  const Param *param = &op_rows[op].param[k];
  Arg *arg = &a->at[k];
  if (arg->kind == ARG_SIZES && arg->count == 2)
    memcpy(pair, arg->sizes, 2 * sizeof *pair);
  else if (arg->kind == ARG_SIZES && arg->count == 1)
    pair[0] = pair[1] = arg->sizes[0];
  else if (arg->kind == ARG_NONE)
    pair[0] = pair[1] = (int64_t)param->value;
  else if (arg->kind == ARG_INTEGER)
    pair[0] = pair[1] = arg->integer;
  else
    return fail(c, E_TYPE, "%A is one number or a table of two", param->name);
  for (int i = 0; i < 2; i++)
    if (pair[i] < least || pair[i] > INT32_MAX)
      return fail(c, code, "%A is %I, and must be at least %I", param->name,
                  pair[i], least);
  *arg = arg_sizes(2, pair);
  return OK;
}

static Status groups_at(Context *c, OpId op, Args *a, int k, int64_t *groups) {
  *groups = args_integer(op, a, k);
  a->at[k] = arg_integer(*groups);
  if (*groups >= 1) return OK;
  return fail(c, E_GROUPS, "%A is %I, and must be at least 1", "groups",
              *groups);
}

/* Windows along one axis; E_KERNEL_TOO_BIG when there are none. */
static Status result_size(Context *c, Conv2d *v, int axis) {
  const int64_t reach = v->dilation[axis] * (v->kernel[axis] - 1) + 1;
  const int64_t room = v->size[axis] + 2 * v->pad[axis] - reach;
  if (v->kernel[axis] < 1)
    return fail(c, E_KERNEL, "%A size %I is below 1", "kernel",
                v->kernel[axis]);
  if (room < 0)
    return fail(c, E_KERNEL_TOO_BIG,
                "%A reaches over %I, the padded input has %I", "kernel", reach,
                v->size[axis] + 2 * v->pad[axis]);
  v->result[axis] = room / v->stride[axis] + 1;
  return OK;
}

/* ---- operands ---- */

/* x as contiguous {n, c, h, w} in the dtype that it computes in. */
static Status images(Context *c, const char *name, Tensor *x, Tensor **r) {
  Tensor *flat = NULL;
  Status s = check_rank(c, name, x, 3, 4);
  if (s == OK)
    s = plain(c, x, dtype_compute(x->dtype), tensor_device(x), &flat);
  if (s != OK) return s;
  Shape shape = flat->shape;
  if (shape.rank == 3) shape_insert(&shape, 0, 1, 1);
  shape_contiguous(&shape);
  s = tensor_view(c, flat, &shape, flat->offset, r);
  tensor_release(c, flat);
  return s;
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

/* Runs v into `out` ({n,c,h,w}, computing dtype), gives it in x's rank and
 * dtype. */
static Status run_conv(Context *c, Conv2d *v, Tensor *out, const Tensor *like,
                       bool drops_batch, Tensor **r) {
  Device *d = tensor_device(out);
  char *scratch = NULL;
  Tensor *narrow = NULL;
  Status s = OK;
  const bool has_work = v->batch > 0 && v->in > 0 && v->out > 0;
  if (!has_work || out->count == 0) {
    const Arg zero = arg_integer(0);
    s = fill_with(c, out, &zero);
  } else {
    const size_t room = d->backend.conv_room(&d->backend, v);
    s = scratch_take(c, d, room, &scratch);
    v->scratch = scratch;
    if (s == OK) s = check_done(c, d->backend.conv(&d->backend, v));
    scratch_give(d, scratch, room);
  }
  if (s == OK) s = plain(c, out, like->dtype, d, &narrow);
  if (s == OK) {
    Shape shape = narrow->shape;
    if (drops_batch) shape_drop(&shape, 0);
    s = tensor_view(c, narrow, &shape, narrow->offset, r);
    if (s == OK) (*r)->is_view = false;
  }
  tensor_release(c, narrow);
  return s;
}

static void set_pair(int64_t to[2], const Shape *s) {
  to[0] = s->size[s->rank - 2];
  to[1] = s->size[s->rank - 1];
}

/* ---- conv2d ---- */

static Status check_weight(Context *c, const Conv2d *v, const Tensor *x,
                           const Tensor *w) {
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

Status run_conv2d(Context *c, Args *a, Tensor **r) {
  Tensor *self = a->at[0].tensor, *x = NULL, *w = NULL, *bias = NULL;
  Tensor *out = NULL, *weight = a->at[1].tensor;
  Tensor *given = a->at[2].kind == ARG_TENSOR ? a->at[2].tensor : NULL;
  Conv2d v = {.what = CONV_VALUE};
  Status s = check_pair_of(c, "weight", self, weight);
  if (s == OK) s = check_rank(c, "weight", weight, 4, 4);
  if (s == OK) s = pair_at(c, OP_conv2d, a, 3, 1, E_STRIDE, v.stride);
  if (s == OK) s = pair_at(c, OP_conv2d, a, 4, 0, E_PADDING, v.pad);
  if (s == OK) s = pair_at(c, OP_conv2d, a, 5, 1, E_DILATION, v.dilation);
  if (s == OK) s = groups_at(c, OP_conv2d, a, 6, &v.groups);
  if (s == OK) s = images(c, "self", self, &x);
  if (s != OK) return s;
  v.dtype = x->dtype;
  v.batch = x->shape.size[0], v.in = x->shape.size[1];
  v.out = weight->shape.size[0];
  set_pair(v.size, &x->shape);
  set_pair(v.kernel, &weight->shape);
  s = check_weight(c, &v, self, weight);
  if (s == OK) s = check_bias(c, self, given, v.out);
  if (s == OK) s = result_size(c, &v, 0);
  if (s == OK) s = result_size(c, &v, 1);
  if (s == OK) s = plain(c, weight, x->dtype, tensor_device(x), &w);
  if (s == OK && given != NULL)
    s = plain(c, given, x->dtype, tensor_device(x), &bias);
  if (s == OK) {
    const int64_t sizes[] = {v.batch, v.out, v.result[0], v.result[1]};
    const Shape shape = shape_of(4, sizes);
    s = tensor_new(c, tensor_device(x), x->dtype, &shape, &out);
  }
  if (s == OK) {
    v.x = tensor_data(x), v.w = tensor_data(w), v.y = tensor_data(out);
    v.bias = bias != NULL ? tensor_data(bias) : NULL;
    s = run_conv(c, &v, out, self, self->shape.rank == 3, &r[0]);
  }
  tensor_release(c, x);
  tensor_release(c, w);
  tensor_release(c, bias);
  tensor_release(c, out);
  return s;
}

/* ---- conv_transpose2d: self is y of a convolution, the result its x ---- */

static Status transposed_size(Context *c, Conv2d *v, const int64_t more[2],
                              int i) {
  const int64_t reach = v->dilation[i] * (v->kernel[i] - 1) + 1;
  v->size[i] =
      (v->result[i] - 1) * v->stride[i] - 2 * v->pad[i] + reach + more[i];
  if (v->kernel[i] < 1)
    return fail(c, E_KERNEL, "%A size %I is below 1", "kernel", v->kernel[i]);
  if (more[i] >= v->stride[i])
    return fail(c, E_PADDING, "%A is %I, and must be below the stride %I",
                "output_padding", more[i], v->stride[i]);
  if (v->size[i] < 1)
    return fail(c, E_PADDING, "%A %I leaves a size of %I", "padding",
                v->pad[i], v->size[i]);
  return OK;
}

/* r += bias along the channels, on a fresh result. */
static Status add_bias(Context *c, Tensor *bias, Tensor *out) {
  Shape shape = bias->shape;
  Tensor *column = NULL;
  shape_insert(&shape, 1, 1, 1);
  shape_insert(&shape, 2, 1, 1);
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

Status run_conv_transpose2d(Context *c, Args *a, Tensor **r) {
  Tensor *self = a->at[0].tensor, *y = NULL, *w = NULL, *out = NULL;
  Tensor *weight = a->at[1].tensor;
  Tensor *bias = a->at[2].kind == ARG_TENSOR ? a->at[2].tensor : NULL;
  const OpId op = OP_conv_transpose2d;
  int64_t more[2];
  Conv2d v = {.what = CONV_TO_X};
  Status s = check_pair_of(c, "weight", self, weight);
  if (s == OK) s = check_rank(c, "weight", weight, 4, 4);
  if (s == OK) s = pair_at(c, op, a, 3, 1, E_STRIDE, v.stride);
  if (s == OK) s = pair_at(c, op, a, 4, 0, E_PADDING, v.pad);
  if (s == OK) s = pair_at(c, op, a, 5, 0, E_PADDING, more);
  if (s == OK) s = pair_at(c, op, a, 6, 1, E_DILATION, v.dilation);
  if (s == OK) s = groups_at(c, op, a, 7, &v.groups);
  if (s == OK) s = images(c, "self", self, &y);
  if (s != OK) return s;
  v.dtype = y->dtype;
  v.batch = y->shape.size[0], v.out = y->shape.size[1];
  v.in = weight->shape.size[1] * v.groups;
  set_pair(v.result, &y->shape);
  set_pair(v.kernel, &weight->shape);
  if (weight->shape.size[0] != v.out)
    s = fail(c, E_CHANNELS, "self %S has %I channels, %A %S wants %I",
             SHAPE_ARG(&self->shape), v.out, "weight",
             SHAPE_ARG(&weight->shape), weight->shape.size[0]);
  if (s == OK && v.out % v.groups != 0)
    s = fail(c, E_GROUPS, "%I channels do not part into %I %A", v.out,
             v.groups, "groups");
  if (s == OK) s = check_bias(c, self, bias, v.in);
  if (s == OK) s = transposed_size(c, &v, more, 0);
  if (s == OK) s = transposed_size(c, &v, more, 1);
  if (s == OK) s = plain(c, weight, y->dtype, tensor_device(y), &w);
  if (s == OK) {
    const int64_t sizes[] = {v.batch, v.in, v.size[0], v.size[1]};
    const Shape shape = shape_of(4, sizes);
    s = tensor_new(c, tensor_device(y), y->dtype, &shape, &out);
  }
  if (s == OK) {
    v.x = tensor_data(out), v.w = tensor_data(w), v.y = tensor_data(y);
    s = run_conv(c, &v, out, self, self->shape.rank == 3 && bias == NULL,
                 &r[0]);
  }
  if (s == OK && bias != NULL) {
    Shape shape = r[0]->shape;
    Tensor *dropped = NULL;
    s = add_bias(c, bias, r[0]);
    if (s == OK && self->shape.rank == 3) {
      shape_drop(&shape, 0);
      s = tensor_view(c, r[0], &shape, r[0]->offset, &dropped);
      if (s == OK) {
        tensor_release(c, r[0]);
        r[0] = dropped;
        dropped->is_view = false;
      }
    }
  }
  tensor_release(c, y);
  tensor_release(c, w);
  tensor_release(c, out);
  return s;
}

/* ---- conv_weight: self is x, grad is y, the result the weight ---- */

Status run_conv_weight(Context *c, Args *a, Tensor **r) {
  Tensor *self = a->at[0].tensor, *grad = a->at[1].tensor;
  Tensor *x = NULL, *y = NULL, *out = NULL;
  const OpId op = OP_conv_weight;
  Conv2d v = {.what = CONV_TO_WEIGHT};
  Status s = check_pair_of(c, "grad", self, grad);
  if (s == OK) s = pair_at(c, op, a, 2, 1, E_KERNEL, v.kernel);
  if (s == OK) s = pair_at(c, op, a, 3, 1, E_STRIDE, v.stride);
  if (s == OK) s = pair_at(c, op, a, 4, 0, E_PADDING, v.pad);
  if (s == OK) s = pair_at(c, op, a, 5, 1, E_DILATION, v.dilation);
  if (s == OK) s = groups_at(c, op, a, 6, &v.groups);
  if (s == OK) s = images(c, "self", self, &x);
  if (s == OK) s = images(c, "grad", grad, &y);
  if (s != OK) goto done;
  v.dtype = x->dtype;
  v.batch = x->shape.size[0], v.in = x->shape.size[1];
  v.out = y->shape.size[1];
  set_pair(v.size, &x->shape);
  if (v.in % v.groups != 0 || v.out % v.groups != 0)
    s = fail(c, E_GROUPS, "%I and %I channels do not part into %I %A", v.in,
             v.out, v.groups, "groups");
  if (s == OK) s = result_size(c, &v, 0);
  if (s == OK) s = result_size(c, &v, 1);
  if (s == OK && (v.batch != y->shape.size[0] ||
                  v.result[0] != y->shape.size[2] ||
                  v.result[1] != y->shape.size[3])) {
    const int64_t want[] = {v.batch, v.out, v.result[0], v.result[1]};
    s = fail(c, E_SHAPE, "self %S gives %S, and %A is %S",
             SHAPE_ARG(&self->shape), 4, want, "grad",
             SHAPE_ARG(&grad->shape));
  }
  if (s == OK) {
    const int64_t sizes[] = {v.out, v.in / v.groups, v.kernel[0], v.kernel[1]};
    const Shape shape = shape_of(4, sizes);
    s = tensor_new(c, tensor_device(x), x->dtype, &shape, &out);
  }
  if (s == OK) {
    v.x = tensor_data(x), v.w = tensor_data(out), v.y = tensor_data(y);
    s = run_conv(c, &v, out, self, false, &r[0]);
  }
done:
  tensor_release(c, x);
  tensor_release(c, y);
  tensor_release(c, out);
  return s;
}

/* ---- max_pool2d ---- */

/* Windows: ceil_mode adds one unless it would start in the right padding. */
static Status pool_size(Context *c, Pool2d *p, bool ceil_mode, int i) {
  const int64_t reach = p->dilation[i] * (p->kernel[i] - 1) + 1;
  const int64_t room = p->size[i] + 2 * p->pad[i] - reach;
  if (2 * p->pad[i] > p->kernel[i])
    return fail(c, E_PAD_GT_HALF, "%A %I is above half the kernel %I",
                "padding", p->pad[i], p->kernel[i]);
  if (room < 0)
    return fail(c, E_KERNEL_TOO_BIG,
                "%A reaches over %I, the padded input has %I", "kernel", reach,
                p->size[i] + 2 * p->pad[i]);
  p->result[i] = room / p->stride[i] + 1;
  if (!ceil_mode || room % p->stride[i] == 0) return OK;
  if (p->result[i] * p->stride[i] < p->size[i] + p->pad[i]) p->result[i]++;
  return OK;
}

static Status pool_args(Context *c, Args *a, Pool2d *p) {
  const OpId op = OP_max_pool2d;
  Status s = pair_at(c, op, a, 1, 1, E_KERNEL, p->kernel);
  if (s != OK) return s;
  if (a->at[2].kind == ARG_NONE) a->at[2] = arg_sizes(2, p->kernel);
  s = pair_at(c, op, a, 2, 1, E_STRIDE, p->stride);
  if (s == OK) s = pair_at(c, op, a, 3, 0, E_PADDING, p->pad);
  if (s == OK) s = pair_at(c, op, a, 4, 1, E_DILATION, p->dilation);
  return s;
}

/* Every window that a dilated kernel makes must hold an element. */
static Status check_windows(Context *c, const Pool2d *p, const Tensor *x) {
  if (p->size[0] > 0 && p->size[1] > 0) return OK;
  return fail(c, E_EMPTY, "%A %S has empty planes", "self",
              SHAPE_ARG(&x->shape));
}

Status run_max_pool2d(Context *c, Args *a, Tensor **r) {
  Tensor *self = a->at[0].tensor, *x = NULL, *out = NULL, *at = NULL;
  Pool2d p = {0};
  Status s = pool_args(c, a, &p);
  const bool ceil_mode = args_integer(OP_max_pool2d, a, 5) != 0;
  if (s == OK) s = images(c, "self", self, &x);
  if (s != OK) return s;
  set_pair(p.size, &x->shape);
  s = check_windows(c, &p, self);
  if (s == OK) s = pool_size(c, &p, ceil_mode, 0);
  if (s == OK) s = pool_size(c, &p, ceil_mode, 1);
  if (s != OK) goto done;
  const int lead = self->shape.rank - 2;
  Shape shape = self->shape;
  shape.size[lead] = p.result[0], shape.size[lead + 1] = p.result[1];
  p.dtype = x->dtype;
  p.planes = x->shape.size[0] * x->shape.size[1];
  s = tensor_new(c, tensor_device(x), x->dtype, &shape, &out);
  if (s == OK) s = tensor_new(c, tensor_device(x), DTYPE_I64, &shape, &at);
  if (s == OK && out->count > 0) {
    p.x = tensor_data(x), p.y = tensor_data(out), p.at = tensor_data(at);
    Backend *b = tensor_backend(x);
    s = check_done(c, b->max_pool(b, &p));
  }
  if (s == OK) s = plain(c, out, self->dtype, tensor_device(x), &r[0]);
  if (s == OK) r[1] = tensor_share(at);
done:
  tensor_release(c, x);
  tensor_release(c, out);
  tensor_release(c, at);
  return s;
}
