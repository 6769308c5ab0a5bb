/* tensor.h: a tensor is a view of a counted storage.
 *
 * The seams for deferred evaluation: an op asks tensor_ready before it reads
 * and tensor_writable before it writes, and reaches bytes by tensor_data only.
 * Must not know: ops, how derivatives are made.
 */
#ifndef TENSUS_TENSOR_H
#define TENSUS_TENSOR_H

#include "tensor/context.h"
#include "value/shape.h"

/* count == shape_count(&shape)
 * is_contiguous == shape_is_contiguous(&shape)
 * offset + shape_reach(&shape) <= elements of the storage
 * node == NULL: untracked.  node->op == OP_LEAF: a leaf that requires grad.
 * Else result number `result` of that node. */
struct Tensor {
  int refs;
  Dtype dtype;
  bool is_contiguous;
  bool is_view;   /* made by a view op: names in messages */
  uint8_t result;
  Storage *storage;
  int64_t offset; /* elements */
  int64_t count;
  Node *node;
  Shape shape;
};

/* ---- making; *r is the caller's, untouched on error ---- */

/* Unset values, contiguous.  E_SIZE for shapes too large, E_MEMORY. */
Status tensor_new(Context *c, Device *d, Dtype dtype, const Shape *shape,
                  Tensor **r);

/* Unset values in the shape of x, which is contiguous, and on its device. */
Status tensor_like(Context *c, const Tensor *x, Dtype dtype, Tensor **r);

/* Another view of t's storage, untracked; `offset` in elements of it. */
Status tensor_view(Context *c, const Tensor *t, const Shape *shape,
                   int64_t offset, Tensor **r);

/* The same view, untracked: what is saved for backward, and detach. */
Status tensor_alias(Context *c, const Tensor *t, Tensor **r);

/* Over memory of the host; see storage_foreign. */
Status tensor_foreign(Context *c, Dtype dtype, const Shape *shape, void *data,
                      size_t bytes, StorageDeleter *deleter, void *arg,
                      Tensor **r);

INLINE Tensor *tensor_share(Tensor *t) {
  t->refs++;
  return t;
}

/* Drop one count; NULL is fine.  May free a whole graph, never recursing. */
void tensor_release(Context *c, Tensor *t);

/* ---- bytes ---- */

/* May t be read?  E_REVOKED memory says no.  No-op once passed. */
Status tensor_ready(Context *c, const Tensor *t, const char *arg);

/* May t be written in place?  E_READONLY, E_OVERLAP; names `arg`. */
Status tensor_writable(Context *c, const Tensor *t, const char *arg);

/* Its first element, on its device; after tensor_ready. */
INLINE char *tensor_data(const Tensor *t) {
  return t->storage->data + (size_t)t->offset * dtype_bytes(t->dtype);
}

INLINE Device *tensor_device(const Tensor *t) { return t->storage->device; }
INLINE Backend *tensor_backend(const Tensor *t) {
  return &t->storage->device->backend;
}
INLINE size_t tensor_bytes(const Tensor *t) {
  return (size_t)t->count * dtype_bytes(t->dtype);
}
INLINE bool tensor_is_tracked(const Tensor *t) { return t->node != NULL; }

/* Do two tensors share an element, as far as can be told cheaply? */
bool tensor_overlaps(const Tensor *a, const Tensor *b);

/* Row-major elements to and from host memory; waits for the device.  t must
 * be contiguous. */
Status tensor_read(Context *c, const Tensor *t, void *host);
Status tensor_write(Context *c, Tensor *t, const void *host);

/* One number from host memory. */
double scalar_to_f64(const char *data, Dtype dtype);
int64_t scalar_to_i64(const char *data, Dtype dtype); /* integers and bool */

#endif
