/* rows_type.h: softmax and its kin for REAL; read twice by rows_level.c.
 *
 *   x  x x x ... x x x | x x x . .      n = whole + rest
 *   --- whole, in place --|-- tail: copied, filled up to a multiple of PAD
 *
 * So every loop is of whole vectors, also for rows of ten classes; what the
 * tail was filled with is not added.  `whole` is a multiple of FOLD_LANES.
 * Must not know: threads.
 */

/* Places that a term reads and writes; w and b may be NULL. */
typedef struct FN(Span) {
  const REAL *x, *g, *w, *b;
  REAL *y;
} FN(Span);

typedef struct FN(Row) {
  FN(Span) main, tail;
  int64_t n, whole;
  int rest;
  REAL shift, scale, mean, part;
} FN(Row);

typedef struct FN(Pads) {
  REAL x[FOLD_LANES], g[FOLD_LANES], w[FOLD_LANES], b[FOLD_LANES];
  REAL y[FOLD_LANES];
} FN(Pads);

/* Element i of a span; may store y[i]. */
typedef REAL FN(Term)(const FN(Span) *s, const FN(Row) *r, int64_t i);

/* ---- loops ---- */

/* Constant halves: a step is a vector operation. */
#define MEET(half, step) \
  for (int k = 0; k < (half); k++) lane[k] = step(lane[k], lane[k + (half)]);
#define TREE(step)                                          \
  MEET(32, step) MEET(16, step) MEET(8, step) MEET(4, step) \
  MEET(2, step) MEET(1, step)

SM REAL FN(plus)(REAL a, REAL b) { return a + b; }
/* NaN in b is passed over. */
SM REAL FN(larger)(REAL a, REAL b) { return b > a ? b : a; }

INLINE REAL FN(sum_chunk)(FN(Term) *term, const FN(Row) *r, int64_t first,
                          int64_t last) {
  const FN(Span) main = r->main, tail = r->tail;
  REAL lane[FOLD_LANES] = {0};
  for (int64_t i = first; i + FOLD_LANES <= last; i += FOLD_LANES) {
    IVDEP
    for (int k = 0; k < FOLD_LANES; k++) lane[k] += term(&main, r, i + k);
  }
  const int rest = last == r->n ? r->rest : 0;
  for (int i = 0; i < FOLD_LANES; i += PAD) {
    if (i >= rest) break;
    WHOLE_VECTORS
    for (int k = 0; k < PAD; k++) {
      const REAL t = term(&tail, r, i + k);
      lane[i + k] += i + k < rest ? t : 0;
    }
  }
  TREE(FN(plus))
  return lane[0];
}

/* Chunks meet as a counter carries. */
INLINE REAL FN(sum)(FN(Term) *term, const FN(Row) *r) {
  REAL stack[64];
  int depth = 0;
  for (int64_t chunk = 0; chunk * FOLD_CHUNK < r->n; chunk++) {
    const int64_t first = chunk * FOLD_CHUNK;
    stack[depth++] = FN(sum_chunk)(term, r, first,
                                   min_i64(first + FOLD_CHUNK, r->n));
    for (int64_t bits = chunk; bits & 1; bits >>= 1, depth--)
      stack[depth - 2] += stack[depth - 1];
  }
  for (; depth > 1; depth--) stack[depth - 2] += stack[depth - 1];
  return stack[0];
}

/* y[i] = term i; y may be what the term reads at i. */
INLINE void FN(each)(FN(Term) *term, const FN(Row) *r) {
  const FN(Span) main = r->main, tail = r->tail;
  for (int64_t i = 0; i < r->whole; i += FOLD_LANES) {
    IVDEP
    for (int k = 0; k < FOLD_LANES; k++)
      main.y[i + k] = term(&main, r, i + k);
  }
  for (int i = 0; i < r->rest; i += PAD) {
    WHOLE_VECTORS
    for (int k = 0; k < PAD; k++) tail.y[i + k] = term(&tail, r, i + k);
  }
}

/* The greatest number; NaN is passed over, sums will show it.  -inf where
 * there is none. */
NOINLINE REAL FN(greatest)(const FN(Row) *r) {
  const REAL *x = r->main.x, *tail = r->tail.x;
  REAL lane[FOLD_LANES];
  for (int k = 0; k < FOLD_LANES; k++) lane[k] = -(REAL)INFINITY;
  for (int64_t i = 0; i < r->whole; i += FOLD_LANES)
    for (int k = 0; k < FOLD_LANES; k++)
      lane[k] = FN(larger)(lane[k], x[i + k]);
  for (int i = 0; i < FOLD_LANES; i += PAD) {
    if (i >= r->rest) break;
    for (int k = 0; k < PAD; k++)
      lane[i + k] = FN(larger)(lane[i + k], tail[i + k]);
  }
  TREE(FN(larger))
  return lane[0];
}

