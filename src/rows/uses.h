/* uses.h: the words of the pointwise rows as sets of the letters inside.
 *
 * Third reading of the columns: what a pull reads, and so what is saved,
 * follows from its text.  USES_WORD marks that anything is computed at all: a
 * pull that is g itself costs nothing.
 * No include guard: this header switches the meaning of the words.
 */
#include "rows/nowords.h"

#define K(c) 0
#define NONE 0
#define IF(c) ((c) | USES_G | USES_WORD)
#define USES_1(a) ((a) | USES_WORD)
#define USES_2(a, b) ((a) | (b) | USES_WORD)
#define NEG USES_1
#define ADD USES_2
#define SUB USES_2
#define MUL USES_2
#define DIV USES_2
#define EQ USES_2
#define NE USES_2
#define LT USES_2
#define LE USES_2
#define GT USES_2
#define GE USES_2
#define AND USES_2
#define OR USES_2
#define BIT_AND USES_2
#define BIT_OR USES_2
#define BIT_XOR USES_2
#define BIT_NOT USES_1
#define SHIFT_LEFT USES_2
#define SHIFT_RIGHT USES_2
#define WHERE(c, a, b) ((c) | (a) | (b) | USES_WORD)
#define SIGN USES_1
#define FLOOR USES_1
#define CEIL USES_1
#define TRUNC USES_1
#define ROUND USES_1
#define FLOOR_DIVIDE USES_2
#define REMAINDER USES_2
#define TRUNC_DIVIDE USES_2
#define FMOD USES_2
#define ABS USES_1
#define SIGNBIT USES_1
#define COPYSIGN USES_2
#define SQRT USES_1
#define RSQRT USES_1
#define HYPOT USES_2
#define EXP USES_1
#define EXP2 USES_1
#define EXPM1 USES_1
#define LOG USES_1
#define LOG1P USES_1
#define LOG2 USES_1
#define LOG10 USES_1
#define LOGADDEXP USES_2
#define LOGIT USES_1
#define SIN USES_1
#define COS USES_1
#define TAN USES_1
#define ASIN USES_1
#define ACOS USES_1
#define ATAN USES_1
#define ATAN2 USES_2
#define SINH USES_1
#define COSH USES_1
#define TANH USES_1
#define ASINH USES_1
#define ACOSH USES_1
#define ATANH USES_1
#define SINC USES_1
#define SINC_SLOPE USES_2
#define ERF USES_1
#define ERFC USES_1
#define ERFINV USES_1
#define SIGMOID USES_1
#define SILU USES_1
#define MISH USES_1
#define GELU USES_1
#define GELU_TANH USES_1
#define SOFTPLUS USES_1
#define LOGSIGMOID USES_1
#define LGAMMA USES_1
#define DIGAMMA USES_1
#define POLYGAMMA USES_2
#define POW USES_2
