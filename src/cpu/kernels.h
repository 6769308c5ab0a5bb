/* kernels.h: the slots of the CPU, and the tables that a level exports.
 *
 * CPU_SLOTS is the one list of slots: each file of kernels defines some of
 * them as cpu_SLOT, and cpu.c fills a Backend from it.
 * Must not know: what a kernel does.
 */
#ifndef TENSUS_KERNELS_H
#define TENSUS_KERNELS_H

#include "cpu/level.h"
#include "device/backend.h"

/* SLOT(result, name, arguments after the backend) */
#define CPU_SLOTS(SLOT)                                       \
  SLOT(bool, run, const Program *)                            \
  SLOT(bool, move, const Move *)                              \
  SLOT(void, ramp, const Ramp *)                              \
  SLOT(int64_t, find_bad, const Move *, int64_t, int64_t)     \
  SLOT(size_t, reduce_room, const Reduce *)                   \
  SLOT(bool, reduce, const Reduce *)                          \
  SLOT(bool, arg_extreme, const ArgExtreme *)                 \
  SLOT(size_t, scan_room, const Scan *)                       \
  SLOT(bool, scan, const Scan *)                              \
  SLOT(bool, gather, const Pick *)                            \
  SLOT(bool, scatter, const Pick *)                           \
  SLOT(bool, scatter_add, const Pick *)                       \
  SLOT(bool, scatter_fold, const Pick *, FoldId)              \
  SLOT(int64_t, find_outside, const Pick *, int64_t, int64_t) \
  SLOT(size_t, mask_room, const Masked *)                     \
  SLOT(int64_t, mask_count, const Masked *)                   \
  SLOT(bool, mask_move, const Masked *)                       \
  SLOT(size_t, sort_room, const Sort *)                       \
  SLOT(bool, sort, const Sort *)                              \
  SLOT(bool, bisect, const Bisect *)                          \
  SLOT(size_t, product_room, const Product *)                 \
  SLOT(bool, product, const Product *)                        \
  SLOT(bool, sample, const Sample *)                          \
  SLOT(bool, sample_add, const Sample *)                      \
  SLOT(bool, resample, const Resample *)                      \
  SLOT(size_t, conv_room, const Convolution *)                \
  SLOT(bool, conv, const Convolution *)                       \
  SLOT(bool, max_pool, const MaxPool *)                       \
  SLOT(bool, avg_pool, const AvgPool *)                       \
  SLOT(bool, avg_pool_add, const AvgPool *)                   \
  SLOT(bool, softmax, const Softmax *)                        \
  SLOT(bool, softmax_pull, const Softmax *)                   \
  SLOT(bool, logsumexp, const LogSumExp *)                    \
  SLOT(bool, layer_norm, const LayerNorm *)                   \
  SLOT(size_t, layer_norm_room, const LayerNorm *)            \
  SLOT(bool, layer_norm_pull, const LayerNorm *)              \
  SLOT(bool, cross_entropy, const CrossEntropy *)             \
  SLOT(bool, cross_entropy_pull, const CrossEntropy *)        \
  SLOT(size_t, dense_room, const Dense *)                     \
  SLOT(bool, dense, const Dense *)                            \
  SLOT(bool, draw, const Draw *)                              \
  SLOT(bool, sgd, const Sgd *)                                \
  SLOT(bool, adam, const Adam *)

#define PROTOTYPE(result, name, ...) result cpu_##name(Backend *, __VA_ARGS__);
CPU_SLOTS(PROTOTYPE)
#undef PROTOTYPE

/* ---- pointwise_level.c ---- */

enum { POINT_PAD = 16 }; /* elements: the widest vector of the narrowest type */

/* The types that rows compute in. */
enum { POINT_F32, POINT_F64, POINT_I32, POINT_I64, POINT_TYPES };

/* out[i] = row(in...) for i < n: in[0..2] are x, y, z, in[3] is r, in[4] is
 * g.  May read and write up to the next multiple of POINT_PAD elements.  out
 * may be one of the operands; operands that the row does not read are any
 * readable memory. */
typedef void PointKernel(int64_t n, const void *const in[5], void *out);

/* NULL: the row has no such kernel, or the pull is g itself or nothing. */
typedef struct PointRow {
  PointKernel *value[POINT_TYPES];
  PointKernel *pull[2][3]; /* f32, f64; gx, gy, gz */
} PointRow;

extern const PointRow pointwise_base[POINT_COUNT];
#if defined(__x86_64__)
extern const PointRow pointwise_avx2[POINT_COUNT];
extern const PointRow pointwise_avx512[POINT_COUNT];
#endif

/* cpu_run on the kernels of one level; for tests. */
bool pointwise_run(Backend *b, const Program *p, int level);

/* ---- copy_level.c ---- */

enum { CONVERT_PAD = 64 }; /* the widest vector of bytes */

/* to[i] = from[i] converted (backend.h, Move), i < n: a multiple of the pad
 * of the level.  The arrays share no element. */
typedef void ConvertKernel(int64_t n, const void *from, void *to);

/* to[c + to_row r] = from[r + from_col c] for a square of `side` rows and
 * columns; strides in elements. */
typedef void SquareKernel(const void *from, int64_t from_col, void *to,
                          int64_t to_row);

/* to = POINT_PAD elements: n < POINT_PAD of `from`, then any numbers. */
typedef void PadKernel(int64_t n, const void *from, void *to);

typedef struct CopyLevel {
  ConvertKernel *convert[DTYPE_COUNT][DTYPE_COUNT]; /* from, to; else NULL */
  SquareKernel *square[4];                          /* 1, 2, 4, 8 bytes */
  int side[4];
  int pad; /* <= CONVERT_PAD */
  PadKernel *pad_4, *pad_8;
} CopyLevel;

extern const CopyLevel copy_base;
#if defined(__x86_64__)
extern const CopyLevel copy_avx2, copy_avx512;
#endif

bool copy_run(Backend *b, const Move *m, int level);

#endif
