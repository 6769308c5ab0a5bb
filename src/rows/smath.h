/*
 * smath.h: scalar functions without branches, which compilers turn into
 * vector code inside a loop.
 *
 * Included once per type.  The includer defines REAL (float or double),
 * REAL_BITS (32 or 64), FN(name) (name##_f32 or name##_f64) and SM (how a
 * function is declared: static inline, static __device__, ...).  The same
 * text serves C, C++ and CUDA, at every machine level.
 *
 * Always: at most 2 ulp over the whole range, subnormals included; 4 ulp for
 * erfc and the inverses here, and for gelu, gelu_tanh, silu, softplus and logsigmoid while the result
 * is above 1e-30 in magnitude (below, the error grows as the result leaves the
 * normal numbers, to that of a subnormal times x).  NaN in, NaN out; zeros keep
 * the sign that C99 gives them.
 * Here: bits and rounding, exponentials, logarithms, powers.  Angles stand in
 * smath_trig.h, all else in special.h; both are parts of this header.
 * Must not know: rows, tensors, loops.
 *
 * Contraction is off for the whole program.  SM_FMA(a, b, c) is a fused
 * multiply-add where the machine level has one, a * b + c where not, and
 * every bound holds for both, though their bits differ.
 *
 * Habits that keep the loops vectorised on plain SSE2 and AVX2 too:
 *   - choices are `cond ? a : b` on values already computed;
 *   - floats become integers by adding 1.5 * 2^mantissa and reading the bits,
 *     never by a cast (undefined for NaN, no AVX2 instruction for int64);
 *   - comparisons are written so that NaN falls through unchanged.
 *
 * Polynomials: our own minimax fits (Remez exchange in 70 digits, weighted by
 * the relative error of the whole function), coefficients rounded to the
 * type.  Each says what it approximates and how well, as a power of two.
 */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#ifndef SM_FMA
#define SM_FMA(a, b, c) FN(sm_fma)(a, b, c)
#endif

/* Asked at each inclusion: a target pragma may have changed the level. */
#undef SM_HAS_FMA
#if defined(__FMA__) || defined(__CUDACC__) || defined(__aarch64__)
#define SM_HAS_FMA 1
#else
#define SM_HAS_FMA 0
#endif
#undef SM_HAS_ROUND
#if defined(__SSE4_1__) || defined(__CUDACC__) || defined(__aarch64__)
#define SM_HAS_ROUND 1
#else
#define SM_HAS_ROUND 0
#endif

/* A branch is best where nothing becomes a vector, or too slow a one. */
#undef SM_BRANCH
#if defined(__CUDACC__) || (REAL_BITS == 64 && !SM_HAS_FMA)
#define SM_BRANCH 1
#else
#define SM_BRANCH 0
#endif

#if REAL_BITS == 64
#define BITS uint64_t
#define MANTISSA 52
#define BIAS 1023
#define MAGIC 0x1.8p52
#define UPPER_HALF 0xfffffffff8000000u /* 26 bits of the significand */
#define UPPER_ROUND 0x4000000u
#define EXP_MIN (-746.0)
#define EXP_MAX 710.0
#define EXPM1_MIN (-40.0)
#define EXP2_MIN (-1080.0)
#define EXP2_MAX 1025.0
#define SINH_MAX 711.0
#define SINH_BIG 700.0
#define LN2_HI 0x1.62e42fefa4p-1
#define LN2_LO (-0x1.8432a1b0e2634p-43)
#define LN2_FULL 0x1.62e42fefa39efp-1
#define LOG2E 0x1.71547652b82fep+0
#define MIN_NORMAL 0x1p-1022
#define TINY 0x1p-54
#define HUGE_SCALE 0x1p1020
#define HUGE_ROOT 0x1p500
#define SUBNORMAL_LIFT 0x1p54
#define SQRT_HALF_BITS 0x3fe6a09e667f3bcd
#define HALF_PI 0x1.921fb54442d18p+0
#define HALF_PI_LO 0x1.1a62633145c07p-54
#define ROOT2 0x1.6a09e667f3bcdp+0
#define ROOT2_LO (-0x1.bdd3413b26456p-54)
#define TWO_OVER_PI 0x1.45f306dc9c883p-1
#define CFN(name) name
#else
#define BITS uint32_t
#define MANTISSA 23
#define BIAS 127
#define MAGIC 0x1.8p23f
#define UPPER_HALF 0xfffff000u /* 12 bits of the significand */
#define UPPER_ROUND 0x800u
#define EXP_MIN (-104.0f)
#define EXP_MAX 89.0f
#define EXPM1_MIN (-20.0f)
#define EXP2_MIN (-151.0f)
#define EXP2_MAX 129.0f
#define SINH_MAX 90.0f
#define SINH_BIG 80.0f
#define LN2_HI 0x1.62e4p-1f
#define LN2_LO 0x1.7f7d1cp-20f
#define LN2_FULL 0x1.62e43p-1f
#define LOG2E 0x1.715476p+0f
#define MIN_NORMAL 0x1p-126f
#define TINY 0x1p-25f
#define HUGE_SCALE 0x1p124f
#define HUGE_ROOT 0x1p60f
#define SUBNORMAL_LIFT 0x1p25f
#define SQRT_HALF_BITS 0x3f3504f3
#define HALF_PI 0x1.921fb6p+0f
#define HALF_PI_LO (-0x1.777a5cp-25f)
#define ROOT2 0x1.6a09e6p+0f
#define ROOT2_LO 0x1.9fcef4p-26f
#define TWO_OVER_PI 0x1.45f306p-1f
#define CFN(name) name##f
#endif
#define C(v) ((REAL)(v))
/* One Horner step of the polynomial p in z. */
#define STEP(p, z, c) p = SM_FMA(p, z, C(c))
/* The same in doubles, whatever REAL is. */
#if SM_HAS_FMA
#define WIDE_STEP(p, z, c) p = fma(p, z, c)
#else
#define WIDE_STEP(p, z, c) p = p * z + c
#endif

