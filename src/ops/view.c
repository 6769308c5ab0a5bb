/* view.c: rows that rename axes and move no element; and what puts elements
 * back where a view took them.
 *
 * Always: a view shares the storage of its operand; reshape alone may copy.
 */
#include <math.h>
#include <string.h>

#include "ops/run.h"

/* A view of x with another shape, `more` elements further on. */
static Status view_of(Context *c, const Tensor *x, const Shape *s,
                      int64_t more, Tensor **r) {
  return tensor_view(c, x, s, x->offset + more, r);
}

/* ---- reshape ---- */

/* Sizes with one -1 filled in. */
static Status reshape_sizes(Context *c, const Tensor *x, const Arg *sizes,
                            Shape *s) {
  int unknown = -1;
  int64_t known = 1;
  s->rank = sizes->count;
  for (int i = 0; i < sizes->count; i++) {
    const int64_t n = s->size[i] = sizes->sizes[i];
    if (n == -1 && unknown >= 0)
      return fail(c, E_TWO_UNKNOWNS, "%A %S has more than one -1", "size",
                  sizes->count, sizes->sizes);
    if (n < -1)
      return fail(c, E_SHAPE, "%A %S: a size is negative", "size",
                  sizes->count, sizes->sizes);
    if (n == -1)
      unknown = i;
    else if (!checked_mul(known, n, &known))
      return fail(c, E_SIZE, "%A %S is too large", "size", sizes->count,
                  sizes->sizes);
  }
  if (unknown >= 0 && known == 0)
    return fail(c, E_AMBIGUOUS, "-1 is ambiguous beside a zero size, %S -> %S",
                SHAPE_ARG(&x->shape), sizes->count, sizes->sizes);
  if (unknown >= 0) {
    s->size[unknown] = x->count / known;
    known *= s->size[unknown];
  }
  if (known != x->count)
    return fail(c, E_SIZE, "%S has %I elements, %S needs %I",
                SHAPE_ARG(&x->shape), x->count, sizes->count, sizes->sizes,
                known);
  return OK;
}

/* Sizes of s other than 1. */
static int true_sizes(const Shape *s, int64_t size[MAX_RANK]) {
  int n = 0;
  for (int i = 0; i < s->rank; i++)
    if (s->size[i] != 1) size[n++] = s->size[i];
  return n;
}

/* Dims (from the base) of `from` that would give the sizes of `to`; false if
 * its sizes are not those in another order. */
static bool find_order(const Context *c, const Shape *from, const Shape *to,
                       int64_t dims[MAX_RANK]) {
  int64_t old[MAX_RANK], now[MAX_RANK];
  bool is_taken[MAX_RANK] = {false}, same = true;
  const int n = true_sizes(from, old);
  if (n != true_sizes(to, now)) return false;
  for (int i = 0; i < n; i++) {
    int k = 0;
    while (k < n && (is_taken[k] || old[k] != now[i])) k++;
    if (k == n) return false;
    is_taken[k] = true;
    same &= k == i;
    dims[i] = k + c->failure.base;
  }
  return !same;
}

static bool has_no_ones(const Shape *s) {
  int64_t size[MAX_RANK];
  return true_sizes(s, size) == s->rank;
}

/* Lint: the old sizes in another order. */
static Status ask_order(Context *c, const Tensor *x, const Shape *s) {
  int64_t dims[MAX_RANK];
  if (c->depth > 1 || x->count == 0 || !find_order(c, &x->shape, s, dims))
    return OK;
  const char *op = c->failure.op;
  if (s->rank == 2 && x->shape.rank == 2)
    return lint_found(c, LINT_reshape_permutes,
                      "%s %S -> %S keeps row-major order; for swapped axes use "
                      "x:t()",
                      op, SHAPE_ARG(&x->shape), SHAPE_ARG(s));
  if (s->rank == x->shape.rank && has_no_ones(s))
    return lint_found(c, LINT_reshape_permutes,
                      "%s %S -> %S keeps row-major order; for swapped axes use "
                      "x:permute%S",
                      op, SHAPE_ARG(&x->shape), SHAPE_ARG(s), s->rank, dims);
  return lint_found(c, LINT_reshape_permutes,
                    "%s %S -> %S keeps row-major order; for swapped axes use "
                    "x:permute(...) first",
                    op, SHAPE_ARG(&x->shape), SHAPE_ARG(s));
}

