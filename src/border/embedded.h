/* embedded.h: the Lua libraries of lua/, as text inside the program.
 *
 * The table is written by scripts/embed.lua into the build folder and ends with
 * a row of NULLs.  A name is what `require` is given ("tensus.nn.linear"), a
 * chunk name says where an error stands ("@tensus/nn/linear.lua").
 * Must not know: who loads them.
 */
#ifndef TENSUS_BORDER_EMBEDDED_H
#define TENSUS_BORDER_EMBEDDED_H

#include <stddef.h>

typedef struct Embedded {
  const char *name;  /* module name; sorted by it */
  const char *chunk; /* chunk name for luaL_loadbufferx */
  const char *text;  /* `length` bytes of Lua source, then a NUL */
  size_t length;
} Embedded;

extern const Embedded tensus_embedded[];

#endif
