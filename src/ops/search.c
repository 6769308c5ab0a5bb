/* search.c: rows that look for values: in a sorted sequence, or for those that
 * are equal.
 *
 * All of them sort and halve; none has a derivative but by the positions that
 * it reports.
 * Must not know: kernels.
 */
#include <string.h>

#include "ops/order.h"

/* ---- operands as one dtype ---- */

/* Of a sequence and what is looked for in it.  A number is weak, but no
 * fraction is lost to a sequence of integers. */
static Dtype common_dtype(const Tensor *sequence, const Arg *values) {
  const bool is_whole = dtype_class(sequence->dtype) == CLASS_INTEGER;
  if (values->kind == ARG_INTEGER && is_whole) return DTYPE_I64;
  if (values->kind != ARG_TENSOR)
    return is_whole ? DTYPE_F64 : sequence->dtype;
  const Dtype other = values->tensor->dtype;
  const Dtype both = dtype_promote(sequence->dtype, other);
  const bool mixes = dtype_class(both) == CLASS_FLOAT &&
                     (is_whole || dtype_class(other) != CLASS_FLOAT);
  return mixes ? DTYPE_F64 : both;
}

static Status plain_values(Context *c, const Arg *values, Dtype dtype,
                           Device *d, Tensor **r) {
  if (values->kind == ARG_TENSOR) return plain(c, values->tensor, dtype, d, r);
  const Shape scalar = {.rank = 0};
  Tensor *made = NULL;
  Status s = tensor_new(c, d, dtype, &scalar, &made);
  if (s == OK) s = fill_with(c, made, values);
  if (s == OK) *r = made;
  else tensor_release(c, made);
  return s;
}

Status order_bisect(Context *c, const Tensor *sequence, const Tensor *x,
                    bool right, int64_t base, Tensor **r) {
  const int last = sequence->shape.rank - 1;
  Backend *b = tensor_backend(sequence);
  Bisect job = {.dtype = sequence->dtype, .right = right, .lines = 1,
                .n = sequence->shape.size[last], .base = base};
  assert(sequence->dtype == x->dtype);
  for (int i = 0; i < last; i++) job.lines *= sequence->shape.size[i];
  Tensor *made = NULL;
  Status s = tensor_like(c, x, DTYPE_I64, &made);
  if (s == OK && x->count > 0) {
    job.count = x->count / job.lines;
    job.line_step = last > 0 ? job.n : 0;
    job.sequence = tensor_data(sequence);
    job.x = tensor_data(x);
    job.at = tensor_data(made);
    s = check_done(c, b->bisect(b, &job));
  }
  if (s == OK) *r = made;
  else tensor_release(c, made);
  return s;
}

/* ---- searchsorted, bucketize ---- */

/* A line for each line of the values, or one for all. */
static Status check_lines(Context *c, const char *name, const Tensor *sequence,
                          const Arg *values) {
  Status s = check_rank(c, name, sequence, 1, MAX_RANK);
  if (s != OK || sequence->shape.rank == 1) return s;
  Shape want = sequence->shape, have = {.rank = 0};
  if (values->kind == ARG_TENSOR) have = values->tensor->shape;
  const bool same_rank = have.rank == want.rank;
  want.size[want.rank - 1] = same_rank ? have.size[have.rank - 1] : 0;
  if (same_rank && shape_same(&want, &have)) return OK;
  return fail(c, E_SHAPE,
              "%A is %S; a sequence %S has lines for values of the same "
              "leading sizes",
              "values", SHAPE_ARG(&have), SHAPE_ARG(&sequence->shape));
}

static Status search(Context *c, const char *name, Tensor *sequence,
                     const Arg *values, bool right, Tensor **r) {
  Tensor *lines = NULL, *x = NULL;
  Device *d = tensor_device(sequence);
  Status s = check_lines(c, name, sequence, values);
  if (s == OK && values->kind == ARG_TENSOR)
    s = check_same_device(c, "the sequence", sequence, "values",
                          values->tensor);
  if (s != OK) return s;
  const Dtype dtype = common_dtype(sequence, values);
  s = plain(c, sequence, dtype, d, &lines);
  if (s == OK) s = plain_values(c, values, dtype, d, &x);
  if (s == OK) s = order_bisect(c, lines, x, right, c->failure.base, r);
  tensor_release(c, lines);
  tensor_release(c, x);
  return s;
}

