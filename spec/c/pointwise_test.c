/* pointwise_test.c: every row at every level against its scalar function, and
 * every layout, dtype and number of threads against the plain run, bit for
 * bit. */
#include "check.h"
#include "cpu/kernels.h"
#include "cpu/tile.h"
#include "rows/rows.h"
#include "rows/types.h"

/* ---- the scalar functions ---- */

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

#define REALS(name, t)                                    \
  case OP_##name * 4:                                     \
    return row_##name##_##t(a[0], a[1], a[2]);            \
  case OP_##name * 4 + 1:                                 \
    return gx_##name##_##t(a[0], a[1], a[2], a[3], a[4]); \
  case OP_##name * 4 + 2:                                 \
    return gy_##name##_##t(a[0], a[1], a[2], a[3], a[4]); \
  case OP_##name * 4 + 3:                                 \
    return gz_##name##_##t(a[0], a[1], a[2], a[3], a[4]);
#define WHOLES(name, t) \
  case OP_##name * 4:   \
    return row_##name##_##t(a[0], a[1], a[2]);

static float scalar_f32(OpId op, int reading, const float *a) {
  switch ((int)op * 4 + reading) {
#define POINT(name, ...) REALS(name, f32)
#include "rows/pointwise.def"
  default:
    return 0;
  }
}

static double scalar_f64(OpId op, int reading, const double *a) {
  switch ((int)op * 4 + reading) {
#define POINT(name, ...) REALS(name, f64)
#include "rows/pointwise.def"
  default:
    return 0;
  }
}

static int32_t scalar_i32(OpId op, const int32_t *a) {
  switch ((int)op * 4) {
#define POINT(name, kind, arity, types, ...) WHOLE_##types(WHOLES(name, i32))
#include "rows/pointwise.def"
  default:
    return 0;
  }
}

static int64_t scalar_i64(OpId op, const int64_t *a) {
  switch ((int)op * 4) {
#define POINT(name, kind, arity, types, ...) WHOLE_##types(WHOLES(name, i64))
#include "rows/pointwise.def"
  default:
    return 0;
  }
}

/* ---- a backend without anything else ---- */

static uint64_t seed = 1;

static double uniform(double low, double high) {
  return low + (high - low) * check_random(&seed);
}

static int64_t below(int64_t n) {
  return (int64_t)(check_random(&seed) * (double)n);
}

static void *reserve(size_t bytes) {
  void *p = malloc(bytes > 0 ? bytes : 1);
  if (p == NULL) abort();
  return p;
}

static const Dtype computes[] = {DTYPE_F32, DTYPE_F64, DTYPE_I32, DTYPE_I64};

static bool is_real(Dtype d) { return dtype_class(d) == CLASS_FLOAT; }

/* Letters that a column reads. */
static int letters(OpId op, Reading reading) {
  if (reading == READ_VALUE) return (1 << op_rows[op].operands) - 1;
  return op_rows[op].uses[reading - READ_GX] & 31;
}

static bool has_kernel(OpId op, Reading reading, Dtype compute) {
  if (!dtype_in(compute, op_rows[op].dtypes)) return false;
  if (reading == READ_VALUE) return true;
  return is_real(compute) &&
         (op_rows[op].uses[reading - READ_GX] & USES_WORD) != 0;
}

static Program program_of(OpId op, Reading reading, Dtype compute) {
  Program p = {.axes = 1, .compute = compute, .leaves = 6, .steps = 1};
  const int read = letters(op, reading);
  p.step[0] = (Step){op, reading, 5, {-1, -1, -1, -1, -1}};
  for (int k = 0; k < 5; k++)
    if (read >> k & 1) p.step[0].in[k] = (int8_t)k;
  return p;
}

/* ---- rows ---- */

static void put(Dtype d, void *data, int64_t i, double x) {
  if (d == DTYPE_F32)
    ((float *)data)[i] = (float)x;
  else if (d == DTYPE_F64)
    ((double *)data)[i] = x;
  else if (d == DTYPE_I32)
    ((int32_t *)data)[i] = (int32_t)x;
  else
    ((int64_t *)data)[i] = (int64_t)x;
}

/* One by one, by the functions above. */
static void scalar_run(OpId op, Reading reading, Dtype d, int64_t n,
                       char *const data[5], char *out) {
  for (int64_t i = 0; i < n; i++) {
    float s[5];
    double r[5];
    int32_t w[5];
    int64_t l[5];
    for (int k = 0; k < 5; k++) {
      s[k] = ((const float *)data[k])[i];
      w[k] = ((const int32_t *)data[k])[i];
      r[k] = d == DTYPE_F64 ? ((const double *)data[k])[i] : 0;
      l[k] = d == DTYPE_I64 ? ((const int64_t *)data[k])[i] : 0;
    }
    if (d == DTYPE_F32)
      ((float *)out)[i] = scalar_f32(op, (int)reading, s);
    else if (d == DTYPE_F64)
      ((double *)out)[i] = scalar_f64(op, (int)reading, r);
    else if (d == DTYPE_I32)
      ((int32_t *)out)[i] = scalar_i32(op, w);
    else
      ((int64_t *)out)[i] = scalar_i64(op, l);
  }
}

