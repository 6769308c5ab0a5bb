/* index.c: x[index] and x[index] = v (API.md, section 5).
 *
 * Items (key.h) are held against the shape and become steps; steps are rows:
 * so what brackets do is tracked as everything is.
 *
 *   x {4,5,6}   x["2, new, ::2"]     items   2 | new | range
 *   steps   select dim 1 position 2, unsqueeze dim 1, slice dim 2 step 2
 *
 * Always: all checks of numbers and ranges pass before the first step runs.
 * Must not know: how a row works, how a key is spelt, what index tensors need
 * (ops/pick.c).
 */
#include "border/args.h"
#include "border/key.h"
#include "border/table.h"
#include "ops/assign.h"

#include <string.h>

/* ---- items against a shape ---- */

/* One row to run: select, narrow, slice (with `count` positions) or
 * unsqueeze; dims and positions from 0. */
typedef struct PathStep {
  OpId op;
  int dim;
  int64_t first, count, step;
} PathStep;

/* What brackets do to a tensor: steps first, then the picks. */
typedef struct Path {
  int steps;
  PathStep step[MAX_ITEMS];
  Picks picks;
} Path;

static int64_t resolve_position(lua_State *L, const Tensor *x, int dim,
                                int64_t value, bool is_alone) {
  const int64_t n = x->shape.size[dim];
  if (value >= 1 && value <= n) return value - 1;
  if (value < 0 && value >= -n) return value + n;
  const char *hint =
      is_alone && value == n + 1 ? "; for a loop use x:iter()" : "";
  if (n == 0)
    border_error(L, E_INDEX, NULL,
                 "position %I of dim %P of %S: the dim is "
                 "empty%s",
                 value, (int64_t)dim, SHAPE_ARG(&x->shape), hint);
  border_error(L, E_INDEX, NULL,
               "position %I of dim %P of %S: positions are 1..%I or -1..%I%s",
               value, (int64_t)dim, SHAPE_ARG(&x->shape), n, -n, hint);
  return 0;
}

/* A range with its ends resolved, as a step along axis `axis` of the view. */
static PathStep resolve_range(lua_State *L, const Tensor *x, int dim,
                              const Item *item, int axis) {
  const int64_t n = x->shape.size[dim];
  int64_t a = item->has_first ? item->first : 1;
  int64_t b = item->has_last ? item->last : n;
  if (item->step < 1)
    border_error(L, E_INDEX, NULL,
                 "step %I of dim %P: steps are 1 or more; use x:flip(%P)",
                 item->step, (int64_t)dim, (int64_t)dim);
  if (a < 0) a += n + 1;
  if (b < 0) b += n + 1;
  if (a < 1 || a > n + 1 || b < 0 || b > n)
    border_error(L, E_INDEX, NULL,
                 "range %I:%I of dim %P of %S: positions are 1..%I or -1..%I",
                 item->has_first ? item->first : 1,
                 item->has_last ? item->last : n, (int64_t)dim,
                 SHAPE_ARG(&x->shape), n, -n);
  if (b < a - 1)
    border_error(L, E_INDEX, NULL,
                 "range %I:%I of dim %P of %S ends before it begins (a:a-1 is "
                 "the empty one)",
                 a, b, (int64_t)dim, SHAPE_ARG(&x->shape));
  const int64_t length = b - a + 1, count = ceil_div(length, item->step);
  PathStep step = {OP_narrow, axis, a - 1, count, 1};
  if (count > 1 && item->step > 1) { /* else a step may be of any size */
    step.op = OP_slice;
    step.step = item->step;
  }
  return step;
}

/* {i}: a position whose axis stays. */
static bool is_one(const Item *item) {
  return item->has_first && item->has_last && item->first == item->last &&
         item->step == 1;
}

static int item_axes(const Item *item) {
  if (item->kind == ITEM_ELLIPSIS || item->kind == ITEM_NEW) return 0;
  return item->kind == ITEM_PICK ? pick_axes(item->tensor) : 1;
}

