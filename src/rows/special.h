/* special.h: the normal distribution, activations, and other functions that
 * are made of exponentials and logarithms.
 *
 * A part of smath.h, which includes it once per type, after all others.
 * Must not know: rows, tensors, loops.
 */

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

/* x tanh(log(1 + e^x)), by e = e^-|x|: tanh is n / d without its logarithm. */
SM REAL FN(sm_mish)(REAL x) {
  REAL c = x < EXP_MIN ? EXP_MIN : x, e = FN(sm_exp)(-CFN(fabs)(c));
  REAL n = c > 0 ? 1 + 2 * e : e * (e + 2);
  REAL d = n + (c > 0 ? 2 * e * e : C(2));
  return c * (n / d);
}

/* log(e^x + e^y), to 4 ulp of the greater of |x|, |y| and log 2. */
SM REAL FN(sm_logaddexp)(REAL x, REAL y) {
  REAL apart = x == y ? C(0) : CFN(fabs)(x - y), big = x > y ? x : y;
  return big + FN(sm_softplus)(-apart);
}

/*
 * log(x / (1 - x)) to 4 ulp.  Turned to x <= 1/2; near 1/2 by how far the
 * ratio is from 1, which is exact; else the logarithms do not cancel.
 */
SM REAL FN(sm_logit)(REAL x) {
  REAL other = 1 - x, a = x > C(0.5) ? other : x;
  REAL near = 0 - FN(sm_log1p)((1 - 2 * a) / a); /* +0 at 1/2 */
  REAL far = FN(sm_log)(a) - FN(sm_log1p)(-a);
  REAL y = a > C(0.25) ? near : far;
  return x > C(0.5) ? -y : y;
}

/*
 * The y with erf y = x, to 4 ulp.  The first guess (Winitzki 2008, or the line
 * near 0) is good to 0.003, and each step of Halley's rule trebles its digits;
 * one more for f64, where y is large.  Above 1/2 they look at erfc, where
 * 1 - x is exact.
 */
SM REAL FN(sm_erfinv)(REAL x) {
  const REAL half_root_pi = C(0.88622692545275801365);
  const REAL inverse_a = C(6.8027210884353741497); /* 1 / 0.147 */
  REAL a = CFN(fabs)(x), rest = 1 - a, l = FN(sm_log)(rest * (1 + a));
  REAL t = C(4.3307467507) + l / 2; /* 2 / (pi 0.147) */
  REAL y = CFN(sqrt)(CFN(sqrt)(t * t - l * inverse_a) - t);
  y = a < C(0.1) ? a * half_root_pi : y;
  for (int i = 0; i < REAL_BITS / 32 + 1; i++) {
    REAL near = FN(sm_erf)(y) - a, far = rest - FN(sm_erfc)(y);
    REAL u = (a < C(0.5) ? near : far) * half_root_pi * FN(sm_exp)(y * y);
    y -= u / (1 + u * y);
  }
  y = a == 1 ? C(INFINITY) : y;
  return CFN(copysign)(y, x);
}

/* ---- the gamma function ---- */

/* log(gamma(2 + z)) / (z (1 + z)), -1 <= z <= 0: 2^-30, 2^-59. */
SM REAL FN(sm_lgamma_rest)(REAL z) {
#if REAL_BITS == 64
  REAL p = -0x1.0c197c2c13249p-17;
  STEP(p, z, -0x1.2ceb8f3756952p-14);
  STEP(p, z, -0x1.40e537fce93bbp-12);
  STEP(p, z, -0x1.ab10382df7eeep-11);
  STEP(p, z, -0x1.8bf9fbeff7441p-10);
  STEP(p, z, -0x1.0e68f7486ca33p-9);
  STEP(p, z, -0x1.1983bb5a77543p-9);
  STEP(p, z, -0x1.c65bb7f0aabfp-10);
  STEP(p, z, -0x1.21c763d072b8fp-10);
  STEP(p, z, -0x1.1d4b2a2104898p-11);
  STEP(p, z, -0x1.f0068170d4493p-13);
  STEP(p, z, -0x1.f8a03a33b1de8p-16);
  STEP(p, z, -0x1.a22eb01968675p-14);
  STEP(p, z, 0x1.7850b601a6dbap-13);
  STEP(p, z, -0x1.a9e06829f5593p-12);
  STEP(p, z, 0x1.dfe5ac186fdfep-11);
  STEP(p, z, -0x1.14513ecf8134p-9);
  STEP(p, z, 0x1.4797479ed605bp-8);
  STEP(p, z, -0x1.95ce223d52d3ap-7);
  STEP(p, z, 0x1.0e0c9df29091ep-5);
  STEP(p, z, -0x1.9ae6509ea10c3p-4);
  STEP(p, z, 0x1.b0ee6072093cep-2);
#else
  REAL p = 0x1.f73ed6p-11f;
  STEP(p, z, 0x1.ad1a1cp-9);
  STEP(p, z, 0x1.7aec96p-8);
  STEP(p, z, 0x1.44163ep-8);
  STEP(p, z, 0x1.0a93fep-8);
  STEP(p, z, -0x1.ef10d4p-11);
  STEP(p, z, 0x1.58df1ep-8);
  STEP(p, z, -0x1.94acfap-7);
  STEP(p, z, 0x1.0e116cp-5);
  STEP(p, z, -0x1.9ae64p-4);
  STEP(p, z, 0x1.b0ee6p-2);
#endif
  return p;
}

