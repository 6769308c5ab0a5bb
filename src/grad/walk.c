/* walk.c: collects a graph without recursion and puts it in order (Kahn 1962):
 * a node comes when all that read its results have come.
 *
 * Always: after walk_open and after a failure every node's `is_seen` is false
 * and `waiting` is 0.
 */
#include "grad/walk.h"

#include <string.h>

static Status append(Context *c, Walk *w, Node *n) {
  if (w->count == w->room) {
    const size_t room = w->room > 0 ? 2 * w->room : 64;
    Node **more = ledger_realloc(&c->ledger, w->node,
                                 w->room * sizeof *more, room * sizeof *more);
    if (more == NULL) return fail(c, E_MEMORY, "out of memory");
    w->node = more;
    w->room = room;
  }
  w->node[w->count++] = n;
  return OK;
}

static Status meet(Context *c, Walk *w, Node *n) {
  if (n == NULL || n->is_seen) return OK;
  const Status s = append(c, w, n);
  if (s == OK) n->is_seen = true;
  return s;
}

/* Every node once, with the number of edges that lead to it. */
static Status collect(Context *c, int count, Tensor *const *roots, Walk *w) {
  Status s = OK;
  for (int i = 0; i < count && s == OK; i++)
    if (roots[i] != NULL) s = meet(c, w, roots[i]->node);
  for (size_t i = 0; i < w->count && s == OK; i++) {
    const Node *n = w->node[i];
    for (int k = 0; k < n->inputs && s == OK; k++) {
      Node *m = n->input[k].node;
      if (m == NULL) continue;
      if ((s = meet(c, w, m)) == OK) m->waiting++;
    }
  }
  return s;
}

/* Rewrites the list in order; `ready` is chained through `next`. */
static void order(Walk *w) {
  Node *ready = NULL;
  size_t filled = 0;
  for (size_t i = w->count; i-- > 0;) {
    Node *n = w->node[i];
    if (n->waiting > 0) continue;
    n->next = ready;
    ready = n;
  }
  while (ready != NULL) {
    Node *n = ready;
    ready = n->next;
    n->is_seen = false;
    w->node[filled++] = n;
    for (int k = n->inputs; k-- > 0;) {
      Node *m = n->input[k].node;
      if (m == NULL || --m->waiting > 0) continue;
      m->next = ready;
      ready = m;
    }
  }
  assert(filled == w->count);
}

Status walk_open(Context *c, int count, Tensor *const *roots, Walk *w) {
  *w = (Walk){0};
  const Status s = collect(c, count, roots, w);
  if (s == OK) {
    order(w);
    return OK;
  }
  for (size_t i = 0; i < w->count; i++) {
    w->node[i]->is_seen = false;
    w->node[i]->waiting = 0;
  }
  walk_close(c, w);
  return s;
}

void walk_close(Context *c, Walk *w) {
  if (w->node != NULL)
    ledger_free(&c->ledger, w->node, w->room * sizeof *w->node);
  *w = (Walk){0};
}
