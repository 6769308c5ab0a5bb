/* args.c: see args.h.
 *
 * Positional params take arguments from the left; what is left over may be one
 * table of options, or a dtype's name in its place.
 * Must not know: what the op does with them.
 */
#include "border/args.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "border/key.h"

/* ---- numbers ---- */

bool args_is_whole(lua_State *L, int index, int64_t *value) {
  if (lua_type(L, index) != LUA_TNUMBER) return false;
  int is_whole = 0; /* lua_tointegerx takes 2.0, not 2.5, not 1e300 */
  *value = lua_tointegerx(L, index, &is_whole);
  return is_whole != 0;
}

int64_t args_whole(lua_State *L, int index, const char *name) {
  int64_t value = 0;
  if (!args_is_whole(L, index, &value))
    border_error(L, E_TYPE, NULL, "%A is %s; a whole number is due", name,
                 border_describe(L, index));
  return value;
}

/* From the base of Lua: 1 is the first, 0 is what the op complains about,
 * negative numbers count from the end in both bases. */
static int64_t from_base(int64_t value) {
  return value > 0 ? value - 1 : value == 0 ? POSITION_ZERO : value;
}

/* A dim or a position, which differ in what a fraction raises. */
static int64_t read_place(lua_State *L, int index, const char *name,
                          Status status) {
  int64_t value = 0;
  if (!args_is_whole(L, index, &value)) {
    const bool is_number = lua_type(L, index) == LUA_TNUMBER;
    border_error(L, is_number ? status : E_TYPE, NULL,
                 "%A is %s; a whole number is due", name,
                 border_describe(L, index));
  }
  return from_base(value);
}

static void read_number(lua_State *L, int index, const char *name, Arg *arg) {
  if (lua_isinteger(L, index)) {
    arg->kind = ARG_INTEGER;
    arg->integer = lua_tointeger(L, index);
    return;
  }
  if (lua_type(L, index) != LUA_TNUMBER)
    border_error(L, E_TYPE, NULL, "%A is %s; a number is due", name,
                 border_describe(L, index));
  arg->kind = ARG_NUMBER;
  arg->number = lua_tonumber(L, index);
}

/* ---- tensors ---- */

/* true and false beside tensors that hold them are tensors of rank 0. */
static void read_boolean(lua_State *L, int index, Arg *arg) {
  Context *c = border_context(L);
  const bool value = lua_toboolean(L, index);
  const char *op = c->failure.op; /* the caller's, not ours */
  Handle *h = border_push(L);
  const Status s = op_scalar(c, &c->host, DTYPE_BOOL, value, &h->tensor);
  c->failure.op = op;
  if (s != OK) border_raise(L, c, s);
  arg->kind = ARG_TENSOR;
  arg->tensor = h->tensor;
}

static void read_operand(lua_State *L, int index, const OpRow *row,
                         const char *name, Arg *arg) {
  if (lua_type(L, index) == LUA_TNUMBER) {
    read_number(L, index, name, arg);
    return;
  }
  if (lua_isboolean(L, index) && dtype_in(DTYPE_BOOL, row->dtypes)) {
    read_boolean(L, index, arg);
    return;
  }
  const Handle *h = border_handle(L, index);
  if (h == NULL)
    border_error(L, E_TYPE, NULL, "%A is %s; a tensor or a number is due", name,
                 border_describe(L, index));
  arg->kind = ARG_TENSOR;
  arg->tensor = h->tensor != NULL ? h->tensor : border_check(L, index, name);
}

bool args_read_operands(lua_State *L, const Border *b, OpId op, Args *a) {
  const OpRow *row = &op_rows[op];
  if (!op_is_pointwise(op) || lua_gettop(L) != row->operands) return false;
  for (int k = 0; k < row->operands; k++) {
    const Handle *h = border_handle_of(b, L, k + 1);
    Arg *arg = &a->at[k];
    if (h != NULL && h->tensor != NULL) {
      arg->kind = ARG_TENSOR;
      arg->tensor = h->tensor;
    } else if (lua_type(L, k + 1) == LUA_TNUMBER &&
               row->param[k].kind == PARAM_OPERAND) {
      read_number(L, k + 1, "", arg);
    } else {
      return false;
    }
  }
  for (int k = row->operands; k < row->params; k++) a->at[k].kind = ARG_NONE;
  return true;
}

