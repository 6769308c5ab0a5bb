/* slopes.c: the columns gx, gy, gz of pointwise.def as tracked ops: the second
 * reading, for derivatives of any order and for forward mode.
 */
#include "grad/slopes.h"

#include <math.h>

#include "grad/tracked.h"

/* A condition that is a number (clamp's bounds) or a tensor of 0 and 1. */
static Tensor *tape_choose(Tape *tape, Tensor *condition, Tensor *x,
                           Tensor *y) {
  if (tape->status != OK || never(condition == NULL)) return NULL;
  if (condition->dtype != DTYPE_BOOL)
    condition = NE(condition, K(0));
  return tape_ternary(tape, OP_where, condition, x, y);
}

typedef Tensor *Change(Tape *tape, Tensor *x, Tensor *y, Tensor *z, Tensor *r,
                       Tensor *g);

#define CHANGE(d, name, expression)                                       \
  static Tensor *d##_##name(Tape *tape, Tensor *x, Tensor *y, Tensor *z,  \
                            Tensor *r, Tensor *g) {                       \
    (void)tape, (void)x, (void)y, (void)z, (void)r, (void)g;              \
    return expression;                                                    \
  }
#define POINT(name, kind, arity, types, value, to_x, to_y, to_z, ...) \
  CHANGE(gx, name, to_x)                                              \
  CHANGE(gy, name, to_y)                                              \
  CHANGE(gz, name, to_z)
#include "rows/pointwise.def"
#undef CHANGE

static Change *const changes[POINT_COUNT][3] = {
#define POINT(name, ...) {gx_##name, gy_##name, gz_##name},
#include "rows/pointwise.def"
};

#include "rows/nowords.h"

Tensor *slope_apply(Tape *tape, int which, Tensor *g) {
  const OpRow *row = &op_rows[tape->node->op];
  const int uses = row->uses[which];
  Tensor *x[3] = {NULL}, *r = NULL;
  if ((uses & USES_G) == 0 || tape->status != OK) return NULL;
  for (int k = 0; k < row->operands; k++)
    if ((uses >> k & 1) != 0) x[k] = tape_operand(tape, k);
  if ((uses & USES_R) != 0) r = tape_saved(tape, SAVED_R);
  if (tape->status != OK) return NULL;
  return changes[tape->node->op][which](tape, x[0], x[1], x[2], r, g);
}
