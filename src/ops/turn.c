/* turn.c: axes walked backwards, moved on in a circle, or cut along a diagonal.
 *
 * Must not know: derivatives.
 */
#include <string.h>

#include "ops/run.h"

/* Of these ops the dims are one argument: what is wrong with it has one code.
 */
static Status dims_wrong(Context *c, Status s) {
  if (s == E_DIM || s == E_DUPLICATE) c->failure.status = E_DIMS;
  return c->failure.status;
}

/* ---- flip ---- */

Status run_flip(Context *c, Args *a, Tensor **r) {
  const Tensor *x = a->at[0].tensor;
  Tensor *out = NULL;
  bool turns[MAX_RANK];
  Status s = check_dims(c, &a->at[1], x, turns);
  if (s != OK) return dims_wrong(c, s);
  Shape seen = x->shape;
  int64_t more = 0;
  for (int i = 0; i < seen.rank; i++) {
    if (!turns[i]) continue;
    more += (seen.size[i] - 1) * seen.stride[i];
    seen.stride[i] = -seen.stride[i];
  }
  s = tensor_new(c, tensor_device(x), x->dtype, &x->shape, &out);
  if (s == OK) s = move_seen(c, out, x, &seen, more);
  if (s == OK) r[0] = out;
  else tensor_release(c, out);
  return s;
}

static Status flip_dim(Context *c, Tensor *x, int64_t dim, Tensor **r) {
  Args a;
  a.at[0] = arg_tensor(x);
  a.at[1] = arg_sizes(1, &dim);
  const Status s = check_rank(c, "self", x, (int)dim + 1, MAX_RANK);
  return s != OK ? s : op_call(c, OP_flip, &a, r);
}

Status run_fliplr(Context *c, Args *a, Tensor **r) {
  return flip_dim(c, a->at[0].tensor, 1, r);
}

Status run_flipud(Context *c, Args *a, Tensor **r) {
  return flip_dim(c, a->at[0].tensor, 0, r);
}

/* k quarter turns, from the first axis to the second; a copy always. */
Status run_rot90(Context *c, Args *a, Tensor **r) {
  Tensor *x = a->at[0].tensor, *turned = NULL;
  const int64_t k = (args_integer(OP_rot90, a, 1) % 4 + 4) % 4;
  static const int64_t first_two[] = {0, 1};
  int dim[2] = {0, 0};
  Args flip;
  flip.at[0] = arg_tensor(x);
  flip.at[1] = a->at[2].kind == ARG_NONE ? arg_sizes(2, first_two) : a->at[2];
  Status s = check_rank(c, "self", x, 2, MAX_RANK);
  if (s == OK && flip.at[1].count != 2)
    s = fail(c, E_RANK, "%d %A; two are due", flip.at[1].count, "dims");
  for (int i = 0; i < 2 && s == OK; i++)
    s = check_dim(c, "dims", flip.at[1].sizes[i], x->shape.rank, x, &dim[i]);
  if (s == OK && dim[0] == dim[1])
    s = fail(c, E_DUPLICATE, "%A %P occurs twice", "dims", (int64_t)dim[0]);
  if (s != OK) return dims_wrong(c, s);
  if (k == 0) return op_unary(c, OP_clone, x, &r[0]);
  if (k == 2) return op_call(c, OP_flip, &flip, r);
  s = op_transpose(c, x, dim[0], dim[1], &turned);
  const int64_t back = dim[k == 1 ? 0 : 1];
  flip.at[0] = arg_tensor(turned);
  flip.at[1] = arg_sizes(1, &back);
  if (s == OK) s = op_call(c, OP_flip, &flip, r);
  tensor_release(c, turned);
  return s;
}

/* ---- roll ---- */

/* By how much each axis moves on, 0 <= by < size. */
static Status read_shifts(Context *c, Args *a, const Tensor *x,
                          int64_t by[MAX_RANK]) {
  const Arg *shifts = &a->at[1], *dims = &a->at[2];
  const bool is_one = shifts->kind == ARG_INTEGER;
  const int count = is_one ? 1 : shifts->count;
  bool named[MAX_RANK];
  const Status s = check_dims(c, dims, x, named);
  if (s != OK) return s;
  if (count != dims->count)
    return fail(c, E_RANK, "%d shifts for %d %A", count, dims->count, "dims");
  memset(by, 0, MAX_RANK * sizeof *by);
  for (int i = 0; i < count; i++) {
    int dim = 0;
    check_dim(c, "dim", dims->sizes[i], x->shape.rank, x, &dim);
    const int64_t n = x->shape.rank > 0 ? x->shape.size[dim] : 1;
    const int64_t shift = is_one ? shifts->integer : shifts->wholes[i];
    if (shift == INT64_MIN) /* has no opposite */
      return fail(c, E_RANGE, "%A %I is too far", "shifts", shift);
    by[dim] = n > 0 ? (shift % n + n) % n : 0;
  }
  return OK;
}

/* An axis in two parts: what stays before the end, and what comes round. */
static void part_of(const Tensor *x, Tensor *out, const int64_t *by, int mask,
                    Shape *to, Shape *from, int64_t *to_more,
                    int64_t *from_more) {
  *to = out->shape, *from = x->shape;
  *to_more = *from_more = 0;
  for (int i = 0; i < to->rank; i++) {
    const bool comes_round = (mask >> i & 1) != 0;
    const int64_t stays = to->size[i] - by[i];
    to->size[i] = from->size[i] = comes_round ? by[i] : stays;
    if (comes_round) *from_more += stays * from->stride[i];
    else *to_more += by[i] * to->stride[i];
  }
}

