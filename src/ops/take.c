/* take.c: reading and writing at positions, ops written in rows.
 *
 * Must not know: kernels; derivatives follow from the rows called here.
 */
#include <string.h>

#include "ops/run.h"

/* x as one axis. */
static Status flat(Context *c, Tensor *x, Tensor **r) {
  return op_reshape(c, x, 1, &x->count, r);
}

static Status in_shape(Context *c, Tensor *x, const Shape *s, Tensor **r) {
  return op_reshape(c, x, s->rank, s->size, r);
}

/* row(x, dim 0, index, source) */
static Status at_first(Context *c, OpId op, Tensor *x, Tensor *index,
                       Tensor *source, Tensor **r) {
  Args a;
  a.at[0] = arg_tensor(x);
  a.at[1] = arg_integer(0);
  a.at[2] = arg_tensor(index);
  a.at[3] = arg_tensor(source);
  a.at[4].kind = ARG_NONE;
  return op_call(c, op, &a, r);
}

/* ---- reading ---- */

Status run_take(Context *c, Args *a, Tensor **r) {
  Tensor *row = NULL, *places = NULL, *taken = NULL;
  Status s = flat(c, a->at[0].tensor, &row);
  if (s == OK) s = flat(c, a->at[1].tensor, &places);
  if (s == OK) s = at_first(c, OP_index_select, row, places, NULL, &taken);
  if (s == OK) s = in_shape(c, taken, &a->at[1].tensor->shape, &r[0]);
  tensor_release(c, row);
  tensor_release(c, places);
  tensor_release(c, taken);
  return s;
}

/* Both stretched to each other, but for `dim`. */
static Status stretch_both(Context *c, Args *a, int dim, Tensor **x,
                           Tensor **index) {
  Tensor *self = a->at[0].tensor, *at = a->at[1].tensor;
  Shape space = self->shape, wide = at->shape;
  int axis = 0;
  space.size[dim] = wide.size[dim] = 1;
  if (!shape_broadcast(&space, &wide, &axis))
    return fail(c, E_SHAPE, "%A %S and self %S do not broadcast beside dim %P",
                "index", SHAPE_ARG(&at->shape), SHAPE_ARG(&self->shape),
                (int64_t)dim);
  space.size[dim] = self->shape.size[dim];
  Status s = op_expand(c, self, space.rank, space.size, x);
  space.size[dim] = at->shape.size[dim];
  if (s == OK) s = op_expand(c, at, space.rank, space.size, index);
  return s;
}

Status run_take_along_dim(Context *c, Args *a, Tensor **r) {
  Tensor *self = a->at[0].tensor, *x = NULL, *index = NULL;
  const int rank = self->shape.rank;
  int dim = 0;
  if (rank == 0) return check_rank(c, "self", self, 1, MAX_RANK);
  Status s = check_dim(c, "dim", a->at[2].integer, rank, self, &dim);
  if (s == OK) s = check_rank(c, "index", a->at[1].tensor, rank, rank);
  if (s == OK) s = stretch_both(c, a, dim, &x, &index);
  if (s == OK) {
    Args gather;
    gather.at[0] = arg_tensor(x);
    gather.at[1] = arg_integer(dim);
    gather.at[2] = arg_tensor(index);
    s = op_call(c, OP_gather, &gather, &r[0]);
  }
  tensor_release(c, x);
  tensor_release(c, index);
  return s;
}

/* picked, but the rows of `padding` cut off from the graph. */
static Status detach_padding(Context *c, Tensor *index, int64_t padding,
                             Tensor *picked, Tensor **r) {
  Tensor *is = NULL, *column = NULL, *fixed = NULL;
  Args a;
  a.at[0] = arg_tensor(index);
  a.at[1] = arg_integer(padding);
  Status s = op_call(c, OP_eq, &a, &is);
  if (s == OK) s = op_unary(c, OP_detach, picked, &fixed);
  if (s == OK) {
    a.at[0] = arg_tensor(is);
    a.at[1] = arg_integer(-1);
    s = op_call(c, OP_unsqueeze, &a, &column);
  }
  if (s == OK) s = op_ternary(c, OP_where, column, fixed, picked, r);
  tensor_release(c, is);
  tensor_release(c, column);
  tensor_release(c, fixed);
  return s;
}

