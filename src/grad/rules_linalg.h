/* rules_linalg.h: words of linear algebra, as functions of the node that a
 * tape reads: pulls to the matrix (g may be NULL in rows with several results)
 * and pushes.  Every function gives a borrowed tensor, NULL on failure
 * (tape.h). */
#ifndef TENSUS_RULES_LINALG_H
#define TENSUS_RULES_LINALG_H

#include "grad/tape.h"

Tensor *solve_back(Tape *t, Tensor *g, int k);
Tensor *solve_push(Tape *t, Tensor *tx, Tensor *ty);
Tensor *triangular_back(Tape *t, Tensor *g, int k);
Tensor *triangular_push(Tape *t, Tensor *tx, Tensor *ty);
Tensor *inv_back(Tape *t, Tensor *g);
Tensor *inv_push(Tape *t, Tensor *tx);
Tensor *det_back(Tape *t, Tensor *g);
Tensor *det_push(Tape *t, Tensor *tx);
Tensor *slogdet_back(Tape *t);
Tensor *slogdet_push(Tape *t, Tensor *tx);
Tensor *lu_back(Tape *t, Tensor *g);
Tensor *lu_push(Tape *t, Tensor *tx);
Tensor *cholesky_back(Tape *t, Tensor *g);
Tensor *cholesky_push(Tape *t, Tensor *tx);
Tensor *qr_back(Tape *t, Tensor *g);
Tensor *qr_push(Tape *t, Tensor *tx);
Tensor *svd_back(Tape *t, Tensor *g);
Tensor *svd_push(Tape *t, Tensor *tx);
Tensor *svdvals_back(Tape *t, Tensor *g);
Tensor *svdvals_push(Tape *t, Tensor *tx);
Tensor *eigh_back(Tape *t, Tensor *g);
Tensor *eigh_push(Tape *t, Tensor *tx);
Tensor *eigvalsh_back(Tape *t, Tensor *g);
Tensor *eigvalsh_push(Tape *t, Tensor *tx);
Tensor *pinv_back(Tape *t, Tensor *g);
Tensor *pinv_push(Tape *t, Tensor *tx);

#endif
