/* node.c: nodes are written once and freed in any depth.
 *
 * A node is one block:
 *   Node | inputs | args | sizes of inputs and results | wholes of args
 */
#include "tensor/node.h"

#include <string.h>

/* ---- making ---- */

/* How much room the parts behind the Node need, then where they lie. */
typedef struct Parts {
  size_t inputs, sizes, args; /* counts */
} Parts;

static bool has_plain_args(const Call *call) {
  const OpRow *row = &op_rows[call->op];
  for (int k = 0; k < row->params; k++) {
    const ArgKind kind = call->args->at[k].kind;
    if (kind != ARG_NONE && kind != ARG_TENSOR && kind != ARG_LIST) return true;
  }
  return false;
}

static Parts parts_of(const Call *call) {
  Parts p = {(size_t)call->inputs, 0, 0};
  for (int i = 0; i < call->inputs; i++)
    if (call->input[i] != NULL) p.sizes += (size_t)call->input[i]->shape.rank;
  for (int k = 0; k < call->results; k++)
    if (call->result[k] != NULL) p.sizes += (size_t)call->result[k]->shape.rank;
  if (has_plain_args(call)) p.args = op_rows[call->op].params;
  for (size_t k = 0; k < p.args; k++)
    if (call->args->at[k].kind == ARG_WHOLES)
      p.sizes += (size_t)call->args->at[k].count;
  return p;
}

static const int64_t *put_sizes(int64_t **room, const Shape *s) {
  int64_t *at = *room;
  memcpy(at, s->size, (size_t)s->rank * sizeof *at);
  *room += s->rank;
  return at;
}

static void put_inputs(Node *n, const Call *call, int64_t **sizes) {
  for (int i = 0; i < call->inputs; i++) {
    const Tensor *t = call->input[i];
    n->input[i] = (Input){0};
    if (t == NULL) continue;
    n->input[i] = (Input){.result = t->result,
                          .rank = (uint8_t)t->shape.rank,
                          .is_tensor = true,
                          .dtype = t->dtype,
                          .device = tensor_device(t),
                          .size = put_sizes(sizes, &t->shape)};
    if (t->node != NULL) n->input[i].node = node_share(t->node);
  }
}

static void put_results(Node *n, const Call *call, int64_t **sizes) {
  for (int k = 0; k < call->results; k++) {
    const Tensor *t = call->result[k];
    if (t == NULL) continue;
    n->result[k] = (Result){.rank = (uint8_t)t->shape.rank,
                            .dtype = t->dtype,
                            .device = tensor_device(t),
                            .size = put_sizes(sizes, &t->shape)};
  }
}

static void put_args(Node *n, const Call *call, Arg *room, int64_t *wholes) {
  const OpRow *row = &op_rows[call->op];
  n->arg = room;
  for (int k = 0; k < row->params; k++) {
    const Arg *a = &call->args->at[k];
    if (a->kind == ARG_NONE || a->kind == ARG_TENSOR || a->kind == ARG_LIST ||
        a->kind == ARG_TEXT || a->kind == ARG_GENERATOR)
      room[k].kind = ARG_NONE;
    else
      room[k] = *a;
    if (room[k].kind != ARG_WHOLES) continue;
    room[k].wholes = wholes;
    if (a->count > 0)
      memcpy(wholes, a->wholes, (size_t)a->count * sizeof *wholes);
    wholes += a->count;
  }
}

static Status save(Context *c, Node *n, int place, const Tensor *t) {
  if (t == NULL) return OK;
  n->saved[place].version = t->storage->version;
  return tensor_alias(c, t, &n->saved[place].tensor);
}

/* A pull to x that nobody can ask for needs nothing saved. */
static bool is_wanted(const Node *n, int k) {
  return k < n->inputs && n->input[k].node != NULL;
}

/* The letters that pulls to tracked inputs read. */
static int letters_needed(const Node *n) {
  const OpRow *row = &op_rows[n->op];
  int letters = 0;
  if (row->kind == KIND_MULTI && !op_is_pointwise(n->op)) /* each the other */
    return row->saves & ((is_wanted(n, 0) ? USES_Y : 0) |
                         (is_wanted(n, 1) ? USES_X : 0));
  if (!op_is_pointwise(n->op)) return row->saves;
  for (int k = 0; k < 3; k++)
    if (is_wanted(n, k)) letters |= row->uses[k];
  return letters;
}

