/* tensor.c: fields of a tensor, its facts, conversions and pieces.
 *
 * Must not know: brackets, derivatives.
 */
#include <float.h>
#include <string.h>

#include "border/args.h"
#include "border/sizes.h"
#include "border/text.h"

/* Its address is a key of the registry. */
static const char names_key = 0;

/* ---- arguments ---- */

/* An axis of x, from 0, by the argument at `at`; `missing` when there is none
 * (-1: it must be there). */
static int read_dim(lua_State *L, int at, const Tensor *x, int missing) {
  const int rank = x->shape.rank;
  if (lua_isnoneornil(L, at) && missing >= 0 && missing < rank) return missing;
  if (rank == 0)
    border_error(L, E_RANK, NULL, "%A has rank 0 and no dim", "self");
  const int64_t d = args_whole(L, at, "dim");
  if (d == 0)
    border_error(L, E_DIM, NULL, "%A is 0: dims are 1..%d or -1..%d", "dim",
                 rank, -rank);
  if (d > rank || d < -rank)
    border_error(L, E_DIM, NULL, "%A %I of self %S: dims are 1..%d or -1..%d",
                 "dim", d, SHAPE_ARG(&x->shape), rank, -rank);
  return (int)(d > 0 ? d - 1 : d + rank);
}

/* ---- fields ---- */

/* Run a row of x and two dims. */
static int push_transposed(lua_State *L, int dim1, int dim2) {
  Context *c = border_context(L);
  Handle *h = border_push(L);
  Tensor *x = border_check(L, 1, "self");
  border_enter(L);
  const Status s = op_transpose(c, x, dim1, dim2, &h->tensor);
  border_leave(L);
  if (s != OK) return border_raise(L, c, s);
  border_charge(L, h);
  return 1;
}

static int field_T(lua_State *L, const Tensor *x) {
  if (x->shape.rank != 2)
    return border_error(L, E_RANK, NULL,
                        "%A %S must have rank 2; see x.mT and x:permute(...)",
                        "self", SHAPE_ARG(&x->shape));
  return push_transposed(L, 0, 1);
}

static int field_mT(lua_State *L, const Tensor *x) {
  if (x->shape.rank < 2)
    return border_error(L, E_RANK, NULL, "%A %S must have rank 2 or more",
                        "self", SHAPE_ARG(&x->shape));
  return push_transposed(L, -2, -1);
}

static int field_shape(lua_State *L, const Tensor *x) {
  sizes_push(L, &x->shape);
  return 1;
}

static int field_dtype(lua_State *L, const Tensor *x) {
  lua_pushstring(L, dtype_name(x->dtype));
  return 1;
}

static int field_device(lua_State *L, const Tensor *x) {
  lua_pushstring(L, tensor_device(x)->name);
  return 1;
}

static int field_ndim(lua_State *L, const Tensor *x) {
  lua_pushinteger(L, x->shape.rank);
  return 1;
}

/* Push the table handle -> name, its keys held weakly. */
static void push_names(lua_State *L) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &names_key) == LUA_TTABLE) return;
  lua_pop(L, 1);
  lua_createtable(L, 0, 0);
  lua_createtable(L, 0, 1);
  lua_pushliteral(L, "k");
  lua_setfield(L, -2, "__mode");
  lua_setmetatable(L, -2);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &names_key);
}

static int field_name(lua_State *L, const Tensor *x) {
  (void)x;
  push_names(L);
  lua_pushvalue(L, 1);
  lua_rawget(L, -2);
  return 1;
}

static const struct {
  const char *name;
  int (*push)(lua_State *L, const Tensor *x);
} fields[] = {{"shape", field_shape},   {"dtype", field_dtype},
              {"device", field_device}, {"ndim", field_ndim},
              {"T", field_T},           {"mT", field_mT},
              {"name", field_name}};

const char *const border_field_names[] = {
    "shape", "dtype", "device",        "ndim",    "T",       "mT",
    "name",  "grad",  "requires_grad", "is_leaf", "grad_fn", NULL};

