/* kernel.h: what the files of kernels share.
 *
 * The backend's own data, launches over a count, walks over strided arrays,
 * conversions of elements, folds of a warp in the order of rows/fold.def.
 * Always: a kernel loops over its whole count whatever the grid is, so a grid
 * is a matter of speed alone.
 * Must not know: which slot is filled by whom.
 */
#ifndef KERNEL_H
#define KERNEL_H

#include <math.h>

#include "launch.h"

/* Scalar functions of src/ are wanted on the device alone. */
#if defined(__CUDACC__)
#define SM static __device__ __forceinline__
#endif

#include "device/backend.h"
#include "value/half.h"

/* ---- the host's side ---- */

/* What b->self points at. */
struct Cuda {
  cudaStream_t stream;      /* all work of the backend, in order */
  unsigned long long *cell; /* device memory: the answer of a search */
  bool pooled;              /* blocks come from the stream's own pool */
  cudaError_t error;        /* the first that a call or launch gave */
};

static inline Cuda *cuda_of(Backend *b) { return static_cast<Cuda *>(b->self); }

static inline void cuda_note(Backend *b, cudaError_t error) {
  Cuda *c = cuda_of(b);
  if (c->error == cudaSuccess) c->error = error;
}

/* Before a launch: false when the stop flag was seen. */
static inline bool cuda_ready(Backend *b) {
  cuda_note(b, cudaSetDevice(b->index));
  return b->stop == nullptr || !*b->stop;
}

/* After the launches of a slot: what the slot returns. */
static inline bool cuda_launched(Backend *b) {
  cuda_note(b, cudaGetLastError());
  return true;
}

enum {
  WARP = 32,
  THREADS = 256,    /* of a block: fits every register need up to 255 */
  MAX_BLOCKS = 8192 /* more than any GPU runs at a time; loops do the rest */
};

/* Threads of a block and blocks of a grid for n things of one thread each.
 * Few things make a small block: the fake device pays by the thread. */
struct Grid {
  unsigned blocks, threads;
};

static inline Grid grid_of(int64_t n, int64_t threads = THREADS) {
  const int64_t t = min_i64(ceil_div(n, WARP) * WARP, threads);
  const int64_t blocks = min_i64(ceil_div(n, t), MAX_BLOCKS);
  return {static_cast<unsigned>(blocks), static_cast<unsigned>(t)};
}

/* A grid of `n` warps, WARPS to a block. */
enum { WARPS = 4 };
static inline Grid grid_of_warps(int64_t n) {
  return grid_of(n * WARP, WARPS * WARP);
}

/* Each file fills its slots. */
void cuda_fill_pointwise(Backend *b);
void cuda_fill_copy(Backend *b);
void cuda_fill_reduce(Backend *b);
void cuda_fill_scan(Backend *b);
void cuda_fill_index(Backend *b);
void cuda_fill_mask(Backend *b);
void cuda_fill_sort(Backend *b);
void cuda_fill_gemm(Backend *b);
void cuda_fill_conv(Backend *b);
void cuda_fill_pool(Backend *b);
void cuda_fill_rows(Backend *b);
void cuda_fill_sample(Backend *b);
void cuda_fill_random(Backend *b);
void cuda_fill_update(Backend *b);

/* ---- loops ---- */

/* for i in [0, n), shared among all threads. */
#define EACH(i, n)                                                        \
  for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < n; \
       i += (int64_t)gridDim.x * blockDim.x)

/* for i in [0, n), shared among all warps; the lanes of a warp go together. */
#define EACH_WARP(i, n)                                                     \
  for (int64_t i = (blockIdx.x * (int64_t)blockDim.x + threadIdx.x) / WARP; \
       i < n; i += (int64_t)gridDim.x * blockDim.x / WARP)

/* An iteration space; count == product of size. */
struct Walk {
  int axes;
  int64_t count;
  int64_t size[MAX_RANK];
};

static inline Walk walk_of(int axes, const int64_t *size) {
  Walk w;
  w.axes = axes;
  w.count = 1;
  for (int a = 0; a < axes; a++) w.count *= w.size[a] = size[a];
  return w;
}

/* at[k] = offset of element i, in row-major order, of the array whose strides
 * are stride[k].  32-bit division where it serves: it is far cheaper. */
