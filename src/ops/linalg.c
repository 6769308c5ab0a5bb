/* linalg.c: factorisations and solutions of matrices, one or a batch.
 *
 * Kernels want columns, in f32 or f64, in the host's memory (Dense,
 * backend.h): matrices of other layouts, dtypes and devices are copied there
 * and back.  So every row is right on a GPU too, at the price of the way; a
 * backend that fills the slot is the place for cuSOLVER.
 * Results are new: when a matrix of a batch fails, nothing has been written.
 * Must not know: LAPACK, derivatives.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "ops/run.h"

/* ---- arguments ---- */

static int64_t rows_of(const Tensor *x) {
  return x->shape.size[x->shape.rank - 2];
}
static int64_t columns_of(const Tensor *x) {
  return x->shape.size[x->shape.rank - 1];
}

/* The axes in front of the last two. */
static Shape batch_of(const Tensor *x) {
  Shape s = x->shape;
  s.rank = s.rank > 2 ? s.rank - 2 : 0;
  return s;
}

static Shape with_axis(Shape s, int64_t size) {
  shape_insert(&s, s.rank, size, 1);
  shape_contiguous(&s);
  return s;
}

static Shape with_axes(Shape s, int64_t rows, int64_t columns) {
  return with_axis(with_axis(s, rows), columns);
}

/* ---- to columns on the host, and back ---- */

/* The host's memory, unset. */
static Status make(Context *c, Dtype dtype, const Shape *shape, Tensor **r) {
  return tensor_new(c, &c->host, dtype, shape, r);
}

static void swap_last(Shape *s) {
  const int i = s->rank - 2, j = s->rank - 1;
  const int64_t size = s->size[i], stride = s->stride[i];
  s->size[i] = s->size[j], s->stride[i] = s->stride[j];
  s->size[j] = size, s->stride[j] = stride;
}

/* *r = matrices of x, a copy of our own, for every member of `batch`: rows as
 * columns (`turns`), else as they lie, which a kernel reads as turned. */
static Status take(Context *c, const Tensor *x, const Shape *batch, bool turns,
                   Tensor **r) {
  Tensor *view = NULL, *copy = NULL;
  const Shape whole = with_axes(*batch, rows_of(x), columns_of(x));
  Shape shape;
  const bool fits = shape_expand(&x->shape, &whole, &shape);
  if (never(!fits)) return fail(c, E_SHAPE, "batches do not agree");
  if (turns) swap_last(&shape);
  Status s = tensor_view(c, x, &shape, x->offset, &view);
  if (s == OK) s = make(c, dtype_compute(x->dtype), &shape, &copy);
  if (s == OK) s = move_into(c, copy, view);
  tensor_release(c, view);
  if (s == OK)
    *r = copy;
  else
    tensor_release(c, copy);
  return s;
}

/* *r = what a kernel left in `from`, turned back where `turns`, in the dtype
 * and on the device of `like`. */
static Status give(Context *c, const Tensor *from, bool turns,
                   const Tensor *like, Tensor **r) {
  Tensor *view = NULL;
  Shape shape = from->shape;
  if (turns) swap_last(&shape);
  Status s = tensor_view(c, from, &shape, from->offset, &view);
  if (s == OK) {
    view->is_view = false; /* of something that nobody else has */
    s = plain(c, view, like->dtype, tensor_device(like), r);
  }
  tensor_release(c, view);
  return s;
}

/* Ones on the diagonals of fresh square matrices, zeros beside. */
static Status fill_identity(Context *c, Tensor *t) {
  const Arg zero = arg_integer(0), one = arg_integer(1);
  Tensor *diagonal = NULL;
  Shape shape = t->shape;
  shape.stride[shape.rank - 2]++;
  shape.rank--;
  Status s = fill_with(c, t, &zero);
  if (s == OK) s = tensor_view(c, t, &shape, t->offset, &diagonal);
  if (s == OK) s = fill_with(c, diagonal, &one);
  tensor_release(c, diagonal);
  return s;
}

/* ---- running ---- */

/* Why a matrix has no result: `before` number `after`, or `before` alone. */
typedef struct Reason {
  const char *before, *after;
} Reason;