int border_field(lua_State *L) {
  const char *name = lua_tostring(L, 2);
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
    if (strcmp(fields[i].name, name) != 0) continue;
    border_begin(L, fields[i].name);
    return fields[i].push(L, border_check(L, 1, "self"));
  }
  return 0;
}

int border_set_field(lua_State *L) {
  if (strcmp(lua_tostring(L, 2), "name") != 0) return 0;
  border_begin(L, "name");
  border_check(L, 1, "self");
  if (!lua_isnoneornil(L, 3) && lua_type(L, 3) != LUA_TSTRING)
    border_error(L, E_TYPE, NULL, "%A is %s; a string or nil is due", "name",
                 border_describe(L, 3));
  push_names(L);
  lua_pushvalue(L, 1);
  lua_pushvalue(L, 3);
  lua_rawset(L, -3);
  return 1;
}

/* ---- facts ---- */

static const Tensor *begin_fact(lua_State *L, const char *op, int most) {
  border_begin(L, op);
  args_at_most(L, most);
  return border_check(L, 1, "self");
}

static int tensor_dim(lua_State *L) {
  lua_pushinteger(L, begin_fact(L, "dim", 1)->shape.rank);
  return 1;
}

static int tensor_numel(lua_State *L) {
  lua_pushinteger(L, begin_fact(L, "numel", 1)->count);
  return 1;
}

static int tensor_nbytes(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)tensor_bytes(begin_fact(L, "nbytes", 1)));
  return 1;
}

static int tensor_element_size(lua_State *L) {
  const Tensor *x = begin_fact(L, "element_size", 1);
  lua_pushinteger(L, (lua_Integer)dtype_bytes(x->dtype));
  return 1;
}

static int tensor_storage_offset(lua_State *L) {
  lua_pushinteger(L, begin_fact(L, "storage_offset", 1)->offset);
  return 1;
}

static int tensor_is_contiguous(lua_State *L) {
  lua_pushboolean(L, begin_fact(L, "is_contiguous", 1)->is_contiguous);
  return 1;
}

static int tensor_is_view(lua_State *L) {
  lua_pushboolean(L, begin_fact(L, "is_view", 1)->is_view);
  return 1;
}

/* One number of `list`, or all of them, as the argument at 2 says. */
static int push_numbers(lua_State *L, const Tensor *x, const int64_t *list) {
  const int rank = x->shape.rank;
  if (!lua_isnoneornil(L, 2)) {
    lua_pushinteger(L, list[read_dim(L, 2, x, -1)]);
    return 1;
  }
  luaL_checkstack(L, MAX_RANK, "too many results");
  for (int i = 0; i < rank; i++) lua_pushinteger(L, list[i]);
  return rank;
}

static int tensor_size(lua_State *L) {
  const Tensor *x = begin_fact(L, "size", 2);
  return push_numbers(L, x, x->shape.size);
}

static int tensor_stride(lua_State *L) {
  const Tensor *x = begin_fact(L, "stride", 2);
  return push_numbers(L, x, x->shape.stride);
}

/* ---- comparisons that give one boolean ---- */

static int tensor_shares(lua_State *L) {
  const Tensor *x = begin_fact(L, "shares", 2);
  lua_pushboolean(L, x->storage == border_check(L, 2, "other")->storage);
  return 1;
}

static int tensor_equal(lua_State *L) {
  Context *c = border_begin(L, "equal");
  args_at_most(L, 2);
  Tensor *x = border_check(L, 1, "self"), *y = border_check(L, 2, "other");
  bool equal = false;
  border_enter(L);
  c->depth++;
  const Status s = op_equal(c, x, y, &equal);
  c->depth--;
  border_leave(L);
  if (s != OK) return border_raise(L, c, s);
  lua_pushboolean(L, equal);
  return 1;
}

/* isclose, with the options read, in one answer; shapes count. */
static Status are_close(Context *c, const Args *a, bool *close) {
  const Tensor *x = a->at[0].tensor, *y = a->at[1].tensor;
  Tensor *each = NULL, *all = NULL;
  uint8_t answer = 0;
  *close = false;
  if (!shape_same(&x->shape, &y->shape)) return OK;
  Status s = op_call(c, OP_isclose, a, &each);
  if (s == OK) s = op_unary(c, OP_all, each, &all);
  if (s == OK) s = tensor_read(c, all, &answer);
  if (s == OK) *close = answer != 0;
  tensor_release(c, each);
  tensor_release(c, all);
  return s;
}

