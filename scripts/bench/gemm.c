/* gemm.c: speed of products and convolutions, beside what the machine can do.
 *
 *   make core
 *   cc -O2 -std=c11 -D_DEFAULT_SOURCE -Isrc scripts/bench/gemm.c \
 *     $(find build/obj/src/cpu build/obj/src/ground -name '*.o') \
 *     -lm -ldl -lpthread -o build/bench_gemm
 *   build/bench_gemm [FILTER [SECONDS [PEER.so]]]
 *
 * Prints `name value unit share`: share of the peak, which is measured in
 * registers; and with a CBLAS library as PEER its value and ours over it.
 * Peak, peer and ours take turns and each keeps its best, since a shared
 * machine is never quiet for long.  FILTER is a part of a name,
 * SECONDS the time for each.
 */
#include "cpu/conv.h"
#include "cpu/level.h"
#include "ground/pool.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { ROUNDS = 7, SIDE = 4096, MOST_THREADS = 2 };

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- peak: multiply-adds in registers, of one type ---- */

/* 12 chains of 4 cycles, 2 begun in each: none waits.  `half` is 1 for f64,
 * whose vectors hold half as many. */
enum { CHAINS = 12, STEPS = 30000 };

#define PEAK(name, flags, Vec, set, fma, bytes)                     \
  __attribute__((target(flags))) static double name(int half) {     \
    const Vec x = set(0);                                           \
    Vec sum[CHAINS];                                                \
    _Pragma("GCC unroll 12") for (int j = 0; j < CHAINS; j++) {     \
      sum[j] = x;                                                   \
      __asm__ volatile("" : "+x"(sum[j])); /* chains stay apart */  \
    }                                                               \
    for (int i = 0; i < STEPS; i++)                                 \
      _Pragma("GCC unroll 12") for (int j = 0; j < CHAINS; j++)     \
        sum[j] = fma(x, x, sum[j]);                                 \
    _Pragma("GCC unroll 12") for (int j = 0; j < CHAINS; j++)       \
      __asm__ volatile("" : : "x"(sum[j]));                         \
    return 2.0 * CHAINS * STEPS * bytes / (half ? 8 : 4);           \
  }

#if defined(__x86_64__)
#define MUL_ADD(a, b, c) _mm_add_ps(_mm_mul_ps(a, b), c)
PEAK(peak_base, "sse2", __m128, _mm_set1_ps, MUL_ADD, 16)
PEAK(peak_avx2, "avx2,fma", __m256, _mm256_set1_ps, _mm256_fmadd_ps, 32)
PEAK(peak_avx512, "avx512f", __m512, _mm512_set1_ps, _mm512_fmadd_ps, 64)
static double (*const peaks[LEVEL_COUNT])(int) = {peak_base, peak_avx2,
                                                  peak_avx512};
#else
static double (*const peaks[LEVEL_COUNT])(int) = {NULL};
#endif

/* ---- a race ---- */

typedef struct Race {
  Pool *pool;
  int threads, level, type;
  Gemm g;
  GemmPlan plan;
  ConvPlan conv;
  ConvData data;
  bool is_conv, ta, tb;
  double flops;
} Race;

static void *a, *b, *c; /* SIDE x SIDE of either type */
static char *scratch;
static const char *filter = "";
static double patience = 0.2; /* seconds, at least, for each line */
static void *peer;

static void peak_chunk(void *arg, int64_t chunk, int worker) {
  const Race *r = arg;
  (void)chunk, (void)worker;
  peaks[r->level](r->type);
}

static void chunk(void *arg, int64_t i, int worker) {
  Race *r = arg;
  const size_t room = r->is_conv ? r->conv.room : r->plan.room;
  char *mine = scratch + (size_t)worker * ((room + 4095) / 4096 * 4096);
  if (r->is_conv) conv_chunk(&r->conv, &r->data, i, mine);
  else gemm_chunk(&r->plan, i, mine);
}

static void ours(Race *r) {
  if (!r->is_conv) r->plan = gemm_plan(&r->g, r->level);
  pool_run(r->pool, r->is_conv ? r->conv.chunks : r->plan.chunks, chunk, r);
  if (r->is_conv) conv_finish(&r->conv, &r->data);
}

static void peak(Race *r) { pool_run(r->pool, r->threads, peak_chunk, r); }

/* CBLAS: row-major is 101, no transpose 111, transpose 112. */
typedef void Sgemm(int, int, int, int, int, int, float, const float *, int,
                   const float *, int, float, float *, int);

