/* rules_linalg.c: see rules_linalg.h.
 *
 * Formulas after Giles 2008 and Townsend 2016, all in tracked rows: a rule is
 * differentiated like any other code.  ' turns the last two axes; g is the
 * cotangent of a result, tx the tangent of the matrix.
 * Must not know: how a matrix is factored.
 */
#include "grad/rules_linalg.h"

#include <math.h>

#define ADD(a, b) tape_binary(t, OP_add, a, b)
#define SUB(a, b) tape_binary(t, OP_sub, a, b)
#define MUL(a, b) tape_binary(t, OP_mul, a, b)
#define MM(a, b) tape_binary(t, OP_matmul, a, b)
#define NEG(a) tape_unary(t, OP_neg, a)
#define PLUS(a, b) tape_plus(t, a, b)

/* ---- words that several rules use ---- */

/* An option of the call; a call without any keeps no arguments. */
static bool flag_at(const Tape *t, int k) {
  const Node *n = t->node;
  if (n->arg == NULL) return op_rows[n->op].param[k].value != 0;
  return args_integer(n->op, (const Args *)n->arg, k) != 0;
}

static Tensor *turn(Tape *t, Tensor *x) {
  Tensor *r = NULL;
  if (t->status != OK) return NULL;
  const Status s = op_transpose(t->c, x, -2, -1, &r);
  return tape_own(t, s, r);
}

/* x {..,n} as rows {..,1,n} (dim -2) or as columns {..,n,1} (-1). */
static Tensor *line(Tape *t, Tensor *x, int dim) {
  Args a = tape_args(OP_unsqueeze);
  a.at[0] = arg_tensor(x);
  a.at[1] = arg_integer(dim);
  return tape_call(t, OP_unsqueeze, &a);
}

#define ROW(x) line(t, x, -2)
#define COLUMN(x) line(t, x, -1)

static Tensor *diagonal(Tape *t, Tensor *x) {
  Args a = tape_args(OP_diagonal);
  a.at[0] = arg_tensor(x);
  a.at[2] = arg_integer(-2);
  a.at[3] = arg_integer(-1);
  return tape_call(t, OP_diagonal, &a);
}

static Tensor *choose(Tape *t, Tensor *mask, Tensor *x, Tensor *y) {
  return tape_ternary(t, OP_where, mask, x, y);
}

/* x {..,n} on the diagonals of matrices. */
static Tensor *embed(Tape *t, Tensor *x) {
  Args a = tape_args(OP_diag_embed);
  a.at[0] = arg_tensor(x);
  a.at[2] = arg_integer(-2);
  a.at[3] = arg_integer(-1);
  return tape_call(t, OP_diag_embed, &a);
}

/* 1 .. n, where x is {..,n}. */
static Tensor *ramp(Tape *t, Tensor *x) {
  if (t->status != OK) return NULL;
  Args a = tape_args(OP_arange);
  a.at[0] = arg_integer(1);
  a.at[1] = arg_integer(x->shape.size[x->shape.rank - 1]);
  a.at[3] = arg_integer(x->dtype);
  a.at[4].kind = ARG_DEVICE;
  a.at[4].device = tensor_device(x);
  return tape_call(t, OP_arange, &a);
}

/* x below diagonal k and on it (`lower`), or above and on it; else 0. */
static Tensor *triangle(Tape *t, Tensor *x, bool lower, int k) {
  const OpId op = lower ? OP_tril : OP_triu;
  Args a = tape_args(op);
  a.at[0] = arg_tensor(x);
  a.at[1] = arg_integer(k);
  return tape_call(t, op, &a);
}

#define LOWER(x, k) triangle(t, x, true, k)
#define UPPER(x, k) triangle(t, x, false, k)

/* (x + x') / 2 */
static Tensor *symmetric(Tape *t, Tensor *x) {
  return tape_scale(t, ADD(x, turn(t, x)), 0.5);
}

static Tensor *skew(Tape *t, Tensor *x) { return SUB(x, turn(t, x)); }

