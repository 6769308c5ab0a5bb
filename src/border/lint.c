/* lint.c: ts.lint and ts.lint_scope.
 *
 * Modes are of the state: one for each entry of tensor/lint.def.
 * Must not know: who finds what.
 */
#include <string.h>

#include "border/args.h"
#include "border/lint.h"

static const char scope_key = 0; /* in the registry */

static const char *const mode_names[] = {"off", "warn", "error", NULL};

/* ---- modes ---- */

static LintMode read_mode(lua_State *L, int index) {
  const char *word =
      lua_type(L, index) == LUA_TSTRING ? lua_tostring(L, index) : NULL;
  for (int m = 0; word != NULL && mode_names[m] != NULL; m++)
    if (strcmp(word, mode_names[m]) == 0) return (LintMode)m;
  border_error(L, E_OPTION, NULL, "%A is %s; one of off|warn|error is due",
               "mode", border_describe(L, index));
  return LINT_OFF;
}

static LintId read_id(lua_State *L, int index) {
  const char *names[LINT_COUNT + 1] = {NULL};
  const char *word =
      lua_type(L, index) == LUA_TSTRING ? lua_tostring(L, index) : "";
  for (int id = 0; id < LINT_COUNT; id++) {
    names[id] = lint_name((LintId)id);
    if (strcmp(word, names[id]) == 0) return (LintId)id;
  }
  const char *near = border_nearest(word, names);
  if (near == NULL)
    border_error(L, E_OPTION, NULL, "%A has no entry %s", "lint",
                 border_describe(L, index));
  border_error(L, E_OPTION, NULL,
               "%A has no entry \"%s\"; did you mean \"%s\"?", "lint", word,
               near);
  return LINT_COUNT;
}

/* The modes that the value at `index` asks for: one for all entries, or a
 * table of some. */
static void read_modes(lua_State *L, int index, uint8_t mode[LINT_COUNT]) {
  memcpy(mode, border_context(L)->lint.mode, LINT_COUNT);
  if (!lua_istable(L, index)) {
    memset(mode, (int)read_mode(L, index), LINT_COUNT);
    return;
  }
  lua_pushnil(L);
  while (lua_next(L, index) != 0) {
    const LintId id = read_id(L, lua_gettop(L) - 1);
    mode[id] = (uint8_t)read_mode(L, lua_gettop(L));
    lua_pop(L, 1);
  }
}

/* One word where all entries agree, else a table of all. */
static void push_modes(lua_State *L) {
  const uint8_t *mode = border_context(L)->lint.mode;
  bool agree = true;
  for (int id = 1; id < LINT_COUNT; id++) agree &= mode[id] == mode[0];
  if (agree) {
    lua_pushstring(L, mode_names[mode[0]]);
    return;
  }
  lua_createtable(L, 0, LINT_COUNT);
  for (int id = 0; id < LINT_COUNT; id++) {
    lua_pushstring(L, mode_names[mode[id]]);
    lua_setfield(L, -2, lint_name((LintId)id));
  }
}

static void set_modes(Context *c, const uint8_t mode[LINT_COUNT]) {
  memcpy(c->lint.mode, mode, LINT_COUNT);
  c->lint.is_set = true;
}

/* ---- scopes ---- */

typedef struct Scope {
  uint8_t before[LINT_COUNT];
  bool is_open;
} Scope;

static void scope_end(lua_State *L, int index) {
  Scope *s = lua_touserdata(L, index);
  if (!s->is_open) return;
  s->is_open = false;
  set_modes(border_context(L), s->before);
}

static int scope_close(lua_State *L) {
  border_begin(L, "close");
  const bool is_scope = lua_touserdata(L, 1) != NULL &&
                        lua_getmetatable(L, 1) &&
                        lua_rawgetp(L, LUA_REGISTRYINDEX, &scope_key) &&
                        lua_rawequal(L, -1, -2);
  if (!is_scope)
    return border_error(L, E_TYPE, NULL, "%A is no lint scope", "argument 1");
  scope_end(L, 1);
  return 0;
}

static void push_scope_metatable(lua_State *L) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &scope_key) == LUA_TTABLE) return;
  lua_pop(L, 1);
  lua_createtable(L, 0, 2);
  border_function(L, scope_close, 0);
  lua_setfield(L, -2, "__close");
  lua_pushliteral(L, "tensus.lint");
  lua_setfield(L, -2, "__metatable");
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &scope_key);
}

/* Push a scope that begins now, with the modes at `index`. */
static void scope_begin(lua_State *L, int index) {
  uint8_t mode[LINT_COUNT];
  Context *c = border_context(L);
  read_modes(L, index, mode);
  Scope *s = lua_newuserdatauv(L, sizeof *s, 0);
  s->is_open = false;
  push_scope_metatable(L);
  lua_setmetatable(L, -2);
  memcpy(s->before, c->lint.mode, LINT_COUNT);
  s->is_open = true;
  set_modes(c, mode);
}

static int ts_lint_scope(lua_State *L) {
  border_begin(L, "lint_scope");
  args_at_most(L, 1);
  scope_begin(L, 1);
  return 1;
}

static int lint_done(lua_State *L, int status, lua_KContext context) {
  (void)status, (void)context;
  scope_end(L, 1);
  return lua_gettop(L) - 1;
}

/* ts.lint(modes, f, ...): the scope takes the place of the modes, below f. */
static int run_under(lua_State *L) {
  scope_begin(L, 1);
  lua_replace(L, 1);
  lua_toclose(L, 1);
  lua_callk(L, lua_gettop(L) - 2, LUA_MULTRET, 0, lint_done);
  return lint_done(L, LUA_OK, 0);
}

static int ts_lint(lua_State *L) {
  uint8_t mode[LINT_COUNT];
  Context *c = border_begin(L, "lint");
  if (!lua_isnoneornil(L, 2)) return run_under(L);
  lua_settop(L, 1);
  if (lua_isnil(L, 1)) {
    push_modes(L);
    return 1;
  }
  read_modes(L, 1, mode);
  push_modes(L);
  set_modes(c, mode);
  return 1;
}

void lint_prompt(lua_State *L) {
  const Border *b = border_find(L);
  if (b == NULL || b->context == NULL) return;
  lint_default(b->context, LINT_WARN);
  lint_forget(b->context);
}

const luaL_Reg border_lint_functions[] = {{"lint", ts_lint},
                                          {"lint_scope", ts_lint_scope},
                                          {NULL, NULL}};
