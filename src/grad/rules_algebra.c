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
