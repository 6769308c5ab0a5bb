/* display.h: a tensor as text, for people.
 *
 * One format per tensor, aligned columns, the middle left out of large ones;
 * never more than DISPLAY_MOST characters (API.md, section 12).
 * Must not know: Lua, where the text goes.
 */
#ifndef TENSUS_DISPLAY_H
#define TENSUS_DISPLAY_H

#include "ops/ops.h"

enum {
  DISPLAY_MOST = 10000, /* characters: a screen or two, never a flood */
  DISPLAY_ROOM = DISPLAY_MOST + 1,
  DISPLAY_NUMBER = 40,   /* room for one number of rank 0 */
  DISPLAY_PRECISION = 17 /* digits that tell any two f64 apart */
};

typedef enum DisplayMode {
  DISPLAY_AUTO,
  DISPLAY_FIXED,
  DISPLAY_SCIENTIFIC
} DisplayMode;

/* 0 <= precision <= DISPLAY_PRECISION; threshold >= 0; edgeitems, linewidth
 * >= 1 */
typedef struct DisplayOptions {
  int precision;     /* digits behind the point */
  int64_t threshold; /* more elements than that: the middle is left out */
  int64_t edgeitems; /* shown at both ends of an axis then */
  int64_t linewidth; /* columns */
  DisplayMode mode;
} DisplayOptions;

extern const DisplayOptions display_defaults;

/* Write t into text[DISPLAY_ROOM], ended by a zero; *length excludes it.
 * `repr`: the suffix (dtype, shape, device, origin) at rank 0 too.  Copies
 * from the device only what is shown.  Errors: E_MEMORY, E_REVOKED memory,
 * E_INTERRUPTED; *length is untouched then. */
Status display_tensor(Context *c, Tensor *t, const DisplayOptions *o, bool repr,
                      char *text, size_t *length);

/* The shortest text that reads back to x in a float dtype: 5.25, 1e+30, 6.
 * Returns its length. */
size_t display_number(double x, Dtype dtype, char text[DISPLAY_NUMBER]);

#endif
