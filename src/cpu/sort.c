/* sort.c: lines of numbers in order, or the part of the order that is wanted.
 *
 * An element becomes an item, its key and its place; no two are equal, so
 * there is one order, whoever finds it and with how many threads:
 *
 *   few items    by insertion
 *   many         by digits of the key, lowest first (Knuth, volume 3, 5.2.5)
 *   the first k  a block of elements at a time: what may still be among the
 *                first is held; when twice too many are, k are left
 *   number r     by digits, highest first: only items of its digit go on
 *
 * A narrow item holds 32 bits of a key.  Keys of 64 bits are sorted by the 32
 * highest bits in which any two differ; then each run that is equal there, by
 * what is below: of random numbers there are hardly any.
 * Short lines are shared out among threads, a long one is cut into chunks.
 * Must not know: how a number is compared (value/key.h).
 */
#include "cpu/sort.h"
#include "cpu/axes.h"
#include "cpu/kernels.h"

#include <string.h>

enum {
  DIGIT_BITS = 8, /* 256 streams: as many as the caches can follow */
  DIGITS = 1 << DIGIT_BITS,
  FEW = 48,               /* up to here insertion beats counting digits */
  BLOCK = 1024,           /* items that join those held at a time */
  SLACK = 256,            /* held beyond 2k, so that small k rarely meet it */
  JOB_ELEMENTS = 1 << 15, /* in lines of one job */
  LONG = 1 << 17,         /* a line that is worth cutting */
  CHUNK = 1 << 15,        /* elements, at least: 256 KiB of items are in L2 */
  MOST_CHUNKS = 64
};

/* Counts (chunks, digits) become the places where each chunk puts its first
 * item of a digit: by digit, then by chunk. */
static void counts_to_places(int64_t chunks, int64_t *count) {
  int64_t place = 0;
  for (int64_t digit = 0; digit < DIGITS; digit++)
    for (int64_t c = 0; c < chunks; c++) {
      const int64_t n = count[c * DIGITS + digit];
      count[c * DIGITS + digit] = place;
      place += n;
    }
}

/* Key and place in one number: they compare at once, and move as one. */
#define ITEM uint64_t
#define FN(name) name##_narrow
#define MAKE(key, at) ((uint64_t)(uint32_t)(key) << 32 | (uint64_t)(at))
#define KEY(item) ((item) >> 32)
#define AT(item) ((int64_t)((item) & UINT32_MAX))
#define BEFORE(a, b) ((a) < (b))
#include "cpu/sort_type.h"
#undef ITEM
#undef FN
#undef MAKE
#undef KEY
#undef AT
#undef BEFORE

typedef struct WideItem {
  uint64_t key;
  int64_t at;
} WideItem;

#define ITEM WideItem
#define FN(name) name##_wide
#define MAKE(k, i) ((WideItem){k, i})
#define KEY(item) ((item).key)
#define AT(item) ((item).at)
#define BEFORE(a, b) \
  ((a).key < (b).key || ((a).key == (b).key && (a).at < (b).at))
#include "cpu/sort_type.h"
#undef ITEM
#undef FN
#undef MAKE
#undef KEY
#undef AT
#undef BEFORE

/* ---- in which bits the keys of elements differ from one of them ---- */

typedef uint64_t Differ(int64_t n, const char *from, int64_t step,
                        const char *one);

#define KEYED(DTYPE, U, key)                                                \
  static uint64_t differ_##DTYPE(int64_t n, const char *from, int64_t step, \
                                 const char *one) {                         \
    const U *x = (const U *)(const void *)from;                             \
    const U first = key(*(const U *)(const void *)one);                     \
    U bits = 0;                                                             \
    for (int64_t i = 0; i < n; i++) bits |= (U)(key(x[i * step]) ^ first);  \
    return bits;                                                            \
  }
KEYED_DTYPES(KEYED)
#undef KEYED

static Differ *const differs[DTYPE_COUNT] = {
#define KEYED(DTYPE, U, key) [DTYPE_##DTYPE] = differ_##DTYPE,
    KEYED_DTYPES(KEYED)
#undef KEYED
};

/* How far a key is shifted so that 32 bits hold the highest that differ. */
static int shift_of(uint64_t bits) {
  int shift = 0;
  while (bits >> shift > UINT32_MAX) shift++;
  return shift;
}

/* ---- a job made ready ---- */

