/* lint.h: what the prompt asks of lint. */
#ifndef TENSUS_BORDER_LINT_H
#define TENSUS_BORDER_LINT_H

#include <lua.h>

/* A line of the prompt begins: lint warns unless a mode was chosen, and says
 * again what it has said of an earlier line, whose number is the same. */
void lint_prompt(lua_State *L);

#endif
