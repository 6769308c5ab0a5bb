/* gemm.cu: products of matrices, any strides.
 *
 * Tiles for two or more rows and columns; one row or one column has an order
 * of its own along the vector, that of a fold (DECISIONS on products).
 */
#include "gemm.h"

template <typename T> struct Matrices {
  int64_t batch, m, n, k;
  bool left_by_k, right_by_k;
  const T *a, *b;
  T *c;
  int64_t a_batch, a_row, a_col, b_batch, b_row, b_col;
  int64_t c_batch, c_row, c_col;
  __device__ T left(int64_t batch_, int64_t i, int64_t p) const {
    return a[batch_ * a_batch + i * a_row + p * a_col];
  }
  __device__ T right(int64_t batch_, int64_t p, int64_t j) const {
    return b[batch_ * b_batch + p * b_row + j * b_col];
  }
  __device__ void store(int64_t batch_, int64_t i, int64_t j, T v) const {
    c[batch_ * c_batch + i * c_row + j * c_col] = v;
  }
};

#define POINTERS(T)                   \
  LAUNCH_POINTERS(Matrices<T>, job, { \
    pointers.push_back(job.a);        \
    pointers.push_back(job.b);        \
    pointers.push_back(job.c);        \
  })
POINTERS(float)
POINTERS(double)
POINTERS(uint8_t)
POINTERS(uint16_t)
POINTERS(uint32_t)
POINTERS(uint64_t)

template <typename T> struct Term {
  const Matrices<T> *job;
  int64_t batch, i, j;
  __device__ T operator()(int64_t p) const {
    return multiply_add(job->left(batch, i, p), job->right(batch, p, j), T(0));
  }
};

template <typename T> struct Sum {
  __device__ T operator()(T a, T b) const { return (T)(a + b); }
};

/* One warp per element of c. */
template <typename T> static __global__ void gemm_vectors(Matrices<T> job) {
  EACH_WARP(w, job.batch * job.m * job.n) {
    const int64_t j = w % job.n, i = w / job.n % job.m;
    const int64_t batch = w / job.n / job.m;
    const Term<T> term = {&job, batch, i, j};
    const T total = warp_fold(job.k, T(0), term, Sum<T>());
    if (threadIdx.x % WARP == 0) job.store(batch, i, j, total);
  }
}

template <typename T> static Matrices<T> matrices_of(const Product *p) {
  Matrices<T> job;
  job.batch = p->batch, job.m = p->m, job.n = p->n, job.k = p->k;
  job.left_by_k = p->a_row != 1;
  job.right_by_k = p->b_col != 1 && p->b_row == 1;
  job.a = (const T *)(const void *)p->a;
  job.b = (const T *)(const void *)p->b;
  job.c = (T *)(void *)p->c;
  job.a_batch = p->a_batch, job.a_row = p->a_row, job.a_col = p->a_col;
  job.b_batch = p->b_batch, job.b_row = p->b_row, job.b_col = p->b_col;
  job.c_batch = p->c_batch, job.c_row = p->c_row, job.c_col = p->c_col;
  return job;
}

template <typename T> static void run_product(Backend *b, const Product *p) {
  const Matrices<T> job = matrices_of<T>(p);
  const cudaStream_t stream = cuda_of(b)->stream;
  if (p->m > 1 && p->n > 1) {
    gemm_run<T>(job, p->scratch, stream);
    return;
  }
  const Grid g = grid_of_warps(p->batch * p->m * p->n);
  LAUNCH(gemm_vectors<T>, g.blocks, g.threads, 0, stream, job);
}

static size_t cuda_product_room(Backend *, const Product *p) {
  if (p->m <= 1 || p->n <= 1) return 0;
  if (p->dtype == DTYPE_F32) return gemm_room<float>(matrices_of<float>(p));
  if (p->dtype == DTYPE_F64) return gemm_room<double>(matrices_of<double>(p));
  switch (dtype_width(p->dtype)) {
  case 1:
    return gemm_room<uint8_t>(matrices_of<uint8_t>(p));
  case 2:
    return gemm_room<uint16_t>(matrices_of<uint16_t>(p));
  case 4:
    return gemm_room<uint32_t>(matrices_of<uint32_t>(p));
  default:
    return gemm_room<uint64_t>(matrices_of<uint64_t>(p));
  }
}

static bool cuda_product(Backend *b, const Product *p) {
  if (!cuda_ready(b)) return false;
  if (p->dtype == DTYPE_F32)
    run_product<float>(b, p);
  else if (p->dtype == DTYPE_F64)
    run_product<double>(b, p);
  else
    switch (dtype_width(p->dtype)) {
    case 1:
      run_product<uint8_t>(b, p);
      break;
    case 2:
      run_product<uint16_t>(b, p);
      break;
    case 4:
      run_product<uint32_t>(b, p);
      break;
    default:
      run_product<uint64_t>(b, p);
    }
  return cuda_launched(b);
}

void cuda_fill_gemm(Backend *b) {
  b->product_room = cuda_product_room;
  b->product = cuda_product;
}