/* x:allclose(y, {rtol=1e-5, atol=1e-8, equal_nan=false}) */
static int tensor_allclose(lua_State *L) {
  Context *c = border_begin(L, "allclose");
  Args a;
  bool close = false;
  args_read(L, OP_isclose, &a);
  a.at[1] = arg_tensor(border_check(L, 2, "other"));
  border_enter(L);
  c->depth++;
  const Status s = are_close(c, &a, &close);
  c->depth--;
  border_leave(L);
  if (s != OK) return border_raise(L, c, s);
  lua_pushboolean(L, close);
  return 1;
}

static int tensor_is_tensor(lua_State *L) {
  lua_pushboolean(L, border_handle(L, 1) != NULL);
  return 1;
}

/* ---- conversions ---- */

/* What is asked of `to`; DTYPE_NONE and NULL: as it is. */
typedef struct Target {
  Dtype dtype;
  Device *device;
  bool copies;
} Target;

/* The tensor at 1 as that; itself, by the same handle, when it is. */
static int push_converted(lua_State *L, Target to) {
  Context *c = border_context(L);
  Args a;
  Handle *h = border_push(L);
  Tensor *x = border_check(L, 1, "self");
  if (to.dtype == DTYPE_NONE) to.dtype = x->dtype;
  if (to.device == NULL) to.device = tensor_device(x);
  const bool is_that = x->dtype == to.dtype && tensor_device(x) == to.device;
  if (is_that && !to.copies) {
    lua_pushvalue(L, 1);
    return 1;
  }
  a.at[0] = arg_tensor(x);
  a.at[1] = arg_integer(to.dtype);
  a.at[2].kind = ARG_DEVICE;
  a.at[2].device = to.device;
  border_enter(L);
  c->depth++;
  const Status s = op_call(c, is_that ? OP_clone : OP_cast, &a, &h->tensor);
  c->depth--;
  border_leave(L);
  if (s != OK) return border_raise(L, c, s);
  border_charge(L, h);
  return 1;
}

/* A dtype's name, a device's name, or a tensor to be like. */
static void read_target(lua_State *L, int at, Target *to) {
  if (lua_type(L, at) != LUA_TSTRING) {
    const Tensor *like = border_check(L, at, "target");
    to->dtype = like->dtype;
    to->device = tensor_device(like);
    return;
  }
  const char *name = lua_tostring(L, at);
  if (strncmp(name, "cpu", 3) == 0 || strncmp(name, "cuda", 4) == 0)
    to->device = args_device(L, at, "device");
  else
    to->dtype = args_dtype(L, at, "dtype");
}

static void read_target_options(lua_State *L, int at, Target *to) {
  static const char *const known[] = {"dtype", "device", "copy", NULL};
  args_options(L, at, known);
  if (args_push_option(L, at, "dtype") != LUA_TNIL)
    to->dtype = args_dtype(L, lua_gettop(L), "dtype");
  if (args_push_option(L, at, "device") != LUA_TNIL)
    to->device = args_device(L, lua_gettop(L), "device");
  to->copies = args_flag(L, at, "copy", false);
}

/* x:to(dtype | device | tensor, .., {copy=true}) */
static int tensor_to(lua_State *L) {
  border_begin(L, "to");
  Target to = {DTYPE_NONE, NULL, false};
  const int top = lua_gettop(L);
  args_at_most(L, 4);
  border_check(L, 1, "self");
  if (top < 2)
    return border_error(L, E_TYPE, NULL,
                        "a dtype, a device or a tensor is due");
  for (int i = 2; i <= top; i++) {
    if (i == top && lua_istable(L, i))
      read_target_options(L, i, &to);
    else
      read_target(L, i, &to);
  }
  return push_converted(L, to);
}

