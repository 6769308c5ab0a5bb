/* pointwise.c: from arguments to a one-step program.
 *
 * Decides dtype (promotion, weak scalars, exact comparison), shape
 * (broadcasting), refuses values that are errors, and hands the backend one
 * program.
 * Must not know: loops, derivatives.
 */
#include "ops/pointwise.h"

#include <math.h>
#include <string.h>

#include "ops/run.h"
#include "tensor/iterator.h"

enum { MAX_ARITY = 3 };

/* One call under way. */
typedef struct Point {
  OpId op;
  const OpRow *row;
  int arity;
  const Arg *arg[MAX_ARITY];
  Arg number[MAX_ARITY]; /* defaults of scalar parameters, and host scalars */
  Dtype dtype;           /* of the operands together */
  Dtype compute, out;
  Device *device;
  Shape shape;
} Point;

static const Tensor *tensor_at(const Point *p, int i) {
  return p->arg[i]->kind == ARG_TENSOR ? p->arg[i]->tensor : NULL;
}

static const char *name_at(const Point *p, int i) {
  return p->row->param[i].name;
}

/* ---- operands ---- */

/* The operand that only chooses: it is bool and does not promote. */
static int condition_of(OpId op) {
  return op == OP_where ? 0 : op == OP_masked_fill ? 1 : -1;
}

static bool is_condition(const Point *p, int i) {
  return condition_of(p->op) == i;
}

static void collect(Point *p, OpId op, const Args *a) {
  p->op = op;
  p->row = &op_rows[op];
  p->arity = p->row->operands;
  for (int i = 0; i < p->arity; i++) {
    p->arg[i] = &a->at[i];
    if (a->at[i].kind != ARG_NONE) continue;
    p->number[i] = arg_number(p->row->param[i].value);
    p->arg[i] = &p->number[i];
  }
}

/* All operands on one device; a number in the host's memory may join any. */
static Status choose_device(Context *c, Point *p) {
  int first = -1;
  p->device = NULL;
  for (int i = 0; i < p->arity; i++) {
    const Tensor *t = tensor_at(p, i);
    if (t == NULL) continue;
    Device *d = tensor_device(t);
    if (p->device == NULL || (p->device->is_host && !d->is_host &&
                              tensor_at(p, first)->shape.rank == 0)) {
      p->device = d;
      first = i;
    } else if (d != p->device && (t->shape.rank > 0 || !d->is_host)) {
      return check_same_device(c, name_at(p, first), tensor_at(p, first),
                               name_at(p, i), t);
    }
  }
  if (p->device == NULL)
    return fail(c, E_TYPE, "%A is a number; one operand must be a tensor",
                name_at(p, 0));
  return OK;
}

/* ---- dtypes ---- */

static Dtype weak_dtype(const Context *c, Dtype d, const Arg *number) {
  if (number->kind == ARG_INTEGER)
    return d == DTYPE_NONE || d == DTYPE_BOOL ? DTYPE_I64 : d;
  return d == DTYPE_NONE || dtype_class(d) != CLASS_FLOAT ? c->default_dtype
                                                           : d;
}

/* Tensors promote; numbers are weak, those of float subtype first. */
static Dtype promote_all(const Context *c, const Point *p) {
  Dtype d = DTYPE_NONE;
  for (int i = 0; i < p->arity; i++) {
    const Tensor *t = tensor_at(p, i);
    if (t == NULL || is_condition(p, i)) continue;
    d = d == DTYPE_NONE ? t->dtype : dtype_promote(d, t->dtype);
  }
  for (int pass = 0; pass < 2; pass++) {
    const ArgKind kind = pass == 0 ? ARG_NUMBER : ARG_INTEGER;
    for (int i = 0; i < p->arity; i++) {
      const bool is_value = p->row->param[i].kind == PARAM_VALUE;
      if (p->arg[i]->kind != kind || is_condition(p, i)) continue;
      if (is_value && isinf(arg_f64(p->arg[i]))) continue; /* no bound */
      d = weak_dtype(c, d, p->arg[i]);
    }
  }
  return d;
}

static bool is_exact(const Arg *number, Dtype d) {
  if (number->kind == ARG_INTEGER && dtype_class(d) != CLASS_FLOAT)
    return number->integer >= dtype_least(d) &&
           number->integer <= dtype_greatest(d);
  const double n = arg_f64(number);
  if (number->kind == ARG_INTEGER && (double)number->integer != n) return false;
  if (d == DTYPE_F64 || isnan(n)) return true;
  return dtype_compute(d) == DTYPE_F32 && (double)(float)n == n;
}

