/* memory.c: what a state uses, limits, scopes that free, and refused requests.
 *
 * Must not know: ops.
 */
#include <stdlib.h>
#include <string.h>

#include "border/args.h"
#include "border/fault.h"

/* ---- figures ---- */

static void set_bytes(lua_State *L, const char *name, size_t bytes) {
  lua_pushinteger(L, (lua_Integer)(bytes < INT64_MAX ? bytes : INT64_MAX));
  lua_setfield(L, -2, name);
}

static size_t lua_bytes(lua_State *L) {
  return (size_t)lua_gc(L, LUA_GCCOUNT) * 1024 +
         (size_t)lua_gc(L, LUA_GCCOUNTB);
}

static size_t device_cached(const Context *c) {
  size_t bytes = 0;
  for (int k = 0; k < MAX_CUDA; k++)
    if (c->cuda[k] != NULL) bytes += c->cuda[k]->cache.bytes;
  return bytes;
}

/* What tensors hold of the ledger, kept blocks apart. */
static size_t host_bytes(lua_State *L, const Border *b) {
  const Context *c = b->context;
  size_t used = c->ledger.used - c->host.cache.bytes;
  const size_t lua = b->is_ours ? lua_bytes(L) : 0;
  return used > lua ? used - lua : 0;
}

static int ts_memory(lua_State *L) {
  Context *c = border_begin(L, "memory");
  size_t cached = c->host.cache.bytes + device_cached(c);
  size_t device = c->ledger.device_used - device_cached(c);
  if (!lua_isnoneornil(L, 1)) {
    const Device *d = args_device(L, 1, "device");
    cached = d->cache.bytes;
    if (d->is_host) device = 0;
  }
  lua_createtable(L, 0, 7);
  set_bytes(L, "lua", lua_bytes(L));
  set_bytes(L, "host", host_bytes(L, border_of(L)));
  set_bytes(L, "device", device);
  set_bytes(L, "peak", c->ledger.peak);
  set_bytes(L, "cached", cached);
  set_bytes(L, "tensors", (size_t)c->tensors);
  if (c->ledger.quota != SIZE_MAX) set_bytes(L, "limit", c->ledger.quota);
  return 1;
}

static int ts_reset_peak(lua_State *L) {
  Context *c = border_begin(L, "reset_peak");
  c->ledger.peak = c->ledger.used;
  return 0;
}

static int ts_empty_cache(lua_State *L) {
  Context *c = border_begin(L, "empty_cache");
  device_trim(&c->host);
  for (int k = 0; k < MAX_CUDA; k++)
    if (c->cuda[k] != NULL) device_trim(c->cuda[k]);
  return 0;
}

/* ---- limits ---- */

static const char *const limit_names[] = {"host", NULL};

/* ts.limit{host=bytes}: lowers; returns what holds. */
static int ts_limit(lua_State *L) {
  Context *c = border_begin(L, "limit");
  args_at_most(L, 1);
  args_options(L, 1, limit_names);
  if (args_push_option(L, 1, "host") != LUA_TNIL) {
    const int64_t bytes = args_whole(L, -1, "host");
    if (bytes < 0) border_error(L, E_RANGE, NULL, "%A is negative", "host");
    if ((size_t)bytes < c->ledger.used) {
      lua_gc(L, LUA_GCCOLLECT);
      device_trim(&c->host);
    }
    if ((size_t)bytes < c->ledger.used)
      border_error(L, E_RANGE, NULL, "%A is %I bytes, and %I are in use",
                   "host", bytes, (int64_t)c->ledger.used);
    if ((size_t)bytes < c->ledger.quota) c->ledger.quota = (size_t)bytes;
  }
  lua_createtable(L, 0, 1);
  if (c->ledger.quota != SIZE_MAX) set_bytes(L, "host", c->ledger.quota);
  return 1;
}

static int ts_set_num_threads(lua_State *L) {
  Context *c = border_begin(L, "set_num_threads");
  const int64_t n = args_whole(L, 1, "n");
  if (n < 1 || n > POOL_MAX)
    return border_error(L, E_RANGE, NULL, "%A is %I: threads are 1..%d", "n", n,
                        (int)POOL_MAX);
  pool_set_threads(c->pool, (int)n);
  return 0;
}

