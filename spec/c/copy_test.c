/* copy_test.c: moves against a plain reference: all pairs of dtypes on edge
 * values, any strides, transposes, threads; ramps and bad divisors. */
#include "check.h"
#include "cpu/kernels.h"
#include "value/half.h"

static uint64_t seed = 1;

static int64_t below(int64_t n) {
  return (int64_t)(check_random(&seed) * (double)n);
}

static void *reserve(size_t bytes) {
  void *p = malloc(bytes > 0 ? bytes : 1);
  if (p == NULL) abort();
  return p;
}

static bool is_real(Dtype d) { return dtype_class(d) == CLASS_FLOAT; }

/* ---- the reference: long double holds every element exactly ---- */

static long double read_half(uint16_t h, int fraction, int bias) {
  const int exponent = (h & 0x7fff) >> fraction, most = 0x7fff >> fraction;
  const int low = h & ((1 << fraction) - 1);
  long double x =
      exponent == 0 ? ldexpl(low, 1 - bias - fraction)
                    : ldexpl(low + (1 << fraction), exponent - bias - fraction);
  if (exponent == most) x = low == 0 ? (long double)INFINITY : (long double)NAN;
  return h & 0x8000 ? -x : x;
}

static long double read_element(Dtype d, const void *p) {
  switch (d) {
  case DTYPE_BOOL:
  case DTYPE_U8:
    return *(const uint8_t *)p;
  case DTYPE_I8:
    return *(const int8_t *)p;
  case DTYPE_I16:
    return *(const int16_t *)p;
  case DTYPE_I32:
    return *(const int32_t *)p;
  case DTYPE_I64:
    return *(const int64_t *)p;
  case DTYPE_F16:
    return read_half(*(const uint16_t *)p, 10, 15);
  case DTYPE_BF16:
    return read_half(*(const uint16_t *)p, 7, 127);
  case DTYPE_F32:
    return *(const float *)p;
  default:
    return *(const double *)p;
  }
}

/* Nearest, ties to even, by walking the units of the last place. */
static uint16_t round_half(long double x, int fraction, int bias) {
  const uint16_t sign = signbit(x) ? 0x8000 : 0;
  const uint16_t infinite = (uint16_t)((0x7fff >> fraction) << fraction);
  const long double size = fabsl(x);
  int exponent = 0;
  if (isnan(x)) return 0x7fff;
  if (isinf(x)) return sign | infinite;
  if (size == 0) return sign;
  frexpl(size, &exponent); /* size < 2^exponent */
  if (exponent < 2 - bias) exponent = 2 - bias;
  const long double units = ldexpl(size, fraction + 1 - exponent);
  long double whole = floorl(units), rest = units - whole;
  if (rest > 0.5L || (rest == 0.5L && fmodl(whole, 2) != 0)) whole += 1;
  const long double bits =
      ldexpl(exponent - 2 + bias, fraction) + whole; /* a carry just adds */
  return bits >= infinite ? sign | infinite : (uint16_t)(sign | (int)bits);
}

static int64_t to_whole(Dtype from, long double x, Dtype to) {
  const long double low = dtype_least(to), high = dtype_greatest(to);
  if (isnan(x)) return 0;
  x = truncl(x);
  if (is_real(from)) x = x < low ? low : x > high ? high : x;
  return (int64_t)x;
}

static void write_element(Dtype from, long double x, Dtype to, void *p) {
  const int64_t w = is_real(to) || to == DTYPE_BOOL ? 0 : to_whole(from, x, to);
  switch (to) {
  case DTYPE_BOOL:
    *(uint8_t *)p = x != 0;
    break;
  case DTYPE_U8:
    *(uint8_t *)p = (uint8_t)w;
    break;
  case DTYPE_I8:
    *(int8_t *)p = (int8_t)w;
    break;
  case DTYPE_I16:
    *(int16_t *)p = (int16_t)w;
    break;
  case DTYPE_I32:
    *(int32_t *)p = (int32_t)w;
    break;
  case DTYPE_I64:
    *(int64_t *)p = w;
    break;
  case DTYPE_F16:
    *(uint16_t *)p = round_half(x, 10, 15);
    break;
  case DTYPE_BF16:
    *(uint16_t *)p = round_half(x, 7, 127);
    break;
  case DTYPE_F32:
    *(float *)p = (float)x;
    break;
  default:
    *(double *)p = (double)x;
  }
}

