/* rows.c: rows of numbers, parted over the pool.
 *
 * Must not know: how a row is worked on (rows_level.c). */
#include "cpu/rows.h"
#include "cpu/kernels.h"
#include "cpu/level.h"

enum { JOB_ELEMENTS = 1 << 14 }; /* 5 to 20 us */

static const RowsLevel *const levels[LEVEL_COUNT] = {
    &rows_base,
#if defined(__x86_64__)
    &rows_avx2, &rows_avx512
#endif
};

static const RowLoops *loops_of(Dtype d) {
  return &levels[level_best()]->loops[d == DTYPE_F64];
}

static int64_t rows_per_job(int64_t n) {
  return max_i64(1, JOB_ELEMENTS / n);
}

/* cpu_NAME: the loop NAME of `Struct` over its rows. */
#define SLOT(name, Struct)                                                  \
  static void name##_work(void *arg, int64_t job, int worker) {             \
    const Struct *s = arg;                                                  \
    const int64_t rows = rows_per_job(s->n), first = job * rows;            \
    (void)worker;                                                           \
    loops_of(s->dtype)->name(s, first, min_i64(first + rows, s->rows));     \
  }                                                                         \
  bool cpu_##name(Backend *b, const Struct *s) {                            \
    Struct copy = *s;                                                       \
    return pool_run(b->pool, ceil_div(s->rows, rows_per_job(s->n)),         \
                    name##_work, &copy);                                    \
  }
SLOT(softmax, Softmax)
SLOT(softmax_pull, Softmax)
SLOT(logsumexp, LogSumExp)
SLOT(layer_norm, LayerNorm)
SLOT(cross_entropy, CrossEntropy)
SLOT(cross_entropy_pull, CrossEntropy)

static void pull_work(void *arg, int64_t job, int worker) {
  const LayerNorm *s = arg;
  const int64_t rows = rows_per_job(s->n), first = job * rows;
  (void)worker;
  loops_of(s->dtype)->layer_norm_pull(s, first,
                                      min_i64(first + rows, s->rows));
}

static void weights_work(void *arg, int64_t job, int worker) {
  const LayerNorm *s = arg;
  const int64_t first = job * NORM_COLUMNS;
  (void)worker;
  loops_of(s->dtype)->norm_weights(s, first,
                                   min_i64(first + NORM_COLUMNS, s->n));
}

/* The lanes of a block of columns are in the worker's stack. */
size_t cpu_layer_norm_room(Backend *b, const LayerNorm *l) {
  (void)b, (void)l;
  return 0;
}

bool cpu_layer_norm_pull(Backend *b, const LayerNorm *l) {
  LayerNorm copy = *l;
  if (!pool_run(b->pool, ceil_div(l->rows, rows_per_job(l->n)), pull_work,
                &copy))
    return false;
  if (l->gw == NULL && l->gb == NULL) return true;
  return pool_run(b->pool, ceil_div(l->n, NORM_COLUMNS), weights_work, &copy);
}
