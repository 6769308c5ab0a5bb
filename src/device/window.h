/* window.h: the windows of an AvgPool, for the kernels of every device.
 *
 * Must not know: what is summed.
 */
#ifndef TENSUS_WINDOW_H
#define TENSUS_WINDOW_H

#include "device/backend.h"

#if defined(__CUDACC__)
#define WINDOW static __host__ __device__ __forceinline__
#else
#define WINDOW static inline
#endif

/* A range of places along an axis, and what it counts in the divisor. */
typedef struct Window {
  int64_t from, to, count; /* from < to */
} Window;

WINDOW int64_t window_least(int64_t a, int64_t b) { return a < b ? a : b; }
WINDOW int64_t window_most(int64_t a, int64_t b) { return a > b ? a : b; }

/* The places of x in window o. */
WINDOW Window window_of(const AvgPool *p, int axis, int64_t o) {
  const int64_t size = p->size[axis], result = p->result[axis];
  Window w;
  if (p->adaptive) {
    w.from = o * size / result;
    w.to = ((o + 1) * size + result - 1) / result;
    w.count = w.to - w.from;
    return w;
  }
  const int64_t start = o * p->stride[axis] - p->pad[axis];
  const int64_t end = start + p->kernel[axis];
  w.from = window_most(start, 0);
  w.to = window_least(end, size);
  w.count = p->counts_pad ? window_least(end, size + p->pad[axis]) - start
                          : w.to - w.from;
  return w;
}

/* The windows that hold place `at` of x; count is how many, perhaps none.
 * Adaptive: floor(o size / result) <= at < ceil((o + 1) size / result), solved
 * for o. */
WINDOW Window window_holding(const AvgPool *p, int axis, int64_t at) {
  const int64_t size = p->size[axis], result = p->result[axis];
  Window w;
  if (p->adaptive) {
    w.from = at * result / size;
    w.to = ((at + 1) * result + size - 1) / size;
  } else {
    const int64_t step = p->stride[axis], last = at + p->pad[axis];
    const int64_t first = last - p->kernel[axis] + 1;
    w.from = first <= 0 ? 0 : (first + step - 1) / step;
    w.to = last / step + 1;
  }
  w.to = window_least(w.to, result);
  w.count = window_most(w.to - w.from, 0);
  return w;
}

#endif
