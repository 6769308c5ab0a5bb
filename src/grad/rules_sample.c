/* rules_sample.c: see rules_sample.h. */
#include "grad/rules_sample.h"

#include <string.h>

/* Where the options of the two rows begin, and the order of coordinate 0. */
enum { SAMPLE_MODE = 2, SAMPLE_ADD_MODE = 3, OPTIONS = 6, ORDER = 3 };

static int mode_place(OpId op) {
  return op == OP_grid_sample ? SAMPLE_MODE : SAMPLE_ADD_MODE;
}

/* S or A with the node's options, `axis` (-1: none) one order higher. */
static Tensor *sampling(Tape *t, OpId op, Tensor *x, Tensor *grid,
                        const Arg *size, int axis) {
  Args a = tape_args(op);
  const OpId node_op = t->node->op;
  const int from = mode_place(node_op), to = mode_place(op);
  a.at[0] = arg_tensor(x);
  a.at[1] = arg_tensor(grid);
  if (op == OP_grid_sample_add) a.at[2] = *size;
  for (int k = 0; k < OPTIONS; k++) a.at[to + k] = t->node->arg[from + k];
  if (axis >= 0) {
    const int64_t order =
        args_integer(node_op, (const Args *)t->node->arg, from + ORDER + axis);
    a.at[to + ORDER + axis] = arg_integer(order + 1);
  }
  return tape_call(t, op, &a);
}

static Arg image_size(const Input *x) { return arg_sizes(x->rank, x->size); }

/* Sum over the channels of two images of one shape. */
static Tensor *over_channels(Tape *t, Tensor *x, Tensor *y) {
  const int64_t channel = 1;
  Tensor *product = tape_binary(t, OP_mul, x, y);
  Args a = tape_args(OP_sum);
  a.at[0] = arg_tensor(product);
  a.at[1] = arg_sizes(1, &channel);
  return tape_call(t, OP_sum, &a);
}

/* One tensor {n, ..} for each coordinate, as {n, .., axes}. */
static Tensor *as_grid(Tape *t, int axes, Tensor **slopes) {
  Args a = tape_args(OP_stack);
  if (t->status != OK) return NULL;
  a.at[0].kind = ARG_LIST;
  a.at[0].count = axes;
  a.at[0].list = slopes;
  a.at[1] = arg_integer(-1);
  return tape_call(t, OP_stack, &a);
}

/* The coordinate `axis` of a grid's tangent as {n, 1, ..}. */
static Tensor *coordinate(Tape *t, Tensor *tgrid, int axis) {
  Args a = tape_args(OP_select);
  a.at[0] = arg_tensor(tgrid);
  a.at[1] = arg_integer(-1);
  a.at[2] = arg_integer(axis);
  Tensor *one = tape_call(t, OP_select, &a);
  Args b = tape_args(OP_unsqueeze);
  b.at[0] = arg_tensor(one);
  b.at[1] = arg_integer(1);
  return tape_call(t, OP_unsqueeze, &b);
}

static int axes_of(const Tape *t) { return t->node->result[0].rank - 2; }

/* What a change of the grid does through the image x with weight y: the sum
 * over channels of y dS(x, u), for each coordinate. */
static Tensor *grid_slope(Tape *t, Tensor *x, Tensor *y) {
  Tensor *grid = tape_operand(t, 1), *slopes[3] = {NULL};
  const int axes = t->node->input[0].rank - 2;
  for (int i = 0; i < axes; i++) {
    Tensor *change = sampling(t, OP_grid_sample, x, grid, NULL, i);
    slopes[i] = over_channels(t, y, change);
  }
  return as_grid(t, axes, slopes);
}

Tensor *grid_sample_x(Tape *t, Tensor *g) {
  const Arg size = image_size(&t->node->input[0]);
  Tensor *grid = tape_operand(t, 1);
  return sampling(t, OP_grid_sample_add, g, grid, &size, -1);
}

Tensor *grid_sample_grid(Tape *t, Tensor *g) {
  Tensor *x = tape_operand(t, 0);
  return grid_slope(t, x, g);
}

Tensor *grid_sample_push(Tape *t, Tensor *tx, Tensor *tgrid) {
  Tensor *grid = tape_operand(t, 1), *sum = NULL;
  if (tx != NULL) sum = sampling(t, OP_grid_sample, tx, grid, NULL, -1);
  if (tgrid == NULL) return sum;
  Tensor *x = tape_operand(t, 0);
  for (int i = 0; i < axes_of(t); i++) {
    Tensor *change = sampling(t, OP_grid_sample, x, grid, NULL, i);
    Tensor *du = coordinate(t, tgrid, i);
    sum = tape_plus(t, sum, tape_binary(t, OP_mul, change, du));
  }
  return sum;
}

Tensor *sample_add_g(Tape *t, Tensor *g) {
  Tensor *grid = tape_operand(t, 1);
  return sampling(t, OP_grid_sample, g, grid, NULL, -1);
}

Tensor *sample_add_grid(Tape *t, Tensor *g) {
  Tensor *self = tape_operand(t, 0);
  return grid_slope(t, g, self);
}

Tensor *sample_add_push(Tape *t, Tensor *tself, Tensor *tgrid) {
  const Arg size = t->node->arg[2];
  Tensor *grid = tape_operand(t, 1), *sum = NULL;
  if (tself != NULL)
    sum = sampling(t, OP_grid_sample_add, tself, grid, &size, -1);
  if (tgrid == NULL) return sum;
  Tensor *self = tape_operand(t, 0);
  for (int i = 0; i < axes_of(t); i++) {
    Tensor *du = coordinate(t, tgrid, i);
    Tensor *moved = tape_binary(t, OP_mul, self, du);
    sum = tape_plus(
        t, sum, sampling(t, OP_grid_sample_add, moved, grid, &size, i));
  }
  return sum;
}

/* ---- another raster ---- */

Tensor *interpolate_back(Tape *t, Tensor *g) {
  Args a = tape_args(OP_interpolate_add);
  a.at[0] = arg_tensor(g);
  a.at[1] = image_size(&t->node->input[0]);
  a.at[2] = t->node->arg[3];
  a.at[3] = t->node->arg[4];
  return tape_call(t, OP_interpolate_add, &a);
}

Tensor *interpolate_add_back(Tape *t, Tensor *g) {
  const Input *x = &t->node->input[0];
  Args a = tape_args(OP_interpolate);
  a.at[0] = arg_tensor(g);
  a.at[1] = arg_sizes(x->rank - 2, x->size + 2);
  a.at[3] = t->node->arg[2];
  a.at[4] = t->node->arg[3];
  return tape_call(t, OP_interpolate, &a);
}
