/* rows_test.c: softmax, logsumexp, cross entropy, layer norm and max_pool
 * against plain loops in long double, on every level. */
#include "check.h"
#include "cpu/kernels.h"
#include "cpu/pool.h"
#include "cpu/rows.h"
#include "ground/ledger.h"

typedef long double Wide;

static uint64_t seed = 1;
static bool stop;
static Ledger ledger;
static Backend backend;

static const RowsLevel *const levels[LEVEL_COUNT] = {
    &rows_base,
#if defined(__x86_64__)
    &rows_avx2, &rows_avx512
#endif
};

static void *reserve(int64_t bytes) {
  void *p = malloc((size_t)bytes + 1);
  if (p == NULL) abort();
  return p;
}

static double get(Dtype d, const void *data, int64_t i) {
  return d == DTYPE_F32 ? (double)((const float *)data)[i]
                        : ((const double *)data)[i];
}

static void put(Dtype d, void *data, int64_t i, double x) {
  if (d == DTYPE_F32) ((float *)data)[i] = (float)x;
  else ((double *)data)[i] = x;
}

/* n random numbers in [low, high) */
static char *numbers(Dtype d, int64_t n, double low, double high) {
  char *p = reserve(n * 8);
  for (int64_t i = 0; i < n; i++)
    put(d, p, i, low + (high - low) * check_random(&seed));
  return p;
}

static double unit(Dtype d) { return d == DTYPE_F32 ? 0x1p-24 : 0x1p-53; }

static const int64_t lengths[] = {1, 2,  3,   10,  15,   16,   17,  63,
                                  64, 65, 100, 128, 1000, 1024, 4096, 9001};
enum { LENGTHS = 16, ROWS = 5 };

/* Largest |got - want| in units of u of `size[i]`, over n. */
static double worst(Dtype d, int64_t n, const char *got, const Wide *want,
                    const Wide *size) {
  Wide most = 0;
  for (int64_t i = 0; i < n; i++) {
    const Wide off = fabsl((Wide)get(d, got, i) - want[i]);
    const Wide ulps = off == 0 ? 0 : off / (size[i] * (Wide)unit(d));
    most = ulps <= most ? most : ulps; /* NaN shows */
  }
  return (double)most;
}

static Wide exact_lse(Dtype d, const char *x, int64_t n) {
  Wide most = -INFINITY, sum = 0;
  for (int64_t i = 0; i < n; i++) most = fmaxl(most, (Wide)get(d, x, i));
  for (int64_t i = 0; i < n; i++) sum += expl((Wide)get(d, x, i) - most);
  return most + logl(sum);
}

/* ---- softmax ---- */

/* x, y in u of the result: the argument of exp is rounded (|x - max| u), exp
 * (4), the sum, the reciprocal, the product. */
static void check_softmax(Dtype d, int64_t n, bool log, int level) {
  const int64_t bytes = (int64_t)dtype_bytes(d) * n, all = n * ROWS;
  char *x = numbers(d, all, -5, 5), *y = reserve(all * 8);
  Wide *want = reserve(n * (int64_t)sizeof *want);
  Wide *size = reserve(n * (int64_t)sizeof *size);
  const Softmax s = {.dtype = d, .log = log, .rows = ROWS, .n = n, .x = x,
                     .y = y};
  levels[level]->loops[d == DTYPE_F64].softmax(&s, 0, ROWS);
  for (int row = 0; row < ROWS; row++) {
    const Wide lse = exact_lse(d, x + row * bytes, n);
    for (int64_t i = 0; i < n; i++) {
      want[i] = (Wide)get(d, x + row * bytes, i) - lse;
      size[i] = log ? 10 + fabsl(want[i]) : expl(want[i]);
      if (!log) want[i] = size[i];
    }
    const double off = worst(d, n, y + row * bytes, want, size);
    CHECK(off <= (log ? 12 : 100), "n = %d, log %d, level %d: %g ulp", (int)n,
          log, level, off);
  }
  free(x), free(y), free(want), free(size);
}

