/* table.c: see table.h; and ts.tensor, ts.idx, x:tolist and their kin.
 *
 *   {{1, 2, 3}, {4, 5, 6}}    sizes (2, 3): the first elements give them;
 *    every row is held against them; a leaf is named by its path: [2][3]
 *
 * Always: no metamethod is called; a table that changes between the walks (a
 * finaliser may run) costs values, never memory.
 * Must not know: indexing, how tensors are printed.
 */
#include "border/table.h"

#include <stdio.h>
#include <string.h>

#include "border/args.h"
#include "value/half.h"

enum {
  PATH_TEXT = MAX_RANK * 24 + 1, /* "[9223372036854775807]", per axis */
  EXACT_F32 = 1 << 24            /* greater integers are rounded by f32 */
};

/* ---- options ---- */

/* The options at `arg`: a table, the name of a dtype, or nothing. */
static Make read_options(lua_State *L, int arg) {
  static const char *const known[] = {"dtype", "device", "requires_grad", NULL};
  Make m = {DTYPE_NONE, NULL, false, false, false};
  if (lua_type(L, arg) == LUA_TSTRING) {
    m.dtype = args_dtype(L, arg, "dtype");
    return m;
  }
  args_options(L, arg, known);
  const int top = lua_gettop(L);
  if (args_push_option(L, arg, "dtype") != LUA_TNIL)
    m.dtype = args_dtype(L, top + 1, "dtype");
  if (args_push_option(L, arg, "device") != LUA_TNIL)
    m.device = args_device(L, top + 2, "device");
  m.says_grad = args_push_option(L, arg, "requires_grad") != LUA_TNIL;
  m.requires_grad = args_flag(L, arg, "requires_grad", false);
  lua_settop(L, top);
  return m;
}

/* ---- walking a nested table ---- */

typedef enum LeafKind {
  LEAF_NONE, /* there are no leaves */
  LEAF_NUMBER,
  LEAF_BOOLEAN,
  LEAF_TENSOR
} LeafKind;

/* What a value is as a tensor.  dtype: of the result; of a stack when asked
 * for, else DTYPE_NONE. */
typedef struct Form {
  LeafKind kind;
  Dtype dtype;
  bool is_asked;  /* the dtype was given: convert and round */
  bool is_strict; /* numbers and booleans do not mix */
  Shape shape;    /* rank 0: a lone number or boolean */
} Form;

/* The tables from the outermost to the current one lie on the stack.
 * at[i] == number, from 1, of the element taken from table i; 0: none yet */
typedef struct Walk {
  lua_State *L;
  const Form *form;
  int depth;   /* of the table on top; -1: the walk is over */
  bool raises; /* rows that do not fit raise, else they are left out */
  int64_t at[MAX_RANK];
} Walk;

/* "[2][3]" */
static const char *path_text(const Walk *w, char text[PATH_TEXT]) {
  size_t n = 0;
  text[0] = '\0';
  for (int i = 0; i <= w->depth && i < w->form->shape.rank; i++)
    n += (size_t)snprintf(text + n, PATH_TEXT - n, "[%lld]",
                          (long long)w->at[i]);
  return text;
}

/* Raises for what is no row of `size` elements; path: of the row. */
static void check_row(const Walk *w, int64_t size) {
  char text[PATH_TEXT];
  lua_State *L = w->L;
  const int top = lua_gettop(L);
  if (!lua_istable(L, top))
    border_error(L, E_TYPE, NULL,
                 "element %s is %s, where a table of %I is due",
                 path_text(w, text), border_describe(L, top), size);
  const int64_t length = (int64_t)lua_rawlen(L, top);
  if (length != size)
    border_error(L, E_SHAPE, NULL,
                 "ragged rows: element %s has size %I, the first one %I",
                 path_text(w, text), length, size);
}

