/* random_level.c: draws at one level.
 *
 * Bits of uniform, Bernoulli and integer draws are the same at every level;
 * normal ones differ by the roundings of sm_log.
 * Must not know: threads.
 */
#include "cpu/halves.h"
#include "cpu/random.h"

#include <math.h>
#include <string.h>

enum { DRAW_BLOCKS = 64, DRAW_WORDS = 4 * DRAW_BLOCKS };

/* draw_words: word[4 k + j] = word j of block first + k, k < DRAW_BLOCKS; the
 * generator of value/philox.h for blocks side by side.  Each number is in the
 * lower half of a 64-bit lane; what is above it does no harm, as the
 * machine's product of halves does not look. */
#if defined(__SSE2__)
enum { TOGETHER = 4 }; /* vectors: hides the latency of a product */
typedef uint64_t Lanes __attribute__((vector_size(8 * SIDE)));

typedef struct Words {
  Lanes c0, c1, c2, c3;
} Words;

INLINE Words words_start(const Philox *p, uint64_t first) {
  const Lanes none = {0}, up = COUNT_UP, at = up + (p->counter + first);
  return (Words){at, at >> 32, none + p->stream, none + (p->stream >> 32)};
}

INLINE Words words_round(Words w, uint64_t k0, uint64_t k1) {
  const Lanes none = {0};
  const Lanes a = HALVES(w.c0, none + PHILOX_M0);
  const Lanes b = HALVES(w.c2, none + PHILOX_M1);
  return (Words){(b >> 32) ^ w.c1 ^ k0, b, (a >> 32) ^ w.c3 ^ k1, a};
}

/* The four words of a block side by side; the machine is little-endian. */
INLINE void words_store(Words w, uint32_t *word) {
  const uint64_t lower = 0xffffffffu;
  const Lanes w01 = (w.c0 & lower) | w.c1 << 32;
  const Lanes w23 = (w.c2 & lower) | w.c3 << 32;
  const Lanes low = __builtin_shufflevector(w01, w23, ZIP_LOW);
  const Lanes high = __builtin_shufflevector(w01, w23, ZIP_HIGH);
  memcpy(word, &low, sizeof low);
  memcpy(word + 2 * SIDE, &high, sizeof high);
}

static void draw_words(const Philox *p, uint64_t first, uint32_t *word) {
  for (int i = 0; i < DRAW_BLOCKS; i += TOGETHER * SIDE) {
    Words w[TOGETHER];
    uint32_t k0 = (uint32_t)p->seed, k1 = (uint32_t)(p->seed >> 32);
    for (int t = 0; t < TOGETHER; t++)
      w[t] = words_start(p, first + (uint64_t)(i + t * SIDE));
    for (int round = 0; round < 10; round++) {
      for (int t = 0; t < TOGETHER; t++) w[t] = words_round(w[t], k0, k1);
      k0 += PHILOX_W0, k1 += PHILOX_W1;
    }
    for (int t = 0; t < TOGETHER; t++)
      words_store(w[t], word + 4 * (i + t * SIDE));
  }
}
#else
static void draw_words(const Philox *p, uint64_t first, uint32_t *word) {
  for (int i = 0; i < DRAW_BLOCKS; i++)
    philox_block(p, first + (uint64_t)i, word + 4 * i);
}
#endif

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

/* A batch at once; then the refused ones, if there are any. */
static void integers_i32(const Draw *d, int64_t first, int64_t last) {
  const uint64_t range = (uint64_t)(d->high - d->low) + 1; /* <= 2^32 */
  const uint32_t least = (uint32_t)((UINT64_C(1) << 32) % range);
  const uint32_t low = (uint32_t)d->low;
  uint32_t *dst = (uint32_t *)(void *)d->dst;
  uint32_t word[DRAW_WORDS], made[DRAW_WORDS];
  for (int64_t i = first; i < last; i += DRAW_WORDS) {
    const int count = (int)min_i64(DRAW_WORDS, last - i);
    uint32_t refused = 0;
    draw_words(&d->generator, (uint64_t)i / 4, word);
    for (int k = 0; k < DRAW_WORDS; k++) {
      const uint64_t product = word[k] * range;
      made[k] = low + (uint32_t)(product >> 32);
      refused |= (uint32_t)product < least ? 1u : 0u;
    }
    for (int k = 0; refused != 0 && k < count; k++)
      if ((uint32_t)(word[k] * range) < least)
        made[k] = low + again_32(d, i + k, range, least);
    memcpy(dst + i, made, (size_t)count * sizeof *dst);
  }
}

static void integers_i64(const Draw *d, int64_t first, int64_t last) {
  const uint64_t range = (uint64_t)d->high - (uint64_t)d->low + 1;
  const uint64_t least = range == 0 ? 0 : (0 - range) % range; /* 0: 2^64 */
  const bool narrow = range != 0 && range <= UINT32_MAX;
  uint64_t *dst = (uint64_t *)(void *)d->dst, low = (uint64_t)d->low;
  uint32_t word[DRAW_WORDS];
  for (int64_t i = first; i < last; i += DRAW_WORDS / 2) {
    const int64_t count = min_i64(DRAW_WORDS / 2, last - i);
    draw_words(&d->generator, (uint64_t)i / 2, word);
    for (int64_t k = 0; k < count; k++) {
      const uint64_t w1 = word[2 * k], w0 = word[2 * k + 1];
      uint64_t lower = (w1 << 32 | w0) * range, r = w1 << 32 | w0;
      if (narrow) r = (w1 * range + (w0 * range >> 32)) >> 32;
      else if (range != 0) r = multiply(r, range, &lower);
      if (lower < least) r = again_64(d, i + k, range, least);
      dst[i + k] = low + r;
    }
  }
}

#define TABLE_OF(level) random_##level
#define TABLE(level) TABLE_OF(level)
const RandomLevel TABLE(LEVEL) = {{uniform_f32, uniform_f64},
                                  {normal_f32, normal_f64},
                                  {bernoulli_f32, bernoulli_f64},
                                  {integers_i32, integers_i64}};