/* index of any rank, weight (n, size) -> (index, size) */
Status run_embedding(Context *c, Args *a, Tensor **r) {
  Tensor *index = a->at[0].tensor, *weight = a->at[1].tensor;
  Tensor *row = NULL, *taken = NULL, *picked = NULL;
  const Arg *padding = &a->at[2];
  int64_t at = 0;
  Shape shape = index->shape;
  Status s = check_rank(c, "weight", weight, 2, 2);
  if (s == OK) s = check_rank(c, "index", index, 0, MAX_RANK - 1);
  if (s == OK && padding->kind != ARG_NONE)
    s = check_position(c, padding->integer, weight, 0, &at);
  if (s != OK) return s;
  shape_insert(&shape, shape.rank, weight->shape.size[1], 1);
  s = flat(c, index, &row);
  if (s == OK) s = at_first(c, OP_index_select, weight, row, NULL, &taken);
  if (s == OK) s = in_shape(c, taken, &shape, &picked);
  if (s == OK && padding->kind != ARG_NONE && picked->node != NULL)
    s = detach_padding(c, index, at + c->failure.base, picked, &r[0]);
  else if (s == OK)
    r[0] = tensor_share(picked);
  tensor_release(c, row);
  tensor_release(c, taken);
  tensor_release(c, picked);
  return s;
}

/* ---- writing ---- */

Status run_segment_sum(Context *c, Args *a, Tensor **r) {
  Tensor *x = a->at[0].tensor, *labels = a->at[1].tensor, *zeros = NULL;
  const int64_t n = a->at[2].integer;
  Shape shape = x->shape;
  if (n < 0) return fail(c, E_RANGE, "%A is %I", "n", n);
  Status s = check_rank(c, "self", x, 1, MAX_RANK);
  if (s == OK) s = check_rank(c, "index", labels, 1, 1);
  if (s != OK) return s;
  if (labels->count != shape.size[0])
    return fail(c, E_SHAPE, "%A %S does not label the rows of self %S",
                "index", SHAPE_ARG(&labels->shape), SHAPE_ARG(&x->shape));
  shape.size[0] = n;
  s = op_full(c, tensor_device(x), x->dtype, shape.rank, shape.size, 0, &zeros);
  if (s == OK) s = at_first(c, OP_index_add, zeros, labels, x, &r[0]);
  tensor_release(c, zeros);
  return s;
}

/* The number or one element in the dtype of self, for all of `want`. */
static Status spread_value(Context *c, const Arg *value, const Tensor *self,
                           const Shape *want, Tensor **r) {
  Tensor *one = NULL;
  Status s = OK;
  if (value->kind == ARG_TENSOR) {
    s = check_rank(c, "value", value->tensor, 0, 0);
    if (s == OK) s = check_same_dtype(c, "self", self, "value", value->tensor);
    if (s == OK) one = tensor_share(value->tensor);
  } else {
    s = check_fits(c, "value", value, self->dtype);
    if (s == OK) {
      Args full;
      full.at[0] = arg_sizes(0, NULL);
      full.at[1] = *value;
      full.at[2] = arg_integer(self->dtype);
      full.at[3].kind = ARG_DEVICE;
      full.at[3].device = tensor_device(self);
      full.at[4].kind = ARG_NONE;
      s = op_call(c, OP_full, &full, &one);
    }
  }
  if (s == OK) s = op_expand(c, one, want->rank, want->size, r);
  tensor_release(c, one);
  return s;
}

