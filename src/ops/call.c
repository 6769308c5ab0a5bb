/* call.c: op_call and op_call_inplace: run a row, then record it.
 *
 * Always: on error nothing has changed and no reference is left.
 */
#include "ops/run.h"

#include <math.h>
#include <string.h>

/* By the column `results`. */
static const union {
  Run *few;
  RunList *many;
} runs[OP_COUNT - POINT_COUNT] = {
#define FIELD_0 few
#define FIELD_1 few
#define FIELD_2 few
#define FIELD_3 few
#define FIELD_MANY many
#define OP(name, kind, types, params, results, ...) \
  {.FIELD_##results = run_##name},
#include "rows/all.def"
};

static const char *const inplace_names[OP_COUNT] = {
#define POINT(name, ...) #name "_",
#include "rows/pointwise.def"
#define OP(name, ...) #name "_",
#include "rows/all.def"
};

enum { MADE = MAX_RESULTS + 2, FEW = 8 };

/* ---- the tensors of a call ---- */

/* Tensors of a call in the order of its params; a list gives them all. */
typedef struct Inputs {
  int count;
  Tensor *const *at;
  Tensor *few[FEW];
} Inputs;

static bool is_tensor_param(ParamKind kind) {
  return kind == PARAM_TENSOR || kind == PARAM_OPERAND || kind == PARAM_VALUE;
}

static void inputs_open(OpId op, const Args *a, Inputs *in) {
  const OpRow *row = &op_rows[op];
  in->count = 0;
  in->at = in->few;
  for (int k = 0; k < row->params; k++) {
    const ParamKind kind = row->param[k].kind;
    const Arg *arg = &a->at[k];
    if (kind == PARAM_LIST) {
      in->at = arg->list;
      in->count = arg->kind == ARG_LIST ? arg->count : 0;
      return;
    }
    if (!is_tensor_param(kind)) continue;
    in->few[in->count++] = arg->kind == ARG_TENSOR ? arg->tensor : NULL;
  }
}

static const char *input_name(OpId op, int i) {
  const OpRow *row = &op_rows[op];
  for (int k = 0; k < row->params; k++) {
    if (row->param[k].kind == PARAM_LIST) return row->param[k].name;
    if (is_tensor_param(row->param[k].kind) && i-- == 0)
      return row->param[k].name;
  }
  return "an argument";
}

static Status check_ready(Context *c, OpId op, const Inputs *in) {
  for (int i = 0; i < in->count; i++) {
    if (in->at[i] == NULL || !in->at[i]->storage->revoked) continue;
    const Status s = tensor_ready(c, in->at[i], input_name(op, i));
    if (s != OK) return s;
  }
  return OK;
}

static const char *set_text(DtypeSet set) {
  if (set == SET_FLOATS) return "floats";
  if (set == SET_NUMBERS) return "floats and integers";
  if (set == SET_INTEGERS) return "integers";
  if (set == (SET_F32 | SET_F64)) return "f32 and f64";
  return "integers and bool";
}

/* The column `types` speaks of the first tensor. */
static Status check_dtype(Context *c, OpId op, const Inputs *in) {
  const OpRow *row = &op_rows[op];
  for (int i = 0; i < in->count; i++) {
    const Tensor *t = in->at[i];
    if (t == NULL) continue;
    if (dtype_in(t->dtype, row->dtypes)) return OK;
    return fail(c, E_DTYPE, "%A is %s; %s takes %s", input_name(op, i),
                dtype_name(t->dtype), row->name, set_text(row->dtypes));
  }
  return OK;
}

/* ---- recording ---- */

/* Does the result depend on something tracked?  That of a composed row then
 * comes tracked out of the rows it is made of. */
static bool wants_graph(const Context *c, OpId op, const Inputs *in) {
  const OpKind kind = op_rows[op].kind;
  if (!c->is_recording || kind == KIND_FLAT || kind == KIND_CREATE ||
      kind == KIND_UPDATE)
    return false;
  for (int i = 0; i < in->count; i++)
    if (in->at[i] != NULL && in->at[i]->node != NULL) return true;
  return false;
}

static bool wants_record(const Context *c, OpId op, const Inputs *in) {
  return op_rows[op].kind != KIND_COMPOSED && wants_graph(c, op, in);
}

static Status record(Context *c, OpId op, const Args *a, const Inputs *in,
                     Tensor **made) {
  const OpRow *row = &op_rows[op];
  Node *n = NULL;
  const Call call = {op,     a,    in->count,          row->results,
                     row->hidden, in->at, made, made + row->results};
  const Status s = node_record(c, &call, &n);
  if (s != OK) return s;
  for (int k = 0; k < row->results; k++)
    if (made[k] != NULL && dtype_class(made[k]->dtype) == CLASS_FLOAT)
      node_attach(c, n, made[k], k);
  node_release(c, n);
  return OK;
}

static void release_all(Context *c, Tensor **made, int from, int to) {
  for (int k = from; k < to; k++) {
    tensor_release(c, made[k]);
    made[k] = NULL;
  }
}

static void enter(Context *c, const char *name) {
  if (c->depth++ == 0) c->failure.op = name;
}

static void leave(Context *c) { c->depth--; }

/* ---- options that make another call ---- */

/* alpha of add and sub: the second operand is scaled first. */
static Status scale_alpha(Context *c, Args *a, Tensor **scaled) {
  const Arg alpha = a->at[2];
  a->at[2].kind = ARG_NONE;
  if (arg_f64(&alpha) == 1) return OK;
  if (a->at[1].kind == ARG_TENSOR) {
    Args product = {0};
    product.at[0] = a->at[1];
    product.at[1] = alpha;
    const Status s = op_call(c, OP_mul, &product, scaled);
    if (s == OK) a->at[1] = arg_tensor(*scaled);
    return s;
  }
  if (a->at[1].kind == ARG_INTEGER && alpha.kind == ARG_INTEGER)
    a->at[1].integer *= alpha.integer;
  else
    a->at[1] = arg_number(arg_f64(&a->at[1]) * arg_f64(&alpha));
  return OK;
}

/* decimals of round: a scale, within the range of the dtype; integers stay. */
static OpId scale_decimals(Args *a) {
  const Tensor *x = a->at[0].tensor;
  const int64_t decimals = args_integer(OP_round, a, 1);
  a->at[1].kind = ARG_NONE;
  if (decimals == 0 || dtype_class(x->dtype) != CLASS_FLOAT) return OP_round;
  const double most = dtype_compute(x->dtype) == DTYPE_F32 ? 1e38 : 1e308;
  const double scale = fmin(pow(10, fabs((double)decimals)), most);
  a->at[1] = arg_number(decimals > 0 ? scale : -scale);
  return OP_round_scaled;
}

/* rounding of div: none, floor or trunc. */
static OpId divide_rounded(Args *a) {
  static const OpId rows[] = {OP_div, OP_floor_divide, OP_trunc_divide};
  const int64_t rounding = args_integer(OP_div, a, 2);
  a->at[2].kind = ARG_NONE;
  return rows[rounding];
}

static bool has_option(OpId op, const Args *a) {
  switch (op) {
  case OP_add:
  case OP_sub:
  case OP_div:
    return a->at[2].kind != ARG_NONE;
  case OP_round:
    return a->at[1].kind != ARG_NONE;
  default:
    return false;
  }
}

/* With the option rewritten; else as it is. */
static Status call_option(Context *c, OpId op, const Args *a, bool in_place,
                          Tensor **results) {
  Tensor *scaled = NULL;
  Args own;
  Status s = OK;
  memcpy(own.at, a->at, op_rows[op].params * sizeof *own.at);
  if (op == OP_round)
    op = scale_decimals(&own);
  else if (op == OP_div)
    op = divide_rounded(&own);
  else
    s = scale_alpha(c, &own, &scaled);
  if (s == OK)
    s = in_place ? op_call_inplace(c, op, &own)
                 : op_call(c, op, &own, results);
  tensor_release(c, scaled);
  return s;
}

/* ---- the two entries ---- */

static Status run_row(Context *c, OpId op, Args *a, const Inputs *in,
                      Tensor **made) {
  Status s = check_dtype(c, op, in);
  if (s == OK) s = runs[op - POINT_COUNT].few(c, a, made);
  return s;
}

/* A pointwise call that nothing tracked takes part in. */
static bool is_untracked(const Context *c, OpId op, const Args *a) {
  if (!op_is_pointwise(op)) return false;
  for (int i = 0; i < op_rows[op].operands && c->is_recording; i++)
    if (a->at[i].kind == ARG_TENSOR && a->at[i].tensor->node != NULL)
      return false;
  return true;
}

/* Runs `op`; *used: the arguments as the row left them, perhaps in *own. */
static Status run_op(Context *c, OpId op, const Args *a, Args *own,
                     const Args **used, Inputs *in, Tensor **made) {
  Status s;
  if (op == OP_where && lint_asks(c, LINT_where_nan)) {
    s = ask_where(c, a);
    if (s != OK) return s;
  }
  inputs_open(op, a, in);
  if (op_is_pointwise(op) && pointwise_plain(c, op, a, &s, made)) return s;
  s = check_ready(c, op, in);
  if (s != OK) return s;
  if (op_is_pointwise(op)) return pointwise_call(c, op, a, NULL, made);
  memcpy(own->at, a->at, op_rows[op].params * sizeof *own->at);
  *used = own;
  return run_row(c, op, own, in, made);
}

/* Of dropout, the one row that draws and is recorded: else NULL. */
static Philox *generator_of(Context *c, OpId op, const Args *a) {
  enum { GENERATOR = 3 };
  if (op != OP_dropout) return NULL;
  return a->at[GENERATOR].kind == ARG_GENERATOR ? a->at[GENERATOR].generator
                                                : &c->generator;
}

Status op_call(Context *c, OpId op, const Args *a, Tensor **results) {
  const OpRow *row = &op_rows[op];
  Tensor *made[MADE] = {NULL};
  Args own;
  const Args *used = a;
  Inputs in;
  Status s;
  assert(row->results <= MAX_RESULTS); /* MANY: op_call_list */
  for (int k = 0; k < row->results; k++) results[k] = NULL;
  enter(c, row->name);
  if (has_option(op, a)) {
    s = call_option(c, op, a, false, results);
    leave(c);
    return s;
  }
  if (is_untracked(c, op, a) && pointwise_plain(c, op, a, &s, results)) {
    leave(c); /* the common case needs no list and no record */
    return s;
  }
  Philox *generator = generator_of(c, op, a);
  const Philox before = generator != NULL ? *generator : (Philox){0};
  s = run_op(c, op, a, &own, &used, &in, made);
  /* An op that gives its operand back (contiguous) leaves it as it was. */
  const bool is_same = s == OK && in.count > 0 && made[0] == in.at[0];
  if (s == OK && !is_same && wants_record(c, op, &in))
    s = record(c, op, used, &in, made);
  if (s != OK && generator != NULL) *generator = before;
  if (s != OK) release_all(c, made, 0, MADE);
  release_all(c, made, row->results, MADE);
  for (int k = 0; k < row->results; k++) results[k] = made[k];
  leave(c);
  return s;
}

/* ---- lists ---- */

Status list_open(Context *c, int count, TensorList *list) {
  *list = (TensorList){.count = count};
  if (count == 0) return OK;
  const size_t bytes = (size_t)count * sizeof *list->at;
  list->at = ledger_alloc(&c->ledger, bytes);
  if (list->at != NULL) {
    memset(list->at, 0, bytes);
    return OK;
  }
  list->count = 0;
  return fail(c, E_MEMORY, "out of memory: a list of %d tensors", count);
}

void list_release(Context *c, TensorList *list) {
  release_all(c, list->at, 0, list->count);
  ledger_free(&c->ledger, list->at, (size_t)list->count * sizeof *list->at);
  *list = (TensorList){0};
}

Status op_call_list(Context *c, OpId op, const Args *a, TensorList *list) {
  const OpRow *row = &op_rows[op];
  Args own;
  Inputs in;
  assert(row->results == RESULTS_MANY); /* else op_call */
  *list = (TensorList){0};
  enter(c, row->name);
  memcpy(own.at, a->at, row->params * sizeof *own.at);
  inputs_open(op, a, &in);
  Status s = check_ready(c, op, &in);
  if (s == OK) s = check_dtype(c, op, &in);
  if (s == OK) s = runs[op - POINT_COUNT].many(c, &own, list);
  if (s != OK) list_release(c, list);
  leave(c);
  return s;
}

/* ---- in place ---- */

/* Is t a leaf that requires grad, or a view of one? */
static bool is_of_leaf(const Tensor *t) {
  const Node *n = t->node;
  while (n != NULL && n->op != OP_LEAF && op_rows[n->op].kind == KIND_VIEW)
    n = n->input[0].node;
  return n != NULL && n->op == OP_LEAF;
}

static Status check_target(Context *c, const Tensor *t, bool records) {
  Status s = tensor_writable(c, t, "self");
  if (s != OK || !records) return s;
  if (is_of_leaf(t))
    return fail(c, E_LEAF,
                "%A is %sa leaf that requires grad; wrap the update in "
                "ts.no_grad",
                "self", t->is_view ? "a view of " : "");
  if (t->is_view)
    return fail(c, E_VIEW,
                "%A %S is a view: a tracked write into a view is not offered; "
                "write into the whole tensor, or use ts.no_grad",
                "self", SHAPE_ARG(&t->shape));
  return OK;
}

/* The graph of a composed row ends in the target's dtype. */
static Status cast_tracked(Context *c, const Tensor *target, Tensor **made) {
  Tensor *cast = NULL;
  if (made[0]->node == NULL || made[0]->dtype == target->dtype) return OK;
  const Status s = op_cast(c, made[0], target->dtype, &cast);
  if (s != OK) return s;
  tensor_release(c, made[0]);
  made[0] = cast;
  return OK;
}

/* Only some places of the target change: no copy of the others is made. */
static Status run_at_places(Context *c, const Call *call, Args *a,
                            const Inputs *in, Tensor *target, Tensor **made,
                            Node **n, bool records) {
  Status s = records ? node_record(c, call, n) : OK;
  if (s != OK) return s;
  made[0] = tensor_share(target);
  s = run_row(c, call->op, a, in, made);
  assert(s != OK || made[0] == target);
  return s;
}

/* A row that is not pointwise, into the target: the record is made before the
 * target is written, so that a failure leaves it as it was.  Rows that work in
 * place only write by themselves and rewrite no argument; or they are composed
 * (fill with a tensor) and give what is to be written. */
static Status run_into(Context *c, const Call *call, Args *a, const Inputs *in,
                       Tensor *target, Tensor **made, Node **n, bool records) {
  const OpId op = call->op;
  if ((op_rows[op].flags & OP_ONLY_INPLACE) != 0) {
    Status s = records ? node_record(c, call, n) : OK;
    if (s == OK) s = run_row(c, op, a, in, made);
    const bool is_written = made[0] == NULL || made[0] == target;
    return s != OK || is_written ? s : move_into(c, target, made[0]);
  }
  Status s = run_row(c, op, a, in, made);
  if (s == OK) s = check_same_shape(c, "self", target, "the result", made[0]);
  if (s == OK) s = cast_tracked(c, target, made);
  if (s == OK && records) s = node_record(c, call, n);
  return s == OK ? move_into(c, target, made[0]) : s;
}

/* Saved values of this storage are no longer what they were; who wrote is
 * kept for the message of a backward that finds out. */
static void note_write(Context *c, OpId op, Storage *s) {
  s->version++;
  s->writer = inplace_names[op];
  if (c->is_recording) context_where(c, &s->writer_source, &s->writer_line);
}

/* Lint: a write into a copy that may be taken for a view. */
static Status ask_copied(Context *c, const Tensor *target) {
  if (!target->storage->by_reshape) return OK;
  return lint_found(c, LINT_reshape_copied,
                    "%s writes into a copy: the strides left reshape no view, "
                    "and what it was made of stays as it is; to write through, "
                    "use x:view, which raises; for a copy, x:clone() first",
                    c->failure.op);
}

Status op_call_inplace(Context *c, OpId op, const Args *a) {
  const OpRow *row = &op_rows[op];
  Tensor *made[MADE] = {NULL}, *target = a->at[0].tensor;
  Args own;
  Inputs in;
  Status s;
  enter(c, inplace_names[op]);
  if (has_option(op, a)) {
    s = call_option(c, op, a, true, NULL);
    leave(c);
    return s;
  }
  memcpy(own.at, a->at, row->params * sizeof *own.at);
  inputs_open(op, a, &in);
  const bool records = wants_record(c, op, &in);
  const bool tracks = wants_graph(c, op, &in);
  const bool guards = c->is_recording && row->kind != KIND_UPDATE;
  Node *n = NULL;
  s = check_ready(c, op, &in);
  if (s == OK && lint_asks(c, LINT_reshape_copied)) s = ask_copied(c, target);
  if (s == OK) s = check_target(c, target, guards && (tracks || target->node));
  if (s != OK) goto done;
  /* The record holds the values as they were; r is saved after the write. */
  Tensor *results[MADE] = {target};
  const Call call = {op, &own, in.count, 1, row->hidden, in.at, results,
                     made + row->results};
  const bool is_composed = tracks && row->kind == KIND_COMPOSED;
  if (op_is_pointwise(op)) {
    if (records) s = node_record(c, &call, &n);
    if (s == OK) s = pointwise_call(c, op, &own, target, NULL);
  } else if ((row->flags & OP_AT_PLACES) != 0 && !is_composed) {
    s = run_at_places(c, &call, &own, &in, target, made, &n, records);
  } else {
    s = run_into(c, &call, &own, &in, target, made, &n, records);
  }
  if (s != OK) goto done;
  note_write(c, op, target->storage);
  if (n != NULL) {
    n->saved[SAVED_R].version = target->storage->version;
    node_attach(c, n, target, 0);
  } else if (tracks && made[0] != NULL && made[0] != target &&
             made[0]->node != NULL) {
    node_attach(c, made[0]->node, target, made[0]->result);
  } else if (guards && target->node != NULL) {
    Node *before = target->node; /* overwritten by something untracked */
    target->node = NULL;
    node_release(c, before);
  }
done:
  node_release(c, n);
  release_all(c, made, 0, MADE);
  leave(c);
  return s;
}

/* ---- short forms ---- */

Arg arg_tensor(Tensor *t) {
  Arg a;
  a.kind = t != NULL ? ARG_TENSOR : ARG_NONE;
  a.count = 0;
  a.tensor = t;
  return a;
}

Arg arg_integer(int64_t i) {
  Arg a;
  a.kind = ARG_INTEGER;
  a.count = 0;
  a.integer = i;
  return a;
}

Arg arg_number(double n) {
  Arg a;
  a.kind = ARG_NUMBER;
  a.count = 0;
  a.number = n;
  return a;
}

Arg arg_sizes(int count, const int64_t *sizes) {
  Arg a;
  assert(count >= 0 && count <= MAX_RANK);
  a.kind = ARG_SIZES;
  a.count = count;
  if (count > 0) memcpy(a.sizes, sizes, (size_t)count * sizeof *sizes);
  return a;
}

double arg_f64(const Arg *a) {
  return a->kind == ARG_INTEGER ? (double)a->integer : a->number;
}

int64_t args_integer(OpId op, const Args *a, int k) {
  const Arg *arg = &a->at[k];
  if (arg->kind == ARG_INTEGER) return arg->integer;
  if (arg->kind == ARG_NUMBER) return (int64_t)arg->number;
  return (int64_t)op_rows[op].param[k].value;
}

double args_number(OpId op, const Args *a, int k) {
  const Arg *arg = &a->at[k];
  return arg->kind == ARG_NONE ? op_rows[op].param[k].value : arg_f64(arg);
}

/* Args with nothing in them but what is set: only the row's params are read. */
static void clear(OpId op, Args *a) {
  for (int k = 0; k < op_rows[op].params; k++) a->at[k].kind = ARG_NONE;
}

Status op_unary(Context *c, OpId op, Tensor *x, Tensor **r) {
  Args a;
  clear(op, &a);
  a.at[0] = arg_tensor(x);
  return op_call(c, op, &a, r);
}

Status op_binary(Context *c, OpId op, Tensor *x, Tensor *y, Tensor **r) {
  Args a;
  clear(op, &a);
  a.at[0] = arg_tensor(x);
  a.at[1] = arg_tensor(y);
  return op_call(c, op, &a, r);
}

Status op_ternary(Context *c, OpId op, Tensor *x, Tensor *y, Tensor *z,
                  Tensor **r) {
  Args a;
  clear(op, &a);
  a.at[0] = arg_tensor(x);
  a.at[1] = arg_tensor(y);
  a.at[2] = arg_tensor(z);
  return op_call(c, op, &a, r);
}

Status op_with_number(Context *c, OpId op, Tensor *x, double y, Tensor **r) {
  Args a;
  clear(op, &a);
  a.at[0] = arg_tensor(x);
  a.at[1] = arg_number(y);
  return op_call(c, op, &a, r);
}

/* A row of a tensor and a list of whole numbers. */
static Status with_sizes(Context *c, OpId op, Tensor *x, int count,
                         const int64_t *sizes, Tensor **r) {
  Args a;
  clear(op, &a);
  a.at[0] = arg_tensor(x);
  a.at[1] = arg_sizes(count, sizes);
  return op_call(c, op, &a, r);
}

Status op_reshape(Context *c, Tensor *x, int rank, const int64_t *size,
                  Tensor **r) {
  return with_sizes(c, OP_reshape, x, rank, size, r);
}

Status op_expand(Context *c, Tensor *x, int rank, const int64_t *size,
                 Tensor **r) {
  return with_sizes(c, OP_expand, x, rank, size, r);
}

Status op_permute(Context *c, Tensor *x, int rank, const int64_t *dims,
                  Tensor **r) {
  return with_sizes(c, OP_permute, x, rank, dims, r);
}

Status op_sum_to(Context *c, Tensor *x, int rank, const int64_t *size,
                 Tensor **r) {
  return with_sizes(c, OP_sum_to, x, rank, size, r);
}

Status op_transpose(Context *c, Tensor *x, int dim1, int dim2, Tensor **r) {
  Args a;
  clear(OP_transpose, &a);
  a.at[0] = arg_tensor(x);
  a.at[1] = arg_integer(dim1);
  a.at[2] = arg_integer(dim2);
  return op_call(c, OP_transpose, &a, r);
}

Status op_sum(Context *c, Tensor *x, int count, const int64_t *dims, bool keep,
              Tensor **r) {
  Args a;
  clear(OP_sum, &a);
  a.at[0] = arg_tensor(x);
  a.at[1] = arg_sizes(count, dims);
  a.at[2] = arg_integer(keep);
  return op_call(c, OP_sum, &a, r);
}

Status op_cast(Context *c, Tensor *x, Dtype dtype, Tensor **r) {
  Args a;
  clear(OP_cast, &a);
  a.at[0] = arg_tensor(x);
  a.at[1] = arg_integer(dtype);
  return op_call(c, OP_cast, &a, r);
}

Status op_contiguous(Context *c, Tensor *x, Tensor **r) {
  return op_unary(c, OP_contiguous, x, r);
}

Status op_full(Context *c, Device *d, Dtype dtype, int rank,
               const int64_t *size, double value, Tensor **r) {
  Args a;
  clear(OP_full, &a);
  a.at[0] = arg_sizes(rank, size);
  a.at[1] = arg_number(value);
  a.at[2] = arg_integer(dtype);
  a.at[3].kind = ARG_DEVICE;
  a.at[3].device = d;
  return op_call(c, OP_full, &a, r);
}

Status op_scalar(Context *c, Device *d, Dtype dtype, double value,
                 Tensor **r) {
  return op_full(c, d, dtype, 0, NULL, value, r);
}

Status op_equal(Context *c, Tensor *x, Tensor *y, bool *equal) {
  Tensor *same = NULL, *all = NULL;
  uint8_t answer = 0;
  *equal = false;
  if (!shape_same(&x->shape, &y->shape)) return OK;
  Status s = op_binary(c, OP_eq, x, y, &same);
  if (s == OK) s = op_unary(c, OP_all, same, &all);
  if (s == OK) s = tensor_read(c, all, &answer);
  if (s == OK) *equal = answer != 0;
  tensor_release(c, same);
  tensor_release(c, all);
  return s;
}
