/* pad.c: borders around a tensor, and what adds them back.
 *
 * pad copies the operand to the middle of the result, then makes the borders,
 * axis by axis from the last one: those of an axis hold the borders of all
 * later axes already.
 *
 *     . . . . .      axis 0: rows above and below, whole
 *     b m m m b      axis 1: columns beside the middle m
 *     . . . . .
 *
 * Must not know: derivatives.
 */
#include <string.h>

#include "ops/run.h"

typedef enum Mode { CONSTANT, REFLECT, REPLICATE, CIRCULAR } Mode;

/* outer[i] == inner[i] + before[i] + after[i]; widths below 0 crop. */
typedef struct Pad {
  Mode mode;
  int rank;
  int64_t inner[MAX_RANK], outer[MAX_RANK];
  int64_t before[MAX_RANK], after[MAX_RANK];
} Pad;

/* ---- arguments ---- */

static Status read_widths(Context *c, const Arg *widths, const Tensor *x,
                          Pad *p) {
  enum { MOST = INT32_MAX };
  p->rank = x->shape.rank;
  if (widths->kind != ARG_WHOLES || widths->count % 2 != 0)
    return fail(c, E_TYPE, "%A come in pairs, {before, after, ...}", "widths");
  if (widths->count > 2 * p->rank)
    return fail(c, E_RANK, "%d %A for self %S of rank %d", widths->count,
                "widths", SHAPE_ARG(&x->shape), p->rank);
  memset(p->before, 0, sizeof p->before);
  memset(p->after, 0, sizeof p->after);
  for (int i = 0; i < widths->count; i++) {
    const int64_t w = widths->wholes[i];
    if (w < -MOST || w > MOST)
      return fail(c, E_SIZE, "%A[%P] %I is too large", "widths", (int64_t)i, w);
    (i % 2 == 0 ? p->before : p->after)[p->rank - 1 - i / 2] = w;
  }
  return OK;
}

/* What a mode can make of an axis of `inner` positions. */
static Status check_axis(Context *c, const Pad *p, int i, const Tensor *x) {
  const int64_t n = p->inner[i];
  const int64_t least = min_i64(p->before[i], p->after[i]);
  const int64_t most = max_i64(p->before[i], p->after[i]);
  if (p->outer[i] < 0 || n < 0)
    return fail(c, E_SHAPE, "%A %I and %I leave nothing of dim %P of self %S",
                "widths", p->before[i], p->after[i], (int64_t)i,
                SHAPE_ARG(&x->shape));
  if (p->mode == CONSTANT) return OK;
  if (least < 0)
    return fail(c, E_RANGE, "%A %I: only the constant mode crops", "widths",
                least);
  const int64_t allowed = p->mode == REFLECT     ? max_i64(n - 1, 0)
                          : p->mode == CIRCULAR  ? n
                          : n > 0                ? INT64_MAX
                                                 : 0;
  if (most <= allowed) return OK;
  return fail(c, E_RANGE, "%A %I of dim %P: the mode takes at most %I of %I",
              "widths", most, (int64_t)i, allowed, n);
}

/* Of self to a larger result, or, `folds`, back. */
static Status read_pad(Context *c, OpId op, const Args *a, bool folds, Pad *p) {
  const Tensor *x = a->at[0].tensor;
  p->mode = (Mode)args_integer(op, a, 2);
  Status s = read_widths(c, &a->at[1], x, p);
  for (int i = 0; i < p->rank && s == OK; i++) {
    const int64_t more = p->before[i] + p->after[i];
    p->inner[i] = folds ? x->shape.size[i] - more : x->shape.size[i];
    p->outer[i] = folds ? x->shape.size[i] : x->shape.size[i] + more;
    s = check_axis(c, p, i, x);
  }
  return s;
}

/* ---- parts of the result ---- */

/* Where the middle lies on an axis. */
static int64_t middle_from(const Pad *p, int i) {
  return min_i64(p->outer[i], max_i64(0, p->before[i]));
}
static int64_t middle_size(const Pad *p, int i) {
  const int64_t end = min_i64(p->outer[i], p->before[i] + p->inner[i]);
  return max_i64(0, end - middle_from(p, i));
}

/* The shape of: earlier axes in the middle, axis d of n positions from `first`
 * on, later axes whole; *more: its first element. */