/* ---- bits, whole numbers, signs ---- */

SM REAL FN(sm_fma)(REAL a, REAL b, REAL c) {
#if SM_HAS_FMA
  return CFN(fma)(a, b, c);
#else
  return a * b + c;
#endif
}

SM BITS FN(sm_bits)(REAL x) {
  BITS b;
  memcpy(&b, &x, sizeof b);
  return b;
}

SM REAL FN(sm_real)(BITS b) {
  REAL x;
  memcpy(&x, &b, sizeof x);
  return x;
}

/* c ? a : b that stays arithmetic: no compiler makes a branch of it and
 * moves what a needs behind it, where it would not become a vector. */
SM REAL FN(sm_select)(bool c, REAL a, REAL b) {
  BITS mask = (BITS)0 - (BITS)c;
  return FN(sm_real)((FN(sm_bits)(a) & mask) | (FN(sm_bits)(b) & ~mask));
}

SM REAL FN(sm_abs)(REAL x) { return CFN(fabs)(x); }

SM REAL FN(sm_copysign)(REAL x, REAL y) { return CFN(copysign)(x, y); }

/* NaN counts as positive: its sign is the machine's. */
SM REAL FN(sm_copysign_plus)(REAL x, REAL y) {
  return CFN(copysign)(x, y == y ? y : C(1));
}

/* -1, 0 or 1; a zero keeps its sign, NaN stays NaN. */
SM REAL FN(sm_sign)(REAL x) {
  REAL s = x > 0 ? C(1) : x;
  return x < 0 ? C(-1) : s;
}

SM REAL FN(sm_isnan)(REAL x) { return x != x ? C(1) : C(0); }

SM REAL FN(sm_isfinite)(REAL x) {
  return CFN(fabs)(x) < C(INFINITY) ? C(1) : C(0);
}

/* The nearest whole number, for |x| < 2^(mantissa - 1); -0.3 gives +0. */
SM REAL FN(sm_near)(REAL x) { return (x + MAGIC) - MAGIC; }

/* Nearest whole number, ties to even.  Beyond 2^mantissa all are whole. */
SM REAL FN(sm_round_even)(REAL x) {
#if SM_HAS_ROUND
  return CFN(rint)(x);
#else
  const REAL whole = MAGIC - MAGIC / 3; /* 2^mantissa */
  REAL a = CFN(fabs)(x), r = (a + whole) - whole;
  return CFN(copysign)(a < whole ? r : a, x);
#endif
}

SM REAL FN(sm_floor)(REAL x) {
#if SM_HAS_ROUND
  return CFN(floor)(x);
#else
  REAL r = FN(sm_round_even)(x);
  return CFN(copysign)(r > x ? r - 1 : r, x);
#endif
}

SM REAL FN(sm_ceil)(REAL x) {
#if SM_HAS_ROUND
  return CFN(ceil)(x);
#else
  REAL r = FN(sm_round_even)(x);
  return CFN(copysign)(r < x ? r + 1 : r, x);
#endif
}

SM REAL FN(sm_trunc)(REAL x) {
#if SM_HAS_ROUND
  return CFN(trunc)(x);
#else
  return CFN(copysign)(FN(sm_floor)(CFN(fabs)(x)), x);
#endif
}

/* x - y * trunc(x / y), exact.  The C library's, one element at a time. */
SM REAL FN(sm_fmod)(REAL x, REAL y) { return CFN(fmod)(x, y); }

/*
 * x - y * floor(x / y), as % in Lua and Python: the sign of y, for a zero
 * too; with y infinite it is x, or y where the signs differ.
 */
SM REAL FN(sm_remainder_floor)(REAL x, REAL y) {
  REAL r = CFN(fmod)(x, y);
  r = r != 0 && (r < 0) != (y < 0) ? r + y : r;
  return r == 0 ? CFN(copysign)(r, y) : r;
}