/* The key below the top is no position. */
static void raise_key(Walk *w) {
  char text[PATH_TEXT];
  lua_State *L = w->L;
  w->depth--; /* the path of the table itself */
  const char *path = path_text(w, text);
  lua_pushvalue(L, -2); /* lua_next may not see it converted */
  border_error(L, E_TYPE, NULL,
               "%s%s has the key %s beside its elements from 1 on",
               path[0] == '\0' ? "the table" : "element ", path,
               luaL_tolstring(L, -1, NULL));
}

/* Raise unless the keys of the table on top, at the walk's depth, are 1 to n:
 * a hole or a name among them would get lost. */
static void check_keys(Walk *w, int64_t n) {
  char text[PATH_TEXT];
  lua_State *L = w->L;
  int64_t keys = 0;
  lua_pushnil(L);
  for (; lua_next(L, -2) != 0; lua_pop(L, 1)) {
    if (!lua_isinteger(L, -2)) raise_key(w);
    if (++keys <= n) continue;
    w->at[w->depth] = n + 1;
    border_error(L, E_TYPE, NULL, "element %s is nil", path_text(w, text));
  }
}

/* The table on top is one of the walk from now on. */
static void walk_enter(Walk *w) {
  w->at[++w->depth] = 0;
  if (w->raises) check_keys(w, w->form->shape.size[w->depth]);
}

static Walk walk_open(lua_State *L, int arg, const Form *form, bool raises) {
  Walk w = {L, form, -1, raises, {0}};
  lua_pushvalue(L, arg);
  walk_enter(&w);
  return w;
}

/* Push the next leaf; false, with nothing pushed, after the last. */
static bool walk_next(Walk *w) {
  const Shape *s = &w->form->shape;
  while (w->depth >= 0) {
    int64_t *at = &w->at[w->depth];
    if (*at == s->size[w->depth]) {
      lua_pop(w->L, 1);
      w->depth--;
      continue;
    }
    lua_rawgeti(w->L, -1, ++*at);
    if (w->depth == s->rank - 1) return true;
    const int64_t size = s->size[w->depth + 1];
    if (w->raises) check_row(w, size);
    if (!lua_istable(w->L, -1)) {
      lua_pop(w->L, 1);
      continue;
    }
    walk_enter(w);
  }
  return false;
}

/* ---- the first walk: measure and check ---- */

/* The sizes, by the first element of every level. */
static void measure(lua_State *L, int arg, Form *f) {
  const int top = lua_gettop(L);
  f->shape.rank = 0;
  lua_pushvalue(L, arg);
  while (lua_istable(L, -1)) {
    if (f->shape.rank == MAX_RANK)
      border_error(L, E_RANK, NULL,
                   "tables are nested more than %d deep (or contain "
                   "themselves)",
                   (int)MAX_RANK);
    const int64_t n = (int64_t)lua_rawlen(L, -1);
    f->shape.size[f->shape.rank++] = n;
    if (n == 0) break;
    lua_rawgeti(L, -1, 1);
  }
  lua_settop(L, top);
  if (!shape_fits(&f->shape, sizeof(double)))
    border_error(L, E_SIZE, NULL, "%S is too large", SHAPE_ARG(&f->shape));
  shape_contiguous(&f->shape);
}

static LeafKind leaf_kind(lua_State *L, int arg) {
  switch (lua_type(L, arg)) {
  case LUA_TNUMBER:
    return LEAF_NUMBER;
  case LUA_TBOOLEAN:
    return LEAF_BOOLEAN;
  case LUA_TUSERDATA:
    return border_handle(L, arg) != NULL ? LEAF_TENSOR : LEAF_NONE;
  default:
    return LEAF_NONE;
  }
}

static const char *kind_text(LeafKind kind) {
  switch (kind) {
  case LEAF_NUMBER:
    return "a number";
  case LEAF_BOOLEAN:
    return "a boolean";
  case LEAF_TENSOR:
    return "a tensor";
  case LEAF_NONE:
    break;
  }
  return "nothing";
}

/* Fix kind and dtype by the first leaf; false where a strict conversion does
 * not take it. */
