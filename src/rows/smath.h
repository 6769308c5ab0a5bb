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
 * gelu, gelu_tanh, silu, softplus and logsigmoid while the result is above
 * 1e-30 in magnitude (below, the error grows as the result leaves the normal
 * numbers).  NaN in, NaN out; zeros keep the sign that C99 gives them.
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

#if REAL_BITS == 64
#define BITS uint64_t
#define MANTISSA 52
#define BIAS 1023
#define MAGIC 0x1.8p52
#define UPPER_HALF 0xfffffffff8000000u /* keeps 26 bits of the significand */
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
#define SUBNORMAL_LIFT 0x1p54
#define SQRT_HALF_BITS 0x3fe6a09e667f3bcd
#define HALF_PI 0x1.921fb54442d18p+0
#define HALF_PI_LO 0x1.1a62633145c07p-54
#define CFN(name) name
#else
#define BITS uint32_t
#define MANTISSA 23
#define BIAS 127
#define MAGIC 0x1.8p23f
#define UPPER_HALF 0xfffff000u /* keeps 12 bits of the significand */
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
#define SUBNORMAL_LIFT 0x1p25f
#define SQRT_HALF_BITS 0x3f3504f3
#define HALF_PI 0x1.921fb6p+0f
#define HALF_PI_LO (-0x1.777a5cp-25f)
#define CFN(name) name##f
#endif
#define C(v) ((REAL)(v))
/* One Horner step of the polynomial p in z. */
#define STEP(p, z, c) p = SM_FMA(p, z, C(c));

/* ---- bits, whole numbers, signs ---- */

SM REAL FN(sm_fma)(REAL a, REAL b, REAL c)
{
#if SM_HAS_FMA
  return CFN(fma)(a, b, c);
#else
  return a * b + c;
#endif
}

SM BITS FN(sm_bits)(REAL x)
{
  BITS b;
  memcpy(&b, &x, sizeof b);
  return b;
}

SM REAL FN(sm_real)(BITS b)
{
  REAL x;
  memcpy(&x, &b, sizeof x);
  return x;
}

SM REAL FN(sm_abs)(REAL x)
{
  return CFN(fabs)(x);
}

SM REAL FN(sm_copysign)(REAL x, REAL y)
{
  return CFN(copysign)(x, y);
}

/* -1, 0 or 1; a zero keeps its sign, NaN stays NaN. */
SM REAL FN(sm_sign)(REAL x)
{
  REAL s = x > 0 ? C(1) : x;
  return x < 0 ? C(-1) : s;
}

SM REAL FN(sm_isnan)(REAL x)
{
  return x != x ? C(1) : C(0);
}

SM REAL FN(sm_isfinite)(REAL x)
{
  return CFN(fabs)(x) < C(INFINITY) ? C(1) : C(0);
}

/* The nearest whole number, for |x| < 2^(mantissa - 1); -0.3 gives +0. */
SM REAL FN(sm_near)(REAL x)
{
  return (x + MAGIC) - MAGIC;
}

/* Nearest whole number, ties to even.  Beyond 2^mantissa all are whole. */
SM REAL FN(sm_round_even)(REAL x)
{
#if SM_HAS_ROUND
  return CFN(rint)(x);
#else
  const REAL whole = MAGIC - MAGIC / 3; /* 2^mantissa */
  REAL a = CFN(fabs)(x), r = (a + whole) - whole;
  return CFN(copysign)(a < whole ? r : a, x);
#endif
}

SM REAL FN(sm_floor)(REAL x)
{
#if SM_HAS_ROUND
  return CFN(floor)(x);
#else
  REAL r = FN(sm_round_even)(x);
  return CFN(copysign)(r > x ? r - 1 : r, x);
#endif
}

SM REAL FN(sm_ceil)(REAL x)
{
#if SM_HAS_ROUND
  return CFN(ceil)(x);
#else
  REAL r = FN(sm_round_even)(x);
  return CFN(copysign)(r < x ? r + 1 : r, x);
#endif
}

