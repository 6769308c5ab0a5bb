/* copy.c: moving, converting and filling elements.
 * Must not know: derivatives. */
#include <string.h>

#include "ops/run.h"
#include "tensor/iterator.h"

/* ---- within a device ---- */

static void move_open(Move *m, const Tensor *dst) {
  m->dst.data = tensor_data(dst);
  m->dst.dtype = dst->dtype;
}

/* The space of dst, with src stretched to it (NULL: a number). */
static void move_space(Move *m, const Tensor *dst, const Shape *src) {
  Iter it;
  iter_open(&it, &dst->shape);
  iter_add(&it, &dst->shape);
  if (src != NULL) iter_add(&it, src);
  iter_fuse(&it, 1);
  m->axes = it.axes;
  const size_t bytes = (size_t)it.axes * sizeof *it.size;
  memcpy(m->size, it.size, bytes);
  memcpy(m->dst.stride, it.stride[0], bytes);
  if (src != NULL)
    memcpy(m->src.stride, it.stride[1], bytes);
  else
    memset(m->src.stride, 0, bytes);
}

/* Bytes of a contiguous tensor from one device to another. */
static Status carry(Context *c, Tensor *dst, const Tensor *src) {
  Backend *to = tensor_backend(dst), *from = tensor_backend(src);
  const size_t bytes = tensor_bytes(src);
  if (tensor_device(src)->is_host) {
    to->write(to, tensor_data(dst), tensor_data(src), bytes);
    return OK;
  }
  if (tensor_device(dst)->is_host) {
    from->read(from, tensor_data(dst), tensor_data(src), bytes);
    return OK;
  }
  char *room = NULL; /* two GPUs: through the host */
  const Status s = scratch_take(c, &c->host, bytes, &room);
  if (s != OK) return s;
  from->read(from, room, tensor_data(src), bytes);
  to->write(to, tensor_data(dst), room, bytes);
  scratch_give(&c->host, room, bytes);
  return OK;
}

/* Across devices: in src's dtype and row-major order, then on the spot. */
static Status move_across(Context *c, Tensor *dst, const Tensor *src) {
  Tensor *flat = NULL, *there = NULL;
  Status s = tensor_new(c, tensor_device(src), src->dtype, &src->shape, &flat);
  if (s == OK) s = move_into(c, flat, src);
  if (s == OK)
    s = tensor_new(c, tensor_device(dst), src->dtype, &src->shape, &there);
  if (s == OK) s = carry(c, there, flat);
  if (s == OK) s = move_into(c, dst, there);
  tensor_release(c, flat);
  tensor_release(c, there);
  return s;
}

Status move_seen(Context *c, Tensor *dst, const Tensor *src, const Shape *seen,
                 int64_t more) {
  Move m;
  if (dst->count == 0) return OK;
  move_open(&m, dst);
  m.src.data = tensor_data(src) + more * (int64_t)dtype_bytes(src->dtype);
  m.src.dtype = src->dtype;
  move_space(&m, dst, seen);
  Backend *b = tensor_backend(dst);
  return check_done(c, b->move(b, &m));
}

Status move_into(Context *c, Tensor *dst, const Tensor *src) {
  if (dst->count == 0) return OK;
  if (tensor_device(dst) != tensor_device(src)) return move_across(c, dst, src);
  return move_seen(c, dst, src, &src->shape, 0);
}

Status fill_with(Context *c, Tensor *t, const Arg *value) {
  Move m;
  if (t->count == 0) return OK;
  move_open(&m, t);
  m.src.data = NULL;
  m.src.dtype = value->kind == ARG_INTEGER ? DTYPE_I64 : DTYPE_F64;
  m.src.number = arg_f64(value);
  m.src.whole = value->kind == ARG_INTEGER ? value->integer : 0;
  move_space(&m, t, NULL);
  Backend *b = tensor_backend(t);
  return check_done(c, b->move(b, &m));
}

