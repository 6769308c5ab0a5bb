/* algebra.c: products that are made of other rows, so that their derivative
 * follows; and of pairs of einsum where only labels differ.
 *
 * Must not know: kernels.
 */
#include <string.h>

#include "ops/einsum.h"

static Status check_operands(Context *c, const Tensor *x, const Tensor *y) {
  const Status s = check_same_device(c, "self", x, "other", y);
  return s != OK ? s : check_same_dtype(c, "self", x, "other", y);
}

/* Takes *x over and gives it times a number. */
static Status scale(Context *c, OpId op, const Args *a, int k, Tensor **x) {
  Tensor *made = NULL;
  const double factor = args_number(op, a, k);
  if (factor == 1) return OK;
  const Status s = op_with_number(c, OP_mul, *x, factor, &made);
  if (s != OK) return s;
  tensor_release(c, *x);
  *x = made;
  return OK;
}

/* ---- addmm, baddbmm: beta self + alpha mat1 mat2 ---- */

enum { ALPHA = 3, BETA = 4 };

static Status check_matrices(Context *c, const Args *a, int rank) {
  const Tensor *x = a->at[0].tensor;
  const Tensor *m = a->at[1].tensor, *n = a->at[2].tensor;
  Status s = check_rank(c, "mat1", m, rank, rank);
  if (s == OK) s = check_rank(c, "mat2", n, rank, rank);
  if (s == OK) s = check_same_dtype(c, "self", x, "mat1", m);
  if (s == OK) s = check_same_dtype(c, "self", x, "mat2", n);
  if (s != OK) return s;
  const bool is_one = m->shape.size[rank - 1] == n->shape.size[rank - 2] &&
                      (rank == 2 || m->shape.size[0] == n->shape.size[0]);
  if (!is_one)
    return fail(c, E_SHAPE, "mat1 %S and %A %S have no product",
                SHAPE_ARG(&m->shape), "mat2", SHAPE_ARG(&n->shape));
  Shape to = n->shape, seen;
  to.size[rank - 2] = m->shape.size[rank - 2];
  if (shape_expand(&x->shape, &to, &seen)) return OK;
  return fail(c, E_SHAPE, "%A %S does not broadcast to the product %S", "self",
              SHAPE_ARG(&x->shape), SHAPE_ARG(&to));
}

/* A beta of 0 leaves self unread, NaN and all. */
static Status add_product(Context *c, OpId op, const Args *a, int rank,
                          Tensor **r) {
  Tensor *x = tensor_share(a->at[0].tensor), *product = NULL;
  Status s = check_matrices(c, a, rank);
  if (s == OK)
    s = op_binary(c, OP_matmul, a->at[1].tensor, a->at[2].tensor, &product);
  if (s == OK) s = scale(c, op, a, ALPHA, &product);
  if (s == OK) s = scale(c, op, a, BETA, &x);
  if (s == OK && args_number(op, a, BETA) == 0)
    r[0] = tensor_share(product);
  else if (s == OK)
    s = op_binary(c, OP_add, product, x, &r[0]);
  tensor_release(c, x);
  tensor_release(c, product);
  return s;
}

Status run_addmm(Context *c, Args *a, Tensor **r) {
  return add_product(c, OP_addmm, a, 2, r);
}

Status run_baddbmm(Context *c, Args *a, Tensor **r) {
  return add_product(c, OP_baddbmm, a, 3, r);
}

/* ---- tensordot, inner ---- */

/* x by labels from 0 on; those of size 1 blank. */
static Term labelled(const Tensor *x, int first) {
  Term t = {.dots = -1};
  for (int i = 0; i < x->shape.rank; i++)
    term_add(&t, x->shape.size[i] == 1 ? BLANK : first + i);
  return t;
}

/* Sums over the axes that are gone; those that are left, of x and then of y,
 * are the result's. */
static Status sum_over(Context *c, Tensor *x, const bool *x_gone, Tensor *y,
                       const bool *y_gone, const Term *tx, const Term *ty,
                       Tensor **r) {
  Term out = {.dots = -1};
  int rank = 0;
  for (int i = 0; i < x->shape.rank; i++) rank += !x_gone[i];
  for (int i = 0; i < y->shape.rank; i++) rank += !y_gone[i];
  if (rank > MAX_RANK)
    return fail(c, E_RANK, "self %S and %A %S leave %d axes; %d is the most",
                SHAPE_ARG(&x->shape), "other", SHAPE_ARG(&y->shape), rank,
                (int)MAX_RANK);
  for (int i = 0; i < x->shape.rank; i++)
    if (!x_gone[i]) term_add(&out, tx->label[i]);
  for (int i = 0; i < y->shape.rank; i++)
    if (!y_gone[i]) term_add(&out, ty->label[i]);
  return einsum_pair(c, x, tx, y, ty, &out, r);
}

