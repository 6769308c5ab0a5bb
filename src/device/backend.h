/* backend.h: what a device can do: one slot per kernel family.
 *
 * Filled by cpu/cpu.c and by cuda/cuda.cu; files with equal stems are twins
 * and fill the same slots.  A kernel knows counts, strides and pointers; it
 * allocates nothing and cannot fail.  All checks pass before a slot is called.
 * Must not know: tensors, gradients, who asks.
 *
 * Rules of all slots
 *   - strides count elements, are >= 0 unless a slot says otherwise, and 0
 *     broadcasts; data points at the first element.  No count is 0 unless a
 *     slot says so; axes is at least 1.
 *   - what is written equals one of the operands in place and layout or
 *     shares no element with it.
 *   - how work is cut depends on the shape alone: the same bits for any
 *     number of threads.
 *   - a slot that returns bool returns false when the stop flag was seen;
 *     what it was to write is then half done.
 *   - `room` slots are pure: bytes of scratch that the job needs, 0 for none;
 *     scratch is 64-aligned memory of the device.
 *   - on a device with a queue a slot may return before the work is done;
 *     only `read` and `wait` wait, and what returns a value.
 */
#ifndef TENSUS_BACKEND_H
#define TENSUS_BACKEND_H

#include "ground/pool.h"
#include "rows/points.h"
#include "value/dtype.h"
#include "value/philox.h"
#include "value/shape.h"

enum {
  FOLD_LANES = 64,   /* sums of a chunk that run side by side */
  FOLD_CHUNK = 4096, /* elements per partial value: 16 KiB of f32, half an L1 */
  MAX_LEAVES = 8,    /* out, x, y, z, r, g, and two to spare */
  MAX_STEPS = 1      /* of a program; a window of deferred steps raises it */
};

/* ---- pointwise programs: pointwise.c, pointwise.cu ---- */

/* A strided array, or one number where data is NULL. */
typedef struct Leaf {
  char *data;
  Dtype dtype;
  int64_t stride[MAX_RANK];
  double number; /* data == NULL: the value, in a float program ... */
  int64_t whole; /* ... and in an integer one */
} Leaf;

/* Which column of a row a step runs. */
typedef enum Reading { READ_VALUE, READ_GX, READ_GY, READ_GZ } Reading;

/* leaf[out] = row(leaf[in[0]], leaf[in[1]], leaf[in[2]]), or what becomes of g
 * with in = x, y, z, r, g; in[i] < 0: not read by this column. */
typedef struct Step {
  OpId op;
  Reading reading;
  int8_t out;
  int8_t in[5];
} Step;

/* Elementwise steps over one iteration space.  Operands are converted to
 * `compute` (f32, f64, i32 or i64) as they are loaded, and results to the
 * dtype of their leaf as they are stored: narrower integers wrap, floats round
 * once, bool is "not 0". */
typedef struct Program {
  int axes; /* fused; the last one is walked in the inner loop */
  int64_t size[MAX_RANK];
  Dtype compute;
  int leaves, steps;
  Leaf leaf[MAX_LEAVES];
  Step step[MAX_STEPS];
} Program;

/* ---- copies and fills: copy.c, copy.cu ---- */

/* dst = src, any two dtypes (API.md 3: float to integer truncates, saturates,
 * NaN gives 0; to bool "not 0"; integers wrap; to float rounds to nearest).
 * src may be a number, and its strides negative.  Same dtypes move bits. */
typedef struct Move {
  int axes;
  int64_t size[MAX_RANK];
  Leaf dst, src;
} Move;

/* dst[i] = first + i step, computed in f64 (or i64 for integer dtypes);
 * dst[count - 1] = last when `ends` */
typedef struct Ramp {
  Dtype dtype;
  int64_t count;
  char *dst; /* contiguous */
  double first, step, last;
  int64_t whole_first, whole_step;
  bool ends;
} Ramp;

/* ---- reductions: reduce.c, reduce.cu ---- */

