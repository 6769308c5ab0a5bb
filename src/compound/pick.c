/* pick.c: see pick.h.
 *
 *   x {4,5,6}, items i at axis 0 and j at axis 1, both {2}:
 *     picked axes seen as one    {20, 6}
 *     places                     i * 5 + j, two of them
 *     index_select, dim 0        {2, 6}
 *
 * Index tensors are read on the host: places are checked before anything
 * moves, and a mask does not say how many it selects until it is read.
 * Must not know: kernels, derivatives.
 */
#include "compound/pick.h"

#include <string.h>

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
  int64_t *place; /* along the merged axis, from 0; of the ledger */
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

/* The positions that one item picks on its axes seen as one, from 0.
 * values: `count` of them, shape B' of the item; of the ledger, `room` bytes */
typedef struct Positions {
  Shape shape;
  int64_t *value;
  size_t room;
} Positions;

static void positions_free(Context *c, Positions *p) {
  ledger_free(&c->ledger, p->value, p->room);
  p->value = NULL;
}

/* The elements of t as they are, as i64 in host memory. */
static Status read_whole(Context *c, Tensor *t, Positions *p) {
  Tensor *here = NULL, *flat = NULL;
  Args a = {0};
  Status s = tensor_ready(c, t, "an index tensor");
  if (s != OK) return s;
  p->shape = shape_of(t->shape.rank, t->shape.size);
  p->room = ((size_t)t->count + 1) * sizeof *p->value;
  p->value = ledger_alloc(&c->ledger, p->room);
  if (p->value == NULL) return context_no_memory(c, &t->shape, DTYPE_I64);
  a.at[0] = arg_tensor(t);
  a.at[1] = arg_integer(DTYPE_I64);
  a.at[2].kind = ARG_DEVICE;
  a.at[2].device = &c->host;
  s = op_call(c, OP_cast, &a, &here);
  if (s == OK) s = op_contiguous(c, here, &flat);
  if (s == OK) s = tensor_read(c, flat, p->value);
  tensor_release(c, flat);
  tensor_release(c, here);
  if (s != OK) positions_free(c, p);
  return s;
}

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