#define TO_DTYPE(name, DTYPE)                       \
  static int tensor_##name(lua_State *L) {          \
    const Target to = {DTYPE_##DTYPE, NULL, false}; \
    border_begin(L, #name);                         \
    args_at_most(L, 1);                             \
    return push_converted(L, to);                   \
  }
TO_DTYPE(float, F32)
TO_DTYPE(double, F64)
TO_DTYPE(half, F16)
TO_DTYPE(bfloat16, BF16)
TO_DTYPE(long, I64)
TO_DTYPE(int, I32)
TO_DTYPE(short, I16)
TO_DTYPE(byte, U8)
TO_DTYPE(bool, BOOL)
#undef TO_DTYPE

static int tensor_cpu(lua_State *L) {
  Context *c = border_begin(L, "cpu");
  const Target to = {DTYPE_NONE, &c->host, false};
  args_at_most(L, 1);
  return push_converted(L, to);
}

/* x:cuda([k]): the number in the name "cuda:k". */
static int tensor_cuda(lua_State *L) {
  border_begin(L, "cuda");
  Target to = {DTYPE_NONE, NULL, false};
  args_at_most(L, 2);
  if (lua_isnoneornil(L, 2))
    lua_pushliteral(L, "cuda");
  else
    lua_pushfstring(L, "cuda:%I", (LUAI_UACINT)args_whole(L, 2, "device"));
  to.device = args_device(L, lua_gettop(L), "device");
  return push_converted(L, to);
}

/* As x:to(y). */
static int tensor_type_as(lua_State *L) {
  border_begin(L, "type_as");
  Target to = {DTYPE_NONE, NULL, false};
  args_at_most(L, 2);
  const Tensor *like = border_check(L, 2, "other");
  to.dtype = like->dtype;
  to.device = tensor_device(like);
  return push_converted(L, to);
}

/* ---- the sizes of another tensor ---- */

static int push_sized_as(lua_State *L, const char *name, OpId op) {
  Context *c = border_begin(L, name);
  Args a;
  args_at_most(L, 2);
  Handle *h = border_push(L);
  const Tensor *like = border_check(L, 2, "other");
  a.at[0] = arg_tensor(border_check(L, 1, "self"));
  a.at[1] = arg_sizes(like->shape.rank, like->shape.size);
  const Status s = border_call(L, op, &a, &h->tensor);
  if (s != OK) return border_raise(L, c, s);
  border_charge(L, h);
  return 1;
}

static int tensor_view_as(lua_State *L) {
  return push_sized_as(L, "view_as", OP_view);
}

static int tensor_reshape_as(lua_State *L) {
  return push_sized_as(L, "reshape_as", OP_reshape);
}

/* x:new_zeros(sizes, options): a row of create.def with the dtype and device
 * of x; the options of the row begin at param `dtype`. */
static int push_new(lua_State *L, const char *name, OpId op, int dtype) {
  Context *c = border_begin(L, name);
  Args a;
  const Tensor *x = border_check(L, 1, "self");
  const Dtype own = x->dtype;
  Device *device = tensor_device(x);
  lua_remove(L, 1);
  args_read(L, op, &a);
  if (a.at[dtype].kind == ARG_NONE) a.at[dtype] = arg_integer(own);
  if (a.at[dtype + 1].kind == ARG_NONE) {
    a.at[dtype + 1].kind = ARG_DEVICE;
    a.at[dtype + 1].device = device;
  }
  const Arg *grad = &a.at[dtype + 2];
  Handle *h = border_push(L);
  Status s = border_call(L, op, &a, &h->tensor);
  if (s == OK && grad->kind == ARG_INTEGER && grad->integer != 0)
    s = grad_require(c, h->tensor, true);
  if (s != OK) return border_raise(L, c, s);
  border_charge(L, h);
  return 1;
}

static int tensor_new_zeros(lua_State *L) {
  return push_new(L, "new_zeros", OP_zeros, 1);
}

static int tensor_new_ones(lua_State *L) {
  return push_new(L, "new_ones", OP_ones, 1);
}

static int tensor_new_empty(lua_State *L) {
  return push_new(L, "new_empty", OP_empty, 1);
}

static int tensor_new_full(lua_State *L) {
  return push_new(L, "new_full", OP_full, 2);
}

/* ---- limits of dtypes ---- */

static void set_integer(lua_State *L, const char *name, int64_t value) {
  lua_pushinteger(L, value);
  lua_setfield(L, -2, name);
}

static void set_number(lua_State *L, const char *name, double value) {
  lua_pushnumber(L, value);
  lua_setfield(L, -2, name);
}

/* eps: the step above 1; tiny: the least normal number; IEEE 754-2019, table
 * 3.5, and bfloat16. */
static int tensor_finfo(lua_State *L) {
  static const struct {
    Dtype dtype;
    double eps, tiny, max;
  } limits[] = {{DTYPE_F16, 0x1p-10, 0x1p-14, 65504},
                {DTYPE_BF16, 0x1p-7, 0x1p-126, 0x1.fep127},
                {DTYPE_F32, FLT_EPSILON, FLT_MIN, FLT_MAX},
                {DTYPE_F64, DBL_EPSILON, DBL_MIN, DBL_MAX}};
  border_begin(L, "finfo");
  const Dtype d = args_dtype(L, 1, "dtype");
  for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
    if (limits[i].dtype != d) continue;
    lua_newtable(L);
    set_number(L, "eps", limits[i].eps);
    set_number(L, "tiny", limits[i].tiny);
    set_number(L, "max", limits[i].max);
    set_number(L, "min", -limits[i].max);
    set_integer(L, "bits", (int64_t)dtype_bytes(d) * 8);
    return 1;
  }
  return border_error(L, E_DTYPE, NULL, "%A %s is no float; see ts.iinfo",
                      "dtype", dtype_name(d));
}

