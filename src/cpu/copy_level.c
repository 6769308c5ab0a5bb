/* copy_level.c: conversions and transposed squares, for one instruction set.
 *
 * Compiled once per level (-DLEVEL=avx512 and the machine flags).  Exports
 * copy_LEVEL.  Conversions walk whole blocks of PAD elements side by side.
 * Must not know: strides of more than a square, threads.
 */
#include "cpu/kernels.h"
#include "value/half.h"

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)

#define REAL float
#define REAL_BYTES 4
#define FN(name) name##_f32
#include "cpu/vector.h"
enum { SIDE_4 = VEC_BYTES / 4, SIDE_8 = VEC_BYTES / 8, PAD = VEC_BYTES };

/* ---- squares and pads ---- */

static void square_4(const void *from, int64_t from_col, void *to,
                     int64_t to_row) {
  Vec v[SIDE_4];
  for (int c = 0; c < SIDE_4; c++)
    v[c] = vec_load((const float *)from + c * from_col);
  vec_transpose(v);
  for (int r = 0; r < SIDE_4; r++) vec_store((float *)to + r * to_row, v[r]);
}

/* Written as whole vectors where loads can be masked: a kernel that reads them
 * back at once would else wait for the narrow writes to reach the cache. */
static void pad_4(int64_t n, const void *from, void *to) {
  const REAL *const a = from;
  REAL *const b = to;
  for (int i = 0; i < POINT_PAD; i += LANES) {
    const int64_t left = min_i64(n - i, LANES);
    if (VEC_MASKED && left > 0)
      vec_store(b + i, vec_load_first(a + i, left));
    else
      vec_store(b + i, vec_splat(a[0]));
  }
  for (int64_t i = 1; i < n && !VEC_MASKED; i++) b[i] = a[i];
}

#undef REAL
#undef REAL_BYTES
#undef FN
#define REAL double
#define REAL_BYTES 8
#define FN(name) name##_f64
#include "cpu/vector.h"

static void square_8(const void *from, int64_t from_col, void *to,
                     int64_t to_row) {
  Vec v[SIDE_8];
  for (int c = 0; c < SIDE_8; c++)
    v[c] = vec_load((const double *)from + c * from_col);
  vec_transpose(v);
  for (int r = 0; r < SIDE_8; r++) vec_store((double *)to + r * to_row, v[r]);
}

static void pad_8(int64_t n, const void *from, void *to) {
  const REAL *const a = from;
  REAL *const b = to;
  for (int i = 0; i < POINT_PAD; i += LANES) {
    const int64_t left = min_i64(n - i, LANES);
    if (VEC_MASKED && left > 0)
      vec_store(b + i, vec_load_first(a + i, left));
    else
      vec_store(b + i, vec_splat(a[0]));
  }
  for (int64_t i = 1; i < n && !VEC_MASKED; i++) b[i] = a[i];
}

/* Narrow elements: vectors of 16 bytes at every level.  The same shuffle as
 * vec_transpose. */
enum { NARROW = 16, SIDE_1 = NARROW, SIDE_2 = NARROW / 2 };
#define NARROW_SQUARE(name, T, side, low, high)                                \
  typedef T name##_vector __attribute__((vector_size(NARROW)));                \
  static void name(const void *from, int64_t from_col, void *to,               \
                   int64_t to_row) {                                           \
    name##_vector v[side], w[side];                                            \
    for (int c = 0; c < (side); c++)                                           \
      memcpy(&v[c], (const T *)from + c * from_col, NARROW);                   \
    VEC_UNROLL for (int round = 1; round < (side); round *= 2) {               \
      VEC_UNROLL for (int i = 0; i < (side) / 2; i++) {                        \
        w[2 * i] = __builtin_shufflevector(v[i], v[i + (side) / 2], low);      \
        w[2 * i + 1] = __builtin_shufflevector(v[i], v[i + (side) / 2], high); \
      }                                                                        \
      VEC_UNROLL for (int i = 0; i < (side); i++) v[i] = w[i];                 \
    }                                                                          \
    for (int r = 0; r < (side); r++)                                           \
      memcpy((T *)to + r * to_row, &v[r], NARROW);                             \
  }
#define LOW_16 ZIP_LOW_16
#define HIGH_16 ZIP_HIGH_16
#define LOW_8 ZIP_LOW_8
#define HIGH_8 ZIP_HIGH_8
NARROW_SQUARE(square_1, uint8_t, SIDE_1, LOW_16, HIGH_16)
NARROW_SQUARE(square_2, uint16_t, SIDE_2, LOW_8, HIGH_8)

/* ---- one element: from a whole number W, an f32 S, an f64 D ---- */

/* x truncated toward zero, held within low .. high; NaN gives 0.  high is the
 * greatest R that fits in T, and every R above it gives `most`. */
#define SATURATE(name, R, T, cast, low, high, most) \
  SM T name(R x) {                                  \
    R c = x < (low) ? (low) : x;                    \
    c = c > (high) ? (high) : c;                    \
    c = c == c ? c : 0;                             \
    return x > (high) ? (T)(most) : (T)(cast)c;     \
  }
