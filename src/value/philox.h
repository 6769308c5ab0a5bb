/* philox.h: a counter-based generator, the same bits in C and CUDA.
 *
 * Philox4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel Random Numbers: As Easy
 * as 1, 2, 3; SC 2011).  Block k of a stream is a function of key and k, so
 * element i of a draw depends on its place alone.
 * Must not know: who draws.
 */
#ifndef TENSUS_PHILOX_H
#define TENSUS_PHILOX_H

#include <stdint.h>

#ifndef SM
#if defined(__CUDACC__)
#define SM static __host__ __device__ __forceinline__
#elif defined(__GNUC__)
#define SM __attribute__((always_inline, unused)) static inline
#else
#define SM static inline
#endif
#endif

/* The key is the seed; `counter` is the next block; `stream` parts forks. */
typedef struct Philox {
  uint64_t seed, counter, stream;
} Philox;

/* Multipliers and key steps of the paper, table 2 and section 4.3. */
#define PHILOX_M0 0xD2511F53u
#define PHILOX_M1 0xCD9E8D57u
#define PHILOX_W0 0x9E3779B9u
#define PHILOX_W1 0xBB67AE85u

/* out[0..3] = block number p->counter + block of the stream. */
SM void philox_block(const Philox *p, uint64_t block, uint32_t out[4]) {
  const uint64_t at = p->counter + block;
  uint32_t c0 = (uint32_t)at, c1 = (uint32_t)(at >> 32);
  uint32_t c2 = (uint32_t)p->stream, c3 = (uint32_t)(p->stream >> 32);
  uint32_t k0 = (uint32_t)p->seed, k1 = (uint32_t)(p->seed >> 32);
  for (int round = 0; round < 10; round++) {
    const uint64_t a = (uint64_t)PHILOX_M0 * c0, b = (uint64_t)PHILOX_M1 * c2;
    const uint32_t n0 = (uint32_t)(b >> 32) ^ c1 ^ k0;
    const uint32_t n2 = (uint32_t)(a >> 32) ^ c3 ^ k1;
    c1 = (uint32_t)b, c3 = (uint32_t)a, c0 = n0, c2 = n2;
    k0 += PHILOX_W0, k1 += PHILOX_W1;
  }
  out[0] = c0, out[1] = c1, out[2] = c2, out[3] = c3;
}

/* Uniform in [0, 1): 24 and 53 bits; never 1. */
SM float philox_f32(uint32_t bits) { return (float)(bits >> 8) * 0x1p-24f; }
SM double philox_f64(uint32_t high, uint32_t low) {
  const uint64_t bits = ((uint64_t)high << 32 | low) >> 11;
  return (double)bits * 0x1p-53;
}

#endif
