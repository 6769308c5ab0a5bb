/* index_test.c: picks at positions against plain loops in row-major order;
 * places in memory of their own, so that a sanitizer sees each step outside. */
#include "check.h"
#include "cpu/kernels.h"
#include "ground/ledger.h"
#include "value/half.h"

static uint64_t seed = 1;
static bool stop;
static Ledger ledger;
static Backend backend;

static int64_t pick(int64_t count) {
  return (int64_t)(check_random(&seed) * (double)count);
}

static void *reserve(int64_t bytes) {
  void *p = malloc((size_t)bytes + 1);
  if (p == NULL) abort();
  return p;
}

/* ---- a case ---- */

typedef struct Case {
  Pick p;
  int64_t limit; /* positions of data along the axis */
  int64_t count, data_reach, other_reach, index_reach; /* elements */
  char *data, *other;
  int64_t *index;
} Case;

/* Row-major strides of `size`, or column-major ones, with a gap. */
static int64_t strides(int axes, const int64_t *size, bool turned, int gap,
                       int64_t *stride) {
  int64_t step = gap > 0 ? 2 : 1;
  for (int i = 0; i < axes; i++) {
    const int a = turned ? i : axes - 1 - i;
    stride[a] = step;
    step *= size[a] + gap;
  }
  return step;
}

static void open_case(Case *c, Dtype d, int axes, int along,
                      const int64_t *size, int64_t limit, int kind) {
  int64_t data_size[MAX_RANK];
  *c = (Case){.p = {.axes = axes, .along = along, .dtype = d, .base = 1},
              .limit = limit, .count = 1};
  for (int a = 0; a < axes; a++) {
    c->p.size[a] = size[a], c->count *= size[a];
    data_size[a] = a == along ? limit : size[a];
  }
  c->data_reach = strides(axes, data_size, kind == 1, kind == 2,
                          c->p.data_stride);
  c->other_reach = strides(axes, size, false, kind == 2, c->p.other_stride);
  c->index_reach = strides(axes, size, kind == 1, 0, c->p.index_stride);
  if (kind == 3) /* one index for a whole row */
    for (int a = along + 1; a < axes; a++) c->p.index_stride[a] = 0;
  if (kind == 4) /* and for all rows before */
    for (int a = 0; a < axes; a++)
      if (a != along) c->p.index_stride[a] = 0;
  const int64_t bytes = (int64_t)dtype_bytes(d);
  c->data = reserve(c->data_reach * bytes);
  c->other = reserve(c->other_reach * bytes);
  c->index = reserve(c->index_reach * 8);
  for (int64_t i = 0; i < c->index_reach; i++)
    c->index[i] = 1 + pick(limit);
  c->p.index = (char *)c->index;
}

static void close_case(Case *c) {
  free(c->data), free(c->other), free(c->index);
}

/* Bytes that are legal numbers of the dtype, and small. */
static void fill(Dtype d, char *data, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    const double x = check_random(&seed) * 8 - 4;
    switch (d) {
    case DTYPE_F16: ((uint16_t *)(void *)data)[i] = f32_to_f16((float)x); break;
    case DTYPE_BF16:
      ((uint16_t *)(void *)data)[i] = f32_to_bf16((float)x);
      break;
    case DTYPE_F32: ((float *)(void *)data)[i] = (float)x; break;
    case DTYPE_F64: ((double *)(void *)data)[i] = x; break;
    default:
      for (size_t k = 0; k < dtype_bytes(d); k++)
        data[i * (int64_t)dtype_bytes(d) + (int64_t)k] = (char)pick(256);
    }
  }
}

/* a += b, of one element. */
static void add(Dtype d, char *a, const char *b) {
  uint16_t *h = (uint16_t *)(void *)a;
  const uint16_t *o = (const uint16_t *)(const void *)b;
  uint64_t x = 0, y = 0;
  switch (d) {
  case DTYPE_F16: *h = f32_to_f16(f16_to_f32(*h) + f16_to_f32(*o)); return;
  case DTYPE_BF16:
    *h = f32_to_bf16(bf16_to_f32(*h) + bf16_to_f32(*o));
    return;
  case DTYPE_F32:
    *(float *)(void *)a += *(const float *)(const void *)b;
    return;
  case DTYPE_F64:
    *(double *)(void *)a += *(const double *)(const void *)b;
    return;
  default: /* little-endian: the low bytes of a wider sum */
    memcpy(&x, a, dtype_bytes(d));
    memcpy(&y, b, dtype_bytes(d));
    x += y;
    memcpy(a, &x, dtype_bytes(d));
  }
}

/* ---- the reference ---- */

typedef enum Task { GATHER, SCATTER, ADD } Task;