Status run_reshape(Context *c, Args *a, Tensor **r) {
  Tensor *x = a->at[0].tensor, *copy = NULL;
  Shape s;
  Status status = reshape_sizes(c, x, &a->at[1], &s);
  if (status == OK && lint_asks(c, LINT_reshape_permutes))
    status = ask_order(c, x, &s);
  if (status != OK) return status;
  if (shape_reshape(&x->shape, &s)) return view_of(c, x, &s, 0, &r[0]);
  status = plain_layout(c, x, &copy);
  if (status != OK) return status;
  shape_contiguous(&s);
  status = tensor_view(c, copy, &s, copy->offset, &r[0]);
  if (status == OK) {
    r[0]->is_view = false; /* its storage is its own */
    r[0]->storage->by_reshape = c->depth <= 1;
  }
  tensor_release(c, copy);
  return status;
}

Status run_view(Context *c, Args *a, Tensor **r) {
  Tensor *x = a->at[0].tensor;
  Shape s;
  Status status = reshape_sizes(c, x, &a->at[1], &s);
  if (status == OK && lint_asks(c, LINT_reshape_permutes))
    status = ask_order(c, x, &s);
  if (status != OK) return status;
  if (shape_reshape(&x->shape, &s)) return view_of(c, x, &s, 0, &r[0]);
  return fail(c, E_STRIDE,
              "%S with strides %S cannot be seen as %S; reshape copies",
              SHAPE_ARG(&x->shape), x->shape.rank, x->shape.stride,
              SHAPE_ARG(&s));
}

/* ---- axes ---- */

Status run_permute(Context *c, Args *a, Tensor **r) {
  Tensor *x = a->at[0].tensor;
  Arg *dims = &a->at[1];
  bool seen[MAX_RANK] = {false};
  Shape s;
  if (dims->kind == ARG_NONE || dims->count != x->shape.rank)
    return fail(c, E_RANK, "%d %A for self %S of rank %d",
                dims->kind == ARG_NONE ? 0 : dims->count, "dims",
                SHAPE_ARG(&x->shape), x->shape.rank);
  s.rank = x->shape.rank;
  for (int i = 0; i < s.rank; i++) {
    int dim = 0;
    const Status status =
        check_dim(c, "dim", dims->sizes[i], s.rank, x, &dim);
    if (status != OK) return status;
    if (seen[dim])
      return fail(c, E_DUPLICATE, "%A %P occurs twice", "dim", (int64_t)dim);
    seen[dim] = true;
    dims->sizes[i] = dim;
    s.size[i] = x->shape.size[dim];
    s.stride[i] = x->shape.stride[dim];
  }
  return view_of(c, x, &s, 0, &r[0]);
}

Status run_transpose(Context *c, Args *a, Tensor **r) {
  Tensor *x = a->at[0].tensor;
  int i = 0, j = 0;
  Status status =
      check_dim(c, "dim1", a->at[1].integer, x->shape.rank, x, &i);
  if (status == OK)
    status = check_dim(c, "dim2", a->at[2].integer, x->shape.rank, x, &j);
  if (status != OK) return status;
  Shape s = x->shape;
  if (s.rank > 0) {
    s.size[i] = x->shape.size[j], s.stride[i] = x->shape.stride[j];
    s.size[j] = x->shape.size[i], s.stride[j] = x->shape.stride[i];
  }
  a->at[1] = arg_integer(i);
  a->at[2] = arg_integer(j);
  return view_of(c, x, &s, 0, &r[0]);
}

