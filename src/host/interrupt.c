/* interrupt.c: stopping a Lua state from outside.
 *
 * A count hook that is always on doubles the time of every script, so the hook
 * is set when it is needed: lua_sethook may be called from a signal handler.
 * It acts on one thread of a state, and Lua does not say which one runs; the
 * three functions that pass control between coroutines are replaced by ones
 * that write it down.
 * Must not know: who asks, or why.
 */
#include "host/interrupt.h"

#include <lauxlib.h>
#include <lualib.h>

static const char registry_key = 0; /* its address: where `stop` is kept */

/* Every event, and every instruction: the next thing that happens raises. */
enum {
  HOOK_ALL = LUA_MASKCALL | LUA_MASKRET | LUA_MASKLINE | LUA_MASKCOUNT,
  HOOK_COUNT = 1
};

static Interrupt *interrupt_of(lua_State *L) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &registry_key);
  Interrupt *stop = lua_touserdata(L, -1);
  lua_pop(L, 1);
  return stop;
}

/* Raises at the innermost Lua line, or goes away when the request has gone. */
static void interrupt_hook(lua_State *L, lua_Debug *event) {
  (void)event;
  if (!interrupt_of(L)->pending) {
    lua_sethook(L, NULL, 0, 0);
    return;
  }
  lua_Debug at;
  int level = 0;
  while (lua_getstack(L, level++, &at)) {
    lua_getinfo(L, "Sl", &at);
    if (at.currentline <= 0) continue;
    lua_pushfstring(L, "%s:%d: interrupted", at.short_src, at.currentline);
    lua_error(L);
  }
  lua_pushliteral(L, "interrupted");
  lua_error(L);
}

bool interrupt_request(Interrupt *stop) {
  bool first = !stop->pending;
  stop->pending = 1;
  if (stop->kernels != NULL) *stop->kernels = true;
  lua_State *L = stop->running;
  if (L != NULL) lua_sethook(L, interrupt_hook, HOOK_ALL, HOOK_COUNT);
  return first;
}

bool interrupt_clear(Interrupt *stop) {
  bool was = stop->pending;
  stop->pending = 0;
  if (stop->kernels != NULL) *stop->kernels = false;
  lua_State *L = stop->running;
  if (L != NULL && lua_gethook(L) == interrupt_hook) lua_sethook(L, NULL, 0, 0);
  return was;
}

/* Control passes to L.  A request from before, or from while this is written,
 * must find it hooked: hence first `running`, then the look at `pending`. */
static void interrupt_enter(Interrupt *stop, lua_State *L) {
  stop->running = L;
  if (stop->pending) lua_sethook(L, interrupt_hook, HOOK_ALL, HOOK_COUNT);
}

/* Resume co with the n values on top of L.  Returns how many results stand on
 * top of L, or -1 with the error there. */
static int resume(lua_State *L, lua_State *co, int n) {
  int results = 0;
  if (!lua_checkstack(co, n)) {
    lua_pushliteral(L, "too many arguments to resume");
    return -1;
  }
  lua_xmove(L, co, n);
  Interrupt *stop = interrupt_of(L);
  interrupt_enter(stop, co);
  int status = lua_resume(co, L, n, &results);
  interrupt_enter(stop, L);
  if (status != LUA_OK && status != LUA_YIELD) {
    lua_xmove(co, L, 1);
    return -1;
  }
  if (!lua_checkstack(L, results + 1)) {
    lua_pop(co, results);
    lua_pushliteral(L, "too many results to resume");
    return -1;
  }
  lua_xmove(co, L, results);
  return results;
}

static lua_State *check_coroutine(lua_State *L, int argument) {
  lua_State *co = lua_tothread(L, argument);
  luaL_argexpected(L, co != NULL, argument, "thread");
  return co;
}

/* coroutine.resume(co, ...) */
static int coroutine_resume(lua_State *L) {
  lua_State *co = check_coroutine(L, 1);
  int n = resume(L, co, lua_gettop(L) - 1);
  bool ok = n >= 0;
  if (!ok) n = 1;
  lua_pushboolean(L, ok);
  lua_insert(L, -(n + 1));
  return n + 1;
}

/* Closes a coroutine that an error ended: the error, or one that closing
 * raised instead, replaces the one on top of L.  Returns the final status. */
static int close_failed(lua_State *L, lua_State *co) {
  int status = lua_status(co);
  if (status == LUA_OK || status == LUA_YIELD) return status;
  lua_pop(L, 1);
  Interrupt *stop = interrupt_of(L);
  interrupt_enter(stop, co);
#if LUA_VERSION_NUM > 504 || LUA_VERSION_RELEASE_NUM >= 50406
  status = lua_closethread(co, L);
#else
  status = lua_resetthread(co);
#endif
  interrupt_enter(stop, L);
  lua_xmove(co, L, 1);
  return status;
}

/* What coroutine.wrap returns; the coroutine is its upvalue. */
static int wrapped(lua_State *L) {
  lua_State *co = lua_tothread(L, lua_upvalueindex(1));
  int n = resume(L, co, lua_gettop(L));
  if (n >= 0) return n;
  int status = close_failed(L, co);
  if (status != LUA_ERRMEM && lua_type(L, -1) == LUA_TSTRING) {
    luaL_where(L, 1); /* as in stock Lua: the caller's line as well */
    lua_insert(L, -2);
    lua_concat(L, 2);
  }
  return lua_error(L);
}

/* coroutine.wrap(f) */
static int coroutine_wrap(lua_State *L) {
  luaL_checktype(L, 1, LUA_TFUNCTION);
  lua_State *co = lua_newthread(L);
  lua_pushvalue(L, 1);
  lua_xmove(L, co, 1);
  lua_pushcclosure(L, wrapped, 1);
  return 1;
}

/* coroutine.close(co): the stock function (upvalue 1), with its handlers run
 * as `co`. */
static int coroutine_close(lua_State *L) {
  lua_State *co = check_coroutine(L, 1);
  Interrupt *stop = interrupt_of(L);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  if (co != L && lua_status(co) == LUA_YIELD) interrupt_enter(stop, co);
  int status = lua_pcall(L, lua_gettop(L) - 1, LUA_MULTRET, 0);
  interrupt_enter(stop, L);
  return status == LUA_OK ? lua_gettop(L) : lua_error(L);
}

void interrupt_install(lua_State *L, Interrupt *stop) {
  lua_pushlightuserdata(L, stop);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &registry_key);
  lua_getglobal(L, LUA_COLIBNAME);
  lua_pushcfunction(L, coroutine_resume);
  lua_setfield(L, -2, "resume");
  lua_pushcfunction(L, coroutine_wrap);
  lua_setfield(L, -2, "wrap");
  lua_getfield(L, -1, "close");
  lua_pushcclosure(L, coroutine_close, 1);
  lua_setfield(L, -2, "close");
  lua_pop(L, 1);
  stop->running = L;
}
