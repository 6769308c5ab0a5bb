/* api_tensor.c: tensus.h, tensors.
 *
 * A handle keeps its tensor alive whatever scripts drop.
 */
#include <string.h>

#include "host/api.h"

/* ORDER tensus_Dtype of tensus.h */
static const Dtype dtypes[] = {DTYPE_F16, DTYPE_BF16, DTYPE_F32, DTYPE_F64,
                               DTYPE_I8,  DTYPE_I16,  DTYPE_I32, DTYPE_I64,
                               DTYPE_U8,  DTYPE_BOOL};

Dtype api_dtype(tensus_Dtype dtype) {
  const size_t k = (size_t)dtype;
  return k < sizeof dtypes / sizeof *dtypes ? dtypes[k] : DTYPE_NONE;
}

tensus_Tensor *api_handle(tensus_State *s, Tensor *t) {
  tensus_Tensor *h = ledger_alloc(&s->ledger, sizeof *h);
  if (h == NULL) {
    tensor_release(s->c, t);
    return NULL;
  }
  *h = (tensus_Tensor){s, t, 1, s->handles, &s->handles};
  if (s->handles != NULL) s->handles->slot = &h->next;
  s->handles = h;
  return h;
}

/* A fresh tensor (or a failure) becomes *out. */
static tensus_Status give(tensus_State *s, Status status, Tensor *t,
                          tensus_Tensor **out) {
  if (status != OK) return api_end(s, status);
  tensus_Tensor *h = api_handle(s, t);
  if (h == NULL) return api_end(s, fail(s->c, E_MEMORY, "out of memory"));
  *out = h;
  return api_end(s, OK);
}

tensus_Tensor *tensus_tensor_retain(tensus_Tensor *h) {
  h->refs++;
  return h;
}

void tensus_tensor_release(tensus_Tensor *h) {
  if (h == NULL || --h->refs > 0) return;
  tensus_State *s = h->state;
  if (h->tensor != NULL) tensor_release(s->c, h->tensor);
  *h->slot = h->next;
  if (h->next != NULL) h->next->slot = h->slot;
  ledger_free(&s->ledger, h, sizeof *h);
  api_forget(s);
}

/* ---- making ---- */

/* The shape of a layout, checked but for what its strides reach. */
static Status shape_from(Context *c, const tensus_Layout *l, Dtype *dtype,
                         Shape *shape) {
  *dtype = api_dtype(l->dtype);
  if (*dtype == DTYPE_NONE)
    return fail(c, E_DTYPE, "%A is no dtype", "layout.dtype");
  if (l->ndim < 0 || l->ndim > MAX_RANK)
    return fail(c, E_RANK, "%A is %d; 0 to %d are offered", "layout.ndim",
                l->ndim, MAX_RANK);
  if (l->ndim > 0 && l->sizes == NULL)
    return fail(c, E_TYPE, "%A is missing", "layout.sizes");
  shape->rank = l->ndim;
  for (int i = 0; i < l->ndim; i++) {
    shape->size[i] = l->sizes[i];
    shape->stride[i] = l->strides != NULL ? l->strides[i] : 0;
    if (shape->size[i] < 0 || shape->stride[i] < 0)
      return fail(c, E_SHAPE, "%A %S: a size or stride is negative", "layout",
                  l->ndim, l->sizes);
  }
  if (!shape_fits(shape, dtype_bytes(*dtype)))
    return fail(c, E_SIZE, "%A %S is too large", "layout", l->ndim, l->sizes);
  if (l->strides == NULL) shape_contiguous(shape);
  return OK;
}

/* Do the elements lie within the `bytes`?  Counts without overflow. */
static Status check_covered(Context *c, const Shape *shape, Dtype dtype,
                            size_t bytes) {
  int64_t last = 0, step = 0;
  for (int i = 0; i < shape->rank; i++) {
    if (shape->size[i] == 0) return OK;
    if (!checked_mul(shape->size[i] - 1, shape->stride[i], &step) ||
        step > INT64_MAX - last - 1)
      return fail(c, E_SIZE, "%A %S reaches too far", "layout",
                  SHAPE_ARG(shape));
    last += step;
  }
  if ((uint64_t)last < bytes / dtype_bytes(dtype)) return OK;
  return fail(c, E_SIZE, "%A %S reaches %I elements, the buffer has %I",
              "layout", SHAPE_ARG(shape), last + 1,
              (int64_t)(bytes / dtype_bytes(dtype)));
}

