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
  const BorderError *last = &s->border->last;
  if (code == LUA_ERRSYNTAX) return TENSUS_E_SYNTAX;
  if (code == LUA_ERRMEM) return TENSUS_E_MEMORY;
  if (code == LUA_ERRFILE) return TENSUS_E_IO;
  if (s->stop.pending) return TENSUS_E_INTERRUPT;
  if (last->failure.status == OK ||
      strstr(s->message, last->failure.text) == NULL)
    return TENSUS_E_RUN;
  s->failure = last->failure;
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

/* A message handler: what was raised, as text. */
static int as_text(lua_State *L) {
  if (lua_type(L, 1) != LUA_TSTRING) luaL_tolstring(L, 1, NULL);
  return 1;
}

/* Call the function on the stack, which holds nothing below it. */
static tensus_Status run(tensus_State *s, int nargs) {
  lua_pushcfunction(s->L, as_text);
  lua_insert(s->L, 1);
  const int code = lua_pcall(s->L, nargs, 0, 1);
  const tensus_Status status = api_raised(s, code);
  lua_settop(s->L, 0);
  return status;
}

/* ---- values ---- */

/* In the registry: give_tensor, and the chunk that run_file runs. */
static const char give_key = 0, load_key = 0;

/* A tensor by its address -> its handle; a function of ours. */
static int give_tensor(lua_State *L) {
  Tensor *t = lua_touserdata(L, 1);
  Handle *h = border_push(L);
  h->tensor = tensor_share(t);
  border_charge(L, h);
  return 1;
}

/* is_tensor is a function of ours as well: it has the upvalues. */
int api_prepare(lua_State *L) {
  lua_getglobal(L, "require");
  lua_pushliteral(L, "tensus");
  lua_call(L, 1, 1);
  lua_getfield(L, -1, "is_tensor");
  lua_getupvalue(L, -1, UPVALUE_BORDER);
  lua_getupvalue(L, -2, UPVALUE_METATABLE);
  lua_pushcclosure(L, give_tensor, 2);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &give_key);
  lua_pop(L, 1);
  lua_setglobal(L, "ts");
  return 0;
}

static void push_value(lua_State *L, const tensus_Value *v) {
  switch (v->kind) {
  case TENSUS_BOOLEAN: lua_pushboolean(L, v->u.b); return;
  case TENSUS_INTEGER: lua_pushinteger(L, (lua_Integer)v->u.i); return;
  case TENSUS_NUMBER: lua_pushnumber(L, v->u.n); return;
  case TENSUS_STRING: lua_pushlstring(L, v->u.s, v->len); return;
  case TENSUS_TENSOR:
    if (v->u.t == NULL) break;
    lua_rawgetp(L, LUA_REGISTRYINDEX, &give_key);
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
  memcpy(own, text, len + 1);
  s->texts++;
  *v = (tensus_Value){.kind = TENSUS_STRING, .len = len, .u.s = own};
  return true;
}

/* Other userdata is nil for C. */
static bool take_handle(tensus_State *s, int index, tensus_Value *v) {
  const Handle *lua_handle = border_handle_of(s->border, s->L, index);
  if (lua_handle == NULL || lua_handle->tensor == NULL) return true;
  tensus_Tensor *h = api_handle(s, tensor_share(lua_handle->tensor));
  if (h != NULL) *v = (tensus_Value){.kind = TENSUS_TENSOR, .u.t = h};
  return h != NULL;
}

/* False when out of memory; never raises. */
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
  const tensus_Value old = *v;
  *v = (tensus_Value){.kind = TENSUS_NIL};
  if (old.kind == TENSUS_TENSOR) tensus_tensor_release(old.u.t);
  if (old.kind != TENSUS_STRING) return;
  ledger_free(&s->ledger, (void *)(uintptr_t)old.u.s, old.len + 1);
  s->texts--;
  api_forget(s);
}

static bool is_foreign(const tensus_State *s, const tensus_Tensor *h) {
  return h != NULL && h->state != s;
}

/* Tensors of other states cannot be given to this one. */
static tensus_Status check_values(tensus_State *s, const tensus_Value *v,
                                  int n) {
  for (int i = 0; i < n; i++) {
    bool bad = v[i].kind == TENSUS_TENSOR && is_foreign(s, v[i].u.t);
    for (size_t k = 0; v[i].kind == TENSUS_TENSORS && k < v[i].len; k++)
      bad |= is_foreign(s, v[i].u.tensors[k]);
    if (bad)
      return api_fail(s, TENSUS_E_STATE, "a tensor belongs to another state");
  }
  return TENSUS_OK;
}

/* ---- running ---- */

