/* chunk.c: running chunks, and telling how that went.
 *
 * Must not know: options.
 */
#include "host/chunk.h"

#include <stdio.h>
#include <string.h>

#include <lauxlib.h>

/* The message of an error, whatever was raised, with a traceback. */
static int message_handler(lua_State *L) {
  const char *message = lua_tostring(L, 1);
  if (message == NULL) {
    if (luaL_callmeta(L, 1, "__tostring") && lua_type(L, -1) == LUA_TSTRING)
      return 1; /* an error object that speaks for itself */
    message =
        lua_pushfstring(L, "(error object is a %s value)", luaL_typename(L, 1));
  }
  luaL_traceback(L, L, message, 1);
  return 1;
}

int chunk_call(lua_State *L, int arguments, int results) {
  int handler = lua_gettop(L) - arguments;
  lua_pushcfunction(L, message_handler);
  lua_insert(L, handler);
  int status = lua_pcall(L, arguments, results, handler);
  lua_remove(L, handler);
  return status;
}

int chunk_report(lua_State *L, int status, Interrupt *stop) {
  bool interrupted = interrupt_clear(stop);
  if (status == LUA_OK) return interrupted ? EXIT_INTERRUPTED : EXIT_DONE;
  const char *message = lua_tostring(L, -1);
  fflush(stdout); /* what was printed before comes before */
  fprintf(stderr, "tensus: %s\n", message ? message : "(no message)");
  fflush(stderr);
  lua_pop(L, 1);
  return interrupted ? EXIT_INTERRUPTED : EXIT_ERROR;
}

int chunk_run(lua_State *L, int status, int arguments, Interrupt *stop) {
  if (status == LUA_OK) status = chunk_call(L, arguments, 0);
  return chunk_report(L, status, stop);
}

int chunk_run_text(lua_State *L, const char *text, const char *name,
                   Interrupt *stop) {
  int status = luaL_loadbufferx(L, text, strlen(text), name, "t");
  return chunk_run(L, status, 0, stop);
}