/* `count` tensors, from the stack or from the table at `index`.  Handles of a
 * table are held by the stack as well: a finaliser may change the table. */
static void read_list(lua_State *L, int index, int count, bool is_table,
                      const char *name, Arg *arg) {
  const size_t bytes = sizeof(Tensor *) * (size_t)(count > 0 ? count : 1);
  Tensor **list = lua_newuserdatauv(L, bytes, 0);
  if (is_table) lua_createtable(L, count, 0);
  for (int i = 0; i < count; i++) {
    if (is_table) lua_rawgeti(L, index, i + 1);
    const int at = is_table ? -1 : index + i;
    const Handle *h = border_handle(L, at);
    if (h == NULL)
      border_error(L, E_TYPE, NULL, "%A[%d] is %s; a tensor is due", name,
                   i + 1, border_describe(L, at));
    list[i] = h->tensor != NULL ? h->tensor : border_check(L, at, name);
    if (is_table) lua_rawseti(L, -2, i + 1);
  }
  arg->kind = ARG_LIST;
  arg->count = count;
  arg->list = list;
}

/* Index tensors, as read_list reads tensors; {}, ":" and ts.all are whole
 * axes; one tensor alone is a list of it. */
static void read_picks(lua_State *L, int index, const char *name, Arg *arg) {
  const bool is_table = lua_istable(L, index);
  const int count = is_table ? (int)lua_rawlen(L, index) : 1;
  const size_t bytes = sizeof(Tensor *) * (size_t)(count > 0 ? count : 1);
  Tensor **list = lua_newuserdatauv(L, bytes, 0);
  lua_createtable(L, count, 0); /* holds them */
  for (int i = 0; i < count; i++) {
    if (is_table) lua_rawgeti(L, index, i + 1);
    else lua_pushvalue(L, index);
    const int at = lua_gettop(L);
    const bool is_whole = is_table && key_is_whole(L, at);
    if (!is_whole && border_handle(L, at) == NULL)
      border_error(L, E_TYPE, NULL,
                   "%A[%d] is %s; an index tensor is due, or {} for a whole "
                   "axis",
                   name, i + 1, border_describe(L, at));
    list[i] = is_whole ? NULL : border_check(L, at, name);
    lua_rawseti(L, -2, i + 1);
  }
  arg->kind = ARG_LIST;
  arg->count = count;
  arg->list = list;
}

/* ---- sizes ---- */

static int64_t read_size(lua_State *L, int index, bool are_dims,
                         const char *name) {
  if (are_dims) return read_place(L, index, name, E_DIM);
  return args_whole(L, index, name);
}

static void check_rank(lua_State *L, int64_t count, const char *name) {
  if (count > MAX_RANK)
    border_error(L, E_RANK, NULL, "%A has %I entries; tensors have at most %d",
                 name, count, (int)MAX_RANK);
}

/* Numbers in a row from `index` on; returns how many there were. */
static int read_row(lua_State *L, int index, bool are_dims, const char *name,
                    Arg *arg) {
  int n = 0;
  while (lua_type(L, index + n) == LUA_TNUMBER) n++;
  check_rank(L, n, name);
  for (int i = 0; i < n; i++)
    arg->sizes[i] = read_size(L, index + i, are_dims, name);
  arg->kind = ARG_SIZES;
  arg->count = n;
  return n;
}

static void read_sizes(lua_State *L, int index, bool are_dims, const char *name,
                       Arg *arg) {
  const int64_t n = (int64_t)lua_rawlen(L, index);
  check_rank(L, n, name);
  for (int i = 0; i < n; i++) {
    lua_rawgeti(L, index, i + 1);
    arg->sizes[i] = read_size(L, -1, are_dims, name);
    lua_pop(L, 1);
  }
  arg->kind = ARG_SIZES;
  arg->count = (int)n;
}

