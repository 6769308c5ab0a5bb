/* random_test.c: the generator against known answers, draws against their
 * words, one element at a time, and against the laws they should follow. */
#include "check.h"
#include "cpu/kernels.h"
#include "cpu/random.h"
#include "ground/ledger.h"

static bool stop;
static Ledger ledger;
static Backend backend;

static const RandomLevel *const levels[LEVEL_COUNT] = {
    &random_base,
#if defined(__x86_64__)
    &random_avx2, &random_avx512
#endif
};

/* ---- Philox4x32-10 ---- */

/* Vectors of the library Random123 (Salmon et al. 2011), kat_vectors. */
static void test_known(void) {
  static const struct {
    Philox p;
    uint32_t want[4];
  } known[] = {
      {{0, 0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
      {{UINT64_MAX, UINT64_MAX, UINT64_MAX},
       {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
      {{0x299f31d0a4093822, 0x85a308d3243f6a88, 0x0370734413198a2e},
       {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}};
  for (int i = 0; i < 3; i++) {
    uint32_t word[4];
    philox_block(&known[i].p, 0, word);
    for (int k = 0; k < 4; k++) CHECK_INT(word[k], known[i].want[k]);
    Philox p = known[i].p; /* the block counts from the counter, and wraps */
    p.counter -= 77;
    philox_block(&p, 77, word);
    for (int k = 0; k < 4; k++) CHECK_INT(word[k], known[i].want[k]);
  }
}

/* ---- one element ---- */

static uint32_t word_of(const Philox *p, int64_t i) {
  uint32_t word[4];
  philox_block(p, (uint64_t)i / 4, word);
  return word[i % 4];
}

static uint64_t wide_word_of(const Philox *p, int64_t i) {
  return (uint64_t)word_of(p, 2 * i) << 32 | word_of(p, 2 * i + 1);
}

static double unit_of(const Draw *d, int64_t i) {
  return d->dtype == DTYPE_F32
             ? (double)(word_of(&d->generator, i) >> 8) * 0x1p-24
             : (double)(wide_word_of(&d->generator, i) >> 11) * 0x1p-53;
}

/* Box and Muller, in long double; the turn is brought near 0 exactly. */
static double normal_of(const Draw *d, int64_t i) {
  const int64_t even = i - i % 2;
  double u, t;
  if (d->dtype == DTYPE_F32) {
    const float whole = (float)(word_of(&d->generator, even) >> 1);
    u = (double)((whole + 1) * 0x1p-31f);
    t = (double)(word_of(&d->generator, even + 1) >> 8) * 0x1p-24;
  } else {
    u = ((double)(wide_word_of(&d->generator, even) >> 11) + 1) * 0x1p-53;
    t = (double)(wide_word_of(&d->generator, even + 1) >> 11) * 0x1p-53;
  }
  const int quarter = (int)floor(4 * t + 0.5);
  const long double x = (long double)(t - quarter * 0.25) * 2 * acosl(-1);
  const long double turned[4] = {cosl(x), -sinl(x), -cosl(x), sinl(x)};
  const int at = i % 2 == 0 ? quarter % 4 : (quarter + 3) % 4;
  return d->a + d->b * (double)(sqrtl(-2 * logl((long double)u)) * turned[at]);
}

/* Upper half of a 128-bit product, by long multiplication in 32 bits. */
static uint64_t upper(uint64_t a, uint64_t b, uint64_t *low) {
  uint64_t sum = 0, part[4] = {0};
  for (int i = 0; i < 2; i++)
    for (int j = 0; j < 2; j++) {
      const uint64_t x = (a >> (32 * i) & 0xffffffffu) *
                         (b >> (32 * j) & 0xffffffffu);
      part[i + j] += x & 0xffffffffu, part[i + j + 1] += x >> 32;
    }
  for (int k = 0; k < 4; k++) {
    sum += part[k];
    part[k] = sum & 0xffffffffu, sum >>= 32;
  }
  *low = part[1] << 32 | part[0];
  return part[3] << 32 | part[2];
}

/* Refused words are drawn again from stream ^ t 0x9E3779B97F4A7C15. */
static int64_t integer_of(const Draw *d, int64_t i, int *tries) {
  const uint64_t range = (uint64_t)d->high - (uint64_t)d->low + 1;
  for (uint64_t t = 0;; t++) {
    Philox p = d->generator;
    p.stream ^= t * 0x9E3779B97F4A7C15u;
    *tries = (int)t;
    if (d->dtype == DTYPE_I32) {
      const uint64_t product = word_of(&p, i) * range;
      if ((product & 0xffffffffu) >= (UINT64_C(1) << 32) % range)
        return d->low + (int64_t)(product >> 32);
    } else {
      if (range == 0)
        return (int64_t)((uint64_t)d->low + wide_word_of(&p, i));
      uint64_t low;
      const uint64_t r = upper(wide_word_of(&p, i), range, &low);
      if (low >= (0 - range) % range) return (int64_t)((uint64_t)d->low + r);
    }
  }
}

/* ---- all elements ---- */

enum { MOST = 40000 };

static int64_t check_elements(const Draw *d) {
  int64_t bad = 0, again = 0;
  for (int64_t i = 0; i < d->count; i++) {
    const double f = d->dtype == DTYPE_F32
                         ? (double)((const float *)(void *)d->dst)[i]
                         : ((const double *)(void *)d->dst)[i];
    int tries = 0;
    if (d->what == DRAW_UNIFORM) {
      const double u = unit_of(d, i);
      bad += d->dtype == DTYPE_F32
                 ? (float)f != (float)d->a + (float)(d->b - d->a) * (float)u
                 : f != d->a + (d->b - d->a) * u;
    } else if (d->what == DRAW_BERNOULLI) {
      bad += f != (unit_of(d, i) < d->a);
    } else if (d->what == DRAW_NORMAL) {
      const double want = normal_of(d, i);
      const double ulp = d->dtype == DTYPE_F32 ? 0x1p-23 : 0x1p-52;
      bad += !(fabs(f - want) <= 4 * ulp * (fabs(want) + fabs(d->a)));
    } else if (d->dtype == DTYPE_I32) {
      bad += ((const int32_t *)(void *)d->dst)[i] != integer_of(d, i, &tries);
    } else {
      bad += ((const int64_t *)(void *)d->dst)[i] != integer_of(d, i, &tries);
    }
    again += tries > 0;
  }
  CHECK(bad == 0, "draw %d of %s: %d of %d differ", (int)d->what,
        dtype_name(d->dtype), (int)bad, (int)d->count);
  return again;
}

static void check_draw(Draw d, bool retries) {
  static const int64_t counts[] = {MOST, 16387, 1, 3, 5, 255, 257};
  char *all = malloc(MOST * 8), *part = malloc(MOST * 8);
  if (all == NULL || part == NULL) abort();
  const int64_t bytes = (int64_t)dtype_bytes(d.dtype);
  for (int i = 0; i < 7; i++) {
    d.count = counts[i], d.dst = i == 0 ? all : part;
    pool_set_threads(backend.pool, 1 + i % 3);
    memset(d.dst, 0xA5, MOST * 8);
    CHECK(cpu_draw(&backend, &d));
    if (i == 0) CHECK((check_elements(&d) > 0) == retries);
    CHECK(memcmp(all, d.dst, (size_t)(d.count * bytes)) == 0);
    CHECK(i == 0 || (uint8_t)part[d.count * bytes] == 0xA5);
  }
  const bool same = d.what != DRAW_NORMAL; /* at every level */
  const bool wide = bytes == 8;
  for (int l = 0; l <= level_best() && same; l++) {
    DrawLoop *loop = d.what == DRAW_UNIFORM     ? levels[l]->uniform[wide]
                     : d.what == DRAW_BERNOULLI ? levels[l]->bernoulli[wide]
                                                : levels[l]->integers[wide];
    d.dst = part;
    loop(&d, 0, 4000);
    CHECK(memcmp(all, part, (size_t)(4000 * bytes)) == 0, "level %d", l);
  }
  free(all), free(part);
}

static void test_elements(void) {
  Draw d = {.what = DRAW_UNIFORM, .dtype = DTYPE_F32, .a = -2, .b = 3,
            .generator = {12345, 0xfffffff0, 7}}; /* the counter carries */
  for (int k = 0; k < 2; k++) {
    d.dtype = k == 0 ? DTYPE_F32 : DTYPE_F64;
    d.what = DRAW_UNIFORM, d.a = -2, d.b = 3, check_draw(d, false);
    d.what = DRAW_NORMAL, d.a = 0, d.b = 1, check_draw(d, false);
    d.what = DRAW_NORMAL, d.a = 10, d.b = 3, check_draw(d, false);
    d.what = DRAW_BERNOULLI, d.a = 0.3, check_draw(d, false);
    d.what = DRAW_INTEGERS, d.dtype = k == 0 ? DTYPE_I32 : DTYPE_I64;
    d.low = -3, d.high = 6, check_draw(d, false);
    d.low = d.high = 5, check_draw(d, false);
    d.low = INT32_MIN, d.high = INT32_MAX, check_draw(d, false);
    d.low = 0, d.high = (INT64_C(1) << (k == 0 ? 30 : 62));
    check_draw(d, true);
  }
  d.low = INT64_MIN, d.high = INT64_MAX, check_draw(d, false);
  d.low = INT64_MIN, d.high = 3, check_draw(d, true);
}

/* ---- laws ---- */

/* Mean, variance, third and fourth moment of n normal numbers, within five
 * deviations of each. */
static void check_moments(Dtype dtype) {
  enum { N = 200000 };
  double *dst = malloc(N * 8), m[5] = {0};
  if (dst == NULL) abort();
  const Draw d = {.what = DRAW_NORMAL, .dtype = dtype, .count = N,
                  .dst = (char *)dst, .generator = {99, 0, 0}, .b = 1};
  CHECK(cpu_draw(&backend, &d));
  for (int i = 0; i < N; i++) {
    const double x = dtype == DTYPE_F32
                         ? (double)((const float *)(void *)dst)[i] : dst[i];
    for (int k = 1; k < 5; k++) m[k] += pow(x, k) / N;
  }
  CHECK_NEAR(m[1], 0, 5 / sqrt(N));
  CHECK_NEAR(m[2], 1, 5 * sqrt(2.0 / N));
  CHECK_NEAR(m[3], 0, 5 * sqrt(15.0 / N));
  CHECK_NEAR(m[4], 3, 5 * sqrt(96.0 / N));
  free(dst);
}

static void test_laws(void) {
  enum { N = 60000, SIDES = 6 };
  check_moments(DTYPE_F32);
  check_moments(DTYPE_F64);
  int64_t *dst = malloc(N * 8), count[SIDES] = {0};
  if (dst == NULL) abort();
  const Draw d = {.what = DRAW_INTEGERS, .dtype = DTYPE_I64, .count = N,
                  .dst = (char *)dst, .generator = {5, 0, 0}, .low = 1,
                  .high = SIDES};
  CHECK(cpu_draw(&backend, &d));
  for (int i = 0; i < N; i++) count[dst[i] - 1]++;
  double chi = 0;
  for (int k = 0; k < SIDES; k++)
    chi += pow((double)count[k] - N / SIDES, 2) / (N / SIDES);
  CHECK(chi < 25, "chi squared of 5 degrees is %g", chi);
  free(dst);
}

/* Never b, not even where a + (b - a) u rounds up; a = b is a. */
static void test_ends(void) {
  float x[4000];
  Draw d = {.what = DRAW_UNIFORM, .dtype = DTYPE_F32, .count = 4000,
            .dst = (char *)x, .generator = {1, 2, 3}, .a = 0x1p24,
            .b = 0x1p24 + 4};
  CHECK(cpu_draw(&backend, &d));
  int64_t bad = 0, last = 0;
  for (int i = 0; i < 4000; i++) {
    bad += !(x[i] >= 0x1p24f && x[i] < 0x1p24f + 4);
    last += x[i] == 0x1p24f + 2;
  }
  CHECK_INT(bad, 0);
  CHECK(last > 0);
  d.b = d.a;
  CHECK(cpu_draw(&backend, &d) && x[0] == 0x1p24f && x[3999] == 0x1p24f);
  d.what = DRAW_BERNOULLI, d.a = 1;
  CHECK(cpu_draw(&backend, &d));
  for (int i = 0; i < 4000; i++) bad += x[i] != 1;
  d.a = 0;
  CHECK(cpu_draw(&backend, &d));
  for (int i = 0; i < 4000; i++) bad += x[i] != 0;
  CHECK_INT(bad, 0);
}

int main(void) {
  ledger_open(&ledger);
  backend.pool = pool_open(&ledger, 1, &stop);
  backend.stop = &stop;
  RUN(test_known);
  RUN(test_elements);
  RUN(test_laws);
  RUN(test_ends);
  pool_close(backend.pool);
  CHECK_INT(ledger.used, 0);
  return check_report();
}
