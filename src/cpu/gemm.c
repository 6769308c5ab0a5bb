/* gemm.c: chooses the instruction set and cuts C into chunks.
 *
 * Always: the cut depends on shape, strides and level, never on threads, and
 * moves no bits.  Must not know: how a block is computed (gemm_level.c). */
#include "cpu/gemm.h"
#include "cpu/level.h"
#include "ground/check.h"

enum {
  CHUNK_FLOPS = 2 << 20,  /* 10 us at 200 GFLOP/s: several times a wake-up */
  LARGE_FLOPS = 32 << 20, /* from here on four chunks cost nothing */
  CHUNK_SIDE = 1024,      /* packing costs 1 / side of the work */
  CHUNK_READS = 1 << 18,  /* of a matrix read once: 1 MiB of f32, 10-100 us */
  CHUNK_COLS = 64,        /* least of those: four vectors, a line each */
  WIDEST = 8,             /* vectors of a panel, when a block has few rows */
  ROOM_ALIGN = 64         /* a cache line, and the widest vector */
};

#define LEVEL(name)                                            \
  extern const GemmLevel gemm_##name##_f32, gemm_##name##_f64, \
      gemm_##name##_u32, gemm_##name##_u64;                    \
  static const GemmLevel *const name##_types[GEMM_TYPES] = {   \
      [GEMM_F32] = &gemm_##name##_f32,                         \
      [GEMM_F64] = &gemm_##name##_f64,                         \
      [GEMM_I32] = &gemm_##name##_u32,                         \
      [GEMM_I64] = &gemm_##name##_u64,                         \
      [GEMM_U8] = &gemm_##name##_u32};

LEVEL(base)
#if defined(__x86_64__)
LEVEL(avx2)
LEVEL(avx512)
#endif

static const GemmLevel *const *const levels[LEVEL_COUNT] = {
    [LEVEL_BASE] = base_types,
#if defined(__x86_64__)
    [LEVEL_AVX2] = avx2_types,
    [LEVEL_AVX512] = avx512_types
#endif
};

const GemmLevel *gemm_level(int level, int type) {
  assert(levels[level] != NULL);
  return levels[level][type];
}

static GemmOperand transposed(GemmOperand x) {
  return (GemmOperand){x.data, x.col, x.row, x.batch};
}

/* C' = B' A'.  Each element adds the same products in the same order. */
static void swap(Gemm *g) {
  const Gemm was = *g;
  g->m = was.n, g->n = was.m;
  g->a = transposed(was.b), g->b = transposed(was.a);
  g->c_row = was.c_col, g->c_col = was.c_row;
  g->bias_row = was.bias_col, g->bias_col = was.bias_row;
}

static bool is_vector(const Gemm *g) {
  return !g->tiled && (g->m == 1 || g->n == 1);
}

/* Vectors run along n: give them the long or the contiguous axis of C.  A
 * vector is a row. */
static bool should_swap(const Gemm *g, int lanes) {
  if (is_vector(g)) return g->m != 1;
  if (g->n * 2 <= lanes && g->m > g->n) return true;
  if (g->m * 2 <= lanes && g->n > g->m) return false;
  return g->c_row == 1 && g->c_col != 1;
}

/* Is a chunk of this size worth another cut? */
static bool is_long(const GemmPlan *p, const GemmBlock *s) {
  const double flops = 2.0 * (double)s->rows * (double)s->cols * (double)p->g.k;
  const int64_t count =
      p->g.batch * ceil_div(p->g.m, s->rows) * ceil_div(p->g.n, s->cols);
  return (count < 2 && flops > CHUNK_FLOPS) ||
         (count < 4 && flops > LARGE_FLOPS) || s->cols > CHUNK_SIDE;
}

static int64_t half_up(int64_t n, int64_t unit) {
  return ceil_div(ceil_div(n, 2), unit) * unit;
}

/* At most CHUNK_SIDE rows, then halve the longer side while that pays. */
static void cut(GemmPlan *p) {
  const Gemm *g = &p->g;
  const int64_t unit = 2 * p->level->lanes;
  GemmBlock *s = &p->size;
  s->rows = ceil_div(g->m, ceil_div(g->m, CHUNK_SIDE));
  while (is_long(p, s)) {
    if (s->cols >= s->rows && s->cols > unit)
      s->cols = half_up(s->cols, unit);
    else if (s->rows > unit)
      s->rows = half_up(s->rows, 1);
    else
      break;
  }
}

