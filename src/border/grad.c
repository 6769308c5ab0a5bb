/* grad.c: backward, ts.grad, recording modes, and the fields about gradients.
 *
 * A mode belongs to the coroutine that opened it: the first thread's stands in
 * the Border, those of others in a table that holds the threads weakly.
 * Functional forms are written in lua/functional.lua.
 * Must not know: rules of derivatives.
 */
#include "grad/grad.h"

#include <string.h>

#include "border/args.h"
#include "border/raw.h"

static const char modes_key = 0, mode_key = 0; /* in the registry */

/* ---- recording modes ---- */

/* The table thread -> does it record. */
static void push_modes(lua_State *L) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &modes_key) == LUA_TTABLE) return;
  lua_pop(L, 1);
  lua_createtable(L, 0, 1);
  lua_createtable(L, 0, 1);
  lua_pushliteral(L, "k");
  lua_setfield(L, -2, "__mode");
  lua_setmetatable(L, -2);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &modes_key);
}

bool border_mode(lua_State *L) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &modes_key);
  lua_pushthread(L);
  const bool records =
      lua_rawget(L, -2) != LUA_TBOOLEAN || lua_toboolean(L, -1);
  lua_pop(L, 2);
  return records;
}

/* The mode of the thread at `thread` of the stack. */
static void set_mode(lua_State *L, int thread, bool records) {
  Border *b = border_of(L);
  if (lua_tothread(L, thread) == b->main) {
    b->main_records = records;
    return;
  }
  thread = lua_absindex(L, thread);
  push_modes(L);
  lua_pushvalue(L, thread);
  lua_pushboolean(L, records);
  lua_rawset(L, -3);
  lua_pop(L, 1);
  b->others_have_modes = true;
}

/* An open mode; its user value is the thread. */
typedef struct Mode {
  bool before;
  bool is_open;
} Mode;

static void mode_end(lua_State *L, int index) {
  Mode *m = lua_touserdata(L, index);
  if (!m->is_open) return;
  m->is_open = false;
  lua_getiuservalue(L, index, 1);
  set_mode(L, -1, m->before);
  lua_pop(L, 1);
  border_of(L)->modes--;
}

static int mode_close(lua_State *L) {
  border_begin(L, "close");
  bool is_mode = lua_touserdata(L, 1) != NULL && lua_getmetatable(L, 1) &&
                 lua_rawgetp(L, LUA_REGISTRYINDEX, &mode_key) &&
                 lua_rawequal(L, -1, -2);
  if (!is_mode)
    return border_error(L, E_TYPE, NULL, "%A is no mode", "argument 1");
  mode_end(L, 1);
  return 0;
}

static void push_mode_metatable(lua_State *L) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &mode_key) == LUA_TTABLE) return;
  lua_pop(L, 1);
  lua_createtable(L, 0, 2);
  border_function(L, mode_close, 0);
  lua_setfield(L, -2, "__close");
  lua_pushliteral(L, "tensus.mode");
  lua_setfield(L, -2, "__metatable");
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &mode_key);
}

/* Push a mode that begins now. */
static void mode_begin(lua_State *L, bool records) {
  const bool before = border_context(L)->is_recording;
  Mode *m = lua_newuserdatauv(L, sizeof *m, 1);
  *m = (Mode){.before = before};
  push_mode_metatable(L);
  lua_setmetatable(L, -2);
  lua_pushthread(L);
  lua_pushvalue(L, -1);
  lua_setiuservalue(L, -3, 1);
  set_mode(L, -1, records); /* raises or has done it */
  lua_pop(L, 1);
  border_of(L)->modes++;
  m->is_open = true;
}

static int mode_done(lua_State *L, int status, lua_KContext context) {
  (void)status, (void)context;
  mode_end(L, 1);
  return lua_gettop(L) - 1;
}

/* ts.no_grad(f, ...) calls f; without arguments it is for `local _ <close>`.
 * An error closes the mode, too: it is a to-be-closed slot. */
