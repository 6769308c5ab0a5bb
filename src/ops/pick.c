/* pick.c: see pick.h.
 *
 *   x {4,5,6}, items i at axis 0 and j at axis 1, both {2}:
 *     picked axes seen as one    {20, 6}
 *     places                     i * 5 + j, two of them
 *     index_select, dim 0        {2, 6}
 *
 * Places stay on the device; all are checked before anything moves.
 * Must not know: kernels, derivatives.
 */
#include "ops/pick.h"

#include <string.h>

#include "ops/assign.h"
#include "ops/index.h"

/* Where the picks are, once read.
 * merged == product of the picked sizes; count == elements of `shape`;
 * order: the axes of x, picked ones at first .. first + span - 1 */
typedef struct Plan {
  int first, span;
  int order[MAX_RANK];
  bool moves;  /* order is not the identity */
  Shape shape; /* B: all index tensors, stretched */
  int64_t merged;
  int64_t count;
  Tensor *places; /* (count) i64, along the merged axis, from the base */
} Plan;

int pick_axes(const Tensor *t) {
  return t->dtype == DTYPE_BOOL ? t->shape.rank : 1;
}

Status pick_check(Context *c, const Tensor *t) {
  if (dtype_class(t->dtype) == CLASS_FLOAT)
    return fail(c, E_DTYPE,
                "%A is %s: index tensors are integers or bool; see ts.idx",
                "an index tensor", dtype_name(t->dtype));
  if (t->dtype == DTYPE_BOOL && t->shape.rank == 0)
    return fail(c, E_MASK, "%A of rank 0 masks nothing", "a bool");
  return OK;
}

/* ---- reading index tensors ---- */

static Status bad_position(Context *c, const Picks *p, const PickItem *item,
                           int64_t value, int64_t size) {
  const int64_t base = c->failure.base;
  if (size == 0)
    return fail(c, E_INDEX, "position %I of dim %P of %S: the dim is empty",
                value, (int64_t)item->dim, SHAPE_ARG(&p->named));
  return fail(c, E_INDEX,
              "position %I of dim %P of %S: positions are %I..%I or -1..-%I",
              value, (int64_t)item->dim, SHAPE_ARG(&p->named), base,
              size - 1 + base, size);
}

/* op(x, number), integers. */
static Status with_integer(Context *c, OpId op, Tensor *x, int64_t n,
                           Tensor **r) {
  Args a;
  a.at[0] = arg_tensor(x);
  a.at[1] = arg_integer(n);
  a.at[2].kind = ARG_NONE;
  return op_call(c, op, &a, r);
}

/* Negative positions count from the end. */
static Status from_start(Context *c, Tensor *x, int64_t size, Tensor **r) {
  Tensor *below = NULL, *moved = NULL;
  Status s = with_integer(c, OP_lt, x, 0, &below);
  if (s == OK)
    s = with_integer(c, OP_add, x, size + c->failure.base, &moved);
  if (s == OK) s = op_ternary(c, OP_where, below, moved, x, r);
  tensor_release(c, below);
  tensor_release(c, moved);
  return s;
}

/* From the base, all inside; what they were is in the message if not. */
static Status read_positions(Context *c, const Tensor *x, const Picks *p,
                             const PickItem *item, Tensor **r) {
  const int64_t size = x->shape.size[item->axis];
  Tensor *plain = NULL, *moved = NULL;
  Status s =
      index_plain(c, "an index tensor", item->index, tensor_device(x), &plain);
  if (s != OK) return s;
  if (index_outside(c, plain, size) < 0) {
    *r = plain;
    return OK;
  }
  s = from_start(c, plain, size, &moved);
  const int64_t bad = s == OK ? index_outside(c, moved, size) : -1;
  if (bad >= 0)
    s = bad_position(c, p, item, index_value(c, plain, bad), size);
  if (s == OK) *r = moved;
  else tensor_release(c, moved);
  tensor_release(c, plain);
  return s;
}

