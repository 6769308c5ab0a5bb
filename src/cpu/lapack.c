/* lapack.c: LAPACK by its Fortran names, from a library opened at first use.
 *
 * OpenBLAS, else whatever LAPACK the system has; TENSUS_LAPACK names another,
 * or is "own" for none.  Nothing is linked: a machine without it runs our own
 * loops.  The library is the process's, like the code of this program; it
 * keeps buffers of its own, which no ledger sees.
 *
 * Threads.  OpenBLAS orders sums by the number of its threads, so that number
 * must not follow ts.set_num_threads.  Batches of small matrices are cut over
 * our pool with one thread of its own for each (lapack_alone); a large matrix
 * gets as many as the library started with (OPENBLAS_NUM_THREADS, untouched).
 * Must not know: batches, layouts other than columns.
 */
#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/cpu.h"
#include "cpu/dense.h"
#include "ground/library.h"

/* ---- the routines: all arguments by address, lengths of texts last ---- */

typedef int Int; /* LP64, as every packaged LAPACK has it */

typedef void Getrf(const Int *m, const Int *n, void *a, const Int *lda,
                   Int *pivot, Int *info);
typedef void Gesv(const Int *n, const Int *k, void *a, const Int *lda,
                  Int *pivot, void *b, const Int *ldb, Int *info);
typedef void Potrf(const char *uplo, const Int *n, void *a, const Int *lda,
                   Int *info, size_t);
typedef void Trtrs(const char *uplo, const char *trans, const char *diag,
                   const Int *n, const Int *k, const void *a, const Int *lda,
                   void *b, const Int *ldb, Int *info, size_t, size_t, size_t);
typedef void Geqrf(const Int *m, const Int *n, void *a, const Int *lda,
                   void *tau, void *work, const Int *lwork, Int *info);
typedef void Orgqr(const Int *m, const Int *n, const Int *k, void *a,
                   const Int *lda, const void *tau, void *work,
                   const Int *lwork, Int *info);
typedef void Gesdd(const char *job, const Int *m, const Int *n, void *a,
                   const Int *lda, void *s, void *u, const Int *ldu, void *v,
                   const Int *ldv, void *work, const Int *lwork, Int *iwork,
                   Int *info, size_t);
typedef void Syevd(const char *job, const char *uplo, const Int *n, void *a,
                   const Int *lda, void *s, void *work, const Int *lwork,
                   Int *iwork, const Int *liwork, Int *info, size_t, size_t);
typedef void SetThreads(int);
typedef int GetThreads(void);

/* ROUTINE(name, type) */
#define ROUTINES(ROUTINE) \
  ROUTINE(getrf, Getrf)   \
  ROUTINE(gesv, Gesv)     \
  ROUTINE(potrf, Potrf)   \
  ROUTINE(trtrs, Trtrs)   \
  ROUTINE(geqrf, Geqrf)   \
  ROUTINE(orgqr, Orgqr)   \
  ROUTINE(gesdd, Gesdd)   \
  ROUTINE(syevd, Syevd)

/* [0] f32, [1] f64 */
typedef struct Lapack {
#define FIELD(name, type) type *name[2];
  ROUTINES(FIELD)
#undef FIELD
  SetThreads *set_threads; /* NULL where the library has no such call */
  GetThreads *get_threads;
  char path[256];
} Lapack;

/* ---- opening ---- */

static Lapack lapack; /* written once, before `state` says READY */

enum { UNKNOWN, OPENING, ABSENT, READY };
static _Atomic int state = UNKNOWN;

/* *at = the function called `name`: an object pointer becomes one of code. */
static bool find(void *library, const char *name, void *at) {
  void *symbol = library_symbol(library, name);
  if (symbol == NULL) return false;
  memcpy(at, &symbol, sizeof symbol);
  return true;
}