/* 1 / x, and 0 where x is 0: a part that is not defined is left out. */
static Tensor *inverse_or_0(Tape *t, Tensor *x) {
  Tensor *zero = tape_binary(t, OP_eq, x, tape_number(t, 0));
  Tensor *safe = choose(t, zero, tape_number(t, 1), x);
  return choose(t, zero, tape_number(t, 0),
                tape_unary(t, OP_reciprocal, safe));
}

/* 1 / (x[j] - x[i]), 0 on the diagonal and where two are equal. */
static Tensor *gaps(Tape *t, Tensor *x) {
  return inverse_or_0(t, SUB(ROW(x), COLUMN(x)));
}

/* Row `op` of x with `results` of them into r[]. */
static void call_many(Tape *t, OpId op, const Args *a, Tensor **r) {
  Tensor *made[MAX_RESULTS] = {NULL};
  const int count = op_rows[op].results;
  const Status s = t->status != OK ? t->status : op_call(t->c, op, a, made);
  for (int k = 0; k < count; k++) r[k] = tape_own(t, s, made[k]);
}

/* ---- solve: r = x^-1 y ---- */

/* The columns of r, which may be a vector. */
static Tensor *columns(Tape *t, Tensor *r) {
  if (t->status != OK) return NULL;
  return t->node->input[1].rank == 1 ? COLUMN(r) : r;
}

/* x'^-1 g: made once for both operands. */
static Tensor *solve_turned(Tape *t, Tensor *g) {
  if (t->also[1] != NULL) return t->also[1];
  Tensor *x = tape_saved(t, SAVED_X);
  if (t->node->input[1].rank == 1) g = COLUMN(g);
  return t->also[1] = tape_binary(t, OP_solve, turn(t, x), g);
}

/* Of a vector, a batch of columns {..,n,1} comes back: {..,n}. */
static Tensor *as_other(Tape *t, Tensor *x) {
  if (t->status != OK || t->node->input[1].rank > 1) return x;
  return tape_reshape(t, x, x->shape.rank - 1, x->shape.size);
}

Tensor *solve_back(Tape *t, Tensor *g, int k) {
  Tensor *back = solve_turned(t, g);
  if (k == 1) return as_other(t, back);
  Tensor *r = columns(t, tape_saved(t, SAVED_R));
  return NEG(MM(back, turn(t, r)));
}

/* x^-1 (ty - tx r) */
Tensor *solve_push(Tape *t, Tensor *tx, Tensor *ty) {
  Tensor *x = tape_saved(t, SAVED_X), *sum = NULL;
  if (ty != NULL) sum = columns(t, ty);
  if (tx != NULL) {
    Tensor *r = columns(t, tape_saved(t, SAVED_R));
    sum = PLUS(sum, NEG(MM(tx, r)));
  }
  return as_other(t, tape_binary(t, OP_solve, x, sum));
}

/* ---- triangular_solve: the same, and only a triangle counts ---- */

enum { UPPER_AT = 2, LEFT_AT, UNIT_AT };

static Tensor *solve_triangle(Tape *t, Tensor *x, Tensor *y, bool turned) {
  Args a = tape_args(OP_triangular_solve);
  a.at[0] = arg_tensor(turned ? turn(t, x) : x);
  a.at[1] = arg_tensor(y);
  a.at[UPPER_AT] = arg_integer(flag_at(t, UPPER_AT) != turned);
  a.at[LEFT_AT] = arg_integer(flag_at(t, LEFT_AT));
  a.at[UNIT_AT] = arg_integer(flag_at(t, UNIT_AT));
  return tape_call(t, OP_triangular_solve, &a);
}

static Tensor *kept_triangle(Tape *t, Tensor *x) {
  const bool upper = flag_at(t, UPPER_AT);
  const int inside = flag_at(t, UNIT_AT);
  return triangle(t, x, !upper, upper ? inside : -inside);
}

