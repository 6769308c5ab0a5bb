/* arrange.c: views and copies written in other rows; their derivative follows
 * from those.
 *
 * Must not know: kernels, derivatives.
 */
#include <string.h>

#include "ops/run.h"

/* ---- axes ---- */

Status run_unflatten(Context *c, Args *a, Tensor **r) {
  Tensor *x = a->at[0].tensor;
  const Arg *sizes = &a->at[2];
  int64_t size[MAX_RANK], known = 1;
  int dim = 0, rank = 0, unknown = -1;
  Status s = check_rank(c, "self", x, 1, MAX_RANK);
  if (s == OK)
    s = check_dim(c, "dim", a->at[1].integer, x->shape.rank, x, &dim);
  if (s != OK) return s;
  const int64_t whole = x->shape.size[dim];
  if (x->shape.rank - 1 + sizes->count > MAX_RANK)
    return fail(c, E_RANK, "%A %S in place of dim %P of %S: too many dims",
                "size", sizes->count, sizes->sizes, (int64_t)dim,
                SHAPE_ARG(&x->shape));
  for (int i = 0; i < dim; i++) size[rank++] = x->shape.size[i];
  for (int i = 0; i < sizes->count && known >= 0; i++) {
    const int64_t n = size[rank] = sizes->sizes[i];
    if (n == -1 && unknown < 0)
      unknown = rank;
    else if (n < 0 || !checked_mul(known, n, &known))
      known = -1;
    rank++;
  }
  if (unknown >= 0 && known > 0 && whole % known == 0)
    size[unknown] = whole / known, known = whole;
  if (known != whole || (unknown >= 0 && size[unknown] < 0))
    return fail(c, E_SIZE, "%A %S does not split dim %P of %S", "size",
                sizes->count, sizes->sizes, (int64_t)dim,
                SHAPE_ARG(&x->shape));
  for (int i = dim + 1; i < x->shape.rank; i++) size[rank++] = x->shape.size[i];
  return op_reshape(c, x, rank, size, &r[0]);
}

Status run_expand_as(Context *c, Args *a, Tensor **r) {
  const Shape *like = &a->at[1].tensor->shape;
  return op_expand(c, a->at[0].tensor, like->rank, like->size, &r[0]);
}

/* Dims of one argument, resolved; each once. */
static Status read_dims(Context *c, const char *name, const Arg *dims,
                        const Tensor *x, int at[MAX_RANK],
                        bool is_in[MAX_RANK]) {
  memset(is_in, 0, MAX_RANK * sizeof *is_in);
  for (int i = 0; i < dims->count; i++) {
    const Status s =
        check_dim(c, name, dims->sizes[i], x->shape.rank, x, &at[i]);
    if (s != OK) return s;
    if (is_in[at[i]])
      return fail(c, E_DUPLICATE, "%A %P occurs twice", name, (int64_t)at[i]);
    is_in[at[i]] = true;
  }
  return OK;
}

/* The axes that are not named keep their order. */
Status run_movedim(Context *c, Args *a, Tensor **r) {
  Tensor *x = a->at[0].tensor;
  const Arg *from = &a->at[1], *to = &a->at[2];
  const int rank = x->shape.rank;
  int source[MAX_RANK], target[MAX_RANK], next = 0;
  bool leaves[MAX_RANK], taken[MAX_RANK];
  int64_t dims[MAX_RANK];
  if (from->count != to->count)
    return fail(c, E_RANK, "from names %d dims and %A names %d", from->count,
                "to", to->count);
  Status s = read_dims(c, "from", from, x, source, leaves);
  if (s == OK) s = read_dims(c, "to", to, x, target, taken);
  if (s != OK) return s;
  for (int i = 0; i < from->count; i++) dims[target[i]] = source[i];
  for (int i = 0; i < rank; i++) {
    if (taken[i]) continue;
    while (leaves[next]) next++;
    dims[i] = next++;
  }
  return op_permute(c, x, rank, dims, &r[0]);
}

/* ---- diagonals ---- */

static Status diagonal_call(Context *c, OpId op, Tensor *x, int64_t offset,
                            Tensor **r) {
  Args a;
  for (int k = 0; k < op_rows[op].params; k++) a.at[k].kind = ARG_NONE;
  a.at[0] = arg_tensor(x);
  a.at[1] = arg_integer(offset);
  return op_call(c, op, &a, r);
}

