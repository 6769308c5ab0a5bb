/* reduce_fold.h: the loops of rows/fold.def for elements of type E, computed in
 * type T.
 *
 * Read by reduce_level.c once per pair, with E, T, FN(name), LOWEST, HIGHEST
 * and the words of rows/scalar.h or rows/whole.h.  No include guard.
 * The loops are plain and of constant length where they can be: compilers
 * keep the FOLD_LANES sums in vector registers.
 */
typedef T FN(Enter)(T x, const T *by);
typedef T FN(Step)(T r, T x);

#define BY (*by)

#define FOLD(name, start, step, enter)                     \
  SM T FN(start_##name)(void) { return start; }            \
  SM T FN(step_##name)(T r, T x) { return step; }          \
  SM T FN(enter_##name)(T x, const T *by) { return (void)by, enter; }
#include "rows/fold.def"
#undef BY

/* lane[k] meets lane[k + half]; constant halves become vector operations. */
#define MEET(half) \
  for (int k = 0; k < (half); k++) lane[k] = step(lane[k], lane[k + (half)]);

/* Few elements fill few lanes: the tree over the empty ones changes nothing,
 * as the start value is neutral (no lane is -0: 0 + -0 is 0). */
INLINE T FN(run_few)(FN(Step) *step, FN(Enter) *enter, T start, int n,
                     const E *x, const T *by) {
  T lane[FOLD_LANES / 4];
  for (int k = 0; k < FOLD_LANES / 4; k++) lane[k] = start;
  for (int k = 0; k < n; k++) lane[k] = step(start, enter((T)x[k], by));
  MEET(8) MEET(4) MEET(2) MEET(1)
  return lane[0];
}

INLINE T FN(run)(FN(Step) *step, FN(Enter) *enter, T start, int64_t n,
                 const E *x, const T *by) {
  T lane[FOLD_LANES];
  const int64_t whole = n - n % FOLD_LANES;
  if (n <= FOLD_LANES / 4)
    return FN(run_few)(step, enter, start, (int)n, x, by);
  for (int k = 0; k < FOLD_LANES; k++) lane[k] = start;
  for (int64_t i = 0; i < whole; i += FOLD_LANES)
    for (int k = 0; k < FOLD_LANES; k++)
      lane[k] = step(lane[k], enter((T)x[i + k], by));
  for (int64_t i = whole; i < n; i++)
    lane[i - whole] = step(lane[i - whole], enter((T)x[i], by));
  MEET(32) MEET(16) MEET(8) MEET(4) MEET(2) MEET(1)
  return lane[0];
}
#undef MEET

INLINE void FN(into_rows)(FN(Step) *step, FN(Enter) *enter, int rows,
                          int64_t n, const E *restrict x, int64_t stride,
                          const T *restrict by, T *restrict r) {
  for (int64_t i = 0; i < n; i++) {
    const T own = by[i]; /* through the pointer the loop stays scalar */
    T sum = r[i];
    for (int k = 0; k < rows; k++)
      sum = step(sum, enter((T)x[i + k * stride], &own));
    r[i] = sum;
  }
}

INLINE void FN(into)(FN(Step) *step, FN(Enter) *enter, int64_t n, const E *x,
                     int64_t stride, int rows, const T *by, T *r) {
  if (rows == FOLD_ROWS) {
    FN(into_rows)(step, enter, FOLD_ROWS, n, x, stride, by, r);
    return;
  }
  for (int k = 0; k < rows; k++)
    FN(into_rows)(step, enter, 1, n, x + k * stride, 0, by, r);
}

#define FOLD(name, ...)                                                  \
  static void FN(loop_start_##name)(int64_t n, void *to) {               \
    T *r = to;                                                           \
    for (int64_t i = 0; i < n; i++) r[i] = FN(start_##name)();           \
  }                                                                      \
  static void FN(loop_run_##name)(int64_t n, const void *x,              \
                                  const void *by, void *to) {            \
    *(T *)to = FN(run)(FN(step_##name), FN(enter_##name),                \
                       FN(start_##name)(), n, x, by);                    \
  }                                                                      \
  static void FN(loop_into_##name)(int64_t n, const void *x,             \
                                   int64_t stride, int rows,             \
                                   const void *by, void *r) {            \
    FN(into)(FN(step_##name), FN(enter_##name), n, x, stride, rows, by,  \
             r);                                                         \
  }                                                                      \
  static void FN(loop_meet_##name)(int64_t n, const void *from,          \
                                   void *to) {                           \
    const T *restrict x = from;                                          \
    T *restrict r = to;                                                  \
    for (int64_t i = 0; i < n; i++) r[i] = FN(step_##name)(r[i], x[i]);  \
  }
#include "rows/fold.def"