/* x rounded to half of its significand, so that products of such numbers and
 * of what they leave are exact. */
SM REAL FN(sm_upper)(REAL x) {
  return FN(sm_real)((FN(sm_bits)(x) + UPPER_ROUND) & UPPER_HALF);
}

/*
 * a * b = product + *low, exactly while nothing leaves the normal numbers.
 * Without a fused multiply-add by halves: Dekker 1971, split by mask.
 */
SM REAL FN(sm_product)(REAL a, REAL b, REAL *low) {
  REAL p = a * b;
#if SM_HAS_FMA
  *low = CFN(fma)(a, b, -p);
#else
  REAL ah = FN(sm_upper)(a), al = a - ah;
  REAL bh = FN(sm_upper)(b), bl = b - bh;
  *low = ((ah * bh - p) + (ah * bl + al * bh)) + al * bl;
#endif
  return p;
}

/* a + b - sum, exactly, for sum = a + b rounded (Knuth 1969). */
SM REAL FN(sm_sum_rest)(REAL a, REAL b, REAL sum) {
  REAL other = sum - a;
  return (a - (sum - other)) + (b - other);
}

/* ---- exp and its family ---- */

/*
 * x = k ln 2 + r, |r| <= ln(2) / 2.  *z holds k + 2 * bias in its lowest
 * bits, which makes the factors of sm_pow2_pair cheap.
 */
SM REAL FN(sm_exp_reduce)(REAL x, REAL *z) {
  const REAL magic = MAGIC + 2 * BIAS;
  *z = SM_FMA(x, LOG2E, magic);
  REAL k = *z - magic;
  return SM_FMA(-k, LN2_LO, SM_FMA(-k, LN2_HI, x));
}

/*
 * 2^k in two factors, a and b, for k from -3/2 to 3/2 times the bias: one
 * factor alone cannot reach the subnormal numbers.
 */
SM void FN(sm_pow2_pair)(REAL z, REAL *a, REAL *b) {
  const BITS exponents = ~(((BITS)1 << MANTISSA) - 1);
  BITS bits = FN(sm_bits)(z);
  BITS half = (bits << (MANTISSA - 1)) & exponents;
  *a = FN(sm_real)(half);
  *b = FN(sm_real)((bits << MANTISSA) - half);
}

/* 2^(k - less), within the exponents of normal numbers. */
SM REAL FN(sm_pow2)(REAL z, BITS less) {
  return FN(sm_real)((FN(sm_bits)(z) << MANTISSA) -
                     ((BIAS + less) << MANTISSA));
}

/* (e^r - 1 - r) / r^2 for |r| <= ln(2) / 2; r times the error is below
 * 2^-25.9 (f32), 2^-55.4 (f64). */
SM REAL FN(sm_exp_rest)(REAL r) {
#if REAL_BITS == 64
  REAL p = 0x1.af77240422a73p-26;
  STEP(p, r, 0x1.28a302ea1fbc2p-22);
  STEP(p, r, 0x1.71dde9be09b9dp-19);
  STEP(p, r, 0x1.a019a631e8e9dp-16);
  STEP(p, r, 0x1.a01a01b5f5c08p-13);
  STEP(p, r, 0x1.6c16c17f51d9dp-10);
  STEP(p, r, 0x1.111111110e686p-7);
  STEP(p, r, 0x1.5555555552094p-5);
  STEP(p, r, 0x1.555555555555cp-3);
  STEP(p, r, 0x1.0000000000005p-1);
#else
  REAL p = 0x1.6d99b2p-10f;
  STEP(p, r, 0x1.12288p-7);
  STEP(p, r, 0x1.555486p-5);
  STEP(p, r, 0x1.5554aep-3);
  STEP(p, r, 0x1p-1);
#endif
  return p;
}

/* e^r - 1 for |r| <= ln(2) / 2. */
SM REAL FN(sm_exp_series)(REAL r) {
  return SM_FMA(r * r, FN(sm_exp_rest)(r), r);
}

/* Both limits give 0 and infinity; NaN passes. */
SM REAL FN(sm_exp)(REAL x) {
  REAL c = x > EXP_MAX ? EXP_MAX : x, z, a, b;
  c = c < EXP_MIN ? EXP_MIN : c;
  REAL r = FN(sm_exp_reduce)(c, &z);
  FN(sm_pow2_pair)(z, &a, &b);
  return (1 + FN(sm_exp_series)(r)) * a * b;
}

/* x - k is exact, so the only loss is one rounding in r. */
SM REAL FN(sm_exp2)(REAL x) {
  const REAL magic = MAGIC + 2 * BIAS;
  REAL c = x > EXP2_MAX ? EXP2_MAX : x, a, b;
  c = c < EXP2_MIN ? EXP2_MIN : c;
  REAL z = c + magic, r = (c - (z - magic)) * LN2_FULL;
  FN(sm_pow2_pair)(z, &a, &b);
  return (1 + FN(sm_exp_series)(r)) * a * b;
}