static void plain(const Case *c, Task task, char *data, char *other) {
  const Pick *p = &c->p;
  const int64_t bytes = (int64_t)dtype_bytes(p->dtype);
  for (int64_t i = 0; i < c->count; i++) {
    int64_t rest = i, d = 0, o = 0, x = 0;
    for (int a = p->axes - 1; a >= 0; a--) {
      const int64_t at = rest % p->size[a];
      rest /= p->size[a];
      if (a != p->along) d += at * p->data_stride[a];
      o += at * p->other_stride[a], x += at * p->index_stride[a];
    }
    d += (c->index[x] - p->base) * p->data_stride[p->along];
    char *from = data + d * bytes, *to = other + o * bytes;
    if (task == GATHER) memcpy(to, from, (size_t)bytes);
    if (task == SCATTER) memcpy(from, to, (size_t)bytes);
    if (task == ADD) add(p->dtype, from, to);
  }
}

static void check_task(Case *c, Task task) {
  const Dtype d = c->p.dtype;
  const int64_t bytes = (int64_t)dtype_bytes(d);
  const int64_t data_bytes = c->data_reach * bytes;
  const int64_t other_bytes = c->other_reach * bytes;
  char *data = reserve(data_bytes), *other = reserve(other_bytes);
  char *was_data = reserve(data_bytes), *was_other = reserve(other_bytes);
  fill(d, was_data, c->data_reach), fill(d, was_other, c->other_reach);
  memcpy(data, was_data, (size_t)data_bytes);
  memcpy(other, was_other, (size_t)other_bytes);
  plain(c, task, data, other);
  for (int threads = 1; threads <= 3; threads++) {
    pool_set_threads(backend.pool, threads);
    memcpy(c->data, was_data, (size_t)data_bytes);
    memcpy(c->other, was_other, (size_t)other_bytes);
    c->p.data = c->data, c->p.other = c->other;
    CHECK(task == GATHER    ? cpu_gather(&backend, &c->p)
          : task == SCATTER ? cpu_scatter(&backend, &c->p)
                            : cpu_scatter_add(&backend, &c->p));
    CHECK(memcmp(data, c->data, (size_t)data_bytes) == 0 &&
              memcmp(other, c->other, (size_t)other_bytes) == 0,
          "task %d, %s, %d axes along %d, %d threads", (int)task,
          dtype_name(d), c->p.axes, c->p.along, threads);
  }
  free(data), free(other), free(was_data), free(was_other);
}

static void test_picks(void) {
  static const int64_t counts[] = {1, 2, 5, 9, 70};
  for (int round = 0; round < 400; round++) {
    const Dtype d = (Dtype)(round % DTYPE_COUNT);
    const int axes = 1 + (int)pick(4), along = (int)pick(axes);
    int64_t size[4];
    for (int a = 0; a < axes; a++) size[a] = counts[pick(axes < 3 ? 5 : 4)];
    Case c;
    open_case(&c, d, axes, along, size, 1 + pick(12), round / 10 % 5);
    check_task(&c, GATHER);
    check_task(&c, SCATTER);
    if (d != DTYPE_BOOL) check_task(&c, ADD);
    close_case(&c);
  }
}

/* Enough work for several jobs, in each way of cutting it. */
static void test_many(void) {
  static const int64_t sizes[][2] = {
      {3000, 100}, {40000, 3}, {5, 40000}, {100000, 1}, {1, 100000}};
  for (int i = 0; i < 5; i++)
    for (int along = 0; along < 2; along++) {
      Case c;
      open_case(&c, i % 2 == 0 ? DTYPE_F32 : DTYPE_F16, 2, along, sizes[i],
                50, along == 0 ? 3 : 0);
      check_task(&c, GATHER);
      check_task(&c, SCATTER);
      check_task(&c, ADD);
      close_case(&c);
    }
}

static void test_outside(void) {
  const int64_t size[3] = {4, 6, 50};
  for (int kind = 0; kind < 5; kind++) {
    Case c;
    open_case(&c, DTYPE_F32, 3, 1, size, 9, kind);
    const Pick *p = &c.p;
    CHECK_INT(cpu_find_outside(&backend, p, 9, -100), -1);
    c.index[0] = 9;
    CHECK_INT(cpu_find_outside(&backend, p, 8, -100), 0);
    CHECK_INT(cpu_find_outside(&backend, p, 8, 9), -1); /* 9 is ignored */
    const int64_t at[3] = {0, 3, kind > 2 ? 0 : 7};
    int64_t x = 0, place = 0;
    for (int a = 0; a < 3; a++) {
      x += at[a] * p->index_stride[a];
      place = place * size[a] + at[a];
    }
    static const int64_t wrong[] = {0, 10, -1, INT64_MIN, INT64_MAX};
    for (int i = 0; i < 5; i++) {
      const int64_t was = c.index[x];
      c.index[x] = wrong[i];
      CHECK_INT(cpu_find_outside(&backend, p, 9, -100), place);
      CHECK_INT(cpu_find_outside(&backend, p, 9, wrong[i]), -1);
      c.index[x] = was;
    }
    close_case(&c);
  }
}

int main(void) {
  ledger_open(&ledger);
  backend.pool = pool_open(&ledger, 1, &stop);
  backend.stop = &stop;
  RUN(test_picks);
  RUN(test_many);
  RUN(test_outside);
  pool_close(backend.pool);
  CHECK_INT(ledger.used, 0);
  return check_report();
}