static double get(Dtype d, const void *data, int64_t i) {
  if (d == DTYPE_F32) return (double)((const float *)data)[i];
  return ((const double *)data)[i];
}

/* Equal bits, or two NaNs; `within` > 0: or so near, relatively. */
static bool agree(Dtype d, const char *got, const char *want, int64_t i,
                  double within) {
  const size_t bytes = dtype_bytes(d);
  if (memcmp(got + (size_t)i * bytes, want + (size_t)i * bytes, bytes) == 0)
    return true;
  if (!is_real(d)) return false;
  const double a = get(d, got, i), b = get(d, want, i);
  if (isnan(a) && isnan(b)) return true;
  return within > 0 && fabs(a - b) <= within * (fabs(b) + 1e-30);
}

enum { COUNT = 211 };
static const double edges[] = {0,   -0.0,  1,    -1,  INFINITY, -INFINITY,
                               NAN, 1e-40, 0.5,  1.5, 2.5,      -2.5,
                               100, -100,  1e30, 3};
enum { EDGES = sizeof edges / sizeof *edges };

static void fill_row(OpId op, Dtype d, char *data[5]) {
  for (int k = 0; k < 5; k++)
    for (int64_t i = 0; i < COUNT; i++) {
      double x = uniform(op_rows[op].low, op_rows[op].high);
      if (!is_real(d)) x = floor(uniform(-9, 9));
      if (is_real(d) && i < EDGES * EDGES / 2)
        x = edges[k == 0 ? i % EDGES : (i / EDGES + k * 3) % EDGES];
      put(d, data[k], i, x);
    }
}

/* Levels with fused multiply-add round elsewhere than the scalars here. */
static double tolerance(int level, Dtype d) {
  if (level == LEVEL_BASE) return 0;
  return d == DTYPE_F32 ? 1e-5 : 1e-13;
}

static void check_row(OpId op, Reading reading, Dtype d, int level) {
  char *data[5], *got = reserve(COUNT * 8), *want = reserve(COUNT * 8);
  Program p = program_of(op, reading, d);
  Backend b = {.kind = "cpu"};
  p.size[0] = COUNT;
  for (int k = 0; k < 5; k++) data[k] = reserve(COUNT * 8);
  fill_row(op, d, data);
  for (int k = 0; k < 6; k++)
    p.leaf[k] =
        (Leaf){.data = k < 5 ? data[k] : got, .dtype = d, .stride = {1}};
  scalar_run(op, reading, d, COUNT, data, want);
  CHECK(pointwise_run(&b, &p, level));
  int64_t bad = -1;
  for (int64_t i = COUNT - 1; i >= 0; i--) {
    /* near edges one rounding may decide between finite and infinite */
    const bool edge = level != LEVEL_BASE && i < EDGES * EDGES / 2;
    if (!edge && !agree(d, got, want, i, tolerance(level, d))) bad = i;
  }
  CHECK(bad < 0, "%s column %d %s level %d: element %d", op_rows[op].name,
        (int)reading, dtype_name(d), level, (int)bad);
  for (int k = 0; k < 5; k++) free(data[k]);
  free(got), free(want);
}

static void each_row(void check(OpId, Reading, Dtype, int)) {
  for (int level = 0; level <= level_best(); level++)
    for (int op = 0; op < POINT_COUNT; op++)
      for (int r = READ_VALUE; r <= READ_GZ; r++)
        for (int i = 0; i < 4; i++)
          if (has_kernel((OpId)op, (Reading)r, computes[i]))
            check((OpId)op, (Reading)r, computes[i], level);
}

static void test_rows(void) { each_row(check_row); }

/* ---- layouts ---- */

/* An array of exactly the bytes that it reaches. */
typedef struct Array {
  Leaf leaf;
  char *memory;
  size_t bytes;
} Array;

typedef enum Kind {
  CONTIGUOUS,
  GAPS,      /* every axis has room for more */
  TURNED,    /* another order of the axes */
  BROADCAST, /* some strides 0 */
  NUMBER,
  KINDS
} Kind;

static void set_strides(Leaf *l, int axes, const int64_t *size, Kind kind) {
  int order[MAX_RANK];
  for (int d = 0; d < axes; d++) order[d] = d;
  for (int d = axes - 1; d > 0 && kind == TURNED; d--) {
    const int other = (int)below(d + 1), was = order[d];
    order[d] = order[other], order[other] = was;
  }
  int64_t step = kind == GAPS ? 1 + below(3) : 1;
  for (int i = axes - 1; i >= 0; i--) {
    l->stride[order[i]] = step;
    step *= size[order[i]] + (kind == GAPS ? below(3) : 0);
  }
  for (int d = 0; d < axes && kind == BROADCAST; d++)
    if (below(2) == 0) l->stride[d] = 0;
}

