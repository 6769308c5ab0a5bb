/* level.c: asks the processor, each time; the answer is a few loads. */
#include "cpu/level.h"

#if defined(__x86_64__)
int level_best(void) {
  /* f16c is older than avx2, and clang 14 does not know its name here */
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
    return LEVEL_BASE;
  if (!__builtin_cpu_supports("avx512f") ||
      !__builtin_cpu_supports("avx512dq") ||
      !__builtin_cpu_supports("avx512bw") ||
      !__builtin_cpu_supports("avx512vl"))
    return LEVEL_AVX2;
  return LEVEL_AVX512;
}
#else
int level_best(void) { return LEVEL_BASE; }
#endif
