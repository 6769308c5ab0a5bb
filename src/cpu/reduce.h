/* reduce.h: what reduce.c asks of the loops compiled for a machine level.
 *
 * Four types compute: f32, f64, i32, i64; `void *` of a loop points at them.
 * Must not know: axes, threads.
 */
#ifndef TENSUS_REDUCE_H
#define TENSUS_REDUCE_H

#include "device/backend.h"

enum { FOLD_ROWS = 4 }; /* elements of a lane that are met in one pass */

enum { TYPE_F32, TYPE_F64, TYPE_I32, TYPE_I64, REDUCE_TYPES };

INLINE int reduce_type(Dtype compute) {
  switch (compute) {
  case DTYPE_F32: return TYPE_F32;
  case DTYPE_F64: return TYPE_F64;
  case DTYPE_I32: return TYPE_I32;
  default: assert(compute == DTYPE_I64); return TYPE_I64;
  }
}

/* The loops of one fold, in the words of rows/fold.def.  `by` is readable
 * memory where the fold has no BY. */
typedef struct FoldLoops {
  void (*start)(int64_t n, void *r); /* r[i] = the start value */
  /* *r = the fold of one chunk, 1 <= n <= FOLD_CHUNK neighbours; BY is *by */
  void (*run)(int64_t n, const void *x, const void *by, void *r);
  /* Of elements, with BY by[i]: r[i] = step(.. step(r[i], x[i]) ..,
   * x[i + (rows - 1) stride]), rows <= FOLD_ROWS.  Of partial values: r[i] =
   * step(r[i], x[i]). */
  void (*into)(int64_t n, const void *x, int64_t stride, int rows,
               const void *by, void *r);
  void (*meet)(int64_t n, const void *x, void *r);
} FoldLoops;

/* to[i] = src[i * stride], converted; and back. */
typedef void ReduceLoad(int64_t n, const char *src, int64_t stride, void *to);
typedef void ReduceStore(int64_t n, const void *from, char *dst,
                         int64_t stride);

typedef struct ReduceLevel {
  FoldLoops fold[REDUCE_TYPES][FOLD_COUNT]; /* NULL: no op asks for it */
  FoldLoops wide[FOLD_COUNT]; /* elements f32, the rest f64; NULL: none */
  /* NULL: floats are not folded as integers, nor stored as such */
  ReduceLoad *load[REDUCE_TYPES][DTYPE_COUNT];
  ReduceStore *store[REDUCE_TYPES][DTYPE_COUNT];
  /* First i with x[i] equal to *value, or with both NaN; n if there is none */
  int64_t (*find[REDUCE_TYPES])(int64_t n, const void *x, const void *value);
  /* Where x[i] beats best[i]: best[i] = x[i], place[i] = at.  [1]: greatest */
  void (*rival[REDUCE_TYPES][2])(int64_t n, const void *x, int64_t at,
                                 void *best, int64_t *place);
} ReduceLevel;

extern const ReduceLevel reduce_base, reduce_avx2, reduce_avx512;

const ReduceLevel *reduce_level(int level);

/* The slots on the loops of one level; for tests. */
bool reduce_run(Backend *b, const Reduce *r, int level);
bool arg_extreme_run(Backend *b, const ArgExtreme *a, int level);

#endif