static void theirs(Race *r) {
  const Gemm *g = &r->g;
  Sgemm *f = NULL;
  *(void **)&f = peer;
  f(101, r->ta ? 112 : 111, r->tb ? 112 : 111, (int)g->m, (int)g->n,
    (int)g->k, 1, a, (int)(r->ta ? g->m : g->k), b,
    (int)(r->tb ? g->k : g->n), 0, c, (int)g->n);
}

/* The best time of one call, with those before. */
static double best(void (*f)(Race *), Race *r, int repeats, double before) {
  const double start = seconds();
  for (int i = 0; i < repeats; i++) f(r);
  const double s = (seconds() - start) / repeats;
  return s < before ? s : before;
}

static void race(const char *name, Race *r) {
  if (strstr(name, filter) == NULL) return;
  const int repeats = (int)(2e7 / r->flops) + 1;
  const bool rival = peer != NULL && !r->is_conv && r->type == GEMM_F32;
  const double work = peaks[r->level] ? peaks[r->level](r->type) : 0;
  /* as long as ours: a short burst finds a quiet moment more often */
  const int bursts = work > 0 ? (int)(r->flops * repeats / work) + 1 : 0;
  double s = 1e9, p = 1e9, t = 1e9;
  const double end = seconds() + patience;
  for (int i = 0; i < ROUNDS || seconds() < end; i++) {
    if (work > 0) p = best(peak, r, bursts, p);
    s = best(ours, r, repeats, s);
    if (rival) t = best(theirs, r, repeats, t);
  }
  const double top = work * r->threads / p * 1e-9;
  const double rate = r->flops / s * 1e-9;
  printf("%-32s %8.2f GFLOP/s", name, rate);
  if (work > 0) printf("  %3.0f %% of peak", 100 * rate / top);
  if (rival) printf("  peer %8.2f ratio %.2f", r->flops / t * 1e-9, t / s);
  printf("  %10.2f us\n", s * 1e6);
  fflush(stdout);
}

/* ---- products ---- */

static Race product(int type, int64_t m, int64_t k, int64_t n, int mode) {
  Race r = {.type = type, .ta = mode & 1, .tb = mode >> 1, .threads = 1,
            .level = level_best()};
  Gemm g = {.type = type, .batch = 1, .m = m, .n = n, .k = k, .alpha = 1};
  g.a = (GemmOperand){a, {r.ta ? 1 : k, NULL}, {r.ta ? m : 1, NULL}, m * k};
  g.b = (GemmOperand){b, {r.tb ? 1 : n, NULL}, {r.tb ? k : 1, NULL}, k * n};
  g.c = c, g.c_row = n, g.c_col = 1, g.c_batch = m * n;
  r.g = g;
  r.flops = 2.0 * (double)m * (double)k * (double)n;
  return r;
}

static void shape(Pool *pool, int threads, int type, const int64_t s[3],
                  int mode) {
  char name[80];
  Race r = product(type, s[0], s[1], s[2], mode);
  r.pool = pool, r.threads = threads;
  snprintf(name, sizeof name, "gemm.%s.%dx%dx%d.%s.t%d",
           type == GEMM_F32 ? "f32" : "f64", (int)s[0], (int)s[1], (int)s[2],
           (const char *[]){"NN", "TN", "NT", "TT"}[mode], threads);
  race(name, &r);
}

static void products(Pool *pool, int threads) {
  static const int64_t squares[] = {16,  32,  64,  96,  100, 128,
                                    192, 256, 384, 512, 1024};
  static const int64_t skinny[][3] = {
      {64, 784, 256},   {64, 784, 128}, {128, 128, 32}, {8, 1024, 1024},
      {1024, 1024, 4},  {1, 784, 256},  {1, 128, 10},   {1, 4096, 4096},
      {4096, 4096, 1},  {1, 784, 1},    {1, 1 << 20, 1}};
  for (int i = threads == 1 ? 0 : 5; i < 11; i++) {
    const int64_t s[3] = {squares[i], squares[i], squares[i]};
    shape(pool, threads, GEMM_F32, s, 0);
    if (threads == 1 && s[0] == 512)
      for (int mode = 1; mode < 4; mode++)
        shape(pool, 1, GEMM_F32, s, mode);
    if (s[0] == 512) shape(pool, threads, GEMM_F64, s, 0);
  }
  for (int i = 0; i < 11; i++)
    for (int mode = 0; mode < 3; mode += 2)
      shape(pool, threads, GEMM_F32, skinny[i], mode);
}