Status run_diag(Context *c, Args *a, Tensor **r) {
  Tensor *x = a->at[0].tensor, *line = NULL;
  const int64_t offset = args_integer(OP_diag, a, 1);
  Status s = check_rank(c, "self", x, 1, 2);
  if (s != OK) return s;
  if (x->shape.rank == 1)
    return diagonal_call(c, OP_diag_embed, x, offset, &r[0]);
  s = diagonal_call(c, OP_diagonal, x, offset, &line);
  if (s == OK) s = op_unary(c, OP_clone, line, &r[0]);
  tensor_release(c, line);
  return s;
}

Status run_trace(Context *c, Args *a, Tensor **r) {
  Tensor *x = a->at[0].tensor, *line = NULL;
  Status s = check_rank(c, "self", x, 2, 2);
  if (s == OK) s = diagonal_call(c, OP_diagonal, x, 0, &line);
  if (s == OK) s = op_unary(c, OP_sum, line, &r[0]);
  tensor_release(c, line);
  return s;
}

/* ---- repeating ---- */

/* Axis `dim` of x, n times: as blocks one after the other, or, `each`, element
 * by element. */
static Status repeat_axis(Context *c, Tensor *x, int dim, int64_t n, bool each,
                          Tensor **r) {
  const Shape *s = &x->shape;
  int64_t size[MAX_RANK + 1], one[MAX_RANK + 1], joined[MAX_RANK];
  const int rank = s->rank, at = each ? dim + 1 : dim;
  Tensor *line = NULL, *wide = NULL, *same = NULL;
  if (rank == MAX_RANK)
    return fail(c, E_RANK, "%A %S has the most axes that there are", "self",
                SHAPE_ARG(s));
  if (s->size[dim] > 0 && n > INT64_MAX / s->size[dim])
    return fail(c, E_SIZE, "dim %P of %S, %I times, is too large",
                (int64_t)dim, SHAPE_ARG(s), n);
  for (int i = 0, k = 0; i <= rank; i++) {
    one[i] = i == at ? 1 : s->size[k];
    size[i] = i == at ? n : s->size[k++];
  }
  memcpy(joined, s->size, (size_t)rank * sizeof *joined);
  joined[dim] *= n;
  Status status = op_reshape(c, x, rank + 1, one, &line);
  if (status == OK) status = op_expand(c, line, rank + 1, size, &wide);
  if (status == OK) status = op_unary(c, OP_clone, wide, &same);
  if (status == OK) status = op_reshape(c, same, rank, joined, r);
  if (status == OK) (*r)->is_view = false; /* its storage is its own */
  tensor_release(c, line);
  tensor_release(c, wide);
  tensor_release(c, same);
  return status;
}

static Status check_repeats(Context *c, const Tensor *x, const Arg *reps) {
  for (int i = 0; i < reps->count; i++)
    if (reps->sizes[i] < 0)
      return fail(c, E_RANGE, "%A %S: a count is negative", "repeats",
                  reps->count, reps->sizes);
  if (reps->count >= x->shape.rank) return OK;
  return fail(c, E_RANK, "%d %A for self %S of rank %d", reps->count,
              "repeats", SHAPE_ARG(&x->shape), x->shape.rank);
}

Status run_tile(Context *c, Args *a, Tensor **r) {
  Tensor *x = a->at[0].tensor, *y = NULL;
  const Arg *reps = &a->at[1];
  int64_t size[MAX_RANK];
  Status s = check_repeats(c, x, reps);
  if (s != OK) return s;
  const int more = reps->count - x->shape.rank;
  for (int i = 0; i < reps->count; i++)
    size[i] = i < more ? 1 : x->shape.size[i - more];
  s = op_reshape(c, x, reps->count, size, &y);
  bool is_fresh = false;
  for (int i = reps->count - 1; i >= 0 && s == OK; i--) {
    Tensor *wider = NULL;
    if (reps->sizes[i] == 1) continue;
    s = repeat_axis(c, y, i, reps->sizes[i], false, &wider);
    tensor_release(c, y);
    y = wider;
    is_fresh = true;
  }
  if (s == OK && is_fresh) r[0] = tensor_share(y);
  else if (s == OK) s = op_unary(c, OP_clone, y, &r[0]);
  tensor_release(c, y);
  return s;
}

