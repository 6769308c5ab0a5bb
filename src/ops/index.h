/* index.h: what the rows share that read and write at positions. */
#ifndef TENSUS_OPS_INDEX_H
#define TENSUS_OPS_INDEX_H

#include "ops/run.h"

/* *r = index as contiguous i64 on device d.  E_DTYPE for floats and bool. */
Status index_plain(Context *c, const char *name, Tensor *index, Device *d,
                   Tensor **r);

/* Element number `at` of a contiguous i64 tensor. */
int64_t index_value(Context *c, const Tensor *index, int64_t at);

/* Place of the first element of `index` (contiguous i64) that is outside of
 * [base, base + limit); -1 if all are inside. */
int64_t index_outside(Context *c, const Tensor *index, int64_t limit);

/* (count) i64 on device d: the row-major places of the true elements of
 * `mask`, from the base. */
Status mask_places(Context *c, Tensor *mask, Device *d, Tensor **r);

/* t itself, or a copy where it would be read while `target` is written. */
Status isolate(Context *c, Tensor *t, const Tensor *target, Tensor **r);

/* What a row AT_PLACES writes into: *r where it works in place, else a new
 * copy of self, stretched to `space`.  E_SHAPE: in place, and self would have
 * to stretch. */
Status open_target(Context *c, const Tensor *self, const Shape *space,
                   Tensor **r);

#endif
