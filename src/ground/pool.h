/* pool.h: chunks of work, done by any thread.
 *
 * What the chunks are depends on the shape of the work alone, so results do
 * not depend on the number of threads.  Threads start at the first large job.
 * Must not know: what the work is.
 */
#ifndef TENSUS_POOL_H
#define TENSUS_POOL_H

#include "ground/ledger.h"

enum {
  POOL_MAX = 64,            /* threads; a worker's scratch is kept apart */
  POOL_STACK_KIB = 512
};

typedef struct Pool Pool;

/* One chunk.  `worker` < pool_threads(): two chunks that run at a time have
 * different workers (it picks scratch memory). */
typedef void PoolWork(void *arg, int64_t chunk, int worker);

/* 1 <= threads <= POOL_MAX; NULL when out of memory.  No thread is started.
 * `stop` is polled between chunks. */
Pool *pool_open(Ledger *l, int threads, const volatile bool *stop);
void pool_close(Pool *p); /* NULL is fine */

/* How many workers a job may see: what scratch must be sized by. */
int pool_threads(const Pool *p);
void pool_set_threads(Pool *p, int threads);

/* work(arg, i, worker) for all i in [0, chunks), in any order; the caller is
 * worker 0.  One chunk, or one thread: no lock is taken.  Falls back to the
 * caller alone when threads cannot be started.  Returns false when `stop` was
 * seen before the last chunk began: some chunks were not done. */
bool pool_run(Pool *p, int64_t chunks, PoolWork *work, void *arg);

#endif
