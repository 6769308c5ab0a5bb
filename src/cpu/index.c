/* index.c: gather, scatter, and adding at positions.
 *
 *   space  (axes before `along`, along, axes after it) = (before, along, after)
 *
 * Two elements meet in one place of `data` only if they differ in `along`
 * alone.  So jobs that write there part `before` and `after`, each goes
 * through `along` from the first to the last, and the order at a place is
 * row-major.  Reading meets nobody: jobs part `along`, too.
 * Must not know: what the numbers are good for.
 */
#include "cpu/axes.h"
#include "cpu/kernels.h"
#include "value/half.h"

#include <stdatomic.h>
#include <string.h>

/* Element j: data[(index[j at] - base) by + j step] and other[j other_step].
 * Strides count elements. */
typedef struct Run {
  int64_t count;
  char *data, *other;
  const int64_t *index;
  int64_t by, step, other_step, at, base;
} Run;

typedef void RunWork(const Run *r);

enum { OF_DATA, OF_OTHER, OF_INDEX, OPERANDS };

/* Axes on one side of `along`, fused where all operands allow. */
typedef struct Side {
  int axes;
  int64_t size[MAX_RANK], stride[OPERANDS][MAX_RANK];
  int64_t count;
} Side;

typedef struct Picking {
  const Pick *p;
  RunWork *run;
  int64_t bytes;
  Side before, after;
  int64_t length;          /* of `along` */
  int64_t piece, pieces;   /* of `after`: runs of a job, and their number */
  int64_t lines, parts;    /* of `along` */
  int64_t per_job;         /* places of `before` in a job */
} Picking;

enum { JOB_ELEMENTS = 1 << 15, LEAST_PIECE = 64 };

/* ---- runs ---- */

#define RUN_LOOP(name, type, body)                                     \
  static void name(const Run *r) {                                     \
    type *data = (type *)(void *)r->data;                              \
    type *other = (type *)(void *)r->other;                            \
    for (int64_t j = 0; j < r->count; j++) {                           \
      type *d = data + (r->index[j * r->at] - r->base) * r->by +       \
                j * r->step;                                           \
      type *o = other + j * r->other_step;                             \
      body;                                                            \
    }                                                                  \
  }
/* One position for the whole run, and neighbours. */
INLINE bool is_row(const Run *r) {
  return r->at == 0 && r->step == 1 && r->other_step == 1;
}

#define MOVERS(type, bits)                                        \
  RUN_LOOP(gather_loop_##bits, type, *o = *d)                     \
  RUN_LOOP(scatter_loop_##bits, type, *d = *o)                    \
  static void gather_##bits(const Run *r) {                       \
    const int64_t at = (r->index[0] - r->base) * r->by;           \
    if (is_row(r))                                                \
      memcpy(r->other, (type *)(void *)r->data + at,              \
             (size_t)r->count * sizeof(type));                    \
    else                                                          \
      gather_loop_##bits(r);                                      \
  }                                                               \
  static void scatter_##bits(const Run *r) {                      \
    const int64_t at = (r->index[0] - r->base) * r->by;           \
    if (is_row(r))                                                \
      memcpy((type *)(void *)r->data + at, r->other,              \
             (size_t)r->count * sizeof(type));                    \
    else                                                          \
      scatter_loop_##bits(r);                                     \
  }
MOVERS(uint8_t, 8)
MOVERS(uint16_t, 16)
MOVERS(uint32_t, 32)
MOVERS(uint64_t, 64)

#define ADDER(name, type, plus)                                   \
  RUN_LOOP(add_loop_##name, type, *d = (type)plus(*d, *o))        \
  static void add_##name(const Run *r) {                          \
    if (!is_row(r)) {                                             \
      add_loop_##name(r);                                         \
      return;                                                     \
    }                                                             \
    type *restrict d = (type *)(void *)r->data +                  \
                       (r->index[0] - r->base) * r->by;           \
    const type *restrict o = (type *)(void *)r->other;            \
    for (int64_t j = 0; j < r->count; j++)                        \
      d[j] = (type)plus(d[j], o[j]);                              \
  }
