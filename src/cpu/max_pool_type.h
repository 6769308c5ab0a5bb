/* max_pool_type.h: one row of results of max_pool, for REAL; read once a type.
 *
 *   columns   the greatest of each column of the rows that the windows see,
 *             and its place in the plane
 *   windows   the greatest of some neighbouring columns
 *
 * Places of one value compare as row-major order does, so the first of ties is
 * the least place in either step, and the first NaN as well.  What lies in the
 * padding is LOWEST at a place after all others.
 */

/* A tap that comes before all so far. */
INLINE void FN(keep)(REAL v, TAP tap, REAL *best, TAP *which) {
  const int takes = (v >= *best) | NO_NUMBER(v);
  *best = takes ? v : *best;
  *which = takes ? tap : *which;
}

/* A tap whose place tells. */
INLINE void FN(keep_first)(REAL v, TAP tap, REAL *best, TAP *which) {
  const int is_first = tap < *which;
  const int had_number = !NO_NUMBER(*best);
  const int takes = (v > *best) | ((v == *best) & is_first) |
                    (NO_NUMBER(v) & (is_first | had_number));
  *best = takes ? v : *best;
  *which = takes ? tap : *which;
}

/* ---- 2 by 2, side by side ---- */

/* POOL_BLOCK neighbouring results: no bounds, no remainder, no loads of what
 * was stored.  Taps 0 1 above 2 3. */
INLINE void FN(square_block)(const REAL *restrict above,
                             const REAL *restrict below, int64_t width,
                             int64_t first, REAL *restrict y,
                             int64_t *restrict at) {
  TAP tap[POOL_BLOCK]; /* as wide as a number: one vector holds as many */
  for (int64_t c = 0; c < POOL_BLOCK; c++) {
    REAL best = below[2 * c + 1];
    TAP which = 3;
    FN(keep)(below[2 * c], 2, &best, &which);
    FN(keep)(above[2 * c + 1], 1, &best, &which);
    FN(keep)(above[2 * c], 0, &best, &which);
    y[c] = best;
    tap[c] = which;
  }
  for (int64_t c = 0; c < POOL_BLOCK; c++)
    at[c] = first + 2 * c + (tap[c] & 1) + (tap[c] > 1 ? width : 0);
}

/* Fewer than a block: copied into a whole one, since rows of 14 are common and
 * a remainder in scalars takes three times as long. */
static void FN(square_rest)(int64_t count, const REAL *above,
                            const REAL *below, int64_t width, int64_t first,
                            REAL *y, int64_t *at) {
  REAL up[2 * POOL_BLOCK] = {0}, down[2 * POOL_BLOCK] = {0}, best[POOL_BLOCK];
  int64_t place[POOL_BLOCK];
  memcpy(up, above, (size_t)count * 2 * sizeof *up);
  memcpy(down, below, (size_t)count * 2 * sizeof *down);
  FN(square_block)(up, down, width, first, best, place);
  memcpy(y, best, (size_t)count * sizeof *best);
  if (at != NULL) memcpy(at, place, (size_t)count * sizeof *place);
}

/* x: the first tap, whose place is `first`. */
static void FN(square_row)(int64_t count, const REAL *x, int64_t width,
                           int64_t first, REAL *y, int64_t *at) {
  int64_t c = 0, place[POOL_BLOCK];
  for (; c + POOL_BLOCK <= count; c += POOL_BLOCK)
    FN(square_block)(x + 2 * c, x + width + 2 * c, width, first + 2 * c, y + c,
                     at != NULL ? at + c : place);
  if (c < count)
    FN(square_rest)(count - c, x + 2 * c, x + width + 2 * c, width,
                    first + 2 * c, y + c, at != NULL ? at + c : NULL);
}

/* ---- columns, then windows ---- */

/* Columns [start, start + span) of x, some of them padding; and so many more
 * that the last block of results, at a stride of 2, may read on. */
typedef struct FN(Columns) {
  int64_t start, span;
  REAL best[POOL_ROOM + 2 * POOL_BLOCK];
  TAP place[POOL_ROOM + 2 * POOL_BLOCK];
} FN(Columns);

INLINE void FN(column_row)(int64_t count, const REAL *restrict x, TAP first,
                           REAL *restrict best, TAP *restrict place) {
  for (int64_t c = 0; c < count; c++)
    FN(keep)(x[c], first + (TAP)c, best + c, place + c);
}

static void FN(fill_columns)(const MaxPool *p, const REAL *x, int64_t slice,
                             int64_t row, FN(Columns) *k) {
  const int64_t from = max_i64(0, -k->start);
  const int64_t to = min_i64(k->span, p->size[ACROSS] - k->start);
  const TAP after = sizeof(TAP) == 4 ? INT32_MAX : (TAP)INT64_MAX;
  for (int64_t c = 0; c < k->span + 2 * POOL_BLOCK; c++)
    k->best[c] = LOWEST, k->place[c] = after;
  for (int64_t d = p->kernel[DEEP] - 1; d >= 0; d--) {
    const int64_t s = slice * p->stride[DEEP] - p->pad[DEEP] +
                      d * p->dilation[DEEP];
    if (s < 0 || s >= p->size[DEEP]) continue;
    for (int64_t i = p->kernel[DOWN] - 1; i >= 0; i--) {
      const int64_t h = row * p->stride[DOWN] - p->pad[DOWN] +
                        i * p->dilation[DOWN];
      if (h < 0 || h >= p->size[DOWN]) continue;
      const int64_t first = row_start(p->size, s, h) + k->start + from;
      FN(column_row)(to - from, x + first, (TAP)first, k->best + from,
                     k->place + from);
    }
  }
}