static Status save_all(Context *c, Node *n, const Call *call) {
  static const int letter[SAVED_COUNT] = {USES_X,  USES_Y, USES_Z, USES_R,
                                          USES_R2, USES_H, USES_H};
  const int needed = letters_needed(n);
  for (int place = 0; place < SAVED_COUNT; place++) {
    const Tensor *t = NULL;
    if ((needed & letter[place]) == 0) continue;
    if (place <= SAVED_Z)
      t = place < call->inputs ? call->input[place] : NULL;
    else if (place - SAVED_R < call->results)
      t = call->result[place - SAVED_R];
    else if (place < SAVED_H)
      t = NULL;
    else
      t = place - SAVED_H < call->hidden ? call->hide[place - SAVED_H] : NULL;
    const Status s = save(c, n, place, t);
    if (s != OK) return s;
  }
  return OK;
}

Status node_record(Context *c, const Call *call, Node **r) {
  const Parts p = parts_of(call);
  const size_t bytes = sizeof(Node) + p.inputs * sizeof(Input) +
                       p.args * sizeof(Arg) + p.sizes * sizeof(int64_t);
  Node *n = device_small(&c->host, bytes);
  if (n == NULL) return fail(c, E_MEMORY, "out of memory");
  memset(n, 0, sizeof *n);
  n->refs = 1;
  n->op = call->op;
  n->bytes = bytes;
  n->inputs = call->inputs;
  n->results = (uint8_t)call->results;
  n->base = (uint8_t)c->failure.base;
  n->sequence = ++c->sequence;
  n->input = (Input *)(n + 1);
  Arg *args = (Arg *)(n->input + p.inputs);
  int64_t *sizes = (int64_t *)(args + p.args);
  put_inputs(n, call, &sizes);
  put_results(n, call, &sizes);
  if (p.args > 0) put_args(n, call, args, sizes);
  context_where(c, &n->source, &n->line);
  const Status s = save_all(c, n, call);
  if (s != OK) {
    node_release(c, n);
    return s;
  }
  *r = n;
  return OK;
}

Status node_leaf(Context *c, const Tensor *t, Node **r) {
  const size_t bytes =
      sizeof(Node) + (size_t)t->shape.rank * sizeof(int64_t);
  Node *n = device_small(&c->host, bytes);
  if (n == NULL) return fail(c, E_MEMORY, "out of memory");
  memset(n, 0, sizeof *n);
  n->refs = 1;
  n->op = OP_LEAF;
  n->bytes = bytes;
  n->results = 1;
  n->sequence = ++c->sequence;
  n->source = "";
  int64_t *sizes = (int64_t *)(n + 1);
  n->result[0] = (Result){.rank = (uint8_t)t->shape.rank,
                          .dtype = t->dtype,
                          .device = tensor_device(t),
                          .size = put_sizes(&sizes, &t->shape)};
  *r = n;
  return OK;
}

void node_attach(Context *c, Node *n, Tensor *t, int k) {
  Node *before = t->node;
  t->node = node_share(n);
  t->result = (uint8_t)k;
  node_release(c, before);
}

/* ---- freeing ---- */

/* At count 0 the node joins the chain of the dead. */
static void drop(Node *n, Node **dead) {
  if (n == NULL) return;
  assert(n->refs > 0);
  if (--n->refs > 0) return;
  n->next = *dead;
  *dead = n;
}

void node_free_saved(Context *c, Node *n) {
  for (int i = 0; i < SAVED_COUNT; i++) {
    tensor_release(c, n->saved[i].tensor); /* untracked: no node hangs on it */
    n->saved[i].tensor = NULL;
  }
}

void node_release(Context *c, Node *n) {
  Node *dead = NULL;
  drop(n, &dead);
  while (dead != NULL) {
    Node *node = dead;
    dead = node->next;
    for (int i = 0; i < node->inputs; i++) drop(node->input[i].node, &dead);
    node_free_saved(c, node);
    for (int k = 0; k < node->results; k++)
      tensor_release(c, node->result[k].cotangent);
    tensor_release(c, node->grad);
    device_small_free(&c->host, node, node->bytes);
  }
}

const char *node_name(const Node *n) {
  return n->op == OP_LEAF ? "leaf" : op_rows[n->op].name;
}
