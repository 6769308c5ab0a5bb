/* reduce.c: rows that take axes away.
 * Must not know: in which order elements are added (rows/fold.def). */
#include <math.h>
#include <string.h>

#include "ops/reduce.h"
#include "ops/run.h"
#include "tensor/iterator.h"

/* The shape of the result: reduced axes of size 1, or gone. */
static Shape reduced_shape(const Shape *x, const bool gone[MAX_RANK],
                           bool keep) {
  Shape s = *x;
  for (int i = s.rank - 1; i >= 0; i--) {
    if (!gone[i]) continue;
    if (keep) s.size[i] = 1;
    else shape_drop(&s, i);
  }
  shape_contiguous(&s);
  return s;
}

/* Kept and gone axes of x, each fused; dst is contiguous. */
static void reduce_axes(Reduce *r, const Shape *x, const bool gone[MAX_RANK]) {
  Shape kept = {.rank = 0}, out = {.rank = 0}, rest = {.rank = 0};
  for (int i = 0; i < x->rank; i++) {
    Shape *to = gone[i] ? &rest : &kept;
    shape_insert(to, to->rank, x->size[i], x->stride[i]);
  }
  out = kept;
  shape_contiguous(&out);
  Iter it;
  iter_open(&it, &kept);
  iter_add(&it, &kept);
  iter_add(&it, &out);
  iter_fuse(&it, 0);
  r->kept = it.axes;
  memcpy(r->kept_size, it.size, sizeof it.size);
  memcpy(r->kept_src, it.stride[0], sizeof it.size);
  memcpy(r->kept_dst, it.stride[1], sizeof it.size);
  iter_open(&it, &rest);
  iter_add(&it, &rest);
  iter_fuse(&it, 0);
  r->gone = it.axes;
  memcpy(r->gone_size, it.size, sizeof it.size);
  memcpy(r->gone_src, it.stride[0], sizeof it.size);
}

Status reduce_fold(Context *c, const Tensor *x, const FoldCall *f,
                   Tensor **r) {
  Reduce job;
  Tensor *made = NULL;
  char *scratch = NULL;
  Device *d = tensor_device(x);
  const Shape shape = reduced_shape(&x->shape, f->gone, f->keep);
  Status s = tensor_new(c, d, f->out, &shape, &made);
  if (s != OK || made->count == 0) {
    *r = made;
    return s;
  }
  assert(f->by == NULL || (f->by->is_contiguous &&
                           f->by->count == made->count &&
                           f->by->dtype == f->compute));
  job.fold = f->fold;
  job.compute = f->compute;
  job.in = x->dtype;
  job.out = f->out;
  job.src = tensor_data(x);
  job.by = f->by != NULL ? tensor_data(f->by) : NULL;
  job.dst = tensor_data(made);
  reduce_axes(&job, &x->shape, f->gone);
  const size_t room = d->backend.reduce_room(&d->backend, &job);
  s = scratch_take(c, d, room, &scratch);
  if (s == OK) {
    job.scratch = scratch;
    s = check_done(c, d->backend.reduce(&d->backend, &job));
    scratch_give(d, scratch, room);
  }
  if (s == OK) *r = made;
  else tensor_release(c, made);
  return s;
}

/* *r = fold of x over `gone`, in dtype `out`. */
static Status fold(Context *c, FoldId id, const Tensor *x,
                   const bool gone[MAX_RANK], bool keep, Dtype compute,
                   Dtype out, Tensor **r) {
  const FoldCall f = {.fold = id, .gone = gone, .keep = keep,
                      .compute = compute, .out = out};
  return reduce_fold(c, x, &f, r);
}

/* Where the dims stand among the params; keepdim comes next. */
static int dims_at(OpId op) {
  int k = 0;
  while (op_rows[op].param[k].kind != PARAM_DIMS) k++;
  return k;
}

Status reduce_args(Context *c, OpId op, Args *a, bool gone[MAX_RANK],
                   bool *keep) {
  const Tensor *x = a->at[0].tensor;
  const int k = dims_at(op);
  const Status s = check_dims(c, &a->at[k], x, gone);
  if (s != OK) return s;
  int64_t dims[MAX_RANK];
  int count = 0;
  for (int i = 0; i < x->shape.rank; i++)
    if (gone[i]) dims[count++] = i;
  a->at[k] = arg_sizes(count, dims);
  *keep = args_integer(op, a, k + 1) != 0;
  return OK;
}

int64_t reduce_count(const Tensor *x, const bool gone[MAX_RANK]) {
  int64_t n = 1;
  for (int i = 0; i < x->shape.rank; i++)
    if (gone[i]) n *= x->shape.size[i];
  return n;
}

Status reduce_drop(Context *c, const Tensor *kept, const bool gone[MAX_RANK],
                   bool keep, Tensor **r) {
  const Shape shape = reduced_shape(&kept->shape, gone, keep);
  const Status s = tensor_view(c, kept, &shape, kept->offset, r);
  if (s == OK) (*r)->is_view = false;
  return s;
}

