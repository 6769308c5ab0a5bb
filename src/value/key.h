/* key.h: numbers as unsigned keys, in the order of sorting.
 *
 *   -inf < ... < -0 = 0 < ... < inf < NaN, and all NaN are equal
 *
 * A key takes as many bits as its number; a falling order has every bit
 * turned.  C, C++ and CUDA.
 * Must not know: who compares.
 */
#ifndef TENSUS_KEY_H
#define TENSUS_KEY_H

#include "value/dtype.h"
#include "value/half.h"

/* Unsigned numbers are their own keys; others have their sign turned, and
 * the bits of a negative float run the other way. */
#define KEY_WHOLE(name, U, sign) \
  SM U name(U b) { return (U)(b ^ (sign)); }
#define KEY_REAL(name, U, sign, infinite)                           \
  SM U name(U b) {                                                  \
    const U size = (U)(b & (U)~(sign));                             \
    const U turned = b & (sign) ? (U)~b : (U)(b | (sign));          \
    return size > (infinite) ? (U)~(U)0 : size == 0 ? (sign) : turned; \
  }
KEY_WHOLE(key_u8, uint8_t, 0)
KEY_WHOLE(key_i8, uint8_t, 0x80)
KEY_WHOLE(key_i16, uint16_t, 0x8000)
KEY_WHOLE(key_i32, uint32_t, 0x80000000u)
KEY_WHOLE(key_i64, uint64_t, (uint64_t)1 << 63)
KEY_REAL(key_f16, uint16_t, 0x8000, 0x7c00)
KEY_REAL(key_bf16, uint16_t, 0x8000, 0x7f80)
KEY_REAL(key_f32, uint32_t, 0x80000000u, 0x7f800000u)
KEY_REAL(key_f64, uint64_t, (uint64_t)1 << 63, (uint64_t)0x7ff << 52)
#undef KEY_WHOLE
#undef KEY_REAL

/* KEYED(DTYPE, the bits of an element, its key) */
#define KEYED_DTYPES(KEYED)      \
  KEYED(BOOL, uint8_t, key_u8)   \
  KEYED(U8, uint8_t, key_u8)     \
  KEYED(I8, uint8_t, key_i8)     \
  KEYED(I16, uint16_t, key_i16)  \
  KEYED(I32, uint32_t, key_i32)  \
  KEYED(I64, uint64_t, key_i64)  \
  KEYED(F16, uint16_t, key_f16)  \
  KEYED(BF16, uint16_t, key_bf16) \
  KEYED(F32, uint32_t, key_f32)  \
  KEYED(F64, uint64_t, key_f64)

/* The key with all of its bits set, in `bytes` of them: that of NaN. */
SM uint64_t key_last(int bytes) { return UINT64_MAX >> (64 - 8 * bytes); }

#endif
