/* border.c: handles, errors, and telling the collector what hangs on them.
 *
 * Always: between border_enter and border_leave nothing raises; a tensor that
 * the core has given lies in a handle that Lua knows.
 * Must not know: which ops there are.
 */
#include "border/border.h"

#include <stdlib.h>
#include <string.h>

#define MIB ((size_t)1 << 20)

/* Addresses that are keys of the registry. */
static const char border_key = 0, closer_key = 0, known_key = 0;

/* ---- memory ---- */

/* lua_Alloc over the ledger.  An injected fault passes Lua by, unless asked
 * for: it is the core that is tested then. */
static void *allocate(void *arg, void *p, size_t old_bytes, size_t bytes) {
  Border *b = arg;
  Ledger *l = &b->context->ledger;
  if (p == NULL) old_bytes = 0; /* it was the type of the object */
  if (bytes == 0) {
    ledger_free(l, p, old_bytes);
    return NULL;
  }
  const int64_t fail_from = l->fail_from;
  l->fail_from = b->faults;
  b->in_allocator = true;
  void *fresh = ledger_realloc(l, p, old_bytes, bytes);
  b->in_allocator = false;
  l->fail_from = fail_from;
  return fresh;
}

/* Blocks that are kept for later go first; then, inside a call of the core,
 * what Lua no longer holds.  Handles are finalised by that, and so is what a
 * script has finalisers for: border_begin keeps those out of the core. */
static bool make_room(void *arg, size_t bytes) {
  Border *b = arg;
  const Ledger *l = &b->context->ledger;
  bool any = b->room(b->context, bytes);
  if (b->running == NULL || b->in_allocator) return any;
  if (any && l->quota != SIZE_MAX && bytes <= l->quota - l->used) return true;
  const size_t before = l->used;
  lua_gc(b->running, LUA_GCCOLLECT);
  any |= b->room(b->context, bytes);
  return any || l->used < before;
}

static size_t kept_bytes(const Context *c) {
  size_t bytes = c->host.cache.bytes;
  for (int k = 0; k < MAX_CUDA; k++)
    if (c->cuda[k] != NULL) bytes += c->cuda[k]->cache.bytes;
  return bytes;
}

/* Bytes of tensors (and of Lua, where it is in the ledger) in use. */
static size_t live_bytes(const Context *c) {
  return c->ledger.used + c->ledger.device_used - kept_bytes(c);
}

/* ---- opening and closing ---- */

/* Where a node was made: the innermost Lua line. */
static bool find_line(lua_State *L, int level, lua_Debug *at) {
  for (; lua_getstack(L, level, at); level++) {
    lua_getinfo(L, "Sl", at);
    if (at->currentline > 0) return true;
  }
  return false;
}

static void where(void *arg, char *source, size_t room, int *line) {
  const Border *b = arg;
  lua_Debug at;
  if (b->running == NULL || !find_line(b->running, 1, &at)) return;
  *line = at.currentline;
  const size_t length = strlen(at.short_src);
  const size_t n = length < room ? length : room - 1;
  memcpy(source, at.short_src, n);
  source[n] = '\0';
}

/* A warning of lint, where Lua shows its own. */
static void say(const char *source, int line, const char *text) {
  if (line > 0)
    lua_writestringerror("%s:", source), lua_writestringerror("%d: ", line);
  lua_writestringerror("lint: %s\n", text);
}

static void border_fill(Border *b, Context *c) {
  memset(b, 0, sizeof *b);
  b->context = c;
  b->main_records = true;
  b->pace = MIB;
  b->ring.next = b->ring.previous = &b->ring;
  b->room = c->ledger.room;
  c->ledger.room = make_room;
  c->ledger.room_arg = b;
  c->failure.base = 1;
  c->where = where;
  c->where_arg = b;
  c->lint.say = say;
}

/* The last finaliser of the state: handles made by those of scripts may still
 * hold tensors, and nothing of ours may run after it. */
