/* points.h: the ids of the rows.  Those of the pointwise ones come first and
 * are all that a kernel need know; rows.h goes on from there.
 */
#ifndef TENSUS_POINTS_H
#define TENSUS_POINTS_H

/* The place of a row in the table: an OP_name of the two enums. */
typedef int OpId;

enum {
#define POINT(name, ...) OP_##name,
#include "rows/pointwise.def"
  POINT_COUNT /* ids below are pointwise */
};

/* Letters of a derivative. */
enum {
  USES_X = 1,
  USES_Y = 2,
  USES_Z = 4,
  USES_R = 8,
  USES_G = 16,
  USES_WORD = 32, /* something is computed from them */
  USES_R2 = 64,   /* the second result */
  USES_H = 128    /* the hidden results */
};

#endif
