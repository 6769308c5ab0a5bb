/* cuda_runtime.h: the part of CUDA's runtime that the fake one serves.
 *
 * Names, numbers and signatures are CUDA's; the list is runtime.def.  Needs
 * no header of NVIDIA's, so the device spec runs wherever there is a C++17
 * compiler.  Never installed, and never seen by nvcc.
 */
#ifndef FAKE_CUDA_RUNTIME_H
#define FAKE_CUDA_RUNTIME_H

#include <stddef.h>

enum cudaError {
#define CUDA_ERROR(name, number, text) name = number,
#include "runtime.def"
};
typedef enum cudaError cudaError_t;

enum cudaMemcpyKind {
  cudaMemcpyHostToHost,
  cudaMemcpyHostToDevice,
  cudaMemcpyDeviceToHost,
  cudaMemcpyDeviceToDevice,
  cudaMemcpyDefault
};

enum { cudaStreamDefault = 0, cudaStreamNonBlocking = 1 };
enum { cudaEventDefault = 0, cudaEventDisableTiming = 2 };

enum cudaMemPoolAttr { cudaMemPoolAttrReleaseThreshold = 4 };

typedef struct CUmemPoolHandle_st *cudaMemPool_t;
typedef struct CUstream_st *cudaStream_t;
typedef struct CUevent_st *cudaEvent_t;
#define cudaStreamLegacy ((cudaStream_t)0x1)

struct uint3 {
  unsigned x, y, z;
};

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1)
      : x(x_), y(y_), z(z_) {}
};

extern "C" {
#define CUDA_CALL(result, name, parameters) result name parameters;
#include "runtime.def"
}

#endif
