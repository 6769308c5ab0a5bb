/* bootstrap.c: a plain Lua, to run the build's own scripts.
 *
 * A fresh machine has no Lua, and the build must run scripts before tensus
 * itself exists.  `lua-bootstrap script args`: `arg` is as in stock lua.
 * Must not know: tensus.
 */
#include <stdio.h>

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

static int traceback(lua_State *L) {
  luaL_traceback(L, L, luaL_tolstring(L, 1, NULL), 1);
  return 1;
}

/* `arg`: the script at 0, its arguments from 1 on; they are pushed as well. */
static void push_arguments(lua_State *L, int argc, char **argv) {
  lua_createtable(L, argc, 1);
  for (int i = 1; i < argc; i++) {
    lua_pushstring(L, argv[i]);
    lua_rawseti(L, -2, i - 1);
  }
  lua_setglobal(L, "arg");
  for (int i = 2; i < argc; i++) lua_pushstring(L, argv[i]);
}

int main(int argc, char **argv) {
  if (argc < 2) {
    fprintf(stderr, "usage: lua-bootstrap script [args]\n");
    return 2;
  }
  lua_State *L = luaL_newstate();
  if (L == NULL) return 1;
  luaL_openlibs(L);
  lua_pushcfunction(L, traceback);
  int status = luaL_loadfilex(L, argv[1], "t");
  if (status == LUA_OK) {
    push_arguments(L, argc, argv);
    status = lua_pcall(L, argc - 2, 0, 1);
  }
  if (status != LUA_OK) fprintf(stderr, "%s\n", luaL_tolstring(L, -1, NULL));
  lua_close(L);
  return status != LUA_OK;
}
