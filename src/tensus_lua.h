/* tensus_lua.h: tensus as a module of a Lua 5.4 state that the host owns. */
#ifndef TENSUS_LUA_H
#define TENSUS_LUA_H

#include <lua.h>

/* `require "tensus"`: pushes the module table.  Any stock Lua 5.4. */
int luaopen_tensus(lua_State *L);

#endif
