/* pool2d.h: the loops of max_pool for a row of results. */
#ifndef TENSUS_POOL2D_H
#define TENSUS_POOL2D_H

#include "device/backend.h"

/* y and at of one row of results: `row` of the plane x. */
typedef void PoolRow(const Pool2d *p, const void *x, int64_t row, void *y,
                     int64_t *at);

typedef struct PoolLevel {
  PoolRow *row[2]; /* f32, f64 */
} PoolLevel;

extern const PoolLevel pool2d_base, pool2d_avx2, pool2d_avx512;

#endif
