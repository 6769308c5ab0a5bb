/* rules_scan.c: scans change along their line by a chain,
 *
 *   dr[i] = factor[i] dr[i - 1] + term[i]
 *
 * and a chain read backwards is one again (row `chain`): so a derivative of
 * any order is a scan, and nothing is divided by.
 */
#include "grad/rules_scan.h"

#include <math.h>
#include <string.h>

#define ADD(a, b) tape_binary(t, OP_add, a, b)
#define SUB(a, b) tape_binary(t, OP_sub, a, b)
#define MUL(a, b) tape_binary(t, OP_mul, a, b)
#define EXP(a) tape_unary(t, OP_exp, a)

static int64_t integer_at(const Tape *t, int k) {
  return args_integer(t->node->op, (const Args *)t->node->arg, k);
}

static bool is_scalar(const Tape *t) { return t->node->input[0].rank == 0; }

/* ---- neighbours ---- */

static Tensor *narrow(Tape *t, Tensor *x, int dim, int64_t first,
                      int64_t length) {
  Args a = tape_args(OP_narrow);
  a.at[0] = arg_tensor(x);
  a.at[1] = arg_integer(dim);
  a.at[2] = arg_integer(first);
  a.at[3] = arg_integer(length);
  return tape_call(t, OP_narrow, &a);
}

/* Zeros of the sizes of `like`, and x from position `first` of dim on. */
static Tensor *place(Tape *t, Tensor *x, int rank, const int64_t *size, int dim,
                     int64_t first) {
  Args a = tape_args(OP_place);
  a.at[0] = arg_tensor(x);
  a.at[1] = arg_sizes(rank, size);
  a.at[2] = arg_integer(dim);
  a.at[3] = arg_integer(first);
  a.at[4] = arg_integer(1);
  return tape_call(t, OP_place, &a);
}

/* Each element is the one before it, or after it; 0 where there is none. */
static Tensor *shift(Tape *t, Tensor *x, int dim, bool from_after) {
  if (t->status != OK) return NULL;
  const int64_t n = x->shape.size[dim];
  if (n == 0) return x;
  Tensor *part = narrow(t, x, dim, from_after ? 1 : 0, n - 1);
  return place(t, part, x->shape.rank, x->shape.size, dim, from_after ? 0 : 1);
}

/* Along dim: 1 at one end, 0 elsewhere; other sizes 1. */
static Tensor *one_at(Tape *t, const Tensor *x, int dim, bool at_last) {
  int64_t size[MAX_RANK];
  Tensor *one = NULL;
  for (int i = 0; i < x->shape.rank; i++) size[i] = 1;
  const Status s = op_full(t->c, tensor_device(x), x->dtype, x->shape.rank,
                           size, 1, &one);
  size[dim] = x->shape.size[dim];
  return place(t, tape_own(t, s, one), x->shape.rank, size, dim,
               at_last ? size[dim] - 1 : 0);
}

/* shift of a scan of products, with the empty product 1. */
static Tensor *shift_products(Tape *t, Tensor *y, int dim, bool from_after) {
  if (t->status != OK || y->shape.size[dim] == 0) return y;
  return ADD(shift(t, y, dim, from_after), one_at(t, y, dim, from_after));
}

/* ---- calls ---- */

static Tensor *scan(Tape *t, OpId op, Tensor *x, int dim, bool reverse) {
  Args a = tape_args(op);
  a.at[0] = arg_tensor(x);
  a.at[1] = arg_integer(dim);
  a.at[2] = arg_integer(reverse);
  return tape_call(t, op, &a);
}

/* See row `chain`; halves are computed in the dtype of the factor. */
static Tensor *chain(Tape *t, Tensor *factor, Tensor *term, int dim,
                     bool reverse, bool previous) {
  if (t->status != OK) return NULL;
  Args a = tape_args(OP_chain);
  a.at[0] = arg_tensor(factor);
  a.at[1] = arg_tensor(tape_cast(t, term, factor->dtype));
  a.at[2] = arg_integer(dim);
  a.at[3] = arg_integer(reverse);
  a.at[4] = arg_integer(previous);
  return tape_call(t, OP_chain, &a);
}

static Tensor *wide(Tape *t, Tensor *x) {
  return t->status != OK ? NULL : tape_cast(t, x, dtype_compute(x->dtype));
}

/* ---- sums ---- */

Tensor *cumsum_back(Tape *t, Tensor *g) {
  const bool reverse = integer_at(t, 2) != 0;
  return scan(t, OP_cumsum, g, (int)integer_at(t, 1), !reverse);
}

/* ---- products: y[i] = x[i] y[i - 1] ---- */

Tensor *product_before(Tape *t, Tensor *x, int dim, bool after) {
  return shift_products(t, scan(t, OP_cumprod, x, dim, after), dim, after);
}

/* gx[i] = y[i - 1] s[i] with s[i] = g[i] + x[i + 1] s[i + 1]. */
Tensor *cumprod_back(Tape *t, Tensor *g) {
  const int dim = (int)integer_at(t, 1);
  const bool reverse = integer_at(t, 2) != 0;
  if (is_scalar(t)) return g;
  Tensor *x = wide(t, tape_saved(t, SAVED_X));
  Tensor *y = wide(t, tape_saved(t, SAVED_R));
  Tensor *rest = chain(t, x, g, dim, !reverse, true);
  return MUL(shift_products(t, y, dim, reverse), rest);
}

