/* update_test.c: optimiser steps against the formulas of rows/update.def in
 * long double; levels and threads move no bit. */
#include "check.h"
#include "cpu/kernels.h"
#include "cpu/update.h"
#include "ground/ledger.h"

typedef long double Wide;

enum { N = 40003, ARRAYS = 4 }; /* p, g, and two of state */

static uint64_t seed = 1;
static bool stop;
static Ledger ledger;
static Backend backend;

static const UpdateLevel *const levels[LEVEL_COUNT] = {
    &update_base,
#if defined(__x86_64__)
    &update_avx2, &update_avx512
#endif
};

static double get(Dtype d, const void *data, int64_t i) {
  return d == DTYPE_F32 ? (double)((const float *)data)[i]
                        : ((const double *)data)[i];
}

/* v, the last, is not negative. */
static void fill(Dtype d, char *data[ARRAYS]) {
  for (int a = 0; a < ARRAYS; a++)
    for (int64_t i = 0; i < N; i++) {
      const double x = check_random(&seed) - (a == 3 ? 0 : 0.5);
      if (d == DTYPE_F32) ((float *)(void *)data[a])[i] = (float)x;
      else ((double *)(void *)data[a])[i] = x;
    }
}

/* Each number of `got` within `ulps` of |want| + |p| + |step|. */
static void near(Dtype d, const char *got, int64_t i, Wide want, Wide size,
                 int64_t *bad) {
  const Wide u = d == DTYPE_F32 ? 0x1p-24L : 0x1p-53L;
  *bad += !(fabsl((Wide)get(d, got, i) - want) <= 8 * u * (fabsl(want) + size));
}

/* ---- arrays that a step starts from, and those it made ---- */

typedef struct Arrays {
  char *was[ARRAYS], *now[ARRAYS], *first[ARRAYS];
} Arrays;

static void arrays_open(Arrays *a, Dtype d) {
  for (int k = 0; k < ARRAYS; k++) {
    a->was[k] = malloc(N * 8), a->now[k] = malloc(N * 8);
    a->first[k] = malloc(N * 8);
    if (a->was[k] == NULL || a->now[k] == NULL || a->first[k] == NULL) abort();
  }
  fill(d, a->was);
}

static void arrays_close(Arrays *a) {
  for (int k = 0; k < ARRAYS; k++)
    free(a->was[k]), free(a->now[k]), free(a->first[k]);
}

static void restart(Arrays *a) {
  for (int k = 0; k < ARRAYS; k++) memcpy(a->now[k], a->was[k], N * 8);
}

static bool same(const Arrays *a, Dtype d) {
  for (int k = 0; k < ARRAYS; k++)
    if (memcmp(a->now[k], a->first[k], N * dtype_bytes(d)) != 0) return false;
  return true;
}

/* ---- sgd ---- */

static void check_sgd(Sgd s, bool buffered) {
  Arrays a;
  arrays_open(&a, s.dtype);
  s.count = N, s.p = a.now[0], s.g = a.now[1];
  s.buffer = buffered ? a.now[2] : NULL;
  restart(&a);
  pool_set_threads(backend.pool, 1);
  CHECK(cpu_sgd(&backend, &s));
  int64_t bad = 0;
  for (int64_t i = 0; i < N; i++) {
    const Wide p = (Wide)get(s.dtype, a.was[0], i);
    const Wide g = (Wide)get(s.dtype, a.was[1], i) + (Wide)s.decay * p;
    const Wide b = (Wide)get(s.dtype, a.was[2], i);
    const Wide kept = s.first ? g
                              : (Wide)s.momentum * b +
                                    (1 - (Wide)s.dampening) * g;
    const Wide along = !buffered    ? g
                       : s.nesterov ? g + (Wide)s.momentum * kept : kept;
    near(s.dtype, a.now[0], i, p - (Wide)s.lr * along, 1, &bad);
    if (buffered) near(s.dtype, a.now[2], i, kept, 1, &bad);
  }
  CHECK(bad == 0, "%s, momentum %g, decay %g, nesterov %d, first %d: %d",
        dtype_name(s.dtype), s.momentum, s.decay, s.nesterov, s.first,
        (int)bad);
  memcpy(a.first[0], a.now[0], N * 8), memcpy(a.first[1], a.now[1], N * 8);
  memcpy(a.first[2], a.now[2], N * 8), memcpy(a.first[3], a.now[3], N * 8);
  pool_set_threads(backend.pool, 3);
  restart(&a);
  CHECK(cpu_sgd(&backend, &s) && same(&a, s.dtype));
  for (int l = 0; l <= level_best(); l++) {
    restart(&a);
    levels[l]->sgd[s.dtype == DTYPE_F64](&s, 0, N);
    CHECK(same(&a, s.dtype), "level %d", l);
  }
  arrays_close(&a);
}

