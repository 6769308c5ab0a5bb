/* reduce.cu: folds over axes, in the order of rows/fold.def; positions of
 * extremes.
 *
 * A few elements per result: one thread folds them.  More: a warp takes a
 * chunk of FOLD_CHUNK elements (a block takes those of neighbouring columns),
 * and a second kernel joins the chunks.  All give the bits of cpu/reduce.c.
 */
#include "kernel.h"

#define REAL float
#define T float
#define LOWEST (-INFINITY)
#define HIGHEST INFINITY
#include "rows/scalar.h"
#undef ABS
#define ABS(a) fabs(a)
#include "fold_type.h"
#undef REAL
#define REAL double
#define T double
#define LOWEST (-INFINITY)
#define HIGHEST INFINITY
#include "rows/scalar.h"
#undef ABS
#define ABS(a) fabs(a)
#include "fold_type.h"
#undef REAL
#define WHOLE int32_t
#define UWHOLE uint32_t
#define T int32_t
#define LOWEST INT32_MIN
#define HIGHEST INT32_MAX
#include "rows/whole.h"
#include "fold_type.h"
#undef WHOLE
#undef UWHOLE
#define WHOLE int64_t
#define UWHOLE uint64_t
#define T int64_t
#define LOWEST INT64_MIN
#define HIGHEST INT64_MAX
#include "rows/whole.h"
#include "fold_type.h"
#undef WHOLE
#undef UWHOLE
#include "rows/nowords.h"

enum {
  FEW = FOLD_LANES, /* elements that one thread folds by itself */
  JOIN_THREADS = 128
};

struct Fold {
  int fold, in, out;
  const char *src;
  const char *by; /* of the compute type, or NULL */
  char *dst;
  char *partial;  /* kept.count x chunks values, when chunks > 1 */
  int64_t chunks; /* of one result, at least 1 */
  Walk kept, gone;
  int64_t kept_stride[2][MAX_RANK]; /* src, dst */
  int64_t gone_stride[1][MAX_RANK];
};
LAUNCH_POINTERS(Fold, f, {
  pointers.push_back(f.src);
  pointers.push_back(f.by);
  pointers.push_back(f.dst);
  pointers.push_back(f.partial);
})

/* The elements of one result. */
template <typename C> struct Element {
  const Fold *f;
  int64_t from;
  C by;
  __device__ C operator()(int64_t i) const {
    int64_t at[1];
    walk_at<1>(f->gone, f->gone_stride, i, at);
    return fold_enter(f->fold, load_as<C>(f->src, f->in, from + at[0]), by);
  }
};

/* Of the result at[1], whose first element is at[0]. */
template <typename C>
static __device__ Element<C> element_of(const Fold &f, const int64_t *at) {
  return {&f, at[0], f.by != nullptr ? ((const C *)f.by)[at[1]] : C()};
}

template <typename C> struct Join {
  int fold;
  __device__ C operator()(C r, C x) const { return fold_step(fold, r, x); }
};

/* Lanes without an element hold the start value and change nothing, so the
 * tree begins at the least power of two that is wide enough. */
template <typename C>
static __device__ C fold_few(const Fold &f, const Element<C> &element) {
  C lane[FEW];
  int width = 1;
  while (width < f.gone.count) width *= 2;
  const C start = fold_start(f.fold, C());
  for (int i = 0; i < width; i++)
    lane[i] = i < f.gone.count ? fold_step(f.fold, start, element(i)) : start;
  for (width /= 2; width > 0; width /= 2)
    for (int i = 0; i < width; i++)
      lane[i] = fold_step(f.fold, lane[i], lane[i + width]);
  return lane[0];
}

/* One thread per result, at most FEW elements each. */
template <typename C> static __global__ void fold_by_thread(Fold f) {
  EACH(k, f.kept.count) {
    int64_t at[2];
    walk_at<2>(f.kept, f.kept_stride, k, at);
    const Element<C> element = element_of<C>(f, at);
    store_from<C>(f.dst, f.out, at[1], fold_few(f, element));
  }
}

/* One warp per chunk of a result. */
template <typename C> static __global__ void fold_by_warp(Fold f) {
  const Join<C> join = {f.fold};
  EACH_WARP(w, f.kept.count * f.chunks) {
    const int64_t k = w / f.chunks, chunk = w - k * f.chunks;
    const int64_t first = chunk * FOLD_CHUNK, n = f.gone.count;
    const int64_t last = first + FOLD_CHUNK < n ? first + FOLD_CHUNK : n;
    int64_t at[2];
    walk_at<2>(f.kept, f.kept_stride, k, at);
    const Element<C> element = element_of<C>(f, at);
    const C r = warp_chunk(first, last, fold_start(f.fold, C()), element, join);
    if (threadIdx.x % WARP == 0) {
      if (f.chunks == 1)
        store_from<C>(f.dst, f.out, at[1], r);
      else
        ((C *)f.partial)[w] = r;
    }
  }
}

