/* launch_test.h: what launch_test.cpp runs on the fake device.
 *
 * Device memory with an owner, and kernels that are right, or wrong on purpose:
 * the launcher must show it.
 */
#ifndef LAUNCH_TEST_H
#define LAUNCH_TEST_H

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "check.h"
#include "fake/fake.h"
#include "launch.h"

/* An array in device memory. */
template <typename T> struct Device {
  T *at = nullptr;
  size_t count;
  explicit Device(size_t n) : count(n) {
    cudaMalloc(reinterpret_cast<void **>(&at), n * sizeof(T));
  }
  explicit Device(const std::vector<T> &host) : Device(host.size()) {
    cudaMemcpy(at, host.data(), count * sizeof(T), cudaMemcpyHostToDevice);
  }
  Device(const Device &) = delete;
  ~Device() { cudaFree(at); }
  std::vector<T> fetch() const {
    std::vector<T> host(count);
    cudaMemcpy(host.data(), at, count * sizeof(T), cudaMemcpyDeviceToHost);
    return host;
  }
};

/* Runs `body` once in every order of the adversary. */
template <typename F> void in_every_order(F body) {
  for (const char *order : {"forward", "reverse", "shuffle:1"}) {
    setenv("LAUNCH_ORDER", order, 1);
    body(order);
  }
}

enum { CELLS = 64, BINS = 37, SUM_THREADS = 256 };

/* ---- right ---- */

static __device__ float warp_sum(float v) {
  for (int by = 16; by > 0; by /= 2) v += __shfl_down_sync(0xffffffff, v, by);
  return v;
}

/* *total = sum of x in a fixed tree; one block. */
static __global__ void sum_all(size_t n, const float *x, float *total) {
  __shared__ float part[SUM_THREADS / 32];
  float v = 0;
  for (size_t i = threadIdx.x; i < n; i += SUM_THREADS) v += x[i];
  v = warp_sum(v);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;
  __syncthreads();
  v = warp_sum(threadIdx.x < SUM_THREADS / 32 ? part[threadIdx.x] : 0.0f);
  if (threadIdx.x == 0) *total = v;
}

/* Counts in dynamic shared memory, then adds each bin once per block. */
static __global__ void histogram(size_t n, const int *x, int *counts) {
  DYNAMIC_SHARED(int, local);
  for (int k = threadIdx.x; k < BINS; k += blockDim.x) local[k] = 0;
  __syncthreads();
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n;
       i += (size_t)gridDim.x * blockDim.x)
    atomicAdd(&local[x[i]], 1);
  __syncthreads();
  for (int k = threadIdx.x; k < BINS; k += blockDim.x)
    atomicAdd(&counts[k], local[k]);
}

/* Pairs agree through shared memory, each half of a warp by itself. */
static __global__ void half_warps(int *out) {
  __shared__ int cell[32];
  unsigned half = threadIdx.x < 16 ? 0x0000ffff : 0xffff0000;
  cell[threadIdx.x] = threadIdx.x;
  __syncwarp(half);
  out[threadIdx.x] = cell[threadIdx.x ^ 1];
}

/* Writes its number through a pointer inside a struct. */
struct Boxed {
  int *at;
};
LAUNCH_POINTERS(Boxed, b, { pointers.push_back(b.at); })
static __global__ void fill_boxed(Boxed b) { b.at[threadIdx.x] = threadIdx.x; }

/* ---- wrong ---- */

/* Hands values to the right: without the barrier, by luck in one order. */
static __global__ void shift(int barrier, int *out) {
  __shared__ int cell[CELLS];
  cell[threadIdx.x] = threadIdx.x;
  if (barrier) __syncthreads();
  out[threadIdx.x] = cell[threadIdx.x ? threadIdx.x - 1 : 0];
}

/* Two rounds; the second barrier keeps slow readers of round 0 safe. */
static __global__ void rounds(int barrier, int *out) {
  __shared__ int cell[CELLS];
  int total = 0;
  for (int round = 0; round < 2; round++) {
    cell[threadIdx.x] = threadIdx.x + round;
    __syncthreads();
    total += cell[(threadIdx.x + 1) % CELLS];
    if (barrier) __syncthreads();
  }
  out[threadIdx.x] = total;
}

/* Threads 32 and above leave before the barrier. */
static __global__ void leaves_early(int *out) {
  if (threadIdx.x >= 32) return;
  __syncthreads();
  out[threadIdx.x] = 1;
}

/* Two barriers where the block should meet at one. */
static __global__ void meets_apart(int *out) {
  if (threadIdx.x % 2)
    __syncthreads();
  else
    __syncthreads();
  out[threadIdx.x] = 1;
}

/* Half a warp shuffles with a mask that names all of it. */
static __global__ void half_warp(int *out) {
  int v = threadIdx.x;
  if (threadIdx.x % 32 < 16)
    v = __shfl_xor_sync(0xffffffff, v, 1);
  else
    __syncthreads();
  out[threadIdx.x] = v;
}

/* Lane 0 shuffles with a mask that does not name it. */
static __global__ void not_named(int *out) {
  out[threadIdx.x] = __shfl_sync(0xfffffffe, (int)threadIdx.x, 1);
}

/* The last lane reads one that has left: ones, not an old value. */
static __global__ void reads_absent(int *out) {
  if (threadIdx.x == 31) return;
  out[threadIdx.x] = __shfl_down_sync(0xffffffff, (int)threadIdx.x, 1);
}

/* Writes one element past its block. */
static __global__ void writes_past(int *out) { out[CELLS] = 1; }

#endif