static int run_mode(lua_State *L, bool records) {
  const bool is_block = lua_isnone(L, 1);
  mode_begin(L, records);
  if (is_block) return 1;
  lua_insert(L, 1);
  lua_toclose(L, 1);
  lua_callk(L, lua_gettop(L) - 2, LUA_MULTRET, 0, mode_done);
  return mode_done(L, LUA_OK, 0);
}

static int ts_no_grad(lua_State *L) {
  border_begin(L, "no_grad");
  return run_mode(L, false);
}

static int ts_enable_grad(lua_State *L) {
  border_begin(L, "enable_grad");
  return run_mode(L, true);
}

static int ts_is_grad_enabled(lua_State *L) {
  lua_pushboolean(L, border_begin(L, "is_grad_enabled")->is_recording);
  return 1;
}

/* ---- lists of tensors ---- */

/* An array of the handles at 1 .. n of the table at `index`, held by a
 * userdata that is pushed.  Raises for an entry that is no tensor. */
static Tensor **push_tensors(lua_State *L, int index, int n, const char *name) {
  Tensor **list =
      lua_newuserdatauv(L, sizeof *list * (size_t)(n > 0 ? n : 1), 0);
  for (int i = 0; i < n; i++) {
    lua_rawgeti(L, index, i + 1);
    list[i] = border_check(L, -1, name);
    lua_pop(L, 1);
  }
  return list;
}

/* The tensor at `index`, or the tensors of the list there, become a list of
 * ours (a finaliser may change a script's); returns its length. */
static int as_list(lua_State *L, int index, const char *name) {
  const bool is_table = lua_istable(L, index);
  const int n = is_table ? (int)lua_rawlen(L, index) : 1;
  if (!is_table) border_check(L, index, name);
  lua_createtable(L, n, 0);
  for (int i = 1; i <= n; i++) {
    if (is_table)
      lua_rawgeti(L, index, i);
    else
      lua_pushvalue(L, index);
    lua_rawseti(L, -2, i);
  }
  lua_replace(L, index);
  return n;
}

/* A list of n new handles for results; pushes the table, then the array. */
static Tensor **push_results(lua_State *L, int n) {
  lua_createtable(L, n, 0);
  for (int i = 0; i < n; i++) {
    border_push(L);
    lua_rawseti(L, -2, i + 1);
  }
  Tensor **made =
      lua_newuserdatauv(L, sizeof *made * (size_t)(n > 0 ? n : 1), 0);
  memset(made, 0, sizeof *made * (size_t)(n > 0 ? n : 1));
  return made;
}

/* Hang the results on the handles of the table at `index`. */
static void give_results(lua_State *L, int index, int n, Tensor **made) {
  for (int i = 0; i < n; i++) {
    lua_rawgeti(L, index, i + 1);
    Handle *h = lua_touserdata(L, -1);
    h->tensor = made[i];
    lua_pop(L, 1);
  }
  for (int i = 0; i < n; i++) {
    lua_rawgeti(L, index, i + 1);
    border_charge(L, lua_touserdata(L, -1));
    lua_pop(L, 1);
  }
}

/* ---- backward ---- */

static Tensor *optional_tensor(lua_State *L, int index, const char *name) {
  return lua_isnoneornil(L, index) ? NULL : border_check(L, index, name);
}

/* sum[i] = old gradient of x[i], if any, plus g[i]; on failure all are NULL. */
static Status add_gradients(lua_State *L, int n, Tensor **x, Tensor **g,
                            Tensor **sum) {
  Context *c = border_context(L);
  const bool was_recording = c->is_recording;
  Status s = OK;
  c->is_recording = false;
  border_enter(L);
  for (int i = 0; i < n && s == OK; i++) {
    Tensor *old = grad_get(x[i]);
    if (old == NULL)
      sum[i] = tensor_share(g[i]);
    else
      s = op_binary(c, OP_add, old, g[i], &sum[i]);
  }
  for (int i = 0; i < n && s != OK; i++) {
    tensor_release(c, sum[i]);
    sum[i] = NULL;
  }
  border_leave(L);
  c->is_recording = was_recording;
  return s;
}

/* backward with `inputs`: the gradients of those alone, all or none of them.
 * Stack: y, seed, options, inputs. */
