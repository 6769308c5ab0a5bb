/* node.h: the graph as data.  Ops write it, grad reads it.
 *
 * One uniform struct for every op; a leaf is a node too and carries `.grad`.
 * Must not know: what an op computes, what its derivative is.
 */
#ifndef TENSUS_NODE_H
#define TENSUS_NODE_H

#include "tensor/tensor.h"

/* ---- arguments of an op, beside tensors ---- */

typedef enum ArgKind {
  ARG_NONE,
  ARG_TENSOR,
  ARG_LIST,
  ARG_INTEGER, /* integer: INTEGER, DIM, POSITION, FLAG, CHOICE, DTYPE; and a
                  number of integer subtype */
  ARG_NUMBER,  /* number: a float */
  ARG_SIZES,   /* sizes: SHAPE, DIMS, PAIR; dims and positions count from 0 */
  ARG_TEXT,
  ARG_DEVICE,
  ARG_GENERATOR
} ArgKind;

/* Tensors, lists, texts, devices and generators are borrowed for the call. */
typedef struct Arg {
  ArgKind kind;
  int count; /* of a list, of sizes */
  union {
    Tensor *tensor;
    Tensor *const *list;
    int64_t integer;
    double number;
    int64_t sizes[MAX_RANK];
    const char *text;
    Device *device;
    Philox *generator;
  };
} Arg;

/* In the order of the row's params; only the first row->params mean
 * anything. */
typedef struct Args {
  Arg at[MAX_PARAMS];
} Args;

/* ---- nodes ---- */

/* What an op knows of an input after it has run. */
typedef struct Input {
  Node *node; /* shared; NULL: untracked */
  uint8_t result;
  uint8_t rank;
  bool is_tensor; /* false: a number, or left out */
  Dtype dtype;
  Device *device;
  const int64_t *size; /* behind the node */
} Input;

/* A value that a pull reads; untracked alias, owned. */
typedef struct Saved {
  Tensor *tensor;   /* NULL: nothing was saved */
  uint32_t version; /* of the storage, then */
} Saved;

typedef struct Result {
  uint8_t rank;
  Dtype dtype;
  Device *device;
  const int64_t *size;
  Tensor *cotangent; /* while a backward runs */
} Result;

/* refs == tensors made by it + inputs of nodes + worklists that hold it
 * saved: x, y, z (inputs), then r, r2, then the hidden results
 * grad: of a leaf, or of a result that retains its gradient; never tracked */
struct Node {
  int refs;
  OpId op;
  uint8_t inputs, results;
  bool is_freed;      /* backward has used the saved values up */
  bool retains_grad;
  bool is_seen;       /* bookkeeping of one backward */
  int waiting;        /* consumers that have not pulled yet */
  int line;
  const char *source; /* interned in the context; "" when unknown */
  uint64_t sequence;
  Node *next;         /* worklists, and the chain of the dead */
  Tensor *grad;
  Input *input;
  Saved saved[3 + MAX_RESULTS + 2];
  Result result[MAX_RESULTS];
  Args *args;         /* numbers and sizes of the call; tensors are ARG_NONE
                         with `count` telling that one was there; or NULL */
  size_t bytes;       /* of the whole block */
};

enum { SAVED_X, SAVED_Y, SAVED_Z, SAVED_R, SAVED_R2, SAVED_H };

/* A leaf: the caller's, refs 1.  E_MEMORY. */
Status node_leaf(Context *c, const Tensor *t, Node **n);

/* The record of a call of `op` with inputs and results as they are; saves
 * what the row says.  `hidden`: its hidden results.  On success every result
 * is tracked; on error nothing has changed. */
Status node_record(Context *c, OpId op, const Args *a, Tensor *const *inputs,
                   int count, Tensor *const *results, int result_count,
                   Tensor *const *hidden);

INLINE Node *node_share(Node *n) {
  n->refs++;
  return n;
}

/* Drop one count; NULL is fine.  Frees what becomes unreachable, at any
 * depth, without recursion or allocation. */
void node_release(Context *c, Node *n);

/* Give saved values back; the node stays. */
void node_free_saved(Context *c, Node *n);

/* Name of the op as scripts write it: "mul". */
const char *node_name(const Node *n);

#endif