Tensor *triangular_back(Tape *t, Tensor *g, int k) {
  const bool left = flag_at(t, LEFT_AT);
  if (t->also[1] == NULL) {
    Tensor *x = tape_saved(t, SAVED_X);
    if (left && t->node->input[1].rank == 1) g = COLUMN(g);
    t->also[1] = solve_triangle(t, x, g, true);
  }
  Tensor *back = t->also[1];
  if (k == 1) return as_other(t, back);
  Tensor *r = columns(t, tape_saved(t, SAVED_R));
  return NEG(kept_triangle(t, left ? MM(back, turn(t, r))
                                   : MM(turn(t, r), back)));
}

Tensor *triangular_push(Tape *t, Tensor *tx, Tensor *ty) {
  const bool left = flag_at(t, LEFT_AT);
  Tensor *x = tape_saved(t, SAVED_X), *sum = NULL;
  if (ty != NULL) sum = columns(t, ty);
  if (tx != NULL) {
    Tensor *r = columns(t, tape_saved(t, SAVED_R));
    tx = kept_triangle(t, tx);
    sum = PLUS(sum, NEG(left ? MM(tx, r) : MM(r, tx)));
  }
  return as_other(t, solve_triangle(t, x, sum, false));
}

/* ---- inv ---- */

/* -r' g r' */
Tensor *inv_back(Tape *t, Tensor *g) {
  Tensor *r = turn(t, tape_saved(t, SAVED_R));
  return NEG(MM(MM(r, g), r));
}

Tensor *inv_push(Tape *t, Tensor *tx) {
  Tensor *r = tape_saved(t, SAVED_R);
  return NEG(MM(MM(r, tx), r));
}

/* ---- determinants ---- */

/* Is any element of a mask set?  Read on the host. */
static bool any_of(Tape *t, Tensor *mask) {
  unsigned char is = 0;
  Tensor *any = tape_unary(t, OP_any, mask);
  if (any != NULL) t->status = tensor_read(t->c, any, &is);
  return is != 0;
}

static Tensor *identity(Tape *t, Tensor *x) {
  return embed(t, tape_unary(t, OP_ones_like, diagonal(t, x)));
}

/* diag(1, 2 ..): a matrix whose singular values differ. */
static Tensor *ramp_matrix(Tape *t, Tensor *x) {
  return embed(t, ramp(t, x));
}

/* The products of all other elements of each line s {..,n}: by columns of a
 * matrix of them with ones on its diagonal. */
static Tensor *products_of_others(Tape *t, Tensor *s) {
  const int64_t dim = -2;
  Tensor *one = identity(t, MUL(COLUMN(s), ROW(s)));
  Tensor *is_diagonal = tape_binary(t, OP_ne, one, tape_number(t, 0));
  Args a = tape_args(OP_prod);
  a.at[0] = arg_tensor(choose(t, is_diagonal, one, COLUMN(s)));
  a.at[1] = arg_sizes(1, &dim);
  return tape_call(t, OP_prod, &a);
}

/* The matrix of cofactors of u diag(s) v: det(u) det(v) u diag(products of
 * the other s) v. */
static Tensor *cofactors(Tape *t, Tensor *x) {
  Tensor *svd[3];
  Args a = tape_args(OP_svd);
  a.at[0] = arg_tensor(x);
  call_many(t, OP_svd, &a, svd);
  Tensor *turns = MUL(tape_unary(t, OP_det, svd[0]),
                      tape_unary(t, OP_det, svd[2]));
  Tensor *scale = MUL(products_of_others(t, svd[1]), COLUMN(turns));
  return MM(MUL(svd[0], ROW(scale)), svd[2]);
}

static Tensor *inverse_turned(Tape *t, Tensor *x) {
  return turn(t, tape_unary(t, OP_inv, x));
}

/* d det / d x: det inv' where x is regular, the cofactors where it is not.
 * Either is given a matrix that it can take in the place of the other's. */
