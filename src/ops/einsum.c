/* einsum.c: sums of products over letters.
 *
 * Repeated letters of a term become a diagonal, letters of one term only are
 * summed; then pairs are multiplied in the order of the plan.  Written in
 * rows, so every derivative follows, and only those that are asked for.
 * Must not know: how an equation is read, an order found, a pair multiplied.
 */
#include "ops/einsum.h"

/* Takes *x over and gives a new one. */
static Status replace(Context *c, Status s, Tensor **x, Tensor *made) {
  if (s != OK) return s;
  tensor_release(c, *x);
  *x = made;
  return OK;
}

static void drop_axis(Term *t, int axis) {
  for (int i = axis; i + 1 < t->rank; i++) t->label[i] = t->label[i + 1];
  t->rank--;
}

/* The first axis whose label comes again, and where; false: none. */
static bool find_twin(const Term *t, int *first, int *again) {
  for (int i = 0; i < t->rank; i++)
    for (int j = i + 1; j < t->rank; j++) {
      if (t->label[i] == BLANK || t->label[i] != t->label[j]) continue;
      *first = i, *again = j;
      return true;
    }
  return false;
}

/* Repeated letters of a term become a diagonal, as the last axis. */
static Status take_diagonals(Context *c, Term *t, Tensor **x) {
  int i, j;
  while (find_twin(t, &i, &j)) {
    const int label = t->label[i];
    Tensor *made = NULL;
    Args a;
    a.at[0] = arg_tensor(*x);
    a.at[1].kind = ARG_NONE;
    a.at[2] = arg_integer(i);
    a.at[3] = arg_integer(j);
    Status s = op_call(c, OP_diagonal, &a, &made);
    if ((s = replace(c, s, x, made)) != OK) return s;
    drop_axis(t, j);
    drop_axis(t, i);
    term_add(t, label);
  }
  return OK;
}

/* Sums over `labels`, and back to the dtype: integers wrap in it. */
static Status sum_labels(Context *c, Term *t, Labels labels, Tensor **x) {
  int64_t dims[MAX_RANK];
  int count = 0;
  for (int i = t->rank - 1; i >= 0; i--) {
    if (t->label[i] == BLANK || (labels & label_bit(t->label[i])) == 0)
      continue;
    dims[count++] = i;
    drop_axis(t, i);
  }
  t->labels &= ~labels;
  if (count == 0) return OK;
  Tensor *made = NULL;
  const Dtype dtype = (*x)->dtype;
  Status s = op_sum(c, *x, count, dims, false, &made);
  if ((s = replace(c, s, x, made)) != OK || (*x)->dtype == dtype) return s;
  made = NULL;
  s = op_cast(c, *x, dtype, &made);
  return replace(c, s, x, made);
}

/* ---- one operand ---- */

/* Axes in the order of the result, the others behind them. */
static Status turn(Context *c, const Term *out, Term *t, Tensor **x) {
  int64_t dims[MAX_RANK];
  Term turned = {.dots = -1};
  for (int pass = 0; pass < 2; pass++)
    for (int i = 0; i < (pass == 0 ? out->rank : t->rank); i++)
      for (int j = 0; j < t->rank; j++) {
        const int label = t->label[j];
        const bool stays =
            label != BLANK && (out->labels & label_bit(label)) != 0;
        const bool is_next = pass == 0 ? stays && label == out->label[i]
                                       : !stays && i == j;
        if (!is_next) continue;
        dims[turned.rank] = j;
        term_add(&turned, label);
      }
  bool is_same = true;
  for (int i = 0; i < t->rank; i++) is_same &= dims[i] == i;
  if (is_same) return OK;
  Tensor *made = NULL;
  *t = turned;
  const Status s = op_permute(c, *x, t->rank, dims, &made);
  return replace(c, s, x, made);
}

static Status reduce_one(Context *c, Einsum *e, Tensor **x) {
  Term *t = &e->term[0];
  const Term *out = &e->out;
  const Labels summed = e->summed[0];
  int64_t size[MAX_RANK];
  for (int i = 0; i < out->rank; i++)
    size[i] = out->label[i] == BLANK ? 1 : e->size[out->label[i]];
  Tensor *made = NULL;
  Status s = turn(c, out, t, x);
  if (s == OK) s = sum_labels(c, t, summed, x);
  if (s != OK) return s;
  const Shape shape = shape_of(out->rank, size);
  if (!shape_same(&(*x)->shape, &shape)) {
    s = op_reshape(c, *x, out->rank, size, &made);
    if ((s = replace(c, s, x, made)) != OK) return s;
    made = NULL;
  }
  if (summed != 0) return OK;
  s = op_unary(c, OP_clone, *x, &made);
  return replace(c, s, x, made);
}

/* ---- several ---- */

