/* reduce_test.c: folds against the order of rows/fold.def, bit for bit, and
 * against a bound; every layout, type, level and number of threads. */
#include "check.h"
#include "cpu/kernels.h"
#include "cpu/reduce.h"
#include "ground/ledger.h"
#include "value/half.h"

static uint64_t seed = 1;
static bool stop;
static Ledger ledger;
static Backend backend;

static int64_t pick(int64_t count) {
  return (int64_t)(check_random(&seed) * (double)count);
}

static void *reserve(size_t bytes) {
  void *p = aligned_alloc(64, (bytes / 64 + 1) * 64);
  if (p == NULL) abort();
  return p;
}

/* ---- elements ---- */

static double get(Dtype d, const void *data, int64_t i) {
  switch (d) {
  case DTYPE_BOOL:
  case DTYPE_U8: return ((const uint8_t *)data)[i];
  case DTYPE_I8: return ((const int8_t *)data)[i];
  case DTYPE_I16: return ((const int16_t *)data)[i];
  case DTYPE_I32: return ((const int32_t *)data)[i];
  case DTYPE_I64: return (double)((const int64_t *)data)[i];
  case DTYPE_F16: return (double)f16_to_f32(((const uint16_t *)data)[i]);
  case DTYPE_BF16: return (double)bf16_to_f32(((const uint16_t *)data)[i]);
  case DTYPE_F32: return (double)((const float *)data)[i];
  default: return ((const double *)data)[i];
  }
}

/* Small whole numbers for integers, else what the dtype makes of x. */
static void put(Dtype d, void *data, int64_t i, double x) {
  const int64_t w = dtype_class(d) == CLASS_FLOAT ? 0 : (int64_t)(x * 20);
  switch (d) {
  case DTYPE_BOOL: ((uint8_t *)data)[i] = w % 3 == 0; break;
  case DTYPE_U8: ((uint8_t *)data)[i] = (uint8_t)w; break;
  case DTYPE_I8: ((int8_t *)data)[i] = (int8_t)w; break;
  case DTYPE_I16: ((int16_t *)data)[i] = (int16_t)w; break;
  case DTYPE_I32: ((int32_t *)data)[i] = (int32_t)w; break;
  case DTYPE_I64: ((int64_t *)data)[i] = w; break;
  case DTYPE_F16: ((uint16_t *)data)[i] = f32_to_f16((float)x); break;
  case DTYPE_BF16: ((uint16_t *)data)[i] = f32_to_bf16((float)x); break;
  case DTYPE_F32: ((float *)data)[i] = (float)x; break;
  default: ((double *)data)[i] = x;
  }
}

/* ---- the order that is promised ---- */

/* What an element enters as, and how two values meet. */
#define WORDS(T, LEAST, MOST, NAME, ABS)                                     \
  static T NAME##_enter(FoldId f, T x, T by) {                               \
    switch (f) {                                                             \
    case FOLD_sum_abs:                                                       \
    case FOLD_abs_max:                                                       \
    case FOLD_abs_min: return ABS(x);                                        \
    case FOLD_squares: return x * x;                                         \
    case FOLD_scaled: return (x * by) * (x * by);                            \
    case FOLD_spread: return (x - by) * (x - by);                            \
    case FOLD_count: return x != x ? x : (T)(x != 0);                        \
    case FOLD_any:                                                           \
    case FOLD_all: return (T)(x != 0);                                       \
    default: return x;                                                       \
    }                                                                        \
  }                                                                          \
  static T NAME##_step(FoldId f, T r, T x) {                                 \
    switch (f) {                                                             \
    case FOLD_prod: return r * x;                                            \
    case FOLD_amax:                                                          \
    case FOLD_abs_max: return x > r || x != x ? x : r;                       \
    case FOLD_amin:                                                          \
    case FOLD_abs_min: return x < r || x != x ? x : r;                       \
    case FOLD_any: return r != 0 || x != 0;                                  \
    case FOLD_all: return r != 0 && x != 0;                                  \
    default: return r + x;                                                   \
    }                                                                        \
  }                                                                          \
  static T NAME##_start(FoldId f) {                                          \
    switch (f) {                                                             \
    case FOLD_prod:                                                          \
    case FOLD_all: return 1;                                                 \
    case FOLD_amax: return LEAST;                                            \
    case FOLD_amin:                                                          \
    case FOLD_abs_min: return MOST;                                          \
    default: return 0;                                                       \
    }                                                                        \
  }