static Tensor *det_slope(Tape *t) {
  Tensor *x = tape_saved(t, SAVED_X);
  Tensor *r = COLUMN(COLUMN(tape_saved(t, SAVED_R)));
  Tensor *near = tape_saved(t, SAVED_H);
  if (!any_of(t, near)) return MUL(r, inverse_turned(t, x));
  near = COLUMN(COLUMN(near));
  Tensor *regular = choose(t, near, identity(t, x), x);
  Tensor *other = choose(t, near, x, ramp_matrix(t, x));
  return choose(t, near, cofactors(t, other),
                MUL(r, inverse_turned(t, regular)));
}

/* The sum over the last two axes: {..,n,n} -> {..}. */
static Tensor *sum_matrix(Tape *t, Tensor *x) {
  const int64_t dims[] = {-2, -1};
  Tensor *sum = tape_sum_axes(t, x, 2, dims);
  return sum == NULL ? NULL
                     : tape_reshape(t, sum, sum->shape.rank - 2,
                                    sum->shape.size);
}

Tensor *det_back(Tape *t, Tensor *g) {
  return MUL(COLUMN(COLUMN(g)), det_slope(t));
}

Tensor *det_push(Tape *t, Tensor *tx) {
  return sum_matrix(t, MUL(det_slope(t), tx));
}

/* The sign is flat. */
Tensor *slogdet_back(Tape *t) {
  Tensor *g = tape_cotangent(t, 1);
  if (g == NULL) return NULL;
  Tensor *x = tape_saved(t, SAVED_X);
  return MUL(COLUMN(COLUMN(g)), inverse_turned(t, x));
}

Tensor *slogdet_push(Tape *t, Tensor *tx) {
  Tensor *x = tape_saved(t, SAVED_X);
  t->also[1] = sum_matrix(t, MUL(inverse_turned(t, x), tx));
  return NULL;
}

/* ---- lu_factor: x = P L U ---- */

/* The rows of x in the order of the pivots, or back to where they were. */
static Tensor *reorder(Tape *t, Tensor *x, bool back) {
  if (t->status != OK) return NULL;
  const OpId op = back ? OP_scatter_add : OP_gather;
  Tensor *order = tape_saved(t, SAVED_H);
  Args a = tape_args(op);
  order = tape_expand(t, COLUMN(order), x->shape.rank, x->shape.size);
  a.at[0] = arg_tensor(back ? tape_zeros(t, &t->node->input[0]) : x);
  a.at[1] = arg_integer(-2);
  a.at[2] = arg_tensor(order);
  if (back) a.at[3] = arg_tensor(x);
  return tape_call(t, op, &a);
}

/* One triangle of LU solves against y, from the left or the right. */
static Tensor *divide(Tape *t, Tensor *lu, Tensor *y, bool upper, bool left,
                      bool turned) {
  Args a = tape_args(OP_triangular_solve);
  a.at[0] = arg_tensor(turned ? turn(t, lu) : lu);
  a.at[1] = arg_tensor(y);
  a.at[UPPER_AT] = arg_integer(upper != turned);
  a.at[LEFT_AT] = arg_integer(left);
  a.at[UNIT_AT] = arg_integer(!upper);
  return tape_call(t, OP_triangular_solve, &a);
}

static Tensor *lower_factor(Tape *t, Tensor *lu) {
  if (t->status != OK) return NULL;
  return ADD(LOWER(lu, -1), identity(t, lu));
}

/* gm = tril(L' g, -1) + triu(g U'), of x: P L'^-1 gm U'^-1 */
Tensor *lu_back(Tape *t, Tensor *g) {
  Tensor *lu = tape_saved(t, SAVED_R);
  Tensor *l = lower_factor(t, lu), *u = UPPER(lu, 0);
  Tensor *gm = ADD(LOWER(MM(turn(t, l), LOWER(g, -1)), -1),
                   UPPER(MM(UPPER(g, 0), turn(t, u)), 0));
  gm = divide(t, lu, gm, false, true, true);
  gm = divide(t, lu, gm, true, false, true);
  return reorder(t, gm, true);
}

