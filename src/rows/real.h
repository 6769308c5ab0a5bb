/* real.h: the pointwise rows as scalar functions of one float type.
 *
 * Define REAL, REAL_BITS (32 or 64), FN(name) and SM before.  Gives
 *   FN(row_exp)(x, y, z)            the value
 *   FN(gx_exp)(x, y, z, r, g)       what becomes of g; also gy_, gz_
 * C, C++ and CUDA.  No include guard: once per type.
 */
#include "rows/smath.h"
#include "rows/scalar.h"

#define CHANGE(d, name, expression)                                  \
  SM REAL FN(d##_##name)(REAL x, REAL y, REAL z, REAL r, REAL g) {   \
    (void)x, (void)y, (void)z, (void)r, (void)g;                     \
    return expression;                                               \
  }
#define POINT(name, kind, arity, types, value, to_x, to_y, to_z, ...) \
  SM REAL FN(row_##name)(REAL x, REAL y, REAL z) {                    \
    (void)x, (void)y, (void)z;                                        \
    return value;                                                     \
  }                                                                   \
  CHANGE(gx, name, to_x)                                              \
  CHANGE(gy, name, to_y)                                              \
  CHANGE(gz, name, to_z)
#include "rows/pointwise.def"
#undef CHANGE
#include "rows/nowords.h"
