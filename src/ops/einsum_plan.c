/* einsum_plan.c: which two operands are multiplied next.
 *
 * A step costs the product of the sizes of all its labels: multiplications.
 * What it makes keeps the labels that the result or another operand has.
 *
 *   ij,jk,kl->il   ((ij,jk),kl)   i j k + i k l
 *                  (ij,(jk,kl))   j k l + i j l
 *
 * Up to EINSUM_EXACT operands the best order is found over all subsets (a set
 * is best made of two that are best made); above, greedily: the pair whose
 * product frees the most elements.  A product far larger than all operands
 * and the result is avoided while anything else is possible.
 *
 * Must not know: strides, tensors.
 */
#include <math.h>

#include "ops/einsum.h"

enum {
  SUBSETS = 1 << EINSUM_EXACT,
  WINDOW = 64,    /* operands that a greedy step chooses from: 10 us */
  ROOM_TIMES = 16 /* an intermediate may have so many times the elements */
};
static const double ROOM_LEAST = 1 << 20; /* .. of the largest, or these */

double einsum_size(const Einsum *e, Labels set) {
  double n = 1;
  for (; set != 0; set &= set - 1) n *= (double)e->size[lowest_bit(set)];
  return n;
}

/* The elements that an intermediate may have without being avoided. */
static double allowed(const Einsum *e) {
  double most = einsum_size(e, e->out.labels);
  for (int k = 0; k < e->count; k++)
    most = fmax(most, einsum_size(e, e->term[k].labels & ~e->summed[k]));
  return fmax(ROOM_LEAST, ROOM_TIMES * most);
}

/* Labels of operand k once it has been summed over its own. */
static Labels labels_of(const Einsum *e, int k) {
  const Labels labels = e->term[k].labels;
  return k < e->count ? labels & ~e->summed[k] : labels;
}

/* ---- steps ---- */

static void add_all(Term *t, const Term *from, Labels wanted) {
  for (int i = 0; i < from->rank; i++) {
    const int label = from->label[i];
    if (label == BLANK || (wanted & label_bit(label)) == 0) continue;
    if ((t->labels & label_bit(label)) == 0) term_add(t, label);
  }
}

static int first_operand(const Einsum *e, int item) {
  return item < e->count ? item : e->step[item - e->count].first;
}

/* Step number s makes `kept` of two items: labels of both, of the left one, of
 * the right one; the last step makes the result. */
static void set_step(Einsum *e, int s, int left, int right, Labels kept) {
  const Labels all = labels_of(e, left) | labels_of(e, right);
  Term *made = &e->term[e->count + s];
  if (first_operand(e, left) > first_operand(e, right)) {
    const int was = left;
    left = right, right = was;
  }
  const Labels y = labels_of(e, right);
  e->step[s] = (EinsumStep){left, right, first_operand(e, left),
                            einsum_size(e, all), einsum_size(e, kept)};
  *made = (Term){.dots = -1};
  add_all(made, &e->term[left], kept & y);
  add_all(made, &e->term[left], kept);
  add_all(made, &e->term[right], kept);
  if (s + 2 == e->count) *made = e->out;
  assert(made->labels == kept);
}

/* ---- up to six: all orders ---- */

/* The best way to make a subset: of `part` and the rest of it. */
typedef struct Best {
  double worst, cost; /* largest intermediate, if above what is allowed; sum */
  Labels all, kept;
  int part;
} Best;

static bool is_better(const Best *a, const Best *b) {
  return a->worst < b->worst || (a->worst == b->worst && a->cost < b->cost);
}

static void find_best(const Einsum *e, Best *best, int set, double room) {
  Best *b = &best[set];
  b->worst = b->cost = INFINITY;
  if (label_count(b->kept) > MAX_RANK) return;
  const double size = fmax(room, einsum_size(e, b->kept));
  for (int part = (set - 1) & set; part > set - part;
       part = (part - 1) & set) {
    const Best *x = &best[part], *y = &best[set - part];
    Best now = *b;
    now.worst = fmax(size, fmax(x->worst, y->worst));
    now.cost = x->cost + y->cost + einsum_size(e, x->kept | y->kept);
    now.part = part;
    if (is_better(&now, b)) *b = now;
  }
}

static void find_kept(const Einsum *e, Best *best, int full) {
  best[0].all = 0;
  for (int set = 1; set <= full; set++) {
    const int one = lowest_bit((Labels)set);
    best[set].all = best[set & (set - 1)].all | labels_of(e, one);
  }
  for (int set = 1; set <= full; set++)
    best[set].kept = best[set].all & (e->out.labels | best[full - set].all);
}

