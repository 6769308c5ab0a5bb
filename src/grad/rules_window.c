/* rules_window.c: see rules_window.h. */
#include "grad/rules_window.h"

#include <string.h>

static const Input *input_of(const Tape *t, int k) {
  return &t->node->input[k];
}

/* ---- the families, by axes ---- */

enum { MOST_AXES = 3 };

static const OpId convs[] = {OP_conv1d, OP_conv2d, OP_conv3d};
static const OpId transposed[] = {OP_conv_transpose1d, OP_conv_transpose2d,
                                  OP_conv_transpose3d};
static const OpId max_pools[] = {OP_max_pool1d, OP_max_pool2d, OP_max_pool3d};
static const OpId avg_pools[] = {OP_avg_pool1d, OP_avg_pool2d, OP_avg_pool3d};
static const OpId adaptive_pools[] = {
    OP_adaptive_avg_pool1d, OP_adaptive_avg_pool2d, OP_adaptive_avg_pool3d};

/* Axes of an op of the family; 0: it is none of it. */
static int axes_in(const OpId family[MOST_AXES], OpId op) {
  for (int i = 0; i < MOST_AXES; i++)
    if (family[i] == op) return i + 1;
  return 0;
}

/* ---- convolutions ---- */

static int conv_axes(const Tape *t) {
  const Node *n = t->node;
  if (n->op == OP_conv_weight) return n->arg[2].count;
  const int axes = axes_in(convs, n->op);
  return axes != 0 ? axes : axes_in(transposed, n->op);
}

static bool is_transposed(OpId op) { return axes_in(transposed, op) != 0; }

/* Options of a convolution: those of the node, for `op`.  A transposed one has
 * output_padding before dilation and groups. */
static void conv_options(const Tape *t, OpId op, Args *a) {
  const Arg *arg = t->node->arg;
  const int from = is_transposed(t->node->op), to = is_transposed(op);
  a->at[3] = arg[3];
  a->at[4] = arg[4];
  a->at[5 + to] = arg[5 + from];
  a->at[6 + to] = arg[6 + from];
}

/* conv_transpose(y, w), filled up to the sizes of x: strides may have left
 * rows and columns that no window reached. */
static Tensor *transposed_to(Tape *t, Tensor *y, Tensor *w, int x_rank,
                             const int64_t *x_size) {
  if (t->status != OK) return NULL;
  const int axes = conv_axes(t);
  const OpId op = transposed[axes - 1];
  Args a = tape_args(op);
  int64_t more[MOST_AXES];
  conv_options(t, op, &a);
  const Arg *pad = &a.at[4];
  for (int i = 0; i < axes; i++) {
    const int64_t kernel = w->shape.size[2 + i];
    const int64_t reach = a.at[6].sizes[i] * (kernel - 1) + 1;
    const int64_t result = y->shape.size[y->shape.rank - axes + i];
    const int64_t after = pad->sizes[pad->count - axes + i];
    more[i] = x_size[x_rank - axes + i] -
              ((result - 1) * a.at[3].sizes[i] - pad->sizes[i] - after + reach);
  }
  a.at[0] = arg_tensor(y);
  a.at[1] = arg_tensor(w);
  a.at[5] = arg_sizes(axes, more);
  return tape_call(t, op, &a);
}

static Tensor *convolved(Tape *t, Tensor *x, Tensor *w) {
  if (t->status != OK) return NULL;
  const OpId op = convs[conv_axes(t) - 1];
  Args a = tape_args(op);
  conv_options(t, op, &a);
  a.at[0] = arg_tensor(x);
  a.at[1] = arg_tensor(w);
  return tape_call(t, op, &a);
}

static Tensor *weight_of(Tape *t, Tensor *x, Tensor *y, const int64_t *size) {
  Args a = tape_args(OP_conv_weight);
  if (t->status != OK) return NULL;
  conv_options(t, OP_conv_weight, &a);
  a.at[0] = arg_tensor(x);
  a.at[1] = arg_tensor(y);
  a.at[2] = arg_sizes(conv_axes(t), size);
  return tape_call(t, OP_conv_weight, &a);
}

Tensor *conv_x(Tape *t, Tensor *g) {
  const Input *x = input_of(t, 0);
  return transposed_to(t, g, tape_saved(t, SAVED_Y), x->rank, x->size);
}

Tensor *conv_weight(Tape *t, Tensor *g) {
  return weight_of(t, tape_saved(t, SAVED_X), g, input_of(t, 1)->size + 2);
}

/* A sum over all axes but the channels. */
Tensor *conv_bias(Tape *t, Tensor *g) {
  int64_t dims[MAX_RANK];
  Tensor *r = NULL;
  int count = 0;
  if (t->status != OK) return NULL;
  const int channels = g->shape.rank - conv_axes(t) - 1;
  for (int i = 0; i < g->shape.rank; i++)
    if (i != channels) dims[count++] = i;
  const Status s = op_sum(t->c, g, count, dims, false, &r);
  return tape_own(t, s, r);
}

static Tensor *bias_push(Tape *t, Tensor *tb) {
  const Result *r = &t->node->result[0];
  if (t->status != OK) return NULL;
  const int64_t column[] = {tb->count, 1, 1, 1};
  tb = tape_reshape(t, tb, 1 + conv_axes(t), column);
  return tape_expand(t, tb, r->rank, r->size);
}

/* The convolution of the node, of other operands. */
static Tensor *conv_again(Tape *t, Tensor *x, Tensor *w) {
  const Result *out = &t->node->result[0];
  return is_transposed(t->node->op)
             ? transposed_to(t, x, w, out->rank, out->size)
             : convolved(t, x, w);
}

