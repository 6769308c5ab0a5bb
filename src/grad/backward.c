/* backward.c: reverse mode over the recorded graph, and `.grad`.
 *
 * Always: no gradient changes unless everything has succeeded; nothing here
 * recurses, so a chain of a million ops needs no more stack than one of two.
 */
#include <string.h>

#include "grad/grad.h"
#include "grad/readings.h"
#include "grad/walk.h"

/* ---- cotangents ---- */

/* May sum += g be written into sum's own memory? */
static bool is_ours(const Tensor *sum, const Tensor *g) {
  return sum->refs == 1 && sum->storage->refs == 1 && sum->is_contiguous &&
         sum->storage != g->storage && sum->node == NULL && g->node == NULL;
}

/* *sum (owned, may be NULL) += g (borrowed). */
static Status add_into(Context *c, Tensor **sum, Tensor *g) {
  Tensor *more = NULL;
  if (*sum == NULL) {
    *sum = tensor_share(g);
    return OK;
  }
  if (!c->is_recording && is_ours(*sum, g)) {
    Args a = tape_args(OP_add);
    a.at[0] = arg_tensor(*sum);
    a.at[1] = arg_tensor(g);
    return op_call_inplace(c, OP_add, &a);
  }
  const Status s = op_binary(c, OP_add, *sum, g, &more);
  if (s != OK) return s;
  tensor_release(c, *sum);
  *sum = more;
  return OK;
}

/* The seed of y: given, or 1 for a single element. */
static Status seed_of(Context *c, Tensor *y, Tensor *seed, Tensor **g) {
  if (seed == NULL && y->count == 1)
    return op_full(c, tensor_device(y), y->dtype, y->shape.rank, y->shape.size,
                   1, g);
  if (seed == NULL)
    return fail(c, E_SHAPE,
                "self %S has %I elements; give a cotangent of its shape",
                SHAPE_ARG(&y->shape), y->count);
  if (!shape_same(&y->shape, &seed->shape))
    return fail(c, E_SHAPE, "%A %S must have the shape of self %S", "seed",
                SHAPE_ARG(&seed->shape), SHAPE_ARG(&y->shape));
  if (seed->dtype != y->dtype)
    return fail(c, E_DTYPE, "%A is %s, and self is %s", "seed",
                dtype_name(seed->dtype), dtype_name(y->dtype));
  if (tensor_device(seed) != tensor_device(y))
    return fail(c, E_DEVICE, "%A is on %s, and self on %s", "seed",
                tensor_device(seed)->name, tensor_device(y)->name);
  *g = tensor_share(seed);
  return OK;
}

static Status plant(Context *c, int count, Tensor *const *y,
                    Tensor *const *seeds) {
  for (int i = 0; i < count; i++) {
    Tensor *g = NULL;
    Status s = seed_of(c, y[i], seeds != NULL ? seeds[i] : NULL, &g);
    if (s == OK && y[i]->node != NULL)
      s = add_into(c, &y[i]->node->result[y[i]->result].cotangent, g);
    tensor_release(c, g);
    if (s != OK) return s;
  }
  return OK;
}

static void drop_of_node(Context *c, Node *n) {
  for (int k = 0; k < n->results; k++) {
    tensor_release(c, n->result[k].cotangent);
    n->result[k].cotangent = NULL;
  }
}

static void drop_cotangents(Context *c, const Walk *w) {
  for (size_t i = 0; i < w->count; i++) drop_of_node(c, w->node[i]);
}

static bool has_cotangent(const Node *n) {
  for (int k = 0; k < n->results; k++)
    if (n->result[k].cotangent != NULL) return true;
  return false;
}

/* ---- one node ---- */

static Status check_alive(Context *c, const Node *n) {
  if (!n->is_freed) return OK;
  return fail(c, E_FREED,
              "the graph was used up at %s:%d; pass {retain_graph=true} there",
              n->source, n->line);
}

/* Which op the failure came from: its own words are kept. */
static Status blame(Context *c, const Node *n, Status s) {
  if (s == E_FREED || s == E_MODIFIED || s == E_INTERRUPTED) return s;
  char text[FAILURE_TEXT];
  memcpy(text, c->failure.text, sizeof text);
  return fail(c, s, "of %s (%s:%d): %s", node_name(n), n->source, n->line,
              text);
}

static Status pull_node(Context *c, Node *n, bool is_tracked) {
  Tape t;
  Status s = check_alive(c, n);
  if (s != OK) return s;
  tape_open(&t, c, n, is_tracked);
  for (int k = 0; k < n->inputs && t.status == OK; k++) {
    const Input *in = &n->input[k];
    if (!node_flows(n, k) || in->node->retains_grad + in->node->waiting == 0)
      continue;
    Tensor *g = node_pull(&t, k, n->result[0].cotangent);
    if (g != NULL && t.status == OK)
      t.status = add_into(c, &in->node->result[in->result].cotangent, g);
  }
  s = t.status;
  tape_close(&t);
  return s == OK ? OK : blame(c, n, s);
}

