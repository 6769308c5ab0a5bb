/* index.c: rows that read or add at positions.
 *
 * Positions are checked before anything is written.
 */
#include "ops/index.h"

#include <string.h>

Status index_plain(Context *c, const char *name, Tensor *index, Device *d,
                   Tensor **r) {
  if (dtype_class(index->dtype) != CLASS_INTEGER)
    return fail(c, E_DTYPE, "%A is %s; positions are integers", name,
                dtype_name(index->dtype));
  return plain(c, index, DTYPE_I64, d, r);
}

int64_t index_value(Context *c, const Tensor *index, int64_t at) {
  const int64_t one = 1;
  const Shape shape = shape_of(1, &one);
  Tensor *element = NULL;
  int64_t value = 0;
  (void)c;
  if (tensor_view(c, index, &shape, index->offset + at, &element) != OK)
    return 0;
  tensor_read(c, element, &value);
  tensor_release(c, element);
  return value;
}

/* The space of a pick and what walks it. */
static void pick_space(Pick *p, const Shape *space, int along) {
  *p = (Pick){.axes = space->rank, .along = along};
  memcpy(p->size, space->size, sizeof p->size);
}

static void pick_strides(int64_t to[MAX_RANK], const Tensor *t) {
  memcpy(to, t->shape.stride, (size_t)t->shape.rank * sizeof *to);
}

/* The first place outside; nothing is passed over: a position that is inside
 * is the one to ignore. */
static int64_t find_outside(Backend *b, const Pick *p, int64_t limit) {
  return limit > 0 ? b->find_outside(b, p, limit, p->base) : 0;
}

int64_t index_outside(Context *c, const Tensor *index, int64_t limit) {
  const Pick p = {.axes = 1, .size = {index->count}, .index_stride = {1},
                  .base = c->failure.base, .index = tensor_data(index)};
  if (index->count == 0) return -1;
  return find_outside(tensor_backend(index), &p, limit);
}

/* Every index lies inside dim `along` of `self`. */
static Status check_inside(Context *c, const Pick *p, const Tensor *self,
                           const Tensor *index) {
  const int64_t limit = self->shape.size[p->along];
  const int64_t bad = find_outside(tensor_backend(self), p, limit);
  if (bad < 0) return OK;
  int64_t rest = bad, at = 0; /* the place in the index tensor itself */
  for (int i = p->axes - 1; i >= 0; i--) {
    at += rest % p->size[i] * p->index_stride[i];
    rest /= p->size[i];
  }
  const int64_t value = index_value(c, index, at);
  if (index->shape.rank <= 1)
    return fail(c, E_INDEX,
                "%A[%P] is %I; positions of dim %P of self %S are %I..%I",
                "index", at, value, (int64_t)p->along, SHAPE_ARG(&self->shape),
                p->base, limit - 1 + p->base);
  return fail(c, E_INDEX,
              "%A%Q is %I; positions of dim %P of self %S are %I..%I", "index",
              SHAPE_ARG(&index->shape), at, value, (int64_t)p->along,
              SHAPE_ARG(&self->shape), p->base, limit - 1 + p->base);
}

/* ---- gather and scatter_add: index has the rank of self ---- */

/* Sizes of `index` do not exceed those of t but along `dim`. */
static Status check_covers(Context *c, const char *name, const Tensor *t,
                           const Tensor *index, int dim) {
  bool fits = t->shape.rank == index->shape.rank;
  for (int i = 0; i < t->shape.rank && fits; i++)
    fits = i == dim || index->shape.size[i] <= t->shape.size[i];
  if (fits) return OK;
  return fail(c, E_SHAPE, "%A %S does not fit %s %S along dim %P", "index",
              SHAPE_ARG(&index->shape), name, SHAPE_ARG(&t->shape),
              (int64_t)dim);
}

static Status pick_dim(Context *c, Args *a, const Tensor *x, int *dim) {
  if (x->shape.rank == 0)
    return fail(c, E_RANK, "%A has rank 0 and no dim", "self");
  const Status s =
      check_dim(c, "dim", a->at[1].integer, x->shape.rank, x, dim);
  if (s == OK) a->at[1] = arg_integer(*dim);
  return s;
}

