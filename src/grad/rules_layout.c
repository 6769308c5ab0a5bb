/* rules_layout.c: see rules_layout.h. */
#include "grad/rules_layout.h"

static int64_t integer_at(const Tape *t, int k) {
  return args_integer(t->node->op, (const Args *)t->node->arg, k);
}

/* ---- turned axes ---- */

Tensor *itself_back(Tape *t, Tensor *g) {
  const Node *n = t->node;
  Args a = tape_args(n->op);
  for (int k = 1; k < op_rows[n->op].params && n->arg != NULL; k++)
    a.at[k] = n->arg[k];
  a.at[0] = arg_tensor(g);
  return tape_call(t, n->op, &a);
}

Tensor *roll_back(Tape *t, Tensor *g) {
  const Arg *shifts = &t->node->arg[1];
  const bool is_one = shifts->kind == ARG_INTEGER;
  int64_t back[MAX_RANK];
  Args a = tape_args(OP_roll);
  a.at[0] = arg_tensor(g);
  a.at[1] = *shifts;
  a.at[2] = t->node->arg[2];
  if (is_one) {
    a.at[1].integer = -shifts->integer;
  } else {
    for (int i = 0; i < shifts->count; i++) back[i] = -shifts->wholes[i];
    a.at[1].wholes = back;
  }
  return tape_call(t, OP_roll, &a);
}

/* ---- borders ---- */

/* pad or pad_fold with the node's widths, `sign` times, and its mode. */
static Tensor *pad_again(Tape *t, OpId op, Tensor *x, int sign) {
  const Arg *widths = &t->node->arg[1];
  int64_t own[2 * MAX_RANK];
  Args a = tape_args(op);
  for (int i = 0; i < widths->count; i++) own[i] = sign * widths->wholes[i];
  a.at[0] = arg_tensor(x);
  a.at[1] = *widths;
  a.at[1].wholes = own;
  a.at[2] = t->node->arg[2];
  return tape_call(t, op, &a);
}

/* A constant border is cut off again; what was cropped gets zeros. */
Tensor *pad_back(Tape *t, Tensor *g) {
  const bool is_constant = integer_at(t, 2) == 0;
  return is_constant ? pad_again(t, OP_pad, g, -1)
                     : pad_again(t, OP_pad_fold, g, 1);
}

/* The value of the border does not depend on the operand. */
Tensor *pad_push(Tape *t, Tensor *tx) { return pad_again(t, OP_pad, tx, 1); }

Tensor *pad_fold_back(Tape *t, Tensor *g) {
  return pad_again(t, OP_pad, g, 1);
}

/* ---- windows ---- */

Tensor *unfold_back(Tape *t, Tensor *g) {
  const Input *x = &t->node->input[0];
  Args a = tape_args(OP_unfold_add);
  a.at[0] = arg_tensor(g);
  a.at[1] = arg_sizes(x->rank, x->size);
  for (int k = 1; k <= 3; k++) a.at[k + 1] = arg_integer(integer_at(t, k));
  return tape_call(t, OP_unfold_add, &a);
}

Tensor *unfold_add_back(Tape *t, Tensor *g) {
  Args a = tape_args(OP_unfold);
  a.at[0] = arg_tensor(g);
  for (int k = 1; k <= 3; k++) a.at[k] = arg_integer(integer_at(t, k + 1));
  return tape_call(t, OP_unfold, &a);
}

/* ---- free strides ---- */

/* x at places of `size` elements in a row: sizes are those of x. */
static Tensor *lay(Tape *t, Tensor *x, int64_t size, const Arg *strides,
                   int64_t offset) {
  Args a = tape_args(OP_as_strided_add);
  a.at[0] = arg_tensor(x);
  a.at[1] = arg_sizes(1, &size);
  a.at[2] = *strides;
  a.at[3] = arg_integer(offset);
  return tape_call(t, OP_as_strided_add, &a);
}

static Tensor *see(Tape *t, Tensor *x, int rank, const int64_t *size,
                   const Arg *strides, int64_t offset) {
  x = tape_unary(t, OP_contiguous, x);
  if (x == NULL) return NULL;
  Args a = tape_args(OP_as_strided);
  a.at[0] = arg_tensor(x);
  a.at[1] = arg_sizes(rank, size);
  a.at[2] = *strides;
  a.at[3] = arg_integer(x->offset + offset);
  return tape_call(t, OP_as_strided, &a);
}

/* How the operand lay; its values are not read, so they may have changed. */
typedef struct Lie {
  int64_t storage; /* elements */
  int64_t offset;
  Arg strides;
} Lie;

static Lie lie_of(const Tape *t) {
  const Tensor *x = t->node->saved[SAVED_X].tensor;
  return (Lie){(int64_t)(x->storage->bytes / dtype_bytes(x->dtype)), x->offset,
               arg_sizes(x->shape.rank, x->shape.stride)};
}

/* Through the whole storage: what self does not hold gets lost. */
Tensor *as_strided_back(Tape *t, Tensor *g) {
  const Input *x = &t->node->input[0];
  const Lie lie = lie_of(t);
  Tensor *all = lay(t, g, lie.storage, &t->node->arg[2], integer_at(t, 3));
  return see(t, all, x->rank, x->size, &lie.strides, lie.offset);
}

Tensor *as_strided_push(Tape *t, Tensor *tx) {
  const Arg *size = &t->node->arg[1];
  const Lie lie = lie_of(t);
  Tensor *all = lay(t, tx, lie.storage, &lie.strides, lie.offset);
  return see(t, all, size->count, size->sizes, &t->node->arg[2],
             integer_at(t, 3));
}

Tensor *as_strided_add_back(Tape *t, Tensor *g) {
  const Input *x = &t->node->input[0];
  return see(t, g, x->rank, x->size, &t->node->arg[2], integer_at(t, 3));
}
