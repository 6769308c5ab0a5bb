/* scan.c: rows that walk along an axis and keep every step.
 * Must not know: in which order steps are joined (device/backend.h, Scan). */
#include <string.h>

#include "ops/run.h"
#include "tensor/iterator.h"

/* A scan as a row asks for it; by, place: NULL, or as in Scan. */
typedef struct Walk {
  ScanId scan;
  int dim;
  bool reverse, previous;
  Dtype compute;
  const Tensor *x, *by;
  Tensor *made, *place;
} Walk;

/* Steps of `shape` along dim, and those of the other axes in *lines. */
static int64_t part(const Shape *shape, int dim, Shape *lines) {
  const int64_t step = shape->rank > 0 ? shape->stride[dim] : 1;
  *lines = *shape;
  if (shape->rank > 0) shape_drop(lines, dim);
  return step;
}

static void scan_axes(Scan *job, const Walk *w) {
  const Tensor *by = w->by != NULL ? w->by : w->x;
  Shape x, factor, out;
  Iter it;
  job->src_step = part(&w->x->shape, w->dim, &x);
  job->by_step = part(&by->shape, w->dim, &factor);
  job->dst_step = part(&w->made->shape, w->dim, &out);
  iter_open(&it, &out);
  iter_add(&it, &x);
  iter_add(&it, &factor);
  iter_add(&it, &out);
  iter_fuse(&it, 0);
  job->lines = it.axes;
  memcpy(job->size, it.size, sizeof it.size);
  memcpy(job->src_line, it.stride[0], sizeof it.size);
  memcpy(job->by_line, it.stride[1], sizeof it.size);
  memcpy(job->dst_line, it.stride[2], sizeof it.size);
}

/* From the other end: the data of element n - 1, and steps back. */
static void turn(const char **data, int64_t *step, int64_t n, Dtype dtype) {
  if (*data == NULL) return;
  *data += (n - 1) * *step * (int64_t)dtype_bytes(dtype);
  *step = -*step;
}

static void turn_round(Scan *job) {
  const char *dst = job->dst;
  turn(&job->src, &job->src_step, job->n, job->in);
  turn(&job->by, &job->by_step, job->n, job->in);
  turn(&dst, &job->dst_step, job->n, job->out);
  job->dst += dst - job->dst;
}

static Status scan_run(Context *c, const Walk *w) {
  Device *d = tensor_device(w->x);
  char *scratch = NULL;
  if (w->made->count == 0) return OK;
  assert(w->place == NULL || !w->reverse); /* its places run the other way */
  Scan job = {.scan = w->scan, .compute = w->compute, .in = w->x->dtype,
              .out = w->made->dtype, .base = c->failure.base,
              .previous = w->previous};
  job.n = w->x->shape.rank > 0 ? w->x->shape.size[w->dim] : 1;
  job.src = tensor_data(w->x);
  job.by = w->by != NULL ? tensor_data(w->by) : NULL;
  job.dst = tensor_data(w->made);
  job.place = w->place != NULL ? tensor_data(w->place) : NULL;
  scan_axes(&job, w);
  if (w->reverse) turn_round(&job);
  const size_t room = d->backend.scan_room(&d->backend, &job);
  Status s = scratch_take(c, d, room, &scratch);
  job.scratch = scratch;
  if (s == OK) s = check_done(c, d->backend.scan(&d->backend, &job));
  scratch_give(d, scratch, room);
  return s;
}

/* The dim at param k of *a, resolved. */
static Status scan_dim(Context *c, Args *a, int k, int *dim) {
  const Tensor *x = a->at[0].tensor;
  const Status s =
      check_dim(c, "dim", a->at[k].integer, x->shape.rank, x, dim);
  a->at[k] = arg_integer(*dim);
  return s;
}

/* ---- sums and products ---- */

/* f32 is joined in f64: after a million steps an f32 sum has lost three
 * digits. */
static Status running(Context *c, OpId op, ScanId scan, Args *a, Tensor **r) {
  Tensor *x = a->at[0].tensor;
  const bool is_float = dtype_class(x->dtype) == CLASS_FLOAT;
  Walk w = {.scan = scan, .x = x};
  Status s = scan_dim(c, a, 1, &w.dim);
  if (s != OK) return s;
  w.compute = is_float ? DTYPE_F64 : DTYPE_I64;
  w.reverse = op != OP_logcumsumexp && args_integer(op, a, 2) != 0;
  s = tensor_new(c, tensor_device(x), is_float ? x->dtype : DTYPE_I64,
                 &x->shape, &r[0]);
  w.made = r[0];
  return s != OK ? s : scan_run(c, &w); /* op_call releases r on error */
}

Status run_cumsum(Context *c, Args *a, Tensor **r) {
  return running(c, OP_cumsum, SCAN_SUM, a, r);
}

Status run_cumprod(Context *c, Args *a, Tensor **r) {
  return running(c, OP_cumprod, SCAN_PROD, a, r);
}

Status run_logcumsumexp(Context *c, Args *a, Tensor **r) {
  return running(c, OP_logcumsumexp, SCAN_LOGSUMEXP, a, r);
}

/* ---- extremes ---- */

static Status running_extreme(Context *c, ScanId scan, Args *a, Tensor **r) {
  Tensor *x = a->at[0].tensor;
  Walk w = {.scan = scan, .x = x, .compute = dtype_compute(x->dtype)};
  Status s = scan_dim(c, a, 1, &w.dim);
  if (s == OK)
    s = tensor_new(c, tensor_device(x), x->dtype, &x->shape, &r[0]);
  if (s == OK)
    s = tensor_new(c, tensor_device(x), DTYPE_I64, &x->shape, &r[1]);
  w.made = r[0], w.place = r[1];
  return s != OK ? s : scan_run(c, &w);
}

Status run_cummax(Context *c, Args *a, Tensor **r) {
  return running_extreme(c, SCAN_MAX, a, r);
}

Status run_cummin(Context *c, Args *a, Tensor **r) {
  return running_extreme(c, SCAN_MIN, a, r);
}

/* ---- chains ---- */

Status run_chain(Context *c, Args *a, Tensor **r) {
  Tensor *factor = a->at[0].tensor, *term = a->at[1].tensor;
  Walk w = {.scan = SCAN_CHAIN, .x = term, .by = factor,
            .compute = DTYPE_F64};
  Status s = check_same_shape(c, "factor", factor, "term", term);
  if (s == OK) s = check_same_dtype(c, "factor", factor, "term", term);
  if (s == OK) s = check_same_device(c, "factor", factor, "term", term);
  if (s == OK) s = scan_dim(c, a, 2, &w.dim);
  if (s != OK) return s;
  w.reverse = args_integer(OP_chain, a, 3) != 0;
  w.previous = args_integer(OP_chain, a, 4) != 0;
  s = tensor_new(c, tensor_device(term), term->dtype, &term->shape, &r[0]);
  w.made = r[0];
  return s != OK ? s : scan_run(c, &w);
}
