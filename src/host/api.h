/* api.h: what the files of the C API share.
 *
 * Must not know: the command line.
 */
#ifndef TENSUS_HOST_API_H
#define TENSUS_HOST_API_H

#include "border/border.h"
#include "host/interrupt.h"
#include "tensus.h"

enum { API_MESSAGE = 1024 };

/* A state outlives its close until the last handle goes: then L and c are
 * NULL.  `ledger` serves the state itself and its handles. */
struct tensus_State {
  Ledger ledger;
  lua_State *L;
  Context *c;
  Interrupt stop;
  tensus_Tensor *handles; /* a list of all that live */
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

/* Every call of the API that can fail begins here: forgets the last failure,
 * counts positions from 0.  TENSUS_E_STATE when the state is closed. */
tensus_Status api_begin(tensus_State *s);

/* The status of the core as that of the API, its details kept. */
tensus_Status api_end(tensus_State *s, Status status);

/* A failure in words of the API's own. */
tensus_Status api_fail(tensus_State *s, tensus_Status status,
                       const char *text);

/* A handle that takes t over (also on failure); NULL when out of memory. */
tensus_Tensor *api_handle(tensus_State *s, Tensor *t);

/* What status a raised Lua value stands for; pops it, keeps its text. */
tensus_Status api_raised(tensus_State *s, int code);

Dtype api_dtype(tensus_Dtype dtype);

#endif