typedef struct Sorting {
  const Sort *s;
  const ItemLoops *loops;
  int64_t bytes, item; /* of an element, of an item */
  int64_t lines;
  bool sorts;    /* all of a line; else its first `need` are found */
  bool selects;  /* a block at a time: without items of a whole line */
  int64_t need, hold;
  int64_t room;  /* items of a line, or of a chunk that selects */
  int64_t chunk, chunks, per_job, jobs; /* chunks 1: lines are not cut */
} Sorting;

static void cut(Sorting *j) {
  const int64_t n = j->s->n;
  j->chunk = max_i64(CHUNK, ceil_div(n, MOST_CHUNKS));
  j->chunks = n >= LONG ? ceil_div(n, j->chunk) : 1;
  j->per_job = max_i64(1, JOB_ELEMENTS / n);
  j->jobs = ceil_div(j->lines, j->per_job);
}

static void choose_room(Sorting *j) {
  const int64_t n = j->chunks > 1 ? j->chunk : j->s->n;
  j->hold = 2 * j->need + SLACK;
  j->room = j->hold + BLOCK;
  j->selects = !j->sorts && j->s->from == SORT_FIRST && j->room < n / 2;
  if (!j->selects) j->room = j->s->n;
}

static void sorting_open(Sorting *j, const Sort *s) {
  assert(s->n > 0 && s->first >= 0 && s->keep > 0);
  assert(s->first + s->keep <= s->n);
  j->s = s;
  j->bytes = (int64_t)dtype_bytes(s->dtype);
  j->lines = axes_count(s->axes, s->size);
  j->need = s->first + s->keep;
  j->sorts = s->n <= FEW || (s->keep > 1 && j->need > s->n / 4);
  /* medians look for the key of NaN, so nothing of it is shifted out */
  const bool fits = j->bytes <= 4 || (j->sorts && s->from == SORT_FIRST);
  const bool is_narrow = fits && s->n <= UINT32_MAX;
  j->loops = is_narrow ? &loops_narrow : &loops_wide;
  j->item = (int64_t)j->loops->bytes;
  cut(j);
  choose_room(j);
}

static int64_t counts_bytes(const Sorting *j) {
  return j->chunks * DIGITS * (int64_t)sizeof(int64_t);
}

/* Items and as much to spare, for each worker or for each chunk. */
static int64_t shares(Backend *b, const Sorting *j) {
  if (j->chunks == 1) return j->jobs == 1 ? 1 : pool_threads(b->pool);
  return j->selects ? j->chunks : 1;
}

size_t cpu_sort_room(Backend *b, const Sort *s) {
  Sorting j;
  sorting_open(&j, s);
  const int64_t counts = j.chunks > 1 ? counts_bytes(&j) : 0;
  return (size_t)(counts + shares(b, &j) * 2 * j.room * j.item);
}

/* ---- one line ---- */

typedef struct Line {
  const char *src;
  char *values, *places; /* or NULL */
} Line;

static Line line_at(const Sorting *j, int64_t line) {
  const Sort *s = j->s;
  const int64_t src = axes_place(s->axes, s->size, s->src_stride, line);
  const int64_t dst = axes_place(s->axes, s->size, s->dst_stride, line);
  return (Line){
      s->src + src * j->bytes,
      s->values != NULL ? s->values + dst * j->bytes : NULL,
      s->places != NULL ? s->places + dst * (int64_t)sizeof(int64_t) : NULL};
}

/* Elements [first, first + n) of a line. */
static void load(const Sorting *j, const char *src, int shift, int64_t first,
                 int64_t n, char *items) {
  const Sort *s = j->s;
  j->loops->load[s->dtype](n, src + first * s->src_step * j->bytes,
                           s->src_step, s->falls ? UINT64_MAX : 0, shift,
                           first, items);
}

static uint64_t differ(const Sorting *j, const char *src, int64_t first,
                       int64_t n) {
  const Sort *s = j->s;
  return differs[s->dtype](n, src + first * s->src_step * j->bytes,
                           s->src_step, src);
}

/* The first `need` of `held` items, in the order of places; *last: the last
 * of them in order. */
static void shrink(const Sorting *j, int64_t held, char *items, char *spare,
                   char *last) {
  memcpy(spare, items, (size_t)(held * j->item));
  j->loops->rank(held, spare, j->need - 1);
  memcpy(last, spare, (size_t)j->item);
  held = j->loops->keep(held, items, last);
  assert(held == j->need);
}

