/* slopes.h: pointwise rows, read as tracked ops. */
#ifndef TENSUS_SLOPES_H
#define TENSUS_SLOPES_H

#include "grad/tape.h"

/* What becomes of g, a cotangent of the result (pull) or a tangent of operand
 * `which` (push), in tracked ops.  NULL where the column is NONE, or on
 * failure. */
Tensor *slope_apply(Tape *tape, int which, Tensor *g);

#endif
