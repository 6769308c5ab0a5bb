/* device.c: devices by name, defaults, and ts.cuda.
 *
 * Nothing of a device is opened before a script asks for one.
 * Must not know: tensors, ops.
 */
#include "device/device.h"

#include "border/args.h"

/* ts.device("cuda"): "cuda:0", or raises with the reason. */
static int ts_device(lua_State *L) {
  border_begin(L, "device");
  args_at_most(L, 1);
  lua_pushstring(L, args_device(L, 1, "device")->name);
  return 1;
}

static int ts_set_default_device(lua_State *L) {
  Context *c = border_begin(L, "set_default_device");
  args_at_most(L, 1);
  c->default_device = args_device(L, 1, "device");
  return 0;
}

static int ts_get_default_device(lua_State *L) {
  lua_pushstring(L,
                 border_begin(L, "get_default_device")->default_device->name);
  return 1;
}

static int ts_set_default_dtype(lua_State *L) {
  Context *c = border_begin(L, "set_default_dtype");
  args_at_most(L, 1);
  const Dtype d = args_dtype(L, 1, "dtype");
  if (d != DTYPE_F32 && d != DTYPE_F64)
    return border_error(L, E_DTYPE, NULL, "%A is %s; numbers become f32 or f64",
                        "dtype", dtype_name(d));
  c->default_dtype = d;
  return 0;
}

static int ts_get_default_dtype(lua_State *L) {
  lua_pushstring(
      L, dtype_name(border_begin(L, "get_default_dtype")->default_dtype));
  return 1;
}

/* ---- ts.cuda: these tell and never raise ---- */

enum { WHY = 512 };

static int cuda_device_count(lua_State *L) {
  char why[WHY] = "";
  lua_pushinteger(L, device_count_cuda(why, sizeof why));
  return 1;
}

static int cuda_is_available(lua_State *L) {
  char why[WHY] = "";
  lua_pushboolean(L, device_count_cuda(why, sizeof why) > 0);
  return 1;
}

/* Why there is none; nil if there is one. */
static int cuda_why(lua_State *L) {
  char why[WHY] = "";
  if (device_count_cuda(why, sizeof why) > 0)
    lua_pushnil(L);
  else
    lua_pushstring(L, why);
  return 1;
}

/* The device numbered at `index` (0 unless given), opened; raises. */
static Device *check_cuda(lua_State *L, int index) {
  Context *c = border_context(L);
  Device *d = NULL;
  const int64_t k = lua_isnoneornil(L, index) ? 0 : args_whole(L, index, "k");
  const Status s = context_cuda(c, k < 0 || k > MAX_CUDA ? -1 : (int)k, &d);
  if (s != OK) border_raise(L, c, s);
  return d;
}

static int cuda_name(lua_State *L) {
  border_begin(L, "cuda.get_device_name");
  lua_pushstring(L, check_cuda(L, 1)->name);
  return 1;
}

static int cuda_synchronize(lua_State *L) {
  border_begin(L, "cuda.synchronize");
  Device *d = check_cuda(L, 1);
  if (d->backend.wait != NULL) d->backend.wait(&d->backend);
  return 0;
}

static int cuda_memory(lua_State *L) {
  Context *c = border_begin(L, "cuda.memory");
  const Device *d = check_cuda(L, 1);
  lua_createtable(L, 0, 2);
  lua_pushinteger(L, (lua_Integer)c->ledger.device_used);
  lua_setfield(L, -2, "device");
  lua_pushinteger(L, (lua_Integer)d->cache.bytes);
  lua_setfield(L, -2, "cached");
  return 1;
}

static int cuda_empty_cache(lua_State *L) {
  Context *c = border_begin(L, "cuda.empty_cache");
  for (int k = 0; k < MAX_CUDA; k++)
    if (c->cuda[k] != NULL) device_trim(c->cuda[k]);
  return 0;
}

const luaL_Reg border_cuda_functions[] = {{"is_available", cuda_is_available},
                                          {"device_count", cuda_device_count},
                                          {"why", cuda_why},
                                          {"get_device_name", cuda_name},
                                          {"synchronize", cuda_synchronize},
                                          {"memory", cuda_memory},
                                          {"empty_cache", cuda_empty_cache},
                                          {NULL, NULL}};

const luaL_Reg border_device_functions[] = {
    {"device", ts_device},
    {"set_default_device", ts_set_default_device},
    {"get_default_device", ts_get_default_device},
    {"set_default_dtype", ts_set_default_dtype},
    {"get_default_dtype", ts_get_default_dtype},
    {NULL, NULL}};