/* Position k, counts[k] times, for each k; `size` positions, `total` entries. */
static Status repeated_positions(Context *c, const int64_t *counts,
                                 int64_t size, bool is_one, int64_t total,
                                 Tensor **r) {
  const Shape shape = shape_of(1, &total);
  const Status s = tensor_new(c, &c->host, DTYPE_I64, &shape, r);
  if (s != OK) return s;
  int64_t *at = (int64_t *)(void *)tensor_data(*r);
  for (int64_t k = 0; k < size; k++)
    for (int64_t n = counts[is_one ? 0 : k]; n > 0; n--)
      *at++ = k + c->failure.base;
  return OK;
}

static Status count_repeats(Context *c, const Tensor *counts, const int64_t *n,
                            const Tensor *x, int dim, int64_t *total) {
  const int64_t size = x->shape.size[dim];
  const bool is_one = counts->count == 1;
  if (counts->shape.rank > 1 || (!is_one && counts->count != size))
    return fail(c, E_SHAPE, "%A %S: one count or one for each of the %I "
                            "positions of dim %P of self %S",
                "counts", SHAPE_ARG(&counts->shape), size, (int64_t)dim,
                SHAPE_ARG(&x->shape));
  *total = 0;
  for (int64_t k = 0; k < size; k++) {
    const int64_t one = n[is_one ? 0 : k];
    if (one < 0)
      return fail(c, E_RANGE, "%A[%P] is %I; a count is not negative",
                  "counts", is_one ? 0 : k, one);
    if (one > INT32_MAX || *total > PTRDIFF_MAX / 16)
      return fail(c, E_SIZE, "%A add up to too many", "counts");
    *total += one;
  }
  return OK;
}

/* By a tensor of counts: an index_select of repeated positions. */
static Status repeat_by(Context *c, Tensor *x, int dim, Tensor *counts,
                        Tensor **r) {
  Tensor *host = NULL, *index = NULL, *there = NULL;
  int64_t total = 0;
  if (dtype_class(counts->dtype) != CLASS_INTEGER)
    return fail(c, E_DTYPE, "%A is %s; integers are due", "counts",
                dtype_name(counts->dtype));
  Status s = plain(c, counts, DTYPE_I64, &c->host, &host);
  const int64_t *n =
      s == OK ? (const int64_t *)(const void *)tensor_data(host) : NULL;
  if (s == OK) s = count_repeats(c, counts, n, x, dim, &total);
  if (s == OK)
    s = repeated_positions(c, n, x->shape.size[dim], counts->count == 1, total,
                           &index);
  if (s == OK) s = plain(c, index, DTYPE_I64, tensor_device(x), &there);
  if (s == OK) {
    Args a;
    a.at[0] = arg_tensor(x);
    a.at[1] = arg_integer(dim);
    a.at[2] = arg_tensor(there);
    s = op_call(c, OP_index_select, &a, r);
  }
  tensor_release(c, host);
  tensor_release(c, index);
  tensor_release(c, there);
  return s;
}

Status run_repeat_interleave(Context *c, Args *a, Tensor **r) {
  Tensor *x = a->at[0].tensor, *flat = NULL;
  const Arg *counts = &a->at[1];
  const int64_t all = -1;
  int dim = 0;
  Status s = OK;
  if (a->at[2].kind == ARG_NONE)
    s = op_reshape(c, x, 1, &all, &flat);
  else if ((s = check_rank(c, "self", x, 1, MAX_RANK)) == OK)
    s = check_dim(c, "dim", a->at[2].integer, x->shape.rank, x, &dim);
  if (flat != NULL) x = flat;
  if (s != OK) return s;
  if (counts->kind == ARG_TENSOR)
    s = repeat_by(c, x, dim, counts->tensor, &r[0]);
  else if (counts->kind != ARG_INTEGER || counts->integer < 0)
    s = fail(c, E_RANGE, "%A is %g; a whole number, not negative, is due",
             "counts", arg_f64(counts));
  else
    s = repeat_axis(c, x, dim, counts->integer, true, &r[0]);
  tensor_release(c, flat);
  return s;
}