/* From the base of the caller, or from the end, to 0 .. size - 1. */
static Status resolve(Context *c, const Picks *p, const PickItem *item,
                      int64_t size, Positions *r) {
  const int64_t base = c->failure.base, count = shape_count(&r->shape);
  for (int64_t i = 0; i < count; i++) {
    const int64_t value = r->value[i];
    const int64_t at = value < 0 ? value + size : value - base;
    if (at < 0 || at >= size) return bad_position(c, p, item, value, size);
    r->value[i] = at;
  }
  return OK;
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

/* The numbers of the true elements, row-major, in place. */
static void list_true(Positions *r) {
  const int64_t count = shape_count(&r->shape);
  int64_t n = 0;
  for (int64_t i = 0; i < count; i++)
    if (r->value[i] != 0) r->value[n++] = i;
  r->shape = shape_of(1, &n);
}

static Status read_item(Context *c, const Tensor *x, const Picks *p,
                        const PickItem *item, Positions *r) {
  Status s;
  const bool is_mask = item->index->dtype == DTYPE_BOOL;
  if (is_mask && (s = check_mask(c, x, p, item)) != OK) return s;
  if ((s = read_whole(c, item->index, r)) != OK) return s;
  if (is_mask)
    list_true(r);
  else
    s = resolve(c, p, item, x->shape.size[item->axis], r);
  if (s != OK) positions_free(c, r);
  return s;
}

static Status read_items(Context *c, const Tensor *x, const Picks *p,
                         Positions *r) {
  for (int k = 0; k < p->count; k++) {
    const Status s = read_item(c, x, p, &p->at[k], &r[k]);
    if (s != OK) return s;
  }
  return OK;
}

/* ---- one list of places ---- */

/* place[i] = place[i] size + the stretched position number i */
static void add_positions(const Plan *plan, const Shape *stretched,
                          const int64_t *value, int64_t size) {
  int64_t at[MAX_RANK] = {0}, offset = 0;
  for (int64_t i = 0; i < plan->count; i++) {
    plan->place[i] = plan->place[i] * size + value[offset];
    for (int k = plan->shape.rank - 1; k >= 0; k--) {
      offset += stretched->stride[k];
      if (++at[k] < plan->shape.size[k]) break;
      offset -= stretched->stride[k] * plan->shape.size[k];
      at[k] = 0;
    }
  }
}

static int64_t picked_size(const Tensor *x, const PickItem *item) {
  int64_t size = 1;
  for (int i = 0; i < pick_axes(item->index); i++)
    size *= x->shape.size[item->axis + i];
  return size;
}

static Status stretch(Context *c, const Positions *r, int count, Shape *b) {
  int axis;
  *b = r[0].shape;
  for (int k = 1; k < count; k++)
    if (!shape_broadcast(b, &r[k].shape, &axis))
      return fail(c, E_SHAPE, "index tensors %S and %S do not broadcast",
                  SHAPE_ARG(b), SHAPE_ARG(&r[k].shape));
  shape_contiguous(b);
  return OK;
}

/* Axes of x: the picked ones together, in front when they are apart. */
static void order_axes(Plan *plan, const Tensor *x, const Picks *p) {
  bool is_picked[MAX_RANK] = {false};
  bool apart = false;
  int at = 0;
  plan->span = 0;
  for (int k = 0; k < p->count; k++) {
    const PickItem *item = &p->at[k];
    const int axes = pick_axes(item->index);
    apart |= k > 0 && item->axis != at;
    at = item->axis + axes;
    plan->span += axes;
    for (int i = 0; i < axes; i++) is_picked[item->axis + i] = true;
  }
  plan->first = apart ? 0 : p->at[0].axis;
  plan->moves = apart;
  int n = 0;
  if (!apart) {
    for (int i = 0; i < x->shape.rank; i++) plan->order[i] = i;
    return;
  }
  for (int i = 0; i < x->shape.rank; i++)
    if (is_picked[i]) plan->order[n++] = i;
  for (int i = 0; i < x->shape.rank; i++)
    if (!is_picked[i]) plan->order[n++] = i;
}

static size_t plan_bytes(const Plan *plan) {
  return ((size_t)plan->count + 1) * sizeof *plan->place;
}

static void plan_close(Context *c, Plan *plan) {
  if (plan->place != NULL)
    ledger_free(&c->ledger, plan->place, plan_bytes(plan));
  plan->place = NULL;
}

static Status plan_places(Context *c, Plan *plan, const Tensor *x,
                          const Picks *p, const Positions *r) {
  Status s = stretch(c, r, p->count, &plan->shape);
  if (s != OK) return s;
  if (x->shape.rank - plan->span + plan->shape.rank > MAX_RANK)
    return fail(c, E_RANK, "the result would have more than %d axes",
                (int)MAX_RANK);
  plan->count = shape_count(&plan->shape);
  plan->merged = 1;
  plan->place = ledger_alloc(&c->ledger, plan_bytes(plan));
  if (plan->place == NULL) return context_no_memory(c, &plan->shape, DTYPE_I64);
  memset(plan->place, 0, plan_bytes(plan));
  for (int k = 0; k < p->count; k++) {
    Shape stretched;
    const int64_t size = picked_size(x, &p->at[k]);
    if (!shape_expand(&r[k].shape, &plan->shape, &stretched)) continue;
    add_positions(plan, &stretched, r[k].value, size);
    plan->merged *= size;
  }
  return OK;
}

static Status plan_open(Context *c, Plan *plan, const Tensor *x,
                        const Picks *p) {
  Positions r[MAX_RANK];
  memset(r, 0, sizeof r);
  plan->place = NULL;
  order_axes(plan, x, p);
  Status s = read_items(c, x, p, r);
  if (s == OK) s = plan_places(c, plan, x, p, r);
  for (int k = 0; k < p->count; k++)
    if (r[k].value != NULL) positions_free(c, &r[k]);
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

/* A new row of `count` values on the device of x. */
static Status row_of(Context *c, const Tensor *x, Dtype dtype, int64_t count,
                     const void *values, Tensor **r) {
  Tensor *row = NULL;
  const Shape s = shape_of(1, &count);
  Status status = tensor_new(c, tensor_device(x), dtype, &s, &row);
  if (status == OK) status = tensor_write(c, row, values);
  if (status == OK)
    *r = row;
  else
    tensor_release(c, row);
  return status;
}

static Status select_places(Context *c, Tensor *x, int dim, Tensor *places,
                            Tensor **r) {
  Args a = {0};
  a.at[0] = arg_tensor(x);
  a.at[1] = arg_integer(dim);
  a.at[2] = arg_tensor(places);
  return op_call(c, OP_index_select, &a, r);
}

/* ---- reading ---- */

Status pick_get(Context *c, Tensor *x, const Picks *p, Tensor **r) {
  Tensor *merged = NULL, *places = NULL, *picked = NULL;
  Plan plan;
  Status s = plan_open(c, &plan, x, p);
  if (s != OK) goto done;
  for (int64_t i = 0; i < plan.count; i++) plan.place[i] += c->failure.base;
  s = row_of(c, x, DTYPE_I64, plan.count, plan.place, &places);
  if (s == OK) s = merge(c, &plan, x, &merged);
  if (s == OK) s = select_places(c, merged, plan.first, places, &picked);
  if (s != OK) goto done;
  const Shape shape = around(&plan, x, plan.shape.rank, plan.shape.size);
  s = reshape(c, picked, &shape, r);
  if (s == OK) (*r)->is_view = false; /* nobody else has its storage */
done:
  tensor_release(c, merged);
  tensor_release(c, places);
  tensor_release(c, picked);
  plan_close(c, &plan);
  return s;
}

/* ---- writing ---- */

/* For every place of the merged axis: which value goes there (the last one
 * that names it), and whether there is any.  Both are rows on x's device. */
static Status find_winners(Context *c, const Plan *plan, const Tensor *x,
                           Tensor **winner, Tensor **mask) {
  const size_t n = (size_t)plan->merged;
  const size_t bytes = n * (sizeof(int64_t) + 1) + 1;
  int64_t *number = ledger_alloc(&c->ledger, bytes);
  if (number == NULL) return context_no_memory(c, &x->shape, DTYPE_I64);
  uint8_t *is_hit = (uint8_t *)(number + n);
  memset(is_hit, 0, n);
  for (size_t i = 0; i < n; i++) number[i] = c->failure.base;
  for (int64_t i = 0; i < plan->count; i++) {
    number[plan->place[i]] = i + c->failure.base;
    is_hit[plan->place[i]] = 1;
  }
  Status s = row_of(c, x, DTYPE_I64, plan->merged, number, winner);
  if (s == OK) s = row_of(c, x, DTYPE_BOOL, plan->merged, is_hit, mask);
  ledger_free(&c->ledger, number, bytes);
  return s;
}

static Status check_value(Context *c, const Plan *plan, const Tensor *x,
                          const Tensor *value) {
  const Shape full = around(plan, x, plan->shape.rank, plan->shape.size);
  Shape as;
  if (shape_expand(&value->shape, &full, &as)) return OK;
  return fail(c, E_SHAPE, "%A %S does not broadcast to the indexed %S", "value",
              SHAPE_ARG(&value->shape), SHAPE_ARG(&full));
}

/* value {..} -> (before, merged, after), each place with its winner. */
static Status spread(Context *c, const Plan *plan, const Tensor *x,
                     Tensor *value, Tensor *winner, Tensor **r) {
  Tensor *wide = NULL, *flat = NULL;
  const Shape full = around(plan, x, plan->shape.rank, plan->shape.size);
  const Shape row = around(plan, x, 1, &plan->count);
  Status s = op_expand(c, value, full.rank, full.size, &wide);
  if (s == OK) s = reshape(c, wide, &row, &flat);
  if (s == OK) s = select_places(c, flat, plan->first, winner, r);
  tensor_release(c, wide);
  tensor_release(c, flat);
  return s;
}

/* merged, with the spread values where the mask says so. */
static Status choose(Context *c, const Plan *plan, const Tensor *x,
                     Tensor *mask, Tensor *values, Tensor *merged, Tensor **r) {
  Tensor *column = NULL;
  const int after = x->shape.rank - plan->first - plan->span;
  Shape s = {0};
  s.size[s.rank++] = plan->merged;
  while (s.rank < after + 1) s.size[s.rank++] = 1;
  Status status = reshape(c, mask, &s, &column);
  if (status == OK) status = op_ternary(c, OP_where, column, values, merged, r);
  tensor_release(c, column);
  return status;
}

Status pick_put(Context *c, Tensor *x, const Picks *p, Tensor *value,
                Tensor **r) {
  Tensor *winner = NULL, *mask = NULL, *values = NULL, *merged = NULL;
  Tensor *done = NULL;
  Plan plan;
  Status s = plan_open(c, &plan, x, p);
  if (s != OK) goto out;
  if ((s = check_value(c, &plan, x, value)) != OK) goto out;
  if (plan.count == 0) { /* nothing is picked, and nothing can be selected */
    *r = tensor_share(x);
    goto out;
  }
  s = find_winners(c, &plan, x, &winner, &mask);
  if (s == OK) s = spread(c, &plan, x, value, winner, &values);
  if (s == OK) s = merge(c, &plan, x, &merged);
  if (s == OK) s = choose(c, &plan, x, mask, values, merged, &done);
  if (s == OK) s = part(c, &plan, x, done, r);
out:
  tensor_release(c, winner);
  tensor_release(c, mask);
  tensor_release(c, values);
  tensor_release(c, merged);
  tensor_release(c, done);
  plan_close(c, &plan);
  return s;
}

/* ---- writing in place ---- */

/* The strides of x, picked axes as one; false if they do not lie so. */
static bool merged_shape(const Plan *plan, const Tensor *x, Shape *merged) {
  Shape s = {0};
  for (int i = 0; i < x->shape.rank; i++) {
    const int axis = plan->order[i];
    shape_insert(&s, i, x->shape.size[axis], x->shape.stride[axis]);
  }
  *merged = around(plan, x, 1, &plan->merged);
  return shape_reshape(&s, merged);
}

/* value {..} as (before, count, after), in memory of its own where it would
 * be read while x is written. */
static Status lay_out(Context *c, const Plan *plan, const Tensor *x,
                      Tensor *value, Tensor **r) {
  Tensor *wide = NULL, *own = NULL;
  const Shape full = around(plan, x, plan->shape.rank, plan->shape.size);
  const Shape row = around(plan, x, 1, &plan->count);
  Status s =
      tensor_overlaps(value, x) ? op_unary(c, OP_clone, value, &own) : OK;
  if (s == OK)
    s = op_expand(c, own != NULL ? own : value, full.rank, full.size, &wide);
  if (s == OK) s = reshape(c, wide, &row, r);
  tensor_release(c, wide);
  tensor_release(c, own);
  return s;
}

static Status scatter(Context *c, const Plan *plan, Tensor *x,
                      const Shape *merged, const Tensor *value,
                      const Tensor *places) {
  Backend *b = tensor_backend(x);
  Pick pick = {0};
  pick.axes = value->shape.rank;
  pick.along = plan->first;
  pick.dtype = x->dtype;
  pick.data = tensor_data(x);
  pick.other = tensor_data(value);
  pick.index = tensor_data(places);
  for (int i = 0; i < pick.axes; i++) {
    pick.size[i] = value->shape.size[i];
    pick.data_stride[i] = merged->stride[i];
    pick.other_stride[i] = value->shape.stride[i];
  }
  pick.index_stride[plan->first] = 1;
  if (!b->scatter(b, &pick)) return fail(c, E_INTERRUPTED, "interrupted");
  return OK;
}

Status pick_write(Context *c, Tensor *x, const Picks *p, Tensor *value,
                  bool *done) {
  Tensor *places = NULL, *flat = NULL;
  Shape merged;
  Plan plan;
  *done = false;
  Status s = plan_open(c, &plan, x, p);
  if (s == OK) s = tensor_writable(c, x, "self");
  if (s == OK) s = check_value(c, &plan, x, value);
  if (s != OK || !merged_shape(&plan, x, &merged)) goto out;
  *done = true;
  if (plan.count == 0 || x->count == 0) goto out;
  s = row_of(c, x, DTYPE_I64, plan.count, plan.place, &places);
  if (s == OK) s = lay_out(c, &plan, x, value, &flat);
  if (s != OK) goto out;
  s = scatter(c, &plan, x, &merged, flat, places);
  x->storage->version++;
out:
  tensor_release(c, places);
  tensor_release(c, flat);
  plan_close(c, &plan);
  return s;
}