static Status check_mask(Context *c, const Tensor *x, const Picks *p,
                         const PickItem *item) {
  const Shape *s = &item->index->shape;
  for (int i = 0; i < s->rank; i++) {
    const int64_t size = x->shape.size[item->axis + i];
    if (s->size[i] != size)
      return fail(c, E_MASK, "mask %S does not match dim %P of %S, size %I",
                  SHAPE_ARG(s), (int64_t)item->dim + i, SHAPE_ARG(&p->named),
                  size);
  }
  return OK;
}

/* The positions that an item picks on its axes seen as one, from the base. */
static Status read_item(Context *c, const Tensor *x, const Picks *p,
                        const PickItem *item, Tensor **r) {
  Status s = tensor_ready(c, item->index, "an index tensor");
  if (s != OK) return s;
  if (item->index->dtype != DTYPE_BOOL)
    return read_positions(c, x, p, item, r);
  s = check_mask(c, x, p, item);
  return s == OK ? mask_places(c, item->index, tensor_device(x), r) : s;
}

/* ---- one list of places ---- */

static int64_t picked_size(const Tensor *x, const PickItem *item) {
  int64_t size = 1;
  for (int i = 0; i < pick_axes(item->index); i++)
    size *= x->shape.size[item->axis + i];
  return size;
}

/* Axes of x: the picked ones together, in front when they are apart. */
static void order_axes(Plan *plan, const Tensor *x, const Picks *p) {
  bool is_picked[MAX_RANK] = {false};
  bool apart = false;
  int at = 0, n = 0;
  plan->span = 0;
  plan->merged = 1;
  for (int k = 0; k < p->count; k++) {
    const PickItem *item = &p->at[k];
    const int axes = pick_axes(item->index);
    apart |= k > 0 && item->axis != at;
    at = item->axis + axes;
    plan->span += axes;
    plan->merged *= picked_size(x, item);
    for (int i = 0; i < axes; i++) is_picked[item->axis + i] = true;
  }
  plan->first = apart ? 0 : p->at[0].axis;
  plan->moves = apart;
  for (int pass = 0; pass < 2; pass++) /* apart: picked ones, then the others */
    for (int i = 0; i < x->shape.rank; i++)
      if (apart ? is_picked[i] == (pass == 0) : pass == 0) plan->order[n++] = i;
}

/* *places = *places size + next, as they count from the base. */
static Status join(Context *c, Tensor **places, int64_t size, Tensor *next) {
  Tensor *scaled = NULL, *moved = NULL, *sum = NULL;
  int axis = 0;
  Shape both = (*places)->shape;
  if (!shape_broadcast(&both, &next->shape, &axis))
    return fail(c, E_SHAPE, "index tensors %S and %S do not broadcast",
                SHAPE_ARG(&both), SHAPE_ARG(&next->shape));
  Status s = with_integer(c, OP_mul, *places, size, &scaled);
  if (s == OK)
    s = with_integer(c, OP_sub, scaled, size * c->failure.base, &moved);
  if (s == OK) s = op_binary(c, OP_add, moved, next, &sum);
  tensor_release(c, scaled);
  tensor_release(c, moved);
  if (s != OK) return s;
  tensor_release(c, *places);
  *places = sum;
  return OK;
}

static Status read_items(Context *c, const Tensor *x, const Picks *p,
                         Tensor **places) {
  for (int k = 0; k < p->count; k++) {
    Tensor *next = NULL;
    Status s = read_item(c, x, p, &p->at[k], &next);
    if (s == OK && k == 0) {
      *places = next;
      continue;
    }
    if (s == OK) s = join(c, places, picked_size(x, &p->at[k]), next);
    tensor_release(c, next);
    if (s != OK) return s;
  }
  return OK;
}

static void plan_close(Context *c, Plan *plan) {
  tensor_release(c, plan->places);
}

/* Lint: the shape of the positions goes to the front. */
static Status ask_split(Context *c, const Plan *plan) {
  if (!plan->moves) return OK;
  return lint_found(c, LINT_split_index,
                    "%s: a whole dim or a range stands between index tensors, "
                    "so their shape %S comes first in the result; for it to "
                    "stay in place, index them one after the other",
                    c->failure.op, SHAPE_ARG(&plan->shape));
}