#define FOLDS(T, NAME)                                                       \
  static T NAME##_chunk(FoldId f, int64_t n, const T *x, T by) {             \
    T lane[FOLD_LANES];                                                      \
    for (int k = 0; k < FOLD_LANES; k++) lane[k] = NAME##_start(f);          \
    for (int64_t i = 0; i < n; i++)                                          \
      lane[i % FOLD_LANES] = NAME##_step(f, lane[i % FOLD_LANES],            \
                                         NAME##_enter(f, x[i], by));         \
    for (int half = FOLD_LANES / 2; half > 0; half /= 2)                     \
      for (int k = 0; k < half; k++)                                         \
        lane[k] = NAME##_step(f, lane[k], lane[k + half]);                   \
    return lane[0];                                                          \
  }                                                                          \
  static T NAME##_fold(FoldId f, int64_t n, const T *x, T by) {              \
    const int64_t chunks = (n + FOLD_CHUNK - 1) / FOLD_CHUNK;                \
    T *partial = reserve((size_t)chunks * sizeof(T) + 1);                    \
    for (int64_t i = 0; i < chunks; i++)                                     \
      partial[i] = NAME##_chunk(                                             \
          f, i + 1 < chunks ? FOLD_CHUNK : n - i * FOLD_CHUNK,               \
          x + i * FOLD_CHUNK, by);                                           \
    for (int64_t step = 1; step < chunks; step *= 2)                         \
      for (int64_t i = 0; i + step < chunks; i += 2 * step)                  \
        partial[i] = NAME##_step(f, partial[i], partial[i + step]);          \
    const T r = chunks > 0 ? partial[0] : NAME##_start(f);                   \
    free(partial);                                                           \
    return r;                                                                \
  }
WORDS(float, -INFINITY, INFINITY, f32, fabsf)
FOLDS(float, f32)
WORDS(double, (double)-INFINITY, (double)INFINITY, f64, fabs)
FOLDS(double, f64)

/* Integers of any width wrap: reckoned in 64 bits and cut. */
static int64_t whole_enter(FoldId f, int64_t x, int64_t by) {
  const uint64_t u = (uint64_t)x, b = (uint64_t)by;
  switch (f) {
  case FOLD_sum_abs:
  case FOLD_abs_max:
  case FOLD_abs_min: return x < 0 ? -x : x;
  case FOLD_squares: return (int64_t)(u * u);
  case FOLD_scaled: return (int64_t)(u * b * u * b);
  case FOLD_spread: return (int64_t)((u - b) * (u - b));
  case FOLD_count:
  case FOLD_any:
  case FOLD_all: return x != 0;
  default: return x;
  }
}

static int64_t whole_fold(FoldId f, int64_t n, const int64_t *x, int64_t by,
                          bool wide) {
  const int64_t least = wide ? INT64_MIN : INT32_MIN;
  const int64_t most = wide ? INT64_MAX : INT32_MAX;
  int64_t r = f == FOLD_amax                          ? least
              : f == FOLD_amin || f == FOLD_abs_min   ? most
                                                      : (f == FOLD_prod ||
                                                         f == FOLD_all);
  for (int64_t i = 0; i < n; i++) {
    const int64_t e = whole_enter(f, x[i], by);
    switch (f) {
    case FOLD_prod: r = (int64_t)((uint64_t)r * (uint64_t)e); break;
    case FOLD_amax:
    case FOLD_abs_max: r = e > r ? e : r; break;
    case FOLD_amin:
    case FOLD_abs_min: r = e < r ? e : r; break;
    case FOLD_any: r |= e; break;
    case FOLD_all: r &= e; break;
    default: r = (int64_t)((uint64_t)r + (uint64_t)e);
    }
  }
  return wide ? r : (int64_t)(int32_t)(uint32_t)(uint64_t)r;
}

/* ---- one reduction, everywhere ---- */

typedef struct Case {
  Reduce r;
  int64_t outputs, n, reach, dst_reach;
  char *dst;
} Case;

/* Axes of `size` in a random order in memory, some with gaps, some repeated;
 * kept ones first in `axis`. */