static int ts_get_num_threads(lua_State *L) {
  lua_pushinteger(L, pool_threads(border_begin(L, "get_num_threads")->pool));
  return 1;
}

/* ---- free ---- */

static int tensor_free(lua_State *L) {
  Context *c = border_begin(L, "free");
  Handle *h = border_handle(L, 1);
  if (h == NULL) {
    border_check(L, 1, "self");
    return 0;
  }
  if (h->tensor == NULL) return 0; /* twice is legal */
  border_enter(L);
  const char *source = NULL;
  int line = 0;
  context_where(c, &source, &line);
  border_leave(L);
  border_free(L, h, source, line);
  return 0;
}

/* ---- scopes: the ring of handles is ordered by age ---- */

/* Frees the tensors made from `start` on, unless they are kept. */
typedef struct Scope {
  uint64_t start;
  bool is_open;
} Scope;

static const char scope_key = 0; /* metatable of scopes, in the registry */

static void scope_free(lua_State *L, Scope *s) {
  Border *b = border_of(L);
  if (!s->is_open) return;
  s->is_open = false;
  const char *source = NULL;
  int line = 0;
  border_enter(L);
  context_where(b->context, &source, &line);
  border_leave(L);
  for (Handle *h = b->ring.next, *next; h != &b->ring && h->serial > s->start;
       h = next) {
    next = h->next;
    if (h->is_late || (h->kept != 0 && h->kept <= s->start)) continue;
    border_free(L, h, source, line);
  }
}

static void keep_tensor(Handle *h, const Scope *s) {
  if (h->kept == 0 || h->kept > s->start) h->kept = s->start;
}

/* Keep each tensor of the tree at `index`; `seen` ends cycles. */
static void keep_tree(lua_State *L, int index, int seen, int depth,
                      const Scope *s) {
  enum { DEEPEST = 100 }; /* a tree of values, not a list of a million */
  Handle *h = border_handle(L, index);
  if (h != NULL) keep_tensor(h, s);
  if (!lua_istable(L, index) || depth == DEEPEST) return;
  luaL_checkstack(L, 4, NULL);
  lua_pushvalue(L, index);
  if (lua_rawget(L, seen) != LUA_TNIL) {
    lua_pop(L, 1);
    return;
  }
  lua_pop(L, 1);
  lua_pushvalue(L, index);
  lua_pushboolean(L, 1);
  lua_rawset(L, seen);
  lua_pushnil(L);
  while (lua_next(L, index) != 0) {
    keep_tree(L, lua_gettop(L), seen, depth + 1, s);
    lua_pop(L, 1);
  }
}

static Scope *check_scope(lua_State *L) {
  Scope *s = lua_touserdata(L, 1);
  bool is_scope = s != NULL && lua_getmetatable(L, 1) &&
                  lua_rawgetp(L, LUA_REGISTRYINDEX, &scope_key) &&
                  lua_rawequal(L, -1, -2);
  if (!is_scope) border_error(L, E_TYPE, NULL, "%A is no scope", "self");
  lua_pop(L, 2);
  return s;
}

static int scope_keep(lua_State *L) {
  border_begin(L, "keep");
  const Scope *s = check_scope(L);
  const int top = lua_gettop(L);
  lua_newtable(L);
  for (int i = 2; i <= top; i++) keep_tree(L, i, top + 1, 0, s);
  lua_settop(L, top);
  return top - 1;
}

static int scope_close(lua_State *L) {
  border_begin(L, "scope");
  scope_free(L, check_scope(L));
  return 0;
}

/* Push a scope that begins now. */
static Scope *push_scope(lua_State *L) {
  Scope *s = lua_newuserdatauv(L, sizeof *s, 0);
  s->start = ++border_of(L)->serial; /* scopes have serials of their own */
  s->is_open = true;
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &scope_key) == LUA_TNIL) {
    lua_pop(L, 1);
    lua_createtable(L, 0, 4);
    border_function(L, scope_close, 0);
    lua_setfield(L, -2, "__close");
    lua_createtable(L, 0, 1);
    border_function(L, scope_keep, 0);
    lua_setfield(L, -2, "keep");
    lua_setfield(L, -2, "__index");
    lua_pushliteral(L, "tensus.scope");
    lua_setfield(L, -2, "__metatable");
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &scope_key);
  }
  lua_setmetatable(L, -2);
  return s;
}

