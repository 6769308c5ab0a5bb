/* product.c: matmul of any ranks, broadcast batches, as one strided product.
 *
 * A vector on the left is a row, on the right a column; batches that do not
 * walk with one stride are run one by one.
 * Must not know: tiles, how sums are ordered.
 */
#include <string.h>

#include "ops/run.h"

/* x or y as a stack of matrices. */
typedef struct Matrices {
  int batch_rank;
  int64_t rows, cols, row, col; /* sizes and strides of the last two axes */
  Shape batch;
} Matrices;

static void matrices_of(const Tensor *t, bool left, Matrices *m) {
  const Shape *s = &t->shape;
  const int rank = s->rank;
  m->batch = *s;
  if (rank == 1) {
    m->rows = left ? 1 : s->size[0], m->row = left ? 0 : s->stride[0];
    m->cols = left ? s->size[0] : 1, m->col = left ? s->stride[0] : 0;
    m->batch.rank = 0;
  } else {
    m->rows = s->size[rank - 2], m->row = s->stride[rank - 2];
    m->cols = s->size[rank - 1], m->col = s->stride[rank - 1];
    m->batch.rank = rank - 2;
  }
}

static Status check_inner(Context *c, const Tensor *x, const Tensor *y,
                          const Matrices *a, const Matrices *b) {
  if (a->cols == b->rows) return OK;
  return fail(c, E_SHAPE,
              "self %S and %A %S: self dim %P is %I, other dim %P is %I",
              SHAPE_ARG(&x->shape), "other", SHAPE_ARG(&y->shape),
              (int64_t)(x->shape.rank - 1), a->cols,
              (int64_t)(y->shape.rank > 1 ? y->shape.rank - 2 : 0), b->rows);
}

static Status broadcast_batches(Context *c, const Tensor *x, const Tensor *y,
                                const Matrices *a, const Matrices *b,
                                Shape *batch) {
  int axis = 0;
  *batch = a->batch;
  if (shape_broadcast(batch, &b->batch, &axis)) return OK;
  const int i = a->batch.rank - 1 - axis, j = b->batch.rank - 1 - axis;
  return fail(c, E_SHAPE,
              "batches of self %S and %A %S do not broadcast: self dim %P is "
              "%I, other dim %P is %I",
              SHAPE_ARG(&x->shape), "other", SHAPE_ARG(&y->shape), (int64_t)i,
              a->batch.size[i], (int64_t)j, b->batch.size[j]);
}

/* The greatest axis last: it is one call. */
static void lead_with_greatest(Iter *it) {
  const int last = it->axes - 1;
  int most = last;
  for (int i = 0; i < last; i++)
    if (it->size[i] > it->size[most]) most = i;
  const int64_t size = it->size[most];
  it->size[most] = it->size[last], it->size[last] = size;
  for (int k = 0; k < it->operands; k++) {
    const int64_t stride = it->stride[k][most];
    it->stride[k][most] = it->stride[k][last];
    it->stride[k][last] = stride;
  }
}

/* Batches of a with one b are more rows of a, where the strides allow it.  A
 * single row stays alone: it is added up in another order than several. */
static void fold_rows(Product *p) {
  if (p->m < 2 || p->b_batch != 0 || p->a_batch != p->m * p->a_row ||
      p->c_batch != p->m * p->c_row)
    return;
  p->m *= p->batch;
  p->batch = 1;
}

