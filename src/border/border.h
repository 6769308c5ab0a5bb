/* border.h: what stands between Lua and the core.
 *
 * A tensor is a full userdata, a Handle, whose metatable is locked.  All that
 * Lua may raise happens while C holds nothing: arguments are read first, then
 * an empty handle is pushed, then the core fills it (STYLE.md 6.2):
 *
 *   static int tensor_clone(lua_State *L) {
 *     Context *c = border_begin(L, "clone");
 *     Tensor *x = border_check(L, 1, "self");
 *     Handle *h = border_push(L);
 *     border_enter(L);
 *     Status s = op_unary(c, OP_clone, x, &h->tensor);
 *     border_leave(L);
 *     if (s != OK) return border_raise(L, c, s);
 *     border_charge(L, h);
 *     return 1;
 *   }
 *
 * Every C function that scripts can reach is a closure with the same two
 * upvalues in front: the Border, and the metatable of handles.  open.c makes
 * those of the lists below; others come from border_function.
 * Must not know: what an op computes, the command line.
 */
#ifndef TENSUS_BORDER_H
#define TENSUS_BORDER_H

#include <lauxlib.h>
#include <lua.h>

#include "grad/grad.h"

/* Upvalues of every function of ours; its own follow. */
enum { UPVALUE_BORDER = 1, UPVALUE_METATABLE, UPVALUE_OWN };

/* What Lua holds of a tensor.
 * border is what tells a handle from other userdata of its size
 * tensor != NULL: owns one reference, and the handle is in the ring once
 * border_charge has seen it
 * is_late: owns `late` instead, and only until it is collected itself
 * else: empty, or given up; then it is in no ring */
typedef struct Handle {
  const struct Border *border;
  Tensor *tensor;
  struct Handle *next, *previous; /* ring of handles, youngest first; or NULL */
  union {
    uint64_t serial;    /* counts up along the ring */
    const char *source; /* of the call that freed it; interned */
  };
  union {
    uint64_t kept; /* scopes from this serial on leave it; 0: none does */
    Tensor *late;
  };
  int line; /* of the call that freed it */
  bool is_freed, is_late;
  bool is_known; /* border_know has noted it */
} Handle;

/* Where and how the last failure was told: for ts.errinfo. */
typedef struct BorderError {
  Failure failure;
  const void *thread; /* the coroutine it was raised in; NULL: none yet */
  int line;           /* 0: no Lua line called */
  char source[LUA_IDSIZE];
} BorderError;

/* What one Lua state keeps.
 * context->is_recording is the mode of the coroutine that runs, from
 * border_begin on */
typedef struct Border {
  Context *context;       /* NULL once a host's state is closing */
  lua_State *running;     /* the thread inside the core; NULL: none is */
  lua_State *main;        /* the state's first thread */
  bool is_open;           /* the module has been made */
  bool is_ours;           /* made by border_newstate, with its allocator */
  bool is_closed;         /* no function of ours may run any more */
  bool is_generational;   /* the collector's mode is ours to choose */
  bool in_allocator;      /* Lua itself asks for memory: no collection now */
  bool main_records;      /* recording mode of the first thread */
  bool others_have_modes; /* other threads' modes stand in a table */
  int modes;              /* modes that are open: 0, all threads record */
  int64_t faults;         /* injection that reaches Lua's own requests, too */
  Handle ring;            /* ring.next: the youngest handle */
  uint64_t serial;        /* of the youngest handle */
  size_t debt;            /* bytes made since the collector was told */
  size_t pace;            /* tell it when the debt is this high */
  size_t settled;         /* live bytes after the last full cycle */
  LedgerRoom *room;       /* the context's own way of making room */
  BorderError last;
} Border;

/* ---- the state ---- */

/* A Lua state whose memory and whose tensors are in one ledger, with a
 * context of `quota` bytes (SIZE_MAX: none) and `threads` (0: all processors).
 * NULL when out of memory.  Close by border_close, never by lua_close. */
lua_State *border_newstate(size_t quota, int threads, Context **c);
void border_close(lua_State *L); /* NULL is fine */

/* `require "tensus"`: pushes the module's table.  Any stock Lua 5.4. */
int luaopen_tensus(lua_State *L);