static bool is_whole(const Arg *number) {
  const double n = arg_f64(number);
  return number->kind == ARG_INTEGER ||
         (n >= -0x1p63 && n < 0x1p63 && n == floor(n));
}

/* Comparisons see numbers exactly: in a wider type where one does not fit. */
static Dtype compare_in(const Point *p, Dtype d) {
  Dtype compute = dtype_compute(d);
  for (int i = 0; i < p->arity; i++) {
    const Arg *a = p->arg[i];
    if (a->kind != ARG_TENSOR && !is_exact(a, d))
      compute = is_whole(a) && dtype_class(d) != CLASS_FLOAT ? DTYPE_I64
                                                             : DTYPE_F64;
  }
  return compute;
}

/* The dtype that tensors alone would compare in; numbers do not widen it. */
static Dtype tensors_dtype(const Point *p) {
  Dtype d = DTYPE_NONE;
  for (int i = 0; i < p->arity; i++) {
    const Tensor *t = tensor_at(p, i);
    if (t != NULL) d = d == DTYPE_NONE ? t->dtype : dtype_promote(d, t->dtype);
  }
  return d;
}

static Status refuse_dtype(Context *c, const Point *p, Dtype d) {
  if (d == DTYPE_BOOL && p->arity > 1 && p->row->dtypes != SET_FLOATS)
    return fail(c, E_DTYPE,
                "%A and %s are bool; use & and |, or convert one with "
                ":to(\"i64\")",
                name_at(p, 0), name_at(p, 1));
  return fail(c, E_DTYPE, "%A is %s, which %s does not take", name_at(p, 0),
              dtype_name(d), p->row->name);
}

/* masked_fill: value becomes what self is, as in an assignment. */
static Status choose_target_dtype(Context *c, Point *p) {
  const Tensor *self = tensor_at(p, 0), *value = tensor_at(p, 2);
  if (value != NULL && value->shape.rank > 0)
    return fail(c, E_RANK, "%A %S: a number or a tensor of rank 0 is due",
                name_at(p, 2), SHAPE_ARG(&value->shape));
  p->dtype = p->out = self->dtype;
  p->compute = dtype_compute(self->dtype);
  return check_assign(c, name_at(p, 2), p->arg[2], self);
}

static Status choose_dtype(Context *c, Point *p) {
  if (p->op == OP_masked_fill) return choose_target_dtype(c, p);
  if ((p->row->flags & OP_COMPARES) != 0) {
    p->dtype = tensors_dtype(p);
    p->compute = compare_in(p, p->dtype);
    p->out = DTYPE_BOOL;
    return OK;
  }
  Dtype d = promote_all(c, p);
  const Dtype tensors = tensors_dtype(p);
  const bool only_floats = p->row->dtypes == SET_FLOATS &&
                           (p->row->flags & OP_FLOAT_PLUS) == 0;
  if (only_floats && tensors != DTYPE_NONE &&
      dtype_class(tensors) != CLASS_FLOAT)
    return refuse_dtype(c, p, tensors); /* a number makes no float of it */
  if ((p->row->flags & OP_FLOAT_PLUS) != 0 && dtype_class(d) != CLASS_FLOAT)
    d = c->default_dtype;
  if (!dtype_in(d, p->row->dtypes)) return refuse_dtype(c, p, d);
  p->dtype = p->out = d;
  p->compute = dtype_compute(d);
  if (dtype_class(d) == CLASS_FLOAT) return OK;
  for (int i = 0; i < p->arity; i++) {
    if (p->arg[i]->kind == ARG_TENSOR || is_condition(p, i)) continue;
    if (p->row->param[i].kind == PARAM_VALUE) continue; /* held in range */
    const Status s = check_fits(c, name_at(p, i), p->arg[i], d);
    if (s != OK) return s;
  }
  return OK;
}

static Status check_condition(Context *c, const Point *p) {
  const int at = condition_of(p->op);
  const Tensor *t = at < 0 ? NULL : tensor_at(p, at);
  if (at < 0 || (t != NULL && t->dtype == DTYPE_BOOL)) return OK;
  return fail(c, E_DTYPE, "%A must be a bool tensor, and is %s",
              name_at(p, at), t == NULL ? "a number" : dtype_name(t->dtype));
}