static const Reason *reason(const Dense *d, int64_t info) {
  static const Reason singular = {"the matrix is singular: pivot ", " is 0"};
  static const Reason minor = {"leading minor ", " is not positive"};
  static const Reason infinite = {"an element is NaN or infinite", NULL};
  static const Reason endless = {"the iteration did not converge", NULL};
  if (info < 0) return &infinite;
  if (d->what == DENSE_CHOLESKY) return &minor;
  return d->what >= DENSE_SVD ? &endless : &singular;
}

/* Says which matrix, where there are several, then why. */
static Status fail_of(Context *c, const Dense *d, const Shape *batch,
                      int64_t at) {
  const Reason *why = reason(d, d->info[at]);
  char text[FAILURE_TEXT];
  if (why->after != NULL)
    fail(c, E_NUMERIC, "%s%I%s", why->before, d->info[at], why->after);
  else
    fail(c, E_NUMERIC, "%s", why->before);
  if (batch->rank == 0) return E_NUMERIC;
  memcpy(text, c->failure.text, sizeof text);
  if (batch->rank == 1)
    return fail(c, E_NUMERIC, "batch %P: %s", at, text);
  return fail(c, E_NUMERIC, "batch %Q: %s", SHAPE_ARG(batch), at, text);
}

/* Does a failure of this job mean that there is no result?  A factorisation
 * of a singular matrix is one all the same. */
static bool must_succeed(const Dense *d) { return d->what != DENSE_LU; }

static Status check_info(Context *c, const Dense *d, const Shape *batch) {
  for (int64_t i = 0; i < d->batch && must_succeed(d); i++)
    if (d->info[i] != 0) return fail_of(c, d, batch, i);
  return OK;
}

/* Runs d over the batch, whose pointers are set. */
static Status run(Context *c, Dense *d, const Shape *batch) {
  Backend *b = &c->host.backend;
  d->batch = shape_count(batch);
  if (d->batch == 0 || d->m == 0 || d->n == 0) return OK;
  const size_t infos = (size_t)d->batch * sizeof *d->info;
  const size_t room = b->dense_room(b, d);
  char *info = NULL, *scratch = NULL;
  Status s = scratch_take(c, &c->host, infos, &info);
  if (s == OK) s = scratch_take(c, &c->host, room, &scratch);
  d->info = (int64_t *)(void *)info;
  d->scratch = scratch;
  if (s == OK) s = check_done(c, b->dense(b, d));
  if (s == OK) s = check_info(c, d, batch);
  scratch_give(&c->host, scratch, room);
  scratch_give(&c->host, info, infos);
  return s;
}

/* ---- LU: solve, inv, determinants, lu_factor ---- */

/* other as matrices: a vector is a column.  Its rows are as many as self has
 * columns, after the side is taken (`left`: rows of other, else columns). */
static Status open_other(Context *c, const Tensor *x, const Tensor *y,
                         bool left, Shape *shape) {
  Status s = check_same_device(c, "self", x, "other", y);
  if (s == OK) s = check_same_dtype(c, "self", x, "other", y);
  if (s == OK) s = check_rank(c, "other", y, left ? 1 : 2, MAX_RANK);
  if (s != OK) return s;
  *shape = y->shape;
  if (shape->rank == 1) shape_insert(shape, 1, 1, 0);
  const int axis = shape->rank - (left ? 2 : 1);
  if (shape->size[axis] == columns_of(x)) return OK;
  return fail(c, E_SHAPE,
              "self %S and %A %S: self dim %P is %I, other dim %P is %I",
              SHAPE_ARG(&x->shape), "other", SHAPE_ARG(&y->shape),
              (int64_t)(x->shape.rank - 1), columns_of(x), (int64_t)axis,
              shape->size[axis]);
}