/* Equal bits, or two NaNs. */
static bool same_element(Dtype d, const void *a, const void *b) {
  if (memcmp(a, b, dtype_bytes(d)) == 0) return true;
  return is_real(d) && isnan(read_element(d, a)) && isnan(read_element(d, b));
}

/* ---- dtypes ---- */

static const double reals[] = {0,
                               -0.0,
                               0.5,
                               -0.5,
                               0.99,
                               1,
                               -1,
                               1.5,
                               2.5,
                               -2.5,
                               127,
                               127.5,
                               128,
                               -128,
                               -128.5,
                               -129,
                               255,
                               255.9,
                               256,
                               -0.1,
                               32767,
                               32768,
                               -32768.9,
                               -32769,
                               65504,
                               65519,
                               65520,
                               1e5,
                               0x1p31,
                               -0x1p31,
                               0x1p63,
                               -0x1p63,
                               0x1p64,
                               -0x1p70,
                               1e30,
                               1e300,
                               -1e300,
                               3.4e38,
                               3.39e38,
                               0x1p-14,
                               0x1p-24,
                               0x1p-25,
                               1e-40,
                               0x1p-149,
                               1e-310,
                               INFINITY,
                               -INFINITY,
                               NAN,
                               2147483647,
                               1.00390625,
                               1.01171875,
                               1 + 0x1p-8 + 0x1p-40,
                               1 + 0x1p-11 + 0x1p-40,
                               1 + 0x1p-11 - 0x1p-40,
                               2147483520,
                               0x1.fffffffffffffp62,
                               0x1p-26 + 0x1p-60,
                               0x1p-25 + 0x1p-60,
                               0x1p-133,
                               0x1p-134,
                               0x1.8p-134};
static const int64_t wholes[] = {0,
                                 1,
                                 -1,
                                 2,
                                 127,
                                 128,
                                 -128,
                                 -129,
                                 255,
                                 256,
                                 32767,
                                 32768,
                                 -32769,
                                 65535,
                                 65519,
                                 65520,
                                 16777217,
                                 16777219,
                                 33554431,
                                 INT32_MAX,
                                 INT32_MIN,
                                 INT64_MAX,
                                 INT64_MIN,
                                 0x101,
                                 0x8000000000,
                                 (1ll << 62) + (1ll << 54) + 1,
                                 (1ll << 62) + (1ll << 54),
                                 (1ll << 62) + (1ll << 54) - 1,
                                 -(1ll << 62) - (1ll << 54) - 1,
                                 (1ll << 53) + 1,
                                 (1ll << 54) + 2 + 1,
                                 (1 << 24) + (1 << 16) + 1,
                                 (1 << 24) + (1 << 16),
                                 0x7fffff7fffffffff};
enum {
  REALS = sizeof reals / sizeof *reals,
  WHOLES = sizeof wholes / sizeof *wholes,
  MANY = 300
};

/* Edge values, then random ones, as elements of d. */
static void draw_elements(Dtype d, int64_t n, char *to) {
  const size_t bytes = dtype_bytes(d);
  for (int64_t i = 0; i < n; i++) {
    const double x = ldexp(check_random(&seed) - 0.5, (int)below(80) - 20);
    const int64_t w =
        (int64_t)(ldexp(check_random(&seed) - 0.5, 64)) >> below(63);
    char *const at = to + (size_t)i * bytes;
    if (d == DTYPE_BOOL)
      *at = (char)below(2);
    else if (is_real(d))
      write_element(DTYPE_F64, (long double)(i < REALS ? reals[i] : x), d, at);
    else
      write_element(DTYPE_I64, (long double)(i < WHOLES ? wholes[i] : w), d,
                    at);
  }
}

