/* update.c: optimiser steps as single passes.
 *
 * All operands are contiguous and of one float dtype, or nothing is changed.
 */
#include <math.h>

#include "ops/run.h"

static Status check_slot(Context *c, const char *name, const Tensor *p,
                         Tensor *slot, bool is_written) {
  Status s = is_written ? tensor_writable(c, slot, name) : OK;
  if (s == OK) s = check_same_shape(c, "self", p, name, slot);
  if (s == OK) s = check_same_dtype(c, "self", p, name, slot);
  if (s == OK) s = check_same_device(c, "self", p, name, slot);
  if (s == OK && is_written && !slot->is_contiguous)
    s = fail(c, E_STRIDE, "%A %S must be contiguous", name,
             SHAPE_ARG(&slot->shape));
  if (s == OK && is_written && slot != p && tensor_overlaps(slot, p))
    s = fail(c, E_OVERLAP, "%A shares memory with self", name);
  return s;
}

Status run_sgd_update(Context *c, Args *a, Tensor **r) {
  Tensor *p = a->at[0].tensor, *g = NULL;
  Tensor *buffer = a->at[2].kind == ARG_TENSOR ? a->at[2].tensor : NULL;
  const OpId op = OP_sgd_update;
  Status s = check_slot(c, "self", p, p, true);
  if (s == OK) s = check_slot(c, "grad", p, a->at[1].tensor, false);
  if (s == OK && buffer != NULL) s = check_slot(c, "buffer", p, buffer, true);
  if (s == OK) s = plain_layout(c, a->at[1].tensor, &g);
  if (s != OK) return s;
  if (p->count > 0) {
    const Sgd job = {.dtype = p->dtype, .count = p->count,
                     .p = tensor_data(p), .g = tensor_data(g),
                     .buffer = buffer != NULL ? tensor_data(buffer) : NULL,
                     .lr = args_number(op, a, 3),
                     .momentum = args_number(op, a, 4),
                     .dampening = args_number(op, a, 5),
                     .nesterov = args_integer(op, a, 6) != 0,
                     .decay = args_number(op, a, 7),
                     .first = args_integer(op, a, 8) != 0};
    Backend *b = tensor_backend(p);
    s = check_done(c, b->sgd(b, &job));
  }
  tensor_release(c, g);
  if (s != OK) return s;
  if (buffer != NULL) buffer->storage->version++;
  r[0] = tensor_share(p);
  return OK;
}

Status run_adam_update(Context *c, Args *a, Tensor **r) {
  Tensor *p = a->at[0].tensor, *g = NULL;
  Tensor *m = a->at[2].tensor, *v = a->at[3].tensor;
  const OpId op = OP_adam_update;
  Status s = check_slot(c, "self", p, p, true);
  if (s == OK) s = check_slot(c, "grad", p, a->at[1].tensor, false);
  if (s == OK) s = check_slot(c, "m", p, m, true);
  if (s == OK) s = check_slot(c, "v", p, v, true);
  if (s == OK && args_integer(op, a, 4) < 1)
    s = fail(c, E_RANGE, "%A is %I, and counts from 1", "step",
             args_integer(op, a, 4));
  if (s == OK) s = plain_layout(c, a->at[1].tensor, &g);
  if (s != OK) return s;
  if (p->count > 0) {
    const Adam job = {.dtype = p->dtype, .count = p->count,
                      .step = args_integer(op, a, 4),
                      .p = tensor_data(p), .g = tensor_data(g),
                      .m = tensor_data(m), .v = tensor_data(v),
                      .lr = args_number(op, a, 5),
                      .beta1 = args_number(op, a, 6),
                      .beta2 = args_number(op, a, 7),
                      .eps = args_number(op, a, 8),
                      .decay = args_number(op, a, 9),
                      .decoupled = args_integer(op, a, 10) != 0};
    Backend *b = tensor_backend(p);
    s = check_done(c, b->adam(b, &job));
  }
  tensor_release(c, g);
  if (s != OK) return s;
  m->storage->version++;
  v->storage->version++;
  r[0] = tensor_share(p);
  return OK;
}