/* One whole number, or a table of them; the stack holds the array. */
static void read_wholes(lua_State *L, int index, const char *name, Arg *arg) {
  if (!lua_istable(L, index)) {
    arg->kind = ARG_INTEGER;
    arg->integer = args_whole(L, index, name);
    return;
  }
  const int64_t n = (int64_t)lua_rawlen(L, index);
  if (n > INT32_MAX)
    border_error(L, E_SIZE, NULL, "%A has %I entries", name, n);
  int64_t *wholes =
      lua_newuserdatauv(L, sizeof *wholes * (size_t)(n > 0 ? n : 1), 0);
  for (int64_t i = 0; i < n; i++) {
    lua_rawgeti(L, index, i + 1);
    wholes[i] = args_whole(L, -1, name);
    lua_pop(L, 1);
  }
  arg->kind = ARG_WHOLES;
  arg->count = (int)n;
  arg->wholes = wholes;
}

/* List number k (from 1) of two, as a table on the stack. */
static int push_dim_list(lua_State *L, int index, int k) {
  if (lua_rawgeti(L, index, k) == LUA_TTABLE) return lua_gettop(L);
  lua_createtable(L, 1, 0);
  lua_insert(L, -2);
  lua_rawseti(L, -2, 1);
  return lua_gettop(L);
}

/* A whole number, or {ds, ds}: dims of one tensor and of another. */
static void read_dim_lists(lua_State *L, int index, const char *name,
                           Arg *arg) {
  if (!lua_istable(L, index)) {
    arg->kind = ARG_INTEGER;
    arg->integer = args_whole(L, index, name);
    return;
  }
  if (lua_rawlen(L, index) != 2)
    border_error(L, E_TYPE, NULL,
                 "%A has %I entries; two lists of dims are due", name,
                 (int64_t)lua_rawlen(L, index));
  const int first = push_dim_list(L, index, 1);
  const int second = push_dim_list(L, index, 2);
  const int64_t n = (int64_t)lua_rawlen(L, first);
  if (n != (int64_t)lua_rawlen(L, second))
    border_error(L, E_SIZE, NULL, "%A has %I dims of self and %I of other",
                 name, n, (int64_t)lua_rawlen(L, second));
  check_rank(L, n, name);
  int64_t *dims = lua_newuserdatauv(L, sizeof *dims * 2 * MAX_RANK, 0);
  for (int i = 0; i < 2 * n; i++) {
    lua_rawgeti(L, i < n ? first : second, i < n ? i + 1 : i - n + 1);
    dims[i] = read_size(L, -1, true, name);
    lua_pop(L, 1);
  }
  arg->kind = ARG_WHOLES;
  arg->count = (int)(2 * n);
  arg->wholes = dims;
}

/* ---- words ---- */

static const char *read_text(lua_State *L, int index, const char *name) {
  if (lua_type(L, index) != LUA_TSTRING)
    border_error(L, E_TYPE, NULL, "%A is %s; a string is due", name,
                 border_describe(L, index));
  return lua_tostring(L, index);
}

/* The place of `word` among words parted by |; -1 if it is none. */
static int find_choice(const char *words, const char *word) {
  const size_t n = strlen(word);
  int place = 0;
  for (const char *p = words; *p != '\0'; place++) {
    const size_t length = strcspn(p, "|");
    if (length == n && strncmp(p, word, n) == 0) return place;
    p += length + (p[length] == '|');
  }
  return -1;
}

/* The word for a choice at `index`: 2, 2.0 and "2" are one, and so are
 * math.huge and "inf".  Pushes what must stay on the stack. */
static const char *read_word(lua_State *L, int index, const char *name) {
  int is_whole = 0;
  if (lua_type(L, index) != LUA_TNUMBER) return read_text(L, index, name);
  const lua_Integer whole = lua_tointegerx(L, index, &is_whole);
  if (is_whole) return lua_pushfstring(L, "%I", (LUAI_UACINT)whole);
  return luaL_tolstring(L, index, NULL);
}

static void read_choice(lua_State *L, int index, const Param *p, Arg *arg) {
  const char *word = read_word(L, index, p->name);
  const int place = find_choice(p->words, word);
  if (place < 0)
    border_error(L, E_OPTION, NULL, "%A is \"%s\"; one of %s is due", p->name,
                 word, p->words);
  arg->kind = ARG_INTEGER;
  arg->integer = place;
}