/* *batch = what both batches broadcast to. */
static Status join_batches(Context *c, const Tensor *x, const Tensor *y,
                           Shape *batch) {
  const Shape a = batch_of(x), b = batch_of(y);
  int axis = 0;
  *batch = a;
  if (shape_broadcast(batch, &b, &axis)) return OK;
  const int i = a.rank - 1 - axis, j = b.rank - 1 - axis;
  return fail(c, E_SHAPE,
              "batches of self %S and %A %S do not broadcast: self dim %P is "
              "%I, other dim %P is %I",
              SHAPE_ARG(&x->shape), "other", SHAPE_ARG(&y->shape), (int64_t)i,
              a.size[i], (int64_t)j, b.size[j]);
}

/* Both operands of a solution, as columns: *a, *b; the kernel's d runs on
 * them.  Sets d->n and d->k. */
typedef struct Sides {
  bool turns; /* both lie turned: x self = other is self' x' = other' */
  Shape batch;
  Tensor *a, *b;
} Sides;

static Status open_sides(Context *c, const Tensor *x, const Tensor *y,
                         bool left, Dense *d, Sides *two) {
  Tensor *matrix = NULL;
  Shape shape;
  Status s = check_square(c, "self", x);
  if (s == OK) s = open_other(c, x, y, left, &shape);
  if (s == OK) s = join_batches(c, x, y, &two->batch);
  if (s == OK) s = tensor_view(c, y, &shape, y->offset, &matrix);
  two->turns = left;
  if (s == OK) s = take(c, x, &two->batch, left, &two->a);
  if (s == OK) s = take(c, matrix, &two->batch, left, &two->b);
  tensor_release(c, matrix);
  if (s != OK) return s;
  d->dtype = two->a->dtype;
  d->m = d->n = columns_of(x);
  d->k = rows_of(two->b);
  d->a = tensor_data(two->a), d->b = tensor_data(two->b);
  return OK;
}

/* *r = the solution in the rank that other had. */
static Status close_sides(Context *c, const Sides *two, const Tensor *y,
                          Tensor **r) {
  Tensor *whole = NULL;
  Status s = give(c, two->b, two->turns, y, &whole);
  if (s == OK && y->shape.rank == 1) {
    Shape shape = whole->shape;
    shape_drop(&shape, shape.rank - 1);
    s = tensor_view(c, whole, &shape, whole->offset, r);
    if (s == OK) (*r)->is_view = false;
  } else if (s == OK) {
    *r = tensor_share(whole);
  }
  tensor_release(c, whole);
  return s;
}

static Status solve_sides(Context *c, Args *a, bool left, Dense *d,
                          Tensor **r) {
  const Tensor *x = a->at[0].tensor, *y = a->at[1].tensor;
  Sides two = {0};
  Status s = open_sides(c, x, y, left, d, &two);
  if (s == OK && d->k > 0) s = run(c, d, &two.batch);
  if (s == OK) s = close_sides(c, &two, y, &r[0]);
  tensor_release(c, two.a);
  tensor_release(c, two.b);
  return s;
}

Status run_solve(Context *c, Args *a, Tensor **r) {
  Dense d = {.what = DENSE_SOLVE};
  return solve_sides(c, a, true, &d, r);
}

Status run_triangular_solve(Context *c, Args *a, Tensor **r) {
  const OpId op = OP_triangular_solve;
  const bool left = args_integer(op, a, 3) != 0;
  Dense d = {.what = DENSE_TRIANGULAR,
             .upper = (args_integer(op, a, 2) != 0) == left,
             .unit = args_integer(op, a, 4) != 0};
  return solve_sides(c, a, left, &d, r);
}

Status run_inv(Context *c, Args *a, Tensor **r) {
  const Tensor *x = a->at[0].tensor;
  Tensor *lu = NULL, *out = NULL;
  Status s = check_square(c, "self", x);
  if (s != OK) return s;
  const Shape batch = batch_of(x);
  s = take(c, x, &batch, true, &lu);
  if (s == OK) s = make(c, lu->dtype, &lu->shape, &out);
  if (s == OK) s = fill_identity(c, out);
  if (s == OK) {
    const int64_t n = columns_of(x);
    Dense d = {.what = DENSE_SOLVE, .dtype = lu->dtype, .m = n, .n = n, .k = n,
               .a = tensor_data(lu), .b = tensor_data(out)};
    s = run(c, &d, &batch);
  }
  if (s == OK) s = give(c, out, true, x, &r[0]);
  tensor_release(c, lu);
  tensor_release(c, out);
  return s;
}

