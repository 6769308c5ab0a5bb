/* count.c: how often labels occur, and how many values lie in each bin.
 *
 * Both add ones at positions, in a fixed order.
 * Must not know: kernels.
 */
#include <math.h>
#include <string.h>

#include "ops/index.h"
#include "ops/order.h"

/* *r (n) = for each label (a vector, i64, contiguous, all of base .. base + n
 * - 1) its weight added up; weights NULL: 1 each. */
static Status add_up(Context *c, const Tensor *labels, const Tensor *weights,
                     int64_t base, int64_t n, Tensor **r) {
  Tensor *out = NULL, *one = NULL;
  Device *d = tensor_device(labels);
  const Shape shape = shape_of(1, &n);
  const Arg zero = arg_integer(0);
  Status s = OK;
  if (weights == NULL) {
    s = op_scalar(c, d, DTYPE_I64, 1, &one);
    weights = one;
  }
  if (s == OK) s = tensor_new(c, d, weights->dtype, &shape, &out);
  if (s == OK) s = fill_with(c, out, &zero);
  if (s == OK && labels->count > 0) {
    Pick p = {.axes = 1, .size = {labels->count}, .dtype = out->dtype,
              .data = tensor_data(out), .other = tensor_data(weights),
              .index = tensor_data(labels), .data_stride = {1},
              .index_stride = {1}, .base = base};
    p.other_stride[0] = weights->shape.rank > 0 ? weights->shape.stride[0] : 0;
    s = check_done(c, d->backend.scatter_add(&d->backend, &p));
  }
  tensor_release(c, one);
  if (s == OK) *r = out;
  else tensor_release(c, out);
  return s;
}

/* ---- bincount ---- */

/* *bins = how many the labels need; each is one from the base on. */
static Status bins_of(Context *c, Tensor *labels, int64_t *bins) {
  Tensor *most = NULL;
  Backend *b = tensor_backend(labels);
  const Pick p = {.axes = 1, .size = {labels->count}, .index_stride = {1},
                  .index = tensor_data(labels), .base = c->failure.base};
  *bins = 0;
  if (labels->count == 0) return OK;
  const int64_t bad =
      b->find_outside(b, &p, INT64_MAX - p.base, INT64_MIN);
  if (bad >= 0)
    return fail(c, E_INDEX, "%A[%P] is %I; labels count from %I", "self", bad,
                index_value(c, labels, bad), p.base);
  const Status s = op_unary(c, OP_amax, labels, &most);
  if (s == OK) *bins = index_value(c, most, 0) - p.base + 1;
  tensor_release(c, most);
  return s;
}

static Status check_weights(Context *c, const Tensor *labels,
                            const Tensor *weights) {
  if (weights == NULL) return OK;
  Status s = check_same_device(c, "self", labels, "weights", weights);
  if (s == OK) s = check_same_shape(c, "self", labels, "weights", weights);
  if (s == OK && weights->dtype == DTYPE_BOOL)
    s = fail(c, E_DTYPE, "%A is bool; a sum of weights is a number",
             "weights");
  return s;
}

Status run_bincount(Context *c, Args *a, Tensor **r) {
  Tensor *x = a->at[0].tensor, *labels = NULL;
  const Tensor *weights =
      a->at[1].kind == ARG_TENSOR ? a->at[1].tensor : NULL;
  const int64_t least = args_integer(OP_bincount, a, 2);
  int64_t bins = 0;
  if (least < 0)
    return fail(c, E_RANGE, "%A is %I, below 0", "minlength", least);
  Status s = check_rank(c, "self", x, 1, 1);
  if (s == OK) s = check_weights(c, x, weights);
  if (s == OK) s = index_plain(c, "self", x, tensor_device(x), &labels);
  if (s == OK) s = bins_of(c, labels, &bins);
  if (s == OK)
    s = add_up(c, labels, weights, c->failure.base, max_i64(bins, least),
               &r[0]);
  tensor_release(c, labels);
  return s;
}

/* ---- histc ---- */

/* *value = the greatest (or smallest) number of x, a line of f64; NAN where
 * there is none. */