/* One number, a table of them, or a word that the row knows; how many axes
 * there are is the op's business. */
static void read_tuple(lua_State *L, int index, const Param *p, Arg *arg) {
  if (p->words != NULL && lua_type(L, index) == LUA_TSTRING) {
    read_choice(L, index, p, arg);
    arg->kind = ARG_TEXT;
    arg->text = lua_tostring(L, index);
  } else if (lua_istable(L, index)) {
    read_sizes(L, index, false, p->name, arg);
  } else {
    arg->kind = ARG_SIZES;
    arg->count = 1;
    arg->sizes[0] = args_whole(L, index, p->name);
  }
}

static const char *nearest_dtype(const char *word) {
  const char *found = NULL;
  int best = INT32_MAX;
  for (int d = 0; d < DTYPE_COUNT; d++)
    if (border_nearer(word, dtype_name((Dtype)d), &best))
      found = dtype_name((Dtype)d);
  return found;
}

Dtype args_dtype(lua_State *L, int index, const char *name) {
  const char *word = read_text(L, index, name);
  const Dtype d = dtype_find(word);
  if (d != DTYPE_NONE) return d;
  if (find_choice("c64|c128|f8e4m3|f8e5m2|u16|u32|u64", word) >= 0)
    border_error(L, E_DTYPE, NULL, "%A %s is reserved and not available yet",
                 name, word);
  const char *near = nearest_dtype(word);
  border_error(L, E_DTYPE, NULL, "%A \"%s\" is unknown%s%s%s", name, word,
               near != NULL ? "; did you mean " : "", near != NULL ? near : "",
               near != NULL ? "?" : "");
  return DTYPE_NONE;
}

Device *args_device(lua_State *L, int index, const char *name) {
  Context *c = border_context(L);
  Device *d = NULL;
  const Status s = context_device(c, read_text(L, index, name), &d);
  if (s != OK) border_raise(L, c, s);
  return d;
}

/* ---- one param ---- */

static void set_integer(Arg *arg, int64_t value) {
  arg->kind = ARG_INTEGER;
  arg->integer = value;
}

static void read_flag(lua_State *L, int index, const char *name, Arg *arg) {
  if (!lua_isboolean(L, index))
    border_error(L, E_TYPE, NULL, "%A is %s; true or false is due", name,
                 border_describe(L, index));
  set_integer(arg, lua_toboolean(L, index));
}

static void read_table(lua_State *L, int index, const Param *p, Arg *arg) {
  const bool are_dims =
      p->kind == PARAM_DIMS || p->kind == PARAM_DIMS_TABLE;
  if (!lua_istable(L, index))
    border_error(L, E_TYPE, NULL, "%A is %s; a table of sizes is due", p->name,
                 border_describe(L, index));
  read_sizes(L, index, are_dims, p->name, arg);
}

/* {p = 2, h = 3} as the text "p=2 h=3 ", which stays on the stack. */
static void read_names(lua_State *L, int index, Arg *arg) {
  lua_pushliteral(L, "");
  const int text = lua_gettop(L);
  lua_pushnil(L);
  while (lua_next(L, index) != 0) {
    const char *name =
        lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : NULL;
    if (name == NULL || name[strcspn(name, " =")] != '\0')
      border_error(L, E_OPTION, NULL, "an option has %s for a name",
                   border_describe(L, -2));
    lua_pushvalue(L, text);
    lua_pushfstring(L, "%s=%I ", name,
                    (lua_Integer)args_whole(L, text + 2, name));
    lua_concat(L, 2);
    lua_replace(L, text);
    lua_pop(L, 1);
  }
  arg->kind = ARG_TEXT;
  arg->text = lua_tostring(L, text);
}

