/* rules_position.c: see rules_position.h.
 *
 * Who won is found by the row itself: it writes the numbers of the values in
 * place of the values, and who reads his own number is there.
 */
#include "grad/rules_position.h"

#include "grad/transpose.h"

/* op(x, dim, index, source) with the node's dim and index. */
static Tensor *at_index(Tape *t, OpId op, Tensor *x, Arg source) {
  Args a = tape_args(op);
  a.at[0] = arg_tensor(x);
  a.at[1] = t->node->arg[1];
  a.at[2] = arg_tensor(tape_saved(t, SAVED_Y));
  if (source.kind != ARG_NONE) a.at[3] = source;
  return tape_call(t, op, &a);
}

static Tensor *choose(Tape *t, Tensor *where, Tensor *x) {
  return tape_ternary(t, OP_where, where, x, tape_number(t, 0));
}

/* ---- a box of positions ---- */

static Tensor *assigned(Tape *t, Tensor *x, Tensor *source) {
  Args a = tape_args(OP_assign);
  a.at[0] = arg_tensor(x);
  a.at[1] = arg_tensor(source);
  for (int k = 2; k < 5; k++) a.at[k] = t->node->arg[k];
  return tape_call(t, OP_assign, &a);
}

Tensor *assign_x(Tape *t, Tensor *g) {
  return assigned(t, g, tape_number(t, 0));
}

/* g in the box; the caller sums over what was stretched. */
Tensor *assign_source(Tape *t, Tensor *g) {
  const Arg *box = &t->node->arg[2];
  for (int i = 0; i < box[0].count && t->status == OK; i++) {
    const int64_t first = box[0].sizes[i], count = box[1].sizes[i];
    const int64_t step = box[2].sizes[i];
    if (count == 0) return tape_zeros(t, &t->node->input[1]);
    if (count == g->shape.size[i]) continue;
    g = slice_at(t, g, i, first, first + (count - 1) * step, step);
  }
  return g;
}

Tensor *assign_push(Tape *t, Tensor *tx, Tensor *ty) {
  if (tx == NULL) tx = tape_zeros(t, &t->node->input[0]);
  if (ty == NULL) ty = tape_number(t, 0);
  return assigned(t, tx, ty);
}

/* ---- who won ---- */

/* 1, 2, .. in the sizes of `like`. */
static Tensor *numbers(Tape *t, const Input *like) {
  int64_t count = 1;
  for (int i = 0; i < like->rank; i++) count *= like->size[i];
  Args a = tape_args(OP_arange);
  a.at[0] = arg_integer(1);
  a.at[1] = arg_integer(count);
  a.at[4].kind = ARG_DEVICE;
  a.at[4].device = t->node->input[0].device;
  return tape_reshape(t, tape_call(t, OP_arange, &a), like->rank, like->size);
}

static Tensor *blank(Tape *t, int rank, const int64_t *size) {
  Tensor *r = NULL;
  if (t->status != OK) return NULL;
  const Status s = op_full(t->c, t->node->input[0].device, DTYPE_I64, rank,
                           size, 0, &r);
  return tape_own(t, s, r);
}

/* Which elements of the index of a scatter had the last word. */
static Tensor *winners(Tape *t) {
  const Input *self = &t->node->input[0];
  Tensor *mine = numbers(t, &t->node->input[1]);
  Tensor *board = blank(t, self->rank, self->size);
  Tensor *written = at_index(t, OP_scatter, board, arg_tensor(mine));
  Tensor *seen = at_index(t, OP_gather, written, arg_tensor(NULL));
  return tape_binary(t, OP_eq, seen, mine);
}

static int axis_of(const Tape *t) {
  const int64_t dim = t->node->arg[1].integer;
  return (int)(dim < 0 ? dim + t->node->input[0].rank : dim);
}