/* Dim i of self meets dim j of other: neither has met another, and sizes are
 * equal.  y takes the label of x. */
static Status join(Context *c, const Tensor *x, int i, bool *x_gone,
                   const Term *tx, const Tensor *y, int j, bool *y_gone,
                   Term *ty) {
  if (x_gone[i] || y_gone[j])
    return fail(c, E_DUPLICATE, "dim %P of %A is named twice",
                (int64_t)(x_gone[i] ? i : j), x_gone[i] ? "self" : "other");
  if (x->shape.size[i] != y->shape.size[j])
    return fail(c, E_SHAPE,
                "self %S and %A %S: self dim %P is %I, other dim %P is %I",
                SHAPE_ARG(&x->shape), "other", SHAPE_ARG(&y->shape),
                (int64_t)i, x->shape.size[i], (int64_t)j, y->shape.size[j]);
  x_gone[i] = y_gone[j] = true;
  if (ty->label[j] == BLANK) return OK;
  ty->labels &= ~label_bit(ty->label[j]);
  ty->label[j] = tx->label[i];
  ty->labels |= label_bit(ty->label[j]);
  return OK;
}

/* How many pairs of dims there are, if they are a count or two equal lists. */
static Status count_pairs(Context *c, const Args *a, int *count) {
  const Arg *dims = &a->at[2];
  const int x = a->at[0].tensor->shape.rank, y = a->at[1].tensor->shape.rank;
  const bool is_list = dims->kind == ARG_WHOLES;
  const int64_t n =
      is_list ? dims->count / 2 : args_integer(OP_tensordot, a, 2);
  if (is_list && dims->count % 2 != 0)
    return fail(c, E_SIZE, "%A are %d: as many of self as of other are due",
                "dims", dims->count);
  if (n < 0 || n > min_i64(x, y))
    return fail(c, E_RANK, "%I %A of self %S and other %S", n, "dims",
                SHAPE_ARG(&a->at[0].tensor->shape),
                SHAPE_ARG(&a->at[1].tensor->shape));
  *count = (int)n;
  return OK;
}

Status run_tensordot(Context *c, Args *a, Tensor **r) {
  Tensor *x = a->at[0].tensor, *y = a->at[1].tensor;
  const Arg *dims = &a->at[2];
  const bool is_list = dims->kind == ARG_WHOLES;
  const int rank = x->shape.rank;
  bool x_gone[MAX_RANK] = {false}, y_gone[MAX_RANK] = {false};
  const Term tx = labelled(x, 0);
  Term ty = labelled(y, MAX_RANK);
  int count = 0;
  Status s = check_operands(c, x, y);
  if (s == OK) s = count_pairs(c, a, &count);
  for (int k = 0; k < count && s == OK; k++) {
    int i = rank - count + k, j = k;
    if (is_list) s = check_dim(c, "dim", dims->wholes[k], rank, x, &i);
    if (s == OK && is_list)
      s = check_dim(c, "dim", dims->wholes[count + k], y->shape.rank, y, &j);
    if (s == OK) s = join(c, x, i, x_gone, &tx, y, j, y_gone, &ty);
  }
  return s != OK ? s : sum_over(c, x, x_gone, y, y_gone, &tx, &ty, &r[0]);
}

Status run_inner(Context *c, Args *a, Tensor **r) {
  Tensor *x = a->at[0].tensor, *y = a->at[1].tensor;
  const int i = x->shape.rank - 1, j = y->shape.rank - 1;
  bool x_gone[MAX_RANK] = {false}, y_gone[MAX_RANK] = {false};
  const Term tx = labelled(x, 0);
  Term ty = labelled(y, MAX_RANK);
  Status s = check_operands(c, x, y);
  if (s == OK && (i < 0 || j < 0)) return op_binary(c, OP_mul, x, y, &r[0]);
  if (s == OK) s = join(c, x, i, x_gone, &tx, y, j, y_gone, &ty);
  return s != OK ? s : sum_over(c, x, x_gone, y, y_gone, &tx, &ty, &r[0]);
}

