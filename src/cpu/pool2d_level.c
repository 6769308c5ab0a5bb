/* pool2d_level.c: the loops of max_pool at one level.
 *
 * Values and places are the same at every level.  Must not know: threads. */
#include "cpu/pool2d.h"

#include <math.h>
#include <string.h>

#define REAL float
#define TAP int32_t
#define FN(name) name##_f32
#include "cpu/pool2d_type.h"
#undef REAL
#undef TAP
#undef FN
#define REAL double
#define TAP int64_t
#define FN(name) name##_f64
#include "cpu/pool2d_type.h"

#define TABLE_OF(level) pool2d_##level
#define TABLE(level) TABLE_OF(level)
const PoolLevel TABLE(LEVEL) = {{pool_row_f32, pool_row_f64}};