/* The first `need` of `count` elements from number `first` on, or all if they
 * are fewer, in the order of places; returns how many. */
static int64_t least(const Sorting *j, const char *src, int64_t first,
                     int64_t count, char *items, char *spare) {
  _Alignas(16) char last[16];
  bool is_full = false;
  int64_t held = 0;
  for (int64_t i = 0; i < count; i += BLOCK) {
    const int64_t n = min_i64(BLOCK, count - i);
    char *end = items + held * j->item;
    load(j, src, 0, first + i, n, end);
    held += is_full ? j->loops->keep(n, end, last) : n;
    if (held <= j->hold && i + n < count) continue;
    if (held <= j->need) break;
    shrink(j, held, items, spare, last);
    held = j->need, is_full = true;
  }
  return held;
}

/* Which of n items in order is the first that is wanted. */
static int64_t first_of(const Sorting *j, int64_t n, const char *items) {
  const Sort *s = j->s;
  if (s->from == SORT_FIRST) return s->first;
  const bool is_float = dtype_class(s->dtype) == CLASS_FLOAT;
  const int64_t nans =
      is_float ? j->loops->equals(n, items, key_last((int)j->bytes)) : 0;
  if (nans == n) return 0;
  if (s->from == SORT_NANMEDIAN) return (n - nans - 1) / 2;
  return nans > 0 ? n - nans : (n - 1) / 2;
}

/* Results [first, first + n) of a line, from as many items. */
static void store(const Sorting *j, const Line *l, int64_t first, int64_t n,
                  const char *items) {
  static const int8_t width[] = {[1] = 0, [2] = 1, [4] = 2, [8] = 3};
  const Sort *s = j->s;
  const int64_t at = first * s->dst_step;
  if (l->values != NULL)
    j->loops->values[width[j->bytes]](n, items, l->src, s->src_step,
                                    l->values + at * j->bytes, s->dst_step);
  if (l->places != NULL)
    j->loops->places(n, items, s->base,
                     l->places + at * (int64_t)sizeof(int64_t), s->dst_step);
}

/* The `need` least of n items, sorted, or number `first` alone; returns where
 * what is wanted begins. */
static char *arrange(const Sorting *j, int64_t n, char *items, char *spare) {
  const int64_t first = first_of(j, n, items);
  if (j->s->keep == 1) {
    j->loops->rank(n, items, first);
    return items;
  }
  if (n > j->need) {
    _Alignas(16) char last[16];
    shrink(j, n, items, spare, last);
  }
  j->loops->sort(j->need, items, spare);
  return items + first * j->item;
}

/* Sorts each run of items whose shifted keys are equal by the bits below. */
static void mend(const Sorting *j, const char *src, int64_t n, char *items,
                 char *spare) {
  uint64_t *item = (uint64_t *)(void *)items;
  int64_t next;
  for (int64_t i = 0; i < n; i = next) {
    for (next = i + 1; next < n && item[next] >> 32 == item[i] >> 32;) next++;
    if (next - i == 1) continue;
    for (int64_t k = i; k < next; k++)
      load(j, src, 0, (int64_t)(item[k] & UINT32_MAX), 1, (char *)&item[k]);
    j->loops->sort(next - i, &item[i], spare);
  }
}

/* A whole line in order; returns where what is wanted begins. */
static char *sort_line(const Sorting *j, const char *src, char *items,
                       char *spare) {
  const int64_t n = j->s->n;
  const bool is_cut = j->bytes > (int64_t)sizeof(uint32_t) &&
                      j->loops == &loops_narrow;
  const int shift = is_cut ? shift_of(differ(j, src, 0, n)) : 0;
  load(j, src, shift, 0, n, items);
  j->loops->sort(n, items, spare);
  if (shift > 0) mend(j, src, n, items, spare);
  return items + first_of(j, n, items) * j->item;
}

static char *worker_items(const Sorting *j, int worker) {
  return (char *)j->s->scratch + worker * 2 * j->room * j->item;
}

static char *order_line(const Sorting *j, const char *src, char *items,
                        char *spare) {
  int64_t n = j->s->n;
  if (j->sorts) return sort_line(j, src, items, spare);
  if (j->selects) n = least(j, src, 0, n, items, spare);
  else load(j, src, 0, 0, n, items);
  return arrange(j, n, items, spare);
}

