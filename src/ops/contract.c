/* contract.c: two operands over labels, as one batched product of matrices.
 *
 *   batch  in both and in the result     left   in x and the result
 *   sum    in both, not in the result    right  in y and the result
 *
 *   "bhqd,bhkd->bhqk"   batch b h   left q   right k   sum d
 *
 * The labels of a part are walked as one axis of the product.  An operand
 * whose strides do not allow that is copied first; nothing else is.  In which
 * order sums are added depends on labels and sizes, never on strides.
 * Must not know: equations, plans.
 */
#include <string.h>

#include "ops/einsum.h"

/* ---- terms as arguments ---- */

Term term_of(const Arg *a) {
  Term t = {.dots = -1};
  for (int i = 0; i < a->count; i++) term_add(&t, (int)a->sizes[i]);
  return t;
}

Arg arg_term(const Term *t) {
  Arg a;
  a.kind = ARG_SIZES;
  a.count = t->rank;
  for (int i = 0; i < t->rank; i++) a.sizes[i] = t->label[i];
  return a;
}

/* ---- parts ---- */

/* Some labels in the order in which they are walked. */
typedef struct Part {
  int count;
  int label[MAX_RANK];
} Part;

/* Those of t that are in `wanted`, in the order of t. */
static Part part_of(const Term *t, Labels wanted) {
  Part p = {0};
  for (int i = 0; i < t->rank; i++)
    if (t->label[i] != BLANK && (wanted & label_bit(t->label[i])) != 0)
      p.label[p.count++] = t->label[i];
  return p;
}

/* A tensor by its labels. */
typedef struct Side {
  Tensor *t;
  int64_t stride[LABELS]; /* of its labels */
} Side;

/* What a contraction is made of; size: of all labels. */
typedef struct Contract {
  Side x, y, out;
  int64_t size[LABELS];
  Part batch, left, right, sum;
} Contract;

static void learn_side(Side *s, Tensor *t, const Term *term, int64_t *size) {
  s->t = t;
  for (int i = 0; i < term->rank; i++) {
    if (term->label[i] == BLANK) continue;
    s->stride[term->label[i]] = t->shape.stride[i];
    size[term->label[i]] = t->shape.size[i];
  }
}

/* Can the labels be walked with one stride? */
static bool walks(const Contract *k, const Side *s, const Part *p) {
  for (int i = 0; i + 1 < p->count; i++) {
    const int a = p->label[i], b = p->label[i + 1];
    if (s->stride[a] != k->size[b] * s->stride[b]) return false;
  }
  return true;
}

static int64_t part_size(const Contract *k, const Part *p) {
  int64_t n = 1;
  for (int i = 0; i < p->count; i++) n *= k->size[p->label[i]];
  return n;
}

static int64_t part_stride(const Side *s, const Part *p) {
  return p->count > 0 ? s->stride[p->label[p->count - 1]] : 0;
}

/* Do neighbours in memory belong to different products?  Then each of these
 * would touch every line of the operand. */
static bool is_scattered(const Contract *k, const Side *s, const Part *rows,
                         const Part *cols) {
  enum { FEW = 4096 }; /* elements that stay in the first cache */
  int64_t inner = INT64_MAX;
  for (int i = 0; i < rows->count; i++)
    inner = min_i64(inner, s->stride[rows->label[i]]);
  for (int i = 0; i < cols->count; i++)
    inner = min_i64(inner, s->stride[cols->label[i]]);
  for (int i = 0; i < k->batch.count; i++) {
    const int64_t stride = s->stride[k->batch.label[i]];
    if (stride > 0 && stride < inner && s->t->count > FEW) return true;
  }
  return false;
}

/* ---- operands ---- */

/* A shape of the labels of some parts, as s has them. */
static Shape shape_of_parts(const Contract *k, const Side *s,
                            const Part *const *part, int parts) {
  Shape shape = {0};
  for (int i = 0; i < parts; i++)
    for (int j = 0; j < part[i]->count; j++) {
      const int label = part[i]->label[j];
      shape_insert(&shape, shape.rank, k->size[label],
                   s != NULL ? s->stride[label] : 0);
    }
  return shape;
}

static void restride(Side *s, const Part *const *part, int parts) {
  int axis = 0;
  for (int i = 0; i < parts; i++)
    for (int j = 0; j < part[i]->count; j++)
      s->stride[part[i]->label[j]] = s->t->shape.stride[axis++];
}

/* An operand that walks, in a dtype that products have: itself, or a copy
 * (batch, rows, cols), which is *own. */
static Status prepare(Context *c, const Contract *k, Side *s, Dtype dtype,
                      const Part *rows, const Part *cols, Tensor **own) {
  const Part *const part[] = {&k->batch, rows, cols};
  Tensor *seen = NULL;
  if (s->t->dtype == dtype && walks(k, s, rows) && walks(k, s, cols) &&
      !is_scattered(k, s, rows, cols))
    return OK;
  const Shape shape = shape_of_parts(k, s, part, 3);
  Status status = tensor_view(c, s->t, &shape, s->t->offset, &seen);
  if (status == OK) status = plain(c, seen, dtype, tensor_device(seen), own);
  tensor_release(c, seen);
  if (status != OK) return status;
  s->t = *own;
  restride(s, part, 3);
  return OK;
}

