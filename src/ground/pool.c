/* pool.c: a caller and its helpers take chunks from one counter.
 *
 * Always: when pool_run returns, no helper touches the job any more.
 * A helper that finds no work spins for a few microseconds before it sleeps:
 * a training step is many short jobs in a row.
 */
#include "ground/pool.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

enum { SPINS = 2000 }; /* about 20 us; a wake-up costs 5 to 50 */

typedef struct Job {
  PoolWork *work;
  void *arg;
  int64_t chunks;
} Job;

typedef struct Helper {
  Pool *pool;
  int self;
} Helper;

struct Pool {
  Ledger *ledger;
  const volatile bool *stop;
  int threads, started; /* helpers running: at most threads - 1 */
  pthread_mutex_t lock;
  pthread_cond_t wake;
  Job job;                  /* written before `ticket` moves */
  _Atomic int64_t next;     /* first chunk nobody has taken */
  _Atomic unsigned ticket;  /* which job; odd: open for helpers */
  _Atomic int busy;         /* helpers inside the job */
  _Atomic bool quit;
  int sleepers;             /* guarded by lock */
  pthread_t thread[POOL_MAX];
  Helper helper[POOL_MAX];
};

INLINE void pause_briefly(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

static void take_chunks(Pool *p, const Job *job, int self) {
  while (!*p->stop) {
    const int64_t chunk = atomic_fetch_add(&p->next, 1);
    if (chunk >= job->chunks) return;
    job->work(job->arg, chunk, self);
  }
}

/* Enter the open job if there is one that this helper has not seen. */
static void help(Pool *p, int self, unsigned *seen) {
  const unsigned ticket = atomic_load(&p->ticket);
  if (ticket == *seen || (ticket & 1) == 0) return;
  atomic_fetch_add(&p->busy, 1);
  /* The job may have been closed in between: look again, now counted. */
  if (atomic_load(&p->ticket) == ticket) {
    const Job job = p->job;
    *seen = ticket;
    if (self < p->threads) take_chunks(p, &job, self);
  }
  atomic_fetch_sub(&p->busy, 1);
}

static bool has_news(Pool *p, unsigned seen) {
  const unsigned ticket = atomic_load(&p->ticket);
  return atomic_load(&p->quit) || (ticket != seen && (ticket & 1) == 1);
}

static void wait_for_news(Pool *p, unsigned seen) {
  for (int i = 0; i < SPINS; i++) {
    if (has_news(p, seen)) return;
    pause_briefly();
  }
  pthread_mutex_lock(&p->lock);
  p->sleepers++;
  while (!has_news(p, seen)) pthread_cond_wait(&p->wake, &p->lock);
  p->sleepers--;
  pthread_mutex_unlock(&p->lock);
}

static void *helper_main(void *at) {
  const Helper *h = at;
  unsigned seen = 0;
  while (!atomic_load(&h->pool->quit)) {
    wait_for_news(h->pool, seen);
    help(h->pool, h->self, &seen);
  }
  return NULL;
}

Pool *pool_open(Ledger *l, int threads, const volatile bool *stop) {
  assert(threads >= 1 && threads <= POOL_MAX);
  Pool *p = ledger_alloc(l, sizeof *p);
  if (p == NULL) return NULL;
  memset(p, 0, sizeof *p);
  p->ledger = l;
  p->stop = stop;
  p->threads = threads;
  pthread_mutex_init(&p->lock, NULL);
  pthread_cond_init(&p->wake, NULL);
  return p;
}

/* Helpers never take signals: a handler must find the thread that runs the
 * script. */
static void start_helpers(Pool *p) {
  sigset_t all, old;
  pthread_attr_t attributes;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, (size_t)POOL_STACK_KIB << 10);
  while (p->started < p->threads - 1) {
    const int self = p->started + 1;
    p->helper[self] = (Helper){p, self};
    if (pthread_create(&p->thread[self], &attributes, helper_main,
                       &p->helper[self]) != 0)
      break;
    p->started++;
  }
  pthread_attr_destroy(&attributes);
  pthread_sigmask(SIG_SETMASK, &old, NULL);
}

void pool_close(Pool *p) {
  if (p == NULL) return;
  pthread_mutex_lock(&p->lock);
  atomic_store(&p->quit, true);
  pthread_cond_broadcast(&p->wake);
  pthread_mutex_unlock(&p->lock);
  for (int i = 1; i <= p->started; i++) pthread_join(p->thread[i], NULL);
  pthread_mutex_destroy(&p->lock);
  pthread_cond_destroy(&p->wake);
  ledger_free(p->ledger, p, sizeof *p);
}

int pool_threads(const Pool *p) { return p->threads; }

void pool_set_threads(Pool *p, int threads) {
  assert(threads >= 1 && threads <= POOL_MAX);
  p->threads = threads;
}

static bool run_alone(Pool *p, int64_t chunks, PoolWork *work, void *arg) {
  for (int64_t i = 0; i < chunks; i++) {
    if (*p->stop) return false;
    work(arg, i, 0);
  }
  return true;
}

bool pool_run(Pool *p, int64_t chunks, PoolWork *work, void *arg) {
  if (chunks == 0) return true;
  if (chunks == 1 || p->threads == 1) return run_alone(p, chunks, work, arg);
  if (p->started < p->threads - 1) start_helpers(p);
  const Job job = {work, arg, chunks};
  p->job = job;
  atomic_store(&p->next, 0);
  pthread_mutex_lock(&p->lock);
  atomic_fetch_add(&p->ticket, 1); /* odd: open */
  if (p->sleepers > 0) pthread_cond_broadcast(&p->wake);
  pthread_mutex_unlock(&p->lock);
  take_chunks(p, &job, 0);
  const bool done = atomic_load(&p->next) >= chunks;
  atomic_fetch_add(&p->ticket, 1); /* even: closed, nobody enters */
  while (atomic_load(&p->busy) > 0) pause_briefly();
  return done;
}