static void test_sgd(void) {
  for (int i = 0; i < 32; i++) {
    const Sgd s = {.dtype = i % 2 == 0 ? DTYPE_F32 : DTYPE_F64, .lr = 0.1,
                   .momentum = i & 2 ? 0.9 : 0,
                   .dampening = i & 2 && !(i & 8) ? 0.2 : 0,
                   .decay = i & 4 ? 0.01 : 0, .nesterov = (i & 10) == 10,
                   .first = (i & 16) != 0};
    check_sgd(s, (i & 2) != 0);
  }
}

/* ---- adam ---- */

static void check_adam(Adam s) {
  Arrays a;
  arrays_open(&a, s.dtype);
  s.count = N, s.p = a.now[0], s.g = a.now[1], s.m = a.now[2], s.v = a.now[3];
  restart(&a);
  pool_set_threads(backend.pool, 1);
  CHECK(cpu_adam(&backend, &s));
  int64_t bad = 0;
  for (int64_t i = 0; i < N; i++) {
    Wide p = (Wide)get(s.dtype, a.was[0], i);
    Wide g = (Wide)get(s.dtype, a.was[1], i);
    if (s.decoupled) p -= (Wide)s.lr * (Wide)s.decay * p;
    else g += (Wide)s.decay * p;
    const Wide m = (Wide)s.beta1 * (Wide)get(s.dtype, a.was[2], i) +
                   (1 - (Wide)s.beta1) * g;
    const Wide v = (Wide)s.beta2 * (Wide)get(s.dtype, a.was[3], i) +
                   (1 - (Wide)s.beta2) * g * g;
    const Wide top = m / (1 - powl((Wide)s.beta1, (Wide)s.step));
    const Wide root = sqrtl(v / (1 - powl((Wide)s.beta2, (Wide)s.step)));
    const Wide along = (Wide)s.lr * top / (root + (Wide)s.eps);
    near(s.dtype, a.now[2], i, m, 1, &bad);
    near(s.dtype, a.now[3], i, v, 0, &bad);
    /* m may nearly cancel: what it lost is divided, too */
    near(s.dtype, a.now[0], i, p - along,
         fabsl(along) + (Wide)s.lr / (root + (Wide)s.eps), &bad);
  }
  CHECK(bad == 0, "%s, step %d, decay %g, decoupled %d: %d",
        dtype_name(s.dtype), (int)s.step, s.decay, s.decoupled, (int)bad);
  for (int k = 0; k < ARRAYS; k++) memcpy(a.first[k], a.now[k], N * 8);
  pool_set_threads(backend.pool, 3);
  restart(&a);
  CHECK(cpu_adam(&backend, &s) && same(&a, s.dtype));
  for (int l = 0; l <= level_best(); l++) {
    restart(&a);
    levels[l]->adam[s.dtype == DTYPE_F64](&s, 0, N);
    CHECK(same(&a, s.dtype), "level %d", l);
  }
  arrays_close(&a);
}

static void test_adam(void) {
  static const int64_t steps[] = {1, 10, 100000};
  for (int i = 0; i < 18; i++) {
    const Adam s = {.dtype = i % 2 == 0 ? DTYPE_F32 : DTYPE_F64,
                    .step = steps[i / 2 % 3], .lr = 0.001, .beta1 = 0.9,
                    .beta2 = 0.999, .eps = 1e-8, .decay = i < 6 ? 0 : 0.01,
                    .decoupled = i >= 12};
    check_adam(s);
  }
}

/* A gradient of 0 from the start moves nothing; NaN spreads to its own. */
static void test_edges(void) {
  float p[3] = {1, 2, 3}, g[3] = {0, NAN, 1}, m[3] = {0}, v[3] = {0};
  const Adam s = {.dtype = DTYPE_F32, .count = 3, .step = 1, .p = (char *)p,
                  .m = (char *)m, .v = (char *)v, .g = (char *)g, .lr = 0.1,
                  .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8};
  CHECK(cpu_adam(&backend, &s));
  CHECK(p[0] == 1 && isnan(p[1]));
  CHECK_NEAR(p[2], 2.9, 1e-6);
}

int main(void) {
  ledger_open(&ledger);
  backend.pool = pool_open(&ledger, 1, &stop);
  backend.stop = &stop;
  RUN(test_sgd);
  RUN(test_adam);
  RUN(test_edges);
  pool_close(backend.pool);
  CHECK_INT(ledger.used, 0);
  return check_report();
}