SATURATE(S_u8, float, uint8_t, int32_t, 0, 255, 255)
SATURATE(S_i8, float, int8_t, int32_t, -128, 127, 127)
SATURATE(S_i16, float, int16_t, int32_t, -32768, 32767, 32767)
SATURATE(S_i32, float, int32_t, int32_t, -0x1p31f, 0x1.fffffep30f, INT32_MAX)
SATURATE(S_i64, float, int64_t, int64_t, -0x1p63f, 0x1.fffffep62f, INT64_MAX)
SATURATE(D_u8, double, uint8_t, int32_t, 0, 255, 255)
SATURATE(D_i8, double, int8_t, int32_t, -128, 127, 127)
SATURATE(D_i16, double, int16_t, int32_t, -32768, 32767, 32767)
SATURATE(D_i32, double, int32_t, int32_t, -0x1p31, INT32_MAX, INT32_MAX)
SATURATE(D_i64, double, int64_t, int64_t, -0x1p63, 0x1.fffffffffffffp62,
         INT64_MAX)

/* To f32 by rounding to odd: a narrower type then rounds as if it had seen x
 * itself (Boldo and Melquiond 2008). */
SM float odd(double x) {
  const float near = (float)x;
  const double back = near, size = x < 0 ? -x : x;
  const uint32_t bits = half_bits(near);
  const uint32_t above = (back < 0 ? -back : back) > size ? 1u : 0u;
  const uint32_t inexact = back != x ? 1u : 0u;
  return half_float((bits - above) | inexact);
}

/* i64 to f64 in the same way: the low bits become one. */
SM double odd_whole(int64_t x) {
  const int64_t sticky = (x >> 10 | ((x & 1023) != 0 ? 1 : 0)) * 1024;
  const bool fits = x > -0x20000000000000 && x < 0x20000000000000; /* 2^53 */
  return (double)(fits ? x : sticky);
}

#define W_bool(x) ((x) != 0)
#define W_u8(x) ((uint8_t)(x))
#define W_i8(x) ((int8_t)(x))
#define W_i16(x) ((int16_t)(x))
#define W_i32(x) ((int32_t)(x))
#define W_i64(x) ((int64_t)(x))
#define W_f16(x) f32_to_f16((float)(x))   /* inexact above 2^24: infinite */
#define W_bf16(x) f32_to_bf16((float)(x)) /* up to 16 bits: exact in f32 */
#define W_f32(x) ((float)(x))
#define W_f64(x) ((double)(x))
#define I_bf16(x) f32_to_bf16(odd((double)(x)))
#define L_bf16(x) f32_to_bf16(odd(odd_whole(x)))

#define S_bool(x) ((x) != 0)
#define S_f16(x) f32_to_f16(x)
#define S_bf16(x) f32_to_bf16(x)
#define S_f32(x) (x)
#define S_f64(x) ((double)(x))

#define D_bool(x) ((x) != 0)
#define D_f16(x) f32_to_f16(odd(x))
#define D_bf16(x) f32_to_bf16(odd(x))
#define D_f32(x) ((float)(x))

#define ITSELF(x) (x)

/* ---- the loops ---- */

#if defined(__clang__)
#define STEADY _Pragma("clang loop interleave_count(1)")
#else
#define STEADY
#endif

#define CONVERT(from, A, read, to, B, write)                                  \
  static void from##_into_##to(int64_t n, const void *source, void *target) { \
    const A *restrict const a = source;                                       \
    B *restrict const b = target;                                             \
    const int64_t end = n / PAD * PAD;                                        \
    STEADY for (int64_t i = 0; i < end; i++) b[i] = (B)write(read(a[i]));     \
  }

