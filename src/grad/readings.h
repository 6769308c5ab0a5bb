/* readings.h: one node, read as a pull and as a push: one case per kind. */
#ifndef TENSUS_READINGS_H
#define TENSUS_READINGS_H

#include "grad/tape.h"

/* The cotangent of input k from that of the node's result: in the sizes, the
 * dtype and on the device of the input; borrowed.  NULL: nothing flows, or
 * tape->status is not OK. */
Tensor *node_pull(Tape *tape, int k, Tensor *g);

/* The tangent of result 0 from those of the inputs (NULL: none), in its sizes
 * and dtype; borrowed. */
Tensor *node_push(Tape *tape, Tensor *const *tangents);

/* Can anything flow to input k? */
bool node_flows(const Node *n, int k);

#endif