static bool decide(Form *f, LeafKind kind, const Context *c) {
  f->kind = kind;
  if (kind == LEAF_TENSOR) return true;
  if (f->is_strict && (kind == LEAF_BOOLEAN) != (f->dtype == DTYPE_BOOL))
    return false;
  if (f->is_asked) return true;
  f->dtype = kind == LEAF_BOOLEAN ? DTYPE_BOOL : c->default_dtype;
  return true;
}

/* A number that the dtype cannot hold (API.md, section 2). */
static void check_number(const Walk *w, int arg) {
  char text[PATH_TEXT];
  lua_State *L = w->L;
  const Form *f = w->form;
  const Dtype d = f->dtype;
  if (d == DTYPE_BOOL) return;
  const char *path = path_text(w, text);
  const char *element = path[0] == '\0' ? "the number" : "element ";
  int is_whole;
  const int64_t n = lua_tointegerx(L, arg, &is_whole);
  if (dtype_class(d) == CLASS_FLOAT) {
    if (f->is_asked || d != DTYPE_F32 || !lua_isinteger(L, arg)) return;
    if (n >= -EXACT_F32 && n <= EXACT_F32) return;
    border_error(L, E_RANGE, NULL,
                 "%s%s is %I, which f32 would round; give a dtype", element,
                 path, n);
  }
  if (is_whole && n >= dtype_least(d) && n <= dtype_greatest(d)) return;
  if (is_whole)
    border_error(L, E_RANGE, NULL,
                 "%s%s is %I, which does not fit in %s "
                 "(%I..%I)",
                 element, path, n, dtype_name(d), dtype_least(d),
                 dtype_greatest(d));
  border_error(L, E_RANGE, NULL, "%s%s is %g, which does not fit in %s",
               element, path, lua_tonumber(L, arg), dtype_name(d));
}

static void check_scalar_tensor(const Walk *w, int arg) {
  char text[PATH_TEXT];
  const Tensor *t = border_check(w->L, arg, "element");
  if (t->shape.rank == 0) return;
  border_error(w->L, E_SHAPE, NULL,
               "element %s is a tensor of shape %S; inside tables they have "
               "rank 0: use ts.stack or ts.cat",
               path_text(w, text), SHAPE_ARG(&t->shape));
}

/* The leaf on top of the stack. */
static void check_leaf(const Walk *w, Form *f) {
  char text[PATH_TEXT];
  lua_State *L = w->L;
  const int top = lua_gettop(L);
  const LeafKind kind = leaf_kind(L, top);
  if (kind == LEAF_NONE)
    border_error(L, E_TYPE, NULL, "element %s is %s", path_text(w, text),
                 lua_isnil(L, top) ? "nil" : border_describe(L, top));
  if (f->kind == LEAF_NONE && !decide(f, kind, border_context(L)))
    border_error(L, E_DTYPE, NULL, "element %s is %s and self is %s",
                 path_text(w, text), kind_text(kind), dtype_name(f->dtype));
  if (kind != f->kind)
    border_error(L, E_TYPE, NULL, "element %s is %s, the first one %s",
                 path_text(w, text), kind_text(kind), kind_text(f->kind));
  if (kind == LEAF_NUMBER) check_number(w, top);
  if (kind == LEAF_TENSOR) check_scalar_tensor(w, top);
}

/* Hold every table against the sizes, every leaf against the first. */
static void check_table(lua_State *L, int arg, Form *f) {
  Walk w = walk_open(L, arg, f, true);
  while (walk_next(&w)) {
    check_leaf(&w, f);
    lua_pop(L, 1);
  }
}

