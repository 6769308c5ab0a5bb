/* rule.c: rows that run as one fused kernel over rows of numbers.
 *
 * Kernels want contiguous rows in f32 or f64: other layouts are copied, and
 * the result is seen in the caller's order again.
 * Must not know: derivatives beyond the fused pulls of rule.h.
 */
#include "ops/rule.h"

#include <math.h>
#include <string.h>

#include "ops/index.h"
#include "ops/run.h"

/* ---- rows ---- */

/* x with `dim` moved to the last place; undone by the same call. */
static Shape swapped_last(const Shape *x, int dim) {
  Shape s = *x;
  if (s.rank == 0) return s;
  const int last = s.rank - 1;
  s.size[dim] = x->size[last], s.stride[dim] = x->stride[last];
  s.size[last] = x->size[dim], s.stride[last] = x->stride[dim];
  return s;
}

/* *r = x as contiguous rows along dim, in its computing dtype. */
static Status rows_of(Context *c, Tensor *x, int dim, Tensor **r) {
  Tensor *turned = NULL;
  const Shape shape = swapped_last(&x->shape, dim);
  Status s = tensor_view(c, x, &shape, x->offset, &turned);
  if (s == OK)
    s = plain(c, turned, dtype_compute(x->dtype), tensor_device(x), r);
  tensor_release(c, turned);
  return s;
}

/* *r = rows turned back, in `dtype`. */
static Status rows_back(Context *c, Tensor *rows, int dim, Dtype dtype,
                        Tensor **r) {
  Tensor *narrow = NULL;
  Status s = plain(c, rows, dtype, tensor_device(rows), &narrow);
  if (s != OK) return s;
  const Shape shape = swapped_last(&narrow->shape, dim);
  s = tensor_view(c, narrow, &shape, narrow->offset, r);
  if (s == OK) (*r)->is_view = false;
  tensor_release(c, narrow);
  return s;
}

static Status like(Context *c, const Tensor *x, Tensor **r) {
  return tensor_new(c, tensor_device(x), x->dtype, &x->shape, r);
}

static int64_t row_size(const Tensor *x) {
  return x->shape.rank == 0 ? 1 : x->shape.size[x->shape.rank - 1];
}

/* ---- softmax ---- */

static Status softmax(Context *c, bool log, Args *a, Tensor **r) {
  Tensor *x = a->at[0].tensor, *rows = NULL, *out = NULL;
  int dim = 0;
  Status s = check_dim(c, "dim", a->at[1].integer, x->shape.rank, x, &dim);
  if (s != OK) return s;
  a->at[1] = arg_integer(dim);
  s = rows_of(c, x, dim, &rows);
  if (s == OK) s = like(c, rows, &out);
  if (s == OK && out->count > 0) {
    const int64_t n = row_size(rows);
    const Softmax job = {.dtype = rows->dtype, .log = log,
                         .rows = rows->count / n, .n = n,
                         .x = tensor_data(rows), .y = tensor_data(out)};
    Backend *b = tensor_backend(x);
    s = check_done(c, b->softmax(b, &job));
  }
  if (s == OK) s = rows_back(c, out, dim, x->dtype, &r[0]);
  tensor_release(c, rows);
  tensor_release(c, out);
  return s;
}

Status run_softmax(Context *c, Args *a, Tensor **r) {
  return softmax(c, false, a, r);
}

Status run_log_softmax(Context *c, Args *a, Tensor **r) {
  return softmax(c, true, a, r);
}

Status rule_softmax_pull(Context *c, Tensor *y, Tensor *g, int dim, bool log,
                         Tensor **gx) {
  Tensor *y_rows = NULL, *g_rows = NULL, *out = NULL;
  Status s = rows_of(c, y, dim, &y_rows);
  if (s == OK) s = rows_of(c, g, dim, &g_rows);
  if (s == OK) s = like(c, y_rows, &out);
  if (s == OK && out->count > 0) {
    const int64_t n = row_size(y_rows);
    const Softmax job = {.dtype = y_rows->dtype, .log = log,
                         .rows = y_rows->count / n, .n = n,
                         .x = tensor_data(y_rows), .g = tensor_data(g_rows),
                         .y = tensor_data(out)};
    Backend *b = tensor_backend(y);
    s = check_done(c, b->softmax_pull(b, &job));
  }
  if (s == OK) s = rows_back(c, out, dim, g->dtype, gx);
  tensor_release(c, y_rows);
  tensor_release(c, g_rows);
  tensor_release(c, out);
  return s;
}

