/* rows.cu: softmax, layer norm, cross entropy: one warp per row.
 *
 * Sums run in the order of rows/fold.def.  An operand may be the result: each
 * thread reads its elements of a row before it writes them.
 */
#include "kernel.h"

#define REAL float
#define REAL_BITS 32
#define FN(name) name##_f32
#include "rows/smath.h"
#undef REAL
#undef REAL_BITS
#undef FN
#define REAL double
#define REAL_BITS 64
#define FN(name) name##_f64
#include "rows/smath.h"
#undef REAL
#undef REAL_BITS
#undef FN

static __device__ inline float exp_of(float x) { return sm_exp_f32(x); }
static __device__ inline double exp_of(double x) { return sm_exp_f64(x); }
static __device__ inline float log_of(float x) { return sm_log_f32(x); }
static __device__ inline double log_of(double x) { return sm_log_f64(x); }
static __device__ inline float root_of(float x) { return sm_sqrt_f32(x); }
static __device__ inline double root_of(double x) { return sm_sqrt_f64(x); }

/* for j in [0, n), shared among the lanes of a warp. */
#define EACH_LANE(j, n) for (int64_t j = threadIdx.x % WARP; j < n; j += WARP)

static __device__ inline bool is_first_lane() {
  return threadIdx.x % WARP == 0;
}

/* NaN is passed over: the sums will show it. */
template <typename T> static __device__ T warp_greatest(const T *x, int64_t n) {
  return warp_fold(
      n, T(-INFINITY), [=](int64_t j) { return x[j]; }, Greater<T>());
}

template <typename T, typename Element>
static __device__ T warp_sum(int64_t n, Element element) {
  return warp_fold(n, T(0), element, Plus<T>());
}

/* sum(e^(x - shift)) */
template <typename T>
static __device__ T warp_sum_exp(const T *x, int64_t n, T shift) {
  return warp_sum<T>(n, [=](int64_t j) { return exp_of(x[j] - shift); });
}

/* log(sum(e^x)); the shift by an infinite maximum would give NaN. */
template <typename T>
static __device__ T warp_log_sum_exp(const T *x, int64_t n, T *shift) {
  const T most = warp_greatest(x, n);
  *shift = most - most == 0 ? most : T(0);
  return log_of(warp_sum_exp(x, n, *shift));
}

/* The same of COLUMNS columns by a block; see column_chunk. */
template <typename T, typename Element>
static __device__ T column_sum(int64_t n, T *room, Element element) {
  return join_chunks<T>(
      n,
      [=](int64_t first, int64_t last) {
        return column_chunk(first, last, T(0), element, Plus<T>(), room);
      },
      Plus<T>());
}

/* ---- softmax ---- */

LAUNCH_POINTERS(Softmax, s, {
  pointers.push_back(s.x);
  pointers.push_back(s.y);
  pointers.push_back(s.g);
})

template <typename T> static __global__ void softmax_rows(Softmax s) {
  EACH_WARP(i, s.rows) {
    const T *x = (const T *)s.x + i * s.n;
    T *y = (T *)s.y + i * s.n;
    const T most = warp_greatest(x, s.n);
    const T sum = warp_sum_exp(x, s.n, most);
    const T part = s.log ? log_of(sum) : 1 / sum;
    EACH_LANE(j, s.n)
    y[j] = s.log ? (x[j] - most) - part : exp_of(x[j] - most) * part;
  }
}

template <typename T> static __global__ void softmax_pull_rows(Softmax s) {
  EACH_WARP(i, s.rows) {
    const T *r = (const T *)s.x + i * s.n, *g = (const T *)s.g + i * s.n;
    T *y = (T *)s.y + i * s.n;
    const bool log = s.log;
    const T sum =
        warp_sum<T>(s.n, [=](int64_t j) { return log ? g[j] : g[j] * r[j]; });
    EACH_LANE(j, s.n)
    y[j] = log ? g[j] - exp_of(r[j]) * sum : r[j] * (g[j] - sum);
  }
}

LAUNCH_POINTERS(LogSumExp, s, {
  pointers.push_back(s.x);
  pointers.push_back(s.y);
})

template <typename T> static __global__ void logsumexp_rows(LogSumExp s) {
  EACH_WARP(i, s.rows) {
    T shift;
    const T r = warp_log_sum_exp((const T *)s.x + i * s.n, s.n, &shift);
    if (is_first_lane()) ((T *)s.y)[i] = r + shift;
  }
}

