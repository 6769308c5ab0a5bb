/* taps.h: between which elements of an axis a place lies, and how much each
 * weighs; the same in C and CUDA.
 *
 * A place p on an axis of `size` elements, whose centres are 0 .. size - 1, is
 * read from TAPS(mode) neighbours.  Each weighs a polynomial in t = p -
 * floor(p), so its derivatives in p are polynomials too.  The cubic is Keys'
 * (Cubic convolution interpolation, 1981) with a = -3/4.
 * Must not know: images, who reads.
 */
#ifndef TENSUS_TAPS_H
#define TENSUS_TAPS_H

#include <math.h>
#include <stdint.h>

#ifndef SM
#if defined(__CUDACC__)
#define SM static __host__ __device__ __forceinline__
#elif defined(__GNUC__)
#define SM __attribute__((always_inline, unused)) static inline
#else
#define SM static inline
#endif
#endif

/* ORDER: the words of O_CHOICE(mode, ..) of grid_sample and interpolate */
enum { TAPS_NEAREST = 1, TAPS_LINEAR = 2, TAPS_CUBIC = 4 };
enum { TAPS_MOST = 4 }; /* along one axis */

/* What lies outside. */
enum { OUTSIDE_ZEROS, OUTSIDE_BORDER, OUTSIDE_REFLECTION };

/* The weight of tap k of `taps`, or its derivative of an order, at t. */
SM double tap_weight(int taps, int k, double t, int order) {
  const double a = -0.75;
  const double cubic[4][4] = {{0, a, -2 * a, a},
                              {1, 0, -(a + 3), a + 2},
                              {0, -a, 2 * a + 3, -(a + 2)},
                              {0, 0, a, -a}};
  const double linear[2][4] = {{1, -1, 0, 0}, {0, 1, 0, 0}};
  const double nearest[4] = {1, 0, 0, 0};
  const double *c = taps == TAPS_CUBIC    ? cubic[k]
                    : taps == TAPS_LINEAR ? linear[k]
                                          : nearest;
  switch (order) {
  case 0: return c[0] + t * (c[1] + t * (c[2] + t * c[3]));
  case 1: return c[1] + t * (2 * c[2] + t * 3 * c[3]);
  case 2: return 2 * c[2] + t * 6 * c[3];
  case 3: return 6 * c[3];
  default: return 0;
  }
}

/* The first tap's element, before the border is looked at, and t. */
SM int64_t tap_first(int taps, double place, double *t) {
  const double whole = taps == TAPS_NEAREST ? rint(place) : floor(place);
  *t = taps == TAPS_NEAREST ? 0 : place - whole;
  return (int64_t)whole - (taps == TAPS_CUBIC);
}

/* Element i of an axis that goes on as `outside` says; -1: nothing there. */
SM int64_t tap_element(int outside, bool corners, int64_t i, int64_t size) {
  if (i >= 0 && i < size) return i;
  if (outside == OUTSIDE_ZEROS) return -1;
  if (outside == OUTSIDE_BORDER || size == 1) return i < 0 ? 0 : size - 1;
  /* mirrored about the centres, or about the edges, of the outermost */
  const int64_t period = corners ? 2 * (size - 1) : 2 * size;
  int64_t at = i % period;
  if (at < 0) at += period;
  if (at < size) return at;
  return corners ? period - at : period - 1 - at;
}

/* Where a coordinate of -1 .. 1 lies: 1 is the last centre (corners) or the
 * outer edge of the last element.  NaN counts as -1.  Far away, any place far
 * away will do; reflections are periodic. */
SM double tap_place(int outside, bool corners, double u, int64_t size) {
  if (isnan(u)) u = -1;
  const double n = (double)size;
  const double place = corners ? (u + 1) / 2 * (n - 1) : ((u + 1) * n - 1) / 2;
  if (outside != OUTSIDE_REFLECTION)
    return fmin(fmax(place, -(double)TAPS_MOST), n + TAPS_MOST);
  const double period = corners ? 2 * (n - 1) : 2 * n;
  if (isinf(place) || period <= 0) return 0;
  return place - period * floor(place / period);
}

/* d place / d u */
SM double tap_scale(bool corners, int64_t size) {
  return corners ? ((double)size - 1) / 2 : (double)size / 2;
}

#endif
