/* index.cu: gathering and scattering along an axis; searches for values that
 * are errors.
 *
 * Order: what meets at one place is written or added in row-major order, as
 * on the CPU.  So threads share the axes along which elements never meet, and
 * each walks the others in order; when those are long and threads are few,
 * threads also share the places of the axis, each skipping what is not its
 * own.  No atomics: the sum would depend on the run.
 */
#include "kernel.h"

/* ---- gather ---- */

struct Picking {
  Walk all, apart, meeting; /* meeting: axes that are walked in order */
  int along, dtype;
  int64_t shares; /* threads that share the places of one column */
  char *data, *other;
  const char *index;
  int64_t base, step;              /* of a position in data */
  int64_t all_stride[3][MAX_RANK]; /* index, other, data without `along` */
  int64_t apart_stride[3][MAX_RANK], meeting_stride[3][MAX_RANK];
};
LAUNCH_POINTERS(Picking, p, {
  pointers.push_back(p.data);
  pointers.push_back(p.other);
  pointers.push_back(p.index);
})

enum { INDEX, OTHER, DATA };

template <typename T> static __global__ void gather_bits(Picking p) {
  EACH(i, p.all.count) {
    int64_t at[3];
    walk_at<3>(p.all, p.all_stride, i, at);
    const int64_t place = ((const int64_t *)p.index)[at[INDEX]] - p.base;
    ((T *)p.other)[at[OTHER]] = ((const T *)p.data)[at[DATA] + place * p.step];
  }
}

/* ---- scatter ---- */

template <typename T> struct Overwrite {
  __device__ void operator()(const Picking &p, int64_t to, int64_t from) const {
    ((T *)p.data)[to] = ((const T *)p.other)[from];
  }
};

template <typename C> struct Accumulate {
  __device__ void operator()(const Picking &p, int64_t to, int64_t from) const {
    const C sum = (C)(load_as<C>(p.data, p.dtype, to) +
                      load_as<C>(p.other, p.dtype, from));
    store_from<C>(p.data, p.dtype, to, sum);
  }
};

template <typename Write> static __global__ void scatter_with(Picking p) {
  const Write write = {};
  EACH(t, p.apart.count * p.shares) {
    const int64_t column = t / p.shares, share = t - column * p.shares;
    int64_t from[3], at[3];
    walk_at<3>(p.apart, p.apart_stride, column, from);
    for (int64_t i = 0; i < p.meeting.count; i++) {
      walk_at<3>(p.meeting, p.meeting_stride, i, at);
      const int64_t place =
          ((const int64_t *)p.index)[from[INDEX] + at[INDEX]] - p.base;
      if (p.shares > 1 && place % p.shares != share) continue;
      write(p, from[DATA] + at[DATA] + place * p.step, from[OTHER] + at[OTHER]);
    }
  }
}

/* ---- the slots ---- */

static void add_axis(Walk *w, int64_t (*stride)[MAX_RANK], const Pick *p,
                     int a) {
  const int k = w->axes++;
  w->size[k] = p->size[a];
  w->count *= p->size[a];
  stride[INDEX][k] = p->index_stride[a];
  stride[OTHER][k] = p->other_stride[a];
  stride[DATA][k] = a == p->along ? 0 : p->data_stride[a];
}

enum {
  ENOUGH_THREADS = 16384, /* about what a GPU keeps busy */
  MOST_SHARES = 64,       /* each share reads all positions */
  SHORT = 64              /* a walk of so few needs no sharing */
};

static Picking picking_of(const Pick *p) {
  Picking r = {};
  r.along = p->along;
  r.dtype = p->dtype;
  r.data = p->data;
  r.other = p->other;
  r.index = p->index;
  r.base = p->base;
  r.step = p->data_stride[p->along];
  r.all.count = r.apart.count = r.meeting.count = 1;
  for (int a = 0; a < p->axes; a++) {
    const bool meets = a == p->along || p->data_stride[a] == 0;
    add_axis(&r.all, r.all_stride, p, a);
    if (meets)
      add_axis(&r.meeting, r.meeting_stride, p, a);
    else
      add_axis(&r.apart, r.apart_stride, p, a);
  }
  r.shares =
      r.meeting.count <= SHORT
          ? 1
          : max_i64(1, min_i64(MOST_SHARES, ENOUGH_THREADS / r.apart.count));
  return r;
}