/* ---- shapes ---- */

static Status refuse_shapes(Context *c, const Point *p, int other, int axis) {
  int self = 0; /* the operand that set the size that clashes */
  const Tensor *b = tensor_at(p, other), *a = NULL;
  const int64_t size = b->shape.size[b->shape.rank - 1 - axis];
  for (; self < other; self++) {
    a = tensor_at(p, self);
    if (a == NULL || axis >= a->shape.rank) continue;
    const int64_t mine = a->shape.size[a->shape.rank - 1 - axis];
    if (mine != 1 && mine != size) break;
  }
  if (never(self == other)) return fail(c, E_STATE, "shapes do not broadcast");
  const int a_dim = a->shape.rank - 1 - axis, b_dim = b->shape.rank - 1 - axis;
  return fail(c, E_SHAPE,
              "%s %S and %A %S do not broadcast: %s dim %P is %I, %s dim %P "
              "is %I",
              name_at(p, self), SHAPE_ARG(&a->shape), name_at(p, other),
              SHAPE_ARG(&b->shape), name_at(p, self), (int64_t)a_dim,
              a->shape.size[a_dim], name_at(p, other), (int64_t)b_dim,
              b->shape.size[b_dim]);
}

/* Does t reach the shape by stretching one of its axes? */
static bool is_stretched(const Tensor *t, const Shape *s) {
  const int more = s->rank - t->shape.rank;
  for (int i = 0; i < s->rank; i++) {
    const int64_t size = i < more ? 1 : t->shape.size[i - more];
    if (size != s->size[i]) return true;
  }
  return false;
}

/* Lint: no operand has the shape of the result. */
static Status ask_two_sided(Context *c, const Point *p) {
  const Tensor *stretched[2] = {NULL, NULL};
  int n = 0;
  if (c->depth > 1) return OK; /* outer, say, means it */
  for (int i = 0; i < p->arity; i++) {
    const Tensor *t = tensor_at(p, i);
    if (t == NULL) continue;
    if (!is_stretched(t, &p->shape)) return OK;
    if (n < 2) stretched[n++] = t;
  }
  if (n < 2) return OK;
  return lint_found(c, LINT_two_sided,
                    "%s stretches both %S and %S, to %S: every pair; for place "
                    "by place give both one shape",
                    c->failure.op, SHAPE_ARG(&stretched[0]->shape),
                    SHAPE_ARG(&stretched[1]->shape), SHAPE_ARG(&p->shape));
}

static Status choose_shape(Context *c, Point *p) {
  p->shape.rank = -1;
  for (int i = 0; i < p->arity; i++) {
    const Tensor *t = tensor_at(p, i);
    int axis = 0;
    if (t == NULL) continue;
    if (p->shape.rank < 0)
      p->shape = t->shape;
    else if (!shape_broadcast(&p->shape, &t->shape, &axis))
      return refuse_shapes(c, p, i, axis);
  }
  return lint_asks(c, LINT_two_sided) ? ask_two_sided(c, p) : OK;
}

/* ---- values that are errors ---- */

/* What the second operand of a row must be where it is an integer, and what is
 * said of one that is not; least 1, most -1: not 0. */
typedef struct Limit {
  int64_t least, most;
  Status code;
  const char *what;
} Limit;

/* Fewer than all bits. */
static Limit shift_limit(size_t bytes) {
  switch (bytes) {
  case 1:
    return (Limit){0, 7, E_RANGE, "a shift outside 0..7"};
  case 2:
    return (Limit){0, 15, E_RANGE, "a shift outside 0..15"};
  case 4:
    return (Limit){0, 31, E_RANGE, "a shift outside 0..31"};
  default:
    return (Limit){0, 63, E_RANGE, "a shift outside 0..63"};
  }
}

static bool has_limit(const Point *p, Limit *l) {
  if (dtype_class(p->dtype) == CLASS_FLOAT) return false;
  switch (p->op) {
  case OP_floor_divide:
  case OP_trunc_divide:
  case OP_remainder:
  case OP_fmod:
    *l = (Limit){1, -1, E_DIV_ZERO, "integer division by zero"};
    return true;
  case OP_pow:
    *l = (Limit){0, INT64_MAX, E_RANGE, "a negative integer exponent"};
    return true;
  case OP_bitwise_left_shift:
  case OP_bitwise_right_shift:
    *l = shift_limit(dtype_bytes(p->dtype));
    return true;
  default:
    return false;
  }
}

