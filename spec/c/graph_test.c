/* graph_test.c: graphs as data: long, shared, freed in any order.
 *
 * Chains are walked and freed in a thread with a stack of 256 KiB: whatever
 * recurses over the graph ends there.  What a node costs is printed.
 */
#include <pthread.h>
#include <time.h>

#include "check.h"
#include "grad/grad.h"

enum { STACK = 256 * 1024 };

static Context *open_context(void) {
  Context *c = context_open(SIZE_MAX, 1);
  if (c == NULL) abort();
  c->generator = (Philox){.seed = 3};
  return c;
}

/* All that is made here goes again. */
static void close_context(Context *c) {
  CHECK_INT(c->tensors, 0);
  context_close(c);
}

static Tensor *vector(Context *c, int64_t n, const float *values) {
  const Shape shape = shape_of(1, &n);
  Tensor *t = NULL;
  CHECK_INT(tensor_new(c, &c->host, DTYPE_F32, &shape, &t), OK);
  CHECK_INT(tensor_write(c, t, values), OK);
  return t;
}

static Tensor *leaf(Context *c, int64_t n, const float *values) {
  Tensor *t = vector(c, n, values);
  CHECK_INT(grad_require(c, t, true), OK);
  return t;
}

static Tensor *binary(Context *c, OpId op, Tensor *x, Tensor *y) {
  Tensor *r = NULL;
  const Status s = op_binary(c, op, x, y, &r);
  CHECK(s == OK, "%s: %s", op_rows[op].name, c->failure.text);
  return r;
}

static Tensor *unary(Context *c, OpId op, Tensor *x) {
  Tensor *r = NULL;
  const Status s = op_unary(c, op, x, &r);
  CHECK(s == OK, "%s: %s", op_rows[op].name, c->failure.text);
  return r;
}

static Tensor *total(Context *c, Tensor *x) { return unary(c, OP_sum, x); }

