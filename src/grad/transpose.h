/* transpose.h: transposes of linear and multilinear rows, as functions of the
 * node that a tape reads.  Every function gives a borrowed tensor, NULL on
 * failure (tape.h). */
#ifndef TENSUS_TRANSPOSE_H
#define TENSUS_TRANSPOSE_H

#include "grad/tape.h"

Tensor *reshape_back(Tape *t, Tensor *g);
Tensor *permute_back(Tape *t, Tensor *g);
Tensor *transpose_back(Tape *t, Tensor *g);
Tensor *sum_back(Tape *t, Tensor *g, int k); /* to the sizes of input k */
Tensor *place_back(Tape *t, Tensor *g);
Tensor *slice_back(Tape *t, Tensor *g);
Tensor *diagonal_back(Tape *t, Tensor *g);
Tensor *diag_embed_back(Tape *t, Tensor *g);
Tensor *spread(Tape *t, Tensor *g);
Tensor *expand_back(Tape *t, Tensor *g);
Tensor *cast_back(Tape *t, Tensor *g);
Tensor *copy_push(Tape *t, Tensor *ty);
Tensor *piece_back(Tape *t, Tensor *g);
Tensor *scatter_add_back(Tape *t, Tensor *g);
Tensor *gather_back(Tape *t, Tensor *g);
Tensor *index_add_back(Tape *t, Tensor *g);
Tensor *index_select_back(Tape *t, Tensor *g);
Tensor *add_push(Tape *t, OpId op, Tensor *tx, Tensor *tz);

/* Positions first, first + step .. last of dim; last -1: none. */
Tensor *slice_at(Tape *t, Tensor *x, int dim, int64_t first, int64_t last,
                 int64_t step);

/* x cut, or filled up with zeros, to `size` positions of dim. */
Tensor *fit_axis(Tape *t, Tensor *x, int dim, int64_t size);

/* x as a reduction of the node left it, with the reduced axes put back as
 * size 1 (sizes of input 0). */
Tensor *keep_axes(Tape *t, Tensor *x);

/* The dims that the node reduced, from its arguments; all without any. */
int node_dims(const Node *n, int64_t dims[MAX_RANK]);

#endif
