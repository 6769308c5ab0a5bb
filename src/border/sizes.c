/* sizes.c: see sizes.h. */
#include "border/sizes.h"

/* Its address is a key of the registry. */
static const char shape_key = 0;

/* Push "{2,3}" for the table at `at`. */
static void push_shape_text(lua_State *L, int at) {
  luaL_Buffer b;
  const lua_Unsigned n = lua_rawlen(L, at);
  luaL_buffinit(L, &b);
  luaL_addchar(&b, '{');
  for (lua_Unsigned i = 1; i <= n; i++) {
    if (i > 1) luaL_addchar(&b, ',');
    lua_rawgeti(L, at, (lua_Integer)i);
    luaL_addvalue(&b);
  }
  luaL_addchar(&b, '}');
  luaL_pushresult(&b);
}

static int shape_tostring(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  push_shape_text(L, 1);
  return 1;
}

static int shape_concat(lua_State *L) {
  for (int i = 1; i <= 2; i++) luaL_tolstring(L, i, NULL);
  lua_concat(L, 2);
  return 1;
}

/* Equal lists of numbers; the other one may be a plain table. */
static int shape_equal(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  luaL_checktype(L, 2, LUA_TTABLE);
  const lua_Unsigned n = lua_rawlen(L, 1);
  bool equal = n == lua_rawlen(L, 2);
  for (lua_Unsigned i = 1; i <= n && equal; i++) {
    lua_rawgeti(L, 1, (lua_Integer)i);
    lua_rawgeti(L, 2, (lua_Integer)i);
    equal = lua_rawequal(L, -1, -2) != 0;
    lua_pop(L, 2);
  }
  lua_pushboolean(L, equal);
  return 1;
}

/* x:shape() is x.shape. */
static int shape_call(lua_State *L) {
  lua_settop(L, 1);
  return 1;
}

static void push_shape_metatable(lua_State *L) {
  static const luaL_Reg events[] = {{"__tostring", shape_tostring},
                                    {"__concat", shape_concat},
                                    {"__eq", shape_equal},
                                    {"__call", shape_call},
                                    {NULL, NULL}};
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &shape_key) == LUA_TTABLE) return;
  lua_pop(L, 1);
  lua_createtable(L, 0, 6);
  luaL_setfuncs(L, events, 0);
  lua_pushliteral(L, "tensus.shape");
  lua_setfield(L, -2, "__name");
  lua_pushliteral(L, "tensus.shape");
  lua_setfield(L, -2, "__metatable");
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &shape_key);
}

void sizes_push(lua_State *L, const Shape *s) {
  const Shape own = *s; /* making a table may collect */
  lua_createtable(L, own.rank, 0);
  for (int i = 0; i < own.rank; i++) {
    lua_pushinteger(L, own.size[i]);
    lua_rawseti(L, -2, i + 1);
  }
  push_shape_metatable(L);
  lua_setmetatable(L, -2);
}
