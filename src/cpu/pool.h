/* pool.h: the loops of the pools for a row of results, by machine level.
 *
 * Must not know: threads.
 */
#ifndef TENSUS_POOL_LOOPS_H
#define TENSUS_POOL_LOOPS_H

#include "device/backend.h"

enum {
  POOL_ROOM = 512, /* columns of x worked on at a time: 2 to 8 KiB of L1 */
  POOL_BLOCK = 16, /* results side by side: the widest vector of f32 */
  POOL_TYPES = 4   /* f32, f64, i32, i64 */
};

/* y and at (or NULL) of one row of results: `row` of slice `slice` of the
 * plane x. */
typedef void MaxRow(const MaxPool *p, const void *x, int64_t slice,
                    int64_t row, void *y, int64_t *at);

/* One row of `made`, which is y of the plane `seen` of x, or the transpose. */
typedef void AvgRow(const AvgPool *p, const void *seen, int64_t slice,
                    int64_t row, void *made);

typedef struct PoolLevel {
  MaxRow *max[POOL_TYPES];
  AvgRow *avg[2], *avg_add[2]; /* f32, f64 */
} PoolLevel;

extern const PoolLevel pool_base, pool_avx2, pool_avx512;

#endif
