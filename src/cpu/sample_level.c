/* sample_level.c: reading images between pixels, at one level; nothing is
 * fused, so all levels give the same bits.  Must not know: threads. */
#include "cpu/sample.h"

#include <string.h>

#include "rows/taps.h"

/* taps of a point: cubic along three axes */
enum { SAMPLE_MOST = TAPS_MOST * TAPS_MOST * TAPS_MOST };

#define REAL float
#define FN(name) name##_f32
#include "cpu/sample_type.h"
#undef REAL
#undef FN
#define REAL double
#define FN(name) name##_f64
#include "cpu/sample_type.h"

#define TABLE_OF(level) sample_##level
#define TABLE(level) TABLE_OF(level)
const SampleLevel TABLE(LEVEL) = {{sample_f32, sample_f64},
                                  {sample_add_f32, sample_add_f64},
                                  {resample_f32, resample_f64}};
