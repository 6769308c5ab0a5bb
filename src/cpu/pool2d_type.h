/* pool2d_type.h: max_pool of one row of results, for REAL; read twice.
 *
 * Taps one after the other, columns side by side.  The last tap comes first:
 * one that is not smaller, or NaN, takes the place, so the first of ties and
 * the first NaN stay, and nobody asks whether the best so far is NaN.
 */

enum { FN(BLOCK) = 16 }; /* results: a vector of f32 at the widest level */

INLINE void FN(keep)(REAL v, TAP tap, REAL *best, TAP *which) {
  const int takes = (v >= *best) | (v != v);
  *best = takes ? v : *best;
  *which = takes ? tap : *which;
}

/* BLOCK neighbouring results, all of whose taps are inside: no bounds, no
 * remainder, no loads of what was stored.  Taps 0 1 above 2 3. */
INLINE void FN(square_block)(const REAL *restrict above,
                             const REAL *restrict below, int64_t width,
                             int64_t first, REAL *restrict y,
                             int64_t *restrict at) {
  TAP tap[FN(BLOCK)]; /* as wide as a number: one vector holds as many */
  for (int64_t c = 0; c < FN(BLOCK); c++) {
    REAL best = below[2 * c + 1];
    TAP which = 3;
    FN(keep)(below[2 * c], 2, &best, &which);
    FN(keep)(above[2 * c + 1], 1, &best, &which);
    FN(keep)(above[2 * c], 0, &best, &which);
    y[c] = best;
    tap[c] = which;
  }
  for (int64_t c = 0; c < FN(BLOCK); c++)
    at[c] = first + 2 * c + (tap[c] & 1) + (tap[c] > 1 ? width : 0);
}

/* Fewer than BLOCK: copied into a whole one, since rows of 14 are common and a
 * remainder in scalars takes three times as long. */
static void FN(square_rest)(int64_t count, const REAL *above,
                            const REAL *below, int64_t width, int64_t first,
                            REAL *y, int64_t *at) {
  REAL up[2 * FN(BLOCK)] = {0}, down[2 * FN(BLOCK)] = {0}, best[FN(BLOCK)];
  int64_t place[FN(BLOCK)];
  memcpy(up, above, (size_t)count * 2 * sizeof *up);
  memcpy(down, below, (size_t)count * 2 * sizeof *down);
  FN(square_block)(up, down, width, first, best, place);
  memcpy(y, best, (size_t)count * sizeof *best);
  memcpy(at, place, (size_t)count * sizeof *place);
}

INLINE void FN(square_pool)(int64_t count, const REAL *x, int64_t width,
                            int64_t first, REAL *y, int64_t *at) {
  int64_t c = 0;
  for (; c + FN(BLOCK) <= count; c += FN(BLOCK))
    FN(square_block)(x + first + 2 * c, x + first + width + 2 * c, width,
                     first + 2 * c, y + c, at + c);
  if (c < count)
    FN(square_rest)(count - c, x + first + 2 * c, x + first + width + 2 * c,
                    width, first + 2 * c, y + c, at + c);
}

/* One tap for the columns [from, to) of results. */
INLINE void FN(tap_loop)(int64_t from, int64_t to, const REAL *restrict x,
                         int64_t stride, int64_t first, REAL *restrict y,
                         int64_t *restrict at) {
  for (int64_t c = from; c < to; c++) {
    const REAL v = x[c * stride];
    const int takes = (v >= y[c]) | (v != v);
    y[c] = takes ? v : y[c];
    at[c] = takes ? first + c * stride : at[c];
  }
}

/* Constant steps become vector loads. */
static void FN(tap_pool)(int64_t from, int64_t to, const REAL *x,
                         int64_t stride, int64_t first, REAL *y, int64_t *at) {
  if (stride == 1) FN(tap_loop)(from, to, x, 1, first, y, at);
  else if (stride == 2) FN(tap_loop)(from, to, x, 2, first, y, at);
  else FN(tap_loop)(from, to, x, stride, first, y, at);
}

static void FN(taps_row)(const Pool2d *p, const REAL *x, int64_t row,
                         REAL *y, int64_t *at) {
  const int64_t width = p->size[1], step = p->stride[1];
  for (int64_t c = 0; c < p->result[1]; c++) y[c] = -(REAL)INFINITY, at[c] = -1;
  for (int64_t i = p->kernel[0] - 1; i >= 0; i--) {
    const int64_t h = row * p->stride[0] - p->pad[0] + i * p->dilation[0];
    if (h < 0 || h >= p->size[0]) continue;
    for (int64_t j = p->kernel[1] - 1; j >= 0; j--) {
      const int64_t left = j * p->dilation[1] - p->pad[1];
      const int64_t from = left < 0 ? ceil_div(-left, step) : 0;
      const int64_t past = width > left ? ceil_div(width - left, step) : 0;
      FN(tap_pool)(from, min_i64(past, p->result[1]), x + h * width + left,
                   step, h * width + left, y, at);
    }
  }
}

static void FN(pool_row)(const Pool2d *p, const void *plane, int64_t row,
                         void *y, int64_t *at) {
  const REAL *x = plane;
  const bool square =
      p->kernel[0] == 2 && p->kernel[1] == 2 && p->stride[1] == 2 &&
      p->dilation[0] == 1 && p->dilation[1] == 1 && p->pad[0] == 0 &&
      p->pad[1] == 0 && row * p->stride[0] + 2 <= p->size[0] &&
      2 * p->result[1] <= p->size[1];
  const int64_t first = row * p->stride[0] * p->size[1];
  if (square)
    FN(square_pool)(p->result[1], x, p->size[1], first, y, at);
  else
    FN(taps_row)(p, x, row, y, at);
}
