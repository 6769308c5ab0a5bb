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
  ARG_SIZES,   /* sizes: SHAPE, DIMS, TUPLE; dims and positions count from 0 */
  ARG_WHOLES,  /* wholes: a table of whole numbers, as long as it likes */
  ARG_TEXT,
  ARG_DEVICE,
  ARG_GENERATOR
} ArgKind;

/* Tensors, lists, wholes, texts, devices and generators are borrowed for the
 * call. */
typedef struct Arg {
  ArgKind kind;
  int count; /* of a list, of sizes, of wholes */
  union {
    Tensor *tensor;
    Tensor *const *list;
    int64_t integer;
    double number;
    int64_t sizes[MAX_RANK];
    const int64_t *wholes;
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

/* Places of saved values: inputs, results, hidden results. */
enum {
  SAVED_X,
  SAVED_Y,
  SAVED_Z,
  SAVED_R,
  SAVED_R2,
  SAVED_H,
  SAVED_R3 = SAVED_H, /* a row with three results hides none */
  SAVED_H2,
  SAVED_COUNT
};

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
  int inputs;
  uint8_t results;
  uint8_t base;       /* of the positions in index tensors when it ran */
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
  Saved saved[SAVED_COUNT];
  Result result[MAX_RESULTS];
  const Arg *arg;     /* the call without its tensors (those are ARG_NONE), in
                         the order of params; NULL when nothing else was given */
  size_t bytes;       /* of the whole block */
};

/* A leaf: the caller's, refs 1.  E_MEMORY. */
Status node_leaf(Context *c, const Tensor *t, Node **n);

/* A call as it ran: its tensors apart from the rest.  inputs[i] NULL: a number
 * or left out. */
typedef struct Call {
  OpId op;
  const Args *args;
  int inputs, results, hidden;
  Tensor *const *input;
  Tensor *const *result; /* NULL entries were not given */
  Tensor *const *hide;
} Call;

/* The record of a call: saves what the row says, from the values as they are
 * now.  *n is the caller's, refs 1; nothing points at it yet.  E_MEMORY. */
Status node_record(Context *c, const Call *call, Node **n);

/* Make t result number k of n; drops what t was before. */
void node_attach(Context *c, Node *n, Tensor *t, int k);

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
