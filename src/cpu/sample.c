/* sample.c: images read between pixels, split over the pool.
 *
 * Must not know: how a place becomes taps (rows/taps.h, sample_type.h). */
#include "cpu/sample.h"
#include "cpu/kernels.h"
#include "cpu/level.h"

enum {
  ADD_CHANNELS = 8,      /* of one job: their taps are made once */
  RESAMPLE_WORK = 1 << 14 /* elements of one job, about */
};

static const SampleLevel *const levels[LEVEL_COUNT] = {
    &sample_base,
#if defined(__x86_64__)
    &sample_avx2, &sample_avx512
#endif
};

static void sample_work(void *arg, int64_t job, int worker) {
  const Sample *s = arg;
  const int64_t blocks = ceil_div(s->points, SAMPLE_BLOCK);
  const int64_t first = job % blocks * SAMPLE_BLOCK;
  (void)worker;
  levels[level_best()]->sample[s->dtype == DTYPE_F64](
      s, job / blocks, first, min_i64(SAMPLE_BLOCK, s->points - first));
}

bool cpu_sample(Backend *b, const Sample *s) {
  Sample copy = *s;
  const int64_t jobs = s->batch * ceil_div(s->points, SAMPLE_BLOCK);
  return pool_run(b->pool, jobs, sample_work, &copy);
}

static void add_work(void *arg, int64_t job, int worker) {
  const Sample *s = arg;
  const int64_t blocks = ceil_div(s->channels, ADD_CHANNELS);
  const int64_t from = job % blocks * ADD_CHANNELS;
  (void)worker;
  levels[level_best()]->sample_add[s->dtype == DTYPE_F64](
      s, job / blocks, from, min_i64(from + ADD_CHANNELS, s->channels));
}

bool cpu_sample_add(Backend *b, const Sample *s) {
  Sample copy = *s;
  const int64_t jobs = s->batch * ceil_div(s->channels, ADD_CHANNELS);
  return pool_run(b->pool, jobs, add_work, &copy);
}

static int64_t rows_of_job(const Resample *s) {
  const int64_t rows = RESAMPLE_WORK / s->inner;
  return rows > 0 ? rows : 1;
}

static void resample_work(void *arg, int64_t job, int worker) {
  const Resample *s = arg;
  const int64_t each = rows_of_job(s), all = s->outer * s->rows;
  (void)worker;
  levels[level_best()]->resample[s->dtype == DTYPE_F64](
      s, job * each, min_i64(job * each + each, all));
}

bool cpu_resample(Backend *b, const Resample *s) {
  Resample copy = *s;
  const int64_t jobs = ceil_div(s->outer * s->rows, rows_of_job(s));
  return pool_run(b->pool, jobs, resample_work, &copy);
}