static Status roll_into(Context *c, Tensor *out, const Tensor *x,
                        const int64_t *by) {
  int moving = 0;
  Status s = OK;
  for (int i = 0; i < x->shape.rank; i++) moving |= (by[i] > 0) << i;
  for (int mask = 0; mask <= moving && s == OK; mask++) {
    Shape to, from;
    int64_t to_more, from_more;
    Tensor *part = NULL;
    if ((mask & ~moving) != 0) continue;
    part_of(x, out, by, mask, &to, &from, &to_more, &from_more);
    s = tensor_view(c, out, &to, to_more, &part);
    if (s == OK) s = move_seen(c, part, x, &from, from_more);
    tensor_release(c, part);
  }
  return s;
}

static Status rolled(Context *c, const Tensor *x, const int64_t *by,
                     Tensor **r) {
  Tensor *out = NULL;
  Status s = tensor_new(c, tensor_device(x), x->dtype, &x->shape, &out);
  if (s == OK && out->count > 0) s = roll_into(c, out, x, by);
  if (s == OK) *r = out;
  else tensor_release(c, out);
  return s;
}

/* Without dims: the elements in row-major order, as one axis. */
static Status roll_flat(Context *c, Args *a, Tensor *x, Tensor **r) {
  Tensor *plain_x = NULL, *line = NULL, *out = NULL;
  const int64_t first = 0;
  const Shape flat = shape_of(1, &x->count);
  int64_t by[MAX_RANK];
  Args one = *a;
  one.at[2] = arg_sizes(1, &first);
  Status s = plain_layout(c, x, &plain_x);
  if (s == OK) s = tensor_view(c, plain_x, &flat, plain_x->offset, &line);
  if (s == OK) s = read_shifts(c, &one, line, by);
  if (s == OK) s = rolled(c, line, by, &out);
  Shape shape = x->shape;
  shape_contiguous(&shape);
  if (s == OK) s = tensor_view(c, out, &shape, 0, r);
  if (s == OK) (*r)->is_view = false; /* its storage is its own */
  tensor_release(c, plain_x);
  tensor_release(c, line);
  tensor_release(c, out);
  return s;
}

Status run_roll(Context *c, Args *a, Tensor **r) {
  Tensor *x = a->at[0].tensor;
  int64_t by[MAX_RANK];
  if (a->at[2].kind == ARG_NONE) return roll_flat(c, a, x, r);
  const Status s = read_shifts(c, a, x, by);
  return s != OK ? s : rolled(c, x, by, r);
}

/* ---- triangles ---- */

static Status count_from(Context *c, Device *d, int64_t first, int64_t n,
                         Tensor **r) {
  Args a;
  for (int k = 0; k < op_rows[OP_arange].params; k++) a.at[k].kind = ARG_NONE;
  a.at[0] = arg_integer(first);
  a.at[1] = arg_integer(first + n - 1);
  a.at[4].kind = ARG_DEVICE;
  a.at[4].device = d;
  return op_call(c, OP_arange, &a, r);
}

/* *r (n, m) = which places lie at or below diagonal k, or at or above it. */
static Status triangle(Context *c, Device *d, int64_t n, int64_t m, int64_t k,
                       bool below, Tensor **r) {
  Tensor *rows = NULL, *cols = NULL, *down = NULL;
  const int64_t column[] = {n, 1};
  k = max_i64(-n, min_i64(m, k));
  Status s = count_from(c, d, k, n, &rows);
  if (s == OK) s = count_from(c, d, 0, m, &cols);
  if (s == OK) s = op_reshape(c, rows, 2, column, &down);
  if (s == OK) s = op_binary(c, below ? OP_le : OP_ge, cols, down, r);
  tensor_release(c, rows);
  tensor_release(c, cols);
  tensor_release(c, down);
  return s;
}

static Status keep_triangle(Context *c, OpId op, Args *a, Tensor **r) {
  Tensor *x = a->at[0].tensor, *keep = NULL, *zero = NULL;
  const int last = x->shape.rank - 1;
  Status s = check_rank(c, "self", x, 2, MAX_RANK);
  if (s != OK) return s;
  s = triangle(c, tensor_device(x), x->shape.size[last - 1],
               x->shape.size[last], args_integer(op, a, 1), op == OP_tril,
               &keep);
  if (s == OK) s = op_scalar(c, tensor_device(x), x->dtype, 0, &zero);
  if (s == OK) {
    Args choose;
    choose.at[0] = arg_tensor(keep);
    choose.at[1] = arg_tensor(x);
    choose.at[2] = arg_tensor(zero);
    s = pointwise_call(c, OP_where, &choose, NULL, &r[0]);
  }
  tensor_release(c, keep);
  tensor_release(c, zero);
  return s;
}

Status run_tril(Context *c, Args *a, Tensor **r) {
  return keep_triangle(c, OP_tril, a, r);
}

Status run_triu(Context *c, Args *a, Tensor **r) {
  return keep_triangle(c, OP_triu, a, r);
}
