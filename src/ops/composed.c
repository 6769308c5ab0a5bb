/* composed.c: ops written in rows; their derivative follows from the rows.
 *
 * These functions run through op_call, so each row records itself.
 */
#include "ops/run.h"

/* ---- extremes ---- */

static Status extreme(Context *c, OpId over_dim, OpId over_all, Args *a,
                      Tensor **r) {
  if (a->at[1].kind != ARG_NONE) return op_call(c, over_dim, a, r);
  return op_call(c, over_all, a, r);
}

Status run_max(Context *c, Args *a, Tensor **r) {
  return extreme(c, OP_max_dim, OP_amax, a, r);
}

Status run_min(Context *c, Args *a, Tensor **r) {
  return extreme(c, OP_min_dim, OP_amin, a, r);
}

/* ---- shape ---- */

Status run_flatten(Context *c, Args *a, Tensor **r) {
  Tensor *x = a->at[0].tensor;
  int64_t size[MAX_RANK];
  int first = 0, last = 0, rank = 0;
  const int axes = x->shape.rank;
  Status s =
      check_dim(c, "first", args_integer(OP_flatten, a, 1), axes, x, &first);
  if (s == OK)
    s = check_dim(c, "last", args_integer(OP_flatten, a, 2), axes, x, &last);
  if (s != OK) return s;
  if (first > last)
    return fail(c, E_DIM, "first %P comes after %A %P", (int64_t)first, "last",
                (int64_t)last);
  for (int i = 0; i < first; i++) size[rank++] = x->shape.size[i];
  size[rank] = 1;
  for (int i = first; i <= last && i < axes; i++)
    size[rank] *= x->shape.size[i];
  rank++;
  for (int i = last + 1; i < axes; i++) size[rank++] = x->shape.size[i];
  return op_reshape(c, x, rank, size, &r[0]);
}

Status run_t(Context *c, Args *a, Tensor **r) {
  Tensor *x = a->at[0].tensor;
  const Status s = check_rank(c, "self", x, 0, 2);
  if (s != OK) return s;
  if (x->shape.rank == 2) return op_transpose(c, x, 0, 1, &r[0]);
  r[0] = tensor_share(x);
  return OK;
}

Status run_stack(Context *c, Args *a, Tensor **r) {
  const Arg *list = &a->at[0];
  int dim = 0, made = 0;
  if (list->count == 0)
    return fail(c, E_EMPTY, "%A is an empty list", "tensors");
  Tensor *first = list->list[0];
  Status s = check_dim(c, "dim", args_integer(OP_stack, a, 1),
                       first->shape.rank + 1, first, &dim);
  if (s != OK) return s;
  const size_t bytes = (size_t)list->count * sizeof(Tensor *);
  Tensor **slices = ledger_alloc(&c->ledger, bytes);
  if (slices == NULL) return fail(c, E_MEMORY, "out of memory");
  for (; made < list->count && s == OK; made++) {
    Tensor *t = list->list[made];
    Args one;
    one.at[0] = arg_tensor(t);
    one.at[1] = arg_integer(dim);
    slices[made] = NULL;
    if (!shape_same(&t->shape, &first->shape))
      s = fail(c, E_SHAPE, "%A[%P] is %S and the first is %S", "tensors",
               (int64_t)made, SHAPE_ARG(&t->shape), SHAPE_ARG(&first->shape));
    else
      s = op_call(c, OP_unsqueeze, &one, &slices[made]);
  }
  if (s == OK) {
    Args joined;
    joined.at[0] = *list;
    joined.at[0].list = slices;
    joined.at[1] = arg_integer(dim);
    s = op_call(c, OP_cat, &joined, r);
  }
  for (int i = 0; i < made; i++) tensor_release(c, slices[i]);
  ledger_free(&c->ledger, slices, bytes);
  return s;
}

/* ---- activations and products ---- */

Status run_gelu(Context *c, Args *a, Tensor **r) {
  const bool approximates = args_integer(OP_gelu, a, 1) == 1;
  return op_unary(c, approximates ? OP_gelu_tanh : OP_gelu_erf,
                  a->at[0].tensor, &r[0]);
}

/* x (.., in), w (out, in) */
static Status check_inputs(Context *c, const Tensor *x, const Tensor *w) {
  const Status s = check_rank(c, "self", x, 1, MAX_RANK);
  const int last = x->shape.rank - 1;
  if (s != OK || x->shape.size[last] == w->shape.size[1]) return s;
  return fail(c, E_SHAPE,
              "self %S and %A %S: self dim %P is %I, weight dim %P is %I",
              SHAPE_ARG(&x->shape), "weight", SHAPE_ARG(&w->shape),
              (int64_t)last, x->shape.size[last], (int64_t)1,
              w->shape.size[1]);
}

Status run_linear(Context *c, Args *a, Tensor **r) {
  Tensor *w = a->at[1].tensor, *turned = NULL, *product = NULL;
  Status s = check_rank(c, "weight", w, 2, 2);
  if (s == OK) s = check_inputs(c, a->at[0].tensor, w);
  if (s == OK && a->at[2].kind == ARG_TENSOR) {
    const Tensor *bias = a->at[2].tensor;
    s = check_rank(c, "bias", bias, 1, 1);
    if (s == OK) s = check_same_dtype(c, "weight", w, "bias", bias);
    if (s == OK && bias->shape.size[0] != w->shape.size[0])
      s = fail(c, E_SHAPE, "weight %S makes %I outputs and %A is %S",
               SHAPE_ARG(&w->shape), w->shape.size[0], "bias",
               SHAPE_ARG(&bias->shape));
  }
  if (s == OK) s = op_transpose(c, w, 0, 1, &turned);
  if (s == OK) s = op_binary(c, OP_matmul, a->at[0].tensor, turned, &product);
  if (s == OK && a->at[2].kind == ARG_TENSOR)
    s = op_binary(c, OP_add, product, a->at[2].tensor, &r[0]);
  else if (s == OK)
    r[0] = tensor_share(product);
  tensor_release(c, turned);
  tensor_release(c, product);
  return s;
}

Status run_mv(Context *c, Args *a, Tensor **r) {
  Status s = check_rank(c, "self", a->at[0].tensor, 2, 2);
  if (s == OK) s = check_rank(c, "vector", a->at[1].tensor, 1, 1);
  if (s != OK) return s;
  return op_binary(c, OP_matmul, a->at[0].tensor, a->at[1].tensor, &r[0]);
}

Status run_dot(Context *c, Args *a, Tensor **r) {
  Tensor *x = a->at[0].tensor, *y = a->at[1].tensor;
  Status s = check_rank(c, "self", x, 1, 1);
  if (s == OK) s = check_rank(c, "other", y, 1, 1);
  if (s == OK) s = check_same_shape(c, "self", x, "other", y);
  return s != OK ? s : op_binary(c, OP_matmul, x, y, &r[0]);
}

Status run_outer(Context *c, Args *a, Tensor **r) {
  Tensor *x = a->at[0].tensor, *y = a->at[1].tensor, *column = NULL;
  Status s = check_rank(c, "self", x, 1, 1);
  if (s == OK) s = check_rank(c, "other", y, 1, 1);
  if (s == OK) s = check_same_dtype(c, "self", x, "other", y);
  const int64_t size[] = {x->count, 1};
  if (s == OK) s = op_reshape(c, x, 2, size, &column);
  if (s == OK) s = op_binary(c, OP_mul, column, y, &r[0]);
  tensor_release(c, column);
  return s;
}