/* m = L^-1 P' tx U^-1: L tril(m, -1) + triu(m) U */
Tensor *lu_push(Tape *t, Tensor *tx) {
  Tensor *lu = tape_saved(t, SAVED_R);
  Tensor *m = divide(t, lu, reorder(t, tx, false), false, true, false);
  m = divide(t, lu, m, true, false, false);
  return ADD(MM(lower_factor(t, lu), LOWER(m, -1)),
             MM(UPPER(m, 0), UPPER(lu, 0)));
}

/* ---- cholesky: x = L L' ---- */

/* The lower triangle with half of the diagonal. */
static Tensor *phi(Tape *t, Tensor *x) {
  return tape_scale(t, ADD(LOWER(x, 0), LOWER(x, -1)), 0.5);
}

static Tensor *divide_lower(Tape *t, Tensor *l, Tensor *y, bool left,
                            bool turned) {
  Args a = tape_args(OP_triangular_solve);
  a.at[0] = arg_tensor(turned ? turn(t, l) : l);
  a.at[1] = arg_tensor(y);
  a.at[UPPER_AT] = arg_integer(turned);
  a.at[LEFT_AT] = arg_integer(left);
  return tape_call(t, OP_triangular_solve, &a);
}

/* L, whichever factor the row gave; and g likewise. */
static Tensor *as_lower(Tape *t, Tensor *x) {
  return flag_at(t, 1) ? turn(t, x) : x;
}

/* s = phi(L' g): L'^-1 (s + s')/2 L^-1 */
Tensor *cholesky_back(Tape *t, Tensor *g) {
  Tensor *l = as_lower(t, tape_saved(t, SAVED_R));
  Tensor *s = phi(t, MM(turn(t, l), as_lower(t, g)));
  s = divide_lower(t, l, symmetric(t, s), true, true);
  return divide_lower(t, l, s, false, false);
}

/* L phi(L^-1 tx L'^-1) */
Tensor *cholesky_push(Tape *t, Tensor *tx) {
  Tensor *l = as_lower(t, tape_saved(t, SAVED_R));
  Tensor *m = divide_lower(t, l, symmetric(t, tx), true, false);
  m = divide_lower(t, l, m, false, true);
  return as_lower(t, MM(l, phi(t, m)));
}

/* ---- qr: x = Q R ---- */

/* Positions of an axis from `first` on, `count` of them. */
static Tensor *narrow(Tape *t, Tensor *x, int dim, int64_t first,
                      int64_t count) {
  if (t->status != OK) return NULL;
  Args a = tape_args(OP_narrow);
  a.at[0] = arg_tensor(x);
  a.at[1] = arg_integer(dim);
  a.at[2] = arg_integer(first);
  a.at[3] = arg_integer(count);
  return tape_call(t, OP_narrow, &a);
}

static Tensor *join(Tape *t, Tensor *x, Tensor *y) {
  Tensor *const both[] = {x, y};
  if (t->status != OK) return NULL;
  Args a = tape_args(OP_cat);
  a.at[0].kind = ARG_LIST;
  a.at[0].count = 2;
  a.at[0].list = both;
  a.at[1] = arg_integer(-1);
  return tape_call(t, OP_cat, &a);
}

/* y u^-1, u upper; turned: y u'^-1. */
static Tensor *divide_upper(Tape *t, Tensor *u, Tensor *y, bool turned) {
  Args a = tape_args(OP_triangular_solve);
  a.at[0] = arg_tensor(turned ? turn(t, u) : u);
  a.at[1] = arg_tensor(y);
  a.at[UPPER_AT] = arg_integer(!turned);
  a.at[LEFT_AT] = arg_integer(false);
  return tape_call(t, OP_triangular_solve, &a);
}

/* x as [a | b], a with as many columns as rows: R is then [u | w].  rows and
 * columns of x. */
