/* conv.cu: convolutions of images and volumes as products that are never written out.
 *
 *   VALUE      y (out, places)  = w (out, window)  x[window, place]
 *   TO_X       x (in, pixels)   = w (in, out taps) y[out tap, pixel]
 *   TO_WEIGHT  w (out, window)  = y (out, images places) x[place, window]
 *
 * each per group, the first two per image too.  A window is (channel, tap) of
 * the group; a tap is a place of the kernel.
 */
#include "gemm.h"

/* Of a group. */
template <typename T> struct Images {
  int64_t batch, m, n, k; /* see gemm.h */
  bool left_by_k, right_by_k;
  int64_t images, groups, in, out; /* in, out: channels of a group */
  int64_t pixels, places, taps;    /* size, result, kernel, multiplied */
  int64_t size[SPACE], result[SPACE], kernel[SPACE];
  int64_t stride[SPACE], pad[SPACE], dilation[SPACE];
  T *x, *w, *y;
  const T *bias;

  /* A number of a plane or volume as a place on each axis. */
  static __device__ void unfold(int64_t i, const int64_t *sizes,
                                int64_t *at) {
    int64_t rest = i;
    divide(i, sizes[ACROSS], &rest, &at[ACROSS]);
    at[DEEP] = 0, at[DOWN] = rest;
    if (sizes[DEEP] > 1) divide(rest, sizes[DOWN], &at[DEEP], &at[DOWN]);
  }

  /* x of a channel, at a tap of a place; 0 in the padding. */
  __device__ T pixel(const T *plane, int64_t place, int64_t tap) const {
    int64_t at[SPACE], of[SPACE], offset = 0;
    unfold(place, result, at);
    unfold(tap, kernel, of);
    for (int a = 0; a < SPACE; a++) {
      const int64_t i = at[a] * stride[a] - pad[a] + of[a] * dilation[a];
      if (i < 0 || i >= size[a]) return T(0);
      offset = offset * size[a] + i;
    }
    return plane[offset];
  }

  /* The place along one axis whose tap falls on `at`; -1 for none. */
  __device__ int64_t place_of(int64_t at, int64_t tap, int axis,
                              int64_t limit) const {
    const int64_t from = at + pad[axis] - tap * dilation[axis];
    if (from < 0) return -1;
    int64_t place, rest;
    divide(from, stride[axis], &place, &rest);
    return rest == 0 && place < limit ? place : -1;
  }

  static __device__ void divide(int64_t a, int64_t by, int64_t *quotient,
                                int64_t *rest) {
    *quotient =
        ((a | by) >> 32) == 0 ? (int64_t)((uint32_t)a / (uint32_t)by) : a / by;
    *rest = a - *quotient * by;
  }
};

template <typename T> struct ConvValue : Images<T> {
  __device__ T left(int64_t b, int64_t i, int64_t p) const {
    const int64_t group = b % this->groups;
    return this->w[(group * this->m + i) * this->k + p];
  }
  __device__ T right(int64_t b, int64_t p, int64_t j) const {
    int64_t channel, tap;
    this->divide(p, this->taps, &channel, &tap);
    return this->pixel(this->x + (b * this->in + channel) * this->pixels, j,
                       tap);
  }
  __device__ void store(int64_t b, int64_t i, int64_t j, T v) const {
    const int64_t group = b % this->groups;
    if (this->bias != nullptr) v += this->bias[group * this->m + i];
    this->y[(b * this->m + i) * this->places + j] = v;
  }
};

template <typename T> struct ConvToX : Images<T> {
  __device__ T left(int64_t b, int64_t i, int64_t p) const {
    const int64_t group = b % this->groups;
    int64_t channel, tap;
    this->divide(p, this->taps, &channel, &tap);
    return this
        ->w[((group * this->out + channel) * this->in + i) * this->taps + tap];
  }
  __device__ T right(int64_t b, int64_t p, int64_t j) const {
    int64_t channel, tap, at[SPACE], of[SPACE], offset = 0;
    this->divide(p, this->taps, &channel, &tap);
    this->unfold(j, this->size, at);
    this->unfold(tap, this->kernel, of);
    for (int a = 0; a < SPACE; a++) {
      const int64_t place = this->place_of(at[a], of[a], a, this->result[a]);
      if (place < 0) return T(0);
      offset = offset * this->result[a] + place;
    }
    return this->y[(b * this->out + channel) * this->places + offset];
  }
  __device__ void store(int64_t b, int64_t i, int64_t j, T v) const {
    this->x[(b * this->in + i) * this->pixels + j] = v;
  }
};