SM REAL FN(sm_trunc)(REAL x)
{
#if SM_HAS_ROUND
  return CFN(trunc)(x);
#else
  return CFN(copysign)(FN(sm_floor)(CFN(fabs)(x)), x);
#endif
}

/* x - y * trunc(x / y), exact.  The C library's, one element at a time. */
SM REAL FN(sm_fmod)(REAL x, REAL y)
{
  return CFN(fmod)(x, y);
}

/*
 * x - y * floor(x / y), as Lua's and Python's %: the sign of y.  A zero takes
 * the sign of y too, and x % inf is x or inf by sign (Lua 5.4, luai_nummod).
 */
SM REAL FN(sm_remainder_floor)(REAL x, REAL y)
{
  REAL r = CFN(fmod)(x, y);
  r = r * y < 0 || (r != 0 && (r < 0) != (y < 0)) ? r + y : r;
  return r == 0 ? CFN(copysign)(r, y) : r;
}

/* x with the lower half of its significand cleared, so that the product of
 * two such numbers is exact. */
SM REAL FN(sm_upper)(REAL x)
{
  return FN(sm_real)(FN(sm_bits)(x) & UPPER_HALF);
}

/*
 * a * b = product + *low, exactly while nothing leaves the normal numbers.
 * Without a fused multiply-add by halves: Dekker 1971, the split by mask.
 */
