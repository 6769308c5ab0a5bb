/* table.h: Lua values as tensors.
 *
 * Numbers, booleans and nested tables of them become tensors in two walks: the
 * first measures and may raise, the second fills memory and cannot.
 * Must not know: indexing.
 */
#ifndef TENSUS_BORDER_TABLE_H
#define TENSUS_BORDER_TABLE_H

#include "border/border.h"

/* How a value becomes a tensor.
 * dtype == DTYPE_NONE: by the rules of API.md, section 2 */
typedef struct Make {
  Dtype dtype;
  Device *device; /* NULL: the default one, or that of a tensor */
  bool requires_grad;
  bool says_grad; /* requires_grad stands in the options */
  bool is_strict; /* for an assignment: booleans into bool and nothing else;
                     a stack of tensors keeps its dtype */
} Make;

/* Push a handle with the value at `arg` as a tensor: number, boolean, nested
 * table, tensor (a copy).  Raises E_TYPE, E_SHAPE, E_RANK, E_RANGE, E_DTYPE,
 * E_MEMORY.  `arg` is absolute. */
Handle *table_to_tensor(lua_State *L, int arg, const Make *m);

#endif
