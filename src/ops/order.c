/* order.c: rows that put the elements of a line in order, or pick by rank.
 *
 * The order is rising or falling, NaN the greatest, equal elements as they
 * came; positions count from the caller's base.
 * Must not know: how a line is sorted (cpu/sort.c).
 */
#include "ops/order.h"

#include <string.h>

#include "tensor/iterator.h"

/* ---- one job ---- */

/* Lines of x along `dim`, and where the results lie; all else of the job. */
static void lines_open(Sort *s, const Shape *x, const Shape *out, int dim) {
  Shape src = *x, dst = *out;
  s->n = 1, s->src_step = s->dst_step = 0;
  if (x->rank > 0) {
    s->n = x->size[dim];
    s->src_step = x->stride[dim], s->dst_step = out->stride[dim];
    shape_drop(&src, dim);
    shape_drop(&dst, dim);
  }
  Iter it;
  iter_open(&it, &src);
  iter_add(&it, &src);
  iter_add(&it, &dst);
  iter_fuse(&it, 0);
  s->axes = it.axes;
  memcpy(s->size, it.size, sizeof it.size);
  memcpy(s->src_stride, it.stride[0], sizeof it.size);
  memcpy(s->dst_stride, it.stride[1], sizeof it.size);
}

static Status run_sort_job(Context *c, Backend *b, Device *d, Sort *s) {
  char *scratch = NULL;
  const size_t room = b->sort_room(b, s);
  Status status = scratch_take(c, d, room, &scratch);
  if (status != OK) return status;
  s->scratch = scratch;
  status = check_done(c, b->sort(b, s));
  scratch_give(d, scratch, room);
  return status;
}

Status order_lines(Context *c, const Tensor *x, const Order *o,
                   Tensor **values, Tensor **places) {
  Tensor *made[2] = {NULL, NULL};
  Device *d = tensor_device(x);
  Status status = OK;
  Shape out = x->shape;
  if (out.rank > 0) out.size[o->dim] = o->keep;
  shape_contiguous(&out);
  if (values != NULL) status = tensor_new(c, d, x->dtype, &out, &made[0]);
  if (status == OK && places != NULL)
    status = tensor_new(c, d, DTYPE_I64, &out, &made[1]);
  if (status == OK && shape_count(&out) > 0) {
    Sort s = {.dtype = x->dtype, .falls = o->falls, .from = o->from,
              .first = o->first, .keep = o->keep, .base = c->failure.base};
    lines_open(&s, &x->shape, &out, o->dim);
    s.src = tensor_data(x);
    s.values = made[0] != NULL ? tensor_data(made[0]) : NULL;
    s.places = made[1] != NULL ? tensor_data(made[1]) : NULL;
    status = run_sort_job(c, &d->backend, d, &s);
  }
  if (status != OK) {
    tensor_release(c, made[0]);
    tensor_release(c, made[1]);
    return status;
  }
  if (values != NULL) *values = made[0];
  if (places != NULL) *places = made[1];
  return OK;
}

/* ---- whole lines ---- */

Status order_dim(Context *c, OpId op, Args *a, int k, int *dim,
                 int64_t *size) {
  const Tensor *x = a->at[0].tensor;
  const Status s =
      check_dim(c, "dim", args_integer(op, a, k), x->shape.rank, x, dim);
  if (s != OK) return s;
  a->at[k] = arg_integer(*dim);
  *size = x->shape.rank > 0 ? x->shape.size[*dim] : 1;
  return OK;
}

Status run_sort(Context *c, Args *a, Tensor **r) {
  Order o = {.falls = args_integer(OP_sort, a, 2) != 0};
  const Status s = order_dim(c, OP_sort, a, 1, &o.dim, &o.keep);
  return s != OK ? s : order_lines(c, a->at[0].tensor, &o, &r[0], &r[1]);
}

Status run_argsort(Context *c, Args *a, Tensor **r) {
  Order o = {.falls = args_integer(OP_argsort, a, 2) != 0};
  const Status s = order_dim(c, OP_argsort, a, 1, &o.dim, &o.keep);
  return s != OK ? s : order_lines(c, a->at[0].tensor, &o, NULL, &r[0]);
}

/* ---- by rank ---- */

static Status check_k(Context *c, const Tensor *x, int dim, int64_t least,
                      int64_t size, int64_t k) {
  if (k >= least && k <= size) return OK;
  if (x->shape.rank == 0)
    return fail(c, E_RANGE, "%A is %I; self {} has 1 element", "k", k);
  return fail(c, E_RANGE, "%A is %I; dim %P of self %S has %I elements", "k",
              k, (int64_t)dim, SHAPE_ARG(&x->shape), size);
}