static void lay_out(Case *c, int kept, const int64_t *size, int gone,
                    const int64_t *gone_size, int kind) {
  int order[2 * MAX_RANK], axes = kept + gone;
  int64_t step = kind == 2 ? 2 : 1, stride[2 * MAX_RANK];
  for (int a = 0; a < axes; a++) order[a] = axes - 1 - a;
  for (int a = axes - 1; a > 0 && kind > 0; a--) {
    const int other = (int)pick(a + 1), was = order[a];
    order[a] = order[other], order[other] = was;
  }
  for (int i = 0; i < axes; i++) {
    const int a = order[i];
    const int64_t s = a < kept ? size[a] : gone_size[a - kept];
    const bool repeats = kind == 3 && pick(3) == 0;
    stride[a] = repeats ? 0 : step;
    if (!repeats && s > 0) step *= s + (kind == 2 ? pick(2) : 0);
  }
  c->outputs = c->n = 1, c->reach = 1;
  int64_t dst = 1;
  for (int a = kept - 1; a >= 0; a--) {
    c->r.kept_size[a] = size[a], c->r.kept_src[a] = stride[a];
    c->r.kept_dst[a] = dst;
    dst *= size[a] + (kind == 2), c->outputs *= size[a];
    c->reach += (size[a] - 1) * stride[a];
  }
  for (int a = 0; a < gone; a++) {
    c->r.gone_size[a] = gone_size[a], c->r.gone_src[a] = stride[kept + a];
    c->n *= gone_size[a];
    if (gone_size[a] > 0) c->reach += (gone_size[a] - 1) * stride[kept + a];
  }
  c->dst_reach = dst;
  c->r.kept = kept, c->r.gone = gone;
}

static int64_t place(int axes, const int64_t *size, const int64_t *stride,
                     int64_t at) {
  int64_t offset = 0;
  for (int a = axes - 1; a >= 0; a--) {
    offset += at % size[a] * stride[a];
    at /= size[a];
  }
  return offset;
}

/* Does out hold the fold of the n numbers in x (doubles)? */
static bool agrees(const Case *c, const double *x, const void *dst,
                   int64_t at) {
  const Reduce *r = &c->r;
  const double by = get(r->compute, r->by, at);
  bool same = false;
  char want[8];
  if (r->compute == DTYPE_F32 || r->compute == DTYPE_F64) {
    double value;
    if (r->compute == DTYPE_F64) {
      value = f64_fold(r->fold, c->n, x, by);
    } else {
      float *y = reserve((size_t)c->n * sizeof *y + 1);
      for (int64_t i = 0; i < c->n; i++) y[i] = (float)x[i];
      value = (double)f32_fold(r->fold, c->n, y, (float)by);
      free(y);
    }
    if (r->out == DTYPE_BOOL) return get(r->out, dst, at) == (value != 0);
    put(r->out, want, 0, value);
    if (isnan(value)) return isnan(get(r->out, dst, at));
    same = memcmp(want, (const char *)dst + at * (int64_t)dtype_bytes(r->out),
                  dtype_bytes(r->out)) == 0;
  } else {
    int64_t *y = reserve((size_t)c->n * sizeof *y + 1);
    for (int64_t i = 0; i < c->n; i++) y[i] = (int64_t)x[i];
    const int64_t w =
        whole_fold(r->fold, c->n, y, (int64_t)by, r->compute == DTYPE_I64);
    free(y);
    if (r->out == DTYPE_I64) return ((const int64_t *)dst)[at] == w;
    if (r->out == DTYPE_BOOL) return get(r->out, dst, at) == (w != 0);
    if (r->out == DTYPE_U8) return get(r->out, dst, at) == (uint8_t)w;
    if (r->out == DTYPE_I8) return get(r->out, dst, at) == (int8_t)w;
    if (r->out == DTYPE_I16) return get(r->out, dst, at) == (int16_t)w;
    return get(r->out, dst, at) == (int32_t)w;
  }
  return same;
}

static void run(Case *c, int level, int threads) {
  pool_set_threads(backend.pool, threads);
  const size_t room = cpu_reduce_room(&backend, &c->r);
  c->r.scratch = room > 0 ? reserve(room) : NULL;
  memset(c->dst, 0xA5, (size_t)c->dst_reach * 8);
  c->r.dst = c->dst;
  CHECK(reduce_run(&backend, &c->r, level));
  free(c->r.scratch);
}