static Status plan_open(Context *c, Plan *plan, const Tensor *x,
                        const Picks *p) {
  Tensor *places = NULL;
  assert(p->count > 0);
  plan->places = NULL;
  order_axes(plan, x, p);
  Status s = read_items(c, x, p, &places);
  if (s == OK) {
    plan->shape = places->shape;
    plan->count = places->count;
    if (x->shape.rank - plan->span + plan->shape.rank > MAX_RANK)
      s = fail(c, E_RANK, "the result would have more than %d axes",
               (int)MAX_RANK);
    if (s == OK && lint_asks(c, LINT_split_index)) s = ask_split(c, plan);
  }
  if (s == OK) s = op_reshape(c, places, 1, &plan->count, &plan->places);
  tensor_release(c, places);
  return s;
}

/* ---- shapes on the way ---- */

/* (before, middle, after): the axes of x in order, with the picked ones
 * replaced. */
static Shape around(const Plan *plan, const Tensor *x, int middle,
                    const int64_t *size) {
  Shape s = {0};
  for (int i = 0; i < plan->first; i++)
    s.size[s.rank++] = x->shape.size[plan->order[i]];
  for (int i = 0; i < middle; i++) s.size[s.rank++] = size[i];
  for (int i = plan->first + plan->span; i < x->shape.rank; i++)
    s.size[s.rank++] = x->shape.size[plan->order[i]];
  return s;
}

static Status reshape(Context *c, Tensor *x, const Shape *s, Tensor **r) {
  return op_reshape(c, x, s->rank, s->size, r);
}

static Status permute(Context *c, Tensor *x, const int *order, Tensor **r) {
  int64_t dims[MAX_RANK];
  for (int i = 0; i < x->shape.rank; i++) dims[i] = order[i];
  return op_permute(c, x, x->shape.rank, dims, r);
}

/* x with its picked axes as one: (before, merged, after). */
static Status merge(Context *c, const Plan *plan, Tensor *x, Tensor **r) {
  Tensor *together = NULL;
  const Shape s = around(plan, x, 1, &plan->merged);
  if (!plan->moves) return reshape(c, x, &s, r);
  Status status = permute(c, x, plan->order, &together);
  if (status == OK) status = reshape(c, together, &s, r);
  tensor_release(c, together);
  return status;
}

/* The way back. */
static Status part(Context *c, const Plan *plan, const Tensor *x,
                   Tensor *merged, Tensor **r) {
  Tensor *together = NULL;
  Shape s = x->shape;
  int back[MAX_RANK];
  for (int i = 0; i < s.rank; i++) {
    s.size[i] = x->shape.size[plan->order[i]];
    back[plan->order[i]] = i;
  }
  if (!plan->moves) return reshape(c, merged, &s, r);
  Status status = reshape(c, merged, &s, &together);
  if (status == OK) status = permute(c, together, back, r);
  tensor_release(c, together);
  return status;
}

/* The arguments of a row at the places: index_select, index_copy, index_add. */
static Args at_places(const Plan *plan, Tensor *x, Tensor *source) {
  Args a;
  a.at[0] = arg_tensor(x);
  a.at[1] = arg_integer(plan->first);
  a.at[2] = arg_tensor(plan->places);
  a.at[3] = arg_tensor(source);
  a.at[4].kind = ARG_NONE;
  return a;
}

/* ---- one mask needs no places ---- */

static bool is_lone_mask(const Tensor *x, const Picks *p) {
  const Tensor *mask = p->at[0].index;
  return p->count == 1 && mask->dtype == DTYPE_BOOL &&
         tensor_device(mask) == tensor_device(x);
}

static Status ready_mask(Context *c, const Tensor *x, const Picks *p) {
  const Status s = tensor_ready(c, p->at[0].index, "an index tensor");
  return s == OK ? check_mask(c, x, p, &p->at[0]) : s;
}

/* A mask over all of x. */
static Status select_all(Context *c, Tensor *x, const Picks *p, Tensor **r) {
  const Status s = ready_mask(c, x, p);
  return s == OK ? op_binary(c, OP_masked_select, x, p->at[0].index, r) : s;
}