Status run_topk(Context *c, Args *a, Tensor **r) {
  const Tensor *x = a->at[0].tensor;
  Order o = {.falls = args_integer(OP_topk, a, 3) != 0,
             .keep = a->at[1].integer};
  int64_t size = 0;
  Status s = order_dim(c, OP_topk, a, 2, &o.dim, &size);
  if (s == OK) s = check_k(c, x, o.dim, 0, size, o.keep);
  return s != OK ? s : order_lines(c, x, &o, &r[0], &r[1]);
}

Status order_check_line(Context *c, const Tensor *x, int dim, int64_t size,
                        const char *what) {
  if (size > 0) return OK;
  return fail(c, E_EMPTY, "dim %P of %A %S is empty and has no %s",
              (int64_t)dim, "self", SHAPE_ARG(&x->shape), what);
}

/* One element of each line; its dim goes unless it is kept. */
static Status one_of_line(Context *c, const Tensor *x, const Order *o,
                          bool keepdim, Tensor **r) {
  Tensor *value = NULL, *place = NULL;
  Status s = order_lines(c, x, o, &value, &place);
  if (s != OK) return s;
  Shape shape = value->shape;
  if (!keepdim && shape.rank > 0) shape_drop(&shape, o->dim);
  s = tensor_view(c, value, &shape, value->offset, &r[0]);
  if (s == OK) s = tensor_view(c, place, &shape, place->offset, &r[1]);
  for (int i = 0; i < 2 && s == OK; i++) r[i]->is_view = false;
  tensor_release(c, value);
  tensor_release(c, place);
  return s; /* op_call releases r[0] when r[1] could not be had */
}

Status run_kthvalue(Context *c, Args *a, Tensor **r) {
  const Tensor *x = a->at[0].tensor;
  Order o = {.first = a->at[1].integer - 1, .keep = 1};
  int64_t size = 0;
  Status s = order_dim(c, OP_kthvalue, a, 2, &o.dim, &size);
  if (s == OK) s = order_check_line(c, x, o.dim, size, "k-th value");
  if (s == OK) s = check_k(c, x, o.dim, 1, size, a->at[1].integer);
  if (s != OK) return s;
  return one_of_line(c, x, &o, args_integer(OP_kthvalue, a, 3) != 0, r);
}

static Status median(Context *c, OpId op, SortFrom from, Args *a, Tensor **r) {
  const Tensor *x = a->at[0].tensor;
  Order o = {.from = from, .keep = 1};
  int64_t size = 0;
  Status s = order_dim(c, op, a, 1, &o.dim, &size);
  if (s == OK) s = order_check_line(c, x, o.dim, size, "median");
  if (s != OK) return s;
  return one_of_line(c, x, &o, args_integer(op, a, 2) != 0, r);
}

Status run_median_dim(Context *c, Args *a, Tensor **r) {
  return median(c, OP_median_dim, SORT_MEDIAN, a, r);
}

Status run_nanmedian_dim(Context *c, Args *a, Tensor **r) {
  return median(c, OP_nanmedian_dim, SORT_NANMEDIAN, a, r);
}

/* ---- over all: a line of everything ---- */

Status order_flat(Context *c, Tensor *x, Tensor **r) {
  if (x->shape.rank == 1) {
    *r = tensor_share(x);
    return OK;
  }
  return op_reshape(c, x, 1, &x->count, r);
}

Status order_kept(Context *c, const Tensor *x, bool keepdim, Tensor *value,
                  Tensor **r) {
  int64_t ones[MAX_RANK];
  for (int i = 0; i < MAX_RANK; i++) ones[i] = 1;
  return op_reshape(c, value, keepdim ? x->shape.rank : 0, ones, r);
}

/* Without dim the value alone, of all elements. */
static Status over_all(Context *c, OpId op, OpId of_line, Args *a,
                       Tensor **r) {
  Tensor *x = a->at[0].tensor, *line = NULL, *found[2] = {NULL, NULL};
  if (a->at[1].kind != ARG_NONE) return op_call(c, of_line, a, r);
  Args one = {.at = {[1] = arg_integer(0), [2] = arg_integer(0)}};
  Status s = order_flat(c, x, &line);
  one.at[0] = arg_tensor(line);
  if (s == OK) s = op_call(c, of_line, &one, found);
  if (s == OK)
    s = order_kept(c, x, args_integer(op, a, 2) != 0, found[0], &r[0]);
  tensor_release(c, line);
  tensor_release(c, found[0]);
  tensor_release(c, found[1]);
  return s;
}

Status run_median(Context *c, Args *a, Tensor **r) {
  return over_all(c, OP_median, OP_median_dim, a, r);
}

Status run_nanmedian(Context *c, Args *a, Tensor **r) {
  return over_all(c, OP_nanmedian, OP_nanmedian_dim, a, r);
}
