/* ask.c: what lint asks of values, by running rows; only when it is on.
 *
 * Must not know: derivatives, who reads the warning.
 */
#include "ops/run.h"

/* *found = is any element of x not finite where `at` holds? */
static Status has_bad(Context *c, Tensor *x, Tensor *at, bool *found) {
  Tensor *finite = NULL, *bad = NULL, *both = NULL, *any = NULL;
  uint8_t answer = 0;
  Status s = op_unary(c, OP_isfinite, x, &finite);
  if (s == OK) s = op_unary(c, OP_bitwise_not, finite, &bad);
  if (s == OK) s = op_binary(c, OP_bitwise_and, bad, at, &both);
  if (s == OK) s = op_unary(c, OP_any, both, &any);
  if (s == OK) s = tensor_read(c, any, &answer);
  if (s == OK) *found = answer != 0;
  tensor_release(c, finite);
  tensor_release(c, bad);
  tensor_release(c, both);
  tensor_release(c, any);
  return s;
}

/* A branch that a slope would flow to. */
static bool is_branch(const Context *c, const Arg *a) {
  return c->is_recording && a->kind == ARG_TENSOR && a->tensor->node != NULL;
}

Status ask_where(Context *c, const Args *a) {
  static const char *const names[] = {"self", "other"};
  Tensor *chosen = a->at[0].kind == ARG_TENSOR ? a->at[0].tensor : NULL;
  Tensor *not_chosen = NULL;
  Status s = OK;
  if (chosen == NULL || chosen->dtype != DTYPE_BOOL) return OK;
  for (int k = 1; k <= 2 && s == OK; k++) {
    bool found = false;
    if (!is_branch(c, &a->at[k])) continue;
    if (k == 1) s = op_unary(c, OP_bitwise_not, chosen, &not_chosen);
    if (s == OK)
      s = has_bad(c, a->at[k].tensor, k == 1 ? not_chosen : chosen, &found);
    if (s == E_SHAPE || s == E_DEVICE) break;
    if (s == OK && found)
      s = lint_found(c, LINT_where_nan,
                     "where: %s is NaN or infinite where it is not chosen, and "
                     "0 times its slope may be NaN there; choose before the op "
                     "that makes it, as in ts.where(ok, x, 1)",
                     names[k - 1]);
  }
  tensor_release(c, not_chosen);
  return s == E_SHAPE || s == E_DEVICE ? OK : s; /* for the op to say */
}
