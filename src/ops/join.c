/* join.c: tensors side by side, as blocks, as all their pairs; written in cat,
 * place and meshgrid.
 *
 * Must not know: kernels, derivatives.
 */
#include "ops/run.h"

/* ---- along the first axes ---- */

/* The sizes of t seen with at least `rank` axes. */
static int widened(const Tensor *t, int rank, int64_t size[MAX_RANK]) {
  const int64_t *s = t->shape.size;
  if (t->shape.rank >= rank) {
    for (int i = 0; i < t->shape.rank; i++) size[i] = s[i];
    return t->shape.rank;
  }
  for (int i = 0; i < rank; i++) size[i] = 1;
  if (t->shape.rank == 1) size[rank > 1] = s[0]; /* a row */
  if (t->shape.rank == 2) size[0] = s[0], size[1] = s[1];
  return rank;
}

/* Each as one of at least `rank` axes, joined along `dim`. */
static Status stack_along(Context *c, const Arg *tensors, int rank, int dim,
                          Tensor **r) {
  TensorList wide = {0};
  int64_t size[MAX_RANK];
  if (tensors->count == 0)
    return fail(c, E_EMPTY, "%A is an empty list", "tensors");
  Status s = list_open(c, tensors->count, &wide);
  for (int i = 0; i < wide.count && s == OK; i++) {
    const int axes = widened(tensors->list[i], rank, size);
    s = op_reshape(c, tensors->list[i], axes, size, &wide.at[i]);
  }
  if (s == OK) {
    Args a;
    a.at[0] = *tensors;
    a.at[0].list = wide.at;
    a.at[1] = arg_integer(dim);
    s = op_call(c, OP_cat, &a, r);
  }
  list_release(c, &wide);
  return s;
}

Status run_hstack(Context *c, Args *a, Tensor **r) {
  const Arg *list = &a->at[0];
  const bool is_line = list->count > 0 && list->list[0]->shape.rank <= 1;
  return stack_along(c, list, 1, is_line ? 0 : 1, r);
}

Status run_vstack(Context *c, Args *a, Tensor **r) {
  return stack_along(c, &a->at[0], 2, 0, r);
}

Status run_dstack(Context *c, Args *a, Tensor **r) {
  return stack_along(c, &a->at[0], 3, 2, r);
}

/* ---- blocks ---- */

/* A matrix with zeros beside it, `width` columns in all. */
static Status block_row(Context *c, Tensor *t, int64_t width, int64_t first,
                        Tensor **r) {
  int64_t size[MAX_RANK];
  Tensor *matrix = NULL;
  Status s = op_reshape(c, t, widened(t, 2, size), size, &matrix);
  size[1] = width;
  if (s == OK) {
    Args a;
    a.at[0] = arg_tensor(matrix);
    a.at[1] = arg_sizes(2, size);
    a.at[2] = arg_integer(1);
    a.at[3] = arg_integer(first);
    a.at[4] = arg_integer(1);
    s = op_call(c, OP_place, &a, r);
  }
  tensor_release(c, matrix);
  return s;
}

static Status block_width(Context *c, const Arg *tensors, int64_t *width) {
  *width = 0;
  if (tensors->count == 0)
    return fail(c, E_EMPTY, "%A is an empty list", "tensors");
  for (int i = 0; i < tensors->count; i++) {
    const Shape *s = &tensors->list[i]->shape;
    if (s->rank > 2)
      return fail(c, E_RANK, "%A[%P] %S must have rank 0 to 2", "tensors",
                  (int64_t)i, SHAPE_ARG(s));
    *width += s->rank == 0 ? 1 : s->size[s->rank - 1];
  }
  return OK;
}

Status run_block_diag(Context *c, Args *a, Tensor **r) {
  const Arg *tensors = &a->at[0];
  TensorList rows = {0};
  int64_t width, first = 0;
  Status s = block_width(c, tensors, &width);
  if (s == OK) s = list_open(c, tensors->count, &rows);
  for (int i = 0; i < rows.count && s == OK; i++) {
    Tensor *t = tensors->list[i];
    s = block_row(c, t, width, first, &rows.at[i]);
    first += t->shape.rank == 0 ? 1 : t->shape.size[t->shape.rank - 1];
  }
  if (s == OK) {
    Args join;
    join.at[0] = *tensors;
    join.at[0].list = rows.at;
    join.at[1] = arg_integer(0);
    s = op_call(c, OP_cat, &join, r);
  }
  list_release(c, &rows);
  return s;
}

/* ---- all pairs ---- */

Status run_cartesian_prod(Context *c, Args *a, Tensor **r) {
  const Arg *tensors = &a->at[0];
  const int64_t all = -1;
  TensorList grid = {0}, lines = {0};
  Args mesh;
  for (int i = 0; i < tensors->count; i++) {
    const Status s = check_rank(c, "tensors", tensors->list[i], 1, 1);
    if (s != OK) return s;
  }
  if (tensors->count == 1)
    return op_unary(c, OP_clone, tensors->list[0], &r[0]);
  mesh.at[0] = *tensors;
  mesh.at[1].kind = ARG_NONE;
  Status s = op_call_list(c, OP_meshgrid, &mesh, &grid);
  if (s == OK) s = list_open(c, grid.count, &lines);
  for (int i = 0; i < lines.count && s == OK; i++)
    s = op_reshape(c, grid.at[i], 1, &all, &lines.at[i]);
  if (s == OK) {
    Args stack;
    stack.at[0] = *tensors;
    stack.at[0].list = lines.at;
    stack.at[1] = arg_integer(1);
    s = op_call(c, OP_stack, &stack, r);
  }
  list_release(c, &grid);
  list_release(c, &lines);
  return s;
}
