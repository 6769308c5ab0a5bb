/* key.c: see key.h.
 *
 *   index    = integer | tensor | "{" item, ... "}" | slice-string
 *   item     = integer | {} | {i} | {a,b} | {a,b,step} | tensor
 *            | "a:b" | "a:b:step" | ":" | "..." | "new"
 *
 * Always: tables are read raw; a misplaced key raises and is never skipped.
 * Must not know: shapes.
 */
#include "border/key.h"

#include <stdlib.h>
#include <string.h>

#include "border/args.h"

/* ---- reading a key: numbers and tables ---- */

static Item *add_item(lua_State *L, Index *x, ItemKind kind) {
  static const Item blank = {.step = 1};
  if (x->count == MAX_ITEMS)
    border_error(L, E_TOO_MANY, NULL, "more than %d items", (int)MAX_ITEMS);
  Item *item = &x->item[x->count++];
  *item = blank;
  item->kind = kind;
  return item;
}

/* A position from a Lua number. */
static int64_t read_position(lua_State *L, int at) {
  int64_t value = 0;
  if (args_is_whole(L, at, &value)) return value;
  if (lua_type(L, at) == LUA_TNUMBER)
    border_error(L, E_INDEX, NULL, "position %s is no whole number",
                 luaL_tolstring(L, at, NULL));
  border_error(L, E_TYPE, NULL, "a position is %s; a whole number is due",
               border_describe(L, at));
  return 0;
}

void key_add_position(lua_State *L, int at, Index *x) {
  const int64_t value = read_position(L, at);
  add_item(L, x, ITEM_POSITION)->first = value;
}

/* {} {i} {a,b} {a,b,step}: the table on top. */
static void read_range(lua_State *L, Index *x) {
  const int table = lua_gettop(L);
  const int64_t n = (int64_t)lua_rawlen(L, table);
  int64_t keys = 0;
  for (lua_pushnil(L); lua_next(L, table) != 0; lua_pop(L, 1)) keys++;
  if (keys != n || n > 3)
    border_error(L, E_INDEX, NULL,
                 "a range is {}, {i}, {a,b} or {a,b,step}; positions to pick "
                 "are a tensor: ts.idx{...}");
  Item *item = add_item(L, x, n == 0 ? ITEM_WHOLE : ITEM_RANGE);
  for (int i = 1; i <= (int)n; i++) {
    lua_rawgeti(L, table, i);
    const int64_t value = read_position(L, table + 1);
    if (i == 1) item->first = item->last = value;
    if (i == 2) item->last = value;
    if (i == 3) item->step = value;
    lua_pop(L, 1);
  }
  item->has_first = item->has_last = n > 0;
}

static void read_tensor(lua_State *L, int at, Index *x) {
  Context *c = border_context(L);
  Tensor *t = border_check(L, at, "an index tensor");
  const Status s = pick_check(c, t);
  if (s != OK) border_raise(L, c, s);
  add_item(L, x, ITEM_PICK)->tensor = t;
}

/* ---- reading a key: text ---- */

static const char *skip_blanks(const char *p) { return p + strspn(p, " \t"); }

/* A whole number at *p, if there is one; too large ones become the greatest,
 * which no axis has. */
static bool scan_integer(const char **p, int64_t *value) {
  const char *at = skip_blanks(*p);
  const char *digits = *at == '-' ? at + 1 : at;
  if (strspn(digits, "0123456789") == 0) return false;
  *value = strtoll(at, NULL, 10);
  *p = digits + strspn(digits, "0123456789");
  return true;
}

static bool scan_char(const char **p, char ch) {
  const char *at = skip_blanks(*p);
  if (*at != ch) return false;
  *p = at + 1;
  return true;
}

static bool scan_word(const char **p, const char *word) {
  const char *at = skip_blanks(*p);
  const size_t n = strlen(word);
  if (strncmp(at, word, n) != 0) return false;
  *p = at + n;
  return true;
}

/* One item: "new" "..." "5" ":" "2:" ":3" "2:3" "2:3:2" "::2"; false for
 * anything else. */
static bool scan_item(lua_State *L, const char **p, Index *x) {
  Item item = {.kind = ITEM_RANGE, .step = 1};
  if (scan_word(p, "...")) return add_item(L, x, ITEM_ELLIPSIS), true;
  if (scan_word(p, "new")) return add_item(L, x, ITEM_NEW), true;
  item.has_first = scan_integer(p, &item.first);
  if (!scan_char(p, ':')) {
    item.kind = ITEM_POSITION;
    if (!item.has_first) return false;
  } else {
    item.has_last = scan_integer(p, &item.last);
    if (scan_char(p, ':') && !scan_integer(p, &item.step)) return false;
  }
  *add_item(L, x, item.kind) = item;
  return true;
}

