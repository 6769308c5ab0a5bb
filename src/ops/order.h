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

/* *r = all elements of x in one line; tracked. */
Status order_flat(Context *c, Tensor *x, Tensor **r);

/* *r = a value of one element as the result over all of x: rank 0, or of the
 * rank of x; tracked. */
Status order_kept(Context *c, const Tensor *x, bool keepdim, Tensor *value,
                  Tensor **r);

#endif