/* What Stirling's formula leaves out, for x >= 8. */
SM REAL FN(sm_stirling_rest)(REAL x) {
  REAL i = 1 / x, z = i * i;
#if REAL_BITS == 64
  REAL p = C(-3617.0 / 122400);
  STEP(p, z, 1.0 / 156);
  STEP(p, z, -691.0 / 360360);
  STEP(p, z, 1.0 / 1188);
  STEP(p, z, -1.0 / 1680);
  STEP(p, z, 1.0 / 1260);
#else
  REAL p = C(1.0 / 1260);
#endif
  STEP(p, z, -1.0 / 360);
  STEP(p, z, 1.0 / 12);
  return i * p;
}

/*
 * log(gamma(x)), x > 0.  Below 8 brought into 1 .. 2 by the recurrence, where
 * the zeros at 1 and 2 are factors: no step up or down rounds z.
 */
SM REAL FN(sm_lgamma_positive)(REAL x) {
  REAL y = x, product = 1;
  for (int i = 0; i < 6; i++) {
    REAL less = y - 1;
    bool down = y >= 2;
    product = down ? product * less : product;
    y = down ? less : y;
  }
  REAL z = x < 1 ? x - 1 : y - 2;
  REAL near = z * (z + 1) * FN(sm_lgamma_rest)(z);
  REAL l = FN(sm_log)(((x < 1) | (x >= 8)) != 0 ? x : product);
  REAL far = (x - C(0.5)) * (l - 1) + C(0.41893853320467274178) +
             FN(sm_stirling_rest)(x); /* (log(2 pi) - 1) / 2 */
  REAL low = x < 1 ? near - l : near + l;
  return x < 8 ? low : (x < C(INFINITY) ? far : x);
}

/*
 * log|gamma(x)|: to 5 ulp for x > 0, below 0 as good as its terms, which
 * cancel near its zeros.  There gamma(x) gamma(-x) is -pi / (x sin(pi x)).
 */
SM REAL FN(sm_lgamma)(REAL x) {
  REAL a = CFN(fabs)(x), r = a - FN(sm_round_even)(a);
  REAL sine = CFN(fabs)(FN(sm_sin)(r * (2 * HALF_PI)));
  bool tiny = a < TINY;
  REAL l = FN(sm_log)(tiny ? a : 2 * HALF_PI / (a * sine));
  REAL above = FN(sm_lgamma_positive)(a);
  REAL below = tiny ? -l : l - above;
  below = ((r == 0) | (a == C(INFINITY))) != 0 ? C(INFINITY) : below;
  return x > 0 ? above : below;
}

/* digamma(x), x > 0: up by the recurrence, then by its asymptotic series. */
SM REAL FN(sm_digamma_positive)(REAL x) {
  REAL y = x, sum = 0;
  for (int i = 0; i < 10; i++) {
    bool up = y < 10;
    sum = up ? sum + 1 / y : sum;
    y = up ? y + 1 : y;
  }
  REAL i = 1 / y, z = i * i, p = C(-1.0 / 12);
  STEP(p, z, 691.0 / 32760);
  STEP(p, z, -1.0 / 132);
  STEP(p, z, 1.0 / 240);
  STEP(p, z, -1.0 / 252);
  STEP(p, z, 1.0 / 120);
  STEP(p, z, -1.0 / 12);
  return FN(sm_log)(y) + (z * p - C(0.5) * i) - sum;
}

/* Below 0: digamma(1 - x) - pi / tan(pi x); minus infinity at its poles. */
SM REAL FN(sm_digamma)(REAL x) {
  REAL r = x == 0 ? x : x - FN(sm_round_even)(x);
  REAL turn = 2 * HALF_PI / FN(sm_tan)(r * (2 * HALF_PI));
  REAL value = FN(sm_digamma_positive)(x > 0 ? x : 1 - x);
  return x > 0 ? value : value - turn;
}