/* One number under a mask over some axes: x = mask ? value : x. */
static Status fill_under(Context *c, Tensor *x, const Picks *p,
                         Tensor *value) {
  Shape shape = p->at[0].index->shape;
  Tensor *mask = NULL, *under = NULL, *own = NULL;
  Args a;
  Status s = ready_mask(c, x, p);
  while (p->at[0].axis + shape.rank < x->shape.rank)
    shape.size[shape.rank++] = 1; /* axes behind it are whole */
  if (s == OK)
    s = op_reshape(c, p->at[0].index, shape.rank, shape.size, &mask);
  if (s != OK) return s;
  s = isolate(c, mask, x, &under);
  if (s == OK) s = isolate(c, value, x, &own);
  a.at[0] = arg_tensor(under);
  a.at[1] = arg_tensor(own);
  a.at[2] = arg_tensor(x);
  if (s == OK) s = pointwise_call(c, OP_where, &a, x, NULL);
  if (s == OK) x->storage->version++;
  tensor_release(c, mask);
  tensor_release(c, under);
  tensor_release(c, own);
  return s;
}

/* ---- reading ---- */

Status pick_get(Context *c, Tensor *x, const Picks *p, Tensor **r) {
  Tensor *merged = NULL, *picked = NULL;
  Plan plan;
  if (is_lone_mask(x, p) && pick_axes(p->at[0].index) == x->shape.rank)
    return select_all(c, x, p, r);
  Status s = plan_open(c, &plan, x, p);
  if (s == OK) s = merge(c, &plan, x, &merged);
  if (s == OK) {
    const Args a = at_places(&plan, merged, NULL);
    s = op_call(c, OP_index_select, &a, &picked);
  }
  if (s == OK) {
    const Shape shape = around(&plan, x, plan.shape.rank, plan.shape.size);
    s = reshape(c, picked, &shape, r);
  }
  if (s == OK) (*r)->is_view = false; /* nobody else has its storage */
  tensor_release(c, merged);
  tensor_release(c, picked);
  plan_close(c, &plan);
  return s;
}

/* ---- writing ---- */

/* value {..} -> (before, count, after), stretched. */
static Status lay_out(Context *c, const Plan *plan, const Tensor *x,
                      Tensor *value, Tensor **r) {
  Tensor *wide = NULL;
  Shape as;
  const Shape full = around(plan, x, plan->shape.rank, plan->shape.size);
  const Shape row = around(plan, x, 1, &plan->count);
  if (!shape_expand(&value->shape, &full, &as))
    return fail(c, E_SHAPE, "%A %S does not broadcast to the indexed %S",
                "value", SHAPE_ARG(&value->shape), SHAPE_ARG(&full));
  if (value->shape.rank == 0) /* no copy of it for each place */
    return op_expand(c, value, row.rank, row.size, r);
  Status s = op_expand(c, value, full.rank, full.size, &wide);
  if (s == OK) s = reshape(c, wide, &row, r);
  tensor_release(c, wide);
  return s;
}

/* x, whose axes are as they were, from the merged one. */
static Status put_places(Context *c, const Plan *plan, Tensor *x,
                         Tensor *source, bool adds, Tensor **r) {
  Tensor *merged = NULL, *done = NULL;
  Status s = merge(c, plan, x, &merged);
  if (s == OK) {
    const Args a = at_places(plan, merged, source);
    s = op_call(c, adds ? OP_index_add : OP_index_copy, &a, &done);
  }
  if (s == OK) s = part(c, plan, x, done, r);
  tensor_release(c, merged);
  tensor_release(c, done);
  return s;
}

Status pick_put(Context *c, Tensor *x, const Picks *p, Tensor *value,
                bool adds, Tensor **r) {
  Tensor *source = NULL;
  Plan plan;
  Status s = plan_open(c, &plan, x, p);
  if (s == OK) s = lay_out(c, &plan, x, value, &source);
  if (s == OK) s = put_places(c, &plan, x, source, adds, r);
  tensor_release(c, source);
  plan_close(c, &plan);
  return s;
}

/* ---- writing in place ---- */

