/* open.c: the module: what `require "tensus"` gives.
 *
 * Nothing is parsed and nothing is read when it opens; modules in Lua load
 * when their name is first used.
 * Must not know: what the functions do.
 */
#include <string.h>

#include "border/border.h"
#include "border/embedded.h"
#include "border/fault.h"
#include "border/ops.h"
#include "border/raw.h"
#include "tensus_lua.h"

static const char module_key = 0; /* the module's table, in the registry */

enum { FUNCTIONS = 320, METHODS = 256 }; /* a little more than there are */

/* ---- modules written in Lua ---- */

/* Names of ts that are modules, or stand in a module. */
static const struct {
  const char *name, *module;
  bool is_field; /* ts.name is field `name` of the module */
} lazy[] = {
    {"nn", "tensus.nn", false},
    {"optim", "tensus.optim", false},
    {"data", "tensus.data", false},
    {"plot", "tensus.plot", false},
    {"geometry", "tensus.geometry", false},
    {"dist", "tensus.dist", false},
    {"tree", "tensus.tree", false},
    {"gradcheck", "tensus.gradcheck", false},
    {"describe", "tensus.describe", false},
    {"value_and_grad", "tensus.functional", true},
    {"vjp", "tensus.functional", true},
    {"jvp", "tensus.functional", true},
    {"linearize", "tensus.functional", true},
    {"jacobian", "tensus.functional", true},
    {"hessian", "tensus.functional", true},
    {"hvp", "tensus.functional", true},
    {"vhp", "tensus.functional", true},
};

enum { LAZY = sizeof lazy / sizeof *lazy };

/* Row of the table sorted by name; NULL for none. */
static const Embedded *find_embedded(const char *name) {
  size_t low = 0, high = 0;
  while (tensus_embedded[high].name != NULL) high++;
  while (low < high) {
    const size_t middle = (low + high) / 2;
    const int order = strcmp(name, tensus_embedded[middle].name);
    if (order == 0) return &tensus_embedded[middle];
    if (order < 0)
      high = middle;
    else
      low = middle + 1;
  }
  return NULL;
}

/* A searcher of package.searchers: name -> loader, chunk name. */
static int search(lua_State *L) {
  const char *name = luaL_checkstring(L, 1);
  const Embedded *e = find_embedded(name);
  if (e == NULL) {
    lua_pushfstring(L, "no module '%s' in tensus itself", name);
    return 1;
  }
  if (luaL_loadbufferx(L, e->text, e->length, e->chunk, "t") != LUA_OK)
    return lua_error(L);
  lua_pushstring(L, e->chunk);
  return 2;
}

/* Behind the one of package.preload: what is embedded belongs together with
 * this program, so it comes before files of the same name. */