static void shut(Border *b) {
  b->is_closed = true;
  while (b->ring.next != &b->ring) border_drop(b, b->ring.next);
}

static int close_ours(lua_State *L) {
  Border **slot = lua_touserdata(L, 1);
  if (*slot != NULL) shut(*slot);
  *slot = NULL;
  return 0;
}

static int close_theirs(lua_State *L) {
  Border *b = lua_touserdata(L, 1);
  if (b->context == NULL) return 0;
  shut(b);
  context_close(b->context);
  b->context = NULL;
  return 0;
}

/* Push a userdata with a finaliser, made before any handle so that it is
 * finalised after them. */
static void *push_closer(lua_State *L, size_t bytes, lua_CFunction finaliser) {
  void *p = lua_newuserdatauv(L, bytes, 0);
  memset(p, 0, bytes);
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, finaliser);
  lua_setfield(L, -2, "__gc");
  lua_setmetatable(L, -2);
  return p;
}

/* The table tensor -> handle, handles held weakly; of tensors that the core
 * keeps and gives again.  An entry may be stale: its handle then holds none. */
static void make_known(lua_State *L) {
  lua_createtable(L, 0, 0);
  lua_createtable(L, 0, 1);
  lua_pushliteral(L, "v");
  lua_setfield(L, -2, "__mode");
  lua_setmetatable(L, -2);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &known_key);
}

static void note_main(lua_State *L, Border *b) {
  lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_MAINTHREAD);
  b->main = lua_tothread(L, -1);
  lua_pop(L, 1);
}

static int fill_ours(lua_State *L) {
  Border *b = lua_touserdata(L, 1);
  Border **slot = push_closer(L, sizeof *slot, close_ours);
  *slot = b;
  lua_rawsetp(L, LUA_REGISTRYINDEX, &closer_key);
  lua_pushlightuserdata(L, b);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &border_key);
  make_known(L);
  note_main(L, b);
  return 0;
}

/* Lua 5.4.4 and older crash in generational mode. */
static bool may_be_generational(void) {
  return LUA_VERSION_RELEASE_NUM > 50404;
}

static void discard(Context *c, Border *b) {
  c->ledger.room = b->room;
  c->ledger.room_arg = c;
  ledger_free(&c->ledger, b, sizeof *b);
  context_close(c);
}

lua_State *border_newstate(size_t quota, int threads, Context **c) {
  Context *fresh = context_open(quota, threads);
  if (fresh == NULL) return NULL;
  Border *b = ledger_alloc(&fresh->ledger, sizeof *b);
  if (b == NULL) {
    context_close(fresh);
    return NULL;
  }
  border_fill(b, fresh);
  b->is_ours = true;
  lua_State *L = lua_newstate(allocate, b);
  if (L == NULL) {
    discard(fresh, b);
    return NULL;
  }
  b->is_generational = may_be_generational();
  if (b->is_generational) lua_gc(L, LUA_GCGEN, 0, 0);
  lua_pushcfunction(L, fill_ours);
  lua_pushlightuserdata(L, b);
  if (lua_pcall(L, 1, 0, 0) != LUA_OK) {
    lua_close(L);
    discard(fresh, b);
    return NULL;
  }
  *c = fresh;
  return L;
}

void border_close(lua_State *L) {
  if (L == NULL) return;
  Border *b = border_find(L);
  lua_close(L);
  discard(b->context, b);
}

Border *border_find(lua_State *L) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &border_key);
  Border *b = lua_touserdata(L, -1);
  lua_pop(L, 1);
  return b;
}

Border *border_make(lua_State *L) {
  Border *b = border_find(L);
  if (b != NULL) return b;
  b = push_closer(L, sizeof *b, close_theirs);
  Context *c = context_open(SIZE_MAX, 0);
  if (c == NULL) luaL_error(L, "tensus: out of memory");
  border_fill(b, c);
  note_main(L, b);
  make_known(L);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &border_key);
  return b;
}

/* ---- functions ---- */

