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
  TILE_DEPTH = 16,     /* of k, held in shared memory at a time */
  TILE_ROW = TILE + 1, /* one more: rows begin in different banks */
  PIECE = 384          /* DEPTH of cpu/gemm_real.h */
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

template <typename T, typename Job>
static __global__ void gemm_tiles(Job job, int64_t tiles) {
  DYNAMIC_SHARED(T, room);
  const int tx = threadIdx.x % TILE_SIDE, ty = threadIdx.x / TILE_SIDE;
  const int64_t pieces = (job.k + PIECE - 1) / PIECE;
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
    for (int r = 0; r < TILE_EACH; r++)
      for (int c = 0; c < TILE_EACH; c++) {
        const int64_t row = at.row + ty + r * TILE_SIDE;
        const int64_t column = at.column + tx + c * TILE_SIDE;
        if (row < job.m && column < job.n)
          job.store(at.batch, row, column, total[r][c]);
      }
  }
}

template <typename T, typename Job>
static void gemm_run(const Job &job, cudaStream_t stream) {
  const int64_t tiles = tile_count(job);
  const unsigned blocks = (unsigned)min_i64(tiles, MAX_BLOCKS);
  const size_t bytes = 2 * TILE_DEPTH * TILE_ROW * sizeof(T);
  LAUNCH((gemm_tiles<T, Job>), blocks, TILE_THREADS, bytes, stream, job, tiles);
}

#endif
