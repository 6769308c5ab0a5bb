/* text.h: tensors as text, and how that is set (API.md, section 12).
 *
 * border_tostring (border.h) lies here, too.
 * Must not know: how a text is laid out.
 */
#ifndef TENSUS_BORDER_TEXT_H
#define TENSUS_BORDER_TEXT_H

#include "border/border.h"

/* x:repr(): tostring(x), with the suffix at rank 0, too. */
int text_repr(lua_State *L);

/* ts.set_printoptions{..}, ts.get_printoptions(): of this state. */
int text_set_options(lua_State *L);
int text_get_options(lua_State *L);

#endif
