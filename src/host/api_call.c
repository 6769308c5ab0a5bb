/* api_call.c: tensus.h, running Lua.
 *
 * Everything that Lua may raise runs below lua_pcall; the stack is left as it
 * was.
 */
#include <stdio.h>
#include <string.h>

#include "host/api.h"

/* ---- failures that Lua raised ---- */

/* The border keeps the core's failure; a message alone is one of Lua's own. */
static tensus_Status status_of(tensus_State *s, int code) {
  const Border *b = border_find(s->L);
  if (code == LUA_ERRSYNTAX) return TENSUS_E_SYNTAX;
  if (code == LUA_ERRMEM) return TENSUS_E_MEMORY;
  if (code == LUA_ERRFILE) return TENSUS_E_IO;
  if (s->stop.pending) return TENSUS_E_INTERRUPT;
  if (b == NULL || b->last.failure.status == OK ||
      strstr(s->message, b->last.failure.text) == NULL)
    return TENSUS_E_RUN;
  s->failure = b->last.failure;
  return (tensus_Status)status_public(s->failure.status);
}

tensus_Status api_raised(tensus_State *s, int code) {
  if (code == LUA_OK) return TENSUS_OK;
  const char *text = lua_type(s->L, -1) == LUA_TSTRING
                         ? lua_tostring(s->L, -1)
                         : "an error that is no text";
  snprintf(s->message, sizeof s->message, "%s", text);
  lua_settop(s->L, 0);
  return s->status = status_of(s, code);
}

/* ---- values ---- */

/* The upvalues of our functions, taken from one of them, under a function f of
 * ours: pushes the closure. */
static void push_ours(lua_State *L, lua_CFunction f) {
  lua_getglobal(L, "require");
  lua_pushliteral(L, "tensus");
  lua_call(L, 1, 1);
  lua_getfield(L, -1, "is_tensor");
  lua_getupvalue(L, -1, UPVALUE_BORDER);
  lua_getupvalue(L, -2, UPVALUE_METATABLE);
  lua_pushcclosure(L, f, 2);
  lua_replace(L, -3);
  lua_pop(L, 1);
}

static int give_tensor(lua_State *L) {
  Tensor *t = lua_touserdata(L, 1);
  Handle *h = border_push(L);
  h->tensor = tensor_share(t);
  border_charge(L, h);
  return 1;
}

static int take_tensor(lua_State *L) {
  lua_pushlightuserdata(L, border_test(L, 1));
  return 1;
}