/* gx against r (g - sum(g r)) of the same r, and g - e^r sum(g). */
static void check_softmax_pull(Dtype d, int64_t n, bool log, int level) {
  const int64_t all = n * ROWS;
  char *r = numbers(d, all, log ? -6 : 0, log ? 0 : 2.0 / (double)n);
  char *g = numbers(d, all, -1, 1), *y = reserve(all * 8);
  Wide *want = reserve(n * (int64_t)sizeof *want);
  Wide *size = reserve(n * (int64_t)sizeof *size);
  const Softmax s = {.dtype = d, .log = log, .rows = ROWS, .n = n, .x = r,
                     .g = g, .y = y};
  levels[level]->loops[d == DTYPE_F64].softmax_pull(&s, 0, ROWS);
  for (int64_t row = 0; row < ROWS; row++) {
    Wide sum = 0, about = 0;
    for (int64_t i = row * n; i < (row + 1) * n; i++) {
      const Wide w = log ? 1 : (Wide)get(d, r, i);
      sum += w * (Wide)get(d, g, i), about += fabsl(w * (Wide)get(d, g, i));
    }
    for (int64_t i = 0; i < n; i++) {
      const Wide v = (Wide)get(d, r, row * n + i);
      const Wide u = (Wide)get(d, g, row * n + i), e = log ? expl(v) : v;
      want[i] = log ? u - e * sum : e * (u - sum);
      size[i] = log ? fabsl(u) + e * about * 10 : e * (fabsl(u) + about);
    }
    const double off = worst(d, n, y + row * n * (int64_t)dtype_bytes(d),
                             want, size);
    CHECK(off <= 90, "n = %d, log %d, level %d: %g ulp", (int)n, log, level,
          off);
  }
  free(r), free(g), free(y), free(want), free(size);
}

static void test_softmax(void) {
  for (int i = 0; i < LENGTHS; i++)
    for (int level = 0; level <= level_best(); level++)
      for (int k = 0; k < 4; k++) {
        const Dtype d = k % 2 == 0 ? DTYPE_F32 : DTYPE_F64;
        check_softmax(d, lengths[i], k > 1, level);
        check_softmax_pull(d, lengths[i], k > 1, level);
      }
}

/* ---- logsumexp and cross entropy ---- */

static void check_lse(Dtype d, int64_t n, int level) {
  const int64_t bytes = (int64_t)dtype_bytes(d) * n, all = n * ROWS;
  char *x = numbers(d, all, -20, 20), *gx = reserve(all * 8);
  char *g = numbers(d, ROWS, 0, 1);
  double y[ROWS], loss[ROWS], lse[2 * ROWS];
  int64_t label[ROWS];
  for (int i = 0; i < ROWS; i++)
    label[i] = i == 2 ? -100 : 1 + (int64_t)(check_random(&seed) * (double)n);
  const RowLoops *loops = &levels[level]->loops[d == DTYPE_F64];
  const LogSumExp l = {.dtype = d, .rows = ROWS, .n = n, .x = x,
                       .y = (char *)y};
  const CrossEntropy e = {.dtype = d, .rows = ROWS, .n = n, .base = 1,
                          .ignore = -100, .g_stride = 1, .x = x, .g = g,
                          .label = (char *)label, .loss = (char *)loss,
                          .lse = (char *)lse, .gx = gx};
  loops->logsumexp(&l, 0, ROWS);
  loops->cross_entropy(&e, 0, ROWS);
  loops->cross_entropy_pull(&e, 0, ROWS);
  for (int row = 0; row < ROWS; row++) {
    const Wide want = exact_lse(d, x + row * bytes, n);
    const double near = 16 * unit(d) * (20 + fabs((double)want));
    CHECK_NEAR(get(d, y, row), (double)want, near);
    CHECK_NEAR(get(d, lse, 2 * row) + get(d, lse, 2 * row + 1),
               get(d, y, row), near);
    const bool ignored = label[row] == -100;
    const Wide own = ignored ? want
                             : (Wide)get(d, x + row * bytes, label[row] - 1);
    CHECK_NEAR(get(d, loss, row), (double)(want - own), near);
    int64_t bad = 0;
    for (int64_t i = 0; i < n; i++) {
      const Wide p = expl((Wide)get(d, x + row * bytes, i) - want);
      const Wide slope = ignored ? 0 : p - (label[row] == i + 1);
      const Wide off = fabsl((Wide)get(d, gx + row * bytes, i) -
                             slope * (Wide)get(d, g, row));
      bad += !(off <= (Wide)(80 * unit(d)));
    }
    CHECK(bad == 0, "n = %d, level %d: %d", (int)n, level, (int)bad);
  }
  free(x), free(g), free(gx);
}

