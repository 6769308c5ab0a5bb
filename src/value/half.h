/* half.h: f16 and bf16 as bits, converted to and from f32.
 *
 * Rounds to nearest, ties to even; NaN stays NaN; too large becomes infinite.
 * Branch-free, so that loops over them vectorise.  C, C++ and CUDA.
 * Must not know: tensors, loops.
 */
#ifndef TENSUS_HALF_H
#define TENSUS_HALF_H

#include <stdint.h>
#include <string.h>

#ifndef SM
#if defined(__CUDACC__)
#define SM static __host__ __device__ __forceinline__
#elif defined(__GNUC__)
#define SM __attribute__((always_inline, unused)) static inline
#else
#define SM static inline
#endif
#endif

SM uint32_t half_bits(float x) {
  uint32_t b;
  memcpy(&b, &x, sizeof b);
  return b;
}

SM float half_float(uint32_t b) {
  float x;
  memcpy(&x, &b, sizeof x);
  return x;
}

/* f16: 1 sign, 5 exponent, 10 fraction bits.  Shifting the 15 value bits to
 * the place of an f32 leaves the exponent 112 too small: a multiplication by
 * 2^112 mends it, subnormals included, exactly. */
SM float f16_to_f32(uint16_t h) {
  const uint32_t sign = (uint32_t)(h & 0x8000u) << 16;
  const uint32_t magnitude = (uint32_t)(h & 0x7fffu) << 13;
  const float scaled = half_float(magnitude) * 0x1p112f;
  const uint32_t special = magnitude | 0x7f800000u; /* inf and NaN */
  const uint32_t value =
      magnitude >= 0x0f800000u ? special : half_bits(scaled);
  return half_float(value | sign);
}

/* Adding a power of two whose last place is the last place of the result
 * makes the hardware round. */
SM uint16_t f32_to_f16(float x) {
  const uint32_t b = half_bits(x), sign = b & 0x80000000u;
  const uint32_t a = b ^ sign;
  /* normal results: round at bit 13 by integer arithmetic */
  const uint32_t odd = (a >> 13) & 1u;
  const uint32_t normal = (a + 0xfffu + odd - 0x38000000u) >> 13;
  /* subnormal results: 2^-1 has its last place at 2^-24 */
  const uint32_t small = half_bits(half_float(a) + 0.5f) - 0x3f000000u;
  const uint32_t large = a > 0x7f800000u ? 0x7e00u : 0x7c00u;
  uint32_t h = a < 0x38800000u ? small : normal;
  h = a >= 0x477ff000u ? large : h; /* 65520: half way to 2^16 */
  return (uint16_t)(h | (sign >> 16));
}

SM float bf16_to_f32(uint16_t h) { return half_float((uint32_t)h << 16); }

SM uint16_t f32_to_bf16(float x) {
  const uint32_t b = half_bits(x);
  const uint32_t rounded = (b + 0x7fffu + ((b >> 16) & 1u)) >> 16;
  const uint32_t quiet = (b >> 16) | 0x40u;
  return (uint16_t)((b & 0x7fffffffu) > 0x7f800000u ? quiet : rounded);
}

#endif
