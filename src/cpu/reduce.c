/* reduce.c: folds over axes, and positions of extremes.
 *
 * The order of adding is that of rows/fold.def, a function of the number of
 * reduced elements alone; how they are met is chosen by the strides:
 *
 *   rows      one output at a time, a chunk of its elements at a time, which
 *             lie side by side or are packed:   lanes in registers
 *   columns   a block of neighbouring outputs at a time, FOLD_ROWS elements
 *             of a lane in one pass:
 *
 *               element i of the block  x x x x x x x x     width
 *               i + FOLD_LANES ..       x x x x x x x x
 *                                       | | | | | | | |
 *               lane i % FOLD_LANES     r r r r r r r r     in room->lanes
 *
 *             up to FOLD_LANES elements: no lane is kept, rows meet at once
 *
 * Must not know: how a loop is vectorised (reduce_level.c).
 */
#include "cpu/axes.h"
#include "cpu/kernels.h"
#include "cpu/level.h"
#include "cpu/reduce.h"

#include <string.h>

enum {
  LANES_ROOM = 32 << 10, /* bytes of a block's lanes, on the stack */
  WIDE_ROOM = 128 << 10, /* in scratch, in L2: narrower blocks of many rows read
                            memory in strips too short to be fetched */
  MOST_COLUMNS = 1024,
  LEVELS = 44,           /* chunks meet in a tree: 2^56 / FOLD_CHUNK of them */
  WORKER_ROOM = WIDE_ROOM + LEVELS * WIDE_ROOM / FOLD_LANES,
  JOB_ELEMENTS = 1 << 16, /* a chunk of work: 5 to 20 us, some wake-ups */
  FEW_BLOCKS = 16,        /* below, chunks of one block run in parallel */
  FEW_ELEMENTS = 16,      /* up to here a row is not worth a call */
  LEAST_COLUMNS = 8
};

/* A Reduce made ready. */
typedef struct Fold {
  const Reduce *r;
  const FoldLoops *loops;
  const FoldLoops *near; /* on elements as they lie; NULL: they are loaded */
  ReduceLoad *load, *load_by;
  ReduceStore *store;
  int64_t in_bytes, bytes, out_bytes;
  int gone; /* axes; at least 1 */
  int64_t gone_size[MAX_RANK], gone_src[MAX_RANK];
  int64_t n, chunks;
  /* outputs: outer axes, then blocks of `width` along one kept axis */
  int outer;
  int64_t size[MAX_RANK], src[MAX_RANK], dst[MAX_RANK];
  int64_t cols, width, col_src, col_dst;
  int64_t per_row, blocks; /* blocks of one row of columns, of all */
  bool flat;  /* the next element of a block lies right behind it */
  bool wide;  /* lanes in scratch, a WORKER_ROOM each */
  bool split; /* chunks of a block run apart; partial values in scratch */
  int64_t per_job, jobs;
  int64_t rooms; /* bytes of scratch */
} Fold;

typedef struct Room {
  char *lanes, *partial;
  int64_t step; /* bytes from one of `partial` to the next */
  _Alignas(64) char own_lanes[LANES_ROOM];
  _Alignas(64) char piece[FOLD_CHUNK * 8]; /* packed elements */
  _Alignas(64) char by[MOST_COLUMNS * 8];  /* BY of each element of a take */
  /* one per level of the tree; alone, the first may reach into the others */
  _Alignas(64) char own_partial[LEVELS * LANES_ROOM / FOLD_LANES];
} Room;

static const ReduceLevel *const levels[LEVEL_COUNT] = {
    &reduce_base,
#if defined(__x86_64__)
    &reduce_avx2, &reduce_avx512
#endif
};

const ReduceLevel *reduce_level(int level) { return levels[level]; }

/* ---- choosing a way ---- */

/* The kept axis with the smallest step; -1 for none. */
static int nearest_kept(const Reduce *r) {
  int best = -1;
  for (int a = 0; a < r->kept; a++) {
    if (r->kept_size[a] == 1 || r->kept_src[a] == 0) continue;
    if (best < 0 || r->kept_src[a] < r->kept_src[best]) best = a;
  }
  return best;
}

/* Columns pay where they are nearer than the reduced elements, or where those
 * are so few that a row is mostly overhead. */