Status run_squeeze(Context *c, Args *a, Tensor **r) {
  Tensor *x = a->at[0].tensor;
  bool named[MAX_RANK];
  const Status status = check_dims(c, &a->at[1], x, named);
  if (status != OK) return status;
  Shape s = x->shape;
  for (int i = s.rank - 1; i >= 0; i--)
    if (named[i] && s.size[i] == 1) shape_drop(&s, i);
  return view_of(c, x, &s, 0, &r[0]);
}

Status run_unsqueeze(Context *c, Args *a, Tensor **r) {
  Tensor *x = a->at[0].tensor;
  int dim = 0;
  Status status = check_dim(c, "dim", a->at[1].integer, x->shape.rank + 1, x,
                            &dim);
  if (status != OK) return status;
  if (x->shape.rank == MAX_RANK)
    return fail(c, E_RANK, "%A %S has the most axes that there are", "self",
                SHAPE_ARG(&x->shape));
  Shape s = x->shape;
  shape_insert(&s, dim, 1, 1);
  return view_of(c, x, &s, 0, &r[0]);
}

Status run_expand(Context *c, Args *a, Tensor **r) {
  Tensor *x = a->at[0].tensor;
  Arg *sizes = &a->at[1];
  Shape to, s;
  const int more = sizes->count - x->shape.rank;
  for (int i = 0; i < sizes->count; i++)
    if (sizes->sizes[i] == -1 && i >= more && more >= 0)
      sizes->sizes[i] = x->shape.size[i - more];
  const Status status = check_sizes(c, sizes, &to);
  if (status != OK) return status;
  if (!shape_expand(&x->shape, &to, &s))
    return fail(c, E_SHAPE, "%A %S does not broadcast to %S", "self",
                SHAPE_ARG(&x->shape), SHAPE_ARG(&to));
  return view_of(c, x, &s, 0, &r[0]);
}

/* ---- parts of an axis ---- */

static Status axis_of(Context *c, Args *a, int k, const Tensor *x, int *dim) {
  if (x->shape.rank == 0)
    return fail(c, E_RANK, "%A has rank 0 and no dim", "self");
  const Status s =
      check_dim(c, "dim", a->at[k].integer, x->shape.rank, x, dim);
  if (s == OK) a->at[k] = arg_integer(*dim);
  return s;
}

Status run_select(Context *c, Args *a, Tensor **r) {
  Tensor *x = a->at[0].tensor;
  int dim = 0;
  int64_t at = 0;
  Status status = axis_of(c, a, 1, x, &dim);
  if (status == OK) status = check_position(c, a->at[2].integer, x, dim, &at);
  if (status != OK) return status;
  a->at[2] = arg_integer(at);
  Shape s = x->shape;
  shape_drop(&s, dim);
  return view_of(c, x, &s, at * x->shape.stride[dim], &r[0]);
}

/* Positions first, first + step, ... of an axis, `count` of them. */
static Status part_of(Context *c, const Tensor *x, int dim, int64_t first,
                      int64_t step, int64_t count, Tensor **r) {
  Shape s = x->shape;
  s.size[dim] = count;
  if (count > 1) s.stride[dim] = x->shape.stride[dim] * step;
  return view_of(c, x, &s, count == 0 ? 0 : first * x->shape.stride[dim], r);
}

Status run_narrow(Context *c, Args *a, Tensor **r) {
  Tensor *x = a->at[0].tensor;
  int dim = 0;
  int64_t first = 0;
  const int64_t length = a->at[3].integer;
  Status status = axis_of(c, a, 1, x, &dim);
  if (status != OK) return status;
  const int64_t size = x->shape.size[dim];
  if (length == 0 && a->at[2].integer == size)
    first = size; /* nothing, from the end */
  else if ((status = check_position(c, a->at[2].integer, x, dim, &first)) !=
           OK)
    return status;
  if (length < 0 || length > size - first)
    return fail(c, E_INDEX, "%A %I from position %P of dim %P of %S",
                "length", length, first, (int64_t)dim, SHAPE_ARG(&x->shape));
  a->at[2] = arg_integer(first);
  return part_of(c, x, dim, first, 1, length, &r[0]);
}

