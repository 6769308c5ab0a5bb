/* launch.h: one header under every .cu file.
 *
 * Kernels compile with nvcc, and with a plain C++ compiler, where the threads
 * of a block are fibers (fake/launch.cpp) and the runtime is fake/cudart.cpp.
 *
 *   LAUNCH(kernel, grid, block, shared bytes, stream, arguments...)
 *   DYNAMIC_SHARED(type, name);      the launch's dynamic shared memory
 *   LAUNCH_POINTERS(type, s, visit)  see below
 *
 * Everything else is spelt as in CUDA.  Habits that keep both readings alike:
 *   - no `__shared__` variable in a template (gcc drops its section, and with
 *     it the poison): DYNAMIC_SHARED works there;
 *   - threads stay until the end and mask their work: no __syncthreads after
 *     some thread has returned;
 *   - nothing to do is no launch: a grid of no blocks is an error in CUDA;
 *   - no plain += on memory that two threads share, which the fake cannot
 *     see going wrong.
 * Must not know: rows, tensors, backends.
 */
#ifndef LAUNCH_H
#define LAUNCH_H

#if defined(__CUDACC__)

#include <cuda_runtime.h>

#define LAUNCH(kernel, grid, block, bytes, stream, ...) \
  (kernel)<<<(grid), (block), (bytes), (stream)>>>(__VA_ARGS__)
#define DYNAMIC_SHARED(type, name)                                \
  extern __shared__ __align__(16) unsigned char launch_dynamic[]; \
  type *name = reinterpret_cast<type *>(launch_dynamic)
#define LAUNCH_POINTERS(type, s, visit)

#else

#include "fake/cuda_runtime.h"

#include <cstring>
#include <functional>
#include <tuple>
#include <type_traits>
#include <vector>

#define __global__
#define __device__
#define __host__
#define __constant__ static const
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __shared__ static __attribute__((section("launch_shared")))

#define LAUNCH(kernel, grid, block, bytes, stream, ...)                \
  launch_kernel(#kernel, (kernel), (grid), (block), (bytes), (stream), \
                __VA_ARGS__)
#define DYNAMIC_SHARED(type, name) \
  type *name = static_cast<type *>(launch_dynamic)

/* What a running thread sees. */
extern const uint3 *launch_thread_index;
extern uint3 launch_block_index;
extern dim3 launch_grid, launch_block;
extern void *launch_dynamic;
#define threadIdx (*launch_thread_index)
#define blockIdx launch_block_index
#define blockDim launch_block
#define gridDim launch_grid
enum { warpSize = 32 };

/* ---- launching ---- */

struct LaunchPlan {
  const char *name;
  dim3 grid, block;
  size_t bytes;
  std::function<void()> call;
};

/* The pointers that a launch hands over. */
using LaunchPointers = std::vector<const void *>;

/* Checks the plan and puts it on the stream.  Each pointer must be NULL or
 * device memory, as a GPU would insist; else the launch fails when it runs. */
void launch_enqueue(LaunchPlan plan, cudaStream_t stream,
                    const LaunchPointers &pointers);

/* Pointers inside a struct argument are seen if it says where they are:
 *   LAUNCH_POINTERS(Span, s, { for (...) pointers.push_back(s.data[i]); }) */
#define LAUNCH_POINTERS(type, s, visit) \
  inline void launch_visit(LaunchPointers &pointers, const type &s) visit

template <typename T>
void launch_visit(LaunchPointers &pointers, const T &value) {
  if constexpr (std::is_pointer_v<T> &&
                !std::is_function_v<std::remove_pointer_t<T>>)
    pointers.push_back(value);
  else
    (void)pointers, (void)value;
}

template <typename... P, typename... A>
void launch_kernel(const char *name, void (*kernel)(P...), dim3 grid,
                   dim3 block, size_t bytes, cudaStream_t stream, A... args) {
  auto values = std::make_tuple(static_cast<P>(args)...);
  LaunchPointers pointers;
  std::apply([&](auto &...v) { (launch_visit(pointers, v), ...); }, values);
  launch_enqueue(
      {name, grid, block, bytes, [=] { std::apply(kernel, values); }}, stream,
      pointers);
}

/* ---- meeting points ---- */

/* Waits for all threads of the block, at this line. */
void launch_barrier(const char *file, int line);

/* Waits for the lanes in `mask`; *value becomes the value of lane `source`. */
void launch_exchange(unsigned mask, int source, void *value, size_t bytes,
                     const char *file, int line);
int launch_lane();

#define __syncthreads() launch_barrier(__FILE__, __LINE__)
#define __syncwarp(...) launch_warp(__FILE__, __LINE__, ##__VA_ARGS__)
#define SHUFFLE_AT(mask, value, source) \
  launch_shuffle(mask, value, source, __FILE__, __LINE__)
#define __shfl_sync(mask, value, lane) SHUFFLE_AT(mask, value, (lane)&31)
#define __shfl_xor_sync(mask, value, bits) \
  SHUFFLE_AT(mask, value, launch_lane() ^ (bits))
#define __shfl_down_sync(mask, value, by) \
  SHUFFLE_AT(mask, value, launch_lane() + (int)(by))
#define __shfl_up_sync(mask, value, by) \
  SHUFFLE_AT(mask, value, launch_lane() - (int)(by))

/* A source outside the warp gives the lane its own value back. */
template <typename T>
T launch_shuffle(unsigned mask, T value, int source, const char *file,
                 int line) {
  static_assert(sizeof(T) <= 8, "shuffles move at most 8 bytes");
  if (source < 0 || source > 31) source = launch_lane();
  launch_exchange(mask, source, &value, sizeof value, file, line);
  return value;
}

inline void launch_warp(const char *file, int line,
                        unsigned mask = 0xffffffff) {
  launch_shuffle(mask, 0, 0, file, line);
}

/* Fibers switch at meeting points only, so these are atomic as they stand. */
template <typename T, typename U> T atomicAdd(T *at, U value) {
  T old = *at;
  *at = old + static_cast<T>(value);
  return old;
}

template <typename T> T atomicMin(T *at, T value) {
  T old = *at;
  if (value < old) *at = value;
  return old;
}

template <typename T> T atomicCAS(T *at, T expected, T value) {
  T old = *at;
  if (old == expected) *at = value;
  return old;
}

#endif
#endif