static int column_axis(const Fold *f) {
  const Reduce *r = f->r;
  const int axis = nearest_kept(r);
  if (axis < 0) return -1;
  const int64_t step = f->gone_src[f->gone - 1];
  const bool flat = f->gone == 1 && r->kept_src[axis] == 1 &&
                    step == r->kept_size[axis];
  if (flat && f->n > FOLD_LANES) return axis;
  if (r->kept_size[axis] < LEAST_COLUMNS) return -1;
  return r->kept_src[axis] < step || f->n <= FEW_ELEMENTS ? axis : -1;
}

static int lanes_of(int64_t n) {
  int lanes = 1;
  while (lanes < n && lanes < FOLD_LANES) lanes *= 2;
  return lanes;
}

/* Part the kept axes into outer ones and the columns. */
static void lay_out(Fold *f, int axis) {
  const Reduce *r = f->r;
  f->cols = f->width = 1;
  for (int a = 0; a < r->kept; a++) {
    if (a == axis) continue;
    f->size[f->outer] = r->kept_size[a];
    f->src[f->outer] = r->kept_src[a];
    f->dst[f->outer++] = r->kept_dst[a];
  }
  if (axis >= 0) {
    f->cols = r->kept_size[axis];
    f->col_src = r->kept_src[axis], f->col_dst = r->kept_dst[axis];
    f->wide = f->n > FOLD_LANES;
    f->width = (f->wide ? WIDE_ROOM : LANES_ROOM) /
               (lanes_of(f->n) * f->bytes);
    f->width = min_i64(f->cols, min_i64(f->width, MOST_COLUMNS));
    f->flat = f->gone == 1 && f->col_src == 1 && f->width == f->cols &&
              f->gone_src[0] == f->cols &&
              (r->by == NULL || f->cols * FOLD_LANES <= MOST_COLUMNS);
  }
  f->per_row = ceil_div(f->cols, f->width);
  f->blocks = f->per_row * axes_count(f->outer, f->size);
}

static void cut(Fold *f) {
  f->split = f->blocks < FEW_BLOCKS && f->chunks > 1;
  const int64_t each = f->width * (f->split ? FOLD_CHUNK : max_i64(f->n, 1));
  f->per_job = max_i64(1, JOB_ELEMENTS / each);
  f->jobs = f->split ? f->blocks * ceil_div(f->chunks, f->per_job)
                     : ceil_div(f->blocks, f->per_job);
  if (f->jobs == 1) f->split = false;
}

static void open_axes(Fold *f) {
  const Reduce *r = f->r;
  f->gone = r->gone > 0 ? r->gone : 1;
  f->gone_size[0] = 1, f->gone_src[0] = 0;
  for (int a = 0; a < r->gone; a++)
    f->gone_size[a] = r->gone_size[a], f->gone_src[a] = r->gone_src[a];
  f->n = axes_count(f->gone, f->gone_size);
  f->chunks = ceil_div(f->n, FOLD_CHUNK);
}

static void fold_open(Fold *f, const Backend *b, const Reduce *r) {
  f->r = r;
  f->in_bytes = (int64_t)dtype_bytes(r->in);
  f->bytes = (int64_t)dtype_bytes(r->compute);
  f->out_bytes = (int64_t)dtype_bytes(r->out);
  f->outer = 0, f->flat = f->wide = false, f->col_src = f->col_dst = 0;
  open_axes(f);
  lay_out(f, column_axis(f));
  cut(f);
  const int64_t workers = f->jobs == 1 ? 1 : pool_threads(b->pool);
  f->rooms = f->wide ? workers * WORKER_ROOM : 0;
}

static void fold_loops(Fold *f, const ReduceLevel *level) {
  const Reduce *r = f->r;
  const int type = reduce_type(r->compute);
  f->loops = &level->fold[type][r->fold];
  f->near = r->in == r->compute ? f->loops : NULL;
  const FoldLoops *wide = &level->wide[r->fold];
  if (r->in == DTYPE_F32 && r->compute == DTYPE_F64 && wide->run != NULL)
    f->near = wide;
  f->load = level->load[type][r->in];
  f->load_by = level->load[type][r->compute];
  f->store = level->store[type][r->out];
  assert(f->loops->run != NULL && f->load != NULL && f->store != NULL);
}

/* ---- one chunk ---- */