Status run_gather(Context *c, Args *a, Tensor **r) {
  Tensor *x = a->at[0].tensor, *index = NULL, *out = NULL;
  int dim = 0;
  Pick p;
  Status s = pick_dim(c, a, x, &dim);
  if (s == OK) s = check_covers(c, "self", x, a->at[2].tensor, dim);
  if (s == OK)
    s = index_plain(c, "index", a->at[2].tensor, tensor_device(x), &index);
  if (s == OK)
    s = tensor_new(c, tensor_device(x), x->dtype, &index->shape, &out);
  if (s != OK || out->count == 0) goto done;
  pick_space(&p, &index->shape, dim);
  p.dtype = x->dtype;
  p.base = c->failure.base;
  p.data = tensor_data(x);
  p.other = tensor_data(out);
  p.index = tensor_data(index);
  pick_strides(p.data_stride, x);
  pick_strides(p.other_stride, out);
  pick_strides(p.index_stride, index);
  s = check_inside(c, &p, x, index);
  if (s != OK) goto done;
  Backend *b = tensor_backend(x);
  s = check_done(c, b->gather(b, &p));
done:
  tensor_release(c, index);
  if (s == OK) r[0] = out;
  else tensor_release(c, out);
  return s;
}

typedef bool PickSlot(Backend *b, const Pick *p);

Status isolate(Context *c, Tensor *t, const Tensor *target, Tensor **r) {
  Tensor *own = NULL;
  if (!tensor_overlaps(t, target)) {
    *r = tensor_share(t);
    return OK;
  }
  Status s = tensor_new(c, tensor_device(t), t->dtype, &t->shape, &own);
  if (s == OK) s = move_into(c, own, t);
  if (s == OK) *r = own;
  else tensor_release(c, own);
  return s;
}

Status open_target(Context *c, const Tensor *self, const Shape *space,
                   Tensor **r) {
  Tensor *out = NULL;
  if (*r != NULL && shape_same(space, &self->shape)) return OK;
  if (*r != NULL)
    return fail(c, E_SHAPE, "self %S would have to stretch to %S",
                SHAPE_ARG(&self->shape), SHAPE_ARG(space));
  Status s = tensor_new(c, tensor_device(self), self->dtype, space, &out);
  if (s == OK) s = move_into(c, out, self);
  if (s == OK) *r = out;
  else tensor_release(c, out);
  return s;
}

/* Into what open_target gives, `source` at the positions, by `slot`.  The pick
 * has its space, its base and the strides of index; source has that space. */
static Status write_at(Context *c, Pick *p, const Tensor *self, Tensor *index,
                       Tensor *source, PickSlot *slot, Tensor **r) {
  Tensor *from = NULL, *at = NULL;
  const bool is_empty = source->count == 0 || index->count == 0;
  p->dtype = self->dtype;
  p->index = tensor_data(index);
  Status s = is_empty ? OK : check_inside(c, p, self, index);
  if (s == OK) s = open_target(c, self, &self->shape, r);
  if (s != OK || is_empty) return s;
  s = isolate(c, source, *r, &from);
  if (s == OK) s = isolate(c, index, *r, &at);
  if (s == OK) {
    p->data = tensor_data(*r);
    p->other = tensor_data(from);
    p->index = tensor_data(at);
    pick_strides(p->data_stride, *r);
    pick_strides(p->other_stride, from);
    s = check_done(c, slot(tensor_backend(self), p));
  }
  tensor_release(c, from);
  tensor_release(c, at);
  return s;
}

static Status check_source(Context *c, const Tensor *self,
                           const Tensor *source) {
  const Status s = check_same_device(c, "self", self, "source", source);
  return s != OK ? s : check_same_dtype(c, "self", self, "source", source);
}

/* A number as a tensor of rank 0 that `self` may hold. */
static Status number_like(Context *c, const Tensor *self, const Arg *number,
                          Tensor **r) {
  const Shape rank0 = {0};
  Tensor *one = NULL;
  Status s = check_fits(c, "source", number, self->dtype);
  if (s == OK)
    s = tensor_new(c, tensor_device(self), self->dtype, &rank0, &one);
  if (s == OK) s = fill_with(c, one, number);
  if (s == OK) *r = one;
  else tensor_release(c, one);
  return s;
}

/* The source of a scatter in the sizes of `index`: a part of a tensor, or one
 * element for all. */
