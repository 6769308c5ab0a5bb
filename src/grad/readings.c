/* readings.c: see readings.h.  From the kind of a row follow both readings:
 *
 *   pointwise     its column, fused or in tracked ops; the same for both
 *   linear, view  pull: the transposed op; push: the op itself
 *   multilinear   pull: a transposed op each; push: the product rule
 *   selection, rule   the words of the row
 */
#include "grad/readings.h"

#include <string.h>

#include "grad/rules.h"
#include "grad/rules_algebra.h"
#include "grad/rules_layout.h"
#include "grad/rules_linalg.h"
#include "grad/rules_position.h"
#include "grad/rules_scatter.h"
#include "grad/rules_reduction.h"
#include "grad/rules_scan.h"
#include "grad/rules_sample.h"
#include "grad/rules_window.h"
#include "grad/slopes.h"
#include "grad/transpose.h"
#include "ops/pointwise.h"

/* ---- the columns of the rows that are not pointwise ---- */

typedef Tensor *Pull(Tape *tape, Tensor *g);
typedef Tensor *Push(Tape *tape, Tensor *tx, Tensor *ty, Tensor *tz);

/* What a tape is told by AUTO. */
static Tensor *push_by_kind(Tape *tape, Tensor *tx, Tensor *ty, Tensor *tz);

#include "grad/words.h"
#undef AUTO
#define AUTO push_by_kind(tape, tx, ty, tz)
#define PULL(d, name, expression)                          \
  static Tensor *d##_##name(Tape *tape, Tensor *g) {       \
    (void)tape, (void)g;                                   \
    return expression;                                     \
  }
#define OP(name, kind, types, params, results, hidden, saves, to_x, to_y,   \
           to_z, push, flags, help)                                         \
  PULL(gx, name, to_x)                                                      \
  PULL(gy, name, to_y)                                                      \
  PULL(gz, name, to_z)                                                      \
  static Tensor *push_##name(Tape *tape, Tensor *tx, Tensor *ty,            \
                             Tensor *tz) {                                  \
    (void)tape, (void)tx, (void)ty, (void)tz;                               \
    return push;                                                            \
  }
#include "rows/all.def"
#undef PULL
#include "grad/words_end.h"

static Pull *const pulls[OP_COUNT - POINT_COUNT][3] = {
#define OP(name, ...) {gx_##name, gy_##name, gz_##name},
#include "rows/all.def"
};

static Push *const pushes[OP_COUNT - POINT_COUNT] = {
#define OP(name, ...) push_##name,
#include "rows/all.def"
};

/* ---- pointwise ---- */

static Arg operand_arg(Tape *t, int k) {
  const Node *n = t->node;
  if (n->saved[k].tensor != NULL) return arg_tensor(tape_saved(t, k));
  if (n->input[k].is_tensor) return arg_tensor(NULL);
  if (n->arg != NULL && n->arg[k].kind != ARG_NONE) return n->arg[k];
  return arg_number(op_rows[n->op].param[k].value);
}

static Tensor *fused_pull(Tape *t, int k, Tensor *g) {
  const OpRow *row = &op_rows[t->node->op];
  Tensor *r = NULL;
  Arg in[5];
  for (int i = 0; i < 5; i++) in[i].kind = ARG_NONE;
  for (int i = 0; i < row->operands; i++)
    if ((row->uses[k] >> i & 1) != 0) in[i] = operand_arg(t, i);
  if ((row->uses[k] & USES_R) != 0) in[3] = arg_tensor(tape_saved(t, SAVED_R));
  in[4] = arg_tensor(g);
  if (t->status != OK) return NULL;
  const Status s = pointwise_pull(t->c, t->node->op, k, in, &r);
  return tape_own(t, s, r);
}

static Tensor *pointwise_reading(Tape *t, int k, Tensor *g) {
  const int uses = op_rows[t->node->op].uses[k];
  if ((uses & USES_G) == 0) return NULL;
  if (uses == USES_G) return g;
  return t->is_tracked ? slope_apply(t, k, g) : fused_pull(t, k, g);
}

/* ---- pull ---- */

static bool takes_list(OpId op) {
  return op_rows[op].params > 0 && op_rows[op].param[0].kind == PARAM_LIST;
}

bool node_flows(const Node *n, int k) {
  return n->input[k].node != NULL &&
         (!op_is_pointwise(n->op) ||
          (op_rows[n->op].uses[k] & USES_G) != 0);
}

/* In the sizes, dtype and place of the input. */
static Tensor *fit_input(Tape *t, const Input *in, Tensor *g) {
  if (g == NULL || t->status != OK) return NULL;
  g = tape_sum_to(t, g, in->rank, in->size);
  if (g == NULL) return NULL;
  if (g->dtype == in->dtype && tensor_device(g) == in->device) return g;
  Args a = tape_args(OP_cast);
  a.at[0] = arg_tensor(g);
  a.at[1] = arg_integer(in->dtype);
  a.at[2].kind = ARG_DEVICE;
  a.at[2].device = in->device;
  return tape_call(t, OP_cast, &a);
}