/* `count` elements of one output from number `first` on -> piece. */
static void pack(const Fold *f, const char *src, int64_t first, int64_t count,
                 void *piece) {
  const int last = f->gone - 1;
  const int64_t size = f->gone_size[last], step = f->gone_src[last];
  int64_t at = first % size;
  char *to = piece;
  Walk w;
  walk_start(&w, last, f->gone_size, f->gone_src, first / size);
  while (count > 0) {
    const int64_t run = min_i64(count, size - at);
    f->load(run, src + (w.offset + at * step) * f->in_bytes, step, to);
    to += run * f->bytes, count -= run, at = 0;
    walk_next(&w);
  }
}

static void row_chunk(const Fold *f, const char *src, int64_t chunk,
                      Room *room, void *r) {
  const int64_t first = chunk * FOLD_CHUNK;
  const int64_t count = min_i64(FOLD_CHUNK, f->n - first);
  if (f->near != NULL && f->gone == 1 && f->gone_src[0] == 1) {
    f->near->run(count, src + first * f->in_bytes, room->by, r);
    return;
  }
  pack(f, src, first, count, room->piece);
  f->loops->run(count, room->piece, room->by, r);
}

/* `rows` elements, `step` apart, of each of `count` neighbours -> r. */
static void take(const Fold *f, const char *src, int64_t count, int64_t step,
                 int rows, Room *room, void *r) {
  if (f->near != NULL && f->col_src == 1) {
    f->near->into(count, src, step, rows, room->by, r);
    return;
  }
  for (int k = 0; k < rows; k++)
    for (int64_t i = 0; i < count; i += FOLD_CHUNK) {
      const int64_t n = min_i64(count - i, FOLD_CHUNK);
      const int64_t at = k * step + i * f->col_src;
      f->load(n, src + at * f->in_bytes, f->col_src, room->piece);
      f->loops->into(n, room->piece, 0, 1, room->by,
                     (char *)r + i * f->bytes);
    }
}

/* Elements [0, count) at one distance, into their lanes: FOLD_ROWS of a lane
 * at a time, so that lanes are read and written less often. */
static void take_even(const Fold *f, const char *src, int64_t cols,
                      int64_t count, Room *room) {
  const int64_t step = f->gone_src[0], run = f->flat ? FOLD_LANES : 1;
  const int64_t whole = f->flat ? count - count % FOLD_LANES : count;
  for (int64_t i = 0; i < whole; i += FOLD_LANES * FOLD_ROWS)
    for (int64_t lane = 0; lane < FOLD_LANES && i + lane < whole;
         lane += run) {
      const int64_t left = ceil_div(whole - i - lane, FOLD_LANES);
      take(f, src + (i + lane) * step * f->in_bytes, run * cols,
           FOLD_LANES * step, (int)min_i64(left, FOLD_ROWS), room,
           room->lanes + lane * cols * f->bytes);
    }
  if (whole < count)
    take(f, src + whole * step * f->in_bytes, (count - whole) * cols, 0, 1,
         room, room->lanes);
}

enum { FEW_WIDTH = 64 }; /* columns of which all lanes lie in 16 KiB */

/* One row of columns enters a lane that is empty before. */
static void few_enter(const Fold *f, const char *src, int row, int64_t width,
                      const char *by, double *lane) {
  f->loops->start(width, lane);
  f->near->into(width, src + row * f->gone_src[0] * f->in_bytes, 0, 1, by,
                lane);
}

/* Up to FOLD_LANES rows of columns: an element is a lane, and the first level
 * of the tree is met as they are read; lanes without one change nothing. */
static void few_rows(const Fold *f, int rows, int64_t cols, const char *src,
                     const char *by, char *r) {
  double lane[FOLD_LANES / 2][FEW_WIDTH], other[FEW_WIDTH];
  int half = 1;
  while (2 * half < rows) half *= 2;
  for (int64_t i = 0; i < cols; i += FEW_WIDTH) {
    const int64_t width = min_i64(cols - i, FEW_WIDTH);
    const char *at = src + i * f->in_bytes, *own = by + i * f->bytes;
    for (int k = 0; k < half; k++) {
      few_enter(f, at, k, width, own, lane[k]);
      if (k + half >= rows) continue;
      few_enter(f, at, k + half, width, own, other);
      f->loops->meet(width, other, lane[k]);
    }
    for (int top = half / 2; top > 0; top /= 2)
      for (int k = 0; k < top; k++)
        f->loops->meet(width, lane[k + top], lane[k]);
    memcpy(r + i * f->bytes, lane[0], (size_t)(width * f->bytes));
  }
}

