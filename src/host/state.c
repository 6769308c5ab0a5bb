/* state.c: a Lua state of our own, ready to run scripts.
 *
 * Must not know: the command line, or who embeds it.
 */
#include "host/state.h"

#include <string.h>

#include <lauxlib.h>
#include <lualib.h>

#include "border/border.h"
#include "tensus_lua.h"

/* load(chunk, name, mode, env) with the mode always "t": crafted bytecode can
 * crash the interpreter.  The stock function is upvalue 1. */
static int load_text(lua_State *L) {
  if (lua_gettop(L) < 3) lua_settop(L, 3);
  const char *mode = luaL_optstring(L, 3, "t");
  if (mode[0] != 'b' || mode[1] == 't')
    lua_pushliteral(L, "t");
  else
    return luaL_argerror(L, 3, "only text chunks are loaded (mode 't')");
  lua_replace(L, 3);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
  return lua_gettop(L);
}

/* loadfile(name, mode, env), likewise. */
static int loadfile_text(lua_State *L) {
  if (lua_gettop(L) < 2) lua_settop(L, 2);
  lua_pushliteral(L, "t");
  lua_replace(L, 2);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
  return lua_gettop(L);
}

static int dofile_done(lua_State *L, int status, lua_KContext context) {
  (void)status, (void)context;
  return lua_gettop(L) - 1;
}

/* dofile(name): may yield, as the stock one. */
static int dofile_text(lua_State *L) {
  const char *name = luaL_optstring(L, 1, NULL);
  lua_settop(L, 1);
  if (luaL_loadfilex(L, name, "t") != LUA_OK) return lua_error(L);
  lua_callk(L, 0, LUA_MULTRET, 0, dofile_done);
  return dofile_done(L, 0, 0);
}

static void wrap_global(lua_State *L, const char *name, lua_CFunction wrapper) {
  lua_getglobal(L, name);
  lua_pushcclosure(L, wrapper, 1);
  lua_setglobal(L, name);
}

/* A searcher: a module tensus.NAME that is asked for before tensus loads it;
 * what that has put into package.preload (the first searcher) or embedded (the
 * second, put there as it loads) is then found. */
static int search_module(lua_State *L) {
  const char *name = luaL_checkstring(L, 1);
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  if (strncmp(name, "tensus.", 7) != 0 || lua_getfield(L, -1, "tensus"))
    return 0;
  lua_getglobal(L, "require");
  lua_pushliteral(L, "tensus");
  lua_call(L, 1, 0);
  lua_getglobal(L, LUA_LOADLIBNAME);
  lua_getfield(L, -1, "searchers");
  for (int i = 1; i <= 2; i++) {
    lua_rawgeti(L, -1, i);
    lua_pushvalue(L, 1);
    lua_call(L, 1, 2);
    if (lua_isfunction(L, -2)) return 2;
    lua_pop(L, 2);
  }
  return 0;
}

static void offer_modules(lua_State *L) {
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
  lua_pushcfunction(L, luaopen_tensus);
  lua_setfield(L, -2, "tensus");
  lua_getglobal(L, LUA_LOADLIBNAME);
  lua_getfield(L, -1, "searchers");
  for (lua_Integer i = (lua_Integer)lua_rawlen(L, -1); i >= 2; i--) {
    lua_rawgeti(L, -1, i);
    lua_rawseti(L, -2, i + 1);
  }
  lua_pushcfunction(L, search_module);
  lua_rawseti(L, -2, 2);
  lua_pop(L, 3);
}

static int fill(lua_State *L) {
  Interrupt *stop = lua_touserdata(L, 1);
  luaL_checkversion(L);
  luaL_openlibs(L);
  wrap_global(L, "load", load_text);
  wrap_global(L, "loadfile", loadfile_text);
  lua_register(L, "dofile", dofile_text);
  interrupt_install(L, stop);
  offer_modules(L);
  return 0;
}

lua_State *state_open(Interrupt *stop, bool environment) {
  Context *context;
  lua_State *L = border_newstate(SIZE_MAX, 0, &context);
  if (L == NULL) return NULL;
  if (!environment) { /* the flag that package.path looks at */
    lua_pushboolean(L, 1);
    lua_setfield(L, LUA_REGISTRYINDEX, "LUA_NOENV");
  }
  stop->kernels = &context->stop;
  lua_pushcfunction(L, fill);
  lua_pushlightuserdata(L, stop);
  if (lua_pcall(L, 1, 0, 0) == LUA_OK) return L;
  state_close(L, stop);
  return NULL;
}

void state_close(lua_State *L, Interrupt *stop) {
  stop->running = NULL; /* a signal must not touch it any more */
  border_close(L);
  stop->kernels = NULL;
}

/* __index of the globals, until `ts` is read. */
static int load_ts(lua_State *L) {
  const char *name = lua_tostring(L, 2);
  if (name == NULL || strcmp(name, "ts") != 0) return 0;
  lua_getglobal(L, "require");
  lua_pushliteral(L, "tensus");
  lua_call(L, 1, 1);
  lua_pushliteral(L, "ts");
  lua_pushvalue(L, -2);
  lua_rawset(L, 1);
  lua_getmetatable(L, 1);
  lua_pushnil(L);
  lua_setfield(L, -2, "__index");
  lua_pop(L, 1);
  return 1;
}

void state_offer_ts(lua_State *L) {
  lua_pushglobaltable(L);
  if (!lua_getmetatable(L, -1)) {
    lua_createtable(L, 0, 1);
    lua_pushcfunction(L, load_ts);
    lua_setfield(L, -2, "__index");
    lua_setmetatable(L, -2);
    lua_pop(L, 1);
  } else {
    lua_pop(L, 2);
  }
}