template <int N>
static __device__ void walk_at(const Walk &w, const int64_t (*stride)[MAX_RANK],
                               int64_t i, int64_t *at) {
  for (int k = 0; k < N; k++) at[k] = 0;
  for (int a = w.axes - 1; a >= 0; a--) {
    int64_t place = i;
    if (a > 0) {
      const int64_t size = w.size[a];
      const int64_t rest = w.count <= 0x7fffffff
                               ? (int64_t)((uint32_t)i / (uint32_t)size)
                               : i / size;
      place = i - rest * size;
      i = rest;
    }
    for (int k = 0; k < N; k++) at[k] += place * stride[k][a];
  }
}

/* ---- elements ---- */

/* The float nearest to v whose last bit is odd unless v is exact: rounding it
 * once more, to a narrower type, gives what rounding v would. */
static __device__ __forceinline__ float odd_float(float v) { return v; }

static __device__ inline float odd_float(double v) {
  const float f = (float)v;
  const double back = (double)f;
  if (back == v || v != v || (half_bits(f) & 1u) != 0) return f;
  /* towards v: one step in the order of the bits, which is that of sizes */
  const bool grows = fabs(back) < fabs(v);
  return half_float(half_bits(f) + (grows ? 1u : 0xffffffffu));
}

static __device__ inline float odd_float(int64_t v) {
  uint64_t u = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
  float scale = v < 0 ? -1.0f : 1.0f;
  for (; u >= (1u << 24); scale *= 2) u = u >> 1 | (u & 1);
  return (float)u * scale;
}

static __device__ __forceinline__ float odd_float(int32_t v) {
  return odd_float((int64_t)v);
}

/* Truncates and saturates; NaN gives 0. */
template <typename F> static __device__ int64_t whole_of(F v) {
  if (v != v) return 0;
  if (v >= (F)0x1p63) return INT64_MAX;
  if (v < -(F)0x1p63) return INT64_MIN;
  return (int64_t)v;
}

template <typename F>
static __device__ int64_t whole_within(F v, int64_t least, int64_t greatest) {
  const int64_t w = whole_of(v);
  return w < least ? least : w > greatest ? greatest : w;
}

/* Integers wrap instead. */
static __device__ __forceinline__ int64_t whole_within(int64_t v, int64_t,
                                                       int64_t) {
  return v;
}
static __device__ __forceinline__ int64_t whole_within(int32_t v, int64_t,
                                                       int64_t) {
  return v;
}

/* Element i of an array, as C: float, double, int32_t or int64_t. */
template <typename C>
static __device__ C load_as(const char *data, int dtype, int64_t i) {
  switch (dtype) {
  case DTYPE_BOOL:
    return (C)(((const uint8_t *)data)[i] != 0);
  case DTYPE_U8:
    return (C)((const uint8_t *)data)[i];
  case DTYPE_I8:
    return (C)((const int8_t *)data)[i];
  case DTYPE_I16:
    return (C)((const int16_t *)data)[i];
  case DTYPE_I32:
    return (C)((const int32_t *)data)[i];
  case DTYPE_I64:
    return (C)((const int64_t *)data)[i];
  case DTYPE_F16:
    return (C)f16_to_f32(((const uint16_t *)data)[i]);
  case DTYPE_BF16:
    return (C)bf16_to_f32(((const uint16_t *)data)[i]);
  case DTYPE_F32:
    return (C)((const float *)data)[i];
  default:
    return (C)((const double *)data)[i];
  }
}

/* Element i becomes v, by the rules of API.md 3. */
template <typename C>
static __device__ void store_from(char *data, int dtype, int64_t i, C v) {
  switch (dtype) {
  case DTYPE_BOOL:
    ((uint8_t *)data)[i] = v != 0;
    break;
  case DTYPE_U8:
    ((uint8_t *)data)[i] = (uint8_t)whole_within(v, 0, 255);
    break;
  case DTYPE_I8:
    ((int8_t *)data)[i] = (int8_t)whole_within(v, INT8_MIN, INT8_MAX);
    break;
  case DTYPE_I16:
    ((int16_t *)data)[i] = (int16_t)whole_within(v, INT16_MIN, INT16_MAX);
    break;
  case DTYPE_I32:
    ((int32_t *)data)[i] = (int32_t)whole_within(v, INT32_MIN, INT32_MAX);
    break;
  case DTYPE_I64:
    ((int64_t *)data)[i] = whole_within(v, INT64_MIN, INT64_MAX);
    break;
  case DTYPE_F16:
    ((uint16_t *)data)[i] = f32_to_f16(odd_float(v));
    break;
  case DTYPE_BF16:
    ((uint16_t *)data)[i] = f32_to_bf16(odd_float(v));
    break;
  case DTYPE_F32:
    ((float *)data)[i] = (float)v;
    break;
  default:
    ((double *)data)[i] = (double)v;
    break;
  }
}