/* Factors of all matrices of x: packed columns, and pivots from 0. */
typedef struct Factors {
  Shape batch;
  Tensor *lu, *pivot;
} Factors;

static Status open_factors(Context *c, const Tensor *x, Factors *f) {
  Status s = check_square(c, "self", x);
  if (s != OK) return s;
  const int64_t n = columns_of(x);
  f->batch = batch_of(x);
  const Shape rows = with_axis(f->batch, n);
  s = take(c, x, &f->batch, true, &f->lu);
  if (s == OK) s = make(c, DTYPE_I64, &rows, &f->pivot);
  if (s != OK) return s;
  Dense d = {.what = DENSE_LU, .dtype = f->lu->dtype, .m = n, .n = n,
             .a = tensor_data(f->lu),
             .pivot = (int64_t *)(void *)tensor_data(f->pivot)};
  return run(c, &d, &f->batch);
}

static void close_factors(Context *c, Factors *f) {
  tensor_release(c, f->lu);
  tensor_release(c, f->pivot);
}

static double number_at(const Tensor *t, int64_t i) {
  return t->dtype == DTYPE_F64
             ? ((const double *)(const void *)tensor_data(t))[i]
             : (double)((const float *)(const void *)tensor_data(t))[i];
}

/* What matrix number `at` says of its determinant. */
typedef struct Determinant {
  double value, sign, log;
  bool is_near_singular; /* the least pivot is roundoff beside the greatest */
} Determinant;

static Determinant determinant(const Factors *f, int64_t n, int64_t at) {
  const int64_t *pivot =
      (const int64_t *)(const void *)tensor_data(f->pivot) + at * n;
  const double epsilon = f->lu->dtype == DTYPE_F64 ? DBL_EPSILON : FLT_EPSILON;
  Determinant d = {1, 1, 0, false};
  double least = INFINITY, most = 0;
  for (int64_t i = 0; i < n; i++) {
    const double x = number_at(f->lu, (at * n + i) * n + i);
    const double size = fabs(x);
    d.value *= pivot[i] != i ? -x : x;
    d.sign *= pivot[i] != i ? -1 : 1;
    d.sign *= x > 0 ? 1 : x < 0 ? -1 : x;
    d.log += log(size);
    if (size < least) least = size;
    if (size > most) most = size;
  }
  d.is_near_singular = n > 0 && least <= (double)n * epsilon * most;
  return d;
}

/* Fresh results {..} on the host, f64, for each matrix. */
static Status each_determinant(Context *c, const Factors *f, int64_t n,
                               Tensor **value, Tensor **log, Tensor **near) {
  const int64_t count = shape_count(&f->batch);
  Status s = make(c, DTYPE_F64, &f->batch, value);
  if (s == OK && log != NULL) s = make(c, DTYPE_F64, &f->batch, log);
  if (s == OK && near != NULL) s = make(c, DTYPE_BOOL, &f->batch, near);
  for (int64_t i = 0; i < count && s == OK; i++) {
    const Determinant d = determinant(f, n, i);
    ((double *)(void *)tensor_data(*value))[i] = log != NULL ? d.sign : d.value;
    if (log != NULL) ((double *)(void *)tensor_data(*log))[i] = d.log;
    if (near != NULL) tensor_data(*near)[i] = d.is_near_singular;
  }
  return s;
}

/* Hidden: where the matrix is singular, or so nearly that its inverse is
 * roundoff. */
Status run_det(Context *c, Args *a, Tensor **r) {
  const Tensor *x = a->at[0].tensor;
  Tensor *value = NULL, *near = NULL;
  Factors f = {0};
  Status s = open_factors(c, x, &f);
  if (s == OK)
    s = each_determinant(c, &f, columns_of(x), &value, NULL, &near);
  if (s == OK) s = plain(c, value, x->dtype, tensor_device(x), &r[0]);
  if (s == OK) s = plain(c, near, DTYPE_BOOL, tensor_device(x), &r[1]);
  tensor_release(c, value);
  tensor_release(c, near);
  close_factors(c, &f);
  return s;
}

