/* help.c: what there is: ts.ops, ts.help, ts.version, ts.build, ts.errinfo.
 *
 * All of it is read from the rows, so it cannot lag behind them.
 * Must not know: how an op runs.
 */
#include <math.h>
#include <string.h>

#include "border/args.h"
#include "border/ops.h"
#include "cpu/cpu.h"

#if !defined(TENSUS_RELEASE)
#define TENSUS_RELEASE "0.1.0"
#endif

static const struct {
  const char *name, *call, *text;
} pages[] = {
#define HELP(name, call, text) {#name, call, text},
#include "border/help.def"
};

enum { PAGES = sizeof pages / sizeof *pages };

static void set_text(lua_State *L, const char *key, const char *text) {
  lua_pushstring(L, text);
  lua_setfield(L, -2, key);
}

static void set_flag(lua_State *L, const char *key, bool value) {
  lua_pushboolean(L, value);
  lua_setfield(L, -2, key);
}

static void set_count(lua_State *L, const char *key, int64_t value) {
  lua_pushinteger(L, value);
  lua_setfield(L, -2, key);
}

/* ---- ts.ops ---- */

static bool is_offered(const OpRow *row) { return !(row->flags & OP_HIDDEN); }

/* The default of a param; nothing is pushed where there is none. */
static bool push_default(lua_State *L, const Param *p) {
  if (p->need == NEEDED || isnan(p->value)) return false;
  switch (p->kind) {
  case PARAM_FLAG:
    lua_pushboolean(L, p->value != 0);
    return true;
  case PARAM_CHOICE:
    lua_pushlstring(L, p->words, strcspn(p->words, "|"));
    return true;
  case PARAM_DIM: /* from the core's base to ours */
    lua_pushinteger(L, (lua_Integer)p->value + (p->value >= 0));
    return true;
  case PARAM_INTEGER:
  case PARAM_DIM_LISTS:
  case PARAM_TUPLE:
    lua_pushinteger(L, (lua_Integer)p->value);
    return true;
  case PARAM_VALUE:
  case PARAM_NUMBER:
    lua_pushnumber(L, p->value);
    return true;
  default:
    return false;
  }
}

static void push_param(lua_State *L, const Param *p) {
  lua_createtable(L, 0, 6);
  set_text(L, "name", p->name);
  set_text(L, "kind", param_kind_name(p->kind));
  set_flag(L, "optional", p->need != NEEDED);
  set_flag(L, "option", p->need == OPTION);
  if (p->words != NULL) set_text(L, "words", p->words);
  if (push_default(L, p)) lua_setfield(L, -2, "default");
}

static void push_dtypes(lua_State *L, DtypeSet set) {
  int n = 0;
  lua_createtable(L, DTYPE_COUNT, 0);
  for (int d = 0; d < DTYPE_COUNT; d++) {
    if (!dtype_in((Dtype)d, set)) continue;
    lua_pushstring(L, dtype_name((Dtype)d));
    lua_rawseti(L, -2, ++n);
  }
}

static void set_pointwise(lua_State *L, const OpRow *row) {
  set_count(L, "operands", row->operands);
  lua_pushnumber(L, row->low);
  lua_setfield(L, -2, "low");
  lua_pushnumber(L, row->high);
  lua_setfield(L, -2, "high");
  lua_createtable(L, row->operands, 0); /* which operands have a slope */
  for (int i = 0; i < row->operands; i++) {
    lua_pushboolean(L, row->uses[i] != 0);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, "slopes");
}

/* ", name" or ", [name]"; options are left for add_options. */
static void add_positional(luaL_Buffer *b, const OpRow *row) {
  bool is_first = true;
  for (int k = 0; k < row->params; k++) {
    const Param *p = &row->param[k];
    if (p->need == OPTION) continue;
    if (!is_first) luaL_addstring(b, ", ");
    is_first = false;
    if (p->need == MAY_LACK) luaL_addchar(b, '[');
    luaL_addstring(b, p->name);
    if (p->kind == PARAM_SHAPE || p->kind == PARAM_DIMS)
      luaL_addstring(b, "...");
    if (p->need == MAY_LACK) luaL_addchar(b, ']');
  }
}

