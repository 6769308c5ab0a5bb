/* rules_layout.h: pulls and pushes of windows, free strides, borders and turned
 * axes.  Each makes its op from the arguments of the node; borrowed, NULL on
 * failure (tape.h). */
#ifndef TENSUS_RULES_LAYOUT_H
#define TENSUS_RULES_LAYOUT_H

#include "grad/tape.h"

Tensor *itself_back(Tape *t, Tensor *g); /* an op that is its own transpose */
Tensor *roll_back(Tape *t, Tensor *g);
Tensor *pad_back(Tape *t, Tensor *g);
Tensor *pad_push(Tape *t, Tensor *tx);
Tensor *pad_fold_back(Tape *t, Tensor *g);
Tensor *unfold_back(Tape *t, Tensor *g);
Tensor *unfold_add_back(Tape *t, Tensor *g);
Tensor *as_strided_back(Tape *t, Tensor *g);
Tensor *as_strided_push(Tape *t, Tensor *tx);
Tensor *as_strided_add_back(Tape *t, Tensor *g);

#endif