/* What the value at `arg` is; raises where it is nothing. */
static Form form_of(lua_State *L, int arg, const Make *m) {
  Form f = {LEAF_NONE, m->dtype, m->dtype != DTYPE_NONE, m->is_strict, {0}};
  luaL_checkstack(L, MAX_RANK + 4, "too many nested calls");
  if (lua_istable(L, arg)) {
    measure(L, arg, &f);
    check_table(L, arg, &f);
  } else {
    const Walk w = {L, &f, -1, true, {0}};
    const LeafKind kind = leaf_kind(L, arg);
    if (kind != LEAF_NUMBER && kind != LEAF_BOOLEAN)
      border_error(L, E_TYPE, NULL,
                   "%A is %s; a number, a boolean, a table or a tensor is due",
                   "value", border_describe(L, arg));
    if (!decide(&f, kind, border_context(L)))
      border_error(L, E_DTYPE, NULL, "%A is %s and self is %s", "value",
                   kind_text(kind), dtype_name(f.dtype));
    if (kind == LEAF_NUMBER) check_number(&w, arg);
  }
  if (f.kind == LEAF_NONE && f.dtype == DTYPE_NONE)
    f.dtype = border_context(L)->default_dtype;
  return f;
}

/* ---- the second walk: fill ---- */

static void store_number(lua_State *L, int arg, Dtype d, char *to) {
  if (d == DTYPE_F64) {
    const double x = lua_tonumber(L, arg);
    memcpy(to, &x, sizeof x);
  } else if (dtype_class(d) == CLASS_FLOAT) {
    const float x = lua_isinteger(L, arg) ? (float)lua_tointeger(L, arg)
                                          : (float)lua_tonumber(L, arg);
    const uint16_t half = d == DTYPE_F16 ? f32_to_f16(x) : f32_to_bf16(x);
    memcpy(to, d == DTYPE_F32 ? (const void *)&x : (const void *)&half,
           dtype_bytes(d));
  } else if (d == DTYPE_BOOL) {
    *to = lua_tonumber(L, arg) != 0;
  } else { /* little-endian and big-endian alike: by value */
    const int64_t n = lua_tointeger(L, arg);
    switch (dtype_bytes(d)) {
    case 1:
      *to = (char)n;
      break;
    case 2:
      memcpy(to, &(int16_t){(int16_t)n}, 2);
      break;
    case 4:
      memcpy(to, &(int32_t){(int32_t)n}, 4);
      break;
    default:
      memcpy(to, &n, 8);
    }
  }
}

static void store_boolean(bool value, Dtype d, char *to) {
  static const uint16_t one_f16 = 0x3c00, one_bf16 = 0x3f80;
  static const float one_f32 = 1;
  static const double one_f64 = 1;
  memset(to, 0, dtype_bytes(d));
  if (!value) return;
  switch (d) {
  case DTYPE_F16:
    memcpy(to, &one_f16, sizeof one_f16);
    break;
  case DTYPE_BF16:
    memcpy(to, &one_bf16, sizeof one_bf16);
    break;
  case DTYPE_F32:
    memcpy(to, &one_f32, sizeof one_f32);
    break;
  case DTYPE_F64:
    memcpy(to, &one_f64, sizeof one_f64);
    break;
  case DTYPE_I16:
    memcpy(to, &(int16_t){1}, sizeof(int16_t));
    break;
  case DTYPE_I32:
    memcpy(to, &(int32_t){1}, sizeof(int32_t));
    break;
  case DTYPE_I64:
    memcpy(to, &(int64_t){1}, sizeof(int64_t));
    break;
  case DTYPE_BOOL:
  case DTYPE_U8:
  case DTYPE_I8:
  case DTYPE_COUNT:
    *to = 1;
  }
}

static void store(lua_State *L, int arg, Dtype d, char *to) {
  if (lua_isboolean(L, arg))
    store_boolean(lua_toboolean(L, arg), d, to);
  else
    store_number(L, arg, d, to);
}

/* Cannot raise: raw reads, on a stack that form_of has made room on. */
static void fill(lua_State *L, int arg, const Form *f, char *data) {
  const size_t bytes = dtype_bytes(f->dtype);
  const char *end = data + (size_t)shape_count(&f->shape) * bytes;
  if (f->shape.rank == 0) {
    store(L, arg, f->dtype, data);
    return;
  }
  Walk w = walk_open(L, arg, f, false);
  for (; walk_next(&w); data += bytes) {
    store(L, -1, f->dtype, data);
    lua_pop(L, 1);
  }
  memset(data, 0, (size_t)(end - data)); /* of rows that went missing */
}

