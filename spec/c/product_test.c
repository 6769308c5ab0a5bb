/* product_test.c: the slots of products and convolutions against plain loops;
 * one to three threads, each with the scratch that was asked for and no more.
 * The order of adding is the business of gemm_test.c and conv_test.c. */
#include "check.h"
#include "cpu/kernels.h"
#include "ground/ledger.h"

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
  memset(p, 0xFF, (bytes / 64 + 1) * 64); /* NaN, when read as a float */
  return p;
}

static double unit(Dtype d) { return d == DTYPE_F32 ? 0x1p-24 : 0x1p-53; }

static double get(Dtype d, const void *data, int64_t i) {
  return d == DTYPE_F32 ? (double)((const float *)data)[i]
                        : ((const double *)data)[i];
}

static bool is_real(Dtype d) { return dtype_class(d) == CLASS_FLOAT; }

static void fill(Dtype d, char *data, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    const double x = check_random(&seed) - 0.5;
    if (d == DTYPE_F32) ((float *)(void *)data)[i] = (float)x;
    else if (d == DTYPE_F64) ((double *)(void *)data)[i] = x;
    else
      for (size_t k = 0; k < dtype_bytes(d); k++)
        data[i * (int64_t)dtype_bytes(d) + (int64_t)k] = (char)pick(256);
  }
}

/* The low bytes of an integer. */
static uint64_t bits(Dtype d, const void *data, int64_t i) {
  uint64_t x = 0;
  memcpy(&x, (const char *)data + i * (int64_t)dtype_bytes(d), dtype_bytes(d));
  return x;
}

/* ---- products ---- */

/* Is element (i, j) of product b as it should be?  Within (k + 2) u of the
 * sum of magnitudes; integers exactly. */
static bool is_right(const Product *p, int64_t b, int64_t i, int64_t j) {
  const int64_t at = b * p->c_batch + i * p->c_row + j * p->c_col;
  long double sum = 0, size = 0;
  uint64_t whole = 0;
  for (int64_t k = 0; k < p->k; k++) {
    const int64_t x = b * p->a_batch + i * p->a_row + k * p->a_col;
    const int64_t y = b * p->b_batch + k * p->b_row + j * p->b_col;
    if (is_real(p->dtype)) {
      const long double v = (long double)get(p->dtype, p->a, x) *
                            (long double)get(p->dtype, p->b, y);
      sum += v, size += fabsl(v);
    } else {
      whole += bits(p->dtype, p->a, x) * bits(p->dtype, p->b, y);
    }
  }
  if (!is_real(p->dtype)) {
    uint64_t want = 0;
    memcpy(&want, &whole, dtype_bytes(p->dtype));
    return bits(p->dtype, p->c, at) == want;
  }
  const long double near = (long double)unit(p->dtype) *
                           (long double)(p->k + 2) * size;
  return fabsl((long double)get(p->dtype, p->c, at) - sum) <= near;
}

static void check_product(Product p, int64_t reach) {
  const size_t bytes = (size_t)reach * dtype_bytes(p.dtype);
  char *c = reserve(bytes), *first = reserve(bytes);
  for (int threads = 1; threads <= 3; threads++) {
    pool_set_threads(backend.pool, threads);
    const size_t room = cpu_product_room(&backend, &p);
    p.scratch = room > 0 ? reserve(room) : NULL;
    memset(c, 0xFF, bytes);
    p.c = c;
    CHECK(cpu_product(&backend, &p));
    free(p.scratch);
    if (threads == 1) memcpy(first, c, bytes);
    CHECK(memcmp(first, c, bytes) == 0, "%d threads", threads);
  }
  int64_t bad = 0;
  for (int64_t b = 0; b < p.batch; b++)
    for (int64_t i = 0; i < p.m; i++)
      for (int64_t j = 0; j < p.n; j++) bad += !is_right(&p, b, i, j);
  CHECK(bad == 0, "%s %dx %dx%dx%d: %d differ", dtype_name(p.dtype),
        (int)p.batch, (int)p.m, (int)p.k, (int)p.n, (int)bad);
  free(c), free(first);
}