/* The last position of a closed range may lie one before the first. */
static Status range_end(Context *c, int64_t raw, const Tensor *x, int dim,
                        int64_t first, int64_t *last) {
  const int64_t size = x->shape.size[dim];
  *last = raw == POSITION_ZERO ? -1 : raw < 0 ? raw + size : raw;
  if (*last == first - 1) return OK;
  return check_position(c, raw, x, dim, last);
}

Status run_slice(Context *c, Args *a, Tensor **r) {
  Tensor *x = a->at[0].tensor;
  int dim = 0;
  int64_t first = 0, last = 0;
  const int64_t step = args_integer(OP_slice, a, 4);
  Status status = axis_of(c, a, 1, x, &dim);
  if (status != OK) return status;
  const int64_t size = x->shape.size[dim];
  if (step < 1)
    return fail(c, E_RANGE, "%A %I: a step is at least 1; use x:flip(d)",
                "step", step);
  if (a->at[2].integer == size)
    first = size; /* only an empty range starts here */
  else if ((status = check_position(c, a->at[2].integer, x, dim, &first)) !=
           OK)
    return status;
  status = range_end(c, a->at[3].integer, x, dim, first, &last);
  if (status != OK) return status;
  if (last < first - 1)
    return fail(c, E_INDEX, "range %P to %P of dim %P of %S runs backwards",
                first, last, (int64_t)dim, SHAPE_ARG(&x->shape));
  a->at[2] = arg_integer(first);
  a->at[3] = arg_integer(last < 0 ? POSITION_ZERO : last); /* -1: the end */
  const int64_t count = last < first ? 0 : (last - first) / step + 1;
  return part_of(c, x, dim, first, step, count, &r[0]);
}

/* ---- diagonals ---- */

/* The two axes of an option pair, as they count in a result of `rank`. */
static Status diagonal_axes(Context *c, OpId op, Args *a, int rank, int *i,
                            int *j) {
  const Tensor *x = a->at[0].tensor;
  Status s = check_dim(c, "dim1", args_integer(op, a, 2), rank, x, i);
  if (s == OK) s = check_dim(c, "dim2", args_integer(op, a, 3), rank, x, j);
  if (s == OK && *i == *j)
    s = fail(c, E_DUPLICATE, "dim1 and %A are both %P", "dim2", (int64_t)*i);
  return s;
}

/* x (.., n, .., m, ..) -> (.., k): stride is the sum of both. */
static Status diagonal_shape(Context *c, OpId op, Args *a, const Tensor *x,
                             Shape *s, int64_t *more) {
  int i = 0, j = 0;
  if (x->shape.rank < 2) return check_rank(c, "self", x, 2, MAX_RANK);
  const Status status = diagonal_axes(c, op, a, x->shape.rank, &i, &j);
  if (status != OK) return status;
  const int64_t offset = args_integer(op, a, 1);
  const int64_t down = offset < 0 ? -offset : 0, right = offset > 0 ? offset : 0;
  const int64_t n = x->shape.size[i] - down, m = x->shape.size[j] - right;
  const int64_t count = max_i64(0, min_i64(n, m));
  *s = x->shape;
  shape_drop(s, i > j ? i : j);
  shape_drop(s, i > j ? j : i);
  shape_insert(s, s->rank, count, x->shape.stride[i] + x->shape.stride[j]);
  *more = count == 0 ? 0
                     : down * x->shape.stride[i] + right * x->shape.stride[j];
  a->at[1] = arg_integer(offset);
  a->at[2] = arg_integer(i);
  a->at[3] = arg_integer(j);
  return OK;
}

Status run_diagonal(Context *c, Args *a, Tensor **r) {
  const Tensor *x = a->at[0].tensor;
  Shape s;
  int64_t more = 0;
  const Status status = diagonal_shape(c, OP_diagonal, a, x, &s, &more);
  return status != OK ? status : view_of(c, x, &s, more, &r[0]);
}