static void column_chunk(const Fold *f, const char *src, int64_t cols,
                         int64_t chunk, Room *room, void *r) {
  const int64_t first = chunk * FOLD_CHUNK;
  const int64_t count = min_i64(FOLD_CHUNK, f->n - first);
  const int lanes = lanes_of(count);
  const int64_t step = cols * f->bytes;
  if (f->gone == 1 && f->n <= FOLD_LANES && f->near != NULL &&
      f->col_src == 1) {
    few_rows(f, (int)count, cols, src, room->by, r);
    return;
  }
  f->loops->start(lanes * cols, room->lanes);
  if (f->gone == 1) {
    take_even(f, src + first * f->gone_src[0] * f->in_bytes, cols, count, room);
  } else {
    Walk w;
    walk_start(&w, f->gone, f->gone_size, f->gone_src, first);
    for (int64_t i = 0; i < count; i++, walk_next(&w))
      take(f, src + w.offset * f->in_bytes, cols, 0, 1, room,
           room->lanes + i % FOLD_LANES * step);
  }
  for (int half = lanes / 2; half > 0; half /= 2)
    f->loops->meet(half * cols, room->lanes + half * step, room->lanes);
  memcpy(r, room->lanes, (size_t)step);
}

static void chunk_fold(const Fold *f, const char *src, int64_t cols,
                       int64_t chunk, Room *room, void *r) {
  if (f->cols == 1) row_chunk(f, src, chunk, room, r);
  else column_chunk(f, src, cols, chunk, room, r);
}

/* ---- one block of outputs ---- */

typedef struct Block {
  const char *src;
  char *dst;
  int64_t cols;
} Block;

static Block block_at(const Fold *f, int64_t block) {
  const int64_t row = block / f->per_row;
  const int64_t first = (block - row * f->per_row) * f->width;
  const int64_t src = axes_place(f->outer, f->size, f->src, row);
  const int64_t dst = axes_place(f->outer, f->size, f->dst, row);
  return (Block){f->r->src + (src + first * f->col_src) * f->in_bytes,
                 f->r->dst + (dst + first * f->col_dst) * f->out_bytes,
                 min_i64(f->width, f->cols - first)};
}

/* BY of the columns of a block, over again for each row of a take. */
static void take_by(const Fold *f, const Block *b, Room *room) {
  if (f->r->by == NULL) return;
  const int64_t at = (b->dst - f->r->dst) / f->out_bytes;
  const int64_t rows = f->flat ? lanes_of(f->n) : 1;
  const size_t bytes = (size_t)(b->cols * f->bytes);
  f->load_by(b->cols, f->r->by + at * f->bytes, f->col_dst, room->by);
  for (int64_t i = 1; i < rows; i++)
    memcpy(room->by + (size_t)i * bytes, room->by, bytes);
}

/* A tree of neighbours met from left to right, as a counter carries: the
 * values on the stack are those of the set bits of the chunks so far. */
static void fold_block(const Fold *f, int64_t block, Room *room) {
  const Block b = block_at(f, block);
  const int64_t step = room->step;
  char *top = room->partial; /* one past the stack */
  take_by(f, &b, room);
  for (int64_t chunk = 0; chunk < f->chunks; chunk++) {
    chunk_fold(f, b.src, b.cols, chunk, room, top);
    top += step;
    for (int64_t bits = chunk; bits & 1; bits >>= 1, top -= step)
      f->loops->meet(b.cols, top - step, top - 2 * step);
  }
  for (; top > room->partial + step; top -= step)
    f->loops->meet(b.cols, top - step, top - 2 * step);
  if (f->chunks == 0) f->loops->start(b.cols, room->partial);
  f->store(b.cols, room->partial, b.dst, f->col_dst);
}

static void room_open(const Fold *f, int worker, Room *room) {
  room->lanes = room->own_lanes;
  room->partial = room->own_partial;
  room->step = LANES_ROOM / FOLD_LANES;
  if (!f->wide) return;
  room->lanes = (char *)f->r->scratch + (int64_t)worker * WORKER_ROOM;
  room->partial = room->lanes + WIDE_ROOM;
  room->step = WIDE_ROOM / FOLD_LANES;
}

static void blocks_work(void *arg, int64_t job, int worker) {
  const Fold *f = arg;
  const int64_t first = job * f->per_job;
  const int64_t last = min_i64(first + f->per_job, f->blocks);
  Room room;
  room_open(f, worker, &room);
  for (int64_t i = first; i < last; i++) fold_block(f, i, &room);
}

