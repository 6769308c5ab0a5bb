/* axes.h: where the elements of strided axes lie, in row-major order.
 *
 * Must not know: what an element is. */
#ifndef TENSUS_AXES_H
#define TENSUS_AXES_H

#include "ground/check.h"
#include "value/shape.h"

/* Product of the sizes; 1 for no axes. */
INLINE int64_t axes_count(int axes, const int64_t *size) {
  int64_t n = 1;
  for (int a = 0; a < axes; a++) n *= size[a];
  return n;
}

/* Offset of element number `at`. */
INLINE int64_t axes_place(int axes, const int64_t *size,
                          const int64_t *stride, int64_t at) {
  int64_t offset = 0;
  for (int a = axes - 1; a > 0; a--) {
    offset += at % size[a] * stride[a];
    at /= size[a];
  }
  return axes > 0 ? offset + at * stride[0] : 0;
}

/* A place that moves on, one element at a time. */
typedef struct Walk {
  int axes;
  const int64_t *size, *stride; /* borrowed */
  int64_t offset;
  int64_t at[MAX_RANK];
} Walk;

INLINE void walk_start(Walk *w, int axes, const int64_t *size,
                       const int64_t *stride, int64_t first) {
  w->axes = axes, w->size = size, w->stride = stride, w->offset = 0;
  for (int a = axes - 1; a >= 0; a--) {
    w->at[a] = a > 0 ? first % size[a] : first;
    first /= size[a];
    w->offset += w->at[a] * stride[a];
  }
}

/* After the last element the offset means nothing. */
INLINE void walk_next(Walk *w) {
  for (int a = w->axes - 1; a >= 0; a--) {
    w->offset += w->stride[a];
    if (++w->at[a] < w->size[a]) return;
    w->offset -= w->size[a] * w->stride[a];
    w->at[a] = 0;
  }
}

#endif