static void check_pair(Dtype from, Dtype to, int level, int64_t n) {
  const size_t in = dtype_bytes(from), out = dtype_bytes(to);
  char *const a = reserve((size_t)n * in), *const b = reserve((size_t)n * out);
  Backend backend = {.kind = "cpu"};
  Move m = {.axes = 1, .size = {n}};
  draw_elements(from, n, a);
  m.src = (Leaf){.data = a, .dtype = from, .stride = {1}};
  m.dst = (Leaf){.data = b, .dtype = to, .stride = {1}};
  CHECK(copy_run(&backend, &m, level));
  int64_t bad = -1;
  for (int64_t i = n - 1; i >= 0; i--) {
    char want[8];
    write_element(from, read_element(from, a + (size_t)i * in), to, want);
    if (from == to ? memcmp(a + (size_t)i * in, b + (size_t)i * out, in) != 0
                   : !same_element(to, b + (size_t)i * out, want))
      bad = i;
  }
  CHECK(bad < 0, "%s to %s, level %d: element %d, %.17Lg became %.17Lg",
        dtype_name(from), dtype_name(to), level, (int)bad,
        bad < 0 ? 0 : read_element(from, a + (size_t)bad * in),
        bad < 0 ? 0 : read_element(to, b + (size_t)bad * out));
  free(a), free(b);
}

static void test_dtypes(void) {
  for (int level = 0; level <= level_best(); level++)
    for (int from = 0; from < DTYPE_COUNT; from++)
      for (int to = 0; to < DTYPE_COUNT; to++)
        for (int64_t n = MANY; n > 0; n /= 5)
          check_pair((Dtype)from, (Dtype)to, level, n);
}

/* ---- strides ---- */

/* Strides of an array with its axes in any order, `room` beyond each. */
static int64_t draw_strides(int axes, const int64_t *size, int64_t room,
                            int64_t *stride) {
  int order[MAX_RANK];
  int64_t step = 1 + below(room + 1), last = 0;
  for (int d = 0; d < axes; d++) order[d] = d;
  for (int d = axes - 1; d > 0; d--) {
    const int other = (int)below(d + 1), was = order[d];
    order[d] = order[other], order[other] = was;
  }
  for (int i = axes - 1; i >= 0; i--) {
    stride[order[i]] = step;
    last += (size[order[i]] - 1) * step;
    step *= size[order[i]] + below(room + 1);
  }
  return last + 1;
}

static int64_t place(const Leaf *l, const Move *m, int64_t i) {
  int64_t at = 0;
  for (int d = m->axes - 1; d >= 0; d--)
    at += i % m->size[d] * l->stride[d], i /= m->size[d];
  return at;
}

/* The memory of dst as it must become. */
static char *expected(const Move *m, int64_t n, size_t bytes) {
  const Leaf *s = &m->src, *d = &m->dst;
  const size_t in = dtype_bytes(s->dtype), out = dtype_bytes(d->dtype);
  char *const image = reserve(bytes);
  memcpy(image, d->data, bytes);
  for (int64_t i = 0; i < n; i++) {
    char *const to = image + (size_t)place(d, m, i) * out;
    const char *const from =
        s->data == NULL ? NULL : s->data + (size_t)place(s, m, i) * in;
    if (from == NULL)
      write_element(s->dtype,
                    is_real(s->dtype) ? (long double)s->number
                                      : (long double)s->whole,
                    d->dtype, to);
    else if (s->dtype == d->dtype)
      memcpy(to, from, in);
    else
      write_element(s->dtype, read_element(s->dtype, from), d->dtype, to);
  }
  return image;
}

static bool same_memory(Dtype d, const char *a, const char *b, size_t bytes) {
  const size_t each = dtype_bytes(d);
  if (memcmp(a, b, bytes) == 0) return true;
  for (size_t i = 0; i < bytes; i += each)
    if (!same_element(d, a + i, b + i)) return false;
  return true;
}