/* ---- logsumexp ---- */

/* x with the reduced axes last, as contiguous rows of *n elements. */
static Status reduced_last(Context *c, Tensor *x, const bool gone[MAX_RANK],
                           int64_t *n, Tensor **r) {
  Shape s = {.rank = 0};
  Tensor *turned = NULL;
  *n = 1;
  for (int pass = 0; pass < 2; pass++)
    for (int i = 0; i < x->shape.rank; i++) {
      if (gone[i] != (pass == 1)) continue;
      shape_insert(&s, s.rank, x->shape.size[i], x->shape.stride[i]);
      if (gone[i]) *n *= x->shape.size[i];
    }
  Status status = tensor_view(c, x, &s, x->offset, &turned);
  if (status == OK)
    status = plain(c, turned, dtype_compute(x->dtype), tensor_device(x), r);
  tensor_release(c, turned);
  return status;
}

Status run_logsumexp(Context *c, Args *a, Tensor **r) {
  Tensor *x = a->at[0].tensor, *rows = NULL, *out = NULL;
  bool gone[MAX_RANK];
  int64_t n = 1, dims[MAX_RANK];
  int count = 0;
  Status s = check_dims(c, &a->at[1], x, gone);
  if (s != OK) return s;
  Shape shape = x->shape;
  const bool keep = args_integer(OP_logsumexp, a, 2) != 0;
  for (int i = 0; i < x->shape.rank; i++)
    if (gone[i]) dims[count++] = i;
  for (int i = shape.rank - 1; i >= 0; i--)
    if (gone[i] && keep) shape.size[i] = 1;
    else if (gone[i]) shape_drop(&shape, i);
  a->at[1] = arg_sizes(count, dims);
  s = reduced_last(c, x, gone, &n, &rows);
  if (s == OK)
    s = tensor_new(c, tensor_device(x), rows->dtype, &shape, &out);
  if (s == OK && n == 0) {
    const Arg least = arg_number(-INFINITY);
    s = fill_with(c, out, &least);
  } else if (s == OK && out->count > 0) {
    const LogSumExp job = {.dtype = rows->dtype, .rows = out->count, .n = n,
                           .x = tensor_data(rows), .y = tensor_data(out)};
    Backend *b = tensor_backend(x);
    s = check_done(c, b->logsumexp(b, &job));
  }
  if (s == OK) s = plain(c, out, x->dtype, tensor_device(x), &r[0]);
  tensor_release(c, rows);
  tensor_release(c, out);
  return s;
}

/* ---- layer_norm ---- */

/* The last axes of x must be `sizes`; *n: how many elements they have. */
static Status check_normal_shape(Context *c, const Tensor *x, const Arg *sizes,
                                 int64_t *n) {
  const int from = x->shape.rank - sizes->count;
  *n = 1;
  bool same = from >= 0 && sizes->count > 0;
  for (int i = 0; i < sizes->count && same; i++) {
    same = x->shape.size[from + i] == sizes->sizes[i];
    *n *= sizes->sizes[i];
  }
  if (same) return OK;
  return fail(c, E_SHAPE, "the last dims of self %S must be %A %S",
              SHAPE_ARG(&x->shape), "size", sizes->count, sizes->sizes);
}

/* A weight or bias has exactly the normalised sizes. */
static Status check_affine(Context *c, const char *name, const Tensor *x,
                           const Arg *w, const Arg *sizes) {
  if (w->kind != ARG_TENSOR) return OK;
  Status s = check_same_device(c, "self", x, name, w->tensor);
  if (s == OK) s = check_same_dtype(c, "self", x, name, w->tensor);
  if (s != OK) return s;
  const Shape want = shape_of(sizes->count, sizes->sizes);
  if (shape_same(&want, &w->tensor->shape)) return OK;
  return fail(c, E_SHAPE, "%A is %S, and the normalised sizes are %S", name,
              SHAPE_ARG(&w->tensor->shape), SHAPE_ARG(&want));
}