/*
 * With s = 2^(k - 1), half of e^x - 1 is (s - 1/2) + s r + s r^2 q.  The
 * first sum keeps its rounding error, since for k = -1 and 1 it cancels.
 * Half, because 2^k itself may overflow where the result does not.
 */
SM REAL FN(sm_expm1)(REAL x) {
  const REAL magic = MAGIC + 2 * BIAS;
  REAL c = x > EXP_MAX ? EXP_MAX : x;
  c = c < EXPM1_MIN ? EXPM1_MIN : c;
  REAL z = SM_FMA(c, LOG2E, magic), k = z - magic;
  REAL high = SM_FMA(-k, LN2_HI, c), low = k * LN2_LO, r = high - low;
  REAL s = FN(sm_pow2)(z, 1), s1 = s - C(0.5);
  REAL head = SM_FMA(s, high, s1), lost = SM_FMA(s, high, s1 - head);
  REAL tail = lost + s * SM_FMA(r * r, FN(sm_exp_rest)(r), -low);
  REAL y = 2 * (head + tail);
  return CFN(fabs)(x) < TINY ? x : y;
}

/*
 * 1 / (1 + e^(v + low)) for v >= 0, low a correction of a few ulp of v.
 * With e^(v + low) = 2^k (1 + t) and s = 2^-k it is s / ((1 + s) + t): the
 * numerator is exact, and the sum loses one rounding.  (Below the smallest
 * number e^v is the clamp's; the result is 0 there.)
 */
SM REAL FN(sm_logistic_tail)(REAL v, REAL low) {
  const REAL magic = MAGIC + 2 * BIAS;
  REAL z = SM_FMA(v, -LOG2E, magic), k = z - magic, a, b; /* k <= 0 */
  REAL r = SM_FMA(k, LN2_LO, SM_FMA(k, LN2_HI, v)) + low;
  FN(sm_pow2_pair)(z, &a, &b);
  REAL s = a * b, one = 1 + s, rest = s - (one - 1);
  REAL d = one + (FN(sm_exp_series)(r) + rest);
  return a / d * b;
}

SM REAL FN(sm_sigmoid)(REAL x) {
  REAL a = CFN(fabs)(x);
  REAL y = FN(sm_logistic_tail)(a > -EXP_MIN ? -EXP_MIN : a, 0);
  return x > 0 ? 1 - y : y;
}

/* (tanh x - x) / x^3 in z = x^2, |x| <= 0.56: 2^-27.8, 2^-57.3. */
SM REAL FN(sm_tanh_rest)(REAL z) {
#if REAL_BITS == 64
  REAL p = -0x1.3d9f41992c13p-16;
  STEP(p, z, 0x1.59a61167aa1f2p-14);
  STEP(p, z, -0x1.e81de29c8bbf9p-13);
  STEP(p, z, 0x1.3462b5a8b89edp-11);
  STEP(p, z, -0x1.7d8bd9f9bf801p-10);
  STEP(p, z, 0x1.d6d24d47339c1p-9);
  STEP(p, z, -0x1.226e2d296950fp-7);
  STEP(p, z, 0x1.664f484aa10b9p-6);
  STEP(p, z, -0x1.ba1ba1b93c2ccp-5);
  STEP(p, z, 0x1.111111111032fp-3);
  STEP(p, z, -0x1.555555555554cp-2);
#else
  REAL p = -0x1.959412p-8f;
  STEP(p, z, 0x1.584c42p-6);
  STEP(p, z, -0x1.b90d14p-5);
  STEP(p, z, 0x1.110c8cp-3);
  STEP(p, z, -0x1.555548p-2);
#endif
  return p;
}

/* 1 - 2 / (1 + e^2a), where tanh is above a half; a polynomial below. */
SM REAL FN(sm_tanh)(REAL x) {
  REAL a = CFN(fabs)(x), c = 2 * a, z = a * a;
  c = c > -EXP_MIN ? -EXP_MIN : c;
  REAL large = 1 - 2 * FN(sm_logistic_tail)(c, 0);
  REAL small = SM_FMA(a * z, FN(sm_tanh_rest)(z), a);
  return CFN(copysign)(a < C(0.5625) ? small : large, x);
}

/*
 * sinh and cosh of a = k ln 2 + r, with k chosen so that r lies between
 * -1/4 and 3/4 of ln 2.  With S = 2^k they are
 *
 *   sinh a = (S - 1/S) / 2 * cosh r + (S + 1/S) / 2 * sinh r
 *   cosh a = (S + 1/S) / 2 * cosh r + (S - 1/S) / 2 * sinh r
 *
 * and for k = 0 they are sinh r and cosh r, so nothing cancels.  Large a is
 * scaled down by 2^4 and the result up again: S may overflow before it.
 */
typedef struct FN(SmHyperbolic) {
  REAL minus, minus_low, plus, plus_low; /* (S -+ 1/S) / 2 in two words */
  REAL sinh, cosh1, scale;               /* cosh1 is cosh r - 1 */
} FN(SmHyperbolic);