static bool cuda_gather(Backend *b, const Pick *pick) {
  if (!cuda_ready(b)) return false;
  const Picking p = picking_of(pick);
  const Grid g = grid_of(p.all.count);
  const cudaStream_t s = cuda_of(b)->stream;
  switch (dtype_width(pick->dtype)) {
  case 1:
    LAUNCH(gather_bits<uint8_t>, g.blocks, g.threads, 0, s, p);
    break;
  case 2:
    LAUNCH(gather_bits<uint16_t>, g.blocks, g.threads, 0, s, p);
    break;
  case 4:
    LAUNCH(gather_bits<uint32_t>, g.blocks, g.threads, 0, s, p);
    break;
  default:
    LAUNCH(gather_bits<uint64_t>, g.blocks, g.threads, 0, s, p);
  }
  return cuda_launched(b);
}

template <typename Write>
static bool run_scatter(Backend *b, const Picking &p) {
  const Grid g = grid_of(p.apart.count * p.shares);
  LAUNCH(scatter_with<Write>, g.blocks, g.threads, 0, cuda_of(b)->stream, p);
  return cuda_launched(b);
}

static bool cuda_scatter(Backend *b, const Pick *pick) {
  if (!cuda_ready(b)) return false;
  const Picking p = picking_of(pick);
  switch (dtype_width(pick->dtype)) {
  case 1:
    return run_scatter<Overwrite<uint8_t>>(b, p);
  case 2:
    return run_scatter<Overwrite<uint16_t>>(b, p);
  case 4:
    return run_scatter<Overwrite<uint32_t>>(b, p);
  default:
    return run_scatter<Overwrite<uint64_t>>(b, p);
  }
}

/* Integers wrap: they add as unsigned numbers. */
template <> struct Accumulate<int64_t> {
  __device__ void operator()(const Picking &p, int64_t to, int64_t from) const {
    const uint64_t sum = (uint64_t)load_as<int64_t>(p.data, p.dtype, to) +
                         (uint64_t)load_as<int64_t>(p.other, p.dtype, from);
    store_from<int64_t>(p.data, p.dtype, to, (int64_t)sum);
  }
};

static bool cuda_scatter_add(Backend *b, const Pick *pick) {
  if (!cuda_ready(b)) return false;
  const Picking p = picking_of(pick);
  if (!dtype_is_float(pick->dtype))
    return run_scatter<Accumulate<int64_t>>(b, p);
  if (pick->dtype == DTYPE_F64) return run_scatter<Accumulate<double>>(b, p);
  return run_scatter<Accumulate<float>>(b, p);
}

/* ---- other folds ---- */

template <typename C> struct Times {
  __device__ C operator()(C a, C b) const { return a * b; }
};
template <> struct Times<int64_t> { /* wraps */
  __device__ int64_t operator()(int64_t a, int64_t b) const {
    return (int64_t)((uint64_t)a * (uint64_t)b);
  }
};
template <typename C> struct Greatest {
  __device__ C operator()(C a, C b) const { return b > a || b != b ? b : a; }
};
template <typename C> struct Least {
  __device__ C operator()(C a, C b) const { return b < a || b != b ? b : a; }
};

template <typename C, template <typename> class Step> struct Folded {
  __device__ void operator()(const Picking &p, int64_t to, int64_t from) const {
    const Step<C> step = {};
    store_from<C>(p.data, p.dtype, to,
                  step(load_as<C>(p.data, p.dtype, to),
                       load_as<C>(p.other, p.dtype, from)));
  }
};