static Array array_new(int axes, const int64_t *size, Dtype d, Kind kind) {
  Array a = {.leaf = {.dtype = d, .number = uniform(-2, 2)}};
  a.leaf.whole = below(7) - 3;
  if (kind == NUMBER) return a;
  set_strides(&a.leaf, axes, size, kind);
  int64_t last = 0;
  for (int i = 0; i < axes; i++) last += (size[i] - 1) * a.leaf.stride[i];
  a.bytes = (size_t)(last + 1) * dtype_bytes(d);
  a.leaf.data = a.memory = reserve(a.bytes);
  for (int64_t i = 0; i <= last; i++) {
    const double x = is_real(d) ? uniform(-4, 4) : (double)below(5) - 2;
    const int64_t w = d == DTYPE_BOOL ? below(2) : (int64_t)x;
    convert(copy_level(LEVEL_BASE), 1, is_real(d) ? DTYPE_F64 : DTYPE_I64,
            is_real(d) ? (const void *)&x : &w, d,
            a.memory + (size_t)i * dtype_bytes(d));
  }
  return a;
}

static int64_t place(const Leaf *l, int axes, const int64_t *size, int64_t i) {
  int64_t at = 0;
  for (int d = axes - 1; d >= 0; d--)
    at += i % size[d] * l->stride[d], i /= size[d];
  return at;
}

/* The logical elements side by side, in the type of the program. */
static char *logical(const Program *p, const Leaf *l, int64_t n) {
  const size_t to = dtype_bytes(p->compute), from = dtype_bytes(l->dtype);
  char *const out = reserve((size_t)n * to);
  for (int64_t i = 0; i < n; i++) {
    char *const at = out + (size_t)i * to;
    if (l->data != NULL)
      convert(copy_level(LEVEL_BASE), 1, l->dtype,
              l->data + (size_t)place(l, p->axes, p->size, i) * from,
              p->compute, at);
    else if (is_real(p->compute))
      put(p->compute, at, 0, l->number);
    else
      put(p->compute, at, 0, (double)l->whole);
  }
  return out;
}

/* What the memory of the output must become: the plain run over the logical
 * elements, each put in its place. */
static char *expected(const Program *p, const Array *out, int64_t n,
                      int level) {
  Program plain = program_of(p->step[0].op, p->step[0].reading, p->compute);
  Backend b = {.kind = "cpu"};
  char *data[6] = {NULL};
  const size_t bytes = dtype_bytes(p->compute);
  plain.size[0] = n;
  for (int k = 0; k < 6; k++) {
    if (k < 5 && p->step[0].in[k] < 0) continue;
    data[k] = k < 5 ? logical(p, &p->leaf[k], n) : reserve((size_t)n * bytes);
    plain.leaf[k] = (Leaf){.data = data[k], .dtype = p->compute, .stride = {1}};
  }
  CHECK(pointwise_run(&b, &plain, level));
  char *const image = reserve(out->bytes);
  memcpy(image, out->memory, out->bytes);
  for (int64_t i = 0; i < n; i++)
    convert(copy_level(LEVEL_BASE), 1, p->compute, data[5] + (size_t)i * bytes,
            out->leaf.dtype,
            image + (size_t)place(&out->leaf, p->axes, p->size, i) *
                        dtype_bytes(out->leaf.dtype));
  for (int k = 0; k < 6; k++) free(data[k]);
  return image;
}

/* Equal bytes, but NaNs of the type may differ in theirs. */
static bool same_memory(Dtype d, const char *a, const char *b, size_t bytes) {
  if (memcmp(a, b, bytes) == 0) return true;
  const size_t each = dtype_bytes(d);
  for (size_t i = 0; i < bytes; i += each) {
    double x = 0, y = 1;
    if (memcmp(a + i, b + i, each) == 0) continue;
    if (!is_real(d)) return false;
    convert(copy_level(LEVEL_BASE), 1, d, a + i, DTYPE_F64, &x);
    convert(copy_level(LEVEL_BASE), 1, d, b + i, DTYPE_F64, &y);
    if (!isnan(x) || !isnan(y)) return false;
  }
  return true;
}

static Dtype leaf_dtype(Dtype compute) {
  if (below(3) > 0) return compute;
  return (Dtype)below(DTYPE_COUNT);
}

/* Integers and floats beyond the type that is computed in do not occur. */
static Dtype out_dtype(Dtype compute) {
  if (below(3) > 0) return compute;
  if (is_real(compute))
    return below(2) ? DTYPE_BOOL : (Dtype)(DTYPE_F16 + below(4));
  return (Dtype)below(DTYPE_I64 + 1);
}