#define PLUS(a, b) ((a) + (b))
#define PLUS_F16(a, b) f32_to_f16(f16_to_f32(a) + f16_to_f32(b))
#define PLUS_BF16(a, b) f32_to_bf16(bf16_to_f32(a) + bf16_to_f32(b))
ADDER(w8, uint8_t, PLUS) /* sums wrap: the sign does not matter */
ADDER(w16, uint16_t, PLUS)
ADDER(w32, uint32_t, PLUS)
ADDER(w64, uint64_t, PLUS)
ADDER(f16, uint16_t, PLUS_F16)
ADDER(bf16, uint16_t, PLUS_BF16)
ADDER(f32, float, PLUS)
ADDER(f64, double, PLUS)

static RunWork *const adders[DTYPE_COUNT] = {
    [DTYPE_U8] = add_w8,     [DTYPE_I8] = add_w8,   [DTYPE_I16] = add_w16,
    [DTYPE_I32] = add_w32,   [DTYPE_I64] = add_w64, [DTYPE_F16] = add_f16,
    [DTYPE_BF16] = add_bf16, [DTYPE_F32] = add_f32, [DTYPE_F64] = add_f64};

/* Steps of rows/fold.def, in the order of the index. */
#define TIMES(a, b) ((a) * (b))
#define TIMES_WHOLE(a, b) ((uint64_t)(a) * (uint64_t)(b)) /* wraps */
#define GREATER(a, b) ((b) > (a) ? (b) : (a))
#define LESSER(a, b) ((b) < (a) ? (b) : (a))
#define GREATER_REAL(a, b) ((b) > (a) || (b) != (b) ? (b) : (a))
#define LESSER_REAL(a, b) ((b) < (a) || (b) != (b) ? (b) : (a))
#define HALVES(name, step)                                                  \
  INLINE uint16_t name##_f16(uint16_t a, uint16_t b) {                      \
    const float x = f16_to_f32(a), y = f16_to_f32(b);                       \
    return f32_to_f16(step(x, y));                                          \
  }                                                                         \
  INLINE uint16_t name##_bf16(uint16_t a, uint16_t b) {                     \
    const float x = bf16_to_f32(a), y = bf16_to_f32(b);                     \
    return f32_to_bf16(step(x, y));                                         \
  }
HALVES(times, TIMES)
HALVES(greater, GREATER_REAL)
HALVES(lesser, LESSER_REAL)