static void add_option(lua_State *L, luaL_Buffer *b, const Param *p) {
  luaL_addstring(b, p->name);
  if (p->kind == PARAM_CHOICE) {
    luaL_addchar(b, '=');
    luaL_addstring(b, p->words);
  } else if (push_default(L, p)) {
    luaL_tolstring(L, -1, NULL);
    lua_remove(L, -2);
    lua_pushfstring(L, "=%s", lua_tostring(L, -1));
    lua_remove(L, -2);
    luaL_addvalue(b);
  }
}

static void add_options(lua_State *L, luaL_Buffer *b, const OpRow *row) {
  int n = 0;
  for (int k = 0; k < row->params; k++) {
    if (row->param[k].need != OPTION) continue;
    luaL_addstring(b, n++ > 0                        ? ", "
                      : row->param[0].need == OPTION ? "{"
                                                     : ", {");
    add_option(L, b, &row->param[k]);
  }
  if (n > 0) luaL_addchar(b, '}');
}

/* ts.name(arguments, {options}) */
static void push_signature(lua_State *L, const OpRow *row) {
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  luaL_addstring(&b, "ts.");
  luaL_addstring(&b, op_prefix(row));
  luaL_addstring(&b, row->name);
  if (row->flags & OP_ONLY_INPLACE) luaL_addchar(&b, '_');
  luaL_addchar(&b, '(');
  add_positional(&b, row);
  add_options(L, &b, row);
  luaL_addchar(&b, ')');
  luaL_pushresult(&b);
}

static void push_row(lua_State *L, OpId op) {
  const OpRow *row = &op_rows[op];
  lua_createtable(L, 0, 20);
  lua_pushfstring(L, "%s%s", op_prefix(row), row->name);
  lua_setfield(L, -2, "name");
  set_text(L, "kind", op_kind_name(row->kind));
  set_text(L, "topic", row->topic);
  push_signature(L, row);
  lua_setfield(L, -2, "signature");
  set_text(L, "help", row->help);
  if (row->results == RESULTS_MANY)
    set_text(L, "results", "many");
  else
    set_count(L, "results", row->results);
  set_flag(L, "pointwise", op_is_pointwise(op));
  set_flag(L, "method", op_is_method(row));
  set_flag(L, "inplace", (row->flags & (OP_INPLACE | OP_ONLY_INPLACE)) != 0);
  set_flag(L, "only_inplace", (row->flags & OP_ONLY_INPLACE) != 0);
  set_flag(L, "promotes", (row->flags & OP_PROMOTE) != 0);
  set_flag(L, "float_plus", (row->flags & OP_FLOAT_PLUS) != 0);
  set_flag(L, "compares", (row->flags & OP_COMPARES) != 0);
  push_dtypes(L, row->dtypes);
  lua_setfield(L, -2, "dtypes");
  lua_createtable(L, row->params, 0);
  for (int k = 0; k < row->params; k++) {
    push_param(L, &row->param[k]);
    lua_rawseti(L, -2, k + 1);
  }
  lua_setfield(L, -2, "params");
  if (op_is_pointwise(op)) set_pointwise(L, row);
}

/* Does the row's name match the Lua pattern at `index` (nil: all do)? */
static bool matches(lua_State *L, const OpRow *row, int index) {
  if (lua_isnoneornil(L, index)) return true;
  lua_pushfstring(L, "%s%s", op_prefix(row), row->name);
  lua_getfield(L, -1, "find");
  lua_insert(L, -2);
  lua_pushvalue(L, index);
  lua_call(L, 2, 1);
  const bool found = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return found;
}

static int ts_ops(lua_State *L) {
  border_begin(L, "ops");
  args_at_most(L, 1);
  lua_settop(L, 1);
  if (!lua_isnil(L, 1)) luaL_checktype(L, 1, LUA_TSTRING);
  lua_Integer n = 0;
  lua_createtable(L, OP_COUNT, 0);
  for (int op = 0; op < OP_COUNT; op++) {
    const OpRow *row = &op_rows[op];
    if (!is_offered(row) || !matches(L, row, 1)) continue;
    push_row(L, (OpId)op);
    lua_rawseti(L, 2, ++n);
  }
  return 1;
}

/* ---- ts.help ---- */