Status product_batches(Context *c, Device *d, Product *p, Iter *it) {
  Backend *b = &d->backend;
  const size_t bytes = dtype_bytes(p->dtype);
  const char *x = p->a, *y = p->b;
  char *r = p->c, *scratch = NULL;
  const int outer = it->axes - 1;
  lead_with_greatest(it);
  int64_t at[MAX_RANK] = {0};
  p->batch = it->size[outer];
  p->a_batch = it->stride[0][outer];
  p->b_batch = it->stride[1][outer];
  p->c_batch = it->stride[2][outer];
  fold_rows(p);
  const size_t room = b->product_room(b, p);
  Status s = scratch_take(c, d, room, &scratch);
  p->scratch = scratch;
  while (s == OK) {
    int64_t xo = 0, yo = 0, ro = 0;
    for (int i = 0; i < outer; i++) {
      xo += at[i] * it->stride[0][i];
      yo += at[i] * it->stride[1][i];
      ro += at[i] * it->stride[2][i];
    }
    p->a = x + (size_t)xo * bytes;
    p->b = y + (size_t)yo * bytes;
    p->c = r + (size_t)ro * bytes;
    s = check_done(c, b->product(b, p));
    int i = outer - 1;
    while (i >= 0 && ++at[i] == it->size[i]) at[i--] = 0;
    if (i < 0) break;
  }
  scratch_give(d, scratch, room);
  return s;
}

static Status multiply(Context *c, const Tensor *x, const Tensor *y,
                       const Matrices *a, const Matrices *b,
                       const Shape *batch, Tensor *out) {
  Product p;
  Iter it;
  Matrices r;
  Shape whole = *batch; /* out as matrices, vectors' axes put back */
  shape_insert(&whole, whole.rank, a->rows, 1);
  shape_insert(&whole, whole.rank, b->cols, 1);
  shape_contiguous(&whole);
  r.row = whole.stride[whole.rank - 2], r.col = whole.stride[whole.rank - 1];
  r.batch = whole;
  r.batch.rank -= 2;
  if (a->rows == 1) r.row = b->cols;
  p.dtype = out->dtype;
  p.m = a->rows, p.k = a->cols, p.n = b->cols;
  p.a = tensor_data(x), p.a_row = a->row, p.a_col = a->col;
  p.b = tensor_data(y), p.b_row = b->row, p.b_col = b->col;
  p.c = tensor_data(out), p.c_row = r.row, p.c_col = r.col;
  iter_open(&it, batch);
  iter_add(&it, &a->batch);
  iter_add(&it, &b->batch);
  iter_add(&it, &r.batch);
  iter_fuse(&it, 1);
  return product_batches(c, tensor_device(x), &p, &it);
}

Status run_matmul(Context *c, Args *args, Tensor **r) {
  Tensor *x = args->at[0].tensor, *y = args->at[1].tensor;
  Tensor *own_x = NULL, *own_y = NULL, *out = NULL;
  Matrices a, b;
  Shape batch, shape;
  Status s = check_same_device(c, "self", x, "other", y);
  if (s == OK) s = check_same_dtype(c, "self", x, "other", y);
  if (s == OK) s = check_rank(c, "self", x, 1, MAX_RANK);
  if (s == OK) s = check_rank(c, "other", y, 1, MAX_RANK);
  if (s != OK) return s;
  /* f16 and bf16 multiply in f32, i8 and i16 in i32, and are rounded once. */
  const Dtype dtype = dtype_compute(x->dtype), narrow = x->dtype;
  if (dtype != narrow) {
    s = plain(c, x, dtype, tensor_device(x), &own_x);
    if (s == OK) s = plain(c, y, dtype, tensor_device(y), &own_y);
    x = own_x, y = own_y;
  }
  if (s != OK) goto done;
  matrices_of(x, true, &a);
  matrices_of(y, false, &b);
  s = check_inner(c, x, y, &a, &b);
  if (s == OK) s = broadcast_batches(c, x, y, &a, &b, &batch);
  if (s != OK) goto done;
  shape = batch;
  if (x->shape.rank > 1) shape_insert(&shape, shape.rank, a.rows, 1);
  if (y->shape.rank > 1) shape_insert(&shape, shape.rank, b.cols, 1);
  s = tensor_new(c, tensor_device(x), dtype, &shape, &out);
  if (s == OK && out->count > 0) s = multiply(c, x, y, &a, &b, &batch, out);
  if (s == OK) s = plain(c, out, narrow, tensor_device(out), &r[0]);
done:
  tensor_release(c, own_x);
  tensor_release(c, own_y);
  tensor_release(c, out);
  return s;
}
