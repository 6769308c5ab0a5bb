/* rules_position.h: pulls and pushes of rows that write and read
 * at positions and under masks.
 *
 * Where two values meet at one place, the last one stays: it gets the
 * cotangent of the place, the other gets 0.  Functions give a borrowed tensor,
 * NULL on failure (tape.h). */
#ifndef TENSUS_RULES_POSITION_H
#define TENSUS_RULES_POSITION_H

#include "grad/tape.h"

/* A box of self was overwritten. */
Tensor *assign_x(Tape *t, Tensor *g);
Tensor *assign_source(Tape *t, Tensor *g);
Tensor *assign_push(Tape *t, Tensor *tx, Tensor *ty);

/* To self: g with 0 at the written places; `op` writes there. */
Tensor *overwrite_x(Tape *t, OpId op, Tensor *g);
/* To the source: g at the places, where it was not overwritten. */
Tensor *scatter_source(Tape *t, Tensor *g);
Tensor *index_copy_source(Tape *t, Tensor *g);
/* The tangent of self with that of the source at the places. */
Tensor *overwrite_push(Tape *t, OpId op, Tensor *tx, Tensor *tz);

Tensor *masked_select_back(Tape *t, Tensor *g);
Tensor *masked_scatter_x(Tape *t, Tensor *g);
Tensor *masked_scatter_source(Tape *t, Tensor *g);
Tensor *masked_scatter_push(Tape *t, Tensor *tx, Tensor *tz);

#endif
