/* gemm_test.c: products against the order they promise, bit for bit, then
 * against a bound; every level, layout and order of chunks. */
#include "check.h"
#include "cpu/gemm.h"
#include "cpu/level.h"

static uint64_t seed = 1;
static const int64_t bytes_of[GEMM_TYPES] = {4, 8, 4, 8, 1};
static const double unit_of[2] = {0x1p-24, 0x1p-53};

static int64_t pick(int64_t count) {
  return (int64_t)(check_random(&seed) * (double)count);
}

/* ---- operands ---- */

/* An operand in memory of its own, of exactly the bytes it reaches. */
typedef struct Matrix {
  char *memory, *data;
  size_t bytes;
  int64_t row, col, batch;
  int64_t *rows, *cols; /* tables, or NULL */
} Matrix;

static double get(int type, const void *data, int64_t i) {
  return type == GEMM_F32 ? (double)((const float *)data)[i]
                          : ((const double *)data)[i];
}

static void put(int type, void *data, int64_t i, double x) {
  if (type == GEMM_F32)
    ((float *)data)[i] = (float)x;
  else if (type == GEMM_F64)
    ((double *)data)[i] = x;
  else if (type == GEMM_I32)
    ((int32_t *)data)[i] = (int32_t)(x * 0x1p32);
  else if (type == GEMM_I64)
    ((int64_t *)data)[i] = (int64_t)(x * 0x1p64);
  else
    ((uint8_t *)data)[i] = (uint8_t)((x + 0.5) * 256);
}

static void *reserve(size_t bytes) {
  void *p = malloc(bytes > 0 ? bytes : 1);
  if (p == NULL) abort();
  return p;
}

/* kind: 0 rows, 1 columns, 2 both strided, 3 rows backwards, 4 broadcast,
 * 5 columns backwards */
static Matrix matrix_new(int type, int64_t batch, int64_t m, int64_t n,
                         int kind) {
  Matrix x = {.row = n, .col = 1, .batch = m * n};
  if (kind == 1) x.row = 1, x.col = m;
  if (kind == 2) x.row = 3 * n + 5, x.col = 3, x.batch = m * (3 * n + 5);
  if (kind == 3) x.row = -n;
  if (kind == 4) x.row = 0, x.batch = 0;
  if (kind == 5) x.col = -1;
  if (m == 0 || n == 0 || batch == 0) {
    x.memory = x.data = reserve(0);
    return x;
  }
  const int64_t down = (m - 1) * x.row, right = (n - 1) * x.col;
  const int64_t low = (down < 0 ? down : 0) + (right < 0 ? right : 0);
  const int64_t high =
      (down > 0 ? down : 0) + (right > 0 ? right : 0) + (batch - 1) * x.batch;
  x.bytes = (size_t)((high - low + 1) * bytes_of[type]);
  x.memory = reserve(x.bytes);
  x.data = x.memory - low * bytes_of[type];
  for (int64_t i = 0; i <= high - low; i++)
    put(type, x.memory, i, check_random(&seed) - 0.5);
  return x;
}

static int64_t *table_new(int64_t count, int64_t stride) {
  int64_t *table = reserve((size_t)count * sizeof *table);
  for (int64_t i = 0; i < count; i++) table[i] = i * stride;
  return table;
}

static void matrix_free(Matrix *x) {
  free(x->memory);
  free(x->rows);
  free(x->cols);
}

static GemmOperand operand(const Matrix *x) {
  return (GemmOperand){x->data, {x->row, x->rows}, {x->col, x->cols}, x->batch};
}

static void set_c(Gemm *g, Matrix *c) {
  g->c = c->data, g->c_row = c->row, g->c_col = c->col, g->c_batch = c->batch;
}

static Gemm plain(int type, const Matrix *a, const Matrix *b, Matrix *c,
                  int64_t m, int64_t n, int64_t k) {
  Gemm g = {.type = type,
            .batch = 1,
            .m = m,
            .n = n,
            .k = k,
            .a = operand(a),
            .b = operand(b),
            .alpha = 1};
  set_c(&g, c);
  return g;
}

/* ---- running ---- */