Status plain(Context *c, Tensor *x, Dtype dtype, Device *d, Tensor **r) {
  if (x->is_contiguous && x->dtype == dtype && tensor_device(x) == d) {
    *r = tensor_share(x);
    return OK;
  }
  Tensor *copy = NULL;
  Status s = tensor_new(c, d, dtype, &x->shape, &copy);
  if (s == OK) s = move_into(c, copy, x);
  if (s != OK) {
    tensor_release(c, copy);
    return s;
  }
  *r = copy;
  return OK;
}

Status plain_layout(Context *c, Tensor *x, Tensor **r) {
  return plain(c, x, x->dtype, tensor_device(x), r);
}

Status scratch_take(Context *c, Device *d, size_t bytes, char **room) {
  *room = NULL;
  if (bytes == 0) return OK;
  *room = device_alloc(d, bytes);
  if (*room != NULL) return OK;
  return fail(c, E_MEMORY, "out of memory: %I bytes of scratch",
              (int64_t)bytes);
}

void scratch_give(Device *d, char *room, size_t bytes) {
  device_free(d, room, bytes);
}

/* ---- rows ---- */

Status run_clone(Context *c, Args *a, Tensor **r) {
  Tensor *x = a->at[0].tensor, *copy = NULL;
  Status s = tensor_new(c, tensor_device(x), x->dtype, &x->shape, &copy);
  if (s == OK) s = move_into(c, copy, x);
  if (s == OK) r[0] = copy;
  else tensor_release(c, copy);
  return s;
}

Status run_contiguous(Context *c, Args *a, Tensor **r) {
  return plain_layout(c, a->at[0].tensor, &r[0]);
}

/* To another dtype or device; layout is kept where nothing changes. */
Status run_cast(Context *c, Args *a, Tensor **r) {
  Tensor *x = a->at[0].tensor;
  const Dtype to = (Dtype)a->at[1].integer;
  Device *d = a->at[2].kind == ARG_DEVICE ? a->at[2].device : tensor_device(x);
  if (x->dtype == to && tensor_device(x) == d) {
    r[0] = tensor_share(x);
    return OK;
  }
  return plain(c, x, to, d, &r[0]);
}

/* What may be written into what: floats and integers mix as API.md 5 says. */
Status check_assign(Context *c, const char *name, const Arg *value,
                           const Tensor *self) {
  const Dtype to = self->dtype;
  if (value->kind != ARG_TENSOR) {
    if (to == DTYPE_BOOL && (arg_f64(value) == 0 || arg_f64(value) == 1))
      return OK;
    return check_fits(c, name, value, to);
  }
  const Dtype from = value->tensor->dtype;
  const bool ok = dtype_class(to) == CLASS_FLOAT ||
                  dtype_class(from) == CLASS_BOOL ||
                  (dtype_class(to) == CLASS_INTEGER &&
                   dtype_class(from) == CLASS_INTEGER);
  if (ok) return OK;
  return fail(c, E_DTYPE, "%A is %s and self is %s: convert it with :to()",
              name, dtype_name(from), dtype_name(to));
}

/* self = other, written by itself: the result is self. */
Status run_copy(Context *c, Args *a, Tensor **r) {
  Tensor *self = a->at[0].tensor, *own = NULL;
  Shape stretched;
  Status s = check_assign(c, "other", &a->at[1], self);
  if (s != OK) return s;
  if (a->at[1].kind != ARG_TENSOR) {
    s = fill_with(c, self, &a->at[1]);
  } else {
    Tensor *other = a->at[1].tensor;
    if (!shape_expand(&other->shape, &self->shape, &stretched))
      return fail(c, E_SHAPE, "%A %S does not broadcast to self %S", "other",
                  SHAPE_ARG(&other->shape), SHAPE_ARG(&self->shape));
    if (tensor_overlaps(self, other)) {
      s = tensor_new(c, tensor_device(other), other->dtype, &other->shape,
                     &own);
      if (s == OK) s = move_into(c, own, other);
      other = own;
    }
    if (s == OK) s = move_into(c, self, other);
  }
  tensor_release(c, own);
  if (s == OK) r[0] = tensor_share(self);
  return s;
}

