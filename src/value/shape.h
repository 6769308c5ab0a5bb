/* shape.h: sizes and strides as plain data.
 *
 * Row-major; strides count elements and are never negative; a size may be 0;
 * rank 0 has one element.  Axes count from 0 here.
 * Must not know: memory, dtypes, who asks.
 */
#ifndef TENSUS_SHAPE_H
#define TENSUS_SHAPE_H

#include "ground/check.h"

enum { MAX_RANK = 12 };

/* Only the first `rank` entries of size and stride mean anything. */
typedef struct Shape {
  int rank;
  int64_t size[MAX_RANK];
  int64_t stride[MAX_RANK];
} Shape;

/* For `fail`: %S takes two arguments. */
#define SHAPE_ARG(s) (s)->rank, (s)->size

/* Product of the sizes; the shape must have passed shape_fits. */
int64_t shape_count(const Shape *s);

/* Is the rank legal, no size negative, and does the count (zeros taken as 1)
 * of elements of `bytes` fit in a ptrdiff_t? */
bool shape_fits(const Shape *s, size_t bytes);

/* Fill the strides for row-major order. */
void shape_contiguous(Shape *s);
/* A shape from sizes, with row-major strides. */
Shape shape_of(int rank, const int64_t *size);

bool shape_is_contiguous(const Shape *s);
bool shape_same(const Shape *a, const Shape *b); /* sizes only */

/* Can two elements share a place in memory?  (Stride 0, or rows that
 * overlap.)  May say yes for odd strided shapes that do not overlap. */
bool shape_overlaps_itself(const Shape *s);

/* One past the greatest element offset; 0 when empty. */
int64_t shape_reach(const Shape *s);

/* Stretch *r to hold both, sizes only: *r is the broadcast of *r and s.
 * False, with *axis counted from the last, when sizes clash: *r is then
 * unchanged. */
bool shape_broadcast(Shape *r, const Shape *s, int *axis);

/* s seen with the sizes of `to` (stride 0 where stretched); false if s does
 * not broadcast to it. */
bool shape_expand(const Shape *s, const Shape *to, Shape *r);

/* s seen with the sizes of *r (equal counts) without copying: fills the
 * strides of *r; false where the strides do not allow it. */
bool shape_reshape(const Shape *s, Shape *r);

/* The shape without an axis, and with one of `size` and `stride` put before
 * `axis`. */
void shape_drop(Shape *s, int axis);
void shape_insert(Shape *s, int axis, int64_t size, int64_t stride);

#endif
