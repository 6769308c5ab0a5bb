/* walk.h: the nodes that a result depends on, in an order that respects it. */
#ifndef TENSUS_WALK_H
#define TENSUS_WALK_H

#include "tensor/node.h"

/* node[0 .. count): consumers before what they consume.  Holds no counts: the
 * roots keep the graph alive. */
typedef struct Walk {
  Node **node;
  size_t count, room;
} Walk;

/* All nodes that `roots` (NULL entries are skipped) depend on.  E_MEMORY. */
Status walk_open(Context *c, int count, Tensor *const *roots, Walk *w);
void walk_close(Context *c, Walk *w);

#endif