Status run_searchsorted(Context *c, Args *a, Tensor **r) {
  return search(c, "self", a->at[0].tensor, &a->at[1],
                args_integer(OP_searchsorted, a, 2) != 0, &r[0]);
}

Status run_bucketize(Context *c, Args *a, Tensor **r) {
  const Status s = check_rank(c, "boundaries", a->at[1].tensor, 1, 1);
  if (s != OK) return s;
  return search(c, "boundaries", a->at[1].tensor, &a->at[0],
                args_integer(OP_bucketize, a, 2) != 0, &r[0]);
}

/* ---- isin ---- */

/* *r = the elements of x in one line, in order. */
static Status sorted_flat(Context *c, Tensor *x, Dtype dtype, Tensor **r) {
  Tensor *own = NULL, *line = NULL;
  Order o = {.keep = x->count};
  Status s = plain(c, x, dtype, tensor_device(x), &own);
  const Shape shape = shape_of(1, &x->count);
  if (s == OK) s = tensor_view(c, own, &shape, own->offset, &line);
  if (s == OK) s = order_lines(c, line, &o, r, NULL);
  tensor_release(c, own);
  tensor_release(c, line);
  return s;
}

/* Something of the list lies between the two sides of x; NaN equals nothing,
 * itself neither. */
Status run_isin(Context *c, Args *a, Tensor **r) {
  Tensor *x = a->at[0].tensor, *list = a->at[1].tensor;
  Tensor *own = NULL, *line = NULL, *left = NULL, *right = NULL, *is = NULL;
  Tensor *number = NULL;
  Status s = check_same_device(c, "self", x, "list", list);
  if (s != OK) return s;
  const Dtype dtype = common_dtype(x, &a->at[1]);
  s = plain(c, x, dtype, tensor_device(x), &own);
  if (s == OK) s = sorted_flat(c, list, dtype, &line);
  if (s == OK) s = order_bisect(c, line, own, false, 0, &left);
  if (s == OK) s = order_bisect(c, line, own, true, 0, &right);
  if (s == OK) s = op_binary(c, OP_lt, left, right, &is);
  if (s == OK) s = op_binary(c, OP_eq, own, own, &number);
  if (s == OK) s = op_binary(c, OP_bitwise_and, is, number, &r[0]);
  tensor_release(c, own);
  tensor_release(c, line);
  tensor_release(c, left);
  tensor_release(c, right);
  tensor_release(c, is);
  tensor_release(c, number);
  return s;
}

/* ---- unique ---- */

/* Elements [from, from + n) of a vector, seen. */
static Status part(Context *c, const Tensor *x, int64_t from, int64_t n,
                   Tensor **r) {
  Shape shape = x->shape;
  shape.size[0] = n;
  return tensor_view(c, x, &shape, x->offset + from * shape.stride[0], r);
}

/* *r = base, base + 1, .. of n. */
static Status ramp(Context *c, Device *d, int64_t base, int64_t n,
                   Tensor **r) {
  Args a = {.at = {[0] = arg_integer(base), [1] = arg_integer(base + n - 1)}};
  a.at[4].kind = ARG_DEVICE;
  a.at[4].device = d;
  return run_arange(c, &a, r);
}

/* *to[at .. at + count of from) = from */
static Status write_part(Context *c, Tensor *to, int64_t at,
                         const Tensor *from) {
  Tensor *seen = NULL;
  Status s = part(c, to, at, from->count, &seen);
  if (s == OK) s = move_into(c, seen, from);
  tensor_release(c, seen);
  return s;
}

/* *r = positions where another value begins in a sorted line of at least one;
 * NaN equals nothing, so each begins anew. */