template <typename T> struct ConvToWeight : Images<T> {
  __device__ T left(int64_t group, int64_t i, int64_t p) const {
    int64_t image, place;
    this->divide(p, this->places, &image, &place);
    return this
        ->y[((image * this->groups + group) * this->out + i) * this->places +
            place];
  }
  __device__ T right(int64_t group, int64_t p, int64_t j) const {
    int64_t image, place, channel, tap;
    this->divide(p, this->places, &image, &place);
    this->divide(j, this->taps, &channel, &tap);
    const int64_t plane = (image * this->groups + group) * this->in + channel;
    return this->pixel(this->x + plane * this->pixels, place, tap);
  }
  __device__ void store(int64_t group, int64_t i, int64_t j, T v) const {
    this->w[(group * this->m + i) * this->n + j] = v;
  }
};

#define POINTERS(Job)             \
  LAUNCH_POINTERS(Job, job, {     \
    pointers.push_back(job.x);    \
    pointers.push_back(job.w);    \
    pointers.push_back(job.y);    \
    pointers.push_back(job.bias); \
  })
POINTERS(ConvValue<float>)
POINTERS(ConvValue<double>)
POINTERS(ConvToX<float>)
POINTERS(ConvToX<double>)
POINTERS(ConvToWeight<float>)
POINTERS(ConvToWeight<double>)

static int64_t volume_of(const int64_t *size) {
  return size[DEEP] * size[DOWN] * size[ACROSS];
}

template <typename T> static void set_images(Images<T> *j, const Convolution *c) {
  j->images = c->batch, j->groups = c->groups;
  j->in = c->in / c->groups, j->out = c->out / c->groups;
  j->pixels = volume_of(c->size);
  j->places = volume_of(c->result);
  j->taps = volume_of(c->kernel);
  for (int a = 0; a < SPACE; a++) {
    j->size[a] = c->size[a], j->result[a] = c->result[a];
    j->kernel[a] = c->kernel[a], j->stride[a] = c->stride[a];
    j->pad[a] = c->pad[a], j->dilation[a] = c->dilation[a];
  }
  j->x = (T *)(void *)c->x, j->w = (T *)(void *)c->w;
  j->y = (T *)(void *)c->y;
  j->bias = (const T *)(const void *)c->bias;
}

template <typename T> static Images<T> images_of(const Convolution *c) {
  Images<T> j;
  set_images(&j, c);
  j.batch = c->what == CONV_TO_WEIGHT ? j.groups : j.images * j.groups;
  j.left_by_k = true;
  j.right_by_k = c->what == CONV_TO_WEIGHT;
  switch (c->what) {
  case CONV_VALUE:
    j.m = j.out, j.n = j.places, j.k = j.in * j.taps;
    break;
  case CONV_TO_X:
    j.m = j.in, j.n = j.pixels, j.k = j.out * j.taps;
    break;
  case CONV_TO_WEIGHT:
    j.m = j.out, j.n = j.in * j.taps, j.k = j.images * j.places;
    break;
  }
  return j;
}

template <typename T> static void run_conv(Backend *b, const Convolution *c) {
  const cudaStream_t stream = cuda_of(b)->stream;
  const Images<T> j = images_of<T>(c);
  switch (c->what) {
  case CONV_VALUE:
    gemm_run<T>(ConvValue<T>{j}, c->scratch, stream);
    break;
  case CONV_TO_X:
    gemm_run<T>(ConvToX<T>{j}, c->scratch, stream);
    break;
  case CONV_TO_WEIGHT:
    gemm_run<T>(ConvToWeight<T>{j}, c->scratch, stream);
    break;
  }
}

static size_t cuda_conv_room(Backend *, const Convolution *c) {
  return c->dtype == DTYPE_F32 ? gemm_room<float>(images_of<float>(c))
                               : gemm_room<double>(images_of<double>(c));
}

static bool cuda_conv(Backend *b, const Convolution *c) {
  if (!cuda_ready(b)) return false;
  if (c->dtype == DTYPE_F32)
    run_conv<float>(b, c);
  else
    run_conv<double>(b, c);
  return cuda_launched(b);
}

void cuda_fill_conv(Backend *b) {
  b->conv_room = cuda_conv_room;
  b->conv = cuda_conv;
}
