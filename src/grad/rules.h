/* rules.h: pulls and pushes written by hand, in tracked ops; where nothing
 * is to be tracked a fused kernel does the work.  Functions give a borrowed
 * tensor, NULL on failure (tape.h). */
#ifndef TENSUS_RULES_H
#define TENSUS_RULES_H

#include "grad/tape.h"

Tensor *ties_back(Tape *t, Tensor *g);
Tensor *ties_push(Tape *t, Tensor *tx);
Tensor *pick_back(Tape *t, Tensor *g);
Tensor *pick_push(Tape *t, Tensor *tx);
Tensor *bincount_back(Tape *t, Tensor *g);
Tensor *softmax_back(Tape *t, Tensor *g, bool log);
Tensor *softmax_push(Tape *t, Tensor *tx);
Tensor *log_softmax_push(Tape *t, Tensor *tx);
Tensor *logsumexp_back(Tape *t, Tensor *g);
Tensor *logsumexp_push(Tape *t, Tensor *tx);
Tensor *layer_norm_back(Tape *t, Tensor *g, int k);
Tensor *layer_norm_push(Tape *t, Tensor *tx, Tensor *ty, Tensor *tz);
Tensor *cross_entropy_back(Tape *t, Tensor *g);
Tensor *cross_entropy_push(Tape *t, Tensor *tx);

#endif
