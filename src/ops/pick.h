/* pick.h: index tensors and masks, read and written: x[i], x[{i, {}, mask}].
 *
 * They become one list of places along the picked axes seen as one; the
 * elements then move by tracked rows, so that any derivative exists (API.md,
 * section 5).
 * Must not know: Lua; numbers and ranges, which are taken before.
 */
#ifndef TENSUS_PICK_H
#define TENSUS_PICK_H

#include "ops/ops.h"

/* One index tensor (integers) or mask (bool).
 * A mask stands for as many axes as its rank, an integer tensor for one. */
typedef struct PickItem {
  Tensor *index; /* borrowed */
  int axis;      /* of x: the first one it stands for */
  int dim;       /* that axis as the caller knows it, for messages */
} PickItem;

/* axis + axes of one item <= axis of the next */
typedef struct Picks {
  int count;
  PickItem at[MAX_RANK];
  Shape named; /* the tensor that the caller indexed, for messages */
} Picks;

/* Is t an index tensor at all?  E_DTYPE for floats, E_MASK for a bool of
 * rank 0. */
Status pick_check(Context *c, const Tensor *t);

/* How many axes t stands for. */
int pick_axes(const Tensor *t);

/* r = what p picks of x, a copy.  Index tensors count from the base of the
 * caller, negative ones from the end; they broadcast to one shape B.
 *   picks side by side:  (before, picked, after) -> (before, B, after)
 *   apart:               picked axes first       -> (B, others)
 * Errors: E_INDEX, E_MASK, E_SHAPE, E_RANK, E_MEMORY. */
Status pick_get(Context *c, Tensor *x, const Picks *p, Tensor **r);

/* r = x with `value`, stretched to the shape that pick_get gives, at those
 * places: added, or in their stead.  Where a place is picked twice, the last
 * one in row-major order wins, for value and derivative.  value has the dtype
 * and device of x. */
Status pick_put(Context *c, Tensor *x, const Picks *p, Tensor *value,
                bool adds, Tensor **r);

/* The same into x itself, where nothing is tracked. */
Status pick_write(Context *c, Tensor *x, const Picks *p, Tensor *value,
                  bool adds);

#endif