/* ---- both together; these may not raise, and leave *r to the caller ---- */

/* *r becomes itself in the dtype and on the device that were asked for. */
static Status convert(Context *c, const Make *m, Tensor **r) {
  Tensor *from = *r;
  const Dtype d = m->dtype != DTYPE_NONE ? m->dtype : from->dtype;
  Device *device = m->device != NULL ? m->device : tensor_device(from);
  if (d == from->dtype && device == tensor_device(from)) return OK;
  Args a = {0};
  a.at[0] = arg_tensor(from);
  a.at[1] = arg_integer(d);
  a.at[2].kind = ARG_DEVICE;
  a.at[2].device = device;
  *r = NULL;
  const Status s = op_call(c, OP_cast, &a, r);
  tensor_release(c, from);
  return s;
}

static Status require(Context *c, const Make *m, Tensor *t) {
  if (!m->requires_grad || tensor_is_tracked(t)) return OK;
  return grad_require(c, t, true);
}

/* Made on the host, then carried over. */
static Status make_numbers(lua_State *L, Context *c, int arg, const Form *f,
                           Tensor **r) {
  const Status s = tensor_new(c, &c->host, f->dtype, &f->shape, r);
  if (s == OK) fill(L, arg, f, tensor_data(*r));
  return s;
}

static Status make_stack(Context *c, const Form *f, Tensor *const *list,
                         int64_t count, Tensor **r) {
  Tensor *row = NULL;
  Args a = {0};
  if (count > INT32_MAX) return fail(c, E_SIZE, "%I tensors", count);
  a.at[0].kind = ARG_LIST;
  a.at[0].list = list;
  a.at[0].count = (int)count;
  Status s = op_call(c, OP_stack, &a, &row);
  if (s != OK) return s;
  if (f->shape.rank == 1) {
    *r = row;
    return OK;
  }
  s = op_reshape(c, row, f->shape.rank, f->shape.size, r);
  if (s == OK) (*r)->is_view = false; /* nobody else has its storage */
  tensor_release(c, row);
  return s;
}

/* The leaves as a list, in a userdata that is pushed; each is shared, so that
 * no finaliser takes it away.  *count: how many there are. */
static Tensor **gather(lua_State *L, int arg, const Form *f, int64_t *count) {
  const int64_t room = shape_count(&f->shape);
  Tensor **list = lua_newuserdatauv(L, (size_t)room * sizeof *list, 0);
  Walk w = walk_open(L, arg, f, false);
  *count = 0;
  for (; walk_next(&w); lua_pop(L, 1)) {
    Tensor *t = border_test(L, lua_gettop(L));
    if (t != NULL && t->shape.rank == 0) list[(*count)++] = tensor_share(t);
  }
  return list;
}

static Status build(lua_State *L, int arg, const Form *f, const Make *m,
                    Tensor **r) {
  Context *c = border_context(L);
  int64_t count = 0;
  Tensor **list = NULL;
  Status s;
  if (f->kind == LEAF_TENSOR) list = gather(L, arg, f, &count);
  border_enter(L);
  if (f->kind == LEAF_TENSOR)
    s = make_stack(c, f, list, count, r);
  else
    s = make_numbers(L, c, arg, f, r);
  if (s == OK) s = convert(c, m, r);
  if (s == OK) s = require(c, m, *r);
  for (int64_t i = 0; i < count; i++) tensor_release(c, list[i]);
  border_leave(L);
  return s;
}

/* A copy of a tensor.  It keeps its history, unless the options say whether
 * it requires grad: then it starts anew. */
