/* dtype.h: element types, their sizes, names and promotion.
 * Must not know: memory, tensors. */
#ifndef TENSUS_DTYPE_H
#define TENSUS_DTYPE_H

#include "ground/check.h"

typedef enum Dtype {
#define DTYPE(name, NAME, type, bytes, class, aliases) DTYPE_##NAME,
#include "value/dtype.def"
  DTYPE_COUNT,
  DTYPE_NONE = DTYPE_COUNT
} Dtype;

typedef enum DtypeClass { CLASS_BOOL, CLASS_INTEGER, CLASS_FLOAT } DtypeClass;

/* A set of dtypes, for the column `dtypes` of a row. */
typedef uint16_t DtypeSet;

enum {
#define DTYPE(name, NAME, type, bytes, class, aliases) \
  SET_##NAME = 1 << DTYPE_##NAME,
#include "value/dtype.def"
  SET_FLOATS = SET_F16 | SET_BF16 | SET_F32 | SET_F64,
  SET_INTEGERS = SET_U8 | SET_I8 | SET_I16 | SET_I32 | SET_I64,
  SET_NUMBERS = SET_FLOATS | SET_INTEGERS,
  SET_ALL = SET_NUMBERS | SET_BOOL
};

INLINE bool dtype_in(Dtype d, DtypeSet set) { return (set >> d & 1) != 0; }

const char *dtype_name(Dtype d);
size_t dtype_bytes(Dtype d);
DtypeClass dtype_class(Dtype d);

/* By name or alias; DTYPE_NONE for none of them. */
Dtype dtype_find(const char *name);

/* The dtype of a result of two operands (API.md 3): symmetric. */
Dtype dtype_promote(Dtype a, Dtype b);

/* The type that arithmetic runs in: f32 for f16 and bf16, i32 for narrower
 * integers and bool, else itself. */
Dtype dtype_compute(Dtype d);

/* The least and greatest value of an integer dtype or bool. */
int64_t dtype_least(Dtype d);
int64_t dtype_greatest(Dtype d);

#endif