static void test_lse(void) {
  for (int i = 0; i < LENGTHS; i++)
    for (int level = 0; level <= level_best(); level++) {
      check_lse(DTYPE_F32, lengths[i], level);
      check_lse(DTYPE_F64, lengths[i], level);
    }
}

/* Infinite and undefined numbers, in the main part and in the tail. */
static void test_edges(void) {
  float x[100], y[100], lse[1];
  const Softmax s = {.dtype = DTYPE_F32, .rows = 1, .n = 100, .x = (char *)x,
                     .y = (char *)y};
  const LogSumExp l = {.dtype = DTYPE_F32, .rows = 1, .n = 100,
                       .x = (char *)x, .y = (char *)lse};
  for (int i = 0; i < 100; i++) x[i] = -INFINITY;
  CHECK(cpu_softmax(&backend, &s) && isnan(y[0]) && isnan(y[99]));
  CHECK(cpu_logsumexp(&backend, &l) && lse[0] == -INFINITY);
  for (int at = 3; at < 100; at += 90) {
    for (int i = 0; i < 100; i++) x[i] = i == at ? 2 : -INFINITY;
    CHECK(cpu_softmax(&backend, &s) && y[at] == 1 && y[0] == 0);
    CHECK(cpu_logsumexp(&backend, &l) && lse[0] == 2);
    for (int i = 0; i < 100; i++) x[i] = i == at ? NAN : 1;
    CHECK(cpu_softmax(&backend, &s) && isnan(y[0]) && isnan(y[98]));
    CHECK(cpu_logsumexp(&backend, &l) && isnan(lse[0]));
    x[at] = INFINITY;
    CHECK(cpu_logsumexp(&backend, &l) && lse[0] == INFINITY);
    for (int i = 0; i < 100; i++) x[i] = i == at ? 1e30f : -1e30f;
    CHECK(cpu_softmax(&backend, &s) && y[at] == 1 && y[50] == 0);
  }
}

/* Results may take the place of x or g; a row alone has the same bits. */
static void test_in_place(void) {
  enum { N = 77, R = 40 };
  float x[R * N], y[R * N], one[N];
  for (int k = 0; k < 2; k++) {
    for (int i = 0; i < R * N; i++) x[i] = (float)check_random(&seed) * 9;
    Softmax s = {.dtype = DTYPE_F32, .log = k == 1, .rows = R, .n = N,
                 .x = (char *)x, .y = (char *)y};
    CHECK(cpu_softmax(&backend, &s));
    s.rows = 1, s.x = (char *)(x + 7 * N), s.y = (char *)one;
    CHECK(cpu_softmax(&backend, &s));
    CHECK(memcmp(one, y + 7 * N, sizeof one) == 0);
    s.rows = R, s.x = s.y = (char *)x;
    CHECK(cpu_softmax(&backend, &s));
    CHECK(memcmp(x, y, sizeof x) == 0);
  }
}

/* ---- layer norm ---- */