SM FN(SmHyperbolic) FN(sm_hyperbolic)(REAL a) {
  FN(SmHyperbolic) h;
  const REAL magic = MAGIC + 2 * BIAS;
  REAL c = a > SINH_MAX ? SINH_MAX : a;
  REAL z = SM_FMA(c, LOG2E, C(-0.25)) + magic, k = z - magic;
  REAL r = SM_FMA(-k, LN2_LO, SM_FMA(-k, LN2_HI, c)), r2 = r * r;
  BITS half = FN(sm_bits)(FN(sm_pow2)(z, 1));
  half -= c > SINH_BIG ? (BITS)4 << MANTISSA : 0;
  REAL s = FN(sm_real)(half); /* S / 2, then 1 / (2 S) */
  REAL i = FN(sm_real)(((BITS)(2 * BIAS - 2) << MANTISSA) - half);
  h.minus = s - i, h.minus_low = (s - h.minus) - i;
  h.plus = s + i, h.plus_low = i - (h.plus - s);
  h.scale = c > SINH_BIG ? C(16) : C(1);
#if REAL_BITS == 64
  /* (sinh r - r) / r^3 and (cosh r - 1) / r^2 in r^2: 2^-58, 2^-62 */
  REAL p = 0x1.b032fa48f46ep-41, q = 0x1.b033deecbdaa2p-45;
  STEP(p, r2, 0x1.6123a3ad5d40ap-33);
  STEP(p, r2, 0x1.ae6456d4c4df1p-26);
  STEP(p, r2, 0x1.71de3a555749fp-19);
  STEP(p, r2, 0x1.a01a01a01a074p-13);
  STEP(p, r2, 0x1.1111111111111p-7);
  STEP(p, r2, 0x1.5555555555555p-3);
  STEP(q, r2, 0x1.93966eb8b0402p-37);
  STEP(q, r2, 0x1.1eed8f3b08d9cp-29);
  STEP(q, r2, 0x1.27e4fb77774a7p-22);
  STEP(q, r2, 0x1.a01a01a01a087p-16);
  STEP(q, r2, 0x1.6c16c16c16c17p-10);
  STEP(q, r2, 0x1.5555555555555p-5);
#else
  /* the same: 2^-29, 2^-33 */
  REAL p = 0x1.a31ec4p-13f, q = 0x1.a32a58p-16f;
  STEP(p, r2, 0x1.110f2ap-7);
  STEP(p, r2, 0x1.555556p-3);
  STEP(q, r2, 0x1.6c13f6p-10);
  STEP(q, r2, 0x1.555558p-5);
#endif
  STEP(q, r2, 0.5);
  h.sinh = SM_FMA(r * r2, p, r);
  h.cosh1 = r2 * q;
  return h;
}

SM REAL FN(sm_sinh)(REAL x) {
  FN(SmHyperbolic) h = FN(sm_hyperbolic)(CFN(fabs)(x));
  REAL tail = SM_FMA(h.minus, h.cosh1, h.minus_low);
  REAL y = h.minus + SM_FMA(h.plus, h.sinh, tail);
  return CFN(copysign)(y * h.scale, x);
}

SM REAL FN(sm_cosh)(REAL x) {
  FN(SmHyperbolic) h = FN(sm_hyperbolic)(CFN(fabs)(x));
  REAL tail = SM_FMA(h.plus, h.cosh1, h.plus_low);
  REAL y = h.plus + SM_FMA(h.minus, h.sinh, tail);
  return y * h.scale;
}

/* ---- logarithms ---- */

/* x = 2^k (1 + f), 1 + f in [sqrt(1/2), sqrt(2)), for finite x > 0. */
SM void FN(sm_log_split)(REAL x, REAL *k, REAL *f) {
  const BITS one = (BITS)BIAS << MANTISSA;
  const BITS fraction = ((BITS)1 << MANTISSA) - 1;
  const BITS whole = (BITS)(BIAS + MANTISSA) << MANTISSA; /* 2^mantissa */
  REAL lifted = x < MIN_NORMAL ? x * SUBNORMAL_LIFT : x;
  REAL lift = x < MIN_NORMAL ? C(BIAS + MANTISSA + 2) : C(BIAS);
  BITS b = FN(sm_bits)(lifted) + (one - SQRT_HALF_BITS);
  REAL n = FN(sm_real)((b >> MANTISSA) | whole) - FN(sm_real)(whole);
  *k = n - lift;
  *f = FN(sm_real)((b & fraction) + SQRT_HALF_BITS) - 1;
}

/*
 * log(1 + f) - f.  f32: f^2 (f p(f) - 1/2), p to 2^-27.2.
 * f64: with s = f / (2 + f), log(1 + f) = 2 atanh s = f - f^2/2 +
 * s (f^2/2 + 2 z p(z)), z = s^2, p(z) = (atanh(s) / s - 1) / z to 2^-58.9.
 */
