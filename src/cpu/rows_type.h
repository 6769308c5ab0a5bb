/* rows_type.h: softmax and its kin for REAL; read twice by rows_level.c.
 *
 * A row shorter than FOLD_LANES is worked on in padded copies, so that every
 * loop is of whole vectors: `small` rows have `len` = n rounded up to PAD
 * places, and what lies past n is not added.  The bits are the same.
 */

/* What a loop over a row reads and writes; b is the first number of a row. */
typedef struct FN(Row) {
  int64_t n, len;
  const REAL *x, *g, *w, *b;
  REAL *y;
  REAL shift, scale, mean, part;
} FN(Row);

typedef REAL FN(Term)(const FN(Row) *r, int64_t i);

/* ---- sums ---- */

INLINE REAL FN(tree)(REAL *lane) {
  for (int half = FOLD_LANES / 2; half > 8; half /= 2)
    for (int k = 0; k < half; k++) lane[k] += lane[k + half];
  for (int half = 8; half > 0; half /= 2)
    for (int k = 0; k < half; k++) lane[k] += lane[k + half];
  return lane[0];
}

/* The sum of a small row: one element per lane. */
INLINE REAL FN(sum_small)(FN(Term) *term, const FN(Row) *r) {
  REAL lane[FOLD_LANES] = {0};
  for (int64_t i = 0; i < r->len; i += PAD)
    for (int k = 0; k < PAD; k++) {
      const REAL t = term(r, i + k);
      lane[i + k] = 0 + (i + k < r->n ? t : 0); /* 0 + -0 is 0 */
    }
  return FN(tree)(lane);
}

INLINE REAL FN(sum_chunk)(FN(Term) *term, const FN(Row) *r, int64_t first,
                          int64_t last) {
  REAL lane[FOLD_LANES] = {0};
  const int64_t whole = last - (last - first) % FOLD_LANES;
  for (int64_t i = first; i < whole; i += FOLD_LANES)
    for (int k = 0; k < FOLD_LANES; k++) lane[k] += term(r, i + k);
  for (int64_t i = whole; i < last; i++) lane[i - whole] += term(r, i);
  return FN(tree)(lane);
}

