/* gemm.h: one tiled product, whatever its operands are.
 *
 *   c (batch, m, n) = a (batch, m, k) b (batch, k, n)
 *
 * A Job says where elements come from and go to; matrices (gemm.cu) and
 * windows of images (conv.cu) are Jobs.  It has
 *   batch m n k, left_by_k, right_by_k     neighbours in memory run along k
 *   T left(batch, i, p), right(batch, p, j), void store(batch, i, j, T)
 * Always: k is cut into equal pieces of at most PIECE; within a piece an
 * element is one chain of fused multiply-adds from 0, left to right; pieces
 * are added left to right.  As in cpu/gemm_real.h, so levels with FMA agree.
 */
#ifndef GEMM_H
#define GEMM_H

#include "kernel.h"

enum {
  TILE = 64,      /* rows and columns of a block's part of c */
  TILE_SIDE = 16, /* threads along each */
  TILE_EACH = TILE / TILE_SIDE,
  TILE_THREADS = TILE_SIDE * TILE_SIDE,
  TILE_DEPTH = 16,       /* of k, held in shared memory at a time */
  TILE_ROW = TILE + 1,   /* one more: rows begin in different banks */
  PIECE = 384,           /* DEPTH of cpu/gemm_real.h */
  FEW_TILES = 128,       /* would leave most of a large GPU idle */
  MANY_PIECES = 4,       /* worth a pass over their sums */
  SPLIT_BYTES = 64 << 20 /* the most that those may take */
};

static __device__ __forceinline__ float multiply_add(float a, float b,
                                                     float c) {
  return fmaf(a, b, c);
}
static __device__ __forceinline__ double multiply_add(double a, double b,
                                                      double c) {
  return fma(a, b, c);
}
/* Integers come as unsigned numbers of their width: they wrap. */
template <typename U>
static __device__ __forceinline__ U multiply_add(U a, U b, U c) {
  return (U)((uint64_t)a * b + c);
}

/* What a block works on. */
struct TilePlace {
  int64_t batch, row, column;
};

template <typename Job>
static __host__ __device__ int64_t tile_count(const Job &job) {
  const int64_t rows = (job.m + TILE - 1) / TILE;
  const int64_t columns = (job.n + TILE - 1) / TILE;
  return job.batch * rows * columns;
}

template <typename Job>
static __device__ TilePlace tile_place(const Job &job, int64_t tile) {
  const int64_t rows = (job.m + TILE - 1) / TILE;
  const int64_t columns = (job.n + TILE - 1) / TILE;
  const int64_t batch = tile / (rows * columns);
  tile -= batch * rows * columns;
  const int64_t row = tile / columns;
  return {batch, row * TILE, (tile - row * columns) * TILE};
}

/* left (depth, TILE) and right (depth, TILE) of k from `from` on; zeros
 * outside.  Neighbouring threads read what lies side by side. */
template <typename T, typename Job>
static __device__ void tile_load(const Job &job, const TilePlace &at,
                                 int64_t from, int64_t to, T *left, T *right) {
  for (int e = threadIdx.x; e < TILE * TILE_DEPTH; e += TILE_THREADS) {
    const int by_k = e % TILE_DEPTH, far = e / TILE_DEPTH;
    const int by_row = e % TILE, deep = e / TILE;
    const int i = job.left_by_k ? far : by_row;
    const int pi = job.left_by_k ? by_k : deep;
    const int j = job.right_by_k ? far : by_row;
    const int pj = job.right_by_k ? by_k : deep;
    left[pi * TILE_ROW + i] = from + pi < to && at.row + i < job.m
                                  ? job.left(at.batch, at.row + i, from + pi)
                                  : T(0);
    right[pj * TILE_ROW + j] =
        from + pj < to && at.column + j < job.n
            ? job.right(at.batch, from + pj, at.column + j)
            : T(0);
  }
}

/* sum += left' right; each thread owns every TILE_SIDE-th row and column. */
template <typename T>
static __device__ void tile_multiply(int depth, const T *left, const T *right,
                                     T (*sum)[TILE_EACH]) {
  const int tx = threadIdx.x % TILE_SIDE, ty = threadIdx.x / TILE_SIDE;
  for (int p = 0; p < depth; p++) {
    T a[TILE_EACH], b[TILE_EACH];
    for (int e = 0; e < TILE_EACH; e++) {
      a[e] = left[p * TILE_ROW + ty + e * TILE_SIDE];
      b[e] = right[p * TILE_ROW + tx + e * TILE_SIDE];
    }
    for (int r = 0; r < TILE_EACH; r++)
      for (int c = 0; c < TILE_EACH; c++)
        sum[r][c] = multiply_add(a[r], b[c], sum[r][c]);
  }
}

/* The sum over one piece of k. */
template <typename T, typename Job>
static __device__ void tile_piece(const Job &job, const TilePlace &at,
                                  int64_t from, int64_t to, T *room,
                                  T (*sum)[TILE_EACH]) {
  T *left = room, *right = room + TILE_DEPTH * TILE_ROW;
  for (; from < to; from += TILE_DEPTH) {
    tile_load(job, at, from, to, left, right);
    __syncthreads();
    const int depth = to - from < TILE_DEPTH ? (int)(to - from) : TILE_DEPTH;
    tile_multiply(depth, left, right, sum);
    __syncthreads(); /* before the next round writes the tiles */
  }
}