static void lines_work(void *arg, int64_t job, int worker) {
  const Sorting *j = arg;
  char *items = worker_items(j, worker), *spare = items + j->room * j->item;
  const int64_t first = job * j->per_job;
  const int64_t last = min_i64(first + j->per_job, j->lines);
  for (int64_t i = first; i < last; i++) {
    const Line l = line_at(j, i);
    store(j, &l, 0, j->s->keep, order_line(j, l.src, items, spare));
  }
}

/* ---- a long line, in chunks ---- */

typedef struct Long {
  const Sorting *j;
  Line line;
  int64_t *counts;    /* (chunks, digits) */
  char *items, *spare;
  int shift;                  /* of keys as they are loaded */
  int digit;                  /* shift of the digit that is dealt */
  uint64_t bits[MOST_CHUNKS]; /* in which keys of a chunk differ from 0's */
} Long;

/* Of `all`, what lies in a chunk. */
static int64_t chunk_count(const Sorting *j, int64_t chunk, int64_t all) {
  return max_i64(0, min_i64(j->chunk, all - chunk * j->chunk));
}

static char *chunk_items(const Long *l, int64_t chunk) {
  return l->items + chunk * l->j->chunk * l->j->item;
}

static void differ_work(void *arg, int64_t chunk, int worker) {
  Long *l = arg;
  const Sorting *j = l->j;
  (void)worker;
  l->bits[chunk] = differ(j, l->line.src, chunk * j->chunk,
                          chunk_count(j, chunk, j->s->n));
}

static void load_work(void *arg, int64_t chunk, int worker) {
  const Long *l = arg;
  const Sorting *j = l->j;
  (void)worker;
  load(j, l->line.src, l->shift, chunk * j->chunk,
       chunk_count(j, chunk, j->s->n), chunk_items(l, chunk));
}

static void count_work(void *arg, int64_t chunk, int worker) {
  const Long *l = arg;
  int64_t *count = l->counts + chunk * DIGITS;
  (void)worker;
  memset(count, 0, DIGITS * sizeof *count);
  l->j->loops->count(chunk_count(l->j, chunk, l->j->s->n),
                     chunk_items(l, chunk), l->digit, count);
}

static void deal_work(void *arg, int64_t chunk, int worker) {
  const Long *l = arg;
  (void)worker;
  l->j->loops->deal(chunk_count(l->j, chunk, l->j->s->n),
                    chunk_items(l, chunk), l->digit,
                    l->counts + chunk * DIGITS, l->spare);
}

static void store_work(void *arg, int64_t chunk, int worker) {
  const Long *l = arg;
  const Sorting *j = l->j;
  (void)worker;
  store(j, &l->line, chunk * j->chunk, chunk_count(j, chunk, j->s->keep),
        chunk_items(l, chunk));
}

/* Lowest digit first; digits in which no two keys differ are passed over. */
static bool sort_digits(Backend *b, Long *l, uint64_t bits) {
  for (l->digit = 0; l->digit < 64; l->digit += DIGIT_BITS) {
    if ((bits >> l->digit & (DIGITS - 1)) == 0) continue;
    if (!pool_run(b->pool, l->j->chunks, count_work, l)) return false;
    counts_to_places(l->j->chunks, l->counts);
    if (!pool_run(b->pool, l->j->chunks, deal_work, l)) return false;
    char *const swapped = l->items;
    l->items = l->spare, l->spare = swapped;
  }
  return true;
}

static bool sort_long(Backend *b, Long *l) {
  const Sorting *j = l->j;
  uint64_t bits = 0;
  if (!pool_run(b->pool, j->chunks, differ_work, l)) return false;
  for (int64_t c = 0; c < j->chunks; c++) bits |= l->bits[c];
  if (j->loops == &loops_narrow) l->shift = shift_of(bits);
  if (!pool_run(b->pool, j->chunks, load_work, l)) return false;
  if (!sort_digits(b, l, bits >> l->shift)) return false;
  if (l->shift > 0) mend(j, l->line.src, j->s->n, l->items, l->spare);
  l->items += j->s->first * j->item;
  return pool_run(b->pool, ceil_div(j->s->keep, j->chunk), store_work, l);
}

/* A part that is too large to be held beside a block of elements. */
static bool rank_long(Backend *b, Long *l) {
  const Sorting *j = l->j;
  if (!pool_run(b->pool, j->chunks, load_work, l)) return false;
  store(j, &l->line, 0, j->s->keep,
        arrange(j, j->s->n, l->items, l->spare));
  return true;
}