static void add_dtypes(luaL_Buffer *b, const OpRow *row) {
  luaL_addstring(b, "; ");
  if (row->dtypes == SET_ALL)
    luaL_addstring(b, "all dtypes");
  else if (row->dtypes == SET_NUMBERS)
    luaL_addstring(b, "floats and integers");
  else if (row->dtypes == SET_INTEGERS)
    luaL_addstring(b, "integers");
  else if (row->dtypes == SET_FLOATS)
    luaL_addstring(b, row->flags & OP_FLOAT_PLUS
                          ? "floats, others become the default float"
                          : "floats");
  else
    luaL_addstring(b, "integers and bool");
}

static void push_row_help(lua_State *L, OpId op) {
  const OpRow *row = &op_rows[op];
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  push_signature(L, row);
  luaL_addvalue(&b);
  luaL_addstring(&b, "\n  ");
  luaL_addstring(&b, row->help);
  luaL_addstring(&b, "\n  ");
  luaL_addstring(&b, op_kind_name(row->kind));
  add_dtypes(&b, row);
  if (row->results == RESULTS_MANY)
    luaL_addstring(&b, "; gives a table of tensors");
  if (row->flags & OP_INPLACE) {
    luaL_addstring(&b, "; in place: ");
    luaL_addstring(&b, row->name);
    luaL_addchar(&b, '_');
  }
  luaL_pushresult(&b);
}

/* All names, by kind. */
static void push_overview(lua_State *L) {
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  luaL_addstring(&b, "ts.help(name) tells of one function.  Ops by kind:");
  for (int kind = 0; kind <= KIND_UPDATE; kind++) {
    luaL_addstring(&b, "\n");
    luaL_addstring(&b, op_kind_name((OpKind)kind));
    luaL_addchar(&b, ':');
    for (int op = 0; op < OP_COUNT; op++) {
      const OpRow *row = &op_rows[op];
      if ((int)row->kind != kind || !is_offered(row)) continue;
      luaL_addchar(&b, ' ');
      luaL_addstring(&b, op_prefix(row));
      luaL_addstring(&b, row->name);
      if (row->flags & OP_ONLY_INPLACE) luaL_addchar(&b, '_');
    }
  }
  luaL_addstring(&b, "\nothers:");
  for (int i = 0; i < PAGES; i++) {
    luaL_addchar(&b, ' ');
    luaL_addstring(&b, pages[i].name);
  }
  luaL_pushresult(&b);
}

/* The row named `word`, or `word` without "linalg." or its last _; OP_COUNT
 * for none. */
static OpId find_row(const char *word) {
  if (strncmp(word, "linalg.", 7) == 0) word += 7;
  const char *row = ops_alias(word);
  const OpId op = op_find(row != NULL ? row : word);
  if (op != OP_COUNT && is_offered(&op_rows[op])) return op;
  for (int k = 0; k < OP_COUNT; k++) {
    const char *name = op_rows[k].name;
    const size_t n = strlen(name);
    if (is_offered(&op_rows[k]) && strncmp(word, name, n) == 0 &&
        strcmp(word + n, "_") == 0)
      return (OpId)k;
  }
  return OP_COUNT;
}

static int push_help(lua_State *L, const char *word) {
  const OpId op = find_row(word);
  if (op != OP_COUNT) {
    push_row_help(L, op);
    return 1;
  }
  for (int i = 0; i < PAGES; i++) {
    if (strcmp(pages[i].name, word) != 0) continue;
    lua_pushfstring(L, "%s\n  %s", pages[i].call, pages[i].text);
    return 1;
  }
  const char *near = ops_foreign(word);
  int best = INT32_MAX;
  for (int k = 0; k < OP_COUNT && near == NULL; k++)
    if (is_offered(&op_rows[k]) && border_nearer(word, op_rows[k].name, &best))
      near = op_rows[k].name;
  if (near == NULL) return border_error(L, E_NAME, NULL, "no op \"%s\"", word);
  return border_error(L, E_NAME, NULL, "no op \"%s\"; did you mean \"%s\"?",
                      word, near);
}