static int backward_inputs(lua_State *L, Context *c, bool retain) {
  enum { INPUTS = 4 };
  Tensor *y = border_check(L, 1, "self");
  Tensor *seed = optional_tensor(L, 2, "gradient");
  const int n = as_list(L, INPUTS, "inputs");
  Tensor **x = push_tensors(L, INPUTS, n, "inputs");
  Tensor **g = push_results(L, n);
  const int table = lua_gettop(L) - 1;
  border_enter(L);
  Status s = grad_of(c, 1, &y, &seed, n, x, retain, false, UNUSED_ERROR, g);
  border_leave(L);
  if (s != OK) return border_raise(L, c, s);
  give_results(L, table, n, g);
  Tensor **sum = push_results(L, n);
  s = add_gradients(L, n, x, g, sum);
  if (s != OK) return border_raise(L, c, s);
  give_results(L, lua_gettop(L) - 1, n, sum);
  for (int i = 0; i < n && s == OK; i++)
    s = grad_set(c, x[i], tensor_share(sum[i]));
  return s == OK ? 0 : border_raise(L, c, s);
}

static int tensor_backward(lua_State *L) {
  static const char *const known[] = {"retain_graph", "inputs", "create_graph",
                                      NULL};
  Context *c = border_begin(L, "backward");
  Tensor *y = border_check(L, 1, "self");
  args_at_most(L, 3);
  if (lua_istable(L, 2) && lua_isnoneornil(L, 3)) {
    lua_settop(L, 2);
    lua_pushnil(L);
    lua_insert(L, 2);
  }
  lua_settop(L, 3);
  Tensor *seed = optional_tensor(L, 2, "gradient");
  args_options(L, 3, known);
  const bool retain = args_flag(L, 3, "retain_graph", false);
  if (args_push_option(L, 3, "create_graph") != LUA_TNIL)
    return border_error(L, E_OPTION, NULL,
                        "create_graph: .grad never carries a graph; use "
                        "ts.grad(y, xs, {create_graph=true})");
  lua_pop(L, 1);
  if (args_push_option(L, 3, "inputs") != LUA_TNIL)
    return backward_inputs(L, c, retain);
  border_enter(L);
  const Status s = grad_backward(c, y, seed, retain);
  border_leave(L);
  return s == OK ? 0 : border_raise(L, c, s);
}

/* ---- ts.grad(y, xs, options) ---- */

/* Push a tree of the form of the one at `index`, with a new handle for each
 * tensor; `list` gets the tensors, `made` the handles, in one order. */
static void mirror(lua_State *L, int index, int list, int made, int depth) {
  enum { DEEPEST = 100 };
  luaL_checkstack(L, 8, NULL);
  if (border_handle(L, index) != NULL) {
    const lua_Integer n = (lua_Integer)lua_rawlen(L, list) + 1;
    border_push(L);
    lua_pushvalue(L, index);
    lua_rawseti(L, list, n);
    lua_pushvalue(L, -1);
    lua_rawseti(L, made, n);
    return;
  }
  if (!lua_istable(L, index) || depth == DEEPEST) {
    lua_pushvalue(L, index); /* other leaves pass through */
    return;
  }
  lua_newtable(L);
  lua_pushnil(L);
  while (lua_next(L, index) != 0) {
    mirror(L, lua_gettop(L), list, made, depth + 1);
    lua_remove(L, -2);
    lua_pushvalue(L, -2);
    lua_insert(L, -2);
    lua_rawset(L, -4);
  }
}

/* Handles without a tensor (inputs without influence) become nil. */
static void prune(lua_State *L, int index) {
  luaL_checkstack(L, 4, NULL);
  lua_pushnil(L);
  while (lua_next(L, index) != 0) {
    const Handle *h = border_handle(L, -1);
    if (lua_istable(L, -1)) prune(L, lua_gettop(L));
    lua_pop(L, 1);
    if (h != NULL && h->tensor == NULL) {
      lua_pushvalue(L, -1);
      lua_pushnil(L);
      lua_rawset(L, index);
    }
  }
}