/* ---- kron ---- */

/* x (n1, n2, ..) seen as (n1, 1, n2, 1, ..), or (1, n1, 1, n2, ..). */
static Status spread(Context *c, Tensor *x, int rank, int place, Tensor **r) {
  int64_t size[MAX_RANK];
  const int more = rank - x->shape.rank;
  for (int i = 0; i < rank; i++) {
    size[2 * i + place] = i < more ? 1 : x->shape.size[i - more];
    size[2 * i + 1 - place] = 1;
  }
  return op_reshape(c, x, 2 * rank, size, r);
}

Status run_kron(Context *c, Args *a, Tensor **r) {
  Tensor *x = a->at[0].tensor, *y = a->at[1].tensor;
  Tensor *left = NULL, *right = NULL, *product = NULL;
  const int rank = (int)max_i64(x->shape.rank, y->shape.rank);
  int64_t size[MAX_RANK];
  Status s = check_operands(c, x, y);
  if (s == OK) s = check_rank(c, "self", x, 0, MAX_RANK / 2);
  if (s == OK) s = check_rank(c, "other", y, 0, MAX_RANK / 2);
  if (s == OK) s = spread(c, x, rank, 0, &left);
  if (s == OK) s = spread(c, y, rank, 1, &right);
  if (s == OK) s = op_binary(c, OP_mul, left, right, &product);
  for (int i = 0; i < rank && s == OK; i++)
    size[i] = product->shape.size[2 * i] * product->shape.size[2 * i + 1];
  if (s == OK) s = op_reshape(c, product, rank, size, &r[0]);
  tensor_release(c, left);
  tensor_release(c, right);
  tensor_release(c, product);
  return s;
}

/* ---- cross ---- */

/* *r[i] = x[i + 1] along dim, which counts from the end. */
static Status next_along(Context *c, Tensor *x, int dim, Tensor **r) {
  const int64_t dims[] = {dim};
  Args a;
  a.at[0] = arg_tensor(x);
  a.at[1] = arg_integer(-1);
  a.at[2] = arg_sizes(1, dims);
  return op_call(c, OP_roll, &a, r);
}

static Status check_threes(Context *c, const Args *a, int *from_end) {
  const Tensor *x = a->at[0].tensor, *y = a->at[1].tensor;
  const int64_t raw = args_integer(OP_cross, a, 2);
  int i = 0, j = 0;
  Status s = check_operands(c, x, y);
  if (s == OK) s = check_rank(c, "self", x, 1, MAX_RANK);
  if (s == OK) s = check_rank(c, "other", y, 1, MAX_RANK);
  if (s == OK) s = check_dim(c, "dim", raw, x->shape.rank, x, &i);
  if (s == OK) s = check_dim(c, "dim", raw, y->shape.rank, y, &j);
  if (s != OK) return s;
  *from_end = i - x->shape.rank;
  if (j - y->shape.rank == *from_end && x->shape.size[i] == 3 &&
      y->shape.size[j] == 3)
    return OK;
  return fail(c, E_SHAPE,
              "self %S and %A %S: dim %P must be the same axis, of size 3",
              SHAPE_ARG(&x->shape), "other", SHAPE_ARG(&y->shape),
              (int64_t)i);
}

/* x[i] y[i+1] - x[i+1] y[i] is element i - 1 of the result. */
Status run_cross(Context *c, Args *a, Tensor **r) {
  Tensor *x = a->at[0].tensor, *y = a->at[1].tensor;
  Tensor *x1 = NULL, *y1 = NULL, *plus = NULL, *minus = NULL, *turned = NULL;
  int dim = 0;
  Status s = check_threes(c, a, &dim);
  if (s != OK) return s;
  s = next_along(c, x, dim, &x1);
  if (s == OK) s = next_along(c, y, dim, &y1);
  if (s == OK) s = op_binary(c, OP_mul, x, y1, &plus);
  if (s == OK) s = op_binary(c, OP_mul, x1, y, &minus);
  if (s == OK) s = op_binary(c, OP_sub, plus, minus, &turned);
  if (s == OK) s = next_along(c, turned, dim, &r[0]);
  tensor_release(c, x1);
  tensor_release(c, y1);
  tensor_release(c, plus);
  tensor_release(c, minus);
  tensor_release(c, turned);
  return s;
}

/* ---- products of several ---- */

