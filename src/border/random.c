/* random.c: seeds and generators.
 *
 * The stream of a generator is a function of its seed and its place; a state
 * has a default one (API.md, section 11).
 * Must not know: what is drawn.
 */
#include <string.h>

#include "border/args.h"

static const char generator_key = 0; /* metatable, in the registry */

Philox *args_generator(lua_State *L, int index, const char *name) {
  Philox *g = lua_touserdata(L, index);
  bool is_generator = false;
  if (g != NULL && lua_getmetatable(L, index)) {
    lua_rawgetp(L, LUA_REGISTRYINDEX, &generator_key);
    is_generator = lua_rawequal(L, -1, -2);
    lua_pop(L, 2);
  }
  if (!is_generator)
    border_error(L, E_TYPE, NULL, "%A is %s; a generator is due", name,
                 border_describe(L, index));
  return g;
}

/* The default generator's seed. */
static int ts_manual_seed(lua_State *L) {
  Context *c = border_begin(L, "manual_seed");
  const uint64_t seed = (uint64_t)args_whole(L, 1, "seed");
  args_at_most(L, 1);
  c->generator = (Philox){.seed = seed};
  return 0;
}

static int ts_seed(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)border_begin(L, "seed")->generator.seed);
  return 1;
}

/* ---- generators ---- */

static int generator_seed(lua_State *L) {
  border_begin(L, "manual_seed");
  Philox *g = args_generator(L, 1, "self");
  const uint64_t seed = (uint64_t)args_whole(L, 2, "seed");
  *g = (Philox){.seed = seed};
  lua_settop(L, 1);
  return 1;
}

/* state(): an i64 tensor {3}: seed, place, stream. */
static int generator_state(lua_State *L) {
  Context *c = border_begin(L, "state");
  const Philox *g = args_generator(L, 1, "self");
  const int64_t size = 3;
  const Shape shape = shape_of(1, &size);
  Handle *h = border_push(L);
  Status s = tensor_new(c, &c->host, DTYPE_I64, &shape, &h->tensor);
  if (s == OK) s = tensor_write(c, h->tensor, g);
  if (s != OK) return border_raise(L, c, s);
  border_charge(L, h);
  return 1;
}

static_assert(sizeof(Philox) == 3 * sizeof(int64_t), "a state is three i64");

static int generator_set_state(lua_State *L) {
  Context *c = border_begin(L, "set_state");
  Philox *g = args_generator(L, 1, "self");
  Tensor *t = border_check(L, 2, "state");
  if (t->dtype != DTYPE_I64 || t->shape.rank != 1 || t->count != 3 ||
      !t->is_contiguous)
    return border_error(L, E_SHAPE, NULL,
                        "%A %S %s is not what state() gives: {3} i64", "state",
                        SHAPE_ARG(&t->shape), dtype_name(t->dtype));
  Status s = tensor_ready(c, t, "state");
  if (s == OK) s = tensor_read(c, t, g);
  if (s != OK) return border_raise(L, c, s);
  lua_settop(L, 1);
  return 1;
}

static void push_generator(lua_State *L, Philox value);

/* A number that depends on every bit of x: the finaliser of SplitMix64 (Steele,
 * Lea, Flood, Fast splittable pseudorandom number generators, 2014). */
static uint64_t mix(uint64_t x) {
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
  x = (x ^ x >> 27) * 0x94D049BB133111EBu;
  return x ^ x >> 31;
}

/* fork(k): a stream of the same seed, from its start, that is another for each
 * k, for each parent, and from the parent's own. */
static int generator_fork(lua_State *L) {
  border_begin(L, "fork");
  const Philox *g = args_generator(L, 1, "self");
  const int64_t k = args_whole(L, 2, "k");
  const uint64_t stream =
      mix(g->stream + 0x9E3779B97F4A7C15u * ((uint64_t)k + 1));
  push_generator(L, (Philox){.seed = g->seed, .stream = stream});
  return 1;
}

static int generator_get_seed(lua_State *L) {
  border_begin(L, "seed");
  lua_pushinteger(L, (lua_Integer)args_generator(L, 1, "self")->seed);
  return 1;
}

static void push_generator_metatable(lua_State *L) {
  static const luaL_Reg methods[] = {
      {"manual_seed", generator_seed}, {"seed", generator_get_seed},
      {"state", generator_state},      {"set_state", generator_set_state},
      {"fork", generator_fork},        {NULL, NULL}};
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &generator_key) == LUA_TTABLE) return;
  lua_pop(L, 1);
  lua_createtable(L, 0, 3);
  lua_createtable(L, 0, 5);
  for (const luaL_Reg *m = methods; m->name != NULL; m++) {
    border_function(L, m->func, 0);
    lua_setfield(L, -2, m->name);
  }
  lua_setfield(L, -2, "__index");
  lua_pushliteral(L, "tensus.generator");
  lua_setfield(L, -2, "__name");
  lua_pushliteral(L, "tensus.generator");
  lua_setfield(L, -2, "__metatable");
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &generator_key);
}

static void push_generator(lua_State *L, Philox value) {
  Philox *g = lua_newuserdatauv(L, sizeof *g, 0);
  *g = value;
  push_generator_metatable(L);
  lua_setmetatable(L, -2);
}

/* ts.generator([seed]): without one, drawn from the default generator's. */
static int ts_generator(lua_State *L) {
  Context *c = border_begin(L, "generator");
  uint64_t seed = 0;
  if (lua_isnoneornil(L, 1)) {
    uint32_t block[4];
    philox_block(&c->generator, 0, block);
    c->generator.counter++;
    seed = ((uint64_t)block[0] << 32 | block[1]) >> 11;
  } else {
    seed = (uint64_t)args_whole(L, 1, "seed");
  }
  push_generator(L, (Philox){.seed = seed});
  return 1;
}

const luaL_Reg border_random_functions[] = {{"manual_seed", ts_manual_seed},
                                            {"seed", ts_seed},
                                            {"generator", ts_generator},
                                            {NULL, NULL}};