/* f(row, column, value) for the elements of c that this thread owns. */
template <typename T, typename Job, typename F>
static __device__ void tile_each(const Job &job, const TilePlace &at,
                                 const T (*value)[TILE_EACH], F f) {
  const int tx = threadIdx.x % TILE_SIDE, ty = threadIdx.x / TILE_SIDE;
  for (int r = 0; r < TILE_EACH; r++)
    for (int c = 0; c < TILE_EACH; c++) {
      const int64_t row = at.row + ty + r * TILE_SIDE;
      const int64_t column = at.column + tx + c * TILE_SIDE;
      if (row < job.m && column < job.n) f(row, column, value[r][c]);
    }
}

/* One block per tile, piece after piece. */
template <typename T, typename Job>
static __global__ void gemm_tiles(Job job, int64_t tiles, int64_t pieces) {
  DYNAMIC_SHARED(T, room);
  for (int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const TilePlace at = tile_place(job, tile);
    T total[TILE_EACH][TILE_EACH] = {};
    for (int64_t i = 0; i < pieces; i++) {
      T sum[TILE_EACH][TILE_EACH] = {};
      tile_piece(job, at, i * job.k / pieces, (i + 1) * job.k / pieces, room,
                 sum);
      for (int r = 0; r < TILE_EACH; r++)
        for (int c = 0; c < TILE_EACH; c++)
          total[r][c] = i == 0 ? sum[r][c] : (T)(sum[r][c] + total[r][c]);
    }
    tile_each(job, at, total, [=](int64_t row, int64_t column, T v) {
      job.store(at.batch, row, column, v);
    });
  }
}

/* One block per piece of a tile: partial (pieces, batch, m, n). */
template <typename T, typename Job>
static __global__ void gemm_pieces(Job job, int64_t tiles, int64_t pieces,
                                   T *partial) {
  DYNAMIC_SHARED(T, room);
  for (int64_t w = blockIdx.x; w < tiles * pieces; w += gridDim.x) {
    const int64_t tile = w / pieces, i = w - tile * pieces;
    const TilePlace at = tile_place(job, tile);
    T *to = partial + (i * job.batch + at.batch) * job.m * job.n;
    const int64_t n = job.n;
    T sum[TILE_EACH][TILE_EACH] = {};
    tile_piece(job, at, i * job.k / pieces, (i + 1) * job.k / pieces, room,
               sum);
    tile_each(job, at, sum, [=](int64_t row, int64_t column, T v) {
      to[row * n + column] = v;
    });
  }
}

/* The pieces of an element, added left to right. */
template <typename T, typename Job>
static __global__ void gemm_join(Job job, int64_t pieces, const T *partial) {
  const int64_t matrix = job.m * job.n, all = job.batch * matrix;
  EACH(e, all) {
    T total = partial[e];
    for (int64_t i = 1; i < pieces; i++)
      total = (T)(partial[i * all + e] + total);
    const int64_t batch = e / matrix, place = e - batch * matrix;
    const int64_t row = place / job.n;
    job.store(batch, row, place - row * job.n, total);
  }
}

template <typename Job> static int64_t gemm_count(const Job &job) {
  return ceil_div(job.k, PIECE);
}

/* Bytes of scratch: 0 where a block per tile is work enough. */
template <typename T, typename Job> static size_t gemm_room(const Job &job) {
  const int64_t pieces = gemm_count(job);
  const int64_t bytes = pieces * job.batch * job.m * job.n * (int64_t)sizeof(T);
  const bool splits = tile_count(job) < FEW_TILES && pieces >= MANY_PIECES &&
                      bytes <= SPLIT_BYTES;
  return splits ? (size_t)bytes : 0;
}

template <typename T, typename Job>
static void gemm_run(const Job &job, void *scratch, cudaStream_t stream) {
  const int64_t tiles = tile_count(job), pieces = gemm_count(job);
  const size_t bytes = 2 * TILE_DEPTH * TILE_ROW * sizeof(T);
  if (gemm_room<T>(job) == 0) {
    const unsigned blocks = (unsigned)min_i64(tiles, MAX_BLOCKS);
    LAUNCH((gemm_tiles<T, Job>), blocks, TILE_THREADS, bytes, stream, job,
           tiles, pieces);
    return;
  }
  T *partial = static_cast<T *>(scratch);
  const unsigned blocks = (unsigned)min_i64(tiles * pieces, MAX_BLOCKS);
  LAUNCH((gemm_pieces<T, Job>), blocks, TILE_THREADS, bytes, stream, job, tiles,
         pieces, partial);
  const Grid g = grid_of(job.batch * job.m * job.n);
  LAUNCH((gemm_join<T, Job>), g.blocks, g.threads, 0, stream, job, pieces,
         partial);
}

#endif