/* The same of a vector of positions: (1, .., n, .., 1). */
static Tensor *vector_winners(Tape *t) {
  const Input *self = &t->node->input[0];
  const int dim = axis_of(t);
  int64_t size[MAX_RANK];
  for (int i = 0; i < self->rank; i++) size[i] = 1;
  size[dim] = t->node->input[2].size[dim];
  const Input vector = {.rank = 1, .size = &size[dim]};
  Tensor *mine = numbers(t, &vector);
  Args a = tape_args(OP_index_copy);
  a.at[0] = arg_tensor(blank(t, 1, &self->size[dim]));
  a.at[1] = arg_integer(0);
  a.at[2] = arg_tensor(tape_saved(t, SAVED_Y));
  a.at[3] = arg_tensor(mine);
  a.at[0] = arg_tensor(tape_call(t, OP_index_copy, &a));
  Tensor *seen = tape_call(t, OP_index_select, &a);
  return tape_reshape(t, tape_binary(t, OP_eq, seen, mine), self->rank, size);
}

/* ---- the rules ---- */

Tensor *overwrite_x(Tape *t, OpId op, Tensor *g) {
  return at_index(t, op, g, arg_integer(0));
}

Tensor *scatter_source(Tape *t, Tensor *g) {
  const Input *source = &t->node->input[2];
  Tensor *read = at_index(t, OP_gather, g, arg_tensor(NULL));
  Tensor *r = choose(t, winners(t), read);
  for (int i = 0; i < source->rank && t->status == OK; i++)
    r = fit_axis(t, r, i, source->size[i]); /* the rest was not read */
  return r;
}

Tensor *index_copy_source(Tape *t, Tensor *g) {
  Tensor *read = at_index(t, OP_index_select, g, arg_tensor(NULL));
  return choose(t, vector_winners(t), read);
}

Tensor *overwrite_push(Tape *t, OpId op, Tensor *tx, Tensor *tz) {
  const Input *source = &t->node->input[2];
  if (tx == NULL) tx = tape_zeros(t, &t->node->input[0]);
  if (tz == NULL && source->is_tensor) tz = tape_zeros(t, source);
  return at_index(t, op, tx, tz != NULL ? arg_tensor(tz) : arg_integer(0));
}

/* ---- masks ---- */

Tensor *masked_select_back(Tape *t, Tensor *g) {
  const Input *self = &t->node->input[0];
  Args a = tape_args(OP_masked_scatter);
  a.at[1] = arg_tensor(tape_saved(t, SAVED_Y));
  if (t->status != OK) return NULL;
  Shape space = shape_of(self->rank, self->size);
  int axis = 0;
  shape_broadcast(&space, &a.at[1].tensor->shape, &axis);
  a.at[0] = arg_tensor(tape_zeros(
      t, &(Input){.rank = (uint8_t)space.rank, .size = space.size,
                  .device = self->device}));
  a.at[2] = arg_tensor(g);
  return tape_call(t, OP_masked_scatter, &a);
}

Tensor *masked_scatter_x(Tape *t, Tensor *g) {
  Tensor *mask = tape_saved(t, SAVED_Y);
  return tape_ternary(t, OP_where, mask, tape_number(t, 0), g);
}

/* The first elements of the source were read, in order. */
Tensor *masked_scatter_source(Tape *t, Tensor *g) {
  const Input *source = &t->node->input[2];
  int64_t count = 1;
  for (int i = 0; i < source->rank; i++) count *= source->size[i];
  Tensor *mask = tape_saved(t, SAVED_Y);
  Tensor *read = tape_binary(t, OP_masked_select, g, mask);
  return tape_reshape(t, fit_axis(t, read, 0, count), source->rank,
                      source->size);
}

Tensor *masked_scatter_push(Tape *t, Tensor *tx, Tensor *tz) {
  if (tx == NULL) tx = tape_zeros(t, &t->node->input[0]);
  if (tz == NULL) tz = tape_zeros(t, &t->node->input[2]);
  return tape_ternary(t, OP_masked_scatter, tx, tape_saved(t, SAVED_Y), tz);
}
