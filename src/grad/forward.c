/* forward.c: forward mode along a recorded graph.
 *
 * Tangents meet the nodes in the opposite order of backward; pushes are made
 * of tracked ops, so pushes of pushes and pulls of pushes exist.
 */
#include <string.h>

#include "grad/grad.h"
#include "grad/readings.h"
#include "grad/walk.h"

enum { FEW = 8 };

/* While a push runs, a result's `cotangent` holds its tangent. */
static Status push_node(Context *c, Node *n) {
  Tensor *few[FEW] = {NULL}, **tangents = few;
  const size_t bytes = (size_t)n->inputs * sizeof *tangents;
  bool any = false;
  if (n->inputs > FEW) {
    tangents = ledger_alloc(&c->ledger, bytes);
    if (tangents == NULL) return fail(c, E_MEMORY, "out of memory");
  }
  for (int k = 0; k < n->inputs; k++) {
    const Input *in = &n->input[k];
    tangents[k] =
        in->node != NULL ? in->node->result[in->result].cotangent : NULL;
    any |= tangents[k] != NULL;
  }
  Status s = OK;
  if (any && n->is_freed) {
    s = fail(c, E_FREED,
             "the graph was used up at %s:%d; pass {retain_graph=true} there",
             n->source, n->line);
  } else if (any) {
    Tape t;
    Tensor *r[MAX_RESULTS];
    tape_open(&t, c, n, true);
    node_push(&t, tangents, r);
    for (int k = 0; k < n->results; k++)
      n->result[k].cotangent = tape_keep(&t, r[k]);
    s = t.status;
    tape_close(&t);
  }
  if (tangents != few) ledger_free(&c->ledger, tangents, bytes);
  return s;
}

static Status check_tangent(Context *c, const Tensor *x, const Tensor *tx) {
  if (x->node == NULL)
    return fail(c, E_NO_GRAPH, "%A is not tracked", "x");
  if (!shape_same(&x->shape, &tx->shape))
    return fail(c, E_SHAPE, "%A %S must have the shape of x %S", "v",
                SHAPE_ARG(&tx->shape), SHAPE_ARG(&x->shape));
  if (x->dtype == tx->dtype) return OK;
  return fail(c, E_DTYPE, "%A is %s, and x is %s", "v", dtype_name(tx->dtype),
              dtype_name(x->dtype));
}

static bool is_input(const Node *n, int inputs, Tensor *const *x) {
  for (int i = 0; i < inputs; i++)
    if (x[i]->node == n) return true;
  return false;
}

static Status take_tangent(Context *c, const Tensor *y, Tensor **ty) {
  Tensor *t = y->node != NULL ? y->node->result[y->result].cotangent : NULL;
  if (t == NULL)
    return op_full(c, tensor_device(y), y->dtype, y->shape.rank, y->shape.size,
                   0, ty);
  *ty = tensor_share(t);
  return OK;
}

Status grad_push(Context *c, int inputs, Tensor *const *x, Tensor *const *tx,
                 int outputs, Tensor *const *y, Tensor **ty) {
  Walk w = {0};
  Status s = OK;
  for (int k = 0; k < outputs; k++) ty[k] = NULL;
  if (c->in_backward) return fail(c, E_STATE, "a backward is running already");
  c->in_backward = true;
  if (c->depth++ == 0) c->failure.op = "jvp";
  for (int i = 0; i < inputs && s == OK; i++)
    s = check_tangent(c, x[i], tx[i]);
  if (s == OK) s = walk_open(c, outputs, y, &w);
  for (int i = 0; i < inputs && s == OK; i++) {
    Tensor **slot = &x[i]->node->result[x[i]->result].cotangent;
    tensor_release(c, *slot);
    *slot = tensor_share(tx[i]);
  }
  for (size_t i = w.count; i-- > 0 && s == OK;) {
    Node *n = w.node[i];
    if (n->op != OP_LEAF && !is_input(n, inputs, x)) s = push_node(c, n);
  }
  for (int k = 0; k < outputs && s == OK; k++)
    s = take_tangent(c, y[k], &ty[k]);
  for (size_t i = 0; i < w.count; i++)
    for (int k = 0; k < w.node[i]->results; k++) {
      tensor_release(c, w.node[i]->result[k].cotangent);
      w.node[i]->result[k].cotangent = NULL;
    }
  for (int i = 0; i < inputs; i++) { /* inputs that no output depends on */
    if (x[i]->node == NULL) continue;
    Tensor **slot = &x[i]->node->result[x[i]->result].cotangent;
    tensor_release(c, *slot);
    *slot = NULL;
  }
  walk_close(c, &w);
  c->depth--;
  c->in_backward = false;
  for (int k = 0; k < outputs && s != OK; k++) {
    tensor_release(c, ty[k]);
    ty[k] = NULL;
  }
  return s;
}
