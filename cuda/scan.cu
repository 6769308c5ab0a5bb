/* scan.cu: scans along one axis.
 *
 * A line is cut into chunks: their totals are found side by side, joined from
 * the first on, and then each chunk is walked from what came before it.
 *
 *   x        x x x x | x x x x | x x
 *   totals   a       | b       | (c)
 *   before   none    | a       | a b
 *
 * Lines whose neighbours lie nearer than their own elements, short ones and
 * chains go by thread; the others by warp.
 */
#include "kernel.h"

#define REAL double
#define REAL_BITS 64
#define FN(name) name##_f64
#include "rows/smath.h"
#undef REAL
#undef REAL_BITS
#undef FN

/* Integers wrap: in unsigned arithmetic. */
static __device__ inline double plus(double a, double b) { return a + b; }
static __device__ inline double times(double a, double b) { return a * b; }
static __device__ inline int64_t plus(int64_t a, int64_t b) {
  return (int64_t)((uint64_t)a + (uint64_t)b);
}
static __device__ inline int64_t times(int64_t a, int64_t b) {
  return (int64_t)((uint64_t)a * (uint64_t)b);
}

enum {
  THREAD_CHUNK = 256, /* elements that a thread walks by itself */
  WARP_CHUNK = 2048,
  STATE_BYTES = 16
};

struct Lines {
  int in, out;
  const char *src, *by;
  char *dst;
  int64_t *place;
  char *partial; /* lines.count x chunks states, when chunks > 1 */
  int64_t base, n, chunk, chunks, previous;
  Walk lines;
  int64_t line[3][MAX_RANK]; /* src, dst, by */
  int64_t src_step, dst_step, by_step;
};
LAUNCH_POINTERS(Lines, l, {
  pointers.push_back(l.src);
  pointers.push_back(l.by);
  pointers.push_back(l.dst);
  pointers.push_back(l.place);
  pointers.push_back(l.partial);
})

/* ---- what is joined: a state per element, `none` before the first ---- */

template <typename C> struct Sum {
  typedef C Number;
  C value;
  static __device__ Sum none() { return {C(0)}; }
  static __device__ Sum of(C x, int64_t) { return {x}; }
  static __device__ Sum join(Sum a, Sum b) { return {plus(a.value, b.value)}; }
  static __device__ Sum up(Sum a, int by) {
    return {__shfl_up_sync(0xffffffffu, a.value, by)};
  }
  static __device__ Sum last(Sum a) {
    return {__shfl_sync(0xffffffffu, a.value, WARP - 1)};
  }
  __device__ C result() const { return value; }
  __device__ int64_t place() const { return 0; }
};

template <typename C> struct Times {
  typedef C Number;
  C value;
  static __device__ Times none() { return {C(1)}; }
  static __device__ Times of(C x, int64_t) { return {x}; }
  static __device__ Times join(Times a, Times b) {
    return {times(a.value, b.value)};
  }
  static __device__ Times up(Times a, int by) {
    return {__shfl_up_sync(0xffffffffu, a.value, by)};
  }
  static __device__ Times last(Times a) {
    return {__shfl_sync(0xffffffffu, a.value, WARP - 1)};
  }
  __device__ C result() const { return value; }
  __device__ int64_t place() const { return 0; }
};

/* The last of ties; NaN wins, and the last NaN. */
template <typename C, bool greatest> struct Best {
  typedef C Number;
  C value;
  int64_t at; /* -1: nothing yet */
  static __device__ Best none() { return {C(0), -1}; }
  static __device__ Best of(C x, int64_t i) { return {x, i}; }
  static __device__ Best join(Best a, Best b) {
    if (a.at < 0 || b.at < 0) return b.at < 0 ? a : b;
    const bool reaches = greatest ? b.value >= a.value : b.value <= a.value;
    return reaches || b.value != b.value ? b : a;
  }
  static __device__ Best up(Best a, int by) {
    return {__shfl_up_sync(0xffffffffu, a.value, by),
            __shfl_up_sync(0xffffffffu, a.at, by)};
  }
  static __device__ Best last(Best a) {
    return {__shfl_sync(0xffffffffu, a.value, WARP - 1),
            __shfl_sync(0xffffffffu, a.at, WARP - 1)};
  }
  __device__ C result() const { return value; }
  __device__ int64_t place() const { return at; }
};

/* log(sum(e^x)) = top + log(sum) */
struct LogSum {
  typedef double Number;
  double top, sum;
  static __device__ LogSum none() { return {-INFINITY, 0}; }
  static __device__ LogSum of(double x, int64_t) { return {x, 1}; }
  static __device__ LogSum join(LogSum a, LogSum b) {
    if (a.top == b.top) return {a.top, a.sum + b.sum}; /* infinite ones, too */
    if (b.top > a.top) return {b.top, a.sum * sm_exp_f64(a.top - b.top) + b.sum};
    return {a.top, a.sum + b.sum * sm_exp_f64(b.top - a.top)};
  }
  static __device__ LogSum up(LogSum a, int by) {
    return {__shfl_up_sync(0xffffffffu, a.top, by),
            __shfl_up_sync(0xffffffffu, a.sum, by)};
  }
  static __device__ LogSum last(LogSum a) {
    return {__shfl_sync(0xffffffffu, a.top, WARP - 1),
            __shfl_sync(0xffffffffu, a.sum, WARP - 1)};
  }
  __device__ double result() const { return top + sm_log_f64(sum); }
  __device__ int64_t place() const { return 0; }
};