/* ---- sums ---- */

static Dtype sum_dtype(Dtype d) {
  return dtype_class(d) == CLASS_FLOAT ? d : DTYPE_I64;
}

Status run_sum(Context *c, Args *a, Tensor **r) {
  const Tensor *x = a->at[0].tensor;
  bool gone[MAX_RANK], keep;
  const Status s = reduce_args(c, OP_sum, a, gone, &keep);
  if (s != OK) return s;
  const Dtype out = a->at[3].kind == ARG_NONE ? sum_dtype(x->dtype)
                                              : (Dtype)a->at[3].integer;
  const bool exact = dtype_class(out) != CLASS_FLOAT &&
                     dtype_class(x->dtype) != CLASS_FLOAT;
  Dtype compute = exact ? DTYPE_I64 : dtype_compute(out);
  if (dtype_class(compute) != CLASS_FLOAT) compute = DTYPE_I64;
  return fold(c, FOLD_sum, x, gone, keep, compute, out, &r[0]);
}

Status run_sum_to(Context *c, Args *a, Tensor **r) {
  Tensor *x = a->at[0].tensor, *sum = NULL;
  Shape to, unused;
  bool gone[MAX_RANK];
  Status s = check_sizes(c, &a->at[1], &to);
  if (s != OK) return s;
  if (!shape_expand(&to, &x->shape, &unused))
    return fail(c, E_SHAPE, "%S does not broadcast to self %S",
                SHAPE_ARG(&to), SHAPE_ARG(&x->shape));
  if (shape_same(&to, &x->shape)) return plain_layout(c, x, &r[0]);
  const int more = x->shape.rank - to.rank;
  for (int i = 0; i < x->shape.rank; i++)
    gone[i] = i < more || to.size[i - more] != x->shape.size[i];
  s = fold(c, FOLD_sum, x, gone, true,
           dtype_class(x->dtype) == CLASS_FLOAT ? dtype_compute(x->dtype)
                                                : DTYPE_I64,
           x->dtype, &sum);
  if (s != OK) return s;
  s = tensor_view(c, sum, &to, sum->offset, &r[0]);
  if (s == OK) r[0]->is_view = false;
  tensor_release(c, sum);
  return s;
}

/* ---- products ---- */

/* Each factor adds its rounding to that of the product: in f64 millions of
 * them stay below one of f32. */
Status run_prod(Context *c, Args *a, Tensor **r) {
  const Tensor *x = a->at[0].tensor;
  bool gone[MAX_RANK], keep;
  const Status s = reduce_args(c, OP_prod, a, gone, &keep);
  if (s != OK) return s;
  const bool is_float = dtype_class(x->dtype) == CLASS_FLOAT;
  return fold(c, FOLD_prod, x, gone, keep, is_float ? DTYPE_F64 : DTYPE_I64,
              sum_dtype(x->dtype), &r[0]);
}

/* ---- extremes ---- */

Status reduce_check_not_empty(Context *c, const Tensor *x,
                              const bool gone[MAX_RANK], const char *what) {
  if (shape_count(&x->shape) > 0) return OK;
  for (int i = 0; i < x->shape.rank; i++)
    if (gone[i] && x->shape.size[i] == 0)
      return fail(c, E_EMPTY,
                  "dim %P of %A %S is empty and the %s has no identity",
                  (int64_t)i, "self", SHAPE_ARG(&x->shape), what);
  return OK;
}

static Status extreme(Context *c, OpId op, FoldId id, const char *what,
                      Args *a, Tensor **r) {
  const Tensor *x = a->at[0].tensor;
  bool gone[MAX_RANK], keep;
  Status s = reduce_args(c, op, a, gone, &keep);
  if (s == OK) s = reduce_check_not_empty(c, x, gone, what);
  if (s != OK) return s;
  return fold(c, id, x, gone, keep, dtype_compute(x->dtype), x->dtype, &r[0]);
}

Status run_amax(Context *c, Args *a, Tensor **r) {
  return extreme(c, OP_amax, FOLD_amax, "maximum", a, r);
}

Status run_amin(Context *c, Args *a, Tensor **r) {
  return extreme(c, OP_amin, FOLD_amin, "minimum", a, r);
}

/* ---- truths ---- */

static Status truth(Context *c, OpId op, FoldId id, Args *a, Tensor **r) {
  const Tensor *x = a->at[0].tensor;
  bool gone[MAX_RANK], keep;
  const Status s = reduce_args(c, op, a, gone, &keep);
  if (s != OK) return s;
  return fold(c, id, x, gone, keep, dtype_compute(x->dtype), DTYPE_BOOL, &r[0]);
}

Status run_any(Context *c, Args *a, Tensor **r) {
  return truth(c, OP_any, FOLD_any, a, r);
}