static Status find_starts(Context *c, Tensor *line, Tensor **r) {
  Tensor *before = NULL, *after = NULL, *differ = NULL, *is = NULL;
  Tensor *places = NULL;
  const Arg yes = arg_integer(1);
  const int64_t n = line->count;
  Status s = tensor_like(c, line, DTYPE_BOOL, &is);
  if (s == OK) s = fill_with(c, is, &yes);
  if (s == OK) s = part(c, line, 0, n - 1, &before);
  if (s == OK) s = part(c, line, 1, n - 1, &after);
  if (s == OK) s = op_binary(c, OP_ne, before, after, &differ);
  if (s == OK) s = write_part(c, is, 1, differ);
  if (s == OK) s = op_unary(c, OP_nonzero, is, &places);
  if (s == OK) s = op_reshape(c, places, 1, &places->shape.size[0], r);
  tensor_release(c, before);
  tensor_release(c, after);
  tensor_release(c, differ);
  tensor_release(c, is);
  tensor_release(c, places);
  return s;
}

/* *r = from each start to the next one, or to the end of a line of n. */
static Status run_lengths(Context *c, Tensor *starts, int64_t n, Tensor **r) {
  Tensor *ends = NULL, *rest = NULL;
  const Arg end = arg_integer(n + c->failure.base);
  Status s = tensor_like(c, starts, DTYPE_I64, &ends);
  if (s == OK) s = fill_with(c, ends, &end);
  if (s == OK) s = part(c, starts, 1, starts->count - 1, &rest);
  if (s == OK) s = write_part(c, ends, 0, rest);
  if (s == OK) s = op_binary(c, OP_sub, ends, starts, r);
  tensor_release(c, ends);
  tensor_release(c, rest);
  return s;
}

/* *r (the shape of x) = which run the element came to: `places` of the sorted
 * line lead back to x. */
static Status run_numbers(Context *c, const Tensor *x, Tensor *starts,
                          Tensor *places, Tensor **r) {
  Tensor *all = NULL, *number = NULL, *back = NULL;
  const int64_t base = c->failure.base;
  Status s = ramp(c, tensor_device(x), base, places->count, &all);
  if (s == OK) s = order_bisect(c, starts, all, true, base - 1, &number);
  if (s == OK) {
    Args put = {.at = {[1] = arg_integer(0)}};
    put.at[0] = arg_tensor(all); /* all of it is overwritten */
    put.at[2] = arg_tensor(places);
    put.at[3] = arg_tensor(number);
    s = op_call(c, OP_scatter, &put, &back);
  }
  if (s == OK) s = op_reshape(c, back, x->shape.rank, x->shape.size, r);
  tensor_release(c, all);
  tensor_release(c, number);
  tensor_release(c, back);
  return s;
}

/* Nothing at all: each result is empty. */
static Status none_unique(Context *c, const Tensor *x, bool inverse,
                          bool counts, Tensor **r) {
  const int64_t none = 0;
  const Shape empty = shape_of(1, &none);
  Device *d = tensor_device(x);
  Status s = tensor_new(c, d, x->dtype, &empty, &r[0]);
  if (s == OK && inverse) s = tensor_new(c, d, DTYPE_I64, &x->shape, &r[1]);
  if (s == OK && counts) s = tensor_new(c, d, DTYPE_I64, &empty, &r[2]);
  return s;
}

Status run_unique(Context *c, Args *a, Tensor **r) {
  Tensor *x = a->at[0].tensor, *flat = NULL, *line = NULL, *places = NULL;
  Tensor *starts = NULL;
  const bool inverse = args_integer(OP_unique, a, 2) != 0;
  const bool counts = args_integer(OP_unique, a, 3) != 0;
  const Order o = {.keep = x->count};
  if (x->count == 0) return none_unique(c, x, inverse, counts, r);
  Status s = order_flat(c, x, &flat);
  if (s == OK) s = order_lines(c, flat, &o, &line, inverse ? &places : NULL);
  if (s == OK) s = find_starts(c, line, &starts);
  if (s == OK) {
    Args pick = {.at = {[1] = arg_integer(0)}};
    pick.at[0] = arg_tensor(line);
    pick.at[2] = arg_tensor(starts);
    s = op_call(c, OP_index_select, &pick, &r[0]);
  }
  if (s == OK && inverse) s = run_numbers(c, x, starts, places, &r[1]);
  if (s == OK && counts) s = run_lengths(c, starts, x->count, &r[2]);
  tensor_release(c, flat);
  tensor_release(c, line);
  tensor_release(c, places);
  tensor_release(c, starts);
  return s;
}