/* x with its picked axes as one, in place; NULL if they do not lie so. */
static Status merged_view(Context *c, const Plan *plan, const Tensor *x,
                          Tensor **r) {
  Shape s = {0}, merged = around(plan, x, 1, &plan->merged);
  for (int i = 0; i < x->shape.rank; i++) {
    const int axis = plan->order[i];
    shape_insert(&s, i, x->shape.size[axis], x->shape.stride[axis]);
  }
  if (!shape_reshape(&s, &merged)) return OK;
  return tensor_view(c, x, &merged, x->offset, r);
}

static Status write_places(Context *c, const Plan *plan, Tensor *x,
                           Tensor *source, bool adds) {
  Tensor *view = NULL, *whole = NULL;
  Args a;
  Status s = merged_view(c, plan, x, &view);
  if (s == OK && view != NULL) {
    a = at_places(plan, view, source);
    s = op_call_inplace(c, adds ? OP_index_add : OP_index_copy, &a);
  } else if (s == OK) {
    s = put_places(c, plan, x, source, adds, &whole);
    a.at[0] = arg_tensor(x);
    a.at[1] = arg_tensor(whole);
    if (s == OK) s = op_call_inplace(c, OP_copy, &a);
  }
  tensor_release(c, view);
  tensor_release(c, whole);
  return s;
}

Status pick_write(Context *c, Tensor *x, const Picks *p, Tensor *value,
                  bool adds) {
  Tensor *source = NULL;
  Plan plan;
  Status s = tensor_writable(c, x, "self");
  if (s != OK) return s;
  if (is_lone_mask(x, p) && value->shape.rank == 0 && !adds)
    return fill_under(c, x, p, value);
  s = plan_open(c, &plan, x, p);
  if (s == OK) s = lay_out(c, &plan, x, value, &source);
  if (s == OK && plan.count > 0 && x->count > 0)
    s = write_places(c, &plan, x, source, adds);
  tensor_release(c, source);
  plan_close(c, &plan);
  return s;
}

/* ---- the rows ---- */

/* A list of index tensors, NULL for whole axes, in the order of the axes. */
static Status read_list(Context *c, const Tensor *x, const Arg *list,
                        Picks *p) {
  int axis = 0;
  p->count = 0;
  p->named = x->shape;
  for (int i = 0; i < list->count; i++) {
    Tensor *index = list->list[i];
    Status s = OK;
    const int axes = index != NULL ? pick_axes(index) : 1;
    if (axis + axes > x->shape.rank)
      return fail(c, E_TOO_MANY, "%A are too many for self %S, which has %d "
                  "dims", "positions", SHAPE_ARG(&x->shape), x->shape.rank);
    if (index != NULL) s = pick_check(c, index);
    if (s != OK) return s;
    if (index != NULL) p->at[p->count++] = (PickItem){index, axis, axis};
    axis += axes;
  }
  if (p->count > 0) return OK;
  return fail(c, E_EMPTY, "%A hold no tensor", "positions");
}

Status run_index(Context *c, Args *a, Tensor **r) {
  Picks p;
  const Status s = read_list(c, a->at[0].tensor, &a->at[1], &p);
  return s == OK ? pick_get(c, a->at[0].tensor, &p, r) : s;
}

/* In place r[0] comes as self. */
Status run_index_put(Context *c, Args *a, Tensor **r) {
  Tensor *self = a->at[0].tensor, *value = NULL;
  const bool adds = args_integer(OP_index_put, a, 3) != 0;
  Picks p;
  Status s = read_list(c, self, &a->at[1], &p);
  if (s != OK) return s;
  if (adds && self->dtype == DTYPE_BOOL)
    return fail(c, E_DTYPE, "%A is bool, which does not add up", "self");
  if (a->at[2].kind == ARG_TENSOR)
    s = value_check(c, a->at[2].tensor, self);
  else
    s = check_fits(c, "value", &a->at[2], self->dtype);
  if (s == OK) s = value_like(c, self, &a->at[2], &value);
  if (s == OK)
    s = r[0] != NULL ? pick_write(c, self, &p, value, adds)
                     : pick_put(c, self, &p, value, adds, r);
  tensor_release(c, value);
  return s;
}
