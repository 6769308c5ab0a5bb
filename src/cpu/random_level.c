/* random_level.c: draws at one level.
 *
 * Bits of uniform, Bernoulli and integer draws are the same at every level;
 * normal ones differ by the roundings of sm_log.
 * Must not know: threads.
 */
#include "cpu/random.h"

#include <math.h>
#include <string.h>

enum { DRAW_BLOCKS = 64, DRAW_WORDS = 4 * DRAW_BLOCKS };

/* word[4 k + j] = word j of block first + k.  philox_block (value/philox.h)
 * turned inside out, so that a round is a loop over blocks. */
static void draw_words(const Philox *p, uint64_t first, uint32_t *word) {
  uint32_t c0[DRAW_BLOCKS], c1[DRAW_BLOCKS], c2[DRAW_BLOCKS], c3[DRAW_BLOCKS];
  uint32_t k0 = (uint32_t)p->seed, k1 = (uint32_t)(p->seed >> 32);
  for (int i = 0; i < DRAW_BLOCKS; i++) {
    const uint64_t at = p->counter + first + (uint64_t)i;
    c0[i] = (uint32_t)at, c1[i] = (uint32_t)(at >> 32);
    c2[i] = (uint32_t)p->stream, c3[i] = (uint32_t)(p->stream >> 32);
  }
  for (int round = 0; round < 10; round++) {
    for (int i = 0; i < DRAW_BLOCKS; i++) {
      const uint64_t a = (uint64_t)PHILOX_M0 * c0[i];
      const uint64_t b = (uint64_t)PHILOX_M1 * c2[i];
      c0[i] = (uint32_t)(b >> 32) ^ c1[i] ^ k0;
      c2[i] = (uint32_t)(a >> 32) ^ c3[i] ^ k1;
      c1[i] = (uint32_t)b, c3[i] = (uint32_t)a;
    }
    k0 += PHILOX_W0, k1 += PHILOX_W1;
  }
  for (int i = 0; i < DRAW_BLOCKS; i++) {
    word[4 * i] = c0[i], word[4 * i + 1] = c1[i];
    word[4 * i + 2] = c2[i], word[4 * i + 3] = c3[i];
  }
}

#define REAL float
#define REAL_BITS 32
#define FN(name) name##_f32
#include "rows/smath.h"
#include "rows/normal.h"
#define CFN(name) name##f
#include "cpu/random_type.h"
#undef REAL
#undef REAL_BITS
#undef FN
#undef CFN

#define REAL double
#define REAL_BITS 64
#define FN(name) name##_f64
#include "rows/smath.h"
#include "rows/normal.h"
#define CFN(name) name
#include "cpu/random_type.h"

/* ---- integers ----
 *
 * Lemire 2019, Fast Random Integer Generation in an Interval: with w uniform
 * in [0, 2^B), the upper half of w range is uniform in [0, range) once lower
 * halves below 2^B % range are refused.  An element whose word was refused
 * takes the same word of the same block of another stream: attempt t reads
 * stream ^ t RETRY_STREAM, so element i still depends on i alone.  After
 * RETRIES refusals, each less likely than 1/2, the word is taken as it is.
 * 32-bit elements draw with B = 32, 64-bit ones with B = 64.
 */
#define RETRY_STREAM 0x9E3779B97F4A7C15u /* 2^64 by the golden ratio: odd */
enum { RETRIES = 64 };

/* Upper half of a product of 64-bit numbers; *low is the lower one. */
static uint64_t multiply(uint64_t a, uint64_t b, uint64_t *low) {
  const uint64_t a0 = a & 0xffffffffu, a1 = a >> 32;
  const uint64_t b0 = b & 0xffffffffu, b1 = b >> 32;
  const uint64_t first = a0 * b0, cross = a1 * b0 + (first >> 32);
  const uint64_t middle = a0 * b1 + (cross & 0xffffffffu);
  *low = a * b;
  return a1 * b1 + (cross >> 32) + (middle >> 32);
}

static Philox attempt(const Draw *d, uint64_t t) {
  Philox p = d->generator;
  p.stream ^= t * RETRY_STREAM;
  return p;
}

/* Not in line: refusals are rare unless the range is huge. */
static uint64_t again_64(const Draw *d, int64_t i, uint64_t range,
                         uint64_t least) {
  uint64_t r = 0, low = 0;
  for (uint64_t t = 1; t <= RETRIES; t++) {
    const Philox p = attempt(d, t);
    uint32_t word[4];
    philox_block(&p, (uint64_t)i / 2, word);
    const uint32_t *w = word + 2 * (i % 2);
    r = multiply((uint64_t)w[0] << 32 | w[1], range, &low);
    if (low >= least) break;
  }
  return r;
}

static uint32_t again_32(const Draw *d, int64_t i, uint64_t range,
                         uint32_t least) {
  uint64_t product = 0;
  for (uint64_t t = 1; t <= RETRIES; t++) {
    const Philox p = attempt(d, t);
    uint32_t word[4];
    philox_block(&p, (uint64_t)i / 4, word);
    product = word[i % 4] * range;
    if ((uint32_t)product >= least) break;
  }
  return (uint32_t)(product >> 32);
}

static void integers_i32(const Draw *d, int64_t first, int64_t last) {
  const uint64_t range = (uint64_t)(d->high - d->low) + 1; /* <= 2^32 */
  const uint32_t least = (uint32_t)((UINT64_C(1) << 32) % range);
  const uint32_t low = (uint32_t)d->low;
  int32_t *dst = (int32_t *)(void *)d->dst;
  uint32_t word[DRAW_WORDS];
  for (int64_t i = first; i < last; i += DRAW_WORDS) {
    const int64_t count = min_i64(DRAW_WORDS, last - i);
    draw_words(&d->generator, (uint64_t)i / 4, word);
    for (int64_t k = 0; k < count; k++) {
      const uint64_t product = word[k] * range;
      uint32_t r = (uint32_t)(product >> 32);
      if ((uint32_t)product < least) r = again_32(d, i + k, range, least);
      dst[i + k] = (int32_t)(low + r);
    }
  }
}

static void integers_i64(const Draw *d, int64_t first, int64_t last) {
  const uint64_t range = (uint64_t)d->high - (uint64_t)d->low + 1;
  const uint64_t least = range == 0 ? 0 : (0 - range) % range; /* 0: 2^64 */
  int64_t *dst = (int64_t *)(void *)d->dst;
  uint32_t word[DRAW_WORDS];
  for (int64_t i = first; i < last; i += DRAW_WORDS / 2) {
    const int64_t count = min_i64(DRAW_WORDS / 2, last - i);
    draw_words(&d->generator, (uint64_t)i / 2, word);
    for (int64_t k = 0; k < count; k++) {
      const uint64_t w = (uint64_t)word[2 * k] << 32 | word[2 * k + 1];
      uint64_t lower = 0, r = range == 0 ? w : multiply(w, range, &lower);
      if (range != 0 && lower < least) r = again_64(d, i + k, range, least);
      dst[i + k] = (int64_t)((uint64_t)d->low + r);
    }
  }
}

#define TABLE_OF(level) random_##level
#define TABLE(level) TABLE_OF(level)
const RandomLevel TABLE(LEVEL) = {{uniform_f32, uniform_f64},
                                  {normal_f32, normal_f64},
                                  {bernoulli_f32, bernoulli_f64},
                                  {integers_i32, integers_i64}};
