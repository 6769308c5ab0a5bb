/* sort_test.c: lines in order against qsort; places in memory of their own, so
 * that a sanitizer sees each step outside. */
#include "check.h"
#include "cpu/kernels.h"
#include "ground/ledger.h"
#include "value/half.h"

static uint64_t seed = 1;
static bool stop;
static Ledger ledger;
static Backend backend;

/* ---- the reference ---- */

typedef struct Element {
  double value; /* integers here are small enough */
  int64_t at;
  bool falls;
} Element;

/* NaN is the greatest, equal ones are in the order of places. */
static int compare(const void *a, const void *b) {
  const Element *x = a, *y = b;
  const bool x_nan = isnan(x->value), y_nan = isnan(y->value);
  int sign = x_nan - y_nan;
  if (!x_nan && !y_nan)
    sign = (x->value > y->value) - (x->value < y->value);
  if (sign != 0) return x->falls ? -sign : sign;
  return (x->at > y->at) - (x->at < y->at);
}

static double value_of(Dtype d, const char *data, int64_t i) {
  switch (d) {
  case DTYPE_F16:
    return (double)f16_to_f32(((const uint16_t *)(const void *)data)[i]);
  case DTYPE_F32: return (double)((const float *)(const void *)data)[i];
  case DTYPE_F64: return ((const double *)(const void *)data)[i];
  case DTYPE_I8: return ((const int8_t *)(const void *)data)[i];
  default: return (double)((const int64_t *)(const void *)data)[i];
  }
}

/* Half of them far apart, half close together, some equal, some NaN. */
static void set_value(Dtype d, char *data, int64_t i) {
  const double r = check_random(&seed);
  double x = floor(check_random(&seed) * 64 - 32);
  if (r < 0.5) x *= 0x1p34;
  if (r > 0.9 && dtype_class(d) == CLASS_FLOAT) x = NAN;
  switch (d) {
  case DTYPE_F16:
    ((uint16_t *)(void *)data)[i] = f32_to_f16((float)x / 8);
    break;
  case DTYPE_F32: ((float *)(void *)data)[i] = (float)x; break;
  case DTYPE_F64: ((double *)(void *)data)[i] = x / 3; break;
  case DTYPE_I8: ((int8_t *)(void *)data)[i] = (int8_t)(int64_t)(r * 99); break;
  default: ((int64_t *)(void *)data)[i] = (int64_t)x + (int64_t)(r * 9);
  }
}

/* ---- a case ---- */

static int64_t first_due(const Sort *s, const Element *line) {
  int64_t nans = 0;
  for (int64_t i = 0; i < s->n; i++) nans += isnan(line[i].value) != 0;
  if (s->from == SORT_FIRST) return s->first;
  if (nans == s->n) return 0;
  if (s->from == SORT_MEDIAN && nans > 0) return s->n - nans;
  return (s->n - nans - 1) / 2;
}

static void check_line(const Sort *s, int64_t line, Element *e) {
  for (int64_t i = 0; i < s->n; i++)
    e[i] = (Element){value_of(s->dtype, s->src,
                              line * s->src_stride[0] + i * s->src_step),
                     i, s->falls};
  qsort(e, (size_t)s->n, sizeof *e, compare);
  const int64_t first = first_due(s, e);
  const int64_t *places = (const int64_t *)(const void *)s->places;
  int64_t wrong = 0;
  for (int64_t k = 0; k < s->keep; k++) {
    const int64_t to = line * s->dst_stride[0] + k * s->dst_step;
    const double value = value_of(s->dtype, s->values, to);
    const double due = e[first + k].value;
    wrong += places[to] != e[first + k].at + s->base;
    wrong += !(value == due || (isnan(value) && isnan(due)));
  }
  CHECK(wrong == 0, "%s n %d line %d first %d keep %d: %d are wrong",
        dtype_name(s->dtype), (int)s->n, (int)line, (int)s->first,
        (int)s->keep, (int)wrong);
}

static void *reserve(size_t bytes) {
  void *p = malloc(bytes + 1);
  if (p == NULL) abort();
  return p;
}

/* `turned`: the lines are columns. */
static void check_sort(Sort s, int64_t lines, bool turned) {
  const size_t bytes = dtype_bytes(s.dtype);
  const size_t all = (size_t)(lines * s.n), kept = (size_t)(lines * s.keep);
  char *src = reserve(all * bytes), *values = reserve(kept * bytes);
  int64_t *places = reserve(kept * sizeof *places);
  Element *e = reserve((size_t)s.n * sizeof *e);
  for (size_t i = 0; i < all; i++) set_value(s.dtype, src, (int64_t)i);
  s.axes = 1, s.size[0] = lines, s.base = 1;
  s.src_step = s.dst_step = turned ? lines : 1;
  s.src_stride[0] = turned ? 1 : s.n;
  s.dst_stride[0] = turned ? 1 : s.keep;
  s.src = src, s.values = values, s.places = (char *)places;
  const size_t room = cpu_sort_room(&backend, &s);
  s.scratch = aligned_alloc(64, (room + 63) / 64 * 64);
  CHECK(cpu_sort(&backend, &s));
  for (int64_t i = 0; i < lines; i++) check_line(&s, i, e);
  free(src), free(values), free(places), free(e), free(s.scratch);
}

static void check_parts(Dtype d, int64_t n, bool falls) {
  const int64_t lines = n < 2000 ? 40 : 2, last = n - 1;
  const struct {
    int64_t first, keep;
  } part[] = {{0, n},     {0, 1},         {last, 1},        {n / 2, 1},
              {0, n / 7}, {n / 3, n / 2}, {n / 99, n / 50}, {0, 3}};
  for (size_t i = 0; i < sizeof part / sizeof *part; i++) {
    const Sort s = {.dtype = d, .n = n, .falls = falls,
                    .first = part[i].first, .keep = part[i].keep};
    if (s.keep > 0 && s.first + s.keep <= n)
      check_sort(s, lines, i % 2 == 1);
  }
}

static const Dtype dtypes[] = {DTYPE_F16, DTYPE_F32, DTYPE_F64, DTYPE_I8,
                               DTYPE_I64};
static const int64_t sizes[] = {1,   2,    7,    48,    49,
                                300, 1000, 9000, 140000};

static void test_parts(void) {
  for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++)
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
      check_parts(dtypes[d], sizes[i], false);
      check_parts(dtypes[d], sizes[i], true);
    }
}

static void test_medians(void) {
  for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++)
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
      Sort s = {.dtype = dtypes[d], .n = sizes[i], .keep = 1};
      s.from = SORT_MEDIAN;
      check_sort(s, 3, false);
      s.from = SORT_NANMEDIAN;
      check_sort(s, 3, true);
    }
}

static void test_stop(void) {
  int64_t places = 0;
  const float x[2] = {2, 1};
  char room[256];
  const Sort s = {.dtype = DTYPE_F32, .n = 2, .keep = 1, .src = (const char *)x,
                  .src_step = 1, .places = (char *)&places, .scratch = room};
  CHECK(cpu_sort_room(&backend, &s) <= sizeof room);
  stop = true;
  CHECK(!cpu_sort(&backend, &s), "a stopped sort");
  stop = false;
}

int main(void) {
  ledger_open(&ledger);
  backend.pool = pool_open(&ledger, 3, &stop);
  backend.stop = &stop;
  RUN(test_parts);
  RUN(test_medians);
  RUN(test_stop);
  pool_close(backend.pool);
  return check_report();
}
