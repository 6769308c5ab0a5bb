/* assign.c: assignment to a box of positions, and what may be assigned.
 *
 *   x {4,5,6}, x["2, ::2"]     first (1, 0, 0)   count (1, 3, 6)
 *                              step  (1, 2, 1)
 *
 * Must not know: index tensors (pick.c), how a box was spelt.
 */
#include "ops/assign.h"

#include <string.h>

#include "ops/index.h"

/* ---- what may be assigned ---- */

/* The least or greatest element of v, integers. */
static Status read_extreme(Context *c, OpId op, Tensor *v, int64_t *value) {
  Tensor *one = NULL;
  char data[sizeof(int64_t)];
  Status s = op_unary(c, op, v, &one);
  if (s == OK) s = tensor_read(c, one, data);
  if (s == OK) *value = scalar_to_i64(data, one->dtype);
  tensor_release(c, one);
  return s;
}

/* Integers into narrower ones: each of them must fit. */
static Status check_integers(Context *c, Tensor *v, Dtype to) {
  int64_t least = 0, most = 0;
  if (dtype_class(v->dtype) != CLASS_INTEGER || v->count == 0 ||
      dtype_class(to) != CLASS_INTEGER)
    return OK;
  if (dtype_least(v->dtype) >= dtype_least(to) &&
      dtype_greatest(v->dtype) <= dtype_greatest(to))
    return OK;
  Status s = read_extreme(c, OP_amin, v, &least);
  if (s == OK) s = read_extreme(c, OP_amax, v, &most);
  if (s != OK || (least >= dtype_least(to) && most <= dtype_greatest(to)))
    return s;
  return fail(c, E_RANGE, "%A holds %I, which does not fit in %s (%I..%I)",
              "value", least < dtype_least(to) ? least : most, dtype_name(to),
              dtype_least(to), dtype_greatest(to));
}

Status value_check(Context *c, Tensor *v, const Tensor *x) {
  const DtypeClass from = dtype_class(v->dtype), to = dtype_class(x->dtype);
  if (from <= to) /* ORDER DtypeClass: bool, integer, float */
    return check_integers(c, v, x->dtype);
  return fail(c, E_DTYPE, "%A is %s and self is %s: convert it with :to()",
              "value", dtype_name(v->dtype), dtype_name(x->dtype));
}

Status value_like(Context *c, const Tensor *x, const Arg *value, Tensor **r) {
  Args a;
  a.at[1] = arg_integer(x->dtype);
  a.at[2].kind = ARG_DEVICE;
  a.at[2].device = tensor_device(x);
  if (value->kind == ARG_TENSOR) {
    a.at[0] = arg_tensor(value->tensor);
    return op_call(c, OP_cast, &a, r);
  }
  a.at[0] = arg_sizes(0, NULL); /* full: sizes, number, dtype, device, grad */
  a.at[3] = a.at[2];
  a.at[2] = a.at[1];
  a.at[1] = *value;
  a.at[4].kind = ARG_NONE;
  return op_call(c, OP_full, &a, r);
}

/* ---- the row ---- */

static Status check_box(Context *c, const Args *a, const Shape *s) {
  for (int k = 2; k < 5; k++)
    if (a->at[k].count != s->rank)
      return fail(c, E_RANK, "a box of %d dims in self %S", a->at[k].count,
                  SHAPE_ARG(s));
  for (int i = 0; i < s->rank; i++) {
    const int64_t first = a->at[2].sizes[i], count = a->at[3].sizes[i];
    const int64_t step = a->at[4].sizes[i], size = s->size[i];
    if (first < 0 || count < 0 || step < 1 || first > size ||
        (count > 0 && (first >= size || count - 1 > (size - 1 - first) / step)))
      return fail(c, E_INDEX, "the box leaves dim %P of self %S", (int64_t)i,
                  SHAPE_ARG(s));
  }
  return OK;
}

/* The box of t as a view. */
static Status box_view(Context *c, const Args *a, const Tensor *t,
                       Tensor **r) {
  Shape s = t->shape;
  int64_t offset = t->offset;
  for (int i = 0; i < s.rank; i++) {
    offset += a->at[2].sizes[i] * s.stride[i];
    s.size[i] = a->at[3].sizes[i];
    s.stride[i] *= a->at[4].sizes[i];
  }
  return tensor_view(c, t, &s, shape_count(&s) > 0 ? offset : 0, r);
}

Status run_assign(Context *c, Args *a, Tensor **r) {
  Tensor *self = a->at[0].tensor, *source = a->at[1].tensor;
  Tensor *box = NULL, *from = NULL;
  Shape as;
  Status s = check_box(c, a, &self->shape);
  if (s == OK) s = check_same_dtype(c, "self", self, "source", source);
  if (s != OK) return s;
  const Shape size = shape_of(a->at[3].count, a->at[3].sizes);
  if (!shape_expand(&source->shape, &size, &as))
    return fail(c, E_SHAPE, "%A %S does not broadcast to the box %S", "source",
                SHAPE_ARG(&source->shape), SHAPE_ARG(&size));
  s = open_target(c, self, &self->shape, r);
  if (s == OK) s = isolate(c, source, *r, &from);
  if (s == OK) s = box_view(c, a, *r, &box);
  if (s == OK) s = move_into(c, box, from);
  tensor_release(c, from);
  tensor_release(c, box);
  return s;
}