static double element(const Tensor *t, int64_t i) {
  if (!CHECK(t != NULL)) return NAN;
  const int64_t at = t->shape.rank == 0 ? 0 : i * t->shape.stride[0];
  return scalar_to_f64(tensor_data(t) + (size_t)at * dtype_bytes(t->dtype),
                       t->dtype);
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- long chains ---- */

/* What a thread found: CHECK is for one thread only. */
typedef struct Chain {
  int64_t nodes;
  bool walks; /* backward, not only freeing */
  double build_ns, walk_ns, free_ns, slope;
  bool ok;
} Chain;

static bool build(Context *c, int64_t nodes, Tensor **y) {
  for (int64_t i = 0; i < nodes; i++) {
    Tensor *next = NULL;
    if (op_unary(c, OP_neg, *y, &next) != OK) return false;
    tensor_release(c, *y);
    *y = next;
  }
  return true;
}

static void *run_chain(void *arg) {
  Chain *chain = arg;
  const double per_node = 1e9 / (double)chain->nodes;
  const float one = 1;
  Context *c = context_open(SIZE_MAX, 1);
  const int64_t size = 1;
  const Shape shape = shape_of(1, &size);
  Tensor *x = NULL;
  if (tensor_new(c, &c->host, DTYPE_F32, &shape, &x) != OK ||
      tensor_write(c, x, &one) != OK || grad_require(c, x, true) != OK)
    return NULL;
  Tensor *y = tensor_share(x);
  double start = now();
  chain->ok = build(c, chain->nodes, &y);
  chain->build_ns = (now() - start) * per_node;
  start = now();
  if (chain->walks) {
    chain->ok &= grad_backward(c, y, NULL, false) == OK;
    const Tensor *g = grad_get(x);
    chain->slope = g != NULL ? scalar_to_f64(tensor_data(g), g->dtype) : NAN;
  }
  chain->walk_ns = (now() - start) * per_node;
  start = now();
  tensor_release(c, y);
  chain->free_ns = (now() - start) * per_node;
  tensor_release(c, x);
  chain->ok &= c->tensors == 0;
  context_close(c);
  return NULL;
}

static void check_chain(int64_t nodes, bool walks) {
  Chain chain = {.nodes = nodes, .walks = walks};
  pthread_attr_t small;
  pthread_t thread;
  pthread_attr_init(&small);
  CHECK_INT(pthread_attr_setstacksize(&small, STACK), 0);
  CHECK_INT(pthread_create(&thread, &small, run_chain, &chain), 0);
  pthread_join(thread, NULL);
  pthread_attr_destroy(&small);
  CHECK(chain.ok, "%d nodes", (int)nodes);
  if (walks) CHECK_NEAR(chain.slope, nodes % 2 == 0 ? 1 : -1, 0);
  printf("%8d nodes: build %4.0f ns, backward %4.0f ns, free %4.0f ns a node\n",
         (int)nodes, chain.build_ns, chain.walk_ns, chain.free_ns);
}

static void test_chains(void) {
  const int64_t longest = check_fast() ? 100000 : 1000000;
  for (int64_t nodes = 1000; nodes <= longest; nodes *= 10)
    check_chain(nodes, true);
  check_chain(longest, false); /* saved values and all freed at once */
}

/* ---- shared parts ---- */

/* y = x + x, forty times: 2^40 ways, 40 nodes. */
static void test_diamonds(void) {
  Context *c = open_context();
  const float one = 1;
  Tensor *x = leaf(c, 1, &one), *y = tensor_share(x);
  for (int i = 0; i < 40; i++) {
    Tensor *next = binary(c, OP_add, y, y);
    tensor_release(c, y);
    y = next;
  }
  CHECK_INT(grad_backward(c, y, NULL, false), OK);
  CHECK_NEAR(element(grad_get(x), 0), 0x1p40, 0);
  tensor_release(c, y);
  tensor_release(c, x);
  close_context(c);
}

/* u = x x, y = u x, z = u + y: a part that several ways pass. */
static void test_shared_part(void) {
  Context *c = open_context();
  const float values[2] = {2, 3};
  Tensor *x = leaf(c, 2, values), *u = binary(c, OP_mul, x, x);
  Tensor *y = binary(c, OP_mul, u, x), *z = binary(c, OP_add, u, y);
  Tensor *loss = total(c, z);
  CHECK_INT(grad_backward(c, loss, NULL, true), OK);
  CHECK_NEAR(element(grad_get(x), 0), 2 * 2 + 3 * 4, 0);
  CHECK_NEAR(element(grad_get(x), 1), 2 * 3 + 3 * 9, 0);
  CHECK_INT(grad_backward(c, loss, NULL, false), OK); /* adds */
  CHECK_NEAR(element(grad_get(x), 0), 2 * (2 * 2 + 3 * 4), 0);
  CHECK_INT(grad_backward(c, loss, NULL, false), E_FREED);
  CHECK_NEAR(element(grad_get(x), 0), 2 * (2 * 2 + 3 * 4), 0);
  Tensor *more = total(c, u); /* u's own record is used up as well */
  CHECK_INT(grad_backward(c, more, NULL, false), E_FREED);
  Tensor *all[6] = {x, u, y, z, loss, more};
  for (int i = 0; i < 6; i++) tensor_release(c, all[i]);
  close_context(c);
}

/* Two results of one part, walked one after the other. */
static void test_two_heads(void) {
  Context *c = open_context();
  const float values[2] = {1, 2};
  Tensor *x = leaf(c, 2, values), *u = unary(c, OP_exp, x);
  Tensor *a = total(c, u), *both = binary(c, OP_mul, u, u), *b = total(c, both);
  CHECK_INT(grad_backward(c, a, NULL, true), OK);
  CHECK_INT(grad_backward(c, b, NULL, false), OK);
  for (int i = 0; i < 2; i++)
    CHECK_NEAR(element(grad_get(x), i),
               exp(values[i]) + 2 * exp(2 * values[i]), 1e-4);
  Tensor *all[5] = {x, u, a, both, b};
  for (int i = 0; i < 5; i++) tensor_release(c, all[i]);
  close_context(c);
}

/* ---- freeing ---- */

static void swap(int *a, int *b) {
  const int t = *a;
  *a = *b;
  *b = t;
}

/* The next permutation in order; false after the last. */
static bool permute(int *p, int n) {
  int i = n - 2, j = n - 1;
  while (i >= 0 && p[i] > p[i + 1]) i--;
  if (i < 0) return false;
  while (p[j] < p[i]) j--;
  swap(&p[i], &p[j]);
  for (int a = i + 1, b = n - 1; a < b; a++, b--) swap(&p[a], &p[b]);
  return true;
}

static void test_freeing_orders(void) {
  enum { COUNT = 5 };
  Context *c = open_context();
  const float values[3] = {1, 2, 3};
  int order[COUNT] = {0, 1, 2, 3, 4};
  device_trim(&c->host);
  const size_t used = c->ledger.used;
  do {
    Tensor *x = leaf(c, 3, values), *u = binary(c, OP_mul, x, x);
    Tensor *v = unary(c, OP_exp, u), *y = binary(c, OP_div, v, u);
    Tensor *all[COUNT] = {x, u, v, y, total(c, y)};
    for (int i = 0; i < COUNT; i++) tensor_release(c, all[order[i]]);
    device_trim(&c->host);
    CHECK_INT(c->tensors, 0);
    CHECK_INT(c->ledger.used, used);
  } while (permute(order, COUNT));
  close_context(c);
}

/* Inputs go before the walk: the graph keeps what it reads. */
static void test_graph_holds(void) {
  Context *c = open_context();
  const float values[2] = {3, 4};
  Tensor *x = leaf(c, 2, values), *u = binary(c, OP_mul, x, x);
  Tensor *v = binary(c, OP_mul, u, u), *y = total(c, v);
  tensor_release(c, u);
  tensor_release(c, v);
  CHECK_INT(grad_backward(c, y, NULL, false), OK);
  tensor_release(c, y);
  CHECK_NEAR(element(grad_get(x), 0), 4 * 27, 1e-4);
  tensor_release(c, x);
  close_context(c);
}

/* ---- versions ---- */

static Status add_in_place(Context *c, Tensor *x, double number) {
  const Args a = {.at = {arg_tensor(x), arg_number(number)}};
  return op_call_inplace(c, OP_add, &a);
}

static void test_versions(void) {
  Context *c = open_context();
  const float values[2] = {3, 4};
  Tensor *w = leaf(c, 2, values), *x = vector(c, 2, values), *view = NULL;
  Tensor *u = binary(c, OP_mul, w, x), *y = total(c, u);
  CHECK_INT(tensor_alias(c, x, &view), OK);
  CHECK_INT(add_in_place(c, view, 1), OK); /* the storage, by another view */
  CHECK_INT(grad_backward(c, y, NULL, false), E_MODIFIED);
  CHECK_FOUND(c->failure.text, "mul");
  CHECK_FOUND(c->failure.text, "add_");
  CHECK(grad_get(w) == NULL);
  tensor_release(c, u);
  tensor_release(c, y);
  u = binary(c, OP_mul, w, x);
  y = total(c, u);
  CHECK_INT(add_in_place(c, u, 1), OK); /* a result that nobody saved */
  CHECK_INT(grad_backward(c, y, NULL, false), OK);
  CHECK_NEAR(element(grad_get(w), 0), 4, 0);
  CHECK_INT(add_in_place(c, w, 1), E_LEAF);
  Tensor *all[5] = {w, x, view, u, y};
  for (int i = 0; i < 5; i++) tensor_release(c, all[i]);
  close_context(c);
}

/* exp saves its result: writing over that is found, too. */
static void test_saved_result(void) {
  Context *c = open_context();
  const float values[2] = {0, 1};
  Tensor *x = leaf(c, 2, values), *u = unary(c, OP_exp, x);
  Tensor *detached = unary(c, OP_detach, u), *y = total(c, u);
  CHECK_INT(add_in_place(c, detached, 1), OK);
  CHECK_INT(grad_backward(c, y, NULL, false), E_MODIFIED);
  CHECK_FOUND(c->failure.text, "exp");
  Tensor *all[4] = {x, u, detached, y};
  for (int i = 0; i < 4; i++) tensor_release(c, all[i]);
  close_context(c);
}

/* ---- both readings ---- */

/* y = tanh(x w) * sigmoid(w) + x, element by element. */
static Tensor *composite(Context *c, Tensor *x, Tensor *w) {
  Tensor *p = binary(c, OP_mul, x, w), *t = unary(c, OP_tanh, p);
  Tensor *s = unary(c, OP_sigmoid, w), *q = binary(c, OP_mul, t, s);
  Tensor *y = binary(c, OP_add, q, x);
  Tensor *all[4] = {p, t, s, q};
  for (int i = 0; i < 4; i++) tensor_release(c, all[i]);
  return y;
}

static double inner(const Tensor *a, const Tensor *b) {
  double sum = 0;
  for (int64_t i = 0; i < a->count; i++) sum += element(a, i) * element(b, i);
  return sum;
}

/* <seed, push(tx, tw)> == <pull(seed), (tx, tw)>. */
static void test_push_and_pull(void) {
  Context *c = open_context();
  const float a[3] = {0.3f, -0.7f, 1.1f}, b[3] = {0.9f, 0.2f, -0.4f};
  const float p[3] = {1, 2, -1}, q[3] = {0.5f, -3, 2}, r[3] = {2, -1, 0.25f};
  Tensor *in[2] = {leaf(c, 3, a), leaf(c, 3, b)};
  Tensor *t[2] = {vector(c, 3, p), vector(c, 3, q)}, *seed = vector(c, 3, r);
  Tensor *y = composite(c, in[0], in[1]), *ty = NULL, *g[2];
  CHECK_INT(grad_push(c, 2, in, t, 1, &y, &ty), OK);
  CHECK_INT(grad_of(c, 1, &y, &seed, 2, in, false, false, UNUSED_ERROR, g),
            OK);
  CHECK_NEAR(inner(seed, ty), inner(g[0], t[0]) + inner(g[1], t[1]), 1e-5);
  CHECK(grad_get(in[0]) == NULL && grad_get(in[1]) == NULL);
  Tensor *all[9] = {in[0], in[1], t[0], t[1], seed, y, ty, g[0], g[1]};
  for (int i = 0; i < 9; i++) tensor_release(c, all[i]);
  close_context(c);
}

/* x^3: 3 x^2, then 6 x, then 6. */
static void test_orders(void) {
  Context *c = open_context();
  const float values[1] = {2}, want[3] = {12, 12, 6};
  Tensor *x = leaf(c, 1, values), *u = binary(c, OP_mul, x, x);
  Tensor *y = binary(c, OP_mul, u, x);
  tensor_release(c, u);
  for (int i = 0; i < 3; i++) {
    Tensor *g = NULL;
    CHECK_INT(grad_of(c, 1, &y, NULL, 1, &x, true, true, UNUSED_ERROR, &g),
              OK);
    CHECK_NEAR(element(g, 0), want[i], 1e-5);
    tensor_release(c, y);
    y = g;
  }
  tensor_release(c, y);
  tensor_release(c, x);
  close_context(c);
}

static void test_unused(void) {
  Context *c = open_context();
  const float values[2] = {1, 2};
  Tensor *x = leaf(c, 2, values), *z = leaf(c, 2, values);
  Tensor *u = binary(c, OP_mul, x, x), *y = total(c, u);
  Tensor *in[2] = {x, z}, *g[2];
  CHECK_INT(grad_of(c, 1, &y, NULL, 2, in, true, false, UNUSED_ERROR, g),
            E_INDEPENDENT);
  CHECK(g[0] == NULL && g[1] == NULL);
  CHECK_INT(grad_of(c, 1, &y, NULL, 2, in, true, false, UNUSED_NONE, g), OK);
  CHECK(g[0] != NULL && g[1] == NULL);
  tensor_release(c, g[0]);
  CHECK_INT(grad_of(c, 1, &y, NULL, 2, in, true, false, UNUSED_ZERO, g), OK);
  CHECK_NEAR(element(g[1], 1), 0, 0);
  tensor_release(c, g[0]);
  tensor_release(c, g[1]);
  Tensor *plain = vector(c, 2, values);
  CHECK_INT(grad_backward(c, plain, NULL, false), E_NO_GRAPH);
  CHECK_INT(grad_backward(c, u, NULL, false), E_SHAPE);
  Tensor *all[5] = {x, z, u, y, plain};
  for (int i = 0; i < 5; i++) tensor_release(c, all[i]);
  close_context(c);
}

/* ---- marks ---- */

static void test_marks(void) {
  Context *c = open_context();
  const float values[2] = {1, 2};
  Tensor *x = leaf(c, 2, values), *u = binary(c, OP_mul, x, x);
  Tensor *y = total(c, u), *g = vector(c, 2, values);
  Tensor *one = vector(c, 1, values);
  CHECK_INT(grad_retain(c, u), OK);
  CHECK_INT(grad_backward(c, y, NULL, false), OK);
  CHECK_NEAR(element(grad_get(u), 1), 1, 0);
  CHECK_NEAR(element(grad_get(x), 1), 4, 0);
  CHECK_INT(grad_set(c, x, tensor_share(g)), OK);
  CHECK(grad_get(x) == g);
  CHECK_INT(grad_set(c, x, tensor_share(one)), E_SHAPE);
  CHECK(grad_get(x) == g);
  CHECK_INT(grad_set(c, x, tensor_share(u)), OK); /* tracked: an alias of it */
  CHECK(grad_get(x) != u && grad_get(x)->storage == u->storage);
  CHECK(grad_get(x)->node == NULL);
  CHECK_INT(grad_set(c, x, NULL), OK);
  CHECK_INT(grad_set(c, g, tensor_share(one)), E_NO_GRAPH);
  CHECK_INT(grad_require(c, u, false), E_STATE);
  CHECK_INT(grad_require(c, x, false), OK);
  CHECK(x->node == NULL);
  CHECK_INT(g->refs, 1);
  CHECK_INT(one->refs, 1);
  Tensor *all[5] = {x, u, y, g, one};
  for (int i = 0; i < 5; i++) tensor_release(c, all[i]);
  close_context(c);
}

int main(void) {
  RUN(test_chains);
  RUN(test_diamonds);
  RUN(test_shared_part);
  RUN(test_two_heads);
  RUN(test_freeing_orders);
  RUN(test_graph_holds);
  RUN(test_versions);
  RUN(test_saved_result);
  RUN(test_push_and_pull);
  RUN(test_orders);
  RUN(test_unused);
  RUN(test_marks);
  return check_report();
}
