/* integer.h: the pointwise rows as scalar functions of one integer type.
 *
 * Define WHOLE, UWHOLE, FN(name) and SM before.  Gives FN(row_add)(x, y, z)
 * for rows whose types include integers.  C, C++ and CUDA.
 * No include guard: once per type.
 */
#include "rows/types.h"
#include "rows/whole.h"

/* Other shifts are refused before. */
#undef SHIFT_MOST
#define SHIFT_MOST ((WHOLE)(8 * sizeof(WHOLE) - 1))

/* Lua's rule: the quotient is floored.  The least number // -1 wraps to
 * itself and % -1 is 0, without the machine's trap. */
SM WHOLE FN(whole_floor_divide)(WHOLE a, WHOLE b) {
  if (b == 0) return 0;
  if (b == -1) return NEG(a);
  const WHOLE q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

SM WHOLE FN(whole_remainder)(WHOLE a, WHOLE b) {
  if (b == 0 || b == -1) return 0;
  const WHOLE m = a % b;
  return m != 0 && (m < 0) != (b < 0) ? m + b : m;
}

/* C's rule: towards 0. */
SM WHOLE FN(whole_trunc_divide)(WHOLE a, WHOLE b) {
  if (b == 0) return 0;
  return b == -1 ? NEG(a) : a / b;
}

SM WHOLE FN(whole_fmod)(WHOLE a, WHOLE b) {
  return b == 0 || b == -1 ? 0 : a % b;
}

/* By squaring; wraps.  Negative exponents are refused before. */
SM WHOLE FN(whole_pow)(WHOLE a, WHOLE b) {
  WHOLE r = 1;
  for (; b > 0; b >>= 1) {
    if (b & 1) r = MUL(r, a);
    a = MUL(a, a);
  }
  return r;
}

#define INTEGER_ROW(name, value)                         \
  SM WHOLE FN(row_##name)(WHOLE x, WHOLE y, WHOLE z) {   \
    (void)x, (void)y, (void)z;                           \
    return value;                                        \
  }
#define POINT(name, kind, arity, types, value, ...) \
  WHOLE_##types(INTEGER_ROW(name, value))
#include "rows/pointwise.def"
#undef INTEGER_ROW
#include "rows/nowords.h"