/* ---- the result ---- */

/* Labels of one operand and the result: in the order of the result, unless
 * only that of the operand spares a copy. */
static Part order_part(const Contract *k, const Side *s, const Term *term,
                       const Term *out, Labels wanted) {
  const Part first = part_of(out, wanted), second = part_of(term, wanted);
  return walks(k, s, &first) || !walks(k, s, &second) ? first : second;
}

/* Its memory holds (batch, rows, cols), the part first that the last label of
 * the result is not in. */
static Status make_out(Context *c, Contract *k, Dtype dtype, const Term *out) {
  const Part *part[] = {&k->batch, &k->left, &k->right};
  for (int i = out->rank - 1; i >= 0; i--) {
    if (out->label[i] == BLANK) continue;
    for (int j = 0; j < k->left.count; j++)
      if (k->left.label[j] == out->label[i])
        part[1] = &k->right, part[2] = &k->left;
    break;
  }
  const Shape shape = shape_of_parts(k, NULL, part, 3);
  const Status s = tensor_new(c, tensor_device(k->x.t), dtype, &shape,
                              &k->out.t);
  if (s == OK) restride(&k->out, part, 3);
  return s;
}

/* The result as the caller orders its axes. */
static Status view_out(Context *c, const Contract *k, const Term *out,
                       Tensor *t, Tensor **r) {
  Shape shape = {0};
  for (int i = 0; i < out->rank; i++) {
    const int label = out->label[i];
    if (label == BLANK) shape_insert(&shape, i, 1, 1);
    else shape_insert(&shape, i, k->size[label], k->out.stride[label]);
  }
  const Status s = tensor_view(c, t, &shape, t->offset, r);
  if (s == OK) (*r)->is_view = false; /* its storage is its own */
  return s;
}

/* ---- running ---- */

static Status run_product(Context *c, const Contract *k, Dtype dtype) {
  const Part *const batch = &k->batch;
  const Shape sizes = shape_of_parts(k, NULL, &batch, 1);
  const Shape x = shape_of_parts(k, &k->x, &batch, 1);
  const Shape y = shape_of_parts(k, &k->y, &batch, 1);
  const Shape out = shape_of_parts(k, &k->out, &batch, 1);
  Product p = {.dtype = dtype,
               .m = part_size(k, &k->left),
               .n = part_size(k, &k->right),
               .k = part_size(k, &k->sum),
               .a = tensor_data(k->x.t),
               .b = tensor_data(k->y.t),
               .c = tensor_data(k->out.t),
               .a_row = part_stride(&k->x, &k->left),
               .a_col = part_stride(&k->x, &k->sum),
               .b_row = part_stride(&k->y, &k->sum),
               .b_col = part_stride(&k->y, &k->right),
               .c_row = part_stride(&k->out, &k->left),
               .c_col = part_stride(&k->out, &k->right)};
  Iter it;
  iter_open(&it, &sizes);
  iter_add(&it, &x);
  iter_add(&it, &y);
  iter_add(&it, &out);
  iter_fuse(&it, 1);
  return product_batches(c, tensor_device(k->x.t), &p, &it);
}

/* The parts, from the labels of x, y and the result. */
static void find_parts(Contract *k, const Term *tx, const Term *ty,
                       const Term *out) {
  const Labels x = tx->labels, y = ty->labels, r = out->labels;
  const bool by_x = k->x.t->count >= k->y.t->count;
  assert((r & ~(x | y)) == 0 && ((x ^ y) & ~r) == 0);
  k->batch = part_of(out, x & y & r);
  k->sum = part_of(by_x ? tx : ty, x & y & ~r);
  k->left = order_part(k, &k->x, tx, out, x & ~y);
  k->right = order_part(k, &k->y, ty, out, y & ~x);
}

Status run_contract(Context *c, Args *a, Tensor **r) {
  Tensor *x = a->at[0].tensor, *y = a->at[1].tensor;
  Tensor *own_x = NULL, *own_y = NULL, *narrow = NULL;
  const Term tx = term_of(&a->at[2]), ty = term_of(&a->at[3]);
  const Term out = term_of(&a->at[4]);
  Contract k;
  Status s = check_same_device(c, "operand 1", x, "operand 2", y);
  if (s == OK) s = check_same_dtype(c, "operand 1", x, "operand 2", y);
  if (s != OK) return s;
  const Dtype dtype = dtype_compute(x->dtype);
  k.out.t = NULL;
  learn_side(&k.x, x, &tx, k.size);
  learn_side(&k.y, y, &ty, k.size);
  find_parts(&k, &tx, &ty, &out);
  s = prepare(c, &k, &k.x, dtype, &k.left, &k.sum, &own_x);
  if (s == OK) s = prepare(c, &k, &k.y, dtype, &k.right, &k.sum, &own_y);
  if (s == OK) s = make_out(c, &k, dtype, &out);
  if (s == OK && k.out.t->count > 0) s = run_product(c, &k, dtype);
  if (s == OK)
    s = plain(c, k.out.t, x->dtype, tensor_device(x), &narrow);
  if (s == OK) s = view_out(c, &k, &out, narrow, &r[0]);
  tensor_release(c, own_x);
  tensor_release(c, own_y);
  tensor_release(c, k.out.t);
  tensor_release(c, narrow);
  return s;
}