typedef enum FoldId {
#define FOLD(name, ...) FOLD_##name,
#include "rows/fold.def"
  FOLD_COUNT
} FoldId;

/* dst (kept) = fold of src (kept, gone) over the gone axes, computed in
 * `compute` in the order of rows/fold.def.  `gone` may be 0 axes (one
 * element), and a gone size may be 0: then dst is the start value. */
typedef struct Reduce {
  FoldId fold;
  Dtype compute, in, out;
  const char *src;
  const char *by; /* (kept), of the compute type, laid out as dst; NULL: the
                     fold has no BY */
  char *dst;
  int kept, gone; /* axes, fused; each may be 0 */
  int64_t kept_size[MAX_RANK], kept_src[MAX_RANK], kept_dst[MAX_RANK];
  int64_t gone_size[MAX_RANK], gone_src[MAX_RANK];
  void *scratch;
} Reduce;

/* dst (i64, kept) = position, from `base`, of the extreme element among the
 * gone ones in row-major order; first of ties, first NaN before all. */
typedef struct ArgExtreme {
  Reduce at;   /* fold, compute, scratch unused; out is i64 */
  bool greatest;
  int64_t base;
} ArgExtreme;

/* ---- scans: scan.c, scan.cu ---- */

typedef enum ScanId {
  SCAN_SUM,
  SCAN_PROD,
  SCAN_MAX, /* with places; last of ties, NaN wins and stays */
  SCAN_MIN,
  SCAN_LOGSUMEXP, /* floats */
  SCAN_CHAIN, /* floats: dst[i] = by[i] dst[i - 1] + src[i]; by[i - 1] with
                 `previous` */
  SCAN_COUNT
} ScanId;

/* Along each of `lines` axes' lines of n elements, n >= 1:
 *   dst[i] = src[0] joined with ... src[i]
 * computed in `compute`, in an order that differs between devices: sums and
 * products are wanted in f64 or i64, logsumexp and chains in f64.  Steps may be negative: then
 * data points at the last element of a line. */
typedef struct Scan {
  ScanId scan;
  Dtype compute, in, out;
  const char *src;
  const char *by; /* SCAN_CHAIN: of dtype `in`; what is no factor of the
                     formula is not read */
  bool previous;
  char *dst;
  char *place; /* SCAN_MAX, SCAN_MIN: i64, laid out as dst, from `base` */
  int64_t base;
  int lines; /* axes, fused; may be 0 */
  int64_t size[MAX_RANK];
  int64_t src_line[MAX_RANK], by_line[MAX_RANK], dst_line[MAX_RANK];
  int64_t n, src_step, by_step, dst_step;
  void *scratch;
} Scan;

/* ---- positions: index.c, index.cu ---- */

/* Over the space `size`, with p = index[i] - base:
 *   gather    other[i] = data[i without axis `along`, p]
 *   scatter   data[.., p] = other[i], in row-major order: the last one wins
 *   add       data[.., p] += other[i], in that order (f16 and bf16: each sum is
 *             rounded once per addition)
 *   fold      the same with another step of rows/fold.def: prod, amax, amin
 * Axes are not fused; data_stride[along] is the step of one position. */
typedef struct Pick {
  int axes, along;
  int64_t size[MAX_RANK];
  Dtype dtype; /* of data and other */
  char *data, *other;
  const char *index; /* i64 */
  int64_t data_stride[MAX_RANK], other_stride[MAX_RANK];
  int64_t index_stride[MAX_RANK];
  int64_t base;
} Pick;

/* ---- masks: mask.c, mask.cu ---- */

typedef enum MaskWhat { MASK_PLACES, MASK_TAKE, MASK_PUT } MaskWhat;

/* Over the space `size`, which may be empty, with k counting the true elements
 * of `mask` in row-major order:
 *   places  dense[k axes + a] = base + the position of the element along a; i64
 *   take    dense[k] = data[element]
 *   put     data[element] = dense[k]
 * mask_count tells how many there are (-1: the stop flag was seen) and leaves
 * in scratch what mask_move needs.  Waits. */
