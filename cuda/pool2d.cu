/* pool2d.cu: the greatest element of each window. */
#include "kernel.h"

LAUNCH_POINTERS(Pool2d, p, {
  pointers.push_back(p.x);
  pointers.push_back(p.y);
  pointers.push_back(p.at);
})

/* First and one past the last tap along an axis that lies inside. */
struct Taps {
  int64_t from, to;
};

static __device__ Taps taps_of(const Pool2d &p, int axis, int64_t origin) {
  const int64_t dilation = p.dilation[axis];
  Taps t = {0, p.kernel[axis]};
  if (origin < 0) t.from = (-origin + dilation - 1) / dilation;
  const int64_t room = p.size[axis] - origin; /* > 0: each window has some */
  const int64_t inside = (room + dilation - 1) / dilation;
  if (inside < t.to) t.to = inside;
  return t;
}

template <typename T> static __global__ void pool_windows(Pool2d p) {
  const int64_t places = p.result[0] * p.result[1];
  EACH(i, p.planes * places) {
    const int64_t plane = i / places, place = i - plane * places;
    const int64_t py = place / p.result[1], px = place - py * p.result[1];
    const int64_t row = py * p.stride[0] - p.pad[0];
    const int64_t column = px * p.stride[1] - p.pad[1];
    const Taps down = taps_of(p, 0, row), across = taps_of(p, 1, column);
    const T *x = (const T *)p.x + plane * p.size[0] * p.size[1];
    int64_t best = -1;
    for (int64_t a = down.from; a < down.to; a++)
      for (int64_t c = across.from; c < across.to; c++) {
        const int64_t at =
            (row + a * p.dilation[0]) * p.size[1] + column + c * p.dilation[1];
        /* the first NaN stays: it is greater than none, and nothing than it */
        if (best < 0 || x[at] > x[best] ||
            (x[at] != x[at] && x[best] == x[best]))
          best = at;
      }
    ((T *)p.y)[i] = x[best];
    ((int64_t *)p.at)[i] = best;
  }
}

static bool cuda_max_pool(Backend *b, const Pool2d *p) {
  if (!cuda_ready(b)) return false;
  const Grid g = grid_of(p->planes * p->result[0] * p->result[1]);
  const cudaStream_t stream = cuda_of(b)->stream;
  if (p->dtype == DTYPE_F32)
    LAUNCH(pool_windows<float>, g.blocks, g.threads, 0, stream, *p);
  else
    LAUNCH(pool_windows<double>, g.blocks, g.threads, 0, stream, *p);
  return cuda_launched(b);
}

void cuda_fill_pool2d(Backend *b) { b->max_pool = cuda_max_pool; }
