/* reduce_level.c: the loops of folds, for each compute type, at one level.
 *
 * Bits do not depend on the level: nothing is fused and the order is fixed.
 * Must not know: axes, threads.
 */
#include "cpu/reduce.h"
#include "value/half.h"

#include <math.h>

/* One rounding for a double, too: to odd first, which keeps what the second
 * rounding has to know (Boldo and Melquiond 2008). */
INLINE float float_to_odd(double x) {
  const float f = (float)x;
  const double back = (double)f;
  uint32_t b = half_bits(f);
  const bool inexact = back != x && x == x && fabs(x) < 0x1p127;
  const bool away = fabs(back) > fabs(x);
  b = inexact ? (b - (away ? 1u : 0u)) | 1u : b;
  return half_float(b);
}

#define REAL T
#define WHOLE T

#define IS_REAL 1
#include "rows/scalar.h"
/* The same truth, without adding: half the operations in a vector loop. */
#undef OR
#define OR(a, b) ((a) != 0 || (b) != 0 ? K(1) : K(0))
#undef ABS
#define ABS(a) _Generic((a), float: fabsf, double: fabs)(a)
#define T float
#define FN(name) name##_f32
#define LOWEST (-INFINITY)
#define HIGHEST INFINITY
#define TO_F16(x) f32_to_f16(x)
#define TO_BF16(x) f32_to_bf16(x)
#define E T
#include "cpu/reduce_fold.h"
#undef E
#include "cpu/reduce_type.h"
#undef T
#undef FN
#undef LOWEST
#undef HIGHEST
#undef TO_F16
#undef TO_BF16

#define T double
#define FN(name) name##_f64
#define LOWEST ((double)-INFINITY)
#define HIGHEST ((double)INFINITY)
#define TO_F16(x) f32_to_f16(float_to_odd(x))
#define TO_BF16(x) f32_to_bf16(float_to_odd(x))
#define E T
#include "cpu/reduce_fold.h"
#undef E
#include "cpu/reduce_type.h"
#undef FN

#define FN(name) name##_wide
#define E float
#define NO_CHOICES
#include "cpu/reduce_fold.h"
#undef NO_CHOICES
#undef E
#undef T
#undef FN
#undef LOWEST
#undef HIGHEST
#undef IS_REAL

#define IS_REAL 0
#define NO_REAL_FOLDS
#include "rows/whole.h"
#define T int32_t
#define UWHOLE uint32_t
#define FN(name) name##_i32
#define LOWEST INT32_MIN
#define HIGHEST INT32_MAX
#define E T
#include "cpu/reduce_fold.h"
#undef E
#include "cpu/reduce_type.h"
#undef T
#undef UWHOLE
#undef FN
#undef LOWEST
#undef HIGHEST

#define T int64_t
#define UWHOLE uint64_t
#define FN(name) name##_i64
#define LOWEST INT64_MIN
#define HIGHEST INT64_MAX
#define E T
#include "cpu/reduce_fold.h"
#undef E
#include "cpu/reduce_type.h"
#undef T
#undef FN

#undef NO_REAL_FOLDS

/* ---- the table: NULL where nothing was compiled ---- */

#define LOOPS(name, type)                                             \
  [FOLD_##name] = {loop_start_##name##_##type, loop_run_##name##_##type, \
                   loop_into_##name##_##type, loop_meet_##name##_##type},
#define WHOLE_CASTS(f, type)                                      \
  [DTYPE_BOOL] = f##_bool_##type, [DTYPE_U8] = f##_u8_##type,     \
  [DTYPE_I8] = f##_i8_##type, [DTYPE_I16] = f##_i16_##type,       \
  [DTYPE_I32] = f##_i32_##type, [DTYPE_I64] = f##_i64_##type
#define REAL_CASTS(f, type)                                       \
  [DTYPE_F16] = f##_f16_##type, [DTYPE_BF16] = f##_bf16_##type,   \
  [DTYPE_F32] = f##_f32_##type, [DTYPE_F64] = f##_f64_##type
#define RIVALS(type) {rival_least_##type, rival_greatest_##type}

#define TABLE_OF(level) reduce_##level
#define TABLE(level) TABLE_OF(level)

const ReduceLevel TABLE(LEVEL) = {
    .fold = {[TYPE_F32] = {
#define FOLD(name, ...) LOOPS(name, f32)
#include "rows/fold.def"
             },
             [TYPE_F64] = {
#define FOLD(name, ...) LOOPS(name, f64)
#include "rows/fold.def"
             },
#define NO_REAL_FOLDS
             [TYPE_I32] = {
#define FOLD(name, ...) LOOPS(name, i32)
#include "rows/fold.def"
             },
             [TYPE_I64] = {
#define FOLD(name, ...) LOOPS(name, i64)
#include "rows/fold.def"
             }},
#undef NO_REAL_FOLDS
    .wide = {
#define NO_CHOICES
#define FOLD(name, ...) LOOPS(name, wide)
#include "rows/fold.def"
#undef NO_CHOICES
    },
    .load = {[TYPE_F32] = {WHOLE_CASTS(load, f32), REAL_CASTS(load, f32)},
             [TYPE_F64] = {WHOLE_CASTS(load, f64), REAL_CASTS(load, f64)},
             [TYPE_I32] = {WHOLE_CASTS(load, i32)},
             [TYPE_I64] = {WHOLE_CASTS(load, i64)}},
    .store = {[TYPE_F32] = {[DTYPE_BOOL] = store_bool_f32,
                            REAL_CASTS(store, f32)},
              [TYPE_F64] = {[DTYPE_BOOL] = store_bool_f64,
                            REAL_CASTS(store, f64)},
              [TYPE_I32] = {WHOLE_CASTS(store, i32)},
              [TYPE_I64] = {WHOLE_CASTS(store, i64)}},
    .find = {find_f32, find_f64, find_i32, find_i64},
    .rival = {RIVALS(f32), RIVALS(f64), RIVALS(i32), RIVALS(i64)}};