static Status refuse_value(Context *c, const Point *p, int64_t at,
                           const Limit *l) {
  const Tensor *t = tensor_at(p, 1);
  if (t == NULL || t->shape.rank == 0)
    return fail(c, l->code, "%s: %A", l->what, name_at(p, 1));
  return fail(c, l->code, "%s at %Q of %A %S", l->what, SHAPE_ARG(&t->shape),
              at, name_at(p, 1), SHAPE_ARG(&t->shape));
}

/* Divisors, exponents and shifts: looked at before anything is written. */
static Status check_values(Context *c, const Point *p) {
  Limit l;
  if (!has_limit(p, &l)) return OK;
  Iter it;
  Move m;
  const Tensor *t = tensor_at(p, 1);
  if (t == NULL) {
    const uint64_t n = (uint64_t)p->arg[1]->integer - (uint64_t)l.least;
    const bool is_out = n > (uint64_t)l.most - (uint64_t)l.least;
    return is_out ? refuse_value(c, p, 0, &l) : OK;
  }
  if (t->count == 0) return OK;
  iter_open(&it, &t->shape);
  iter_add(&it, &t->shape);
  iter_fuse(&it, 1);
  m.axes = it.axes;
  memcpy(m.size, it.size, sizeof m.size);
  m.src.data = tensor_data(t);
  m.src.dtype = t->dtype;
  memcpy(m.src.stride, it.stride[0], sizeof m.src.stride);
  Backend *b = tensor_backend(t);
  const int64_t at = b->find_bad(b, &m, l.least, l.most);
  return at < 0 ? OK : refuse_value(c, p, at, &l);
}

/* ---- programs ---- */

/* A number as it is seen in `compute`: bounds of clamp are held in range. */
static void leaf_number(Leaf *l, const Arg *a, Dtype compute) {
  l->data = NULL;
  l->dtype = compute;
  l->number = arg_f64(a);
  if (a->kind == ARG_INTEGER)
    l->whole = a->integer;
  else if (a->number >= 0x1p63)
    l->whole = INT64_MAX;
  else if (!(a->number > -0x1p63))
    l->whole = INT64_MIN;
  else
    l->whole = (int64_t)a->number;
  if (compute != DTYPE_I32) return;
  if (l->whole > INT32_MAX) l->whole = INT32_MAX;
  if (l->whole < INT32_MIN) l->whole = INT32_MIN;
}

static void leaf_tensor(Leaf *l, const Tensor *t) {
  l->data = tensor_data(t);
  l->dtype = t->dtype;
}

/* A rank-0 tensor of the host among operands of a GPU is a number. */
static void leaf_host_number(Leaf *l, const Tensor *t, Dtype compute) {
  Arg a;
  if (dtype_class(t->dtype) == CLASS_FLOAT)
    a = arg_number(scalar_to_f64(tensor_data(t), t->dtype));
  else
    a = arg_integer(scalar_to_i64(tensor_data(t), t->dtype));
  leaf_number(l, &a, compute);
}

/* The space and the strides of leaf 0 (the result) and of the tensors. */
static void program_space(Program *p, const Shape *space,
                          const Shape *const shapes[], int count) {
  bool plain = true;
  for (int i = 0; i < count && plain; i++)
    plain = shapes[i] == NULL ||
            (shape_is_contiguous(shapes[i]) && shape_same(shapes[i], space));
  if (plain) {
    p->axes = 1;
    p->size[0] = shape_count(space);
    for (int i = 0; i < count; i++) p->leaf[i].stride[0] = shapes[i] != NULL;
    return;
  }
  Iter it;
  int operand[MAX_LEAVES];
  iter_open(&it, space);
  for (int i = 0; i < count; i++)
    operand[i] = shapes[i] != NULL ? iter_add(&it, shapes[i]) : -1;
  iter_fuse(&it, 1);
  p->axes = it.axes;
  memcpy(p->size, it.size, (size_t)it.axes * sizeof *it.size);
  for (int i = 0; i < count; i++) {
    const size_t bytes = (size_t)it.axes * sizeof *it.size;
    if (operand[i] < 0)
      memset(p->leaf[i].stride, 0, bytes);
    else
      memcpy(p->leaf[i].stride, it.stride[operand[i]], bytes);
  }
}