static int tensor_iinfo(lua_State *L) {
  border_begin(L, "iinfo");
  const Dtype d = args_dtype(L, 1, "dtype");
  if (dtype_class(d) != CLASS_INTEGER)
    return border_error(L, E_DTYPE, NULL, "%A %s is no integer; see ts.finfo",
                        "dtype", dtype_name(d));
  lua_newtable(L);
  set_integer(L, "min", dtype_least(d));
  set_integer(L, "max", dtype_greatest(d));
  set_integer(L, "bits", (int64_t)dtype_bytes(d) * 8);
  return 1;
}

/* ---- lists ---- */

const luaL_Reg border_tensor_functions[] = {
    {"is_tensor", tensor_is_tensor},
    {"equal", tensor_equal},
    {"allclose", tensor_allclose},
    {"finfo", tensor_finfo},
    {"iinfo", tensor_iinfo},
    {"set_printoptions", text_set_options},
    {"get_printoptions", text_get_options},
    {NULL, NULL}};

const luaL_Reg border_tensor_methods[] = {
    {"dim", tensor_dim},
    {"numel", tensor_numel},
    {"nbytes", tensor_nbytes},
    {"element_size", tensor_element_size},
    {"storage_offset", tensor_storage_offset},
    {"is_contiguous", tensor_is_contiguous},
    {"is_view", tensor_is_view},
    {"size", tensor_size},
    {"stride", tensor_stride},
    {"shares", tensor_shares},
    {"equal", tensor_equal},
    {"allclose", tensor_allclose},
    {"to", tensor_to},
    {"float", tensor_float},
    {"double", tensor_double},
    {"half", tensor_half},
    {"bfloat16", tensor_bfloat16},
    {"long", tensor_long},
    {"int", tensor_int},
    {"short", tensor_short},
    {"byte", tensor_byte},
    {"bool", tensor_bool},
    {"cpu", tensor_cpu},
    {"cuda", tensor_cuda},
    {"type_as", tensor_type_as},
    {"view_as", tensor_view_as},
    {"reshape_as", tensor_reshape_as},
    {"new_zeros", tensor_new_zeros},
    {"new_ones", tensor_new_ones},
    {"new_empty", tensor_new_empty},
    {"new_full", tensor_new_full},
    {"repr", text_repr},
    {NULL, NULL}};
