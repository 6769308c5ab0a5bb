/* random.c: draws, in jobs of fixed length.
 *
 * Must not know: how words become numbers (random_level.c). */
#include "cpu/random.h"
#include "cpu/kernels.h"
#include "cpu/level.h"

/* A multiple of every batch; 10 to 30 us. */
enum { JOB_ELEMENTS = 1 << 14 };

static const RandomLevel *const levels[LEVEL_COUNT] = {
    &random_base,
#if defined(__x86_64__)
    &random_avx2, &random_avx512
#endif
};

typedef struct Drawing {
  const Draw *d;
  DrawLoop *loop;
} Drawing;

static DrawLoop *loop_of(const Draw *d) {
  const RandomLevel *level = levels[level_best()];
  const bool wide = dtype_bytes(d->dtype) == 8;
  switch (d->what) {
  case DRAW_UNIFORM: return level->uniform[wide];
  case DRAW_NORMAL: return level->normal[wide];
  case DRAW_BERNOULLI: return level->bernoulli[wide];
  default: return level->integers[wide];
  }
}

static void draw_work(void *arg, int64_t job, int worker) {
  const Drawing *k = arg;
  const int64_t first = job * JOB_ELEMENTS;
  (void)worker;
  k->loop(k->d, first, min_i64(first + JOB_ELEMENTS, k->d->count));
}

bool cpu_draw(Backend *b, const Draw *d) {
  Drawing k = {d, loop_of(d)};
  return pool_run(b->pool, ceil_div(d->count, JOB_ELEMENTS), draw_work, &k);
}
