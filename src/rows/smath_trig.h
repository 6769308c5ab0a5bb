/* smath_trig.h: angles: sin, cos, tan and their inverses, for any argument.
 *
 * A part of smath.h, which includes it once per type.
 *
 * Full range: sin, cos and tan reduce any finite angle.  The path for huge ones
 * is computed for every element and selected, so loops stay vectors (f64 needs
 * gathers, so without a fused multiply-add it branches and stays scalar).
 * A loop that has seen its whole tile to be small may call sin_small and
 * cos_small: the same bits, two to four times faster.
 * Must not know: rows, tensors, loops.
 */

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