typedef struct Qr {
  int64_t m, n;
  Tensor *q, *u;
} Qr;

static Qr open_qr(Tape *t) {
  const Input *in = &t->node->input[0];
  Qr k = {in->size[in->rank - 2], in->size[in->rank - 1], NULL, NULL};
  if (flag_at(t, 1) && k.m > k.n && t->status == OK)
    t->status = fail(t->c, E_NUMERIC,
                     "mode \"complete\" of more rows than columns has no "
                     "slope: the last columns of Q are any basis");
  k.q = tape_saved(t, SAVED_R);
  k.u = tape_saved(t, SAVED_R2);
  if (k.m < k.n) k.u = narrow(t, k.u, -1, 0, k.m);
  return k;
}

/* Of a = q u, from gq and gu (either may be NULL):
 * (gq + q copyltu(u gu' - gq' q)) u'^-1 */
static Tensor *qr_square_back(Tape *t, const Qr *k, Tensor *gq, Tensor *gu) {
  Tensor *m = NULL;
  if (gu != NULL) m = MM(k->u, turn(t, gu));
  if (gq != NULL) m = PLUS(m, NEG(MM(turn(t, gq), k->q)));
  m = ADD(LOWER(m, 0), turn(t, LOWER(m, -1)));
  return divide_upper(t, k->u, PLUS(gq, MM(k->q, m)), true);
}

Tensor *qr_back(Tape *t, Tensor *gq) {
  Tensor *gr = tape_cotangent(t, 1);
  const Qr k = open_qr(t);
  if (k.m >= k.n) return qr_square_back(t, &k, gq, gr);
  if (gr == NULL) {
    Tensor *ga = qr_square_back(t, &k, gq, NULL);
    Tensor *x = tape_saved(t, SAVED_X);
    return join(t, ga, tape_unary(t, OP_zeros_like,
                                  narrow(t, x, -1, k.m, k.n - k.m)));
  }
  Tensor *b = narrow(t, tape_saved(t, SAVED_X), -1, k.m, k.n - k.m);
  Tensor *gw = narrow(t, gr, -1, k.m, k.n - k.m);
  Tensor *gu = narrow(t, gr, -1, 0, k.m);
  gq = PLUS(gq, MM(b, turn(t, gw)));
  return join(t, qr_square_back(t, &k, gq, gu), MM(k.q, gw));
}

/* m = q' ta u^-1: its lower part is that of q' tq, which is skew. */
static Tensor *qr_square_push(Tape *t, const Qr *k, Tensor *ta, Tensor **tu) {
  Tensor *m = divide_upper(t, k->u, MM(turn(t, k->q), ta), false);
  *tu = MM(SUB(m, skew(t, LOWER(m, -1))), k->u);
  return divide_upper(t, k->u, SUB(ta, MM(k->q, *tu)), false);
}

Tensor *qr_push(Tape *t, Tensor *tx) {
  const Qr k = open_qr(t);
  if (k.m >= k.n) return qr_square_push(t, &k, tx, &t->also[1]);
  Tensor *tu, *b = narrow(t, tape_saved(t, SAVED_X), -1, k.m, k.n - k.m);
  Tensor *tb = narrow(t, tx, -1, k.m, k.n - k.m);
  Tensor *tq = qr_square_push(t, &k, narrow(t, tx, -1, 0, k.m), &tu);
  /* w = q' b, and q is square */
  Tensor *tw = ADD(MM(turn(t, tq), b), MM(turn(t, k.q), tb));
  t->also[1] = join(t, tu, tw);
  return tq;
}

/* ---- svd: x = U diag(s) V' ---- */

/* u {..,m,p}, s {..,p}, v {..,n,p}; `gap` 1/(s[j]^2 - s[i]^2), 0 where equal;
 * `inverse` 1/s, 0 at 0. */
typedef struct Svd {
  int64_t m, n;
  Tensor *u, *s, *v, *gap, *inverse;
} Svd;

