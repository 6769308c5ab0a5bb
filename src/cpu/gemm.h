/* gemm.h: C = alpha A B + beta C, any strides; f32, f64 and integers.
 *
 * Knows counts, strides and pointers; allocates nothing, cannot fail.
 * Always: an element of C has the same bits whatever the layout of A, B and C
 * and whichever thread computes it.  In a product of two or more rows and
 * columns it has them wherever it stands; a product of one row or one column
 * has an order of its own (see below), alone or in a batch.
 * Must not know: tensors, images, threads.
 */
#ifndef TENSUS_GEMM_H
#define TENSUS_GEMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Integers wrap in two's complement. */
enum { GEMM_F32, GEMM_F64, GEMM_I32, GEMM_I64, GEMM_U8, GEMM_TYPES };

/* Where index i of an axis sits: table[i], or i * stride without a table. */
typedef struct GemmAxis {
  int64_t stride;
  const int64_t *table; /* borrowed, NULL for a plain stride */
} GemmAxis;

/* Element (i, j) is data[row(i) + col(j)]: a strided matrix, several axes of
 * a tensor folded into one by a table, or an image seen as columns.  An
 * offset may be negative, zero or repeated; all count in elements. */
typedef struct GemmOperand {
  const void *data;
  GemmAxis row, col;
  int64_t batch; /* stride from one product to the next; 0 shares */
} GemmOperand;

/* c (batch, m, n) = alpha a (batch, m, k) b (batch, k, n) + beta c, then
 * + bias, then relu.  All counts >= 0.  beta = 0: c is not read.  alpha = 0
 * or k = 0: a and b are not read.  NaN and Inf go through, relu(NaN) = NaN.
 * c overlaps neither a, b nor itself.
 * Integers: alpha is 0 or 1, beta is 0 or 1, no bias, no relu.
 *
 * Floats, m = 1 or n = 1: the sum over k runs in a fixed number of chains and
 * ends in a fixed tree, which is as fast as memory in either layout; `tiled`
 * keeps to the order of larger products instead. */
typedef struct Gemm {
  int type;
  int64_t batch, m, n, k;
  GemmOperand a, b;
  void *c;
  int64_t c_row, c_col, c_batch;
  double alpha, beta;
  const void *bias; /* NULL: none; element i * bias_row + j * bias_col */
  int64_t bias_row, bias_col;
  bool relu, tiled;
} Gemm;

/* A part of C: `batches` products, and of each the same rows and columns. */
typedef struct GemmBlock {
  int64_t batch, row, col, batches, rows, cols;
} GemmBlock;

typedef void GemmWork(const Gemm *g, const GemmBlock *w, void *scratch);

/* One instruction set, one type: sizes, and the routines for a block of C. */
typedef struct GemmLevel {
  int bytes, rows, lanes, depth; /* element, register tile, vector, most k */
  int block_rows;                /* rows of A packed at a time: half an L2 */
  int vector_room;               /* elements of scratch of `vector`, less k */
  GemmWork *block, *vector;      /* any product; one of a single row */
} GemmLevel;

/* How a product is cut: a function of shape, strides and level alone. */
typedef struct GemmPlan {
  Gemm g; /* perhaps transposed: C' = B' A' */
  const GemmLevel *level;
  GemmWork *work;
  int64_t chunks, grid_rows, grid_cols; /* chunks == batches x rows x cols */
  GemmBlock size;                       /* of a chunk that is not the last */
  size_t room; /* bytes of scratch, per thread, 64-aligned; may be 0 */
} GemmPlan;

/* What is compiled for a level (level.h) and a type. */
const GemmLevel *gemm_level(int level, int type);

/* Cut g for `level`, which must not exceed level_best().  The plan borrows
 * what g points to. */
GemmPlan gemm_plan(const Gemm *g, int level);

/* Compute chunk `chunk` of the plan, 0 <= chunk < chunks: any order, any
 * thread, each with its own 64-aligned scratch of plan->room bytes. */
void gemm_chunk(const GemmPlan *plan, int64_t chunk, void *scratch);

/* Bytes of scratch for one thread: gemm_plan(g, level).room. */
size_t gemm_room(const Gemm *g, int level);

#endif