/* f16 and bf16 are rounded once, so more than one product works in f32. */
static Dtype work_dtype(const Einsum *e, Dtype dtype) {
  Labels summed = 0;
  for (int k = 0; k < e->count; k++) summed |= e->summed[k];
  const bool is_long = e->count > 2 || summed != 0;
  return dtype_class(dtype) == CLASS_FLOAT && is_long && e->count > 1
             ? dtype_compute(dtype)
             : dtype;
}

static Status cast_to(Context *c, Dtype dtype, Tensor **x) {
  Tensor *made = NULL;
  if ((*x)->dtype == dtype) return OK;
  const Status s = op_cast(c, *x, dtype, &made);
  return replace(c, s, x, made);
}

/* item: the operands, then room for what is made; ends in the last one. */
static Status multiply_pairs(Context *c, Einsum *e, Tensor **item) {
  Status s = OK;
  for (int i = 0; i + 1 < e->count && s == OK; i++) {
    const EinsumStep *step = &e->step[i];
    Tensor **x = &item[step->left], **y = &item[step->right];
    s = einsum_pair(c, *x, &e->term[step->left], *y, &e->term[step->right],
                    &e->term[e->count + i], &item[e->count + i]);
    tensor_release(c, *x);
    tensor_release(c, *y);
    *x = *y = NULL;
  }
  return s;
}

static Status run_plan(Context *c, Einsum *e, Tensor *const *x, Tensor **item,
                      Tensor **r) {
  const Dtype dtype = x[0]->dtype, work = work_dtype(e, dtype);
  Tensor **last = &item[2 * e->count - 2];
  Status s = OK;
  for (int k = 0; k < e->count && s == OK; k++) {
    item[k] = tensor_share(x[k]);
    s = cast_to(c, work, &item[k]);
    if (s == OK) s = take_diagonals(c, &e->term[k], &item[k]);
    if (s == OK && e->count > 1)
      s = sum_labels(c, &e->term[k], e->summed[k], &item[k]);
  }
  if (s == OK && e->count == 1) s = reduce_one(c, e, &item[0]);
  if (s == OK && e->count > 1) s = einsum_plan(c, e);
  if (s == OK && e->count > 1) s = multiply_pairs(c, e, item);
  if (s == OK) s = cast_to(c, dtype, last);
  if (s == OK) {
    *r = tensor_share(*last);
    (*r)->is_view = false; /* its storage is its own */
  }
  return s;
}

/* ---- the op ---- */

static Status check_operands(Context *c, int count, Tensor *const *x) {
  for (int k = 1; k < count; k++) {
    if (x[k]->dtype != x[0]->dtype)
      return fail(c, E_DTYPE,
                  "operand %P is %s, operand %P is %s: convert one with :to()",
                  (int64_t)0, dtype_name(x[0]->dtype), (int64_t)k,
                  dtype_name(x[k]->dtype));
    if (tensor_device(x[k]) != tensor_device(x[0]))
      return fail(c, E_DEVICE,
                  "operand %P is on %s, operand %P on %s; move one with :to()",
                  (int64_t)0, tensor_device(x[0])->name, (int64_t)k,
                  tensor_device(x[k])->name);
  }
  return OK;
}

/* Room for operands and intermediates; the few need none of the ledger. */
typedef struct Items {
  Tensor **at, *few[2 * EINSUM_FEW];
  const Shape **shape, *few_shapes[EINSUM_FEW];
  size_t bytes;
} Items;

static Status open_items(Context *c, Items *i, int count) {
  i->at = i->few;
  i->shape = i->few_shapes;
  i->bytes = (size_t)count * (2 * sizeof *i->at + sizeof *i->shape);
  if (count > EINSUM_FEW) {
    i->at = ledger_alloc(&c->ledger, i->bytes);
    if (i->at == NULL) return fail(c, E_MEMORY, "out of memory");
    i->shape = (const Shape **)(i->at + 2 * count);
  }
  for (int k = 0; k < 2 * count; k++) i->at[k] = NULL;
  return OK;
}

static void close_items(Context *c, Items *i, int count) {
  if (i->at == NULL) return;
  for (int k = 0; k < 2 * count; k++) tensor_release(c, i->at[k]);
  if (count > EINSUM_FEW) ledger_free(&c->ledger, i->at, i->bytes);
}

Status run_einsum(Context *c, Args *a, Tensor **r) {
  const Arg *list = &a->at[1];
  const int count = list->kind == ARG_LIST ? list->count : 0;
  Einsum e;
  Items items;
  Status s = open_items(c, &items, count);
  if (s != OK) return s;
  for (int k = 0; k < count; k++) items.shape[k] = &list->list[k]->shape;
  s = einsum_read(c, &e, a->at[0].text, count, items.shape);
  if (s == OK) s = check_operands(c, count, list->list);
  if (s == OK) s = run_plan(c, &e, list->list, items.at, &r[0]);
  einsum_close(c, &e);
  close_items(c, &items, count);
  return s;
}
