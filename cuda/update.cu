/* update.cu: optimiser steps, one pass each; formulas in rows/update.def. */
#include "kernel.h"

static __device__ inline float root(float x) { return sqrtf(x); }
static __device__ inline double root(double x) { return sqrt(x); }

LAUNCH_POINTERS(Sgd, s, {
  for (const char *p : {s.p, s.buffer}) pointers.push_back(p);
  pointers.push_back(s.g);
})

/* Without decay no term of p enters g: an infinite p does no harm. */
template <typename T> static __device__ T decayed(double decay, T p, T g) {
  return decay != 0 ? g + (T)decay * p : g;
}

template <typename T> static __global__ void sgd_step(Sgd s) {
  T *p = (T *)s.p, *buffer = (T *)s.buffer;
  const T lr = (T)s.lr, momentum = (T)s.momentum;
  const T fresh = (T)(1 - s.dampening);
  EACH(i, s.count) {
    const T g = decayed(s.decay, p[i], ((const T *)s.g)[i]);
    T step = g;
    if (buffer != nullptr) {
      const T kept = s.first ? g : momentum * buffer[i] + fresh * g;
      buffer[i] = kept;
      step = s.nesterov ? g + momentum * kept : kept;
    }
    p[i] -= lr * step;
  }
}

static bool cuda_sgd(Backend *b, const Sgd *s) {
  if (!cuda_ready(b)) return false;
  const Grid g = grid_of(s->count);
  const cudaStream_t stream = cuda_of(b)->stream;
  if (s->dtype == DTYPE_F32)
    LAUNCH(sgd_step<float>, g.blocks, g.threads, 0, stream, *s);
  else
    LAUNCH(sgd_step<double>, g.blocks, g.threads, 0, stream, *s);
  return cuda_launched(b);
}

LAUNCH_POINTERS(Adam, a, {
  for (const char *p : {a.p, a.m, a.v}) pointers.push_back(p);
  pointers.push_back(a.g);
})

/* Numbers of a step: made in double on the host, rounded once. */
template <typename T> struct AdamNumbers {
  T beta1, beta2, fresh1, fresh2, step, root, eps, keep;
};

template <typename T> static AdamNumbers<T> adam_numbers(const Adam *a) {
  const double t = (double)a->step;
  const double left1 = 1 - pow(a->beta1, t), left2 = 1 - pow(a->beta2, t);
  return {(T)a->beta1,        (T)a->beta2,
          (T)(1 - a->beta1),  (T)(1 - a->beta2),
          (T)(a->lr / left1), (T)(1 / sqrt(left2)),
          (T)a->eps,          (T)(1 - a->lr * a->decay)};
}

template <typename T>
static __global__ void adam_step(Adam a, AdamNumbers<T> k) {
  T *p = (T *)a.p, *m = (T *)a.m, *v = (T *)a.v;
  const bool shrinks = a.decoupled && a.decay != 0;
  const double decay = a.decoupled ? 0 : a.decay;
  EACH(i, a.count) {
    const T g = decayed(decay, p[i], ((const T *)a.g)[i]);
    const T was = shrinks ? p[i] * k.keep : p[i];
    const T m1 = k.beta1 * m[i] + k.fresh1 * g;
    const T v1 = k.beta2 * v[i] + k.fresh2 * (g * g);
    m[i] = m1;
    v[i] = v1;
    p[i] = was - k.step * m1 / (root(v1) * k.root + k.eps);
  }
}

static bool cuda_adam(Backend *b, const Adam *a) {
  if (!cuda_ready(b)) return false;
  const Grid g = grid_of(a->count);
  const cudaStream_t stream = cuda_of(b)->stream;
  if (a->dtype == DTYPE_F32)
    LAUNCH(adam_step<float>, g.blocks, g.threads, 0, stream, *a,
           adam_numbers<float>(a));
  else
    LAUNCH(adam_step<double>, g.blocks, g.threads, 0, stream, *a,
           adam_numbers<double>(a));
  return cuda_launched(b);
}

void cuda_fill_update(Backend *b) {
  b->sgd = cuda_sgd;
  b->adam = cuda_adam;
}
