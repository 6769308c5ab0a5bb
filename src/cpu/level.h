/* level.h: which instruction set this processor runs.
 *
 * Must not know: what is compiled for a level. */
#ifndef TENSUS_LEVEL_H
#define TENSUS_LEVEL_H

/* Each level includes the ones before it.  Other machines than x86-64 have
 * LEVEL_BASE alone. */
enum { LEVEL_BASE, LEVEL_AVX2, LEVEL_AVX512, LEVEL_COUNT };

/* The highest level that this processor runs. */
int level_best(void);

#endif