static Status plain_or_none(Context *c, const Arg *w, Dtype dtype,
                            Tensor **r) {
  if (w->kind != ARG_TENSOR) return OK;
  return plain(c, w->tensor, dtype, tensor_device(w->tensor), r);
}

static char *data_or_null(const Tensor *t) {
  return t != NULL ? tensor_data(t) : NULL;
}

Status run_layer_norm(Context *c, Args *a, Tensor **r) {
  Tensor *self = a->at[0].tensor, *x = NULL, *w = NULL, *b = NULL, *y = NULL;
  Tensor *mean = NULL, *rstd = NULL;
  const Arg *sizes = &a->at[1];
  const Dtype dtype = dtype_compute(self->dtype);
  int64_t n = 1;
  Status s = check_normal_shape(c, self, sizes, &n);
  if (s == OK) s = check_affine(c, "weight", self, &a->at[2], sizes);
  if (s == OK) s = check_affine(c, "bias", self, &a->at[3], sizes);
  if (s == OK) s = plain(c, self, dtype, tensor_device(self), &x);
  if (s == OK) s = plain_or_none(c, &a->at[2], dtype, &w);
  if (s == OK) s = plain_or_none(c, &a->at[3], dtype, &b);
  if (s == OK) s = like(c, x, &y);
  if (s != OK) goto done;
  Shape rows = x->shape; /* {.., 1, 1}: broadcasts against x */
  for (int i = rows.rank - sizes->count; i < rows.rank; i++) rows.size[i] = 1;
  s = tensor_new(c, tensor_device(x), dtype, &rows, &mean);
  if (s == OK) s = tensor_new(c, tensor_device(x), dtype, &rows, &rstd);
  if (s == OK && x->count > 0) {
    const LayerNorm job = {.dtype = dtype, .rows = x->count / n, .n = n,
                           .eps = args_number(OP_layer_norm, a, 4),
                           .x = tensor_data(x), .w = data_or_null(w),
                           .b = data_or_null(b), .y = tensor_data(y),
                           .mean = tensor_data(mean),
                           .rstd = tensor_data(rstd)};
    Backend *backend = tensor_backend(x);
    s = check_done(c, backend->layer_norm(backend, &job));
  }
  if (s == OK) s = plain(c, y, self->dtype, tensor_device(x), &r[0]);
  if (s == OK) r[1] = tensor_share(mean), r[2] = tensor_share(rstd);
done:
  tensor_release(c, x);
  tensor_release(c, w);
  tensor_release(c, b);
  tensor_release(c, y);
  tensor_release(c, mean);
  tensor_release(c, rstd);
  return s;
}

/* A vector of n zeros where *r is asked for. */
static Status zeros_if(Context *c, Device *d, Dtype dtype, int64_t n,
                       Tensor **wanted, Tensor **r) {
  const Arg zero = arg_integer(0);
  const Shape shape = shape_of(1, &n);
  if (wanted == NULL) return OK;
  const Status s = tensor_new(c, d, dtype, &shape, r);
  return s != OK ? s : fill_with(c, *r, &zero);
}

