/* quantile.c: the order of a line read between its elements.
 *
 * Written in rows: sort, two positions of each line, a weight between them.
 * Must not know: derivatives; they follow from the rows.
 */
#include <math.h>
#include <string.h>

#include "ops/order.h"

/* ORDER of the choices of the row */
typedef enum Between { LINEAR, LOWER, HIGHER, NEAREST, MIDPOINT } Between;

/* One value of q on a line: elements `low` and `high`, from 0, and how far
 * from the one to the other. */
typedef struct Spot {
  int64_t low, high;
  double weight;
} Spot;

static Spot spot_of(double q, int64_t n, Between between) {
  const double at = q * (double)(n - 1);
  const int64_t low = (int64_t)floor(at), high = (int64_t)ceil(at);
  switch (between) {
  case LOWER: return (Spot){low, low, 0};
  case HIGHER: return (Spot){high, high, 0};
  case NEAREST: return (Spot){(int64_t)rint(at), (int64_t)rint(at), 0};
  case MIDPOINT: return (Spot){low, high, low < high ? 0.5 : 0};
  case LINEAR: break;
  }
  return (Spot){low, high, at - (double)low};
}

/* ---- q ---- */

static Status check_q(Context *c, const Tensor *q) {
  const double *value = (const double *)(const void *)tensor_data(q);
  for (int64_t i = 0; i < q->count; i++) {
    if (value[i] >= 0 && value[i] <= 1) continue;
    if (q->shape.rank == 0)
      return fail(c, E_RANGE, "%A is %g; parts are 0 to 1", "q", value[i]);
    return fail(c, E_RANGE, "%A[%P] is %g; parts are 0 to 1", "q", i,
                value[i]);
  }
  return OK;
}

/* *r = q in f64 on the host. */
static Status read_q(Context *c, const Arg *q, Tensor **r) {
  Status s = OK;
  if (q->kind == ARG_TENSOR) {
    s = check_rank(c, "q", q->tensor, 0, 1);
    if (s == OK) s = plain(c, q->tensor, DTYPE_F64, &c->host, r);
  } else {
    s = op_scalar(c, &c->host, DTYPE_F64, arg_f64(q), r);
  }
  return s != OK ? s : check_q(c, *r);
}

/* ---- positions and weights, on the device of x ---- */

/* What a line of n is read with: one entry for each q. */
typedef struct Spots {
  Tensor *low, *high, *weight; /* weight: shaped to go with dim */
} Spots;

static void spots_close(Context *c, Spots *p) {
  tensor_release(c, p->low);
  tensor_release(c, p->high);
  tensor_release(c, p->weight);
}

/* host[3] (i64, i64, f64) filled for all of q. */
static void fill_spots(Context *c, const Tensor *q, int64_t n, Between between,
                       Tensor *const host[3]) {
  const double *value = (const double *)(const void *)tensor_data(q);
  int64_t *low = (int64_t *)(void *)tensor_data(host[0]);
  int64_t *high = (int64_t *)(void *)tensor_data(host[1]);
  double *weight = (double *)(void *)tensor_data(host[2]);
  for (int64_t i = 0; i < q->count; i++) {
    const Spot spot = spot_of(value[i], n, between);
    low[i] = spot.low + c->failure.base;
    high[i] = spot.high + c->failure.base;
    weight[i] = spot.weight;
  }
}

/* For lines of x along dim; weights in the dtype that x computes in. */
static Status spots_open(Context *c, const Tensor *x, int dim, const Tensor *q,
                         Between between, Spots *p) {
  Tensor *host[3] = {NULL}, *shaped = NULL;
  Device *d = tensor_device(x);
  const Shape vector = shape_of(1, &q->count);
  Status s = OK;
  for (int i = 0; i < 3 && s == OK; i++)
    s = tensor_new(c, &c->host, i < 2 ? DTYPE_I64 : DTYPE_F64, &vector,
                   &host[i]);
  if (s == OK) {
    fill_spots(c, q, x->shape.size[dim], between, host);
    int64_t size[MAX_RANK];
    for (int i = 0; i < x->shape.rank; i++) size[i] = i == dim ? q->count : 1;
    s = op_reshape(c, host[2], x->shape.rank, size, &shaped);
  }
  if (s == OK) s = plain(c, host[0], DTYPE_I64, d, &p->low);
  if (s == OK) s = plain(c, host[1], DTYPE_I64, d, &p->high);
  if (s == OK) s = plain(c, shaped, dtype_compute(x->dtype), d, &p->weight);
  for (int i = 0; i < 3; i++) tensor_release(c, host[i]);
  tensor_release(c, shaped);
  return s;
}

/* ---- reading a sorted line ---- */

/* *r = elements of x at positions of dim, in the dtype that x computes in. */
static Status read_at(Context *c, Tensor *x, int dim, Tensor *at,
                      Tensor **r) {
  Tensor *picked = NULL;
  Args a = {.at = {[1] = arg_integer(dim)}};
  a.at[0] = arg_tensor(x);
  a.at[2] = arg_tensor(at);
  Status s = op_call(c, OP_index_select, &a, &picked);
  if (s == OK) s = op_cast(c, picked, dtype_compute(x->dtype), r);
  tensor_release(c, picked);
  return s;
}

