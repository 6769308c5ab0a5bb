/* random_type.h: draws of REAL; read twice by random_level.c.
 *
 * Elements are made by the batch: DRAW_BLOCKS blocks of words first, then
 * FN(BATCH) elements of them.
 */
enum { FN(BATCH) = DRAW_WORDS * 32 / REAL_BITS };

/* `made` numbers of a batch -> elements [i, last), i + made the most. */
INLINE void FN(put)(const REAL *made, REAL *dst, int64_t i, int64_t last) {
  const int64_t count = min_i64(FN(BATCH), last - i);
  memcpy(dst + i, made, (size_t)count * sizeof *dst);
}

/* u in [0, 1) of a batch. */
INLINE void FN(units)(const Draw *d, int64_t i, REAL *u) {
  uint32_t word[DRAW_WORDS];
  draw_words(&d->generator, (uint64_t)(i / (128 / REAL_BITS)), word);
#if REAL_BITS == 32
  for (int k = 0; k < FN(BATCH); k++) u[k] = philox_f32(word[k]);
#else
  for (int k = 0; k < FN(BATCH); k++)
    u[k] = philox_f64(word[2 * k], word[2 * k + 1]);
#endif
}

/* A sum that rounds up to b falls back to the number before it. */
static void FN(uniform)(const Draw *d, int64_t first, int64_t last) {
  const REAL a = (REAL)d->a, b = (REAL)d->b, width = (REAL)(d->b - d->a);
  const REAL most = a < b ? CFN(nextafter)(b, a) : a;
  REAL made[FN(BATCH)];
  for (int64_t i = first; i < last; i += FN(BATCH)) {
    FN(units)(d, i, made);
    for (int k = 0; k < FN(BATCH); k++) {
      const REAL x = a + width * made[k];
      made[k] = x < b ? x : most;
    }
    FN(put)(made, (REAL *)(void *)d->dst, i, last);
  }
}

static void FN(bernoulli)(const Draw *d, int64_t first, int64_t last) {
  const REAL p = (REAL)d->a;
  REAL made[FN(BATCH)];
  for (int64_t i = first; i < last; i += FN(BATCH)) {
    FN(units)(d, i, made);
    for (int k = 0; k < FN(BATCH); k++) made[k] = made[k] < p ? 1 : 0;
    FN(put)(made, (REAL *)(void *)d->dst, i, last);
  }
}

static void FN(normal)(const Draw *d, int64_t first, int64_t last) {
  const REAL mean = (REAL)d->a, deviation = (REAL)d->b;
  REAL made[FN(BATCH)];
  uint32_t word[DRAW_WORDS];
  for (int64_t i = first; i < last; i += FN(BATCH)) {
    draw_words(&d->generator, (uint64_t)(i / (128 / REAL_BITS)), word);
    for (int k = 0; k < FN(BATCH) / 2; k++) {
      REAL r0, r1;
#if REAL_BITS == 32
      FN(normal_pair)(word[2 * k], word[2 * k + 1], &r0, &r1);
#else
      FN(normal_pair)((uint64_t)word[4 * k] << 32 | word[4 * k + 1],
                      (uint64_t)word[4 * k + 2] << 32 | word[4 * k + 3], &r0,
                      &r1);
#endif
      made[2 * k] = mean + deviation * r0;
      made[2 * k + 1] = mean + deviation * r1;
    }
    FN(put)(made, (REAL *)(void *)d->dst, i, last);
  }
}