static void check_norm(Dtype d, int64_t n, int level, bool weighted) {
  const int64_t all = n * ROWS;
  char *x = numbers(d, all, 1, 4), *g = numbers(d, all, -1, 1);
  char *w = numbers(d, n, 0.5, 2), *b = numbers(d, n, -1, 1);
  char *y = reserve(all * 8), *gx = reserve(all * 8);
  char *gw = reserve(n * 8), *gb = reserve(n * 8);
  double mean[ROWS], rstd[ROWS];
  Wide *sum_w = calloc((size_t)n, sizeof *sum_w);
  Wide *sum_b = calloc((size_t)n, sizeof *sum_b);
  const LayerNorm l = {.dtype = d, .rows = ROWS, .n = n, .eps = 1e-5, .x = x,
                       .w = weighted ? w : NULL, .b = weighted ? b : NULL,
                       .g = g, .y = y, .mean = (char *)mean,
                       .rstd = (char *)rstd, .gx = gx, .gw = gw, .gb = gb};
  const RowLoops *loops = &levels[level]->loops[d == DTYPE_F64];
  loops->layer_norm(&l, 0, ROWS);
  loops->layer_norm_pull(&l, 0, ROWS);
  for (int64_t c = 0; c < n; c += NORM_COLUMNS)
    loops->norm_weights(&l, c, c + NORM_COLUMNS < n ? c + NORM_COLUMNS : n);
  Wide off_y = 0, off_x = 0, off_w = 0;
  for (int64_t row = 0; row < ROWS; row++) {
    Wide m = 0, v = 0, h = 0, hv = 0;
    for (int64_t i = row * n; i < (row + 1) * n; i++)
      m += (Wide)get(d, x, i) / (Wide)n;
    for (int64_t i = row * n; i < (row + 1) * n; i++)
      v += ((Wide)get(d, x, i) - m) * ((Wide)get(d, x, i) - m) / (Wide)n;
    const Wide r = 1 / sqrtl(v + (Wide)1e-5);
    const Wide near = (Wide)unit(d) * r; /* the mean is off by some u */
    for (int64_t i = 0; i < n; i++) {
      const Wide u = ((Wide)get(d, x, row * n + i) - m) * r;
      const Wide k = weighted ? (Wide)get(d, w, i) : 1;
      const Wide c = weighted ? (Wide)get(d, b, i) : 0;
      const Wide t = (Wide)get(d, g, row * n + i);
      const Wide off = fabsl((Wide)get(d, y, row * n + i) - (u * k + c));
      off_y = fmaxl(off_y, off / near);
      h += t * k / (Wide)n, hv += t * k * u / (Wide)n;
      sum_w[i] += t * u, sum_b[i] += t;
    }
    for (int64_t i = 0; i < n; i++) {
      const Wide u = ((Wide)get(d, x, row * n + i) - m) * r;
      const Wide k = weighted ? (Wide)get(d, w, i) : 1;
      const Wide t = (Wide)get(d, g, row * n + i);
      const Wide want = r * (t * k - h - u * hv);
      off_x = fmaxl(off_x, fabsl((Wide)get(d, gx, row * n + i) - want) /
                               (near * (1 + r)));
    }
    for (int64_t i = 0; i < n && row == ROWS - 1; i++) {
      const Wide off = fabsl((Wide)get(d, gw, i) - sum_w[i]);
      off_w = fmaxl(off_w, fmaxl(off, fabsl((Wide)get(d, gb, i) - sum_b[i])) /
                               (near * ROWS));
    }
  }
  const bool flat = n == 1; /* r is 316: all is rounding */
  CHECK(off_y <= (flat ? 40 : 60) && off_x <= 200 && (flat || off_w <= 60),
        "n = %d, level %d: y %g, gx %g, gw %g", (int)n, level, (double)off_y,
        (double)off_x, (double)off_w);
  free(x), free(g), free(w), free(b), free(y), free(gx), free(gw), free(gb);
  free(sum_w), free(sum_b);
}

static void test_norm(void) {
  for (int i = 0; i < LENGTHS; i++)
    for (int level = 0; level <= level_best(); level++)
      for (int k = 0; k < 4; k++)
        check_norm(k % 2 == 0 ? DTYPE_F32 : DTYPE_F64, lengths[i], level,
                   k > 1);
}