static Status call_einsum(Context *c, const char *equation, int count,
                          Tensor *const *list, Tensor **r) {
  Args a;
  a.at[0].kind = ARG_TEXT;
  a.at[0].text = equation;
  a.at[1].kind = ARG_LIST;
  a.at[1].count = count;
  a.at[1].list = list;
  return op_call(c, OP_einsum, &a, r);
}

Status run_bilinear(Context *c, Args *a, Tensor **r) {
  Tensor *list[] = {a->at[0].tensor, a->at[2].tensor, a->at[1].tensor};
  const Tensor *x = list[0], *w = list[1], *y = list[2];
  Tensor *product = NULL;
  Status s = check_rank(c, "weight", w, 3, 3);
  if (s == OK) s = check_rank(c, "self", x, 1, MAX_RANK);
  if (s == OK) s = check_rank(c, "other", y, 1, MAX_RANK);
  if (s == OK && (w->shape.size[1] != x->shape.size[x->shape.rank - 1] ||
                  w->shape.size[2] != y->shape.size[y->shape.rank - 1]))
    s = fail(c, E_SHAPE, "%A %S takes %I and %I features: self is %S, other %S",
             "weight", SHAPE_ARG(&w->shape), w->shape.size[1],
             w->shape.size[2], SHAPE_ARG(&x->shape), SHAPE_ARG(&y->shape));
  if (s == OK) s = call_einsum(c, "...i,oij,...j->...o", 3, list, &product);
  if (s == OK && a->at[3].kind == ARG_TENSOR) {
    const Tensor *bias = a->at[3].tensor;
    s = check_rank(c, "bias", bias, 1, 1);
    if (s == OK) s = check_same_dtype(c, "weight", w, "bias", bias);
    if (s == OK && bias->shape.size[0] != w->shape.size[0])
      s = fail(c, E_SHAPE, "weight %S makes %I outputs and %A is %S",
               SHAPE_ARG(&w->shape), w->shape.size[0], "bias",
               SHAPE_ARG(&bias->shape));
    if (s == OK) s = op_binary(c, OP_add, product, a->at[3].tensor, &r[0]);
  } else if (s == OK) {
    r[0] = tensor_share(product);
  }
  tensor_release(c, product);
  return s;
}

/* Matrix k meets the next one; the first and the last may be vectors. */
static Status check_link(Context *c, Tensor *const *list, int count, int k) {
  const Tensor *x = list[k];
  const int least = k == 0 || k == count - 1 ? 1 : 2;
  const Status s = check_rank(c, "tensors", x, least, 2);
  if (s != OK || k == 0) return s;
  const Shape *before = &list[k - 1]->shape;
  if (before->size[before->rank - 1] == x->shape.size[0]) return OK;
  return fail(c, E_SHAPE, "tensors[%P] %S and %A[%P] %S have no product",
              (int64_t)(k - 1), SHAPE_ARG(before), "tensors", (int64_t)k,
              SHAPE_ARG(&x->shape));
}

/* Letter k stands between matrices k - 1 and k. */
static char chain_letter(int k) {
  return (char)(k < 26 ? 'A' + k : 'a' + (k - 26));
}

Status run_chain_matmul(Context *c, Args *a, Tensor **r) {
  char equation[3 * LETTERS + 8], *at = equation;
  const Arg *list = &a->at[0];
  const int count = list->count;
  Status s = OK;
  if (count < 1 || count >= LETTERS)
    return fail(c, E_OPERAND_COUNT, "%d %A; 1 to %d are taken", count,
                "tensors", LETTERS - 1);
  for (int k = 0; k < count && s == OK; k++) {
    s = check_link(c, list->list, count, k);
    const bool is_matrix = list->list[k]->shape.rank == 2;
    if (k > 0) *at++ = ',';
    if (is_matrix || k > 0) *at++ = chain_letter(k);
    if (is_matrix || k == 0) *at++ = chain_letter(k + 1);
  }
  if (s != OK) return s;
  if (count == 1) return op_unary(c, OP_clone, list->list[0], &r[0]);
  *at++ = '-', *at++ = '>';
  if (list->list[0]->shape.rank == 2) *at++ = chain_letter(0);
  if (list->list[count - 1]->shape.rank == 2) *at++ = chain_letter(count);
  *at = '\0';
  return call_einsum(c, equation, count, list->list, r);
}

/* ---- distances ---- */

