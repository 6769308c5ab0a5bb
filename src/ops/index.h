/* index.h: index tensors, for the files of this floor that read positions. */
#ifndef TENSUS_OPS_INDEX_H
#define TENSUS_OPS_INDEX_H

#include "ops/run.h"

/* *r = index as contiguous i64 on device d.  E_DTYPE for floats and bool. */
Status index_plain(Context *c, const char *name, Tensor *index, Device *d,
                   Tensor **r);

/* Element number `at` of a contiguous i64 tensor. */
int64_t index_value(Context *c, const Tensor *index, int64_t at);

#endif