static bool is_aligned(const void *data, Dtype dtype) {
  return (uintptr_t)data % dtype_bytes(dtype) == 0;
}

static Status check_layout(Context *c, const tensus_Layout *layout,
                           const void *data, size_t bytes, Dtype *dtype,
                           Shape *shape) {
  Status status = shape_from(c, layout, dtype, shape);
  if (status == OK) status = check_covered(c, shape, *dtype, bytes);
  if (status == OK && data == NULL && shape_count(shape) > 0)
    status = fail(c, E_TYPE, "%A is missing", "data");
  return status;
}

tensus_Status tensus_tensor_new(tensus_State *s, const tensus_Layout *layout,
                                tensus_Tensor **out) {
  Dtype dtype;
  Shape shape;
  Tensor *t = NULL;
  const tensus_Status begun = api_enter(s, "tensor_new");
  if (begun != TENSUS_OK) return begun;
  Status status = shape_from(s->c, layout, &dtype, &shape);
  if (status == OK)
    status = op_full(s->c, &s->c->host, dtype, shape.rank, shape.size, 0, &t);
  return give(s, status, t, out);
}

/* A tensor over memory of the host. */
static Status foreign(tensus_State *s, const tensus_Layout *layout, void *data,
                      size_t bytes, Tensor **t) {
  Dtype dtype;
  Shape shape;
  Status status = check_layout(s->c, layout, data, bytes, &dtype, &shape);
  if (status != OK) return status;
  if (!is_aligned(data, dtype))
    return fail(s->c, E_STRIDE, "%A is no multiple of the %I bytes of %s",
                "data", (int64_t)dtype_bytes(dtype), dtype_name(dtype));
  return tensor_foreign(s->c, dtype, &shape, data, bytes, NULL, NULL, t);
}

/* Row-major bytes at any address as a tensor of their own. */
static Status copy_bytes(Context *c, Dtype dtype, const Shape *shape,
                         const void *src, Tensor **t) {
  Tensor *fresh = NULL;
  Status status = tensor_new(c, &c->host, dtype, shape, &fresh);
  if (status == OK) status = tensor_write(c, fresh, src);
  if (status == OK) *t = fresh;
  return status;
}

/* `src` is only read from, and its tensor is gone before this returns. */
static Status copy_layout(tensus_State *s, const tensus_Layout *layout,
                          const void *src, size_t bytes, Tensor **t) {
  Dtype dtype;
  Shape shape;
  Tensor *seen = NULL;
  Status status = check_layout(s->c, layout, src, bytes, &dtype, &shape);
  if (status != OK) return status;
  if (shape_is_contiguous(&shape))
    return copy_bytes(s->c, dtype, &shape, src, t);
  status = foreign(s, layout, (void *)(uintptr_t)src, bytes, &seen);
  if (status == OK) status = op_unary(s->c, OP_clone, seen, t);
  tensor_release(s->c, seen);
  return status;
}

tensus_Status tensus_tensor_copy(tensus_State *s, const tensus_Layout *layout,
                                 const void *src, size_t bytes,
                                 tensus_Tensor **out) {
  Tensor *t = NULL;
  const tensus_Status begun = api_enter(s, "tensor_copy");
  if (begun != TENSUS_OK) return begun;
  const Status status = copy_layout(s, layout, src, bytes, &t);
  return give(s, status, t, out);
}

tensus_Status tensus_tensor_borrow(tensus_State *s,
                                   const tensus_Layout *layout, void *data,
                                   size_t bytes, int readonly,
                                   tensus_Tensor **out) {
  Tensor *t = NULL;
  const tensus_Status begun = api_enter(s, "tensor_borrow");
  if (begun != TENSUS_OK) return begun;
  const Status status = foreign(s, layout, data, bytes, &t);
  if (status == OK) t->storage->readonly = readonly != 0;
  return give(s, status, t, out);
}

