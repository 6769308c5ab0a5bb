/* strided.c: windows and free strides over memory, and what adds their elements
 * back where they came from.
 *
 * Overlapping places are added to in a fixed order: the overlapping axes step
 * by step, the longest ones at once.
 * Must not know: derivatives.
 */
#include <string.h>

#include "ops/run.h"

/* ---- views ---- */

/* How many windows of `size` positions, `step` apart, an axis has. */
static Status window_count(Context *c, const Shape *s, int dim, int64_t size,
                           int64_t step, int64_t *count) {
  if (size < 1 || size > s->size[dim])
    return fail(c, E_SIZE, "%A %I does not fit in dim %P of %S", "size", size,
                (int64_t)dim, SHAPE_ARG(s));
  if (step < 1) return fail(c, E_RANGE, "%A %I: a step is at least 1", "step",
                            step);
  *count = (s->size[dim] - size) / step + 1;
  return OK;
}

/* s with the windows of an axis on a new last axis. */
static Status window_shape(Context *c, const Shape *s, int dim, int64_t size,
                           int64_t step, Shape *r) {
  int64_t count = 0;
  if (s->rank == MAX_RANK)
    return fail(c, E_RANK, "%A %S has the most axes that there are", "self",
                SHAPE_ARG(s));
  const Status status = window_count(c, s, dim, size, step, &count);
  if (status != OK) return status;
  *r = *s;
  r->size[dim] = count;
  if (count > 1) r->stride[dim] = s->stride[dim] * step;
  shape_insert(r, r->rank, size, s->stride[dim]);
  return OK;
}

Status run_unfold(Context *c, Args *a, Tensor **r) {
  const Tensor *x = a->at[0].tensor;
  Shape s;
  int dim = 0;
  Status status = check_rank(c, "self", x, 1, MAX_RANK);
  if (status == OK)
    status = check_dim(c, "dim", a->at[1].integer, x->shape.rank, x, &dim);
  if (status == OK)
    status = window_shape(c, &x->shape, dim, a->at[2].integer,
                          args_integer(OP_unfold, a, 3), &s);
  if (status != OK) return status;
  a->at[1] = arg_integer(dim);
  return tensor_view(c, x, &s, x->offset, r);
}

/* Sizes and strides of two arguments as one shape; the last element lies below
 * `room`. */
static Status strided_shape(Context *c, const Arg *sizes, const Arg *strides,
                            int64_t offset, int64_t room, Shape *s) {
  int64_t last = offset;
  const Status status = check_sizes(c, sizes, s);
  if (status != OK) return status;
  if (strides->count != s->rank)
    return fail(c, E_RANK, "%d %A for size %S", strides->count, "strides",
                SHAPE_ARG(s));
  bool fits = offset >= 0;
  for (int i = 0; i < s->rank && fits; i++) {
    int64_t way = 0;
    s->stride[i] = strides->sizes[i];
    fits = s->stride[i] >= 0 &&
           (s->size[i] == 0 || (checked_mul(s->size[i] - 1, s->stride[i], &way) &&
                                way <= INT64_MAX - last));
    last += way;
  }
  if (fits && (shape_count(s) == 0 || last < room)) return OK;
  return fail(c, E_INDEX,
              "size %S with %A %S from offset %I leaves the %I elements that "
              "there are",
              SHAPE_ARG(s), "strides", strides->count, strides->sizes, offset,
              room);
}

static int64_t storage_count(const Tensor *x) {
  return (int64_t)(x->storage->bytes / dtype_bytes(x->dtype));
}

Status run_as_strided(Context *c, Args *a, Tensor **r) {
  const Tensor *x = a->at[0].tensor;
  const int64_t offset =
      a->at[3].kind == ARG_NONE ? x->offset : a->at[3].integer;
  Shape s;
  if (c->is_recording && x->node != NULL && shape_overlaps_itself(&x->shape))
    return fail(c, E_OVERLAP,
                "%A %S overlaps itself, and no derivative is defined; use "
                "contiguous first",
                "self", SHAPE_ARG(&x->shape));
  const Status status = strided_shape(c, &a->at[1], &a->at[2], offset,
                                      storage_count(x), &s);
  if (status != OK) return status;
  a->at[3] = arg_integer(offset);
  const bool is_empty = shape_count(&s) == 0;
  return tensor_view(c, x, &s, is_empty ? x->offset : offset, r);
}

/* ---- adding back ---- */

/* The axes of a view, those of small steps and among equals the long ones
 * first; `looped` of them, at the end, reach places that the others reach. */
