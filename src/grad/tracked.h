/* tracked.h: the words of the pointwise rows as calls of tracked ops on the
 * `tape` in scope.
 * No include guard: this header switches the meaning of the words.
 */
#include "rows/nowords.h"

#define K(c) tape_number(tape, c)
#define NONE NULL
#define IF(c) WHERE(c, g, K(0))
#define NEG(a) tape_unary(tape, OP_neg, a)
#define ADD(a, b) tape_binary(tape, OP_add, a, b)
#define SUB(a, b) tape_binary(tape, OP_sub, a, b)
#define MUL(a, b) tape_binary(tape, OP_mul, a, b)
#define DIV(a, b) tape_binary(tape, OP_div, a, b)
#define EQ(a, b) tape_binary(tape, OP_eq, a, b)
#define NE(a, b) tape_binary(tape, OP_ne, a, b)
#define LT(a, b) tape_binary(tape, OP_lt, a, b)
#define LE(a, b) tape_binary(tape, OP_le, a, b)
#define GT(a, b) tape_binary(tape, OP_gt, a, b)
#define GE(a, b) tape_binary(tape, OP_ge, a, b)
#define AND(a, b) tape_binary(tape, OP_logical_and, a, b)
#define OR(a, b) tape_binary(tape, OP_logical_or, a, b)
#define WHERE(c, a, b) tape_choose(tape, c, a, b)
#define SIGN(a) tape_unary(tape, OP_sign, a)
#define FLOOR(a) tape_unary(tape, OP_floor, a)
#define FLOOR_DIVIDE(a, b) tape_binary(tape, OP_floor_divide, a, b)
#define ABS(a) tape_unary(tape, OP_abs, a)
#define SQRT(a) tape_unary(tape, OP_sqrt, a)
#define RSQRT(a) tape_unary(tape, OP_rsqrt, a)
#define EXP(a) tape_unary(tape, OP_exp, a)
#define LOG(a) tape_unary(tape, OP_log, a)
#define SIN(a) tape_unary(tape, OP_sin, a)
#define COS(a) tape_unary(tape, OP_cos, a)
#define SINH(a) tape_unary(tape, OP_sinh, a)
#define TANH(a) tape_unary(tape, OP_tanh, a)
#define ERF(a) tape_unary(tape, OP_erf, a)
#define ERFC(a) tape_unary(tape, OP_erfc, a)
#define SIGMOID(a) tape_unary(tape, OP_sigmoid, a)
#define POW(a, b) tape_binary(tape, OP_pow, a, b)