/* The Border of a state, from any C function; NULL if tensus is not loaded. */
Border *border_find(lua_State *L);

/* The same, made now if there is none: for luaopen_tensus. */
Border *border_make(lua_State *L);

/* ---- in functions of ours only: these read the upvalues ---- */

INLINE Border *border_of(lua_State *L) {
  return lua_touserdata(L, lua_upvalueindex(UPVALUE_BORDER));
}

INLINE Context *border_context(lua_State *L) { return border_of(L)->context; }

/* A function begins: `op` (static text) is what messages name.  Raises E_STATE
 * in a state that is closing, and in a finaliser that runs because the core
 * needs memory. */
Context *border_begin(lua_State *L, const char *op);

/* The same for a Border at hand. */
void border_begin_rest(lua_State *L, Border *b);
INLINE Context *border_begin_of(lua_State *L, Border *b, const char *op) {
  Context *c = b->context;
  if (LIKELY(c != NULL)) c->failure.op = op; /* NULL: it is closed */
  if (b->running != NULL || b->is_closed || b->modes != 0)
    border_begin_rest(L, b);
  else
    c->is_recording = true;
  return c;
}

/* grad.c: the recording mode of a thread other than the first. */
bool border_mode(lua_State *L);

/* Push f as a closure with our upvalues and the `own` values on top (popped)
 * as those from UPVALUE_OWN on. */
void border_function(lua_State *L, lua_CFunction f, int own);

/* Brackets around a call of the core.  Inside, running out of memory collects
 * garbage, and tracked ops learn the caller's line.  Nothing between the two
 * may raise. */
INLINE void border_enter(lua_State *L) { border_of(L)->running = L; }
INLINE void border_leave(lua_State *L) { border_of(L)->running = NULL; }

/* op_call in brackets. */
INLINE Status border_call(lua_State *L, OpId op, const Args *a,
                          Tensor **results) {
  border_enter(L);
  const Status s = op_call(border_context(L), op, a, results);
  border_leave(L);
  return s;
}

/* ---- tensors as arguments and results ---- */

/* The handle at `arg`; NULL if there is none of this state.  Told by its size
 * and by its first word, an address that only handles hold: a third of the time
 * that comparing metatables takes. */
INLINE Handle *border_handle_of(const Border *b, lua_State *L, int arg) {
  if (lua_rawlen(L, arg) != sizeof(Handle)) return NULL;
  Handle *h = lua_touserdata(L, arg); /* a string may have that length, too */
  return h != NULL && h->border == b ? h : NULL;
}

INLINE Handle *border_handle(lua_State *L, int arg) {
  return border_handle_of(border_of(L), L, arg);
}

/* The tensor at `arg`, borrowed; NULL if there is none, or if it was freed. */
Tensor *border_test(lua_State *L, int arg);

/* The same; raises E_TYPE, or E_RELEASED for a freed one.  `name` is what the
 * message calls it. */
Tensor *border_check(lua_State *L, int arg, const char *name);

/* Raise E_RELEASED for a handle that holds nothing. */
void border_raise_freed(lua_State *L, const Handle *h, const char *name);

/* Push an empty handle.  The core then sets h->tensor; border_charge or
 * border_raise takes note of it, so one of them must follow. */
Handle *border_push(lua_State *L);

/* An empty handle is on top, pushed before t was looked up (making it may run
 * finalisers, and t is borrowed): it becomes the handle of t, which is shared;
 * or the one that border_know has noted takes its place; nil for NULL. */
void border_give(lua_State *L, Tensor *t);

/* The core will keep the tensor at `arg`: note its handle, so that it is found
 * again as long as Lua holds it. */
void border_know(lua_State *L, int arg);

/* Result h holds a tensor (or none): list it, and tell the collector of its
 * bytes.  Comes last: it may run finalisers. */
void border_charge(lua_State *L, Handle *h);