/* where(isnan(test), x or 0, y) */
static Status where_nan(Context *c, Tensor *test, Tensor *x, Tensor *y,
                        Tensor **r) {
  Tensor *is = NULL;
  Status s = op_unary(c, OP_isnan, test, &is);
  Args a = {.at = {[1] = arg_number(0)}};
  a.at[0] = arg_tensor(is);
  if (x != NULL) a.at[1] = arg_tensor(x);
  a.at[2] = arg_tensor(y);
  if (s == OK) s = op_call(c, OP_where, &a, r);
  tensor_release(c, is);
  return s;
}

/* *r = low + weight (high - low); two equal infinities are as far apart as
 * any equal numbers. */
static Status between_both(Context *c, Tensor *x, int dim, const Spots *p,
                           Tensor *low, Tensor **r) {
  Tensor *high = NULL, *apart = NULL, *far = NULL, *part = NULL;
  Status s = read_at(c, x, dim, p->high, &high);
  if (s == OK) s = op_binary(c, OP_sub, high, low, &apart);
  if (s == OK) s = where_nan(c, apart, NULL, apart, &far);
  if (s == OK) s = op_binary(c, OP_mul, p->weight, far, &part);
  if (s == OK) s = op_binary(c, OP_add, low, part, r);
  tensor_release(c, high);
  tensor_release(c, apart);
  tensor_release(c, far);
  tensor_release(c, part);
  return s;
}

/* *r = y, or the last of a sorted line where that is NaN. */
static Status spread_nan(Context *c, Tensor *x, int dim, Tensor *y,
                         Tensor **r) {
  Tensor *last = NULL, *wide = NULL;
  Args a = {.at = {[1] = arg_integer(dim), [3] = arg_integer(1)}};
  a.at[0] = arg_tensor(x);
  a.at[2] = arg_integer(x->shape.size[dim] - 1);
  Status s = op_call(c, OP_narrow, &a, &last);
  if (s == OK) s = op_cast(c, last, y->dtype, &wide);
  if (s == OK) s = where_nan(c, wide, wide, y, r);
  tensor_release(c, last);
  tensor_release(c, wide);
  return s;
}

/* *r = sorted lines read at q, which stands for dim. */
static Status read_lines(Context *c, Tensor *x, int dim, const Tensor *q,
                         Between between, Tensor **r) {
  Spots p = {.low = NULL};
  Tensor *low = NULL, *y = NULL, *wide = NULL;
  Status s = spots_open(c, x, dim, q, between, &p);
  if (s == OK) s = read_at(c, x, dim, p.low, &low);
  if (s == OK && (between == LINEAR || between == MIDPOINT))
    s = between_both(c, x, dim, &p, low, &y);
  else if (s == OK)
    y = tensor_share(low);
  if (s == OK) s = spread_nan(c, x, dim, y, &wide);
  if (s == OK) s = op_cast(c, wide, x->dtype, r);
  spots_close(c, &p);
  tensor_release(c, low);
  tensor_release(c, y);
  tensor_release(c, wide);
  return s;
}

/* ---- the row ---- */

/* A vector q comes first; the dim goes, or all do, or stay as 1. */
static Status arrange_result(Context *c, const Tensor *x, const bool gone[],
                             bool keepdim, const Tensor *q, int dim,
                             Tensor *y, Tensor **r) {
  Tensor *turned = NULL;
  const int64_t from = dim, to = 0;
  Args a = {.at = {[1] = arg_sizes(1, &from), [2] = arg_sizes(1, &to)}};
  int64_t size[MAX_RANK + 1];
  int rank = 0;
  if (q->shape.rank == 1) size[rank++] = q->count;
  for (int i = 0; i < x->shape.rank; i++) {
    if (!gone[i]) size[rank++] = x->shape.size[i];
    else if (keepdim) size[rank++] = 1;
  }
  if (rank > MAX_RANK)
    return fail(c, E_RANK, "%A %S has no room for a dim of q", "self",
                SHAPE_ARG(&x->shape));
  a.at[0] = arg_tensor(y);
  Status s = op_call(c, OP_movedim, &a, &turned);
  if (s == OK) s = op_reshape(c, turned, rank, size, r);
  tensor_release(c, turned);
  return s;
}

Status run_quantile(Context *c, Args *a, Tensor **r) {
  Tensor *x = a->at[0].tensor, *lines = NULL, *q = NULL, *y = NULL;
  Tensor *sorted[2] = {NULL, NULL};
  const Between between = (Between)args_integer(OP_quantile, a, 3);
  const bool keepdim = args_integer(OP_quantile, a, 4) != 0;
  const bool over_all = a->at[2].kind == ARG_NONE;
  bool gone[MAX_RANK];
  int dim = 0;
  int64_t size = x->count;
  Status s = read_q(c, &a->at[1], &q);
  if (s == OK && !over_all) s = order_dim(c, OP_quantile, a, 2, &dim, &size);
  for (int i = 0; i < MAX_RANK; i++) gone[i] = over_all || i == dim;
  if (s == OK) s = order_check_line(c, x, dim, size, "quantile");
  if (s == OK && (over_all || x->shape.rank == 0)) s = order_flat(c, x, &lines);
  else if (s == OK) lines = tensor_share(x);
  if (s == OK) {
    Args one = {.at = {[1] = arg_integer(dim)}};
    one.at[0] = arg_tensor(lines);
    s = op_call(c, OP_sort, &one, sorted);
  }
  if (s == OK) s = read_lines(c, sorted[0], dim, q, between, &y);
  if (s == OK) s = arrange_result(c, x, gone, keepdim, q, dim, y, &r[0]);
  tensor_release(c, q);
  tensor_release(c, lines);
  tensor_release(c, sorted[0]);
  tensor_release(c, sorted[1]);
  tensor_release(c, y);
  return s;
}
