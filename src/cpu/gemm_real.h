/* gemm_real.h: one block of C in REAL; read by gemm_level.c once per type.
 *
 * Always: k is cut into equal pieces of at most DEPTH, by k alone.  Within a
 * piece an element is one chain of fused multiply-adds from 0, left to right;
 * the pieces are folded into C left to right.  Full tiles, edges, packed and
 * direct operands all do that, so they give the same bits.
 *
 *   for piece in k
 *     for block in m                   pack A -> a_room, half an L2
 *       for panel of 1..8 vectors in n pack B -> b_room, by the first block
 *         for tile in block            sum = A tile x B panel, in registers
 *
 * Must not know: what else is compiled for this level.
 */
#ifndef TENSUS_GEMM_REAL_H
#define TENSUS_GEMM_REAL_H

enum {
  /* ROWS x 2 sums, 2 vectors of B and one or two splats fill the registers */
  ROWS = VEC_REGISTERS == 32 ? 14 : 6,
  TABLE_ROWS = VEC_REGISTERS == 32 ? 8 : 6, /* B by table: few rows, see conv */
  /* One depth for all levels: those with FMA give the same bits.  A panel of
   * B is at most 48 KiB: in L1 or streamed from L2, measured equally fast. */
  DEPTH = 384,
  DIRECT_BYTES = 1 << 19, /* an operand this small stays in L2 unpacked */
  SHORT_RUNS = 4,         /* a quarter of a square still beats scalars */
  FEW_READS = 8,          /* packing costs about as much as that many reads */
  CROWDED_BYTES = 1024,   /* rows this far apart share few sets of L1 and L2 */
  MOST_VECS = 8
};

INLINE int64_t axis_at(const GemmAxis *x, int64_t i) {
  return x->table != NULL ? x->table[i] : i * x->stride;
}

/* How many of `count` neighbours from here on lie side by side in memory. */
static int64_t axis_run(const GemmAxis *x, int64_t from, int64_t count) {
  if (x->table == NULL) return x->stride == 1 || count < 2 ? count : 1;
  int64_t i = 1;
  while (i < count && x->table[from + i] == x->table[from] + i) i++;
  return i;
}

static bool axis_is_unit(const GemmAxis *x, int64_t from, int64_t count) {
  return axis_run(x, from, count) >= count;
}
#endif

enum { BLOCK_ROWS = (1 << 19) / (DEPTH * REAL_BYTES) }; /* half an L2 */

/* a (rows, depth) x b (depth, vectors) -> out (rows, vectors) */
typedef struct Tile {
  const REAL *a, *b;
  int64_t a_row, a_col, b_row;
  const int64_t *table; /* rows of b, when not b_row */
  int64_t depth, last;  /* lanes of the last vector */
  REAL *out;
  int64_t out_row;
  bool add; /* out += the sums */
} Tile;

/* All loops over constants unroll; sums live in registers. */
INLINE void tile_sum(const Tile *t, const int rows, const int vecs,
                     const bool by_table) {
  Vec sum[ROWS][MOST_VECS];
  const REAL *a[(ROWS + 2) / 3], *b = t->b;
  const int64_t a_row = t->a_row, a_col = t->a_col, last = t->last;
  VEC_UNROLL for (int i = 0; i < rows; i++) {
    if (i % 3 == 0) a[i / 3] = t->a + i * a_row;
    VEC_UNROLL for (int v = 0; v < vecs; v++) sum[i][v] = (Vec){0};
  }
  for (int64_t p = 0; p < t->depth; p++) {
    Vec x[MOST_VECS];
    if (by_table) b = t->b + t->table[p];
    VEC_UNROLL for (int v = 0; v < vecs; v++)
      x[v] = VEC_MASKED && v == vecs - 1 ? vec_load_first(b + v * LANES, last)
                                         : vec_load(b + v * LANES);
    VEC_UNROLL for (int i = 0; i < rows; i++) {
      const Vec y = vec_splat(a[i / 3][i % 3 * a_row]);
      VEC_UNROLL for (int v = 0; v < vecs; v++)
        sum[i][v] = vec_fma(y, x[v], sum[i][v]);
    }
    VEC_UNROLL for (int i = 0; i < rows; i += 3) a[i / 3] += a_col;
    b += t->b_row;
  }
  VEC_UNROLL for (int i = 0; i < rows; i++)
    VEC_UNROLL for (int v = 0; v < vecs; v++) {
      REAL *out = t->out + i * t->out_row + v * LANES;
      const int64_t count = VEC_MASKED && v == vecs - 1 ? last : LANES;
      if (t->add) sum[i][v] += vec_load_first(out, count);
      vec_store_first(out, sum[i][v], count);
    }
}

