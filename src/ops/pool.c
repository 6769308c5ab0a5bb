/* pool.c: pools over 1 to 3 axes, and the transposes of the means.
 *
 * Must not know: how a window is walked.
 */
#include <string.h>

#include "ops/windows.h"

/* ---- windows ---- */

/* Padding at most half the kernel, so that each window holds an element; with
 * ceil_mode a last window that begins inside x or its padding before. */
static Status pool_count(Context *c, Windows *w, bool ceil_mode) {
  for (int i = 0; i < SPACE; i++)
    if (w->before[i] > w->kernel[i] / 2)
      return fail(c, E_PAD_GT_HALF, "%A %I is above half the kernel %I",
                  "padding", w->before[i], w->kernel[i]);
  const Status s = windows_count(c, w);
  for (int i = 0; i < SPACE && s == OK && ceil_mode; i++) {
    const int64_t room =
        w->size[i] + w->before[i] + w->after[i] - windows_reach(w, i);
    const int64_t next = w->result[i] * w->stride[i];
    if (room % w->stride[i] != 0 && next < w->size[i] + w->before[i])
      w->result[i]++;
  }
  return s;
}

/* kernel, stride (else the kernel), padding, and dilation unless 0. */
static Status pool_args(Context *c, OpId op, Args *a, int kernel, int dilation,
                        Windows *w) {
  Arg *stride = &a->at[kernel + 1];
  Status s = windows_tuple(c, op, a, kernel, 1, E_KERNEL, w, w->kernel);
  if (s != OK) return s;
  if (stride->kind == ARG_NONE) *stride = a->at[kernel];
  return windows_options(c, op, a, kernel + 1, kernel + 2, dilation, w);
}

/* No mean and no maximum of nothing. */
static Status check_planes(Context *c, const int64_t size[SPACE],
                           const Tensor *x) {
  for (int i = 0; i < SPACE; i++)
    if (size[i] == 0)
      return fail(c, E_EMPTY, "%A %S has empty planes", "self",
                  SHAPE_ARG(&x->shape));
  return OK;
}

/* self as {batch, channels, sizes}; the windows over it. */
static Status pool_operand(Context *c, Tensor *self, Windows *w, Tensor **x) {
  const Status s = windows_operand(c, "self", self, w->axes, x);
  if (s != OK) return s;
  windows_sizes(&(*x)->shape, w->axes, w->size);
  return check_planes(c, w->size, self);
}

static int64_t planes_of(const Tensor *x) {
  return x->shape.size[0] * x->shape.size[1];
}

/* ---- max_pool ---- */

/* Places are made where somebody reads them. */
static bool wants_places(const Context *c, const Tensor *self, bool indices) {
  return indices || (c->is_recording && tensor_is_tracked(self));
}

static Status max_run(Context *c, const Windows *w, Tensor *x, Tensor *y,
                      Tensor *at) {
  MaxPool p = {.dtype = x->dtype, .planes = planes_of(x)};
  Backend *b = tensor_backend(x);
  if (y->count == 0) return OK;
  memcpy(p.size, w->size, sizeof p.size);
  memcpy(p.kernel, w->kernel, sizeof p.kernel);
  memcpy(p.stride, w->stride, sizeof p.stride);
  memcpy(p.pad, w->before, sizeof p.pad);
  memcpy(p.dilation, w->dilation, sizeof p.dilation);
  memcpy(p.result, w->result, sizeof p.result);
  p.x = tensor_data(x), p.y = tensor_data(y);
  p.at = at != NULL ? tensor_data(at) : NULL;
  return check_done(c, b->max_pool(b, &p));
}

/* *r = places from the caller's base. */
static Status count_from_base(Context *c, Tensor *at, Tensor **r) {
  Args a;
  a.at[0] = arg_tensor(at);
  a.at[1] = arg_integer(c->failure.base);
  a.at[2].kind = ARG_NONE;
  return pointwise_call(c, OP_add, &a, NULL, r);
}