/* The sum of (x + k)^-s over k >= 0, for x > 0 and s > 1: ten terms, then the
 * formula of Euler and Maclaurin. */
SM REAL FN(sm_zeta)(REAL s, REAL x) {
  const REAL even[] = { /* B(2j) / (2j)!, B the numbers of Bernoulli */
      C(1.0 / 12),       C(-1.0 / 720),      C(1.0 / 30240),
      C(-1.0 / 1209600), C(1.0 / 47900160),  C(-691.0 / 1307674368000.0),
      C(1.0 / 74724249600.0), C(-3617.0 / 10670622842880000.0)};
  REAL sum = 0, w = x + 10;
  for (int k = 0; k < 10; k++) sum += FN(sm_pow)(x + (REAL)k, -s);
  REAL last = FN(sm_pow)(w, -s), factor = s / w, rest = C(0.5);
  for (int j = 0; j < 8; j++) {
    const REAL up = s + 2 * (REAL)j;
    rest += factor * even[j];
    factor *= (up + 1) / w * ((up + 2) / w);
  }
  return last == 0 ? sum : sum + last * (w / (s - 1) + rest);
}

/* The same for any x, by the sum over all whole k, which has the period 1. */
SM REAL FN(sm_zeta_any)(REAL s, REAL x, REAL sign) {
  if (x > 0) return FN(sm_zeta)(s, x);
  REAL r = x - FN(sm_round_even)(x);
  REAL both = FN(sm_zeta)(s, 1 - r) - FN(sm_zeta)(s, 1 - x);
  return FN(sm_pow)(r, -s) + FN(sm_zeta)(s, 1 + r) + sign * both;
}

/* The n-th derivative of digamma: (-1)^(n + 1) n! zeta(n + 1, x). */
SM REAL FN(sm_polygamma)(REAL n, REAL x) {
  if (n == 0) return FN(sm_digamma)(x);
  if (!(n > 0) || n > 200 || n != FN(sm_round_even)(n)) return C(NAN);
  REAL factorial = 1;
  for (int k = 2; k <= (int)n; k++) factorial *= (REAL)k;
  const REAL sign = ((int)n & 1) != 0 ? C(1) : C(-1); /* (-1)^(n + 1) */
  return sign * factorial * FN(sm_zeta_any)(n + 1, x, sign);
}

/* ---- sin(pi x) / (pi x) ---- */

/* sin(pi (x + n / 2)), whole and half numbers exactly. */
SM REAL FN(sm_sin_pi)(REAL x, BITS n) {
  REAL turn = x - 2 * FN(sm_round_even)(C(0.5) * x); /* -1 .. 1 */
  REAL k = FN(sm_round_even)(2 * turn), r = turn - C(0.5) * k;
  FN(SmTurn) t;
  t.k = k;
  t.r = FN(sm_product)(r, 2 * HALF_PI, &t.low);
  t.low = SM_FMA(r, 2 * HALF_PI_LO, t.low);
  return FN(sm_sin_turn)(t, n);
}

SM REAL FN(sm_sinc)(REAL x) {
  REAL y = FN(sm_sin_pi)(x, 0) / (x * (2 * HALF_PI));
  return CFN(fabs)(x) < TINY ? C(1) : y; /* below, x pi is inexact */
}

/*
 * The n-th derivative of sin(u) / u, u = pi x, times pi^n.  With s(n) that
 * derivative, u s(n) + n s(n - 1) is sin(u + n pi / 2): good upwards where u is
 * not small; else the series of powers.
 */
SM REAL FN(sm_sinc_slope)(REAL n, REAL x) {
  REAL u = x * (2 * HALF_PI), sum = 0, power = 1, scale = 1;
  const int order = n >= 0 && n < 100 ? (int)n : 0;
  for (int k = 0; k < order; k++) scale *= 2 * HALF_PI;
  if (CFN(fabs)(u) < n + 1) {
    for (int m = 0; m < order + 24; m++) {
      if (((m + order) & 1) == 0)
        sum += ((m + order) & 2) == 0 ? power / (REAL)(m + order + 1)
                                      : -power / (REAL)(m + order + 1);
      power *= u / (REAL)(m + 1);
    }
    return sum * scale;
  }
  REAL s = FN(sm_sin_pi)(x, 0) / u;
  for (int k = 1; k <= order; k++)
    s = (FN(sm_sin_pi)(x, (BITS)k) - (REAL)k * s) / u;
  return s * scale;
}