static Status scatter_source(Context *c, const Arg *source, const Tensor *self,
                             const Tensor *index, Tensor **r) {
  Tensor *one = NULL;
  Status s = OK;
  if (source->kind != ARG_TENSOR)
    s = number_like(c, self, source, &one);
  else
    s = check_source(c, self, source->tensor);
  if (s != OK) return s;
  Tensor *from = one != NULL ? one : source->tensor;
  Shape part = index->shape; /* of rank 0: steps of 0 */
  memset(part.stride, 0, sizeof part.stride);
  if (from->shape.rank > 0) {
    s = check_covers(c, "source", from, index, -1);
    memcpy(part.stride, from->shape.stride, sizeof part.stride);
  }
  if (s == OK) s = tensor_view(c, from, &part, from->offset, r);
  tensor_release(c, one);
  return s;
}

/* Shared by the rows that write at one index per element. */
static Status scatter_by(Context *c, Args *a, PickSlot *slot, Tensor **r) {
  Tensor *self = a->at[0].tensor, *index = NULL, *source = NULL;
  int dim = 0;
  Pick p;
  Status s = pick_dim(c, a, self, &dim);
  if (s == OK) s = check_covers(c, "self", self, a->at[2].tensor, dim);
  if (s == OK)
    s = scatter_source(c, &a->at[3], self, a->at[2].tensor, &source);
  if (s == OK)
    s = index_plain(c, "index", a->at[2].tensor, tensor_device(self), &index);
  if (s == OK) {
    pick_space(&p, &index->shape, dim);
    p.base = c->failure.base;
    pick_strides(p.index_stride, index);
    s = write_at(c, &p, self, index, source, slot, &r[0]);
  }
  tensor_release(c, index);
  tensor_release(c, source);
  return s;
}

Status run_scatter(Context *c, Args *a, Tensor **r) {
  return scatter_by(c, a, tensor_backend(a->at[0].tensor)->scatter, r);
}

Status run_scatter_add(Context *c, Args *a, Tensor **r) {
  return scatter_by(c, a, tensor_backend(a->at[0].tensor)->scatter_add, r);
}

static bool scatter_prod(Backend *b, const Pick *p) {
  return b->scatter_fold(b, p, FOLD_prod);
}

static bool scatter_amax(Backend *b, const Pick *p) {
  return b->scatter_fold(b, p, FOLD_amax);
}

static bool scatter_amin(Backend *b, const Pick *p) {
  return b->scatter_fold(b, p, FOLD_amin);
}

Status run_scatter_prod(Context *c, Args *a, Tensor **r) {
  return scatter_by(c, a, scatter_prod, r);
}

Status run_scatter_amax(Context *c, Args *a, Tensor **r) {
  return scatter_by(c, a, scatter_amax, r);
}

Status run_scatter_amin(Context *c, Args *a, Tensor **r) {
  return scatter_by(c, a, scatter_amin, r);
}

/* ---- rows whose index is a vector ---- */

static Status check_vector(Context *c, const Tensor *index) {
  return check_rank(c, "index", index, 0, 1);
}

static void vector_strides(Pick *p, int dim) {
  for (int i = 0; i < p->axes; i++) p->index_stride[i] = i == dim;
}

Status run_index_select(Context *c, Args *a, Tensor **r) {
  Tensor *x = a->at[0].tensor, *index = NULL, *out = NULL;
  int dim = 0;
  Pick p;
  Status s = pick_dim(c, a, x, &dim);
  if (s == OK) s = check_vector(c, a->at[2].tensor);
  if (s == OK)
    s = index_plain(c, "index", a->at[2].tensor, tensor_device(x), &index);
  if (s != OK) return s;
  Shape shape = x->shape;
  shape.size[dim] = index->count;
  s = tensor_new(c, tensor_device(x), x->dtype, &shape, &out);
  if (s == OK && index->count > 0) {
    pick_space(&p, &shape, dim);
    p.dtype = x->dtype;
    p.base = c->failure.base;
    p.data = tensor_data(x);
    p.other = tensor_data(out);
    p.index = tensor_data(index);
    pick_strides(p.data_stride, x);
    pick_strides(p.other_stride, out);
    vector_strides(&p, dim);
    Backend *b = tensor_backend(x);
    if (out->count > 0) {
      s = check_inside(c, &p, x, index);
      if (s == OK) s = check_done(c, b->gather(b, &p));
    }
  }
  tensor_release(c, index);
  if (s == OK) r[0] = out;
  else tensor_release(c, out);
  return s;
}