static int overlap_order(const Shape *s, int order[MAX_RANK]) {
  int kept = 0, looped = 0, loops[MAX_RANK];
  bool done[MAX_RANK] = {false};
  int64_t reach = 1;
  for (int taken = 0; taken < s->rank; taken++) {
    int axis = -1;
    for (int i = 0; i < s->rank; i++) {
      if (done[i]) continue;
      if (axis < 0 || s->stride[i] < s->stride[axis] ||
          (s->stride[i] == s->stride[axis] && s->size[i] > s->size[axis]))
        axis = i;
    }
    done[axis] = true;
    if (s->size[axis] > 1 && s->stride[axis] < reach) {
      loops[looped++] = axis;
    } else {
      order[kept++] = axis;
      reach += (s->size[axis] - 1) * s->stride[axis];
    }
  }
  memcpy(order + kept, loops, (size_t)looped * sizeof *loops);
  return looped;
}

/* view += x, both without overlap. */
static Status add_into(Context *c, Tensor *view, Tensor *x) {
  Args a;
  a.at[0] = arg_tensor(view);
  a.at[1] = arg_tensor(x);
  a.at[2].kind = ARG_NONE;
  return pointwise_call(c, OP_add, &a, view, NULL);
}

/* One step: the looped axes stand at `at`. */
static Status add_step(Context *c, Tensor *out, const Shape *s, int64_t offset,
                       const Tensor *x, int kept, const int *order,
                       const int64_t *at) {
  Shape to = {.rank = kept}, from = {.rank = kept};
  int64_t to_more = offset, from_more = x->offset;
  Tensor *target = NULL, *part = NULL;
  for (int i = 0; i < s->rank; i++) {
    const int axis = order[i];
    if (i < kept) {
      to.size[i] = from.size[i] = s->size[axis];
      to.stride[i] = s->stride[axis], from.stride[i] = x->shape.stride[axis];
    } else {
      to_more += at[i] * s->stride[axis];
      from_more += at[i] * x->shape.stride[axis];
    }
  }
  Status status = tensor_view(c, out, &to, to_more, &target);
  if (status == OK) status = tensor_view(c, x, &from, from_more, &part);
  if (status == OK) status = add_into(c, target, part);
  tensor_release(c, target);
  tensor_release(c, part);
  return status;
}

/* Elements of x to the places that s, from `offset` on, has in out. */
static Status add_strided(Context *c, Tensor *out, const Shape *s,
                          int64_t offset, const Tensor *x) {
  int order[MAX_RANK];
  int64_t at[MAX_RANK] = {0};
  if (x->count == 0) return OK;
  const int kept = s->rank - overlap_order(s, order);
  for (;;) {
    const Status status = add_step(c, out, s, offset, x, kept, order, at);
    int i = s->rank - 1;
    if (status != OK) return status;
    while (i >= kept && ++at[i] == s->size[order[i]]) at[i--] = 0;
    if (i < kept) return OK;
  }
}

/* *r = zeros of `size` with x added at the places of s; f16 and bf16 are added
 * in f32 and rounded once. */
static Status added_back(Context *c, const Tensor *x, const Shape *size,
                         const Shape *s, int64_t offset, Tensor **r) {
  const Arg zero = arg_integer(0);
  const bool is_float = dtype_class(x->dtype) == CLASS_FLOAT;
  const Dtype dtype = is_float ? dtype_compute(x->dtype) : x->dtype;
  Tensor *out = NULL;
  Status status = tensor_new(c, tensor_device(x), dtype, size, &out);
  if (status == OK) status = fill_with(c, out, &zero);
  if (status == OK) status = add_strided(c, out, s, offset, x);
  if (status == OK) status = plain(c, out, x->dtype, tensor_device(x), r);
  tensor_release(c, out);
  return status;
}

Status run_unfold_add(Context *c, Args *a, Tensor **r) {
  const Tensor *x = a->at[0].tensor;
  Shape size, s;
  int dim = 0;
  Status status = check_sizes(c, &a->at[1], &size);
  if (status == OK)
    status = check_dim(c, "dim", a->at[2].integer, size.rank, x, &dim);
  if (status == OK && size.rank == 0)
    status = fail(c, E_RANK, "%A {} has no dim to unfold", "size");
  if (status == OK)
    status = window_shape(c, &size, dim, a->at[3].integer,
                          args_integer(OP_unfold_add, a, 4), &s);
  if (status == OK && !shape_same(&s, &x->shape))
    status = fail(c, E_SHAPE, "%A is %S; the windows of size %S are %S", "self",
                  SHAPE_ARG(&x->shape), SHAPE_ARG(&size), SHAPE_ARG(&s));
  if (status != OK) return status;
  a->at[2] = arg_integer(dim);
  return added_back(c, x, &size, &s, 0, &r[0]);
}

Status run_as_strided_add(Context *c, Args *a, Tensor **r) {
  const Tensor *x = a->at[0].tensor;
  const int64_t offset = args_integer(OP_as_strided_add, a, 3);
  const Arg own = arg_sizes(x->shape.rank, x->shape.size);
  Shape size, s;
  Status status = check_sizes(c, &a->at[1], &size);
  if (status == OK)
    status = strided_shape(c, &own, &a->at[2], offset, shape_count(&size), &s);
  if (status != OK) return status;
  return added_back(c, x, &size, &s, offset, &r[0]);
}