/* One value at `index` as param p.  May push what must stay on the stack. */
static void read_value(lua_State *L, int index, const OpRow *row,
                       const Param *p, Arg *arg) {
  switch (p->kind) {
  case PARAM_TENSOR:
    arg->kind = ARG_TENSOR;
    arg->tensor = border_check(L, index, p->name);
    break;
  case PARAM_OPERAND:
    read_operand(L, index, row, p->name, arg);
    break;
  case PARAM_VALUE:
  case PARAM_NUMBER:
    read_number(L, index, p->name, arg);
    break;
  case PARAM_DIM:
    set_integer(arg, read_place(L, index, p->name, E_DIM));
    break;
  case PARAM_POSITION:
    set_integer(arg, read_place(L, index, p->name, E_INDEX));
    break;
  case PARAM_INTEGER:
    set_integer(arg, args_whole(L, index, p->name));
    break;
  case PARAM_PICKS:
    read_picks(L, index, p->name, arg);
    break;
  case PARAM_LIST: /* args in a row are taken by read_param */
    read_list(L, index, (int)lua_rawlen(L, index), true, p->name, arg);
    break;
  case PARAM_DIMS_TABLE:
    if (lua_type(L, index) == LUA_TNUMBER) {
      arg->sizes[0] = read_size(L, index, true, p->name);
      arg->kind = ARG_SIZES;
      arg->count = 1;
      break;
    }
    read_table(L, index, p, arg);
    break;
  case PARAM_SHAPE_TABLE:
    if (p->need != OPTION || lua_type(L, index) != LUA_TNUMBER) {
      read_table(L, index, p, arg);
      break;
    }
    arg->sizes[0] = read_size(L, index, false, p->name);
    arg->kind = ARG_SIZES;
    arg->count = 1;
    break;
  case PARAM_DIMS:
  case PARAM_SHAPE:
    read_table(L, index, p, arg);
    break;
  case PARAM_TUPLE:
    read_tuple(L, index, p, arg);
    break;
  case PARAM_WHOLES:
    read_wholes(L, index, p->name, arg);
    break;
  case PARAM_DIM_LISTS:
    read_dim_lists(L, index, p->name, arg);
    break;
  case PARAM_TEXT:
    arg->kind = ARG_TEXT;
    arg->text = read_text(L, index, p->name);
    break;
  case PARAM_NAMES:
    read_names(L, index, arg);
    break;
  case PARAM_FLAG:
    read_flag(L, index, p->name, arg);
    break;
  case PARAM_CHOICE:
    read_choice(L, index, p, arg);
    break;
  case PARAM_DTYPE:
    set_integer(arg, args_dtype(L, index, p->name));
    break;
  case PARAM_DEVICE:
    arg->kind = ARG_DEVICE;
    arg->device = args_device(L, index, p->name);
    break;
  case PARAM_GENERATOR:
    arg->kind = ARG_GENERATOR;
    arg->generator = args_generator(L, index, p->name);
    break;
  }
}

/* ---- options ---- */

/* A table that has keys but no entries from 1 on. */
static bool is_options(lua_State *L, int index) {
  if (!lua_istable(L, index) || lua_rawlen(L, index) > 0) return false;
  lua_pushnil(L);
  if (lua_next(L, index) == 0) return false;
  lua_pop(L, 2);
  return true;
}

static int find_option(const OpRow *row, const char *name) {
  for (int k = 0; k < row->params; k++)
    if (row->param[k].need == OPTION && strcmp(row->param[k].name, name) == 0)
      return k;
  return -1;
}

static int unknown_option(lua_State *L, const char *word, const char *near) {
  if (near == NULL)
    return border_error(L, E_OPTION, NULL, "unknown option %s", word);
  return border_error(L, E_OPTION, NULL, "unknown option %s; did you mean %s?",
                      word, near);
}

static void check_row_option(lua_State *L, const OpRow *row) {
  if (lua_type(L, -2) != LUA_TSTRING) {
    border_error(L, E_OPTION, NULL, "an option has %s for a name",
                 border_describe(L, -2));
    return;
  }
  const char *word = lua_tostring(L, -2), *near = NULL;
  if (find_option(row, word) >= 0) return;
  int best = INT32_MAX;
  for (int k = 0; k < row->params; k++)
    if (row->param[k].need == OPTION &&
        border_nearer(word, row->param[k].name, &best))
      near = row->param[k].name;
  unknown_option(L, word, near);
}

