/* dense.c: linear algebra over batches: who computes, and on which thread.
 *
 * A small matrix is a piece of a job for the pool; a large one has all
 * threads of the library to itself.  Which of the two depends on its sizes
 * alone, and so do the bits.
 * Must not know: tensors, names of LAPACK.
 */
#include "cpu/dense.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "cpu/kernels.h"

#define REAL float
#define FN(name) name##_f32
#define SQRT sqrtf
#define FABS fabsf
#define HYPOT hypotf
#define EPSILON FLT_EPSILON
#include "cpu/dense_type.h"
#undef REAL
#undef FN
#undef SQRT
#undef FABS
#undef HYPOT
#undef EPSILON
#define REAL double
#define FN(name) name##_f64
#define SQRT sqrt
#define FABS fabs
#define HYPOT hypot
#define EPSILON DBL_EPSILON
#include "cpu/dense_type.h"

enum {
  TINY = 16,         /* rows: our loops beat the call of a library */
  SMALL = 128,       /* rows: one thread for each matrix */
  JOB_WORK = 1 << 17 /* multiplications in a job: some 50 us */
};

#define BY_TYPE(d, name, ...) \
  ((d)->dtype == DTYPE_F64 ? name##_f64(__VA_ARGS__) : name##_f32(__VA_ARGS__))

void own_plan(const Dense *d, DensePlan *p) {
  const size_t m = (size_t)d->m, n = (size_t)d->n;
  const size_t most = m > n ? m : n;
  *p = (DensePlan){0};
  if (d->what == DENSE_QR) p->real = m < n ? m : n;
  if (d->what == DENSE_EIGH) p->real = n * n;
  if (d->what == DENSE_SVD) p->real = m * n + 2 * most * most;
  p->real *= dtype_bytes(d->dtype);
}

int64_t own_item(const Dense *d, const DensePlan *p, char *room) {
  (void)p;
  return BY_TYPE(d, own, d, room);
}

void dense_split_qr(const Dense *d) { BY_TYPE(d, split_qr, d); }

/* ---- a batch ---- */

typedef struct Work {
  const Dense *d;
  DensePlan plan;
  DenseItem *item;
  int64_t per_job;
  size_t room; /* for one worker */
  bool is_small;
} Work;

/* Direct methods with few right-hand sides: of eight rows and as many sides on,
 * the library is faster again (an LU of 8 rows 0.3 us against 0.5, with 8 sides
 * 0.9 against 0.8). */
static bool is_tiny(const Dense *d) {
  const bool is_direct = d->what == DENSE_LU || d->what == DENSE_SOLVE ||
                         d->what == DENSE_CHOLESKY ||
                         d->what == DENSE_TRIANGULAR || d->what == DENSE_QR;
  return is_direct && max_i64(d->m, d->n) <= TINY && d->n * d->k <= 2 * TINY;
}

static Work work_of(const Dense *d) {
  Work w = {.d = d};
  const int64_t most = max_i64(d->m, max_i64(d->n, d->k));
  w.is_small = most <= SMALL;
  w.per_job = max_i64(1, JOB_WORK / (most * most * most));
  w.item = lapack_item;
  if (is_tiny(d) || !lapack_plan(d, &w.plan)) {
    own_plan(d, &w.plan);
    w.item = own_item;
    w.is_small = true;
  }
  w.room = (w.plan.whole + w.plan.real + 63) & ~(size_t)63;
  return w;
}

size_t cpu_dense_room(Backend *b, const Dense *d) {
  const Work w = work_of(d);
  return w.room * (size_t)(w.is_small ? pool_threads(b->pool) : 1);
}

static char *step(char *p, int64_t items, int64_t each, Dtype dtype) {
  return p != NULL ? p + (size_t)(items * each) * dtype_bytes(dtype) : NULL;
}

/* Matrix number i alone. */
static Dense item_of(const Dense *d, int64_t i) {
  Dense one = *d;
  one.batch = 1;
  one.a = step(d->a, i, d->m * d->n, d->dtype);
  one.b = step(d->b, i, d->n * d->k, d->dtype);
  one.u = step(d->u, i, d->m * dense_p(d), d->dtype);
  one.v = step(d->v, i, dense_q(d) * d->n, d->dtype);
  one.s = step(d->s, i, dense_least(d), d->dtype);
  if (d->pivot != NULL) one.pivot = d->pivot + i * d->n;
  one.info = d->info + i;
  return one;
}

/* LAPACK may turn in circles on what is not finite. */
static bool may_run(const Dense *d) {
  const bool iterates = d->what == DENSE_SVD || d->what == DENSE_EIGH;
  return !iterates || BY_TYPE(d, is_fit, d);
}

static void run_item(const Work *w, int64_t i, char *room) {
  const Dense one = item_of(w->d, i);
  *one.info = may_run(&one) ? w->item(&one, &w->plan, room) : -1;
  if (*one.info == 0) BY_TYPE(&one, finish, &one);
}

static void dense_work(void *arg, int64_t job, int worker) {
  const Work *w = arg;
  const int64_t first = job * w->per_job;
  const int64_t last = min_i64(first + w->per_job, w->d->batch);
  char *room = w->d->scratch + (size_t)worker * w->room;
  for (int64_t i = first; i < last; i++) run_item(w, i, room);
}

bool cpu_dense(Backend *b, const Dense *d) {
  Work w = work_of(d);
  if (!w.is_small) {
    for (int64_t i = 0; i < d->batch; i++) {
      if (*b->stop) return false;
      run_item(&w, i, d->scratch);
    }
    return true;
  }
  const bool calls = w.item == lapack_item;
  if (calls) lapack_alone();
  const bool done =
      pool_run(b->pool, ceil_div(d->batch, w.per_job), dense_work, &w);
  if (calls) lapack_together();
  return done;
}
