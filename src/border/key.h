/* key.h: what stands in brackets, read into items.
 *
 * Must not know: the tensor that is indexed.
 */
#ifndef TENSUS_BORDER_KEY_H
#define TENSUS_BORDER_KEY_H

#include "border/border.h"
#include "ops/pick.h"

enum { MAX_ITEMS = 2 * MAX_RANK + 1 }; /* every axis, a new one before each */

typedef enum ItemKind {
  ITEM_POSITION, /* first */
  ITEM_RANGE,    /* first to last, both included; a missing end is an end */
  ITEM_WHOLE,
  ITEM_ELLIPSIS,
  ITEM_NEW,
  ITEM_PICK /* tensor */
} ItemKind;

typedef struct Item {
  ItemKind kind;
  bool has_first, has_last;
  int64_t first, last, step;
  Tensor *tensor;
} Item;

typedef struct Index {
  int count;
  bool is_alone; /* x[5], not x[{5}]: somebody may be walking */
  Item item[MAX_ITEMS];
} Index;

/* Read the key at `at`: a number, a tensor, a table of items, a slice string.
 * Pushes nothing.  Raises E_TYPE, E_INDEX, E_TOO_MANY, E_DTYPE, E_MASK. */
void key_read(lua_State *L, int at, Index *x);

/* Add the position at `at`, a whole number from 1 on or from the end. */
void key_add_position(lua_State *L, int at, Index *x);

/* Does the value at `at` stand for a whole axis: {}, ":" or ts.all? */
bool key_is_whole(lua_State *L, int at);

#endif
