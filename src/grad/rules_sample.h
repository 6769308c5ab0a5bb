/* rules_sample.h: pulls and pushes of images read between pixels.
 *
 * Let S(x, u) be grid_sample and A(g, u) its transpose in x.  Both are linear
 * in their first operand; a derivative along a coordinate of the grid is the
 * same op with that coordinate's order raised by one, so any order exists.
 */
#ifndef TENSUS_RULES_SAMPLE_H
#define TENSUS_RULES_SAMPLE_H

#include "grad/tape.h"

Tensor *grid_sample_x(Tape *t, Tensor *g);    /* A(g, u) */
Tensor *grid_sample_grid(Tape *t, Tensor *g); /* sum over c of g dS(x, u) */
Tensor *grid_sample_push(Tape *t, Tensor *tx, Tensor *tgrid);

Tensor *sample_add_g(Tape *t, Tensor *g);    /* S(g, u) */
Tensor *sample_add_grid(Tape *t, Tensor *g); /* sum over c of self dS(g, u) */
Tensor *sample_add_push(Tape *t, Tensor *tself, Tensor *tgrid);

Tensor *interpolate_back(Tape *t, Tensor *g);
Tensor *interpolate_add_back(Tape *t, Tensor *g);

#endif