/* The values that a pull reads go as soon as it has run. */
static void use_up(Context *c, Node *n, const char *source, int line) {
  node_free_saved(c, n);
  n->is_freed = true;
  n->source = source;
  n->line = line;
}

/* `waiting` marks the nodes on a way to a target: set here, cleared there. */
static void mark_all(const Walk *w, int value) {
  for (size_t i = 0; i < w->count; i++) w->node[i]->waiting = value;
}

/* Only ways that end at a node marked `is_seen` are walked. */
static void mark_ways(const Walk *w) {
  for (size_t i = w->count; i-- > 0;) {
    Node *n = w->node[i];
    n->waiting = n->is_seen;
    for (int k = 0; k < n->inputs && n->waiting == 0; k++)
      if (n->input[k].node != NULL) n->waiting = n->input[k].node->waiting;
  }
}

static Status pull_all(Context *c, const Walk *w, bool retain,
                       bool is_tracked) {
  const char *source = "";
  int line = 0;
  if (!retain) context_where(c, &source, &line);
  for (size_t i = 0; i < w->count; i++) {
    Node *n = w->node[i];
    if (n->op == OP_LEAF || n->waiting == 0) continue;
    if (has_cotangent(n)) {
      const Status s = pull_node(c, n, is_tracked);
      if (s != OK) return s;
    }
    if (!retain) use_up(c, n, source, line);
    if (n->is_seen || n->retains_grad) continue; /* asked for: kept */
    drop_of_node(c, n);
  }
  return OK;
}

/* ---- the walk as a whole ---- */

static Status enter(Context *c, bool is_tracked) {
  if (c->in_backward)
    return fail(c, E_STATE, "a backward is running already");
  c->is_recording = is_tracked;
  c->in_backward = true;
  if (c->depth++ == 0) c->failure.op = "backward";
  return OK;
}

static void leave(Context *c, bool was_recording) {
  c->is_recording = was_recording;
  c->in_backward = false;
  c->depth--;
}

static Status check_tracked(Context *c, const Tensor *y, const char *name) {
  if (y->node != NULL) return OK;
  if (dtype_class(y->dtype) != CLASS_FLOAT)
    return fail(c, E_NO_GRAPH, "%A does not require grad: integer dtype %s",
                name, dtype_name(y->dtype));
  return fail(c, E_NO_GRAPH,
              "%A does not require grad: nothing tracked led to it", name);
}

/* ---- .grad ---- */

static bool takes_grad(const Node *n) {
  return (n->op == OP_LEAF || n->retains_grad) &&
         n->result[0].cotangent != NULL;
}

/* A gradient owns its memory: never a view, never the seed itself. */
static Status own_memory(Context *c, Tensor **g) {
  Tensor *copy = NULL;
  if ((*g)->refs == 1 && (*g)->storage->refs == 1 && (*g)->is_contiguous)
    return OK;
  const Status s = op_unary(c, OP_clone, *g, &copy);
  if (s != OK) return s;
  tensor_release(c, *g);
  *g = copy;
  return OK;
}

/* Cotangents become sums with the gradients that are there, ... */
static Status prepare_grads(Context *c, const Walk *w) {
  for (size_t i = 0; i < w->count; i++) {
    Node *n = w->node[i];
    Status s = OK;
    if (!takes_grad(n)) continue;
    if (n->grad == NULL) {
      s = own_memory(c, &n->result[0].cotangent);
    } else {
      Tensor *sum = NULL;
      s = op_binary(c, OP_add, n->grad, n->result[0].cotangent, &sum);
      if (s == OK) {
        tensor_release(c, n->result[0].cotangent);
        n->result[0].cotangent = sum;
      }
    }
    if (s != OK) return s;
  }
  return OK;
}

/* ... and are put in place when nothing can fail any more. */
static void commit_grads(Context *c, const Walk *w) {
  for (size_t i = 0; i < w->count; i++) {
    Node *n = w->node[i];
    if (!takes_grad(n)) continue;
    Tensor *before = n->grad;
    n->grad = n->result[0].cotangent;
    n->result[0].cotangent = NULL;
    tensor_release(c, before);
  }
}

Status grad_backward(Context *c, Tensor *y, Tensor *seed, bool retain) {
  const bool was_recording = c->is_recording;
  Walk w = {0};
  Status s = enter(c, false);
  if (s != OK) return s;
  s = check_tracked(c, y, "self");
  if (s == OK) s = walk_open(c, 1, &y, &w);
  if (s == OK) {
    mark_all(&w, 1);
    s = plant(c, 1, &y, &seed);
  }
  if (s == OK) s = pull_all(c, &w, retain, false);
  if (s == OK) s = prepare_grads(c, &w);
  if (s == OK) commit_grads(c, &w);
  drop_cotangents(c, &w);
  mark_all(&w, 0);
  walk_close(c, &w);
  leave(c, was_recording);
  return s;
}

