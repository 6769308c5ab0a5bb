/* rules_algebra.h: pulls and pushes of products; see rules.h. */
#ifndef TENSUS_RULES_ALGEBRA_H
#define TENSUS_RULES_ALGEBRA_H

#include "grad/tape.h"

/* To operand k of a product of matrices: a contraction of g with the other,
 * which sums over the batches that the operand was stretched to. */
Tensor *matmul_back(Tape *t, Tensor *g, int k);

/* To operand k of a contraction: that of g and the other operand. */
Tensor *contract_back(Tape *t, Tensor *g, int k);

#endif