static void push_value(lua_State *L, const tensus_Value *v) {
  switch (v->kind) {
  case TENSUS_BOOLEAN: lua_pushboolean(L, v->u.b); return;
  case TENSUS_INTEGER: lua_pushinteger(L, (lua_Integer)v->u.i); return;
  case TENSUS_NUMBER: lua_pushnumber(L, v->u.n); return;
  case TENSUS_STRING: lua_pushlstring(L, v->u.s, v->len); return;
  case TENSUS_TENSOR:
    push_ours(L, give_tensor);
    lua_pushlightuserdata(L, v->u.t->tensor);
    lua_call(L, 1, 1);
    return;
  case TENSUS_SIZES:
    lua_createtable(L, (int)v->len, 0);
    for (size_t i = 0; i < v->len; i++) {
      lua_pushinteger(L, (lua_Integer)v->u.sizes[i]);
      lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    return;
  case TENSUS_TENSORS:
    lua_createtable(L, (int)v->len, 0);
    for (size_t i = 0; i < v->len; i++) {
      const tensus_Value one = {.kind = TENSUS_TENSOR, .u.t = v->u.tensors[i]};
      push_value(L, &one);
      lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    return;
  case TENSUS_NIL: break;
  }
  lua_pushnil(L);
}

/* A string is copied into the state's own ledger. */
static bool copy_text(tensus_State *s, const char *text, size_t len,
                      tensus_Value *v) {
  char *own = ledger_alloc(&s->ledger, len + 1);
  if (own == NULL) return false;
  memcpy(own, text, len);
  own[len] = '\0';
  *v = (tensus_Value){.kind = TENSUS_STRING, .len = len, .u.s = own};
  return true;
}

static bool take_handle(tensus_State *s, int index, tensus_Value *v) {
  lua_State *L = s->L;
  push_ours(L, take_tensor);
  lua_pushvalue(L, index);
  lua_call(L, 1, 1);
  Tensor *t = lua_touserdata(L, -1);
  lua_pop(L, 1);
  if (t == NULL) return true; /* a table or a function: nil for C */
  tensus_Tensor *h = api_handle(s, tensor_share(t));
  if (h != NULL) *v = (tensus_Value){.kind = TENSUS_TENSOR, .u.t = h};
  return h != NULL;
}

/* False when out of memory. */
static bool take_value(tensus_State *s, int index, tensus_Value *v) {
  lua_State *L = s->L;
  size_t len = 0;
  *v = (tensus_Value){.kind = TENSUS_NIL};
  switch (lua_type(L, index)) {
  case LUA_TBOOLEAN:
    *v = (tensus_Value){.kind = TENSUS_BOOLEAN,
                        .u.b = lua_toboolean(L, index)};
    return true;
  case LUA_TNUMBER:
    if (lua_isinteger(L, index))
      *v = (tensus_Value){.kind = TENSUS_INTEGER,
                          .u.i = (int64_t)lua_tointeger(L, index)};
    else
      *v = (tensus_Value){.kind = TENSUS_NUMBER,
                          .u.n = lua_tonumber(L, index)};
    return true;
  case LUA_TSTRING: {
    const char *text = lua_tolstring(L, index, &len);
    return copy_text(s, text, len, v);
  }
  case LUA_TUSERDATA: return take_handle(s, index, v);
  default: return true;
  }
}

void tensus_value_clear(tensus_State *s, tensus_Value *v) {
  if (v->kind == TENSUS_TENSOR) tensus_tensor_release(v->u.t);
  if (v->kind == TENSUS_STRING)
    ledger_free(&s->ledger, (void *)(uintptr_t)v->u.s, v->len + 1);
  *v = (tensus_Value){.kind = TENSUS_NIL};
}

/* ---- running ---- */

static tensus_Status run_loaded(tensus_State *s, int code) {
  if (code == LUA_OK) code = lua_pcall(s->L, 0, 0, 0);
  return api_raised(s, code);
}

tensus_Status tensus_run_string(tensus_State *s, const char *code, size_t len,
                                const char *chunk) {
  const tensus_Status begun = api_begin(s);
  if (begun != TENSUS_OK) return begun;
  s->c->failure.base = 1;
  return run_loaded(s, luaL_loadbufferx(s->L, code, len, chunk, "t"));
}

tensus_Status tensus_run_file(tensus_State *s, const char *path) {
  const tensus_Status begun = api_begin(s);
  if (begun != TENSUS_OK) return begun;
  s->c->failure.base = 1;
  return run_loaded(s, luaL_loadfilex(s->L, path, "t"));
}

/* What a protected function is told. */
typedef struct Job {
  tensus_State *s;
  const char *path;
  const tensus_Value *args;
  int nargs;
  tensus_Value *res;
  int *nres;
  bool ran_out;
} Job;

/* Push the global at a dotted path; nil where a table is missing. */
static void push_path(lua_State *L, const char *path) {
  lua_pushglobaltable(L);
  for (;;) {
    const size_t n = strcspn(path, ".");
    lua_pushlstring(L, path, n);
    if (lua_istable(L, -2)) {
      lua_gettable(L, -2);
    } else {
      lua_pop(L, 1);
      lua_pushnil(L);
    }
    lua_remove(L, -2);
    if (path[n] == '\0') return;
    path += n + 1;
  }
}

static int run_call(lua_State *L) {
  Job *j = lua_touserdata(L, 1);
  lua_settop(L, 0);
  luaL_checkstack(L, j->nargs + 8, "too many arguments");
  push_path(L, j->path);
  if (lua_isnil(L, -1))
    return luaL_error(L, "there is no function %s", j->path);
  for (int i = 0; i < j->nargs; i++) push_value(L, &j->args[i]);
  lua_call(L, j->nargs, LUA_MULTRET);
  const int made = lua_gettop(L);
  const int count = made < *j->nres ? made : *j->nres;
  luaL_checkstack(L, 8, "too many results");
  for (int i = 0; i < count; i++) {
    if (take_value(j->s, i + 1, &j->res[i])) continue;
    while (i-- > 0) tensus_value_clear(j->s, &j->res[i]);
    j->ran_out = true;
    return 0;
  }
  *j->nres = count;
  return 0;
}

static tensus_Status protect(tensus_State *s, lua_CFunction f, Job *j) {
  j->s = s;
  s->c->failure.base = 1;
  lua_pushcfunction(s->L, f);
  lua_pushlightuserdata(s->L, j);
  const tensus_Status status = api_raised(s, lua_pcall(s->L, 1, 0, 0));
  if (status != TENSUS_OK || !j->ran_out) return status;
  return api_fail(s, TENSUS_E_MEMORY, "out of memory");
}

tensus_Status tensus_call(tensus_State *s, const char *path,
                          const tensus_Value *args, int nargs,
                          tensus_Value *res, int *nres) {
  int none = 0;
  const tensus_Status begun = api_begin(s);
  if (begun != TENSUS_OK) return begun;
  Job j = {.path = path, .args = args, .nargs = nargs, .res = res,
           .nres = nres != NULL ? nres : &none};
  return protect(s, run_call, &j);
}

static int run_set(lua_State *L) {
  Job *j = lua_touserdata(L, 1);
  push_value(L, j->args);
  lua_setglobal(L, j->path);
  return 0;
}

tensus_Status tensus_set_global(tensus_State *s, const char *name,
                                const tensus_Value *value) {
  const tensus_Status begun = api_begin(s);
  if (begun != TENSUS_OK) return begun;
  Job j = {.path = name, .args = value};
  return protect(s, run_set, &j);
}

static int run_get(lua_State *L) {
  Job *j = lua_touserdata(L, 1);
  push_path(L, j->path);
  j->ran_out = !take_value(j->s, lua_gettop(L), j->res);
  return 0;
}

tensus_Status tensus_get_global(tensus_State *s, const char *path,
                                tensus_Value *value) {
  const tensus_Status begun = api_begin(s);
  if (begun != TENSUS_OK) return begun;
  Job j = {.path = path, .res = value};
  return protect(s, run_get, &j);
}
