/* ops.h: check, allocate, run, record.  The one way to run a row.
 *
 * op_call serves the Lua border, the C API, tracked rules and specs alike.
 * Conventions of Args (tensor/node.h), whoever fills them:
 *   - in the order of the row's params; what was left out is ARG_NONE
 *   - dims and positions count from 0; negative ones from the end; a 0 that a
 *     caller with base 1 wrote is POSITION_ZERO, and the op says what is wrong
 *   - sizes may hold one -1 where the row says so
 *   - numbers keep their subtype: ARG_INTEGER or ARG_NUMBER
 *   - a choice is the place of the word, from 0; a dtype its number; a flag 0
 *     or 1
 * Must not know: derivatives, Lua.
 */
#ifndef TENSUS_OPS_H
#define TENSUS_OPS_H

#include "tensor/node.h"

#define POSITION_ZERO INT64_MIN

/* Run `op`.  results[0 .. row->results) are set to new references, the
 * caller's; a result that a call does not give is NULL.  Tracked when
 * recording and a float tensor among the operands is tracked.  On error
 * every results[i] is NULL, nothing has changed, and c->failure tells. */
Status op_call(Context *c, OpId op, const Args *a, Tensor **results);

/* What a row with MANY results gives.
 * at[0 .. count): one reference each, the holder's; the array is the ledger's
 * is_one: the call gives its one tensor as such, not as a list */
typedef struct TensorList {
  int count;
  bool is_one;
  Tensor **at;
} TensorList;

/* The same as op_call for a row with MANY results: *list is the caller's, for
 * list_release; empty on error. */
Status op_call_list(Context *c, OpId op, const Args *a, TensorList *list);

/* Drop what the list still holds (entries may be NULL), and its array. */
void list_release(Context *c, TensorList *list);

/* The form `op_`: the first result goes into a->at[0].tensor, converted to its
 * dtype and checked to have its shape; bumps its version; tracked as op_call.
 * E_LEAF for a leaf that requires grad while recording, E_OVERLAP,
 * E_READONLY, E_VIEW (a tracked view: not offered yet). */
Status op_call_inplace(Context *c, OpId op, const Args *a);

/* ---- short forms, for rules and composed ops; *r as in op_call ---- */

Arg arg_tensor(Tensor *t); /* NULL gives ARG_NONE */
Arg arg_integer(int64_t i);
Arg arg_number(double n);
Arg arg_sizes(int count, const int64_t *sizes);

/* Missing arguments from row->param[i].value; numbers and flags of options are
 * read by these.  `k` is the place of the param. */
int64_t args_integer(OpId op, const Args *a, int k);
double args_number(OpId op, const Args *a, int k);

Status op_unary(Context *c, OpId op, Tensor *x, Tensor **r);
Status op_binary(Context *c, OpId op, Tensor *x, Tensor *y, Tensor **r);
Status op_ternary(Context *c, OpId op, Tensor *x, Tensor *y, Tensor *z,
                  Tensor **r);
Status op_with_number(Context *c, OpId op, Tensor *x, double y, Tensor **r);
Status op_reshape(Context *c, Tensor *x, int rank, const int64_t *size,
                  Tensor **r);
Status op_expand(Context *c, Tensor *x, int rank, const int64_t *size,
                 Tensor **r);
Status op_permute(Context *c, Tensor *x, int rank, const int64_t *dims,
                  Tensor **r);
Status op_transpose(Context *c, Tensor *x, int dim1, int dim2, Tensor **r);
Status op_sum(Context *c, Tensor *x, int count, const int64_t *dims, bool keep,
              Tensor **r);
Status op_sum_to(Context *c, Tensor *x, int rank, const int64_t *size,
                 Tensor **r);
Status op_cast(Context *c, Tensor *x, Dtype dtype, Tensor **r);
Status op_contiguous(Context *c, Tensor *x, Tensor **r);
Status op_full(Context *c, Device *d, Dtype dtype, int rank,
               const int64_t *size, double value, Tensor **r);

/* ---- indexing by views: what x[{...}] is made of ---- */

/* An untracked tensor of one number, rank 0. */
Status op_scalar(Context *c, Device *d, Dtype dtype, double value, Tensor **r);

/* Are two tensors equal in shape and in every element?  NaN equals nothing. */
Status op_equal(Context *c, Tensor *x, Tensor *y, bool *equal);

#endif