static Status copy(lua_State *L, Tensor *x, const Make *m, Tensor **r) {
  Context *c = border_context(L);
  Tensor *from = NULL;
  border_enter(L);
  Status s = op_unary(c, m->says_grad ? OP_detach : OP_clone, x, &from);
  if (s == OK && m->says_grad) {
    Tensor *alias = from;
    s = op_unary(c, OP_clone, alias, &from);
    tensor_release(c, alias);
  }
  *r = from;
  if (s == OK) s = convert(c, m, r);
  if (s == OK) s = require(c, m, *r);
  border_leave(L);
  return s;
}

Handle *table_to_tensor(lua_State *L, int arg, const Make *m) {
  Context *c = border_context(L);
  Handle *h = border_push(L);
  const int top = lua_gettop(L);
  Make own = *m;
  Status s;
  if (border_handle(L, arg) != NULL) {
    s = copy(L, border_check(L, arg, "value"), m, &h->tensor);
  } else {
    const Form f = form_of(L, arg, m);
    if (own.device == NULL && f.kind != LEAF_TENSOR)
      own.device = c->default_device;
    if (own.is_strict && f.kind == LEAF_TENSOR) own.dtype = DTYPE_NONE;
    s = build(L, arg, &f, &own, &h->tensor);
  }
  lua_settop(L, top);
  if (s != OK) border_raise(L, c, s);
  border_charge(L, h);
  return h;
}

/* ---- functions of ts ---- */

/* ts.tensor(v, opts) */
static int table_tensor(lua_State *L) {
  border_begin(L, "tensor");
  lua_settop(L, 2);
  const Make m = read_options(L, 2);
  table_to_tensor(L, 1, &m);
  return 1;
}

/* ts.idx(v): whole numbers as i64. */
static int table_idx(lua_State *L) {
  border_begin(L, "idx");
  lua_settop(L, 2);
  Make m = read_options(L, 2);
  if (m.dtype != DTYPE_NONE && m.dtype != DTYPE_I64)
    border_error(L, E_DTYPE, NULL, "%A is always i64", "dtype");
  const Tensor *t = border_test(L, 1);
  if (t != NULL && dtype_class(t->dtype) != CLASS_INTEGER)
    border_error(L, E_DTYPE, NULL, "%A is %s; positions are integers", "value",
                 dtype_name(t->dtype));
  m.dtype = DTYPE_I64;
  table_to_tensor(L, 1, &m);
  return 1;
}

/* ---- methods ---- */

/* x:new_tensor(v, opts): dtype and device of x unless given. */
static int table_new_tensor(lua_State *L) {
  border_begin(L, "new_tensor");
  lua_settop(L, 3);
  const Tensor *x = border_check(L, 1, "self");
  Make m = read_options(L, 3);
  if (m.dtype == DTYPE_NONE) m.dtype = x->dtype;
  if (m.device == NULL) m.device = tensor_device(x);
  table_to_tensor(L, 2, &m);
  return 1;
}

/* Push nested tables of `shape` with the elements at `data`. */
static void push_rows(lua_State *L, const Shape *s, const char *data,
                      Dtype dtype) {
  int64_t at[MAX_RANK] = {0};
  int depth = 0;
  lua_createtable(L, (int)min_i64(s->size[0], INT32_MAX), 0);
  for (;;) {
    if (at[depth] == s->size[depth]) { /* full: into the row above */
      if (depth-- == 0) return;
      lua_rawseti(L, -2, at[depth]);
    } else if (depth == s->rank - 1) {
      border_push_element(L, data, dtype);
      lua_rawseti(L, -2, ++at[depth]);
      data += dtype_bytes(dtype);
    } else {
      at[depth++]++;
      at[depth] = 0;
      lua_createtable(L, (int)min_i64(s->size[depth], INT32_MAX), 0);
    }
  }
}