typedef struct Masked {
  MaskWhat what;
  int axes;
  int64_t size[MAX_RANK];
  const char *mask; /* bool */
  Dtype dtype;      /* of data and dense */
  char *data, *dense; /* dense: contiguous */
  int64_t mask_stride[MAX_RANK], data_stride[MAX_RANK];
  int64_t base;
  void *scratch;
} Masked;

/* ---- orders: sort.c, sort.cu ---- */

typedef enum SortFrom {
  SORT_FIRST,    /* number s->first */
  SORT_MEDIAN,   /* the first NaN; without one the lower middle */
  SORT_NANMEDIAN /* the lower middle of what is not NaN; else the first NaN */
} SortFrom;

/* Lines of n elements, each in its order: rising or falling, equal ones as
 * they came; NaN is the greatest, all NaN are equal, -0 equals 0.  Elements
 * first .. first + keep - 1 of that order (the medians: rising, keep 1) ->
 * values, and their places on the line, from `base` -> places (i64), which
 * lie alike; either may be NULL. */
typedef struct Sort {
  Dtype dtype;
  bool falls;
  SortFrom from;
  int64_t n, first, keep, base;
  int64_t src_step, dst_step; /* along a line */
  int axes;                   /* of the lines; may be 0 */
  int64_t size[MAX_RANK], src_stride[MAX_RANK], dst_stride[MAX_RANK];
  const char *src;
  char *values, *places;
  void *scratch;
} Sort;

/* at (lines, count), i64 = base + how many elements of a line of sequence
 * (lines, n), which is in rising order, come before x (lines, count); `right`:
 * or are equal to it.  Contiguous, n may be 0; line_step 0: one sequence for
 * all lines, else n. */
typedef struct Bisect {
  Dtype dtype;
  bool right;
  int64_t lines, n, count, line_step, base;
  const char *sequence, *x;
  char *at;
} Bisect;

/* ---- products: gemm.c, gemm.cu ---- */

/* c (batch, m, n) = a (batch, m, k) b (batch, k, n); any strides >= 0; k may
 * be 0.  dtype f32, f64, or an integer (wraps).  c overlaps nothing. */
typedef struct Product {
  Dtype dtype;
  int64_t batch, m, n, k;
  const char *a, *b;
  char *c;
  int64_t a_batch, a_row, a_col;
  int64_t b_batch, b_row, b_col;
  int64_t c_batch, c_row, c_col;
  void *scratch;
} Product;

/* ---- convolutions and pools: conv.c, pool.c ---- */

/* Axes of an image or volume; a job of fewer has axes of size 1 in front. */
enum { DEEP, DOWN, ACROSS, SPACE };

typedef enum ConvWhat { CONV_VALUE, CONV_TO_X, CONV_TO_WEIGHT } ConvWhat;

/* f32 or f64, all arrays contiguous:
 *   x (batch, in, size)   w (out, in / groups, kernel)   y (batch, out, result)
 *   VALUE      y = conv(x, w) + bias (out) unless NULL
 *   TO_X       x = transposed conv of y with w
 *   TO_WEIGHT  w = sum over batch and places of x times y
 * Window o of an axis starts at o stride - pad; what lies outside x is 0.
 * Counts and results are > 0. */
typedef struct Convolution {
  Dtype dtype;
  ConvWhat what;
  int64_t batch, in, out, groups;
  int64_t size[SPACE], kernel[SPACE], stride[SPACE], pad[SPACE];
  int64_t dilation[SPACE], result[SPACE];
  char *x, *w, *y;
  const char *bias;
  void *scratch;
} Convolution;

/* y (planes, result) = greatest of each window of x (planes, size), first of
 * ties, NaN wins; at (planes, result), i64: its place, row-major in the plane,
 * from 0; NULL: not wanted.  Padding is never picked; each window holds an
 * element.  f32, f64, i32, i64. */
typedef struct MaxPool {
  Dtype dtype;
  int64_t planes;
  int64_t size[SPACE], kernel[SPACE], stride[SPACE], pad[SPACE];
  int64_t dilation[SPACE], result[SPACE];
  const char *x;
  char *y, *at;
} MaxPool;