/* Options of the table at `index`; with `beside`, its entries from 1 on are
 * sizes and were read before. */
static void read_options(lua_State *L, int index, bool beside, const OpRow *row,
                         Args *a) {
  for (int k = 0; k < row->params; k++) {
    if (row->param[k].kind != PARAM_NAMES) continue;
    read_names(L, index, &a->at[k]);
    return;
  }
  lua_pushnil(L);
  while (lua_next(L, index) != 0) {
    if (!beside || !lua_isinteger(L, -2)) check_row_option(L, row);
    lua_pop(L, 1);
  }
  for (int k = 0; k < row->params; k++) {
    const Param *p = &row->param[k];
    if (p->need != OPTION) continue;
    lua_pushstring(L, p->name);
    if (lua_rawget(L, index) == LUA_TNIL) {
      lua_pop(L, 1);
      continue;
    }
    /* what a value lends (a tensor, a generator) stays on the stack */
    read_value(L, lua_gettop(L), row, p, &a->at[k]);
  }
}

/* ---- all of them ---- */

/* Where the reading stands. */
typedef struct Reader {
  const OpRow *row;
  Args *a;
  int next;    /* the argument to be read */
  int top;     /* the last one */
  int options; /* place of the table of options; 0: none */
  bool beside; /* it holds sizes, too */
} Reader;

static bool takes_row(const Param *p) {
  return p->kind == PARAM_SHAPE || p->kind == PARAM_DIMS;
}

/* Sizes: numbers in a row, or a table, in which options may stand as well. */
static void read_shape(lua_State *L, Reader *r, const Param *p, Arg *arg) {
  if (lua_type(L, r->next) == LUA_TNUMBER) {
    r->next += read_row(L, r->next, p->kind == PARAM_DIMS, p->name, arg);
    return;
  }
  if (r->next == r->top && p->kind == PARAM_SHAPE && lua_istable(L, r->next)) {
    r->options = r->top;
    r->beside = true;
  }
  read_value(L, r->next++, r->row, p, arg);
}

static void read_rowed_list(lua_State *L, Reader *r, const Param *p, Arg *arg) {
  if (lua_istable(L, r->next)) {
    read_value(L, r->next++, r->row, p, arg);
    return;
  }
  int n = 0;
  while (r->next + n <= r->top && border_handle(L, r->next + n) != NULL) n++;
  if (n == 0)
    border_error(L, E_TYPE, NULL, "%A is %s; a table of tensors is due",
                 p->name, border_describe(L, r->next));
  read_list(L, r->next, n, false, p->name, arg);
  r->next += n;
}

/* full, full_like: true and false make tensors of bool. */
static bool read_fill_boolean(lua_State *L, Reader *r, const Param *p,
                              Arg *arg) {
  const int k = find_option(r->row, "dtype");
  if (p->kind != PARAM_NUMBER || k < 0 || !lua_isboolean(L, r->next) ||
      r->row->kind != KIND_CREATE)
    return false;
  set_integer(arg, lua_toboolean(L, r->next));
  set_integer(&r->a->at[k], DTYPE_BOOL);
  return true;
}

static void missing_param(lua_State *L, const Reader *r, const Param *p,
                          Arg *arg) {
  const bool is_last = r->next > r->top || r->next == r->options;
  if (p->need == MAY_LACK || (p->kind == PARAM_SHAPE && is_last)) {
    arg->kind = p->need == MAY_LACK ? ARG_NONE : ARG_SIZES;
    arg->count = 0;
    return;
  }
  border_error(L, E_TYPE, NULL, "%A is missing", p->name);
}

static void read_param(lua_State *L, Reader *r, int k) {
  const Param *p = &r->row->param[k];
  Arg *arg = &r->a->at[k];
  const bool is_given = r->next <= r->top && r->next != r->options;
  if (!is_given || lua_isnil(L, r->next)) {
    missing_param(L, r, p, arg);
    if (is_given) r->next++;
  } else if (takes_row(p)) {
    read_shape(L, r, p, arg);
  } else if (p->kind == PARAM_LIST) {
    read_rowed_list(L, r, p, arg);
  } else if (read_fill_boolean(L, r, p, arg)) {
    r->next++;
  } else {
    read_value(L, r->next++, r->row, p, arg);
  }
}

