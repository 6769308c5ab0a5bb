/* reduce_type.h: loads, stores and positions of reduce.h for one compute type.
 *
 * Read by reduce_level.c once per type, with T and FN(name).  No include guard.
 */
/* ---- loads and stores ---- */

#define LOAD(name, type, get)                                             \
  static void FN(load_##name)(int64_t n, const char *src, int64_t stride, \
                              void *to) {                                 \
    const type *restrict x = (const type *)(const void *)src;             \
    T *restrict r = to;                                                   \
    if (stride == 1)                                                      \
      for (int64_t i = 0; i < n; i++) r[i] = (T)get(x[i]);                \
    else                                                                  \
      for (int64_t i = 0; i < n; i++) r[i] = (T)get(x[i * stride]);       \
  }
#define STORE(name, type, put)                                            \
  static void FN(store_##name)(int64_t n, const void *from, char *dst,    \
                               int64_t stride) {                          \
    const T *restrict x = from;                                           \
    type *restrict r = (type *)(void *)dst;                               \
    if (stride == 1)                                                      \
      for (int64_t i = 0; i < n; i++) r[i] = (type)put(x[i]);             \
    else                                                                  \
      for (int64_t i = 0; i < n; i++) r[i * stride] = (type)put(x[i]);    \
  }
#define SAME(x) (x)
#define TRUTH(x) ((x) != 0)
LOAD(bool, uint8_t, SAME)
STORE(bool, uint8_t, TRUTH)
LOAD(u8, uint8_t, SAME)
LOAD(i8, int8_t, SAME)
LOAD(i16, int16_t, SAME)
LOAD(i32, int32_t, SAME)
LOAD(i64, int64_t, SAME)
#if IS_REAL
LOAD(f16, uint16_t, f16_to_f32)
LOAD(bf16, uint16_t, bf16_to_f32)
LOAD(f32, float, SAME)
LOAD(f64, double, SAME)
STORE(f16, uint16_t, TO_F16)
STORE(bf16, uint16_t, TO_BF16)
STORE(f32, float, SAME)
STORE(f64, double, SAME)
#else
STORE(u8, uint8_t, SAME)
STORE(i8, int8_t, SAME)
STORE(i16, int16_t, SAME)
STORE(i32, int32_t, SAME)
STORE(i64, int64_t, SAME)
#endif
#undef LOAD
#undef STORE
#undef SAME
#undef TRUTH

/* ---- positions ---- */

enum { FN(SCAN) = 64 }; /* compared at a time */

#if IS_REAL
SM int FN(odd)(T x) { return x != x; }
#else
SM int FN(odd)(T x) { return (void)x, 0; }
#endif

/* The first of SCAN elements that is v, or NaN where v is; else SCAN. */
INLINE int FN(scan)(bool odd, T v, const T *x) {
  int first = FN(SCAN);
  for (int k = 0; k < FN(SCAN); k++) {
    const int at = (odd ? FN(odd)(x[k]) : x[k] == v) ? k : FN(SCAN);
    first = at < first ? at : first;
  }
  return first;
}

INLINE int64_t FN(seek)(bool odd, int64_t n, T v, const T *x) {
  int64_t i = 0;
  for (; i + FN(SCAN) <= n; i += FN(SCAN)) {
    const int first = FN(scan)(odd, v, x + i);
    if (first < FN(SCAN)) return i + first;
  }
  while (i < n && !(odd ? FN(odd)(x[i]) : x[i] == v)) i++;
  return i;
}

static int64_t FN(find)(int64_t n, const void *x, const void *value) {
  const T v = *(const T *)value;
  return FN(odd)(v) ? FN(seek)(true, n, v, x) : FN(seek)(false, n, v, x);
}

/* NaN beats all but NaN. */
INLINE int FN(beats)(bool greatest, T x, T best) {
  const int further = greatest ? x > best : x < best;
  return further | (FN(odd)(x) & (FN(odd)(best) ^ 1));
}

INLINE void FN(rival)(bool greatest, int64_t n, const T *restrict x,
                      int64_t at, T *restrict best, int64_t *restrict place) {
  for (int64_t i = 0; i < n; i++) {
    const int takes = FN(beats)(greatest, x[i], best[i]);
    best[i] = takes ? x[i] : best[i];
    place[i] = takes ? at : place[i];
  }
}

static void FN(rival_least)(int64_t n, const void *x, int64_t at, void *best,
                            int64_t *place) {
  FN(rival)(false, n, x, at, best, place);
}

static void FN(rival_greatest)(int64_t n, const void *x, int64_t at,
                               void *best, int64_t *place) {
  FN(rival)(true, n, x, at, best, place);
}
