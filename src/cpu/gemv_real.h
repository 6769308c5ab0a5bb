/* gemv_real.h: y (1, n) = x (1, k) B (k, n); read by gemm_level.c per type.
 *
 * Always: an element is CHAINS chains of fused multiply-adds from 0, chain c
 * takes the steps c, c + CHAINS, ...; they end in a tree that adds the upper
 * half to the lower one until one is left.  So one vector may hold the chains
 * of one column, or one chain of many columns, and give the same bits:
 *
 *   along   k is contiguous: lanes are chains, some columns at a time
 *   across  n is contiguous: lanes are columns; a panel of one vector has
 *           eight chains at a time, a wide one a single chain, so that its
 *           rows are read in long runs
 *
 * Other layouts are packed into rows for `across`.  With n = 1 (`dot`) nothing
 * else fills the pipes, and there are DOT_WIDTH times as many chains.
 *
 * Must not know: threads, why there is one row.
 */
#ifndef TENSUS_GEMV_REAL_H
#define TENSUS_GEMV_REAL_H

enum {
  CHAIN_BYTES = 64, /* the widest vector, for all levels */
  AT_ONCE = 8, /* sums in registers: 4 cycles long, 2 a cycle */
  WIDEST = VEC_REGISTERS == 32 ? 16 : 8, /* vectors of a panel */
  STEPS = 64, /* of k, straightened at a time: a multiple of all CHAINS */
  DOT_WIDTH = 4,
  DOT_STEPS = 512 /* straightened at a time: 4 KiB on the stack */
};
#endif

enum {
  CHAINS = CHAIN_BYTES / REAL_BYTES,
  PARTS = CHAINS / LANES,       /* vectors that hold the chains of a column */
  COLUMNS = PARTS == 4 ? 2 : 4, /* read side by side; more are slower */
  SPAN = WIDEST * LANES,        /* columns of a panel, at most */
  VECTOR_ROOM = (STEPS + CHAINS + 1) * SPAN
};

/* What one product reads, and its place in scratch. */
typedef struct Row {
  const REAL *x, *b; /* x is contiguous */
  GemmAxis b_row, b_col;
  int64_t k;
  REAL *packed;  /* (STEPS, SPAN) */
  REAL *sums;    /* (CHAINS, SPAN) */
  REAL *results; /* (SPAN) */
} Row;

/* Upper half to lower half, until one is left. */
INLINE Vec fold(Vec *v, const int count) {
  for (int half = count / 2; half > 0; half /= 2)
    VEC_UNROLL for (int i = 0; i < half; i++) v[i] += v[i + half];
  return v[0];
}

/* x[0, count) as chains; the others get -0, and -0 times 0 changes no sum,
 * not even one that is -0. */
INLINE void last_steps(const REAL *x, int64_t count, const int chains,
                       REAL *out) {
  for (int i = 0; i < chains; i++) out[i] = i < count ? x[i] : (REAL)-0.0;
}

/* r[i] = chains of column b[i], folded to one vector, for i < count. */
INLINE void along(const REAL *x, const REAL *const *b, int64_t k, Vec *r,
                  const int count) {
  Vec sum[COLUMNS * PARTS] = {{0}};
  int64_t p = 0;
  for (; p + CHAINS <= k; p += CHAINS)
    VEC_UNROLL for (int v = 0; v < PARTS; v++) {
      const Vec y = vec_load(x + p + v * LANES);
      VEC_UNROLL for (int i = 0; i < count; i++)
        sum[i * PARTS + v] = vec_fma(y, vec_load(b[i] + p + v * LANES),
                                     sum[i * PARTS + v]);
    }
  if (p < k) {
    REAL tail[CHAINS];
    last_steps(x + p, k - p, CHAINS, tail);
    VEC_UNROLL for (int v = 0; v < PARTS; v++) {
      const int64_t left = min_i64(k - p - v * LANES, LANES);
      if (left <= 0) break;
      VEC_UNROLL for (int i = 0; i < count; i++)
        sum[i * PARTS + v] =
            vec_fma(vec_load(tail + v * LANES),
                    vec_load_first(b[i] + p + v * LANES, left),
                    sum[i * PARTS + v]);
    }
  }
  VEC_UNROLL for (int i = 0; i < count; i++)
    r[i] = fold(sum + i * PARTS, PARTS);
}

/* The greatest number of columns that has a loop of its own. */
static int along_some(const REAL *x, const REAL *const *b, int64_t k, Vec *r,
                      int64_t left) {
  if (left >= COLUMNS) {
    along(x, b, k, r, COLUMNS);
    return COLUMNS;
  }
  if (left >= 2) {
    along(x, b, k, r, 2);
    return 2;
  }
  along(x, b, k, r, 1);
  return 1;
}

