/* conv.h: convolution as matrix products that read the image in place.
 *
 * No matrix of columns is ever written: the packing step of the product, or
 * the kernel itself, finds element (i, p) at data[row(i) + step(p)].
 * Always: the cut into chunks and every order of addition follow from the
 * shape alone; an image of a batch has the bits that it has alone in y and gx.
 * Must not know: tiles, vectors, threads.
 */
#ifndef TENSUS_CONV_H
#define TENSUS_CONV_H

#include "cpu/gemm.h"
#include "device/backend.h"

/* x (batch, in, size), w (out, in / groups, kernel), y (batch, out, result),
 * all contiguous, f32 or f64.  Output channels [g out / groups, ...) see input
 * channels [g in / groups, ...).  Window o starts at o stride - pad; what lies
 * outside x reads as 0, so `result` says how far x is padded behind.
 * Counts and results > 0, pad >= 0; groups divides in and out. */
typedef struct Conv {
  int type;
  int64_t batch, in, out, groups;
  int64_t size[SPACE], kernel[SPACE], stride[SPACE], pad[SPACE];
  int64_t dilation[SPACE], result[SPACE];
} Conv;

/* FORWARD   image x,  other w  -> y    conv
 * PULL_X    image gy, other w  -> gx   also conv_transpose
 * PULL_W    image x,  other gy -> gw   conv_weight */
enum { CONV_FORWARD, CONV_PULL_X, CONV_PULL_W };

/* PACKED: one product per image, columns gathered while packing.
 * DIRECT: one product per output row, read in place by the kernel.
 * BEST: the faster one of the two, by shape; the bits are the same. */
enum { CONV_BEST, CONV_PACKED, CONV_DIRECT };

/* All of one convolution that depends on the shape. */
typedef struct ConvPlan {
  Conv conv;
  int what, mode, level;
  int64_t padded[SPACE];    /* what a chunk sees of a channel: a plane for each
                               tap DEEP, rows and columns with their border */
  int64_t rows, parts;      /* y, gx: rows of a chunk, chunks of a plane */
  int64_t channels, planes; /* gw: what one chunk sums over */
  int64_t splits;           /* gw: chunks that sum the same elements */
  int64_t chunks;
  size_t shared_room; /* bytes, 64-aligned, of all chunks */
  size_t room;        /* bytes of scratch, 64-aligned, per thread */
  Gemm product;       /* of one image */
  char *partial;      /* gw (splits, out, in / groups, kernel), or NULL */
} ConvPlan;

typedef struct ConvData {
  const void *image, *other;
  void *result;
  const void *bias; /* y: (out); gx: (in); gw: NULL.  NULL: none */
  bool relu;        /* y and gx: clip what is made */
} ConvData;

/* Pure; `level` as in gemm_plan, `mode` as above. */
ConvPlan conv_plan(const Conv *c, int what, int mode, int level);

/* Before the chunks, once: fill the tables and, for PULL_X, turn the weights
 * (else w may be NULL).  The plan then points into `shared`, which must
 * outlive conv_finish. */
void conv_prepare(ConvPlan *p, const void *w, void *shared);

/* 0 <= chunk < chunks: any order, any thread, same bits; scratch is of this
 * thread alone.  All of the result is written, never read. */
void conv_chunk(const ConvPlan *p, const ConvData *data, int64_t chunk,
                void *scratch);

/* After the last chunk, once: PULL_W adds the partial sums. */
void conv_finish(const ConvPlan *p, const ConvData *data);

#endif
