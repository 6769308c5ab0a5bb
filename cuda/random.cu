/* random.cu: draws; element i depends on the generator and i alone.
 *
 * Bits are those of cpu/random.c, normal draws within the roundings of
 * sm_log: one thread makes the elements of one block of the generator.
 */
#include "kernel.h"

#define REAL float
#define REAL_BITS 32
#define FN(name) name##_f32
#include "rows/smath.h"
#include "rows/normal.h"
#undef REAL
#undef REAL_BITS
#undef FN
#define REAL double
#define REAL_BITS 64
#define FN(name) name##_f64
#include "rows/smath.h"
#include "rows/normal.h"
#undef REAL
#undef REAL_BITS
#undef FN

/* A draw of T; `most` is the greatest value that a uniform draw may have. */
template <typename T> struct Drawing {
  Draw d;
  T a, b, width, most;
};
LAUNCH_POINTERS(Draw, d, { pointers.push_back(d.dst); })
LAUNCH_POINTERS(Drawing<float>, k, { pointers.push_back(k.d.dst); })
LAUNCH_POINTERS(Drawing<double>, k, { pointers.push_back(k.d.dst); })

/* Numbers that one block of four words makes. */
template <typename T> struct PerBlock {
  enum { COUNT = 16 / sizeof(T) };
};

static __device__ uint64_t word_pair(const uint32_t *word, int k) {
  return (uint64_t)word[2 * k] << 32 | word[2 * k + 1];
}

static __device__ float unit(const uint32_t *word, int k, float) {
  return philox_f32(word[k]);
}
static __device__ double unit(const uint32_t *word, int k, double) {
  return philox_f64(word[2 * k], word[2 * k + 1]);
}

static __device__ void normals(const uint32_t *word, int k, float *r) {
  normal_pair_f32(word[2 * k], word[2 * k + 1], &r[0], &r[1]);
}
static __device__ void normals(const uint32_t *word, int, double *r) {
  normal_pair_f64(word_pair(word, 0), word_pair(word, 1), &r[0], &r[1]);
}

template <typename T>
static __device__ void make(const Drawing<T> &k, const uint32_t *word,
                            T *made) {
  enum { COUNT = PerBlock<T>::COUNT };
  for (int i = 0; i < COUNT; i++) {
    if (k.d.what == DRAW_NORMAL) {
      if (i % 2 == 0) normals(word, i / 2, made + i);
      made[i] = k.a + k.b * made[i];
    } else if (k.d.what == DRAW_BERNOULLI) {
      made[i] = unit(word, i, T()) < k.a ? T(1) : T(0);
    } else {
      const T x = k.a + k.width * unit(word, i, T());
      made[i] = x < k.b ? x : k.most;
    }
  }
}

template <typename T> static __global__ void draw_reals(Drawing<T> k) {
  enum { COUNT = PerBlock<T>::COUNT };
  EACH(block, (k.d.count + COUNT - 1) / COUNT) {
    uint32_t word[4];
    T made[COUNT];
    philox_block(&k.d.generator, (uint64_t)block, word);
    make(k, word, made);
    for (int i = 0; i < COUNT && block * COUNT + i < k.d.count; i++)
      ((T *)k.d.dst)[block * COUNT + i] = made[i];
  }
}

/* ---- integers: the method of cpu/random_level.c (Lemire 2019) ---- */

#define RETRY_STREAM 0x9E3779B97F4A7C15u /* as there */
enum { RETRIES = 64 };

/* Upper half of a product of 64-bit numbers; *low is the lower one. */
static __device__ uint64_t multiply(uint64_t a, uint64_t b, uint64_t *low) {
  const uint64_t a0 = a & 0xffffffffu, a1 = a >> 32;
  const uint64_t b0 = b & 0xffffffffu, b1 = b >> 32;
  const uint64_t first = a0 * b0, cross = a1 * b0 + (first >> 32);
  const uint64_t middle = a0 * b1 + (cross & 0xffffffffu);
  *low = a * b;
  return a1 * b1 + (cross >> 32) + (middle >> 32);
}

static __device__ void attempt(const Draw &d, uint64_t t, uint64_t block,
                               uint32_t *word) {
  Philox p = d.generator;
  p.stream ^= t * RETRY_STREAM;
  philox_block(&p, block, word);
}

static __global__ void draw_i32(Draw d) {
  const uint64_t range = (uint64_t)(d.high - d.low) + 1; /* <= 2^32 */
  const uint32_t least = (uint32_t)(((uint64_t)1 << 32) % range);
  EACH(i, d.count) {
    uint64_t product = 0;
    for (uint64_t t = 0; t <= RETRIES; t++) {
      uint32_t word[4];
      attempt(d, t, (uint64_t)i / 4, word);
      product = word[i % 4] * range;
      if ((uint32_t)product >= least) break;
    }
    ((uint32_t *)d.dst)[i] = (uint32_t)d.low + (uint32_t)(product >> 32);
  }
}

static __global__ void draw_i64(Draw d) {
  const uint64_t range = (uint64_t)d.high - (uint64_t)d.low + 1; /* 0: 2^64 */
  const uint64_t least = range == 0 ? 0 : (0 - range) % range;
  EACH(i, d.count) {
    uint64_t r = 0, low = 0;
    for (uint64_t t = 0; t <= RETRIES; t++) {
      uint32_t word[4];
      attempt(d, t, (uint64_t)i / 2, word);
      const uint64_t w = word_pair(word, (int)(i % 2));
      r = range == 0 ? w : multiply(w, range, &low);
      if (low >= least) break;
    }
    ((uint64_t *)d.dst)[i] = (uint64_t)d.low + r;
  }
}

/* ---- the slot ---- */

static inline float before(float b, float a) { return nextafterf(b, a); }
static inline double before(double b, double a) { return nextafter(b, a); }

template <typename T> static void run_reals(Backend *b, const Draw *d) {
  Drawing<T> k;
  k.d = *d;
  k.a = (T)d->a, k.b = (T)d->b, k.width = (T)(d->b - d->a);
  k.most = k.a < k.b ? before(k.b, k.a) : k.a;
  const Grid g = grid_of(ceil_div(d->count, PerBlock<T>::COUNT));
  LAUNCH(draw_reals<T>, g.blocks, g.threads, 0, cuda_of(b)->stream, k);
}

static bool cuda_draw(Backend *b, const Draw *d) {
  if (!cuda_ready(b)) return false;
  const Grid g = grid_of(d->count);
  const cudaStream_t stream = cuda_of(b)->stream;
  switch (d->dtype) {
  case DTYPE_F32:
    run_reals<float>(b, d);
    break;
  case DTYPE_F64:
    run_reals<double>(b, d);
    break;
  case DTYPE_I32:
    LAUNCH(draw_i32, g.blocks, g.threads, 0, stream, *d);
    break;
  default:
    LAUNCH(draw_i64, g.blocks, g.threads, 0, stream, *d);
  }
  return cuda_launched(b);
}

void cuda_fill_random(Backend *b) { b->draw = cuda_draw; }
