/* iterator.h: one way to walk several tensors of one shape.
 *
 * Fuses neighbouring axes where every operand allows it; kernels get what is
 * left.
 * Must not know: dtypes, gradients, what a kernel does.
 *
 *   sizes   (4, 3, 5)   x strides (15, 5, 1)   z strides (0, 0, 1)
 *            |  +--+-- x fuses (5 = 5 * 1), z does not (0 != 5 * 1)
 *            +-- both fuse (15 = 3 * 5, 0 = 3 * 0)
 *   left    (12, 5)     x (5, 1)               z (0, 1)
 */
#ifndef TENSUS_ITERATOR_H
#define TENSUS_ITERATOR_H

#include "value/shape.h"

enum { ITER_OPERANDS = 8 };

/* axes >= 0; product of sizes == number of elements */
typedef struct Iter {
  int axes, operands;
  int64_t size[MAX_RANK];
  int64_t stride[ITER_OPERANDS][MAX_RANK];
} Iter;

/* A walk over `sizes` with no operand yet. */
void iter_open(Iter *it, const Shape *sizes);

/* Add an operand whose shape broadcasts to the sizes; returns its number. */
int iter_add(Iter *it, const Shape *operand);

/* Drop axes of size 1 and fuse neighbours; keeps the order of axes, so walks
 * stay row-major.  At least `least` axes are left (size 1, stride 0). */
void iter_fuse(Iter *it, int least);

#endif