static int64_t common(int64_t a, int64_t b) {
  while (b != 0) {
    const int64_t rest = a % b;
    a = b, b = rest;
  }
  return a;
}

/* Chunks in a scattered order; each has scratch of its own, which ends where
 * it says (ASan looks) and starts as NaN: so no thread could matter. */
static void run(const Gemm *g, int level) {
  const GemmPlan plan = gemm_plan(g, level);
  const int64_t n = plan.chunks;
  int64_t step = n / 2 + 1 + pick(n + 1);
  while (common(step, n) > 1) step++; /* so that all are met */
  for (int64_t i = 0; i < n; i++) {
    char *scratch = aligned_alloc(64, plan.room > 0 ? plan.room : 64);
    if (scratch == NULL) abort();
    memset(scratch, 0xff, plan.room);
    gemm_chunk(&plan, i * step % n, scratch);
    free(scratch);
  }
}

/* ---- the promised order ---- */

/* One step of a chain: fused from AVX2 on. */
static double step(int type, int level, double a, double b, double c) {
  if (level >= LEVEL_AVX2)
    return type == GEMM_F32 ? (double)fmaf((float)a, (float)b, (float)c)
                            : fma(a, b, c);
  if (type == GEMM_F32) return (double)((float)a * (float)b + (float)c);
  return a * b + c;
}

static double plus(int type, double a, double b) {
  return type == GEMM_F32 ? (double)((float)a + (float)b) : a + b;
}

/* gemm_real.h: equal pieces of k, chains from 0, folded from the left. */
static double order_tiled(int type, int level, const double *x, const double *y,
                          int64_t k) {
  const int64_t pieces = k == 0 ? 1 : (k + 383) / 384;
  double sum = 0;
  for (int64_t i = 0; i < pieces; i++) {
    double chain = 0;
    for (int64_t p = i * k / pieces; p < (i + 1) * k / pieces; p++)
      chain = step(type, level, x[p], y[p], chain);
    sum = i == 0 ? chain : plus(type, sum, chain);
  }
  return sum;
}

/* gemv_real.h: a number of chains, then a tree. */
static double order_vector(int type, int level, const double *x,
                           const double *y, int64_t k, int chains) {
  double sum[64] = {0};
  for (int64_t p = 0; p < k; p++)
    sum[p % chains] = step(type, level, x[p], y[p], sum[p % chains]);
  for (int half = chains / 2; half > 0; half /= 2)
    for (int c = 0; c < half; c++) sum[c] = plus(type, sum[c], sum[c + half]);
  return sum[0];
}

/* A plain product with strides only. */
static void check_order(const Gemm *g, int level) {
  double *x = reserve((size_t)g->k * 8), *y = reserve((size_t)g->k * 8);
  const int wide = g->type == GEMM_F32 ? 16 : 8;
  const bool vector = !g->tiled && (g->m == 1 || g->n == 1);
  int64_t bad = 0;
  for (int64_t i = 0; i < g->m; i++)
    for (int64_t j = 0; j < g->n; j++) {
      for (int64_t p = 0; p < g->k; p++) {
        x[p] =
            get(g->type, g->a.data, i * g->a.row.stride + p * g->a.col.stride);
        y[p] =
            get(g->type, g->b.data, p * g->b.row.stride + j * g->b.col.stride);
      }
      const double r = !vector ? order_tiled(g->type, level, x, y, g->k)
                               : order_vector(g->type, level, x, y, g->k,
                                              g->m == g->n ? 4 * wide : wide);
      bad += r != get(g->type, g->c, i * g->c_row + j * g->c_col);
    }
  CHECK(bad == 0, "order: type %d level %d %lldx%lldx%lld: %lld differ",
        g->type, level, (long long)g->m, (long long)g->n, (long long)g->k,
        (long long)bad);
  free(x), free(y);
}

/* ---- a bound ---- */

/* |c - exact| <= (depth + 4) u (|alpha| |a| |b| + |beta c| + |bias|), Higham
 * 2002, 3.5, with one more rounding per fold; twice that without FMA. */