Tensor *node_pull(Tape *t, int k, Tensor *g) {
  const Node *n = t->node;
  Tensor *r;
  t->which = k;
  if (op_is_pointwise(n->op))
    r = pointwise_reading(t, k, g);
  else
    r = pulls[n->op - POINT_COUNT][takes_list(n->op) ? 0 : k](t, g);
  return fit_input(t, &n->input[k], r);
}

/* ---- push ---- */

/* The call again, its tensors being the saved ones. */
static Args call_again(Tape *t) {
  const Node *n = t->node;
  const OpRow *row = &op_rows[n->op];
  Args a = tape_args(n->op);
  int input = 0;
  for (int k = 0; k < row->params; k++) {
    const ParamKind kind = row->param[k].kind;
    if (n->arg != NULL) a.at[k] = n->arg[k];
    if (kind != PARAM_TENSOR && kind != PARAM_OPERAND) continue;
    if (input < n->inputs && input <= SAVED_Z &&
        n->saved[input].tensor != NULL)
      a.at[k] = arg_tensor(tape_saved(t, input));
    input++;
  }
  return a;
}

/* Where tensor number `input` stands among the params. */
static int param_of(OpId op, int input) {
  const OpRow *row = &op_rows[op];
  for (int k = 0; k < row->params; k++) {
    const ParamKind kind = row->param[k].kind;
    if (kind != PARAM_TENSOR && kind != PARAM_OPERAND) continue;
    if (input-- == 0) return k;
  }
  return 0;
}

static Tensor *push_by_kind(Tape *t, Tensor *tx, Tensor *ty, Tensor *tz) {
  Tensor *const tangent[] = {tx, ty, tz};
  const OpId op = t->node->op;
  Tensor *sum = NULL;
  for (int k = 0; k < 3; k++) {
    if (tangent[k] == NULL) continue;
    Args a = call_again(t);
    a.at[param_of(op, k)] = arg_tensor(tangent[k]);
    sum = tape_plus(t, sum, tape_call(t, op, &a));
  }
  return sum;
}

/* cat: the tangents joined, zeros where there is none. */
static Tensor *push_list(Tape *t, Tensor *const *tangents) {
  const Node *n = t->node;
  const size_t bytes = (size_t)n->inputs * sizeof(Tensor *);
  Tensor **all = ledger_alloc(&t->c->ledger, bytes);
  if (all == NULL) {
    t->status = fail(t->c, E_MEMORY, "out of memory");
    return NULL;
  }
  for (int i = 0; i < n->inputs; i++)
    all[i] = tangents[i] != NULL ? tangents[i] : tape_zeros(t, &n->input[i]);
  Args a = call_again(t);
  a.at[0].kind = ARG_LIST;
  a.at[0].count = n->inputs;
  a.at[0].list = all;
  Tensor *r = tape_call(t, n->op, &a);
  ledger_free(&t->c->ledger, all, bytes);
  return r;
}

static Tensor *push_pointwise(Tape *t, Tensor *const *tangents) {
  Tensor *sum = NULL;
  for (int k = 0; k < op_rows[t->node->op].operands; k++) {
    const int uses = op_rows[t->node->op].uses[k];
    if (tangents[k] == NULL || (uses & USES_G) == 0) continue;
    Tensor *one = uses == USES_G ? tangents[k]
                                 : slope_apply(t, k, tangents[k]);
    sum = tape_plus(t, sum, one);
  }
  return sum;
}

/* In the sizes and dtype of the result. */
static Tensor *fit_result(Tape *t, const Result *out, Tensor *r) {
  if (r == NULL || t->status != OK) return NULL;
  r = tape_cast(t, r, out->dtype);
  if (r == NULL) return NULL;
  bool same = r->shape.rank == out->rank;
  for (int i = 0; i < out->rank && same; i++)
    same = r->shape.size[i] == out->size[i];
  return same ? r : tape_expand(t, r, out->rank, out->size);
}

void node_push(Tape *t, Tensor *const *tangents, Tensor *r[MAX_RESULTS]) {
  const Node *n = t->node;
  if (op_is_pointwise(n->op))
    r[0] = push_pointwise(t, tangents);
  else if (takes_list(n->op))
    r[0] = push_list(t, tangents);
  else
    r[0] = pushes[n->op - POINT_COUNT](
        t, tangents[0], n->inputs > 1 ? tangents[1] : NULL,
        n->inputs > 2 ? tangents[2] : NULL);
  for (int k = 0; k < MAX_RESULTS; k++) {
    if (k > 0) r[k] = k < 3 ? t->also[k] : NULL;
    r[k] = k < n->results ? fit_result(t, &n->result[k], r[k]) : NULL;
  }
}