/* gb is a fold over rows; w alone, b alone; threads move no bit. */
static void test_norm_slots(void) {
  enum { R = 9000, N = 70 };
  float *x = (float *)(void *)numbers(DTYPE_F32, R * N, -1, 1);
  float *g = (float *)(void *)numbers(DTYPE_F32, R * N, -1, 1);
  float *y = reserve(4 * R * N), *gx[2] = {reserve(4 * R * N),
                                           reserve(4 * R * N)};
  float mean[R], rstd[R], w[N], b[N], gw[2][N], gb[2][N], sum[N];
  for (int i = 0; i < N; i++) w[i] = 2, b[i] = (float)i;
  LayerNorm l = {.dtype = DTYPE_F32, .rows = R, .n = N, .eps = 1e-5,
                 .x = (char *)x, .w = (char *)w, .g = (char *)g,
                 .y = (char *)y, .mean = (char *)mean, .rstd = (char *)rstd};
  for (int k = 0; k < 2; k++) {
    pool_set_threads(backend.pool, 1 + 2 * k);
    l.gx = (char *)gx[k], l.gw = (char *)gw[k], l.gb = (char *)gb[k];
    CHECK_INT(cpu_layer_norm_room(&backend, &l), 0);
    CHECK(cpu_layer_norm(&backend, &l));
    CHECK(cpu_layer_norm_pull(&backend, &l));
  }
  CHECK(memcmp(gx[0], gx[1], 4 * R * N) == 0);
  CHECK(memcmp(gw[0], gw[1], sizeof gw[0]) == 0);
  CHECK(memcmp(gb[0], gb[1], sizeof gb[0]) == 0);
  Reduce r = {.fold = FOLD_sum, .compute = DTYPE_F32, .in = DTYPE_F32,
              .out = DTYPE_F32, .src = (char *)g, .dst = (char *)sum,
              .kept = 1, .gone = 1, .kept_size = {N}, .kept_src = {1},
              .kept_dst = {1}, .gone_size = {R}, .gone_src = {N}};
  r.scratch = reserve((int64_t)cpu_reduce_room(&backend, &r));
  CHECK(cpu_reduce(&backend, &r));
  CHECK(memcmp(sum, gb[0], sizeof sum) == 0);
  l.w = NULL, l.b = (char *)b, l.gw = l.gb = NULL, l.rows = 1;
  CHECK(cpu_layer_norm(&backend, &l));
  CHECK_NEAR(y[69], 69 + (x[69] - mean[0]) * rstd[0], 1e-5);
  CHECK(cpu_layer_norm_pull(&backend, &l));
  free(x), free(g), free(y), free(gx[0]), free(gx[1]), free(r.scratch);
}

/* ---- max_pool ---- */

/* The place of the greatest element of window `i` of a plane, by one loop. */
static int64_t best_of(const MaxPool *p, const char *x, int64_t plane,
                       int64_t i) {
  const int64_t slice = i / (p->result[1] * p->result[2]);
  const int64_t row = i / p->result[2] % p->result[1], col = i % p->result[2];
  const int64_t from[3] = {slice, row, col};
  const int64_t taps = p->kernel[0] * p->kernel[1] * p->kernel[2];
  int64_t best = -1;
  for (int64_t j = 0; j < taps; j++) {
    const int64_t tap[3] = {j / (p->kernel[1] * p->kernel[2]),
                            j / p->kernel[2] % p->kernel[1], j % p->kernel[2]};
    int64_t place = 0;
    bool inside = true;
    for (int a = 0; a < 3; a++) {
      const int64_t at =
          from[a] * p->stride[a] - p->pad[a] + tap[a] * p->dilation[a];
      inside = inside && at >= 0 && at < p->size[a];
      place = place * p->size[a] + at;
    }
    if (!inside) continue;
    const double v = get(p->dtype, x, plane + place);
    const double m = best < 0 ? 0 : get(p->dtype, x, plane + best);
    if (best < 0 || v > m || (isnan(v) && !isnan(m))) best = place;
  }
  return best;
}

