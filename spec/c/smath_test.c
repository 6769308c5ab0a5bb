/* smath_test.c: rows/smath.h against the C library's long double functions.
 *
 * Every function, both types, each machine level that this processor has:
 * the bound in ulp over bit patterns of all exponents and over the range that
 * matters, then special values.  The file includes itself once per level, and
 * scripts/ulp.c includes it for its tables.
 * Must not know: rows, tensors.
 */
#ifdef LEVEL /* ---- one level: loops over arrays, and a table of them ---- */

#define REAL float
#define REAL_BITS 32
#define FN(name) LEVEL(name##_f32)
#include "rows/smath.h"
#undef REAL
#undef REAL_BITS
#undef FN
#define REAL double
#define REAL_BITS 64
#define FN(name) LEVEL(name##_f64)
#include "rows/smath.h"
#undef REAL
#undef REAL_BITS
#undef FN

#define LOOP(name, type, suffix, call)                               \
  static void LEVEL(loop_##name##suffix)(size_t n, const void *px,   \
                                         const void *py, void *pr) { \
    const type *restrict at_x = px, *restrict at_y = py;             \
    type *restrict at_r = pr;                                        \
    for (size_t i = 0; i < n; i++) {                                 \
      type x = at_x[i], y = at_y[i];                                 \
      (void)y;                                                       \
      at_r[i] = LEVEL(sm_##name##suffix) call;                       \
    }                                                                \
  }
#define BOTH(name, call)        \
  LOOP(name, float, _f32, call) \
  LOOP(name, double, _f64, call)
#define ONE(name, ...) BOTH(name, (x))
#define TWO(name, ...) BOTH(name, (x, y))
FUNCTIONS
#undef ONE
#undef TWO
#undef BOTH
#undef LOOP

static Loop *const LEVEL(loops)[FUNCTION_COUNT][2] = {
#define ONE(name, ...) {LEVEL(loop_##name##_f32), LEVEL(loop_##name##_f64)},
#define TWO ONE
    FUNCTIONS
#undef ONE
#undef TWO
};

#else /* ---- once ---- */

#include <stdlib.h>

#include "check.h"

typedef void Loop(size_t n, const void *x, const void *y, void *r);

/* F(name, reference, lo, hi, bound in ulp, least |result| of the bound).
 * The reference is compiled twice, W being double and long double. */
/* clang-format off */
#define FUNCTIONS                                                             \
  ONE(exp, exp(x), -104, 89, 2, 0)                                            \
  ONE(exp2, exp2(x), -150, 128, 2, 0)                                         \
  ONE(expm1, expm1(x), -4, 4, 2, 0)                                           \
  ONE(log, log(x), 0, 4, 2, 0)                                                \
  ONE(log1p, log1p(x), -1, 4, 2, 0)                                           \
  ONE(log2, log2(x), 0, 4, 2, 0)                                              \
  ONE(log10, log10(x), 0, 4, 2, 0)                                            \
  ONE(sin, sin(x), -100, 100, 2, 0)                                           \
  ONE(cos, cos(x), -100, 100, 2, 0)                                           \
  ONE(tan, tan(x), -100, 100, 2, 0)                                           \
  ONE(asin, asin(x), -1, 1, 2, 0)                                             \
  ONE(acos, acos(x), -1, 1, 2, 0)                                             \
  ONE(atan, atan(x), -8, 8, 2, 0)                                             \
  ONE(sinh, sinh(x), -20, 20, 2, 0)                                           \
  ONE(cosh, cosh(x), -20, 20, 2, 0)                                           \
  ONE(tanh, tanh(x), -8, 8, 2, 0)                                             \
  ONE(sigmoid, 1 / (1 + exp(-x)), -104, 20, 2, 0)                             \
  ONE(erf, erf(x), -5, 5, 2, 0)                                               \
  ONE(erfc, erfc(x), -4, 11, 4, 0)                                            \
  ONE(sqrt, sqrt(x), 0, 4, 0.5, 0)                                            \
  ONE(rsqrt, 1 / sqrt(x), 0, 4, 2, 0)                                         \
  ONE(gelu, gate(x, erfc(x * (W)-0.70710678118654752440084L) / 2), -12, 6, 4, \
      1e-30)                                                                  \
  ONE(gelu_tanh, gate(x, 1 / (1 + exp(-gelu_argument(x)))), -10, 6, 4, 1e-30) \
  ONE(silu, gate(x, 1 / (1 + exp(-x))), -75, 20, 4, 1e-30)                    \
  ONE(softplus, soft(x), -70, 40, 4, 1e-30)                             \
  ONE(logsigmoid, -soft(-x), -40, 70, 4, 1e-30)                         \
  ONE(asinh, asinh(x), -8, 8, 4, 0)                                           \
  ONE(acosh, acosh(x), 1, 8, 4, 0)                                            \
  ONE(atanh, atanh(x), -1, 1, 4, 0)                                           \
  ONE(mish, gate(x, tanh(log1p(exp(x)))), -75, 20, 4, 1e-30)                  \
  ONE(logit, log_ratio(x), 0, 1, 4, 0)                                        \
  ONE(erfinv, (W)inverse_erf(x), -1, 1, 4, 0)                                 \
  ONE(lgamma, lgamma(x), 0, 20, 5, 1)                                         \
  ONE(digamma, (W)digamma(x), 0.1, 20, 16, 1)                                     \
  ONE(sinc, sine_ratio(x), -3, 3, 4, 1e-3)                                    \
  TWO(hypot, hypot(x, y), -4, 4, 2, 0)                                        \
  TWO(logaddexp, log_sum(x, y), 1, 20, 4, 1)                                  \
  TWO(pow, pow(x, y), 0, 10, 2, 0)                                            \
  TWO(atan2, atan2(x, y), -4, 4, 2, 0)                                        \
  ONE(sin_small, sin(x), -100, 100, NO_BOUND, 0)                              \
  ONE(cos_small, cos(x), -100, 100, NO_BOUND, 0)                              \
  ONE(floor, floor(x), -4, 4, 0, 0)                                           \
  ONE(ceil, ceil(x), -4, 4, 0, 0)                                             \
  ONE(trunc, trunc(x), -4, 4, 0, 0)                                           \
  ONE(round_even, rint(x), -4, 4, 0, 0)                                       \
  ONE(abs, fabs(x), -4, 4, 0, 0)                                              \
  ONE(sign, x > 0 ? 1 : x < 0 ? -1 : x, -4, 4, 0, 0)                          \
  ONE(isnan, isnan(x) ? 1 : 0, -4, 4, 0, 0)                                   \
  ONE(isfinite, isfinite(x) ? 1 : 0, -4, 4, 0, 0)                             \
  TWO(copysign, copysign(x, y), -4, 4, 0, 0)                                  \
  TWO(fmod, fmod(x, y), -4, 4, 0, 0)                                          \
  TWO(remainder_floor, floor_mod(x, y), -4, 4, 0.51, 0)
/* clang-format on */

#define NO_BOUND (-1) /* not for every x: no reference */

enum {
#define ONE(name, ...) F_##name,
#define TWO ONE
  FUNCTIONS FUNCTION_COUNT
#undef ONE
#undef TWO
};

#define SM __attribute__((always_inline, unused)) static inline
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define LEVELS 3
#pragma GCC push_options
#pragma GCC optimize("O3")
#define LEVEL(name) base_##name
#include "smath_test.c"
#undef LEVEL
#pragma GCC target("avx2,fma")
#define LEVEL(name) avx2_##name
#include "smath_test.c"
#undef LEVEL
#pragma GCC target("avx512f,avx512dq,avx512bw,avx512vl,prefer-vector-width=512")
#define LEVEL(name) avx512_##name
#include "smath_test.c"
#undef LEVEL
#pragma GCC pop_options
#else
#define LEVELS 1
#define LEVEL(name) base_##name
#include "smath_test.c"
#undef LEVEL
#endif

typedef struct Level {
  const char *name;
  Loop *const (*loops)[2];
  bool usable;
} Level;

static Level levels[LEVELS];

static void find_levels(void) {
  levels[0] = (Level){"base", base_loops, true};
#if LEVELS == 3
  bool fma = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  bool wide = fma && __builtin_cpu_supports("avx512f") &&
              __builtin_cpu_supports("avx512dq") &&
              __builtin_cpu_supports("avx512bw") &&
              __builtin_cpu_supports("avx512vl");
  levels[1] = (Level){"avx2", avx2_loops, fma};
  levels[2] = (Level){"avx512", avx512_loops, wide};
#endif
}

/* ---- references: the C library, in double and long double ---- */

#include <tgmath.h>

typedef struct Function {
  const char *name;
  bool two;
  double lo, hi, bound, least;
  double (*close)(double, double); /* good enough for f32 */
  long double (*closer)(long double, long double);
} Function;

#define gate(x, p) ((x) < -4000 ? (W)-0.0 : (x)-x == 0 ? (x) * (p) : (x))
#define soft(x) ((x) > 0 ? (x) + log1p(exp(-(x))) : log1p(exp(x)))
#define floor_mod(x, y)                                                  \
  (fmod(x, y) == 0                             ? copysign(fmod(x, y), y) \
   : (fmod(x, y) < 0) == ((y) < 0) || isnan(y) ? fmod(x, y)              \
                                               : fmod(x, y) + (y))
#define half_turns(x) ((x) - 2 * rint((x) / 2))
#define PI_W ((W)3.14159265358979323846264338L)
#define sine_ratio(x) \
  ((x) == 0 ? 1 : sin(PI_W * half_turns(x)) / (PI_W * (x)))
#define log_ratio(x) \
  (fabs((x) - (W)0.5) < 0.25 ? 2 * atanh(2 * (x) - 1) : log(x) - log1p(-(x)))
#define log_sum(x, y)                                     \
  (isnan(x) || isnan(y) ? (x) + (y)                       \
   : (x) == (y)         ? (x) + (W)0.6931471805599453094L \
                        : fmax(x, y) + log1p(exp(-fabs((x) - (y)))))
#define gelu_argument(x) \
  ((W)1.59576912160573071176L * ((x) + (W)0.044715L * (x) * (x) * (x)))

/* The y with erf y = x, by halving. */
static long double inverse_erf(long double x) {
  long double low = 0, high = 30;
  if (!(fabsl(x) < 1)) return fabsl(x) == 1 ? x * INFINITY : NAN;
  if (fabsl(x) < 1e-9L) return x * 0.886226925452758013649083742L;
  for (int i = 0; i < 90; i++) {
    const long double y = (low + high) / 2;
    const bool above = fabsl(x) < 0.5L ? erfl(y) > fabsl(x)
                                       : erfcl(y) < 1 - fabsl(x);
    if (above) high = y;
    else low = y;
  }
  return copysignl(low, x);
}

/* The derivative of lgammal: up to 30 and then the asymptotic series; below
 * 0 by the reflection. */
static long double digamma(long double x) {
  const long double pi = 3.14159265358979323846264338L;
  if (x <= 0) {
    const long double r = x - rintl(x);
    return r == 0 ? copysignl(INFINITY, -1 * (x < 0 ? 1 : copysignl(1, x)))
                  : digamma(1 - x) - pi / tanl(pi * r);
  }
  long double sum = 0;
  for (; x < 30; x++) sum -= 1 / x;
  const long double z = 1 / (x * x);
  return sum + logl(x) - 1 / (2 * x) -
         z * (1 / 12.0L -
              z * (1 / 120.0L -
                   z * (1 / 252.0L - z * (1 / 240.0L - z / 132.0L))));
}

#define ONE(name, value, ...)                      \
  static double close_##name(double x, double y) { \
    (void)y;                                       \
    return value;                                  \
  }