static void refuse(lua_State *L, const Border *b) {
  if (b->is_closed) luaL_error(L, "tensus: the state is closing");
  border_error(L, E_STATE, NULL, "called by a finaliser while memory is short");
}

/* The recording mode of L's coroutine; those of others stand in a table. */
static bool mode_of(lua_State *L, const Border *b) {
  if (b->modes == 0) return true;
  if (L == b->main) return b->main_records;
  return !b->others_have_modes || border_mode(L);
}

void border_begin_rest(lua_State *L, Border *b) {
  if (b->running != NULL || b->is_closed) refuse(L, b);
  b->context->is_recording = mode_of(L, b);
}

Context *border_begin(lua_State *L, const char *op) {
  return border_begin_of(L, border_of(L), op);
}

void border_function(lua_State *L, lua_CFunction f, int own) {
  lua_pushvalue(L, lua_upvalueindex(UPVALUE_BORDER));
  lua_pushvalue(L, lua_upvalueindex(UPVALUE_METATABLE));
  lua_rotate(L, -(own + 2), 2);
  lua_pushcclosure(L, f, own + 2);
}

/* ---- handles ---- */

Tensor *border_test(lua_State *L, int arg) {
  const Handle *h = border_handle(L, arg);
  return h != NULL ? h->tensor : NULL;
}

void border_raise_freed(lua_State *L, const Handle *h, const char *name) {
  if (!h->is_freed)
    border_error(L, E_RELEASED, NULL, "%A holds no tensor", name);
  if (h->is_late || h->source == NULL || h->line == 0)
    border_error(L, E_RELEASED, NULL, "%A was freed", name);
  border_error(L, E_RELEASED, NULL, "%A was freed at %s:%d", name, h->source,
               h->line);
}

Tensor *border_check(lua_State *L, int arg, const char *name) {
  const Handle *h = border_handle(L, arg);
  if (h != NULL && h->tensor != NULL) return h->tensor;
  if (h != NULL) border_raise_freed(L, h, name);
  border_error(L, E_TYPE, NULL, "%A is %s; a tensor is due", name,
               border_describe(L, arg));
  return NULL;
}

Handle *border_push(lua_State *L) {
  Handle *h = lua_newuserdatauv(L, sizeof *h, 0);
  memset(h, 0, sizeof *h);
  h->border = border_of(L);
  lua_pushvalue(L, lua_upvalueindex(UPVALUE_METATABLE));
  lua_setmetatable(L, -2);
  return h;
}

void border_link(Border *b, Handle *h) {
  h->serial = ++b->serial;
  h->previous = &b->ring;
  h->next = b->ring.next;
  h->next->previous = h;
  b->ring.next = h;
}

void border_drop(Border *b, Handle *h) {
  Tensor *t = h->is_late ? h->late : h->tensor;
  if (t == NULL) return;
  h->tensor = NULL;
  h->is_late = false;
  if (h->next != NULL) {
    h->next->previous = h->previous;
    h->previous->next = h->next;
    h->next = h->previous = NULL;
  }
  h->source = NULL;
  tensor_release(b->context, t);
}

/* lua_gc refuses to answer while a finaliser runs (5.4.4 and later). */
static bool in_finaliser(lua_State *L) { return lua_gc(L, LUA_GCCOUNT) < 0; }

void border_free(lua_State *L, Handle *h, const char *source, int line) {
  if (h->tensor == NULL) return;
  h->is_freed = true;
  if (in_finaliser(L)) {
    h->late = h->tensor;
    h->tensor = NULL;
    h->is_late = true;
    return;
  }
  border_drop(border_of(L), h);
  h->source = source;
  h->line = line;
}

void border_know(lua_State *L, int arg) {
  arg = lua_absindex(L, arg);
  Handle *h = border_handle(L, arg);
  if (h == NULL || h->tensor == NULL || h->is_known) return;
  lua_rawgetp(L, LUA_REGISTRYINDEX, &known_key);
  lua_pushvalue(L, arg);
  lua_rawsetp(L, -2, h->tensor);
  lua_pop(L, 1);
  h->is_known = true;
}