/* Columns [col, col + cols), cols <= LANES: one sum per lane. */
static Vec along_all(const Row *w, int64_t col, int64_t cols) {
  const REAL *b[LANES];
  Vec r[LANES];
  for (int64_t i = 0; i < LANES; i++) {
    b[i] = w->b + axis_at(&w->b_col, col + min_i64(i, cols - 1));
    if (i >= cols) r[i] = (Vec){0};
  }
  if (cols == LANES) /* no call, and most of r stays in registers */
    VEC_UNROLL for (int i = 0; i < LANES; i += COLUMNS)
      along(w->x, b + i, w->k, r + i, COLUMNS);
  for (int64_t i = 0; i < cols && cols < LANES;)
    i += along_some(w->x, b + i, w->k, r + i, cols - i);
  return vec_sums(r);
}

/* x[p] b[p][...] for the steps p of chain c, c + CHAINS, ...: one panel. */
typedef struct Panel {
  const REAL *x, *b;
  int64_t row, k, last; /* stride of b, steps, lanes of the last vector */
  REAL *sums;           /* (CHAINS, vectors) */
} Panel;

INLINE Vec panel_load(const Panel *t, const REAL *b, int v, int vecs) {
  return VEC_MASKED && v == vecs - 1 ? vec_load_first(b + v * LANES, t->last)
                                     : vec_load(b + v * LANES);
}

/* Chains [first, first + chains). */
INLINE void across(const Panel *t, int64_t first, const int chains,
                   const int vecs) {
  Vec sum[AT_ONCE * 2];
  REAL *sums = t->sums + first * vecs * LANES;
  const REAL *b = t->b + first * t->row;
  int64_t p = first;
  VEC_UNROLL for (int i = 0; i < chains * vecs; i++)
    sum[i] = vec_load(sums + i * LANES);
  for (; p + chains <= t->k; p += CHAINS, b += (CHAINS - chains) * t->row)
    VEC_UNROLL for (int c = 0; c < chains; c++, b += t->row) {
      const Vec y = vec_splat(t->x[p + c]);
      VEC_UNROLL for (int v = 0; v < vecs; v++)
        sum[c * vecs + v] =
            vec_fma(y, panel_load(t, b, v, vecs), sum[c * vecs + v]);
    }
  VEC_UNROLL for (int i = 0; i < chains * vecs; i++)
    vec_store(sums + i * LANES, sum[i]);
  for (; chains > 1 && p < t->k; p++, b += t->row, sums += vecs * LANES)
    for (int v = 0; v < vecs; v++) {
      const Vec was = vec_load(sums + v * LANES);
      const Vec y = vec_splat(t->x[p]);
      vec_store(sums + v * LANES, vec_fma(y, panel_load(t, b, v, vecs), was));
    }
}

/* Few vectors, many chains at once; many vectors, few. */
INLINE void across_chains(const Panel *t, const int vecs) {
  const int sums = VEC_REGISTERS == 32 && vecs > 1 ? 2 * AT_ONCE : AT_ONCE;
  const int chains = sums / vecs < AT_ONCE ? sums / vecs : AT_ONCE;
  for (int64_t first = 0; first < CHAINS; first += chains)
    across(t, first, chains, vecs);
}

static void across_panel(const Panel *t, int64_t vecs) {
  if (vecs == 1) across_chains(t, 1);
  else if (vecs == 2) across_chains(t, 2);
  else if (vecs == 4) across_chains(t, 4);
  else if (vecs == 8) across_chains(t, 8);
  else across_chains(t, WIDEST);
}

/* Chains (CHAINS, vecs) of a panel to results (vecs). */
static void across_tree(const REAL *sums, int64_t vecs, REAL *results) {
  for (int64_t v = 0; v < vecs; v++) {
    Vec s[CHAINS];
    VEC_UNROLL for (int c = 0; c < CHAINS; c++)
      s[c] = vec_load(sums + (c * vecs + v) * LANES);
    vec_store(results + v * LANES, fold(s, CHAINS));
  }
}

/* One panel, read in place or straightened a few steps at a time. */
static void across_all(const Row *w, int64_t col, int64_t cols, int64_t vecs) {
  const bool direct = w->b_row.table == NULL &&
                      axis_is_unit(&w->b_col, col, cols) &&
                      (VEC_MASKED || cols % LANES == 0);
  Panel t = {.x = w->x, .row = vecs * LANES, .k = w->k, .sums = w->sums,
             .b = w->packed, .last = cols - (vecs - 1) * LANES};
  memset(w->sums, 0, (size_t)(CHAINS * vecs * LANES) * sizeof(REAL));
  if (direct) {
    t.b = w->b + axis_at(&w->b_col, col), t.row = w->b_row.stride;
    across_panel(&t, vecs);
  }
  for (int64_t p = 0; p < w->k && !direct; p += STEPS) {
    t.x = w->x + p, t.k = min_i64(STEPS, w->k - p);
    pack(w->b, &w->b_col, col, cols, &w->b_row, p, t.k, w->packed, t.row);
    across_panel(&t, vecs);
  }
  across_tree(w->sums, vecs, w->results);
}