/* r: y, places from the base or NULL, places from 0 or NULL. */
static Status max_pool(Context *c, OpId op, int axes, Args *a, Tensor **r) {
  Tensor *self = a->at[0].tensor, *x = NULL, *out = NULL, *at = NULL;
  Windows w = windows_of(axes);
  const bool indices = args_integer(op, a, 6) != 0;
  Status s = pool_args(c, op, a, 1, 4, &w);
  if (s == OK) s = pool_operand(c, self, &w, &x);
  if (s == OK) s = pool_count(c, &w, args_integer(op, a, 5) != 0);
  if (s == OK) {
    const Shape shape = windows_shape(self->shape.rank - axes,
                                      self->shape.size, axes, w.result);
    s = tensor_new(c, tensor_device(x), x->dtype, &shape, &out);
    if (s == OK && wants_places(c, self, indices))
      s = tensor_new(c, tensor_device(x), DTYPE_I64, &shape, &at);
  }
  if (s == OK) s = max_run(c, &w, x, out, at);
  if (s == OK) s = plain(c, out, self->dtype, tensor_device(x), &r[0]);
  if (s == OK && indices) s = count_from_base(c, at, &r[1]);
  if (s == OK && at != NULL) r[2] = tensor_share(at);
  tensor_release(c, x);
  tensor_release(c, out);
  tensor_release(c, at);
  return s;
}

Status run_max_pool1d(Context *c, Args *a, Tensor **r) {
  return max_pool(c, OP_max_pool1d, 1, a, r);
}

Status run_max_pool2d(Context *c, Args *a, Tensor **r) {
  return max_pool(c, OP_max_pool2d, 2, a, r);
}

Status run_max_pool3d(Context *c, Args *a, Tensor **r) {
  return max_pool(c, OP_max_pool3d, 3, a, r);
}

/* ---- means ---- */

static AvgPool avg_job(const Windows *w, bool adaptive, bool counts_pad) {
  AvgPool p = {.adaptive = adaptive, .counts_pad = counts_pad};
  memcpy(p.size, w->size, sizeof p.size);
  memcpy(p.kernel, w->kernel, sizeof p.kernel);
  memcpy(p.stride, w->stride, sizeof p.stride);
  memcpy(p.pad, w->before, sizeof p.pad);
  memcpy(p.result, w->result, sizeof p.result);
  return p;
}

/* *r = the result of the job over x (plain) in the dtype and with the leading
 * axes of self; `add`: the transpose. */
static Status avg_run(Context *c, AvgPool *p, bool add, int axes, Tensor *self,
                      Tensor *x, Tensor **r) {
  Tensor *out = NULL;
  Backend *b = tensor_backend(x);
  const Shape shape = windows_shape(self->shape.rank - axes, self->shape.size,
                                    axes, add ? p->size : p->result);
  Status s = tensor_new(c, tensor_device(x), x->dtype, &shape, &out);
  if (s == OK && out->count > 0) {
    p->dtype = x->dtype, p->planes = planes_of(x);
    p->x = tensor_data(add ? out : x), p->y = tensor_data(add ? x : out);
    s = check_done(c, (add ? b->avg_pool_add : b->avg_pool)(b, p));
  }
  if (s == OK) s = plain(c, out, self->dtype, tensor_device(x), r);
  tensor_release(c, out);
  return s;
}

static Status avg_pool(Context *c, OpId op, int axes, Args *a, Tensor **r) {
  Tensor *self = a->at[0].tensor, *x = NULL;
  Windows w = windows_of(axes);
  Status s = pool_args(c, op, a, 1, 0, &w);
  if (s == OK) s = pool_operand(c, self, &w, &x);
  if (s == OK) s = pool_count(c, &w, args_integer(op, a, 4) != 0);
  if (s == OK) {
    AvgPool p = avg_job(&w, false, args_integer(op, a, 5) != 0);
    s = avg_run(c, &p, false, axes, self, x, &r[0]);
  }
  tensor_release(c, x);
  return s;
}

Status run_avg_pool1d(Context *c, Args *a, Tensor **r) {
  return avg_pool(c, OP_avg_pool1d, 1, a, r);
}