/* e^t, t <= 88 or NaN, with the bits of sm_exp, whose limits are not needed.
 * Where it is 0 the product would underflow, which costs a vector some hundred
 * cycles, and -inf is a common mask: e^0 is computed and not taken. */
SM REAL FN(decay)(REAL t) {
  const REAL least = REAL_BITS == 32 ? (REAL)-104 : (REAL)-746;
  const REAL c = t < least ? 0 : t;
  REAL z, a, b;
  const REAL r = FN(sm_exp_reduce)(c, &z);
  FN(sm_pow2_pair)(z, &a, &b);
  const REAL e = (1 + FN(sm_exp_series)(r)) * a * b;
  return t < least ? 0 : e;
}

/* A sum, or a loop, is compiled once for each term; with a row of its own,
 * which no store can change. */
#define SUM(name)                                  \
  NOINLINE REAL FN(sum_##name)(const FN(Row) *r) { \
    const FN(Row) own = *r;                        \
    return FN(sum)(FN(term_##name), &own);         \
  }
#define EACH(name)                                  \
  NOINLINE void FN(each_##name)(const FN(Row) *r) { \
    const FN(Row) own = *r;                         \
    FN(each)(FN(term_##name), &own);                \
  }
#define TERM(name, value)                                               \
  SM REAL FN(term_##name)(const FN(Span) *s, const FN(Row) *r, int64_t i) { \
    (void)r;                                                            \
    return value;                                                       \
  }

/* ---- rows ---- */

INLINE const REAL *FN(pad)(const FN(Row) *r, const REAL *x, REAL fill,
                           REAL *to) {
  if (x == NULL || r->rest == 0) return to;
  for (int i = 0; i < r->rest; i += PAD)
    for (int k = 0; k < PAD; k++) to[i + k] = fill;
  for (int k = 0; k < r->rest; k++) to[k] = x[r->whole + k];
  return to;
}

INLINE void FN(row_open)(FN(Row) *r, int64_t n, const REAL *x, const REAL *g,
                         REAL *y, FN(Pads) *pads) {
  r->n = n, r->whole = n - n % FOLD_LANES, r->rest = (int)(n % FOLD_LANES);
  r->main = (FN(Span)){.x = x, .g = g, .y = y};
  r->tail.x = FN(pad)(r, x, -(REAL)INFINITY, pads->x);
  r->tail.g = FN(pad)(r, g, 0, pads->g);
  r->tail.y = pads->y;
}

/* The tail of y goes where it belongs. */
INLINE void FN(row_close)(const FN(Row) *r) {
  for (int k = 0; k < r->rest; k++) r->main.y[r->whole + k] = r->tail.y[k];
}

#define ROWS_LOOP(name, Struct)                                        \
  static void FN(name)(const Struct *s, int64_t first, int64_t last) { \
    for (int64_t i = first; i < last; i++) FN(name##_row)(s, i);       \
  }
#define AT(s, field, i) ((REAL *)(void *)(s)->field + (i) * (s)->n)
#define FROM(s, field, i) \
  ((const REAL *)(const void *)(s)->field + (i) * (s)->n)

/* log(sum(e^x)) as shift + log: added up, the second is lost where the first is
 * large, and with it every weight e^(x - lse). */
typedef struct FN(Lse) {
  REAL shift, log;
} FN(Lse);

/* The greatest number is infinite: so is the sum, unless NaN is about. */
NOINLINE FN(Lse) FN(edge_lse)(const REAL *x, int64_t n, REAL m) {
  for (int64_t i = 0; i < n; i++)
    if (x[i] != x[i]) return (FN(Lse)){x[i], 0};
  return (FN(Lse)){m, 0};
}

/* ---- rows of one vector ----
 *
 * Ten classes are common: a row of at most PAD numbers has its own way, which
 * adds in the same order (the lanes that it leaves out hold 0). */

/* Loops over PAD places that leave some out: masked vector operations. */
INLINE void FN(tiny_load)(const REAL *x, int64_t n, REAL *to) {
  WHOLE_VECTORS
  for (int k = 0; k < PAD; k++) to[k] = k < (int)n ? x[k] : -(REAL)INFINITY;
}

INLINE void FN(tiny_store)(const REAL *from, int64_t n, REAL *y) {
  WHOLE_VECTORS
  for (int k = 0; k < PAD; k++)
    if (k < (int)n) y[k] = from[k];
}

#define TINY_TREE(step) MEET(8, step) MEET(4, step) MEET(2, step) MEET(1, step)
INLINE REAL FN(tiny_greatest)(const REAL *x) {
  REAL lane[PAD];
  for (int k = 0; k < PAD; k++) lane[k] = x[k];
  TINY_TREE(FN(larger))
  return FN(larger)(-(REAL)INFINITY, lane[0]); /* not NaN */
}

/* e[k] = e^(x[k] - shift); the sum of the first n. */
INLINE REAL FN(tiny_exp)(const REAL *x, int64_t n, REAL shift, REAL *e) {
  REAL lane[PAD];
  WHOLE_VECTORS
  for (int k = 0; k < PAD; k++) e[k] = FN(decay)(x[k] - shift);
  WHOLE_VECTORS
  for (int k = 0; k < PAD; k++) lane[k] = k < (int)n ? 0 + e[k] : 0;
  TINY_TREE(FN(plus))
  return lane[0];
}
#undef TINY_TREE

NOINLINE void FN(tiny_softmax)(const Softmax *s, int64_t i) {
  const REAL *from = FROM(s, x, i);
  REAL x[PAD], e[PAD], *y = AT(s, y, i);
  FN(tiny_load)(from, s->n, x);
  const REAL m = FN(tiny_greatest)(x), sum = FN(tiny_exp)(x, s->n, m, e);
  const REAL part = s->log ? FN(sm_log)(sum) : 1 / sum;
  if (s->log)
    for (int k = 0; k < PAD; k++) e[k] = (x[k] - m) - part;
  else
    for (int k = 0; k < PAD; k++) e[k] *= part;
  FN(tiny_store)(e, s->n, y);
}

NOINLINE FN(Lse) FN(tiny_lse)(const REAL *from, int64_t n) {
  REAL x[PAD], e[PAD];
  FN(tiny_load)(from, n, x);
  const REAL m = FN(tiny_greatest)(x);
  if (m - m != 0) return FN(edge_lse)(from, n, m);
  return (FN(Lse)){m, FN(sm_log)(FN(tiny_exp)(x, n, m, e))};
}

/* ---- softmax ---- */

TERM(exp, FN(decay)(s->x[i] - r->shift))
TERM(kept, s->y[i] = FN(decay)(s->x[i] - r->shift))
TERM(scaled, s->y[i] * r->scale)
TERM(log, (s->x[i] - r->shift) - r->scale)
SUM(exp)
SUM(kept)
EACH(scaled)
EACH(log)

INLINE void FN(softmax_row)(const Softmax *s, int64_t i) {
  FN(Pads) pads;
  FN(Row) r;
  if (s->n <= PAD) {
    FN(tiny_softmax)(s, i);
    return;
  }
  FN(row_open)(&r, s->n, FROM(s, x, i), NULL, AT(s, y, i), &pads);
  r.shift = FN(greatest)(&r);
  if (s->log) {
    r.scale = FN(sm_log)(FN(sum_exp)(&r));
    FN(each_log)(&r);
  } else {
    r.scale = 1 / FN(sum_kept)(&r);
    FN(each_scaled)(&r);
  }
  FN(row_close)(&r);
}
ROWS_LOOP(softmax, Softmax)

TERM(g, s->g[i])
TERM(gx, s->g[i] * s->x[i])
TERM(pull, s->x[i] * (s->g[i] - r->part))
TERM(log_pull, s->g[i] - FN(decay)(s->x[i]) * r->part)
SUM(g)
SUM(gx)
EACH(pull)
EACH(log_pull)

INLINE void FN(softmax_pull_row)(const Softmax *s, int64_t i) {
  FN(Pads) pads;
  FN(Row) r;
  FN(row_open)(&r, s->n, FROM(s, x, i), FROM(s, g, i), AT(s, y, i), &pads);
  if (s->log) {
    r.part = FN(sum_g)(&r);
    FN(each_log_pull)(&r);
  } else {
    r.part = FN(sum_gx)(&r);
    FN(each_pull)(&r);
  }
  FN(row_close)(&r);
}
ROWS_LOOP(softmax_pull, Softmax)

/* ---- log(sum(e^x)) ---- */

INLINE FN(Lse) FN(row_lse)(const REAL *x, int64_t n) {
  FN(Pads) pads;
  FN(Row) r;
  if (n <= PAD) return FN(tiny_lse)(x, n);
  FN(row_open)(&r, n, x, NULL, NULL, &pads);
  const REAL m = FN(greatest)(&r);
  if (m - m != 0) return FN(edge_lse)(x, n, m);
  r.shift = m;
  return (FN(Lse)){m, FN(sm_log)(FN(sum_exp)(&r))};
}

INLINE void FN(logsumexp_row)(const LogSumExp *s, int64_t i) {
  const FN(Lse) lse = FN(row_lse)(FROM(s, x, i), s->n);
  ((REAL *)(void *)s->y)[i] = lse.shift + lse.log;
}
ROWS_LOOP(logsumexp, LogSumExp)

/* ---- cross entropy ---- */

INLINE int64_t FN(label_of)(const CrossEntropy *s, int64_t i) {
  return ((const int64_t *)(const void *)s->label)[i];
}

INLINE void FN(cross_entropy_row)(const CrossEntropy *s, int64_t i) {
  const REAL *x = FROM(s, x, i);
  const FN(Lse) lse = FN(row_lse)(x, s->n);
  const int64_t label = FN(label_of)(s, i);
  ((FN(Lse) *)(void *)s->lse)[i] = lse;
  ((REAL *)(void *)s->loss)[i] =
      label == s->ignore ? 0 : lse.log + (lse.shift - x[label - s->base]);
}
ROWS_LOOP(cross_entropy, CrossEntropy)

TERM(cross, r->scale * FN(decay)((s->x[i] - r->shift) - r->part))
EACH(cross)

INLINE void FN(cross_entropy_pull_row)(const CrossEntropy *s, int64_t i) {
  FN(Pads) pads;
  FN(Row) r;
  REAL *y = AT(s, gx, i);
  const int64_t label = FN(label_of)(s, i);
  if (label == s->ignore) {
    for (int64_t k = 0; k < s->n; k++) y[k] = 0;
    return;
  }
  FN(row_open)(&r, s->n, FROM(s, x, i), NULL, y, &pads);
  const FN(Lse) lse = ((const FN(Lse) *)(const void *)s->lse)[i];
  r.shift = lse.shift, r.part = lse.log;
  r.scale = ((const REAL *)(const void *)s->g)[i * s->g_stride];
  const int64_t j = label - s->base;
  const REAL own =
      r.scale * (FN(decay)((r.main.x[j] - r.shift) - r.part) - 1);
  FN(each_cross)(&r);
  FN(row_close)(&r);
  y[j] = own; /* last: gx may be x */
}
ROWS_LOOP(cross_entropy_pull, CrossEntropy)

/* ---- layer norm ---- */

#define CENTRED (s->x[i] - r->mean)
#define NORMED (CENTRED * r->scale) /* v of backend.h */
TERM(x, s->x[i])
TERM(square, CENTRED * CENTRED)
TERM(v, NORMED)
TERM(vw, NORMED * s->w[i])
TERM(vb, NORMED + s->b[i])
TERM(vwb, NORMED * s->w[i] + s->b[i])
SUM(x)
SUM(square)
EACH(v)
EACH(vw)
EACH(vb)
EACH(vwb)

INLINE void FN(weights)(const LayerNorm *s, FN(Row) *r, FN(Pads) *pads) {
  r->main.w = (const REAL *)(const void *)s->w;
  r->main.b = (const REAL *)(const void *)s->b;
  r->tail.w = FN(pad)(r, r->main.w, 1, pads->w);
  r->tail.b = FN(pad)(r, r->main.b, 0, pads->b);
}

INLINE void FN(layer_norm_row)(const LayerNorm *s, int64_t i) {
  FN(Pads) pads;
  FN(Row) r;
  FN(row_open)(&r, s->n, FROM(s, x, i), NULL, AT(s, y, i), &pads);
  FN(weights)(s, &r, &pads);
  r.mean = FN(sum_x)(&r) / (REAL)s->n;
  const REAL var = FN(sum_square)(&r) / (REAL)s->n;
  r.scale = 1 / CFN(sqrt)(var + (REAL)s->eps);
  ((REAL *)(void *)s->mean)[i] = r.mean;
  ((REAL *)(void *)s->rstd)[i] = r.scale;
  if (s->w != NULL && s->b != NULL) FN(each_vwb)(&r);
  else if (s->w != NULL) FN(each_vw)(&r);
  else if (s->b != NULL) FN(each_vb)(&r);
  else FN(each_v)(&r);
  FN(row_close)(&r);
}
ROWS_LOOP(layer_norm, LayerNorm)

TERM(gw, s->g[i] * s->w[i])
TERM(gv, s->g[i] * NORMED)
TERM(gwv, s->g[i] * s->w[i] * NORMED)
TERM(norm_pull, r->scale * (s->g[i] - r->shift - NORMED * r->part))
TERM(norm_pull_w,
     r->scale * (s->g[i] * s->w[i] - r->shift - NORMED * r->part))
SUM(gw)
SUM(gv)
SUM(gwv)
EACH(norm_pull)
EACH(norm_pull_w)

INLINE void FN(layer_norm_pull_row)(const LayerNorm *s, int64_t i) {
  FN(Pads) pads;
  FN(Row) r;
  const REAL count = (REAL)s->n;
  FN(row_open)(&r, s->n, FROM(s, x, i), FROM(s, g, i), AT(s, gx, i), &pads);
  FN(weights)(s, &r, &pads);
  r.mean = ((const REAL *)(const void *)s->mean)[i];
  r.scale = ((const REAL *)(const void *)s->rstd)[i];
  if (s->w == NULL) {
    r.shift = FN(sum_g)(&r) / count;
    r.part = FN(sum_gv)(&r) / count;
    FN(each_norm_pull)(&r);
  } else {
    r.shift = FN(sum_gw)(&r) / count;
    r.part = FN(sum_gwv)(&r) / count;
    FN(each_norm_pull_w)(&r);
  }
  FN(row_close)(&r);
}
ROWS_LOOP(layer_norm_pull, LayerNorm)
#undef CENTRED
#undef NORMED

/* ---- sums over rows ---- */

/* Lanes of the two sums, a block of columns wide. */
typedef struct FN(Lanes) {
  REAL w[FOLD_LANES][NORM_COLUMNS], b[FOLD_LANES][NORM_COLUMNS];
} FN(Lanes);

INLINE void FN(lanes_chunk)(const LayerNorm *s, int64_t column, int64_t cols,
                            int64_t first, int64_t last, FN(Lanes) *lane) {
  memset(lane, 0, sizeof *lane);
  for (int64_t i = first; i < last; i++) {
    const REAL *x = FROM(s, x, i) + column, *g = FROM(s, g, i) + column;
    const REAL mean = ((const REAL *)(const void *)s->mean)[i];
    const REAL rstd = ((const REAL *)(const void *)s->rstd)[i];
    REAL *restrict w = lane->w[i % FOLD_LANES];
    REAL *restrict b = lane->b[i % FOLD_LANES];
    for (int64_t c = 0; c < cols; c++) {
      w[c] += g[c] * ((x[c] - mean) * rstd);
      b[c] += g[c];
    }
  }
  for (int half = FOLD_LANES / 2; half > 0; half /= 2)
    for (int k = 0; k < half; k++)
      for (int c = 0; c < NORM_COLUMNS; c++) {
        lane->w[k][c] += lane->w[k + half][c];
        lane->b[k][c] += lane->b[k + half][c];
      }
}

/* top[-1] goes into top[-2]. */
INLINE void FN(meet)(REAL (*top)[NORM_COLUMNS]) {
  for (int c = 0; c < NORM_COLUMNS; c++) top[-2][c] += top[-1][c];
}

static void FN(norm_weights)(const LayerNorm *s, int64_t first, int64_t last) {
  enum { LEVELS = 44 };
  FN(Lanes) lane;
  REAL w[LEVELS][NORM_COLUMNS], b[LEVELS][NORM_COLUMNS];
  int depth = 0;
  for (int64_t chunk = 0; chunk * FOLD_CHUNK < s->rows; chunk++) {
    const int64_t row = chunk * FOLD_CHUNK;
    FN(lanes_chunk)(s, first, last - first, row,
                    min_i64(row + FOLD_CHUNK, s->rows), &lane);
    memcpy(w[depth], lane.w[0], sizeof w[0]);
    memcpy(b[depth++], lane.b[0], sizeof b[0]);
    for (int64_t bits = chunk; bits & 1; bits >>= 1, depth--)
      FN(meet)(w + depth), FN(meet)(b + depth);
  }
  for (; depth > 1; depth--) FN(meet)(w + depth), FN(meet)(b + depth);
  const size_t bytes = (size_t)(last - first) * sizeof(REAL);
  if (s->gw != NULL) memcpy((REAL *)(void *)s->gw + first, w[0], bytes);
  if (s->gb != NULL) memcpy((REAL *)(void *)s->gb + first, b[0], bytes);
}
#undef MEET
#undef TREE
#undef SUM
#undef EACH
#undef TERM
#undef ROWS_LOOP
#undef AT
#undef FROM
