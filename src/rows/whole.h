/* whole.h: the words of the pointwise rows as arithmetic on an integer type
 * WHOLE with its unsigned twin UWHOLE.  Sums and products wrap in two's
 * complement.  Words of float-only rows are absent: such rows are not
 * expanded here.  Divisors of 0 are refused before a kernel runs; the guards
 * only keep a machine from trapping.  C, C++ and CUDA.
 * No include guard: this header switches the meaning of the words.
 */
#include "rows/nowords.h"

#define K(c) ((WHOLE)(c))
#define NONE K(0)
#define NEG(a) ((WHOLE)(0 - (UWHOLE)(a)))
#define ADD(a, b) ((WHOLE)((UWHOLE)(a) + (UWHOLE)(b)))
#define SUB(a, b) ((WHOLE)((UWHOLE)(a) - (UWHOLE)(b)))
#define MUL(a, b) ((WHOLE)((UWHOLE)(a) * (UWHOLE)(b)))
#define EQ(a, b) ((a) == (b) ? K(1) : K(0))
#define NE(a, b) ((a) != (b) ? K(1) : K(0))
#define LT(a, b) ((a) < (b) ? K(1) : K(0))
#define LE(a, b) ((a) <= (b) ? K(1) : K(0))
#define GT(a, b) ((a) > (b) ? K(1) : K(0))
#define GE(a, b) ((a) >= (b) ? K(1) : K(0))
#define AND(a, b) ((a) & (b)) /* of truths: 0 or 1 */
#define OR(a, b) ((a) | (b))
#define BIT_AND(a, b) ((a) & (b))
#define BIT_OR(a, b) ((a) | (b))
#define BIT_XOR(a, b) ((a) ^ (b))
#define BIT_NOT(a) (~(a))
#define SHIFT_LEFT(a, b) ((WHOLE)((UWHOLE)(a) << ((b) & SHIFT_MOST)))
#define SHIFT_RIGHT(a, b) ((a) >> ((b) & SHIFT_MOST))
#define WHERE(c, a, b) ((c) != 0 ? (a) : (b))
#define ABS(a) ((a) < 0 ? NEG(a) : (a))
#define FLOOR(a) (a)
#define CEIL(a) (a)
#define TRUNC(a) (a)
#define ROUND(a) (a)
#define FLOOR_DIVIDE(a, b) FN(whole_floor_divide)(a, b)
#define REMAINDER(a, b) FN(whole_remainder)(a, b)
#define TRUNC_DIVIDE(a, b) FN(whole_trunc_divide)(a, b)
#define FMOD(a, b) FN(whole_fmod)(a, b)
#define SIGNBIT(a) LT(a, K(0))
#define POW(a, b) FN(whole_pow)(a, b)
