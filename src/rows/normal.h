/* normal.h: two normal numbers from the words of a generator.
 *
 * Included once per type, after smath.h and value/philox.h, with REAL,
 * REAL_BITS, FN(name) and SM.  The same text serves C, C++ and CUDA: both
 * devices agree but for the roundings of the logarithm.
 *
 * Box and Muller 1958: with u in (0, 1] and a turn t in [0, 1),
 *   sqrt(-2 log u) (cos 2 pi t, sin 2 pi t)
 * are two independent normal numbers.  Elements 2 j and 2 j + 1 of a draw
 * come from one pair of words:
 *   f32   u from word 2 j % 4 of block j / 2:  (its upper 31 bits + 1) 2^-31
 *         t from the next word:                its upper 24 bits 2^-24
 *   f64   of block j, u from words 0 (high), 1: (upper 53 bits + 1) 2^-53
 *         t from words 2 (high), 3:             upper 53 bits 2^-53
 * Element 2 j takes the cosine, 2 j + 1 the sine.
 */

/* sin x and cos x for |x| <= pi / 4: Taylor's terms to 17! (f32: 9!). */
SM REAL FN(normal_sin)(REAL x)
{
  const REAL z = x * x;
#if REAL_BITS == 64
  REAL p = 1 / (REAL)355687428096000;
  p = p * z - 1 / (REAL)1307674368000;
  p = p * z + 1 / (REAL)6227020800;
  p = p * z - 1 / (REAL)39916800;
  p = p * z + 1 / (REAL)362880;
#else
  REAL p = 1 / (REAL)362880;
#endif
  p = p * z - 1 / (REAL)5040;
  p = p * z + 1 / (REAL)120;
  p = p * z - 1 / (REAL)6;
  return x + x * (z * p);
}

SM REAL FN(normal_cos)(REAL x)
{
  const REAL z = x * x;
#if REAL_BITS == 64
  REAL p = 1 / (REAL)20922789888000;
  p = p * z - 1 / (REAL)87178291200;
  p = p * z + 1 / (REAL)479001600;
  p = p * z - 1 / (REAL)3628800;
#else
  REAL p = -1 / (REAL)3628800;
#endif
  p = p * z + 1 / (REAL)40320;
  p = p * z - 1 / (REAL)720;
  p = p * z + 1 / (REAL)24;
  return 1 - (REAL)0.5 * z + z * (z * p);
}

/* The turn is quarter / 4 + x / (2 pi): exact until the last product. */
SM void FN(normal_turn)(REAL radius, uint32_t quarter, REAL x, REAL *r0,
                        REAL *r1)
{
  const REAL s = FN(normal_sin)(x), c = FN(normal_cos)(x);
  const REAL across = (quarter & 1) != 0 ? s : c;
  const REAL up = (quarter & 1) != 0 ? c : s;
  *r0 = radius * (((quarter + 1) & 2) != 0 ? -across : across);
  *r1 = radius * ((quarter & 2) != 0 ? -up : up);
}

#if REAL_BITS == 32
SM void FN(normal_pair)(uint32_t w0, uint32_t w1, REAL *r0, REAL *r1)
{
  const REAL u = ((REAL)(int32_t)(w0 >> 1) + 1) * 0x1p-31f;
  const int32_t turn = (int32_t)(w1 >> 8); /* 24 bits */
  const int32_t quarter = (turn + (1 << 21)) >> 22;
  const int32_t rest = turn - quarter * (1 << 22);
  FN(normal_turn)(FN(sm_sqrt)(-2 * FN(sm_log)(u)), (uint32_t)quarter,
                  (REAL)rest * (REAL)(6.283185307179586 * 0x1p-24), r0, r1);
}
#else
SM void FN(normal_pair)(uint64_t w0, uint64_t w1, REAL *r0, REAL *r1)
{
  const REAL u = ((REAL)(int64_t)(w0 >> 11) + 1) * 0x1p-53;
  const int64_t turn = (int64_t)(w1 >> 11); /* 53 bits */
  const int64_t quarter = (turn + ((int64_t)1 << 50)) >> 51;
  const int64_t rest = turn - quarter * ((int64_t)1 << 51);
  FN(normal_turn)(FN(sm_sqrt)(-2 * FN(sm_log)(u)), (uint32_t)quarter,
                  (REAL)rest * (6.283185307179586 * 0x1p-53), r0, r1);
}
#endif