/* ---- mode ---- */

/* *r = how far each element of sorted lines (.., n) is into its run of equal
 * ones, less the number of its position: the first greatest of it ends the
 * first longest run. */
static Status depths(Context *c, Tensor *lines, Tensor **r) {
  Tensor *all = NULL, *start = NULL;
  Status s = ramp(c, tensor_device(lines), 1,
                  lines->shape.size[lines->shape.rank - 1], &all);
  if (s == OK) s = order_bisect(c, lines, lines, false, 0, &start);
  if (s == OK) s = op_binary(c, OP_sub, all, start, r);
  tensor_release(c, all);
  tensor_release(c, start);
  return s;
}

static Status gather_last(Context *c, Tensor *x, Tensor *at, Tensor **r) {
  Args a = {.at = {[1] = arg_integer(-1)}};
  a.at[0] = arg_tensor(x);
  a.at[2] = arg_tensor(at);
  return op_call(c, OP_gather, &a, r);
}

/* Of lines along the last dim: value and position, which keep it. */
static Status mode_last(Context *c, const Tensor *x, Tensor **value,
                        Tensor **place) {
  Tensor *lines = NULL, *places = NULL, *depth = NULL, *at = NULL;
  const int last = x->shape.rank - 1;
  const Order o = {.dim = last, .keep = x->shape.size[last]};
  Status s = order_lines(c, x, &o, &lines, &places);
  if (s == OK) s = depths(c, lines, &depth);
  if (s == OK) {
    Args longest = {.at = {[1] = arg_integer(-1), [2] = arg_integer(1)}};
    longest.at[0] = arg_tensor(depth);
    s = op_call(c, OP_argmax, &longest, &at);
  }
  if (s == OK) s = gather_last(c, lines, at, value);
  if (s == OK) s = gather_last(c, places, at, place);
  tensor_release(c, lines);
  tensor_release(c, places);
  tensor_release(c, depth);
  tensor_release(c, at);
  return s;
}

/* The last dim, of size 1, gone or back at `dim`. */
static Status place_dim(Context *c, Tensor *x, int dim, bool keepdim,
                        Tensor **r) {
  Shape shape = x->shape;
  shape_drop(&shape, shape.rank - 1);
  if (keepdim) shape_insert(&shape, dim, 1, 1);
  const Status s = op_reshape(c, x, shape.rank, shape.size, r);
  if (s == OK) (*r)->is_view = false;
  return s;
}

Status run_mode(Context *c, Args *a, Tensor **r) {
  Tensor *x = a->at[0].tensor, *turned = NULL, *value = NULL, *place = NULL;
  Order o = {.keep = 1};
  int64_t size = 0;
  const bool keepdim = args_integer(OP_mode, a, 2) != 0;
  Status s = order_dim(c, OP_mode, a, 1, &o.dim, &size);
  if (s == OK) s = order_check_line(c, x, o.dim, size, "mode");
  if (s != OK) return s;
  if (x->shape.rank == 0) return order_lines(c, x, &o, &r[0], &r[1]);
  Shape shape = x->shape; /* the dim goes to the end, others keep their order */
  shape_drop(&shape, o.dim);
  shape_insert(&shape, shape.rank, size, x->shape.stride[o.dim]);
  s = tensor_view(c, x, &shape, x->offset, &turned);
  if (s == OK) s = mode_last(c, turned, &value, &place);
  if (s == OK) s = place_dim(c, value, o.dim, keepdim, &r[0]);
  if (s == OK) s = place_dim(c, place, o.dim, keepdim, &r[1]);
  tensor_release(c, turned);
  tensor_release(c, value);
  tensor_release(c, place);
  return s; /* op_call releases r[0] when r[1] could not be had */
}