static Unused read_unused(lua_State *L, int index) {
  if (args_push_option(L, index, "unused") == LUA_TNIL) {
    lua_pop(L, 1);
    return UNUSED_ERROR;
  }
  const char *word = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "";
  Unused unused = UNUSED_ERROR;
  if (strcmp(word, "zero") == 0)
    unused = UNUSED_ZERO;
  else if (strcmp(word, "nil") == 0)
    unused = UNUSED_NONE;
  else if (strcmp(word, "error") != 0)
    border_error(L, E_OPTION, NULL,
                 "unused is %s; one of error|zero|nil is due",
                 border_describe(L, -1));
  lua_pop(L, 1);
  return unused;
}

/* The seeds of `n` outputs: an array, or one of NULLs; pushes what holds it. */
static Tensor **push_seeds(lua_State *L, int options, int n) {
  if (args_push_option(L, options, "grad_outputs") == LUA_TNIL) {
    Tensor **none =
        lua_newuserdatauv(L, sizeof *none * (size_t)(n > 0 ? n : 1), 0);
    memset(none, 0, sizeof *none * (size_t)(n > 0 ? n : 1));
    return none;
  }
  const int index = lua_gettop(L);
  const int given = as_list(L, index, "grad_outputs");
  if (given != n)
    border_error(L, E_SHAPE, NULL, "%A: %d seeds for %d outputs",
                 "grad_outputs", given, n);
  return push_tensors(L, index, n, "grad_outputs");
}

/* Functional form: ts.grad(f, options) as lua/functional.lua has it. */
static int grad_functional(lua_State *L) {
  const int n = lua_gettop(L);
  lua_getglobal(L, "require");
  lua_pushliteral(L, "tensus.functional");
  lua_call(L, 1, 1);
  lua_getfield(L, -1, "grad");
  lua_insert(L, 1);
  lua_settop(L, n + 1);
  lua_call(L, n, LUA_MULTRET);
  return lua_gettop(L);
}

static bool is_callable(lua_State *L, int index) {
  if (lua_isfunction(L, index)) return true;
  if (!lua_istable(L, index)) return false;
  if (luaL_getmetafield(L, index, "__call") == LUA_TNIL) return false;
  lua_pop(L, 1);
  return true;
}

static int ts_grad(lua_State *L) {
  enum { Y = 1, XS, OPTIONS, LIST, MADE, TREE };
  static const char *const known[] = {"grad_outputs", "retain_graph",
                                      "create_graph", "unused", NULL};
  if (is_callable(L, Y)) return grad_functional(L);
  Context *c = border_begin(L, "grad");
  args_at_most(L, OPTIONS);
  lua_settop(L, OPTIONS);
  args_options(L, OPTIONS, known);
  const bool create = args_flag(L, OPTIONS, "create_graph", false);
  const bool retain = args_flag(L, OPTIONS, "retain_graph", create);
  const Unused unused = read_unused(L, OPTIONS);
  const int outputs = as_list(L, Y, "y");
  lua_newtable(L);
  lua_newtable(L);
  mirror(L, XS, LIST, MADE, 0);
  const int n = (int)lua_rawlen(L, LIST);
  if (n == 0)
    return border_error(L, E_TYPE, NULL, "%A holds no tensor: it is %s", "xs",
                        border_describe(L, XS));
  Tensor **y = push_tensors(L, Y, outputs, "y");
  Tensor **seeds = push_seeds(L, OPTIONS, outputs);
  Tensor **x = push_tensors(L, LIST, n, "xs");
  Tensor **gx = lua_newuserdatauv(L, sizeof *gx * (size_t)n, 0);
  memset(gx, 0, sizeof *gx * (size_t)n);
  border_enter(L);
  const Status s =
      grad_of(c, outputs, y, seeds, n, x, retain, create, unused, gx);
  border_leave(L);
  if (s != OK) return border_raise(L, c, s);
  give_results(L, MADE, n, gx);
  lua_settop(L, TREE);
  if (lua_istable(L, TREE))
    prune(L, TREE);
  else if (border_test(L, TREE) == NULL)
    lua_pushnil(L);
  return 1;
}