/* Nothing here runs the collector: raw stores and reads do not. */
void border_give(lua_State *L, Tensor *t) {
  Handle *h = lua_touserdata(L, -1);
  if (t == NULL) {
    lua_pop(L, 1);
    lua_pushnil(L);
    return;
  }
  lua_rawgetp(L, LUA_REGISTRYINDEX, &known_key);
  if (lua_rawgetp(L, -1, t) == LUA_TUSERDATA) {
    const Handle *known = lua_touserdata(L, -1);
    if (known->tensor == t) {
      lua_replace(L, -3);
      lua_pop(L, 1);
      return;
    }
  }
  lua_pop(L, 1);
  lua_pushvalue(L, -2);
  lua_rawsetp(L, -2, t); /* may raise: h is empty */
  lua_pop(L, 1);
  h->tensor = tensor_share(t);
  h->is_known = true;
  border_link(border_of(L), h);
}

/* ---- the collector ---- */

/* Where the mode is ours: dead handles are young, and a minor step finds them.
 * What has grown old is found by a full cycle, when as much again is live as
 * after the last one. */
static void collect_generations(lua_State *L, Border *b) {
  enum { PACE_MIB = 4, SLACK_MIB = 32, PART = 8 };
  lua_gc(L, LUA_GCSTEP, 0);
  size_t live = live_bytes(b->context);
  if (live > 2 * b->settled + SLACK_MIB * MIB) {
    lua_gc(L, LUA_GCCOLLECT);
    live = b->settled = live_bytes(b->context);
  }
  if (live < b->settled) b->settled = live;
  b->pace = live / PART > PACE_MIB * MIB ? live / PART : PACE_MIB * MIB;
}

/* A host's collector: as much of a cycle as has been made of what one cycle
 * may cost.  A cycle pauses until the heap has grown by its own size, so that
 * much is charged over `cycle` bytes.  With 100,000 live tables a chain of ops
 * costs twice as much at 8 heaps and 1.4 times as much at 16. */
static void collect_steps(lua_State *L, Border *b) {
  enum { CYCLE_MIB = 16, HEAPS = 16, PARTS = 16 };
  const size_t heap_kib = (size_t)lua_gc(L, LUA_GCCOUNT);
  const size_t heap = heap_kib * 1024, live = live_bytes(b->context);
  size_t cycle = live > CYCLE_MIB * MIB ? live : CYCLE_MIB * MIB;
  if (HEAPS * heap > cycle) cycle = HEAPS * heap;
  const double part = (double)b->debt / (double)cycle;
  const double kib = 1 + 1.05 * part * (double)heap_kib;
  b->pace = cycle / PARTS;
  lua_gc(L, LUA_GCSTEP, kib < 1e6 ? (int)kib : 1000000);
}

void border_collect(lua_State *L, Border *b) {
  if (lua_gc(L, LUA_GCISRUNNING)) { /* a script may have stopped it */
    if (b->is_generational)
      collect_generations(L, b);
    else
      collect_steps(L, b);
  }
  b->debt = 0;
}

void border_charge(lua_State *L, Handle *h) {
  if (h->tensor != NULL) border_note(L, border_of(L), h);
}

/* ---- failures ---- */

/* What ts.errinfo will say. */
static void note_failure(lua_State *L, Border *b, const lua_Debug *at) {
  BorderError *e = &b->last;
  e->failure = b->context->failure;
  e->thread = L;
  e->line = at != NULL ? at->currentline : 0;
  e->source[0] = '\0';
  if (at != NULL) memcpy(e->source, at->short_src, sizeof e->source);
}

