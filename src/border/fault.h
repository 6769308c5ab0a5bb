/* fault.h: requests for memory that are refused, to test what happens then.
 *
 * Specs reach it by `require "tensus.fault"`; the table `ts` does not show it.
 * Must not know: what is tested.
 */
#ifndef TENSUS_BORDER_FAULT_H
#define TENSUS_BORDER_FAULT_H

#include <lua.h>

/* Push the module; a function with our upvalues. */
int fault_open(lua_State *L);

#endif
