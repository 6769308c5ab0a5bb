/* transpose.c: the op that pulls a linear op back is an op, too; here its
 * arguments are made from those of the call.
 */
#include "grad/transpose.h"

#include <string.h>

static const Input *input_of(const Tape *t, int k) {
  return &t->node->input[k];
}

static int64_t integer_at(const Tape *t, int k) {
  return args_integer(t->node->op, (const Args *)t->node->arg, k);
}

/* ---- views ---- */

Tensor *reshape_back(Tape *t, Tensor *g) {
  const Input *x = input_of(t, 0);
  return tape_reshape(t, g, x->rank, x->size);
}

Tensor *permute_back(Tape *t, Tensor *g) {
  const Arg *dims = &t->node->arg[1];
  int64_t inverse[MAX_RANK];
  Tensor *r = NULL;
  if (t->status != OK) return NULL;
  for (int i = 0; i < dims->count; i++) inverse[dims->sizes[i]] = i;
  const Status s = op_permute(t->c, g, dims->count, inverse, &r);
  return tape_own(t, s, r);
}

Tensor *transpose_back(Tape *t, Tensor *g) {
  Tensor *r = NULL;
  if (t->status != OK) return NULL;
  const Status s = op_transpose(t->c, g, (int)integer_at(t, 1),
                                (int)integer_at(t, 2), &r);
  return tape_own(t, s, r);
}

Tensor *sum_back(Tape *t, Tensor *g, int k) {
  const Input *x = input_of(t, k);
  return tape_sum_to(t, g, x->rank, x->size);
}

/* zeros of `size` with x on positions first, first + step, .. of dim. */
static Tensor *place(Tape *t, Tensor *x, int rank, const int64_t *size,
                     int dim, int64_t first, int64_t step) {
  Args a = tape_args(OP_place);
  a.at[0] = arg_tensor(x);
  a.at[1] = arg_sizes(rank, size);
  a.at[2] = arg_integer(dim);
  a.at[3] = arg_integer(first);
  a.at[4] = arg_integer(step);
  return tape_call(t, OP_place, &a);
}

/* select, narrow and slice took part of an axis. */
Tensor *place_back(Tape *t, Tensor *g) {
  const Input *x = input_of(t, 0);
  const int64_t step = t->node->op == OP_slice ? integer_at(t, 4) : 1;
  return place(t, g, x->rank, x->size, (int)integer_at(t, 1),
               integer_at(t, 2), step);
}

static Tensor *select_at(Tape *t, Tensor *x, int dim, int64_t at) {
  Args a = tape_args(OP_select);
  a.at[0] = arg_tensor(x);
  a.at[1] = arg_integer(dim);
  a.at[2] = arg_integer(at);
  return tape_call(t, OP_select, &a);
}

Tensor *slice_at(Tape *t, Tensor *x, int dim, int64_t first, int64_t last,
                 int64_t step) {
  Args a = tape_args(OP_slice);
  a.at[0] = arg_tensor(x);
  a.at[1] = arg_integer(dim);
  a.at[2] = arg_integer(first);
  a.at[3] = last < 0 ? arg_integer(POSITION_ZERO) : arg_integer(last);
  a.at[4] = arg_integer(step);
  return tape_call(t, OP_slice, &a);
}

Tensor *slice_back(Tape *t, Tensor *g) {
  const Input *x = input_of(t, 0);
  const int dim = (int)integer_at(t, 2);
  const int64_t first = integer_at(t, 3), step = integer_at(t, 4);
  if (x->rank < t->node->result[0].rank) return select_at(t, g, dim, first);
  if (x->size[dim] == 0) return slice_at(t, g, dim, 0, -1, 1);
  return slice_at(t, g, dim, first, first + (x->size[dim] - 1) * step, step);
}

Tensor *fit_axis(Tape *t, Tensor *x, int dim, int64_t size) {
  if (t->status != OK || x->shape.size[dim] == size) return x;
  if (x->shape.size[dim] > size) return slice_at(t, x, dim, 0, size - 1, 1);
  int64_t sizes[MAX_RANK];
  memcpy(sizes, x->shape.size, sizeof sizes);
  sizes[dim] = size;
  return place(t, x, x->shape.rank, sizes, dim, 0, 1);
}

static Tensor *diagonal_call(Tape *t, OpId op, Tensor *g) {
  Args a = tape_args(op);
  a.at[0] = arg_tensor(g);
  for (int k = 1; k < 4; k++) a.at[k] = t->node->arg[k];
  return tape_call(t, op, &a);
}

/* diag_embed makes a square; the matrix may have been none. */
Tensor *diagonal_back(Tape *t, Tensor *g) {
  const Input *x = input_of(t, 0);
  Tensor *r = diagonal_call(t, OP_diag_embed, g);
  for (int k = 2; k < 4 && t->status == OK; k++) {
    const int dim = (int)integer_at(t, k);
    r = fit_axis(t, r, dim, x->size[dim]);
  }
  return r;
}

