/* update.c: optimiser steps, one pass over memory, split over the pool.
 *
 * Must not know: how a loop is vectorised (update_level.c). */
#include "cpu/update.h"
#include "cpu/kernels.h"
#include "cpu/level.h"

enum { JOB_ELEMENTS = 1 << 14 }; /* 5 to 10 us */

static const UpdateLevel *const levels[LEVEL_COUNT] = {
    &update_base,
#if defined(__x86_64__)
    &update_avx2, &update_avx512
#endif
};

static void sgd_work(void *arg, int64_t job, int worker) {
  const Sgd *s = arg;
  const int64_t first = job * JOB_ELEMENTS;
  (void)worker;
  levels[level_best()]->sgd[s->dtype == DTYPE_F64](
      s, first, min_i64(first + JOB_ELEMENTS, s->count));
}

static void adam_work(void *arg, int64_t job, int worker) {
  const Adam *a = arg;
  const int64_t first = job * JOB_ELEMENTS;
  (void)worker;
  levels[level_best()]->adam[a->dtype == DTYPE_F64](
      a, first, min_i64(first + JOB_ELEMENTS, a->count));
}

bool cpu_sgd(Backend *b, const Sgd *s) {
  Sgd copy = *s;
  return pool_run(b->pool, ceil_div(s->count, JOB_ELEMENTS), sgd_work, &copy);
}

bool cpu_adam(Backend *b, const Adam *a) {
  Adam copy = *a;
  return pool_run(b->pool, ceil_div(a->count, JOB_ELEMENTS), adam_work,
                  &copy);
}