static bool is_near(const Gemm *g, const void *was, const void *is, int64_t b,
                    int64_t i, int64_t j) {
  const int t = g->type;
  const int64_t at = b * g->c_batch + i * g->c_row + j * g->c_col;
  long double sum = 0, size = 0;
  for (int64_t p = 0; p < g->k && g->alpha != 0; p++) {
    const long double x =
        (long double)get(t, g->a.data,
                         b * g->a.batch + i * g->a.row.stride +
                             p * g->a.col.stride) *
        get(t, g->b.data,
            b * g->b.batch + p * g->b.row.stride + j * g->b.col.stride);
    sum += x, size += fabsl(x);
  }
  sum *= g->alpha, size *= fabs(g->alpha);
  if (g->beta != 0) sum += g->beta * (long double)get(t, was, at);
  if (g->beta != 0) size += fabsl(g->beta * (long double)get(t, was, at));
  if (g->bias != NULL) {
    const double x = get(t, g->bias, i * g->bias_row + j * g->bias_col);
    sum += x, size += fabs(x);
  }
  if (g->relu && sum < 0) sum = 0;
  const long double bound = (long double)(2 * g->k + 8) * unit_of[t];
  return fabsl(sum - get(t, is, at)) <= bound * size + 1e-300L;
}

static uint64_t word(int type, const void *data, int64_t i) {
  if (type == GEMM_U8) return ((const uint8_t *)data)[i];
  return type == GEMM_I32 ? ((const uint32_t *)data)[i]
                          : ((const uint64_t *)data)[i];
}

static bool is_equal(const Gemm *g, const void *was, const void *is, int64_t b,
                     int64_t i, int64_t j) {
  const int t = g->type;
  const int64_t at = b * g->c_batch + i * g->c_row + j * g->c_col;
  uint64_t sum = g->beta != 0 ? word(t, was, at) : 0;
  for (int64_t p = 0; p < g->k && g->alpha != 0; p++)
    sum += word(t, g->a.data,
                b * g->a.batch + i * g->a.row.stride + p * g->a.col.stride) *
           word(t, g->b.data,
                b * g->b.batch + p * g->b.row.stride + j * g->b.col.stride);
  const int unused = 64 - 8 * (int)bytes_of[t];
  return word(t, is, at) == sum << unused >> unused;
}

static void compare(const Gemm *g, const void *was, const void *is, int level) {
  int64_t bad = 0;
  for (int64_t b = 0; b < g->batch; b++)
    for (int64_t i = 0; i < g->m; i++)
      for (int64_t j = 0; j < g->n; j++)
        bad += !(g->type > GEMM_F64 ? is_equal : is_near)(g, was, is, b, i, j);
  CHECK(bad == 0, "type %d level %d batch %lld %lldx%lldx%lld: %lld bad",
        g->type, level, (long long)g->batch, (long long)g->m, (long long)g->n,
        (long long)g->k, (long long)bad);
}

/* ---- random products ---- */

static int64_t size_pick(void) {
  static const int64_t few[] = {0,  1,  1,  2,  3,  5,  8,  13, 14,
                                15, 16, 17, 31, 32, 33, 47, 64};
  return few[pick(17)];
}

static Gemm random_shape(int type) {
  const double some[] = {1, 0, -1, 0.75};
  Gemm g = {.type = type,
            .batch = pick(3) + 1,
            .m = size_pick(),
            .n = size_pick(),
            .k = size_pick(),
            .tiled = pick(8) == 0};
  if (pick(8) == 0) g.k = 384 + size_pick() * 20;
  if (pick(20) == 0) g.m = 300 + size_pick();
  if (pick(20) == 0) g.n = 300 + size_pick();
  const bool whole = type > GEMM_F64;
  g.alpha = some[pick(whole ? 2 : 4)], g.beta = some[pick(whole ? 2 : 4)];
  return g;
}

