/* avg_pool_type.h: one row of results of avg_pool and of avg_pool_add, for
 * REAL; read twice.
 *
 *   columns   sums of the columns of the rows that the windows see
 *   windows   sums of some neighbouring columns, divided
 *
 * The transpose spreads the rows that hold a row of x in the same two steps.
 * A sum of two levels: its error grows with the sides of a window, not with
 * its area.
 */

/* sum = 0, then sum += each row of `rows` in `slices` from column `start`. */
static void FN(sum_rows)(const int64_t size[SPACE], const REAL *x,
                         Window slices, Window rows, int64_t start,
                         int64_t count, REAL *restrict sum) {
  memset(sum, 0, (size_t)count * sizeof *sum);
  for (int64_t s = slices.from; s < slices.to; s++)
    for (int64_t h = rows.from; h < rows.to; h++) {
      const REAL *restrict row = x + row_start(size, s, h) + start;
      for (int64_t c = 0; c < count; c++) sum[c] += row[c];
    }
}

INLINE REAL FN(sum_run)(const REAL *x, int64_t count) {
  REAL sum = 0;
  for (int64_t c = 0; c < count; c++) sum += x[c];
  return sum;
}

/* ---- windows of any width ---- */

/* The window `across` in pieces that the buffer holds. */
static REAL FN(window_sum)(const AvgPool *p, const REAL *x, Window slices,
                           Window rows, Window across) {
  REAL column[POOL_ROOM], sum = 0;
  for (int64_t c = across.from; c < across.to; c += POOL_ROOM) {
    const int64_t n = min_i64(POOL_ROOM, across.to - c);
    FN(sum_rows)(p->size, x, slices, rows, c, n, column);
    sum += FN(sum_run)(column, n);
  }
  return sum;
}

static void FN(window_row)(const AvgPool *p, const REAL *x, Window slices,
                           Window rows, REAL *y) {
  const REAL area = (REAL)slices.count * (REAL)rows.count;
  for (int64_t c = 0; c < p->result[ACROSS]; c++) {
    const Window across = window_of(p, ACROSS, c);
    y[c] = FN(window_sum)(p, x, slices, rows, across) /
           (area * (REAL)across.count);
  }
}

/* ---- windows of one width, a step apart ---- */

/* `count` and `stride` are constants where that makes vectors of it. */
INLINE void FN(add_columns)(const REAL *restrict sum, int64_t kernel,
                            int64_t count, int64_t stride, REAL *restrict y) {
  for (int64_t c = 0; c < count; c++) y[c] = sum[c * stride];
  for (int64_t j = 1; j < kernel; j++)
    for (int64_t c = 0; c < count; c++) y[c] += sum[c * stride + j];
}

static void FN(add_windows)(const AvgPool *p, const REAL *sum, int64_t count,
                            REAL *y) {
  const int64_t kernel = p->kernel[ACROSS], stride = p->stride[ACROSS];
  int64_t c = 0;
  for (; c + POOL_BLOCK <= count && stride <= 2; c += POOL_BLOCK)
    if (stride == 1)
      FN(add_columns)(sum + c, kernel, POOL_BLOCK, 1, y + c);
    else
      FN(add_columns)(sum + 2 * c, kernel, POOL_BLOCK, 2, y + c);
  FN(add_columns)(sum + c * stride, kernel, count - c, stride, y + c);
}

/* y /= area of each window.  What windows count rises, stays and falls (it is
 * concave in their place), so all but the first and the last count the same. */
static void FN(divide_row)(const AvgPool *p, REAL area, REAL *restrict y) {
  int64_t from = 0, to = p->result[ACROSS];
  int64_t most = window_of(p, ACROSS, 0).count;
  for (; from + 1 < to; from++) {
    const int64_t next = window_of(p, ACROSS, from + 1).count;
    if (next <= most) break;
    y[from] /= area * (REAL)most;
    most = next;
  }
  for (; to - 1 > from; to--) {
    const int64_t count = window_of(p, ACROSS, to - 1).count;
    if (count == most) break;
    y[to - 1] /= area * (REAL)count;
  }
  const REAL divisor = area * (REAL)most;
  for (int64_t c = from; c < to; c++) y[c] /= divisor;
}