static void add_searcher(lua_State *L) {
  lua_getfield(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  if (lua_getfield(L, -1, "package") == LUA_TTABLE &&
      lua_getfield(L, -1, "searchers") == LUA_TTABLE) {
    for (lua_Integer i = (lua_Integer)lua_rawlen(L, -1); i >= 2; i--) {
      lua_rawgeti(L, -1, i);
      lua_rawseti(L, -2, i + 1);
    }
    lua_pushcfunction(L, search);
    lua_rawseti(L, -2, 2);
  }
  lua_settop(L, 1);
}

/* `require` without the global of that name, which a script may change. */
static void require_module(lua_State *L, const char *name) {
  lua_pushvalue(L, lua_upvalueindex(UPVALUE_OWN));
  lua_pushstring(L, name);
  lua_call(L, 1, 1);
}

/* __index of the module: what loads when it is first used. */
static int module_index(lua_State *L) {
  if (lua_type(L, 2) != LUA_TSTRING) return 0;
  const char *name = lua_tostring(L, 2);
  int i = 0;
  while (i < LAZY && strcmp(lazy[i].name, name) != 0) i++;
  if (i < LAZY) {
    require_module(L, lazy[i].module);
    if (lazy[i].is_field) lua_getfield(L, -1, name);
    lua_pushvalue(L, 2);
    lua_pushvalue(L, -2);
    lua_rawset(L, 1);
    return 1;
  }
  const char *here = ops_foreign(name);
  if (here == NULL) return 0;
  border_begin(L, "ts");
  return border_error(L, E_NAME, NULL, "no function \"%s\"; here it is \"%s\"",
                      name, here);
}

/* ---- the tables ---- */

/* Functions with our upvalues into the table at `table`. */
static void set_functions(lua_State *L, int table, const luaL_Reg *list) {
  for (; list->name != NULL; list++) {
    lua_pushstring(L, list->name);
    border_function(L, list->func, 0);
    lua_rawset(L, table);
  }
}

static void set_all_functions(lua_State *L, int module) {
  static const luaL_Reg *const lists[] = {
      border_table_functions, border_index_functions,  border_tensor_functions,
      border_grad_functions,  border_random_functions, border_io_functions,
      border_clock_functions, border_device_functions, border_help_functions,
      border_memory_functions, border_einsum_functions, border_lint_functions};
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
    set_functions(L, module, lists[i]);
}

static void set_all_methods(lua_State *L, int methods) {
  static const luaL_Reg *const lists[] = {
      border_table_methods, border_index_methods,  border_tensor_methods,
      border_grad_methods,  border_memory_methods, border_ops_methods};
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
    set_functions(L, methods, lists[i]);
}

/* Into the table on top: ts.f32 is "f32", ts.newaxis is "new". */
static void set_constants(lua_State *L) {
  for (int d = 0; d < DTYPE_COUNT; d++) {
    lua_pushstring(L, dtype_name((Dtype)d));
    lua_setfield(L, -2, dtype_name((Dtype)d));
  }
  lua_pushliteral(L, "new");
  lua_setfield(L, -2, "newaxis");
}

static void set_lazy(lua_State *L, int module) {
  lua_createtable(L, 0, 2);
  lua_getglobal(L, "require");
  border_function(L, module_index, 1);
  lua_setfield(L, -2, "__index");
  lua_pushliteral(L, "tensus");
  lua_setfield(L, -2, "__name");
  lua_setmetatable(L, module);
}

static void set_preload(lua_State *L) {
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
  border_function(L, fault_open, 0);
  lua_setfield(L, -2, "tensus.fault");
  border_function(L, raw_open, 0);
  lua_setfield(L, -2, "tensus.raw");
  lua_pop(L, 1);
}

/* Runs with our upvalues, the metatable still empty; gives the module. */
static int fill_module(lua_State *L) {
  enum { MODULE = 1, METHOD_TABLE, METATABLE };
  lua_settop(L, 0);
  lua_createtable(L, 0, FUNCTIONS);
  lua_createtable(L, 0, METHODS);
  lua_pushvalue(L, lua_upvalueindex(UPVALUE_METATABLE));
  ops_register(L, MODULE, METHOD_TABLE);
  set_all_functions(L, MODULE);
  set_all_methods(L, METHOD_TABLE);
  ops_fill_metatable(L, METATABLE, METHOD_TABLE);
  lua_createtable(L, 0, 8);
  set_functions(L, lua_gettop(L), border_cuda_functions);
  lua_setfield(L, MODULE, "cuda");
  lua_settop(L, MODULE);
  set_constants(L);
  help_set_version(L);
  set_lazy(L, MODULE);
  set_preload(L);
  add_searcher(L);
  return 1;
}

/* What a shared object hides by default must be seen by `require`. */
#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
int luaopen_tensus(lua_State *L) {
  Border *b = border_make(L);
  lua_settop(L, 0);
  if (b->is_open) {
    lua_rawgetp(L, LUA_REGISTRYINDEX, &module_key);
    return 1;
  }
  lua_pushlightuserdata(L, b);
  lua_createtable(L, 0, 32);
  lua_pushcclosure(L, fill_module, 2);
  lua_call(L, 0, 1);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &module_key);
  b->is_open = true;
  return 1;
}