/* A gap of C must keep its bytes. */
static void check_gaps(const Gemm *g, const Matrix *c, char *was) {
  const size_t bytes = (size_t)bytes_of[g->type];
  for (int64_t b = 0; b < g->batch; b++)
    for (int64_t i = 0; i < g->m; i++)
      for (int64_t j = 0; j < g->n; j++) {
        const int64_t at =
            (b * c->batch + i * c->row + j * c->col) * bytes_of[g->type];
        memcpy(was + (c->data - c->memory) + at, c->data + at, bytes);
      }
  CHECK(memcmp(was, c->memory, c->bytes) == 0, "a gap of C was written");
}

static void random_case(int level) {
  const int t = (int)pick(pick(4) == 0 ? GEMM_TYPES : 2);
  Gemm g = random_shape(t);
  Matrix a = matrix_new(t, g.batch, g.m, g.k, (int)pick(6));
  Matrix b = matrix_new(t, g.batch, g.k, g.n, (int)pick(6));
  Matrix c = matrix_new(t, g.batch, g.m, g.n, (int)pick(4));
  Matrix bias = matrix_new(t, 1, 1, g.m + g.n, 0);
  if (pick(4) == 0) a.rows = table_new(g.m, a.row);
  if (pick(4) == 0) a.cols = table_new(g.k, a.col);
  if (pick(4) == 0) b.cols = table_new(g.n, b.col);
  if (pick(4) == 0) b.rows = table_new(g.k, b.row);
  char *was = reserve(c.bytes);
  memcpy(was, c.memory, c.bytes);
  g.a = operand(&a), g.b = operand(&b);
  set_c(&g, &c);
  if (t < 2 && pick(2)) g.bias = bias.data;
  g.bias_row = pick(2), g.bias_col = pick(2), g.relu = t < 2 && pick(2);
  run(&g, level);
  compare(&g, was + (c.data - c.memory), c.data, level);
  check_gaps(&g, &c, was);
  free(was);
  matrix_free(&a), matrix_free(&b), matrix_free(&c), matrix_free(&bias);
}

/* ---- the same bits everywhere ---- */

/* The same values in another layout. */
static Matrix copy(int type, const Matrix *x, int64_t m, int64_t n, int kind) {
  Matrix y = matrix_new(type, 1, m, n, kind);
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < n; j++)
      put(type, y.data, i * y.row + j * y.col,
          get(type, x->data, i * x->row + j * x->col));
  return y;
}

static int64_t differences(int type, const Matrix *x, const Matrix *y,
                           int64_t m, int64_t n) {
  int64_t count = 0;
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < n; j++)
      count += memcmp(x->data + (i * x->row + j * x->col) * bytes_of[type],
                      y->data + (i * y->row + j * y->col) * bytes_of[type],
                      (size_t)bytes_of[type]) != 0;
  return count;
}

static void same_layouts(int type, int level, const Matrix *a, const Matrix *b,
                         const Matrix *c, int64_t m, int64_t n, int64_t k) {
  for (int kind = 0; kind < 64; kind++) {
    Matrix x = copy(type, a, m, k, kind % 4);
    Matrix y = copy(type, b, k, n, kind / 4 % 4);
    Matrix z = copy(type, c, m, n, kind / 16);
    if (kind & 1) y.rows = table_new(k, y.row);
    if (kind & 2) y.cols = table_new(n, y.col);
    if (kind & 4) x.cols = table_new(k, x.col);
    Gemm g = plain(type, &x, &y, &z, m, n, k);
    run(&g, level);
    CHECK(differences(type, c, &z, m, n) == 0,
          "layout: level %d kind %d %lldx%lldx%lld", level, kind, (long long)m,
          (long long)n, (long long)k);
    matrix_free(&x), matrix_free(&y), matrix_free(&z);
  }
}

/* A part of C computed alone: some rows, some columns.  A single row or column
 * keeps the bits of the whole if asked to. */