Status run_slogdet_parts(Context *c, Args *a, Tensor **r) {
  const Tensor *x = a->at[0].tensor;
  Tensor *sign = NULL, *log = NULL;
  Factors f = {0};
  Status s = open_factors(c, x, &f);
  if (s == OK) s = each_determinant(c, &f, columns_of(x), &sign, &log, NULL);
  if (s == OK) s = plain(c, sign, x->dtype, tensor_device(x), &r[0]);
  if (s == OK) s = plain(c, log, x->dtype, tensor_device(x), &r[1]);
  tensor_release(c, sign);
  tensor_release(c, log);
  close_factors(c, &f);
  return s;
}

/* Exchanges (from 0) become the rows in their new order; both then count from
 * the caller's base. */
static void count_pivots(int64_t n, int64_t base, int64_t *pivot,
                         int64_t *order) {
  for (int64_t i = 0; i < n; i++) order[i] = i + base;
  for (int64_t i = 0; i < n; i++) {
    const int64_t kept = order[i];
    order[i] = order[pivot[i]], order[pivot[i]] = kept;
    pivot[i] += base;
  }
}

/* Hidden: row i of P' self is row order[i] of self. */
Status run_lu_factor(Context *c, Args *a, Tensor **r) {
  const Tensor *x = a->at[0].tensor;
  Tensor *order = NULL;
  Device *d = tensor_device(x);
  Factors f = {0};
  Status s = open_factors(c, x, &f);
  if (s == OK) s = make(c, DTYPE_I64, &f.pivot->shape, &order);
  for (int64_t i = 0; s == OK && i < order->count; i += columns_of(x))
    count_pivots(columns_of(x), c->failure.base,
                 (int64_t *)(void *)tensor_data(f.pivot) + i,
                 (int64_t *)(void *)tensor_data(order) + i);
  if (s == OK) s = give(c, f.lu, true, x, &r[0]);
  if (s == OK) s = plain(c, f.pivot, DTYPE_I64, d, &r[1]);
  if (s == OK) s = plain(c, order, DTYPE_I64, d, &r[2]);
  tensor_release(c, order);
  close_factors(c, &f);
  return s;
}

/* ---- symmetric matrices, read as they lie: their own transposes ---- */

Status run_cholesky(Context *c, Args *a, Tensor **r) {
  const Tensor *x = a->at[0].tensor;
  Tensor *out = NULL;
  Status s = check_square(c, "self", x);
  if (s != OK) return s;
  const Shape batch = batch_of(x);
  const int64_t n = columns_of(x);
  s = take(c, x, &batch, false, &out);
  if (s == OK) {
    Dense d = {.what = DENSE_CHOLESKY, .dtype = out->dtype,
               .upper = args_integer(OP_cholesky, a, 1) == 0, .m = n, .n = n,
               .a = tensor_data(out)};
    s = run(c, &d, &batch);
  }
  if (s == OK) s = give(c, out, false, x, &r[0]);
  tensor_release(c, out);
  return s;
}

/* *values {..,n}, and *vectors unless NULL. */
static Status eigh(Context *c, OpId op, const Args *a, Tensor **values,
                   Tensor **vectors) {
  const Tensor *x = a->at[0].tensor;
  Tensor *out = NULL, *s_out = NULL;
  Status s = check_square(c, "self", x);
  if (s != OK) return s;
  const Shape batch = batch_of(x);
  const int64_t n = columns_of(x);
  const Shape line = with_axis(batch, n);
  s = take(c, x, &batch, false, &out);
  if (s == OK) s = make(c, out->dtype, &line, &s_out);
  if (s == OK) {
    Dense d = {.what = DENSE_EIGH, .dtype = out->dtype,
               .upper = args_integer(op, a, 1) == 0,
               .vectors = vectors != NULL, .m = n, .n = n,
               .a = tensor_data(out), .s = tensor_data(s_out)};
    s = run(c, &d, &batch);
  }
  if (s == OK) s = plain(c, s_out, x->dtype, tensor_device(x), values);
  if (s == OK && vectors != NULL) s = give(c, out, true, x, vectors);
  tensor_release(c, out);
  tensor_release(c, s_out);
  return s;
}

