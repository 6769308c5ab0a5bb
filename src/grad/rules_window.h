/* rules_window.h: what pulls convolutions and pools back: other rows of the
 * same family, with the options of the call.  As rules.h: borrowed tensors,
 * NULL on failure. */
#ifndef TENSUS_RULES_WINDOW_H
#define TENSUS_RULES_WINDOW_H

#include "grad/tape.h"

Tensor *conv_x(Tape *t, Tensor *g);
Tensor *conv_weight(Tape *t, Tensor *g);
Tensor *conv_bias(Tape *t, Tensor *g);
Tensor *conv_push(Tape *t, Tensor *tx, Tensor *ty, Tensor *tz);
Tensor *conv_t_x(Tape *t, Tensor *g);
Tensor *conv_t_weight(Tape *t, Tensor *g);
Tensor *conv_w_x(Tape *t, Tensor *g);
Tensor *conv_w_y(Tape *t, Tensor *g);

Tensor *pool_back(Tape *t, Tensor *g);
Tensor *pool_push(Tape *t, Tensor *tx);
Tensor *avg_pool_back(Tape *t, Tensor *g);
Tensor *avg_add_back(Tape *t, Tensor *g);
Tensor *adaptive_back(Tape *t, Tensor *g);
Tensor *adaptive_add_back(Tape *t, Tensor *g);
Tensor *im2col_back(Tape *t, Tensor *g);
Tensor *col2im_back(Tape *t, Tensor *g);

#endif
