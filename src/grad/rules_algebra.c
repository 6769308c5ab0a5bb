/* rules_algebra.c: see rules_algebra.h. */
#include "grad/rules_algebra.h"

#include "ops/einsum.h"

enum { LABELS_X = 2, LABELS_OUT = 4 }; /* arguments of OP_contract */

Tensor *contract_back(Tape *t, Tensor *g, int k) {
  const Arg *arg = t->node->arg;
  const Term to = term_of(&arg[LABELS_X + k]);
  const Term by = term_of(&arg[LABELS_X + 1 - k]);
  const Term from = term_of(&arg[LABELS_OUT]);
  Tensor *other = tape_saved(t, k == 0 ? SAVED_Y : SAVED_X), *r = NULL;
  if (t->status != OK) return NULL;
  const Status s = einsum_pair(t->c, g, &from, other, &by, &to, &r);
  return tape_own(t, s, r);
}

/* ---- matmul: batches count from the last one ---- */

enum { ROWS = MAX_RANK, COLS, INNER };

/* batches, then `before` unless it is BLANK, then `last`, as a tensor of these
 * sizes has them; a size of 1 has no label. */
static Term matrix_term(int rank, const int64_t *size, int before, int last) {
  Term t = {.dots = -1};
  const int matrix = (before != BLANK) + (last != BLANK);
  for (int i = 0; i < rank; i++) {
    int label = rank - matrix - 1 - i; /* of a batch */
    if (i == rank - matrix) label = before != BLANK ? before : last;
    if (i > rank - matrix) label = last;
    term_add(&t, size[i] == 1 ? BLANK : label);
  }
  return t;
}

/* An operand of the node. */
static Term operand_term(const Input *in, int k) {
  if (in->rank == 1) return matrix_term(1, in->size, BLANK, INNER);
  return k == 0 ? matrix_term(in->rank, in->size, ROWS, INNER)
                : matrix_term(in->rank, in->size, INNER, COLS);
}

Tensor *matmul_back(Tape *t, Tensor *g, int k) {
  const Input *in = t->node->input;
  Tensor *other = tape_saved(t, k == 0 ? SAVED_Y : SAVED_X), *r = NULL;
  if (t->status != OK) return NULL;
  const Term to = operand_term(&in[k], k);
  const Term by = operand_term(&in[1 - k], 1 - k);
  const Term from = matrix_term(g->shape.rank, g->shape.size,
                                in[0].rank > 1 ? ROWS : BLANK,
                                in[1].rank > 1 ? COLS : BLANK);
  const Status s = einsum_pair(t->c, g, &from, other, &by, &to, &r);
  return tape_own(t, s, r);
}