Tensor *diag_embed_back(Tape *t, Tensor *g) {
  return diagonal_call(t, OP_diagonal, g);
}

/* ---- sums and copies ---- */

int node_dims(const Node *n, int64_t dims[MAX_RANK]) {
  const OpRow *row = &op_rows[n->op];
  int k = 0;
  while (k < row->params - 1 && row->param[k].kind != PARAM_DIMS) k++;
  const Arg *a = n->arg != NULL ? &n->arg[k] : NULL;
  if (a != NULL && a->kind == ARG_SIZES) {
    memcpy(dims, a->sizes, sizeof a->sizes);
    return a->count;
  }
  for (int i = 0; i < n->input[0].rank; i++) dims[i] = i;
  return n->input[0].rank;
}

Tensor *keep_axes(Tape *t, Tensor *x) {
  const Input *in = input_of(t, 0);
  int64_t size[MAX_RANK], dims[MAX_RANK];
  const int count = node_dims(t->node, dims);
  for (int i = 0; i < in->rank; i++) size[i] = in->size[i];
  for (int i = 0; i < count; i++) size[dims[i]] = 1;
  return tape_reshape(t, x, in->rank, size);
}

Tensor *spread(Tape *t, Tensor *g) {
  return expand_back(t, keep_axes(t, g));
}

Tensor *expand_back(Tape *t, Tensor *g) {
  const Input *x = input_of(t, 0);
  return tape_expand(t, g, x->rank, x->size);
}

Tensor *cast_back(Tape *t, Tensor *g) {
  const Input *x = input_of(t, 0);
  Args a = tape_args(OP_cast);
  a.at[0] = arg_tensor(g);
  a.at[1] = arg_integer(x->dtype);
  a.at[2].kind = ARG_DEVICE;
  a.at[2].device = x->device;
  return tape_call(t, OP_cast, &a);
}

Tensor *copy_push(Tape *t, Tensor *ty) {
  const Result *r = &t->node->result[0];
  if (ty == NULL) return NULL;
  return tape_expand(t, tape_cast(t, ty, r->dtype), r->rank, r->size);
}

/* Which part of the joined axis came from input t->which; {0} gave none. */
Tensor *piece_back(Tape *t, Tensor *g) {
  const Node *n = t->node;
  const int dim = (int)integer_at(t, 1);
  const Input *x = input_of(t, t->which);
  int64_t first = 0;
  if (x->rank != n->result[0].rank) return tape_zeros(t, x);
  for (int k = 0; k < t->which; k++)
    if (n->input[k].rank == x->rank) first += n->input[k].size[dim];
  if (x->size[dim] == 0) return tape_zeros(t, x);
  return slice_at(t, g, dim, first, first + x->size[dim] - 1, 1);
}

/* ---- positions ---- */

/* op(x, dim, index, source) with the node's dim and index. */
static Tensor *at_index(Tape *t, OpId op, Tensor *x, Tensor *source) {
  Args a = tape_args(op);
  a.at[0] = arg_tensor(x);
  a.at[1] = t->node->arg[1];
  a.at[2] = arg_tensor(tape_saved(t, SAVED_Y));
  if (source != NULL) a.at[3] = arg_tensor(source);
  return tape_call(t, op, &a);
}

Tensor *scatter_add_back(Tape *t, Tensor *g) {
  return at_index(t, OP_scatter_add, tape_zeros(t, input_of(t, 0)), g);
}

/* index may cover less than the source: the rest was not read. */
Tensor *gather_back(Tape *t, Tensor *g) {
  const Input *source = input_of(t, 2);
  Tensor *r = at_index(t, OP_gather, g, NULL);
  for (int i = 0; i < source->rank && t->status == OK; i++)
    r = fit_axis(t, r, i, source->size[i]);
  return r;
}

Tensor *index_add_back(Tape *t, Tensor *g) {
  return at_index(t, OP_index_add, tape_zeros(t, input_of(t, 0)), g);
}

static double alpha_of(const Tape *t) {
  return args_number(OP_index_add, (const Args *)t->node->arg, 4);
}

Tensor *index_select_back(Tape *t, Tensor *g) {
  Tensor *r = at_index(t, OP_index_select, g, NULL);
  return alpha_of(t) == 1 ? r : tape_scale(t, r, alpha_of(t));
}

/* The tangent of self plus that of the source at the positions. */
Tensor *add_push(Tape *t, OpId op, Tensor *tx, Tensor *tz) {
  if (tz == NULL) return tx;
  if (tx == NULL) tx = tape_zeros(t, input_of(t, 0));
  if (op == OP_index_add && alpha_of(t) != 1)
    tz = tape_scale(t, tz, alpha_of(t));
  return at_index(t, op, tx, tz);
}
