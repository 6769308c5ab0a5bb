/* rule.h: the fused pulls of rule rows, for grad/; none is tracked.  And what
 * other losses ask of labels. */
#ifndef TENSUS_OPS_RULE_H
#define TENSUS_OPS_RULE_H

#include "ops/ops.h"

/* Labels (contiguous i64) in base .. base + classes - 1, or `ignore`.
 * E_INDEX. */
Status check_labels(Context *c, const Tensor *labels, int64_t classes,
                    int64_t ignore);

/* gx of softmax (or log_softmax) along `dim` of its result y. */
Status rule_softmax_pull(Context *c, Tensor *y, Tensor *g, int dim, bool log,
                         Tensor **gx);

/* gx, gw, gb of layer_norm over the last axes of `size` elements; w NULL: none.
 * gw and gb are vectors of that many, and NULL is asked for by NULL. */
Status rule_layer_norm_pull(Context *c, Tensor *x, Tensor *w, Tensor *mean,
                            Tensor *rstd, Tensor *g, int64_t size, Tensor **gx,
                            Tensor **gw, Tensor **gb);

/* gx of cross_entropy; lse (n, 2) as saved; g: one for each row, or rank 0. */
Status rule_cross_entropy_pull(Context *c, Tensor *x, Tensor *target,
                               Tensor *lse, Tensor *g, int64_t ignore,
                               Tensor **gx);

#endif
