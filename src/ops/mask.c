/* mask.c: rows that read and write where a mask is true.
 *
 * How many elements a mask takes is known only when it has been counted, on
 * its device; results are allocated then.
 */
#include <string.h>

#include "ops/index.h"
#include "tensor/iterator.h"

static Status check_mask(Context *c, const Tensor *self, const Tensor *mask) {
  if (mask->dtype != DTYPE_BOOL)
    return fail(c, E_DTYPE, "%A is %s; a mask is bool", "mask",
                dtype_name(mask->dtype));
  return check_same_device(c, "self", self, "mask", mask);
}

/* The sizes that self and mask stretch to. */
static Status stretch(Context *c, const Tensor *self, const Tensor *mask,
                      Shape *space) {
  int axis = 0;
  *space = self->shape;
  if (shape_broadcast(space, &mask->shape, &axis)) {
    shape_contiguous(space);
    return OK;
  }
  return fail(c, E_SHAPE, "%A %S and self %S do not broadcast", "mask",
              SHAPE_ARG(&mask->shape), SHAPE_ARG(&self->shape));
}

/* Scratch of a pass and its size. */
typedef struct Pass {
  Masked m;
  Device *d;
  size_t bytes;
  char *room;
  int64_t count; /* true elements */
} Pass;

static void pass_close(Pass *p) { scratch_give(p->d, p->room, p->bytes); }

/* The mask, and data (or NULL) with it, over `space`; counts. */
static Status pass_open(Context *c, Pass *p, const Shape *space,
                        const Tensor *mask, const Tensor *data) {
  Iter it;
  iter_open(&it, space);
  iter_add(&it, &mask->shape);
  iter_add(&it, data != NULL ? &data->shape : &mask->shape);
  if (data != NULL) iter_fuse(&it, 1); /* positions are told axis by axis */
  else if (it.axes == 0) iter_fuse(&it, 1);
  p->d = tensor_device(mask);
  p->m.axes = it.axes;
  memcpy(p->m.size, it.size, sizeof it.size);
  memcpy(p->m.mask_stride, it.stride[0], sizeof it.stride[0]);
  memcpy(p->m.data_stride, it.stride[1], sizeof it.stride[1]);
  p->m.mask = tensor_data(mask);
  p->m.data = data != NULL ? tensor_data(data) : NULL;
  p->m.dtype = data != NULL ? data->dtype : DTYPE_I64;
  p->m.base = c->failure.base;
  Backend *b = &p->d->backend;
  p->bytes = b->mask_room(b, &p->m);
  const Status s = scratch_take(c, p->d, p->bytes, &p->room);
  if (s != OK) return s;
  p->m.scratch = p->room;
  p->count = b->mask_count(b, &p->m);
  return check_done(c, p->count >= 0);
}

static Status pass_move(Context *c, Pass *p, MaskWhat what, Tensor *dense) {
  Backend *b = &p->d->backend;
  if (p->count == 0) return OK;
  p->m.what = what;
  p->m.dense = tensor_data(dense);
  return check_done(c, b->mask_move(b, &p->m));
}

Status run_masked_select(Context *c, Args *a, Tensor **r) {
  Tensor *self = a->at[0].tensor, *mask = a->at[1].tensor;
  Shape space;
  Pass p = {.room = NULL};
  Status s = check_mask(c, self, mask);
  if (s == OK) s = stretch(c, self, mask, &space);
  if (s != OK) return s;
  s = pass_open(c, &p, &space, mask, self);
  if (s == OK) {
    const Shape row = shape_of(1, &p.count);
    s = tensor_new(c, p.d, self->dtype, &row, &r[0]);
  }
  if (s == OK) s = pass_move(c, &p, MASK_TAKE, r[0]);
  if (s != OK) {
    tensor_release(c, r[0]);
    r[0] = NULL;
  }
  pass_close(&p);
  return s;
}

static Status check_enough(Context *c, const Tensor *source, int64_t count) {
  if (source->count >= count) return OK;
  return fail(c, E_SIZE, "%A %S has %I elements, the mask takes %I", "source",
              SHAPE_ARG(&source->shape), source->count, count);
}

/* Counted and found to be enough before the target is written. */
static Status put_under(Context *c, const Shape *space, const Tensor *self,
                        Tensor *mask, Tensor *source, Tensor **r) {
  Tensor *flat = NULL, *under = NULL;
  Pass p = {.room = NULL};
  Status s = pass_open(c, &p, space, mask, self);
  if (s == OK) s = check_enough(c, source, p.count);
  pass_close(&p);
  if (s == OK) s = open_target(c, self, space, r);
  if (s == OK) s = isolate(c, mask, *r, &under);
  if (s == OK) s = isolate(c, source, *r, &flat);
  p.room = NULL;
  if (s == OK) s = pass_open(c, &p, space, under, *r);
  if (s == OK) s = pass_move(c, &p, MASK_PUT, flat);
  pass_close(&p);
  tensor_release(c, under);
  tensor_release(c, flat);
  return s;
}

Status run_masked_scatter(Context *c, Args *a, Tensor **r) {
  Tensor *self = a->at[0].tensor, *mask = a->at[1].tensor;
  Tensor *source = a->at[2].tensor, *flat = NULL;
  Shape space;
  Status s = check_mask(c, self, mask);
  if (s == OK) s = check_same_dtype(c, "self", self, "source", source);
  if (s == OK) s = check_same_device(c, "self", self, "source", source);
  if (s == OK) s = stretch(c, self, mask, &space);
  if (s == OK) s = plain_layout(c, source, &flat);
  if (s == OK) s = put_under(c, &space, self, mask, flat, r);
  tensor_release(c, flat);
  return s;
}

Status run_nonzero(Context *c, Args *a, Tensor **r) {
  Tensor *self = a->at[0].tensor, *mask = NULL;
  Pass p = {.room = NULL};
  Status s = plain(c, self, DTYPE_BOOL, tensor_device(self), &mask);
  if (s != OK) return s;
  s = pass_open(c, &p, &self->shape, mask, NULL);
  if (s == OK) {
    const int64_t size[] = {p.count, self->shape.rank};
    const Shape shape = shape_of(2, size);
    s = tensor_new(c, p.d, DTYPE_I64, &shape, &r[0]);
  }
  if (s == OK && r[0]->count > 0) s = pass_move(c, &p, MASK_PLACES, r[0]);
  if (s != OK) {
    tensor_release(c, r[0]);
    r[0] = NULL;
  }
  pass_close(&p);
  tensor_release(c, mask);
  return s;
}

Status mask_places(Context *c, Tensor *mask, Device *d, Tensor **r) {
  Tensor *flat = NULL, *out = NULL;
  Pass p = {.room = NULL};
  Status s = plain(c, mask, DTYPE_BOOL, d, &flat);
  if (s != OK) return s;
  const Shape row = shape_of(1, &flat->count);
  Tensor *line = NULL;
  s = tensor_view(c, flat, &row, flat->offset, &line);
  if (s == OK) {
    s = pass_open(c, &p, &row, line, NULL);
    const Shape shape = shape_of(1, &p.count);
    if (s == OK) s = tensor_new(c, d, DTYPE_I64, &shape, &out);
    if (s == OK) s = pass_move(c, &p, MASK_PLACES, out);
    pass_close(&p);
  }
  if (s == OK) *r = out;
  else tensor_release(c, out);
  tensor_release(c, line);
  tensor_release(c, flat);
  return s;
}
