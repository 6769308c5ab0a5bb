/* api.h: what the files of the C API share.
 *
 * A call that can fail runs between api_begin and api_end (the core) or
 * between api_begin and api_raised (Lua, below lua_pcall).
 * Must not know: the command line.
 */
#ifndef TENSUS_HOST_API_H
#define TENSUS_HOST_API_H

#include "border/border.h"
#include "host/interrupt.h"
#include "tensus.h"

enum { API_MESSAGE = 1024 };

/* A state outlives its close until its last handle and text have gone: L and c
 * are NULL then.
 * `ledger` serves the state itself, its handles and texts
 * texts == strings that were given out and not cleared */
struct tensus_State {
  Ledger ledger;
  lua_State *L;
  Context *c;
  Border *border;
  Interrupt stop;
  tensus_Tensor *handles; /* a list of all that live */
  size_t texts;
  tensus_Status status;
  Failure failure;        /* details of the last failure of the core */
  char message[API_MESSAGE];
};

/* tensor is NULL once the state is closed. */
struct tensus_Tensor {
  tensus_State *state;
  Tensor *tensor;
  int refs;
  tensus_Tensor *next, **slot; /* *slot == this */
};

/* Every call of the API that can fail begins here: forgets the last failure.
 * TENSUS_E_STATE when the state is closed. */
tensus_Status api_begin(tensus_State *s);

/* The same for calls of the core: positions count from 0, `op` is what
 * messages name, and garbage of Lua makes room when memory is short. */
tensus_Status api_enter(tensus_State *s, const char *op);

/* Ends what api_enter began: the status of the core as that of the API, its
 * details kept. */
tensus_Status api_end(tensus_State *s, Status status);

/* A failure in words of the API's own; not within api_enter. */
tensus_Status api_fail(tensus_State *s, tensus_Status status,
                       const char *text);

/* A handle that takes t over (also on failure); NULL when out of memory.
 * t may be NULL and be set later. */
tensus_Tensor *api_handle(tensus_State *s, Tensor *t);

/* Frees a closed state that nothing hangs on any more. */
void api_forget(tensus_State *s);

/* What status a raised Lua value stands for; pops it, keeps its text. */
tensus_Status api_raised(tensus_State *s, int code);

/* Prepares a fresh state for values, and sets the global `ts`; below
 * lua_pcall. */
int api_prepare(lua_State *L);

Dtype api_dtype(tensus_Dtype dtype); /* DTYPE_NONE for none */

#endif
