/* interrupt.h: stopping a Lua state from outside.
 *
 * A request sets a flag and a hook on the thread that runs, a coroutine too;
 * `interrupted` is then raised again and again, so that no pcall swallows it,
 * until the one who holds the state takes the request back.
 * Must not know: who asks (a signal, a host's thread), or why.
 */
#ifndef TENSUS_HOST_INTERRUPT_H
#define TENSUS_HOST_INTERRUPT_H

#include <signal.h>
#include <stdbool.h>

#include <lua.h>

/* running: the thread whose code runs, or NULL while the state may not be
 * touched.  pending: requested and not taken back. */
typedef struct Interrupt {
  lua_State *volatile running;
  volatile sig_atomic_t pending;
  volatile bool *kernels; /* what kernels poll: true while pending; or NULL */
} Interrupt;

/* Make L stoppable by `stop`, which must outlive it: puts functions that keep
 * `running` up to date in the place of coroutine.resume, wrap and close.  To
 * be called with the standard libraries open; may raise out of memory. */
void interrupt_install(lua_State *L, Interrupt *stop);

/* Ask.  Safe in a signal handler; returns false when one was pending. */
bool interrupt_request(Interrupt *stop);

/* Take the request back; returns whether there was one. */
bool interrupt_clear(Interrupt *stop);

#endif