#define TWO ONE
#define W double
FUNCTIONS
#undef W
#undef ONE
#define ONE(name, value, ...)                                      \
  static long double closer_##name(long double x, long double y) { \
    (void)y;                                                       \
    return value;                                                  \
  }
#define W long double
FUNCTIONS
#undef W
#undef ONE
#undef TWO

static const Function functions[FUNCTION_COUNT] = {
#define ROW(name, two, lo, hi, bound, least) \
  {#name, two, lo, hi, bound, least, close_##name, closer_##name},
#define ONE(name, value, ...) ROW(name, false, __VA_ARGS__)
#define TWO(name, value, ...) ROW(name, true, __VA_ARGS__)
    FUNCTIONS
#undef ONE
#undef TWO
#undef ROW
};

/* ---- measuring ---- */

__attribute__((unused)) static double get(int type, const void *at, size_t i) {
  return type == 0 ? (double)((const float *)at)[i] : ((const double *)at)[i];
}

static void put(int type, void *at, size_t i, double value) {
  if (type == 0)
    ((float *)at)[i] = (float)value;
  else
    ((double *)at)[i] = value;
}

/* How far got is from want, in units of want's last place.  An infinity
 * stands for the first number beyond the finite ones; a zero of the wrong
 * sign, or NaN on one side only, is infinitely far. */
static double ulps(int type, double got, long double want) {
  int digits = type == 0 ? 24 : 53, least = type == 0 ? -149 : -1074;
  double near = type == 0 ? (double)(float)want : (double)want;
  if (isnan(got) && isnan(near)) return 0;
  if (got == near)
    return got != 0 || !signbit(got) == !signbit(near) ? 0 : (double)INFINITY;
  if (isnan(got) || isnan(near) || isinf(want)) return INFINITY;
  long double edge = ldexpl(1, type == 0 ? 128 : 1024);
  long double have = isinf(got) ? copysignl(edge, got) : (long double)got;
  int exponent;
  (void)frexpl(want, &exponent);
  int unit = exponent - digits;
  return (double)ldexpl(fabsl(have - want), -(unit > least ? unit : least));
}

#ifndef SMATH_TABLES_ONLY

enum { SAMPLES = 1 << 14, KINDS = 3 };

/* Any bit pattern of the type, NaN and infinity included. */
static double any_bits(int type, uint64_t *seed) {
  uint64_t high = (uint64_t)(check_random(seed) * 0x1p32);
  uint64_t bits = high << 32 | (uint64_t)(check_random(seed) * 0x1p32);
  uint32_t half = (uint32_t)high;
  float single;
  double full;
  memcpy(&single, &half, sizeof single);
  memcpy(&full, &bits, sizeof full);
  return type == 0 ? (double)single : full;
}

/* A sample: uniform in lo .. hi, close to zero on all scales, or any bits. */
static double sample(int type, int kind, const Function *f, uint64_t *seed) {
  double place = check_random(seed), sign = check_random(seed) < 0.5 ? -1 : 1;
  double wide = type == 1 && f->least == 0 && f->hi > 80 ? 7.1 : 1;
  if (kind == 0) return (f->lo + (f->hi - f->lo) * place) * wide;
  if (kind == 1)
    return sign * ldexp(0.5 + place, -(int)(40 * check_random(seed)));
  return any_bits(type, seed);
}

typedef struct Worst {
  double ulp, x, y, got;
} Worst;

static double sample_x[SAMPLES], sample_y[SAMPLES], result[SAMPLES];
static long double wanted[SAMPLES];

static Worst worst_of(Loop *loop, int type, double least) {
  Worst w = {0};
  loop(SAMPLES, sample_x, sample_y, result);
  for (size_t i = 0; i < SAMPLES; i++) {
    double got = get(type, result, i), u = ulps(type, got, wanted[i]);
    if (u > w.ulp && !(fabsl(wanted[i]) < least))
      w = (Worst){u, get(type, sample_x, i), get(type, sample_y, i), got};
  }
  return w;
}

/* One function and type on one kind of samples, at every level. */
static void check_samples(int function, int type, int kind, uint64_t seed,
                          double worst[LEVELS]) {
  const Function *f = &functions[function];
  for (size_t i = 0; i < SAMPLES; i++) {
    put(type, sample_x, i, sample(type, kind, f, &seed));
    put(type, sample_y, i, sample(type, kind, f, &seed));
    wanted[i] = f->closer(get(type, sample_x, i), get(type, sample_y, i));
  }
  for (int l = 0; l < LEVELS; l++) {
    if (!levels[l].usable) continue;
    Worst w = worst_of(levels[l].loops[function][type], type, f->least);
    CHECK(w.ulp <= f->bound, "%s %s f%d: %g ulp at (%a, %a): %a",
          levels[l].name, f->name, 32 << type, w.ulp, w.x, w.y, w.got);
    if (w.ulp > worst[l]) worst[l] = w.ulp;
  }
}

static void test_bounds(void) {
  printf("worst ulp, f32 and f64, at each level (seeds 1 to 6):\n");
  for (int function = 0; function < FUNCTION_COUNT; function++) {
    if (functions[function].bound == NO_BOUND) continue;
    printf("  %-15s", functions[function].name);
    for (int type = 0; type < 2; type++) {
      double worst[LEVELS] = {0};
      for (int kind = 0; kind < KINDS; kind++)
        check_samples(function, type, kind, 1 + (uint64_t)(kind + 3 * type),
                      worst);
      for (int l = 0; l < LEVELS; l++) printf(" %5.2f", worst[l]);
      printf(type == 0 ? "  |" : "\n");
    }
  }
}

/* ---- special values: each, and each pair ---- */

static const double special[] = {0.0,
                                 -0.0,
                                 INFINITY,
                                 -INFINITY,
                                 NAN,
                                 1,
                                 -1,
                                 0.5,
                                 -0.5,
                                 2,
                                 -2,
                                 3,
                                 -3,
                                 1.5,
                                 -1.5,
                                 2.5,
                                 0.75,
                                 -0.75,
                                 1e-30,
                                 -1e-30,
                                 0x1p-149,
                                 -0x1p-149,
                                 0x1p-126,
                                 -0x1p-126,
                                 5e-324,
                                 -5e-324,
                                 0x1p-1022,
                                 -0x1p-1022,
                                 0x1p23,
                                 0x1p24,
                                 -0x1p24,
                                 8388609,
                                 -8388607,
                                 0x1p52,
                                 0x1p53,
                                 -0x1p53,
                                 0x1.fffffep127,
                                 -0x1.fffffep127,
                                 0x1.fffffffffffffp1023,
                                 -0x1.fffffffffffffp1023,
                                 1e300,
                                 88.7228,
                                 88.73,
                                 -87.5,
                                 -103.9,
                                 -104.1,
                                 128,
                                 -149,
                                 -150,
                                 709.78,
                                 709.79,
                                 -745.1,
                                 -745.2,
                                 1024,
                                 -1074,
                                 -1075,
                                 89.4,
                                 89.5,
                                 710.4,
                                 710.5,
                                 0x1.fffffep-1,
                                 0x1.000002p0,
                                 0x1.fffffffffffffp-1,
                                 0x1.0000000000001p0};

enum { SPECIALS = sizeof special / sizeof *special };

static void check_special(int function, int type, int level) {
  static double x[SPECIALS * SPECIALS], y[SPECIALS * SPECIALS];
  static double r[SPECIALS * SPECIALS];
  const Function *f = &functions[function];
  size_t n = f->two ? SPECIALS * SPECIALS : SPECIALS;
  for (size_t i = 0; i < n; i++) {
    put(type, x, i, special[i % SPECIALS]);
    put(type, y, i, special[i / SPECIALS]);
  }
  levels[level].loops[function][type](n, x, y, r);
  for (size_t i = 0; i < n; i++) {
    double a = get(type, x, i), b = get(type, y, i), got = get(type, r, i);
    long double want = f->closer(a, b);
    if (want != 0 && fabsl(want) < f->least) continue;
    CHECK(ulps(type, got, want) <= f->bound,
          "%s %s f%d of (%a, %a): %a, not %La", levels[level].name, f->name,
          32 << type, a, b, got, want);
  }
}

static void test_special(void) {
  for (int function = 0; function < FUNCTION_COUNT; function++)
    for (int l = 0; l < LEVELS; l++) {
      if (!levels[l].usable || functions[function].bound == NO_BOUND) continue;
      check_special(function, 0, l);
      check_special(function, 1, l);
    }
}

/* ---- angles next to multiples of pi/2 ---- */

/* The number of the type nearest to a multiple of pi/2, up to 2^60, or one of
 * the numbers known to come closest (Muller et al. 2018, chapter 11). */
static double awkward_angle(int type, size_t i, uint64_t *seed) {
  if (i == 0) return type == 0 ? 0x1.f37a0ap+95 : 0x1.6ac5b262ca1ffp+849;
  if (i == 1) return type == 0 ? 16367173.0 * 0x1p72 : 0x1.6ac5b262ca1ffp+851;
  double scale = ldexp(1, (int)(60 * check_random(seed)));
  long double whole = rintl((long double)(scale * (1 + check_random(seed))));
  return (double)(whole * 1.57079632679489661923L);
}

static void test_angles(void) {
  static const int turning[] = {F_sin, F_cos, F_tan};
  for (int type = 0; type < 2; type++)
    for (int k = 0; k < 3; k++) {
      const Function *f = &functions[turning[k]];
      uint64_t seed = 5;
      for (size_t i = 0; i < SAMPLES; i++) {
        put(type, sample_x, i, awkward_angle(type, i, &seed));
        wanted[i] = f->closer(get(type, sample_x, i), 0);
      }
      for (int l = 0; l < LEVELS; l++) {
        if (!levels[l].usable) continue;
        Worst w = worst_of(levels[l].loops[turning[k]][type], type, 0);
        CHECK(w.ulp <= f->bound, "%s %s f%d: %g ulp at %a: %a", levels[l].name,
              f->name, 32 << type, w.ulp, w.x, w.got);
      }
    }
}

/* sin_small and cos_small give the bits of sin and cos up to their bound. */
static void test_small_angles(void) {
  static double other[SAMPLES];
  for (int type = 0; type < 2; type++) {
    double bound = type == 0 ? (double)SM_TRIG_BOUND_F32 : SM_TRIG_BOUND_F64;
    uint64_t seed = 6;
    for (size_t i = 0; i < SAMPLES; i++)
      put(type, sample_x, i,
          i < 2 ? bound * (i == 0 ? 1 : -1)
                : bound * pow(2 * check_random(&seed) - 1, 9));
    for (int l = 0; l < LEVELS; l++) {
      if (!levels[l].usable) continue;
      Loop *const(*loops)[2] = levels[l].loops;
      size_t bytes = SAMPLES * (type == 0 ? sizeof(float) : sizeof(double));
      loops[F_sin][type](SAMPLES, sample_x, sample_x, result);
      loops[F_sin_small][type](SAMPLES, sample_x, sample_x, other);
      CHECK(memcmp(result, other, bytes) == 0, "%s f%d", levels[l].name,
            32 << type);
      loops[F_cos][type](SAMPLES, sample_x, sample_x, result);
      loops[F_cos_small][type](SAMPLES, sample_x, sample_x, other);
      CHECK(memcmp(result, other, bytes) == 0, "%s f%d", levels[l].name,
            32 << type);
    }
  }
}

/* ---- close to the zeros of lgamma ---- */

static void test_gamma_zeros(void) {
  for (int type = 0; type < 2; type++) {
    uint64_t seed = 7;
    for (size_t i = 0; i < SAMPLES; i++) {
      const double near = ldexp(check_random(&seed) - 0.5, -(int)(i % 50));
      put(type, sample_x, i, (i % 2 == 0 ? 1 : 2) + near);
      wanted[i] = lgammal(get(type, sample_x, i));
    }
    for (int l = 0; l < LEVELS; l++) {
      if (!levels[l].usable) continue;
      Worst w = worst_of(levels[l].loops[F_lgamma][type], type, 0);
      CHECK(w.ulp <= functions[F_lgamma].bound, "%s lgamma f%d: %g ulp at %a",
            levels[l].name, 32 << type, w.ulp, w.x);
    }
  }
}

int main(void) {
  find_levels();
  RUN(test_bounds);
  RUN(test_special);
  RUN(test_angles);
  RUN(test_small_angles);
  RUN(test_gamma_zeros);
  return check_report();
}
#endif /* SMATH_TABLES_ONLY */
#endif /* LEVEL */
