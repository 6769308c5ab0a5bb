/* vector.h: one vector of REAL at the widest the compile flags allow.
 *
 * Intrinsics for fused multiply-add and masked access; halves.h has the others.
 * Needs REAL, REAL_BYTES and FN(name); may be included once for each type.
 * Always: what vec_fma rounds once, it rounds once in every lane.
 * Must not know: matrices. */
#ifndef TENSUS_VECTOR_H
#define TENSUS_VECTOR_H

#include "ground/check.h"
#include <string.h>

#if defined(__AVX512F__)
#include <immintrin.h>
enum { VEC_BYTES = 64, VEC_REGISTERS = 32, VEC_MASKED = 1 };
#elif defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>
enum { VEC_BYTES = 32, VEC_REGISTERS = 16, VEC_MASKED = 0 };
#elif defined(__aarch64__)
#include <arm_neon.h>
enum { VEC_BYTES = 16, VEC_REGISTERS = 32, VEC_MASKED = 0 };
#else
enum { VEC_BYTES = 16, VEC_REGISTERS = 16, VEC_MASKED = 0 };
#endif

/* Before a loop of a constant count: no loop is left. */
#if defined(__clang__)
#define VEC_UNROLL _Pragma("clang loop unroll(full)")
#else
#define VEC_UNROLL _Pragma("GCC unroll 16")
#endif

/* One name per type. */
#define LANES FN(LANES)
#define Vec FN(Vec)
#define VecInt FN(VecInt)
#define vec_load FN(vec_load)
#define vec_store FN(vec_store)
#define vec_splat FN(vec_splat)
#define vec_fma FN(vec_fma)
#define vec_load_first FN(vec_load_first)
#define vec_store_first FN(vec_store_first)
#define vec_relu FN(vec_relu)
#define vec_transpose FN(vec_transpose)
#define vec_sums FN(vec_sums)

/* Lower and upper half of a0 b0 a1 b1 ...  (constant lists by width) */
#define ZIP_LOW_2 0, 2
#define ZIP_HIGH_2 1, 3
#define ZIP_LOW_4 0, 4, 1, 5
#define ZIP_HIGH_4 2, 6, 3, 7
#define ZIP_LOW_8 0, 8, 1, 9, 2, 10, 3, 11
#define ZIP_HIGH_8 4, 12, 5, 13, 6, 14, 7, 15
#define ZIP_LOW_16 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define ZIP_HIGH_16 \
  8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#endif

enum { LANES = VEC_BYTES / REAL_BYTES };

typedef REAL Vec __attribute__((vector_size(VEC_BYTES)));
#if REAL_BYTES == 4
typedef int32_t VecInt __attribute__((vector_size(VEC_BYTES)));
#else
typedef int64_t VecInt __attribute__((vector_size(VEC_BYTES)));
#endif

INLINE Vec vec_load(const REAL *p) {
  Vec v;
  memcpy(&v, p, sizeof v);
  return v;
}

INLINE void vec_store(REAL *p, Vec v) { memcpy(p, &v, sizeof v); }

INLINE Vec vec_splat(REAL x) { return x - (Vec){0}; } /* keeps -0 */

/* a * b + c: rounded once where the machine can, else twice. */
INLINE Vec vec_fma(Vec a, Vec b, Vec c) {
#if defined(__AVX512F__) && REAL_BYTES == 4
  return (Vec)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif defined(__AVX512F__)
  return (Vec)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
#elif defined(__AVX2__) && defined(__FMA__) && REAL_BYTES == 4
  return (Vec)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#elif defined(__AVX2__) && defined(__FMA__)
  return (Vec)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
#elif defined(__aarch64__) && REAL_BYTES == 4
  return (Vec)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
#elif defined(__aarch64__)
  return (Vec)vfmaq_f64((float64x2_t)c, (float64x2_t)a, (float64x2_t)b);
#else
  return a * b + c;
#endif
}

/* The first `count` elements, 1 <= count <= LANES; the other lanes are 0 and
 * their memory is not touched. */
INLINE Vec vec_load_first(const REAL *p, int64_t count) {
#if defined(__AVX512F__) && REAL_BYTES == 4
  return (Vec)_mm512_maskz_loadu_ps((__mmask16)((1u << count) - 1), p);
#elif defined(__AVX512F__)
  return (Vec)_mm512_maskz_loadu_pd((__mmask8)((1u << count) - 1), p);
#else
  Vec v = {0};
  if (count >= LANES) return vec_load(p);
  for (int64_t i = 0; i < count; i++) v[i] = p[i];
  return v;
#endif
}

/* Lanes from `count` on are not written. */
INLINE void vec_store_first(REAL *p, Vec v, int64_t count) {
#if defined(__AVX512F__) && REAL_BYTES == 4
  _mm512_mask_storeu_ps(p, (__mmask16)((1u << count) - 1), (__m512)v);
#elif defined(__AVX512F__)
  _mm512_mask_storeu_pd(p, (__mmask8)((1u << count) - 1), (__m512d)v);
#else
  if (count >= LANES) {
    vec_store(p, v);
    return;
  }
  for (int64_t i = 0; i < count; i++) p[i] = v[i];
#endif
}

/* max(v, 0), and NaN stays. */
INLINE Vec vec_relu(Vec v) {
  const VecInt negative = v < (Vec){0};
  return (Vec)(~negative & (VecInt)v);
}

#undef ZIP
#if defined(__AVX512F__) && REAL_BYTES == 4
#define ZIP(half, a, b) __builtin_shufflevector(a, b, ZIP_##half##_16)
#elif defined(__AVX512F__) || (defined(__AVX2__) && REAL_BYTES == 4)
#define ZIP(half, a, b) __builtin_shufflevector(a, b, ZIP_##half##_8)
#elif defined(__AVX2__) || REAL_BYTES == 4
#define ZIP(half, a, b) __builtin_shufflevector(a, b, ZIP_##half##_4)
#else
#define ZIP(half, a, b) __builtin_shufflevector(a, b, ZIP_##half##_2)
#endif

/* Transpose in registers.  One round zips row i with row i + LANES / 2: it
 * rotates the bits of (row, lane) by one, so log2(LANES) rounds swap them
 * (Stone 1971, the perfect shuffle). */
INLINE void vec_transpose(Vec v[LANES]) {
  VEC_UNROLL for (int round = 1; round < LANES; round *= 2) {
    Vec w[LANES];
    VEC_UNROLL for (int i = 0; i < LANES / 2; i++) {
      w[2 * i] = ZIP(LOW, v[i], v[i + LANES / 2]);
      w[2 * i + 1] = ZIP(HIGH, v[i], v[i + LANES / 2]);
    }
    VEC_UNROLL for (int i = 0; i < LANES; i++) v[i] = w[i];
  }
}

/* Lane i is the sum of v[i], upper half to lower half until one is left.  A
 * round zips vectors that stand half apart, so the lanes end in order. */
INLINE Vec vec_sums(Vec v[LANES]) {
  VEC_UNROLL for (int half = LANES / 2; half > 0; half /= 2)
    VEC_UNROLL for (int i = 0; i < half; i++)
      v[i] = ZIP(LOW, v[i], v[i + half]) + ZIP(HIGH, v[i], v[i + half]);
  return v[0];
}
