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
  if (s->L != NULL || s->handles != NULL) return;
  Ledger ledger = s->ledger; /* the last handle of a closed state */
  ledger_free(&ledger, s, sizeof *s);
}

/* ---- making ---- */

static Status shape_from(Context *c, const tensus_Layout *l, Dtype *dtype,
                         Shape *shape) {
  *dtype = api_dtype(l->dtype);
  if (*dtype == DTYPE_NONE)
    return fail(c, E_DTYPE, "%A is no dtype", "layout.dtype");
  if (l->ndim < 0 || l->ndim > MAX_RANK)
    return fail(c, E_RANK, "%A is %d; 0 to %d are offered", "layout.ndim",
                l->ndim, MAX_RANK);
  *shape = shape_of(l->ndim, l->sizes);
  for (int i = 0; i < l->ndim; i++) {
    if (shape->size[i] < 0 || (l->strides != NULL && l->strides[i] < 0))
      return fail(c, E_SHAPE, "%A %S: a size or stride is negative", "layout",
                  l->ndim, l->sizes);
    if (l->strides != NULL) shape->stride[i] = l->strides[i];
  }
  if (!shape_fits(shape, dtype_bytes(*dtype)))
    return fail(c, E_SIZE, "%A %S is too large", "layout", l->ndim, l->sizes);
  return OK;
}

/* The elements that a layout with strides reaches, without overflow. */
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

tensus_Status tensus_tensor_new(tensus_State *s, const tensus_Layout *layout,
                                tensus_Tensor **out) {
  Dtype dtype;
  Shape shape;
  Tensor *t = NULL;
  const tensus_Status begun = api_begin(s);
  if (begun != TENSUS_OK) return begun;
  Status status = shape_from(s->c, layout, &dtype, &shape);
  if (status == OK)
    status = op_full(s->c, &s->c->host, dtype, shape.rank, shape.size, 0, &t);
  return give(s, status, t, out);
}

static Status foreign(tensus_State *s, const tensus_Layout *layout, void *data,
                      size_t bytes, tensus_Deleter deleter, void *ctx,
                      Tensor **t) {
  Dtype dtype;
  Shape shape;
  Status status = shape_from(s->c, layout, &dtype, &shape);
  if (status == OK) status = check_covered(s->c, &shape, dtype, bytes);
  if (status != OK) return status;
  return tensor_foreign(s->c, dtype, &shape, data, bytes, deleter, ctx, t);
}

tensus_Status tensus_tensor_copy(tensus_State *s, const tensus_Layout *layout,
                                 const void *src, size_t bytes,
                                 tensus_Tensor **out) {
  Tensor *seen = NULL, *t = NULL;
  const tensus_Status begun = api_begin(s);
  if (begun != TENSUS_OK) return begun;
  /* Only read from, and gone before this returns. */
  Status status =
      foreign(s, layout, (void *)(uintptr_t)src, bytes, NULL, NULL, &seen);
  if (status == OK) status = op_unary(s->c, OP_clone, seen, &t);
  tensor_release(s->c, seen);
  return give(s, status, t, out);
}

tensus_Status tensus_tensor_borrow(tensus_State *s,
                                   const tensus_Layout *layout, void *data,
                                   size_t bytes, int readonly,
                                   tensus_Tensor **out) {
  Tensor *t = NULL;
  const tensus_Status begun = api_begin(s);
  if (begun != TENSUS_OK) return begun;
  const Status status = foreign(s, layout, data, bytes, NULL, NULL, &t);
  if (status == OK) t->storage->readonly = readonly != 0;
  return give(s, status, t, out);
}

tensus_Status tensus_tensor_adopt(tensus_State *s,
                                  const tensus_Layout *layout, void *data,
                                  size_t bytes, tensus_Deleter deleter,
                                  void *ctx, tensus_Tensor **out) {
  Tensor *t = NULL;
  const tensus_Status begun = api_begin(s);
  if (begun != TENSUS_OK) return begun;
  const Status status = foreign(s, layout, data, bytes, NULL, NULL, &t);
  const tensus_Status given = give(s, status, t, out);
  if (given == TENSUS_OK) { /* from here on nothing can fail */
    t->storage->deleter = deleter;
    t->storage->arg = ctx;
  }
  return given;
}

/* ---- using ---- */

/* Begins a call on a handle. */
static tensus_Status begin(tensus_Tensor *h) {
  const tensus_Status status = api_begin(h->state);
  return status;
}

tensus_Status tensus_tensor_revoke(tensus_Tensor *h) {
  const tensus_Status begun = begin(h);
  if (begun != TENSUS_OK) return begun;
  Storage *storage = h->tensor->storage;
  if (!storage->foreign || storage->deleter != NULL)
    return api_fail(h->state, TENSUS_E_STATE,
                    "revoke: the tensor was not borrowed");
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
  const tensus_Status begun = begin(h);
  if (begun != TENSUS_OK) return begun;
  Context *c = h->state->c;
  Tensor *plain = NULL;
  Status s = check_bytes(c, h->tensor, bytes);
  if (s == OK) s = op_contiguous(c, h->tensor, &plain);
  if (s == OK) s = tensor_read(c, plain, dst);
  tensor_release(c, plain);
  return api_end(h->state, s);
}

tensus_Status tensus_tensor_write(tensus_Tensor *h, const void *src,
                                  size_t bytes) {
  const tensus_Status begun = begin(h);
  if (begun != TENSUS_OK) return begun;
  Context *c = h->state->c;
  Tensor *seen = NULL;
  Args a = {.at[0] = arg_tensor(h->tensor)};
  Status s = check_bytes(c, h->tensor, bytes);
  Shape shape = h->tensor->shape;
  shape_contiguous(&shape);
  if (s == OK)
    s = tensor_foreign(c, h->tensor->dtype, &shape, (void *)(uintptr_t)src,
                       bytes, NULL, NULL, &seen);
  a.at[1] = arg_tensor(seen);
  if (s == OK) s = op_call_inplace(c, OP_copy, &a);
  tensor_release(c, seen);
  return api_end(h->state, s);
}

tensus_Status tensus_tensor_item_f64(tensus_Tensor *h, double *value) {
  const tensus_Status begun = begin(h);
  if (begun != TENSUS_OK) return begun;
  Context *c = h->state->c;
  const Tensor *t = h->tensor;
  char element[8];
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
  const tensus_Status begun = begin(h);
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
  const tensus_Status begun = begin(h);
  if (begun != TENSUS_OK) return begun;
  return api_end(h->state, grad_require(h->state->c, h->tensor, on != 0));
}

int tensus_tensor_requires_grad(const tensus_Tensor *h) {
  return h->tensor != NULL && tensor_is_tracked(h->tensor);
}

tensus_Status tensus_tensor_grad(tensus_Tensor *h, tensus_Tensor **out) {
  const tensus_Status begun = begin(h);
  if (begun != TENSUS_OK) return begun;
  Tensor *g = grad_get(h->tensor);
  if (g != NULL) return give(h->state, OK, tensor_share(g), out);
  *out = NULL;
  return api_end(h->state, OK);
}

tensus_Status tensus_backward(tensus_Tensor *h, tensus_Tensor *seed) {
  const tensus_Status begun = begin(h);
  if (begun != TENSUS_OK) return begun;
  if (seed != NULL && seed->state != h->state)
    return api_fail(h->state, TENSUS_E_ARG,
                    "backward: the seed belongs to another state");
  return api_end(h->state,
                 grad_backward(h->state->c, h->tensor,
                               seed != NULL ? seed->tensor : NULL, false));
}
