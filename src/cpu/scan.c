/* scan.c: scans along one axis, a tile at a time.
 *
 * Lines go one by one where their elements lie nearer than their neighbours
 * do, else side by side:
 *
 *   a line by itself        TILE positions            x x x x x x x x
 *   `width` lines at once   a few positions of each   x x x x
 *                                                     x x x x
 *
 * A tile is loaded into the compute type, walked in place and stored.
 * Must not know: how a tile is walked (scan_level.c).
 */
#include "cpu/scan.h"
#include "cpu/axes.h"
#include "cpu/kernels.h"

enum {
  TILE = 2048,        /* numbers: 16 KiB of f64, thrice at most in L1 and L2 */
  MOST_LINES = 256,   /* side by side: 1 KiB of f32 at a stretch */
  LEAST_LINES = 8,
  JOB_ELEMENTS = 1 << 16 /* a chunk of work: 50 to 200 us */
};

static const ScanLevel *const levels[LEVEL_COUNT] = {
    &scan_base,
#if defined(__x86_64__)
    &scan_avx2, &scan_avx512
#endif
};

/* A Scan made ready: outer axes, and blocks of `width` lines along one. */
typedef struct Lines {
  const Scan *s;
  ScanLoop *loop;
  ReduceLoad *load;
  ReduceStore *store;
  int64_t in_bytes, bytes, out_bytes;
  int outer;
  int64_t size[MAX_RANK], src[MAX_RANK], by[MAX_RANK], dst[MAX_RANK];
  int64_t cols, width, col_src, col_by, col_dst;
  int64_t per_row, blocks; /* blocks of one row of columns, of all */
  int64_t rows;            /* positions of a tile */
  int64_t per_job;
} Lines;

typedef struct Room {
  _Alignas(64) char x[TILE * 8];
  _Alignas(64) char by[TILE * 8];
  _Alignas(64) int64_t place[TILE];
  _Alignas(64) char state[MOST_LINES * 8];
  _Alignas(64) char part[MOST_LINES * 8];
  _Alignas(64) int64_t at[MOST_LINES];
} Room;

static int64_t distance(int64_t step) { return step < 0 ? -step : step; }

/* The axis whose lines are walked side by side; -1 for none. */
static int column_axis(const Scan *s) {
  int best = -1;
  for (int a = 0; a < s->lines; a++)
    if (best < 0 || s->src_line[a] < s->src_line[best]) best = a;
  if (best < 0 || s->size[best] < LEAST_LINES) return -1;
  return s->src_line[best] < distance(s->src_step) ? best : -1;
}

static void lay_out(Lines *l, int axis) {
  const Scan *s = l->s;
  l->outer = 0;
  l->cols = l->width = 1, l->col_src = l->col_by = l->col_dst = 0;
  for (int a = 0; a < s->lines; a++) {
    if (a == axis) continue;
    l->size[l->outer] = s->size[a];
    l->src[l->outer] = s->src_line[a];
    l->by[l->outer] = s->by_line[a];
    l->dst[l->outer++] = s->dst_line[a];
  }
  if (axis >= 0) {
    l->cols = s->size[axis];
    l->width = min_i64(l->cols, MOST_LINES);
    l->col_src = s->src_line[axis];
    l->col_by = s->by_line[axis];
    l->col_dst = s->dst_line[axis];
  }
  l->per_row = ceil_div(l->cols, l->width);
  l->blocks = l->per_row * axes_count(l->outer, l->size);
  l->rows = TILE / l->width / SCAN_GROUP * SCAN_GROUP;
  assert(l->rows > 0);
}

/* ---- one tile ---- */

/* Rows [from, t->rows) of a tile, whose data point at its first row. */
static void tile_load(const Lines *l, const ScanTile *t, int64_t from,
                      const char *src, int64_t step, int64_t col, void *to) {
  char *x = (char *)to + from * t->cols * l->bytes;
  src += from * step * l->in_bytes;
  if (t->cols == 1) {
    l->load(t->rows - from, src, step, x);
    return;
  }
  for (int64_t i = from; i < t->rows; i++) {
    l->load(t->cols, src, col, x);
    src += step * l->in_bytes, x += t->cols * l->bytes;
  }
}