static inline bool dtype_is_float(Dtype d) {
  return d == DTYPE_F16 || d == DTYPE_BF16 || d == DTYPE_F32 || d == DTYPE_F64;
}

static inline int dtype_width(Dtype d) {
  switch (d) {
  case DTYPE_I16:
  case DTYPE_F16:
  case DTYPE_BF16:
    return 2;
  case DTYPE_I32:
  case DTYPE_F32:
    return 4;
  case DTYPE_I64:
  case DTYPE_F64:
    return 8;
  default:
    return 1;
  }
}

/* ---- folds of one warp, in the order of rows/fold.def ---- */

/* A chunk has FOLD_LANES partial values.  Thread l of the warp keeps those of
 * lanes l and l + 32: their meeting is the first step of the tree, shuffles
 * are the others.  Chunks meet as a counter carries: the values on the stack
 * are those of the set bits of the number of chunks so far. */
enum { FOLD_DEPTH = 52 }; /* 2^63 / FOLD_CHUNK chunks */

/* Of one value per lane: the tree's result, in every thread. */
template <typename T, typename Step>
static __device__ T warp_tree(T low, T high, Step step) {
  T r = step(low, high);
  for (int by = WARP / 2; by > 0; by /= 2)
    r = step(r, __shfl_down_sync(0xffffffffu, r, by));
  return __shfl_sync(0xffffffffu, r, 0);
}

/* The fold of element(first) ... element(last - 1), one chunk or less. */
template <typename T, typename Element, typename Step>
static __device__ T warp_chunk(int64_t first, int64_t last, T start,
                               Element element, Step step) {
  const int lane = threadIdx.x % WARP;
  T low = start, high = start;
  for (int64_t i = first + lane; i < last; i += FOLD_LANES) {
    low = step(low, element(i));
    if (i + WARP < last) high = step(high, element(i + WARP));
  }
  return warp_tree(low, high, step);
}

/* chunk(first, last) of [0, n), joined as they come. */
template <typename T, typename Chunk, typename Step>
static __device__ T join_chunks(int64_t n, Chunk chunk, Step step) {
  T stack[FOLD_DEPTH];
  int depth = 0;
  for (int64_t k = 0; k * FOLD_CHUNK < n; k++) {
    const int64_t first = k * FOLD_CHUNK;
    const int64_t last = first + FOLD_CHUNK < n ? first + FOLD_CHUNK : n;
    T r = chunk(first, last);
    for (int64_t bits = k; bits & 1; bits >>= 1) r = step(stack[--depth], r);
    stack[depth++] = r;
  }
  T r = stack[--depth];
  while (depth > 0) r = step(stack[--depth], r);
  return r;
}

/* The fold of element(0) ... element(n - 1); the same in every thread. */
template <typename T, typename Element, typename Step>
static __device__ T warp_fold(int64_t n, T start, Element element, Step step) {
  if (n <= FOLD_CHUNK) return warp_chunk(0, n, start, element, step);
  return join_chunks<T>(
      n,
      [=](int64_t first, int64_t last) {
        return warp_chunk(first, last, start, element, step);
      },
      step);
}

/* The same for COLUMNS neighbouring columns at a time, where a warp along a
 * column would read far apart: thread (c, l) of the block keeps lanes l and
 * l + 32 of column c.  `room` holds COLUMN_THREADS numbers.  Every thread of
 * column c gets its fold. */
enum { COLUMNS = 32, COLUMN_THREADS = COLUMNS * WARP };

template <typename T, typename Element, typename Step>
static __device__ T column_chunk(int64_t first, int64_t last, T start,
                                 Element element, Step step, T *room) {
  const int l = threadIdx.x / COLUMNS;
  T *at = room + threadIdx.x;
  T low = start, high = start;
  for (int64_t i = first + l; i < last; i += FOLD_LANES) {
    low = step(low, element(i));
    if (i + WARP < last) high = step(high, element(i + WARP));
  }
  *at = step(low, high);
  __syncthreads();
  for (int half = WARP / 2; half > 0; half /= 2) {
    if (l < half) *at = step(*at, at[half * COLUMNS]);
    __syncthreads();
  }
  const T r = room[threadIdx.x % COLUMNS];
  __syncthreads(); /* before the next chunk writes there */
  return r;
}

template <typename T> struct Plus {
  __device__ T operator()(T a, T b) const { return a + b; }
};

/* The greater; b is passed over where it is NaN. */
template <typename T> struct Greater {
  __device__ T operator()(T a, T b) const { return b > a ? b : a; }
};

#endif
