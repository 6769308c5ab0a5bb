/* raw.h: what lua/functional.lua needs of the core and no script does.
 *
 * `require "tensus.raw"`: push, mark, reaches, fail, lint.  No promise is made of it.
 * Must not know: the functional forms.
 */
#ifndef TENSUS_BORDER_RAW_H
#define TENSUS_BORDER_RAW_H

#include <lua.h>

/* Push the module; a function with our upvalues. */
int raw_open(lua_State *L);

#endif