template <template <typename> class Step>
static bool run_fold(Backend *b, const Picking &p) {
  if (!dtype_is_float((Dtype)p.dtype))
    return run_scatter<Folded<int64_t, Step>>(b, p);
  if (p.dtype == DTYPE_F64) return run_scatter<Folded<double, Step>>(b, p);
  return run_scatter<Folded<float, Step>>(b, p);
}

static bool cuda_scatter_fold(Backend *b, const Pick *pick, FoldId fold) {
  if (!cuda_ready(b)) return false;
  const Picking p = picking_of(pick);
  if (fold == FOLD_prod) return run_fold<Times>(b, p);
  return fold == FOLD_amax ? run_fold<Greatest>(b, p) : run_fold<Least>(b, p);
}

/* ---- searches: the least place wins, whatever the order ---- */

static __global__ void search_outside(Picking p, int64_t limit, int64_t ignore,
                                      unsigned long long *cell) {
  EACH(i, p.all.count) {
    int64_t at[3];
    walk_at<3>(p.all, p.all_stride, i, at);
    const int64_t label = ((const int64_t *)p.index)[at[INDEX]];
    const int64_t place = (int64_t)((uint64_t)label - (uint64_t)p.base);
    if (label != ignore && (place < 0 || place >= limit))
      atomicMin(cell, (unsigned long long)i);
  }
}

struct Searched {
  Walk walk;
  const char *src;
  int dtype;
  int64_t least;
  uint64_t span;
  int64_t stride[1][MAX_RANK];
};
LAUNCH_POINTERS(Searched, s, { pointers.push_back(s.src); })

static __global__ void search_bad(Searched s, unsigned long long *cell) {
  EACH(i, s.walk.count) {
    int64_t at[1];
    walk_at<1>(s.walk, s.stride, i, at);
    const int64_t v = load_as<int64_t>(s.src, s.dtype, at[0]);
    if ((uint64_t)v - (uint64_t)s.least > s.span)
      atomicMin(cell, (unsigned long long)i);
  }
}

/* Before and after a search: the cell starts at the greatest number, which
 * reads as -1. */
static void clear_cell(Backend *b) {
  Cuda *c = cuda_of(b);
  cuda_note(b, cudaMemsetAsync(c->cell, 0xff, sizeof *c->cell, c->stream));
}

static int64_t read_cell(Backend *b) {
  int64_t found = -1;
  cuda_launched(b);
  b->read(b, &found, cuda_of(b)->cell, sizeof found);
  return found;
}

static int64_t cuda_find_outside(Backend *b, const Pick *pick, int64_t limit,
                                 int64_t ignore) {
  cuda_ready(b); /* a search is short: it runs to its end */
  clear_cell(b);
  const Picking p = picking_of(pick);
  const Grid g = grid_of(p.all.count);
  LAUNCH(search_outside, g.blocks, g.threads, 0, cuda_of(b)->stream, p, limit,
         ignore, cuda_of(b)->cell);
  return read_cell(b);
}

static int64_t cuda_find_bad(Backend *b, const Move *m, int64_t least,
                             int64_t most) {
  const uint64_t span = (uint64_t)most - (uint64_t)least;
  if (m->src.data == nullptr)
    return (uint64_t)m->src.whole - (uint64_t)least > span ? 0 : -1;
  cuda_ready(b);
  clear_cell(b);
  Searched s = {};
  s.walk = walk_of(m->axes, m->size);
  s.src = m->src.data;
  s.dtype = m->src.dtype;
  s.least = least;
  s.span = span;
  for (int a = 0; a < m->axes; a++) s.stride[0][a] = m->src.stride[a];
  const Grid g = grid_of(s.walk.count);
  LAUNCH(search_bad, g.blocks, g.threads, 0, cuda_of(b)->stream, s,
         cuda_of(b)->cell);
  return read_cell(b);
}

void cuda_fill_index(Backend *b) {
  b->gather = cuda_gather;
  b->scatter = cuda_scatter;
  b->scatter_add = cuda_scatter_add;
  b->scatter_fold = cuda_scatter_fold;
  b->find_outside = cuda_find_outside;
  b->find_bad = cuda_find_bad;
}