Status run_all(Context *c, Args *a, Tensor **r) {
  return truth(c, OP_all, FOLD_all, a, r);
}

Status run_count_nonzero(Context *c, Args *a, Tensor **r) {
  Tensor *is = NULL;
  bool gone[MAX_RANK], keep;
  Status s = reduce_args(c, OP_count_nonzero, a, gone, &keep);
  if (s == OK) s = op_with_number(c, OP_ne, a->at[0].tensor, 0, &is);
  if (s == OK)
    s = fold(c, FOLD_sum, is, gone, keep, DTYPE_I64, DTYPE_I64, &r[0]);
  tensor_release(c, is);
  return s;
}

/* ---- positions ---- */

/* *r = positions (i64) of the extremes, from the caller's base. */
static Status arg_extreme(Context *c, const Tensor *x,
                          const bool gone[MAX_RANK], bool keep, bool greatest,
                          Tensor **r) {
  ArgExtreme job;
  Tensor *made = NULL;
  const Shape shape = reduced_shape(&x->shape, gone, keep);
  Status s = reduce_check_not_empty(c, x, gone, greatest ? "maximum" : "minimum");
  if (s == OK) s = tensor_new(c, tensor_device(x), DTYPE_I64, &shape, &made);
  if (s != OK || made->count == 0) {
    *r = made;
    return s;
  }
  job.greatest = greatest;
  job.base = c->failure.base;
  job.at.fold = greatest ? FOLD_amax : FOLD_amin;
  job.at.compute = dtype_compute(x->dtype);
  job.at.in = x->dtype;
  job.at.out = DTYPE_I64;
  job.at.src = tensor_data(x);
  job.at.by = NULL;
  job.at.dst = tensor_data(made);
  job.at.scratch = NULL;
  reduce_axes(&job.at, &x->shape, gone);
  Backend *b = tensor_backend(x);
  s = check_done(c, b->arg_extreme(b, &job));
  if (s == OK) *r = made;
  else tensor_release(c, made);
  return s;
}

/* One dim, or none given (all of them). */
static Status one_dim(Context *c, OpId op, Args *a, bool gone[MAX_RANK],
                      int *dim) {
  const Tensor *x = a->at[0].tensor;
  for (int i = 0; i < MAX_RANK; i++) gone[i] = a->at[1].kind == ARG_NONE;
  *dim = -1;
  if (a->at[1].kind == ARG_NONE) return OK;
  const Status s = check_dim(c, "dim", args_integer(op, a, 1), x->shape.rank,
                             x, dim);
  if (s != OK) return s;
  gone[*dim] = true;
  a->at[1] = arg_integer(*dim);
  return OK;
}

static Status arg_row(Context *c, OpId op, bool greatest, Args *a,
                      Tensor **r) {
  bool gone[MAX_RANK];
  int dim;
  const Status s = one_dim(c, op, a, gone, &dim);
  if (s != OK) return s;
  return arg_extreme(c, a->at[0].tensor, gone, args_integer(op, a, 2) != 0,
                     greatest, &r[0]);
}

Status run_argmax(Context *c, Args *a, Tensor **r) {
  return arg_row(c, OP_argmax, true, a, r);
}

Status run_argmin(Context *c, Args *a, Tensor **r) {
  return arg_row(c, OP_argmin, false, a, r);
}

/* Values and positions along one dim. */
static Status extreme_dim(Context *c, OpId op, bool greatest, Args *a,
                          Tensor **r) {
  Tensor *x = a->at[0].tensor, *at = NULL, *kept = NULL;
  bool gone[MAX_RANK];
  int dim;
  Status s = one_dim(c, op, a, gone, &dim);
  if (s != OK) return s;
  const bool keep = args_integer(op, a, 2) != 0;
  const bool is_scalar = x->shape.rank == 0;
  s = arg_extreme(c, x, gone, true, greatest, &at);
  if (s == OK && !is_scalar) {
    Args pick;
    pick.at[0] = arg_tensor(x);
    pick.at[1] = arg_integer(dim);
    pick.at[2] = arg_tensor(at);
    s = run_gather(c, &pick, &kept);
  } else if (s == OK) {
    s = tensor_alias(c, x, &kept);
  }
  const Shape shape = reduced_shape(&x->shape, gone, keep || is_scalar);
  if (s == OK) s = tensor_view(c, kept, &shape, kept->offset, &r[0]);
  if (s == OK) s = tensor_view(c, at, &shape, at->offset, &r[1]);
  tensor_release(c, kept);
  tensor_release(c, at);
  return s; /* op_call releases r[0] when r[1] could not be had */
}

Status run_max_dim(Context *c, Args *a, Tensor **r) {
  return extreme_dim(c, OP_max_dim, true, a, r);
}

Status run_min_dim(Context *c, Args *a, Tensor **r) {
  return extreme_dim(c, OP_min_dim, false, a, r);
}
