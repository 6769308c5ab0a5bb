/* mask.cu: what stands where a mask is true, packed, spread and counted.
 *
 * One warp per chunk of the row-major space, in order: counts, their running
 * sum by one warp, then each chunk writes from where it starts.
 */
#include "kernel.h"

enum { MASK_CHUNK = 1024 }; /* elements of a warp: 32 steps */

struct Masking {
  Walk walk;
  int axes;
  int64_t chunks, base;
  const char *mask;
  char *data, *dense;
  int64_t *start; /* chunks + 1 */
  int64_t stride[2][MAX_RANK];
};
LAUNCH_POINTERS(Masking, m, {
  pointers.push_back(m.mask);
  pointers.push_back(m.data);
  pointers.push_back(m.dense);
  pointers.push_back((const char *)m.start);
})

enum { MASK, DATA };

/* The sum over this lane and those before it. */
static __device__ int64_t warp_running(int64_t n) {
  const int lane = threadIdx.x % WARP;
  for (int by = 1; by < WARP; by *= 2) {
    const int64_t before = __shfl_up_sync(0xffffffffu, n, by);
    if (lane >= by) n += before;
  }
  return n;
}

static __device__ bool mask_at(const Masking &m, int64_t i, int64_t *at) {
  if (i >= m.walk.count) return false;
  walk_at<2>(m.walk, m.stride, i, at);
  return m.mask[at[MASK]] != 0;
}

static __global__ void count_chunks(Masking m) {
  EACH_WARP(chunk, m.chunks) {
    const int lane = threadIdx.x % WARP;
    int64_t n = 0, at[2];
    for (int64_t i = 0; i < MASK_CHUNK; i += WARP)
      n += mask_at(m, chunk * MASK_CHUNK + i + lane, at);
    n = warp_running(n);
    if (lane == WARP - 1) m.start[chunk] = n;
  }
}

/* By one warp. */
static __global__ void sum_chunks(Masking m) {
  const int lane = threadIdx.x % WARP;
  int64_t sum = 0;
  for (int64_t i = 0; i < m.chunks; i += WARP) {
    const bool is = i + lane < m.chunks;
    const int64_t n = is ? m.start[i + lane] : 0;
    const int64_t running = warp_running(n);
    if (is) m.start[i + lane] = sum + running - n;
    sum += __shfl_sync(0xffffffffu, running, WARP - 1);
  }
  if (lane == 0) m.start[m.chunks] = sum;
}

/* write(m, element, offset in data, place in dense) for all true elements. */
template <typename Write> static __global__ void move_chunks(Masking m) {
  const Write write = {};
  EACH_WARP(chunk, m.chunks) {
    const int lane = threadIdx.x % WARP;
    int64_t at[2], next = m.start[chunk];
    for (int64_t k = 0; k < MASK_CHUNK; k += WARP) {
      const int64_t i = chunk * MASK_CHUNK + k + lane;
      const bool is = mask_at(m, i, at);
      const int64_t running = warp_running(is);
      if (is) write(m, i, at[DATA], next + running - 1);
      next += __shfl_sync(0xffffffffu, running, WARP - 1);
    }
  }
}

template <typename T> struct Take {
  __device__ void operator()(const Masking &m, int64_t, int64_t data,
                             int64_t dense) const {
    ((T *)m.dense)[dense] = ((const T *)m.data)[data];
  }
};

template <typename T> struct Put {
  __device__ void operator()(const Masking &m, int64_t, int64_t data,
                             int64_t dense) const {
    ((T *)m.data)[data] = ((const T *)m.dense)[dense];
  }
};

struct Places {
  __device__ void operator()(const Masking &m, int64_t i, int64_t,
                             int64_t dense) const {
    int64_t *to = (int64_t *)m.dense + dense * m.axes;
    for (int a = m.axes - 1; a >= 0; a--) {
      to[a] = m.base + i % m.walk.size[a];
      i /= m.walk.size[a];
    }
  }
};

/* ---- the slots ---- */

static Masking masking_of(const Masked *m) {
  Masking r = {};
  r.walk = walk_of(m->axes, m->size);
  r.axes = m->axes;
  r.chunks = ceil_div(r.walk.count, MASK_CHUNK);
  r.base = m->base;
  r.mask = m->mask;
  r.data = m->data;
  r.dense = m->dense;
  r.start = (int64_t *)m->scratch;
  for (int a = 0; a < m->axes; a++) {
    r.stride[MASK][a] = m->mask_stride[a];
    r.stride[DATA][a] = m->data_stride[a];
  }
  return r;
}

static size_t cuda_mask_room(Backend *, const Masked *m) {
  return (size_t)(masking_of(m).chunks + 1) * sizeof(int64_t);
}

static int64_t cuda_mask_count(Backend *b, const Masked *mask) {
  int64_t sum = 0;
  if (!cuda_ready(b)) return -1;
  Masking m = masking_of(mask);
  if (m.chunks == 0) return 0;
  m.data = m.dense = nullptr; /* not looked at yet */
  const Grid g = grid_of_warps(m.chunks);
  const cudaStream_t s = cuda_of(b)->stream;
  LAUNCH(count_chunks, g.blocks, g.threads, 0, s, m);
  LAUNCH(sum_chunks, 1, WARP, 0, s, m);
  cuda_launched(b);
  b->read(b, &sum, m.start + m.chunks, sizeof sum);
  return sum;
}

template <typename Write> static bool run_move(Backend *b, const Masking &m) {
  const Grid g = grid_of_warps(m.chunks);
  LAUNCH(move_chunks<Write>, g.blocks, g.threads, 0, cuda_of(b)->stream, m);
  return cuda_launched(b);
}

template <typename T>
static bool run_bits(Backend *b, const Masking &m, MaskWhat what) {
  return what == MASK_TAKE ? run_move<Take<T>>(b, m) : run_move<Put<T>>(b, m);
}

static bool cuda_mask_move(Backend *b, const Masked *mask) {
  if (!cuda_ready(b)) return false;
  const Masking m = masking_of(mask);
  if (mask->what == MASK_PLACES) return run_move<Places>(b, m);
  switch (dtype_width(mask->dtype)) {
  case 1: return run_bits<uint8_t>(b, m, mask->what);
  case 2: return run_bits<uint16_t>(b, m, mask->what);
  case 4: return run_bits<uint32_t>(b, m, mask->what);
  default: return run_bits<uint64_t>(b, m, mask->what);
  }
}

void cuda_fill_mask(Backend *b) {
  b->mask_room = cuda_mask_room;
  b->mask_count = cuda_mask_count;
  b->mask_move = cuda_mask_move;
}
