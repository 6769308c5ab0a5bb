/* sample_type.h: images read between pixels, for REAL; read twice by
 * sample_level.c.
 *
 * A block of points makes its taps once, for all channels.
 */

/* Elements that point j of a block reads, and their weights. */
typedef struct FN(Taps) {
  int count; /* of each point */
  int64_t element[SAMPLE_BLOCK][SAMPLE_MOST]; /* in the plane; -1: none */
  REAL weight[SAMPLE_BLOCK][SAMPLE_MOST];
} FN(Taps);

/* One axis at a time: the taps so far times those of the next axis. */
static void FN(taps_of_point)(const Sample *s, const REAL *grid,
                              int64_t *element, REAL *weight) {
  double product[SAMPLE_MOST] = {1};
  int count = 1;
  element[0] = 0;
  for (int axis = 0; axis < s->axes; axis++) {
    const int along = s->axes - 1 - axis; /* x comes first in the grid */
    const int64_t size = s->size[axis];
    double t, slope = 1, w[TAPS_MOST];
    int64_t e[TAPS_MOST];
    const double place = tap_place(s->outside, s->corners,
                                   (double)grid[along], size);
    const int64_t first = tap_first(s->taps, place, &t);
    for (int o = 0; o < s->order[along]; o++)
      slope *= tap_scale(s->corners, size);
    for (int k = 0; k < s->taps; k++) {
      e[k] = tap_element(s->outside, s->corners, first + k, size);
      w[k] = slope * tap_weight(s->taps, k, t, s->order[along]);
    }
    for (int i = count - 1; i >= 0; i--) /* backwards: in place */
      for (int k = s->taps - 1; k >= 0; k--) {
        const bool none = element[i] < 0 || e[k] < 0;
        const int64_t at = none ? -1 : element[i] * size + e[k];
        const double both = product[i] * w[k];
        element[i * s->taps + k] = at;
        product[i * s->taps + k] = both;
      }
    count *= s->taps;
  }
  for (int i = 0; i < count; i++) weight[i] = (REAL)product[i];
}

static void FN(taps_of_block)(const Sample *s, int64_t batch, int64_t first,
                              int64_t points, FN(Taps) * taps) {
  const REAL *grid = (const REAL *)(const void *)s->grid;
  taps->count = 1;
  for (int axis = 0; axis < s->axes; axis++) taps->count *= s->taps;
  for (int64_t j = 0; j < points; j++)
    FN(taps_of_point)(s, grid + (batch * s->points + first + j) * s->axes,
                      taps->element[j], taps->weight[j]);
}

/* y of `points` points from `first` on, all channels of one image. */
static void FN(sample)(const Sample *s, int64_t batch, int64_t first,
                       int64_t points) {
  FN(Taps) taps;
  FN(taps_of_block)(s, batch, first, points, &taps);
  for (int64_t c = 0; c < s->channels; c++) {
    const int64_t plane = batch * s->channels + c;
    const REAL *x = (const REAL *)(const void *)s->x + plane * s->area;
    REAL *y = (REAL *)(void *)s->y + plane * s->points + first;
    for (int64_t j = 0; j < points; j++) {
      REAL sum = 0;
      for (int k = 0; k < taps.count; k++)
        if (taps.element[j][k] >= 0)
          sum += taps.weight[j][k] * x[taps.element[j][k]];
      y[j] = sum;
    }
  }
}

/* x of some channels of one image: zeros, and all points added in order. */
static void FN(sample_add)(const Sample *s, int64_t batch, int64_t from,
                           int64_t to) {
  FN(Taps) taps;
  REAL *all = (REAL *)(void *)s->x + batch * s->channels * s->area;
  memset(all + from * s->area, 0, (size_t)((to - from) * s->area) * sizeof *all);
  for (int64_t first = 0; first < s->points; first += SAMPLE_BLOCK) {
    const int64_t points = min_i64(SAMPLE_BLOCK, s->points - first);
    FN(taps_of_block)(s, batch, first, points, &taps);
    for (int64_t c = from; c < to; c++) {
      const int64_t plane = batch * s->channels + c;
      const REAL *g =
          (const REAL *)(const void *)s->y + plane * s->points + first;
      REAL *x = all + c * s->area;
      for (int64_t j = 0; j < points; j++)
        for (int k = 0; k < taps.count; k++)
          if (taps.element[j][k] >= 0)
            x[taps.element[j][k]] += taps.weight[j][k] * g[j];
    }
  }
}

/* Rows [first, last) of y (outer * rows, inner): sums of weighted rows of x. */
static void FN(resample)(const Resample *s, int64_t first, int64_t last) {
  const REAL *weight = (const REAL *)(const void *)s->weight;
  const int64_t *source = (const int64_t *)(const void *)s->source;
  const int64_t *begin = (const int64_t *)(const void *)s->begin;
  for (int64_t at = first; at < last; at++) {
    const int64_t outer = at / s->rows, row = at % s->rows;
    const REAL *x =
        (const REAL *)(const void *)s->x + outer * s->size * s->inner;
    REAL *restrict y = (REAL *)(void *)s->y + at * s->inner;
    for (int64_t i = 0; i < s->inner; i++) y[i] = 0;
    for (int64_t e = begin[row]; e < begin[row + 1]; e++) {
      const REAL w = weight[e];
      const REAL *restrict from = x + source[e] * s->inner;
      for (int64_t i = 0; i < s->inner; i++) y[i] += w * from[i];
    }
  }
}