/* A row: the matrix is read once, so bytes count. */
static void cut_vector(GemmPlan *p) {
  const Gemm *g = &p->g;
  const int64_t k = g->k > 0 ? g->k : 1;
  const int64_t cols = ceil_div(CHUNK_READS / k, CHUNK_COLS) * CHUNK_COLS;
  p->size.cols = min_i64(g->n, max_i64(cols, CHUNK_COLS));
}

/* Small products share a chunk. */
static void bundle(GemmPlan *p, double flops) {
  const Gemm *g = &p->g;
  if (g->batch == 1) return;
  const double each = flops + 16.0 * (double)g->m * (double)g->n;
  if (each < CHUNK_FLOPS) p->size.batches = (int64_t)(CHUNK_FLOPS / each);
  p->size.batches = min_i64(p->size.batches, g->batch);
}

/* A packed block of A, a packed panel of B (all panels, when several blocks
 * of A share them), and a vector beyond each. */
static int64_t block_room(const GemmPlan *p) {
  const GemmLevel *l = p->level;
  const int64_t depth = min_i64(p->g.k, l->depth);
  const bool few = p->size.rows <= l->rows ||
                   p->grid_rows * p->size.rows != p->g.m;
  const int64_t most = few ? WIDEST : 2;
  const bool shared = p->size.rows > l->block_rows;
  const int64_t rows = shared ? l->block_rows : p->size.rows;
  const int64_t vecs = ceil_div(p->size.cols, l->lanes);
  const int64_t width = (shared ? vecs : min_i64(vecs, most)) * l->lanes;
  return (rows + width) * depth + 2 * l->lanes;
}

static size_t room(const GemmPlan *p) {
  const GemmLevel *l = p->level;
  int64_t count = 0;
  if (p->g.type > GEMM_F64)
    count = (2 * l->lanes + l->rows) * l->depth;
  else if (p->work == l->vector)
    count = l->vector_room + p->g.k;
  else
    count = block_room(p);
  return (size_t)(ceil_div(count * l->bytes, ROOM_ALIGN) * ROOM_ALIGN);
}

/* Most products are one chunk, and a division costs as much as 4 x 4 x 4. */
static int64_t pieces(int64_t count, int64_t each) {
  return count == each ? 1 : ceil_div(count, each);
}

GemmPlan gemm_plan(const Gemm *g, int level) {
  GemmPlan p = {.g = *g,
                .level = gemm_level(level, g->type),
                .grid_rows = 1,
                .grid_cols = 1};
  if (g->alpha == 0) p.g.k = 0;
  if (should_swap(g, p.level->lanes)) swap(&p.g);
  const bool vector = is_vector(g);
  p.work = vector ? p.level->vector : p.level->block;
  p.size = (GemmBlock){.batches = 1, .rows = p.g.m, .cols = p.g.n};
  if (g->m == 0 || g->n == 0 || g->batch == 0) return p; /* no chunks */
  const double flops = 2.0 * (double)g->m * (double)g->n * (double)p.g.k;
  if (flops <= CHUNK_FLOPS && p.g.m <= CHUNK_SIDE && p.g.n <= CHUNK_SIDE)
    bundle(&p, flops);
  else if (!vector)
    cut(&p);
  else if (cut_vector(&p), p.size.cols == p.g.n)
    bundle(&p, flops);
  p.grid_rows = pieces(p.g.m, p.size.rows);
  p.grid_cols = pieces(p.g.n, p.size.cols);
  p.chunks = p.grid_rows * p.grid_cols * pieces(g->batch, p.size.batches);
  p.room = room(&p);
  return p;
}

size_t gemm_room(const Gemm *g, int level) { return gemm_plan(g, level).room; }

static GemmBlock chunk_block(const GemmPlan *p, int64_t chunk) {
  const int64_t row = chunk % p->grid_rows;
  const int64_t col = chunk / p->grid_rows % p->grid_cols;
  const int64_t batch = chunk / p->grid_rows / p->grid_cols;
  GemmBlock b = {
      batch * p->size.batches, row * p->size.rows, col * p->size.cols, 0, 0, 0};
  b.batches = min_i64(p->size.batches, p->g.batch - b.batch);
  b.rows = min_i64(p->size.rows, p->g.m - b.row);
  b.cols = min_i64(p->size.cols, p->g.n - b.col);
  return b;
}

void gemm_chunk(const GemmPlan *p, int64_t chunk, void *scratch) {
  assert(chunk >= 0 && chunk < p->chunks);
  const GemmBlock b = chunk == 0 ? p->size : chunk_block(p, chunk);
  p->work(&p->g, &b, scratch);
}
