/* order.h: lines in order, for the rows that need one. */
#ifndef TENSUS_OPS_ORDER_H
#define TENSUS_OPS_ORDER_H

#include "ops/run.h"

/* Elements number first .. first + keep - 1 of the order of each line along
 * `dim` (see Sort of device/backend.h); rank 0 is one line of one. */
typedef struct Order {
  int dim;
  bool falls;
  SortFrom from;
  int64_t first, keep;
} Order;

/* *values and *places (NULL: not wanted) in the shape of x with `keep` on that
 * dim; untracked, new.  Nothing is set on error. */
Status order_lines(Context *c, const Tensor *x, const Order *o,
                   Tensor **values, Tensor **places);

/* *size = of the dim that argument k names, which is resolved; 1 for rank 0. */
Status order_dim(Context *c, OpId op, Args *a, int k, int *dim, int64_t *size);

/* Is there an element to give?  E_EMPTY. */
Status order_check_line(Context *c, const Tensor *x, int dim, int64_t size,
                        const char *what);

/* *r = all elements of x in one line; tracked. */
Status order_flat(Context *c, Tensor *x, Tensor **r);

/* *r = a value of one element as the result over all of x: rank 0, or of the
 * rank of x; tracked. */
Status order_kept(Context *c, const Tensor *x, bool keepdim, Tensor *value,
                  Tensor **r);

/* *r (i64, the shape of x): where elements of x belong into the sorted lines
 * of `sequence`, counted from base; both contiguous, of one dtype and device.
 * A sequence of rank 1 serves all. */
Status order_bisect(Context *c, const Tensor *sequence, const Tensor *x,
                    bool right, int64_t base, Tensor **r);

#endif