/* ---- gradients as values ---- */

static void mark_targets(int inputs, Tensor *const *x, bool on) {
  for (int i = 0; i < inputs; i++)
    if (x[i]->node != NULL) x[i]->node->is_seen = on;
}

static Status take_gradient(Context *c, const Tensor *x, int number,
                            Unused unused, Tensor **gx) {
  Tensor *g =
      x->node != NULL ? x->node->result[x->result].cotangent : NULL;
  if (g != NULL) {
    *gx = tensor_share(g);
    return OK;
  }
  if (unused == UNUSED_NONE) return OK;
  if (unused == UNUSED_ZERO)
    return op_full(c, tensor_device(x), x->dtype, x->shape.rank, x->shape.size,
                   0, gx);
  return fail(c, E_INDEPENDENT, "%A[%P] does not influence y", "xs",
              (int64_t)number);
}

Status grad_of(Context *c, int outputs, Tensor *const *y,
               Tensor *const *seeds, int inputs, Tensor *const *x, bool retain,
               bool create, Unused unused, Tensor **gx) {
  const bool was_recording = c->is_recording;
  Walk w = {0};
  for (int i = 0; i < inputs; i++) gx[i] = NULL;
  Status s = enter(c, create);
  if (s != OK) return s;
  for (int i = 0; i < outputs && s == OK; i++)
    s = check_tracked(c, y[i], "y");
  for (int i = 0; i < inputs && s == OK; i++)
    s = check_tracked(c, x[i], "xs");
  if (s == OK) s = walk_open(c, outputs, y, &w);
  if (s == OK) {
    mark_targets(inputs, x, true);
    mark_ways(&w);
    s = plant(c, outputs, y, seeds);
    if (s == OK) s = pull_all(c, &w, retain, create);
  }
  for (int i = 0; i < inputs && s == OK; i++)
    s = take_gradient(c, x[i], i, unused, &gx[i]);
  if (w.node != NULL) mark_targets(inputs, x, false);
  drop_cotangents(c, &w);
  mark_all(&w, 0);
  walk_close(c, &w);
  leave(c, was_recording);
  for (int i = 0; i < inputs && s != OK; i++) {
    tensor_release(c, gx[i]);
    gx[i] = NULL;
  }
  return s;
}

/* ---- marking tensors ---- */

Tensor *grad_get(const Tensor *t) {
  return t->node != NULL && t->result == 0 ? t->node->grad : NULL;
}

Status grad_set(Context *c, Tensor *t, Tensor *g) {
  Status s = check_tracked(c, t, "self");
  if (s == OK && g != NULL) {
    if (!shape_same(&t->shape, &g->shape))
      s = fail(c, E_SHAPE, "%A %S must have the shape of self %S", "grad",
               SHAPE_ARG(&g->shape), SHAPE_ARG(&t->shape));
    else if (g->dtype != t->dtype)
      s = fail(c, E_DTYPE, "%A is %s, and self is %s", "grad",
               dtype_name(g->dtype), dtype_name(t->dtype));
    else if (tensor_device(g) != tensor_device(t))
      s = fail(c, E_DEVICE, "%A is on %s, and self on %s", "grad",
               tensor_device(g)->name, tensor_device(t)->name);
  }
  Tensor *own = NULL; /* never tracked itself */
  if (s == OK && g != NULL && g->node != NULL) s = tensor_alias(c, g, &own);
  else if (s == OK && g != NULL) own = tensor_share(g);
  if (s == OK) {
    tensor_release(c, t->node->grad);
    t->node->grad = own;
  }
  tensor_release(c, g);
  return s;
}

Status grad_require(Context *c, Tensor *t, bool on) {
  Node *n = NULL;
  if (on == (t->node != NULL)) return OK;
  if (!on && t->node->op != OP_LEAF)
    return fail(c, E_STATE,
                "%A is a result of %s; use detach for an untracked view",
                "self", node_name(t->node));
  if (!on) {
    n = t->node;
    t->node = NULL;
    node_release(c, n);
    return OK;
  }
  if (dtype_class(t->dtype) != CLASS_FLOAT)
    return fail(c, E_DTYPE, "%A is %s; only floats have gradients", "self",
                dtype_name(t->dtype));
  const Status s = node_leaf(c, t, &n);
  if (s != OK) return s;
  node_attach(c, n, t, 0);
  node_release(c, n);
  return OK;
}

Status grad_retain(Context *c, Tensor *t) {
  const Status s = check_tracked(c, t, "self");
  if (s == OK) t->node->retains_grad = true;
  return s;
}
