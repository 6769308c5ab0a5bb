/* columns.c: im2col and col2im: the windows of an image as columns, and back.
 *
 *   padded image (n, c, h, w), seen as (n, c, kh, kw, rows, columns) with the
 *   steps of dilation and stride: im2col copies that view, col2im adds to it,
 *   one tap of the kernel at a time, since taps share elements.
 * Must not know: kernels: moves and sums of views do it all.
 */
#include <string.h>

#include "ops/windows.h"

/* The view of the windows in a padded image (n, c, h, w) of these strides. */
static Shape window_view(const Windows *w, const Shape *image) {
  const int64_t row = image->stride[2], column = image->stride[3];
  Shape s = {.rank = 0};
  shape_insert(&s, 0, image->size[0], image->stride[0]);
  shape_insert(&s, 1, image->size[1], image->stride[1]);
  shape_insert(&s, 2, w->kernel[DOWN], row * w->dilation[DOWN]);
  shape_insert(&s, 3, w->kernel[ACROSS], column * w->dilation[ACROSS]);
  shape_insert(&s, 4, w->result[DOWN], row * w->stride[DOWN]);
  shape_insert(&s, 5, w->result[ACROSS], column * w->stride[ACROSS]);
  return s;
}

/* *r = zeros (n, c, padded sizes); *inner = the image in it. */
static Status padded_image(Context *c, Device *d, Dtype dtype, int64_t n,
                           int64_t channels, const Windows *w, Tensor **r,
                           Tensor **inner) {
  const Arg zero = arg_integer(0);
  int64_t size[] = {n, channels, w->size[DOWN], w->size[ACROSS]};
  for (int i = 0; i < 2; i++)
    size[2 + i] += w->before[DOWN + i] + w->after[DOWN + i];
  const Shape padded = shape_of(4, size);
  Status s = tensor_new(c, d, dtype, &padded, r);
  if (s == OK) s = fill_with(c, *r, &zero);
  if (s != OK) return s;
  Shape view = padded;
  view.size[2] = w->size[DOWN], view.size[3] = w->size[ACROSS];
  return tensor_view(c, *r, &view,
                     w->before[DOWN] * padded.stride[2] + w->before[ACROSS],
                     inner);
}

static bool is_padded(const Windows *w) {
  return (w->before[DOWN] | w->after[DOWN] | w->before[ACROSS] |
          w->after[ACROSS]) != 0;
}

static Status column_args(Context *c, OpId op, Args *a, int kernel,
                          Windows *w) {
  Status s = windows_tuple(c, op, a, kernel, 1, E_KERNEL, w, w->kernel);
  if (s == OK)
    s = windows_options(c, op, a, kernel + 1, kernel + 2, kernel + 3, w);
  return s == OK ? windows_count(c, w) : s;
}

static int64_t window_places(const Windows *w) {
  return w->result[DOWN] * w->result[ACROSS];
}

static int64_t window_taps(const Windows *w) {
  return w->kernel[DOWN] * w->kernel[ACROSS];
}

/* *r = x, or x in a border of zeros. */
static Status bordered(Context *c, Tensor *x, const Windows *w, Tensor **r) {
  Tensor *inner = NULL, *padded = NULL;
  if (!is_padded(w)) {
    *r = tensor_share(x);
    return OK;
  }
  Status s = padded_image(c, tensor_device(x), x->dtype, x->shape.size[0],
                          x->shape.size[1], w, &padded, &inner);
  if (s == OK && x->count > 0) s = move_into(c, inner, x);
  tensor_release(c, inner);
  if (s == OK) *r = padded;
  else tensor_release(c, padded);
  return s;
}

/* *r = x {n,c,h,w} itself, or {c,h,w} with n = 1. */
static Status with_batch(Context *c, Tensor *x, Tensor **r) {
  Shape shape = x->shape;
  const Status s = check_rank(c, "self", x, 3, 4);
  if (s != OK) return s;
  if (shape.rank == 3) shape_insert(&shape, 0, 1, 0);
  return tensor_view(c, x, &shape, x->offset, r);
}

Status run_im2col(Context *c, Args *a, Tensor **r) {
  Tensor *self = a->at[0].tensor, *x = NULL, *image = NULL, *view = NULL;
  Tensor *columns = NULL;
  Windows w = windows_of(2);
  Status s = with_batch(c, self, &x);
  if (s == OK) windows_sizes(&x->shape, 2, w.size);
  if (s == OK) s = column_args(c, OP_im2col, a, 1, &w);
  if (s == OK) s = bordered(c, x, &w, &image);
  if (s == OK) {
    const Shape windows = window_view(&w, &image->shape);
    s = tensor_view(c, image, &windows, image->offset, &view);
  }
  if (s == OK)
    s = plain(c, view, self->dtype, tensor_device(self), &columns);
  if (s == OK) {
    const int64_t size[] = {x->shape.size[0],
                            x->shape.size[1] * window_taps(&w),
                            window_places(&w)};
    const int drops = self->shape.rank == 3;
    const Shape shape = shape_of(3 - drops, size + drops);
    s = tensor_view(c, columns, &shape, columns->offset, &r[0]);
    if (s == OK) r[0]->is_view = false;
  }
  tensor_release(c, x);
  tensor_release(c, image);
  tensor_release(c, view);
  tensor_release(c, columns);
  return s;
}