tensus_Status tensus_tensor_adopt(tensus_State *s,
                                  const tensus_Layout *layout, void *data,
                                  size_t bytes, tensus_Deleter deleter,
                                  void *ctx, tensus_Tensor **out) {
  Tensor *t = NULL;
  const tensus_Status begun = api_enter(s, "tensor_adopt");
  if (begun != TENSUS_OK) return begun;
  const Status status = foreign(s, layout, data, bytes, &t);
  const tensus_Status given = give(s, status, t, out);
  if (given == TENSUS_OK) { /* from here on nothing can fail */
    t->storage->deleter = deleter;
    t->storage->arg = ctx;
  }
  return given;
}

/* ---- using ---- */

tensus_Status tensus_tensor_revoke(tensus_Tensor *h) {
  const tensus_Status begun = api_enter(h->state, "tensor_revoke");
  if (begun != TENSUS_OK) return begun;
  Storage *storage = h->tensor->storage;
  if (!storage->foreign || storage->deleter != NULL)
    return api_end(h->state, fail(h->state->c, E_STATE,
                                  "%A was not borrowed from the host", "self"));
  storage->revoked = true;
  storage->data = NULL;
  return api_end(h->state, OK);
}

int tensus_tensor_ndim(const tensus_Tensor *h) {
  return h->tensor != NULL ? h->tensor->shape.rank : 0;
}

int64_t tensus_tensor_size(const tensus_Tensor *h, int dim) {
  const int rank = tensus_tensor_ndim(h);
  if (dim < 0) dim += rank;
  return dim >= 0 && dim < rank ? h->tensor->shape.size[dim] : -1;
}

const int64_t *tensus_tensor_sizes(const tensus_Tensor *h) {
  return h->tensor != NULL ? h->tensor->shape.size : NULL;
}

int64_t tensus_tensor_numel(const tensus_Tensor *h) {
  return h->tensor != NULL ? h->tensor->count : 0;
}

size_t tensus_tensor_bytes(const tensus_Tensor *h) {
  return h->tensor != NULL ? tensor_bytes(h->tensor) : 0;
}

tensus_Dtype tensus_tensor_dtype(const tensus_Tensor *h) {
  for (size_t k = 0; k < sizeof dtypes / sizeof *dtypes; k++)
    if (h->tensor != NULL && dtypes[k] == h->tensor->dtype)
      return (tensus_Dtype)k;
  return TENSUS_F32;
}

const char *tensus_tensor_device(const tensus_Tensor *h) {
  return h->tensor != NULL ? tensor_device(h->tensor)->name : "";
}

static Status check_bytes(Context *c, const Tensor *t, size_t bytes) {
  if (bytes == tensor_bytes(t)) return OK;
  return fail(c, E_SIZE, "%A is %I, self %S has %I bytes", "bytes",
              (int64_t)bytes, SHAPE_ARG(&t->shape), (int64_t)tensor_bytes(t));
}

tensus_Status tensus_tensor_read(tensus_Tensor *h, void *dst, size_t bytes) {
  const tensus_Status begun = api_enter(h->state, "tensor_read");
  if (begun != TENSUS_OK) return begun;
  Context *c = h->state->c;
  Tensor *plain = NULL;
  Status s = check_bytes(c, h->tensor, bytes);
  if (s == OK) s = op_contiguous(c, h->tensor, &plain);
  if (s == OK) s = tensor_read(c, plain, dst);
  tensor_release(c, plain);
  return api_end(h->state, s);
}

/* copy_ over a tensor that looks at src; a copy of it where src does not lie
 * as its dtype wants. */