/* Raise what c->failure says, at the line in `at` (NULL: none). */
static int raise_at(lua_State *L, Context *c, const lua_Debug *at) {
  const Failure *f = &c->failure;
  note_failure(L, c->where_arg, at);
  luaL_checkstack(L, 4, NULL);
  if (at != NULL)
    lua_pushfstring(L, "%s:%d: ", at->short_src, at->currentline);
  else
    lua_pushliteral(L, "");
  lua_pushfstring(L, "%s%s%s", f->op != NULL ? f->op : "tensus",
                  failure_joint(f), f->text);
  lua_concat(L, 2);
  return lua_error(L);
}

int border_raise(lua_State *L, Context *c, Status s) {
  assert(s != OK && s == c->failure.status);
  (void)s;
  lua_Debug at;
  return raise_at(L, c, find_line(L, 1, &at) ? &at : NULL);
}

int border_raise_at(lua_State *L, Context *c, int level) {
  lua_Debug at;
  return raise_at(L, c, find_line(L, level, &at) ? &at : NULL);
}

int border_raise_as(lua_State *L, const char *op, Status s) {
  Context *c = border_context(L);
  if (op != NULL) c->failure.op = op;
  return border_raise(L, c, s);
}

const char *border_describe(lua_State *L, int arg) {
  switch (lua_type(L, arg)) {
  case LUA_TNONE:
  case LUA_TNIL:
    return "missing";
  case LUA_TBOOLEAN:
    return lua_toboolean(L, arg) ? "true" : "false";
  case LUA_TSTRING:
    return lua_rawlen(L, arg) > 40
               ? "a long string"
               : lua_pushfstring(L, "the string \"%s\"", lua_tostring(L, arg));
  case LUA_TNUMBER:
    lua_pushvalue(L, arg); /* tostring would change the argument itself */
    return lua_pushfstring(L, "the number %s", lua_tostring(L, -1));
  case LUA_TUSERDATA:
    return border_handle(L, arg) != NULL ? "a tensor" : "a foreign userdata";
  case LUA_TTHREAD:
    return "a coroutine";
  default:
    return lua_pushfstring(L, "a %s", luaL_typename(L, arg));
  }
}

/* Letters to insert, drop, change or swap between two words (Damerau 1964,
 * swaps of neighbours only). */
static int distance(const char *a, const char *b) {
  enum { LONGEST = 32 };
  int row[3][LONGEST + 1];
  const int n = (int)strlen(b);
  if (n > LONGEST || strlen(a) > LONGEST) return LONGEST;
  for (int j = 0; j <= n; j++) row[0][j] = j;
  for (int i = 1; a[i - 1] != '\0'; i++) {
    int *now = row[i % 3], *last = row[(i + 2) % 3], *before = row[(i + 1) % 3];
    now[0] = i;
    for (int j = 1; j <= n; j++) {
      int least = last[j - 1] + (a[i - 1] != b[j - 1]);
      if (last[j] + 1 < least) least = last[j] + 1;
      if (now[j - 1] + 1 < least) least = now[j - 1] + 1;
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
          before[j - 2] + 1 < least)
        least = before[j - 2] + 1;
      now[j] = least;
    }
  }
  return row[strlen(a) % 3][n];
}

bool border_nearer(const char *word, const char *name, int *best) {
  const int length = (int)strlen(word);
  const int near = distance(word, name);
  if (near >= *best || near > 1 + length / 4 || near >= length) return false;
  *best = near;
  return true;
}

const char *border_nearest(const char *word, const char *const *list) {
  const char *found = NULL;
  int best = INT32_MAX;
  for (; *list != NULL; list++)
    if (border_nearer(word, *list, &best)) found = *list;
  return found;
}

void border_push_element(lua_State *L, const char *data, Dtype dtype) {
  switch (dtype_class(dtype)) {
  case CLASS_BOOL:
    lua_pushboolean(L, *data != 0);
    break;
  case CLASS_INTEGER:
    lua_pushinteger(L, scalar_to_i64(data, dtype));
    break;
  case CLASS_FLOAT:
    lua_pushnumber(L, scalar_to_f64(data, dtype));
    break;
  }
}
