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
 * erfc, and for gelu, gelu_tanh, silu, softplus and logsigmoid while the result
 * is above 1e-30 in magnitude (below, the error grows as the result leaves the
 * normal numbers, to that of a subnormal times x).  NaN in, NaN out; zeros keep
 * the sign that C99 gives them.
 * Full range: sin, cos and tan reduce any finite angle.  The path for huge ones
 * is computed for every element and selected, so loops stay vectors (f64 needs
 * gathers, so without a fused multiply-add it branches and stays scalar).
 * A loop that has seen its whole tile to be small may call sin_small and
 * cos_small: the same bits, two to four times faster.
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

#ifndef SM_TRIG_BOUND_F32
/* Up to here sm_sin_small and sm_cos_small hold. */
#define SM_TRIG_BOUND_F32 0x1p17f
#define SM_TRIG_BOUND_F64 0x1p20

/*
 * What 2^(16 j - 1075) 2/pi leaves modulo 4, between -2 and 2, for j = 64 to
 * 127 (column j modulo 64): two words cut at 2^-51 and 2^-103, two of 53 bits.
 */
/* clang-format off */
#if defined(__CUDACC__)
static __device__ const double sm_two_over_pi[4][64] = {
#elif defined(__GNUC__)
__attribute__((unused)) static const double sm_two_over_pi[4][64] = {
#else
static const double sm_two_over_pi[4][64] = {
#endif
  {
    0x1p-51, 0x1.45f4p-36, 0x1.45f306dcp-20, 0x1.45f306dc9c88p-4,
    -0x1.9f246c6efab58p-1, 0x1.c9c882a53f84ep0, 0x1.054a7f09d5f48p-1,
    0x1.3f84eafa3ea6ap0, 0x1.d5f47d4d37704p-1, -0x1.c1596447e493ap0,
    -0x1.6447e493ad4cep0, 0x1.b6c52b327888p-4, 0x1.4acc9e21c821p-2,
    -0x1.b0ef1bef806bcp-1, 0x1.c820ff28b1d6p-2, 0x1.fe5163abdebcp-3,
    -0x1.d38a84288753cp0, 0x1.7bd778ac36e48p0, -0x1.0ea79236e4718p-1,
    0x1.b7246e3a424ep-3, 0x1.1b8e909374b8p-1, -0x1.6f6c8b47fe6dcp-1,
    0x1.ba5c00c925dd4p0, 0x1.924bba82748p-9, 0x1.25dd413a3243ap0,
    0x1.413a32439fc3cp0, -0x1.cdbc603c429c6p0, -0x1.80f10a71a76bp-2,
    -0x1.0a71a76b2c608p-2, -0x1.a76b2c608bbfp-2, 0x1.34e7dd1046beap0,
    -0x1.177dca0ad145p-3, 0x1.1afa975da2428p-2, -0x1.5a28976f62cc8p0,
    -0x1.2edec598e3f64p-1, 0x1.3a671c09ad17cp-1, -0x1.c7eca5d040df8p-2,
    0x1.ad17df904e648p-1, -0x1.037d8cdc538cp-4, 0x1.3991d6398353p-3,
    -0x1.c538cf9598c16p0, -0x1.9f2b3182d8dfp-1, -0x1.98c16c6f740e8p0,
    -0x1.6c6f740e8840ep0, 0x1.17e2ef7e4a0ecp-1, 0x1.77bf250763ff2p0,
    -0x1.b5f13801dap-1, -0x1.3801da00087e8p-1, -0x1.da00087e99fcp-1,
    -0x1.0fd33f808688p-6, 0x1.6603fbcbc462cp-1, 0x1.fde5e2316b414p0,
    0x1.e2316b414da3ep0, 0x1.6b414da3eda6cp0, 0x1.4da3eda6cfd9ep0,
    -0x1.25930261b06ap-4, -0x1.30261b069ec92p0, 0x1.e4f96136e9e8cp0,
    0x1.6136e9e8c7ecep0, -0x1.161738132c34p0, 0x1.8fd9a797fa8b4p-1,
    0x1.a797fa8b5d4ap-1, -0x1.5d28ad84538p-7, 0x1.aea4f758fd7ccp0
  },
  {
    -0x1.7419f246c6efcp-53, -0x1.f246c6efab58p-53, 0x1.391054a7f09d4p-53,
    0x1.529fc2757d1fp-55, -0x1.ec541705659p-58, 0x1.5f47d4d377038p-53,
    -0x1.596447e493aep-56, -0x1.11f924eb5336p-54, -0x1.24eb53361de38p-54,
    -0x1.a99b0ef1bef8p-53, 0x1.e21c820ff28bp-54, -0x1.bef806ba71508p-53,
    -0x1.ae9c5421444p-59, 0x1.8eaf7aef1586cp-53, -0x1.0a21d4f246dc8p-54,
    -0x1.d4f246dc8e2ep-54, -0x1.236e4716f6c8cp-53, 0x1.b8e909374b8p-53,
    0x1.09374b801924cp-53, -0x1.68ffcdb688af8p-54, 0x1.924bba827464p-57,
    0x1.77504e8c90e8p-54, 0x1.3a32439fc3bep-56, -0x1.b78c0788538d4p-53,
    -0x1.e214e34ed66p-59, -0x1.4e34ed658c11p-55, -0x1.3b5963045df74p-53,
    -0x1.63045df7282b4p-53, -0x1.77dca0ad144cp-55, 0x1.afa975da24278p-54,
    0x1.75da24274ce38p-54, 0x1.1213a671c09acp-53, -0x1.6638fd94ba08p-55,
    0x1.c09ad17df905p-53, -0x1.2e8206fb19b8cp-53, 0x1.f904e64758e6p-53,
    0x1.cc8eb1cc1a9ap-54, -0x1.4e33e566305bp-54, -0x1.f2b3182d8dee8p-53,
    0x1.cfa4e422fc5ep-54, -0x1.8dee81d1081b4p-53, 0x1.7e2ef7e4a0ec8p-53,
    -0x1.081b5f13801dcp-53, 0x1.41d8ffc4bfffp-54, 0x1.ff897ffde05ap-55,
    -0x1.a00087e99fc04p-53, -0x1.0fd33f8086878p-54, -0x1.9fc04343b9d28p-53,
    -0x1.0d0ee74a5f59p-55, 0x1.18b5a0a6d1f7p-55, 0x1.6829b47db4dap-53,
    0x1.b47db4d9fb3c8p-53, 0x1.b4d9fb3c9f2c4p-53, 0x1.fb3c9f2c26dd4p-53,
    0x1.3e584dba7a32p-54, 0x1.36e9e8c7ecd4p-56, 0x1.3d18fd9a797fcp-53,
    0x1.fb34f2ff516b8p-54, -0x1.8680574a2b61p-53, -0x1.5d28ad845381p-55,
    0x1.d49eeb1faf97cp-53, -0x1.14e050683a13p-53, -0x1.41a0e84c2f8cp-55,
    -0x1.d0985f18c10ep-56
  },
  {
    0x1.4a7f09d5f47d5p-105, -0x1.ec54170565912p-106, 0x1.f47d4d377036ep-105,
    0x1.4d377036d8a56p-105, -0x1.1f924eb53361ep-106, -0x1.275a99b0ef1bfp-105,
    0x1.664f10e4107f9p-105, -0x1.de37df00d74e3p-106, 0x1.07f9458eaf7afp-109,
    -0x1.ae9c5421443aap-107, 0x1.d5ef5de2b0db9p-106, -0x1.443a9e48db91cp-107,
    0x1.586dc91b8e909p-105, 0x1.c91b8e909374cp-105, -0x1.c5bdb22d1ff9bp-107,
    0x1.26e9700324977p-106, 0x1.700324977504fp-106, 0x1.924bba8274648p-105,
    -0x1.15f62e6de301ep-107, -0x1.8b9b78c078854p-105, 0x1.0e7f0ef58e589p-106,
    -0x1.e214e34ed658cp-107, -0x1.38d3b5963045ep-105, 0x1.29a73ee88235fp-107,
    0x1.cfba208d7d4bbp-105, -0x1.df7282b4512eep-105, 0x1.7d4baed1213a6p-105,
    -0x1.44bb7b16638fep-107, 0x1.213a671c09ad1p-105, -0x1.98e3f652e8207p-105,
    0x1.35a2fbf209cc9p-110, 0x1.17df904e64759p-105, -0x1.bec66e29c67cbp-107,
    -0x1.9b8a719f2b318p-105, 0x1.8e60d4ce7d272p-105, 0x1.a99cfa4e422fcp-106,
    -0x1.82d8dee81d108p-105, -0x1.bdd03a21036bep-106, -0x1.d1081b5f13802p-109,
    -0x1.036be27003b4p-106, -0x1.f13801da00088p-105, -0x1.da00087e99fcp-113,
    0x1.fff7816603fbdp-105, -0x1.fa67f010d0ee7p-107, -0x1.fc04343b9d298p-105,
    -0x1.a1dce94beb25cp-108, 0x1.8b5a0a6d1f6d3p-107, -0x1.7d64b824b2605p-105,
    -0x1.704964c0986c2p-106, -0x1.64c0986c1a7b2p-106, -0x1.30d834f648b0cp-107,
    0x1.f2c26dd3d18fep-105, -0x1.922c2e7026587p-105, -0x1.738132c3402bap-108,
    -0x1.32c3402ba515bp-108, -0x1.a015d28ad8454p-107, -0x1.74a2b6114e05p-105,
    0x1.49eeb1faf97c6p-105, -0x1.4e050683a130cp-105, -0x1.0683a130be318p-105,
    0x1.7b3d0739f78a5p-107, -0x1.7c63043ad6b69p-106, -0x1.821d6b5b4565p-105,
    -0x1.6b5b456501281p-105
  },
  {
    -0x1.6447e493ad4cep-160, 0x1.b6c52b3278872p-164, -0x1.d6a66c3bc6fbep-159,
    0x1.93c439041fe51p-159, 0x1.c820ff28b1d5fp-162, 0x1.fe5163abdebbcp-163,
    0x1.163abdebbc562p-159, 0x1.7bd778ac36e49p-160, -0x1.d4f246dc8e2dfp-166,
    0x1.b7246e3a424ddp-163, 0x1.1b8e909374b8p-161, -0x1.6f6c8b47fe6dbp-161,
    0x1.ba5c00c925dd4p-160, -0x1.ff9b6d115f62ep-159, -0x1.b4457d8b9b78cp-161,
    0x1.413a32439fc3cp-160, -0x1.cdbc603c429c7p-160, 0x1.cfe1deb1cb12ap-159,
    -0x1.0a71a76b2c609p-162, 0x1.cb129a73ee882p-159, 0x1.34e7dd1046beap-160,
    -0x1.177dca0ad144cp-163, 0x1.1afa975da2427p-162, 0x1.4baed1213a672p-161,
    -0x1.2edec598e3f65p-161, 0x1.3a671c09ad17ep-161, 0x1.c7026b45f7e41p-159,
    0x1.ad17df904e647p-161, 0x1.f7e413991d63ap-159, 0x1.3991d63983534p-163,
    -0x1.4e33e566305b2p-166, -0x1.9f2b3182d8defp-161, 0x1.9cfa4e422fc5ep-162,
    -0x1.6c6f740e8840ep-160, 0x1.17e2ef7e4a0ecp-161, 0x1.77bf250763ff1p-160,
    -0x1.b5f13801da001p-161, -0x1.3801da00087eap-161, 0x1.2fffbc0b301fep-164,
    -0x1.0fd33f8086877p-166, 0x1.6603fbcbc462dp-161, -0x1.0d0ee74a5f593p-167,
    -0x1.0ee74a5f592e1p-159, -0x1.297d64b824b26p-161, 0x1.4da3eda6cfd9ep-160,
    -0x1.25930261b069fp-164, 0x1.9fb3c9f2c26ddp-161, 0x1.e4f96136e9e8cp-160,
    0x1.6136e9e8c7ecdp-160, -0x1.161738132c34p-160, 0x1.8fd9a797fa8b6p-161,
    -0x1.961a015d28ad8p-159, 0x1.fea2d7527bac8p-159, -0x1.456c229c0a0dp-162,
    -0x1.14e050683a131p-165, 0x1.faf97c5ecf41dp-161, -0x1.a0e84c2f8c608p-159,
    -0x1.30be31821d6b6p-161, 0x1.ce7de294a4baap-161, -0x1.0eb5ada2b2809p-160,
    0x1.497535fdafd89p-162, 0x1.4d7f6bf623f1bp-160, -0x1.2813b81ca8bdfp-161,
    -0x1.dc0e545ef53fap-160
  },
};
/* clang-format on */
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

/* ---- angles ---- */

/* x = k pi/2 + r + low, |r| <= 0.8.  f32 needs no low part. */
typedef struct FN(SmTurn) {
  REAL k, r, low;
} FN(SmTurn);

/*
 * For |x| <= SM_TRIG_BOUND (Cody and Waite 1980): pi/2 in pieces, and all
 * multiples but the last exact.  Unless x = 0, |r| is above 2^-27 (f32),
 * 2^-56 (f64) there, and what the pieces leave out is below 2^-24, 2^-53 of
 * that.
 */
#if REAL_BITS == 32
/* The same with doubles, for |x| < 2^20. */
SM double FN(sm_turn_wide)(double x, double *k) {
  double z = x * 0x1.45f306dc9c883p-1 + 0x1.8p52;
  *k = z - 0x1.8p52;
  return (x - *k * 0x1.921fb544p+0) - *k * 0x1.0b4611a626331p-34;
}

SM FN(SmTurn) FN(sm_turn_small)(REAL x) {
#if SM_HAS_FMA
  REAL k = SM_FMA(x, TWO_OVER_PI, MAGIC) - MAGIC;
  REAL r = SM_FMA(-k, HALF_PI_LO, SM_FMA(-k, HALF_PI, x));
  FN(SmTurn) t = {k, SM_FMA(-k, -0x1.ee59dap-50f, r), 0};
#else
  double k, r = FN(sm_turn_wide)((double)x, &k);
  FN(SmTurn) t = {(REAL)k, (REAL)r, 0};
#endif
  return t;
}

/* c0 to c3 by the size of a: below 2^50, 2^77, 2^104, and above. */
SM double FN(sm_window)(double a, double c0, double c1, double c2, double c3) {
  double lower = a < 0x1p50 ? c0 : c1, upper = a < 0x1p104 ? c2 : c3;
  return a < 0x1p77 ? lower : upper;
}

/*
 * x = k pi/2 + r for any finite x, k modulo 4 (the idea of Payne and Hanek
 * 1983).  x is a multiple of 2^s, s = 0, 27, 54 or 81 by its size, so 2/pi
 * may be replaced by what 2^s 2/pi leaves modulo 4.  That comes in pieces of
 * 28, 28 and 53 bits, here times 2^-s.  x has 24 bits: the first two products
 * are exact, and so is taking their whole parts away.
 */
SM double FN(sm_turn_huge)(double x, double *k) {
  const double magic = 0x1.8p52;
  double a = fabs(x);
  double p = x * FN(sm_window)(a, 0x1.45f306cp-1, -0x1.1b1bbecp-28,
                               0x1.4a7f09ep-54, -0x1.505c15ap-81);
  double q = x * FN(sm_window)(a, 0x1.c9c882ap-29, 0x1.29fc276p-56,
                               -0x1.4170566p-83, 0x1.377036ep-110);
  double rest =
      x * FN(sm_window)(a, 0x1.4fe13abe8fa9ap-59, -0x1.05c1596447e49p-85,
                        0x1.bb81b6c52b328p-113, -0x1.d6a66c3bc6fbep-140);
  double pk = (p + magic) - magic, qk = (q + magic) - magic;
  p -= pk, q -= qk;
  double both = (p + q + magic) - magic, n = pk + qk + both;
  *k = n - 4 * ((n * 0.25 + magic) - magic);
  return (((p - both) + q) + rest) * 0x1.921fb54442d18p+0;
}

/* Any x.  Within the bound the same bits as sm_turn_small. */
SM FN(SmTurn) FN(sm_turn)(REAL x) {
  FN(SmTurn) t = FN(sm_turn_small)(x);
  bool huge = CFN(fabs)(x) > SM_TRIG_BOUND_F32;
#if SM_BRANCH
  if (!huge) return t;
#endif
  double k, r = FN(sm_turn_huge)((double)x, &k);
  t.k = huge ? (REAL)k : t.k;
  t.r = huge ? (REAL)r : t.r;
  return t;
}
#else
SM FN(SmTurn) FN(sm_turn_small)(REAL x) {
  REAL k = SM_FMA(x, TWO_OVER_PI, MAGIC) - MAGIC;
#if SM_HAS_FMA
  REAL a = SM_FMA(-k, HALF_PI, x), b = k * HALF_PI_LO, r = a - b;
  REAL low = ((a - r) - b) - SM_FMA(k, HALF_PI_LO, -b);
  low = SM_FMA(-k, -0x1.f1976b7ed8fbcp-110, low);
#else
  /* 33 bits each: exact for k below 2^20 */
  REAL a = x - k * 0x1.921fb544p+0, b = k * 0x1.0b4611a6p-34;
  REAL c = k * 0x1.3198a2ep-69, r = a - b, low = (a - r) - b;
  REAL d = r - c;
  low = low + ((r - d) - c) - k * 0x1.b839a252049c1p-104;
  r = d;
#endif
  REAL sum = r + low;
  FN(SmTurn) t = {k, sum, (r - sum) + low};
  return t;
}

/*
 * Any x, k modulo 2^20 (the idea of Payne and Hanek 1983).  x = m 2^s with
 * s = 16 j - 1075 and m whole, below 2^69: so 2/pi may be replaced by what
 * 2^s 2/pi leaves modulo 4, four words a row.  Their products with m come
 * with their rounding errors.  Whole numbers drop out of the first, and the
 * second is so cut that the sums stay exact where they cancel.
 * Within the bound the same bits as sm_turn_small.
 */
SM FN(SmTurn) FN(sm_turn)(REAL x) {
  FN(SmTurn) t = FN(sm_turn_small)(x);
  bool huge = CFN(fabs)(x) > SM_TRIG_BOUND_F64;
#if SM_BRANCH
  if (!huge) return t;
#endif
  BITS bits = FN(sm_bits)(CFN(fabs)(x));
  const BITS j = (bits >> 56) & 63;
  REAL m = FN(sm_real)((bits & 0x00ffffffffffffffu) + ((BITS)1075 << 52));
  REAL e0, e1, e2, p0 = FN(sm_product)(m, sm_two_over_pi[0][j], &e0);
  REAL p1 = FN(sm_product)(m, sm_two_over_pi[1][j], &e1);
  REAL p2 = FN(sm_product)(m, sm_two_over_pi[2][j], &e2);
  REAL p3 = m * sm_two_over_pi[3][j];
  p0 -= (p0 + 0x1.8p72) - 0x1.8p72; /* a multiple of 2^20 */
  REAL k0 = FN(sm_near)(p0), k1 = FN(sm_near)(e0), k2 = FN(sm_near)(p1);
  REAL a = (p0 - k0) + (e0 - k1), b = p1 - k2; /* a is exact */
  REAL k3 = FN(sm_near)(a + b);
  a -= k3;
  REAL c = a + b, lost = FN(sm_sum_rest)(a, b, c);
  REAL d = e1 + p2, less = FN(sm_sum_rest)(e1, p2, d);
  REAL high = c + d, rest = FN(sm_sum_rest)(c, d, high);
  rest = rest + (lost + less + e2 + p3);
  REAL r = high * HALF_PI;
  REAL low = SM_FMA(high, HALF_PI_LO, rest * HALF_PI);
  (void)FN(sm_product)(high, HALF_PI, &e0);
  low += e0;
  REAL sign = CFN(copysign)(C(1), x), sum = r + low;
  t.k = FN(sm_select)(huge, sign * (k0 + k1 + k2 + k3), t.k);
  t.low = FN(sm_select)(huge, sign * ((r - sum) + low), t.low);
  sum = x - x == 0 ? sign * sum : C(NAN); /* infinity has bits too */
  t.r = FN(sm_select)(huge, sum, t.r);
  return t;
}
#endif

/* sin(k pi/2 + r) from quadrant k on; `from` 1 gives the cosine. */
SM REAL FN(sm_sin_turn)(FN(SmTurn) t, BITS from) {
  REAL r = t.r, z = r * r;
#if REAL_BITS == 64
  /* (sin r - r) / r^3: 2^-57.3; (cos r - 1 + z/2) / z^2: 2^-59.5 */
  REAL s = 0x1.5d7407854b6d4p-33, c = -0x1.8f81b3d2f0387p-37;
  STEP(s, z, -0x1.ae5dfd31aedb8p-26);
  STEP(s, z, 0x1.71de34f44cfefp-19);
  STEP(s, z, -0x1.a01a019b7dd14p-13);
  STEP(s, z, 0x1.111111110f4p-7);
  STEP(s, z, -0x1.5555555555546p-3);
  STEP(c, z, 0x1.1ee994b567c5fp-29);
  STEP(c, z, -0x1.27e4f788e960cp-22);
  STEP(c, z, 0x1.a01a019bfe02cp-16);
  STEP(c, z, -0x1.6c16c16c14a4p-10);
  STEP(c, z, 0x1.5555555555548p-5);
  REAL sine = r + SM_FMA(r * z, s, t.low);
  REAL cosine = 1 - SM_FMA(C(0.5), z, SM_FMA(-z * z, c, r * t.low));
#else
  /* the same: 2^-27.7, 2^-30 */
  REAL s = -0x1.99138p-13f, c = 0x1.99b4d6p-16f;
  STEP(s, z, 0x1.1106b4p-7);
  STEP(s, z, -0x1.555544p-3);
  STEP(c, z, -0x1.6c0b74p-10);
  STEP(c, z, 0x1.555548p-5);
  REAL sine = SM_FMA(r * z, s, r);
  REAL cosine = 1 - SM_FMA(C(0.5), z, -z * z * c);
#endif
  BITS quadrant = FN(sm_bits)(t.k + MAGIC) + from;
  REAL y = FN(sm_select)((quadrant & 1) != 0, cosine, sine);
  return FN(sm_real)(FN(sm_bits)(y) ^ ((quadrant & 2) << (REAL_BITS - 2)));
}

/* Zero keeps its sign. */
SM REAL FN(sm_sin)(REAL x) {
  return FN(sm_select)(x == 0, x, FN(sm_sin_turn)(FN(sm_turn)(x), 0));
}

SM REAL FN(sm_cos)(REAL x) { return FN(sm_sin_turn)(FN(sm_turn)(x), 1); }

/*
 * Faster, the same bits, for |x| <= SM_TRIG_BOUND_F32, _F64: for a loop that
 * has looked at its whole tile before.  NaN passes.
 */
SM REAL FN(sm_sin_small)(REAL x) {
  return x == 0 ? x : FN(sm_sin_turn)(FN(sm_turn_small)(x), 0);
}

SM REAL FN(sm_cos_small)(REAL x) {
  return FN(sm_sin_turn)(FN(sm_turn_small)(x), 1);
}

/* tan(k pi/2 + r) is tan r or -1 / tan r.  f32 in doubles throughout. */
#if REAL_BITS == 64
SM REAL FN(sm_tan)(REAL x) {
  FN(SmTurn) t = FN(sm_turn)(x);
  /* (tan r - r) / r^3 in r^2: 2^-56 */
  REAL r = t.r, z = r * r, p = 0x1.497fa1a0c6376p-17;
  STEP(p, z, -0x1.98fea236b2203p-16);
  STEP(p, z, 0x1.99f18f403f82ep-15);
  STEP(p, z, -0x1.b33f3c78340b5p-16);
  STEP(p, z, 0x1.1b1463cbc3c9dp-14);
  STEP(p, z, 0x1.5dc99e43b17c7p-14);
  STEP(p, z, 0x1.ff5489cf3b09bp-13);
  STEP(p, z, 0x1.34b927866957fp-11);
  STEP(p, z, 0x1.7db1e2900260ap-10);
  STEP(p, z, 0x1.d6d2e130cdb4bp-9);
  STEP(p, z, 0x1.226e3aad417c6p-7);
  STEP(p, z, 0x1.664f485ba73d6p-6);
  STEP(p, z, 0x1.ba1ba1bac6e37p-5);
  STEP(p, z, 0x1.1111111110532p-3);
  STEP(p, z, 0x1.555555555555fp-2);
  REAL cube = r * z * p, rough = r + cube;
  REAL y = r + (cube + SM_FMA(rough * rough, t.low, t.low));
  BITS odd = FN(sm_bits)(t.k + MAGIC) & 1;
  y = odd != 0 ? -1 / y : y;
  return FN(sm_select)(x == 0, x, y);
}
#else
SM REAL FN(sm_tan)(REAL x) {
  double k, r = FN(sm_turn_wide)((double)x, &k);
  bool huge = CFN(fabs)(x) > SM_TRIG_BOUND_F32;
#if SM_BRANCH
  if (huge)
#endif
  {
    double huge_k, huge_r = FN(sm_turn_huge)((double)x, &huge_k);
    r = huge ? huge_r : r, k = huge ? huge_k : k;
  }
  /* (tan r - r) / r^3 in r^2: 2^-32.7 */
  double z = r * r, p = 0x1.1b0cae2f07987p-9;
  p = p * z - 0x1.caa666bf727fap-11;
  p = p * z + 0x1.589becccc521ap-8;
  p = p * z + 0x1.0cb91e2aa2569p-7;
  p = p * z + 0x1.68c5e833df744p-6;
  p = p * z + 0x1.b9f47c4f05a9cp-5;
  p = p * z + 0x1.1111a6880d50ep-3;
  p = p * z + 0x1.555553d08285dp-2;
  double y = r + r * z * p;
  double odd = k * 0.5 - ((k * 0.5 + 0x1.8p52) - 0x1.8p52); /* 0 if even */
  y = odd != 0 ? -1 / y : y;
  return x == 0 ? x : (REAL)y;
}
#endif

/* (atan t - t) / t^3 in z = t^2, |t| <= 1/2: 2^-27.1, 2^-56.7. */
SM REAL FN(sm_atan_rest)(REAL z) {
#if REAL_BITS == 64
  REAL p = 0x1.4bfe43a4a82c3p-7;
  STEP(p, z, -0x1.c1dc84b85bcffp-6);
  STEP(p, z, 0x1.571480f77f8fep-5);
  STEP(p, z, -0x1.a3a4167213d2cp-5);
  STEP(p, z, 0x1.dfec486e7c436p-5);
  STEP(p, z, -0x1.10f3584873f91p-4);
  STEP(p, z, 0x1.3b1143c94ee22p-4);
  STEP(p, z, -0x1.745cf535f1266p-4);
  STEP(p, z, 0x1.c71c70958c7d1p-4);
  STEP(p, z, -0x1.249249216ce49p-3);
  STEP(p, z, 0x1.9999999991449p-3);
  STEP(p, z, -0x1.5555555555518p-2);
#else
  REAL p = -0x1.a51898p-5f;
  STEP(p, z, 0x1.a0599ep-4);
  STEP(p, z, -0x1.225338p-3);
  STEP(p, z, 0x1.997bc8p-3);
  STEP(p, z, -0x1.555514p-2);
#endif
  return p;
}

/*
 * atan(a / b) for 0 <= a <= b, turned by pi/4 above 1/2.  The turn acts on a
 * and b, before the division, which saves a rounding.
 */
SM REAL FN(sm_atan_ratio)(REAL a, REAL b) {
  REAL turned = a > C(0.5) * b ? C(1) : C(0);
  REAL t = (turned != 0 ? a - b : a) / (turned != 0 ? a + b : b);
  t = b == 0 ? C(0) : t;
  REAL z = t * t;
  REAL tail = SM_FMA(t * z, FN(sm_atan_rest)(z), turned * (HALF_PI_LO / 2));
  return turned * (HALF_PI / 2) + (t + tail);
}

SM REAL FN(sm_atan2)(REAL y, REAL x) {
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

SM REAL FN(sm_atan)(REAL x) {
  REAL ax = CFN(fabs)(x);
  REAL a = ax > 1 ? C(1) : ax, b = ax > 1 ? ax : C(1);
  b = b > HUGE_SCALE ? HUGE_SCALE : b;
  REAL t = FN(sm_atan_ratio)(a, b);
  t = ax > 1 ? HALF_PI - (t - HALF_PI_LO) : t;
  return CFN(copysign)(t, x);
}

/* (asin x - x) / x^3 in z = x^2, |x| <= 1/2: 2^-27.2, 2^-59.1. */
SM REAL FN(sm_asin_rest)(REAL z) {
#if REAL_BITS == 64
  REAL p = 0x1.0be582e355bb4p-5;
  STEP(p, z, -0x1.59fa239b21e31p-6);
  STEP(p, z, 0x1.6504a0eee0f97p-6);
  STEP(p, z, 0x1.e15260b30db6bp-9);
  STEP(p, z, 0x1.618b56b74e2dap-7);
  STEP(p, z, 0x1.75776fe9c7e98p-7);
  STEP(p, z, 0x1.ca214819afc35p-7);
  STEP(p, z, 0x1.1c49ddd53cc0ep-6);
  STEP(p, z, 0x1.6e8bdfe95efc6p-6);
  STEP(p, z, 0x1.f1c71a8b7ef15p-6);
  STEP(p, z, 0x1.6db6db722bc82p-5);
  STEP(p, z, 0x1.333333332df0ap-4);
  STEP(p, z, 0x1.5555555555578p-3);
#else
  REAL p = 0x1.59f3c2p-5f;
  STEP(p, z, 0x1.8b86cap-6);
  STEP(p, z, 0x1.748efcp-5);
  STEP(p, z, 0x1.330136p-4);
  STEP(p, z, 0x1.5555cap-3);
#endif
  return p;
}

/* Above 1/2: asin a = pi/2 - 2 asin(sqrt((1 - a) / 2)).  Above 1: NaN. */
SM REAL FN(sm_asin)(REAL x) {
  REAL a = CFN(fabs)(x), half = C(0.5) * (1 - a);
  REAL z = a > C(0.5) ? half : a * a;
  REAL s = a > C(0.5) ? CFN(sqrt)(half) : a;
  REAL tail = s * z * FN(sm_asin_rest)(z);
  REAL large = HALF_PI - (2 * s - (HALF_PI_LO - 2 * tail));
  return CFN(copysign)(a > C(0.5) ? large : s + tail, x);
}

SM REAL FN(sm_acos)(REAL x) {
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

SM REAL FN(sm_sqrt)(REAL x) { return CFN(sqrt)(x); }

/* -0 gives -infinity, as IEEE 754 has it. */
SM REAL FN(sm_rsqrt)(REAL x) { return 1 / CFN(sqrt)(x); }

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

/* ---- the normal distribution ---- */

/* erf(x) / x - 1 in z = x^2, |x| <= 1: 2^-26.1, 2^-56. */
SM REAL FN(sm_erf_rest)(REAL z) {
#if REAL_BITS == 64
  REAL p = 0x1.062759c5be8ecp-34;
  STEP(p, z, -0x1.38ac2290d3965p-30);
  STEP(p, z, 0x1.f7b99d7c8709ap-27);
  STEP(p, z, -0x1.5f1f40faeea79p-23);
  STEP(p, z, 0x1.b9df305cad6f7p-20);
  STEP(p, z, -0x1.f4d1e434bc0cfp-17);
  STEP(p, z, 0x1.f9a321e4b84f9p-14);
  STEP(p, z, -0x1.c02db3db49762p-11);
  STEP(p, z, 0x1.565bcd0dbd921p-8);
  STEP(p, z, -0x1.b82ce31284f38p-6);
  STEP(p, z, 0x1.ce2f21a042b34p-4);
  STEP(p, z, -0x1.812746b0379e6p-2);
  STEP(p, z, 0x1.06eba8214db69p-3);
#else
  REAL p = 0x1.4ae4c6p-14f;
  STEP(p, z, -0x1.a485f8p-11);
  STEP(p, z, 0x1.5419fap-8);
  STEP(p, z, -0x1.b7fbb6p-6);
  STEP(p, z, 0x1.ce2d2p-4);
  STEP(p, z, -0x1.81273ep-2);
  STEP(p, z, 0x1.06eba8p-3);
#endif
  return p;
}

/* -log(1 - erf a) for a from 1 to where erf rounds to 1; times 1 - erf a,
 * the error is below 2^-27, 2^-57.7. */
SM REAL FN(sm_erf_exponent)(REAL a) {
#if REAL_BITS == 64
  REAL p = 0x1.995ee6a87fa72p-43;
  STEP(p, a, -0x1.3f97711a6033bp-37);
  STEP(p, a, 0x1.d62614b6c68bp-33);
  STEP(p, a, -0x1.b119ee994a3c7p-29);
  STEP(p, a, 0x1.17efd0e54bc15p-25);
  STEP(p, a, -0x1.0d4df3f49fc03p-22);
  STEP(p, a, 0x1.8e3ec8558f6e8p-20);
  STEP(p, a, -0x1.cb12af1e9f282p-18);
  STEP(p, a, 0x1.9a700478bc405p-16);
  STEP(p, a, -0x1.11a37c42cbcaap-14);
  STEP(p, a, 0x1.d4e4c031584d7p-14);
  STEP(p, a, -0x1.8dff7dc8fe36fp-16);
  STEP(p, a, -0x1.205e679fb6197p-11);
  STEP(p, a, 0x1.b66a1038abb59p-10);
  STEP(p, a, -0x1.a3b2aafe5c793p-13);
  STEP(p, a, -0x1.396ad317fdd4fp-6);
  STEP(p, a, 0x1.a4f3bce814dddp-4);
  STEP(p, a, 0x1.45f31f43e86e5p-1);
  STEP(p, a, 0x1.20dd71a04ce23p+0);
  STEP(p, a, 0x1.8a56fa811f4f6p-26);
#else
  REAL p = -0x1.896f1p-13f;
  STEP(p, a, 0x1.83fca8p-9);
  STEP(p, a, -0x1.66a3acp-6);
  STEP(p, a, 0x1.a6c81p-4);
  STEP(p, a, 0x1.46a98cp-1);
  STEP(p, a, 0x1.208e52p+0);
  STEP(p, a, 0x1.502836p-12);
#endif
  return p;
}

SM REAL FN(sm_erf)(REAL x) {
  const REAL last = REAL_BITS == 64 ? C(6) : C(3.95);
  REAL a = CFN(fabs)(x), z;
  REAL small = SM_FMA(a, FN(sm_erf_rest)(a * a), a);
  REAL c = a > last ? last : a;
  REAL r = FN(sm_exp_reduce)(-FN(sm_erf_exponent)(c), &z);
  REAL scale = FN(sm_pow2)(z, 0);
  REAL large = 1 - (scale + scale * FN(sm_exp_series)(r));
  return CFN(copysign)(a < 1 ? small : large, x);
}

/* A number in two words: high + low. */
typedef struct FN(SmPair) {
  REAL high, low;
} FN(SmPair);

/*
 * Phi(-x) e^(x^2 / 2) / scale for x >= 0, Phi the normal distribution: a
 * polynomial over x + 4, in t = (x - 4) / (x + 4) (after Shepherd and
 * Laframboise 1981), to 2^-26.8 (f32), 2^-59.3 (f64).  With x, k = 4 scale;
 * so erfc need not multiply x by the root of 2 first.  The roundings that
 * count (of 1 / (x + k), of the last sum and product) are kept.
 */
SM FN(SmPair) FN(sm_normal_scaled)(REAL x, REAL k, REAL k_low) {
  REAL d = x + k, d_low = FN(sm_sum_rest)(x, k, d) + k_low, inverse = 1 / d;
  REAL back_low, back = FN(sm_product)(inverse, d, &back_low);
  REAL rest = ((1 - back) - back_low) - inverse * d_low; /* of inverse */
  REAL t = SM_FMA(-2 * k, inverse, C(1));
  t = SM_FMA(-2 * inverse, SM_FMA(k, rest, k_low), t);
#if REAL_BITS == 64
  REAL p = -0x1.716647a61daf3p-31;
  STEP(p, t, -0x1.4c641a4aed621p-29);
  STEP(p, t, 0x1.e3cc07f4c8393p-30);
  STEP(p, t, 0x1.4a77768bf92adp-26);
  STEP(p, t, 0x1.ce335c2b39306p-27);
  STEP(p, t, -0x1.6c2d8f03469b5p-24);
  STEP(p, t, -0x1.4cec2ab68e65ap-23);
  STEP(p, t, 0x1.233e7ba615723p-22);
  STEP(p, t, 0x1.1236cc5abf9aap-20);
  STEP(p, t, -0x1.51e4d409eb2ecp-21);
  STEP(p, t, -0x1.8d4b22c2892eep-18);
  STEP(p, t, 0x1.80b1ac4bcfe42p-21);
  STEP(p, t, 0x1.26d099a2c2d65p-15);
  STEP(p, t, -0x1.001e4c72e174fp-19);
  STEP(p, t, -0x1.e4a42570c3d25p-13);
  STEP(p, t, 0x1.17a4ae2c60a7ap-13);
  STEP(p, t, 0x1.ab825fc1053dep-10);
  STEP(p, t, -0x1.c81719d541d65p-9);
  STEP(p, t, -0x1.ee2761047f60cp-8);
  STEP(p, t, 0x1.eec4cc3e4d227p-5);
  STEP(p, t, -0x1.7dff2bff68398p-3);
  STEP(p, t, 0x1.8c6dbf2cfc2b4p-2);
  STEP(p, t, -0x1.373e3a893c28ap-1);
  STEP(p, t, -0x1.990ea270aca77p-56);
  const REAL head = 0x1.82b4bb8c94dcep-1;
#else
  REAL p = -0x1.15699p-13f;
  STEP(p, t, 0x1.76c122p-13);
  STEP(p, t, 0x1.9b7ccap-10);
  STEP(p, t, -0x1.cc5b14p-9);
  STEP(p, t, -0x1.ed2a1ap-8);
  STEP(p, t, 0x1.eed3ecp-5);
  STEP(p, t, -0x1.7e0004p-3);
  STEP(p, t, 0x1.8c6d9ep-2);
  STEP(p, t, -0x1.373e38p-1);
  STEP(p, t, -0x1.cdac8c8cc8751p-27);
  const REAL head = 0x1.82b4bcp-1f;
#endif
  FN(SmPair) y;
  y.high = FN(sm_product)(head + p, inverse, &y.low);
  y.low += SM_FMA(y.high, rest, ((head - (head + p)) + p) * inverse);
  return y;
}

/* factor e^-(high + low) for high >= 0; may be subnormal. */
SM REAL FN(sm_exp_negative)(REAL high, REAL low, FN(SmPair) factor) {
  REAL z, a, b, r = FN(sm_exp_reduce)(-high, &z) - low;
  FN(sm_pow2_pair)(z, &a, &b);
  REAL rest = SM_FMA(factor.high, FN(sm_exp_series)(r), factor.low);
  return (factor.high + rest) * a * b;
}

/* 1 - erf x, to 4 ulp (3.3 seen): by e^-x^2 away from zero. */
SM REAL FN(sm_erfc)(REAL x) {
  const REAL last = REAL_BITS == 64 ? C(27.3) : C(10.2);
  REAL a = CFN(fabs)(x), c = a > last ? last : a, low, lost;
  REAL high = FN(sm_product)(c, c, &low);
  FN(SmPair) s = FN(sm_normal_scaled)(c, 2 * ROOT2, 2 * ROOT2_LO);
  REAL value = FN(sm_product)(s.high, ROOT2, &lost);
  s.low = SM_FMA(s.low, ROOT2, s.high * ROOT2_LO) + lost;
  s.high = value;
  REAL tail = FN(sm_exp_negative)(high, low, s);
  REAL near = 1 - SM_FMA(x, FN(sm_erf_rest)(x * x), x);
  REAL far = x < 0 ? 2 - tail : tail;
  return a < C(0.5) ? near : far;
}

/* x (1 - tail) for x > 0, x tail below; c is |x|, bounded. */
SM REAL FN(sm_gate)(REAL x, REAL c, REAL tail) {
  return x > 0 ? x - c * tail : CFN(copysign)(c, x) * tail;
}

/*
 * x Phi(x), Phi the normal distribution: Phi(-a) = e^(-a^2 / 2) times half
 * the scaled erfc of a / sqrt 2.  The square keeps its rounding error, which
 * would otherwise grow with it.
 */
SM REAL FN(sm_gelu)(REAL x) {
  const REAL last = REAL_BITS == 64 ? C(38.6) : C(14.4);
  REAL a = CFN(fabs)(x), low;
  a = a > last ? last : a;
  REAL half = C(0.5) * FN(sm_product)(a, a, &low);
  FN(SmPair) s = FN(sm_normal_scaled)(a, 4, 0);
  REAL tail = FN(sm_exp_negative)(half, C(0.5) * low, s);
  return FN(sm_gate)(x, a, tail);
}

/*
 * x sigmoid(2 u), u = sqrt(2 / pi) (x + 0.044715 x^3) (Hendrycks and Gimpel
 * 2016).  2 u = a (c1 + c3 a^2) in two words: one would lose 2 |u| ulp.
 */
SM REAL FN(sm_gelu_tanh)(REAL x) {
#if REAL_BITS == 64
  const REAL c1 = 0x1.9884533d43651p+0, c1_low = -0x1.cbc0d30ebfd15p-54;
  const REAL c3 = 0x1.2444f2a4d8b4bp-4, c3_low = -0x1.6c843a29d1c70p-61;
  const REAL last = 22;
#else
  const REAL c1 = 0x1.988454p+0f, c1_low = -0x1.857936p-25f;
  const REAL c3 = 0x1.2444f2p-4f, c3_low = 0x1.49b16ap-29f;
  const REAL last = 11;
#endif
  REAL a = CFN(fabs)(x), s_low, w_low, v_low;
  a = a > last ? last : a;
  REAL s = FN(sm_product)(a, a, &s_low), w = FN(sm_product)(c3, s, &w_low);
  w_low += SM_FMA(c3, s_low, c3_low * s);
  REAL g = c1 + w, g_low = FN(sm_sum_rest)(c1, w, g) + (w_low + c1_low);
  REAL v = FN(sm_product)(a, g, &v_low);
  v_low = SM_FMA(a, g_low, v_low);
  return FN(sm_gate)(x, a, FN(sm_logistic_tail)(v, v_low));
}

SM REAL FN(sm_silu)(REAL x) {
  REAL a = CFN(fabs)(x);
  a = a > -EXP_MIN ? -EXP_MIN : a;
  return FN(sm_gate)(x, a, FN(sm_logistic_tail)(a, 0));
}

/*
 * log(1 + e^x) = max(x, 0) + log(1 + e), e = e^-|x| <= 1, and that is
 * 2 atanh s = 2 s + 2 s z p(z), s = e / (2 + e) <= 1/3, z = s^2.
 */
SM REAL FN(sm_softplus)(REAL x) {
  REAL e = FN(sm_exp)(-CFN(fabs)(x)), s = e / (2 + e), z = s * s;
#if REAL_BITS == 64
  /* (atanh(s) / s - 1) / z: 2^-57.9, f32 2^-27.6 */
  REAL p = 0x1.5c8fb42bf4664p-4;
  STEP(p, z, 0x1.5596afa8674b7p-5);
  STEP(p, z, 0x1.efdec2ea3b94cp-5);
  STEP(p, z, 0x1.1067550cc9ea3p-4);
  STEP(p, z, 0x1.3b1de493acf4dp-4);
  STEP(p, z, 0x1.745cb38adbb5cp-4);
  STEP(p, z, 0x1.c71c741fff158p-4);
  STEP(p, z, 0x1.249249208497ep-3);
  STEP(p, z, 0x1.99999999a085ap-3);
  STEP(p, z, 0x1.5555555555535p-2);
#else
  REAL p = 0x1.1efa3cp-3f;
  STEP(p, z, 0x1.1eb5bcp-3);
  STEP(p, z, 0x1.99d28p-3);
  STEP(p, z, 0x1.5555p-2);
#endif
  REAL tail = 2 * SM_FMA(s * z, p, s);
  return x > 0 ? x + tail : tail;
}

/* log(sigmoid x) = -softplus(-x). */
SM REAL FN(sm_logsigmoid)(REAL x) { return -FN(sm_softplus)(-x); }

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