Status rule_layer_norm_pull(Context *c, Tensor *self, Tensor *weight,
                            Tensor *mean, Tensor *rstd, Tensor *grad,
                            int64_t n, Tensor **gx, Tensor **gw, Tensor **gb) {
  Tensor *x = NULL, *w = NULL, *g = NULL, *made = NULL, *sw = NULL, *sb = NULL;
  Device *d = tensor_device(self);
  const Dtype dtype = dtype_compute(self->dtype);
  char *scratch = NULL;
  Status s = plain(c, self, dtype, d, &x);
  if (s == OK && weight != NULL) s = plain(c, weight, dtype, d, &w);
  if (s == OK) s = plain(c, grad, dtype, d, &g);
  if (s == OK) s = like(c, x, &made);
  if (s == OK) s = zeros_if(c, d, dtype, n, gw, &sw);
  if (s == OK) s = zeros_if(c, d, dtype, n, gb, &sb);
  if (s == OK && x->count > 0) {
    LayerNorm job = {.dtype = dtype, .rows = x->count / n, .n = n,
                     .x = tensor_data(x), .w = data_or_null(w),
                     .g = tensor_data(g), .mean = tensor_data(mean),
                     .rstd = tensor_data(rstd), .gx = tensor_data(made),
                     .gw = data_or_null(sw), .gb = data_or_null(sb)};
    const size_t room = d->backend.layer_norm_room(&d->backend, &job);
    s = scratch_take(c, d, room, &scratch);
    job.scratch = scratch;
    if (s == OK)
      s = check_done(c, d->backend.layer_norm_pull(&d->backend, &job));
    scratch_give(d, scratch, room);
  }
  tensor_release(c, x);
  tensor_release(c, w);
  tensor_release(c, g);
  if (s != OK) {
    tensor_release(c, made);
    tensor_release(c, sw);
    tensor_release(c, sb);
    return s;
  }
  *gx = made;
  if (gw != NULL) *gw = sw;
  if (gb != NULL) *gb = sb;
  return OK;
}

/* ---- cross_entropy ---- */

typedef enum Reduction { REDUCE_MEAN, REDUCE_SUM, REDUCE_NONE } Reduction;

static Status check_targets(Context *c, const Tensor *x, const Tensor *target) {
  Status s = check_rank(c, "self", x, 1, 2);
  if (s == OK) s = check_same_device(c, "self", x, "target", target);
  if (s != OK) return s;
  const bool fits = target->shape.rank == x->shape.rank - 1 &&
                    (x->shape.rank == 1 ||
                     target->shape.size[0] == x->shape.size[0]);
  if (!fits)
    return fail(c, E_SHAPE,
                "self %S wants a label for each row, and %A is %S",
                SHAPE_ARG(&x->shape), "target", SHAPE_ARG(&target->shape));
  if (x->shape.size[x->shape.rank - 1] > 0) return OK;
  return fail(c, E_EMPTY, "%A %S has no classes", "self",
              SHAPE_ARG(&x->shape));
}

Status check_labels(Context *c, const Tensor *labels, int64_t classes,
                           int64_t ignore) {
  if (labels->count == 0) return OK;
  Pick p = {.axes = 1, .size = {labels->count}, .index_stride = {1}};
  p.base = c->failure.base;
  p.index = tensor_data(labels);
  Backend *b = tensor_backend(labels);
  const int64_t bad = b->find_outside(b, &p, classes, ignore);
  if (bad < 0) return OK;
  return fail(c, E_INDEX, "%A[%P] is %I, classes are %I..%I%s", "target", bad,
              index_value(c, labels, bad), p.base, classes - 1 + p.base,
              p.base == 1 ? " (labels start at 1)" : "");
}

/* How many labels count: those that are not `ignore`. */
static Status counted(Context *c, Tensor *labels, int64_t ignore,
                      int64_t *count) {
  Tensor *is = NULL, *sum = NULL;
  Args a;
  a.at[0] = arg_tensor(labels);
  a.at[1] = arg_integer(ignore);
  const int64_t dim = 0;
  Status s = pointwise_call(c, OP_ne, &a, NULL, &is);
  if (s == OK) s = op_sum(c, is, labels->shape.rank, &dim, false, &sum);
  if (s == OK) s = tensor_read(c, sum, count);
  tensor_release(c, is);
  tensor_release(c, sum);
  return s;
}

static Status reduce_losses(Context *c, Tensor *losses, Tensor *labels,
                            int64_t ignore, Reduction how, Tensor **r) {
  Tensor *sum = NULL;
  int64_t n = 0;
  const int64_t dim = 0;
  if (how == REDUCE_NONE) {
    *r = tensor_share(losses);
    return OK;
  }
  Status s = op_sum(c, losses, losses->shape.rank, &dim, false, &sum);
  if (s == OK && how == REDUCE_MEAN) {
    s = counted(c, labels, ignore, &n);
    if (s == OK) s = op_with_number(c, OP_div, sum, (double)n, r);
  } else if (s == OK) {
    *r = tensor_share(sum);
  }
  tensor_release(c, sum);
  return s;
}