/* What a whole number becomes; i32 and i64 have a bf16 of their own. */
#define FROM_WHOLE(from, A, round)                       \
  CONVERT(from, A, ITSELF, bool, uint8_t, W_bool)        \
  CONVERT(from, A, ITSELF, f16, uint16_t, W_f16)         \
  CONVERT(from, A, ITSELF, bf16, uint16_t, round##_bf16) \
  CONVERT(from, A, ITSELF, f32, float, W_f32)            \
  CONVERT(from, A, ITSELF, f64, double, W_f64)
#define FROM_REAL(from, A, read, family)               \
  CONVERT(from, A, read, bool, uint8_t, family##_bool) \
  CONVERT(from, A, read, u8, uint8_t, family##_u8)     \
  CONVERT(from, A, read, i8, int8_t, family##_i8)      \
  CONVERT(from, A, read, i16, int16_t, family##_i16)   \
  CONVERT(from, A, read, i32, int32_t, family##_i32)   \
  CONVERT(from, A, read, i64, int64_t, family##_i64)

FROM_WHOLE(u8, uint8_t, W)
CONVERT(u8, uint8_t, ITSELF, i16, int16_t, W_i16)
CONVERT(u8, uint8_t, ITSELF, i32, int32_t, W_i32)
CONVERT(u8, uint8_t, ITSELF, i64, int64_t, W_i64)
FROM_WHOLE(i8, int8_t, W)
CONVERT(i8, int8_t, ITSELF, i16, int16_t, W_i16)
CONVERT(i8, int8_t, ITSELF, i32, int32_t, W_i32)
CONVERT(i8, int8_t, ITSELF, i64, int64_t, W_i64)
FROM_WHOLE(i16, int16_t, W)
CONVERT(i16, int16_t, ITSELF, u8, uint8_t, W_u8)
CONVERT(i16, int16_t, ITSELF, i32, int32_t, W_i32)
CONVERT(i16, int16_t, ITSELF, i64, int64_t, W_i64)
FROM_WHOLE(i32, int32_t, I)
CONVERT(i32, int32_t, ITSELF, u8, uint8_t, W_u8)
CONVERT(i32, int32_t, ITSELF, i16, int16_t, W_i16)
CONVERT(i32, int32_t, ITSELF, i64, int64_t, W_i64)
FROM_WHOLE(i64, int64_t, L)
CONVERT(i64, int64_t, ITSELF, u8, uint8_t, W_u8)
CONVERT(i64, int64_t, ITSELF, i16, int16_t, W_i16)
CONVERT(i64, int64_t, ITSELF, i32, int32_t, W_i32)
FROM_REAL(f16, uint16_t, f16_to_f32, S)
CONVERT(f16, uint16_t, f16_to_f32, bf16, uint16_t, S_bf16)
CONVERT(f16, uint16_t, f16_to_f32, f32, float, S_f32)
CONVERT(f16, uint16_t, f16_to_f32, f64, double, S_f64)
FROM_REAL(bf16, uint16_t, bf16_to_f32, S)
CONVERT(bf16, uint16_t, bf16_to_f32, f16, uint16_t, S_f16)
CONVERT(bf16, uint16_t, bf16_to_f32, f32, float, S_f32)
CONVERT(bf16, uint16_t, bf16_to_f32, f64, double, S_f64)
FROM_REAL(f32, float, ITSELF, S)
CONVERT(f32, float, ITSELF, f16, uint16_t, S_f16)
CONVERT(f32, float, ITSELF, bf16, uint16_t, S_bf16)
CONVERT(f32, float, ITSELF, f64, double, S_f64)
FROM_REAL(f64, double, ITSELF, D)
CONVERT(f64, double, ITSELF, f16, uint16_t, D_f16)
CONVERT(f64, double, ITSELF, bf16, uint16_t, D_bf16)
CONVERT(f64, double, ITSELF, f32, float, D_f32)

/* ---- the table ---- */

/* Types of one size whose bits say the same have no kernel; a bool is a u8 of
 * 0 or 1, and the low byte of a whole number does not know its sign. */
#define NONE NULL

/* Rows and columns stand in the order of value/dtype.def. */
/* clang-format off */
const CopyLevel JOIN(copy_, LEVEL) = {
    .convert = {
        {NONE, NONE, NONE, u8_into_i16, u8_into_i32,
         u8_into_i64, u8_into_f16, u8_into_bf16, u8_into_f32, u8_into_f64},
        {u8_into_bool, NONE, NONE, u8_into_i16, u8_into_i32,
         u8_into_i64, u8_into_f16, u8_into_bf16, u8_into_f32, u8_into_f64},
        {i8_into_bool, NONE, NONE, i8_into_i16, i8_into_i32,
         i8_into_i64, i8_into_f16, i8_into_bf16, i8_into_f32, i8_into_f64},
        {i16_into_bool, i16_into_u8, i16_into_u8, NONE, i16_into_i32,
         i16_into_i64, i16_into_f16, i16_into_bf16, i16_into_f32, i16_into_f64},
        {i32_into_bool, i32_into_u8, i32_into_u8, i32_into_i16, NONE,
         i32_into_i64, i32_into_f16, i32_into_bf16, i32_into_f32, i32_into_f64},
        {i64_into_bool, i64_into_u8, i64_into_u8, i64_into_i16, i64_into_i32,
         NONE, i64_into_f16, i64_into_bf16, i64_into_f32, i64_into_f64},
        {f16_into_bool, f16_into_u8, f16_into_i8, f16_into_i16, f16_into_i32,
         f16_into_i64, NONE, f16_into_bf16, f16_into_f32, f16_into_f64},
        {bf16_into_bool, bf16_into_u8, bf16_into_i8, bf16_into_i16,
         bf16_into_i32, bf16_into_i64, bf16_into_f16, NONE, bf16_into_f32, bf16_into_f64},
        {f32_into_bool, f32_into_u8, f32_into_i8, f32_into_i16, f32_into_i32,
         f32_into_i64, f32_into_f16, f32_into_bf16, NONE, f32_into_f64},
        {f64_into_bool, f64_into_u8, f64_into_i8, f64_into_i16, f64_into_i32,
         f64_into_i64, f64_into_f16, f64_into_bf16, f64_into_f32, NONE},
    },
    .square = {square_1, square_2, square_4, square_8},
    .side = {SIDE_1, SIDE_2, SIDE_4, SIDE_8},
    .pad = PAD,
    .pad_4 = pad_4,
    .pad_8 = pad_8,
};
/* clang-format on */