static void tile_store(const Lines *l, const ScanTile *t, char *dst) {
  const int64_t step = l->s->dst_step;
  const char *x = t->x;
  if (t->cols == 1) {
    l->store(t->rows, x, dst, step);
    return;
  }
  for (int64_t i = 0; i < t->rows; i++) {
    l->store(t->cols, x, dst, l->col_dst);
    dst += step * l->out_bytes, x += t->cols * l->bytes;
  }
}

static void store_places(const Lines *l, const ScanTile *t, int64_t offset) {
  const Scan *s = l->s;
  int64_t *to = (int64_t *)(void *)s->place + offset;
  for (int64_t i = 0; i < t->rows; i++)
    for (int64_t c = 0; c < t->cols; c++)
      to[i * s->dst_step + c * l->col_dst] = s->base + t->place[i * t->cols + c];
}

/* ---- one block of lines ---- */

/* Where a block begins, in elements. */
typedef struct Place {
  int64_t src, by, dst;
} Place;

static Place place_of(const Lines *l, int64_t block, int64_t *cols) {
  const int64_t row = block / l->per_row;
  const int64_t first = (block - row * l->per_row) * l->width;
  *cols = min_i64(l->width, l->cols - first);
  return (Place){
      axes_place(l->outer, l->size, l->src, row) + first * l->col_src,
      axes_place(l->outer, l->size, l->by, row) + first * l->col_by,
      axes_place(l->outer, l->size, l->dst, row) + first * l->col_dst};
}

static void scan_tile(const Lines *l, const ScanTile *t, Place p, Room *room) {
  const Scan *s = l->s;
  const int64_t i = t->first, skipped = i == 0; /* it has no factor */
  tile_load(l, t, 0, s->src + (p.src + i * s->src_step) * l->in_bytes,
            s->src_step, l->col_src, room->x);
  if (s->by != NULL)
    tile_load(l, t, skipped,
              s->by + (p.by + (i - s->previous) * s->by_step) * l->in_bytes,
              s->by_step, l->col_by, room->by);
  l->loop(t);
  const int64_t to = p.dst + i * s->dst_step;
  tile_store(l, t, s->dst + to * l->out_bytes);
  if (s->place != NULL) store_places(l, t, to);
}

static void scan_block(const Lines *l, int64_t block, Room *room) {
  ScanTile t = {.x = room->x, .by = room->by, .place = room->place,
                .state = room->state, .part = room->part, .at = room->at};
  const Place p = place_of(l, block, &t.cols);
  for (t.first = 0; t.first < l->s->n; t.first += l->rows) {
    t.rows = min_i64(l->rows, l->s->n - t.first);
    scan_tile(l, &t, p, room);
  }
}

static void blocks_work(void *arg, int64_t job, int worker) {
  const Lines *l = arg;
  const int64_t first = job * l->per_job;
  const int64_t last = min_i64(first + l->per_job, l->blocks);
  Room room;
  (void)worker;
  for (int64_t i = first; i < last; i++) scan_block(l, i, &room);
}

/* ---- the slots ---- */

size_t cpu_scan_room(Backend *b, const Scan *s) {
  (void)b, (void)s;
  return 0;
}

bool scan_run(Backend *b, const Scan *s, int level) {
  Lines l;
  const int type = reduce_type(s->compute);
  l.s = s;
  l.loop = levels[level]->loop[type][s->scan];
  l.load = reduce_level(level)->load[type][s->in];
  l.store = reduce_level(level)->store[type][s->out];
  assert(l.loop != NULL && l.load != NULL && l.store != NULL);
  l.in_bytes = (int64_t)dtype_bytes(s->in);
  l.bytes = (int64_t)dtype_bytes(s->compute);
  l.out_bytes = (int64_t)dtype_bytes(s->out);
  lay_out(&l, column_axis(s));
  l.per_job = max_i64(1, JOB_ELEMENTS / (l.width * s->n));
  return pool_run(b->pool, ceil_div(l.blocks, l.per_job), blocks_work, &l);
}

bool cpu_scan(Backend *b, const Scan *s) {
  return scan_run(b, s, level_best());
}
