/* pool.cu: the greatest element of each window, means, and their transpose. */
#include "kernel.h"

#include "device/window.h"

LAUNCH_POINTERS(MaxPool, p, {
  pointers.push_back(p.x);
  pointers.push_back(p.y);
  pointers.push_back(p.at);
})
LAUNCH_POINTERS(AvgPool, p, {
  pointers.push_back(p.x);
  pointers.push_back(p.y);
})

/* Element i of (planes, size): its plane, and its place on each axis. */
static __device__ int64_t place_of(int64_t i, const int64_t *size,
                                   int64_t *at) {
  for (int a = SPACE - 1; a >= 0; a--) {
    const int64_t rest = i / size[a];
    at[a] = i - rest * size[a];
    i = rest;
  }
  return i;
}

static __host__ __device__ int64_t volume_of(const int64_t *size) {
  return size[DEEP] * size[DOWN] * size[ACROSS];
}

/* ---- greatest elements ---- */

static __device__ bool is_nan(float v) { return v != v; }
static __device__ bool is_nan(double v) { return v != v; }
static __device__ bool is_nan(int32_t) { return false; }
static __device__ bool is_nan(int64_t) { return false; }

/* First and one past the last tap along an axis that lies inside. */
struct Taps {
  int64_t origin, from, to;
};

static __device__ Taps taps_of(const MaxPool &p, int axis, int64_t o) {
  const int64_t origin = o * p.stride[axis] - p.pad[axis];
  const int64_t dilation = p.dilation[axis];
  Taps t = {origin, 0, p.kernel[axis]};
  if (origin < 0) t.from = (-origin + dilation - 1) / dilation;
  const int64_t room = p.size[axis] - origin; /* > 0: each window has some */
  const int64_t inside = (room + dilation - 1) / dilation;
  if (inside < t.to) t.to = inside;
  return t;
}

template <typename T> static __global__ void max_windows(MaxPool p) {
  EACH(i, p.planes * volume_of(p.result)) {
    int64_t o[SPACE], best = -1;
    const int64_t plane = place_of(i, p.result, o);
    const T *x = (const T *)p.x + plane * volume_of(p.size);
    const Taps deep = taps_of(p, DEEP, o[DEEP]);
    const Taps down = taps_of(p, DOWN, o[DOWN]);
    const Taps across = taps_of(p, ACROSS, o[ACROSS]);
    for (int64_t s = deep.from; s < deep.to; s++)
      for (int64_t a = down.from; a < down.to; a++)
        for (int64_t c = across.from; c < across.to; c++) {
          const int64_t slice = deep.origin + s * p.dilation[DEEP];
          const int64_t row = down.origin + a * p.dilation[DOWN];
          const int64_t at = (slice * p.size[DOWN] + row) * p.size[ACROSS] +
                             across.origin + c * p.dilation[ACROSS];
          /* the first NaN stays: it is greater than none, and nothing than
           * it */
          if (best < 0 || x[at] > x[best] ||
              (is_nan(x[at]) && !is_nan(x[best])))
            best = at;
        }
    ((T *)p.y)[i] = x[best];
    if (p.at != nullptr) ((int64_t *)p.at)[i] = best;
  }
}

/* ---- means ---- */

/* Rows of a window first, then their sum: as cpu/avg_pool_type.h. */
template <typename T> static __global__ void mean_windows(AvgPool p) {
  EACH(i, p.planes * volume_of(p.result)) {
    int64_t o[SPACE];
    const int64_t plane = place_of(i, p.result, o);
    const T *x = (const T *)p.x + plane * volume_of(p.size);
    const Window deep = window_of(&p, DEEP, o[DEEP]);
    const Window down = window_of(&p, DOWN, o[DOWN]);
    const Window across = window_of(&p, ACROSS, o[ACROSS]);
    T sum = 0;
    for (int64_t c = across.from; c < across.to; c++) {
      T column = 0;
      for (int64_t s = deep.from; s < deep.to; s++)
        for (int64_t a = down.from; a < down.to; a++)
          column += x[(s * p.size[DOWN] + a) * p.size[ACROSS] + c];
      sum += column;
    }
    ((T *)p.y)[i] = sum / ((T)deep.count * (T)down.count * (T)across.count);
  }
}

template <typename T> static __global__ void spread_windows(AvgPool p) {
  EACH(i, p.planes * volume_of(p.size)) {
    int64_t at[SPACE];
    const int64_t plane = place_of(i, p.size, at);
    const T *y = (const T *)p.y + plane * volume_of(p.result);
    const Window deep = window_holding(&p, DEEP, at[DEEP]);
    const Window down = window_holding(&p, DOWN, at[DOWN]);
    const Window across = window_holding(&p, ACROSS, at[ACROSS]);
    T sum = 0;
    for (int64_t c = across.from; c < across.to; c++) {
      T part = 0;
      for (int64_t s = deep.from; s < deep.to; s++)
        for (int64_t a = down.from; a < down.to; a++)
          part += y[(s * p.result[DOWN] + a) * p.result[ACROSS] + c] /
                  ((T)window_of(&p, DEEP, s).count *
                   (T)window_of(&p, DOWN, a).count);
      sum += part / (T)window_of(&p, ACROSS, c).count;
    }
    ((T *)p.x)[i] = sum;
  }
}

/* ---- the slots ---- */

#define RUN(kernel, T, count, p)                                          \
  do {                                                                    \
    const Grid grid = grid_of(count);                                     \
    LAUNCH(kernel<T>, grid.blocks, grid.threads, 0, cuda_of(b)->stream, *p); \
  } while (0)

static bool cuda_max_pool(Backend *b, const MaxPool *p) {
  if (!cuda_ready(b)) return false;
  const int64_t count = p->planes * volume_of(p->result);
  switch (p->dtype) {
  case DTYPE_F32: RUN(max_windows, float, count, p); break;
  case DTYPE_F64: RUN(max_windows, double, count, p); break;
  case DTYPE_I32: RUN(max_windows, int32_t, count, p); break;
  default: RUN(max_windows, int64_t, count, p); break;
  }
  return cuda_launched(b);
}

static bool cuda_avg_pool(Backend *b, const AvgPool *p) {
  if (!cuda_ready(b)) return false;
  const int64_t count = p->planes * volume_of(p->result);
  if (p->dtype == DTYPE_F32) RUN(mean_windows, float, count, p);
  else RUN(mean_windows, double, count, p);
  return cuda_launched(b);
}

static bool cuda_avg_pool_add(Backend *b, const AvgPool *p) {
  if (!cuda_ready(b)) return false;
  const int64_t count = p->planes * volume_of(p->size);
  if (p->dtype == DTYPE_F32) RUN(spread_windows, float, count, p);
  else RUN(spread_windows, double, count, p);
  return cuda_launched(b);
}

void cuda_fill_pool(Backend *b) {
  b->max_pool = cuda_max_pool;
  b->avg_pool = cuda_avg_pool;
  b->avg_pool_add = cuda_avg_pool_add;
}
