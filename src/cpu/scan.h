/* scan.h: what scan.c asks of the loops compiled for a machine level.
 *
 * A tile holds `rows` positions of `cols` neighbouring lines, in the compute
 * type; cols is 1 for a line by itself.
 * Must not know: axes, threads, other types.
 */
#ifndef TENSUS_SCAN_H
#define TENSUS_SCAN_H

#include "cpu/reduce.h"

enum {
  SCAN_GROUP = 8 /* positions that are joined apart from what comes before */
};

/* The order of sums and products, for a line alone and for one of many:
 *
 *   part[i] = x[first of the group] + ... + x[i], from left to right
 *   r[i] = r[last of the group before] + part[i]
 *
 * so a line waits once per group and not once per element. */
typedef struct ScanTile {
  int64_t rows, cols;
  int64_t first; /* number of the first position, a multiple of SCAN_GROUP */
  void *x;        /* (rows, cols), in and out */
  const void *by; /* (rows, cols): factors of a chain */
  int64_t *place; /* (rows, cols): positions of extremes, from 0 */
  /* (cols) each, kept from tile to tile: what a line has come to */
  void *state, *part;
  int64_t *at;
} ScanTile;

typedef void ScanLoop(const ScanTile *t);

typedef struct ScanLevel {
  ScanLoop *loop[REDUCE_TYPES][SCAN_COUNT]; /* NULL: floats only */
} ScanLevel;

extern const ScanLevel scan_base, scan_avx2, scan_avx512;

/* The slot on the loops of one level; for tests. */
bool scan_run(Backend *b, const Scan *s, int level);

#endif
