/* pool2d_type.h: max_pool of one row of results, for REAL; read twice.
 *
 * Taps one after the other, columns side by side: a tap that is greater, or
 * the first NaN, takes the place, so that the first of ties stays.
 */

/* Neighbouring results, all of whose taps are inside: no bounds, no loads of
 * what was stored. */
INLINE void FN(square_pool)(int64_t count, const REAL *above,
                            const REAL *below, int64_t width, int64_t first,
                            REAL *restrict y, int64_t *restrict at) {
  for (int64_t c = 0; c < count; c++) {
    const REAL tap[4] = {above[2 * c], above[2 * c + 1], below[2 * c],
                         below[2 * c + 1]};
    const int64_t to[4] = {0, 1, width, width + 1};
    REAL best = tap[0];
    int64_t place = 0;
    for (int i = 1; i < 4; i++) {
      const int takes = (tap[i] > best) | ((tap[i] != tap[i]) & (best == best));
      best = takes ? tap[i] : best;
      place = takes ? to[i] : place;
    }
    y[c] = best;
    at[c] = first + 2 * c + place;
  }
}

/* One tap for the columns [from, to) of results; place -1: none yet. */
INLINE void FN(tap_pool)(int64_t from, int64_t to, const REAL *x,
                         int64_t stride, int64_t first, REAL *restrict y,
                         int64_t *restrict at) {
  for (int64_t c = from; c < to; c++) {
    const REAL v = x[c * stride];
    const int takes =
        (at[c] < 0) | (v > y[c]) | ((v != v) & (y[c] == y[c]));
    y[c] = takes ? v : y[c];
    at[c] = takes ? first + c * stride : at[c];
  }
}

static void FN(taps_row)(const Pool2d *p, const REAL *x, int64_t row,
                         REAL *y, int64_t *at) {
  const int64_t width = p->size[1], step = p->stride[1];
  for (int64_t c = 0; c < p->result[1]; c++) y[c] = 0, at[c] = -1;
  for (int64_t i = 0; i < p->kernel[0]; i++) {
    const int64_t h = row * p->stride[0] - p->pad[0] + i * p->dilation[0];
    if (h < 0 || h >= p->size[0]) continue;
    for (int64_t j = 0; j < p->kernel[1]; j++) {
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
    FN(square_pool)(p->result[1], x + first, x + first + p->size[1],
                    p->size[1], first, y, at);
  else
    FN(taps_row)(p, x, row, y, at);
}