/* ---- elements ---- */

/* A line: offsets of its first element in src, dst and by. */
struct Offsets {
  int64_t at[3];
};

static __device__ inline Offsets line_at(const Lines &l, int64_t k) {
  Offsets o;
  walk_at<3>(l.lines, l.line, k, o.at);
  return o;
}

template <typename S>
static __device__ S state_at(const Lines &l, const Offsets &o, int64_t i) {
  typedef typename S::Number C;
  return S::of(load_as<C>(l.src, l.in, o.at[0] + i * l.src_step), i);
}

template <typename S>
static __device__ void keep(const Lines &l, const Offsets &o, int64_t i, S s) {
  typedef typename S::Number C;
  const int64_t to = o.at[1] + i * l.dst_step;
  store_from<C>(l.dst, l.out, to, s.result());
  if (l.place != nullptr) l.place[to] = l.base + s.place();
}

static __device__ inline int64_t chunk_end(const Lines &l, int64_t chunk) {
  const int64_t last = (chunk + 1) * l.chunk;
  return last < l.n ? last : l.n;
}

/* ---- by thread ---- */

/* The states of a chunk joined to `s`; `keeps`: each of them is a result. */
template <typename S>
static __device__ S walk(const Lines &l, const Offsets &o, int64_t chunk, S s,
                         bool keeps) {
  for (int64_t i = chunk * l.chunk; i < chunk_end(l, chunk); i++) {
    s = S::join(s, state_at<S>(l, o, i));
    if (keeps) keep(l, o, i, s);
  }
  return s;
}

/* Neighbouring threads have neighbouring lines. */
template <typename S> static __global__ void totals_by_thread(Lines l) {
  EACH(j, l.lines.count * l.chunks) {
    const int64_t chunk = j / l.lines.count, k = j - chunk * l.lines.count;
    const S s = walk(l, line_at(l, k), chunk, S::none(), false);
    ((S *)l.partial)[k * l.chunks + chunk] = s;
  }
}

template <typename S> static __global__ void scan_by_thread(Lines l) {
  EACH(j, l.lines.count * l.chunks) {
    const int64_t chunk = j / l.lines.count, k = j - chunk * l.lines.count;
    const S before = chunk > 0 ? ((const S *)l.partial)[k * l.chunks + chunk - 1]
                               : S::none();
    walk(l, line_at(l, k), chunk, before, true);
  }
}

/* ---- by warp ---- */

/* Lane by lane, joined to `carry`; what the last lane has is the next carry. */
template <typename S> static __device__ S warp_scan(S carry, S s) {
  const int lane = threadIdx.x % WARP;
  for (int by = 1; by < WARP; by *= 2) {
    const S before = S::up(s, by);
    if (lane >= by) s = S::join(before, s);
  }
  return S::join(carry, s);
}

template <typename S>
static __device__ S warp_walk(const Lines &l, const Offsets &o, int64_t chunk,
                              S carry, bool keeps) {
  const int64_t last = chunk_end(l, chunk);
  for (int64_t i = chunk * l.chunk; i < last; i += WARP) {
    const int64_t at = i + threadIdx.x % WARP;
    const S s =
        warp_scan(carry, at < last ? state_at<S>(l, o, at) : S::none());
    if (keeps && at < last) keep(l, o, at, s);
    carry = S::last(s);
  }
  return carry;
}

template <typename S> static __global__ void totals_by_warp(Lines l) {
  EACH_WARP(j, l.lines.count * l.chunks) {
    const int64_t k = j / l.chunks, chunk = j - k * l.chunks;
    const S s = warp_walk(l, line_at(l, k), chunk, S::none(), false);
    if (threadIdx.x % WARP == 0) ((S *)l.partial)[j] = s;
  }
}

template <typename S> static __global__ void scan_by_warp(Lines l) {
  EACH_WARP(j, l.lines.count * l.chunks) {
    const int64_t k = j / l.chunks, chunk = j - k * l.chunks;
    const S before = chunk > 0 ? ((const S *)l.partial)[j - 1] : S::none();
    warp_walk(l, line_at(l, k), chunk, before, true);
  }
}

/* The totals of a line, joined from the first on, in place. */
template <typename S> static __global__ void join_totals(Lines l) {
  EACH_WARP(k, l.lines.count) {
    S *total = (S *)l.partial + k * l.chunks;
    S carry = S::none();
    for (int64_t i = 0; i < l.chunks; i += WARP) {
      const int64_t at = i + threadIdx.x % WARP;
      const S s = warp_scan(carry, at < l.chunks ? total[at] : S::none());
      if (at < l.chunks) total[at] = s;
      carry = S::last(s);
    }
  }
}