/* ---- for lua/functional.lua ---- */

/* push(xs, tangents, ys): a list of the tangents of ys. */
static int raw_push(lua_State *L) {
  Context *c = border_begin(L, "jvp");
  lua_settop(L, 3);
  const int n = as_list(L, 1, "x"), outputs = as_list(L, 3, "y");
  if (as_list(L, 2, "v") != n)
    return border_error(L, E_SHAPE, NULL, "%A: not one tangent for each x",
                        "v");
  Tensor **x = push_tensors(L, 1, n, "x");
  Tensor **v = push_tensors(L, 2, n, "v");
  Tensor **y = push_tensors(L, 3, outputs, "y");
  Tensor **ty = push_results(L, outputs);
  const int table = lua_gettop(L) - 1;
  border_enter(L);
  const Status s = grad_push(c, n, x, v, outputs, y, ty);
  border_leave(L);
  if (s != OK) return border_raise(L, c, s);
  give_results(L, table, outputs, ty);
  lua_settop(L, table);
  return 1;
}

/* mark(): nodes made from now on are younger. */
static int raw_mark(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)border_begin(L, "mark")->sequence);
  return 1;
}

/* Does the graph behind the node hold one that is not younger than `mark`?
 * Visited nodes are chained by `next`, which is free between backwards. */
static bool reaches(Node *root, uint64_t mark) {
  Node *seen = root, *last = root;
  bool found = false;
  root->is_seen = true;
  root->next = NULL;
  for (Node *n = seen; n != NULL; n = n->next) {
    if (n->sequence <= mark) {
      found = true; /* what is behind it is not younger either */
      continue;
    }
    for (int i = 0; i < n->inputs; i++) {
      Node *input = n->input[i].node;
      if (input == NULL || input->is_seen) continue;
      input->is_seen = true;
      input->next = NULL;
      last->next = input;
      last = input;
    }
  }
  for (Node *n = seen, *next; n != NULL; n = next) {
    next = n->next;
    n->is_seen = false;
    n->next = NULL;
  }
  return found;
}

/* reaches(y, mark): does y depend on something tracked from before? */
static int raw_reaches(lua_State *L) {
  border_begin(L, "reaches");
  const Tensor *y = border_check(L, 1, "y");
  const uint64_t mark = (uint64_t)args_whole(L, 2, "mark");
  lua_pushboolean(L, y->node != NULL && reaches(y->node, mark));
  return 1;
}

static Status status_of(lua_State *L, int arg) {
  const char *name = luaL_checkstring(L, arg);
  for (int s = OK + 1; s < STATUS_COUNT; s++)
    if (strcmp(status_name((Status)s), name) == 0) return (Status)s;
  assert(!"a code of status.def");
  return E_STATE;
}

/* fail(code, op, text, level): raises as an op does, at the line of the
 * function `level` calls up (1: the one that calls fail). */
static int raw_fail(lua_State *L) {
  static const char anchor = 0; /* keeps the text of `op` alive */
  Context *c = border_begin(L, "fail");
  const Status s = status_of(L, 1);
  lua_pushvalue(L, 2);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &anchor);
  (void)fail(c, s, "%s", luaL_checkstring(L, 3));
  c->failure.op = lua_tostring(L, 2);
  return border_raise_at(L, c, (int)luaL_checkinteger(L, 4));
}

/* lint(id, text, level): a finding of a module, at the line of the function
 * `level` calls up. */
static int raw_lint(lua_State *L) {
  Context *c = border_begin(L, "lint");
  const char *name = luaL_checkstring(L, 1), *text = luaL_checkstring(L, 2);
  int id = 0;
  while (id < LINT_COUNT && strcmp(lint_name((LintId)id), name) != 0) id++;
  assert(id < LINT_COUNT); /* an entry of lint.def */
  if (never(id == LINT_COUNT) || !lint_asks(c, id)) return 0;
  border_enter(L);
  const Status s = lint_found(c, (LintId)id, "%s", text);
  border_leave(L);
  if (s == OK) return 0;
  return border_raise_at(L, c, (int)luaL_checkinteger(L, 3));
}

