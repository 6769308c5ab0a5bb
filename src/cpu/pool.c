/* pool.c: the greatest of each window and its place, means and their transpose.
 *
 * Must not know: how a row of results is made (pool_level.c). */
#include "cpu/pool.h"
#include "cpu/kernels.h"
#include "cpu/level.h"

enum { JOB_TAPS = 1 << 16 }; /* looked at in a job: some 20 us */

static const PoolLevel *const levels[LEVEL_COUNT] = {
    &pool_base,
#if defined(__x86_64__)
    &pool_avx2, &pool_avx512
#endif
};

static const PoolLevel *level(void) { return levels[level_best()]; }

static int type_of(Dtype d) {
  switch (d) {
  case DTYPE_F32: return 0;
  case DTYPE_F64: return 1;
  case DTYPE_I32: return 2;
  default: return 3;
  }
}

/* Rows of all planes, some to a job. */
typedef struct Pooling {
  const MaxPool *max;
  const AvgPool *avg;
  MaxRow *max_row;
  AvgRow *avg_row;
  const int64_t *seen, *made; /* sizes of what is read, of what is written */
  const char *from;
  char *to;
  int64_t bytes, rows, per_job;
} Pooling;

static void pool_row(const Pooling *k, int64_t i) {
  const int64_t row = i % k->made[DOWN], rest = i / k->made[DOWN];
  const int64_t slice = rest % k->made[DEEP], plane = rest / k->made[DEEP];
  const int64_t width = k->made[ACROSS];
  const char *from = k->from + plane * k->seen[DEEP] * k->seen[DOWN] *
                                   k->seen[ACROSS] * k->bytes;
  char *to = k->to + i * width * k->bytes;
  if (k->avg_row != NULL) {
    k->avg_row(k->avg, from, slice, row, to);
    return;
  }
  int64_t *at = (int64_t *)(void *)k->max->at;
  k->max_row(k->max, from, slice, row, to, at != NULL ? at + i * width : NULL);
}

static void pool_work(void *arg, int64_t job, int worker) {
  const Pooling *k = arg;
  const int64_t first = job * k->per_job;
  (void)worker;
  for (int64_t i = first; i < min_i64(first + k->per_job, k->rows); i++)
    pool_row(k, i);
}

/* `taps`: looked at for an element of the result. */
static bool run_pool(Backend *b, Pooling *k, int64_t planes, double taps) {
  const double each = taps * (double)k->made[ACROSS];
  k->rows = planes * k->made[DEEP] * k->made[DOWN];
  k->per_job = each < JOB_TAPS ? (int64_t)(JOB_TAPS / each) : 1;
  return pool_run(b->pool, ceil_div(k->rows, k->per_job), pool_work, k);
}

static double volume(const int64_t size[SPACE]) {
  return (double)size[DEEP] * (double)size[DOWN] * (double)size[ACROSS];
}

bool cpu_max_pool(Backend *b, const MaxPool *p) {
  const int type = type_of(p->dtype);
  Pooling k = {.max = p, .max_row = level()->max[type], .seen = p->size,
               .made = p->result, .from = p->x, .to = p->y,
               .bytes = (int64_t)dtype_bytes(p->dtype)};
  return run_pool(b, &k, p->planes, volume(p->kernel));
}

bool cpu_avg_pool(Backend *b, const AvgPool *p) {
  Pooling k = {.avg = p, .avg_row = level()->avg[type_of(p->dtype)],
               .seen = p->size, .made = p->result, .from = p->x, .to = p->y,
               .bytes = (int64_t)dtype_bytes(p->dtype)};
  const double taps = p->adaptive ? volume(p->size) / volume(p->result)
                                  : volume(p->kernel);
  return run_pool(b, &k, p->planes, taps + 1);
}

bool cpu_avg_pool_add(Backend *b, const AvgPool *p) {
  Pooling k = {.avg = p, .avg_row = level()->avg_add[type_of(p->dtype)],
               .seen = p->result, .made = p->size, .from = p->y, .to = p->x,
               .bytes = (int64_t)dtype_bytes(p->dtype)};
  return run_pool(b, &k, p->planes, volume(p->result) / volume(p->size) + 1);
}