static Svd open_svd(Tape *t) {
  const Input *in = &t->node->input[0];
  Svd k = {.m = in->size[in->rank - 2], .n = in->size[in->rank - 1]};
  if (flag_at(t, 1) && k.m != k.n && t->status == OK)
    t->status = fail(t->c, E_NUMERIC,
                     "full bases of a matrix that is not square have no "
                     "slope: their last vectors are any basis");
  k.u = tape_saved(t, SAVED_R);
  k.s = tape_saved(t, SAVED_R2);
  k.v = turn(t, tape_saved(t, SAVED_R3));
  k.gap = gaps(t, tape_unary(t, OP_square, k.s));
  k.inverse = inverse_or_0(t, k.s);
  return k;
}

/* x without its part along the columns of u: only a long side has one. */
static Tensor *across(Tape *t, Tensor *u, Tensor *x) {
  return SUB(x, MM(u, MM(turn(t, u), x)));
}

/* What gu says of the middle, U [..] V': (skew(u' gu) gap) s; for v it is s
 * (skew(v' gv) gap). */
static Tensor *middle(Tape *t, const Svd *k, Tensor *gu, Tensor *gs,
                      Tensor *gv) {
  Tensor *sum = NULL;
  if (gu != NULL)
    sum = MUL(MUL(skew(t, MM(turn(t, k->u), gu)), k->gap), ROW(k->s));
  if (gv != NULL)
    sum = PLUS(sum, MUL(MUL(skew(t, MM(turn(t, k->v), gv)), k->gap),
                        COLUMN(k->s)));
  if (gs == NULL) return sum;
  return PLUS(sum, embed(t, gs));
}

Tensor *svd_back(Tape *t, Tensor *gu) {
  Tensor *gs = tape_cotangent(t, 1), *gv = tape_cotangent(t, 2);
  const Svd k = open_svd(t);
  if (gv != NULL) gv = turn(t, gv);
  Tensor *left = MM(k.u, middle(t, &k, gu, gs, gv));
  if (gu != NULL && k.m > k.n)
    left = ADD(left, MUL(across(t, k.u, gu), ROW(k.inverse)));
  Tensor *gx = MM(left, turn(t, k.v));
  if (gv == NULL || k.n <= k.m) return gx;
  Tensor *right = MUL(across(t, k.v, gv), ROW(k.inverse));
  return ADD(gx, MM(k.u, turn(t, right)));
}

/* p = u' tx v: ts is its diagonal, tu = u (gap (p s + s p')) and so on. */
Tensor *svd_push(Tape *t, Tensor *tx) {
  const Svd k = open_svd(t);
  Tensor *xv = MM(tx, k.v), *xu = MM(turn(t, tx), k.u);
  Tensor *p = MM(turn(t, k.u), xv);
  Tensor *ps = MUL(p, ROW(k.s)), *sp = MUL(p, COLUMN(k.s));
  Tensor *tu = MM(k.u, MUL(k.gap, ADD(ps, turn(t, ps))));
  Tensor *tv = MM(k.v, MUL(k.gap, ADD(sp, turn(t, sp))));
  if (k.m > k.n)
    tu = ADD(tu, MUL(across(t, k.u, xv), ROW(k.inverse)));
  if (k.n > k.m)
    tv = ADD(tv, MUL(across(t, k.v, xu), ROW(k.inverse)));
  t->also[1] = diagonal(t, p);
  t->also[2] = turn(t, tv);
  return tu;
}

/* ---- eigh: x = V diag(l) V', x symmetric ---- */

static Tensor *eigh_sum(Tape *t, Tensor *v, Tensor *inside) {
  return symmetric(t, MM(MM(v, inside), turn(t, v)));
}

/* v (diag(gl) + (v' gv) gap) v' */
Tensor *eigh_back(Tape *t, Tensor *gl) {
  Tensor *gv = tape_cotangent(t, 1), *inside = NULL;
  Tensor *l = tape_saved(t, SAVED_R), *v = tape_saved(t, SAVED_R2);
  if (gv != NULL) inside = MUL(MM(turn(t, v), gv), gaps(t, l));
  if (gl != NULL) inside = PLUS(inside, embed(t, gl));
  return eigh_sum(t, v, inside);
}

