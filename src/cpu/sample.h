/* sample.h: the loops of images read between pixels. */
#ifndef TENSUS_SAMPLE_H
#define TENSUS_SAMPLE_H

#include "device/backend.h"

enum { SAMPLE_BLOCK = 64 }; /* points that share their taps */

/* Points [first, first + points), points <= SAMPLE_BLOCK, of one image. */
typedef void SampleLoop(const Sample *s, int64_t batch, int64_t first,
                        int64_t points);
/* Channels [from, to) of one image. */
typedef void SampleAddLoop(const Sample *s, int64_t batch, int64_t from,
                           int64_t to);
/* Rows [first, last) of all outer * rows. */
typedef void ResampleLoop(const Resample *s, int64_t first, int64_t last);

typedef struct SampleLevel {
  SampleLoop *sample[2]; /* f32, f64 */
  SampleAddLoop *sample_add[2];
  ResampleLoop *resample[2];
} SampleLevel;

extern const SampleLevel sample_base, sample_avx2, sample_avx512;

#endif
