/* sample.cu: images read between pixels; the taps of rows/taps.h. */
#include "kernel.h"
#include "rows/taps.h"

LAUNCH_POINTERS(Sample, s, {
  pointers.push_back(s.grid);
  pointers.push_back(s.x);
  pointers.push_back(s.y);
})

enum { SAMPLE_MOST = TAPS_MOST * TAPS_MOST * TAPS_MOST };

/* The taps of one point: elements of the plane (-1: none) and weights. */
template <typename T> struct Taps {
  int count;
  int64_t element[SAMPLE_MOST];
  T weight[SAMPLE_MOST];
};

/* One axis at a time: the taps so far times those of the next axis. */
template <typename T>
static __device__ void taps_of(const Sample &s, const T *grid, Taps<T> *taps) {
  double product[SAMPLE_MOST];
  int count = 1;
  product[0] = 1;
  taps->element[0] = 0;
  for (int axis = 0; axis < s.axes; axis++) {
    const int along = s.axes - 1 - axis; /* x comes first in the grid */
    const int64_t size = s.size[axis];
    double t, slope = 1, w[TAPS_MOST];
    int64_t e[TAPS_MOST];
    const double place =
        tap_place(s.outside, s.corners, (double)grid[along], size);
    const int64_t first = tap_first(s.taps, place, &t);
    for (int o = 0; o < s.order[along]; o++) slope *= tap_scale(s.corners, size);
    for (int k = 0; k < s.taps; k++) {
      e[k] = tap_element(s.outside, s.corners, first + k, size);
      w[k] = slope * tap_weight(s.taps, k, t, s.order[along]);
    }
    for (int i = count - 1; i >= 0; i--) /* backwards: in place */
      for (int k = s.taps - 1; k >= 0; k--) {
        const bool none = taps->element[i] < 0 || e[k] < 0;
        const int64_t at = none ? -1 : taps->element[i] * size + e[k];
        const double both = product[i] * w[k];
        taps->element[i * s.taps + k] = at;
        product[i * s.taps + k] = both;
      }
    count *= s.taps;
  }
  taps->count = count;
  for (int i = 0; i < count; i++) taps->weight[i] = (T)product[i];
}

/* A thread a point: all channels. */
template <typename T> static __global__ void read_points(Sample s) {
  EACH(i, s.batch * s.points) {
    const int64_t batch = i / s.points, point = i - batch * s.points;
    Taps<T> taps;
    taps_of(s, (const T *)s.grid + i * s.axes, &taps);
    for (int64_t c = 0; c < s.channels; c++) {
      const int64_t plane = batch * s.channels + c;
      const T *x = (const T *)s.x + plane * s.area;
      T sum = 0;
      for (int k = 0; k < taps.count; k++)
        if (taps.element[k] >= 0) sum += taps.weight[k] * x[taps.element[k]];
      ((T *)s.y)[plane * s.points + point] = sum;
    }
  }
}

/* A thread a plane: the points are added in their order, as on the CPU, so
 * that the sums are the same each time. */
template <typename T> static __global__ void add_points(Sample s) {
  EACH(plane, s.batch * s.channels) {
    const int64_t batch = plane / s.channels;
    T *x = (T *)s.x + plane * s.area;
    const T *g = (const T *)s.y + plane * s.points;
    for (int64_t i = 0; i < s.area; i++) x[i] = 0;
    for (int64_t j = 0; j < s.points; j++) {
      Taps<T> taps;
      taps_of(s, (const T *)s.grid + (batch * s.points + j) * s.axes, &taps);
      for (int k = 0; k < taps.count; k++)
        if (taps.element[k] >= 0) x[taps.element[k]] += taps.weight[k] * g[j];
    }
  }
}

static bool cuda_sample(Backend *b, const Sample *s) {
  if (!cuda_ready(b)) return false;
  const Grid g = grid_of(s->batch * s->points);
  const cudaStream_t stream = cuda_of(b)->stream;
  if (s->dtype == DTYPE_F32)
    LAUNCH(read_points<float>, g.blocks, g.threads, 0, stream, *s);
  else
    LAUNCH(read_points<double>, g.blocks, g.threads, 0, stream, *s);
  return cuda_launched(b);
}

static bool cuda_sample_add(Backend *b, const Sample *s) {
  if (!cuda_ready(b)) return false;
  const Grid g = grid_of(s->batch * s->channels, WARP);
  const cudaStream_t stream = cuda_of(b)->stream;
  if (s->dtype == DTYPE_F32)
    LAUNCH(add_points<float>, g.blocks, g.threads, 0, stream, *s);
  else
    LAUNCH(add_points<double>, g.blocks, g.threads, 0, stream, *s);
  return cuda_launched(b);
}

LAUNCH_POINTERS(Resample, s, {
  for (const char *p : {s.begin, s.source, s.weight, s.x}) pointers.push_back(p);
  pointers.push_back(s.y);
})

template <typename T> static __global__ void sparse_rows(Resample s) {
  const int64_t *begin = (const int64_t *)s.begin;
  const int64_t *source = (const int64_t *)s.source;
  EACH(i, s.outer * s.rows * s.inner) {
    const int64_t line = i / s.inner, inner = i - line * s.inner;
    const int64_t outer = line / s.rows, row = line - outer * s.rows;
    const T *x = (const T *)s.x + outer * s.size * s.inner + inner;
    T sum = 0;
    for (int64_t e = begin[row]; e < begin[row + 1]; e++)
      sum += ((const T *)s.weight)[e] * x[source[e] * s.inner];
    ((T *)s.y)[i] = sum;
  }
}

static bool cuda_resample(Backend *b, const Resample *s) {
  if (!cuda_ready(b)) return false;
  const Grid g = grid_of(s->outer * s->rows * s->inner);
  const cudaStream_t stream = cuda_of(b)->stream;
  if (s->dtype == DTYPE_F32)
    LAUNCH(sparse_rows<float>, g.blocks, g.threads, 0, stream, *s);
  else
    LAUNCH(sparse_rows<double>, g.blocks, g.threads, 0, stream, *s);
  return cuda_launched(b);
}

void cuda_fill_sample(Backend *b) {
  b->sample = cuda_sample;
  b->sample_add = cuda_sample_add;
  b->resample = cuda_resample;
}