/* Many small ones in one call. */
static void batches(Pool *pool) {
  for (int64_t n = 4; n <= 64; n *= 2) {
    char name[80];
    Race r = product(GEMM_F32, n, n, n, 0);
    r.pool = pool, r.g.batch = 1000, r.flops *= 1000;
    snprintf(name, sizeof name, "batch.f32.1000x%dx%dx%d.t1", (int)n, (int)n,
             (int)n);
    void *rival = peer;
    peer = NULL;
    race(name, &r);
    peer = rival;
  }
}

static void integers(Pool *pool) {
  static const char *const names[] = {"i32", "i64", "u8"};
  for (int type = GEMM_I32; type <= GEMM_U8; type++) {
    char name[80];
    Race r = product(type, 256, 256, 256, 0);
    r.pool = pool;
    snprintf(name, sizeof name, "gemm.%s.256x256x256.NN.t1",
             names[type - GEMM_I32]);
    race(name, &r);
  }
}

/* ---- convolutions ---- */

static Conv square(int64_t batch, int64_t in, int64_t out, int64_t groups,
                   int64_t size, int64_t kernel, int64_t pad) {
  const int64_t result = size + 2 * pad - kernel + 1;
  return (Conv){GEMM_F32,         batch,  in,          out,
                groups,           {1, size, size},     {1, kernel, kernel},
                {1, 1, 1},        {0, pad, pad},       {1, 1, 1},
                {1, result, result}};
}

static void convolution(Pool *pool, int threads, const char *label,
                        const Conv *v, int what, int mode) {
  char name[80];
  Race r = {.pool = pool, .threads = threads, .level = level_best(),
            .is_conv = true, .data = {.image = a, .other = b, .result = c}};
  r.conv = conv_plan(v, what, mode, r.level);
  void *shared = aligned_alloc(64, r.conv.shared_room + 64);
  if (shared == NULL) return;
  conv_prepare(&r.conv, b, shared);
  r.flops = 2.0 * (double)(v->batch * v->out * v->in / v->groups) *
            (double)(v->result[DOWN] * v->result[ACROSS]) *
            (double)(v->kernel[DOWN] * v->kernel[ACROSS]);
  snprintf(name, sizeof name, "conv.%s.%s%s.t%d", label,
           (const char *[]){"y", "gx", "gw"}[what],
           (const char *[]){"", ".packed", ".direct"}[mode], threads);
  race(name, &r);
  free(shared);
}

static void convolutions(Pool *pool, int threads) {
  const Conv all[] = {
      square(64, 1, 6, 1, 28, 5, 2),    square(64, 6, 16, 1, 14, 5, 0),
      square(64, 1, 8, 1, 28, 5, 0),    square(64, 8, 16, 1, 12, 3, 0),
      square(8, 64, 64, 1, 56, 3, 1),   square(8, 256, 256, 1, 14, 3, 1),
      square(1, 3, 16, 1, 512, 3, 1),   square(8, 64, 64, 64, 56, 3, 1)};
  static const char *const names[] = {"lenet1", "lenet2",   "demo1", "demo2",
                                      "res64",  "res256",   "large",
                                      "depthwise"};
  for (int i = 0; i < 8; i++)
    for (int what = 0; what < 3; what++) {
      convolution(pool, threads, names[i], &all[i], what, CONV_BEST);
      for (int mode = 1; mode < 3 && what < 2 && *filter; mode++)
        convolution(pool, threads, names[i], &all[i], what, mode);
    }
}

/* Whole pages of numbers in [-0.5, 0.5), as f32; as f64 they are finite too. */
static void *filled(size_t count) {
  double *x = aligned_alloc(4096, count * sizeof *x);
  if (x == NULL) exit(1);
  float *y = (float *)(void *)x;
  for (size_t i = 0; i < 2 * count; i++)
    y[i] = (float)(i * 2654435761u % 1024) / 1024 - 0.5f;
  return x;
}

static void open_peer(const char *path) {
  void *library = dlopen(path, RTLD_NOW);
  if (library == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    exit(1);
  }
  peer = dlsym(library, "cblas_sgemm");
}

int main(int argc, char **argv) {
  const size_t count = (size_t)SIDE * SIDE;
  Ledger ledger;
  bool stop = false;
  if (argc > 1) filter = argv[1];
  if (argc > 2) patience = atof(argv[2]);
  if (argc > 3) open_peer(argv[3]);
  a = filled(count), b = filled(count), c = filled(count);
  scratch = filled(count);
  ledger_open(&ledger);
  for (int threads = 1; threads <= MOST_THREADS; threads++) {
    Pool *pool = pool_open(&ledger, threads, &stop);
    if (pool == NULL) return 1;
    products(pool, threads);
    if (threads == 1) batches(pool), integers(pool);
    convolutions(pool, threads);
    pool_close(pool);
  }
  return 0;
}