/* ---- col2im ---- */

/* target += columns, both (n, c, rows, columns of results): one tap. */
static Status add_view(Context *c, Tensor *target, Tensor *columns) {
  Args a;
  a.at[0] = arg_tensor(target);
  a.at[1] = arg_tensor(columns);
  a.at[2].kind = ARG_NONE;
  return pointwise_call(c, OP_add, &a, target, NULL);
}

/* The tap (i, j) of a view (n, c, kh, kw, ..). */
static Status tap_view(Context *c, Tensor *of, Shape s, int64_t offset,
                       int64_t i, int64_t j, Tensor **r) {
  offset += i * s.stride[2] + j * s.stride[3];
  shape_drop(&s, 3);
  shape_drop(&s, 2);
  return tensor_view(c, of, &s, offset, r);
}

static Status add_tap(Context *c, const Windows *w, Tensor *image,
                      Tensor *columns, int64_t i, int64_t j) {
  const int64_t size[] = {image->shape.size[0], image->shape.size[1],
                          w->kernel[DOWN],      w->kernel[ACROSS],
                          w->result[DOWN],      w->result[ACROSS]};
  Tensor *to = NULL, *from = NULL;
  Status s = tap_view(c, image, window_view(w, &image->shape), image->offset,
                      i, j, &to);
  if (s == OK)
    s = tap_view(c, columns, shape_of(6, size), columns->offset, i, j, &from);
  if (s == OK && to->count > 0) s = add_view(c, to, from);
  tensor_release(c, to);
  tensor_release(c, from);
  return s;
}

/* self as (n, c kh kw, windows), contiguous and in its computing dtype. */
static Status open_columns(Context *c, Tensor *self, const Windows *w,
                           Tensor **r) {
  Tensor *flat = NULL;
  Status s = check_rank(c, "self", self, 2, 3);
  if (s != OK) return s;
  const int64_t *last = self->shape.size + self->shape.rank - 2;
  if (last[0] % window_taps(w) != 0 || last[1] != window_places(w))
    return fail(c, E_SHAPE,
                "%A %S must end in channels times %I taps and %I windows",
                "self", SHAPE_ARG(&self->shape), window_taps(w),
                window_places(w));
  s = plain(c, self, dtype_compute(self->dtype), tensor_device(self), &flat);
  if (s != OK) return s;
  Shape shape = flat->shape;
  if (shape.rank == 2) shape_insert(&shape, 0, 1, 1);
  shape_contiguous(&shape);
  s = tensor_view(c, flat, &shape, flat->offset, r);
  tensor_release(c, flat);
  return s;
}

static Status image_size(Context *c, const Arg *sizes, Windows *w) {
  if (sizes->count != 2)
    return fail(c, E_RANK, "%A has %d entries; {height, width} is due", "size",
                sizes->count);
  for (int i = 0; i < 2; i++)
    if (sizes->sizes[i] < 0)
      return fail(c, E_SIZE, "%A is %S", "size", 2, sizes->sizes);
  w->size[DOWN] = sizes->sizes[0], w->size[ACROSS] = sizes->sizes[1];
  return OK;
}

Status run_col2im(Context *c, Args *a, Tensor **r) {
  Tensor *self = a->at[0].tensor, *columns = NULL, *image = NULL;
  Tensor *inner = NULL, *made = NULL;
  Windows w = windows_of(2);
  Status s = image_size(c, &a->at[1], &w);
  if (s == OK) s = column_args(c, OP_col2im, a, 2, &w);
  if (s == OK) s = open_columns(c, self, &w, &columns);
  if (s == OK)
    s = padded_image(c, tensor_device(self), columns->dtype,
                     columns->shape.size[0],
                     columns->shape.size[1] / window_taps(&w), &w, &image,
                     &inner);
  for (int64_t i = 0; i < w.kernel[DOWN] && s == OK; i++)
    for (int64_t j = 0; j < w.kernel[ACROSS] && s == OK; j++)
      s = add_tap(c, &w, image, columns, i, j);
  if (s == OK) s = plain(c, inner, self->dtype, tensor_device(self), &made);
  if (s == OK) {
    Shape shape = made->shape;
    if (self->shape.rank == 2) shape_drop(&shape, 0);
    s = tensor_view(c, made, &shape, made->offset, &r[0]);
    if (s == OK) r[0]->is_view = false;
  }
  tensor_release(c, columns);
  tensor_release(c, image);
  tensor_release(c, inner);
  tensor_release(c, made);
  return s;
}