/* ---- chains ---- */

static __global__ void chain_by_thread(Lines l) {
  EACH(k, l.lines.count) {
    const Offsets o = line_at(l, k);
    double y = 0;
    for (int64_t i = 0; i < l.n; i++) {
      const int64_t by = o.at[2] + (i - l.previous) * l.by_step;
      const double x = load_as<double>(l.src, l.in, o.at[0] + i * l.src_step);
      y = i > 0 ? load_as<double>(l.by, l.in, by) * y + x : x;
      store_from<double>(l.dst, l.out, o.at[1] + i * l.dst_step, y);
    }
  }
}

/* ---- the slots ---- */

static bool goes_by_thread(const Scan *s) {
  const int64_t step = s->src_step < 0 ? -s->src_step : s->src_step;
  const bool across = s->lines > 0 && s->src_line[s->lines - 1] < step;
  return across || s->n <= WARP || s->scan == SCAN_CHAIN;
}

static Lines lines_of(const Scan *s) {
  Lines l = {};
  l.in = s->in, l.out = s->out;
  l.src = s->src, l.by = s->by, l.dst = s->dst;
  l.place = (int64_t *)s->place;
  l.partial = (char *)s->scratch;
  l.base = s->base, l.n = s->n, l.previous = s->previous;
  l.lines = walk_of(s->lines, s->size);
  for (int a = 0; a < s->lines; a++) {
    l.line[0][a] = s->src_line[a];
    l.line[1][a] = s->dst_line[a];
    l.line[2][a] = s->by_line[a];
  }
  l.src_step = s->src_step, l.dst_step = s->dst_step, l.by_step = s->by_step;
  l.chunk = goes_by_thread(s) ? THREAD_CHUNK : WARP_CHUNK;
  l.chunks = ceil_div(l.n, l.chunk);
  return l;
}

template <typename S> static void run_scan(const Scan *s, cudaStream_t stream) {
  static_assert(sizeof(S) <= STATE_BYTES, "scan_room counts on it");
  const Lines l = lines_of(s);
  const int64_t parts = l.lines.count * l.chunks;
  const bool by_thread = goes_by_thread(s);
  const Grid g = by_thread ? grid_of(parts) : grid_of_warps(parts);
  if (l.chunks > 1) {
    const Grid each = grid_of_warps(l.lines.count);
    if (by_thread)
      LAUNCH(totals_by_thread<S>, g.blocks, g.threads, 0, stream, l);
    else
      LAUNCH(totals_by_warp<S>, g.blocks, g.threads, 0, stream, l);
    LAUNCH(join_totals<S>, each.blocks, each.threads, 0, stream, l);
  }
  if (by_thread)
    LAUNCH(scan_by_thread<S>, g.blocks, g.threads, 0, stream, l);
  else
    LAUNCH(scan_by_warp<S>, g.blocks, g.threads, 0, stream, l);
}

template <bool greatest> static void run_best(const Scan *s, cudaStream_t t) {
  switch (s->compute) {
  case DTYPE_F32:
    return run_scan<Best<float, greatest>>(s, t);
  case DTYPE_F64:
    return run_scan<Best<double, greatest>>(s, t);
  default:
    return run_scan<Best<int64_t, greatest>>(s, t);
  }
}

static void run_chain(const Scan *s, cudaStream_t stream) {
  const Lines l = lines_of(s);
  const Grid g = grid_of(l.lines.count);
  LAUNCH(chain_by_thread, g.blocks, g.threads, 0, stream, l);
}

static size_t cuda_scan_room(Backend *, const Scan *s) {
  const Lines l = lines_of(s);
  if (l.chunks == 1 || s->scan == SCAN_CHAIN) return 0;
  return (size_t)(l.lines.count * l.chunks) * STATE_BYTES;
}

static bool cuda_scan(Backend *b, const Scan *s) {
  if (!cuda_ready(b)) return false;
  const cudaStream_t stream = cuda_of(b)->stream;
  const bool whole = !dtype_is_float(s->in);
  switch (s->scan) {
  case SCAN_SUM:
    whole ? run_scan<Sum<int64_t>>(s, stream) : run_scan<Sum<double>>(s, stream);
    break;
  case SCAN_PROD:
    whole ? run_scan<Times<int64_t>>(s, stream)
          : run_scan<Times<double>>(s, stream);
    break;
  case SCAN_MAX:
    run_best<true>(s, stream);
    break;
  case SCAN_MIN:
    run_best<false>(s, stream);
    break;
  case SCAN_LOGSUMEXP:
    run_scan<LogSum>(s, stream);
    break;
  default:
    run_chain(s, stream);
  }
  return cuda_launched(b);
}

void cuda_fill_scan(Backend *b) {
  b->scan_room = cuda_scan_room;
  b->scan = cuda_scan;
}
