/* rows_level.c: softmax, layer norm and cross entropy at one level.
 *
 * Levels differ by the roundings of sm_exp and sm_log alone.
 * Must not know: threads.
 */
#include "cpu/rows.h"

#include <math.h>
#include <string.h>

#define SM __attribute__((always_inline, unused)) static inline
#define NOINLINE __attribute__((noinline)) static

/* A loop may write over what it has read: no overlap tests are wanted.  And
 * one of PAD elements is to become vectors before it is unrolled. */
#if defined(__clang__)
#define IVDEP _Pragma("clang loop vectorize(assume_safety)")
#define WHOLE_VECTORS IVDEP
#else
#define IVDEP _Pragma("GCC ivdep")
#define WHOLE_VECTORS _Pragma("GCC ivdep") _Pragma("GCC unroll 1")
#endif

enum { PAD = 16 }; /* the widest vector of f32 */

#define REAL float
#define REAL_BITS 32
#define FN(name) name##_f32
#include "rows/smath.h"
#define CFN(name) name##f
#include "cpu/rows_type.h"
#undef REAL
#undef REAL_BITS
#undef FN
#undef CFN

#define REAL double
#define REAL_BITS 64
#define FN(name) name##_f64
#include "rows/smath.h"
#define CFN(name) name
#include "cpu/rows_type.h"

#define LOOPS(type)                                                      \
  {softmax_##type,           softmax_pull_##type, logsumexp_##type,      \
   layer_norm_##type,        layer_norm_pull_##type, norm_weights_##type, \
   cross_entropy_##type,     cross_entropy_pull_##type}
#define TABLE_OF(level) rows_##level
#define TABLE(level) TABLE_OF(level)
const RowsLevel TABLE(LEVEL) = {{LOOPS(f32), LOOPS(f64)}};