/* The widest panel that the columns fill, but for its last vector. */
static int64_t panel_vecs(int64_t cols) {
  int64_t vecs = WIDEST;
  while (vecs > 1 && cols <= (vecs - 1) * LANES) vecs /= 2;
  return vecs;
}

/* x[from, from + count) side by side: where it lies, or in room.  Without
 * elements no place is read: a table of none has no first entry. */
static const REAL *straight(const REAL *x, const GemmAxis *axis, int64_t from,
                            int64_t count, REAL *room) {
  if (count == 0) return room;
  if (axis_is_unit(axis, from, count)) return x + axis_at(axis, from);
  for (int64_t i = 0; i < count; i++) room[i] = x[axis_at(axis, from + i)];
  return room;
}

enum { DOT_VECS = DOT_WIDTH * PARTS };

static void dot_piece(const REAL *x, const REAL *y, int64_t count, Vec *r) {
  enum { SIDE = DOT_WIDTH * CHAINS };
  Vec sum[DOT_VECS];
  int64_t p = 0;
  memcpy(sum, r, sizeof sum);
  for (; p + SIDE <= count; p += SIDE)
    VEC_UNROLL for (int v = 0; v < DOT_VECS; v++)
      sum[v] = vec_fma(vec_load(x + p + v * LANES), vec_load(y + p + v * LANES),
                       sum[v]);
  if (p < count) {
    REAL tail[SIDE];
    last_steps(x + p, count - p, SIDE, tail);
    for (int v = 0; v < DOT_VECS && p + v * LANES < count; v++) {
      const int64_t left = min_i64(count - p - v * LANES, LANES);
      sum[v] = vec_fma(vec_load(tail + v * LANES),
                       vec_load_first(y + p + v * LANES, left), sum[v]);
    }
  }
  memcpy(r, sum, sizeof sum);
}

static REAL dot(const REAL *x, const GemmAxis *x_axis, const REAL *y,
                const GemmAxis *y_axis, int64_t k) {
  const bool direct = axis_is_unit(x_axis, 0, k) && axis_is_unit(y_axis, 0, k);
  const int64_t most = direct ? k : DOT_STEPS;
  REAL x_room[DOT_STEPS], y_room[DOT_STEPS];
  Vec sum[DOT_VECS] = {{0}};
  for (int64_t p = 0; p < k; p += most) {
    const int64_t count = min_i64(most, k - p);
    dot_piece(straight(x, x_axis, p, count, x_room),
              straight(y, y_axis, p, count, y_room), count, sum);
  }
  REAL lane[LANES];
  vec_store(lane, fold(sum, DOT_VECS));
  for (int half = LANES / 2; half > 0; half /= 2)
    for (int i = 0; i < half; i++) lane[i] += lane[i + half];
  return lane[0];
}

/* Columns [col, col + cols), cols <= SPAN, to results; how many are done. */
static int64_t some_results(const Job *j, const Row *w, bool k_unit,
                            int64_t col, int64_t cols) {
  if (j->g->n == 1) {
    w->results[0] = dot(j->a, &j->a_col, j->b, &j->b_row, w->k);
    return 1;
  }
  for (int64_t l = 0; l < cols && k_unit; l += LANES)
    vec_store(w->results + l, along_all(w, col + l, min_i64(LANES, cols - l)));
  if (k_unit) return cols;
  const int64_t vecs = panel_vecs(cols);
  cols = min_i64(cols, vecs * LANES);
  across_all(w, col, cols, vecs);
  return cols;
}

/* One product of a batch: results, then alpha, beta, bias, relu. */
static void row_product(const Job *j, Row *w) {
  const bool k_unit = axis_is_unit(&j->b_row, 0, w->k);
  const Tile t = {.out = w->results};
  w->b = j->b, w->b_row = j->b_row, w->b_col = j->b_col;
  for (int64_t col = 0, cols = 0; col < j->cols; col += cols) {
    cols = min_i64(SPAN, j->cols - col);
    cols = some_results(j, w, k_unit, col, cols);
    finish(j, &t, 0, col, 1, cols, true, true);
  }
}

/* A block of products with one row.  Scratch: VECTOR_ROOM, then k. */
static void vector(const Gemm *g, const GemmBlock *block, void *scratch) {
  Job j = open_job(g, block);
  REAL *room = (REAL *)scratch;
  Row w = {.k = g->k, .packed = room, .sums = room + STEPS * SPAN};
  w.results = w.sums + CHAINS * SPAN;
  for (int64_t i = 0; i < block->batches; i++) {
    if (g->n > 1) w.x = straight(j.a, &j.a_col, 0, g->k, room + VECTOR_ROOM);
    row_product(&j, &w);
    j.a += g->a.batch, j.b += g->b.batch, j.c += g->c_batch;
  }
}