/* How many axes `...` stands for. */
static int count_missing(lua_State *L, const Tensor *x, const Index *index) {
  int axes = 0, ellipses = 0;
  for (int i = 0; i < index->count; i++) {
    axes += item_axes(&index->item[i]);
    ellipses += index->item[i].kind == ITEM_ELLIPSIS;
  }
  if (ellipses > 1)
    border_error(L, E_INDEX, NULL, "\"...\" stands more than once");
  if (axes > x->shape.rank)
    border_error(L, E_TOO_MANY, NULL, "%d items for %S, which has %d dims",
                 axes, SHAPE_ARG(&x->shape), x->shape.rank);
  return x->shape.rank - axes;
}

static void add_step(Path *p, PathStep step) { p->step[p->steps++] = step; }

static bool is_whole_axis(const PathStep *step, int64_t size) {
  return step->op == OP_narrow && step->first == 0 && step->count == size;
}

static void add_range(lua_State *L, const Tensor *x, Path *p, int dim,
                      const Item *item, int axis) {
  PathStep step = {OP_narrow, axis, 0, 1, 1};
  if (is_one(item))
    step.first = resolve_position(L, x, dim, item->first, false);
  else
    step = resolve_range(L, x, dim, item, axis);
  if (!is_whole_axis(&step, x->shape.size[dim])) add_step(p, step);
}

static void add_pick(Path *p, const Item *item, int dim, int axis) {
  const PickItem pick = {item->tensor, axis, dim};
  p->picks.at[p->picks.count++] = pick;
}

/* `dim` counts axes of x, `axis` those of the view so far. */
static void resolve(lua_State *L, const Tensor *x, const Index *index,
                    Path *p) {
  const int missing = count_missing(L, x, index);
  int dim = 0, axis = 0;
  p->steps = p->picks.count = 0;
  p->picks.named = x->shape;
  for (int i = 0; i < index->count; i++) {
    const Item *item = &index->item[i];
    const int axes = item->kind == ITEM_ELLIPSIS ? missing : item_axes(item);
    PathStep step = {OP_select, axis, 0, 1, 1};
    switch (item->kind) {
    case ITEM_POSITION:
      step.first = resolve_position(L, x, dim, item->first, index->is_alone);
      add_step(p, step);
      axis--;
      break;
    case ITEM_NEW:
      step.op = OP_unsqueeze;
      add_step(p, step);
      axis++;
      break;
    case ITEM_RANGE:
      add_range(L, x, p, dim, item, axis);
      break;
    case ITEM_PICK:
      add_pick(p, item, dim, axis);
      break;
    case ITEM_WHOLE:
    case ITEM_ELLIPSIS:
      break;
    }
    dim += axes;
    axis += axes;
  }
}

/* ---- running: from here on nothing raises ---- */

static Status run_step(Context *c, const PathStep *step, Tensor *x,
                       Tensor **r) {
  Args a;
  const int64_t last = step->first + (step->count - 1) * step->step;
  a.at[0] = arg_tensor(x);
  a.at[1] = arg_integer(step->dim);
  a.at[2] = arg_integer(step->first);
  a.at[3] = arg_integer(step->op == OP_slice ? last : step->count);
  a.at[4] = arg_integer(step->step);
  return op_call(c, step->op, &a, r);
}

/* r = x after all steps: x itself when there are none. */
static Status run_steps(Context *c, const Path *p, Tensor *x, Tensor **r) {
  Tensor *now = tensor_share(x);
  for (int i = 0; i < p->steps; i++) {
    Tensor *next = NULL;
    const Status s = run_step(c, &p->step[i], now, &next);
    tensor_release(c, now);
    if (s != OK) return s;
    now = next;
  }
  *r = now;
  return OK;
}

static Status with_sizes(Context *c, OpId op, Tensor *x, const Shape *s,
                         Tensor **r) {
  Args a;
  a.at[0] = arg_tensor(x);
  a.at[1] = arg_sizes(s->rank, s->size);
  return op_call(c, op, &a, r);
}