SM REAL FN(sm_product)(REAL a, REAL b, REAL *low)
{
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

/* ---- exp and its family ---- */

/*
 * x = k ln 2 + r, |r| <= ln(2) / 2.  *z holds k + 2 * bias in its lowest
 * bits, which makes the two halves of sm_scale cheap.
 */
SM REAL FN(sm_exp_reduce)(REAL x, REAL *z)
{
  const REAL magic = MAGIC + 2 * BIAS;
  *z = SM_FMA(x, LOG2E, magic);
  REAL k = *z - magic;
  return SM_FMA(-k, LN2_LO, SM_FMA(-k, LN2_HI, x));
}

/*
 * 2^k in two factors, a and b, for k from -3/2 to 3/2 times the bias: one
 * factor alone cannot reach the subnormal numbers.
 */
SM void FN(sm_pow2_pair)(REAL z, REAL *a, REAL *b)
{
  const BITS exponents = ~(((BITS)1 << MANTISSA) - 1);
  BITS bits = FN(sm_bits)(z);
  BITS half = (bits << (MANTISSA - 1)) & exponents;
  *a = FN(sm_real)(half);
  *b = FN(sm_real)((bits << MANTISSA) - half);
}

/* 2^(k - less), within the exponents of normal numbers. */
SM REAL FN(sm_pow2)(REAL z, BITS less)
{
  return FN(sm_real)((FN(sm_bits)(z) << MANTISSA) -
                     ((BIAS + less) << MANTISSA));
}

/* (e^r - 1 - r) / r^2 for |r| <= ln(2) / 2; r times the error is below
 * 2^-25.9 (f32), 2^-55.4 (f64). */
SM REAL FN(sm_exp_rest)(REAL r)
{
#if REAL_BITS == 64
  REAL p = 0x1.af77240422a73p-26;
  STEP(p, r, 0x1.28a302ea1fbc2p-22)
  STEP(p, r, 0x1.71dde9be09b9dp-19)
  STEP(p, r, 0x1.a019a631e8e9dp-16)
  STEP(p, r, 0x1.a01a01b5f5c08p-13)
  STEP(p, r, 0x1.6c16c17f51d9dp-10)
  STEP(p, r, 0x1.111111110e686p-7)
  STEP(p, r, 0x1.5555555552094p-5)
  STEP(p, r, 0x1.555555555555cp-3)
  STEP(p, r, 0x1.0000000000005p-1)
#else
  REAL p = 0x1.6d99b2p-10f;
  STEP(p, r, 0x1.12288p-7)
  STEP(p, r, 0x1.555486p-5)
  STEP(p, r, 0x1.5554aep-3)
  STEP(p, r, 0x1p-1)
#endif
  return p;
}

/* e^r - 1 for |r| <= ln(2) / 2. */
SM REAL FN(sm_exp_series)(REAL r)
{
  return SM_FMA(r * r, FN(sm_exp_rest)(r), r);
}

/* Both limits give 0 and infinity; NaN passes. */
SM REAL FN(sm_exp)(REAL x)
{
  REAL c = x > EXP_MAX ? EXP_MAX : x, z, a, b;
  c = c < EXP_MIN ? EXP_MIN : c;
  REAL r = FN(sm_exp_reduce)(c, &z);
  FN(sm_pow2_pair)(z, &a, &b);
  return (1 + FN(sm_exp_series)(r)) * a * b;
}

/* x - k is exact, so the only loss is one rounding in r. */
SM REAL FN(sm_exp2)(REAL x)
{
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
SM REAL FN(sm_expm1)(REAL x)
{
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
SM REAL FN(sm_logistic_tail)(REAL v, REAL low)
{
  const REAL magic = MAGIC + 2 * BIAS;
  REAL z = SM_FMA(v, -LOG2E, magic), k = z - magic, a, b; /* k <= 0 */
  REAL r = SM_FMA(k, LN2_LO, SM_FMA(k, LN2_HI, v)) + low;
  FN(sm_pow2_pair)(z, &a, &b);
  REAL s = a * b, one = 1 + s, rest = s - (one - 1);
  REAL d = one + (FN(sm_exp_series)(r) + rest);
  return a / d * b;
}

SM REAL FN(sm_sigmoid)(REAL x)
{
  REAL a = CFN(fabs)(x);
  REAL y = FN(sm_logistic_tail)(a > -EXP_MIN ? -EXP_MIN : a, 0);
  return x > 0 ? 1 - y : y;
}

/* (tanh x - x) / x^3 in z = x^2, |x| <= 0.56: 2^-27.8, 2^-57.3. */
SM REAL FN(sm_tanh_rest)(REAL z)
{
#if REAL_BITS == 64
  REAL p = -0x1.3d9f41992c13p-16;
  STEP(p, z, 0x1.59a61167aa1f2p-14)
  STEP(p, z, -0x1.e81de29c8bbf9p-13)
  STEP(p, z, 0x1.3462b5a8b89edp-11)
  STEP(p, z, -0x1.7d8bd9f9bf801p-10)
  STEP(p, z, 0x1.d6d24d47339c1p-9)
  STEP(p, z, -0x1.226e2d296950fp-7)
  STEP(p, z, 0x1.664f484aa10b9p-6)
  STEP(p, z, -0x1.ba1ba1b93c2ccp-5)
  STEP(p, z, 0x1.111111111032fp-3)
  STEP(p, z, -0x1.555555555554cp-2)
#else
  REAL p = -0x1.959412p-8f;
  STEP(p, z, 0x1.584c42p-6)
  STEP(p, z, -0x1.b90d14p-5)
  STEP(p, z, 0x1.110c8cp-3)
  STEP(p, z, -0x1.555548p-2)
#endif
  return p;
}

/* 1 - 2 / (1 + e^2a), where tanh is above a half; a polynomial below. */
SM REAL FN(sm_tanh)(REAL x)
{
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
  REAL minus, plus, sinh, cosh1, scale; /* cosh1 is cosh r - 1 */
} FN(SmHyperbolic);

SM FN(SmHyperbolic) FN(sm_hyperbolic)(REAL a)
{
  FN(SmHyperbolic) h;
  const REAL magic = MAGIC + 2 * BIAS;
  REAL c = a > SINH_MAX ? SINH_MAX : a;
  REAL z = SM_FMA(c, LOG2E, C(-0.25)) + magic, k = z - magic;
  REAL r = SM_FMA(-k, LN2_LO, SM_FMA(-k, LN2_HI, c)), r2 = r * r;
  BITS half = FN(sm_bits)(FN(sm_pow2)(z, 1));
  half -= c > SINH_BIG ? (BITS)4 << MANTISSA : 0;
  REAL s = FN(sm_real)(half); /* S / 2, then 1 / (2 S) */
  REAL i = FN(sm_real)(((BITS)(2 * BIAS - 2) << MANTISSA) - half);
  h.minus = s - i, h.plus = s + i;
  h.scale = c > SINH_BIG ? C(16) : C(1);
#if REAL_BITS == 64
  /* (sinh r - r) / r^3 and (cosh r - 1) / r^2 in r^2: 2^-58, 2^-62 */
  REAL p = 0x1.b032fa48f46ep-41, q = 0x1.b033deecbdaa2p-45;
  STEP(p, r2, 0x1.6123a3ad5d40ap-33)
  STEP(p, r2, 0x1.ae6456d4c4df1p-26)
  STEP(p, r2, 0x1.71de3a555749fp-19)
  STEP(p, r2, 0x1.a01a01a01a074p-13)
  STEP(p, r2, 0x1.1111111111111p-7)
  STEP(p, r2, 0x1.5555555555555p-3)
  STEP(q, r2, 0x1.93966eb8b0402p-37)
  STEP(q, r2, 0x1.1eed8f3b08d9cp-29)
  STEP(q, r2, 0x1.27e4fb77774a7p-22)
  STEP(q, r2, 0x1.a01a01a01a087p-16)
  STEP(q, r2, 0x1.6c16c16c16c17p-10)
  STEP(q, r2, 0x1.5555555555555p-5)
#else
  /* the same: 2^-29, 2^-33 */
  REAL p = 0x1.a31ec4p-13f, q = 0x1.a32a58p-16f;
  STEP(p, r2, 0x1.110f2ap-7)
  STEP(p, r2, 0x1.555556p-3)
  STEP(q, r2, 0x1.6c13f6p-10)
  STEP(q, r2, 0x1.555558p-5)
#endif
  STEP(q, r2, 0.5)
  h.sinh = SM_FMA(r * r2, p, r);
  h.cosh1 = r2 * q;
  return h;
}

SM REAL FN(sm_sinh)(REAL x)
{
  FN(SmHyperbolic) h = FN(sm_hyperbolic)(CFN(fabs)(x));
  REAL y = h.minus + SM_FMA(h.plus, h.sinh, h.minus * h.cosh1);
  return CFN(copysign)(y * h.scale, x);
}

SM REAL FN(sm_cosh)(REAL x)
{
  FN(SmHyperbolic) h = FN(sm_hyperbolic)(CFN(fabs)(x));
  REAL y = h.plus + SM_FMA(h.minus, h.sinh, h.plus * h.cosh1);
  return y * h.scale;
}

/* ---- logarithms ---- */

/* x = 2^k (1 + f), 1 + f in [sqrt(1/2), sqrt(2)), for finite x > 0. */
SM void FN(sm_log_split)(REAL x, REAL *k, REAL *f)
{
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
SM REAL FN(sm_log_rest)(REAL f)
{
#if REAL_BITS == 64
  REAL s = f / (2 + f), z = s * s, half = 0.5 * f * f;
  REAL p = 0x1.2f0979154be19p-4;
  STEP(p, z, 0x1.39a157e272eap-4)
  STEP(p, z, 0x1.7466428a22a21p-4)
  STEP(p, z, 0x1.c71c51f8abc4dp-4)
  STEP(p, z, 0x1.2492494204634p-3)
  STEP(p, z, 0x1.999999997fc74p-3)
  STEP(p, z, 0x1.5555555555593p-2)
  return SM_FMA(s, SM_FMA(2 * z, p, half), -half);
#else
  REAL p = -0x1.38b54p-4f;
  STEP(p, f, 0x1.055b66p-3)
  STEP(p, f, -0x1.0d855p-3)
  STEP(p, f, 0x1.22da22p-3)
  STEP(p, f, -0x1.547244p-3)
  STEP(p, f, 0x1.99a008p-3)
  STEP(p, f, -0x1.000226p-2)
  STEP(p, f, 0x1.555554p-2)
  STEP(p, f, -0.5)
  return f * f * p;
#endif
}

/* y, or what a logarithm is at infinity, zero, below zero and for NaN. */
SM REAL FN(sm_log_edges)(REAL x, REAL y)
{
  y = x < C(INFINITY) ? y : x;
  y = x > 0 ? y : C(NAN);
  return x == 0 ? -C(INFINITY) : y;
}

SM REAL FN(sm_log)(REAL x)
{
  REAL k, f;
  FN(sm_log_split)(x, &k, &f);
  REAL tail = SM_FMA(k, LN2_LO, FN(sm_log_rest)(f));
  return FN(sm_log_edges)(x, SM_FMA(k, LN2_HI, f + tail));
}

/*
 * u = 1 + x rounds, and `lost` is what it lost: log(1 + x) = log u + lost / u.
 * The sign of x is that of the result, even for a zero.
 */
SM REAL FN(sm_log1p)(REAL x)
{
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
                         REAL factor_lo)
{
  REAL k, f;
  FN(sm_log_split)(x, &k, &f);
  REAL g = FN(sm_log_rest)(f), high = FN(sm_upper)(f);
  REAL a = high * factor, b = k * unit, head = a + b, lost = a - (head - b);
  REAL tail = SM_FMA(f + g, factor_lo, (f - high) * factor);
  tail = SM_FMA(g, factor, tail) + SM_FMA(k, unit_lo, lost);
  return FN(sm_log_edges)(x, head + tail);
}

SM REAL FN(sm_log2)(REAL x)
{
#if REAL_BITS == 64
  return FN(sm_log_times)(x, 1, 0, 0x1.7154768p+0, -0x1.6a3e80f444178p-27);
#else
  return FN(sm_log_times)(x, 1, 0, 0x1.716p+0f, -0x1.7135a8p-13f);
#endif
}

SM REAL FN(sm_log10)(REAL x)
{
#if REAL_BITS == 64
  return FN(sm_log_times)(x, 0x1.34413509f8p-2, -0x1.80433b83b532ap-44,
                          0x1.bcb7b18p-2, -0x1.6c8d78e6acaa4p-29);
#else
  return FN(sm_log_times)(x, 0x1.344p-2f, 0x1.3509f8p-18f, 0x1.bccp-2f,
                          -0x1.09d5b2p-15f);
#endif
}

/* ---- angles ---- */

SM REAL FN(sm_sin)(REAL x)
{
  return CFN(sin)(x);
}

SM REAL FN(sm_cos)(REAL x)
{
  return CFN(cos)(x);
}

SM REAL FN(sm_tan)(REAL x)
{
  return CFN(tan)(x);
}

/* (atan t - t) / t^3 in z = t^2, |t| <= tan(pi / 8): 2^-28.6, 2^-59.3. */
SM REAL FN(sm_atan_rest)(REAL z)
{
#if REAL_BITS == 64
  REAL p = -0x1.25843788d27fp-6;
  STEP(p, z, 0x1.37e20a598079fp-5)
  STEP(p, z, -0x1.9cd7d65bedb9ep-5)
  STEP(p, z, 0x1.df107846e4eb9p-5)
  STEP(p, z, -0x1.10ebcd9ce9b17p-4)
  STEP(p, z, 0x1.3b111b068441ap-4)
  STEP(p, z, -0x1.745cf8f80f419p-4)
  STEP(p, z, 0x1.c71c70e6fedbp-4)
  STEP(p, z, -0x1.24924922af8f5p-3)
  STEP(p, z, 0x1.99999999958aep-3)
  STEP(p, z, -0x1.555555555553dp-2)
#else
  REAL p = -0x1.f2433ap-5f;
  STEP(p, z, 0x1.b1feap-4)
  STEP(p, z, -0x1.23b68p-3)
  STEP(p, z, 0x1.9991aap-3)
  STEP(p, z, -0x1.55554ap-2)
#endif
  return p;
}

/*
 * atan(a / b) for 0 <= a <= b, turned by pi/4 above tan(pi/8).  The turn acts
 * on a and b, before the division, which saves a rounding.
 */
SM REAL FN(sm_atan_ratio)(REAL a, REAL b)
{
  REAL turned = a > C(0.41421356237309503) * b ? C(1) : C(0);
  REAL t = (turned != 0 ? a - b : a) / (turned != 0 ? a + b : b);
  t = b == 0 ? C(0) : t;
  REAL z = t * t;
  REAL tail = SM_FMA(t * z, FN(sm_atan_rest)(z), turned * (HALF_PI_LO / 2));
  return turned * (HALF_PI / 2) + (t + tail);
}

SM REAL FN(sm_atan2)(REAL y, REAL x)
{
  REAL ay = CFN(fabs)(y), ax = CFN(fabs)(x);
  REAL big = ay > ax ? ay : ax, small = ay > ax ? ax : ay;
  REAL scale = big > HUGE_SCALE ? C(0.25) : C(1); /* small + big is finite */
  REAL a = small == C(INFINITY) ? C(1) : small * scale;
  REAL b = small == C(INFINITY) ? C(1) : big * scale;
  REAL t = FN(sm_atan_ratio)(a, b);
  t = ay > ax ? HALF_PI - (t - HALF_PI_LO) : t;
  t = CFN(copysign)(C(1), x) < 0 ? 2 * HALF_PI - (t - 2 * HALF_PI_LO) : t;
  t = x != x ? x : t;
  t = y != y ? y : t;
  return CFN(copysign)(t, y);
}

SM REAL FN(sm_atan)(REAL x)
{
  REAL ax = CFN(fabs)(x);
  REAL a = ax > 1 ? C(1) : ax, b = ax > 1 ? ax : C(1);
  b = b > HUGE_SCALE ? HUGE_SCALE : b;
  REAL t = FN(sm_atan_ratio)(a, b);
  t = ax > 1 ? HALF_PI - (t - HALF_PI_LO) : t;
  return CFN(copysign)(t, x);
}

/* (asin x - x) / x^3 in z = x^2, |x| <= 1/2: 2^-27.2, 2^-59.1. */
SM REAL FN(sm_asin_rest)(REAL z)
{
#if REAL_BITS == 64
  REAL p = 0x1.0be582e355bb4p-5;
  STEP(p, z, -0x1.59fa239b21e31p-6)
  STEP(p, z, 0x1.6504a0eee0f97p-6)
  STEP(p, z, 0x1.e15260b30db6bp-9)
  STEP(p, z, 0x1.618b56b74e2dap-7)
  STEP(p, z, 0x1.75776fe9c7e98p-7)
  STEP(p, z, 0x1.ca214819afc35p-7)
  STEP(p, z, 0x1.1c49ddd53cc0ep-6)
  STEP(p, z, 0x1.6e8bdfe95efc6p-6)
  STEP(p, z, 0x1.f1c71a8b7ef15p-6)
  STEP(p, z, 0x1.6db6db722bc82p-5)
  STEP(p, z, 0x1.333333332df0ap-4)
  STEP(p, z, 0x1.5555555555578p-3)
#else
  REAL p = 0x1.59f3c2p-5f;
  STEP(p, z, 0x1.8b86cap-6)
  STEP(p, z, 0x1.748efcp-5)
  STEP(p, z, 0x1.330136p-4)
  STEP(p, z, 0x1.5555cap-3)
#endif
  return p;
}

/* Above 1/2: asin a = pi/2 - 2 asin(sqrt((1 - a) / 2)).  Above 1: NaN. */
SM REAL FN(sm_asin)(REAL x)
{
  REAL a = CFN(fabs)(x), half = C(0.5) * (1 - a);
  REAL z = a > C(0.5) ? half : a * a;
  REAL s = a > C(0.5) ? CFN(sqrt)(half) : a;
  REAL tail = s * z * FN(sm_asin_rest)(z);
  REAL large = HALF_PI - (2 * s - (HALF_PI_LO - 2 * tail));
  return CFN(copysign)(a > C(0.5) ? large : s + tail, x);
}

SM REAL FN(sm_acos)(REAL x)
{
  REAL a = CFN(fabs)(x), half = C(0.5) * (1 - a);
  REAL z = a > C(0.5) ? half : a * a;
  REAL s = a > C(0.5) ? CFN(sqrt)(half) : x;
  REAL tail = s * z * FN(sm_asin_rest)(z);
  REAL small = HALF_PI - (s - (HALF_PI_LO - tail));
  REAL left = 2 * HALF_PI - (2 * s - (2 * HALF_PI_LO - 2 * tail));
  REAL right = 2 * (s + tail);
  return a > C(0.5) ? (x < 0 ? left : right) : small;
}

/* ---- roots and powers ---- */

SM REAL FN(sm_sqrt)(REAL x)
{
  return CFN(sqrt)(x);
}

/* -0 gives -infinity, as IEEE 754 has it. */
SM REAL FN(sm_rsqrt)(REAL x)
{
  return 1 / CFN(sqrt)(x);
}

SM REAL FN(sm_pow)(REAL x, REAL y)
{
  return CFN(pow)(x, y);
}

/* ---- the normal distribution ---- */

/* erf(x) / x - 1 in z = x^2, |x| <= 1: 2^-26.1, 2^-56. */
SM REAL FN(sm_erf_rest)(REAL z)
{
#if REAL_BITS == 64
  REAL p = 0x1.062759c5be8ecp-34;
  STEP(p, z, -0x1.38ac2290d3965p-30)
  STEP(p, z, 0x1.f7b99d7c8709ap-27)
  STEP(p, z, -0x1.5f1f40faeea79p-23)
  STEP(p, z, 0x1.b9df305cad6f7p-20)
  STEP(p, z, -0x1.f4d1e434bc0cfp-17)
  STEP(p, z, 0x1.f9a321e4b84f9p-14)
  STEP(p, z, -0x1.c02db3db49762p-11)
  STEP(p, z, 0x1.565bcd0dbd921p-8)
  STEP(p, z, -0x1.b82ce31284f38p-6)
  STEP(p, z, 0x1.ce2f21a042b34p-4)
  STEP(p, z, -0x1.812746b0379e6p-2)
  STEP(p, z, 0x1.06eba8214db69p-3)
#else
  REAL p = 0x1.4ae4c6p-14f;
  STEP(p, z, -0x1.a485f8p-11)
  STEP(p, z, 0x1.5419fap-8)
  STEP(p, z, -0x1.b7fbb6p-6)
  STEP(p, z, 0x1.ce2d2p-4)
  STEP(p, z, -0x1.81273ep-2)
  STEP(p, z, 0x1.06eba8p-3)
#endif
  return p;
}

/* -log(1 - erf a) for a from 1 to where erf rounds to 1; times 1 - erf a,
 * the error is below 2^-27, 2^-57.7. */
SM REAL FN(sm_erf_exponent)(REAL a)
{
#if REAL_BITS == 64
  REAL p = 0x1.995ee6a87fa72p-43;
  STEP(p, a, -0x1.3f97711a6033bp-37)
  STEP(p, a, 0x1.d62614b6c68bp-33)
  STEP(p, a, -0x1.b119ee994a3c7p-29)
  STEP(p, a, 0x1.17efd0e54bc15p-25)
  STEP(p, a, -0x1.0d4df3f49fc03p-22)
  STEP(p, a, 0x1.8e3ec8558f6e8p-20)
  STEP(p, a, -0x1.cb12af1e9f282p-18)
  STEP(p, a, 0x1.9a700478bc405p-16)
  STEP(p, a, -0x1.11a37c42cbcaap-14)
  STEP(p, a, 0x1.d4e4c031584d7p-14)
  STEP(p, a, -0x1.8dff7dc8fe36fp-16)
  STEP(p, a, -0x1.205e679fb6197p-11)
  STEP(p, a, 0x1.b66a1038abb59p-10)
  STEP(p, a, -0x1.a3b2aafe5c793p-13)
  STEP(p, a, -0x1.396ad317fdd4fp-6)
  STEP(p, a, 0x1.a4f3bce814dddp-4)
  STEP(p, a, 0x1.45f31f43e86e5p-1)
  STEP(p, a, 0x1.20dd71a04ce23p+0)
  STEP(p, a, 0x1.8a56fa811f4f6p-26)
#else
  REAL p = -0x1.896f1p-13f;
  STEP(p, a, 0x1.83fca8p-9)
  STEP(p, a, -0x1.66a3acp-6)
  STEP(p, a, 0x1.a6c81p-4)
  STEP(p, a, 0x1.46a98cp-1)
  STEP(p, a, 0x1.208e52p+0)
  STEP(p, a, 0x1.502836p-12)
#endif
  return p;
}

SM REAL FN(sm_erf)(REAL x)
{
  const REAL last = REAL_BITS == 64 ? C(6) : C(3.95);
  REAL a = CFN(fabs)(x), z;
  REAL small = SM_FMA(a, FN(sm_erf_rest)(a * a), a);
  REAL c = a > last ? last : a;
  REAL r = FN(sm_exp_reduce)(-FN(sm_erf_exponent)(c), &z);
  REAL scale = FN(sm_pow2)(z, 0);
  REAL large = 1 - (scale + scale * FN(sm_exp_series)(r));
  return CFN(copysign)(a < 1 ? small : large, x);
}

SM REAL FN(sm_erfc)(REAL x)
{
  return CFN(erfc)(x);
}

/* x (1 - tail) for x > 0, x tail below; c is |x|, bounded. */
SM REAL FN(sm_gate)(REAL x, REAL c, REAL tail)
{
  return x > 0 ? x - c * tail : CFN(copysign)(c, x) * tail;
}

/* x * Phi(x), Phi the normal distribution. */
SM REAL FN(sm_gelu)(REAL x)
{
  REAL a = CFN(fabs)(x);
  a = a > 40 ? C(40) : a;
  REAL tail = (REAL)(0.5 * erfc(0.70710678118654752 * (double)a));
  return FN(sm_gate)(x, a, tail);
}

/* x * sigmoid(2 u), u = sqrt(2 / pi) (x + 0.044715 x^3). */
SM REAL FN(sm_gelu_tanh)(REAL x)
{
  REAL a = CFN(fabs)(x);
  a = a > 22 ? C(22) : a;
  double v = 1.5957691216057308 * (double)a *
             (1 + 0.044715 * (double)a * (double)a);
  return FN(sm_gate)(x, a, (REAL)(1 / (1 + exp(v))));
}

SM REAL FN(sm_silu)(REAL x)
{
  REAL a = CFN(fabs)(x);
  a = a > -EXP_MIN ? -EXP_MIN : a;
  return FN(sm_gate)(x, a, FN(sm_logistic_tail)(a, 0));
}

/* log(1 + e^x) = max(x, 0) + log1p(e^-|x|). */
SM REAL FN(sm_softplus)(REAL x)
{
  REAL tail = FN(sm_log1p)(FN(sm_exp)(-CFN(fabs)(x)));
  return x > 0 ? x + tail : tail;
}

/* log(sigmoid x) = -softplus(-x). */
SM REAL FN(sm_logsigmoid)(REAL x)
{
  return -FN(sm_softplus)(-x);
}

#undef BITS
#undef MANTISSA
#undef BIAS
#undef MAGIC
#undef UPPER_HALF
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
#undef SUBNORMAL_LIFT
#undef SQRT_HALF_BITS
#undef HALF_PI
#undef HALF_PI_LO
#undef CFN
#undef C
#undef STEP
