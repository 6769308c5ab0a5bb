/* chunk.h: running chunks, and telling how that went.
 *
 * Must not know: options.
 */
#ifndef TENSUS_HOST_CHUNK_H
#define TENSUS_HOST_CHUNK_H

#include "host/interrupt.h"

/* What a process ends with (API.md, section 17). */
enum { EXIT_DONE = 0, EXIT_ERROR = 1, EXIT_USAGE = 2, EXIT_INTERRUPTED = 130 };

/* lua_pcall with a traceback put behind an error message. */
int chunk_call(lua_State *L, int arguments, int results);

/* Says on standard error what the status (and the message on top, which is
 * popped) means, and returns the exit status for it. */
int chunk_report(lua_State *L, int status, Interrupt *stop);

/* Calls the chunk below its `arguments` (or reports why it did not load, when
 * status says so), drops its results; returns the exit status. */
int chunk_run(lua_State *L, int status, int arguments, Interrupt *stop);

/* The same for a text; `name` is its chunk name. */
int chunk_run_text(lua_State *L, const char *text, const char *name,
                   Interrupt *stop);

#endif
