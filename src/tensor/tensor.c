/* tensor.c: see tensor.h. */
#include "tensor/tensor.h"

#include <string.h>

#include "tensor/node.h"
#include "value/half.h"

static Tensor *blank(Context *c, Dtype dtype, const Shape *shape,
                     Storage *storage, int64_t offset) {
  Tensor *t = device_small(&c->host, sizeof *t);
  if (t == NULL) return NULL;
  t->refs = 1;
  t->dtype = dtype;
  t->is_view = false;
  t->result = 0;
  t->storage = storage;
  t->offset = offset;
  t->node = NULL;
  t->shape.rank = shape->rank;
  const size_t bytes = (size_t)shape->rank * sizeof *shape->size;
  memcpy(t->shape.size, shape->size, bytes);
  memcpy(t->shape.stride, shape->stride, bytes);
  t->count = shape_count(shape);
  t->is_contiguous = shape_is_contiguous(shape);
  c->tensors++;
  return t;
}

static void discard(Context *c, Tensor *t) {
  c->tensors--;
  device_small_free(&c->host, t, sizeof *t);
}

Status tensor_new(Context *c, Device *d, Dtype dtype, const Shape *shape,
                  Tensor **r) {
  if (!shape_fits(shape, dtype_bytes(dtype)))
    return fail(c, E_SIZE, "%S %s is too large", SHAPE_ARG(shape),
                dtype_name(dtype));
  Shape own = *shape;
  shape_contiguous(&own);
  const size_t bytes = (size_t)shape_count(&own) * dtype_bytes(dtype);
  Storage *s = storage_new(d, bytes);
  if (s == NULL) return context_no_memory(c, &own, dtype);
  Tensor *t = blank(c, dtype, &own, s, 0);
  if (t == NULL) {
    storage_release(s);
    return context_no_memory(c, &own, dtype);
  }
  *r = t;
  return OK;
}

Status tensor_like(Context *c, const Tensor *x, Dtype dtype, Tensor **r) {
  assert(x->is_contiguous);
  if (dtype_bytes(dtype) > dtype_bytes(x->dtype))
    return tensor_new(c, tensor_device(x), dtype, &x->shape, r);
  const size_t bytes = (size_t)x->count * dtype_bytes(dtype);
  Storage *storage = storage_new(tensor_device(x), bytes);
  Tensor *t = storage != NULL ? device_small(&c->host, sizeof *t) : NULL;
  if (t == NULL) {
    if (storage != NULL) storage_release(storage);
    return context_no_memory(c, &x->shape, dtype);
  }
  t->refs = 1;
  t->dtype = dtype;
  t->is_contiguous = true;
  t->is_view = false;
  t->result = 0;
  t->storage = storage;
  t->offset = 0;
  t->count = x->count;
  t->node = NULL;
  t->shape.rank = x->shape.rank;
  for (int i = 0; i < x->shape.rank; i++) t->shape.size[i] = x->shape.size[i];
  shape_contiguous(&t->shape);
  c->tensors++;
  *r = t;
  return OK;
}

Status tensor_view(Context *c, const Tensor *t, const Shape *shape,
                   int64_t offset, Tensor **r) {
  assert(shape_reach(shape) == 0 ||
         (size_t)(offset + shape_reach(shape)) * dtype_bytes(t->dtype) <=
             t->storage->bytes);
  Tensor *view = blank(c, t->dtype, shape, t->storage, offset);
  if (view == NULL) return fail(c, E_MEMORY, "out of memory");
  storage_share(t->storage);
  view->is_view = true;
  *r = view;
  return OK;
}

Status tensor_alias(Context *c, const Tensor *t, Tensor **r) {
  return tensor_view(c, t, &t->shape, t->offset, r);
}