static Shape slab_shape(const Pad *p, const Tensor *t, int d, int64_t first,
                        int64_t n, int64_t *more) {
  Shape s = t->shape;
  *more = 0;
  for (int i = 0; i < d; i++) {
    s.size[i] = middle_size(p, i);
    *more += middle_from(p, i) * s.stride[i];
  }
  if (d < s.rank) {
    s.size[d] = n;
    *more += first * s.stride[d];
  }
  return s;
}

static Status slab(Context *c, const Pad *p, Tensor *t, int d, int64_t first,
                   int64_t n, Tensor **r) {
  int64_t more;
  const Shape s = slab_shape(p, t, d, first, n, &more);
  return tensor_view(c, t, &s, t->offset + more, r);
}

/* A border: n positions from `first` on.  Position j of it is like position
 * start + j step of the axis. */
typedef struct Edge {
  int64_t first, n, start, step;
} Edge;

static Edge edge_of(const Pad *p, int d, bool is_after) {
  const int64_t b = p->before[d], n = p->inner[d];
  Edge e = {0, b, 0, 0};
  if (is_after) e.first = b + n, e.n = p->after[d];
  if (p->mode == REFLECT)
    e.start = is_after ? b + n - 2 : 2 * b, e.step = -1;
  else if (p->mode == REPLICATE)
    e.start = is_after ? b + n - 1 : b;
  else
    e.start = is_after ? b : n, e.step = 1;
  return e;
}

/* ---- pad ---- */

static Status copy_edge(Context *c, const Pad *p, Tensor *out, int d, Edge e) {
  Tensor *to = NULL;
  int64_t more;
  Shape from = slab_shape(p, out, d, e.start, e.n, &more);
  from.stride[d] *= e.step;
  Status s = slab(c, p, out, d, e.first, e.n, &to);
  if (s == OK) s = move_seen(c, to, out, &from, more);
  tensor_release(c, to);
  return s;
}

static Status fill_edge(Context *c, const Pad *p, Tensor *out, int d,
                        int64_t first, int64_t n, const Arg *value) {
  Tensor *to = NULL;
  Status s = slab(c, p, out, d, first, n, &to);
  if (s == OK) s = fill_with(c, to, value);
  tensor_release(c, to);
  return s;
}

static Status make_edges(Context *c, const Pad *p, Tensor *out,
                         const Arg *value) {
  Status s = OK;
  for (int d = p->rank - 1; d >= 0 && s == OK; d--) {
    if (p->mode == CONSTANT) {
      const int64_t from = middle_from(p, d), end = from + middle_size(p, d);
      if (from > 0)
        s = fill_edge(c, p, out, d, 0, from, value);
      if (s == OK && end < p->outer[d])
        s = fill_edge(c, p, out, d, end, p->outer[d] - end, value);
      continue;
    }
    if (p->before[d] > 0) s = copy_edge(c, p, out, d, edge_of(p, d, false));
    if (s == OK && p->after[d] > 0)
      s = copy_edge(c, p, out, d, edge_of(p, d, true));
  }
  return s;
}

/* The part of x that is not cropped, to the middle of out. */
static Status copy_middle(Context *c, const Pad *p, Tensor *out,
                          const Tensor *x) {
  Tensor *to = NULL;
  Shape from = x->shape;
  int64_t from_more = 0, to_more;
  const Shape s = slab_shape(p, out, p->rank, 0, 0, &to_more);
  for (int i = 0; i < p->rank; i++) {
    from.size[i] = s.size[i];
    if (p->before[i] < 0) from_more -= p->before[i] * from.stride[i];
  }
  if (shape_count(&s) == 0) return OK;
  Status status = tensor_view(c, out, &s, to_more, &to);
  if (status == OK) status = move_seen(c, to, x, &from, from_more);
  tensor_release(c, to);
  return status;
}

static Status padded(Context *c, const Pad *p, const Tensor *x,
                     const Arg *value, Tensor **r) {
  const Arg sizes = arg_sizes(p->rank, p->outer);
  Tensor *out = NULL;
  Shape shape;
  Status s = check_sizes(c, &sizes, &shape);
  if (s == OK) s = tensor_new(c, tensor_device(x), x->dtype, &shape, &out);
  if (s == OK && out->count > 0) {
    s = copy_middle(c, p, out, x);
    if (s == OK) s = make_edges(c, p, out, value);
  }
  if (s == OK) *r = out;
  else tensor_release(c, out);
  return s;
}