static Status program_run(Context *c, Device *d, Program *p) {
  return check_done(c, d->backend.run(&d->backend, p));
}

/* An in-place pass is never left half done. */
static Status program_run_whole(Device *d, Program *p) {
  static const volatile bool never_stops = false;
  const volatile bool *stop = d->backend.stop;
  d->backend.stop = &never_stops;
  d->backend.run(&d->backend, p);
  d->backend.stop = stop;
  return OK;
}

static Status run_value(Context *c, const Point *p, Tensor *out, bool in_place) {
  Program program;
  const Shape *shapes[1 + MAX_ARITY] = {&out->shape};
  program.compute = p->compute;
  program.leaves = 1 + p->arity;
  program.steps = 1;
  program.step[0] =
      (Step){p->op, READ_VALUE, 0, {-1, -1, -1, -1, -1}};
  leaf_tensor(&program.leaf[0], out);
  for (int i = 0; i < p->arity; i++) {
    const Tensor *t = tensor_at(p, i);
    Leaf *leaf = &program.leaf[1 + i];
    program.step[0].in[i] = (int8_t)(1 + i);
    shapes[1 + i] = NULL;
    if (t == NULL) {
      leaf_number(leaf, p->arg[i], p->compute);
    } else if (tensor_device(t) != p->device) {
      leaf_host_number(leaf, t, p->compute);
    } else {
      leaf_tensor(leaf, t);
      shapes[1 + i] = &t->shape;
    }
  }
  program_space(&program, &out->shape, shapes, program.leaves);
  return in_place ? program_run_whole(p->device, &program)
                  : program_run(c, p->device, &program);
}

/* ---- the common case ---- */

static bool is_like(const Tensor *t, const Tensor *first) {
  if (t == first) return true;
  return t->dtype == first->dtype && t->count == first->count &&
         t->is_contiguous && !t->storage->revoked &&
         t->storage->device == first->storage->device &&
         shape_same(&t->shape, &first->shape);
}

bool pointwise_plain(Context *c, OpId op, const Args *a, Status *s,
                     Tensor **r) {
  const OpRow *row = &op_rows[op];
  const Tensor *first = a->at[0].tensor;
  Tensor *out = NULL;
  Program p;
  if (a->at[0].kind != ARG_TENSOR || condition_of(op) >= 0 ||
      (row->flags & OP_COMPARES) != 0 ||
      dtype_class(first->dtype) != CLASS_FLOAT || first->count == 0 ||
      !first->is_contiguous || first->storage->revoked ||
      !dtype_in(first->dtype, row->dtypes))
    return false;
  p.compute = dtype_compute(first->dtype);
  p.step[0] = (Step){op, READ_VALUE, 0, {-1, -1, -1, -1, -1}};
  for (int i = 0; i < row->operands; i++) {
    const Arg *arg = &a->at[i];
    Leaf *leaf = &p.leaf[1 + i];
    if (arg->kind == ARG_TENSOR) {
      if (!is_like(arg->tensor, first)) return false;
      leaf_tensor(leaf, arg->tensor);
    } else if (arg->kind == ARG_NUMBER || arg->kind == ARG_INTEGER) {
      leaf_number(leaf, arg, p.compute);
    } else {
      return false;
    }
    leaf->stride[0] = arg->kind == ARG_TENSOR;
    p.step[0].in[i] = (int8_t)(1 + i);
  }
  *s = tensor_like(c, first, first->dtype, &out);
  if (*s != OK) return true;
  leaf_tensor(&p.leaf[0], out);
  p.leaf[0].stride[0] = 1;
  p.axes = p.steps = 1;
  p.leaves = 1 + row->operands;
  p.size[0] = out->count;
  *s = program_run(c, tensor_device(out), &p);
  if (*s == OK) *r = out;
  else tensor_release(c, out);
  return true;
}

/* ---- in place ---- */

static Status check_inplace(Context *c, const Point *p, const Tensor *target) {
  const Dtype to = target->dtype;
  if (!shape_same(&p->shape, &target->shape))
    return fail(c, E_SHAPE, "%A %S does not broadcast to self %S",
                name_at(p, p->arity > 1), SHAPE_ARG(&p->shape),
                SHAPE_ARG(&target->shape));
  if (p->out != to && (dtype_class(p->out) != dtype_class(to) ||
                       dtype_class(to) != CLASS_FLOAT))
    return fail(c, E_DTYPE,
                "the result is %s and self is %s; in-place ops never change "
                "the dtype",
                dtype_name(p->out), dtype_name(to));
  return OK;
}