/* Two numbers for each row. */
static Status new_pairs(Context *c, Device *d, Dtype dtype, const Shape *rows,
                        Tensor **r) {
  Shape pairs = {.rank = 2};
  pairs.size[0] = shape_count(rows), pairs.size[1] = 2;
  pairs = shape_of(2, pairs.size);
  return tensor_new(c, d, dtype, &pairs, r);
}

Status run_cross_entropy_rows(Context *c, Args *a, Tensor **r) {
  Tensor *self = a->at[0].tensor, *target = a->at[1].tensor;
  Tensor *x = NULL, *labels = NULL, *losses = NULL, *lse = NULL, *loss = NULL;
  const Reduction how = (Reduction)args_integer(OP_cross_entropy_rows, a, 2);
  const int64_t ignore = args_integer(OP_cross_entropy_rows, a, 3);
  const Dtype dtype = dtype_compute(self->dtype);
  Device *d = tensor_device(self);
  const bool was = c->is_recording;
  Status s = check_targets(c, self, target);
  if (s == OK) s = index_plain(c, "target", target, d, &labels);
  if (s != OK) return s;
  c->is_recording = false; /* the row is recorded as a whole */
  const int64_t n = self->shape.size[self->shape.rank - 1];
  s = check_labels(c, labels, n, ignore);
  if (s == OK) s = plain(c, self, dtype, d, &x);
  if (s == OK) s = tensor_new(c, d, dtype, &labels->shape, &losses);
  if (s == OK) s = new_pairs(c, d, dtype, &labels->shape, &lse);
  if (s == OK && x->count > 0) {
    const CrossEntropy job = {.dtype = dtype, .rows = x->count / n, .n = n,
                              .base = c->failure.base, .ignore = ignore,
                              .x = tensor_data(x), .label = tensor_data(labels),
                              .loss = tensor_data(losses),
                              .lse = tensor_data(lse)};
    s = check_done(c, d->backend.cross_entropy(&d->backend, &job));
  }
  if (s == OK) s = reduce_losses(c, losses, labels, ignore, how, &loss);
  if (s == OK) s = plain(c, loss, self->dtype, d, &r[0]);
  if (s == OK) r[1] = tensor_share(lse);
  c->is_recording = was;
  a->at[2] = arg_integer(how);
  a->at[3] = arg_integer(ignore);
  tensor_release(c, x);
  tensor_release(c, labels);
  tensor_release(c, losses);
  tensor_release(c, lse);
  tensor_release(c, loss);
  return s;
}

Status rule_cross_entropy_pull(Context *c, Tensor *self, Tensor *target,
                               Tensor *lse, Tensor *grad, int64_t ignore,
                               Tensor **gx) {
  Tensor *x = NULL, *labels = NULL, *g = NULL, *made = NULL;
  Device *d = tensor_device(self);
  const Dtype dtype = dtype_compute(self->dtype);
  const int64_t n = self->shape.size[self->shape.rank - 1];
  Status s = plain(c, self, dtype, d, &x);
  if (s == OK) s = index_plain(c, "target", target, d, &labels);
  if (s == OK) s = plain(c, grad, dtype, d, &g);
  if (s == OK) s = like(c, x, &made);
  if (s == OK && x->count > 0) {
    const CrossEntropy job = {.dtype = dtype, .rows = x->count / n, .n = n,
                              .base = c->failure.base, .ignore = ignore,
                              .g_stride = g->shape.rank > 0,
                              .x = tensor_data(x), .g = tensor_data(g),
                              .label = tensor_data(labels),
                              .lse = tensor_data(lse), .gx = tensor_data(made)};
    s = check_done(c, d->backend.cross_entropy_pull(&d->backend, &job));
  }
  tensor_release(c, x);
  tensor_release(c, labels);
  tensor_release(c, g);
  if (s == OK) *gx = made;
  else tensor_release(c, made);
  return s;
}
