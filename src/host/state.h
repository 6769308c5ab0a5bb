/* state.h: a Lua state of our own, ready to run scripts.
 *
 * Must not know: the command line, or who embeds it.
 */
#ifndef TENSUS_HOST_STATE_H
#define TENSUS_HOST_STATE_H

#include "host/interrupt.h"

/* A new state: the standard libraries, chunks as text only, `tensus` ready for
 * `require` (nothing of it is loaded yet), stoppable by `stop`, which must
 * outlive it.  `environment` false: LUA_PATH and its like are not read.
 * NULL when out of memory; the caller closes it. */
lua_State *state_open(Interrupt *stop, bool environment);

/* Finalises and frees everything.  NULL is fine. */
void state_close(lua_State *L, Interrupt *stop);

/* `ts` becomes a global that loads tensus when it is first read, so that it
 * costs nothing where it is not used. */
void state_offer_ts(lua_State *L);

#endif
