/* einsum.h: sums of products over letters: the words that its rooms share.
 *
 *   einsum_read.c   the equation, held against shapes: terms
 *   einsum_plan.c   which pair next
 *   contract.c      one pair: products of matrices
 *   einsum.c        the op
 *
 * A label is a letter or an axis that an ellipsis stands for; 64 in all, so a
 * set of them is a word.  An axis of size 1 that others stretch has no label:
 * it is BLANK, and nothing more is to be done for it.
 * Must not know: kernels, derivatives.
 */
#ifndef TENSUS_EINSUM_H
#define TENSUS_EINSUM_H

#include "ops/run.h"

typedef uint64_t Labels;

enum {
  LETTERS = 52,    /* A-Z, a-z: the order of character codes */
  DOTS = LETTERS,  /* then the axes of the ellipses, the last one first */
  LABELS = LETTERS + MAX_RANK,
  BLANK = -1,
  EINSUM_FEW = 8,  /* operands before a plan needs memory of its own */
  EINSUM_EXACT = 6 /* operands up to which the order is the best one */
};
static_assert(LABELS <= 64, "Labels has a bit for each");

/* The axes of an operand, of an intermediate or of the result.
 * labels == the labels of its axes that are not blank */
typedef struct Term {
  Labels labels;
  int8_t rank, dots; /* dots: where the ellipsis stands; -1: none */
  int8_t label[MAX_RANK];
} Term;

/* Item `count + s` of a plan is made by step s. */
typedef struct EinsumStep {
  int left, right;   /* items; the left one has the earliest operand */
  int first;         /* that operand */
  double cost, size; /* multiplications; elements of what is made */
} EinsumStep;

/* An equation for some shapes, and the order to work in.
 * term: of the `count` operands, then of what each step makes; the last one
 * is the result.  summed[k]: labels of operand k that it is summed over
 * before all else: they are in no other and not in the result. */
typedef struct Einsum {
  const char *equation;
  int count;
  bool has_out;
  int dot_axes;        /* most axes that an ellipsis stands for */
  int stretched;       /* a label of sizes 1 and n; BLANK: none */
  Labels used, repeated;
  Term out;
  int64_t size[LABELS]; /* of used labels */
  int known[LABELS];    /* the operand that a size was learned from */
  Term *term;           /* 2 count - 1 */
  Labels *summed;       /* count */
  EinsumStep *step;           /* count - 1 */
  Term few_terms[2 * EINSUM_FEW];
  Labels few_summed[EINSUM_FEW];
  EinsumStep few_steps[EINSUM_FEW];
} Einsum;

INLINE Labels label_bit(int label) { return (Labels)1 << label; }

INLINE int label_count(Labels set) {
  int n = 0;
  for (; set != 0; set &= set - 1) n++;
  return n;
}

/* A term of one more axis. */
INLINE void term_add(Term *t, int label) {
  assert(t->rank < MAX_RANK);
  t->label[t->rank++] = (int8_t)label;
  if (label != BLANK) t->labels |= label_bit(label);
}

/* ---- einsum_read.c ---- */

/* Reads `equation` for operands of these shapes: terms, sizes, the result;
 * leaves the order open.  Close e whatever comes back.  E_EQUATION,
 * E_CHARACTER, E_OPERAND_COUNT, E_UNKNOWN_LABEL, E_REPEATED_LABEL, E_RANK,
 * E_SHAPE, E_MEMORY. */
Status einsum_read(Context *c, Einsum *e, const char *equation, int count,
                   const Shape *const *shape);
void einsum_close(Context *c, Einsum *e);

/* A label as text: a letter, or "1".. for axes of an ellipsis. */
const char *label_text(int label, char text[4]);

/* ---- einsum_plan.c ---- */

/* Fills the steps, and the terms that they make, of what einsum_read has
 * read.  The order depends on shapes alone.  E_RANK. */
Status einsum_plan(Context *c, Einsum *e);

/* Product of the sizes of a set. */
double einsum_size(const Einsum *e, Labels set);

/* ---- contract.c ---- */

/* *r (out) = sum of x y over the labels that `out` lacks; each of these must
 * be in both.  Labels of size 1 are blank in x, y.  Tracked. */
Status einsum_pair(Context *c, Tensor *x, const Term *tx, Tensor *y,
                   const Term *ty, const Term *out, Tensor **r);

/* Terms in the arguments of OP_contract, and back. */
Term term_of(const Arg *a);
Arg arg_term(const Term *t);

#endif