/* Chunks meet as a counter carries. */
INLINE REAL FN(sum_long)(FN(Term) *term, const FN(Row) *r) {
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

INLINE REAL FN(sum)(bool small, FN(Term) *term, const FN(Row) *r) {
  return small ? FN(sum_small)(term, r) : FN(sum_long)(term, r);
}

/* y[i] = term(r, i); y may be x. */
INLINE void FN(each)(FN(Term) *term, const FN(Row) *r) {
  REAL *y = r->y;
  IVDEP
  for (int64_t i = 0; i < r->len; i++) y[i] = term(r, i);
}

/* The greatest number; NaN is passed over, sums will show it.  -inf where
 * there is none, and in the places of padding. */
INLINE REAL FN(greatest)(const FN(Row) *r) {
  REAL lane[FOLD_LANES];
  const int64_t whole = r->len - r->len % FOLD_LANES;
  for (int k = 0; k < FOLD_LANES; k++) lane[k] = -(REAL)INFINITY;
  for (int64_t i = 0; i < whole; i += FOLD_LANES)
    for (int k = 0; k < FOLD_LANES; k++)
      lane[k] = r->x[i + k] > lane[k] ? r->x[i + k] : lane[k];
  for (int64_t i = whole; i < r->len; i++)
    lane[i - whole] = r->x[i] > lane[i - whole] ? r->x[i] : lane[i - whole];
  for (int half = FOLD_LANES / 2; half > 8; half /= 2)
    for (int k = 0; k < half; k++)
      lane[k] = lane[k + half] > lane[k] ? lane[k + half] : lane[k];
  for (int half = 8; half > 0; half /= 2)
    for (int k = 0; k < half; k++)
      lane[k] = lane[k + half] > lane[k] ? lane[k + half] : lane[k];
  return lane[0];
}

/* ---- padded copies ---- */

typedef struct FN(Pads) {
  REAL x[FOLD_LANES], g[FOLD_LANES], w[FOLD_LANES], b[FOLD_LANES];
  REAL y[FOLD_LANES];
} FN(Pads);

INLINE bool FN(is_small)(int64_t n) { return n < FOLD_LANES; }

INLINE const REAL *FN(pad)(bool small, const REAL *x, int64_t n, REAL fill,
                           REAL *to) {
  if (!small || x == NULL) return x;
  for (int k = 0; k < FOLD_LANES; k++) to[k] = fill;
  for (int64_t k = 0; k < n; k++) to[k] = x[k];
  return to;
}

INLINE FN(Row) FN(row_open)(bool small, int64_t n, const REAL *x,
                            const REAL *g, REAL *y, FN(Pads) *pads) {
  FN(Row) r = {.n = n, .len = small ? (n + PAD - 1) / PAD * PAD : n};
  r.x = FN(pad)(small, x, n, -(REAL)INFINITY, pads->x);
  r.g = FN(pad)(small, g, n, 0, pads->g);
  r.y = small ? pads->y : y;
  return r;
}

INLINE void FN(row_close)(bool small, const FN(Row) *r, REAL *y) {
  if (!small) return;
  for (int64_t k = 0; k < r->n; k++) y[k] = r->y[k];
}

/* A loop over rows, once for small rows and once for others. */
#define ROWS_LOOP(name, Struct)                                              \
  static void FN(name)(const Struct *s, int64_t first, int64_t last) {       \
    if (FN(is_small)(s->n))                                                  \
      for (int64_t i = first; i < last; i++) FN(name##_row)(true, s, i);     \
    else                                                                     \
      for (int64_t i = first; i < last; i++) FN(name##_row)(false, s, i);    \
  }
#define AT(s, field, i) ((REAL *)(void *)(s)->field + (i) * (s)->n)
#define FROM(s, field, i) \
  ((const REAL *)(const void *)(s)->field + (i) * (s)->n)

/* ---- softmax ---- */

SM REAL FN(term_exp)(const FN(Row) *r, int64_t i) {
  return FN(sm_exp)(r->x[i] - r->shift);
}
SM REAL FN(term_kept)(const FN(Row) *r, int64_t i) {
  return r->y[i] = FN(term_exp)(r, i);
}
SM REAL FN(term_scaled)(const FN(Row) *r, int64_t i) {
  return r->y[i] * r->scale;
}
SM REAL FN(term_log)(const FN(Row) *r, int64_t i) {
  return (r->x[i] - r->shift) - r->scale;
}

INLINE void FN(softmax_row)(bool small, const Softmax *s, int64_t i) {
  FN(Pads) pads;
  REAL *y = AT(s, y, i);
  FN(Row) r = FN(row_open)(small, s->n, FROM(s, x, i), NULL, y, &pads);
  r.shift = FN(greatest)(&r);
  if (s->log) {
    r.scale = FN(sm_log)(FN(sum)(small, FN(term_exp), &r));
    FN(each)(FN(term_log), &r);
  } else {
    r.scale = 1 / FN(sum)(small, FN(term_kept), &r);
    FN(each)(FN(term_scaled), &r);
  }
  FN(row_close)(small, &r, y);
}
ROWS_LOOP(softmax, Softmax)

SM REAL FN(term_g)(const FN(Row) *r, int64_t i) { return r->g[i]; }
SM REAL FN(term_gx)(const FN(Row) *r, int64_t i) { return r->g[i] * r->x[i]; }
SM REAL FN(term_pull)(const FN(Row) *r, int64_t i) {
  return r->x[i] * (r->g[i] - r->part);
}
SM REAL FN(term_log_pull)(const FN(Row) *r, int64_t i) {
  return r->g[i] - FN(sm_exp)(r->x[i]) * r->part;
}

INLINE void FN(softmax_pull_row)(bool small, const Softmax *s, int64_t i) {
  FN(Pads) pads;
  REAL *y = AT(s, y, i);
  FN(Row) r =
      FN(row_open)(small, s->n, FROM(s, x, i), FROM(s, g, i), y, &pads);
  r.part = FN(sum)(small, s->log ? FN(term_g) : FN(term_gx), &r);
  if (s->log) FN(each)(FN(term_log_pull), &r);
  else FN(each)(FN(term_pull), &r);
  FN(row_close)(small, &r, y);
}
ROWS_LOOP(softmax_pull, Softmax)

/* ---- log(sum(e^x)) ---- */

/* An infinite greatest number shifts nothing: e^inf is the sum, and of -inf
 * alone the sum is 0. */
INLINE REAL FN(row_lse)(bool small, FN(Row) *r) {
  const REAL m = FN(greatest)(r);
  r->shift = m - m == 0 ? m : 0;
  return r->shift + FN(sm_log)(FN(sum)(small, FN(term_exp), r));
}

INLINE void FN(logsumexp_row)(bool small, const LogSumExp *s, int64_t i) {
  FN(Pads) pads;
  FN(Row) r = FN(row_open)(small, s->n, FROM(s, x, i), NULL, NULL, &pads);
  ((REAL *)(void *)s->y)[i] = FN(row_lse)(small, &r);
}
ROWS_LOOP(logsumexp, LogSumExp)

/* ---- cross entropy ---- */

INLINE int64_t FN(label_of)(const CrossEntropy *s, int64_t i) {
  return ((const int64_t *)(const void *)s->label)[i];
}

INLINE void FN(cross_entropy_row)(bool small, const CrossEntropy *s,
                                  int64_t i) {
  FN(Pads) pads;
  const REAL *x = FROM(s, x, i);
  FN(Row) r = FN(row_open)(small, s->n, x, NULL, NULL, &pads);
  const REAL lse = FN(row_lse)(small, &r);
  const int64_t label = FN(label_of)(s, i);
  ((REAL *)(void *)s->lse)[i] = lse;
  ((REAL *)(void *)s->loss)[i] =
      label == s->ignore ? 0 : lse - x[label - s->base];
}
ROWS_LOOP(cross_entropy, CrossEntropy)

SM REAL FN(term_cross)(const FN(Row) *r, int64_t i) {
  return r->scale * FN(term_exp)(r, i);
}

INLINE void FN(cross_entropy_pull_row)(bool small, const CrossEntropy *s,
                                       int64_t i) {
  FN(Pads) pads;
  const REAL *x = FROM(s, x, i);
  REAL *y = AT(s, gx, i);
  const int64_t label = FN(label_of)(s, i);
  if (label == s->ignore) {
    for (int64_t k = 0; k < s->n; k++) y[k] = 0;
    return;
  }
  FN(Row) r = FN(row_open)(small, s->n, x, NULL, y, &pads);
  r.shift = ((const REAL *)(const void *)s->lse)[i];
  r.scale = ((const REAL *)(const void *)s->g)[i * s->g_stride];
  const int64_t j = label - s->base;
  const REAL own = r.scale * (FN(term_exp)(&r, j) - 1);
  FN(each)(FN(term_cross), &r);
  FN(row_close)(small, &r, y);
  y[j] = own;
}
ROWS_LOOP(cross_entropy_pull, CrossEntropy)

/* ---- layer norm ---- */

SM REAL FN(term_x)(const FN(Row) *r, int64_t i) { return r->x[i]; }
SM REAL FN(term_square)(const FN(Row) *r, int64_t i) {
  const REAL d = r->x[i] - r->mean;
  return d * d;
}
SM REAL FN(term_v)(const FN(Row) *r, int64_t i) {
  return (r->x[i] - r->mean) * r->scale;
}
SM REAL FN(term_vw)(const FN(Row) *r, int64_t i) {
  return FN(term_v)(r, i) * r->w[i];
}
SM REAL FN(term_vb)(const FN(Row) *r, int64_t i) {
  return FN(term_v)(r, i) + r->b[i];
}
SM REAL FN(term_vwb)(const FN(Row) *r, int64_t i) {
  return FN(term_vw)(r, i) + r->b[i];
}

INLINE void FN(weights)(bool small, const LayerNorm *s, FN(Row) *r,
                        FN(Pads) *pads) {
  r->w = FN(pad)(small, FROM(s, w, 0), s->n, 1, pads->w);
  r->b = FN(pad)(small, FROM(s, b, 0), s->n, 0, pads->b);
}

INLINE void FN(layer_norm_row)(bool small, const LayerNorm *s, int64_t i) {
  FN(Pads) pads;
  REAL *y = AT(s, y, i);
  FN(Row) r = FN(row_open)(small, s->n, FROM(s, x, i), NULL, y, &pads);
  FN(weights)(small, s, &r, &pads);
  r.mean = FN(sum)(small, FN(term_x), &r) / (REAL)s->n;
  const REAL var = FN(sum)(small, FN(term_square), &r) / (REAL)s->n;
  r.scale = 1 / CFN(sqrt)(var + (REAL)s->eps);
  ((REAL *)(void *)s->mean)[i] = r.mean;
  ((REAL *)(void *)s->rstd)[i] = r.scale;
  if (r.w != NULL && r.b != NULL) FN(each)(FN(term_vwb), &r);
  else if (r.w != NULL) FN(each)(FN(term_vw), &r);
  else if (r.b != NULL) FN(each)(FN(term_vb), &r);
  else FN(each)(FN(term_v), &r);
  FN(row_close)(small, &r, y);
}
ROWS_LOOP(layer_norm, LayerNorm)

SM REAL FN(term_gw)(const FN(Row) *r, int64_t i) { return r->g[i] * r->w[i]; }
SM REAL FN(term_gv)(const FN(Row) *r, int64_t i) {
  return r->g[i] * FN(term_v)(r, i);
}
SM REAL FN(term_gwv)(const FN(Row) *r, int64_t i) {
  return FN(term_gw)(r, i) * FN(term_v)(r, i);
}
SM REAL FN(term_norm_pull)(const FN(Row) *r, int64_t i) {
  return r->scale * (r->g[i] - r->shift - FN(term_v)(r, i) * r->part);
}
SM REAL FN(term_norm_pull_w)(const FN(Row) *r, int64_t i) {
  return r->scale *
         (FN(term_gw)(r, i) - r->shift - FN(term_v)(r, i) * r->part);
}

INLINE void FN(layer_norm_pull_row)(bool small, const LayerNorm *s,
                                    int64_t i) {
  FN(Pads) pads;
  REAL *y = AT(s, gx, i);
  const REAL count = (REAL)s->n;
  FN(Row) r =
      FN(row_open)(small, s->n, FROM(s, x, i), FROM(s, g, i), y, &pads);
  FN(weights)(small, s, &r, &pads);
  r.mean = ((const REAL *)(const void *)s->mean)[i];
  r.scale = ((const REAL *)(const void *)s->rstd)[i];
  if (r.w == NULL) {
    r.shift = FN(sum)(small, FN(term_g), &r) / count;
    r.part = FN(sum)(small, FN(term_gv), &r) / count;
    FN(each)(FN(term_norm_pull), &r);
  } else {
    r.shift = FN(sum)(small, FN(term_gw), &r) / count;
    r.part = FN(sum)(small, FN(term_gwv), &r) / count;
    FN(each)(FN(term_norm_pull_w), &r);
  }
  FN(row_close)(small, &r, y);
}
ROWS_LOOP(layer_norm_pull, LayerNorm)

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
#undef ROWS_LOOP
#undef AT
#undef FROM