/* KERNEL(rows, vectors); the second one reads the rows of B by a table. */
#define PLAIN(r, v) \
  static void FN(sum_##r##_##v)(const Tile *t) { tile_sum(t, r, v, false); }
#define KERNEL(r, v)                                      \
  PLAIN(r, v)                                             \
  static void FN(sum_##r##_##v##_table)(const Tile *t) {  \
    tile_sum(t, r, v, true);                              \
  }
#define UP_TO_8(r) KERNEL(r, 1) KERNEL(r, 2) KERNEL(r, 4) KERNEL(r, 8)
#define UP_TO_4(r) KERNEL(r, 1) KERNEL(r, 2) KERNEL(r, 4)
#define UP_TO_2(r) KERNEL(r, 1) KERNEL(r, 2)
#define NO_TABLE(r) PLAIN(r, 1) PLAIN(r, 2)
#define BOTH(r, v) {FN(sum_##r##_##v), FN(sum_##r##_##v##_table)}
#define ONE(r, v) {FN(sum_##r##_##v), NULL}
#define NONE {NULL, NULL}
#define ROW_8(r) {BOTH(r, 1), BOTH(r, 2), BOTH(r, 4), BOTH(r, 8)}
#define ROW_4(r) {BOTH(r, 1), BOTH(r, 2), BOTH(r, 4), NONE}
#define ROW_2(r) {BOTH(r, 1), BOTH(r, 2), NONE, NONE}
#define ROW_1(r) {ONE(r, 1), ONE(r, 2), NONE, NONE}

UP_TO_8(1)
#if defined(__AVX512F__) || defined(__aarch64__)
UP_TO_8(2) UP_TO_8(3) UP_TO_4(4) UP_TO_4(5) UP_TO_4(6) UP_TO_2(7) UP_TO_2(8)
NO_TABLE(9) NO_TABLE(10) NO_TABLE(11) NO_TABLE(12) NO_TABLE(13) NO_TABLE(14)
#else
UP_TO_4(2) UP_TO_2(3) UP_TO_2(4) UP_TO_2(5) UP_TO_2(6)
#endif

typedef void Kernel(const Tile *t);

/* kernels[rows - 1][log2 of vectors][by table] */
static Kernel *const kernels[ROWS][4][2] = {
    ROW_8(1),
#if defined(__AVX512F__) || defined(__aarch64__)
    ROW_8(2), ROW_8(3), ROW_4(4), ROW_4(5), ROW_4(6), ROW_2(7), ROW_2(8),
    ROW_1(9), ROW_1(10), ROW_1(11), ROW_1(12), ROW_1(13), ROW_1(14)
#else
    ROW_4(2), ROW_2(3), ROW_2(4), ROW_2(5), ROW_2(6)
#endif
};

#undef PLAIN
#undef KERNEL
#undef UP_TO_8
#undef UP_TO_4
#undef UP_TO_2
#undef NO_TABLE
#undef BOTH
#undef ONE
#undef NONE
#undef ROW_8
#undef ROW_4
#undef ROW_2
#undef ROW_1

/* A block of C with its operands, all moved to its first element. */
typedef struct Job {
  const Gemm *g;
  const REAL *a, *b, *bias;
  REAL *c;
  GemmAxis a_row, a_col, b_row, b_col;
  int64_t rows, cols;
  bool a_direct, b_direct; /* read where they lie, or packed first */
  int width;               /* log2 of the vectors in a panel */
  int64_t tile;            /* most rows of a tile */
  REAL *a_room, *b_room;
} Job;

/* LANES lanes x LANES steps whose steps are neighbours: through registers. */
INLINE void pack_square(const REAL *x, const GemmAxis *lane, int64_t from,
                        int64_t lanes, int64_t steps, REAL *out,
                        int64_t width, int64_t keep) {
  Vec v[LANES];
  VEC_UNROLL for (int i = 0; i < LANES; i++)
    v[i] = i < lanes ? vec_load_first(x + axis_at(lane, from + i), steps)
                     : (Vec){0};
  vec_transpose(v);
  if (steps == LANES) {
    VEC_UNROLL for (int p = 0; p < LANES; p++)
      vec_store_first(out + p * width, v[p], keep);
    return;
  }
  for (int64_t p = 0; p < steps; p++)
    vec_store_first(out + p * width, v[p], keep);
}

static void pack_scalar(const REAL *x, const GemmAxis *lane, int64_t from,
                        int64_t lanes, const GemmAxis *step, int64_t first,
                        int64_t steps, REAL *out, int64_t width, int64_t keep) {
  for (int64_t p = 0; p < steps; p++)
    for (int64_t i = 0; i < keep; i++)
      out[p * width + i] = i < lanes ? x[axis_at(lane, from + i) +
                                         axis_at(step, first + p)] : 0;
}

/* One group of lanes that are neighbours. */
INLINE void pack_unit(const REAL *x, int64_t lanes, const GemmAxis *step,
                      int64_t first, int64_t steps, REAL *out, int64_t width,
                      int64_t keep) {
  for (int64_t p = 0; p < steps; p++) {
    const REAL *from = x + axis_at(step, first + p);
    vec_store_first(out + p * width, vec_load_first(from, lanes), keep);
  }
}

/* A panel of two whole vectors.  The next panel of this step is asked for:
 * rows of a large B lie on pages of their own, where the hardware sees no
 * stream. */
INLINE void pack_rows(const REAL *x, const GemmAxis *step, int64_t first,
                      int64_t steps, REAL *out) {
  for (int64_t p = 0; p < steps; p++, out += 2 * LANES) {
    const REAL *from = x + axis_at(step, first + p);
    __builtin_prefetch(from + 2 * LANES, 0, 2);
    __builtin_prefetch(from + 3 * LANES, 0, 2);
    vec_store(out, vec_load(from));
    vec_store(out + LANES, vec_load(from + LANES));
  }
}

/* One group of lanes that are not: along runs of steps, if there are any. */
static void pack_across(const REAL *x, const GemmAxis *lane, int64_t from,
                        int64_t lanes, const GemmAxis *step, int64_t first,
                        int64_t steps, REAL *out, int64_t width, int64_t keep) {
  for (int64_t p = 0, some = 0; p < steps; p += some) {
    const int64_t most = min_i64(LANES, steps - p);
    some = axis_run(step, first + p, most);
    const bool square = some * SHORT_RUNS >= most;
    if (square)
      pack_square(x + axis_at(step, first + p), lane, from, lanes, some,
                  out + p * width, width, keep);
    else
      pack_scalar(x, lane, from, lanes, step, first + p, some = most,
                  out + p * width, width, keep);
  }
}

/* x(lane, step) -> out[step][width], lanes beyond `lanes` are 0.
 *
 *            step 0          step 1
 *   out   | 0 1 2 .. w-1 | 0 1 2 .. w-1 | ...      w = width, lanes inside
 */
static void pack(const REAL *x, const GemmAxis *lane, int64_t from,
                 int64_t lanes, const GemmAxis *step, int64_t first,
                 int64_t steps, REAL *out, int64_t width) {
  if (lanes == 2 * LANES && width == lanes && axis_is_unit(lane, from, lanes)) {
    pack_rows(x + axis_at(lane, from), step, first, steps, out);
    return;
  }
  for (int64_t l = 0, wide = 0; l < lanes; l += wide) {
    const int64_t most = min_i64(LANES, lanes - l);
    const int64_t run = axis_run(lane, from + l, most);
    const bool unit = run * SHORT_RUNS >= most;
    const int64_t count = unit ? run : most;
    wide = l + count < lanes ? count : width - l; /* the last one pads */
    if (unit)
      pack_unit(x + axis_at(lane, from + l), count, step, first, steps, out + l,
                width, min_i64(wide, LANES));
    else
      pack_across(x, lane, from + l, count, step, first, steps, out + l, width,
                  min_i64(wide, LANES));
    for (int64_t p = 0; p < steps && wide > LANES; p++)
      vec_store_first(out + p * width + l + LANES, (Vec){0}, wide - LANES);
  }
}

/* Rows [row, ...) in tiles of nearly equal height: `taller` of them have one
 * row more than `least`.  128 rows are 10 tiles of 13 or 12, not 9 of 14 and
 * one of 2. */
typedef struct Strip {
  int64_t row, tiles, least, taller;
} Strip;

static Strip strip_new(int64_t row, int64_t rows, int64_t most) {
  const int64_t tiles = ceil_div(rows, most);
  return (Strip){row, tiles, rows / tiles, rows % tiles};
}

INLINE int64_t strip_height(const Strip *s, int64_t n) {
  return s->least + (n < s->taller);
}

INLINE Vec gather(const REAL *p, int64_t stride, int64_t count) {
  if (stride == 1) return vec_load_first(p, count);
  REAL r[LANES] = {0};
  for (int64_t i = 0; i < count; i++) r[i] = p[i * stride];
  return vec_load(r);
}

INLINE void scatter(REAL *p, int64_t stride, Vec v, int64_t count) {
  if (stride == 1) vec_store_first(p, v, count);
  else
    for (int64_t i = 0; i < count; i++) p[i * stride] = v[i];
}

/* c = alpha sum + beta c for the first piece, + c for the others; the last
 * adds the bias and clips. */
static void finish(const Job *j, const Tile *t, int64_t row, int64_t col,
                   int64_t rows, int64_t cols, bool first, bool last) {
  const Gemm *g = j->g;
  const REAL beta = first ? (REAL)g->beta : 1;
  const Vec alpha = vec_splat((REAL)g->alpha), scale = vec_splat(beta);
  for (int64_t i = row; i < row + rows; i++)
    for (int64_t l = 0; l < cols; l += LANES) {
      const int64_t count = min_i64(LANES, cols - l);
      REAL *c = j->c + i * g->c_row + (col + l) * g->c_col;
      Vec r = alpha * vec_load(t->out + (i - row) * t->out_row + l);
      if (beta != 0) r = vec_fma(scale, gather(c, g->c_col, count), r);
      if (last && j->bias != NULL)
        r += gather(j->bias + i * g->bias_row + (col + l) * g->bias_col,
                    g->bias_col, count);
      if (last && g->relu) r = vec_relu(r);
      scatter(c, g->c_col, r, count);
    }
}

/* The tile of C comes from far away while the sums are made. */
static void fetch_c(const Gemm *g, const REAL *c, int64_t rows, int64_t cols) {
  if (g->c_col != 1) return;
  for (int64_t i = 0; i < rows; i++)
    for (int64_t l = 0; l < cols; l += 64 / REAL_BYTES)
      __builtin_prefetch(c + i * g->c_row + l, 1, 2);
}

/* The kernel itself stores or adds to C: nothing to scale or scatter. */
static bool is_plain(const Gemm *g, bool first, bool last) {
  return g->c_col == 1 && g->alpha == 1 &&
         (!first || g->beta == 0 || g->beta == 1) &&
         !(last && (g->bias != NULL || g->relu));
}

/* All rows of a strip with one panel of B. */
static void panel(const Job *j, Tile *t, const Strip *s, int64_t col, int width,
                  int64_t cols, bool first, bool last) {
  REAL sums[ROWS * 2 * LANES] __attribute__((aligned(64)));
  const bool plain = is_plain(j->g, first, last) &&
                     (VEC_MASKED || cols % LANES == 0);
  const REAL *a = t->a;
  t->add = plain && (!first || j->g->beta == 1);
  int64_t row = s->row, count = 0;
  for (int64_t n = 0; n < s->tiles; n++, row += count) {
    REAL *c = j->c + row * j->g->c_row + col;
    count = strip_height(s, n);
    if (!j->a_direct) t->a_row = 1, t->a_col = count;
    t->out = plain ? c : sums;
    t->out_row = plain ? j->g->c_row : LANES << width;
    fetch_c(j->g, c, count, cols);
    kernels[count - 1][width][t->table != NULL](t);
    if (!plain) finish(j, t, row, col, count, cols, first, last);
    t->a += count * (j->a_direct ? t->a_row : t->depth);
  }
  t->a = a;
}

/* Point the tile at the strip's rows of A. */
static void place_a(const Job *j, Tile *t, int64_t from, const Strip *s) {
  t->a = j->a_room;
  if (j->a_direct) {
    t->a_row = j->a_row.stride, t->a_col = j->a_col.stride;
    t->a = j->a + from * t->a_col + s->row * t->a_row;
    return;
  }
  REAL *out = j->a_room;
  int64_t row = s->row, count = 0;
  for (int64_t n = 0; n < s->tiles; n++, row += count) {
    count = strip_height(s, n);
    pack(j->a, &j->a_row, row, count, &j->a_col, from, t->depth, out, count);
    out += count * t->depth;
  }
}

/* Point the tile at columns [col, col + cols) of B, packed if it must be: by
 * the first block of rows, for all of them. */
static void place_b(const Job *j, Tile *t, int64_t from, int64_t col,
                    int64_t cols, int64_t vecs, bool again) {
  const bool direct = j->b_direct && (VEC_MASKED || cols % LANES == 0);
  t->last = cols - (vecs - 1) * LANES;
  t->table = direct && j->b_row.table != NULL ? j->b_row.table + from : NULL;
  if (direct) {
    t->b_row = j->b_row.stride;
    t->b = j->b + axis_at(&j->b_col, col);
    if (t->table == NULL) t->b += from * j->b_row.stride;
    return;
  }
  REAL *room = j->b_room + (j->rows > BLOCK_ROWS ? col * t->depth : 0);
  t->b = room, t->b_row = vecs * LANES;
  if (!again)
    pack(j->b, &j->b_col, col, cols, &j->b_row, from, t->depth, room,
         vecs * LANES);
}

static void piece(const Job *j, int64_t from, int64_t depth, bool first,
                  bool last) {
  Tile t = {.depth = depth};
  const int64_t blocks = ceil_div(j->rows, BLOCK_ROWS);
  for (int64_t i = 0; i < blocks; i++) {
    const int64_t row = i * j->rows / blocks;
    const int64_t rows = (i + 1) * j->rows / blocks - row;
    const Strip s = strip_new(row, rows, j->tile);
    place_a(j, &t, from, &s);
    for (int64_t col = 0; col < j->cols;) {
      int width = j->width;
      while (width > 0 && j->cols - col <= (LANES << width) - LANES) width--;
      const int64_t cols = min_i64(j->cols - col, LANES << width);
      place_b(j, &t, from, col, cols, 1 << width, i > 0);
      panel(j, &t, &s, col, width, cols, first, last);
      col += cols;
    }
  }
}

static void run(const Job *j) {
  const int64_t k = j->g->k, pieces = k == 0 ? 1 : ceil_div(k, DEPTH);
  for (int64_t i = 0; i < pieces; i++) {
    const int64_t from = i * k / pieces, to = (i + 1) * k / pieces;
    piece(j, from, to - from, i == 0, i == pieces - 1);
  }
}

/* Move an operand's first element along an axis. */
static const REAL *skip(const REAL *x, GemmAxis *axis, int64_t count) {
  if (axis->table == NULL) return x + count * axis->stride;
  axis->table += count;
  return x;
}

/* Bytes from the first to the last element of a piece of an operand. */
static int64_t extent(int64_t count, int64_t stride, int64_t depth,
                      int64_t step) {
  const int64_t across = (count - 1) * (stride < 0 ? -stride : stride);
  return (across + (depth - 1) * (step < 0 ? -step : step)) * REAL_BYTES;
}

/* Is B read often enough, or far enough, to be packed? */
static bool b_stays(const Job *j, int64_t depth) {
  const int64_t tiles = ceil_div(j->rows, ROWS);
  if (!axis_is_unit(&j->b_col, 0, j->cols)) return false;
  if (j->b_row.table != NULL) return j->rows <= 2 * TABLE_ROWS;
  const bool crowded = j->b_row.stride * REAL_BYTES % CROWDED_BYTES == 0;
  return tiles <= 2 || (tiles <= FEW_READS && !crowded) ||
         extent(j->cols, 1, depth, j->b_row.stride) <= DIRECT_BYTES;
}

static bool a_stays(const Job *j, int64_t depth) {
  if (j->a_row.table != NULL || j->a_col.table != NULL) return false;
  return j->cols <= 4 * LANES ||
         extent(j->rows, j->a_row.stride, depth, j->a_col.stride) <=
             DIRECT_BYTES;
}

/* Packing pays when it is used often, or straightens what a vector cannot
 * read.  Neither choice changes a bit. */
static void choose(Job *j) {
  const int64_t depth = min_i64(j->g->k, DEPTH);
  j->a_direct = a_stays(j, depth);
  j->b_direct = b_stays(j, depth);
  j->tile = j->b_direct && j->b_row.table != NULL ? TABLE_ROWS : ROWS;
  j->width = 1;
  if (j->rows > j->tile) return;
  while (j->width < 3 && kernels[j->rows - 1][j->width + 1][0] != NULL)
    j->width++;
}

static int64_t round_up(int64_t n) { return ceil_div(n, LANES) * LANES; }

/* A product that is one panel, read and written where it lies. */
static bool is_one_panel(const Job *j) {
  const bool whole = VEC_MASKED || j->cols % LANES == 0;
  return j->cols <= 2 * LANES && j->g->k <= DEPTH && whole && j->a_direct &&
         j->b_direct && j->b_row.table == NULL && is_plain(j->g, true, true);
}

/* Small products: nothing is decided inside the loops. */
static void panels(const Job *j, int64_t batches) {
  const Gemm *g = j->g;
  const int width = j->cols > LANES;
  const Strip s = strip_new(0, j->rows, j->tile);
  Tile t = {.a_row = j->a_row.stride, .a_col = j->a_col.stride,
            .b = j->b + axis_at(&j->b_col, 0), .b_row = j->b_row.stride,
            .depth = g->k, .last = j->cols - LANES * width,
            .out_row = g->c_row, .add = g->beta == 1};
  for (int64_t i = 0; i < batches; i++) {
    t.a = j->a + i * g->a.batch;
    t.out = j->c + i * g->c_batch;
    for (int64_t n = 0; n < s.tiles; n++) {
      const int64_t count = strip_height(&s, n);
      kernels[count - 1][width][0](&t);
      t.a += count * t.a_row, t.out += count * t.out_row;
    }
    t.b += g->b.batch;
  }
}

/* The block's operands, moved to its first element. */
static Job open_job(const Gemm *g, const GemmBlock *w) {
  Job j = {.g = g, .rows = w->rows, .cols = w->cols};
  j.a_row = g->a.row, j.a_col = g->a.col;
  j.b_row = g->b.row, j.b_col = g->b.col;
  j.a = skip((const REAL *)g->a.data, &j.a_row, w->row);
  j.b = skip((const REAL *)g->b.data, &j.b_col, w->col);
  j.a += w->batch * g->a.batch;
  j.b += w->batch * g->b.batch;
  j.c = (REAL *)g->c + w->row * g->c_row + w->col * g->c_col +
        w->batch * g->c_batch;
  j.bias = (const REAL *)g->bias;
  if (j.bias != NULL) j.bias += w->row * g->bias_row + w->col * g->bias_col;
  return j;
}

static void block(const Gemm *g, const GemmBlock *w, void *scratch) {
  Job j = open_job(g, w);
  choose(&j);
  if (is_one_panel(&j)) {
    panels(&j, w->batches);
    return;
  }
  const int64_t panel_cols =
      j.rows > BLOCK_ROWS ? j.cols : min_i64((int64_t)LANES << j.width, j.cols);
  j.b_room = (REAL *)scratch; /* whole vectors: stays aligned */
  j.a_room = j.b_room + round_up(panel_cols) * min_i64(g->k, DEPTH);
  for (int64_t i = 0; i < w->batches; i++) {
    run(&j);
    j.a += g->a.batch, j.b += g->b.batch, j.c += g->c_batch;
  }
}
