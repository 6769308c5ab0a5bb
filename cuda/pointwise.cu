/* pointwise.cu: every row of rows/pointwise.def as kernels, four compute
 * types; the same scalar functions as cpu/pointwise.c.
 *
 * A kernel reads its operands, converts them to the compute type, runs one
 * column of its row, converts and stores.  Columns of one row share a kernel:
 * the choice is the same for all threads.
 * Must not know: what a row means.
 */
#include "kernel.h"

#define REAL float
#define REAL_BITS 32
#define FN(name) name##_f32
#include "rows/real.h"
#undef REAL
#undef REAL_BITS
#undef FN
#define REAL double
#define REAL_BITS 64
#define FN(name) name##_f64
#include "rows/real.h"
#undef REAL
#undef REAL_BITS
#undef FN
#define WHOLE int32_t
#define UWHOLE uint32_t
#define FN(name) name##_i32
#include "rows/integer.h"
#undef WHOLE
#undef UWHOLE
#undef FN
#define WHOLE int64_t
#define UWHOLE uint64_t
#define FN(name) name##_i64
#include "rows/integer.h"
#undef WHOLE
#undef UWHOLE
#undef FN

/* The result and the operands x, y, z, r, g of a step. */
enum { OUT, IN_X, IN_Y, IN_Z, IN_R, IN_G, SIDES };

/* One step, ready for a kernel.  data NULL: the number. */
template <typename C> struct Point {
  Walk walk;
  int reading;
  char *data[SIDES];
  int dtype[SIDES];
  C number[SIDES];
  int64_t stride[SIDES][MAX_RANK];
};
#define POINTERS(C)                                     \
  LAUNCH_POINTERS(Point<C>, p, {                        \
    for (const char *d : p.data) pointers.push_back(d); \
  })
POINTERS(float)
POINTERS(double)
POINTERS(int32_t)
POINTERS(int64_t)

/* ---- kernels ---- */

template <typename C> struct Operands {
  int64_t out;
  C x, y, z, r, g;
};

template <typename C>
static __device__ C operand(const Point<C> &p, int side, int64_t at) {
  if (p.data[side] == nullptr) return p.number[side];
  return load_as<C>(p.data[side], p.dtype[side], at);
}

template <typename C>
static __device__ Operands<C> operands(const Point<C> &p, int64_t i) {
  int64_t at[SIDES];
  walk_at<SIDES>(p.walk, p.stride, i, at);
  return {at[OUT],
          operand(p, IN_X, at[IN_X]),
          operand(p, IN_Y, at[IN_Y]),
          operand(p, IN_Z, at[IN_Z]),
          operand(p, IN_R, at[IN_R]),
          operand(p, IN_G, at[IN_G])};
}

#define REAL_KERNEL(name, C, suffix)                           \
  static __global__ void point_##name##_##suffix(Point<C> p) { \
    EACH(i, p.walk.count) {                                    \
      const Operands<C> o = operands(p, i);                    \
      C v;                                                     \
      switch (p.reading) {                                     \
      case READ_VALUE:                                         \
        v = row_##name##_##suffix(o.x, o.y, o.z);              \
        break;                                                 \
      case READ_GX:                                            \
        v = gx_##name##_##suffix(o.x, o.y, o.z, o.r, o.g);     \
        break;                                                 \
      case READ_GY:                                            \
        v = gy_##name##_##suffix(o.x, o.y, o.z, o.r, o.g);     \
        break;                                                 \
      default:                                                 \
        v = gz_##name##_##suffix(o.x, o.y, o.z, o.r, o.g);     \
      }                                                        \
      store_from<C>(p.data[OUT], p.dtype[OUT], o.out, v);      \
    }                                                          \
  }
#define WHOLE_KERNEL(name, C, suffix)                          \
  static __global__ void point_##name##_##suffix(Point<C> p) { \
    EACH(i, p.walk.count) {                                    \
      const Operands<C> o = operands(p, i);                    \
      store_from<C>(p.data[OUT], p.dtype[OUT], o.out,          \
                    row_##name##_##suffix(o.x, o.y, o.z));     \
    }                                                          \
  }
#define POINT(name, kind, arity, types, ...)      \
  REAL_KERNEL(name, float, f32)                   \
  REAL_KERNEL(name, double, f64)                  \
  WHOLE_##types(WHOLE_KERNEL(name, int32_t, i32)) \
      WHOLE_##types(WHOLE_KERNEL(name, int64_t, i64))
#include "rows/pointwise.def"

template <typename C> using Kernel = void (*)(Point<C>);

static Kernel<float> kernel_of(OpId op, float) {
  static const Kernel<float> table[] = {
#define POINT(name, ...) point_##name##_f32,
#include "rows/pointwise.def"
  };
  return table[op];
}

static Kernel<double> kernel_of(OpId op, double) {
  static const Kernel<double> table[] = {
#define POINT(name, ...) point_##name##_f64,
#include "rows/pointwise.def"
  };
  return table[op];
}

/* NULL for the rows of floats alone. */
static Kernel<int32_t> kernel_of(OpId op, int32_t) {
  switch (op) {
#define POINT(name, kind, arity, types, ...) \
  WHOLE_##types(case OP_##name : return point_##name##_i32;)
#include "rows/pointwise.def"
  default:
    return nullptr;
  }
}

static Kernel<int64_t> kernel_of(OpId op, int64_t) {
  switch (op) {
#define POINT(name, kind, arity, types, ...) \
  WHOLE_##types(case OP_##name : return point_##name##_i64;)
#include "rows/pointwise.def"
  default:
    return nullptr;
  }
}

/* ---- the slot ---- */

template <typename C>
static void set_side(Point<C> *p, int side, const Program *program, int leaf) {
  if (leaf < 0) return; /* not read: the number 0 */
  const Leaf *l = &program->leaf[leaf];
  p->data[side] = l->data;
  p->dtype[side] = l->dtype;
  p->number[side] =
      dtype_is_float(program->compute) ? (C)l->number : (C)l->whole;
  for (int a = 0; a < program->axes; a++) p->stride[side][a] = l->stride[a];
}

template <typename C>
static void run_step(Backend *b, const Program *program, const Step *step) {
  const Kernel<C> kernel = kernel_of(step->op, C());
  if (never(kernel == nullptr)) return;
  Point<C> p = {};
  p.walk = walk_of(program->axes, program->size);
  p.reading = step->reading;
  set_side(&p, OUT, program, step->out);
  for (int k = 0; k < 5; k++) set_side(&p, IN_X + k, program, step->in[k]);
  const Grid g = grid_of(p.walk.count);
  LAUNCH(kernel, g.blocks, g.threads, 0, cuda_of(b)->stream, p);
}

static bool cuda_run(Backend *b, const Program *program) {
  if (!cuda_ready(b)) return false;
  for (int i = 0; i < program->steps; i++) switch (program->compute) {
    case DTYPE_F32:
      run_step<float>(b, program, &program->step[i]);
      break;
    case DTYPE_F64:
      run_step<double>(b, program, &program->step[i]);
      break;
    case DTYPE_I32:
      run_step<int32_t>(b, program, &program->step[i]);
      break;
    default:
      run_step<int64_t>(b, program, &program->step[i]);
    }
  return cuda_launched(b);
}

void cuda_fill_pointwise(Backend *b) { b->run = cuda_run; }