static void check_pool(MaxPool *p, int level) {
  const int64_t plane = p->size[0] * p->size[1] * p->size[2];
  for (int a = 0; a < 3; a++)
    p->result[a] = (p->size[a] + 2 * p->pad[a] -
                    p->dilation[a] * (p->kernel[a] - 1) - 1) /
                       p->stride[a] + 1;
  const int64_t made = p->result[0] * p->result[1] * p->result[2];
  const int64_t rows = p->result[0] * p->result[1];
  char *x = reserve(p->planes * plane * 8), *y = reserve(p->planes * made * 8);
  int64_t *at = reserve(p->planes * made * 8), bad = 0;
  for (int64_t i = 0; i < p->planes * plane; i++) {
    const double v = check_random(&seed);
    put(p->dtype, x, i, v < 0.02 ? (double)NAN
                        : v < 0.1 ? (double)-INFINITY : floor(v * 9));
  }
  p->x = x, p->y = y, p->at = (char *)at;
  static const PoolLevel *const pools[LEVEL_COUNT] = {
      &pool_base,
#if defined(__x86_64__)
      &pool_avx2, &pool_avx512
#endif
  };
  const int64_t bytes = (int64_t)dtype_bytes(p->dtype);
  for (int64_t i = 0; i < p->planes * rows; i++)
    pools[level]->max[p->dtype == DTYPE_F64](
        p, x + i / rows * plane * bytes, i % rows / p->result[1],
        i % p->result[1], y + i * p->result[2] * bytes, at + i * p->result[2]);
  for (int64_t i = 0; i < p->planes * made; i++) {
    const int64_t first = i / made * plane;
    const int64_t best = best_of(p, x, first, i % made);
    const double want = get(p->dtype, x, first + best);
    const double got = get(p->dtype, y, i);
    bad += at[i] != best || !(got == want || (isnan(got) && isnan(want)));
  }
  CHECK(bad == 0, "kernel %d stride %d pad %d dilation %d level %d: %d",
        (int)p->kernel[2], (int)p->stride[2], (int)p->pad[2],
        (int)p->dilation[2], level, (int)bad);
  free(x), free(y), free(at);
}

static void test_pool(void) {
  static const int64_t ways[][4] = {{2, 2, 0, 1}, {2, 2, 1, 1}, {3, 2, 1, 1},
                                    {3, 1, 1, 2}, {2, 1, 0, 1}, {1, 1, 0, 1},
                                    {5, 3, 2, 1}, {3, 3, 0, 3}, {4, 2, 2, 1}};
  for (int i = 0; i < 9; i++)
    for (int level = 0; level <= level_best(); level++)
      for (int64_t size = 7; size < 70; size += 20) {
        const int64_t *w = ways[i];
        const bool deep = size == 27;
        MaxPool p = {.dtype = size % 3 == 0 ? DTYPE_F64 : DTYPE_F32,
                     .planes = 2, .size = {deep ? 8 : 1, 9, size},
                     .kernel = {deep ? w[0] : 1, w[0], w[0]},
                     .stride = {deep ? w[1] : 1, w[1], w[1]},
                     .pad = {deep ? w[2] : 0, w[2], w[2]},
                     .dilation = {deep ? w[3] : 1, w[3], w[3]}};
        check_pool(&p, level);
      }
  float x[8] = {1, 4, 4, 2, 3, 0, 1, 9}, y[2];
  int64_t at[2];
  const MaxPool p = {.dtype = DTYPE_F32, .planes = 1, .size = {1, 2, 4},
                     .kernel = {1, 2, 2}, .stride = {1, 2, 2},
                     .dilation = {1, 1, 1}, .result = {1, 1, 2},
                     .x = (char *)x, .y = (char *)y, .at = (char *)at};
  CHECK(cpu_max_pool(&backend, &p));
  CHECK(y[0] == 4 && at[0] == 1 && y[1] == 9 && at[1] == 7);
}

int main(void) {
  ledger_open(&ledger);
  backend.pool = pool_open(&ledger, 2, &stop);
  backend.stop = &stop;
  RUN(test_softmax);
  RUN(test_lse);
  RUN(test_edges);
  RUN(test_in_place);
  RUN(test_norm);
  RUN(test_norm_slots);
  RUN(test_pool);
  pool_close(backend.pool);
  CHECK_INT(ledger.used, 0);
  return check_report();
}