static void FN(strided_row)(const AvgPool *p, const REAL *x, Window slices,
                            Window rows, REAL *y) {
  const int64_t stride = p->stride[ACROSS], kernel = p->kernel[ACROSS];
  const int64_t all = p->result[ACROSS];
  REAL sum[POOL_ROOM];
  for (int64_t c = 0, n; c < all; c += n) {
    n = min_i64(all - c, (POOL_ROOM - kernel) / stride + 1);
    const int64_t start = c * stride - p->pad[ACROSS];
    const int64_t span = (n - 1) * stride + kernel;
    const int64_t from = max_i64(0, -start);
    const int64_t to = min_i64(span, p->size[ACROSS] - start);
    memset(sum, 0, (size_t)from * sizeof *sum);
    FN(sum_rows)(p->size, x, slices, rows, start + from, to - from, sum + from);
    memset(sum + to, 0, (size_t)(span - to) * sizeof *sum);
    FN(add_windows)(p, sum, n, y + c);
  }
  FN(divide_row)(p, (REAL)slices.count * (REAL)rows.count, y);
}

/* Does divide_row know its windows, and the buffer hold one? */
static bool FN(is_strided)(const AvgPool *p) {
  return !p->adaptive && p->kernel[ACROSS] <= POOL_ROOM;
}

static void FN(avg_row)(const AvgPool *p, const void *seen, int64_t slice,
                        int64_t row, void *made) {
  const Window slices = window_of(p, DEEP, slice);
  const Window rows = window_of(p, DOWN, row);
  if (FN(is_strided)(p))
    FN(strided_row)(p, seen, slices, rows, made);
  else
    FN(window_row)(p, seen, slices, rows, made);
}

/* ---- the transpose ---- */

/* part[c] = what column first + c of y gives to each element of its window in
 * one row of x. */
static void FN(gather_parts)(const AvgPool *p, const REAL *y, Window slices,
                             Window rows, int64_t first, int64_t count,
                             REAL *restrict part) {
  memset(part, 0, (size_t)count * sizeof *part);
  for (int64_t s = slices.from; s < slices.to; s++)
    for (int64_t h = rows.from; h < rows.to; h++) {
      const REAL *restrict row = y + row_start(p->result, s, h) + first;
      const REAL area = (REAL)window_of(p, DEEP, s).count *
                        (REAL)window_of(p, DOWN, h).count;
      for (int64_t c = 0; c < count; c++) part[c] += row[c] / area;
    }
}

/* x[c stride] += part[c] */
INLINE void FN(spread_tap)(const REAL *restrict part, int64_t count,
                           int64_t stride, REAL *restrict x) {
  for (int64_t c = 0; c < count; c++) x[c * stride] += part[c];
}

static void FN(spread_windows)(const AvgPool *p, const REAL *part,
                               int64_t first, int64_t count, REAL *x) {
  const int64_t stride = p->stride[ACROSS];
  for (int64_t j = 0; j < p->kernel[ACROSS]; j++) {
    const int64_t left = first * stride + j - p->pad[ACROSS];
    const int64_t from = left < 0 ? ceil_div(-left, stride) : 0;
    const int64_t past =
        left < p->size[ACROSS] ? ceil_div(p->size[ACROSS] - left, stride) : 0;
    const int64_t n = min_i64(past, count) - from;
    REAL *to = x + left + from * stride;
    if (n <= 0) continue;
    if (stride == 1) FN(spread_tap)(part + from, n, 1, to);
    else if (stride == 2) FN(spread_tap)(part + from, n, 2, to);
    else FN(spread_tap)(part + from, n, stride, to);
  }
}

static void FN(spread_each)(const AvgPool *p, const REAL *part, int64_t first,
                            int64_t count, REAL *x) {
  for (int64_t c = 0; c < count; c++) {
    const Window across = window_of(p, ACROSS, first + c);
    for (int64_t i = across.from; i < across.to; i++) x[i] += part[c];
  }
}

static void FN(avg_add_row)(const AvgPool *p, const void *seen, int64_t slice,
                            int64_t row, void *made) {
  const Window slices = window_holding(p, DEEP, slice);
  const Window rows = window_holding(p, DOWN, row);
  const int64_t all = p->result[ACROSS];
  REAL part[POOL_ROOM];
  memset(made, 0, (size_t)p->size[ACROSS] * sizeof(REAL));
  for (int64_t c = 0; c < all; c += POOL_ROOM) {
    const int64_t n = min_i64(POOL_ROOM, all - c);
    FN(gather_parts)(p, seen, slices, rows, c, n, part);
    for (int64_t i = 0; i < n; i++)
      part[i] /= (REAL)window_of(p, ACROSS, c + i).count;
    if (p->adaptive)
      FN(spread_each)(p, part, c, n, made);
    else
      FN(spread_windows)(p, part, c, n, made);
  }
}