/* way: 0 rows, 1 columns, 2 gaps and a shared B, 3 b repeats a row. */
static void make_product(Dtype d, int64_t batch, int64_t m, int64_t k,
                         int64_t n, int way) {
  const int64_t gap = way == 2 ? 2 : 1;
  Product p = {.dtype = d, .batch = batch, .m = m, .n = n, .k = k,
               .a_batch = m * k * gap, .a_row = k * gap, .a_col = gap,
               .b_batch = way == 2 ? 0 : k * n, .b_row = n, .b_col = 1,
               .c_batch = m * n * gap, .c_row = n * gap, .c_col = gap};
  if (way == 1) p.a_row = 1, p.a_col = m, p.b_row = 1, p.b_col = k;
  if (way == 3) p.b_row = 0;
  const int64_t a_reach = batch * m * k * gap, b_reach = batch * k * n;
  char *a = reserve((size_t)a_reach * 8), *b = reserve((size_t)b_reach * 8);
  fill(d, a, a_reach), fill(d, b, b_reach);
  p.a = a, p.b = b;
  check_product(p, batch * m * n * gap);
  free(a), free(b);
}

static void test_products(void) {
  static const Dtype types[] = {DTYPE_F32, DTYPE_F64, DTYPE_I64, DTYPE_I32,
                                DTYPE_I16, DTYPE_I8,  DTYPE_U8};
  static const int64_t counts[] = {1, 2, 5, 16, 33, 70};
  for (int round = 0; round < 210; round++)
    make_product(types[round % 7], 1 + pick(3), counts[pick(6)],
                 counts[pick(6)], counts[pick(6)], round / 7 % 4);
}

static void test_large(void) {
  for (int way = 0; way < 3; way++) {
    make_product(DTYPE_F32, 1, 210, 150, 300, way);
    make_product(DTYPE_F64, 40, 30, 40, 30, way);
    make_product(DTYPE_F32, 1, 1, 1000, 900, way);
    make_product(DTYPE_I16, 2, 70, 60, 70, way);
    make_product(DTYPE_I32, 1, 130, 120, 130, way);
  }
}

static void test_empty(void) {
  make_product(DTYPE_F32, 2, 3, 0, 4, 0);
  make_product(DTYPE_F64, 1, 1, 0, 1, 0);
  make_product(DTYPE_I64, 2, 3, 0, 4, 0);
  make_product(DTYPE_I16, 2, 3, 0, 4, 0);
  make_product(DTYPE_U8, 2, 3, 0, 4, 0);
}

/* ---- convolutions ---- */

/* Where tap (o, c, i, j) of result (n, h, w) reads: the offset in x, or -1. */
static int64_t source(const Convolution *c, int64_t n, int64_t channel,
                      int64_t h, int64_t w, int64_t i, int64_t j) {
  const int64_t y = h * c->stride[DOWN] - c->pad[DOWN] + i * c->dilation[DOWN];
  const int64_t x = w * c->stride[ACROSS] - c->pad[ACROSS] + j * c->dilation[ACROSS];
  if (y < 0 || x < 0 || y >= c->size[DOWN] || x >= c->size[ACROSS]) return -1;
  return ((n * c->in + channel) * c->size[DOWN] + y) * c->size[ACROSS] + x;
}

/* All three products by one loop over taps: sums and sums of magnitudes. */
static void plain(const Convolution *c, long double *sum, long double *size) {
  const int64_t in = c->in / c->groups, out = c->out / c->groups;
  const int64_t taps = c->kernel[DOWN] * c->kernel[ACROSS];
  const int64_t places = c->result[DOWN] * c->result[ACROSS];
  for (int64_t n = 0; n < c->batch; n++)
    for (int64_t o = 0; o < c->out; o++)
      for (int64_t p = 0; p < places; p++)
        for (int64_t k = 0; k < in * taps; k++) {
          const int64_t tap = k % taps, channel = o / out * in + k / taps;
          const int64_t x = source(c, n, channel, p / c->result[ACROSS],
                                   p % c->result[ACROSS], tap / c->kernel[ACROSS],
                                   tap % c->kernel[ACROSS]);
          if (x < 0) continue;
          const int64_t y = (n * c->out + o) * places + p;
          const int64_t w = o * in * taps + k;
          const int64_t to = c->what == CONV_VALUE  ? y
                             : c->what == CONV_TO_X ? x : w;
          long double v = 1;
          if (c->what != CONV_TO_X) v *= (long double)get(c->dtype, c->x, x);
          if (c->what != CONV_TO_WEIGHT)
            v *= (long double)get(c->dtype, c->w, w);
          if (c->what != CONV_VALUE) v *= (long double)get(c->dtype, c->y, y);
          sum[to] += v, size[to] += fabsl(v);
        }
}