static Status zeros_of(Context *c, const Tensor *like, const Shape *shape,
                       Tensor **r) {
  const Arg zero = arg_integer(0);
  Status s = tensor_new(c, tensor_device(like), like->dtype, shape, r);
  if (s == OK) s = fill_with(c, *r, &zero);
  return s;
}

Status run_diag_embed(Context *c, Args *a, Tensor **r) {
  const Tensor *x = a->at[0].tensor;
  Tensor *out = NULL, *line = NULL;
  int i = 0, j = 0;
  Status status = check_rank(c, "self", x, 1, MAX_RANK - 1);
  if (status == OK)
    status = diagonal_axes(c, OP_diag_embed, a, x->shape.rank + 1, &i, &j);
  if (status != OK) return status;
  const int64_t offset = args_integer(OP_diag_embed, a, 1);
  const int64_t n =
      x->shape.size[x->shape.rank - 1] + (offset < 0 ? -offset : offset);
  Shape s = x->shape, at;
  int64_t more = 0;
  s.rank--;
  shape_insert(&s, i < j ? i : j, n, 0);
  shape_insert(&s, i < j ? j : i, n, 0);
  a->at[1] = arg_integer(offset);
  a->at[2] = arg_integer(i);
  a->at[3] = arg_integer(j);
  status = zeros_of(c, x, &s, &out);
  if (status == OK)
    status = diagonal_shape(c, OP_diag_embed, a, out, &at, &more);
  if (status == OK) status = view_of(c, out, &at, more, &line);
  if (status == OK) status = move_into(c, line, x);
  tensor_release(c, line);
  if (status == OK) r[0] = out;
  else tensor_release(c, out);
  return status;
}

/* ---- place: the transpose of select, narrow and slice ---- */

/* zeros of `size` with x on positions first, first + step, ... of dim; x may
 * lack the axis (select). */
Status run_place(Context *c, Args *a, Tensor **r) {
  const Tensor *x = a->at[0].tensor;
  Tensor *out = NULL, *part = NULL;
  Shape s;
  int dim = 0;
  Status status = check_sizes(c, &a->at[1], &s);
  if (status == OK)
    status = check_dim(c, "dim", a->at[2].integer, s.rank, x, &dim);
  if (status != OK) return status;
  const int64_t first = a->at[3].integer;
  const int64_t step = args_integer(OP_place, a, 4);
  const bool lacks = x->shape.rank == s.rank - 1;
  Shape want = s;
  if (!lacks && x->shape.rank == s.rank) want.size[dim] = x->shape.size[dim];
  if (lacks) shape_drop(&want, dim);
  const int64_t count = lacks ? 1 : want.size[dim];
  if (!shape_same(&want, &x->shape) || first < 0 || step < 1 ||
      (count > 0 && first + (count - 1) * step >= s.size[dim]))
    return fail(c, E_SHAPE, "%A %S does not fit into %S along dim %P", "self",
                SHAPE_ARG(&x->shape), SHAPE_ARG(&s), (int64_t)dim);
  a->at[2] = arg_integer(dim);
  a->at[4] = arg_integer(step);
  status = zeros_of(c, x, &s, &out);
  if (status == OK && x->count > 0) {
    if (lacks) {
      Shape line = out->shape;
      shape_drop(&line, dim);
      status = view_of(c, out, &line, first * out->shape.stride[dim], &part);
    } else {
      status = part_of(c, out, dim, first, step, count, &part);
    }
    if (status == OK) status = move_into(c, part, x);
  }
  tensor_release(c, part);
  if (status == OK) r[0] = out;
  else tensor_release(c, out);
  return status;
}

/* ---- flat ---- */

Status run_detach(Context *c, Args *a, Tensor **r) {
  return tensor_alias(c, a->at[0].tensor, &r[0]);
}