/* An operand that shares elements with the target, but not all alike, is
 * copied first: the result is as if every operand had been. */
static Status part_overlaps(Context *c, Point *p, const Tensor *target,
                            Arg own[MAX_ARITY], Tensor *copies[MAX_ARITY]) {
  for (int i = 0; i < p->arity; i++) {
    const Tensor *t = tensor_at(p, i);
    if (t == NULL || t == target || !tensor_overlaps(t, target)) continue;
    bool same = t->offset == target->offset && t->dtype == target->dtype &&
                shape_same(&t->shape, &target->shape);
    for (int k = 0; k < t->shape.rank && same; k++)
      same = t->shape.size[k] == 1 ||
             t->shape.stride[k] == target->shape.stride[k];
    if (same) continue;
    Status s = tensor_new(c, tensor_device(t), t->dtype, &t->shape, &copies[i]);
    if (s == OK) s = move_into(c, copies[i], t);
    if (s != OK) return s;
    own[i] = arg_tensor(copies[i]);
    p->arg[i] = &own[i];
  }
  return OK;
}

static Status call_inplace(Context *c, Point *p, Tensor *target) {
  Tensor *copies[MAX_ARITY] = {NULL};
  Arg own[MAX_ARITY];
  Status s = check_inplace(c, p, target);
  if (s == OK) s = part_overlaps(c, p, target, own, copies);
  if (s == OK && target->count > 0) s = run_value(c, p, target, true);
  for (int i = 0; i < MAX_ARITY; i++) tensor_release(c, copies[i]);
  return s;
}

/* ---- the entries ---- */

Status pointwise_call(Context *c, OpId op, const Args *a, Tensor *target,
                      Tensor **r) {
  Point p;
  Tensor *out = NULL;
  collect(&p, op, a);
  Status s = choose_device(c, &p);
  if (s == OK) s = check_condition(c, &p);
  if (s == OK) s = choose_dtype(c, &p);
  if (s == OK) s = choose_shape(c, &p);
  if (s == OK) s = check_values(c, &p);
  if (s != OK) return s;
  if (p.op == OP_bitwise_not && p.dtype == DTYPE_BOOL) p.op = OP_logical_not;
  if (target != NULL) return call_inplace(c, &p, target);
  s = tensor_new(c, p.device, p.out, &p.shape, &out);
  if (s == OK && out->count > 0) s = run_value(c, &p, out, false);
  if (s != OK) {
    tensor_release(c, out);
    return s;
  }
  *r = out;
  return OK;
}

Status pointwise_pull(Context *c, OpId op, int which, const Arg in[5],
                      Tensor **r) {
  const Tensor *g = in[4].tensor;
  Tensor *out = NULL;
  Program p;
  const Shape *shapes[MAX_LEAVES];
  Status s = tensor_new(c, tensor_device(g), g->dtype, &g->shape, &out);
  if (s != OK) return s;
  p.compute = dtype_compute(g->dtype);
  p.leaves = 1;
  p.steps = 1;
  p.step[0] = (Step){op, (Reading)(READ_GX + which), 0, {-1, -1, -1, -1, -1}};
  leaf_tensor(&p.leaf[0], out);
  shapes[0] = &out->shape;
  for (int i = 0; i < 5; i++) {
    if ((op_rows[op].uses[which] >> i & 1) == 0) continue;
    const int k = p.leaves++;
    p.step[0].in[i] = (int8_t)k;
    shapes[k] = NULL;
    if (in[i].kind != ARG_TENSOR) {
      leaf_number(&p.leaf[k], &in[i], p.compute);
    } else if (tensor_device(in[i].tensor) != tensor_device(g)) {
      leaf_host_number(&p.leaf[k], in[i].tensor, p.compute);
    } else {
      leaf_tensor(&p.leaf[k], in[i].tensor);
      shapes[k] = &in[i].tensor->shape;
    }
  }
  if (out->count > 0) {
    program_space(&p, &out->shape, shapes, p.leaves);
    s = program_run(c, tensor_device(g), &p);
  }
  if (s != OK) {
    tensor_release(c, out);
    return s;
  }
  *r = out;
  return OK;
}