/* ty[i] = x[i] ty[i - 1] + y[i - 1] tx[i]. */
Tensor *cumprod_push(Tape *t, Tensor *tx) {
  const int dim = (int)integer_at(t, 1);
  const bool reverse = integer_at(t, 2) != 0;
  if (is_scalar(t)) return tx;
  Tensor *x = wide(t, tape_saved(t, SAVED_X));
  Tensor *y = wide(t, tape_saved(t, SAVED_R));
  Tensor *term = MUL(shift_products(t, y, dim, reverse), tx);
  return chain(t, x, term, dim, reverse, false);
}

/* ---- logcumsumexp: weights e^(x[j] - y[i]) are chained, so none exceeds 1 */

static Tensor *number(Tape *t, const Tensor *x, double value) {
  Tensor *r = NULL;
  if (t->status != OK) return NULL;
  const Status s = op_scalar(t->c, tensor_device(x), x->dtype, value, &r);
  return tape_own(t, s, r);
}

/* e^(a - y), and 0 where y is -inf. */
static Tensor *share(Tape *t, Tensor *a, Tensor *y) {
  Tensor *zero = number(t, y, 0);
  Tensor *live = tape_binary(t, OP_ne, y, number(t, y, -INFINITY));
  Tensor *safe = tape_ternary(t, OP_where, live, y, zero);
  return tape_ternary(t, OP_where, live, EXP(SUB(a, safe)), zero);
}

/* e^(y[i - 1] - y[i]) and e^(x[i] - y[i]). */
static Tensor *shares(Tape *t, Tensor **own) {
  Tensor *x = wide(t, tape_saved(t, SAVED_X));
  Tensor *y = wide(t, tape_saved(t, SAVED_R));
  *own = share(t, x, y);
  return share(t, shift(t, y, (int)integer_at(t, 1), false), y);
}

/* gx[j] = e^(x[j] - y[j]) s[j], s[j] = g[j] + e^(y[j] - y[j + 1]) s[j + 1]. */
Tensor *logcumsumexp_back(Tape *t, Tensor *g) {
  Tensor *own;
  if (is_scalar(t)) return g;
  Tensor *before = shares(t, &own);
  return MUL(own, chain(t, before, g, (int)integer_at(t, 1), true, true));
}

Tensor *logcumsumexp_push(Tape *t, Tensor *tx) {
  Tensor *own;
  if (is_scalar(t)) return tx;
  Tensor *before = shares(t, &own);
  return chain(t, before, MUL(own, tx), (int)integer_at(t, 1), false, false);
}

/* ---- chain: y[i] = f[i] y[i - 1] + term[i]; or f[i - 1] ---- */

typedef struct Link {
  int dim;
  bool reverse, previous;
} Link;

static Link link_of(const Tape *t) {
  return (Link){(int)integer_at(t, 2), integer_at(t, 3) != 0,
                integer_at(t, 4) != 0};
}

Tensor *chain_term(Tape *t, Tensor *g) {
  const Link k = link_of(t);
  return chain(t, tape_saved(t, SAVED_X), g, k.dim, !k.reverse, !k.previous);
}

Tensor *chain_factor(Tape *t, Tensor *g) {
  const Link k = link_of(t);
  Tensor *y = tape_saved(t, SAVED_R), *term = chain_term(t, g);
  if (k.previous) return MUL(y, shift(t, term, k.dim, !k.reverse));
  return MUL(term, shift(t, y, k.dim, k.reverse));
}

Tensor *chain_push(Tape *t, Tensor *tf, Tensor *tt) {
  const Link k = link_of(t);
  Tensor *term = tt;
  if (tf != NULL) {
    Tensor *y = tape_saved(t, SAVED_R);
    Tensor *by = k.previous ? shift(t, MUL(tf, y), k.dim, k.reverse)
                            : MUL(tf, shift(t, y, k.dim, k.reverse));
    term = tape_plus(t, by, tt);
  }
  return chain(t, tape_saved(t, SAVED_X), term, k.dim, k.reverse, k.previous);
}

/* ---- extremes: each result comes from one position of its line ---- */

Tensor *places_back(Tape *t, Tensor *g) {
  Args a = tape_args(OP_scatter_add);
  if (is_scalar(t)) return g;
  a.at[0] = arg_tensor(tape_zeros(t, &t->node->input[0]));
  a.at[1] = arg_integer(integer_at(t, 1));
  a.at[2] = arg_tensor(tape_saved(t, SAVED_R2));
  a.at[3] = arg_tensor(g);
  return tape_call(t, OP_scatter_add, &a);
}

Tensor *places_push(Tape *t, Tensor *tx) {
  Args a = tape_args(OP_gather);
  if (is_scalar(t)) return tx;
  a.at[0] = arg_tensor(tx);
  a.at[1] = arg_integer(integer_at(t, 1));
  a.at[2] = arg_tensor(tape_saved(t, SAVED_R2));
  return tape_call(t, OP_gather, &a);
}