Status run_avg_pool2d(Context *c, Args *a, Tensor **r) {
  return avg_pool(c, OP_avg_pool2d, 2, a, r);
}

Status run_avg_pool3d(Context *c, Args *a, Tensor **r) {
  return avg_pool(c, OP_avg_pool3d, 3, a, r);
}

/* ---- their transposes: self is y of a mean, the result its x ---- */

/* w over the sizes at param k. */
static Status sizes_at(Context *c, Args *a, int k, Windows *w) {
  const Arg *sizes = &a->at[k];
  const char *name = "size";
  if (sizes->count < 1 || sizes->count > SPACE)
    return fail(c, E_RANK,
                "%A has %d entries; one for each of 1 to %d axes is due", name,
                sizes->count, SPACE);
  *w = windows_of(sizes->count);
  for (int i = 0; i < w->axes; i++) {
    w->size[SPACE - w->axes + i] = sizes->sizes[i];
    if (sizes->sizes[i] < 1)
      return fail(c, E_SIZE, "%A is %S, and must be at least 1", name,
                  sizes->count, sizes->sizes);
  }
  return OK;
}

static Status check_results(Context *c, const Tensor *self, const Windows *w) {
  int64_t found[SPACE];
  windows_sizes(&self->shape, w->axes, found);
  if (memcmp(found, w->result, sizeof found) == 0) return OK;
  return fail(c, E_SHAPE, "the last dims of %A %S must be %S", "self",
              SHAPE_ARG(&self->shape), w->axes,
              windows_last(w->axes, w->result));
}

Status run_avg_pool_add(Context *c, Args *a, Tensor **r) {
  const OpId op = OP_avg_pool_add;
  Tensor *self = a->at[0].tensor, *y = NULL;
  Windows w;
  Status s = sizes_at(c, a, 1, &w);
  if (s == OK) s = pool_args(c, op, a, 2, 0, &w);
  if (s == OK) s = pool_count(c, &w, args_integer(op, a, 5) != 0);
  if (s == OK) s = windows_operand(c, "self", self, w.axes, &y);
  if (s == OK) s = check_results(c, self, &w);
  if (s == OK) {
    AvgPool p = avg_job(&w, false, args_integer(op, a, 6) != 0);
    s = avg_run(c, &p, true, w.axes, self, y, &r[0]);
  }
  tensor_release(c, y);
  return s;
}

/* ---- adaptive ---- */

static Status adaptive(Context *c, OpId op, int axes, Args *a, Tensor **r) {
  Tensor *self = a->at[0].tensor, *x = NULL;
  Windows w = windows_of(axes);
  Status s = windows_tuple(c, op, a, 1, 1, E_SIZE, &w, w.result);
  if (s == OK) s = pool_operand(c, self, &w, &x);
  if (s == OK) {
    AvgPool p = avg_job(&w, true, false);
    s = avg_run(c, &p, false, axes, self, x, &r[0]);
  }
  tensor_release(c, x);
  return s;
}

Status run_adaptive_avg_pool1d(Context *c, Args *a, Tensor **r) {
  return adaptive(c, OP_adaptive_avg_pool1d, 1, a, r);
}

Status run_adaptive_avg_pool2d(Context *c, Args *a, Tensor **r) {
  return adaptive(c, OP_adaptive_avg_pool2d, 2, a, r);
}

Status run_adaptive_avg_pool3d(Context *c, Args *a, Tensor **r) {
  return adaptive(c, OP_adaptive_avg_pool3d, 3, a, r);
}

Status run_adaptive_pool_add(Context *c, Args *a, Tensor **r) {
  Tensor *self = a->at[0].tensor, *y = NULL;
  Windows w;
  Status s = sizes_at(c, a, 1, &w);
  if (s == OK) s = windows_operand(c, "self", self, w.axes, &y);
  if (s == OK) {
    windows_sizes(&y->shape, w.axes, w.result);
    s = check_planes(c, w.result, self);
  }
  if (s == OK) {
    AvgPool p = avg_job(&w, true, false);
    s = avg_run(c, &p, true, w.axes, self, y, &r[0]);
  }
  tensor_release(c, y);
  return s;
}
