/* pointwise_level.c: every pointwise row as loops, for one instruction set.
 *
 * Compiled once per level (-DLEVEL=avx512 and the machine flags).  Exports
 * pointwise_LEVEL, a table by row.
 *
 *   value_exp_f32   out = row_exp(x, y, z), out and in at unit steps
 *   gx_exp_f32      what becomes of g
 *
 * A kernel is one loop over whole blocks of POINT_PAD elements: without a
 * remainder loop, and with operands at other steps packed before (tile.h),
 * the code is a third of the size.  Pulls that are g itself, or nothing, have
 * none.
 * Must not know: strides, dtypes, threads.
 */
/* Which loops become vector code is checked by scripts/vectorised.awk.  Clang
 * places its own warning at the first reading of a table: so, before all. */
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wpass-failed"
#endif

#include "cpu/kernels.h"
#include "rows/types.h"

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)

#define REAL float
#define REAL_BITS 32
#define FN(name) name##_f32
#include "rows/real.h"
#undef REAL
#undef REAL_BITS
#undef FN

#define REAL double
#define REAL_BITS 64
#define FN(name) name##_f64
#include "rows/real.h"
#undef REAL
#undef REAL_BITS
#undef FN

#define WHOLE int32_t
#define UWHOLE uint32_t
#define FN(name) name##_i32
#include "rows/integer.h"
#undef WHOLE
#undef UWHOLE
#undef FN

#define WHOLE int64_t
#define UWHOLE uint64_t
#define FN(name) name##_i64
#include "rows/integer.h"
#undef WHOLE
#undef UWHOLE
#undef FN

/* ---- the loop ---- */

/* An operand may be the output itself, element on element: no restrict, and
 * no tests for overlap. */
#if defined(__clang__)
#define UNTANGLED \
  _Pragma("clang loop vectorize(assume_safety) interleave_count(1)")
#else
#define UNTANGLED _Pragma("GCC ivdep")
#endif

/* Whole blocks: the compiler sees that nothing remains. */
INLINE int64_t blocks(int64_t n) {
  return (n + POINT_PAD - 1) / POINT_PAD * POINT_PAD;
}

#define KERNEL(kernel, T, call)                                       \
  static void kernel(int64_t n, const void *const in[5], void *out) { \
    const T *const xs = in[0], *const ys = in[1], *const zs = in[2];  \
    const T *const rs = in[3], *const gs = in[4];                     \
    T *const to = out;                                                \
    const int64_t end = blocks(n);                                    \
    (void)xs, (void)ys, (void)zs, (void)rs, (void)gs;                 \
    UNTANGLED for (int64_t i = 0; i < end; i++) to[i] = call;         \
  }
#define VALUE(name, T, t) \
  KERNEL(value_##name##_##t, T, row_##name##_##t(xs[i], ys[i], zs[i]))
#define PULL(d, name, T, t)        \
  KERNEL(d##_loop_##name##_##t, T, \
         d##_##name##_##t(xs[i], ys[i], zs[i], rs[i], gs[i]))
#define REALS(name, T, t) \
  VALUE(name, T, t)       \
  PULL(gx, name, T, t) PULL(gy, name, T, t) PULL(gz, name, T, t)
#define WHOLES(name) VALUE(name, int32_t, i32) VALUE(name, int64_t, i64)

#define POINT(name, kind, arity, types, ...)                      \
  REAL_##types(REALS(name, float, f32) REALS(name, double, f64)) \
      WHOLE_##types(WHOLES(name))
#include "rows/pointwise.def"

/* ---- the table ---- */

/* A pull that computes nothing is dropped with its unused function. */
#include "rows/uses.h"
enum { x = USES_X, y = USES_Y, z = USES_Z, r = USES_R, g = USES_G };
enum {
#define POINT(name, kind, arity, types, value, to_x, to_y, to_z, ...) \
  computes_gx_##name = ((to_x) & USES_WORD) != 0,                     \
  computes_gy_##name = ((to_y) & USES_WORD) != 0,                     \
  computes_gz_##name = ((to_z)&USES_WORD) != 0,
#include "rows/pointwise.def"
};
#include "rows/nowords.h"

#define IF_COMPUTES(d, name, t) \
  (computes_##d##_##name ? d##_loop_##name##_##t : NULL)
#define PULL_ROW(name, t)                               \
  {                                                     \
    IF_COMPUTES(gx, name, t), IF_COMPUTES(gy, name, t), \
        IF_COMPUTES(gz, name, t)                        \
  }

const PointRow JOIN(pointwise_, LEVEL)[POINT_COUNT] = {
#define POINT(name, kind, arity, types, ...)                          \
  [OP_##name] = {                                                     \
      .value = {REAL_##types([POINT_F32] = value_##name##_f32,       \
                              [POINT_F64] = value_##name##_f64, )     \
                    WHOLE_##types([POINT_I32] = value_##name##_i32,   \
                                  [POINT_I64] = value_##name##_i64)}, \
      .pull = {REAL_##types(PULL_ROW(name, f32), PULL_ROW(name, f64))}},
#include "rows/pointwise.def"
};