/* p = v' tx v: tl is its diagonal, tv = v (gap p) */
Tensor *eigh_push(Tape *t, Tensor *tx) {
  Tensor *l = tape_saved(t, SAVED_R), *v = tape_saved(t, SAVED_R2);
  Tensor *p = MM(MM(turn(t, v), symmetric(t, tx)), v);
  t->also[1] = MM(v, MUL(gaps(t, l), p));
  return diagonal(t, p);
}

/* ---- values alone: the vectors are made when they are asked for ---- */

/* u diag(g) v' */
Tensor *svdvals_back(Tape *t, Tensor *g) {
  Tensor *svd[3];
  Args a = tape_args(OP_svd);
  a.at[0] = arg_tensor(tape_saved(t, SAVED_X));
  call_many(t, OP_svd, &a, svd);
  return MM(MUL(svd[0], ROW(g)), svd[2]);
}

Tensor *svdvals_push(Tape *t, Tensor *tx) {
  Tensor *svd[3];
  Args a = tape_args(OP_svd);
  a.at[0] = arg_tensor(tape_saved(t, SAVED_X));
  call_many(t, OP_svd, &a, svd);
  return diagonal(t, MM(MM(turn(t, svd[0]), tx), turn(t, svd[2])));
}

static Tensor *vectors_of(Tape *t) {
  Tensor *eigh[2];
  Args a = tape_args(OP_eigh);
  a.at[0] = arg_tensor(tape_saved(t, SAVED_X));
  a.at[1] = arg_integer(flag_at(t, 1));
  call_many(t, OP_eigh, &a, eigh);
  return eigh[1];
}

Tensor *eigvalsh_back(Tape *t, Tensor *g) {
  Tensor *v = vectors_of(t);
  return MM(MUL(v, ROW(g)), turn(t, v));
}

Tensor *eigvalsh_push(Tape *t, Tensor *tx) {
  Tensor *v = vectors_of(t);
  return diagonal(t, MM(MM(turn(t, v), symmetric(t, tx)), v));
}

/* ---- pinv: r of constant rank (Golub and Pereyra 1973, 4.12) ---- */

/* y - x r y: across what x reaches. */
static Tensor *beyond(Tape *t, Tensor *x, Tensor *r, Tensor *y) {
  return SUB(y, MM(x, MM(r, y)));
}

/* -r' g r' + (1 - x r) g' r r' + r' r g' (1 - r x) */
Tensor *pinv_back(Tape *t, Tensor *g) {
  Tensor *x = tape_saved(t, SAVED_X), *r = tape_saved(t, SAVED_R);
  Tensor *xt = turn(t, x), *rt = turn(t, r), *gt = turn(t, g);
  Tensor *first = NEG(MM(MM(rt, g), rt));
  Tensor *second = MM(MM(beyond(t, x, r, gt), r), rt);
  /* g' (1 - r x) is (1 - x' r') g, turned. */
  Tensor *third = MM(rt, MM(r, turn(t, beyond(t, xt, rt, g))));
  return ADD(ADD(first, second), third);
}

/* -r tx r + r r' tx' (1 - x r) + (1 - r x) tx' r' r */
Tensor *pinv_push(Tape *t, Tensor *tx) {
  Tensor *x = tape_saved(t, SAVED_X), *r = tape_saved(t, SAVED_R);
  Tensor *xt = turn(t, x), *rt = turn(t, r), *txt = turn(t, tx);
  Tensor *first = NEG(MM(MM(r, tx), r));
  Tensor *second = MM(r, MM(rt, turn(t, beyond(t, rt, xt, tx))));
  Tensor *third = MM(MM(beyond(t, r, x, txt), rt), r);
  return ADD(ADD(first, second), third);
}
