/* text.c: see text.h. */
#include "border/text.h"

#include <string.h>

#include "border/args.h"
#include "compound/display.h"

/* Its address is a key of the registry. */
static const char print_key = 0;

/* The print options of the state, made by the first who asks. */
static DisplayOptions *print_options(lua_State *L) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &print_key) == LUA_TNIL) {
    lua_pop(L, 1);
    DisplayOptions *fresh = lua_newuserdatauv(L, sizeof *fresh, 0);
    *fresh = display_defaults;
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &print_key);
  }
  DisplayOptions *o = lua_touserdata(L, -1);
  lua_pop(L, 1); /* the registry holds it */
  return o;
}

static int push_text(lua_State *L, const char *op, bool repr) {
  Context *c = border_begin(L, op);
  char text[DISPLAY_ROOM];
  size_t length = 0;
  const DisplayOptions *o = print_options(L);
  Tensor *x = border_check(L, 1, "self");
  border_enter(L);
  c->depth++;
  const Status s = display_tensor(c, x, o, repr, text, &length);
  c->depth--;
  border_leave(L);
  if (s != OK) return border_raise(L, c, s);
  lua_pushlstring(L, text, length);
  return 1;
}

int border_tostring(lua_State *L) { return push_text(L, "tostring", false); }

int text_repr(lua_State *L) { return push_text(L, "repr", true); }

static const char *const print_names[] = {"precision", "threshold", "edgeitems",
                                          "linewidth", "sci_mode",  NULL};

/* Option `name` of the table at 1, within bounds; *value stays without it. */
static void read_print_option(lua_State *L, const char *name, int64_t least,
                              int64_t most, int64_t *value) {
  if (args_push_option(L, 1, name) != LUA_TNIL) {
    const int64_t n = args_whole(L, lua_gettop(L), name);
    if (n < least || n > most)
      border_error(L, E_RANGE, NULL, "%A is %I; %I to %I is due", name, n,
                   least, most);
    *value = n;
  }
  lua_pop(L, 1);
}

/* true, false or "auto". */
static void read_mode(lua_State *L, DisplayMode *mode) {
  if (args_push_option(L, 1, "sci_mode") == LUA_TBOOLEAN) {
    *mode = lua_toboolean(L, -1) ? DISPLAY_SCIENTIFIC : DISPLAY_FIXED;
  } else if (!lua_isnil(L, -1)) {
    const char *text = lua_tostring(L, -1);
    if (text == NULL || strcmp(text, "auto") != 0)
      border_error(L, E_TYPE, NULL, "%A is %s; true, false or \"auto\" is due",
                   "sci_mode", border_describe(L, lua_gettop(L)));
    *mode = DISPLAY_AUTO;
  }
  lua_pop(L, 1);
}

int text_set_options(lua_State *L) {
  border_begin(L, "set_printoptions");
  args_at_most(L, 1);
  args_options(L, 1, print_names);
  DisplayOptions o = *print_options(L);
  int64_t precision = o.precision;
  read_print_option(L, "precision", 0, DISPLAY_PRECISION, &precision);
  read_print_option(L, "threshold", 0, INT64_MAX, &o.threshold);
  read_print_option(L, "edgeitems", 1, INT64_MAX, &o.edgeitems);
  read_print_option(L, "linewidth", 1, INT64_MAX, &o.linewidth);
  read_mode(L, &o.mode);
  o.precision = (int)precision;
  *print_options(L) = o;
  return 0;
}

static void set_integer(lua_State *L, const char *name, int64_t value) {
  lua_pushinteger(L, value);
  lua_setfield(L, -2, name);
}

int text_get_options(lua_State *L) {
  border_begin(L, "get_printoptions");
  const DisplayOptions o = *print_options(L);
  lua_newtable(L);
  set_integer(L, "precision", o.precision);
  set_integer(L, "threshold", o.threshold);
  set_integer(L, "edgeitems", o.edgeitems);
  set_integer(L, "linewidth", o.linewidth);
  if (o.mode == DISPLAY_AUTO)
    lua_pushliteral(L, "auto");
  else
    lua_pushboolean(L, o.mode == DISPLAY_SCIENTIFIC);
  lua_setfield(L, -2, "sci_mode");
  return 1;
}