/* Against the order, on every level; then again on more threads. */
static void check_case(Case *c) {
  const Reduce *r = &c->r;
  char *src = reserve((size_t)c->reach * dtype_bytes(r->in));
  double *x = reserve((size_t)c->n * sizeof *x + 1);
  c->dst = reserve((size_t)c->dst_reach * 8);
  char *first = reserve((size_t)c->dst_reach * 8);
  char *by = reserve((size_t)c->dst_reach * 8);
  for (int64_t i = 0; i < c->dst_reach; i++)
    put(r->compute, by, i, check_random(&seed) * 2 - 0.9);
  c->r.by = by;
  for (int64_t i = 0; i < c->reach; i++)
    put(r->in, src, i, check_random(&seed) * 2 - 0.9);
  c->r.src = src;
  for (int level = 0; level <= level_best(); level++) {
    run(c, level, 1);
    memcpy(first, c->dst, (size_t)c->dst_reach * 8);
    int64_t bad = 0;
    for (int64_t o = 0; o < c->outputs; o++) {
      const int64_t from = place(r->kept, r->kept_size, r->kept_src, o);
      for (int64_t i = 0; i < c->n; i++)
        x[i] = get(r->in, src,
                   from + place(r->gone, r->gone_size, r->gone_src, i));
      bad += !agrees(c, x, c->dst,
                     place(r->kept, r->kept_size, r->kept_dst, o));
    }
    CHECK(bad == 0, "fold %d, %s in %s to %s, level %d, %d of %d axes: %d of "
          "%d differ, n = %d", (int)r->fold, dtype_name(r->in),
          dtype_name(r->compute), dtype_name(r->out), level, r->gone,
          r->kept + r->gone, (int)bad, (int)c->outputs, (int)c->n);
    for (int threads = 2; threads <= 3; threads++) {
      run(c, level, threads);
      CHECK(memcmp(first, c->dst, (size_t)c->dst_reach * 8) == 0);
    }
  }
  free(src), free(x), free(c->dst), free(first), free(by);
}

/* ---- cases ---- */

static Case case_of(FoldId fold, Dtype in, Dtype compute, Dtype out) {
  Case c = {.r = {.fold = fold, .in = in, .compute = compute, .out = out}};
  return c;
}

static void test_layouts(void) {
  static const int64_t counts[] = {1, 2, 3, 7, 10, 16, 17, 63, 64, 65, 130};
  for (int round = 0; round < 240; round++) {
    const bool wide = round % 2 == 1;
    const Dtype d = wide ? DTYPE_F64 : DTYPE_F32;
    Case c = case_of((FoldId)(round / 2 % FOLD_COUNT), d, d,
                     round / 2 % FOLD_COUNT >= FOLD_any ? DTYPE_BOOL : d);
    int64_t size[3], gone[3];
    const int kept = (int)pick(4), lost = (int)pick(4);
    for (int a = 0; a < kept; a++) size[a] = counts[pick(a == 0 ? 11 : 5)];
    for (int a = 0; a < lost; a++) gone[a] = counts[pick(a == 0 ? 11 : 5)];
    lay_out(&c, kept, size, lost, gone, round % 4);
    check_case(&c);
  }
}

/* Is the fold compiled for integers? */
static bool folds_whole(int f) {
  switch (f) {
#define NO_REAL_FOLDS
#define FOLD(name, ...) \
  case FOLD_##name: return true;
#include "rows/fold.def"
#undef NO_REAL_FOLDS
  default: return false;
  }
}

static void test_types(void) {
  static const Dtype computes[] = {DTYPE_F32, DTYPE_F64, DTYPE_I32, DTYPE_I64};
  for (int d = 0; d < DTYPE_COUNT; d++)
    for (int k = 0; k < 4; k++)
      for (int f = 0; f < FOLD_COUNT; f++) {
        const bool real = dtype_class((Dtype)d) == CLASS_FLOAT;
        if (real && k > 1) continue;
        if (d == DTYPE_I64 && k == 2) continue;
        if (k > 1 && !folds_whole(f)) continue;
        Dtype out = k < 2 && !real ? computes[k] : (Dtype)d;
        if (f >= FOLD_any || (d == DTYPE_BOOL && f < FOLD_amax))
          out = f >= FOLD_any ? DTYPE_BOOL : computes[k];
        if (real && f == FOLD_sum) out = (Dtype)d;
        Case c = case_of((FoldId)f, (Dtype)d, computes[k], out);
        const int64_t size[2] = {3, 9}, gone[1] = {70};
        lay_out(&c, 2, size, 1, gone, (d + f) % 4);
        check_case(&c);
      }
}

