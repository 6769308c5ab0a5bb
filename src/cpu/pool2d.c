/* pool2d.c: the greatest of each window, and its place.
 *
 * Must not know: how a row of results is made (pool2d_level.c). */
#include "cpu/pool2d.h"
#include "cpu/kernels.h"
#include "cpu/level.h"

enum { JOB_TAPS = 1 << 16 }; /* looked at in a job: some 20 us */

static const PoolLevel *const levels[LEVEL_COUNT] = {
    &pool2d_base,
#if defined(__x86_64__)
    &pool2d_avx2, &pool2d_avx512
#endif
};

typedef struct Pooling {
  const Pool2d *p;
  PoolRow *row;
  int64_t per_job; /* rows of results, of all planes */
} Pooling;

static void pool_work(void *arg, int64_t job, int worker) {
  const Pooling *k = arg;
  const Pool2d *p = k->p;
  const int64_t bytes = (int64_t)dtype_bytes(p->dtype);
  const int64_t rows = p->planes * p->result[0], width = p->result[1];
  const int64_t first = job * k->per_job;
  const int64_t last = min_i64(first + k->per_job, rows);
  (void)worker;
  for (int64_t i = first; i < last; i++) {
    const int64_t plane = i / p->result[0];
    k->row(p, p->x + plane * p->size[0] * p->size[1] * bytes,
           i - plane * p->result[0], p->y + i * width * bytes,
           (int64_t *)(void *)p->at + i * width);
  }
}

bool cpu_max_pool(Backend *b, const Pool2d *p) {
  const int64_t each = p->result[1] * p->kernel[0] * p->kernel[1];
  Pooling k = {p, levels[level_best()]->row[p->dtype == DTYPE_F64],
               max_i64(1, JOB_TAPS / each)};
  return pool_run(b->pool, ceil_div(p->planes * p->result[0], k.per_job),
                  pool_work, &k);
}
