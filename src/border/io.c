/* io.c: ts.load and ts.save.
 * Must not know: formats. */
#include "border/args.h"
#include "compound/io.h"

static const char *text_arg(lua_State *L, int index, const char *name) {
  if (lua_type(L, index) == LUA_TSTRING) return lua_tostring(L, index);
  border_error(L, E_TYPE, NULL, "%s is a %s; a file name is due", name,
               luaL_typename(L, index));
  return NULL;
}

/* ts.load(path): the tensor in a file; npy, idx, idx.gz. */
static int ts_load(lua_State *L) {
  Context *c = border_begin(L, "load");
  const char *path = text_arg(L, 1, "path");
  args_at_most(L, 1);
  Handle *h = border_push(L);
  border_enter(L);
  const Status s = io_load(c, path, &h->tensor);
  border_leave(L);
  if (s != OK) return border_raise(L, c, s);
  border_charge(L, h);
  return 1;
}

/* ts.save(path, x): npy. */
static int ts_save(lua_State *L) {
  Context *c = border_begin(L, "save");
  const char *path = text_arg(L, 1, "path");
  Tensor *t = border_check(L, 2, "value");
  args_at_most(L, 2);
  border_enter(L);
  const Status s = io_save(c, path, t);
  border_leave(L);
  if (s != OK) return border_raise(L, c, s);
  return 0;
}

const luaL_Reg border_io_functions[] = {
    {"load", ts_load}, {"save", ts_save}, {NULL, NULL}};
