/* gemv_real.h: y (1, n) = x (1, k) B (k, n); read by gemm_level.c per type.
 *
 * Always: an element is CHAINS chains of fused multiply-adds from 0, chain c
 * takes the steps c, c + CHAINS, ...; they end in a tree that adds the upper
 * half to the lower one until one is left.  So one vector may hold the chains
 * of one column, or one chain of many columns, and give the same bits:
 *
 *   along   k is contiguous: lanes are chains, some columns at a time
 *   across  n is contiguous: lanes are columns, eight chains at a time
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
  AT_ONCE = 8,      /* sums in registers: 4 cycles long, 2 a cycle */
  WIDE = VEC_REGISTERS == 32 ? 2 : 1, /* vectors that share a splat of x */
  PANELS = 8,       /* side by side: a row is left after 128 to 1024 bytes */
  STEPS = 256,      /* of k, before the next panel: a block stays in L2 */
  DOT_WIDTH = 4,
  DOT_STEPS = 512   /* straightened at a time: 4 KiB on the stack */
};
#endif

enum {
  CHAINS = CHAIN_BYTES / REAL_BYTES,
  PARTS = CHAINS / LANES,    /* vectors that hold the chains of a column */
  COLUMNS = AT_ONCE / PARTS, /* read side by side; divides LANES */
  SPAN = WIDE * LANES,       /* columns of a panel */
  VECTOR_ROOM = (STEPS + PANELS * (CHAINS + 1)) * SPAN
};

/* What one product reads, and its place in scratch. */
typedef struct Row {
  const REAL *x, *b; /* x is contiguous */
  GemmAxis b_row, b_col;
  int64_t k;
  REAL *packed;  /* (STEPS, SPAN) */
  REAL *sums;    /* (PANELS, CHAINS, SPAN) */
  REAL *results; /* (PANELS, SPAN) */
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
  Vec sum[AT_ONCE] = {{0}};
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
  if (COLUMNS > 2 && left >= COLUMNS / 2) {
    along(x, b, k, r, COLUMNS / 2);
    return COLUMNS / 2;
  }
  along(x, b, k, r, 1);
  return 1;
}

/* Columns [col, col + cols), cols <= LANES: one sum per lane. */
static Vec along_all(const Row *w, int64_t col, int64_t cols) {
  const REAL *b[LANES];
  Vec r[LANES] = {{0}};
  for (int64_t i = 0; i < cols; i++) b[i] = w->b + axis_at(&w->b_col, col + i);
  for (int64_t i = 0; i < cols;)
    i += along_some(w->x, b + i, w->k, r + i, cols - i);
  vec_transpose(r);
  return fold(r, LANES);
}

/* AT_ONCE chains from `first` on, of a panel of `vecs` vectors. */
INLINE void across(const REAL *x, const REAL *b, int64_t row, int64_t k,
                   int64_t last, REAL *sums, int64_t first, const int vecs) {
  Vec sum[AT_ONCE][WIDE];
  int64_t p = first;
  sums += first * SPAN, b += first * row;
  VEC_UNROLL for (int c = 0; c < AT_ONCE; c++)
    VEC_UNROLL for (int v = 0; v < vecs; v++)
      sum[c][v] = vec_load(sums + c * SPAN + v * LANES);
  for (; p + AT_ONCE <= k; p += CHAINS, b += (CHAINS - AT_ONCE) * row)
    VEC_UNROLL for (int c = 0; c < AT_ONCE; c++, b += row) {
      const Vec y = vec_splat(x[p + c]);
      __builtin_prefetch(b + SPAN, 0, 2); /* the next panel */
      VEC_UNROLL for (int v = 0; v < vecs; v++) {
        const int64_t count = VEC_MASKED && v == vecs - 1 ? last : LANES;
        sum[c][v] = vec_fma(y, vec_load_first(b + v * LANES, count), sum[c][v]);
      }
    }
  VEC_UNROLL for (int c = 0; c < AT_ONCE; c++)
    VEC_UNROLL for (int v = 0; v < vecs; v++)
      vec_store(sums + c * SPAN + v * LANES, sum[c][v]);
  for (; p < k; p++, b += row, sums += SPAN)
    for (int v = 0; v < vecs; v++) {
      const int64_t count = VEC_MASKED && v == vecs - 1 ? last : LANES;
      const Vec was = vec_load(sums + v * LANES);
      vec_store(sums + v * LANES,
                vec_fma(vec_splat(x[p]), vec_load_first(b + v * LANES, count),
                        was));
    }
}