static Status write_all(Context *c, Tensor *t, const void *src, size_t bytes) {
  Tensor *seen = NULL;
  Args a = {.at[0] = arg_tensor(t)};
  const Shape shape = shape_of(t->shape.rank, t->shape.size);
  Status s = tensor_writable(c, t, "self");
  if (s == OK && !is_aligned(src, t->dtype))
    s = copy_bytes(c, t->dtype, &shape, src, &seen);
  else if (s == OK)
    s = tensor_foreign(c, t->dtype, &shape, (void *)(uintptr_t)src, bytes,
                       NULL, NULL, &seen);
  a.at[1] = arg_tensor(seen);
  if (s == OK) s = op_call_inplace(c, OP_copy, &a);
  tensor_release(c, seen);
  return s;
}

tensus_Status tensus_tensor_write(tensus_Tensor *h, const void *src,
                                  size_t bytes) {
  const tensus_Status begun = api_enter(h->state, "tensor_write");
  if (begun != TENSUS_OK) return begun;
  Status s = check_bytes(h->state->c, h->tensor, bytes);
  if (s == OK) s = write_all(h->state->c, h->tensor, src, bytes);
  return api_end(h->state, s);
}

tensus_Status tensus_tensor_item_f64(tensus_Tensor *h, double *value) {
  const tensus_Status begun = api_enter(h->state, "tensor_item_f64");
  if (begun != TENSUS_OK) return begun;
  Context *c = h->state->c;
  const Tensor *t = h->tensor;
  char element[8]; /* scalar_to_f64 copies: no alignment is needed */
  Status s = tensor_ready(c, t, "self");
  if (s == OK && t->count != 1)
    s = fail(c, E_SHAPE, "%A %S must have one element", "self",
             SHAPE_ARG(&t->shape));
  if (s == OK) s = tensor_read(c, t, element);
  if (s == OK) *value = scalar_to_f64(element, t->dtype);
  return api_end(h->state, s);
}

tensus_Status tensus_tensor_to(tensus_Tensor *h, tensus_Dtype dtype,
                               const char *device, tensus_Tensor **out) {
  const tensus_Status begun = api_enter(h->state, "tensor_to");
  if (begun != TENSUS_OK) return begun;
  Context *c = h->state->c;
  Tensor *t = NULL;
  Args a = {.at[0] = arg_tensor(h->tensor)};
  a.at[1] = arg_integer(api_dtype(dtype));
  a.at[2].kind = ARG_DEVICE;
  a.at[2].device = tensor_device(h->tensor);
  Status s = OK;
  if (api_dtype(dtype) == DTYPE_NONE)
    s = fail(c, E_DTYPE, "%A is no dtype", "dtype");
  if (s == OK && device != NULL)
    s = context_device(c, device, &a.at[2].device);
  if (s == OK) s = op_call(c, OP_cast, &a, &t);
  return give(h->state, s, t, out);
}

/* ---- derivatives ---- */

tensus_Status tensus_tensor_set_requires_grad(tensus_Tensor *h, int on) {
  const tensus_Status begun = api_enter(h->state, "tensor_set_requires_grad");
  if (begun != TENSUS_OK) return begun;
  return api_end(h->state, grad_require(h->state->c, h->tensor, on != 0));
}

int tensus_tensor_requires_grad(const tensus_Tensor *h) {
  return h->tensor != NULL && tensor_is_tracked(h->tensor);
}

tensus_Status tensus_tensor_grad(tensus_Tensor *h, tensus_Tensor **out) {
  const tensus_Status begun = api_enter(h->state, "tensor_grad");
  if (begun != TENSUS_OK) return begun;
  Tensor *g = grad_get(h->tensor);
  if (g != NULL) return give(h->state, OK, tensor_share(g), out);
  *out = NULL;
  return api_end(h->state, OK);
}

tensus_Status tensus_backward(tensus_Tensor *h, tensus_Tensor *seed) {
  tensus_State *s = h->state;
  const tensus_Status begun = api_enter(s, "backward");
  if (begun != TENSUS_OK) return begun;
  if (seed != NULL && seed->state != s)
    return api_end(s, fail(s->c, E_STATE, "%A belongs to another state",
                           "seed"));
  return api_end(s, grad_backward(s->c, h->tensor,
                                  seed != NULL ? seed->tensor : NULL, false));
}
