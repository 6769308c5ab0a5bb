/* readings.h: one node, read as a pull and as a push: one case per kind. */
#ifndef TENSUS_READINGS_H
#define TENSUS_READINGS_H

#include "grad/tape.h"

/* The cotangent of input k from that of the node's first result (NULL where
 * only others have one: tape_cotangent): in the sizes, the dtype and on the
 * device of the input; borrowed.  NULL: nothing flows, or tape->status is not
 * OK. */
Tensor *node_pull(Tape *tape, int k, Tensor *g);

/* r[k] = the tangent of result k from those of the inputs (NULL: none), in its
 * sizes and dtype; borrowed.  NULL: none. */
void node_push(Tape *tape, Tensor *const *tangents, Tensor *r[MAX_RESULTS]);

/* Can anything flow to input k? */
bool node_flows(const Node *n, int k);

#endif
