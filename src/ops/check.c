/* check.c: arguments held against shapes; the messages of API.md 13. */
#include "ops/run.h"

#include <string.h>

Status check_dim(Context *c, const char *name, int64_t raw, int rank,
                 const Tensor *t, int *dim) {
  const int64_t axes = rank > 0 ? rank : 1, base = c->failure.base;
  const int64_t resolved = raw < 0 && raw != POSITION_ZERO ? raw + axes : raw;
  if (resolved >= 0 && resolved < axes) {
    *dim = (int)resolved;
    return OK;
  }
  if (raw == POSITION_ZERO)
    return fail(c, E_DIM, "%A is 0: dims are 1..%I or -1..-%I", name, axes,
                axes);
  return fail(c, E_DIM, "%A %I of self %S: dims are %I..%I or -1..-%I", name,
              raw < 0 ? raw : raw + base, SHAPE_ARG(&t->shape), base,
              axes - 1 + base, axes);
}

Status check_dims(Context *c, const Arg *dims, const Tensor *t,
                  bool is_in[MAX_RANK]) {
  for (int i = 0; i < MAX_RANK; i++)
    is_in[i] = dims->kind == ARG_NONE && i < t->shape.rank;
  if (dims->kind == ARG_NONE) return OK;
  for (int i = 0; i < dims->count; i++) {
    int dim = 0;
    const Status s =
        check_dim(c, "dim", dims->sizes[i], t->shape.rank, t, &dim);
    if (s != OK) return s;
    if (is_in[dim])
      return fail(c, E_DUPLICATE, "%A %P occurs twice", "dim", (int64_t)dim);
    is_in[dim] = true;
  }
  return OK;
}

Status check_position(Context *c, int64_t raw, const Tensor *t, int dim,
                      int64_t *at) {
  const int64_t size = t->shape.size[dim], base = c->failure.base;
  const int64_t resolved = raw < 0 && raw != POSITION_ZERO ? raw + size : raw;
  if (resolved >= 0 && resolved < size) {
    *at = resolved;
    return OK;
  }
  const int64_t shown = raw == POSITION_ZERO ? 0 : raw < 0 ? raw : raw + base;
  if (size == 0)
    return fail(c, E_INDEX, "%A %I of dim %P of %S: the dim is empty",
                "position", shown, (int64_t)dim, SHAPE_ARG(&t->shape));
  return fail(c, E_INDEX,
              "%A %I of dim %P of %S: positions are %I..%I or -1..-%I",
              "position", shown, (int64_t)dim, SHAPE_ARG(&t->shape), base,
              size - 1 + base, size);
}

Status check_sizes(Context *c, const Arg *sizes, Shape *s) {
  s->rank = sizes->count;
  for (int i = 0; i < sizes->count; i++) {
    s->size[i] = sizes->sizes[i];
    if (s->size[i] < 0)
      return fail(c, E_SHAPE, "%A %S: a size is negative", "size",
                  sizes->count, sizes->sizes);
  }
  if (!shape_fits(s, sizeof(double)))
    return fail(c, E_SIZE, "%A %S is too large", "size", sizes->count,
                sizes->sizes);
  shape_contiguous(s);
  return OK;
}

Status check_same_device(Context *c, const char *xname, const Tensor *x,
                         const char *yname, const Tensor *y) {
  if (tensor_device(x) == tensor_device(y)) return OK;
  return fail(c, E_DEVICE, "%s is on %s, %A on %s; move one with :to()", xname,
              tensor_device(x)->name, yname, tensor_device(y)->name);
}

Status check_same_dtype(Context *c, const char *xname, const Tensor *x,
                        const char *yname, const Tensor *y) {
  if (x->dtype == y->dtype) return OK;
  return fail(c, E_DTYPE, "%s is %s, %A is %s: convert one with :to()", xname,
              dtype_name(x->dtype), yname, dtype_name(y->dtype));
}

Status check_same_shape(Context *c, const char *xname, const Tensor *x,
                        const char *yname, const Tensor *y) {
  if (shape_same(&x->shape, &y->shape)) return OK;
  return fail(c, E_SHAPE, "%s %S and %A %S must have equal shapes", xname,
              SHAPE_ARG(&x->shape), yname, SHAPE_ARG(&y->shape));
}

Status check_rank(Context *c, const char *name, const Tensor *x, int least,
                  int most) {
  if (x->shape.rank >= least && x->shape.rank <= most) return OK;
  if (least == most)
    return fail(c, E_RANK, "%A %S must have rank %d", name,
                SHAPE_ARG(&x->shape), least);
  return fail(c, E_RANK, "%A %S must have rank %d to %d", name,
              SHAPE_ARG(&x->shape), least, most);
}

Status check_matrix(Context *c, const char *name, const Tensor *x) {
  return check_rank(c, name, x, 2, MAX_RANK);
}

Status check_square(Context *c, const char *name, const Tensor *x) {
  const Status s = check_matrix(c, name, x);
  if (s != OK) return s;
  const int rank = x->shape.rank;
  const int64_t *size = x->shape.size + rank - 2;
  if (size[0] == size[1]) return OK;
  return fail(c, E_SHAPE, "%A %S is not square: dim %P is %I, dim %P is %I",
              name, SHAPE_ARG(&x->shape), (int64_t)(rank - 2), size[0],
              (int64_t)(rank - 1), size[1]);
}

Status check_done(Context *c, bool done) {
  return LIKELY(done) ? OK : fail(c, E_INTERRUPTED, "interrupted");
}

Status check_fits(Context *c, const char *name, const Arg *value,
                  Dtype dtype) {
  if (dtype_class(dtype) == CLASS_FLOAT) return OK;
  const int64_t least = dtype_least(dtype), most = dtype_greatest(dtype);
  if (value->kind == ARG_INTEGER) {
    if (value->integer >= least && value->integer <= most) return OK;
    return fail(c, E_RANGE, "%A %I does not fit in %s (%I..%I)", name,
                value->integer, dtype_name(dtype), least, most);
  }
  const double n = value->number;
  const bool is_whole = n >= -0x1p63 && n < 0x1p63 && (double)(int64_t)n == n;
  if (is_whole && (int64_t)n >= least && (int64_t)n <= most) return OK;
  return fail(c, E_RANGE, "%A %g does not fit in %s (%I..%I)", name, n,
              dtype_name(dtype), least, most);
}