/* Means of windows and their transpose, f32, f64; x (planes, size), y (planes,
 * result); all are > 0.
 *   avg_pool      y = sum of a window of x / its divisor
 *   avg_pool_add  x = sum over the windows that hold an element of y / divisor
 * The divisor is the product over the axes of what a window counts there: the
 * elements of x, with `counts_pad` also those of the padding.  `adaptive`:
 * window o goes from floor(o size / result) to ceil((o + 1) size / result);
 * kernel, stride and pad are not read.  device/window.h has the windows; each
 * holds an element. */
typedef struct AvgPool {
  Dtype dtype;
  bool adaptive, counts_pad;
  int64_t planes;
  int64_t size[SPACE], kernel[SPACE], stride[SPACE], pad[SPACE];
  int64_t result[SPACE];
  char *x, *y;
} AvgPool;

/* ---- images between pixels: sample.c, sample.cu; f32 or f64, contiguous ----
 */

/* y (batch, channels, points) reads x (batch, channels, size) at the places of
 * grid (batch, points, axes): rows/taps.h.  The grid's coordinate 0 belongs to
 * the last axis of x.  order: how often the weights are differentiated along
 * each coordinate.
 *   sample      y = sum over taps of weight x
 *   sample_add  x = the transpose: zeros, and weight y added at the taps */
typedef struct Sample {
  Dtype dtype;
  int taps, outside; /* of rows/taps.h */
  bool corners;
  int axes, order[3];
  int64_t batch, channels, points;
  int64_t size[3], area; /* area: their product */
  const char *grid;
  char *x, *y;
} Sample;

/* y (outer, rows, inner) = for each row the sum over e in begin[row] ..
 * begin[row + 1] of weight[e] x (outer, source[e], inner): a sparse matrix
 * along one axis of x (outer, size, inner).  begin (rows + 1) and source are
 * i64, weight is of the dtype. */
typedef struct Resample {
  Dtype dtype;
  int64_t outer, size, rows, inner;
  const char *begin, *source, *weight, *x;
  char *y;
} Resample;

/* ---- rows of numbers: rows.c, rows.cu; f32 or f64, contiguous (rows, n),
 *      n >= 1.  Sums in the order of rows/fold.def ---- */

/* y = softmax of each row of x; `log`: its logarithm.  A row of -inf: NaN. */
typedef struct Softmax {
  Dtype dtype;
  bool log;
  int64_t rows, n;
  const char *x; /* value: x.  pull: the result r */
  const char *g; /* pull only */
  char *y;       /* value, or gx = r (g - sum(g r)), or g - e^r sum(g) */
} Softmax;

/* y = log(sum(e^x)) (rows); all -inf: -inf. */
typedef struct LogSumExp {
  Dtype dtype;
  int64_t rows, n;
  const char *x;
  char *y;
} LogSumExp;

/* y = (x - mean) rstd w + b; w, b (n) or NULL.  mean, rstd (rows) are written
 * by the value and read by the pull.
 * pull: gx, and gw (n), gb (n) unless NULL; with h = g w, v = (x - mean) rstd:
 *   gx = rstd (h - mean(h) - v mean(h v)), gw = sum(g v), gb = sum(g) */
typedef struct LayerNorm {
  Dtype dtype;
  int64_t rows, n;
  double eps;
  const char *x, *w, *b, *g;
  char *y, *mean, *rstd, *gx, *gw, *gb;
  void *scratch; /* pull */
} LayerNorm;

/* loss[i] = log(sum(e^x[i])) - x[i, label - base]; a label equal to `ignore`
 * (as stored) gives loss 0.  lse (rows, 2): the logarithm as a shift and what
 * is added to it, for the pull:
 *   gx[i, j] = g[i] (e^(x - lse) - [j is the label]), 0 where ignored;
 * g has stride g_stride (0: one for all). */