/* A tensor's value: in the dtype of self, of its own, stretched. */
static Status fill_value(Context *c, Tensor *self, Tensor *value, Tensor **r) {
  Tensor *cast = NULL, *own = NULL;
  Status s = op_cast(c, value, self->dtype, &cast);
  if (s == OK) s = op_unary(c, OP_clone, cast, &own);
  if (s == OK) s = op_expand(c, own, self->shape.rank, self->shape.size, r);
  tensor_release(c, own);
  tensor_release(c, cast);
  return s;
}

Status run_fill(Context *c, Args *a, Tensor **r) {
  Tensor *self = a->at[0].tensor;
  if (a->at[1].kind == ARG_TENSOR && a->at[1].tensor->shape.rank > 0)
    return fail(c, E_SHAPE, "%A %S must be a number or have rank 0", "value",
                SHAPE_ARG(&a->at[1].tensor->shape));
  Status s = check_assign(c, "value", &a->at[1], self);
  if (s != OK) return s;
  if (a->at[1].kind == ARG_TENSOR)
    return fill_value(c, self, a->at[1].tensor, &r[0]);
  s = fill_with(c, self, &a->at[1]);
  if (s == OK) r[0] = tensor_share(self);
  return s;
}

Status run_zero(Context *c, Args *a, Tensor **r) {
  const Arg zero = arg_integer(0);
  const Status s = fill_with(c, a->at[0].tensor, &zero);
  if (s == OK) r[0] = tensor_share(a->at[0].tensor);
  return s;
}

/* ---- cat ---- */

/* {0} of rank 1 joins anything and adds nothing. */
static bool is_skipped(const Tensor *t) {
  return t->shape.rank == 1 && t->shape.size[0] == 0;
}

static const Tensor *first_kept(const Arg *list) {
  for (int i = 0; i < list->count; i++)
    if (!is_skipped(list->list[i])) return list->list[i];
  return list->list[0];
}

static Status check_piece(Context *c, const Tensor *first, const Tensor *t,
                          int dim, int number) {
  bool same = t->shape.rank == first->shape.rank;
  for (int i = 0; i < t->shape.rank && same; i++)
    same = i == dim || t->shape.size[i] == first->shape.size[i];
  if (!same)
    return fail(c, E_SHAPE,
                "%A[%P] is %S, which does not join the first %S along dim %P",
                "tensors", (int64_t)number, SHAPE_ARG(&t->shape),
                SHAPE_ARG(&first->shape), (int64_t)dim);
  return check_same_device(c, "the first tensor", first, "tensors", t);
}

Status run_cat(Context *c, Args *a, Tensor **r) {
  const Arg *list = &a->at[0];
  Tensor *out = NULL;
  int dim = 0;
  if (list->count == 0)
    return fail(c, E_EMPTY, "%A is an empty list", "tensors");
  const Tensor *first = first_kept(list);
  Status s = check_dim(c, "dim", args_integer(OP_cat, a, 1), first->shape.rank,
                       first, &dim);
  if (s != OK) return s;
  if (first->shape.rank == 0)
    return fail(c, E_RANK, "%A have rank 0; use stack", "tensors");
  Shape shape = first->shape;
  Dtype dtype = first->dtype;
  shape.size[dim] = 0;
  for (int i = 0; i < list->count; i++) {
    const Tensor *t = list->list[i];
    if (is_skipped(t)) continue;
    if ((s = check_piece(c, first, t, dim, i)) != OK) return s;
    shape.size[dim] += t->shape.size[dim];
    dtype = dtype_promote(dtype, t->dtype);
  }
  s = tensor_new(c, tensor_device(first), dtype, &shape, &out);
  int64_t at = 0;
  for (int i = 0; i < list->count && s == OK; i++) {
    const Tensor *t = list->list[i];
    Tensor *piece = NULL;
    if (is_skipped(t)) continue;
    Shape part = out->shape;
    part.size[dim] = t->shape.size[dim];
    s = tensor_view(c, out, &part, at * out->shape.stride[dim], &piece);
    if (s == OK) s = move_into(c, piece, t);
    tensor_release(c, piece);
    at += t->shape.size[dim];
  }
  if (s != OK) {
    tensor_release(c, out);
    return s;
  }
  a->at[1] = arg_integer(dim);
  r[0] = out;
  return OK;
}
