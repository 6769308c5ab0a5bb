/* rules_scatter.c: see rules_scatter.h.
 *
 * "There" is a value per place of self, "here" one per element of the index;
 * gather takes the first to the second, scatter_add back, adding up.
 */
#include "grad/rules_scatter.h"

#include "grad/transpose.h"

#define ADD(a, b) tape_binary(t, OP_add, a, b)
#define SUB(a, b) tape_binary(t, OP_sub, a, b)
#define MUL(a, b) tape_binary(t, OP_mul, a, b)
#define DIV(a, b) tape_binary(t, OP_div, a, b)
#define EQ(a, b) tape_binary(t, OP_eq, a, b)

static Tensor *choose(Tape *t, Tensor *where, Tensor *x) {
  return tape_ternary(t, OP_where, where, x, tape_number(t, 0));
}

static Dtype dtype_of(const Tape *t) { return t->node->result[0].dtype; }

/* ---- there and here ---- */

static Tensor *at_index(Tape *t, OpId op, Tensor *x, Tensor *source) {
  Args a = tape_args(op);
  a.at[0] = arg_tensor(x);
  a.at[1] = t->node->arg[1];
  a.at[2] = arg_tensor(tape_saved(t, SAVED_Y));
  if (source != NULL) a.at[3] = arg_tensor(source);
  return tape_call(t, op, &a);
}

static Tensor *here(Tape *t, Tensor *there) {
  return at_index(t, OP_gather, there, NULL);
}

static Tensor *there(Tape *t, Tensor *here) {
  return at_index(t, OP_scatter_add, tape_zeros(t, &t->node->input[0]), here);
}

/* Of the source, what the index reads; and back, with zeros for the rest. */
static Tensor *cut(Tape *t, Tensor *source) {
  const Input *index = &t->node->input[1];
  for (int i = 0; i < index->rank && t->status == OK; i++)
    source = fit_axis(t, source, i, index->size[i]);
  return source;
}

static Tensor *uncut(Tape *t, Tensor *here) {
  const Input *source = &t->node->input[2];
  for (int i = 0; i < source->rank && t->status == OK; i++)
    here = fit_axis(t, here, i, source->size[i]);
  return here;
}

static Tensor *self_of(Tape *t) { return tape_saved(t, SAVED_X); }
static Tensor *source_of(Tape *t) { return cut(t, tape_saved(t, SAVED_Z)); }

/* As numbers of the result's dtype. */
static Tensor *ones_at(Tape *t, Tensor *mask) {
  return tape_cast(t, mask, dtype_of(t));
}

/* ---- extremes ---- */

static Tensor *is_extreme(Tape *t, Tensor *x, Tensor *r) {
  Tensor *equal = EQ(x, r);
  return tape_binary(t, OP_logical_or, equal, tape_unary(t, OP_isnan, x));
}

/* Who is the extreme of his place, and how many are. */
typedef struct Ties {
  Tensor *self, *source, *count;
} Ties;

static Ties ties_of(Tape *t) {
  Tensor *r = tape_saved(t, SAVED_R);
  Ties k;
  k.self = is_extreme(t, self_of(t), r);
  k.source = is_extreme(t, source_of(t), here(t, r));
  Tensor *others = there(t, ones_at(t, k.source));
  k.count = ADD(ones_at(t, k.self), others);
  return k;
}

Tensor *scatter_ties_x(Tape *t, Tensor *g) {
  const Ties k = ties_of(t);
  return choose(t, k.self, DIV(g, k.count));
}

Tensor *scatter_ties_source(Tape *t, Tensor *g) {
  const Ties k = ties_of(t);
  return uncut(t, choose(t, k.source, here(t, DIV(g, k.count))));
}

Tensor *scatter_ties_push(Tape *t, Tensor *tx, Tensor *tz) {
  const Ties k = ties_of(t);
  Tensor *sum = NULL;
  if (tx != NULL) sum = choose(t, k.self, tx);
  if (tz != NULL)
    sum = tape_plus(t, sum, there(t, choose(t, k.source, cut(t, tz))));
  return t->status == OK ? DIV(sum, k.count) : NULL;
}

/* ---- products ---- */

/* At each place: how many factors are 0, the product of those that are not,
 * and the sum of those that are: it is 0, but its slope is that of the one
 * factor that makes it up, which second derivatives need. */
typedef struct Factors {
  Tensor *zeros, *product, *vanishing;
} Factors;

static Tensor *is_zero(Tape *t, Tensor *x) { return EQ(x, tape_number(t, 0)); }

static Tensor *not_zero(Tape *t, Tensor *x) {
  return tape_ternary(t, OP_where, is_zero(t, x), tape_number(t, 1), x);
}

static Factors factors_of(Tape *t) {
  Tensor *x = self_of(t), *z = source_of(t);
  Factors f;
  Tensor *zeros = there(t, ones_at(t, is_zero(t, z)));
  f.zeros = ADD(ones_at(t, is_zero(t, x)), zeros);
  Tensor *rest = not_zero(t, z);
  f.product = at_index(t, OP_scatter_prod, not_zero(t, x), rest);
  Tensor *vanishing = there(t, choose(t, is_zero(t, z), z));
  f.vanishing = ADD(choose(t, is_zero(t, x), x), vanishing);
  return f;
}

static Tensor *where_zeros(Tape *t, const Factors *f, int count, Tensor *x) {
  return choose(t, EQ(f->zeros, tape_number(t, count)), x);
}

/* The product of all factors at the place but x itself, to second order: two
 * factors that vanish beside x take part in no derivative up to then. */
static Tensor *others(Tape *t, const Factors *f, Tensor *x) {
  Tensor *without = DIV(f->product, not_zero(t, x));
  Tensor *one = where_zeros(t, f, 1, MUL(without, f->vanishing));
  Tensor *full = ADD(where_zeros(t, f, 0, without), one);
  Tensor *twin = MUL(f->product, SUB(f->vanishing, x));
  Tensor *second = where_zeros(t, f, 2, twin);
  Tensor *first = ADD(where_zeros(t, f, 1, f->product), second);
  return tape_ternary(t, OP_where, is_zero(t, x), first, full);
}

static Tensor *others_of_source(Tape *t) {
  const Factors f = factors_of(t);
  Factors h;
  h.zeros = here(t, f.zeros);
  h.product = here(t, f.product);
  h.vanishing = here(t, f.vanishing);
  return others(t, &h, source_of(t));
}

static Tensor *others_of_self(Tape *t) {
  const Factors f = factors_of(t);
  return others(t, &f, self_of(t));
}

Tensor *scatter_prod_x(Tape *t, Tensor *g) { return MUL(g, others_of_self(t)); }

Tensor *scatter_prod_source(Tape *t, Tensor *g) {
  Tensor *rest = others_of_source(t);
  return uncut(t, MUL(here(t, g), rest));
}

Tensor *scatter_prod_push(Tape *t, Tensor *tx, Tensor *tz) {
  Tensor *sum = NULL;
  if (tx != NULL) sum = MUL(tx, others_of_self(t));
  if (tz != NULL) {
    Tensor *rest = others_of_source(t);
    sum = tape_plus(t, sum, there(t, MUL(cut(t, tz), rest)));
  }
  return sum;
}
