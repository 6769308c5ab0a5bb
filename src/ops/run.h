/* run.h: what the files of this floor share.
 *
 * run_NAME is the forward function of row NAME: checks, allocates, runs; sets
 * r[0 .. results + hidden) to new references on success and leaves them NULL
 * on error.  It may rewrite *a: dims and positions resolved, defaults filled
 * in; that is what the record keeps.  It does not record.
 * Rows with the flag AT_PLACES, in place: r[0] comes as self, shared, and is
 * written after all checks, as if every operand had been copied first.
 * Must not know: Lua, derivatives.
 */
#ifndef TENSUS_RUN_H
#define TENSUS_RUN_H

#include "ops/ops.h"
#include "tensor/iterator.h"

typedef Status Run(Context *c, Args *a, Tensor **r);

/* Of a row with MANY results: opens *list (list_open) and fills it; what is in
 * it after an error is dropped by the caller. */
typedef Status RunList(Context *c, Args *a, TensorList *list);

/* By the column `results`. */
#define RUN_0 Run
#define RUN_1 Run
#define RUN_2 Run
#define RUN_3 Run
#define RUN_MANY RunList
#define OP(name, kind, types, params, results, ...) RUN_##results run_##name;
#include "rows/all.def"

/* *list of `count` entries, NULL each.  E_MEMORY. */
Status list_open(Context *c, int count, TensorList *list);

/* ---- pointwise.c ---- */

/* The result of a pointwise row; `target` not NULL: in place. */
Status pointwise_call(Context *c, OpId op, const Args *a, Tensor *target,
                      Tensor **r);

/* The common case at once: contiguous operands of one shape, one float dtype
 * and one device, and numbers.  False: not this case, nothing was done; else
 * *s and *r are as pointwise_call gives them. */
bool pointwise_plain(Context *c, OpId op, const Args *a, Status *s,
                     Tensor **r);

/* ---- product.c ---- */

/* Runs p for every place of a walk over the batches of a, b and c (in this
 * order; no size is 0); the greatest axis is one call of the slot. */
Status product_batches(Context *c, Device *d, Product *p, Iter *it);

/* ---- ask.c ---- */

/* Lint where_nan: a tracked branch that is not finite where it is not chosen.
 * Shapes that do not fit are left to the op. */
Status ask_where(Context *c, const Args *a);

/* ---- check.c: arguments against a shape ---- */

/* *dim = the axis that `raw` names among `rank` axes (at least one is taken to
 * be there: rank 0 has dims 0 and -1).  E_DIM. */
Status check_dim(Context *c, const char *name, int64_t raw, int rank,
                 const Tensor *t, int *dim);

/* Which axes a list of dims names; all of them when it is ARG_NONE.
 * E_DIM, E_DUPLICATE. */
Status check_dims(Context *c, const Arg *dims, const Tensor *t,
                  bool is_in[MAX_RANK]);

/* *at = the position that `raw` names on axis `dim`.  E_INDEX. */
Status check_position(Context *c, int64_t raw, const Tensor *t, int dim,
                      int64_t *at);

/* Sizes of an argument as a Shape: none negative, not too many.  E_SHAPE. */
Status check_sizes(Context *c, const Arg *sizes, Shape *s);

Status check_same_device(Context *c, const char *xname, const Tensor *x,
                         const char *yname, const Tensor *y);
Status check_same_dtype(Context *c, const char *xname, const Tensor *x,
                        const char *yname, const Tensor *y);
Status check_same_shape(Context *c, const char *xname, const Tensor *x,
                        const char *yname, const Tensor *y);
Status check_rank(Context *c, const char *name, const Tensor *x, int least,
                  int most);

/* Matrices: two axes, perhaps batches in front; and as many rows as columns. */
Status check_matrix(Context *c, const char *name, const Tensor *x);
Status check_square(Context *c, const char *name, const Tensor *x);

/* A slot came back: OK, or E_INTERRUPTED. */
Status check_done(Context *c, bool done);

/* ---- copy.c ---- */

/* dst = src, stretched and converted; both ready.  No record. */
Status move_into(Context *c, Tensor *dst, const Tensor *src);

/* dst = the elements of src, on the same device, as `seen` names them: sizes of
 * dst, strides of any sign, from `more` elements after the first one on.  They
 * are none that is written.  No record. */
Status move_seen(Context *c, Tensor *dst, const Tensor *src, const Shape *seen,
                 int64_t more);

/* *r = a contiguous tensor with the values of x in dtype and on device d: x
 * itself, shared, where it is that already. */
Status plain(Context *c, Tensor *x, Dtype dtype, Device *d, Tensor **r);

/* *r = x itself if contiguous, else a copy. */
Status plain_layout(Context *c, Tensor *x, Tensor **r);

/* t = value everywhere. */
Status fill_with(Context *c, Tensor *t, const Arg *value);

/* May `value` become what self is?  Within floats, within integers, from
 * integers to floats, from bool to all.  E_DTYPE, E_RANGE. */
Status check_assign(Context *c, const char *name, const Arg *value,
                    const Tensor *self);

/* Does a number fit the dtype?  E_RANGE. */
Status check_fits(Context *c, const char *name, const Arg *value, Dtype dtype);

/* Scratch of `bytes` on a device; *room NULL for 0. */
Status scratch_take(Context *c, Device *d, size_t bytes, char **room);
void scratch_give(Device *d, char *room, size_t bytes);

/* The number in an argument. */
double arg_f64(const Arg *a);

#endif