static Status end_of(Context *c, Tensor *x, bool greatest, double *value) {
  Tensor *is = NULL, *kept = NULL, *end = NULL;
  const double none = greatest ? -INFINITY : INFINITY;
  *value = NAN;
  if (x->count == 0) return OK;
  Args a = {.at = {[1] = arg_number(none)}};
  Status s = op_unary(c, OP_isnan, x, &is);
  a.at[0] = arg_tensor(is);
  a.at[2] = arg_tensor(x);
  if (s == OK) s = op_call(c, OP_where, &a, &kept);
  if (s == OK) s = op_unary(c, greatest ? OP_amax : OP_amin, kept, &end);
  if (s == OK) s = tensor_read(c, end, value);
  tensor_release(c, is);
  tensor_release(c, kept);
  tensor_release(c, end);
  return s;
}

/* The ends that were given, else those of x; not equal. */
static Status find_ends(Context *c, Tensor *x, const Args *a, double *low,
                        double *high) {
  *low = args_number(OP_histc, a, 2), *high = args_number(OP_histc, a, 3);
  const bool has_low = *low == *low, has_high = *high == *high;
  Status s = has_low ? OK : end_of(c, x, false, low);
  if (s == OK && !has_high) s = end_of(c, x, true, high);
  if (s != OK) return s;
  if (*low == INFINITY && *high == -INFINITY) *low = *high = NAN; /* all NaN */
  if (*low != *low) *low = *high == *high ? *high : 0;
  if (*high != *high) *high = *low;
  if (!has_high && *high < *low) *high = *low;
  if (!has_low && *low > *high) *low = *high;
  if (!isfinite(*low) || !isfinite(*high))
    return fail(c, E_RANGE,
                "bins from %g to %g: give finite ends as min and %A", *low,
                *high, "max");
  if (*low > *high)
    return fail(c, E_RANGE, "min %g is above %A %g", *low, "max", *high);
  if (*low == *high) *low -= 1, *high += 1;
  return OK;
}

/* *r = where bins begin, and the end, which lies behind max: the last bin is
 * closed. */
static Status find_edges(Context *c, Device *d, int64_t bins, double low,
                         double high, Tensor **r) {
  Tensor *host = NULL;
  const int64_t n = bins + 1;
  const Shape shape = shape_of(1, &n);
  Status s = tensor_new(c, &c->host, DTYPE_F64, &shape, &host);
  if (s == OK) {
    double *edge = (double *)(void *)tensor_data(host);
    const double part = 1 / (double)bins;
    for (int64_t i = 0; i < bins; i++)
      edge[i] = low + (high - low) * ((double)i * part);
    edge[bins] = nextafter(high, INFINITY);
    s = plain(c, host, DTYPE_F64, d, r);
  }
  tensor_release(c, host);
  return s;
}

/* *r (bins) = counts: 0 edges before an element, or all, is outside. */
static Status count_between(Context *c, Tensor *x, Tensor *edges, Dtype dtype,
                            Tensor **r) {
  Tensor *places = NULL, *counts = NULL, *inside = NULL;
  const int64_t bins = edges->count - 1;
  const Shape shape = shape_of(1, &bins);
  Status s = order_bisect(c, edges, x, true, 0, &places);
  if (s == OK) s = add_up(c, places, NULL, 0, bins + 2, &counts);
  if (s == OK) s = tensor_view(c, counts, &shape, counts->offset + 1, &inside);
  if (s == OK) s = plain(c, inside, dtype, tensor_device(x), r);
  tensor_release(c, places);
  tensor_release(c, counts);
  tensor_release(c, inside);
  return s;
}

Status run_histc(Context *c, Args *a, Tensor **r) {
  Tensor *x = a->at[0].tensor, *wide = NULL, *line = NULL, *edges = NULL;
  const int64_t bins = a->at[1].integer;
  double low, high;
  if (bins < 1 || bins > INT32_MAX)
    return fail(c, E_RANGE, "%A is %I, not of 1..%I", "bins", bins,
                (int64_t)INT32_MAX);
  Status s = plain(c, x, DTYPE_F64, tensor_device(x), &wide);
  const Shape shape = shape_of(1, &x->count);
  if (s == OK) s = tensor_view(c, wide, &shape, wide->offset, &line);
  if (s == OK) s = find_ends(c, line, a, &low, &high);
  if (s == OK)
    s = find_edges(c, tensor_device(x), bins, low, high, &edges);
  if (s == OK) s = count_between(c, line, edges, x->dtype, &r[0]);
  tensor_release(c, wide);
  tensor_release(c, line);
  tensor_release(c, edges);
  return s;
}
