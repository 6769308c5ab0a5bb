/* clock.c: ts.clock and ts.timeit.
 * Must not know: what is timed. */
#include <time.h>

#include "border/args.h"

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* ts.clock(): seconds from some fixed point; never runs backwards. */
static int ts_clock(lua_State *L) {
  border_begin(L, "clock");
  lua_pushnumber(L, seconds());
  return 1;
}

/* ts.timeit(f, {n=100}): the least seconds of a call of f in 5 rounds of n. */
static int ts_timeit(lua_State *L) {
  static const char *const known[] = {"n", NULL};
  border_begin(L, "timeit");
  luaL_checktype(L, 1, LUA_TFUNCTION);
  args_options(L, 2, known);
  lua_Integer n = 100;
  if (args_push_option(L, 2, "n") != LUA_TNIL) n = args_whole(L, -1, "n");
  if (n < 1) return border_error(L, E_RANGE, NULL, "%A is %I", "n", (int64_t)n);
  double best = 0;
  for (int round = 0; round < 5; round++) {
    const double from = seconds();
    for (lua_Integer i = 0; i < n; i++) {
      lua_pushvalue(L, 1);
      lua_call(L, 0, 0);
    }
    const double each = (seconds() - from) / (double)n;
    if (round == 0 || each < best) best = each;
  }
  lua_pushnumber(L, best);
  return 1;
}

const luaL_Reg border_clock_functions[] = {
    {"clock", ts_clock}, {"timeit", ts_timeit}, {NULL, NULL}};