static void check_move(Move *m, Backend *b, int64_t room, int level) {
  int64_t n = 1;
  for (int d = 0; d < m->axes; d++) n *= m->size[d];
  const int64_t to = draw_strides(m->axes, m->size, room, m->dst.stride);
  const int64_t from = draw_strides(m->axes, m->size, room, m->src.stride);
  const size_t bytes = (size_t)to * dtype_bytes(m->dst.dtype);
  char *const memory = reserve((size_t)from * dtype_bytes(m->src.dtype));
  draw_elements(m->src.dtype, from, memory);
  m->dst.data = reserve(bytes);
  memset(m->dst.data, 1, bytes);
  for (int d = 0; d < m->axes; d++)
    if (below(5) == 0) m->src.stride[d] = 0;
  m->src.data = below(6) == 0 ? NULL : memory;
  m->src.number = below(2) ? 2.5 : 0, m->src.whole = below(2) ? -3 : 0;
  char *const want = expected(m, n, bytes);
  CHECK(copy_run(b, m, level));
  CHECK(same_memory(m->dst.dtype, m->dst.data, want, bytes),
        "%s to %s, %d axes, last %d, level %d", dtype_name(m->src.dtype),
        dtype_name(m->dst.dtype), m->axes, (int)m->size[m->axes - 1], level);
  free(memory), free(m->dst.data), free(want);
}

static void test_strides(void) {
  static const int64_t sizes[] = {1, 2, 3, 4, 5, 8, 17, 33, 64, 70, 300};
  Backend b = {.kind = "cpu"};
  const int times = check_fast() ? 1000 : 6000;
  for (int i = 0; i < times; i++) {
    Move m = {.axes = 1 + (int)below(5)};
    int64_t n = 1;
    for (int d = 0; d < m.axes; d++) n *= m.size[d] = sizes[below(11)];
    if (n > 20000) continue;
    m.src.dtype = (Dtype)below(DTYPE_COUNT);
    m.dst.dtype = below(2) ? m.src.dtype : (Dtype)below(DTYPE_COUNT);
    check_move(&m, &b, below(2), (int)below(level_best() + 1));
  }
}

/* ---- transposes of every width, with edges that are no square ---- */

static void test_transposes(void) {
  static const Dtype by_bytes[] = {DTYPE_U8, DTYPE_I16, DTYPE_F32, DTYPE_F64};
  Backend b = {.kind = "cpu"};
  for (int level = 0; level <= level_best(); level++)
    for (int i = 0; i < 4; i++)
      for (int64_t rows = 5; rows < 90; rows += 14)
        for (int64_t cols = 5; cols < 90; cols += 9) {
          const Dtype d = by_bytes[i];
          const size_t bytes = (size_t)(rows * cols) * dtype_bytes(d);
          char *const from = reserve(bytes), *const to = reserve(bytes);
          draw_elements(d, rows * cols, from);
          Move m = {.axes = 2, .size = {rows, cols}};
          m.src = (Leaf){.data = from, .dtype = d, .stride = {1, rows}};
          m.dst = (Leaf){.data = to, .dtype = d, .stride = {cols, 1}};
          char *const want = expected(&m, rows * cols, bytes);
          CHECK(copy_run(&b, &m, level));
          CHECK(memcmp(to, want, bytes) == 0, "%d x %d %s level %d", (int)rows,
                (int)cols, dtype_name(d), level);
          free(from), free(to), free(want);
        }
}

/* ---- threads ---- */

static void test_threads(void) {
  static const int64_t sizes[][3] = {
      {1, 1, 300000}, {500, 601, 1}, {1, 100001, 3}, {7, 301, 150}};
  Ledger ledger;
  volatile bool stop = false;
  ledger_open(&ledger);
  for (int threads = 1; threads <= 3; threads++) {
    Backend b = {.kind = "cpu", .stop = &stop};
    b.pool = pool_open(&ledger, threads, &stop);
    for (int i = 0; i < 8; i++) {
      Move m = {.axes = 3};
      memcpy(m.size, sizes[i % 4], sizeof sizes[0]);
      m.src.dtype = DTYPE_F32, m.dst.dtype = i < 4 ? DTYPE_F32 : DTYPE_I16;
      check_move(&m, &b, 1, level_best());
    }
    pool_close(b.pool);
  }
}

static void test_stop(void) {
  bool stop = true;
  enum { N = 300000 };
  float *const x = calloc(2 * N, sizeof *x);
  Backend b = {.kind = "cpu", .stop = &stop};
  Move m = {.axes = 1, .size = {N}};
  if (x == NULL) abort();
  m.src = (Leaf){.data = (char *)x, .dtype = DTYPE_F32, .stride = {1}};
  m.dst = (Leaf){.data = (char *)(x + N), .dtype = DTYPE_F32, .stride = {1}};
  CHECK(!cpu_move(&b, &m));
  stop = false;
  CHECK(cpu_move(&b, &m));
  free(x);
}