typedef struct CrossEntropy {
  Dtype dtype;
  int64_t rows, n, base, ignore, g_stride;
  const char *x, *g;
  const char *label; /* i64 (rows) */
  char *loss, *lse, *gx;
} CrossEntropy;

/* ---- random: random.c, random.cu ---- */

typedef enum DrawWhat {
  DRAW_UNIFORM,   /* [a, b); f32: 24 bits, f64: 53 bits */
  DRAW_NORMAL,    /* mean a, deviation b (Box and Muller 1958) */
  DRAW_BERNOULLI, /* 1 with probability a, else 0 */
  DRAW_INTEGERS   /* whole `low` .. `high`, unbiased; i64 and i32 */
} DrawWhat;

/* Element i of dst (contiguous) depends on the generator and i alone: 32-bit
 * types take word i % 4 of block i / 4; 64-bit types words 2 (i % 2) and the
 * next of block i / 2 (integers too). */
typedef struct Draw {
  DrawWhat what;
  Dtype dtype; /* floats f32, f64 */
  int64_t count;
  char *dst;
  Philox generator;
  double a, b;
  int64_t low, high;
} Draw;

/* ---- optimiser steps: update.c, update.cu; f32, f64, contiguous; formulas in
 *      rows/update.def ---- */

typedef struct Sgd {
  Dtype dtype;
  int64_t count;
  char *p, *buffer; /* buffer NULL: no momentum */
  const char *g;
  double lr, momentum, dampening, decay;
  bool nesterov, first;
} Sgd;

typedef struct Adam {
  Dtype dtype;
  int64_t count, step; /* step counts from 1 */
  char *p, *m, *v;
  const char *g;
  double lr, beta1, beta2, eps, decay;
  bool decoupled;
} Adam;

/* ---- dense linear algebra: dense.c; no twin: a device that leaves the slot
 *      NULL has its matrices sent to the host ---- */

typedef enum DenseWhat {
  DENSE_LU,         /* a = P L U, packed; L has ones on its diagonal */
  DENSE_SOLVE,      /* the same, and b = a^-1 b unless info says no */
  DENSE_CHOLESKY,   /* a = its factor in the triangle, zeros in the other */
  DENSE_TRIANGULAR, /* b = triangle(a)^-1 b */
  DENSE_QR,         /* u (m, q), v (q, n): q = m if `full`, else least(m, n);
                       the diagonal of v is >= 0 */
  DENSE_SVD,        /* s descending; with `vectors` u (m, p), v (q, n): p = m,
                       q = n if `full`, else both least(m, n) */
  DENSE_EIGH        /* s ascending; with `vectors` a = the vectors */
} DenseWhat;

/* The same for `batch` matrices, f32 or f64, each stored column after column:
 * a (m, n), square but for QR and SVD, and b (n, k).  What is not a result is
 * destroyed.  The greatest entry of each vector is positive: of each column of
 * u (svd: the row of v turns with it; qr: of those beyond the diagonal of v),
 * and of the rows of v beyond the columns of u.
 *   pivot  (batch, n): row i was exchanged with row pivot[i], from 0
 *   info   (batch): 0, or why there is no result
 *     LU, SOLVE, TRIANGULAR   i + 1: the i-th pivot, or diagonal entry, is 0
 *     CHOLESKY                i + 1: so large a leading minor is not positive
 *     SVD, EIGH               -1: not all is finite; 1: it did not converge */
typedef struct Dense {
  DenseWhat what;
  Dtype dtype;
  bool upper; /* the triangle of a that is read: CHOLESKY, TRIANGULAR, EIGH */
  bool unit;  /* TRIANGULAR: the diagonal counts as ones */
  bool vectors, full;
  int64_t batch, m, n, k;
  char *a, *b, *u, *v, *s;
  int64_t *pivot, *info;
  char *scratch;
} Dense;

typedef struct Backend Backend;
struct Backend {
  const char *kind; /* "cpu", "cuda" */
  int index;
  void *self;   /* the backend's own */
  Pool *pool;   /* CPU: threads; also for the host side of others */
  const volatile bool *stop;

