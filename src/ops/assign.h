/* assign.h: what may be assigned to x[index]. */
#ifndef TENSUS_ASSIGN_H
#define TENSUS_ASSIGN_H

#include "ops/ops.h"

/* May v go into x?  Within floats, within integers where each of them fits,
 * from bool up.  E_DTYPE, E_RANGE. */
Status value_check(Context *c, Tensor *v, const Tensor *x);

/* A number, or a tensor, as a tensor of the dtype and on the device of x. */
Status value_like(Context *c, const Tensor *x, const Arg *value, Tensor **r);

#endif
