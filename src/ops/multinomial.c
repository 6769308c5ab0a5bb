/* multinomial.c: positions drawn by weight, on the host.
 *
 * With replacement: a uniform number is looked up in the running sum of the
 * weights.  Without: each positive weight w gets the time -log(u) / w at which
 * a process of rate w first rings, and the n earliest win, in that order
 * (Efraimidis and Spirakis, Weighted random sampling with a reservoir, 2006).
 * Sums are f64.  The numbers are those of the generator's stream whatever the
 * device, two words each.
 * Must not know: how weights came about.
 */
#include <math.h>
#include <string.h>

#include "ops/run.h"

enum { LOOKS = 1 << 16 }; /* draws between two looks at the stop flag */

/* A position and when its process rings. */
typedef struct Ring {
  double time;
  int64_t at;
} Ring;

/* Rows of weights, and what is drawn from them. */
typedef struct Draws {
  const double *weight; /* (rows, classes) */
  int64_t *result;      /* (rows, n) */
  int64_t rows, classes, n, base;
  bool replaces;
  const Philox *g;
  double *sum; /* (classes): running sum, with replacement */
  Ring *ring;  /* (n): a heap, the latest on top, without */
  const volatile bool *stop;
} Draws;

static double uniform_at(const Philox *g, int64_t i) {
  uint32_t word[4];
  philox_block(g, (uint64_t)i / 2, word);
  return philox_f64(word[i % 2 * 2], word[i % 2 * 2 + 1]);
}

/* ---- with replacement ---- */

/* The first place whose running sum is above `u` times the whole; a weight of
 * 0 adds nothing, so it is never first.  `u` < 1, but the product may round up
 * to the whole: then the last positive weight is meant. */
static int64_t look_up(const double *sum, int64_t classes, double u) {
  const double due = u * sum[classes - 1];
  int64_t low = 0, high = classes - 1;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (sum[middle] > due) high = middle;
    else low = middle + 1;
  }
  while (low > 0 && sum[low] == sum[low - 1]) low--;
  return low;
}

/* False: the stop flag was seen. */
static bool draw_again(const Draws *d, const double *weight, int64_t first,
                       int64_t *result) {
  double total = 0;
  for (int64_t k = 0; k < d->classes; k++) d->sum[k] = total += weight[k];
  for (int64_t i = 0; i < d->n; i++) {
    if (i % LOOKS == 0 && *d->stop) return false;
    const double u = uniform_at(d->g, first + i);
    result[i] = d->base + look_up(d->sum, d->classes, u);
  }
  return true;
}

/* ---- without ---- */

static bool is_later(const Ring *a, const Ring *b) {
  return a->time > b->time || (a->time == b->time && a->at > b->at);
}

/* Let the entry at `i` sink to its place among `count`. */
static void sink(Ring *heap, int64_t count, int64_t i) {
  for (int64_t child; (child = 2 * i + 1) < count; i = child) {
    if (child + 1 < count && is_later(&heap[child + 1], &heap[child])) child++;
    if (!is_later(&heap[child], &heap[i])) return;
    const Ring kept = heap[i];
    heap[i] = heap[child];
    heap[child] = kept;
  }
}

static void rise(Ring *heap, int64_t i) {
  while (i > 0 && is_later(&heap[i], &heap[(i - 1) / 2])) {
    const Ring kept = heap[i];
    heap[i] = heap[(i - 1) / 2];
    heap[(i - 1) / 2] = kept;
    i = (i - 1) / 2;
  }
}

static bool draw_apart(const Draws *d, const double *weight, int64_t first,
                       int64_t *result) {
  int64_t count = 0;
  for (int64_t k = 0; k < d->classes; k++) {
    if (k % LOOKS == 0 && *d->stop) return false;
    if (weight[k] == 0) continue;
    /* 1 - u is in (0, 1]: no infinite time */
    const Ring ring = {-log(1 - uniform_at(d->g, first + k)) / weight[k], k};
    if (count < d->n) {
      d->ring[count] = ring;
      rise(d->ring, count++);
    } else if (is_later(&d->ring[0], &ring)) {
      d->ring[0] = ring;
      sink(d->ring, count, 0);
    }
  }
  for (int64_t left = count; left > 0; left--) { /* the latest goes last */
    result[left - 1] = d->base + d->ring[0].at;
    d->ring[0] = d->ring[left - 1];
    sink(d->ring, left - 1, 0);
  }
  return true;
}