/* ---- layer norm ---- */

LAUNCH_POINTERS(LayerNorm, l, {
  for (const char *p : {l.x, l.w, l.b, l.g}) pointers.push_back(p);
  for (const char *p : {l.y, l.mean, l.rstd, l.gx, l.gw, l.gb})
    pointers.push_back(p);
})

template <typename T> static __global__ void layer_norm_rows(LayerNorm l) {
  const T *w = (const T *)l.w, *b = (const T *)l.b;
  EACH_WARP(i, l.rows) {
    const T *x = (const T *)l.x + i * l.n;
    T *y = (T *)l.y + i * l.n;
    const T mean = warp_sum<T>(l.n, [=](int64_t j) { return x[j]; }) / (T)l.n;
    const T var =
        warp_sum<T>(l.n,
                    [=](int64_t j) { return (x[j] - mean) * (x[j] - mean); }) /
        (T)l.n;
    const T rstd = T(1) / root_of(var + (T)l.eps);
    EACH_LANE(j, l.n) {
      const T v = (x[j] - mean) * rstd;
      const T scaled = w != nullptr ? v * w[j] : v;
      y[j] = b != nullptr ? scaled + b[j] : scaled;
    }
    if (!is_first_lane()) continue;
    ((T *)l.mean)[i] = mean;
    ((T *)l.rstd)[i] = rstd;
  }
}

template <typename T> static __global__ void layer_norm_pull_x(LayerNorm l) {
  const T *w = (const T *)l.w;
  EACH_WARP(i, l.rows) {
    const T *x = (const T *)l.x + i * l.n, *g = (const T *)l.g + i * l.n;
    T *gx = (T *)l.gx + i * l.n;
    const T mean = ((const T *)l.mean)[i], rstd = ((const T *)l.rstd)[i];
    const auto h = [=](int64_t j) { return w ? g[j] * w[j] : g[j]; };
    const auto v = [=](int64_t j) { return (x[j] - mean) * rstd; };
    const T mean_h = warp_sum<T>(l.n, h) / (T)l.n;
    const T mean_hv =
        warp_sum<T>(l.n, [=](int64_t j) { return h(j) * v(j); }) / (T)l.n;
    EACH_LANE(j, l.n) gx[j] = rstd * (h(j) - mean_h - v(j) * mean_hv);
  }
}

/* Sums over rows: a block takes COLUMNS columns. */
template <typename T>
static __global__ void __launch_bounds__(COLUMN_THREADS)
    layer_norm_pull_w(LayerNorm l) {
  DYNAMIC_SHARED(T, room);
  const int64_t n = l.n;
  const T *mean = (const T *)l.mean, *rstd = (const T *)l.rstd;
  for (int64_t tile = blockIdx.x; tile * COLUMNS < n; tile += gridDim.x) {
    const int64_t j = tile * COLUMNS + threadIdx.x % COLUMNS;
    const bool is_column = j < n; /* the others repeat the last */
    const T *x = (const T *)l.x + (is_column ? j : n - 1);
    const T *g = (const T *)l.g + (is_column ? j : n - 1);
    const T gw = column_sum<T>(l.rows, room, [=](int64_t i) {
      return g[i * n] * ((x[i * n] - mean[i]) * rstd[i]);
    });
    const T gb =
        column_sum<T>(l.rows, room, [=](int64_t i) { return g[i * n]; });
    if (!is_column || threadIdx.x >= COLUMNS) continue;
    if (l.gw != nullptr) ((T *)l.gw)[j] = gw;
    if (l.gb != nullptr) ((T *)l.gb)[j] = gb;
  }
}

/* ---- cross entropy ---- */

LAUNCH_POINTERS(CrossEntropy, e, {
  for (const char *p : {e.x, e.g, e.label}) pointers.push_back(p);
  for (const char *p : {e.loss, e.lse, e.gx}) pointers.push_back(p);
})

template <typename T>
static __global__ void cross_entropy_rows(CrossEntropy e) {
  EACH_WARP(i, e.rows) {
    const T *x = (const T *)e.x + i * e.n;
    const int64_t label = ((const int64_t *)e.label)[i];
    T shift;
    const T log = warp_log_sum_exp(x, e.n, &shift);
    if (!is_first_lane()) continue;
    ((T *)e.lse)[2 * i] = shift;
    ((T *)e.lse)[2 * i + 1] = log;
    ((T *)e.loss)[i] =
        label == e.ignore ? T(0) : log + (shift - x[label - e.base]);
  }
}