/* Steps [from, from + k) of columns [col, col + cols), read in place or
 * straightened first. */
static void across_panel(const Row *w, int64_t from, int64_t k, int64_t col,
                         int64_t cols, REAL *sums) {
  const bool direct = w->b_row.table == NULL &&
                      axis_is_unit(&w->b_col, col, cols) &&
                      (VEC_MASKED || cols % LANES == 0);
  const REAL *b = w->packed;
  if (direct) b = w->b + from * w->b_row.stride + axis_at(&w->b_col, col);
  else pack(w->b, &w->b_col, col, cols, &w->b_row, from, k, w->packed, SPAN);
  const int64_t row = direct ? w->b_row.stride : SPAN;
  const int64_t last = cols > LANES ? cols - LANES : cols;
  for (int64_t first = 0; first < CHAINS; first += AT_ONCE) {
    if (WIDE > 1 && cols > LANES)
      across(w->x + from, b, row, k, last, sums, first, WIDE);
    else
      across(w->x + from, b, row, k, last, sums, first, 1);
  }
}

/* Chains of a panel to results. */
static void across_tree(const REAL *sums, REAL *results) {
  for (int v = 0; v < WIDE; v++) {
    Vec s[CHAINS];
    VEC_UNROLL for (int c = 0; c < CHAINS; c++)
      s[c] = vec_load(sums + c * SPAN + v * LANES);
    vec_store(results + v * LANES, fold(s, CHAINS));
  }
}

/* Columns [col, col + cols), cols <= PANELS * SPAN. */
static void across_all(const Row *w, int64_t col, int64_t cols) {
  const int64_t panels = ceil_div(cols, SPAN);
  memset(w->sums, 0, (size_t)(panels * CHAINS * SPAN) * sizeof(REAL));
  for (int64_t from = 0; from < w->k; from += STEPS)
    for (int64_t i = 0; i < panels; i++)
      across_panel(w, from, min_i64(STEPS, w->k - from), col + i * SPAN,
                   min_i64(SPAN, cols - i * SPAN),
                   w->sums + i * CHAINS * SPAN);
  for (int64_t i = 0; i < panels; i++)
    across_tree(w->sums + i * CHAINS * SPAN, w->results + i * SPAN);
}

/* x[from, from + count) side by side: where it lies, or in room. */
static const REAL *straight(const REAL *x, const GemmAxis *axis, int64_t from,
                            int64_t count, REAL *room) {
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

/* One product of a batch: results, then alpha, beta, bias, relu. */
static void row_product(const Job *j, Row *w) {
  Tile t = {.out = w->results};
  const bool k_unit = axis_is_unit(&j->b_row, 0, w->k);
  w->b = j->b, w->b_row = j->b_row, w->b_col = j->b_col;
  for (int64_t col = 0; col < j->cols;) {
    const int64_t most = min_i64(k_unit ? LANES : PANELS * SPAN, j->cols - col);
    if (j->g->n == 1)
      w->results[0] = dot(j->a, &j->a_col, j->b, &j->b_row, w->k);
    else if (k_unit)
      vec_store(w->results, along_all(w, col, most));
    else
      across_all(w, col, most);
    finish(j, &t, 0, col, 1, most, true, true);
    col += most;
  }
}

/* A block of products with one row.  Scratch: VECTOR_ROOM, then k. */
static void vector(const Gemm *g, const GemmBlock *block, void *scratch) {
  Job j = open_job(g, block);
  REAL *room = (REAL *)scratch;
  Row w = {.k = g->k, .packed = room, .sums = room + STEPS * SPAN};
  w.results = w.sums + PANELS * CHAINS * SPAN;
  for (int64_t i = 0; i < block->batches; i++) {
    if (g->n > 1) w.x = straight(j.a, &j.a_col, 0, g->k, room + VECTOR_ROOM);
    row_product(&j, &w);
    j.a += g->a.batch, j.b += g->b.batch, j.c += g->c_batch;
  }
}
