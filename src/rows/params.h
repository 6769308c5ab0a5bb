/* params.h: the words of the column `params`, read as initialisers of Param.
 *
 *   T(name)            a tensor
 *   S(name)            a tensor or a number (a weak scalar)
 *   V(name, default)   a number that a pointwise row reads as an operand;
 *                      may be left out.  LOWEST and HIGHEST are the limits of
 *                      the dtype (infinite for floats)
 *   T_OR_NONE(name)    a tensor that may be left out
 *   LIST(name)         a table of tensors; LIST_OR_NONE(name)
 *   PICKS(name)        a table of index tensors and masks; {} is a whole axis
 *                      (NULL in the list of the Arg)
 *   DIM(name)          one axis; DIM_OR(name, k): k (from 0) when left out;
 *                      DIM_OR_NONE(name): none
 *   DIMS(name)         an axis or a table of them; left out: none given
 *   DIMS_TABLE(name)   an axis or a table of them, never in a row
 *   SHAPE(name)        sizes, in a row or in one table
 *   SHAPE_TABLE(name)  sizes, in one table only
 *   POSITION(name)     a place along an axis, from the caller's base
 *   INTEGER(name)      INTEGER_OR(name, k)
 *   NUMBER(name)       NUMBER_OR(name, k)     keep their subtype
 *   TUPLE(name)        one whole number, or a table of them: one for each axis
 *   WHOLES(name)       a whole number, or a table of any number of them
 *   DIM_LISTS_OR(name, k)  a whole number, or two lists of dims, of as many
 *                      each: then WHOLES, those of the second list behind
 *                      those of the first
 *   TEXT(name)         a string
 *   DTYPE_(name)       a dtype's name
 *   CHOICE(name, "first|second")     one of the words, or a number that is
 *                      written like one; CHOICE_OR: or left out, the first
 *   O_...              the same as an option of the last table:
 *     O_FLAG(name, 0|1)  O_NUMBER(name, k)  O_INTEGER(name, k)  O_V(name, k)
 *     O_NAMES(name)      the table of options itself: whole numbers by any
 *                        names, as the text "p=2 h=3 "
 *     O_SIZES(name)      sizes in a table, or one number
 *     O_TUPLE(name, k)   one whole number, or a table: one for each axis
 *     O_TUPLE_OR(name, k, "first|second")   or one of these words (ARG_TEXT)
 *     O_DIM(name, k)     one axis; k counts from 0
 *     O_POSITION(name)   a place along an axis; none when left out
 *     O_CHOICE(name, "first|second")   the first is the default
 *     O_TENSOR(name)  O_DTYPE  O_DEVICE  O_GRAD  O_GENERATOR
 *
 * No include guard: switches the meaning of the words; params_end.h clears.
 */
#define T(name) {#name, PARAM_TENSOR, NEEDED, 0, NULL}
#define S(name) {#name, PARAM_OPERAND, NEEDED, 0, NULL}
#define V(name, value) {#name, PARAM_VALUE, MAY_LACK, value, NULL}
#define T_OR_NONE(name) {#name, PARAM_TENSOR, MAY_LACK, 0, NULL}
#define LIST(name) {#name, PARAM_LIST, NEEDED, 0, NULL}
#define LIST_OR_NONE(name) {#name, PARAM_LIST, MAY_LACK, 0, NULL}
#define PICKS(name) {#name, PARAM_PICKS, NEEDED, 0, NULL}
#define DIM(name) {#name, PARAM_DIM, NEEDED, 0, NULL}
#define DIM_OR(name, value) {#name, PARAM_DIM, MAY_LACK, value, NULL}
#define DIM_OR_NONE(name) {#name, PARAM_DIM, MAY_LACK, NAN, NULL}
#define DIMS(name) {#name, PARAM_DIMS, MAY_LACK, 0, NULL}
#define DIMS_TABLE(name) {#name, PARAM_DIMS_TABLE, NEEDED, 0, NULL}
#define DIMS_TABLE_OR_NONE(name) {#name, PARAM_DIMS_TABLE, MAY_LACK, 0, NULL}
#define SHAPE(name) {#name, PARAM_SHAPE, NEEDED, 0, NULL}
#define SHAPE_TABLE(name) {#name, PARAM_SHAPE_TABLE, NEEDED, 0, NULL}
#define POSITION(name) {#name, PARAM_POSITION, NEEDED, 0, NULL}
#define INTEGER(name) {#name, PARAM_INTEGER, NEEDED, 0, NULL}
#define INTEGER_OR(name, value) {#name, PARAM_INTEGER, MAY_LACK, value, NULL}
#define NUMBER(name) {#name, PARAM_NUMBER, NEEDED, 0, NULL}
#define NUMBER_OR(name, value) {#name, PARAM_NUMBER, MAY_LACK, value, NULL}
#define TUPLE(name) {#name, PARAM_TUPLE, NEEDED, 0, NULL}
#define WHOLES(name) {#name, PARAM_WHOLES, NEEDED, 0, NULL}
#define DIM_LISTS_OR(name, value) \
  {#name, PARAM_DIM_LISTS, MAY_LACK, value, NULL}
#define TEXT(name) {#name, PARAM_TEXT, NEEDED, 0, NULL}
#define CHOICE(name, words) {#name, PARAM_CHOICE, NEEDED, 0, words}
#define O_NAMES(name) {#name, PARAM_NAMES, OPTION, 0, NULL}
#define CHOICE_OR(name, words) {#name, PARAM_CHOICE, MAY_LACK, 0, words}
#define DTYPE_(name) {#name, PARAM_DTYPE, NEEDED, 0, NULL}
#define O_FLAG(name, value) {#name, PARAM_FLAG, OPTION, value, NULL}
#define O_NUMBER(name, value) {#name, PARAM_NUMBER, OPTION, value, NULL}
#define O_DIM(name, value) {#name, PARAM_DIM, OPTION, value, NULL}
#define O_POSITION(name) {#name, PARAM_POSITION, OPTION, NAN, NULL}
#define O_INTEGER(name, value) {#name, PARAM_INTEGER, OPTION, value, NULL}
#define O_V(name, value) {#name, PARAM_VALUE, OPTION, value, NULL}
#define O_SIZES(name) {#name, PARAM_SHAPE_TABLE, OPTION, 0, NULL}
#define O_TUPLE(name, value) {#name, PARAM_TUPLE, OPTION, value, NULL}
#define O_TUPLE_OR(name, value, words) \
  {#name, PARAM_TUPLE, OPTION, value, words}
#define O_CHOICE(name, words) {#name, PARAM_CHOICE, OPTION, 0, words}
#define O_TENSOR(name) {#name, PARAM_TENSOR, OPTION, 0, NULL}
#define O_DTYPE {"dtype", PARAM_DTYPE, OPTION, 0, NULL}
#define O_DEVICE {"device", PARAM_DEVICE, OPTION, 0, NULL}
#define O_GRAD {"requires_grad", PARAM_FLAG, OPTION, 0, NULL}
#define O_GENERATOR {"generator", PARAM_GENERATOR, OPTION, 0, NULL}
#define LOWEST (-INFINITY)
#define HIGHEST INFINITY