static bool find_all(void *library, Lapack *l) {
  bool all = true;
#define FIND(name, type)                             \
  all = all && find(library, "s" #name "_", &l->name[0]) && \
        find(library, "d" #name "_", &l->name[1]);
  ROUTINES(FIND)
#undef FIND
  if (!all) return false;
  library_path(library_symbol(library, "dgesdd_"), l->path, sizeof l->path);
  if (!find(library, "openblas_get_num_threads", &l->get_threads) ||
      !find(library, "openblas_set_num_threads", &l->set_threads))
    l->set_threads = NULL;
  return true;
}

static int open_library(void) {
  char why[256];
  const char *named = getenv("TENSUS_LAPACK");
  const char *const names[] = {
      named != NULL ? named : "libopenblas.so.0",
      named != NULL ? NULL : "libopenblas.so", "liblapack.so.3", NULL};
  if (named != NULL && strcmp(named, "own") == 0) return ABSENT;
  void *library = library_open(names, why, sizeof why);
  return library != NULL && find_all(library, &lapack) ? READY : ABSENT;
}

static const Lapack *lapack_open(void) {
  int now = UNKNOWN;
  if (atomic_compare_exchange_strong(&state, &now, OPENING))
    atomic_store(&state, now = open_library());
  while (now == OPENING) now = atomic_load(&state);
  return now == READY ? &lapack : NULL;
}

const char *cpu_lapack_path(void) {
  const Lapack *l = lapack_open();
  return l != NULL ? l->path : "own";
}

/* ---- its threads ---- */

static atomic_flag door = ATOMIC_FLAG_INIT; /* held for the lines below */
static int alone, threads_before;

static void lapack_turn(int by) {
  const Lapack *l = lapack_open();
  if (l == NULL || l->set_threads == NULL) return;
  while (atomic_flag_test_and_set(&door)) {}
  if (by > 0 && alone++ == 0) {
    threads_before = l->get_threads();
    l->set_threads(1);
  }
  if (by < 0 && --alone == 0) l->set_threads(threads_before);
  atomic_flag_clear(&door);
}

void lapack_alone(void) { lapack_turn(1); }
void lapack_together(void) { lapack_turn(-1); }

/* ---- plans ---- */

/* A work space asked for comes back as a float, which may have been rounded
 * down. */
static bool add_work(const Dense *d, const void *asked, DensePlan *p) {
  double work = d->dtype == DTYPE_F64 ? *(const double *)asked
                                      : *(const float *)asked;
  if (d->dtype == DTYPE_F32) work *= 1.0 + 0x1p-22;
  if (work >= INT_MAX) return false;
  if ((int)work + 1 > p->work) p->work = (int)work + 1;
  return true;
}

static Int int_of(int64_t n) { return (Int)max_i64(n, 1); }

static bool plan_qr(const Lapack *l, const Dense *d, DensePlan *p) {
  const int t = d->dtype == DTYPE_F64;
  const Int m = (Int)d->m, n = (Int)d->n, k = (Int)dense_least(d);
  const Int columns = (Int)dense_p(d), lda = int_of(d->m), query = -1;
  double work[2] = {0};
  Int info = 0;
  l->geqrf[t](&m, &n, work, &lda, work, work, &query, &info);
  if (info != 0 || !add_work(d, work, p)) return false;
  l->orgqr[t](&m, &columns, &k, work, &lda, work, work, &query, &info);
  return info == 0 && add_work(d, work, p);
}

static const char *svd_job(const Dense *d) {
  return !d->vectors ? "N" : d->full ? "A" : "S";
}

static bool plan_svd(const Lapack *l, const Dense *d, DensePlan *p) {
  const Int m = (Int)d->m, n = (Int)d->n, lda = int_of(m);
  const Int ldv = int_of(dense_q(d)), query = -1;
  double work[2] = {0};
  Int info = 0, whole[8] = {0};
  l->gesdd[d->dtype == DTYPE_F64](svd_job(d), &m, &n, work, &lda, work, work,
                                  &lda, work, &ldv, work, &query, whole,
                                  &info, 1);
  return info == 0 && add_work(d, work, p);
}

static bool plan_eigh(const Lapack *l, const Dense *d, DensePlan *p) {
  const Int n = (Int)d->n, lda = int_of(n), query = -1;
  double work[2] = {0};
  Int info = 0, whole[2] = {0};
  l->syevd[d->dtype == DTYPE_F64](d->vectors ? "V" : "N",
                                  d->upper ? "U" : "L", &n, work, &lda, work,
                                  work, &query, whole, &query, &info, 1, 1);
  p->whole = (size_t)whole[0] * sizeof(Int);
  return info == 0 && add_work(d, work, p);
}

static bool plan_numbers(const Lapack *l, const Dense *d, DensePlan *p) {
  const size_t least = (size_t)dense_least(d);
  switch (d->what) {
  case DENSE_LU:
  case DENSE_SOLVE: p->whole = (size_t)d->n * sizeof(Int); return true;
  case DENSE_QR: return plan_qr(l, d, p);
  case DENSE_SVD:
    p->whole = 8 * least * sizeof(Int);
    return plan_svd(l, d, p);
  case DENSE_EIGH: return plan_eigh(l, d, p);
  default: return true;
  }
}

bool lapack_plan(const Dense *d, DensePlan *p) {
  enum { MOST = 46340 }; /* its square fits an Int */
  const Lapack *l = lapack_open();
  *p = (DensePlan){0};
  if (l == NULL || d->m > MOST || d->n > MOST || d->k > INT_MAX) return false;
  if (!plan_numbers(l, d, p)) return false;
  p->whole = (p->whole + 63) & ~(size_t)63;
  p->real = ((size_t)p->work + (d->what == DENSE_QR ? (size_t)dense_least(d)
                                                    : 0)) *
            dtype_bytes(d->dtype);
  return true;
}

/* ---- one matrix ---- */

static int64_t lapack_lu(const Lapack *l, const Dense *d, Int *pivot) {
  const int t = d->dtype == DTYPE_F64;
  const Int n = (Int)d->n, k = (Int)d->k, lda = int_of(n);
  Int info = 0;
  if (d->what == DENSE_SOLVE)
    l->gesv[t](&n, &k, d->a, &lda, pivot, d->b, &lda, &info);
  else
    l->getrf[t](&n, &n, d->a, &lda, pivot, &info);
  for (Int i = 0; i < n && d->pivot != NULL; i++) d->pivot[i] = pivot[i] - 1;
  return info;
}

static int64_t lapack_qr(const Lapack *l, const Dense *d, const DensePlan *p,
                         char *room) {
  const int t = d->dtype == DTYPE_F64;
  const Int m = (Int)d->m, n = (Int)d->n, k = (Int)dense_least(d);
  const Int columns = (Int)dense_p(d), lda = int_of(m), lwork = p->work;
  char *tau = room, *work = room + (size_t)k * dtype_bytes(d->dtype);
  Int info = 0;
  l->geqrf[t](&m, &n, d->a, &lda, tau, work, &lwork, &info);
  dense_split_qr(d);
  if (info == 0)
    l->orgqr[t](&m, &columns, &k, d->u, &lda, tau, work, &lwork, &info);
  return info;
}

int64_t lapack_item(const Dense *d, const DensePlan *p, char *room) {
  const Lapack *l = lapack_open();
  const int t = d->dtype == DTYPE_F64;
  const Int m = (Int)d->m, n = (Int)d->n, k = (Int)d->k, lda = int_of(m);
  const Int ldv = int_of(dense_q(d)), lwork = p->work;
  const Int liwork = (Int)(p->whole / sizeof(Int));
  const char *uplo = d->upper ? "U" : "L";
  Int *whole = (Int *)(void *)room, info = 0;
  char *real = room + p->whole;
  switch (d->what) {
  case DENSE_LU:
  case DENSE_SOLVE: return lapack_lu(l, d, whole);
  case DENSE_CHOLESKY:
    l->potrf[t](uplo, &n, d->a, &lda, &info, 1);
    break;
  case DENSE_TRIANGULAR:
    l->trtrs[t](uplo, "N", d->unit ? "U" : "N", &n, &k, d->a, &lda, d->b,
                &lda, &info, 1, 1, 1);
    break;
  case DENSE_QR: return lapack_qr(l, d, p, real);
  case DENSE_SVD:
    l->gesdd[t](svd_job(d), &m, &n, d->a, &lda, d->s, d->u, &lda, d->v, &ldv,
                real, &lwork, whole, &info, 1);
    break;
  case DENSE_EIGH:
    l->syevd[t](d->vectors ? "V" : "N", uplo, &n, d->a, &lda, d->s, real,
                &lwork, whole, &liwork, &info, 1, 1);
    break;
  }
  return info;
}
