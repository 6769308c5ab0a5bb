/* ops.h: the rows as Lua functions, and the metatable of tensors.
 * Must not know: how arguments are read.
 */
#ifndef TENSUS_BORDER_OPS_H
#define TENSUS_BORDER_OPS_H

#include "border/border.h"

/* Add a function for each row that scripts may call to the table at `module`
 * or to its table `linalg`, and to the one at `methods` where the first argument is a tensor.  The
 * function on top of the call has our upvalues. */
void ops_register(lua_State *L, int module, int methods);

/* Fill the metatable at `metatable`; `methods` is what x:name() finds. */
void ops_fill_metatable(lua_State *L, int metatable, int methods);

/* The row of the function at `index`; OP_COUNT if it is none of ours. */
OpId ops_of_function(lua_State *L, int index);

/* The row that is offered under `name`, too; NULL for none. */
const char *ops_alias(const char *name);

/* What stands here for a name from elsewhere ("clip"); NULL for none. */
const char *ops_foreign(const char *name);

/* ts.iter and methods that are made here. */
extern const luaL_Reg border_ops_methods[];

#endif
