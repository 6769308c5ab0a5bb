/* halves.h: 64-bit lanes whose lower halves multiply: what Philox is made of.
 *
 * HALVES(a, b) is the product of the lower halves of each lane of Lanes (SIDE
 * of them); the ZIP words order two vectors into one, COUNT_UP counts lanes.
 * Nothing is defined where the machine has no such product.
 * Must not know: generators.
 */
#ifndef TENSUS_HALVES_H
#define TENSUS_HALVES_H

#if defined(__SSE2__)
#include <immintrin.h>
#if defined(__AVX512F__)
enum { SIDE = 8 };
#define HALVES(a, b) ((Lanes)_mm512_mul_epu32((__m512i)(a), (__m512i)(b)))
#define ZIP_LOW 0, 8, 1, 9, 2, 10, 3, 11
#define ZIP_HIGH 4, 12, 5, 13, 6, 14, 7, 15
#define COUNT_UP {0, 1, 2, 3, 4, 5, 6, 7}
#elif defined(__AVX2__)
enum { SIDE = 4 };
#define HALVES(a, b) ((Lanes)_mm256_mul_epu32((__m256i)(a), (__m256i)(b)))
#define ZIP_LOW 0, 4, 1, 5
#define ZIP_HIGH 2, 6, 3, 7
#define COUNT_UP {0, 1, 2, 3}
#else
enum { SIDE = 2 };
#define HALVES(a, b) ((Lanes)_mm_mul_epu32((__m128i)(a), (__m128i)(b)))
#define ZIP_LOW 0, 2
#define ZIP_HIGH 1, 3
#define COUNT_UP {0, 1}
#endif
#endif

#endif
