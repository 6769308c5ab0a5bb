/* tape.c: see tape.h. */
#include "grad/tape.h"

#include <string.h>

void tape_open(Tape *t, Context *c, Node *n, bool is_tracked) {
  t->c = c;
  t->status = OK;
  t->node = n;
  t->is_tracked = is_tracked;
  t->which = 0;
  t->base = c->failure.base;
  if (n != NULL) c->failure.base = n->base;
  t->also[0] = t->also[1] = t->also[2] = NULL;
  t->count = 0;
  t->room = TAPE_ROOM;
  t->made = t->few;
}

void tape_close(Tape *t) {
  t->c->failure.base = t->base;
  for (int i = 0; i < t->count; i++) tensor_release(t->c, t->made[i]);
  if (t->made != t->few)
    ledger_free(&t->c->ledger, t->made, (size_t)t->room * sizeof *t->made);
  t->count = 0;
  t->made = t->few;
  t->room = TAPE_ROOM;
}

Tensor *tape_keep(Tape *t, Tensor *x) {
  return t->status == OK && x != NULL ? tensor_share(x) : NULL;
}

static bool grow(Tape *t) {
  const size_t bytes = (size_t)t->room * sizeof *t->made;
  Tensor **more = ledger_alloc(&t->c->ledger, 2 * bytes);
  if (more == NULL) return false;
  memcpy(more, t->made, bytes);
  if (t->made != t->few) ledger_free(&t->c->ledger, t->made, bytes);
  t->made = more;
  t->room *= 2;
  return true;
}

Tensor *tape_own(Tape *t, Status s, Tensor *x) {
  if (s == OK && x != NULL && t->count == t->room && !grow(t))
    s = fail(t->c, E_MEMORY, "out of memory");
  if (s != OK) {
    tensor_release(t->c, x);
    if (t->status == OK) t->status = s;
    return NULL;
  }
  if (x != NULL) t->made[t->count++] = x;
  return x;
}

/* ---- operands ---- */

static Status check_version(Tape *t, const Saved *saved) {
  const Node *n = t->node;
  const Storage *s = saved->tensor->storage;
  if (LIKELY(s->version == saved->version))
    return tensor_ready(t->c, saved->tensor, "a saved value");
  return fail(t->c, E_MODIFIED,
              "%s (%s:%d) saved a value that %s (%s:%d) has changed since",
              node_name(n), n->source, n->line,
              s->writer != NULL ? s->writer : "the host",
              s->writer_source != NULL ? s->writer_source : "", s->writer_line);
}

/* A saved value with its place in the graph: result number `result` of n. */
static Tensor *placed(Tape *t, const Saved *saved, Node *n, int result) {
  Tensor *x = NULL;
  const Status s = tensor_alias(t->c, saved->tensor, &x);
  if (s == OK && n != NULL) node_attach(t->c, n, x, result);
  return tape_own(t, s, x);
}

Tensor *tape_saved(Tape *t, int place) {
  const Saved *saved = &t->node->saved[place];
  if (t->status != OK) return NULL;
  if (never(saved->tensor == NULL)) {
    t->status = fail(t->c, E_STATE, "a value that a rule reads was not saved");
    return NULL;
  }
  t->status = check_version(t, saved);
  if (t->status != OK) return NULL;
  if (!t->is_tracked) return saved->tensor;
  if (place <= SAVED_Z) {
    const Input *in = &t->node->input[place];
    return placed(t, saved, in->node, in->result);
  }
  const bool is_result = place - SAVED_R < t->node->results;
  return placed(t, saved, is_result ? t->node : NULL,
                is_result ? place - SAVED_R : 0);
}

Tensor *tape_operand(Tape *t, int k) {
  const Node *n = t->node;
  const OpRow *row = &op_rows[n->op];
  if (n->saved[k].tensor != NULL) return tape_saved(t, k);
  if (k < n->inputs && n->input[k].is_tensor) return NULL; /* not read */
  const Arg *a = n->arg != NULL ? &n->arg[k] : NULL;
  if (a != NULL && a->kind == ARG_INTEGER)
    return tape_number(t, (double)a->integer);
  if (a != NULL && a->kind == ARG_NUMBER) return tape_number(t, a->number);
  return k < row->params ? tape_number(t, row->param[k].value) : NULL;
}

Tensor *tape_cotangent(Tape *t, int k) {
  if (t->status != OK || k >= t->node->results) return NULL;
  return t->node->result[k].cotangent;
}

