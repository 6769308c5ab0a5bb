/* copy.cu: moves between dtypes and layouts, fills, ramps. */
#include "kernel.h"

struct Copy {
  Walk walk;
  char *dst;
  const char *src;
  int dst_dtype, src_dtype;
  int64_t stride[2][MAX_RANK]; /* dst, src */
};
LAUNCH_POINTERS(Copy, c, {
  pointers.push_back(c.dst);
  pointers.push_back(c.src);
})

/* Bits of a width, untouched. */
template <typename T> static __global__ void copy_bits(Copy c) {
  EACH(i, c.walk.count) {
    int64_t at[2];
    walk_at<2>(c.walk, c.stride, i, at);
    ((T *)c.dst)[at[0]] = ((const T *)c.src)[at[1]];
  }
}

/* Through M: float, double or int64_t, which holds every value of src. */
template <typename M> static __global__ void copy_as(Copy c) {
  EACH(i, c.walk.count) {
    int64_t at[2];
    walk_at<2>(c.walk, c.stride, i, at);
    store_from<M>(c.dst, c.dst_dtype, at[0],
                  load_as<M>(c.src, c.src_dtype, at[1]));
  }
}

template <typename M> static __global__ void fill_with(Copy c, M value) {
  EACH(i, c.walk.count) {
    int64_t at[1];
    walk_at<1>(c.walk, c.stride, i, at);
    store_from<M>(c.dst, c.dst_dtype, at[0], value);
  }
}

static void run_bits(const Copy &c, Grid g, cudaStream_t stream) {
  switch (dtype_width((Dtype)c.src_dtype)) {
  case 1:
    LAUNCH(copy_bits<uint8_t>, g.blocks, g.threads, 0, stream, c);
    break;
  case 2:
    LAUNCH(copy_bits<uint16_t>, g.blocks, g.threads, 0, stream, c);
    break;
  case 4:
    LAUNCH(copy_bits<uint32_t>, g.blocks, g.threads, 0, stream, c);
    break;
  default:
    LAUNCH(copy_bits<uint64_t>, g.blocks, g.threads, 0, stream, c);
  }
}

static void run_conversion(const Copy &c, Grid g, cudaStream_t stream) {
  const Dtype src = (Dtype)c.src_dtype;
  if (!dtype_is_float(src))
    LAUNCH(copy_as<int64_t>, g.blocks, g.threads, 0, stream, c);
  else if (src == DTYPE_F64)
    LAUNCH(copy_as<double>, g.blocks, g.threads, 0, stream, c);
  else
    LAUNCH(copy_as<float>, g.blocks, g.threads, 0, stream, c);
}

static Copy copy_of(const Move *m) {
  Copy c = {};
  c.walk = walk_of(m->axes, m->size);
  c.dst = m->dst.data;
  c.src = m->src.data;
  c.dst_dtype = m->dst.dtype;
  c.src_dtype = m->src.dtype;
  for (int a = 0; a < m->axes; a++) {
    c.stride[0][a] = m->dst.stride[a];
    c.stride[1][a] = m->src.stride[a];
  }
  return c;
}

static bool cuda_move(Backend *b, const Move *m) {
  if (!cuda_ready(b)) return false;
  const Copy c = copy_of(m);
  const Grid g = grid_of(c.walk.count);
  const cudaStream_t stream = cuda_of(b)->stream;
  if (c.src != nullptr && c.src_dtype == c.dst_dtype)
    run_bits(c, g, stream);
  else if (c.src != nullptr)
    run_conversion(c, g, stream);
  else if (dtype_is_float(m->src.dtype))
    LAUNCH(fill_with<double>, g.blocks, g.threads, 0, stream, c, m->src.number);
  else
    LAUNCH(fill_with<int64_t>, g.blocks, g.threads, 0, stream, c, m->src.whole);
  return cuda_launched(b);
}

static __global__ void ramp_floats(Ramp r) {
  EACH(i, r.count) {
    const bool is_end = r.ends && i == r.count - 1;
    store_from<double>(r.dst, r.dtype, i,
                       is_end ? r.last : r.first + (double)i * r.step);
  }
}

static __global__ void ramp_wholes(Ramp r) {
  EACH(i, r.count) {
    const uint64_t v =
        (uint64_t)r.whole_first + (uint64_t)i * (uint64_t)r.whole_step;
    store_from<int64_t>(r.dst, r.dtype, i, (int64_t)v);
  }
}

LAUNCH_POINTERS(Ramp, r, { pointers.push_back(r.dst); })

static void cuda_ramp(Backend *b, const Ramp *r) {
  if (!cuda_ready(b)) return;
  const Grid g = grid_of(r->count);
  const cudaStream_t stream = cuda_of(b)->stream;
  if (dtype_is_float(r->dtype))
    LAUNCH(ramp_floats, g.blocks, g.threads, 0, stream, *r);
  else
    LAUNCH(ramp_wholes, g.blocks, g.threads, 0, stream, *r);
  cuda_launched(b);
}

void cuda_fill_copy(Backend *b) {
  b->move = cuda_move;
  b->ramp = cuda_ramp;
}