#define FOLDERS(name, whole, real)                              \
  RUN_LOOP(name##_u8, uint8_t, *d = (uint8_t)whole(*d, *o))     \
  RUN_LOOP(name##_i8, int8_t, *d = (int8_t)whole(*d, *o))       \
  RUN_LOOP(name##_i16, int16_t, *d = (int16_t)whole(*d, *o))    \
  RUN_LOOP(name##_i32, int32_t, *d = (int32_t)whole(*d, *o))    \
  RUN_LOOP(name##_i64, int64_t, *d = (int64_t)whole(*d, *o))    \
  RUN_LOOP(name##_f32, float, *d = real(*d, *o))                \
  RUN_LOOP(name##_f64, double, *d = real(*d, *o))               \
  RUN_LOOP(name##_h, uint16_t, *d = name##_f16(*d, *o))         \
  RUN_LOOP(name##_b, uint16_t, *d = name##_bf16(*d, *o))        \
  static RunWork *const name##_of[DTYPE_COUNT] = {              \
      [DTYPE_U8] = name##_u8,   [DTYPE_I8] = name##_i8,         \
      [DTYPE_I16] = name##_i16, [DTYPE_I32] = name##_i32,       \
      [DTYPE_I64] = name##_i64, [DTYPE_F16] = name##_h,         \
      [DTYPE_BF16] = name##_b,  [DTYPE_F32] = name##_f32,       \
      [DTYPE_F64] = name##_f64};
FOLDERS(times, TIMES_WHOLE, TIMES)
FOLDERS(greater, GREATER, GREATER_REAL)
FOLDERS(lesser, LESSER, LESSER_REAL)

static RunWork *mover(Dtype d, RunWork *b8, RunWork *b16, RunWork *b32,
                      RunWork *b64) {
  switch (dtype_bytes(d)) {
  case 1: return b8;
  case 2: return b16;
  case 4: return b32;
  default: return b64;
  }
}

/* ---- the space ---- */

/* Does the last axis of the side go on where this one ends? */
static bool fuses(const Side *s, int64_t size, const int64_t step[OPERANDS]) {
  const int last = s->axes - 1;
  for (int k = 0; k < OPERANDS; k++)
    if (s->stride[k][last] != size * step[k]) return false;
  return true;
}

static void side_add(Side *s, int64_t size, const int64_t step[OPERANDS]) {
  if (size == 1) return;
  if (s->axes > 0 && fuses(s, size, step)) s->size[s->axes - 1] *= size;
  else s->size[s->axes++] = size;
  for (int k = 0; k < OPERANDS; k++) s->stride[k][s->axes - 1] = step[k];
}

static void side_open(Side *s, const Pick *p, int first, int last) {
  s->axes = 0;
  for (int a = first; a < last; a++) {
    const int64_t step[OPERANDS] = {p->data_stride[a], p->other_stride[a],
                                    p->index_stride[a]};
    side_add(s, p->size[a], step);
  }
  s->count = axes_count(s->axes, s->size);
}

static int64_t side_place(const Side *s, int operand, int64_t at) {
  return axes_place(s->axes, s->size, s->stride[operand], at);
}

/* A run that starts at (before, along = n, after). */
static Run run_at(const Picking *k, int64_t before, int64_t n,
                  int64_t after) {
  const Pick *p = k->p;
  int64_t at[OPERANDS];
  for (int i = 0; i < OPERANDS; i++)
    at[i] = side_place(&k->before, i, before) + side_place(&k->after, i, after);
  at[OF_OTHER] += n * p->other_stride[p->along];
  at[OF_INDEX] += n * p->index_stride[p->along];
  return (Run){.data = p->data + at[OF_DATA] * k->bytes,
               .other = p->other + at[OF_OTHER] * k->bytes,
               .index = (const int64_t *)(const void *)p->index + at[OF_INDEX],
               .by = p->data_stride[p->along], .base = p->base};
}

/* Nothing after `along`: it is the run itself, from n on. */
static void pick_along(const Picking *k, int64_t before, int64_t n,
                       int64_t last) {
  const Pick *p = k->p;
  Run r = run_at(k, before, n, 0);
  r.count = last - n, r.step = 0;
  r.other_step = p->other_stride[p->along];
  r.at = p->index_stride[p->along];
  k->run(&r);
}

/* Of the lines [n, last) of `along`, the runs [first, end) of `after`; a run is
 * along its last axis. */
static void pick_after(const Picking *k, int64_t before, int64_t n,
                       int64_t last, int64_t first, int64_t end) {
  const Pick *p = k->p;
  const Side *s = &k->after;
  const int axis = s->axes - 1;
  const int64_t size = s->size[axis];
  for (int64_t i = first; i < end;) {
    const int64_t skip = i % size;
    Run r = run_at(k, before, n, i);
    r.count = min_i64(size - skip, end - i);
    r.step = s->stride[OF_DATA][axis], r.at = s->stride[OF_INDEX][axis];
    r.other_step = s->stride[OF_OTHER][axis];
    for (int64_t line = n; line < last; line++) {
      k->run(&r);
      r.other += p->other_stride[p->along] * k->bytes;
      r.index += p->index_stride[p->along];
    }
    i += r.count;
  }
}

/* Job (group of `before`, lines of `along`, piece of `after`). */
static void pick_work(void *arg, int64_t job, int worker) {
  const Picking *k = arg;
  const int64_t piece = job % k->pieces * k->piece;
  const int64_t n = job / k->pieces % k->parts * k->lines;
  const int64_t first = job / k->pieces / k->parts * k->per_job;
  const int64_t last = min_i64(first + k->per_job, k->before.count);
  const int64_t stop = min_i64(n + k->lines, k->length);
  (void)worker;
  for (int64_t i = first; i < last; i++) {
    if (k->after.count == 1) pick_along(k, i, n, stop);
    else
      pick_after(k, i, n, stop, piece,
                 min_i64(piece + k->piece, k->after.count));
  }
}

/* Lines are shared out only where nothing meets (`apart`); else each job goes
 * through all of them, and `after` is cut in as few pieces as keep the threads
 * busy, for long runs: no bit depends on where. */
static bool pick(Backend *b, const Pick *p, RunWork *run, bool apart) {
  Picking k = {.p = p, .run = run, .bytes = (int64_t)dtype_bytes(p->dtype),
               .length = p->size[p->along]};
  side_open(&k.before, p, 0, p->along);
  side_open(&k.after, p, p->along + 1, p->axes);
  const int64_t share =
      apart ? JOB_ELEMENTS : ceil_div(k.after.count, pool_threads(b->pool));
  k.piece = min_i64(k.after.count, max_i64(share, LEAST_PIECE));
  k.pieces = ceil_div(k.after.count, k.piece);
  k.lines = apart ? max_i64(1, JOB_ELEMENTS / k.piece) : k.length;
  k.lines = min_i64(k.lines, k.length);
  k.parts = ceil_div(k.length, k.lines);
  k.per_job = max_i64(1, JOB_ELEMENTS / (k.piece * k.lines));
  const int64_t groups = ceil_div(k.before.count, k.per_job);
  return pool_run(b->pool, groups * k.parts * k.pieces, pick_work, &k);
}

bool cpu_gather(Backend *b, const Pick *p) {
  return pick(b, p, mover(p->dtype, gather_8, gather_16, gather_32,
                          gather_64), true);
}

bool cpu_scatter(Backend *b, const Pick *p) {
  return pick(b, p, mover(p->dtype, scatter_8, scatter_16, scatter_32,
                          scatter_64), false);
}

bool cpu_scatter_add(Backend *b, const Pick *p) {
  assert(adders[p->dtype] != NULL);
  return pick(b, p, adders[p->dtype], false);
}

bool cpu_scatter_fold(Backend *b, const Pick *p, FoldId fold) {
  RunWork *const *row = fold == FOLD_prod   ? times_of
                        : fold == FOLD_amax ? greater_of
                                            : lesser_of;
  assert(row[p->dtype] != NULL);
  return pick(b, p, row[p->dtype], false);
}

/* ---- positions outside ---- */

/* `size`: 1 for an axis that repeats the index; it is looked at once. */
typedef struct Searching {
  const Pick *p;
  uint64_t most;
  int64_t ignore;
  int axes; /* before the last one */
  int64_t size[MAX_RANK];
  int64_t count;
  atomic_bool found;
} Searching;

/* Which of n positions is the first outside; n if none.  One comparison each:
 * `base` taken off, a position below it is a large unsigned number. */
static int64_t first_outside(const Searching *k, const int64_t *x, int64_t n) {
  const uint64_t base = (uint64_t)k->p->base;
  const int64_t step = k->p->index_stride[k->axes];
  int64_t j = 0;
  for (; j < n; j++, x += step)
    if ((uint64_t)*x - base >= k->most && *x != k->ignore) break;
  return j;
}

/* The first element outside among [first, last); last if none. */
static int64_t search(const Searching *k, int64_t first, int64_t last) {
  const int64_t *index = (const int64_t *)(const void *)k->p->index;
  const int64_t row = k->size[k->axes];
  Walk w;
  walk_start(&w, k->axes, k->size, k->p->index_stride, first / row);
  for (; first < last; walk_next(&w)) {
    const int64_t skip = first % row, n = min_i64(row - skip, last - first);
    const int64_t *x = index + w.offset + skip * k->p->index_stride[k->axes];
    const int64_t j = first_outside(k, x, n);
    first += j;
    if (j < n) return first;
  }
  return last;
}

static void search_part(void *arg, int64_t job, int worker) {
  Searching *k = arg;
  const int64_t first = job * JOB_ELEMENTS;
  const int64_t last = min_i64(first + JOB_ELEMENTS, k->count);
  (void)worker;
  if (search(k, first, last) < last)
    atomic_store_explicit(&k->found, true, memory_order_relaxed);
}

/* Whether there is one is asked of all threads; which one is the first, in
 * order.  A search is short: the stop flag is not waited for. */
int64_t cpu_find_outside(Backend *b, const Pick *p, int64_t limit,
                         int64_t ignore) {
  Searching k = {.p = p, .most = (uint64_t)limit, .ignore = ignore,
                 .axes = p->axes - 1};
  int64_t weight[MAX_RANK], whole = 1;
  for (int a = p->axes - 1; a >= 0; a--) {
    weight[a] = whole, whole *= p->size[a];
    k.size[a] = p->index_stride[a] == 0 ? 1 : p->size[a];
  }
  k.count = axes_count(p->axes, k.size);
  const bool all =
      pool_run(b->pool, ceil_div(k.count, JOB_ELEMENTS), search_part, &k);
  if (all && !atomic_load(&k.found)) return -1;
  const int64_t at = search(&k, 0, k.count);
  return at < k.count ? axes_place(p->axes, k.size, weight, at) : -1;
}