/* ---- pairs without a sum: products element by element ---- */

/* x with its axes in the order of `want`, which has all its labels; axes that
 * x lacks become size 1. */
static Status arrange(Context *c, Tensor *x, const Term *t, const Term *want,
                      Tensor **r) {
  int64_t dims[MAX_RANK], size[MAX_RANK];
  bool is_ordered = true;
  int found = 0;
  for (int i = 0; i < want->rank; i++) {
    size[i] = 1;
    for (int j = 0; j < t->rank && want->label[i] != BLANK; j++) {
      if (t->label[j] != want->label[i]) continue;
      is_ordered &= found == 0 || dims[found - 1] < j;
      dims[found++] = j;
      size[i] = x->shape.size[j];
    }
  }
  for (int j = 0; j < t->rank; j++)
    if (t->label[j] == BLANK) dims[found++] = j;
  assert(found == t->rank);
  Tensor *turned = NULL;
  Status s = OK;
  if (is_ordered) turned = tensor_share(x);
  else s = op_permute(c, x, found, dims, &turned);
  if (s != OK) return s;
  const Shape shape = shape_of(want->rank, size);
  if (shape_same(&turned->shape, &shape)) {
    *r = turned;
    return OK;
  }
  s = op_reshape(c, turned, want->rank, size, r);
  tensor_release(c, turned);
  return s;
}

static Status multiply(Context *c, Tensor *x, const Term *tx, Tensor *y,
                       const Term *ty, const Term *out, Tensor **r) {
  Tensor *left = NULL, *right = NULL;
  Status s = arrange(c, x, tx, out, &left);
  if (s == OK) s = arrange(c, y, ty, out, &right);
  if (s == OK) s = op_binary(c, OP_mul, left, right, r);
  tensor_release(c, left);
  tensor_release(c, right);
  return s;
}

/* Products of one element each, with little to add or far apart: a slot that
 * takes them one by one is several times slower than all products at once,
 * then their sums.  A question of labels and sizes, not of strides. */
static bool is_thin(const Tensor *x, const Term *tx, const Term *ty,
                    const Term *out) {
  enum { LEAST_SUM = 64, LEAST_ALL = 1024 };
  const Labels sum = tx->labels & ~out->labels;
  const bool is_wide = dtype_class(x->dtype) == CLASS_FLOAT &&
                       dtype_compute(x->dtype) == x->dtype;
  if (tx->labels != ty->labels || sum == tx->labels || !is_wide ||
      x->count < LEAST_ALL)
    return false;
  int64_t count = 1;
  for (int i = 0; i < tx->rank; i++)
    if (tx->label[i] != BLANK && (sum & label_bit(tx->label[i])) != 0)
      count *= x->shape.size[i];
  const int last = tx->label[tx->rank - 1];
  return count < LEAST_SUM ||
         (last != BLANK && (sum & label_bit(last)) == 0 &&
          last == ty->label[ty->rank - 1]);
}

static Status multiply_and_sum(Context *c, Tensor *x, const Term *tx,
                               Tensor *y, const Term *ty, const Term *out,
                               Tensor **r) {
  int64_t dims[MAX_RANK];
  int count = 0;
  Term all = {.dots = -1}, kept = {.dots = -1};
  Tensor *product = NULL, *sum = NULL;
  for (int i = 0; i < tx->rank; i++) {
    const int label = tx->label[i];
    if (label == BLANK) continue;
    if ((out->labels & label_bit(label)) != 0) term_add(&kept, label);
    else dims[count++] = all.rank;
    term_add(&all, label);
  }
  Status s = multiply(c, x, tx, y, ty, &all, &product);
  if (s == OK) s = op_sum(c, product, count, dims, false, &sum);
  if (s == OK) s = arrange(c, sum, &kept, out, r);
  tensor_release(c, product);
  tensor_release(c, sum);
  return s;
}

Status einsum_pair(Context *c, Tensor *x, const Term *tx, Tensor *y,
                   const Term *ty, const Term *out, Tensor **r) {
  if ((tx->labels & ty->labels & ~out->labels) == 0)
    return multiply(c, x, tx, y, ty, out, r);
  if (is_thin(x, tx, ty, out))
    return multiply_and_sum(c, x, tx, y, ty, out, r);
  Args a;
  a.at[0] = arg_tensor(x);
  a.at[1] = arg_tensor(y);
  a.at[2] = arg_term(tx);
  a.at[3] = arg_term(ty);
  a.at[4] = arg_term(out);
  return op_call(c, OP_contract, &a, r);
}