Status tensor_foreign(Context *c, Dtype dtype, const Shape *shape, void *data,
                      size_t bytes, StorageDeleter *deleter, void *arg,
                      Tensor **r) {
  if (!shape_fits(shape, dtype_bytes(dtype)) ||
      (size_t)shape_reach(shape) * dtype_bytes(dtype) > bytes)
    return fail(c, E_SIZE, "%S %s does not lie within the buffer",
                SHAPE_ARG(shape), dtype_name(dtype));
  Storage *s = storage_foreign(&c->host, data, bytes, NULL, NULL);
  if (s == NULL) return fail(c, E_MEMORY, "out of memory");
  Tensor *t = blank(c, dtype, shape, s, 0);
  if (t == NULL) {
    storage_release(s);
    return fail(c, E_MEMORY, "out of memory");
  }
  s->deleter = deleter; /* from here on it will be called */
  s->arg = arg;
  *r = t;
  return OK;
}

void tensor_release(Context *c, Tensor *t) {
  if (t == NULL) return;
  assert(t->refs > 0);
  if (--t->refs > 0) return;
  Node *n = t->node;
  storage_release(t->storage);
  discard(c, t);
  node_release(c, n);
}

Status tensor_ready(Context *c, const Tensor *t, const char *arg) {
  if (LIKELY(!t->storage->revoked)) return OK;
  return fail(c, E_STATE, "%A belongs to the host, which has taken it back",
              arg);
}

Status tensor_writable(Context *c, const Tensor *t, const char *arg) {
  const Status s = tensor_ready(c, t, arg);
  if (s != OK) return s;
  if (t->storage->readonly)
    return fail(c, E_READONLY, "%A belongs to the host and is read-only", arg);
  if (!t->is_contiguous && shape_overlaps_itself(&t->shape))
    return fail(c, E_OVERLAP,
                "elements of %A %S share memory (made by expand); clone it "
                "first",
                arg, SHAPE_ARG(&t->shape));
  return OK;
}

bool tensor_overlaps(const Tensor *a, const Tensor *b) {
  if (a->storage != b->storage || a->count == 0 || b->count == 0) return false;
  const int64_t a_end = a->offset + shape_reach(&a->shape);
  const int64_t b_end = b->offset + shape_reach(&b->shape);
  return a->offset < b_end && b->offset < a_end;
}

Status tensor_read(Context *c, const Tensor *t, void *host) {
  (void)c;
  assert(t->is_contiguous);
  if (t->count == 0) return OK;
  Backend *b = tensor_backend(t);
  if (tensor_device(t)->is_host)
    memcpy(host, tensor_data(t), tensor_bytes(t));
  else
    b->read(b, host, tensor_data(t), tensor_bytes(t));
  return OK;
}

Status tensor_write(Context *c, Tensor *t, const void *host) {
  (void)c;
  assert(t->is_contiguous);
  if (t->count == 0) return OK;
  Backend *b = tensor_backend(t);
  if (tensor_device(t)->is_host)
    memcpy(tensor_data(t), host, tensor_bytes(t));
  else
    b->write(b, tensor_data(t), host, tensor_bytes(t));
  return OK;
}


int64_t scalar_to_i64(const char *data, Dtype dtype) {
  union {
    uint8_t u8;
    int8_t i8;
    int16_t i16;
    int32_t i32;
    int64_t i64;
  } v;
  memcpy(&v, data, dtype_bytes(dtype));
  switch (dtype) {
  case DTYPE_BOOL: return v.u8 != 0;
  case DTYPE_U8: return v.u8;
  case DTYPE_I8: return v.i8;
  case DTYPE_I16: return v.i16;
  case DTYPE_I32: return v.i32;
  case DTYPE_I64: return v.i64;
  case DTYPE_F16:
  case DTYPE_BF16:
  case DTYPE_F32:
  case DTYPE_F64:
  case DTYPE_COUNT: break;
  }
  assert(!"scalar_to_i64: a float");
  return 0;
}

double scalar_to_f64(const char *data, Dtype dtype) {
  union {
    uint16_t h;
    float f;
    double d;
  } v;
  if (dtype_class(dtype) != CLASS_FLOAT)
    return (double)scalar_to_i64(data, dtype);
  memcpy(&v, data, dtype_bytes(dtype));
  switch (dtype) {
  case DTYPE_F16: return (double)f16_to_f32(v.h);
  case DTYPE_BF16: return (double)bf16_to_f32(v.h);
  case DTYPE_F32: return (double)v.f;
  default: return v.d;
  }
}
