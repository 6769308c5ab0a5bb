/* random.h: the loops that make numbers of words. */
#ifndef TENSUS_RANDOM_H
#define TENSUS_RANDOM_H

#include "device/backend.h"

/* Elements [first, last) of a draw; first is a multiple of 4. */
typedef void DrawLoop(const Draw *d, int64_t first, int64_t last);

typedef struct RandomLevel {
  DrawLoop *uniform[2], *normal[2], *bernoulli[2]; /* f32, f64 */
  DrawLoop *integers[2];                           /* i32, i64 */
} RandomLevel;

extern const RandomLevel random_base, random_avx2, random_avx512;

#endif