static int64_t draw_shape(Program *p) {
  static const int64_t sizes[] = {1, 2, 3, 5, 8, 17, 33, 64, 300, 1500};
  for (;;) {
    int64_t n = 1;
    p->axes = 1 + (int)below(5);
    for (int d = 0; d < p->axes; d++) n *= p->size[d] = sizes[below(10)];
    if (n <= 6000) return n;
  }
}

static void check_layout(OpId op, Reading reading, Dtype compute, int level) {
  Program p = program_of(op, reading, compute);
  Array array[6] = {{.memory = NULL}};
  Backend b = {.kind = "cpu"};
  const int64_t n = draw_shape(&p);
  for (int k = 0; k < 5; k++) {
    if (p.step[0].in[k] < 0) continue;
    array[k] =
        array_new(p.axes, p.size, leaf_dtype(compute), (Kind)below(KINDS));
    p.leaf[k] = array[k].leaf;
  }
  array[5] = array_new(p.axes, p.size, out_dtype(compute), (Kind)below(3));
  p.leaf[5] = array[5].leaf;
  const int twin = (int)below(5); /* in place of this operand */
  if (p.step[0].in[twin] >= 0 && below(3) == 0) {
    p.leaf[twin] = array[5].leaf;
    free(array[twin].memory), array[twin].memory = NULL;
  }
  char *const want = expected(&p, &array[5], n, level);
  CHECK(pointwise_run(&b, &p, level));
  CHECK(same_memory(array[5].leaf.dtype, array[5].memory, want, array[5].bytes),
        "%s column %d %s level %d into %s: axes %d, last %d", op_rows[op].name,
        (int)reading, dtype_name(compute), level,
        dtype_name(array[5].leaf.dtype), p.axes, (int)p.size[p.axes - 1]);
  for (int k = 0; k < 6; k++) free(array[k].memory);
  free(want);
}

static void test_layouts(void) {
  each_row(check_layout);
  const int more = check_fast() ? 300 : 3000;
  for (int i = 0; i < more; i++) {
    static const OpId ops[] = {OP_add, OP_lt, OP_where, OP_lerp, OP_relu};
    const OpId op = ops[below(5)];
    const Dtype compute = computes[below(4)];
    if (has_kernel(op, READ_VALUE, compute))
      check_layout(op, READ_VALUE, compute, (int)below(level_best() + 1));
  }
}

/* ---- threads ---- */

/* Enough for several chunks in each way of cutting. */
static void draw_large(Program *p, int way) {
  static const int64_t sizes[5][3] = {
      {300001}, {70001, 3}, {500, 601}, {3, 300, 301}, {41, 5, 1501}};
  static const int axes[5] = {1, 2, 2, 3, 3};
  p->axes = axes[way];
  for (int d = 0; d < p->axes; d++) p->size[d] = sizes[way][d];
}

static void check_threads(Ledger *ledger, OpId op, int way) {
  volatile bool stop = false;
  Program p = program_of(op, READ_VALUE, DTYPE_F32);
  Array array[6] = {{.memory = NULL}};
  draw_large(&p, way);
  for (int k = 0; k < 6; k++) {
    if (k < 5 && p.step[0].in[k] < 0) continue;
    array[k] = array_new(p.axes, p.size, k == 1 ? DTYPE_F16 : DTYPE_F32,
                         k == 5 ? CONTIGUOUS : (Kind)below(KINDS));
    p.leaf[k] = array[k].leaf;
  }
  char *const first = reserve(array[5].bytes);
  for (int threads = 0; threads <= 3; threads++) {
    Backend b = {.kind = "cpu", .stop = &stop};
    if (threads > 0) b.pool = pool_open(ledger, threads, &stop);
    memset(array[5].memory, 1, array[5].bytes);
    CHECK(cpu_run(&b, &p));
    if (threads == 0) memcpy(first, array[5].memory, array[5].bytes);
    CHECK(memcmp(first, array[5].memory, array[5].bytes) == 0,
          "%s with %d threads, way %d", op_rows[op].name, threads, way);
    stop = true;
    CHECK(!cpu_run(&b, &p));
    stop = false;
    pool_close(b.pool);
  }
  for (int k = 0; k < 6; k++) free(array[k].memory);
  free(first);
}

static void test_threads(void) {
  Ledger ledger;
  ledger_open(&ledger);
  for (int way = 0; way < 5; way++) {
    check_threads(&ledger, OP_add, way);
    check_threads(&ledger, OP_lerp, way);
    check_threads(&ledger, OP_tanh, way);
  }
}

int main(void) {
  RUN(test_rows);
  RUN(test_layouts);
  RUN(test_threads);
  return check_report();
}