/* One block per chunk of COLUMNS neighbouring results. */
template <typename C>
static __global__ void __launch_bounds__(COLUMN_THREADS)
    fold_by_column(Fold f) {
  DYNAMIC_SHARED(C, room);
  const Join<C> join = {f.fold};
  const int64_t tiles = (f.kept.count + COLUMNS - 1) / COLUMNS;
  for (int64_t t = blockIdx.x; t < tiles * f.chunks; t += gridDim.x) {
    const int64_t tile = t / f.chunks, chunk = t - tile * f.chunks;
    const int64_t first = chunk * FOLD_CHUNK, n = f.gone.count;
    const int64_t last = first + FOLD_CHUNK < n ? first + FOLD_CHUNK : n;
    const int64_t k = tile * COLUMNS + threadIdx.x % COLUMNS;
    const bool is_column = k < f.kept.count; /* the others repeat the last */
    int64_t at[2];
    walk_at<2>(f.kept, f.kept_stride, is_column ? k : f.kept.count - 1, at);
    const Element<C> element = element_of<C>(f, at);
    const C r =
        column_chunk(first, last, fold_start(f.fold, C()), element, join, room);
    if (!is_column || threadIdx.x >= COLUMNS) continue;
    if (f.chunks == 1)
      store_from<C>(f.dst, f.out, at[1], r);
    else
      ((C *)f.partial)[k * f.chunks + chunk] = r;
  }
}

/* One block per result joins its chunks: a tree of neighbours, in place. */
template <typename C> static __global__ void join_partials(Fold f) {
  for (int64_t k = blockIdx.x; k < f.kept.count; k += gridDim.x) {
    C *p = (C *)f.partial + k * f.chunks;
    for (int64_t step = 1; step < f.chunks; step *= 2) {
      for (int64_t i = threadIdx.x * 2 * step; i + step < f.chunks;
           i += (int64_t)blockDim.x * 2 * step)
        p[i] = fold_step(f.fold, p[i], p[i + step]);
      __syncthreads();
    }
    if (threadIdx.x == 0) {
      int64_t at[2];
      walk_at<2>(f.kept, f.kept_stride, k, at);
      store_from<C>(f.dst, f.out, at[1], p[0]);
    }
  }
}

static Fold fold_of(const Reduce *r) {
  Fold f = {};
  f.fold = r->fold;
  f.in = r->in;
  f.out = r->out;
  f.src = r->src;
  f.by = r->by;
  f.dst = r->dst;
  f.partial = (char *)r->scratch;
  f.kept = walk_of(r->kept, r->kept_size);
  f.gone = walk_of(r->gone, r->gone_size);
  f.chunks = max_i64(1, ceil_div(f.gone.count, FOLD_CHUNK));
  for (int a = 0; a < r->kept; a++) {
    f.kept_stride[0][a] = r->kept_src[a];
    f.kept_stride[1][a] = r->kept_dst[a];
  }
  for (int a = 0; a < r->gone; a++) f.gone_stride[0][a] = r->gone_src[a];
  return f;
}

/* Do neighbouring results lie closer together than the elements of one? */
static bool goes_across(const Fold &f) {
  return f.kept.axes > 0 && f.kept.count >= COLUMNS / 2 &&
         f.kept_stride[0][f.kept.axes - 1] == 1 &&
         f.gone_stride[0][f.gone.axes - 1] > 1;
}

template <typename C> static void run_fold(const Fold &f, cudaStream_t s) {
  if (f.gone.count <= FEW) {
    const Grid g = grid_of(f.kept.count);
    LAUNCH(fold_by_thread<C>, g.blocks, g.threads, 0, s, f);
    return;
  }
  if (goes_across(f)) {
    const int64_t tiles = ceil_div(f.kept.count, COLUMNS) * f.chunks;
    LAUNCH(fold_by_column<C>, (unsigned)min_i64(tiles, MAX_BLOCKS),
           COLUMN_THREADS, COLUMN_THREADS * sizeof(C), s, f);
  } else {
    const Grid g = grid_of_warps(f.kept.count * f.chunks);
    LAUNCH(fold_by_warp<C>, g.blocks, g.threads, 0, s, f);
  }
  if (f.chunks == 1) return;
  const unsigned blocks = (unsigned)min_i64(f.kept.count, MAX_BLOCKS);
  const unsigned threads = grid_of(f.chunks, JOIN_THREADS).threads;
  LAUNCH(join_partials<C>, blocks, threads, 0, s, f);
}