  /* Memory of the device; the host's comes from the ledger and leaves these
   * NULL.  alloc: 256-aligned, NULL when there is none left. */
  void *(*alloc)(Backend *b, size_t bytes);
  void (*free)(Backend *b, void *p);
  void (*write)(Backend *b, void *device, const void *host, size_t bytes);
  void (*read)(Backend *b, void *host, const void *device, size_t bytes);
  void (*wait)(Backend *b);
  void (*close)(Backend *b);

  bool (*run)(Backend *b, const Program *p);
  bool (*move)(Backend *b, const Move *m);
  void (*ramp)(Backend *b, const Ramp *r);

  size_t (*reduce_room)(Backend *b, const Reduce *r);
  bool (*reduce)(Backend *b, const Reduce *r);
  bool (*arg_extreme)(Backend *b, const ArgExtreme *a);

  size_t (*scan_room)(Backend *b, const Scan *s);
  bool (*scan)(Backend *b, const Scan *s);

  bool (*gather)(Backend *b, const Pick *p);
  bool (*scatter)(Backend *b, const Pick *p);
  bool (*scatter_add)(Backend *b, const Pick *p);
  bool (*scatter_fold)(Backend *b, const Pick *p, FoldId fold);
  /* Row-major place in p->size of the first index outside
   * [base, base + limit), except `ignore`; -1 if all are inside.  Waits. */
  int64_t (*find_outside)(Backend *b, const Pick *p, int64_t limit,
                          int64_t ignore);
  /* Place of the first element of an integer leaf over m->size (m->src) that is
   * outside least .. most; -1 for none.  With 1 .. -1 it is the first zero:
   * the numbers go round.  Waits. */
  int64_t (*find_bad)(Backend *b, const Move *m, int64_t least, int64_t most);

  size_t (*mask_room)(Backend *b, const Masked *m);
  int64_t (*mask_count)(Backend *b, const Masked *m);
  bool (*mask_move)(Backend *b, const Masked *m);
  size_t (*sort_room)(Backend *b, const Sort *s);
  bool (*sort)(Backend *b, const Sort *s);
  bool (*bisect)(Backend *b, const Bisect *s);

  size_t (*product_room)(Backend *b, const Product *p);
  bool (*product)(Backend *b, const Product *p);

  size_t (*conv_room)(Backend *b, const Convolution *c);
  bool (*conv)(Backend *b, const Convolution *c);
  bool (*max_pool)(Backend *b, const MaxPool *p);
  bool (*avg_pool)(Backend *b, const AvgPool *p);
  bool (*avg_pool_add)(Backend *b, const AvgPool *p);

  bool (*sample)(Backend *b, const Sample *s);
  bool (*sample_add)(Backend *b, const Sample *s);
  bool (*resample)(Backend *b, const Resample *s);

  bool (*softmax)(Backend *b, const Softmax *s);
  bool (*softmax_pull)(Backend *b, const Softmax *s);
  bool (*logsumexp)(Backend *b, const LogSumExp *s);
  bool (*layer_norm)(Backend *b, const LayerNorm *l);
  size_t (*layer_norm_room)(Backend *b, const LayerNorm *l);
  bool (*layer_norm_pull)(Backend *b, const LayerNorm *l);
  bool (*cross_entropy)(Backend *b, const CrossEntropy *e);
  bool (*cross_entropy_pull)(Backend *b, const CrossEntropy *e);

  size_t (*dense_room)(Backend *b, const Dense *d);
  bool (*dense)(Backend *b, const Dense *d);

  bool (*draw)(Backend *b, const Draw *d);
  bool (*sgd)(Backend *b, const Sgd *s);
  bool (*adam)(Backend *b, const Adam *a);
};

/* The CUDA plug-in exports this one function: fills *b for device `index`,
 * keeping b->pool and b->stop; NULL, or static text saying why not. */
typedef const char *BackendOpen(Backend *b, int index);
/* "tensus_cuda_open" (BackendOpen) and "tensus_cuda_count" (int (void)) */

#endif