/* ---- few blocks: chunks run apart ---- */

/* Behind the rooms of the workers: (blocks, chunks, width). */
static char *partial_at(const Fold *f, int64_t block, int64_t chunk) {
  return (char *)f->r->scratch + f->rooms +
         (block * f->chunks + chunk) * f->width * f->bytes;
}

static void chunks_work(void *arg, int64_t job, int worker) {
  const Fold *f = arg;
  const int64_t block = job % f->blocks;
  const int64_t first = job / f->blocks * f->per_job;
  const int64_t last = min_i64(first + f->per_job, f->chunks);
  const Block b = block_at(f, block);
  Room room;
  room_open(f, worker, &room);
  take_by(f, &b, &room);
  for (int64_t i = first; i < last; i++)
    chunk_fold(f, b.src, b.cols, i, &room, partial_at(f, block, i));
}

static void meet_chunks(const Fold *f, int64_t block) {
  const Block b = block_at(f, block);
  for (int64_t step = 1; step < f->chunks; step *= 2)
    for (int64_t i = 0; i + step < f->chunks; i += 2 * step)
      f->loops->meet(b.cols, partial_at(f, block, i + step),
                     partial_at(f, block, i));
  f->store(b.cols, partial_at(f, block, 0), b.dst, f->col_dst);
}

size_t cpu_reduce_room(Backend *b, const Reduce *r) {
  Fold f;
  fold_open(&f, b, r);
  const int64_t partials = f.blocks * f.chunks * f.width * f.bytes;
  return (size_t)(f.rooms + (f.split ? partials : 0));
}

bool reduce_run(Backend *b, const Reduce *r, int level) {
  Fold f;
  fold_open(&f, b, r);
  fold_loops(&f, levels[level]);
  if (!f.split) return pool_run(b->pool, f.jobs, blocks_work, &f);
  if (!pool_run(b->pool, f.jobs, chunks_work, &f)) return false;
  for (int64_t i = 0; i < f.blocks; i++) meet_chunks(&f, i);
  return true;
}

bool cpu_reduce(Backend *b, const Reduce *r) {
  return reduce_run(b, r, level_best());
}

/* ---- positions of extremes ---- */

/* As Fold, with values and places of rivals. */
typedef struct Search {
  Fold f;
  Reduce r; /* as asked for, with the fold of the extreme */
  int64_t base;
  int64_t (*find)(int64_t n, const void *x, const void *value);
  void (*rival)(int64_t n, const void *x, int64_t at, void *best,
                int64_t *place);
} Search;

static bool lies_flat(const Fold *f) {
  return f->near != NULL && f->gone == 1 && f->gone_src[0] == 1;
}

/* The elements of a chunk as numbers of the compute type. */
static const void *chunk_elements(const Fold *f, const char *src,
                                  int64_t first, int64_t count, Room *room) {
  if (lies_flat(f))
    return src + first * f->in_bytes;
  pack(f, src, first, count, room->piece);
  return room->piece;
}

/* The extreme of some chunks, and the element that its chunk begins with. */
typedef struct Best {
  _Alignas(8) char value[8];
  int64_t first;
} Best;

/* Of elements [first, last), which chunks begin and end. */
static Best best_of(const Search *s, const char *src, int64_t first,
                    int64_t last, Room *room) {
  const Fold *f = &s->f;
  Best best = {.first = first};
  for (int64_t i = first; i < last; i += FOLD_CHUNK) {
    _Alignas(8) char next[8];
    const int64_t count = min_i64(FOLD_CHUNK, last - i);
    const void *x = chunk_elements(f, src, i, count, room);
    f->loops->run(count, x, room->by, next);
    if (i == first) memcpy(best.value, next, sizeof next);
    s->rival(1, next, i, best.value, &best.first);
  }
  return best;
}

/* The place in its chunk where the best first came up; a chunk that is alone
 * was packed by best_of. */
static int64_t place_of(const Search *s, const char *src, const Best *best,
                        Room *room) {
  const Fold *f = &s->f;
  const int64_t count = min_i64(FOLD_CHUNK, f->n - best->first);
  const void *x = f->chunks == 1 && !lies_flat(f)
                      ? room->piece
                      : chunk_elements(f, src, best->first, count, room);
  return s->base + best->first + s->find(count, x, best->value);
}

static int64_t search_row(const Search *s, const char *src, Room *room) {
  const Best best = best_of(s, src, 0, s->f.n, room);
  return place_of(s, src, &best, room);
}