Status run_pad(Context *c, Args *a, Tensor **r) {
  const Tensor *x = a->at[0].tensor;
  const Arg zero = arg_integer(0);
  const Arg *value = a->at[3].kind == ARG_NONE ? &zero : &a->at[3];
  Pad p;
  Status s = read_pad(c, OP_pad, a, false, &p);
  if (s == OK) s = check_fits(c, "value", value, x->dtype);
  return s != OK ? s : padded(c, &p, x, value, r);
}

/* ---- pad_fold ---- */

/* The part of sum at `first` on += x. */
static Status add_at(Context *c, const Pad *p, Tensor *sum, int d,
                     int64_t first, Tensor *x) {
  Tensor *to = NULL;
  Args a;
  Status s = slab(c, p, sum, d, first, x->shape.size[d], &to);
  a.at[0] = arg_tensor(to);
  a.at[1] = arg_tensor(x);
  a.at[2].kind = ARG_NONE;
  if (s == OK) s = pointwise_call(c, OP_add, &a, to, NULL);
  tensor_release(c, to);
  return s;
}

/* Every position of a border to the one at `start`. */
static Status gather_edge(Context *c, const Pad *p, Tensor *sum, int d,
                          Edge e) {
  Status s = OK;
  for (int64_t j = 0; j < e.n && s == OK; j++) {
    Tensor *one = NULL;
    s = slab(c, p, sum, d, e.first + j, 1, &one);
    if (s == OK) s = add_at(c, p, sum, d, e.start, one);
    tensor_release(c, one);
  }
  return s;
}

static Status flip_edge(Context *c, const Pad *p, Tensor *sum, int d, Edge e) {
  Tensor *turned = NULL;
  int64_t more;
  Shape from = slab_shape(p, sum, d, e.first + e.n - 1, e.n, &more);
  Status s = tensor_new(c, tensor_device(sum), sum->dtype, &from, &turned);
  from.stride[d] = -from.stride[d];
  if (s == OK) s = move_seen(c, turned, sum, &from, more);
  if (s == OK) s = add_at(c, p, sum, d, e.start - e.n + 1, turned);
  tensor_release(c, turned);
  return s;
}

static Status shift_edge(Context *c, const Pad *p, Tensor *sum, int d,
                         Edge e) {
  Tensor *part = NULL;
  Status s = slab(c, p, sum, d, e.first, e.n, &part);
  if (s == OK) s = add_at(c, p, sum, d, e.start, part);
  tensor_release(c, part);
  return s;
}

static Status fold_edges(Context *c, const Pad *p, Tensor *sum) {
  Status s = OK;
  for (int d = 0; d < p->rank; d++)
    for (int side = 0; side < 2 && s == OK; side++) {
      const Edge e = edge_of(p, d, side == 1);
      if (e.n == 0) continue;
      s = p->mode == REFLECT     ? flip_edge(c, p, sum, d, e)
          : p->mode == REPLICATE ? gather_edge(c, p, sum, d, e)
                                 : shift_edge(c, p, sum, d, e);
    }
  return s;
}

/* The borders of a copy are added to its middle, which is the result. */
Status run_pad_fold(Context *c, Args *a, Tensor **r) {
  const Tensor *x = a->at[0].tensor;
  const bool is_float = dtype_class(x->dtype) == CLASS_FLOAT;
  const Dtype dtype = is_float ? dtype_compute(x->dtype) : x->dtype;
  Tensor *sum = NULL, *middle = NULL, *out = NULL;
  Pad p;
  Status s = read_pad(c, OP_pad_fold, a, true, &p);
  if (s != OK) return s;
  if (p.mode == CONSTANT) {
    const Arg zero = arg_integer(0);
    for (int i = 0; i < p.rank; i++) {
      p.before[i] = -p.before[i], p.after[i] = -p.after[i];
      p.outer[i] = p.inner[i], p.inner[i] = x->shape.size[i];
    }
    return padded(c, &p, x, &zero, r);
  }
  const Shape shape = shape_of(p.rank, p.inner);
  s = tensor_new(c, tensor_device(x), x->dtype, &shape, &out);
  if (s == OK && out->count > 0) {
    s = tensor_new(c, tensor_device(x), dtype, &x->shape, &sum);
    if (s == OK) s = move_into(c, sum, x);
    if (s == OK) s = fold_edges(c, &p, sum);
    if (s == OK) s = slab(c, &p, sum, p.rank, 0, 0, &middle);
    if (s == OK) s = move_into(c, out, middle);
  }
  tensor_release(c, sum);
  tensor_release(c, middle);
  if (s == OK) r[0] = out;
  else tensor_release(c, out);
  return s;
}
