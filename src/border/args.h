/* args.h: from the Lua stack to the arguments of a row.
 *
 * One reader for all rows: what is due stands in the row's params.  Positions
 * and dims that count from 1 in Lua count from 0 in Args; strings never become
 * numbers; a misspelt option raises.
 * Must not know: what the op does with them.
 */
#ifndef TENSUS_BORDER_ARGS_H
#define TENSUS_BORDER_ARGS_H

#include "border/border.h"

/* Fill *a from the arguments at 1 .. top, or raise (E_TYPE, E_OPTION, E_DIM,
 * E_INDEX, E_DTYPE, E_DEVICE, E_TOO_MANY, E_RELEASED); the op has begun.  What
 * *a borrows is held by the stack, on which values may be pushed: leave them
 * until the call is over. */
void args_read(lua_State *L, OpId op, Args *a);

/* The common case, nothing but operands of a pointwise row: fills *a and
 * returns true.  False: nothing was done, args_read will say. */
bool args_read_operands(lua_State *L, const Border *b, OpId op, Args *a);

/* A whole number at `index` (of either subtype), or raise E_TYPE. */
int64_t args_whole(lua_State *L, int index, const char *name);

/* The same, false instead of raising. */
bool args_is_whole(lua_State *L, int index, int64_t *value);

/* A dtype by name, or raise E_DTYPE. */
Dtype args_dtype(lua_State *L, int index, const char *name);

/* A device by name, or raise. */
Device *args_device(lua_State *L, int index, const char *name);

/* Options of a function that is no row: the table at `index` (nil: none) may
 * hold the keys of `known` (ended by NULL) and no other. */
void args_options(lua_State *L, int index, const char *const *known);

/* An option that is true, false or absent (`missing`). */
bool args_flag(lua_State *L, int index, const char *name, bool missing);

/* Push field `name` of the options at `index`; nil if there are none. */
int args_push_option(lua_State *L, int index, const char *name);

/* No more than `most` arguments were given, or raise E_TOO_MANY. */
void args_at_most(lua_State *L, int most);

/* random.c: the generator at `index`, or raise E_TYPE. */
Philox *args_generator(lua_State *L, int index, const char *name);

#endif
