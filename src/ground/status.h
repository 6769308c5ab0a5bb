/* status.h: how a failure rises.
 *
 * A function that can fail returns a Status; the details lie in the Failure
 * of the state, written into memory that was there before.
 * Must not know: tensors, Lua.
 */
#ifndef TENSUS_STATUS_H
#define TENSUS_STATUS_H

#include "ground/check.h"

typedef enum Status {
  OK,
#define STATUS(code, name, public) E_##code,
#include "ground/status.def"
  STATUS_COUNT
} Status;

enum {
  FAILURE_TEXT = 640,  /* two shapes of 12 axes and a sentence */
  FAILURE_SHAPES = 4,
  FAILURE_RANK = 12    /* == MAX_RANK (value/shape.h) */
};

/* The last failure of a state.  `text` lacks the op's name and the line. */
typedef struct Failure {
  Status status;
  const char *op;  /* static text: the row that was running, or NULL */
  int base;        /* what an axis or position counts from: 1 Lua, 0 C */
  int shapes;      /* how many of size[] are set */
  int rank[FAILURE_SHAPES];
  int64_t size[FAILURE_SHAPES][FAILURE_RANK];
  int64_t position; /* the last %P, in the caller's base; 0 if none */
  char arg[32];    /* the last %A: name of the argument; "" if none */
  char text[FAILURE_TEXT];
} Failure;

/* Set *f and return `status`.  Formats:
 *   %s text         %A name of the offending argument (text, remembered)
 *   %d int          %I int64_t       %g double
 *   %S shape: int rank, const int64_t *size  -> {2,3}
 *   %P int64_t axis or position counted from 0: printed in the caller's base
 *   %Q place: int rank, const int64_t *size, int64_t at, counted in row-major
 *      order: printed as positions in the caller's base -> (2,1)
 *   %% a percent sign
 * Cuts what does not fit. */
Status failure_set(Failure *f, Status status, const char *format, ...)
    FORMAT_FREE;

/* Forget the last failure; keeps `op` and `base`. */
void failure_clear(Failure *f);

/* What stands between the op and the text: ": ", or " " where the text goes on
 * to say which call it was, as in  einsum "ii->i": ..  */
const char *failure_joint(const Failure *f);

const char *status_name(Status s);

/* The public status (tensus.h) of a fine one, by number; 0 for OK. */
int status_public(Status s);

#endif