template <typename T>
static __global__ void cross_entropy_pull_rows(CrossEntropy e) {
  EACH(k, e.rows * e.n) {
    const int64_t i = k / e.n, j = k - i * e.n;
    const int64_t label = ((const int64_t *)e.label)[i];
    const T shift = ((const T *)e.lse)[2 * i];
    const T log = ((const T *)e.lse)[2 * i + 1];
    const T g = ((const T *)e.g)[i * e.g_stride];
    const T p = exp_of((((const T *)e.x)[k] - shift) - log);
    const T slope = j == label - e.base ? p - 1 : p;
    ((T *)e.gx)[k] = label == e.ignore ? T(0) : g * slope;
  }
}

/* ---- the slots ---- */

/* Launches `kernel` for f32 or f64; `room` numbers of shared memory. */
#define RUN_WITH(kernel, g, room, job)                                         \
  do {                                                                         \
    const Grid grid = (g);                                                     \
    const cudaStream_t stream = cuda_of(b)->stream;                            \
    if ((job)->dtype == DTYPE_F32)                                             \
      LAUNCH(kernel<float>, grid.blocks, grid.threads, (room) * sizeof(float), \
             stream, *(job));                                                  \
    else                                                                       \
      LAUNCH(kernel<double>, grid.blocks, grid.threads,                        \
             (room) * sizeof(double), stream, *(job));                         \
  } while (0)
#define RUN(kernel, g, job) RUN_WITH(kernel, g, 0, job)

static bool cuda_softmax(Backend *b, const Softmax *s) {
  if (!cuda_ready(b)) return false;
  RUN(softmax_rows, grid_of_warps(s->rows), s);
  return cuda_launched(b);
}

static bool cuda_softmax_pull(Backend *b, const Softmax *s) {
  if (!cuda_ready(b)) return false;
  RUN(softmax_pull_rows, grid_of_warps(s->rows), s);
  return cuda_launched(b);
}

static bool cuda_logsumexp(Backend *b, const LogSumExp *s) {
  if (!cuda_ready(b)) return false;
  RUN(logsumexp_rows, grid_of_warps(s->rows), s);
  return cuda_launched(b);
}

static bool cuda_layer_norm(Backend *b, const LayerNorm *l) {
  if (!cuda_ready(b)) return false;
  RUN(layer_norm_rows, grid_of_warps(l->rows), l);
  return cuda_launched(b);
}

static size_t cuda_layer_norm_room(Backend *, const LayerNorm *) { return 0; }

static Grid grid_of_columns(int64_t n) {
  const int64_t tiles = ceil_div(n, COLUMNS);
  return {(unsigned)min_i64(tiles, MAX_BLOCKS), COLUMN_THREADS};
}

static bool cuda_layer_norm_pull(Backend *b, const LayerNorm *l) {
  if (!cuda_ready(b)) return false;
  if (l->gw != nullptr || l->gb != nullptr)
    RUN_WITH(layer_norm_pull_w, grid_of_columns(l->n), COLUMN_THREADS, l);
  if (l->gx != nullptr) RUN(layer_norm_pull_x, grid_of_warps(l->rows), l);
  return cuda_launched(b);
}

static bool cuda_cross_entropy(Backend *b, const CrossEntropy *e) {
  if (!cuda_ready(b)) return false;
  RUN(cross_entropy_rows, grid_of_warps(e->rows), e);
  return cuda_launched(b);
}

static bool cuda_cross_entropy_pull(Backend *b, const CrossEntropy *e) {
  if (!cuda_ready(b)) return false;
  RUN(cross_entropy_pull_rows, grid_of(e->rows * e->n), e);
  return cuda_launched(b);
}

void cuda_fill_rows(Backend *b) {
  b->softmax = cuda_softmax;
  b->softmax_pull = cuda_softmax_pull;
  b->logsumexp = cuda_logsumexp;
  b->layer_norm = cuda_layer_norm;
  b->layer_norm_room = cuda_layer_norm_room;
  b->layer_norm_pull = cuda_layer_norm_pull;
  b->cross_entropy = cuda_cross_entropy;
  b->cross_entropy_pull = cuda_cross_entropy_pull;
}
