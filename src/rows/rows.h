/* rows.h: what ops there are, expanded from the tables.
 *
 * op_rows[op] says of an op: its kind, what it takes, what it gives, what its
 * derivative reads.  Border, C API, differentiation and specs walk it.
 * Must not know: how an op runs.
 */
#ifndef TENSUS_ROWS_H
#define TENSUS_ROWS_H

#include "rows/points.h"
#include "value/dtype.h"

enum {
  OP_BEFORE_OTHERS = POINT_COUNT - 1,
#define OP(name, ...) OP_##name,
#include "rows/all.def"
  OP_COUNT,
  OP_LEAF = OP_COUNT /* the node of a tensor that nothing produced */
};

typedef enum OpKind {
  KIND_POINT,
  KIND_LINEAR,
  KIND_VIEW,
  KIND_MULTI,
  KIND_SELECT,
  KIND_RULE,
  KIND_FLAT,
  KIND_CREATE,
  KIND_COMPOSED,
  KIND_UPDATE
} OpKind;

typedef enum ParamKind {
  PARAM_TENSOR,
  PARAM_OPERAND, /* tensor or number */
  PARAM_VALUE,   /* number, read by a pointwise row as an operand */
  PARAM_LIST,
  PARAM_PICKS, /* a list of index tensors, NULL for whole axes */
  PARAM_DIM,
  PARAM_DIMS,
  PARAM_DIMS_TABLE,
  PARAM_SHAPE,
  PARAM_SHAPE_TABLE,
  PARAM_POSITION,
  PARAM_INTEGER,
  PARAM_NUMBER,
  PARAM_TUPLE,
  PARAM_WHOLES, /* a whole number, or a table of any number of them */
  PARAM_DIM_LISTS, /* a whole number, or two lists of dims */
  PARAM_TEXT,
  PARAM_NAMES, /* whole numbers by name, in the place of options */
  PARAM_FLAG,
  PARAM_CHOICE, /* one of `words`; a number counts as its text */
  PARAM_DTYPE,
  PARAM_DEVICE,
  PARAM_GENERATOR
} ParamKind;

typedef enum ParamNeed { NEEDED, MAY_LACK, OPTION } ParamNeed;

/* value: the default; NAN means "none".  words: of a choice, parted by |. */
typedef struct Param {
  const char *name;
  ParamKind kind;
  ParamNeed need;
  double value;
  const char *words;
} Param;

enum {
  OP_INPLACE = 1,      /* has a form name_ */
  OP_ONLY_INPLACE = 2, /* has no other */
  OP_HIDDEN = 4,       /* not offered to scripts */
  OP_PROMOTE = 8,      /* tensors become one dtype */
  OP_FLOAT_PLUS = 16,  /* integers and bool first become the default float */
  OP_COMPARES = 32,    /* result bool; numbers compare exactly */
  OP_AT_PLACES = 64,   /* name_ writes into its target, where it must, alone */
  OP_METHOD = 128      /* in ts.linalg, and a method all the same */
};

enum {
  MAX_PARAMS = 12,
  MAX_INPUTS = 4,
  MAX_RESULTS = 4,
  RESULTS_MANY = UINT8_MAX /* a list, as long as the call makes it */
};

typedef struct OpRow {
  const char *name;
  OpKind kind;
  DtypeSet dtypes; /* of the first tensor */
  uint8_t flags;
  uint8_t params;
  uint8_t operands; /* pointwise: the arity; else tensors before a list */
  uint8_t results, hidden;
  uint8_t saves;      /* letters that any pull reads */
  uint8_t uses[3];    /* pointwise: letters of gx, gy, gz */
  double low, high;   /* pointwise: where gradient checks draw */
  const Param *param;
  const char *topic; /* the file that the row stands in */
  const char *help;
} OpRow;

extern const OpRow op_rows[OP_COUNT];

INLINE bool op_is_pointwise(OpId op) { return op < POINT_COUNT; }

/* By name; OP_COUNT for none. */
OpId op_find(const char *name);

/* Where scripts find the row in the module: "linalg.", or "". */
const char *op_prefix(const OpRow *row);

/* Is it a method of tensors? */
bool op_is_method(const OpRow *row);

const char *op_kind_name(OpKind kind);
const char *param_kind_name(ParamKind kind);

#endif