static void raise_text(lua_State *L, const char *text) {
  border_error(L, E_INDEX, NULL,
               "\"%s\" is no index: items are whole numbers, a:b, a:b:step, "
               "... and new, parted by commas",
               text);
}

/* The items of a slice string. */
static void read_text(lua_State *L, int at, Index *x) {
  const char *text = lua_tostring(L, at), *p = text;
  bool more = true;
  while (more) {
    if (!scan_item(L, &p, x)) raise_text(L, text);
    more = scan_char(&p, ',');
  }
  if (*skip_blanks(p) != '\0' || strlen(text) != lua_rawlen(L, at))
    raise_text(L, text);
  if (x->count == 1 && x->item[0].kind == ITEM_POSITION)
    border_error(L, E_INDEX, NULL, "\"%s\" is text; write x[%I]", text,
                 x->item[0].first);
}

/* Text among the items of a table: one item, and no number. */
static void read_text_item(lua_State *L, int at, Index *x) {
  const char *text = lua_tostring(L, at);
  const int before = x->count;
  const char *p = text;
  if (!scan_item(L, &p, x) || *skip_blanks(p) != '\0') raise_text(L, text);
  if (x->item[before].kind == ITEM_POSITION)
    border_error(L, E_INDEX, NULL, "\"%s\" is text; write %I", text,
                 x->item[before].first);
}

/* ---- reading a key: the whole ---- */

/* The reduction ts.all stands for a whole axis, too. */
static bool is_all(lua_State *L, int at) {
  if (!lua_isfunction(L, at)) return false;
  const char *const path[] = {LUA_LOADED_TABLE, "tensus", "all"};
  lua_pushvalue(L, LUA_REGISTRYINDEX);
  for (int i = 0; i < 3 && lua_istable(L, -1); i++) {
    lua_pushstring(L, path[i]);
    lua_rawget(L, -2);
  }
  const bool is = lua_rawequal(L, at, -1) != 0;
  lua_settop(L, at);
  return is;
}

bool key_is_whole(lua_State *L, int at) {
  if (lua_type(L, at) == LUA_TSTRING)
    return strcmp(lua_tostring(L, at), ":") == 0;
  if (!lua_istable(L, at)) return is_all(L, at);
  lua_pushnil(L);
  if (lua_next(L, at) == 0) return true;
  lua_pop(L, 2);
  return false;
}

/* The item on top, number `number` of the table. */
static void read_item(lua_State *L, int number, Index *x) {
  const int at = lua_gettop(L);
  switch (lua_type(L, at)) {
  case LUA_TNUMBER:
    key_add_position(L, at, x);
    return;
  case LUA_TTABLE:
    read_range(L, x);
    return;
  case LUA_TSTRING:
    read_text_item(L, at, x);
    return;
  default:
    break;
  }
  if (border_handle(L, at) != NULL)
    read_tensor(L, at, x);
  else if (is_all(L, at))
    add_item(L, x, ITEM_WHOLE);
  else
    border_error(L, E_TYPE, NULL, "item %d is %s", number,
                 border_describe(L, at));
}

static void read_table(lua_State *L, int table, Index *x) {
  const int64_t n = (int64_t)lua_rawlen(L, table);
  int64_t keys = 0;
  for (lua_pushnil(L); lua_next(L, table) != 0; lua_pop(L, 1)) keys++;
  if (keys != n)
    border_error(L, E_INDEX, NULL,
                 "a table in brackets is a list of items, one for each dim; "
                 "this one has other keys or a hole");
  for (int64_t i = 1; i <= n; i++) {
    lua_rawgeti(L, table, i);
    read_item(L, (int)i, x);
    lua_settop(L, -2);
  }
}

void key_read(lua_State *L, int at, Index *x) {
  x->count = 0;
  x->is_alone = false;
  luaL_checkstack(L, LUA_MINSTACK, "too many nested calls");
  switch (lua_type(L, at)) {
  case LUA_TNUMBER:
    key_add_position(L, at, x);
    x->is_alone = true;
    return;
  case LUA_TTABLE:
    read_table(L, at, x);
    return;
  case LUA_TSTRING:
    read_text(L, at, x);
    return;
  default:
    break;
  }
  if (border_handle(L, at) != NULL)
    read_tensor(L, at, x);
  else
    border_error(L, E_TYPE, NULL,
                 "%s is no index; numbers, tables, text and tensors are",
                 border_describe(L, at));
}
