/* scan_level.c: the loops of scans, for each compute type, at one level.
 *
 * Bits do not depend on the level but by sm_exp and sm_log.
 * Must not know: axes, threads.
 */
#include "cpu/scan.h"

#include <math.h>
#include <string.h>

#define SM __attribute__((always_inline, unused)) static inline
#define NOINLINE __attribute__((noinline)) static

#define IS_REAL 1
#define REAL float
#define REAL_BITS 32
#define FN(name) name##_f32
#include "rows/smath.h"
#include "rows/scalar.h"
#define T float
#define LOWEST (-INFINITY)
#define HIGHEST INFINITY
#include "cpu/scan_type.h"
#undef T
#undef LOWEST
#undef HIGHEST
#undef REAL
#undef REAL_BITS
#undef FN

#define REAL double
#define REAL_BITS 64
#define FN(name) name##_f64
#include "rows/smath.h"
#include "rows/scalar.h"
#define T double
#define LOWEST ((double)-INFINITY)
#define HIGHEST ((double)INFINITY)
#include "cpu/scan_type.h"
#undef T
#undef LOWEST
#undef HIGHEST
#undef REAL
#undef REAL_BITS
#undef FN
#undef IS_REAL

#define IS_REAL 0
#define WHOLE T
#include "rows/whole.h"
#define T int32_t
#define UWHOLE uint32_t
#define FN(name) name##_i32
#define LOWEST INT32_MIN
#define HIGHEST INT32_MAX
#include "cpu/scan_type.h"
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
#include "cpu/scan_type.h"
#undef T
#undef FN

#define WHOLE_LOOPS(type)                                     \
  [SCAN_SUM] = scan_sum_##type, [SCAN_PROD] = scan_prod_##type, \
  [SCAN_MAX] = scan_max_##type, [SCAN_MIN] = scan_min_##type
#define REAL_LOOPS(type)                                          \
  WHOLE_LOOPS(type), [SCAN_LOGSUMEXP] = scan_logsumexp_##type, \
  [SCAN_CHAIN] = scan_chain_##type

#define TABLE_OF(level) scan_##level
#define TABLE(level) TABLE_OF(level)
const ScanLevel TABLE(LEVEL) = {
    .loop = {[TYPE_F32] = {REAL_LOOPS(f32)},
             [TYPE_F64] = {REAL_LOOPS(f64)},
             [TYPE_I32] = {WHOLE_LOOPS(i32)},
             [TYPE_I64] = {WHOLE_LOOPS(i64)}}};