/* ---- checks ---- */

static Status check_weights(Context *c, const Draws *d, const Shape *shape) {
  for (int64_t row = 0; row < d->rows; row++) {
    const double *weight = d->weight + row * d->classes;
    double total = 0;
    int64_t positive = 0;
    for (int64_t k = 0; k < d->classes; k++) {
      if (!(weight[k] >= 0) || isinf(weight[k]))
        return fail(c, E_NEGATIVE,
                    "%A holds %g at %Q; a weight is finite and not negative",
                    "self", weight[k], SHAPE_ARG(shape),
                    row * d->classes + k);
      total += weight[k];
      positive += weight[k] > 0;
    }
    if (d->n > 0 && !(total > 0))
      return fail(c, E_ZERO_SUM, "the weights of row %P of %A %S sum to 0",
                  row, "self", SHAPE_ARG(shape));
    if (isinf(total))
      return fail(c, E_RANGE, "the weights of row %P of %A %S sum to infinity",
                  row, "self", SHAPE_ARG(shape));
    if (!d->replaces && positive < d->n)
      return fail(c, E_NOT_ENOUGH,
                  "%I draws without replacement from %I positive weights in "
                  "row %P of %A",
                  d->n, positive, row, "self");
  }
  return OK;
}

/* ---- the op ---- */

static Status draw_rows(Context *c, Draws *d, const Shape *shape) {
  char *room = NULL;
  const size_t bytes = d->replaces ? (size_t)d->classes * sizeof *d->sum
                                   : (size_t)d->n * sizeof *d->ring;
  Status s = check_weights(c, d, shape);
  if (s == OK) s = scratch_take(c, &c->host, bytes, &room);
  if (s != OK || bytes == 0) return s;
  d->sum = (double *)(void *)room;
  d->ring = (Ring *)(void *)room;
  d->stop = c->host.backend.stop;
  const int64_t each = d->replaces ? d->n : d->classes;
  bool done = true;
  for (int64_t row = 0; done && row < d->rows; row++)
    done = (d->replaces ? draw_again : draw_apart)(
        d, d->weight + row * d->classes, row * each, d->result + row * d->n);
  scratch_give(&c->host, room, bytes);
  return check_done(c, done);
}

static Status check_count(Context *c, const Tensor *x, int64_t n, bool again) {
  const int64_t classes = x->shape.size[x->shape.rank - 1];
  if (n < 0) return fail(c, E_RANGE, "%A is %I, and must not be negative", "n",
                         n);
  if (again || n <= classes) return OK;
  return fail(c, E_TOO_MANY,
              "%A is %I draws without replacement from %I weights", "n", n,
              classes);
}

Status run_multinomial(Context *c, Args *a, Tensor **r) {
  enum { SELF, N, REPLACEMENT, GENERATOR };
  Tensor *x = a->at[SELF].tensor, *weight = NULL, *t = NULL;
  const bool given = a->at[GENERATOR].kind == ARG_GENERATOR;
  Philox *g = given ? a->at[GENERATOR].generator : &c->generator;
  Draws d = {.n = a->at[N].integer, .base = c->failure.base, .g = g};
  d.replaces = args_integer(OP_multinomial, a, REPLACEMENT) != 0;
  Status s = check_rank(c, "self", x, 1, 2);
  if (s == OK) s = check_count(c, x, d.n, d.replaces);
  if (s != OK) return s;
  Shape shape = x->shape;
  d.classes = shape.size[shape.rank - 1];
  d.rows = shape.rank == 2 ? shape.size[0] : 1;
  shape.size[shape.rank - 1] = d.n;
  s = plain(c, x, DTYPE_F64, &c->host, &weight);
  if (s == OK) s = tensor_new(c, &c->host, DTYPE_I64, &shape, &t);
  if (s == OK) {
    d.weight = (const double *)(const void *)tensor_data(weight);
    d.result = (int64_t *)(void *)tensor_data(t);
    s = draw_rows(c, &d, &x->shape);
  }
  if (s == OK) s = plain(c, t, DTYPE_I64, tensor_device(x), &r[0]);
  const int64_t used = d.rows * (d.replaces ? d.n : d.classes);
  if (s == OK) g->counter += (uint64_t)(used / 2 + used % 2);
  tensor_release(c, weight);
  tensor_release(c, t);
  return s;
}