/* `count` and `stride` are constants where that makes vectors of it. */
INLINE void FN(window_block)(const MaxPool *p, const REAL *restrict best,
                             const TAP *restrict place, int64_t count,
                             int64_t stride, REAL *restrict y,
                             TAP *restrict tap) {
  const int64_t step = p->dilation[ACROSS];
  for (int64_t c = 0; c < count; c++)
    y[c] = best[c * stride], tap[c] = place[c * stride];
  for (int64_t j = 1; j < p->kernel[ACROSS]; j++)
    for (int64_t c = 0; c < count; c++)
      FN(keep_first)(best[c * stride + j * step], place[c * stride + j * step],
                     y + c, tap + c);
}

static void FN(windows)(const MaxPool *p, const FN(Columns) *k, int64_t count,
                        REAL *y, int64_t *at) {
  const int64_t stride = p->stride[ACROSS];
  for (int64_t c = 0; c < count; c += POOL_BLOCK) {
    const int64_t n = min_i64(POOL_BLOCK, count - c);
    const REAL *best = k->best + c * stride;
    const TAP *place = k->place + c * stride;
    REAL value[POOL_BLOCK];
    TAP tap[POOL_BLOCK];
    if (stride == 1)
      FN(window_block)(p, best, place, POOL_BLOCK, 1, value, tap);
    else if (stride == 2)
      FN(window_block)(p, best, place, POOL_BLOCK, 2, value, tap);
    else
      FN(window_block)(p, best, place, n, stride, value, tap);
    memcpy(y + c, value, (size_t)n * sizeof *y);
    for (int64_t i = 0; i < n && at != NULL; i++) at[c + i] = tap[i];
  }
}

/* ---- one tap after the other: what no buffer holds ---- */

static void FN(taps_row)(const MaxPool *p, const REAL *x, int64_t slice,
                         int64_t row, int64_t c, REAL *y, int64_t *at) {
  REAL best = LOWEST;
  int64_t which = -1;
  for (int64_t d = 0; d < p->kernel[DEEP]; d++)
    for (int64_t i = 0; i < p->kernel[DOWN]; i++)
      for (int64_t j = 0; j < p->kernel[ACROSS]; j++) {
        const int64_t tap[SPACE] = {d, i, j}, window[SPACE] = {slice, row, c};
        int64_t place = 0;
        bool is_inside = true;
        for (int a = 0; a < SPACE; a++) {
          const int64_t o = window[a] * p->stride[a] - p->pad[a] +
                            tap[a] * p->dilation[a];
          is_inside = is_inside && o >= 0 && o < p->size[a];
          place = place * p->size[a] + o;
        }
        if (!is_inside) continue;
        const REAL v = x[place];
        if (which >= 0 && !(v > best) &&
            (!NO_NUMBER(v) || NO_NUMBER(best)))
          continue;
        best = v, which = place;
      }
  *y = best;
  if (at != NULL) *at = which;
}

/* ---- a row ---- */

static bool FN(is_square)(const MaxPool *p, int64_t row) {
  return p->kernel[DEEP] == 1 && p->pad[DEEP] == 0 && p->kernel[DOWN] == 2 &&
         p->kernel[ACROSS] == 2 && p->stride[ACROSS] == 2 &&
         p->dilation[DOWN] == 1 && p->dilation[ACROSS] == 1 &&
         p->pad[DOWN] == 0 && p->pad[ACROSS] == 0 &&
         row * p->stride[DOWN] + 2 <= p->size[DOWN] &&
         2 * p->result[ACROSS] <= p->size[ACROSS];
}

static void FN(max_row)(const MaxPool *p, const void *plane, int64_t slice,
                        int64_t row, void *out, int64_t *at) {
  const REAL *x = plane;
  REAL *y = out;
  const int64_t stride = p->stride[ACROSS], all = p->result[ACROSS];
  const int64_t reach = p->dilation[ACROSS] * (p->kernel[ACROSS] - 1) + 1;
  const bool fits =
      reach <= POOL_ROOM &&
      (sizeof(TAP) == 8 ||
       p->size[DEEP] * p->size[DOWN] * p->size[ACROSS] < INT32_MAX);
  if (FN(is_square)(p, row)) {
    const int64_t first =
        row_start(p->size, slice * p->stride[DEEP], row * p->stride[DOWN]);
    FN(square_row)(all, x + first, p->size[ACROSS], first, y, at);
    return;
  }
  for (int64_t c = 0, n; c < all; c += n) {
    int64_t *place = at != NULL ? at + c : NULL;
    if (!fits) {
      FN(taps_row)(p, x, slice, row, c, y + c, place);
      n = 1;
      continue;
    }
    FN(Columns) k;
    n = min_i64(all - c, (POOL_ROOM - reach) / stride + 1);
    k.start = c * stride - p->pad[ACROSS], k.span = (n - 1) * stride + reach;
    FN(fill_columns)(p, x, slice, row, &k);
    FN(windows)(p, &k, n, y + c, place);
  }
}