static Status read_path(Context *c, const Path *p, Tensor *x, Tensor **r) {
  Tensor *view = NULL;
  Status s;
  if (p->picks.count == 0) {
    if (p->steps > 0) return run_steps(c, p, x, r);
    return with_sizes(c, OP_view, x, &x->shape, r); /* x[{}] is a view */
  }
  s = run_steps(c, p, x, &view);
  if (s != OK) return s;
  s = pick_get(c, view, &p->picks, r);
  tensor_release(c, view);
  return s;
}

/* Rows called inside are not what messages name. */
static void brackets_enter(lua_State *L) {
  border_enter(L);
  border_context(L)->depth++;
}

static void brackets_leave(lua_State *L) {
  border_context(L)->depth--;
  border_leave(L);
}

int border_index(lua_State *L) {
  Context *c = border_begin(L, "index");
  Index index;
  Path path;
  lua_settop(L, 2);
  Handle *h = border_push(L); /* before x is looked at: it may collect */
  Tensor *x = border_check(L, 1, "self");
  key_read(L, 2, &index);
  resolve(L, x, &index, &path);
  brackets_enter(L);
  const Status s = read_path(c, &path, x, &h->tensor);
  brackets_leave(L);
  lua_settop(L, 3);
  if (s != OK) return border_raise(L, c, s);
  border_charge(L, h);
  return 1;
}

/* ---- assignment: what v may be ---- */

/* Booleans go into bool, and nothing else does. */
static void check_class(lua_State *L, int at, const Tensor *x) {
  if (lua_isboolean(L, at) == (x->dtype == DTYPE_BOOL)) return;
  border_error(L, E_DTYPE, NULL, "%A is %s and self is %s", "value",
               border_describe(L, at), dtype_name(x->dtype));
}

/* A number as an argument; whole ones only go into integers, and only if they
 * fit. */
static Arg read_number(lua_State *L, int at, const Tensor *x) {
  const Dtype d = x->dtype;
  int64_t n = 0;
  if (dtype_class(d) == CLASS_FLOAT)
    return lua_isinteger(L, at) ? arg_integer(lua_tointeger(L, at))
                                : arg_number(lua_tonumber(L, at));
  if (!args_is_whole(L, at, &n))
    border_error(L, E_DTYPE, NULL, "%A is %s and self is %s", "value",
                 border_describe(L, at), dtype_name(d));
  if (n < dtype_least(d) || n > dtype_greatest(d))
    border_error(L, E_RANGE, NULL, "%A %I does not fit in %s (%I..%I)", "value",
                 n, dtype_name(d), dtype_least(d), dtype_greatest(d));
  return arg_integer(n);
}

/* v, at `at`, as an argument of `copy`.  A table becomes a tensor, whose
 * handle is pushed. */
static Arg read_value(lua_State *L, int at, const Tensor *x) {
  Make m = {x->dtype, tensor_device(x), false, false, true};
  switch (lua_type(L, at)) {
  case LUA_TNUMBER:
    check_class(L, at, x);
    return read_number(L, at, x);
  case LUA_TBOOLEAN:
    check_class(L, at, x);
    return arg_integer(lua_toboolean(L, at));
  case LUA_TTABLE:
    return arg_tensor(table_to_tensor(L, at, &m)->tensor);
  default:
    break;
  }
  if (lua_isnoneornil(L, at))
    border_error(L, E_TYPE, NULL, "%A is nil; a tensor has no holes", "value");
  if (border_handle(L, at) == NULL)
    border_error(L, E_TYPE, NULL,
                 "%A is %s; a number, a boolean, a tensor or a table is due",
                 "value", border_describe(L, at));
  return arg_tensor(border_check(L, at, "value"));
}

/* ---- assignment: ways to write ---- */

static Status copy_into(Context *c, Tensor *to, const Arg *value) {
  Args a;
  a.at[0] = arg_tensor(to);
  a.at[1] = *value;
  return op_call_inplace(c, OP_copy, &a);
}

