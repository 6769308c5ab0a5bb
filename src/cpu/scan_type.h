/* scan_type.h: the loops of scan.h for one compute type.
 *
 * Read by scan_level.c once per type, with T, FN(name), LOWEST, HIGHEST and the
 * words of rows/scalar.h or rows/whole.h.  No include guard.
 */

/* ---- sums and products ---- */

#define GROUPS(name, START, JOIN)                                            \
  static void FN(line_##name)(const ScanTile *t) {                           \
    T *x = t->x, *state = t->state;                                          \
    T r = t->first == 0 ? START : *state;                                    \
    for (int64_t i = 0; i < t->rows; i += SCAN_GROUP) {                      \
      T part[SCAN_GROUP];                                                    \
      const int n = (int)min_i64(SCAN_GROUP, t->rows - i);                   \
      part[0] = x[i];                                                        \
      if (n == SCAN_GROUP) {                                                 \
        for (int k = 1; k < SCAN_GROUP; k++)                                 \
          part[k] = JOIN(part[k - 1], x[i + k]);                             \
        for (int k = 0; k < SCAN_GROUP; k++) x[i + k] = JOIN(r, part[k]);    \
      } else {                                                               \
        for (int k = 1; k < n; k++) part[k] = JOIN(part[k - 1], x[i + k]);   \
        for (int k = 0; k < n; k++) x[i + k] = JOIN(r, part[k]);             \
      }                                                                      \
      r = x[i + n - 1];                                                      \
    }                                                                        \
    *state = r;                                                              \
  }                                                                          \
  static void FN(lines_##name)(const ScanTile *t) {                          \
    const int64_t cols = t->cols;                                            \
    T *restrict state = t->state, *restrict part = t->part;                  \
    for (int64_t c = 0; c < cols && t->first == 0; c++) state[c] = START;    \
    for (int64_t i = 0; i < t->rows; i++) {                                  \
      T *restrict x = (T *)t->x + i * cols;                                  \
      if (i % SCAN_GROUP == 0)                                               \
        for (int64_t c = 0; c < cols; c++) part[c] = x[c];                   \
      else                                                                   \
        for (int64_t c = 0; c < cols; c++) part[c] = JOIN(part[c], x[c]);    \
      for (int64_t c = 0; c < cols; c++) x[c] = JOIN(state[c], part[c]);     \
      if (i % SCAN_GROUP == SCAN_GROUP - 1)                                  \
        for (int64_t c = 0; c < cols; c++) state[c] = x[c];                  \
    }                                                                        \
  }                                                                          \
  static void FN(scan_##name)(const ScanTile *t) {                           \
    if (t->cols == 1) FN(line_##name)(t);                                    \
    else FN(lines_##name)(t);                                                \
  }
GROUPS(sum, K(0), ADD)
GROUPS(prod, K(1), MUL)
#undef GROUPS

/* ---- extremes: the last of ties; NaN takes all, and the last NaN ---- */

#if IS_REAL
#define TAKES(FURTHER, x, best) ((x) FURTHER (best) || (x) != (x))
#else
#define TAKES(FURTHER, x, best) ((x) FURTHER (best))
#endif

#define EXTREMES(name, START, FURTHER)                                       \
  static void FN(line_##name)(const ScanTile *t) {                           \
    T *x = t->x, best = t->first == 0 ? START : *(T *)t->state;              \
    int64_t at = t->first == 0 ? 0 : *t->at;                                 \
    for (int64_t i = 0; i < t->rows; i++) {                                  \
      const bool takes = TAKES(FURTHER, x[i], best);                         \
      best = takes ? x[i] : best;                                            \
      at = takes ? t->first + i : at;                                        \
      x[i] = best;                                                           \
      t->place[i] = at;                                                      \
    }                                                                        \
    *(T *)t->state = best;                                                   \
    *t->at = at;                                                             \
  }                                                                          \
  static void FN(lines_##name)(const ScanTile *t) {                          \
    const int64_t cols = t->cols;                                            \
    T *restrict best = t->state;                                             \
    int64_t *restrict at = t->at;                                            \
    for (int64_t c = 0; c < cols && t->first == 0; c++)                      \
      best[c] = START, at[c] = 0;                                            \
    for (int64_t i = 0; i < t->rows; i++) {                                  \
      T *restrict x = (T *)t->x + i * cols;                                  \
      int64_t *restrict place = t->place + i * cols;                         \
      for (int64_t c = 0; c < cols; c++) {                                   \
        const bool takes = TAKES(FURTHER, x[c], best[c]);                    \
        best[c] = takes ? x[c] : best[c];                                    \
        at[c] = takes ? t->first + i : at[c];                                \
        x[c] = best[c];                                                      \
        place[c] = at[c];                                                    \
      }                                                                      \
    }                                                                        \
  }                                                                          \
  static void FN(scan_##name)(const ScanTile *t) {                           \
    if (t->cols == 1) FN(line_##name)(t);                                    \
    else FN(lines_##name)(t);                                                \
  }
EXTREMES(max, LOWEST, >=)
EXTREMES(min, HIGHEST, <=)
#undef EXTREMES
#undef TAKES

#if IS_REAL

/* ---- logsumexp: log(sum(e^x)) = top + log(sum(e^(x - top))) ---- */

/* What x adds to a line whose greatest is `top` (or what that is worth when x
 * is greater): 1 for equals, also infinite ones. */
SM T FN(weight)(T x, T top) {
  return x == top ? K(1) : EXP(x > top ? top - x : x - top);
}

/* Blocks of a line: exponentials and logarithms become vectors, and only the
 * sum waits for the element before. */
static void FN(line_logsumexp)(const ScanTile *t) {
  enum { BLOCK = 128 };
  T top[BLOCK + 1], weight[BLOCK], sum[BLOCK];
  T s = t->first == 0 ? K(0) : *(T *)t->part;
  top[0] = t->first == 0 ? LOWEST : *(T *)t->state;
  for (int64_t i = 0; i < t->rows; i += BLOCK) {
    T *x = (T *)t->x + i;
    const int n = (int)min_i64(BLOCK, t->rows - i);
    for (int k = 0; k < n; k++) top[k + 1] = x[k] > top[k] ? x[k] : top[k];
    for (int k = 0; k < n; k++) weight[k] = FN(weight)(x[k], top[k]);
    for (int k = 0; k < n; k++) {
      s = x[k] > top[k] ? s * weight[k] + K(1) : s + weight[k];
      sum[k] = s;
    }
    for (int k = 0; k < n; k++) x[k] = top[k + 1] + LOG(sum[k]);
    top[0] = top[n];
  }
  *(T *)t->state = top[0], *(T *)t->part = s;
}

static void FN(lines_logsumexp)(const ScanTile *t) {
  const int64_t cols = t->cols;
  T *restrict top = t->state, *restrict sum = t->part;
  for (int64_t c = 0; c < cols && t->first == 0; c++)
    top[c] = LOWEST, sum[c] = K(0);
  for (int64_t i = 0; i < t->rows; i++) {
    T *restrict x = (T *)t->x + i * cols;
    for (int64_t c = 0; c < cols; c++) {
      const T weight = FN(weight)(x[c], top[c]);
      const bool exceeds = x[c] > top[c];
      sum[c] = exceeds ? sum[c] * weight + K(1) : sum[c] + weight;
      top[c] = exceeds ? x[c] : top[c];
      x[c] = top[c] + LOG(sum[c]);
    }
  }
}

static void FN(scan_logsumexp)(const ScanTile *t) {
  if (t->cols == 1) FN(line_logsumexp)(t);
  else FN(lines_logsumexp)(t);
}

/* ---- chains ---- */

static void FN(scan_chain)(const ScanTile *t) {
  const int64_t cols = t->cols;
  T *restrict state = t->state;
  for (int64_t i = 0; i < t->rows; i++) {
    T *restrict x = (T *)t->x + i * cols;
    const T *restrict by = (const T *)t->by + i * cols;
    if (t->first + i > 0)
      for (int64_t c = 0; c < cols; c++) x[c] = by[c] * state[c] + x[c];
    for (int64_t c = 0; c < cols; c++) state[c] = x[c];
  }
}

#endif
