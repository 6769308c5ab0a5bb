/* rows.c: the tables of rows.h, expanded. */
#include "rows/rows.h"

#include <math.h>
#include <string.h>

#include "rows/types.h"

/* ---- parameters ---- */

#include "rows/params.h"
#define UNPACK(...) __VA_ARGS__
#define POINT(name, kind, arity, types, value, gx, gy, gz, lo, hi, params, \
              help)                                                        \
  static const Param name##_params[] = {UNPACK params};
#include "rows/pointwise.def"
#define OP(name, kind, types, params, ...) \
  static const Param name##_params[] = {UNPACK params};
#include "rows/all.def"
#undef UNPACK
#include "rows/params_end.h"

/* ---- what the derivative of a pointwise row reads ---- */

#include "rows/uses.h"
enum {
  x = USES_X,
  y = USES_Y,
  z = USES_Z,
  r = USES_R,
  g = USES_G
};
enum {
#define POINT(name, kind, arity, types, value, gx, gy, gz, ...) \
  gx_##name = (gx), gy_##name = (gy), gz_##name = (gz),
#include "rows/pointwise.def"
};
#include "rows/nowords.h"

/* ---- the table ---- */

#define LETTERS (USES_X | USES_Y | USES_Z | USES_R)
#define COUNT(list) (uint8_t)(sizeof(list) / sizeof *(list))

#define PLUS_F 0
#define PLUS_FP OP_FLOAT_PLUS
#define PLUS_N 0
#define PLUS_A 0
#define PLUS_C 0
#define PLUS_M 0
#define PLUS_I 0
#define PLUS_IB 0
#define PLUS_CMP OP_COMPARES
/* A pointwise row that keeps the dtype of its first operand has an in-place
 * form; a comparison does not, nor one whose first operand is a condition. */
#define KEEPS_F 1
#define KEEPS_FP 1
#define KEEPS_N 1
#define KEEPS_A 1
#define KEEPS_C 0
#define KEEPS_M 1
#define KEEPS_I 1
#define KEEPS_IB 1
#define KEEPS_CMP 0
#define FORM_LINEAR OP_INPLACE
#define FORM_MULTI OP_INPLACE
#define FORM_POINT OP_INPLACE
#define FORM_FLAT OP_INPLACE
/* HIDDEN(kind) pastes to these: a part of a composed row. */
#define KIND_HIDDEN(kind) KIND_##kind
#define FORM_HIDDEN(kind) OP_HIDDEN

#define AUTO 0
#define X USES_X
#define Y USES_Y
#define Z USES_Z
#define R USES_R
#define R2 USES_R2
#define H USES_H
#define MANY RESULTS_MANY
#define R3 USES_H /* in the place of the hidden results */
#define INPLACE OP_INPLACE
#define ONLY_INPLACE OP_ONLY_INPLACE
#define HIDDEN OP_HIDDEN
#define PROMOTE OP_PROMOTE
#define AT_PLACES OP_AT_PLACES
#define METHOD OP_METHOD

const OpRow op_rows[OP_COUNT] = {
#define POINT(name, kind, arity, types, value, gx, gy, gz, lo, hi, params, \
              help)                                                        \
  {#name,                                                                  \
   KIND_##kind,                                                            \
   SET_OF_##types,                                                         \
   (PLUS_##types) | (KEEPS_##types ? FORM_##kind : 0),                     \
   COUNT(name##_params),                                                   \
   arity,                                                                  \
   1,                                                                      \
   0,                                                                      \
   (gx_##name | gy_##name | gz_##name) & LETTERS,                          \
   {gx_##name, gy_##name, gz_##name},                                      \
   lo,                                                                     \
   hi,                                                                     \
   name##_params,                                                          \
   "pointwise",                                                            \
   help},
#include "rows/pointwise.def"
#define OP(name, kind, types, params, results, hidden, saves, gx, gy, gz, \
           push, flags, help)                                             \
  {#name,                                                                 \
   KIND_##kind,                                                           \
   SET_OF_##types,                                                        \
   flags,                                                                 \
   COUNT(name##_params),                                                  \
   0,                                                                     \
   results,                                                               \
   hidden,                                                                \
   saves,                                                                 \
   {0, 0, 0},                                                             \
   0,                                                                     \
   0,                                                                     \
   name##_params,                                                         \
   TOPIC,                                                                 \
   help},
#include "rows/all.def"
};

OpId op_find(const char *name) {
  for (int op = 0; op < OP_COUNT; op++)
    if (strcmp(op_rows[op].name, name) == 0) return (OpId)op;
  return OP_COUNT;
}

const char *op_prefix(const OpRow *row) {
  return strcmp(row->topic, "linalg") == 0 ? "linalg." : "";
}

bool op_is_method(const OpRow *row) {
  if (row->params == 0) return false;
  if (op_prefix(row)[0] != '\0' && !(row->flags & OP_METHOD)) return false;
  const ParamKind kind = row->param[0].kind;
  return kind == PARAM_TENSOR || kind == PARAM_OPERAND;
}

const char *op_kind_name(OpKind kind) {
  static const char *const names[] = {"pointwise", "linear",   "view",
                                      "multilinear", "selection", "rule",
                                      "flat",      "create",   "composed",
                                      "update"};
  return names[kind];
}

const char *param_kind_name(ParamKind kind) {
  static const char *const names[] = {
      "tensor", "operand", "value",   "tensors", "positions", "dim",    "dims",
      "dims",    "shape",  "sizes",   "position", "integer", "number", "tuple", "wholes",
      "dim lists",
      "string",  "names", "flag",    "choice",  "dtype",   "device", "generator"};
  return names[kind];
}