static Status check_stretch(Context *c, const Arg *value, const Tensor *view) {
  Shape as;
  if (value->kind != ARG_TENSOR ||
      shape_expand(&value->tensor->shape, &view->shape, &as))
    return OK;
  return fail(c, E_SHAPE, "%A %S does not broadcast to the indexed %S", "value",
              SHAPE_ARG(&value->tensor->shape), SHAPE_ARG(&view->shape));
}

/* view, with the picked places replaced by the value. */
static Status put_picks(Context *c, const Path *p, Tensor *view,
                        const Arg *value, Tensor **r) {
  Tensor *v = NULL;
  Status s = value_like(c, view, value, &v);
  if (s == OK) s = pick_put(c, view, &p->picks, v, false, r);
  tensor_release(c, v);
  return s;
}

/* Into the picked places of the view, nothing being tracked. */
static Status write_picks(Context *c, const Path *p, Tensor *view,
                          const Arg *value) {
  Tensor *v = NULL;
  Status s = value_like(c, view, value, &v);
  if (s == OK) s = pick_write(c, view, &p->picks, v, false);
  tensor_release(c, v);
  return s;
}

/* Nothing is tracked: write where the steps lead. */
static Status write_plain(Context *c, const Path *p, Tensor *x,
                          const Arg *value) {
  Tensor *view = NULL;
  Status s = run_steps(c, p, x, &view);
  if (s != OK) return s;
  if (p->picks.count > 0)
    s = write_picks(c, p, view, value);
  else if ((s = check_stretch(c, value, view)) == OK)
    s = copy_into(c, view, value);
  tensor_release(c, view);
  return s;
}

/* Where the steps lead, as positions of each axis of x: row assign. */
static void path_box(const Path *p, const Shape *x, Arg box[3]) {
  int axis[MAX_ITEMS + MAX_RANK]; /* of x, for each of the view; -1: new */
  int rank = x->rank;
  for (int k = 0; k < 3; k++) box[k] = arg_sizes(x->rank, x->size);
  for (int i = 0; i < x->rank; i++) {
    axis[i] = i;
    box[0].sizes[i] = 0, box[2].sizes[i] = 1;
  }
  for (int i = 0; i < p->steps; i++) {
    const PathStep *step = &p->step[i];
    int *at = axis + step->dim;
    const size_t behind = (size_t)(rank - step->dim) * sizeof *at;
    if (step->op == OP_unsqueeze) {
      memmove(at + 1, at, behind);
      *at = -1;
      rank++;
      continue;
    }
    box[0].sizes[*at] = step->first;
    box[1].sizes[*at] = step->count;
    box[2].sizes[*at] = step->step;
    if (step->op != OP_select) continue;
    memmove(at, at + 1, behind - sizeof *at);
    rank--;
  }
}

/* The way back of a step that took or made an axis: v has those of x then. */
static Status undo_step(Context *c, const PathStep *step, Tensor *v,
                        Tensor **r) {
  const int64_t dim = step->dim;
  Args a;
  a.at[0] = arg_tensor(v);
  a.at[1] = arg_integer(dim);
  if (step->op == OP_select) return op_call(c, OP_unsqueeze, &a, r);
  a.at[1] = arg_sizes(1, &dim);
  if (step->op == OP_unsqueeze) return op_call(c, OP_squeeze, &a, r);
  *r = tensor_share(v);
  return OK;
}

/* v, stretched to the view, with the axes of x. */
static Status undo_steps(Context *c, const Path *p, const Tensor *view,
                         Tensor *v, Tensor **r) {
  Tensor *now = NULL;
  Status s = with_sizes(c, OP_expand, v, &view->shape, &now);
  for (int i = p->steps - 1; i >= 0 && s == OK; i--) {
    Tensor *next = NULL;
    s = undo_step(c, &p->step[i], now, &next);
    tensor_release(c, now);
    now = next;
  }
  if (s == OK) *r = now;
  return s;
}

/* Something is tracked.  A write into a view would leave the history of x as
 * it was; so a row writes into x: the overwritten places get no gradient, the
 * value gets theirs. */