/* x:tolist(): nested tables; a number at rank 0. */
static int table_tolist(lua_State *L) {
  Context *c = border_begin(L, "tolist");
  Tensor *x = border_check(L, 1, "self"), *flat = NULL;
  const Shape shape = x->shape;
  const Dtype dtype = x->dtype;
  luaL_checkstack(L, MAX_RANK + 4, "too many nested calls");
  /* Lua's own memory: tables may raise, and then it goes by itself */
  char *data = lua_newuserdatauv(L, tensor_bytes(x) + 1, 0);
  x = border_check(L, 1, "self"); /* a finaliser may have freed it */
  border_enter(L);
  Status s = tensor_ready(c, x, "self");
  if (s == OK) s = op_contiguous(c, x, &flat);
  if (s == OK) s = tensor_read(c, flat, data);
  tensor_release(c, flat);
  border_leave(L);
  if (s != OK) return border_raise(L, c, s);
  if (shape.rank == 0)
    border_push_element(L, data, dtype);
  else
    push_rows(L, &shape, data, dtype);
  return 1;
}

/* Sizes from the table at `index`. */
static Shape read_shape(lua_State *L, int index) {
  Context *c = border_context(L);
  if (!lua_istable(L, index))
    border_error(L, E_TYPE, NULL, "%A is %s; a table of sizes is due", "shape",
                 border_describe(L, index));
  const int64_t n = (int64_t)lua_rawlen(L, index);
  if (n > MAX_RANK)
    border_error(L, E_RANK, NULL, "%A has %I entries; %d are the most",
                 "shape", n, (int)MAX_RANK);
  Shape s = {.rank = (int)n};
  for (int i = 0; i < s.rank; i++) {
    lua_rawgeti(L, index, i + 1);
    s.size[i] = args_whole(L, -1, "shape");
    lua_pop(L, 1);
  }
  if (!shape_fits(&s, sizeof(double)))
    border_raise(L, c, fail(c, E_SHAPE, "%A %S is no shape", "shape",
                            SHAPE_ARG(&s)));
  shape_contiguous(&s);
  return s;
}

/* Any byte but 0 is true. */
static void fill_bytes(char *to, const char *bytes, size_t count, Dtype d) {
  memcpy(to, bytes, count);
  for (size_t i = 0; i < count && d == DTYPE_BOOL; i++) to[i] = to[i] != 0;
}

/* ts.from_string(s, dtype, shape, opts): the bytes of the elements, the lowest
 * first. */
static int table_from_string(lua_State *L) {
  Context *c = border_begin(L, "from_string");
  size_t length;
  lua_settop(L, 4);
  if (lua_type(L, 1) != LUA_TSTRING)
    border_error(L, E_TYPE, NULL, "%A is %s; a string is due", "bytes",
                 border_describe(L, 1));
  const char *bytes = lua_tolstring(L, 1, &length);
  const Dtype d = args_dtype(L, 2, "dtype");
  const Shape shape = read_shape(L, 3);
  Make m = read_options(L, 4);
  const size_t due = (size_t)shape_count(&shape) * dtype_bytes(d);
  if (due != length)
    border_error(L, E_SIZE, NULL, "%A %S of %s takes %I bytes, and there are %I",
                 "shape", SHAPE_ARG(&shape), dtype_name(d), (int64_t)due,
                 (int64_t)length);
  if (m.dtype == DTYPE_NONE) m.dtype = d;
  if (m.device == NULL) m.device = c->default_device;
  Handle *h = border_push(L);
  border_enter(L);
  Status s = tensor_new(c, &c->host, d, &shape, &h->tensor);
  if (s == OK) {
    fill_bytes(tensor_data(h->tensor), bytes, length, d);
    s = convert(c, &m, &h->tensor);
  }
  if (s == OK) s = require(c, &m, h->tensor);
  border_leave(L);
  if (s != OK) return border_raise(L, c, s);
  border_charge(L, h);
  return 1;
}

const luaL_Reg border_table_functions[] = {{"tensor", table_tensor},
                                           {"idx", table_idx},
                                           {"from_string", table_from_string},
                                           {NULL, NULL}};

const luaL_Reg border_table_methods[] = {
    {"new_tensor", table_new_tensor}, {"tolist", table_tolist}, {NULL, NULL}};