Status run_eigh(Context *c, Args *a, Tensor **r) {
  return eigh(c, OP_eigh, a, &r[0], &r[1]);
}

Status run_eigvalsh(Context *c, Args *a, Tensor **r) {
  return eigh(c, OP_eigvalsh, a, &r[0], NULL);
}

/* ---- two factors of any matrix: qr, svd ---- */

/* a (m, n), u (m, p), v (q, n) as columns, s (least); s and v may be left
 * out. */
typedef struct Parts {
  Shape batch;
  Tensor *a, *u, *v, *s;
} Parts;

/* Without rows or columns there is nothing to run; what is square is then the
 * identity. */
static Status fill_square(Context *c, Tensor *t) {
  if (t == NULL || t->count == 0) return OK;
  return rows_of(t) == columns_of(t) ? fill_identity(c, t) : OK;
}

static Status run_parts(Context *c, const Tensor *x, Dense *d, Parts *p) {
  Status s = check_matrix(c, "self", x);
  if (s != OK) return s;
  const int64_t m = rows_of(x), n = columns_of(x), least = min_i64(m, n);
  const int64_t wide = d->full ? m : least;
  const int64_t high = !d->full ? least : d->what == DENSE_QR ? m : n;
  p->batch = batch_of(x);
  const Shape us = with_axes(p->batch, wide, m);
  const Shape vs = with_axes(p->batch, n, high);
  const Shape ss = with_axis(p->batch, least);
  s = take(c, x, &p->batch, true, &p->a);
  if (s == OK && d->vectors) s = make(c, p->a->dtype, &us, &p->u);
  if (s == OK && d->vectors) s = make(c, p->a->dtype, &vs, &p->v);
  if (s == OK && d->what == DENSE_SVD) s = make(c, p->a->dtype, &ss, &p->s);
  if (s != OK) return s;
  d->dtype = p->a->dtype, d->m = m, d->n = n;
  d->a = tensor_data(p->a);
  if (p->u != NULL) d->u = tensor_data(p->u), d->v = tensor_data(p->v);
  if (p->s != NULL) d->s = tensor_data(p->s);
  if (least > 0) return run(c, d, &p->batch);
  s = fill_square(c, p->u);
  return s == OK && d->what == DENSE_SVD ? fill_square(c, p->v) : s;
}

static void close_parts(Context *c, Parts *p) {
  tensor_release(c, p->a);
  tensor_release(c, p->u);
  tensor_release(c, p->v);
  tensor_release(c, p->s);
}

Status run_qr_pair(Context *c, Args *a, Tensor **r) {
  const Tensor *x = a->at[0].tensor;
  Dense d = {.what = DENSE_QR, .vectors = true,
             .full = args_integer(OP_qr_pair, a, 1) != 0};
  Parts p = {0};
  Status s = run_parts(c, x, &d, &p);
  if (s == OK) s = give(c, p.u, true, x, &r[0]);
  if (s == OK) s = give(c, p.v, true, x, &r[1]);
  close_parts(c, &p);
  return s;
}

static Status svd(Context *c, const Tensor *x, bool vectors, bool full,
                  Tensor **u, Tensor **values, Tensor **v) {
  Dense d = {.what = DENSE_SVD, .vectors = vectors, .full = full};
  Parts p = {0};
  Status s = run_parts(c, x, &d, &p);
  if (s == OK) s = plain(c, p.s, x->dtype, tensor_device(x), values);
  if (s == OK && vectors) s = give(c, p.u, true, x, u);
  if (s == OK && vectors) s = give(c, p.v, true, x, v);
  close_parts(c, &p);
  return s;
}

Status run_svd(Context *c, Args *a, Tensor **r) {
  return svd(c, a->at[0].tensor, true, args_integer(OP_svd, a, 1) != 0, &r[0],
             &r[1], &r[2]);
}

Status run_svdvals(Context *c, Args *a, Tensor **r) {
  return svd(c, a->at[0].tensor, false, false, NULL, &r[0], NULL);
}