/* Many chunks: rows, columns, few outputs, flat and with gaps. */
static void test_long(void) {
  static const int64_t shapes[][2] = {
      {1, 4096},  {1, 4097},    {1, 100003}, {3, 33000}, {17, 9001},
      {40, 8193}, {300, 12290}, {2, 65536},  {5, 12288}};
  for (int i = 0; i < 9; i++)
    for (int kind = 0; kind < 4; kind++) {
      if (check_fast() && kind > 1) continue;
      Case c = case_of(i % 3 == 2 ? FOLD_amax : i % 3 ? FOLD_spread : FOLD_sum, DTYPE_F32,
                       DTYPE_F32, DTYPE_F32);
      /* first kept inside, then gone inside */
      const int64_t n = shapes[i][1], m = shapes[i][0];
      lay_out(&c, 1, &m, 1, &n, 0);
      if (kind % 2 == 0) c.r.kept_src[0] = 1, c.r.gone_src[0] = m;
      if (kind == 2) c.r.gone_src[0] = m + 3, c.reach += 3 * n;
      if (kind == 3) c.r.gone_src[0] = 2, c.r.kept_src[0] = 2 * n,
                     c.reach = 2 * n * m;
      check_case(&c);
    }
}

static void test_parts(void) {
  Case c = case_of(FOLD_sum, DTYPE_BF16, DTYPE_F32, DTYPE_BF16);
  const int64_t size[2] = {4, 30}, gone[2] = {9, 1000};
  lay_out(&c, 2, size, 2, gone, 0);
  check_case(&c);
  c = case_of(FOLD_sum, DTYPE_F32, DTYPE_F32, DTYPE_F32);
  const int64_t channels[1] = {6}, places[2] = {20, 784};
  lay_out(&c, 1, channels, 2, places, 0);
  c.r.kept_src[0] = 784, c.r.gone_src[0] = 6 * 784, c.r.gone_src[1] = 1;
  check_case(&c);
}

static void test_empty(void) {
  for (int f = 0; f < FOLD_COUNT; f++) {
    const Dtype out = f >= FOLD_any ? DTYPE_BOOL : DTYPE_F32;
    Case c = case_of((FoldId)f, DTYPE_F32, DTYPE_F32, out);
    const int64_t size[1] = {5}, gone[2] = {3, 0};
    lay_out(&c, 1, size, 2, gone, 0);
    check_case(&c);
    c = case_of((FoldId)f, DTYPE_F32, DTYPE_F32, out);
    lay_out(&c, 1, size, 0, gone, 0); /* no axis is gone */
    check_case(&c);
    lay_out(&c, 0, size, 0, gone, 0); /* one element */
    check_case(&c);
  }
}

/* The sum of n numbers is within a bound of the exact one: each element takes
 * part in at most 64 + 6 + log2(chunks) additions (Higham 2002, 4.2). */
static void test_bound(void) {
  enum { N = 50000 };
  static float x[N];
  long double exact = 0, size = 0;
  for (int i = 0; i < N; i++) {
    x[i] = (float)(check_random(&seed) - 0.4);
    exact += (long double)x[i], size += fabsl((long double)x[i]);
  }
  float y = 0, scratch[64];
  Reduce r = {.fold = FOLD_sum, .compute = DTYPE_F32, .in = DTYPE_F32,
              .out = DTYPE_F32, .src = (char *)x, .dst = (char *)&y,
              .gone = 1, .gone_size = {N}, .gone_src = {1},
              .scratch = scratch};
  CHECK(cpu_reduce_room(&backend, &r) <= sizeof scratch);
  CHECK(cpu_reduce(&backend, &r));
  CHECK_NEAR(y, (double)exact, 75 * 0x1p-24 * (double)size);
}

