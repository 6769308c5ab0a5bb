/* cuda.cu: a GPU as a backend; what the plug-in exports.
 *
 * One stream per backend keeps all its work in order, so a block may be freed
 * while kernels that read it still wait: the stream's own pool reuses it for
 * later work only.  `read`, `wait` and the searches wait; `write` waits too,
 * since the host's bytes may go away after it.
 * A call that fails is noted; reads give ones from then on (NaN, -1), never
 * stale bytes, and tensus_cuda_error tells the first failure.
 * Must not know: kernels.
 */
#include <stdlib.h>
#include <string.h>

#include "kernel.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

/* ---- memory ---- */

static void *cuda_alloc(Backend *b, size_t bytes) {
  void *at = nullptr;
  Cuda *c = cuda_of(b);
  cuda_note(b, cudaSetDevice(b->index));
  cudaError_t error = c->pooled ? cudaMallocAsync(&at, bytes, c->stream)
                                : cudaMalloc(&at, bytes);
  if (error == cudaSuccess) return at;
  if (error == cudaErrorMemoryAllocation)
    cudaGetLastError(); /* forget it */
  else
    cuda_note(b, error);
  return nullptr;
}

static void cuda_free(Backend *b, void *at) {
  Cuda *c = cuda_of(b);
  cuda_note(b, cudaSetDevice(b->index));
  cuda_note(b, c->pooled ? cudaFreeAsync(at, c->stream) : cudaFree(at));
}

static void cuda_wait(Backend *b) {
  cuda_note(b, cudaSetDevice(b->index));
  cuda_note(b, cudaStreamSynchronize(cuda_of(b)->stream));
}

static void cuda_write(Backend *b, void *device, const void *host,
                       size_t bytes) {
  cuda_note(b, cudaSetDevice(b->index));
  cuda_note(b, cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice,
                               cuda_of(b)->stream));
  cuda_wait(b);
}

static void cuda_read(Backend *b, void *host, const void *device,
                      size_t bytes) {
  cuda_note(b, cudaSetDevice(b->index));
  cuda_note(b, cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost,
                               cuda_of(b)->stream));
  cuda_wait(b);
  if (cuda_of(b)->error != cudaSuccess) memset(host, 0xff, bytes);
}

/* ---- opening ---- */

static void cuda_close(Backend *b) {
  Cuda *c = cuda_of(b);
  if (c == nullptr) return;
  cudaSetDevice(b->index);
  if (c->stream != nullptr) cudaStreamSynchronize(c->stream);
  if (c->cell != nullptr) cudaFree(c->cell);
  if (c->stream != nullptr) cudaStreamDestroy(c->stream);
  free(c);
  b->self = nullptr;
}

/* Without a threshold the pool gives its blocks back at every wait. */
static bool keep_pool(int index) {
  cudaMemPool_t pool;
  uint64_t keep = UINT64_MAX;
  const bool kept =
      cudaDeviceGetDefaultMemPool(&pool, index) == cudaSuccess &&
      cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep) ==
          cudaSuccess;
  if (!kept) cudaGetLastError(); /* an old driver: cudaMalloc serves */
  return kept;
}

static cudaError_t open_parts(Cuda *c, int index) {
  cudaError_t error = cudaSetDevice(index);
  if (error != cudaSuccess) return error;
  error = cudaStreamCreateWithFlags(&c->stream, cudaStreamNonBlocking);
  if (error != cudaSuccess) return error;
  c->pooled = keep_pool(index);
  void *cell = nullptr;
  error = cudaMalloc(&cell, sizeof *c->cell);
  c->cell = static_cast<unsigned long long *>(cell);
  return error;
}

static void fill_memory(Backend *b) {
  b->alloc = cuda_alloc;
  b->free = cuda_free;
  b->write = cuda_write;
  b->read = cuda_read;
  b->wait = cuda_wait;
  b->close = cuda_close;
}

/* BackendOpen of device/backend.h. */
EXPORT const char *tensus_cuda_open(Backend *b, int index) {
  Cuda *c = static_cast<Cuda *>(calloc(1, sizeof *c));
  if (c == nullptr) return "out of memory";
  b->kind = "cuda";
  b->index = index;
  b->self = c;
  const cudaError_t error = open_parts(c, index);
  if (error != cudaSuccess) {
    cuda_close(b);
    return cudaGetErrorString(error);
  }
  fill_memory(b);
  cuda_fill_pointwise(b);
  cuda_fill_copy(b);
  cuda_fill_reduce(b);
  cuda_fill_scan(b);
  cuda_fill_index(b);
  cuda_fill_mask(b);
  cuda_fill_sort(b);
  cuda_fill_gemm(b);
  cuda_fill_conv(b);
  cuda_fill_pool(b);
  cuda_fill_rows(b);
  cuda_fill_sample(b);
  cuda_fill_random(b);
  cuda_fill_update(b);
  return nullptr;
}

/* How many GPUs there are; 0 without a driver. */
EXPORT int tensus_cuda_count(void) {
  int count = 0;
  if (cudaGetDeviceCount(&count) == cudaSuccess) return count;
  cudaGetLastError();
  return 0;
}

/* Static text: the first failure of the device since it was opened, or NULL.
 * After one, what the device holds is not to be trusted. */
EXPORT const char *tensus_cuda_error(Backend *b) {
  const cudaError_t error = cuda_of(b)->error;
  return error == cudaSuccess ? nullptr : cudaGetErrorString(error);
}
