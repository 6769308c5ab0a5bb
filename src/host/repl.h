/* repl.h: the prompt.
 *
 * Must not know: options, terminals beyond reading a line.
 */
#ifndef TENSUS_HOST_REPL_H
#define TENSUS_HOST_REPL_H

#include "host/interrupt.h"

/* Reads, runs, prints, until the input ends; returns the exit status. */
int repl_run(lua_State *L, Interrupt *stop);

#endif