static void same_parts(int type, int level, const Matrix *a, const Matrix *b,
                       const Matrix *c, int64_t m, int64_t n, int64_t k) {
  const bool vector = m == 1 || n == 1;
  for (int i = 0; i < 40; i++) {
    const int64_t row = pick(m), col = pick(n);
    const int64_t rows = 1 + pick(i % 4 == 0 ? m - row : 1);
    const int64_t cols = 1 + pick(i % 4 <= 1 ? n - col : 1);
    if (vector && rows * cols == 1) continue; /* a dot has its own order */
    Matrix x = *a, y = *b, whole = *c;
    x.data += row * a->row * bytes_of[type];
    y.data += col * b->col * bytes_of[type];
    whole.data += (row * c->row + col * c->col) * bytes_of[type];
    Matrix z = matrix_new(type, 1, rows, cols, i % 3);
    Gemm g = plain(type, &x, &y, &z, rows, cols, k);
    g.tiled = !vector;
    run(&g, level);
    CHECK(differences(type, &whole, &z, rows, cols) == 0,
          "part: level %d rows %lld+%lld cols %lld+%lld of %lldx%lldx%lld",
          level, (long long)row, (long long)rows, (long long)col,
          (long long)cols, (long long)m, (long long)n, (long long)k);
    matrix_free(&z);
  }
}

static void same_levels(const Gemm *g, const Matrix *c) {
  Gemm again = *g;
  Matrix z = matrix_new(g->type, 1, g->m, g->n, 0);
  set_c(&again, &z);
  run(&again, LEVEL_AVX2);
  CHECK(differences(g->type, c, &z, g->m, g->n) == 0,
        "avx2 against avx512: %lldx%lldx%lld", (long long)g->m, (long long)g->n,
        (long long)g->k);
  matrix_free(&z);
}

static void same_bits(int level) {
  static const int64_t sizes[][3] = {
      {37, 75, 100}, {29, 33, 1000},  {5, 140, 400}, {1, 300, 900},
      {300, 1, 500}, {150, 130, 513}, {8, 8, 8},     {350, 90, 40},
      {1, 1, 1333},  {1, 37, 9},      {2, 1, 130},   {1, 1100, 300}};
  for (int i = 0; i < 12; i++)
    for (int type = 0; type < 2; type++) {
      const int64_t m = sizes[i][0], n = sizes[i][1], k = sizes[i][2];
      Matrix a = matrix_new(type, 1, m, k, i % 3);
      Matrix b = matrix_new(type, 1, k, n, i % 2);
      Matrix c = matrix_new(type, 1, m, n, 0);
      Gemm g = plain(type, &a, &b, &c, m, n, k);
      run(&g, level);
      check_order(&g, level);
      same_layouts(type, level, &a, &b, &c, m, n, k);
      same_parts(type, level, &a, &b, &c, m, n, k);
      if (level > LEVEL_AVX2) same_levels(&g, &c);
      matrix_free(&a), matrix_free(&b), matrix_free(&c);
    }
}

/* Each product of a batch alone; vectors too. */
static void same_batches(int level) {
  static const int64_t sizes[][3] = {
      {9, 11, 70}, {1, 40, 70}, {40, 1, 70}, {1, 1, 70}, {1, 17, 5000}};
  for (int i = 0; i < 10; i++) {
    const int64_t *s = sizes[i / 2], m = s[0], n = s[1], k = s[2];
    const int type = i % 2;
    Matrix a = matrix_new(type, 7, m, k, i % 3), b;
    Matrix c = matrix_new(type, 7, m, n, 0), z = matrix_new(type, 1, m, n, 0);
    b = matrix_new(type, 7, k, n, i % 4);
    Gemm g = plain(type, &a, &b, &c, m, n, k);
    g.batch = 7, g.c_batch = c.batch;
    run(&g, level);
    for (int64_t p = 0; p < 7; p++) {
      Matrix x = a, y = b, whole = c;
      x.data += p * a.batch * bytes_of[type];
      y.data += p * b.batch * bytes_of[type];
      whole.data += p * c.batch * bytes_of[type];
      Gemm one = plain(type, &x, &y, &z, m, n, k);
      run(&one, level);
      CHECK(differences(type, &whole, &z, m, n) == 0, "batch %d of case %d",
            (int)p, i);
    }
    matrix_free(&a), matrix_free(&b), matrix_free(&c), matrix_free(&z);
  }
}