static Status norm_along(Context *c, Tensor *x, double p, int64_t dim,
                         Tensor **r) {
  Args a;
  a.at[0] = arg_tensor(x);
  a.at[1] = arg_number(p);
  a.at[2] = arg_sizes(1, &dim);
  a.at[3].kind = ARG_NONE;
  return op_call(c, OP_norm, &a, r);
}

/* The norm of x along dim, or eps if that is greater. */
static Status bounded_norm(Context *c, Tensor *x, int64_t dim, double eps,
                           Tensor **r) {
  Tensor *norm = NULL;
  Args a;
  Status s = norm_along(c, x, 2, dim, &norm);
  a.at[0] = arg_tensor(norm);
  a.at[1] = arg_number(eps);
  a.at[2].kind = ARG_NONE;
  if (s == OK) s = op_call(c, OP_clamp, &a, r);
  tensor_release(c, norm);
  return s;
}

Status run_cosine_similarity(Context *c, Args *a, Tensor **r) {
  Tensor *x = a->at[0].tensor, *y = a->at[1].tensor;
  Tensor *product = NULL, *sum = NULL, *left = NULL, *right = NULL,
         *half = NULL;
  const double eps = args_number(OP_cosine_similarity, a, 3);
  const int64_t raw = args_integer(OP_cosine_similarity, a, 2);
  int at = 0;
  Status s = check_operands(c, x, y);
  if (s == OK) s = op_binary(c, OP_mul, x, y, &product);
  if (s == OK)
    s = check_dim(c, "dim", raw, product->shape.rank, product, &at);
  if (s == OK && product->shape.rank == 0)
    s = check_rank(c, "self", x, 1, MAX_RANK);
  if (s != OK) goto done;
  const int64_t dim = at - product->shape.rank, last = at;
  if (x->shape.rank + dim < 0 || y->shape.rank + dim < 0 ||
      x->shape.size[x->shape.rank + dim] !=
          y->shape.size[y->shape.rank + dim]) {
    s = fail(c, E_SHAPE, "self %S and %A %S differ along dim %P",
             SHAPE_ARG(&x->shape), "other", SHAPE_ARG(&y->shape), last);
    goto done;
  }
  s = op_sum(c, product, 1, &last, false, &sum);
  if (s == OK) s = bounded_norm(c, x, dim, eps, &left);
  if (s == OK) s = bounded_norm(c, y, dim, eps, &right);
  if (s == OK) s = op_binary(c, OP_div, sum, left, &half);
  if (s == OK) s = op_binary(c, OP_div, half, right, &r[0]);
done:
  tensor_release(c, product);
  tensor_release(c, sum);
  tensor_release(c, left);
  tensor_release(c, right);
  tensor_release(c, half);
  return s;
}

/* x with one more axis of size 1, which is `dim` of the result. */
static Status unsqueeze(Context *c, Tensor *x, int dim, Tensor **r) {
  Args a;
  a.at[0] = arg_tensor(x);
  a.at[1] = arg_integer(dim);
  return op_call(c, OP_unsqueeze, &a, r);
}

/* x (.., n, d), y (.., m, d) -> (.., n, m) */
Status run_cdist(Context *c, Args *a, Tensor **r) {
  Tensor *x = a->at[0].tensor, *y = a->at[1].tensor;
  Tensor *column = NULL, *row = NULL, *difference = NULL;
  const double p = args_number(OP_cdist, a, 2);
  Status s = check_operands(c, x, y);
  if (s == OK) s = check_rank(c, "self", x, 2, MAX_RANK - 1);
  if (s == OK) s = check_rank(c, "other", y, 2, MAX_RANK - 1);
  if (s != OK) return s;
  const int i = x->shape.rank - 1, j = y->shape.rank - 1;
  if (x->shape.size[i] != y->shape.size[j])
    return fail(c, E_SHAPE,
                "self %S and %A %S: self dim %P is %I, other dim %P is %I",
                SHAPE_ARG(&x->shape), "other", SHAPE_ARG(&y->shape),
                (int64_t)i, x->shape.size[i], (int64_t)j, y->shape.size[j]);
  if (!(p >= 0)) return fail(c, E_RANGE, "%A is %g; 0 or more is due", "p", p);
  s = unsqueeze(c, x, -2, &column);
  if (s == OK) s = unsqueeze(c, y, -3, &row);
  if (s == OK) s = op_binary(c, OP_sub, column, row, &difference);
  if (s == OK) s = norm_along(c, difference, p, -1, &r[0]);
  tensor_release(c, column);
  tensor_release(c, row);
  tensor_release(c, difference);
  return s;
}