/* The same for a Border at hand and a handle that holds a tensor. */
enum { CHARGE_HEADERS = 384 }; /* bytes of a Tensor and a Storage */
void border_link(Border *b, Handle *h);
void border_collect(lua_State *L, Border *b);
INLINE void border_note(lua_State *L, Border *b, Handle *h) {
  const Storage *s = h->tensor->storage;
  if (h->next == NULL) border_link(b, h);
  b->debt += CHARGE_HEADERS + (s->refs == 1 ? s->bytes : 0);
  if (b->debt >= b->pace) border_collect(L, b);
}

/* Give the handle's tensor up, now; no-op when it is empty.  For finalisers of
 * handles: nobody else can hold it. */
void border_drop(Border *b, Handle *h);

/* A script gives the tensor up, by the call at `source`:`line`.  In a finaliser
 * the memory stays until the handle goes: a call of ours further down the
 * stack may have taken the tensor as an argument. */
void border_free(lua_State *L, Handle *h, const char *source, int line);

/* ---- failures ---- */

/* Raise what c->failure tells, as "chunk:line: op: text" with the innermost
 * Lua line.  Never returns. */
int border_raise(lua_State *L, Context *c, Status s);

/* The same, at the line of the function `level` calls up. */
int border_raise_at(lua_State *L, Context *c, int level);

/* The same, naming `op` instead (NULL: the one that begun). */
int border_raise_as(lua_State *L, const char *op, Status s);

/* border_error(L, E_TYPE, op or NULL, format, ...), formats of failure_set:
 *   border_error(L, E_TYPE, NULL, "%A is %s; a tensor is due", "self", text) */
#define border_error(L, status, op, ...) \
  border_raise_as(L, op, fail(border_context(L), status, __VA_ARGS__))

/* The value at `arg` for a message: `the string "3"`, `a table`, `missing`.
 * May push one string, which keeps the text alive. */
const char *border_describe(lua_State *L, int arg);

/* The name of `list` (ended by NULL) nearest to `word`, NULL if none is near.
 * border_nearer serves lists that are no arrays: *best starts at a distance,
 * and true says that `name` is nearer. */
const char *border_nearest(const char *word, const char *const *list);
bool border_nearer(const char *word, const char *name, int *best);

/* ---- fields and brackets of a tensor ----
 *
 * x.name is: a method; else a field of grad.c (grad, requires_grad, is_leaf,
 * grad_fn); else border_field; else, for text with a comma, colon, "..." or
 * "new" in it, or one that starts like a number, border_index; else `name` is
 * raised with the nearest one.  Other keys go to border_index. */

/* tensor.c.  Stack: tensor, name.  Pushes the field and returns 1; returns 0
 * for a name that is no field. */
int border_field(lua_State *L);

/* tensor.c.  Stack: tensor, name, value.  1: done; 0: no field of that name
 * can be set. */
int border_set_field(lua_State *L);

extern const char *const border_field_names[]; /* for the nearest name */

/* index.c: x[key] and x[key] = value, from the whole stack. */
int border_index(lua_State *L);
int border_assign(lua_State *L);

/* tensor.c: tostring(x). */
int border_tostring(lua_State *L);

/* Push the number or boolean at `data`, in host memory. */
void border_push_element(lua_State *L, const char *data, Dtype dtype);

/* grad.c: as border_field and border_set_field, for its names. */
int border_grad_field(lua_State *L);
int border_set_grad_field(lua_State *L);

/* ---- what each file offers: functions of `ts`, and methods of tensors; a
 *      file without one of the lists has an empty one ---- */

extern const luaL_Reg border_table_functions[], border_table_methods[];
extern const luaL_Reg border_index_functions[], border_index_methods[];
extern const luaL_Reg border_tensor_functions[], border_tensor_methods[];
extern const luaL_Reg border_grad_functions[], border_grad_methods[];
extern const luaL_Reg border_io_functions[];
extern const luaL_Reg border_clock_functions[];
extern const luaL_Reg border_random_functions[];
extern const luaL_Reg border_device_functions[];
extern const luaL_Reg border_cuda_functions[]; /* of ts.cuda */
extern const luaL_Reg border_lint_functions[];
extern const luaL_Reg border_help_functions[];
extern const luaL_Reg border_einsum_functions[];
void help_set_version(lua_State *L); /* field `version` of the table on top */
extern const luaL_Reg border_memory_functions[], border_memory_methods[];

#endif
