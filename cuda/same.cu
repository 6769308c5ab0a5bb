/* same.cu: holds the fake runtime against NVIDIA's headers.
 *
 * Where they are (always under nvcc) a name, number or signature that differs
 * from fake/runtime.def does not compile.  Elsewhere the file is empty.
 */
#if defined(__has_include)
#if __has_include(<cuda_runtime_api.h>)

#include <cuda_runtime_api.h>

#include <cstddef>
#include <type_traits>

#define CUDA_ERROR(name, number, text) \
  static_assert(name == (number), #name " has another number");
#include "fake/runtime.def"

/* A cast, not decltype(&name): some names are overloaded as templates. */
#define CUDA_CALL(result, name, parameters) \
  using same_##name = decltype(static_cast<result(*) parameters>(&name));
#include "fake/runtime.def"

static_assert(cudaMemcpyHostToHost == 0 && cudaMemcpyHostToDevice == 1 &&
                  cudaMemcpyDeviceToHost == 2 &&
                  cudaMemcpyDeviceToDevice == 3 && cudaMemcpyDefault == 4,
              "cudaMemcpyKind has other numbers");
static_assert(cudaStreamDefault == 0 && cudaStreamNonBlocking == 1 &&
                  cudaEventDefault == 0 && cudaEventDisableTiming == 2,
              "flags have other numbers");
static_assert(cudaMemPoolAttrReleaseThreshold == 4, "an attribute's number");
static_assert(
    std::is_same<cudaStream_t, struct CUstream_st *>::value &&
        std::is_same<cudaEvent_t, struct CUevent_st *>::value &&
        std::is_same<cudaMemPool_t, struct CUmemPoolHandle_st *>::value,
    "handles have other types");
static_assert(sizeof(dim3) == 12 && offsetof(dim3, z) == 8 &&
                  sizeof(uint3) == 12 && offsetof(uint3, z) == 8,
              "dim3 or uint3 is laid out otherwise");

#endif
#endif