SM REAL FN(sm_log_rest)(REAL f) {
#if REAL_BITS == 64
  REAL s = f / (2 + f), z = s * s, half = 0.5 * f * f;
  REAL p = 0x1.2f0979154be19p-4;
  STEP(p, z, 0x1.39a157e272eap-4);
  STEP(p, z, 0x1.7466428a22a21p-4);
  STEP(p, z, 0x1.c71c51f8abc4dp-4);
  STEP(p, z, 0x1.2492494204634p-3);
  STEP(p, z, 0x1.999999997fc74p-3);
  STEP(p, z, 0x1.5555555555593p-2);
  return SM_FMA(s, SM_FMA(2 * z, p, half), -half);
#else
  REAL p = -0x1.38b54p-4f;
  STEP(p, f, 0x1.055b66p-3);
  STEP(p, f, -0x1.0d855p-3);
  STEP(p, f, 0x1.22da22p-3);
  STEP(p, f, -0x1.547244p-3);
  STEP(p, f, 0x1.99a008p-3);
  STEP(p, f, -0x1.000226p-2);
  STEP(p, f, 0x1.555554p-2);
  STEP(p, f, -0.5);
  return f * f * p;
#endif
}

/* y, or what a logarithm is at infinity, zero, below zero and for NaN. */
SM REAL FN(sm_log_edges)(REAL x, REAL y) {
  y = x < C(INFINITY) ? y : x;
  y = x > 0 ? y : C(NAN);
  return x == 0 ? -C(INFINITY) : y;
}

SM REAL FN(sm_log)(REAL x) {
  REAL k, f;
  FN(sm_log_split)(x, &k, &f);
  REAL tail = SM_FMA(k, LN2_LO, FN(sm_log_rest)(f));
  return FN(sm_log_edges)(x, SM_FMA(k, LN2_HI, f + tail));
}

/*
 * u = 1 + x rounds, and `lost` is what it lost: log(1 + x) = log u + lost / u.
 * The sign of x is that of the result, even for a zero.
 */
SM REAL FN(sm_log1p)(REAL x) {
  REAL u = 1 + x, k, f;
  REAL lost = x > 1 ? 1 - (u - x) : x - (u - 1);
  FN(sm_log_split)(u, &k, &f);
  REAL tail = SM_FMA(k, LN2_LO, FN(sm_log_rest)(f) + lost / u);
  REAL y = FN(sm_log_edges)(u, SM_FMA(k, LN2_HI, f + tail));
  return CFN(copysign)(y, x);
}

/*
 * k * unit + log(1 + f) * factor, unit and factor in two pieces whose first
 * has few bits: the product of the leading halves is exact, so near x = 1
 * the result is as good as the logarithm itself.
 */
SM REAL FN(sm_log_times)(REAL x, REAL unit, REAL unit_lo, REAL factor,
                         REAL factor_lo) {
  REAL k, f;
  FN(sm_log_split)(x, &k, &f);
  REAL g = FN(sm_log_rest)(f), high = FN(sm_upper)(f);
  REAL a = high * factor, b = k * unit, head = a + b, lost = a - (head - b);
  REAL tail = SM_FMA(f + g, factor_lo, (f - high) * factor);
  tail = SM_FMA(g, factor, tail) + SM_FMA(k, unit_lo, lost);
  return FN(sm_log_edges)(x, head + tail);
}

SM REAL FN(sm_log2)(REAL x) {
#if REAL_BITS == 64
  return FN(sm_log_times)(x, 1, 0, 0x1.7154768p+0, -0x1.6a3e80f444178p-27);
#else
  return FN(sm_log_times)(x, 1, 0, 0x1.716p+0f, -0x1.7135a8p-13f);
#endif
}

SM REAL FN(sm_log10)(REAL x) {
#if REAL_BITS == 64
  return FN(sm_log_times)(x, 0x1.34413509f8p-2, -0x1.80433b83b532ap-44,
                          0x1.bcb7b18p-2, -0x1.6c8d78e6acaa4p-29);
#else
  return FN(sm_log_times)(x, 0x1.344p-2f, 0x1.3509f8p-18f, 0x1.bccp-2f,
                          -0x1.09d5b2p-15f);
#endif
}

/* ---- inverses of the hyperbolic functions, to 4 ulp ---- */

/* |x| > HUGE_ROOT squared would leave the range, and there 1 more or less
 * makes no difference: log(2 x) is log1p(x) + log 2. */
SM REAL FN(sm_arc_log)(REAL a, REAL t) {
  bool huge = a > HUGE_ROOT;
  return FN(sm_log1p)(huge ? a : t) + (huge ? LN2_FULL : C(0));
}

/* log(a + sqrt(a^2 + 1)) */
SM REAL FN(sm_asinh)(REAL x) {
  REAL a = CFN(fabs)(x), square = a * a;
  REAL t = a + square / (1 + CFN(sqrt)(square + 1));
  return CFN(copysign)(FN(sm_arc_log)(a, t), x);
}