/* How many arguments may be given, options apart. */
static int positional(const OpRow *row) {
  int n = 0;
  for (int k = 0; k < row->params; k++) n += row->param[k].need != OPTION;
  return n;
}

/* The first flag among the options, for who writes it in the row. */
static const char *first_flag(const OpRow *row) {
  for (int k = 0; k < row->params; k++)
    if (row->param[k].kind == PARAM_FLAG) return row->param[k].name;
  return NULL;
}

static void too_many(lua_State *L, const Reader *r) {
  const char *flag =
      lua_isboolean(L, r->next) ? first_flag(r->row) : NULL;
  border_error(L, E_TOO_MANY, NULL,
               "argument %d is %s; at most %d are taken%s%s%s", r->next,
               border_describe(L, r->next), positional(r->row),
               flag != NULL ? "; options are a table, {" : "",
               flag != NULL ? flag : "", flag != NULL ? "=true}" : "");
}

static void read_rest(lua_State *L, Reader *r) {
  if (r->next == r->top && r->options == 0) {
    const int k = find_option(r->row, "dtype");
    if (lua_type(L, r->top) == LUA_TSTRING && k >= 0) {
      set_integer(&r->a->at[k], args_dtype(L, r->top, "dtype"));
      r->next++;
    } else if (lua_istable(L, r->top) && lua_rawlen(L, r->top) == 0) {
      r->options = r->top; /* an empty table is a table of no options */
    }
  }
  while (r->next <= r->top && lua_isnil(L, r->next)) r->next++;
  if (r->next <= r->top && r->next != r->options) too_many(L, r);
}

void args_read(lua_State *L, OpId op, Args *a) {
  const OpRow *row = &op_rows[op];
  Reader r = {row, a, 1, lua_gettop(L), 0, false};
  luaL_checkstack(L, 2 * MAX_PARAMS + LUA_MINSTACK, "too many arguments");
  for (int k = 0; k < row->params; k++) a->at[k].kind = ARG_NONE;
  if (r.top > 0 && is_options(L, r.top)) r.options = r.top;
  for (int k = 0; k < row->params; k++)
    if (row->param[k].need != OPTION) read_param(L, &r, k);
  read_rest(L, &r);
  if (r.options != 0) read_options(L, r.options, r.beside, row, a);
}

/* ---- functions that are no rows ---- */

void args_options(lua_State *L, int index, const char *const *known) {
  if (lua_isnoneornil(L, index)) return;
  if (!lua_istable(L, index)) {
    border_error(L, E_TYPE, NULL, "%A is %s; a table of options is due",
                 "options", border_describe(L, index));
    return;
  }
  index = lua_absindex(L, index);
  lua_pushnil(L);
  while (lua_next(L, index) != 0) {
    const bool is_text = lua_type(L, -2) == LUA_TSTRING;
    const char *word = is_text ? lua_tostring(L, -2) : border_describe(L, -2);
    const char *const *k = known;
    while (*k != NULL && strcmp(*k, word) != 0) k++;
    if (*k == NULL)
      unknown_option(L, word, is_text ? border_nearest(word, known) : NULL);
    lua_pop(L, 1);
  }
}

int args_push_option(lua_State *L, int index, const char *name) {
  if (lua_istable(L, index)) return lua_getfield(L, index, name);
  lua_pushnil(L);
  return LUA_TNIL;
}

bool args_flag(lua_State *L, int index, const char *name, bool missing) {
  Arg arg;
  if (args_push_option(L, index, name) == LUA_TNIL)
    set_integer(&arg, missing);
  else
    read_flag(L, -1, name, &arg);
  lua_pop(L, 1);
  return arg.integer != 0;
}

void args_at_most(lua_State *L, int most) {
  if (lua_gettop(L) > most)
    border_error(L, E_TOO_MANY, NULL,
                 "%d arguments given; at most %d are taken", lua_gettop(L),
                 most);
}