/* Writes the steps: subsets that are used, the smaller first. */
static void write_steps(Einsum *e, const Best *best, int full) {
  bool is_used[SUBSETS] = {false};
  int item[SUBSETS], made = 0;
  is_used[full] = true;
  for (int set = full; set > 0; set--)
    if (is_used[set] && (set & (set - 1)) != 0)
      is_used[best[set].part] = is_used[set - best[set].part] = true;
  for (int set = 1; set <= full; set++) {
    if (!is_used[set]) continue;
    if ((set & (set - 1)) == 0) {
      item[set] = lowest_bit((Labels)set);
      continue;
    }
    const int part = best[set].part;
    set_step(e, made, item[part], item[set - part], best[set].kept);
    item[set] = e->count + made++;
  }
  assert(made == e->count - 1);
}

static Status refuse(Context *c) {
  return fail(c, E_RANK, "every order needs an intermediate of over %d axes",
              (int)MAX_RANK);
}

static Status plan_exactly(Context *c, Einsum *e) {
  Best best[SUBSETS];
  const int full = (1 << e->count) - 1;
  const double room = allowed(e);
  find_kept(e, best, full);
  for (int set = 1; set <= full; set++)
    if ((set & (set - 1)) == 0)
      best[set].worst = best[set].cost = 0;
    else
      find_best(e, best, set, room);
  if (best[full].worst == INFINITY) return refuse(c);
  write_steps(e, best, full);
  return OK;
}

/* ---- above: greedily ---- */

/* What is left to be multiplied: the first `count` of `item`. */
typedef struct Live {
  int count;
  int *item;
  int uses[LABELS]; /* items that have a label */
  Labels twice;     /* labels that two have: gone once these are multiplied */
} Live;

static void count_labels(Live *l, Labels set, int by) {
  for (; set != 0; set &= set - 1) l->uses[lowest_bit(set)] += by;
}

static void find_twice(Live *l) {
  l->twice = 0;
  for (int i = 0; i < LABELS; i++)
    if (l->uses[i] == 2) l->twice |= label_bit(i);
}

/* A pair of live items, and why it would be chosen. */
typedef struct Pair {
  int i, j;
  Labels kept;
  double worst, gain, cost;
} Pair;

static bool is_before(const Pair *a, const Pair *b) {
  if (a->worst != b->worst) return a->worst < b->worst;
  if (a->gain != b->gain) return a->gain > b->gain;
  return a->cost < b->cost;
}

static Pair rate(const Einsum *e, const Live *l, int i, int j, double room) {
  const Labels x = labels_of(e, l->item[i]), y = labels_of(e, l->item[j]);
  Pair p = {.i = i, .j = j};
  p.kept = (x | y) & ~(x & y & l->twice & ~e->out.labels);
  const double size = einsum_size(e, p.kept);
  p.worst = label_count(p.kept) > MAX_RANK ? INFINITY : fmax(room, size);
  p.gain = einsum_size(e, x) + einsum_size(e, y) - size;
  p.cost = einsum_size(e, x | y);
  return p;
}

static Pair choose(const Einsum *e, const Live *l, double room) {
  const int count = l->count < WINDOW ? l->count : WINDOW;
  Pair best = {.worst = INFINITY, .gain = -INFINITY};
  for (int i = 0; i < count; i++)
    for (int j = i + 1; j < count; j++) {
      const Pair now = rate(e, l, i, j, room);
      if (is_before(&now, &best)) best = now;
    }
  return best;
}

/* The product takes the place of the first; the last fills that of the
 * second. */
static void merge(const Einsum *e, Live *l, const Pair *p, int made) {
  count_labels(l, labels_of(e, l->item[p->i]), -1);
  count_labels(l, labels_of(e, l->item[p->j]), -1);
  count_labels(l, p->kept, 1);
  l->item[p->i] = made;
  l->item[p->j] = l->item[--l->count];
  find_twice(l);
}

static Status plan_greedily(Context *c, Einsum *e) {
  const size_t bytes = (size_t)e->count * sizeof(int);
  const double room = allowed(e);
  Live l = {.count = e->count};
  Status s = OK;
  l.item = ledger_alloc(&c->ledger, bytes);
  if (l.item == NULL) return fail(c, E_MEMORY, "out of memory");
  for (int k = 0; k < e->count; k++) {
    l.item[k] = k;
    count_labels(&l, labels_of(e, k), 1);
  }
  find_twice(&l);
  for (int step = 0; step + 1 < e->count && s == OK; step++) {
    const Pair p = choose(e, &l, room);
    if (p.worst == INFINITY) {
      s = refuse(c);
      break;
    }
    set_step(e, step, l.item[p.i], l.item[p.j], p.kept);
    merge(e, &l, &p, e->count + step);
  }
  ledger_free(&c->ledger, l.item, bytes);
  return s;
}

Status einsum_plan(Context *c, Einsum *e) {
  if (e->count == 1) return OK;
  if (e->count > EINSUM_EXACT) return plan_greedily(c, e);
  if (e->count > 2) return plan_exactly(c, e);
  set_step(e, 0, 0, 1, e->out.labels);
  return OK;
}