/* log(x + sqrt(x^2 - 1)), by d = x - 1. */
SM REAL FN(sm_acosh)(REAL x) {
  REAL d = x - 1, t = d + CFN(sqrt)(d * (d + 2));
  REAL y = FN(sm_arc_log)(x, t);
  return x < 1 ? C(NAN) : y;
}

/* log((1 + a) / (1 - a)) / 2 */
SM REAL FN(sm_atanh)(REAL x) {
  REAL a = CFN(fabs)(x);
  return CFN(copysign)(C(0.5) * FN(sm_log1p)(2 * a / (1 - a)), x);
}

/* ---- roots and powers ---- */

SM REAL FN(sm_sqrt)(REAL x) { return CFN(sqrt)(x); }

/* -0 gives -infinity, as IEEE 754 has it. */
SM REAL FN(sm_rsqrt)(REAL x) { return 1 / CFN(sqrt)(x); }

/* An infinite side makes an infinite result, even beside NaN. */
SM REAL FN(sm_hypot)(REAL x, REAL y) {
  REAL a = CFN(fabs)(x), b = CFN(fabs)(y);
#if REAL_BITS == 64
  REAL big = a > b ? a : b, small = a > b ? b : a;
  REAL up = big < 0x1p-500 ? 0x1p600 : 1.0; /* squares stay in range */
  REAL scale = big > HUGE_ROOT ? 0x1p-600 : up;
  REAL back = big > HUGE_ROOT ? 0x1p600 : 1 / up;
  big *= scale, small *= scale;
  REAL r = sqrt(SM_FMA(small, small, big * big)) * back;
#else
  double p = (double)a, q = (double)b;
  REAL r = (REAL)sqrt(p * p + q * q);
#endif
  return ((a == C(INFINITY)) | (b == C(INFINITY))) != 0 ? C(INFINITY) : r;
}

#if REAL_BITS == 64
/*
 * log x = high + *low to about 2^-66, for finite x > 0.  log(1 + f) is
 * 2 atanh s, s = f / (2 + f), and its first two terms carry two words.
 */
SM REAL FN(sm_log_pair)(REAL x, REAL *low) {
  REAL k, f;
  FN(sm_log_split)(x, &k, &f);
  REAL d = 2 + f, d_low = f - (d - 2), inverse = 1 / d, s = f * inverse;
  REAL back_low, back = FN(sm_product)(s, d, &back_low);
  REAL s_low = (((f - back) - back_low) - s * d_low) * inverse;
  REAL z_low, z = FN(sm_product)(s, s, &z_low);
  z_low += 2 * s * s_low;
  /* (2 atanh(s) / s - 2 - 2/3 z) / z^2: 2^-60.6 */
  REAL p = 0x1.e64f83933327p-4;
  STEP(p, z, 0x1.decb100be248p-4);
  STEP(p, z, 0x1.111cd5b54a7b9p-3);
  STEP(p, z, 0x1.3b137d764d83dp-3);
  STEP(p, z, 0x1.745d17ca38f54p-3);
  STEP(p, z, 0x1.c71c71c66155ap-3);
  STEP(p, z, 0x1.2492492492891p-2);
  STEP(p, z, 0x1.9999999999999p-2);
  REAL t = z * p, two_thirds = 0x1.5555555555555p-1;
  REAL w = two_thirds + t;
  REAL w_low = ((two_thirds - w) + t) + 0x1.5555555555555p-55;
  REAL a_low, a = FN(sm_product)(z, w, &a_low);
  a_low += z * w_low + z_low * w;
  REAL b_low, b = FN(sm_product)(s, a, &b_low);
  b_low += s * a_low + s_low * a;
  REAL first = k * LN2_HI, sum = first + 2 * s, high = sum + b;
  REAL lost = ((first - sum) + 2 * s) + ((sum - high) + b);
  REAL rest = lost + (2 * s_low + b_low + k * LN2_LO), y = high + rest;
  *low = (high - y) + rest;
  return y;
}

/* x^y for finite x > 0, as exp(y log x), the product in two words. */
SM REAL FN(sm_pow_core)(REAL x, REAL y) {
  REAL low, high = FN(sm_log_pair)(x, &low), p_low, z, a, b;
  REAL p = FN(sm_product)(y, high, &p_low), c = p > EXP_MAX ? EXP_MAX : p;
  c = c < EXP_MIN ? EXP_MIN : c;
  p_low = SM_FMA(y, low, p_low);
  p_low = c == p ? p_low : 0; /* far out it may be infinite or NaN */
  REAL r = FN(sm_exp_reduce)(c, &z) + p_low;
  FN(sm_pow2_pair)(z, &a, &b);
  return (1 + FN(sm_exp_series)(r)) * a * b;
}
#else
/*
 * x^y for finite x > 0 in doubles, where f32 has no subnormal numbers:
 * 2^(y log2 x), the logarithm to 2^-38 of itself.
 */
