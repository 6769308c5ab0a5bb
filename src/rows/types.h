/* types.h: the column `types` of the rows, read in three ways.
 *
 * A reader of pointwise.def pastes TYPES_x##types:
 *   SET_OF_##types        the dtypes that the row takes as they are
 *   WHOLE_##types(code)   `code` where the row has integer kernels, else none
 *   REAL_##types(code)    the same for float kernels: rows on bits have none
 * Must not know: what a row does.
 */
#ifndef TENSUS_TYPES_H
#define TENSUS_TYPES_H

#define SET_OF_F SET_FLOATS
#define SET_OF_FP SET_FLOATS
#define SET_OF_W (SET_F32 | SET_F64)
#define SET_OF_N SET_NUMBERS
#define SET_OF_A SET_ALL
#define SET_OF_C SET_ALL
#define SET_OF_M SET_ALL
#define SET_OF_I SET_INTEGERS
#define SET_OF_IB (SET_INTEGERS | SET_BOOL)
#define SET_OF_CMP SET_ALL

#define WHOLE_F(...)
#define WHOLE_FP(...)
#define WHOLE_N(...) __VA_ARGS__
#define WHOLE_A(...) __VA_ARGS__
#define WHOLE_C(...) __VA_ARGS__
#define WHOLE_M(...) __VA_ARGS__
#define WHOLE_I(...) __VA_ARGS__
#define WHOLE_IB(...) __VA_ARGS__
#define WHOLE_CMP(...) __VA_ARGS__

#define REAL_F(...) __VA_ARGS__
#define REAL_FP(...) __VA_ARGS__
#define REAL_N(...) __VA_ARGS__
#define REAL_A(...) __VA_ARGS__
#define REAL_C(...) __VA_ARGS__
#define REAL_M(...) __VA_ARGS__
#define REAL_I(...)
#define REAL_IB(...)
#define REAL_CMP(...) __VA_ARGS__

#endif
