/* mask_test.c: what a mask takes and puts, and where its true elements are,
 * against plain loops; in memory of its own, so that a sanitizer sees each
 * step outside. */
#include "check.h"
#include "cpu/axes.h"
#include "cpu/kernels.h"
#include "ground/ledger.h"

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

static void fill(char *to, int64_t bytes) {
  for (int64_t i = 0; i < bytes; i++) to[i] = (char)pick(256);
}

/* Steps of row-major order, or of the opposite one, with gaps between the
 * elements; returns one past the last element. */
static int64_t strides(int axes, const int64_t *size, bool turned, int64_t gap,
                       int64_t *stride) {
  int64_t step = gap;
  for (int i = 0; i < axes; i++) {
    const int a = turned ? i : axes - 1 - i;
    stride[a] = step;
    step *= size[a];
  }
  return step;
}

/* share: one of so many elements is true, none for 0; any byte but 0 is. */
typedef struct Case {
  Masked m;
  int64_t count, bytes, taken;
  int64_t data_bytes, dense_bytes;
  char *mask;
} Case;

static void open_case(Case *c, Dtype d, int axes, const int64_t *size,
                      int kind, int64_t share) {
  *c = (Case){.m = {.axes = axes, .dtype = d, .base = 1},
              .bytes = (int64_t)dtype_bytes(d)};
  memcpy(c->m.size, size, (size_t)axes * sizeof *size);
  c->count = axes_count(axes, size);
  const int64_t gap = kind == 2 ? 3 : 1;
  c->data_bytes =
      c->bytes * strides(axes, size, kind == 1, gap, c->m.data_stride);
  const int64_t reach =
      strides(axes, size, kind == 3, gap, c->m.mask_stride);
  if (kind == 4) c->m.mask_stride[0] = 0; /* one row for all */
  c->mask = reserve(reach);
  for (int64_t i = 0; i < reach; i++)
    c->mask[i] = (char)(share > 0 && pick(share) == 0 ? 1 + pick(255) : 0);
  c->m.mask = c->mask;
  for (int64_t i = 0; i < c->count; i++)
    c->taken += c->mask[axes_place(axes, size, c->m.mask_stride, i)] != 0;
  const int64_t wide = d == DTYPE_I64 ? axes : 1; /* room for places */
  c->dense_bytes = c->taken * c->bytes * wide;
  c->m.scratch = reserve((int64_t)cpu_mask_room(&backend, &c->m));
}

static void close_case(Case *c) { free(c->mask), free(c->m.scratch); }

/* One element after the other. */
static void plain(const Case *c, MaskWhat what, char *data, char *dense) {
  const Masked *m = &c->m;
  int64_t k = 0;
  for (int64_t i = 0; i < c->count; i++) {
    const int64_t at = axes_place(m->axes, m->size, m->data_stride, i);
    if (c->mask[axes_place(m->axes, m->size, m->mask_stride, i)] == 0) continue;
    char *d = data + at * c->bytes, *o = dense + k * c->bytes;
    if (what == MASK_TAKE) memcpy(o, d, (size_t)c->bytes);
    if (what == MASK_PUT) memcpy(d, o, (size_t)c->bytes);
    for (int64_t a = m->axes - 1, rest = i; a >= 0 && what == MASK_PLACES;
         rest /= m->size[a--])
      ((int64_t *)(void *)dense)[k * m->axes + a] = 1 + rest % m->size[a];
    k++;
  }
}

static void check_task(Case *c, MaskWhat what) {
  char *data = reserve(c->data_bytes), *dense = reserve(c->dense_bytes);
  char *due_data = reserve(c->data_bytes), *due = reserve(c->dense_bytes);
  char *was_data = reserve(c->data_bytes), *was = reserve(c->dense_bytes);
  fill(was_data, c->data_bytes), fill(was, c->dense_bytes);
  memcpy(due_data, was_data, (size_t)c->data_bytes);
  memcpy(due, was, (size_t)c->dense_bytes);
  plain(c, what, due_data, due);
  for (int threads = 1; threads <= 3; threads++) {
    pool_set_threads(backend.pool, threads);
    memcpy(data, was_data, (size_t)c->data_bytes);
    memcpy(dense, was, (size_t)c->dense_bytes);
    c->m.what = what, c->m.data = data, c->m.dense = dense;
    CHECK_INT(cpu_mask_count(&backend, &c->m), c->taken);
    CHECK(cpu_mask_move(&backend, &c->m));
    CHECK(memcmp(data, due_data, (size_t)c->data_bytes) == 0 &&
              memcmp(dense, due, (size_t)c->dense_bytes) == 0,
          "task %d, %s, %d axes, %d threads", (int)what,
          dtype_name(c->m.dtype), c->m.axes, threads);
  }
  free(data), free(dense), free(due_data), free(due), free(was_data), free(was);
}

static void check_case(Dtype d, int axes, const int64_t *size, int kind,
                       int64_t share) {
  Case c;
  open_case(&c, d, axes, size, kind, share);
  check_task(&c, MASK_TAKE);
  check_task(&c, MASK_PUT);
  if (d == DTYPE_I64) check_task(&c, MASK_PLACES);
  close_case(&c);
}

static void test_shapes(void) {
  static const int64_t counts[] = {1, 2, 8, 9, 70, 300};
  static const int64_t shares[] = {0, 1, 2, 40};
  for (int round = 0; round < 400; round++) {
    const int axes = 1 + (int)pick(3);
    int64_t size[3];
    for (int a = 0; a < axes; a++) size[a] = counts[pick(axes < 3 ? 6 : 4)];
    check_case((Dtype)(round % DTYPE_COUNT), axes, size, round / 10 % 5,
               shares[pick(4)]);
  }
}

/* Several chunks, whose ends fall within rows. */
static void test_many(void) {
  static const int64_t sizes[][2] = {{1, 100000}, {300, 333}, {40000, 3}};
  for (int i = 0; i < 3; i++)
    for (int kind = 0; kind < 5; kind++)
      for (int64_t share = 0; share < 3; share++)
        check_case(i == 1 ? DTYPE_F16 : DTYPE_I64, 2, sizes[i], kind, share);
}

static void test_empty(void) {
  const int64_t size[] = {3, 0};
  check_case(DTYPE_F32, 2, size, 0, 1);
}

static void test_stop(void) {
  const int64_t size[] = {100000};
  Case c;
  open_case(&c, DTYPE_F32, 1, size, 0, 2);
  stop = true;
  CHECK_INT(cpu_mask_count(&backend, &c.m), -1);
  stop = false;
  close_case(&c);
}

int main(void) {
  ledger_open(&ledger);
  backend.pool = pool_open(&ledger, 1, &stop);
  backend.stop = &stop;
  RUN(test_shapes);
  RUN(test_many);
  RUN(test_empty);
  RUN(test_stop);
  pool_close(backend.pool);
  CHECK_INT(ledger.used, 0);
  return check_report();
}