SM REAL FN(sm_pow_core)(REAL x, REAL y) {
  const double magic = 0x1.8p52;
  const uint64_t root = 0x3fe6a09e667f3bcd, one = 0x3ff0000000000000;
  const uint64_t whole = 0x4330000000000000; /* 2^52 */
  double wide = (double)x, f, n, scale;
  uint64_t bits;
  memcpy(&bits, &wide, sizeof bits);
  bits += one - root;
  uint64_t fraction = (bits & 0x000fffffffffffffu) + root;
  uint64_t exponent = (bits >> 52) | whole;
  memcpy(&f, &fraction, sizeof f);
  memcpy(&n, &exponent, sizeof n);
  f -= 1, n -= 0x1p52 + 1023;
  double p = -0x1.1da7b45e5b682p-4; /* log2(1 + f) / f */
  WIDE_STEP(p, f, 0x1.0f6322b6af9d4p-3);
  WIDE_STEP(p, f, -0x1.13b8af68d5bap-3);
  WIDE_STEP(p, f, 0x1.0acdca284040ap-3);
  WIDE_STEP(p, f, -0x1.23d643b657a13p-3);
  WIDE_STEP(p, f, 0x1.481fb041fe72bp-3);
  WIDE_STEP(p, f, -0x1.7188d46973aaep-3);
  WIDE_STEP(p, f, 0x1.a61b7daa19902p-3);
  WIDE_STEP(p, f, -0x1.ec6f2df1379acp-3);
  WIDE_STEP(p, f, 0x1.2776b6cd672a5p-2);
  WIDE_STEP(p, f, -0x1.71547888642aep-2);
  WIDE_STEP(p, f, 0x1.ec709de33b562p-2);
  WIDE_STEP(p, f, -0x1.71547651b6e85p-1);
  WIDE_STEP(p, f, 0x1.71547652b58f9p+0);
  double v = (double)y * (n + f * p);
  v = v > 200 ? 200 : v;
  v = v < -200 ? -200 : v;
  double z = v + magic, r = v - (z - magic);
  double e = 0x1.fe17608940dccp-17; /* 2^r */
  WIDE_STEP(e, r, 0x1.446a42fcc9b7bp-13);
  WIDE_STEP(e, r, 0x1.5d8a710c16d09p-10);
  WIDE_STEP(e, r, 0x1.3b29dc163e783p-7);
  WIDE_STEP(e, r, 0x1.c6b08aae445cp-5);
  WIDE_STEP(e, r, 0x1.ebfbe0a4eed7ep-3);
  WIDE_STEP(e, r, 0x1.62e42ff116c96p-1);
  WIDE_STEP(e, r, 0x1.ffffffffab9f3p-1);
  memcpy(&bits, &z, sizeof bits);
  bits = (bits << 52) + one;
  memcpy(&scale, &bits, sizeof scale);
  return (REAL)(e * scale);
}
#endif

/* All cases of C99 F.9.4.4.  pow(1, y) and pow(x, 0) are 1 even for NaN. */
SM REAL FN(sm_pow)(REAL x, REAL y) {
  const REAL infinity = C(INFINITY);
  REAL ax = CFN(fabs)(x), m = FN(sm_pow_core)(ax, y);
  bool whole = FN(sm_round_even)(y) == y;
  bool even = FN(sm_round_even)(y * C(0.5)) == y * C(0.5);
  REAL edge = (ax == 0) == (y < 0) ? infinity : C(0); /* for 0, infinity */
  m = ax == 1 ? C(1) : m;
  m = ((ax == 0) | (ax == infinity)) != 0 ? edge : m;
  m = ((x != x) | (y != y)) != 0 ? x + y : m;
  m = ((x < 0) & (ax < infinity) & !whole) != 0 ? C(NAN) : m;
  m = (whole & !even) != 0 ? CFN(copysign)(m, x) : m;
  return ((x == 1) | (y == 0)) != 0 ? C(1) : m;
}

#include "rows/smath_trig.h"
#include "rows/special.h"

#undef BITS
#undef MANTISSA
#undef BIAS
#undef MAGIC
#undef UPPER_HALF
#undef UPPER_ROUND
#undef EXP_MIN
#undef EXP_MAX
#undef EXPM1_MIN
#undef EXP2_MIN
#undef EXP2_MAX
#undef SINH_MAX
#undef SINH_BIG
#undef LN2_HI
#undef LN2_LO
#undef LN2_FULL
#undef LOG2E
#undef MIN_NORMAL
#undef TINY
#undef HUGE_SCALE
#undef HUGE_ROOT
#undef SUBNORMAL_LIFT
#undef SQRT_HALF_BITS
#undef HALF_PI
#undef HALF_PI_LO
#undef ROOT2
#undef ROOT2_LO
#undef TWO_OVER_PI
#undef CFN
#undef C
#undef STEP
#undef WIDE_STEP
