/* ops.c: the rows as Lua functions, and the metatable of tensors.
 *
 * One C function serves all rows: which one is its upvalue.
 * Must not know: what a row computes.
 */
#include "border/ops.h"

#include <string.h>

#include "border/args.h"

/* Upvalues of call_op and call_inplace. */
enum { UPVALUE_OP = UPVALUE_OWN };

static const char *const inplace_names[OP_COUNT] = {
#define POINT(name, ...) #name "_",
#include "rows/pointwise.def"
#define OP(name, ...) #name "_",
#include "rows/all.def"
};

static const struct {
  const char *name, *row;
} aliases[] =
    {
#define ALIAS(name, row) {#name, #row},
#define FOREIGN(name, row)
#include "border/alias.def"
},
  foreign[] = {
#define ALIAS(name, row)
#define FOREIGN(name, row) {#name, #row},
#include "border/alias.def"
};

enum {
  ALIASES = sizeof aliases / sizeof *aliases,
  FOREIGNS = sizeof foreign / sizeof *foreign
};

const char *ops_alias(const char *name) {
  for (int i = 0; i < ALIASES; i++)
    if (strcmp(aliases[i].name, name) == 0) return aliases[i].row;
  return NULL;
}

const char *ops_foreign(const char *name) {
  for (int i = 0; i < FOREIGNS; i++)
    if (strcmp(foreign[i].name, name) == 0) return foreign[i].row;
  return NULL;
}

/* ---- running a row ---- */

static OpId upvalue_op(lua_State *L) {
  return (OpId)lua_tointeger(L, lua_upvalueindex(UPVALUE_OP));
}

/* An op that had nothing to do gives its operand again: so does its handle.
 * Arguments end at `top`, h is above.  True if the handle was pushed. */
static bool push_operand(lua_State *L, int top, Handle *h) {
  Tensor *t = h->tensor;
  for (int i = 1; i <= top; i++) {
    const Handle *operand = border_handle(L, i);
    if (operand == NULL || operand->tensor != t) continue;
    border_drop(border_of(L), h);
    lua_pushvalue(L, i);
    return true;
  }
  return false;
}

static bool wants_grad(OpId op, const Args *a) {
  const OpRow *row = &op_rows[op];
  if (row->kind != KIND_CREATE) return false;
  for (int k = row->params - 1; k >= 0; k--)
    if (strcmp(row->param[k].name, "requires_grad") == 0)
      return a->at[k].kind == ARG_INTEGER && a->at[k].integer != 0;
  return false;
}

/* The columns of the matrix in h, on top, in its place: a result each. */
static int push_columns(lua_State *L, Border *b, Handle *h) {
  Tensor *matrix = h->tensor;
  const int first = lua_gettop(L), count = (int)matrix->shape.size[1];
  luaL_checkstack(L, MAX_RANK + LUA_MINSTACK, "too many results");
  for (int k = 0; k < count; k++) {
    Handle *column = border_push(L);
    Args a;
    a.at[0] = arg_tensor(matrix);
    a.at[1] = arg_integer(1);
    a.at[2] = arg_integer(k);
    const Status s = border_call(L, OP_select, &a, &column->tensor);
    if (s != OK) return border_raise(L, b->context, s);
    border_note(L, b, column);
  }
  lua_remove(L, first);
  return count;
}

static bool wants_columns(OpId op, const Args *a) {
  return op == OP_nonzero && args_integer(op, a, 1) != 0;
}

/* One result: what nearly every row gives. */
static int call_one(lua_State *L, Border *b, OpId op, const Args *a, int top) {
  Context *c = b->context;
  Handle *h = border_push(L);
  b->running = L;
  Status s = op_call(c, op, a, &h->tensor);
  b->running = NULL;
  if (s == OK && wants_grad(op, a)) s = grad_require(c, h->tensor, true);
  if (s != OK) return border_raise(L, c, s);
  if (h->tensor->refs > 1 && push_operand(L, top, h)) return 1;
  border_note(L, b, h);
  return wants_columns(op, a) ? push_columns(L, b, h) : 1;
}