Tensor *tape_number(Tape *t, double value) {
  const Result *r = &t->node->result[0];
  Tensor *x = NULL;
  if (t->status != OK) return NULL;
  const Status s = op_scalar(t->c, r->device, r->dtype, value, &x);
  return tape_own(t, s, x);
}

Tensor *tape_zeros(Tape *t, const Input *like) {
  Tensor *x = NULL;
  if (t->status != OK) return NULL;
  const Status s = op_full(t->c, like->device, t->node->result[0].dtype,
                           like->rank, like->size, 0, &x);
  return tape_own(t, s, x);
}

/* ---- calls ---- */

Tensor *tape_unary(Tape *t, OpId op, Tensor *x) {
  Tensor *r = NULL;
  if (t->status != OK || never(x == NULL)) return NULL;
  const Status s = op_unary(t->c, op, x, &r);
  return tape_own(t, s, r);
}

Tensor *tape_binary(Tape *t, OpId op, Tensor *x, Tensor *y) {
  Tensor *r = NULL;
  if (t->status != OK || never(x == NULL || y == NULL)) return NULL;
  const Status s = op_binary(t->c, op, x, y, &r);
  return tape_own(t, s, r);
}

Tensor *tape_ternary(Tape *t, OpId op, Tensor *x, Tensor *y, Tensor *z) {
  Tensor *r = NULL;
  if (t->status != OK || never(x == NULL || y == NULL || z == NULL))
    return NULL;
  const Status s = op_ternary(t->c, op, x, y, z, &r);
  return tape_own(t, s, r);
}

Tensor *tape_call(Tape *t, OpId op, const Args *a) {
  Tensor *r[MAX_RESULTS] = {NULL};
  if (t->status != OK) return NULL;
  const Status s = op_call(t->c, op, a, r);
  for (int k = 1; k < op_rows[op].results; k++) tensor_release(t->c, r[k]);
  return tape_own(t, s, r[0]);
}

Tensor *tape_reshape(Tape *t, Tensor *x, int rank, const int64_t *size) {
  Tensor *r = NULL;
  if (t->status != OK || never(x == NULL)) return NULL;
  const Status s = op_reshape(t->c, x, rank, size, &r);
  return tape_own(t, s, r);
}

Tensor *tape_expand(Tape *t, Tensor *x, int rank, const int64_t *size) {
  Tensor *r = NULL;
  if (t->status != OK || never(x == NULL)) return NULL;
  const Status s = op_expand(t->c, x, rank, size, &r);
  return tape_own(t, s, r);
}

static bool has_size(const Tensor *x, int rank, const int64_t *size) {
  if (x->shape.rank != rank) return false;
  for (int i = 0; i < rank; i++)
    if (x->shape.size[i] != size[i]) return false;
  return true;
}

Tensor *tape_sum_to(Tape *t, Tensor *x, int rank, const int64_t *size) {
  Tensor *r = NULL;
  if (t->status != OK || never(x == NULL)) return NULL;
  if (has_size(x, rank, size)) return x;
  const Status s = op_sum_to(t->c, x, rank, size, &r);
  return tape_own(t, s, r);
}

Tensor *tape_cast(Tape *t, Tensor *x, Dtype dtype) {
  Tensor *r = NULL;
  if (t->status != OK || never(x == NULL)) return NULL;
  if (x->dtype == dtype) return x;
  const Status s = op_cast(t->c, x, dtype, &r);
  return tape_own(t, s, r);
}

Tensor *tape_sum_axes(Tape *t, Tensor *x, int count, const int64_t *dims) {
  Tensor *r = NULL;
  if (t->status != OK || never(x == NULL)) return NULL;
  const Status s = op_sum(t->c, x, count, dims, true, &r);
  return tape_own(t, s, r);
}

Tensor *tape_scale(Tape *t, Tensor *x, double factor) {
  Tensor *r = NULL;
  if (t->status != OK || never(x == NULL)) return NULL;
  const Status s = op_with_number(t->c, OP_mul, x, factor, &r);
  return tape_own(t, s, r);
}

Tensor *tape_plus(Tape *t, Tensor *x, Tensor *y) {
  if (x == NULL || y == NULL) return x != NULL ? x : y;
  return tape_binary(t, OP_add, x, y);
}

Args tape_args(OpId op) {
  Args a;
  for (int k = 0; k < op_rows[op].params; k++) a.at[k].kind = ARG_NONE;
  return a;
}