/* What a protected function is told.  res: results, once all are there. */
typedef struct Job {
  tensus_State *s;
  const char *path, *code;
  size_t len;
  const tensus_Value *args;
  int nargs, room, count;
  tensus_Value *res;
  bool ran_out;
} Job;

static tensus_Status protect(Job *j, lua_CFunction f) {
  lua_pushcfunction(j->s->L, f);
  lua_pushlightuserdata(j->s->L, j);
  const tensus_Status status = run(j->s, 1);
  if (status != TENSUS_OK || !j->ran_out) return status;
  return api_fail(j->s, TENSUS_E_MEMORY, "out of memory");
}

/* A chunk has been compiled, or not: that error is told as it is. */
static tensus_Status run_loaded(tensus_State *s, int code) {
  return code == LUA_OK ? run(s, 0) : api_raised(s, code);
}

tensus_Status tensus_run_string(tensus_State *s, const char *code, size_t len,
                                const char *chunk) {
  char name[LUA_IDSIZE + 1]; /* "=": shown as it stands */
  const tensus_Status begun = api_begin(s);
  if (begun != TENSUS_OK) return begun;
  snprintf(name, sizeof name, "=%s", chunk != NULL ? chunk : "?");
  return run_loaded(s, luaL_loadbufferx(s->L, code, len, name, "t"));
}

/* Compiles the file at a path; leaves the chunk, or why there is none, in the
 * registry: luaL_loadfilex itself may raise. */
static int load_file(lua_State *L) {
  Job *j = lua_touserdata(L, 1);
  j->count = luaL_loadfilex(L, j->path, "t");
  lua_rawsetp(L, LUA_REGISTRYINDEX, &load_key);
  return 0;
}

tensus_Status tensus_run_file(tensus_State *s, const char *path) {
  Job j = {.s = s, .path = path};
  tensus_Status status = api_begin(s);
  if (status == TENSUS_OK) status = protect(&j, load_file);
  if (status != TENSUS_OK) return status;
  lua_rawgetp(s->L, LUA_REGISTRYINDEX, &load_key);
  lua_pushnil(s->L);
  lua_rawsetp(s->L, LUA_REGISTRYINDEX, &load_key);
  return run_loaded(s, j.count);
}

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

/* The values on the stack into a list of their own, so that *res changes on
 * success only.  Nothing here raises. */
static bool take_all(Job *j, int count) {
  tensus_State *s = j->s;
  const size_t bytes = (size_t)count * sizeof *j->res;
  tensus_Value *taken = NULL;
  int n = 0;
  if (count > 0 && (taken = ledger_alloc(&s->ledger, bytes)) == NULL)
    return false;
  while (n < count && take_value(s, n + 1, &taken[n])) n++;
  const bool ok = n == count;
  if (ok && count > 0) memcpy(j->res, taken, bytes);
  while (!ok && n-- > 0) tensus_value_clear(s, &taken[n]);
  ledger_free(&s->ledger, taken, bytes);
  j->count = count;
  return ok;
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
  j->ran_out = !take_all(j, made < j->room ? made : j->room);
  return 0;
}

tensus_Status tensus_call(tensus_State *s, const char *path,
                          const tensus_Value *args, int nargs,
                          tensus_Value *res, int *nres) {
  Job j = {.s = s, .path = path, .args = args, .nargs = nargs, .res = res,
           .room = nres != NULL ? *nres : 0};
  tensus_Status status = api_begin(s);
  if (status == TENSUS_OK) status = check_values(s, args, nargs);
  if (status == TENSUS_OK) status = protect(&j, run_call);
  if (status == TENSUS_OK && nres != NULL) *nres = j.count;
  return status;
}

static int run_set(lua_State *L) {
  Job *j = lua_touserdata(L, 1);
  push_value(L, j->args);
  lua_setglobal(L, j->path);
  return 0;
}

tensus_Status tensus_set_global(tensus_State *s, const char *name,
                                const tensus_Value *value) {
  Job j = {.s = s, .path = name, .args = value};
  tensus_Status status = api_begin(s);
  if (status == TENSUS_OK) status = check_values(s, value, 1);
  return status == TENSUS_OK ? protect(&j, run_set) : status;
}

static int run_get(lua_State *L) {
  Job *j = lua_touserdata(L, 1);
  push_path(L, j->path);
  j->ran_out = !take_value(j->s, lua_gettop(L), j->res);
  return 0;
}

tensus_Status tensus_get_global(tensus_State *s, const char *path,
                                tensus_Value *value) {
  Job j = {.s = s, .path = path, .res = value};
  const tensus_Status begun = api_begin(s);
  return begun == TENSUS_OK ? protect(&j, run_get) : begun;
}
