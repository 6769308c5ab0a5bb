/* pool_level.c: the loops of the pools at one level.
 *
 * Values and places are the same at every level.  Must not know: threads. */
#include "cpu/pool.h"

#include <math.h>
#include <string.h>

#include "device/window.h"

/* x of plane row `row` of slice `slice`. */
INLINE int64_t row_start(const int64_t size[SPACE], int64_t slice,
                         int64_t row) {
  return (slice * size[DOWN] + row) * size[ACROSS];
}

#define REAL float
#define TAP int32_t
#define LOWEST (-INFINITY)
#define NO_NUMBER(v) ((v) != (v))
#define FN(name) name##_f32
#include "cpu/max_pool_type.h"
#include "cpu/avg_pool_type.h"
#undef REAL
#undef TAP
#undef FN
#define REAL double
#define TAP int64_t
#define FN(name) name##_f64
#include "cpu/max_pool_type.h"
#include "cpu/avg_pool_type.h"
#undef REAL
#undef LOWEST
#undef NO_NUMBER
#undef FN
#define NO_NUMBER(v) 0
#define REAL int64_t
#define LOWEST INT64_MIN
#define FN(name) name##_i64
#include "cpu/max_pool_type.h"
#undef REAL
#undef TAP
#undef LOWEST
#undef FN
#define REAL int32_t
#define TAP int32_t
#define LOWEST INT32_MIN
#define FN(name) name##_i32
#include "cpu/max_pool_type.h"

#define TABLE_OF(level) pool_##level
#define TABLE(level) TABLE_OF(level)
const PoolLevel TABLE(LEVEL) = {
    {max_row_f32, max_row_f64, max_row_i32, max_row_i64},
    {avg_row_f32, avg_row_f64},
    {avg_add_row_f32, avg_add_row_f64}};