static void test_nan(void) {
  float x[100], y = 0;
  const Reduce r = {.fold = FOLD_amax, .compute = DTYPE_F32, .in = DTYPE_F32,
                    .out = DTYPE_F32, .src = (char *)x, .dst = (char *)&y,
                    .gone = 1, .gone_size = {100}, .gone_src = {1}};
  for (int at = 0; at < 100; at += 11)
    for (int f = FOLD_amax; f <= FOLD_amin; f++) {
      Reduce q = r;
      q.fold = (FoldId)f;
      for (int i = 0; i < 100; i++) x[i] = i == 50 ? INFINITY : (float)i;
      x[at] = NAN;
      CHECK(cpu_reduce(&backend, &q) && isnan(y), "fold %d at %d", f, at);
      q.gone_src[0] = 0, q.src = (char *)(x + at);
      CHECK(cpu_reduce(&backend, &q) && isnan(y));
    }
}

/* ---- positions ---- */

static int64_t first_extreme(const Case *c, const double *x, bool greatest) {
  int64_t best = 0;
  for (int64_t i = 1; i < c->n; i++) {
    const bool further = greatest ? x[i] > x[best] : x[i] < x[best];
    if (further || (isnan(x[i]) && !isnan(x[best]))) best = i;
  }
  return best;
}

/* Few values, so that ties are many; sometimes a NaN. */
static void check_arg(Case *c, bool greatest) {
  Reduce *r = &c->r;
  char *src = reserve((size_t)c->reach * dtype_bytes(r->in));
  double *x = reserve((size_t)c->n * sizeof *x + 1);
  int64_t *dst = reserve((size_t)c->dst_reach * 8);
  for (int64_t i = 0; i < c->reach; i++) {
    const bool odd = dtype_class(r->in) == CLASS_FLOAT && pick(40) == 0;
    put(r->in, src, i, odd ? (double)NAN : (double)(pick(7) - 3));
  }
  r->src = src, r->dst = (char *)dst, r->out = DTYPE_I64;
  const ArgExtreme a = {.at = *r, .greatest = greatest, .base = 1};
  for (int level = 0; level <= level_best(); level++) {
    pool_set_threads(backend.pool, 1 + level);
    CHECK(arg_extreme_run(&backend, &a, level));
    int64_t bad = 0;
    for (int64_t o = 0; o < c->outputs; o++) {
      const int64_t from = place(r->kept, r->kept_size, r->kept_src, o);
      for (int64_t i = 0; i < c->n; i++)
        x[i] = get(r->in, src,
                   from + place(r->gone, r->gone_size, r->gone_src, i));
      bad += dst[place(r->kept, r->kept_size, r->kept_dst, o)] !=
             1 + first_extreme(c, x, greatest);
    }
    CHECK(bad == 0, "%s, level %d: %d of %d differ, n = %d",
          dtype_name(r->in), level, (int)bad, (int)c->outputs, (int)c->n);
  }
  free(src), free(x), free(dst);
}

static void test_positions(void) {
  static const int64_t counts[] = {1, 3, 10, 16, 33, 70, 257};
  for (int round = 0; round < 200; round++) {
    Case c = case_of(FOLD_sum, (Dtype)(round % DTYPE_COUNT), DTYPE_F32,
                     DTYPE_I64);
    int64_t size[2], gone[2];
    const int kept = (int)pick(3), lost = 1 + (int)pick(2);
    for (int a = 0; a < kept; a++) size[a] = counts[pick(a == 0 ? 7 : 3)];
    for (int a = 0; a < lost; a++) gone[a] = counts[pick(a == 0 ? 7 : 3)];
    lay_out(&c, kept, size, lost, gone, round / 3 % 4);
    check_arg(&c, round % 2 == 0);
  }
  Case c = case_of(FOLD_sum, DTYPE_F32, DTYPE_F32, DTYPE_I64);
  const int64_t size[1] = {3}, gone[1] = {10000};
  lay_out(&c, 1, size, 1, gone, 0);
  check_arg(&c, true);
}

int main(void) {
  ledger_open(&ledger);
  backend.pool = pool_open(&ledger, 1, &stop);
  backend.stop = &stop;
  RUN(test_layouts);
  RUN(test_types);
  RUN(test_long);
  RUN(test_parts);
  RUN(test_empty);
  RUN(test_bound);
  RUN(test_nan);
  RUN(test_positions);
  pool_close(backend.pool);
  CHECK_INT(ledger.used, 0);
  return check_report();
}