/* The name under which the module holds the function at 1; pushed. */
static const char *find_function(lua_State *L) {
  lua_getglobal(L, "require");
  lua_pushliteral(L, "tensus");
  lua_call(L, 1, 1);
  lua_pushnil(L);
  while (lua_next(L, -2) != 0) {
    if (lua_rawequal(L, -1, 1) && lua_type(L, -2) == LUA_TSTRING) {
      lua_pop(L, 1);
      return lua_tostring(L, -1);
    }
    lua_pop(L, 1);
  }
  return NULL;
}

static int ts_help(lua_State *L) {
  border_begin(L, "help");
  args_at_most(L, 1);
  if (lua_isnoneornil(L, 1)) {
    push_overview(L);
    return 1;
  }
  if (lua_type(L, 1) == LUA_TSTRING) return push_help(L, lua_tostring(L, 1));
  const OpId op = ops_of_function(L, 1);
  if (op != OP_COUNT) {
    push_row_help(L, op);
    return 1;
  }
  const char *name = lua_isfunction(L, 1) ? find_function(L) : NULL;
  if (name != NULL) return push_help(L, name);
  return border_error(L, E_NAME, NULL,
                      "%s is not known; give a name or a function of ts",
                      border_describe(L, 1));
}

/* ---- ts.errinfo ---- */

static void push_shape(lua_State *L, int rank, const int64_t *size) {
  lua_createtable(L, rank, 0);
  for (int i = 0; i < rank; i++) {
    lua_pushinteger(L, size[i]);
    lua_rawseti(L, -2, i + 1);
  }
}

/* Which argument of op `name` is called `arg`; 0 for none. */
static int argument_place(const char *name, const char *arg) {
  const OpId op = name != NULL ? find_row(name) : OP_COUNT;
  if (op == OP_COUNT) return 0;
  for (int k = 0; k < op_rows[op].params; k++)
    if (strcmp(op_rows[op].param[k].name, arg) == 0) return k + 1;
  return 0;
}

static void set_failure(lua_State *L, const Failure *f) {
  set_text(L, "op", f->op);
  set_text(L, "code", status_name(f->status));
  set_text(L, "text", f->text);
  if (f->arg[0] != '\0') {
    const int place = argument_place(f->op, f->arg);
    set_text(L, "arg", f->arg);
    if (place > 0) set_count(L, "argpos", place);
  }
  if (f->position != 0) set_count(L, "position", f->position);
  lua_createtable(L, f->shapes, 0);
  for (int i = 0; i < f->shapes; i++) {
    push_shape(L, f->rank[i], f->size[i]);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, "shapes");
}

static int ts_errinfo(lua_State *L) {
  border_begin(L, "errinfo");
  const BorderError *e = &border_of(L)->last;
  if (e->thread != L) return 0;
  lua_createtable(L, 0, 10);
  set_failure(L, &e->failure);
  const char *op = e->failure.op != NULL ? e->failure.op : "tensus";
  if (e->line > 0) {
    set_text(L, "file", e->source);
    set_count(L, "line", e->line);
    lua_pushfstring(L, "%s:%d: %s%s%s", e->source, e->line, op,
                    failure_joint(&e->failure), e->failure.text);
  } else {
    lua_pushfstring(L, "%s%s%s", op, failure_joint(&e->failure),
                    e->failure.text);
  }
  lua_setfield(L, -2, "message");
  return 1;
}

/* ---- ts.build ---- */

static int ts_build(lua_State *L) {
  const Context *c = border_begin(L, "build");
  lua_createtable(L, 0, 8);
  set_text(L, "version", TENSUS_RELEASE);
  set_text(L, "lua", LUA_RELEASE);
  set_text(L, "matmul", "own");
  set_text(L, "lapack", cpu_lapack_path());
  set_text(L, "device", c->default_device->name);
  set_text(L, "dtype", dtype_name(c->default_dtype));
  set_count(L, "threads", pool_threads(c->pool));
  set_count(L, "ops", OP_COUNT);
#if defined(__VERSION__)
  set_text(L, "compiler", __VERSION__);
#endif
  set_text(L, "collector",
           border_of(L)->is_generational ? "generational" : "incremental");
  return 1;
}

void help_set_version(lua_State *L) { set_text(L, "version", TENSUS_RELEASE); }

const luaL_Reg border_help_functions[] = {{"ops", ts_ops},
                                          {"help", ts_help},
                                          {"errinfo", ts_errinfo},
                                          {"build", ts_build},
                                          {NULL, NULL}};
