/* tape.h: where rules are read.
 *
 * A Tape owns the temporaries of one rule and remembers the first failure, so
 * that expressions nest without checks: every function takes and gives
 * borrowed tensors, and NULL once tape->status is not OK.
 * Must not know: the order in which nodes are visited.
 */
#ifndef TENSUS_TAPE_H
#define TENSUS_TAPE_H

#include "ops/ops.h"

enum { TAPE_ROOM = 64 }; /* temporaries before the list must grow */

/* is_tracked: rules are recorded themselves (create_graph, push), so operands
 * keep their place in the graph; else fused kernels may be used.
 * which: the input that a pull is for.
 * base: what the caller counts from; rules count as the node's call did, whose
 * positions are saved. */
typedef struct Tape {
  Context *c;
  Status status;
  Node *node;
  bool is_tracked;
  int which, base;
  Tensor *also[3]; /* pulls that a fused kernel made along with another; in a
                      push, tangents of the results after the first */
  int count, room;
  Tensor **made; /* owned */
  Tensor *few[TAPE_ROOM];
} Tape;

void tape_open(Tape *t, Context *c, Node *n, bool is_tracked);
void tape_close(Tape *t);

/* Give a result away: a new reference; NULL with tape->status on failure. */
Tensor *tape_keep(Tape *t, Tensor *x);

/* Hand a fresh reference (or NULL on failure) to the tape. */
Tensor *tape_own(Tape *t, Status s, Tensor *x);

/* Operand k of the node as a rule reads it: the saved value (version checked)
 * or the number; with its place in the graph when tracked. */
Tensor *tape_operand(Tape *t, int k);
/* A saved value by its place (SAVED_R ..). */
Tensor *tape_saved(Tape *t, int place);

/* The cotangent of result k; NULL: nothing came back to it. */
Tensor *tape_cotangent(Tape *t, int k);

/* A number in the dtype and on the device of the node's result. */
Tensor *tape_number(Tape *t, double value);
Tensor *tape_zeros(Tape *t, const Input *like);

Tensor *tape_unary(Tape *t, OpId op, Tensor *x);
Tensor *tape_binary(Tape *t, OpId op, Tensor *x, Tensor *y);
Tensor *tape_ternary(Tape *t, OpId op, Tensor *x, Tensor *y, Tensor *z);
Tensor *tape_call(Tape *t, OpId op, const Args *a);
Tensor *tape_reshape(Tape *t, Tensor *x, int rank, const int64_t *size);
Tensor *tape_expand(Tape *t, Tensor *x, int rank, const int64_t *size);
Tensor *tape_sum_to(Tape *t, Tensor *x, int rank, const int64_t *size);
Tensor *tape_cast(Tape *t, Tensor *x, Dtype dtype);
/* Sum over the axes of a node's dims argument, or over one axis; keeps them. */
Tensor *tape_sum_axes(Tape *t, Tensor *x, int count, const int64_t *dims);
Tensor *tape_scale(Tape *t, Tensor *x, double factor);

/* x + y; either may be NULL and is then left out. */
Tensor *tape_plus(Tape *t, Tensor *x, Tensor *y);

/* Args with every param of the row left out. */
Args tape_args(OpId op);

#endif