/* The call of ts.scope(f, ...) is over: results lie above the scope at 1. */
static int scope_done(lua_State *L, int status, lua_KContext context) {
  (void)status, (void)context;
  Scope *s = lua_touserdata(L, 1);
  const int top = lua_gettop(L);
  luaL_checkstack(L, 2, NULL);
  lua_newtable(L);
  for (int i = 2; i <= top; i++) keep_tree(L, i, top + 1, 0, s);
  lua_settop(L, top);
  scope_free(L, s);
  return top - 1;
}

/* ts.scope(f, ...) frees what f made and did not return, also after an error;
 * ts.scope() is for `local s <close>`. */
static int ts_scope(lua_State *L) {
  border_begin(L, "scope");
  if (lua_isnone(L, 1)) {
    push_scope(L);
    return 1;
  }
  push_scope(L);
  lua_insert(L, 1);
  lua_toclose(L, 1);
  lua_callk(L, lua_gettop(L) - 2, LUA_MULTRET, 0, scope_done);
  return scope_done(L, LUA_OK, 0);
}

/* ---- refused requests: for tests only ---- */

/* Calls the function at 2 with what follows, refusing memory from request k
 * on; Lua's own requests too where `all`. */
static int run_fault(lua_State *L, const char *name, bool all) {
  Context *c = border_begin(L, name);
  Border *b = border_of(L);
  const int64_t k = args_whole(L, 1, "k");
  luaL_checktype(L, 2, LUA_TFUNCTION);
  device_trim(&c->host); /* a kept block would serve without a request */
  c->ledger.calls = 0;
  c->ledger.fail_from = k > 0 ? k : INT64_MAX;
  if (all) b->faults = c->ledger.fail_from;
  const int status = lua_pcall(L, lua_gettop(L) - 2, LUA_MULTRET, 0);
  const int64_t calls = c->ledger.calls;
  c->ledger.fail_from = 0;
  b->faults = 0;
  lua_pushboolean(L, status == LUA_OK);
  lua_replace(L, 1);
  if (status == LUA_OK) lua_settop(L, 1);
  lua_settop(L, 2); /* the message, or nil */
  lua_pushinteger(L, calls);
  return 3;
}

/* from(k, f, ...): ok, message, requests made. */
static int fault_from(lua_State *L) {
  return run_fault(L, "fault.from", false);
}
static int fault_all(lua_State *L) { return run_fault(L, "fault.all", true); }

/* used(): bytes of the ledger after a full collection, kept blocks apart. */
static int fault_used(lua_State *L) {
  Context *c = border_begin(L, "fault.used");
  lua_gc(L, LUA_GCCOLLECT);
  lua_gc(L, LUA_GCCOLLECT); /* what finalisers left */
  device_trim(&c->host);
  lua_pushinteger(L, (lua_Integer)host_bytes(L, border_of(L)));
  lua_pushinteger(L, c->tensors);
  return 2;
}

int fault_open(lua_State *L) {
  static const luaL_Reg functions[] = {{"from", fault_from},
                                       {"all", fault_all},
                                       {"used", fault_used},
                                       {NULL, NULL}};
  lua_createtable(L, 0, 3);
  for (const luaL_Reg *f = functions; f->name != NULL; f++) {
    border_function(L, f->func, 0);
    lua_setfield(L, -2, f->name);
  }
  return 1;
}

const luaL_Reg border_memory_functions[] = {
    {"memory", ts_memory},
    {"reset_peak", ts_reset_peak},
    {"empty_cache", ts_empty_cache},
    {"limit", ts_limit},
    {"set_num_threads", ts_set_num_threads},
    {"get_num_threads", ts_get_num_threads},
    {"scope", ts_scope},
    {NULL, NULL}};

const luaL_Reg border_memory_methods[] = {{"free", tensor_free}, {NULL, NULL}};