static size_t cuda_reduce_room(Backend *, const Reduce *r) {
  const Fold f = fold_of(r);
  if (f.chunks == 1) return 0;
  return (size_t)(f.kept.count * f.chunks) * (size_t)dtype_width(r->compute);
}

static bool cuda_reduce(Backend *b, const Reduce *r) {
  if (!cuda_ready(b)) return false;
  const Fold f = fold_of(r);
  const cudaStream_t s = cuda_of(b)->stream;
  switch (r->compute) {
  case DTYPE_F32:
    run_fold<float>(f, s);
    break;
  case DTYPE_F64:
    run_fold<double>(f, s);
    break;
  case DTYPE_I32:
    run_fold<int32_t>(f, s);
    break;
  default:
    run_fold<int64_t>(f, s);
  }
  return cuda_launched(b);
}

/* ---- positions of extremes ---- */

struct Extreme {
  Fold at; /* fold, out and partial unused */
  bool greatest;
  int64_t base;
};
LAUNCH_POINTERS(Extreme, e, { launch_visit(pointers, e.at); })

template <typename C> struct Found {
  C value;
  int64_t place; /* -1: nothing yet */
};

/* Is a to be taken before b?  The first NaN, then the extreme, then the
 * first of ties. */
template <typename C>
static __device__ bool before(const Extreme &e, const Found<C> &a,
                              const Found<C> &b) {
  if (a.place < 0 || b.place < 0) return b.place < 0;
  const bool a_nan = a.value != a.value, b_nan = b.value != b.value;
  if (a_nan != b_nan) return a_nan;
  if (!a_nan && a.value != b.value)
    return e.greatest ? a.value > b.value : a.value < b.value;
  return a.place < b.place;
}

/* The extreme of elements first, first + by, ... */
template <typename C>
static __device__ Found<C> scan_extreme(const Extreme &e, int64_t from,
                                        int64_t first, int64_t by) {
  Found<C> best = {0, -1};
  for (int64_t i = first; i < e.at.gone.count; i += by) {
    int64_t at[1];
    walk_at<1>(e.at.gone, e.at.gone_stride, i, at);
    const Found<C> next = {load_as<C>(e.at.src, e.at.in, from + at[0]), i};
    if (before(e, next, best)) best = next;
  }
  return best;
}

template <typename C> static __global__ void extreme_by_thread(Extreme e) {
  EACH(k, e.at.kept.count) {
    int64_t at[2];
    walk_at<2>(e.at.kept, e.at.kept_stride, k, at);
    const Found<C> best = scan_extreme<C>(e, at[0], 0, 1);
    ((int64_t *)e.at.dst)[at[1]] = best.place + e.base;
  }
}

template <typename C> static __global__ void extreme_by_warp(Extreme e) {
  EACH_WARP(k, e.at.kept.count) {
    int64_t at[2];
    walk_at<2>(e.at.kept, e.at.kept_stride, k, at);
    Found<C> best = scan_extreme<C>(e, at[0], threadIdx.x % WARP, WARP);
    for (int by = WARP / 2; by > 0; by /= 2) {
      Found<C> other;
      other.value = __shfl_down_sync(0xffffffffu, best.value, by);
      other.place = __shfl_down_sync(0xffffffffu, best.place, by);
      if (before(e, other, best)) best = other;
    }
    if (threadIdx.x % WARP == 0)
      ((int64_t *)e.at.dst)[at[1]] = best.place + e.base;
  }
}

template <typename C>
static void run_extreme(const Extreme &e, cudaStream_t s) {
  if (e.at.gone.count <= FEW) {
    const Grid g = grid_of(e.at.kept.count);
    LAUNCH(extreme_by_thread<C>, g.blocks, g.threads, 0, s, e);
  } else {
    const Grid g = grid_of_warps(e.at.kept.count);
    LAUNCH(extreme_by_warp<C>, g.blocks, g.threads, 0, s, e);
  }
}

static bool cuda_arg_extreme(Backend *b, const ArgExtreme *a) {
  if (!cuda_ready(b)) return false;
  const Extreme e = {fold_of(&a->at), a->greatest, a->base};
  const cudaStream_t s = cuda_of(b)->stream;
  if (!dtype_is_float(a->at.in))
    run_extreme<int64_t>(e, s);
  else if (a->at.in == DTYPE_F64)
    run_extreme<double>(e, s);
  else
    run_extreme<float>(e, s);
  return cuda_launched(b);
}

void cuda_fill_reduce(Backend *b) {
  b->reduce_room = cuda_reduce_room;
  b->reduce = cuda_reduce;
  b->arg_extreme = cuda_arg_extreme;
}