Tensor *conv_push(Tape *t, Tensor *tx, Tensor *ty, Tensor *tz) {
  Tensor *r = NULL;
  if (tx != NULL) r = conv_again(t, tx, tape_saved(t, SAVED_Y));
  if (ty != NULL)
    r = tape_plus(t, r, conv_again(t, tape_saved(t, SAVED_X), ty));
  return tz == NULL ? r : tape_plus(t, r, bias_push(t, tz));
}

Tensor *conv_t_x(Tape *t, Tensor *g) {
  return convolved(t, g, tape_saved(t, SAVED_Y));
}

Tensor *conv_t_weight(Tape *t, Tensor *g) {
  return weight_of(t, g, tape_saved(t, SAVED_X), input_of(t, 1)->size + 2);
}

Tensor *conv_w_x(Tape *t, Tensor *g) {
  const Input *x = input_of(t, 0);
  return transposed_to(t, tape_saved(t, SAVED_Y), g, x->rank, x->size);
}

Tensor *conv_w_y(Tape *t, Tensor *g) {
  return convolved(t, tape_saved(t, SAVED_X), g);
}

/* ---- greatest elements: positions in a plane, from 0 ---- */

/* x (.., the last axes) -> (.., all of them). */
static Tensor *planes(Tape *t, Tensor *x) {
  int64_t size[MAX_RANK];
  if (t->status != OK) return NULL;
  const int lead = x->shape.rank - axes_in(max_pools, t->node->op);
  memcpy(size, x->shape.size, sizeof size);
  for (int i = lead + 1; i < x->shape.rank; i++)
    size[lead] *= x->shape.size[i];
  return tape_reshape(t, x, lead + 1, size);
}

/* The pool's positions as the gathering rows count: from the base. */
static Tensor *positions(Tape *t) {
  Tensor *at = tape_saved(t, SAVED_H), *r = NULL;
  if (t->status != OK) return NULL;
  Args a = tape_args(OP_add);
  a.at[0] = arg_tensor(at);
  a.at[1] = arg_integer(t->c->failure.base);
  const Status s = op_call(t->c, OP_add, &a, &r);
  return planes(t, tape_own(t, s, r));
}

Tensor *pool_back(Tape *t, Tensor *g) {
  const Input *in = input_of(t, 0);
  Args a = tape_args(OP_scatter_add);
  a.at[0] = arg_tensor(planes(t, tape_zeros(t, in)));
  a.at[1] = arg_integer(-1);
  a.at[2] = arg_tensor(positions(t));
  a.at[3] = arg_tensor(planes(t, g));
  return tape_reshape(t, tape_call(t, OP_scatter_add, &a), in->rank, in->size);
}

Tensor *pool_push(Tape *t, Tensor *tx) {
  const Result *r = &t->node->result[0];
  Args a = tape_args(OP_gather);
  a.at[0] = arg_tensor(planes(t, tx));
  a.at[1] = arg_integer(-1);
  a.at[2] = arg_tensor(positions(t));
  return tape_reshape(t, tape_call(t, OP_gather, &a), r->rank, r->size);
}

/* ---- means ---- */

/* The sizes of the first input's last axes. */
static Arg last_sizes(const Tape *t, int axes) {
  const Input *x = input_of(t, 0);
  return arg_sizes(axes, x->size + x->rank - axes);
}

Tensor *avg_pool_back(Tape *t, Tensor *g) {
  Args a = tape_args(OP_avg_pool_add);
  a.at[0] = arg_tensor(g);
  a.at[1] = last_sizes(t, axes_in(avg_pools, t->node->op));
  for (int k = 1; k < 6; k++) a.at[k + 1] = t->node->arg[k];
  return tape_call(t, OP_avg_pool_add, &a);
}

Tensor *avg_add_back(Tape *t, Tensor *g) {
  const OpId op = avg_pools[t->node->arg[1].count - 1];
  Args a = tape_args(op);
  a.at[0] = arg_tensor(g);
  for (int k = 1; k < 6; k++) a.at[k] = t->node->arg[k + 1];
  return tape_call(t, op, &a);
}

Tensor *adaptive_back(Tape *t, Tensor *g) {
  Args a = tape_args(OP_adaptive_pool_add);
  a.at[0] = arg_tensor(g);
  a.at[1] = last_sizes(t, axes_in(adaptive_pools, t->node->op));
  return tape_call(t, OP_adaptive_pool_add, &a);
}

Tensor *adaptive_add_back(Tape *t, Tensor *g) {
  const int axes = t->node->arg[1].count;
  const OpId op = adaptive_pools[axes - 1];
  Args a = tape_args(op);
  a.at[0] = arg_tensor(g);
  a.at[1] = last_sizes(t, axes);
  return tape_call(t, op, &a);
}

/* ---- windows as columns ---- */

/* Kernel, stride, padding and dilation stand at 1 .. 4 of im2col, and one
 * further in col2im. */
Tensor *im2col_back(Tape *t, Tensor *g) {
  Args a = tape_args(OP_col2im);
  a.at[0] = arg_tensor(g);
  a.at[1] = last_sizes(t, 2);
  for (int k = 1; k < 5; k++) a.at[k + 1] = t->node->arg[k];
  return tape_call(t, OP_col2im, &a);
}

Tensor *col2im_back(Tape *t, Tensor *g) {
  Args a = tape_args(OP_im2col);
  a.at[0] = arg_tensor(g);
  for (int k = 1; k < 5; k++) a.at[k] = t->node->arg[k + 1];
  return tape_call(t, OP_im2col, &a);
}