/* Several: those that the call does not give are left out. */
static int call_many(lua_State *L, Context *c, OpId op, const Args *a) {
  const int count = op_rows[op].results, first = lua_gettop(L) + 1;
  Handle *h[MAX_RESULTS];
  Tensor *result[MAX_RESULTS] = {NULL};
  for (int i = 0; i < count; i++) h[i] = border_push(L);
  const Status s = border_call(L, op, a, result);
  if (s != OK) return border_raise(L, c, s);
  for (int i = 0; i < count; i++) h[i]->tensor = result[i];
  int given = count;
  for (int i = count - 1; i >= 0; i--) {
    border_charge(L, h[i]);
    if (result[i] != NULL) continue;
    lua_remove(L, first + i);
    given--;
  }
  return given;
}

/* Stack: a list's address.  Hangs its tensors on handles, in a table. */
static int give_list(lua_State *L) {
  TensorList *list = lua_touserdata(L, 1);
  lua_createtable(L, list->count, 0);
  for (int i = 0; i < list->count; i++) {
    Handle *h = border_push(L);
    h->tensor = list->at[i];
    list->at[i] = NULL;
    border_charge(L, h);
    if (list->is_one) return 1;
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

/* A list: how many handles it takes is known only when C holds it already, so
 * making them is guarded. */
static int call_list(lua_State *L, Context *c, OpId op, const Args *a) {
  TensorList list;
  luaL_checkstack(L, LUA_MINSTACK, "too many values");
  border_function(L, give_list, 0);
  lua_pushlightuserdata(L, &list);
  border_enter(L);
  const Status s = op_call_list(c, op, a, &list);
  border_leave(L);
  if (s != OK) return border_raise(L, c, s);
  const int code = lua_pcall(L, 1, 1, 0);
  list_release(c, &list);
  return code == LUA_OK ? 1 : lua_error(L);
}

static int call_op(lua_State *L) {
  Border *b = border_of(L);
  const OpId op = upvalue_op(L);
  Context *c = border_begin_of(L, b, op_rows[op].name);
  Args a;
  const int top = lua_gettop(L);
  if (!args_read_operands(L, b, op, &a)) args_read(L, op, &a);
  if (op_rows[op].results == 1) return call_one(L, b, op, &a, top);
  if (op_rows[op].results == RESULTS_MANY) return call_list(L, c, op, &a);
  return call_many(L, c, op, &a);
}

/* Lua gives a unary operator its operand twice. */
static int call_unary(lua_State *L) {
  lua_settop(L, 1);
  return call_op(L);
}

/* ts.add_(x, y): the first argument is what changes, and what is returned. */
static int call_inplace(lua_State *L) {
  const OpId op = upvalue_op(L);
  Context *c = border_begin(L, inplace_names[op]);
  Args a;
  border_check(L, 1, op_rows[op].param[0].name);
  if (!args_read_operands(L, border_of(L), op, &a)) args_read(L, op, &a);
  border_enter(L);
  const Status s = op_call_inplace(c, op, &a);
  border_leave(L);
  if (s != OK) return border_raise(L, c, s);
  lua_settop(L, 1);
  return 1;
}

OpId ops_of_function(lua_State *L, int index) {
  const lua_CFunction f = lua_tocfunction(L, index);
  if (f != call_op && f != call_inplace) return OP_COUNT;
  if (lua_getupvalue(L, index, UPVALUE_OP) == NULL) return OP_COUNT;
  const OpId op = (OpId)lua_tointeger(L, -1);
  lua_pop(L, 1);
  return op;
}

/* ---- registration ---- */

/* Push the function of a row. */
static void push_op(lua_State *L, OpId op, lua_CFunction f) {
  lua_pushinteger(L, (lua_Integer)op);
  border_function(L, f, 1);
}

/* The function on top, popped, under `name` in both tables. */
static void offer(lua_State *L, int module, int methods, const char *name,
                  bool as_method) {
  lua_pushstring(L, name);
  if (as_method) {
    lua_pushvalue(L, -1);
    lua_pushvalue(L, -3);
    lua_rawset(L, methods);
  }
  lua_insert(L, -2);
  lua_rawset(L, module);
}

static void offer_alias(lua_State *L, int module, int methods, int i) {
  const OpId op = op_find(aliases[i].row);
  if (never(op == OP_COUNT)) return;
  push_op(L, op, call_op);
  offer(L, module, methods, aliases[i].name, op_is_method(&op_rows[op]));
}

void ops_register(lua_State *L, int module, int methods) {
  lua_createtable(L, 0, 32);
  const int linalg = lua_gettop(L);
  for (int op = 0; op < OP_COUNT; op++) {
    const OpRow *row = &op_rows[op];
    if (row->flags & OP_HIDDEN || row->name[0] == '\0') continue;
    if (!(row->flags & OP_ONLY_INPLACE)) {
      push_op(L, (OpId)op, call_op);
      offer(L, op_prefix(row)[0] != '\0' ? linalg : module, methods,
            row->name, op_is_method(row));
    }
    if (row->flags & (OP_INPLACE | OP_ONLY_INPLACE)) {
      push_op(L, (OpId)op, call_inplace);
      offer(L, module, methods, inplace_names[op], true);
    }
  }
  lua_setfield(L, module, "linalg");
  for (int i = 0; i < ALIASES; i++) offer_alias(L, module, methods, i);
}

/* ---- reading an element: x(i, j) ---- */

/* A position of axis `axis` from the argument at `index`, from 0. */
static int64_t read_position(lua_State *L, int index, const Tensor *t,
                             int axis) {
  const int64_t size = t->shape.size[axis];
  int64_t p = 0;
  if (!args_is_whole(L, index, &p)) {
    const bool is_number = lua_type(L, index) == LUA_TNUMBER;
    border_error(L, is_number ? E_INDEX : E_TYPE, NULL,
                 "position %P is %s; a whole number is due", (int64_t)axis,
                 border_describe(L, index));
  }
  if (p >= 1 && p <= size) return p - 1;
  if (p < 0 && p >= -size) return p + size;
  border_error(L, E_INDEX, NULL,
               "position %I of dim %P of %S: positions are 1..%I or -1..%I", p,
               (int64_t)axis, SHAPE_ARG(&t->shape), size, -size);
  return 0;
}

/* The element at `offset` of t, wherever it lives. */
static Status read_element(Context *c, Tensor *t, int64_t offset, char *data) {
  Status s = tensor_ready(c, t, "self");
  if (s != OK) return s;
  const size_t bytes = dtype_bytes(t->dtype);
  if (tensor_device(t)->is_host) {
    memcpy(data, tensor_data(t) + (size_t)(offset - t->offset) * bytes, bytes);
    return OK;
  }
  const Shape rank0 = {0};
  Tensor *one = NULL;
  s = tensor_view(c, t, &rank0, offset, &one);
  if (s == OK) s = tensor_read(c, one, data);
  tensor_release(c, one);
  return s;
}

static int tensor_call(lua_State *L) {
  Context *c = border_begin(L, "index");
  Tensor *t = border_check(L, 1, "self");
  const int n = lua_gettop(L) - 1;
  int64_t offset = t->offset;
  if (n != t->shape.rank)
    return border_error(L, E_TOO_MANY, NULL,
                        "%d positions for %S: x(...) reads one element and "
                        "takes one position for each dim",
                        n, SHAPE_ARG(&t->shape));
  for (int i = 0; i < n; i++)
    offset += read_position(L, i + 2, t, i) * t->shape.stride[i];
  char data[sizeof(double)];
  const Status s = read_element(c, t, offset, data);
  if (s != OK) return border_raise(L, c, s);
  border_push_element(L, data, t->dtype);
  return 1;
}

/* ---- walking a dim ---- */

enum { UPVALUE_DIM = UPVALUE_OWN };

/* The iterator of pairs and iter: (x, position) -> position + 1, view. */
static int iter_next(lua_State *L) {
  Context *c = border_begin(L, "iter");
  Tensor *t = border_check(L, 1, "self");
  const int dim = (int)lua_tointeger(L, lua_upvalueindex(UPVALUE_DIM));
  const int64_t next = args_whole(L, 2, "position");
  if (dim >= t->shape.rank || next >= t->shape.size[dim]) return 0;
  lua_pushinteger(L, next + 1);
  Args a;
  a.at[0] = arg_tensor(t);
  a.at[1] = arg_integer(dim);
  a.at[2] = arg_integer(next);
  Handle *h = border_push(L);
  const Status s = border_call(L, OP_select, &a, &h->tensor);
  if (s != OK) return border_raise(L, c, s);
  border_charge(L, h);
  return 2;
}

static int push_iterator(lua_State *L, int64_t dim) {
  lua_pushinteger(L, dim);
  border_function(L, iter_next, 1);
  lua_pushvalue(L, 1);
  lua_pushinteger(L, 0);
  return 3;
}

static void raise_rank0(lua_State *L) {
  border_error(L, E_RANK, NULL, "%A has rank 0: it has no dim to count or walk",
               "self");
}

static int tensor_iter(lua_State *L) {
  border_begin(L, "iter");
  const Tensor *t = border_check(L, 1, "self");
  const int64_t dim = lua_isnoneornil(L, 2) ? 1 : args_whole(L, 2, "dim");
  const int rank = t->shape.rank;
  args_at_most(L, 2);
  if (rank == 0) raise_rank0(L);
  if (dim == 0 || dim > rank || dim < -rank)
    border_error(L, E_DIM, NULL, "dim %I of self %S: dims are 1..%d or -1..%d",
                 dim, SHAPE_ARG(&t->shape), rank, -rank);
  return push_iterator(L, dim > 0 ? dim - 1 : dim + rank);
}

static int tensor_pairs(lua_State *L) {
  border_begin(L, "pairs");
  if (border_check(L, 1, "self")->shape.rank == 0) raise_rank0(L);
  return push_iterator(L, 0);
}

static int tensor_len(lua_State *L) {
  border_begin(L, "len");
  const Tensor *t = border_check(L, 1, "self");
  if (t->shape.rank == 0) raise_rank0(L);
  lua_pushinteger(L, t->shape.size[0]);
  return 1;
}

/* ---- operators that are no rows ---- */

static int tensor_compare(lua_State *L) {
  static const char *const names[] = {"lt", "le"};
  const char *name =
      names[lua_tointeger(L, lua_upvalueindex(UPVALUE_OWN)) != 0];
  border_begin(L, name);
  return border_error(L, E_TYPE, NULL,
                      "a comparison of tensors has no one answer: use "
                      "a:%s(b), element by element",
                      name);
}

static int tensor_concat(lua_State *L) {
  border_begin(L, "concat");
  if (border_handle(L, 1) != NULL && border_handle(L, 2) != NULL)
    return border_error(L, E_TYPE, NULL,
                        "two tensors do not join as text: use ts.cat{a, b}");
  luaL_tolstring(L, 1, NULL);
  luaL_tolstring(L, 2, NULL);
  lua_concat(L, 2);
  return 1;
}

/* ---- x.name, x[i] ---- */

/* Does the text speak of positions rather than of a name? */
static bool is_index_text(const char *text) {
  const size_t blanks = strspn(text, " \t");
  return strpbrk(text, ",:") != NULL || strstr(text, "...") != NULL ||
         strcmp(text + blanks, "new") == 0 ||
         strchr("+-0123456789", text[blanks]) != NULL;
}

/* The nearest among the methods at upvalue UPVALUE_OWN and the fields; pushed
 * names stay on the stack. */
static const char *nearest_name(lua_State *L, const char *word) {
  const char *found = border_nearest(word, border_field_names);
  int best = INT32_MAX;
  if (found != NULL) border_nearer(word, found, &best);
  lua_pushnil(L);
  while (lua_next(L, lua_upvalueindex(UPVALUE_OWN)) != 0) {
    const char *name = lua_tostring(L, -2);
    if (border_nearer(word, name, &best)) found = name;
    lua_pop(L, 1);
  }
  return found; /* held by the table of methods, or static */
}

static int unknown_name(lua_State *L, const char *word) {
  const char *here = ops_foreign(word), *near = NULL;
  if (here != NULL)
    return border_error(
        L, E_NAME, "index",
        "tensor has no field or method \"%s\"; here it is \"%s\"", word, here);
  near = nearest_name(L, word);
  if (near == NULL)
    return border_error(L, E_NAME, "index",
                        "tensor has no field or method \"%s\"", word);
  return border_error(
      L, E_NAME, "index",
      "tensor has no field or method \"%s\"; did you mean \"%s\"?", word, near);
}

static int tensor_index(lua_State *L) {
  if (lua_type(L, 2) != LUA_TSTRING) return border_index(L);
  lua_pushvalue(L, 2);
  if (lua_rawget(L, lua_upvalueindex(UPVALUE_OWN)) != LUA_TNIL) return 1;
  lua_settop(L, 2);
  if (border_grad_field(L) || border_field(L)) return 1;
  const char *text = lua_tostring(L, 2);
  if (is_index_text(text)) return border_index(L);
  border_begin(L, "index");
  return unknown_name(L, text);
}

static int tensor_newindex(lua_State *L) {
  if (lua_type(L, 2) != LUA_TSTRING) return border_assign(L);
  if (border_set_grad_field(L) || border_set_field(L)) return 0;
  const char *text = lua_tostring(L, 2);
  if (is_index_text(text)) return border_assign(L);
  border_begin(L, "assign");
  lua_settop(L, 3);
  lua_pushvalue(L, 2);
  if (lua_rawget(L, lua_upvalueindex(UPVALUE_OWN)) != LUA_TNIL ||
      border_nearest(text, border_field_names) != NULL)
    return border_error(L, E_NAME, "index", "\"%s\" cannot be assigned", text);
  return unknown_name(L, text);
}

static int tensor_gc(lua_State *L) {
  Border *b = border_of(L);
  Handle *h = border_handle_of(b, L, 1);
  if (h != NULL) border_drop(b, h);
  return 0;
}

/* ---- the metatable ---- */

static const struct {
  const char *event;
  OpId op;
} binary[] =
    {
        {"__add", OP_add},           {"__sub", OP_sub},
        {"__mul", OP_mul},           {"__div", OP_div},
        {"__idiv", OP_floor_divide}, {"__mod", OP_remainder},
        {"__pow", OP_pow},           {"__band", OP_bitwise_and},
        {"__bor", OP_bitwise_or},    {"__bxor", OP_bitwise_xor},
        {"__shl", OP_bitwise_left_shift}, {"__shr", OP_bitwise_right_shift},
},
  unary[] = {{"__unm", OP_neg}, {"__bnot", OP_bitwise_not}};

enum {
  BINARY = sizeof binary / sizeof *binary,
  UNARY = sizeof unary / sizeof *unary
};

static void set_ops(lua_State *L, int metatable) {
  for (int i = 0; i < BINARY; i++) {
    push_op(L, binary[i].op, call_op);
    lua_setfield(L, metatable, binary[i].event);
  }
  for (int i = 0; i < UNARY; i++) {
    push_op(L, unary[i].op, call_unary);
    lua_setfield(L, metatable, unary[i].event);
  }
  for (int i = 0; i < 2; i++) {
    lua_pushinteger(L, i);
    border_function(L, tensor_compare, 1);
    lua_setfield(L, metatable, i == 0 ? "__lt" : "__le");
  }
}

static void set_indexing(lua_State *L, int metatable, int methods) {
  lua_pushvalue(L, methods);
  border_function(L, tensor_index, 1);
  lua_setfield(L, metatable, "__index");
  lua_pushvalue(L, methods);
  border_function(L, tensor_newindex, 1);
  lua_setfield(L, metatable, "__newindex");
}

void ops_fill_metatable(lua_State *L, int metatable, int methods) {
  static const luaL_Reg events[] = {
      {"__call", tensor_call},         {"__pairs", tensor_pairs},
      {"__len", tensor_len},           {"__concat", tensor_concat},
      {"__tostring", border_tostring}, {NULL, NULL}};
  for (const luaL_Reg *e = events; e->name != NULL; e++) {
    border_function(L, e->func, 0);
    lua_setfield(L, metatable, e->name);
  }
  set_ops(L, metatable);
  set_indexing(L, metatable, methods);
  lua_pushliteral(L, "free");
  lua_rawget(L, methods);
  lua_setfield(L, metatable, "__close");
  lua_pushliteral(L, "tensus.tensor");
  lua_setfield(L, metatable, "__name");
  lua_pushliteral(L, "tensus.tensor");
  lua_setfield(L, metatable, "__metatable");
  border_function(L, tensor_gc, 0); /* last: what is marked has a finaliser */
  lua_setfield(L, metatable, "__gc");
}

const luaL_Reg border_ops_methods[] = {{"iter", tensor_iter}, {NULL, NULL}};
