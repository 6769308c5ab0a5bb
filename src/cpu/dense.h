/* dense.h: linear algebra of one matrix: what dense.c cuts a batch into.
 *
 * Two ways to the same contract (Dense, backend.h): LAPACK where a library is
 * there (lapack.c), and loops of our own (dense_type.h) where it is not.
 * Must not know: tensors, batches.
 */
#ifndef TENSUS_DENSE_H
#define TENSUS_DENSE_H

#include "device/backend.h"

/* Scratch for one matrix: `whole` bytes for integers, then `real` bytes. */
typedef struct DensePlan {
  size_t whole, real;
  int work; /* LAPACK: numbers of its work space, apart from ours */
} DensePlan;

/* Runs d, whose batch is 1, in p->whole + p->real bytes of room; gives what
 * info is to hold. */
typedef int64_t DenseItem(const Dense *d, const DensePlan *p, char *room);

INLINE int64_t dense_least(const Dense *d) { return min_i64(d->m, d->n); }

/* Sizes of u (m, p) and v (q, n). */
INLINE int64_t dense_p(const Dense *d) {
  return d->full ? d->m : dense_least(d);
}
INLINE int64_t dense_q(const Dense *d) {
  if (d->what == DENSE_QR) return dense_p(d);
  return d->full ? d->n : dense_least(d);
}

/* ---- dense.c: our own loops, by dtype ---- */

void own_plan(const Dense *d, DensePlan *p);
DenseItem own_item;

/* The triangle of a becomes v, and the reflectors below it columns of u. */
void dense_split_qr(const Dense *d);

/* ---- lapack.c ---- */

/* The plan of d; false: no library, or too large for its integers. */
bool lapack_plan(const Dense *d, DensePlan *p);
DenseItem lapack_item;

/* One thread for each call from here on, and back again.  Calls nest, also
 * from several threads. */
void lapack_alone(void);
void lapack_together(void);

#endif
