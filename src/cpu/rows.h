/* rows.h: the loops over rows of numbers, compiled for a machine level.
 *
 * Rows [first, last) of the struct; sums in the order of rows/fold.def.
 * Must not know: threads.
 */
#ifndef TENSUS_CPU_ROWS_H
#define TENSUS_CPU_ROWS_H

#include "device/backend.h"

typedef struct RowLoops {
  void (*softmax)(const Softmax *s, int64_t first, int64_t last);
  void (*softmax_pull)(const Softmax *s, int64_t first, int64_t last);
  void (*logsumexp)(const LogSumExp *s, int64_t first, int64_t last);
  void (*layer_norm)(const LayerNorm *l, int64_t first, int64_t last);
  void (*layer_norm_pull)(const LayerNorm *l, int64_t first, int64_t last);
  /* gw and gb, of the columns [first, last): at most NORM_COLUMNS */
  void (*norm_weights)(const LayerNorm *l, int64_t first, int64_t last);
  void (*cross_entropy)(const CrossEntropy *e, int64_t first, int64_t last);
  void (*cross_entropy_pull)(const CrossEntropy *e, int64_t first,
                             int64_t last);
} RowLoops;

enum { NORM_COLUMNS = 64 };

typedef struct RowsLevel {
  RowLoops loops[2]; /* f32, f64 */
} RowsLevel;

extern const RowsLevel rows_base, rows_avx2, rows_avx512;

#endif
