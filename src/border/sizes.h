/* sizes.h: a shape as Lua sees it: a table of sizes that prints as {2,3},
 * compares by value and joins text.
 * Must not know: tensors.
 */
#ifndef TENSUS_BORDER_SIZES_H
#define TENSUS_BORDER_SIZES_H

#include <lauxlib.h>
#include <lua.h>

#include "value/shape.h"

/* Push the table of s. */
void sizes_push(lua_State *L, const Shape *s);

#endif