int raw_open(lua_State *L) {
  static const luaL_Reg functions[] = {{"push", raw_push},
                                       {"fail", raw_fail},
                                       {"lint", raw_lint},
                                       {"mark", raw_mark},
                                       {"reaches", raw_reaches},
                                       {NULL, NULL}};
  lua_createtable(L, 0, 5);
  for (const luaL_Reg *f = functions; f->name != NULL; f++) {
    border_function(L, f->func, 0);
    lua_setfield(L, -2, f->name);
  }
  return 1;
}

/* ---- marking, and the fields ---- */

static int require_grad(lua_State *L, int index) {
  Context *c = border_context(L);
  Tensor *t = border_check(L, 1, "self");
  if (!lua_isnoneornil(L, index) && !lua_isboolean(L, index))
    return border_error(L, E_TYPE, NULL, "%A is %s; true or false is due",
                        "requires_grad", border_describe(L, index));
  const bool on = lua_isnoneornil(L, index) || lua_toboolean(L, index);
  const Status s = grad_require(c, t, on);
  return s == OK ? 0 : border_raise(L, c, s);
}

static int tensor_requires_grad(lua_State *L) {
  border_begin(L, "requires_grad_");
  args_at_most(L, 2);
  require_grad(L, 2);
  lua_settop(L, 1);
  return 1;
}

static int tensor_retain_grad(lua_State *L) {
  Context *c = border_begin(L, "retain_grad");
  const Status s = grad_retain(c, border_check(L, 1, "self"));
  if (s != OK) return border_raise(L, c, s);
  lua_settop(L, 1);
  return 1;
}

/* x.grad = g */
static int set_grad(lua_State *L) {
  Context *c = border_context(L);
  Tensor *t = border_check(L, 1, "self");
  Tensor *g = optional_tensor(L, 3, "grad");
  if (g != NULL) border_know(L, 3);
  const Status s = grad_set(c, t, g != NULL ? tensor_share(g) : NULL);
  if (s != OK) return border_raise(L, c, s);
  return 1;
}

int border_set_grad_field(lua_State *L) {
  const char *name = lua_tostring(L, 2);
  if (strcmp(name, "grad") == 0) {
    border_begin(L, "grad");
    return set_grad(L);
  }
  if (strcmp(name, "requires_grad") != 0) return 0;
  border_begin(L, "requires_grad");
  require_grad(L, 3);
  return 1;
}

int border_grad_field(lua_State *L) {
  const char *name = lua_tostring(L, 2);
  const bool is_ours =
      strcmp(name, "grad") == 0 || strcmp(name, "requires_grad") == 0 ||
      strcmp(name, "is_leaf") == 0 || strcmp(name, "grad_fn") == 0;
  if (!is_ours) return 0;
  border_begin(L, "grad");
  const Tensor *t = border_check(L, 1, "self");
  const bool is_leaf = t->node == NULL || t->node->op == OP_LEAF;
  if (strcmp(name, "grad") == 0) {
    if (grad_get(t) == NULL) { /* no handle for nothing */
      lua_pushnil(L);
      return 1;
    }
    border_push(L);
    border_give(L, grad_get(t));
  } else if (strcmp(name, "requires_grad") == 0)
    lua_pushboolean(L, t->node != NULL);
  else if (strcmp(name, "is_leaf") == 0)
    lua_pushboolean(L, is_leaf);
  else if (is_leaf)
    lua_pushnil(L);
  else
    lua_pushstring(L, node_name(t->node));
  return 1;
}

const luaL_Reg border_grad_functions[] = {
    {"grad", ts_grad},
    {"no_grad", ts_no_grad},
    {"enable_grad", ts_enable_grad},
    {"is_grad_enabled", ts_is_grad_enabled},
    {NULL, NULL}};

const luaL_Reg border_grad_methods[] = {
    {"backward", tensor_backward},
    {"requires_grad_", tensor_requires_grad},
    {"retain_grad", tensor_retain_grad},
    {NULL, NULL}};