/* In place r[0] comes as self, which index_copy is to write into. */
Status run_index_fill(Context *c, Args *a, Tensor **r) {
  Tensor *self = a->at[0].tensor, *source = NULL;
  Shape want = self->shape;
  int dim = 0;
  Args copy;
  Status s = check_rank(c, "self", self, 1, MAX_RANK);
  if (s == OK)
    s = check_dim(c, "dim", a->at[1].integer, want.rank, self, &dim);
  if (s != OK) return s;
  want.size[dim] = a->at[2].tensor->count;
  s = spread_value(c, &a->at[3], self, &want, &source);
  if (s == OK) {
    copy.at[0] = a->at[0];
    copy.at[1] = arg_integer(dim);
    copy.at[2] = a->at[2];
    copy.at[3] = arg_tensor(source);
    s = r[0] != NULL ? run_index_copy(c, &copy, r)
                     : op_call(c, OP_index_copy, &copy, r);
  }
  tensor_release(c, source);
  return s;
}

/* self with source, element by element, at flat positions. */
Status run_put(Context *c, Args *a, Tensor **r) {
  Tensor *self = a->at[0].tensor, *row = NULL, *places = NULL, *from = NULL;
  Tensor *written = NULL;
  const bool adds = args_integer(OP_put, a, 3) != 0;
  if (a->at[1].tensor->count != a->at[2].tensor->count)
    return fail(c, E_SHAPE, "%A %S and index %S must have as many elements",
                "source", SHAPE_ARG(&a->at[2].tensor->shape),
                SHAPE_ARG(&a->at[1].tensor->shape));
  Status s = flat(c, self, &row);
  if (s == OK) s = flat(c, a->at[1].tensor, &places);
  if (s == OK) s = flat(c, a->at[2].tensor, &from);
  if (s == OK)
    s = at_first(c, adds ? OP_index_add : OP_index_copy, row, places, from,
                 &written);
  if (s == OK) s = in_shape(c, written, &self->shape, &r[0]);
  tensor_release(c, row);
  tensor_release(c, places);
  tensor_release(c, from);
  tensor_release(c, written);
  return s;
}

/* ---- scatter_reduce ---- */

enum { REDUCE_SUM, REDUCE_MEAN };

/* How many values meet at each place of self, itself among them, in `dtype`. */
static Status count_at(Context *c, const Args *a, Dtype dtype, Tensor **r) {
  Tensor *self = a->at[0].tensor, *source = a->at[3].tensor;
  Tensor *ones = NULL, *each = NULL;
  Args add = *a;
  Status s = op_full(c, tensor_device(self), dtype, self->shape.rank,
                     self->shape.size, 1, &ones);
  if (s == OK)
    s = op_full(c, tensor_device(self), dtype, source->shape.rank,
                source->shape.size, 1, &each);
  add.at[0] = arg_tensor(ones);
  add.at[3] = arg_tensor(each);
  if (s == OK) s = op_call(c, OP_scatter_add, &add, r);
  tensor_release(c, ones);
  tensor_release(c, each);
  return s;
}

/* Counts are kept wider than the narrow types could, and rounded once. */
static Status mean_at(Context *c, const Args *a, Tensor **r) {
  const Dtype dtype = a->at[0].tensor->dtype;
  const bool is_float = dtype_class(dtype) == CLASS_FLOAT;
  Tensor *sum = NULL, *count = NULL, *divisor = NULL, *mean = NULL;
  Status s = op_call(c, OP_scatter_add, a, &sum);
  if (s == OK) s = count_at(c, a, is_float ? DTYPE_F32 : DTYPE_I64, &count);
  if (s == OK) s = op_cast(c, count, is_float ? dtype : DTYPE_I64, &divisor);
  if (s == OK)
    s = op_binary(c, is_float ? OP_div : OP_floor_divide, sum, divisor, &mean);
  if (s == OK) s = op_cast(c, mean, dtype, r);
  tensor_release(c, sum);
  tensor_release(c, count);
  tensor_release(c, divisor);
  tensor_release(c, mean);
  return s;
}

Status run_scatter_reduce(Context *c, Args *a, Tensor **r) {
  static const OpId row[] = {OP_scatter_add, OP_scatter_add, OP_scatter_amax,
                             OP_scatter_amin, OP_scatter_prod};
  const int64_t kind = args_integer(OP_scatter_reduce, a, 4);
  if (kind == REDUCE_MEAN) return mean_at(c, a, r);
  return op_call(c, row[kind], a, r);
}