/* ---- few long rows: pieces of one run apart ---- */

enum { MOST_PIECES = 64 };

typedef struct Pieces {
  const Search *s;
  const char *src;
  int64_t piece; /* elements, whole chunks of them */
  Best best[MOST_PIECES];
} Pieces;

static void piece_work(void *arg, int64_t k, int worker) {
  Pieces *p = arg;
  Room room;
  const int64_t first = k * p->piece;
  (void)worker;
  p->best[k] = best_of(p->s, p->src, first,
                       min_i64(first + p->piece, p->s->f.n), &room);
}

/* In the order of pieces, so that the first of ties and the first NaN stay. */
static bool search_long(Backend *b, const Search *s, int64_t block) {
  const Fold *f = &s->f;
  const Block at = block_at(f, block);
  const int64_t chunks = max_i64(JOB_ELEMENTS / FOLD_CHUNK,
                                 ceil_div(f->chunks, MOST_PIECES));
  Pieces p = {.s = s, .src = at.src, .piece = chunks * FOLD_CHUNK};
  const int64_t count = ceil_div(f->n, p.piece);
  Room room;
  if (!pool_run(b->pool, count, piece_work, &p)) return false;
  for (int64_t k = 1; k < count; k++)
    s->rival(1, p.best[k].value, p.best[k].first, p.best[0].value,
             &p.best[0].first);
  *(int64_t *)(void *)at.dst = place_of(s, at.src, &p.best[0], &room);
  return true;
}

/* ---- columns, and many rows ---- */

static void search_columns(const Search *s, const Block *b, Room *room,
                           int64_t *place) {
  const Fold *f = &s->f;
  const bool direct = f->near != NULL && f->col_src == 1;
  void *best = room->own_lanes;
  Walk w;
  walk_start(&w, f->gone, f->gone_size, f->gone_src, 0);
  f->load(b->cols, b->src, f->col_src, best);
  for (int64_t i = 0; i < b->cols; i++) place[i] = 0;
  for (int64_t i = 1; i < f->n; i++) {
    walk_next(&w);
    const char *x = b->src + w.offset * f->in_bytes;
    if (!direct) f->load(b->cols, x, f->col_src, room->piece);
    s->rival(b->cols, direct ? x : room->piece, i, best, place);
  }
}

static void search_work(void *arg, int64_t job, int worker) {
  const Search *s = arg;
  const Fold *f = &s->f;
  const int64_t first = job * f->per_job;
  const int64_t last = min_i64(first + f->per_job, f->blocks);
  int64_t place[MOST_COLUMNS];
  Room room;
  (void)worker;
  for (int64_t i = first; i < last; i++) {
    const Block b = block_at(f, i);
    if (f->cols == 1) place[0] = search_row(s, b.src, &room);
    else search_columns(s, &b, &room, place);
    int64_t *to = (int64_t *)(void *)b.dst;
    for (int64_t c = 0; c < b.cols; c++)
      to[c * f->col_dst] = f->cols == 1 ? place[c] : s->base + place[c];
  }
}

bool arg_extreme_run(Backend *b, const ArgExtreme *a, int level) {
  Search s = {.r = a->at, .base = a->base};
  s.r.compute = dtype_compute(a->at.in);
  s.r.fold = a->greatest ? FOLD_amax : FOLD_amin;
  s.r.out = s.r.compute; /* of the loops; places are stored here */
  fold_open(&s.f, b, &s.r);
  fold_loops(&s.f, levels[level]);
  s.f.out_bytes = 8;
  const int type = reduce_type(s.r.compute);
  s.find = levels[level]->find[type];
  s.rival = levels[level]->rival[type][a->greatest];
  s.f.per_job = max_i64(1, JOB_ELEMENTS / (s.f.width * max_i64(s.f.n, 1)));
  s.f.jobs = ceil_div(s.f.blocks, s.f.per_job);
  if (s.f.cols > 1 || s.f.blocks >= FEW_BLOCKS || s.f.n <= JOB_ELEMENTS)
    return pool_run(b->pool, s.f.jobs, search_work, &s);
  for (int64_t i = 0; i < s.f.blocks; i++)
    if (!search_long(b, &s, i)) return false;
  return true;
}

bool cpu_arg_extreme(Backend *b, const ArgExtreme *a) {
  return arg_extreme_run(b, a, level_best());
}