/* Each chunk has items and spare of its own. */
static void least_work(void *arg, int64_t chunk, int worker) {
  const Long *l = arg;
  const Sorting *j = l->j;
  const int64_t room = j->room * j->item;
  (void)worker;
  least(j, l->line.src, chunk * j->chunk, chunk_count(j, chunk, j->s->n),
        l->items + chunk * room, l->spare + chunk * room);
}

static bool select_long(Backend *b, Long *l) {
  const Sorting *j = l->j;
  const int64_t room = j->room * j->item;
  int64_t held = 0;
  if (!pool_run(b->pool, j->chunks, least_work, l)) return false;
  for (int64_t c = 0; c < j->chunks; c++) {
    const int64_t n = min_i64(j->need, chunk_count(j, c, j->s->n));
    memmove(l->items + held * j->item, l->items + c * room,
            (size_t)(n * j->item));
    held += n;
  }
  store(j, &l->line, 0, j->s->keep, arrange(j, held, l->items, l->spare));
  return true;
}

static bool sort_long_lines(Backend *b, const Sorting *j) {
  const int64_t room = shares(b, j) * j->room * j->item;
  char *items = (char *)j->s->scratch + counts_bytes(j);
  for (int64_t i = 0; i < j->lines; i++) {
    Long l = {.j = j, .line = line_at(j, i), .counts = j->s->scratch,
              .items = items, .spare = items + room};
    const bool done = j->sorts     ? sort_long(b, &l)
                      : j->selects ? select_long(b, &l)
                                   : rank_long(b, &l);
    if (!done) return false;
  }
  return true;
}

bool cpu_sort(Backend *b, const Sort *s) {
  Sorting j;
  sorting_open(&j, s);
  if (j.chunks > 1) return sort_long_lines(b, &j);
  return pool_run(b->pool, j.jobs, lines_work, &j);
}

/* ---- bisection of what is sorted ---- */

enum { JOB_BISECTS = 1 << 12, SIDE_BY_SIDE = 16 };

/* Elements [first, first + count) of x, on one line. */
typedef void BisectWork(const Bisect *s, int64_t first, int count);

/* Halves the sequence until the places are found.  The steps depend on n
 * alone, and none is a branch; a step waits for the one before, so elements go
 * side by side. */
#define KEYED(DTYPE, U, key)                                                 \
  static void bisect_##DTYPE(const Bisect *s, int64_t first, int count) {    \
    const U *line = (const U *)(const void *)s->sequence +                   \
                    first / s->count * s->line_step;                         \
    const U *x = (const U *)(const void *)s->x + first;                      \
    int64_t *to = (int64_t *)(void *)s->at + first;                          \
    const bool right = s->right;                                             \
    int64_t at[SIDE_BY_SIDE] = {0};                                          \
    U wanted[SIDE_BY_SIDE];                                                  \
    for (int i = 0; i < count; i++) wanted[i] = key(x[i]);                   \
    for (int64_t n = s->n, half; n > 0; n -= half) {                         \
      half = (n + 1) / 2;                                                    \
      for (int i = 0; i < count; i++) {                                      \
        const U middle = key(line[at[i] + half - 1]);                        \
        const bool passes =                                                  \
            (middle < wanted[i]) | (right & (middle == wanted[i]));          \
        at[i] += passes ? half : 0;                                          \
      }                                                                      \
    }                                                                        \
    for (int i = 0; i < count; i++) to[i] = s->base + at[i];                 \
  }
KEYED_DTYPES(KEYED)
#undef KEYED

static BisectWork *const bisects[DTYPE_COUNT] = {
#define KEYED(DTYPE, U, key) [DTYPE_##DTYPE] = bisect_##DTYPE,
    KEYED_DTYPES(KEYED)
#undef KEYED
};

static void bisect_work(void *arg, int64_t job, int worker) {
  const Bisect *s = arg;
  const int64_t all = s->lines * s->count;
  const int64_t last = min_i64((job + 1) * JOB_BISECTS, all);
  (void)worker;
  for (int64_t i = job * JOB_BISECTS, n; i < last; i += n) {
    const int64_t on_line = s->count - i % s->count;
    n = min_i64(min_i64(on_line, SIDE_BY_SIDE), last - i);
    bisects[s->dtype](s, i, (int)n);
  }
}

bool cpu_bisect(Backend *b, const Bisect *s) {
  Bisect own = *s;
  return pool_run(b->pool, ceil_div(s->lines * s->count, JOB_BISECTS),
                  bisect_work, &own);
}