/* Shared by index_copy and index_add; `source` may be scaled by then. */
static Status copy_by(Context *c, Args *a, Tensor *source, PickSlot *slot,
                      Tensor **r) {
  Tensor *self = a->at[0].tensor, *index = NULL;
  int dim = 0;
  Pick p;
  Status s = pick_dim(c, a, self, &dim);
  if (s == OK) s = check_source(c, self, source);
  if (s == OK) s = check_vector(c, a->at[2].tensor);
  if (s != OK) return s;
  Shape want = self->shape;
  want.size[dim] = a->at[2].tensor->count;
  if (!shape_same(&want, &source->shape))
    return fail(c, E_SHAPE, "%A is %S; self %S and index %S want %S", "source",
                SHAPE_ARG(&source->shape), SHAPE_ARG(&self->shape),
                SHAPE_ARG(&a->at[2].tensor->shape), SHAPE_ARG(&want));
  s = index_plain(c, "index", a->at[2].tensor, tensor_device(self), &index);
  if (s == OK) {
    pick_space(&p, &source->shape, dim);
    p.base = c->failure.base;
    vector_strides(&p, dim);
    s = write_at(c, &p, self, index, source, slot, &r[0]);
  }
  tensor_release(c, index);
  return s;
}

Status run_index_copy(Context *c, Args *a, Tensor **r) {
  Backend *b = tensor_backend(a->at[0].tensor);
  return copy_by(c, a, a->at[3].tensor, b->scatter, r);
}

Status run_index_add(Context *c, Args *a, Tensor **r) {
  Backend *b = tensor_backend(a->at[0].tensor);
  Tensor *source = a->at[3].tensor, *scaled = NULL;
  Status s = OK;
  if (a->at[4].kind != ARG_NONE) {
    Args product;
    product.at[0] = arg_tensor(source);
    product.at[1] = a->at[4];
    s = pointwise_call(c, OP_mul, &product, NULL, &scaled);
    source = scaled;
  }
  if (s == OK) s = copy_by(c, a, source, b->scatter_add, r);
  tensor_release(c, scaled);
  return s;
}

/* ---- one_hot: eq of labels and the positions 1..n ---- */

Status run_one_hot(Context *c, Args *a, Tensor **r) {
  Tensor *x = a->at[0].tensor, *labels = NULL, *column = NULL;
  Tensor *classes = NULL, *is = NULL;
  const int64_t n = a->at[1].integer;
  if (n < 1) return fail(c, E_RANGE, "%A is %I", "classes", n);
  Status s = index_plain(c, "self", x, tensor_device(x), &labels);
  if (s != OK) return s;
  const int64_t bad = index_outside(c, labels, n), base = c->failure.base;
  if (bad >= 0)
    s = fail(c, E_INDEX, "%A[%P] is %I, classes are %I..%I", "self", bad,
             index_value(c, labels, bad), base, n - 1 + base);
  if (s == OK && x->shape.rank == MAX_RANK)
    s = check_rank(c, "self", x, 0, MAX_RANK - 1);
  if (s == OK) {
    Shape shape = labels->shape;
    shape_insert(&shape, shape.rank, 1, 1);
    s = tensor_view(c, labels, &shape, labels->offset, &column);
  }
  if (s == OK) {
    Args ramp;
    for (int k = 0; k < MAX_PARAMS; k++) ramp.at[k].kind = ARG_NONE;
    ramp.at[0] = arg_integer(base);
    ramp.at[1] = arg_integer(base + n - 1);
    ramp.at[4].kind = ARG_DEVICE;
    ramp.at[4].device = tensor_device(x);
    s = run_arange(c, &ramp, &classes);
  }
  if (s == OK) s = op_binary(c, OP_eq, column, classes, &is);
  if (s == OK)
    s = plain(c, is, a->at[2].kind == ARG_NONE ? DTYPE_I64
                                               : (Dtype)a->at[2].integer,
              tensor_device(x), &r[0]);
  tensor_release(c, labels);
  tensor_release(c, column);
  tensor_release(c, classes);
  tensor_release(c, is);
  return s;
}