static Status write_tracked(Context *c, const Path *p, Tensor *x,
                            const Arg *value) {
  Tensor *view = NULL, *v = NULL, *source = NULL;
  Args a;
  Status s = run_steps(c, p, x, &view);
  if (s != OK) return s;
  if (p->picks.count > 0)
    s = put_picks(c, p, view, value, &v);
  else if ((s = check_stretch(c, value, view)) == OK)
    s = value_like(c, x, value, &v);
  if (s == OK) s = undo_steps(c, p, view, v, &source);
  if (s == OK) {
    a.at[0] = arg_tensor(x);
    a.at[1] = arg_tensor(source);
    path_box(p, &x->shape, &a.at[2]);
    s = op_call_inplace(c, OP_assign, &a);
  }
  tensor_release(c, source);
  tensor_release(c, v);
  tensor_release(c, view);
  return s;
}

static bool is_tracked(const Arg *value) {
  return value->kind == ARG_TENSOR && tensor_is_tracked(value->tensor);
}

static Status write_path(Context *c, const Path *p, Tensor *x,
                         const Arg *value) {
  Status s = tensor_writable(c, x, "self");
  if (s == OK && value->kind == ARG_TENSOR)
    s = value_check(c, value->tensor, x);
  if (s != OK) return s;
  if (!c->is_recording || (!tensor_is_tracked(x) && !is_tracked(value)))
    return write_plain(c, p, x, value);
  return write_tracked(c, p, x, value);
}

/* Stack: tensor, key, value. */
int border_assign(lua_State *L) {
  Context *c = border_begin(L, "index");
  Index index;
  Path path;
  lua_settop(L, 3);
  Tensor *x = border_check(L, 1, "self");
  const Arg value = read_value(L, 3, x);
  x = border_check(L, 1, "self"); /* a table was made a tensor: collected */
  key_read(L, 2, &index);
  resolve(L, x, &index, &path);
  brackets_enter(L);
  const Status s = write_path(c, &path, x, &value);
  brackets_leave(L);
  if (s != OK) return border_raise(L, c, s);
  return 0;
}

/* ---- methods ---- */

/* x:set(i, j, .., v): one element. */
static int index_set(lua_State *L) {
  Context *c = border_begin(L, "set");
  Path path;
  Index index = {0};
  const Tensor *t = border_check(L, 1, "self");
  const int n = lua_gettop(L) - 2;
  if (n != t->shape.rank)
    return border_error(L, E_TOO_MANY, NULL,
                        "%d positions and a value for %S: one position for "
                        "each dim is due",
                        n > 0 ? n : 0, SHAPE_ARG(&t->shape));
  if (lua_istable(L, n + 2))
    return border_error(L, E_TYPE, NULL,
                        "%A is a table; one number or boolean is due", "value");
  for (int i = 0; i < n; i++) key_add_position(L, i + 2, &index);
  Tensor *x = border_check(L, 1, "self");
  const Arg value = read_value(L, n + 2, x);
  resolve(L, x, &index, &path);
  brackets_enter(L);
  const Status s = write_path(c, &path, x, &value);
  brackets_leave(L);
  if (s != OK) return border_raise(L, c, s);
  return 0;
}

/* x:item(): the one element of x. */
static int index_item(lua_State *L) {
  Context *c = border_begin(L, "item");
  Tensor *x = border_check(L, 1, "self"), *flat = NULL;
  const Dtype dtype = x->dtype;
  char data[sizeof(double)];
  args_at_most(L, 1);
  if (x->count != 1)
    return border_error(L, E_SIZE, NULL, "%A %S has %I elements, not one",
                        "self", SHAPE_ARG(&x->shape), x->count);
  brackets_enter(L);
  Status s = tensor_ready(c, x, "self");
  if (s == OK) s = op_contiguous(c, x, &flat);
  if (s == OK) s = tensor_read(c, flat, data);
  tensor_release(c, flat);
  brackets_leave(L);
  if (s != OK) return border_raise(L, c, s);
  border_push_element(L, data, dtype);
  return 1;
}

const luaL_Reg border_index_functions[] = {{NULL, NULL}};
const luaL_Reg border_index_methods[] = {
    {"item", index_item}, {"set", index_set}, {NULL, NULL}};
