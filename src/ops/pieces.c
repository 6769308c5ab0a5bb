/* pieces.c: rows that give a list of views.
 *
 * Written in rows: each piece records itself.
 * Must not know: derivatives, how a list reaches the caller.
 */
#include "ops/run.h"

/* ---- parts of an axis ---- */

static Status axis_of(Context *c, const Tensor *x, int64_t raw, int *dim) {
  if (x->shape.rank == 0)
    return fail(c, E_RANK, "%A has rank 0 and no dim", "self");
  return check_dim(c, "dim", raw, x->shape.rank, x, dim);
}

static Status narrow_at(Context *c, Tensor *x, int dim, int64_t first,
                        int64_t length, Tensor **r) {
  Args a;
  a.at[0] = arg_tensor(x);
  a.at[1] = arg_integer(dim);
  a.at[2] = arg_integer(first);
  a.at[3] = arg_integer(length);
  return op_call(c, OP_narrow, &a, r);
}

static Status check_count(Context *c, const char *name, int64_t n) {
  if (n >= 1) return OK;
  return fail(c, E_RANGE, "%A is %I; 1 or more is due", name, n);
}

/* Pieces of `length` positions each, the last one shorter; one empty piece of
 * an empty axis. */
static Status equal_pieces(Context *c, Tensor *x, int dim, int64_t length,
                           TensorList *list) {
  const int64_t size = x->shape.size[dim];
  const int64_t count = max_i64(1, ceil_div(size, length));
  if (count > INT32_MAX)
    return fail(c, E_SIZE, "%I pieces are too many", count);
  Status s = list_open(c, (int)count, list);
  for (int64_t i = 0; i < count && s == OK; i++)
    s = narrow_at(c, x, dim, i * length, min_i64(length, size - i * length),
                  &list->at[i]);
  return s;
}

static Status check_parts(Context *c, const Tensor *x, int dim,
                          const Arg *sizes) {
  const int64_t size = x->shape.size[dim];
  int64_t sum = 0;
  for (int i = 0; i < sizes->count && sum >= 0; i++) {
    const int64_t part = sizes->wholes[i];
    sum = part < 0 || part > size - sum ? -1 : sum + part;
  }
  if (sum == size) return OK;
  return fail(c, E_SIZE, "the sizes do not add up to %I, dim %P of self %S",
              size, (int64_t)dim, SHAPE_ARG(&x->shape));
}

static Status sized_pieces(Context *c, Tensor *x, int dim, const Arg *sizes,
                           TensorList *list) {
  Status s = check_parts(c, x, dim, sizes);
  if (s == OK) s = list_open(c, sizes->count, list);
  int64_t first = 0;
  for (int i = 0; i < sizes->count && s == OK; i++) {
    s = narrow_at(c, x, dim, first, sizes->wholes[i], &list->at[i]);
    first += sizes->wholes[i];
  }
  return s;
}

Status run_split(Context *c, Args *a, TensorList *list) {
  Tensor *x = a->at[0].tensor;
  const Arg *size = &a->at[1];
  int dim = 0;
  Status s = axis_of(c, x, args_integer(OP_split, a, 2), &dim);
  if (s != OK) return s;
  if (size->kind == ARG_WHOLES) return sized_pieces(c, x, dim, size, list);
  s = check_count(c, "size", size->integer);
  return s != OK ? s : equal_pieces(c, x, dim, size->integer, list);
}

Status run_chunk(Context *c, Args *a, TensorList *list) {
  Tensor *x = a->at[0].tensor;
  const int64_t n = a->at[1].integer;
  int dim = 0;
  Status s = axis_of(c, x, args_integer(OP_chunk, a, 2), &dim);
  if (s == OK) s = check_count(c, "chunks", n);
  if (s != OK) return s;
  const int64_t length = max_i64(1, ceil_div(x->shape.size[dim], n));
  return equal_pieces(c, x, dim, length, list);
}

Status run_unbind(Context *c, Args *a, TensorList *list) {
  Tensor *x = a->at[0].tensor;
  int dim = 0;
  Status s = axis_of(c, x, args_integer(OP_unbind, a, 1), &dim);
  if (s != OK) return s;
  const int64_t size = x->shape.size[dim];
  if (size > INT32_MAX) return fail(c, E_SIZE, "%I pieces are too many", size);
  s = list_open(c, (int)size, list);
  for (int64_t i = 0; i < size && s == OK; i++) {
    Args one;
    one.at[0] = arg_tensor(x);
    one.at[1] = arg_integer(dim);
    one.at[2] = arg_integer(i);
    s = op_call(c, OP_select, &one, &list->at[i]);
  }
  return s;
}

/* ---- meshgrid ---- */

/* The axis along which tensor i of a grid varies. */
static int grid_axis(int i, int count, bool swaps) {
  return swaps && count > 1 && i < 2 ? 1 - i : i;
}

static Status grid_sizes(Context *c, const Arg *tensors, bool swaps,
                         int64_t *size) {
  const int n = tensors->count;
  if (n == 0) return fail(c, E_EMPTY, "%A is an empty list", "tensors");
  if (n > MAX_RANK)
    return fail(c, E_RANK, "%d %A would make as many dims; %d is the most", n,
                "tensors", (int)MAX_RANK);
  for (int i = 0; i < n; i++) {
    const Tensor *t = tensors->list[i];
    if (t->shape.rank > 1)
      return fail(c, E_RANK, "%A[%P] %S must have rank 0 or 1", "tensors",
                  (int64_t)i, SHAPE_ARG(&t->shape));
    size[grid_axis(i, n, swaps)] = t->count;
  }
  return OK;
}

/* x along `axis` of a grid of these sizes. */
static Status grid_of(Context *c, Tensor *x, int axis, int rank,
                      const int64_t *size, Tensor **r) {
  int64_t line[MAX_RANK];
  Tensor *turned = NULL;
  for (int i = 0; i < rank; i++) line[i] = i == axis ? x->count : 1;
  Status s = op_reshape(c, x, rank, line, &turned);
  if (s == OK) s = op_expand(c, turned, rank, size, r);
  tensor_release(c, turned);
  return s;
}

Status run_meshgrid(Context *c, Args *a, TensorList *list) {
  const Arg *tensors = &a->at[0];
  const bool swaps = args_integer(OP_meshgrid, a, 1) == 1;
  const int n = tensors->count;
  int64_t size[MAX_RANK];
  Status s = grid_sizes(c, tensors, swaps, size);
  if (s == OK) s = list_open(c, n, list);
  for (int i = 0; i < n && s == OK; i++)
    s = grid_of(c, tensors->list[i], grid_axis(i, n, swaps), n, size,
                &list->at[i]);
  return s;
}