static void check_conv(Convolution c) {
  const int64_t taps = c.kernel[DOWN] * c.kernel[ACROSS];
  for (int a = 0; a < SPACE; a++)
    c.result[a] = (c.size[a] + 2 * c.pad[a] -
                   c.dilation[a] * (c.kernel[a] - 1) - 1) / c.stride[a] + 1;
  const int64_t places = c.result[DOWN] * c.result[ACROSS];
  const int64_t count[3] = {c.batch * c.in * c.size[DOWN] * c.size[ACROSS],
                            c.out * c.in / c.groups * taps,
                            c.batch * c.out * places};
  char *data[3], *bias = reserve((size_t)c.out * 8);
  for (int i = 0; i < 3; i++) {
    data[i] = reserve((size_t)count[i] * 8);
    fill(c.dtype, data[i], count[i]);
  }
  fill(c.dtype, bias, c.out);
  c.x = data[0], c.w = data[1], c.y = data[2];
  const int made = c.what == CONV_VALUE ? 2 : c.what == CONV_TO_X ? 0 : 1;
  if (c.bias != NULL) c.bias = bias;
  const int64_t n = count[made];
  long double *sum = calloc((size_t)n, sizeof *sum);
  long double *size = calloc((size_t)n, sizeof *size);
  char *first = reserve((size_t)n * 8);
  plain(&c, sum, size);
  for (int threads = 1; threads <= 3; threads++) {
    pool_set_threads(backend.pool, threads);
    const size_t room = cpu_conv_room(&backend, &c);
    c.scratch = room > 0 ? reserve(room) : NULL;
    memset(data[made], 0xFF, (size_t)n * 8);
    CHECK(cpu_conv(&backend, &c));
    free(c.scratch);
    if (threads == 1) memcpy(first, data[made], (size_t)n * 8);
    CHECK(memcmp(first, data[made], (size_t)n * 8) == 0);
  }
  int64_t bad = 0;
  for (int64_t i = 0; i < n; i++) {
    const long double b =
        c.bias != NULL ? (long double)get(c.dtype, bias, i / places % c.out)
                       : 0;
    const long double near = (long double)unit(c.dtype) *
                             (long double)(40 + c.batch * places) *
                             (size[i] + fabsl(b));
    bad += !(fabsl((long double)get(c.dtype, data[made], i) - sum[i] - b) <=
             near);
  }
  CHECK(bad == 0, "what %d, %s, groups %d, kernel %d: %d of %d differ",
        (int)c.what, dtype_name(c.dtype), (int)c.groups, (int)c.kernel[DOWN],
        (int)bad, (int)n);
  for (int i = 0; i < 3; i++) free(data[i]);
  free(bias), free(sum), free(size), free(first);
}

static void test_convs(void) {
  static const int64_t ways[][5] = {/* kernel, stride, pad, dilation, groups */
      {3, 1, 1, 1, 1}, {5, 1, 0, 1, 1}, {3, 2, 1, 1, 2}, {1, 1, 0, 1, 1},
      {3, 1, 2, 2, 4}, {2, 2, 0, 1, 1}, {3, 3, 0, 1, 2}};
  static const char some = 0; /* not NULL: a bias is wanted */
  for (int i = 0; i < 7; i++)
    for (int what = 0; what < 3; what++)
      for (int k = 0; k < 2; k++) {
        const int64_t *w = ways[i];
        const Convolution c = {
            .dtype = k == 0 ? DTYPE_F32 : DTYPE_F64, .what = (ConvWhat)what,
            .batch = 3, .in = 4, .out = 8, .groups = w[4], .size = {1, 11, 13},
            .kernel = {1, w[0], w[0]}, .stride = {1, w[1], w[1]},
            .pad = {0, w[2], w[2]}, .dilation = {1, w[3], w[3]},
            .bias = what == CONV_VALUE && i % 2 == 0 ? &some : NULL};
        check_conv(c);
      }
}

int main(void) {
  ledger_open(&ledger);
  backend.pool = pool_open(&ledger, 1, &stop);
  backend.stop = &stop;
  RUN(test_products);
  RUN(test_large);
  RUN(test_empty);
  RUN(test_convs);
  pool_close(backend.pool);
  CHECK_INT(ledger.used, 0);
  return check_report();
}