/* ---- ramps ---- */

static void check_ramp(Dtype d, int64_t n, bool ends) {
  const size_t bytes = dtype_bytes(d);
  char *const to = reserve((size_t)n * bytes);
  Backend b = {.kind = "cpu"};
  Ramp r = {.dtype = d,
            .count = n,
            .dst = to,
            .first = -3.25,
            .step = 0.1,
            .last = 7.5,
            .whole_first = 5,
            .whole_step = -3,
            .ends = ends};
  cpu_ramp(&b, &r);
  int64_t bad = -1;
  for (int64_t i = n - 1; i >= 0; i--) {
    char want[8];
    if (is_real(d)) {
      const double x =
          ends && i == n - 1 ? r.last : r.first + (double)i * r.step;
      write_element(DTYPE_F64, (long double)x, d, want);
    } else {
      write_element(DTYPE_I64, (long double)(5 - 3 * i), d, want);
    }
    if (memcmp(to + (size_t)i * bytes, want, bytes) != 0) bad = i;
  }
  CHECK(bad < 0, "%s ramp of %d: element %d", dtype_name(d), (int)n, (int)bad);
  free(to);
}

static void test_ramps(void) {
  for (int d = DTYPE_U8; d < DTYPE_COUNT; d++)
    for (int64_t n = 1; n < 200000; n = n * 7 + 1) {
      check_ramp((Dtype)d, n, false);
      if (is_real((Dtype)d)) check_ramp((Dtype)d, n, true);
    }
}

/* ---- bad divisors ---- */

static void check_bad(Dtype d, int64_t bad, bool negative) {
  enum { ROWS = 3, COLS = 1500 };
  const size_t bytes = dtype_bytes(d);
  char *const x = reserve(ROWS * COLS * bytes);
  Backend b = {.kind = "cpu"};
  Move m = {.axes = 2, .size = {ROWS, COLS}};
  for (int turned = 0; turned < 2; turned++) {
    m.src = (Leaf){.data = x, .dtype = d, .stride = {COLS, 1}};
    if (turned) m.src.stride[0] = 1, m.src.stride[1] = ROWS;
    for (int64_t i = 0; i < ROWS * COLS; i++) {
      const bool is_bad = bad >= 0 && i >= bad && i % 2 == bad % 2;
      write_element(DTYPE_I64, is_bad ? (negative ? -1 : 0) : 1, d,
                    x + (size_t)place(&m.src, &m, i) * bytes);
    }
    CHECK_INT(negative ? cpu_find_bad(&b, &m, 0, INT64_MAX)
                       : cpu_find_bad(&b, &m, 1, -1), bad);
    CHECK_INT(cpu_find_bad(&b, &m, 1, 7), bad);
  }
  free(x);
}

static void test_bad(void) {
  static const Dtype types[] = {DTYPE_I8, DTYPE_I16, DTYPE_I32, DTYPE_I64,
                                DTYPE_U8};
  static const int64_t bad[] = {-1, 0, 1, 1023, 1024, 1499, 1500, 4499};
  Backend b = {.kind = "cpu"};
  for (int i = 0; i < 5; i++)
    for (int k = 0; k < 8; k++) {
      check_bad(types[i], bad[k], false);
      if (types[i] != DTYPE_U8) check_bad(types[i], bad[k], true);
    }
  Move m = {.axes = 1, .size = {9}, .src = {.dtype = DTYPE_I64, .whole = -2}};
  CHECK_INT(cpu_find_bad(&b, &m, 1, -1), -1);
  CHECK_INT(cpu_find_bad(&b, &m, 0, INT64_MAX), 0);
  CHECK_INT(cpu_find_bad(&b, &m, -2, 3), -1);
  CHECK_INT(cpu_find_bad(&b, &m, -1, 3), 0);
}

int main(void) {
  RUN(test_dtypes);
  RUN(test_strides);
  RUN(test_transposes);
  RUN(test_threads);
  RUN(test_stop);
  RUN(test_ramps);
  RUN(test_bad);
  return check_report();
}