/* A chain may end at -0, and steps that are not there must leave it so. */
static void negative_zero(int level, int64_t n, int64_t k) {
  for (int kind = 0; kind < 3; kind++) {
    Matrix x = matrix_new(GEMM_F32, 1, 1, k, 0);
    Matrix w = matrix_new(GEMM_F32, 1, k, n, kind);
    Matrix y = matrix_new(GEMM_F32, 1, 1, n, 0);
    for (int64_t p = 0; p < k; p++) ((float *)x.data)[p] = 1e-30f;
    for (int64_t i = 0; i < (int64_t)(w.bytes / 4); i++)
      ((float *)w.memory)[i] = -1e-30f;
    Gemm g = plain(GEMM_F32, &x, &w, &y, 1, n, k);
    run(&g, level);
    /* chains beyond k are +0 and end the tree at +0 */
    const bool negative = k >= (n == 1 ? 64 : 16) && level >= LEVEL_AVX2;
    int64_t bad = 0;
    for (int64_t j = 0; j < n; j++) {
      const float v = ((float *)y.data)[j];
      bad += v != 0 || (signbit(v) != 0) != negative;
    }
    CHECK(bad == 0, "-0: level %d n %lld k %lld kind %d", level, (long long)n,
          (long long)k, kind);
    matrix_free(&x), matrix_free(&w), matrix_free(&y);
  }
}

/* ---- NaN and Inf ---- */

/* One NaN or Inf in A or B spoils its row or column and nothing else; NaN in
 * C is not read with beta = 0 and stays with beta = 1. */
static void not_number(int level, int i, int64_t m, int64_t n, int64_t k) {
  Matrix a = matrix_new(GEMM_F32, 1, m, k, i % 3);
  Matrix b = matrix_new(GEMM_F32, 1, k, n, i / 3 % 2);
  Matrix c = matrix_new(GEMM_F32, 1, m, n, i / 6 % 2);
  const int64_t row = pick(m), p = pick(k), col = pick(n);
  float *x = (float *)a.data + row * a.row + p * a.col;
  float *y = (float *)b.data + p * b.row + col * b.col;
  float *z = (float *)c.data + row * c.row + col * c.col;
  if (i % 4 == 0) *x = NAN;
  if (i % 4 == 1) *y = INFINITY, *x = 0;
  for (int64_t e = 0; e < m * n && i % 4 == 2; e++) ((float *)c.data)[e] = NAN;
  if (i % 4 == 3) *z = NAN;
  Gemm g = plain(GEMM_F32, &a, &b, &c, m, n, k);
  g.beta = i % 4 == 3, g.relu = i % 2;
  run(&g, level);
  int64_t bad = 0;
  for (int64_t r = 0; r < m; r++)
    for (int64_t s = 0; s < n; s++) {
      const float v = ((float *)c.data)[r * c.row + s * c.col];
      const bool is_nan =
          (i % 4 == 0 && r == row) || (i % 4 != 2 && r == row && s == col);
      const bool is_inf = i % 4 == 1 && s == col && r != row;
      bad += is_nan   ? !isnan(v)
             : is_inf ? isfinite(v) && !(g.relu && v == 0)
                      : !isfinite(v);
    }
  CHECK(bad == 0, "level %d NaN case %d: %lld", level, i, (long long)bad);
  matrix_free(&a), matrix_free(&b), matrix_free(&c);
}

static void not_numbers(int level) {
  static const int64_t sizes[][3] = {{37, 41, 50}, {3, 150, 390}, {8, 8, 8},
                                     {1, 70, 37},  {70, 1, 300},  {1, 1, 99}};
  for (int s = 0; s < 6; s++)
    for (int i = 0; i < 24; i++)
      not_number(level, i, sizes[s][0], sizes[s][1], sizes[s][2]);
}

int main(int argc, char **argv) {
  const int cases = argc > 1 ? atoi(argv[1]) : check_fast() ? 250 : 800;
  for (int level = 0; level <= level_best(); level++) {
    for (int i = 0; i < cases; i++) random_case(level);
    same_bits(level);
    same_batches(level);
    negative_zero(level, 5, 64), negative_zero(level, 40, 67);
    negative_zero(level, 1, 70), negative_zero(level, 40, 7);
    not_numbers(level);
  }
  return check_report();
}
