/* copy.c: copies, fills, conversions, ramps, and the search for bad divisors.
 *
 * Always: axes may be walked in any order, since no element is moved twice;
 * so they are sorted until the target is walked in order of memory.
 * Must not know: who copies, and why.
 */
#include "cpu/tile.h"

#include <string.h>

enum {
  SMALL = 1024,     /* elements of a buffer: 8 KiB at most */
  BLOCK_COLS = 64,  /* of a crossed tile that is converted: 16 rows are lines */
  CROSS_SIDE = 256, /* of a crossed piece of work: 256 KiB of f32 at 64 K */
  CROSS_LEAST = 4   /* shorter axes have no lines to save */
};

/* ---- the plan of a move ---- */

typedef struct Plan {
  const CopyLevel *copy;
  int axes;
  int64_t size[MAX_RANK];
  Strided dst, src;
  int64_t dst_stride[MAX_RANK], src_stride[MAX_RANK];
  Dtype from, to;
  bool converts;
  Cut cut;
  int64_t chunk;   /* tiles */
  uint64_t number; /* what a fill reads */
} Plan;

static void swap_axes(Plan *p, int a, int b) {
  const int64_t size = p->size[a], to = p->dst_stride[a],
                from = p->src_stride[a];
  p->size[a] = p->size[b], p->size[b] = size;
  p->dst_stride[a] = p->dst_stride[b], p->dst_stride[b] = to;
  p->src_stride[a] = p->src_stride[b], p->src_stride[b] = from;
}

/* Does axis a come before axis b in memory?  By the target, then the source. */
static bool is_outer(const Plan *p, int a, int b) {
  if (p->dst_stride[a] != p->dst_stride[b])
    return p->dst_stride[a] > p->dst_stride[b];
  return p->src_stride[a] > p->src_stride[b];
}

static void sort_axes(Plan *p) {
  for (int i = 1; i < p->axes; i++)
    for (int d = i; d > 0 && is_outer(p, d, d - 1); d--) swap_axes(p, d, d - 1);
}

/* Axis d and the one after it as one, if they step alike. */
static bool fuses(const Plan *p, int d) {
  const int64_t size = p->size[d + 1];
  return p->dst_stride[d] == size * p->dst_stride[d + 1] &&
         p->src_stride[d] == size * p->src_stride[d + 1];
}

static void fuse_axes(Plan *p) {
  int last = 0;
  for (int d = 1; d < p->axes; d++) {
    swap_axes(p, last + 1, d);
    if (fuses(p, last)) {
      p->size[last] *= p->size[last + 1];
      p->dst_stride[last] = p->dst_stride[last + 1];
      p->src_stride[last] = p->src_stride[last + 1];
    } else {
      last++;
    }
  }
  p->axes = last + 1;
}

static void take_axes(Plan *p, const Move *m) {
  p->axes = 0;
  for (int d = 0; d < m->axes; d++) {
    if (m->size[d] == 1) continue;
    p->size[p->axes] = m->size[d];
    p->dst_stride[p->axes] = m->dst.stride[d];
    p->src_stride[p->axes++] = m->src.data == NULL ? 0 : m->src.stride[d];
  }
  if (p->axes == 0)
    p->axes = 1, p->size[0] = 1, p->dst_stride[0] = p->src_stride[0] = 1;
  sort_axes(p);
  fuse_axes(p);
}

/* Walk an axis from its end. */
static void reverse_axis(Plan *p, int d) {
  const int64_t last = p->size[d] - 1;
  p->dst.data += last * p->dst_stride[d] * (int64_t)p->dst.bytes;
  p->src.data += last * p->src_stride[d] * (int64_t)p->src.bytes;
  p->dst_stride[d] = -p->dst_stride[d];
  p->src_stride[d] = -p->src_stride[d];
}

INLINE int64_t size_of_step(int64_t stride) {
  return stride < 0 ? -stride : stride;
}

/* Does the source run along another axis than the target, in either direction?
 * Then that axis becomes the rows. */
static bool cross(Plan *p) {
  const int last = p->axes - 1;
  if (size_of_step(p->src_stride[last]) <= 1) return false;
  for (int d = last - 1; d >= 0; d--) {
    if (size_of_step(p->src_stride[d]) != 1 || p->size[d] < CROSS_LEAST)
      continue;
    if (p->src_stride[d] < 0) reverse_axis(p, d);
    if (d != last - 1) swap_axes(p, d, last - 1);
    return true;
  }
  return false;
}

static void cut_plan(Plan *p) {
  const int last = p->axes - 1;
  const bool crossed = cross(p);
  const bool flat = p->dst_stride[last] == 1 && p->src_stride[last] == 1;
  const int64_t most = p->converts && !flat ? SMALL : CHUNK;
  int64_t cols = min_i64(p->size[last], most);
  if (crossed) cols = min_i64(cols, p->converts ? BLOCK_COLS : CROSS_SIDE);
  int64_t rows = p->converts && flat ? 1 : most / cols;
  if (last > 0) rows = min_i64(rows, p->size[last - 1]);
  p->cut = cut_space(p->axes, p->size, rows, cols, false);
  p->cut.down = crossed && p->converts;
  p->chunk = p->cut.tiles > 1 ? max_i64(CHUNK / (rows * cols), 1) : 1;
}

static void plan_open(Plan *p, const Move *m, int level) {
  p->copy = copy_level(level);
  p->from = m->src.dtype, p->to = m->dst.dtype;
  take_axes(p, m);
  p->dst = (Strided){m->dst.data, p->dst_stride, dtype_bytes(p->to)};
  p->src = (Strided){m->src.data, p->src_stride, dtype_bytes(p->from)};
  if (m->src.data == NULL) {
    const bool real = dtype_class(p->from) == CLASS_FLOAT;
    convert(p->copy, 1, real ? DTYPE_F64 : DTYPE_I64,
            real ? (const void *)&m->src.number : &m->src.whole, p->to,
            &p->number);
    p->from = p->to;
    p->src.data = (char *)&p->number, p->src.bytes = p->dst.bytes;
  }
  p->converts = p->copy->convert[p->from][p->to] != NULL;
  cut_plan(p);
}

/* ---- one chunk ---- */

static Matrix matrix_at(const Plan *p, const Tile *t, Strided s) {
  const int last = p->axes - 1;
  return (Matrix){s.data + tile_offset(&p->cut, t, s.stride) * (int64_t)s.bytes,
                  last > 0 ? s.stride[last - 1] : 0, s.stride[last]};
}

static bool is_packed(const Tile *t, Matrix m) {
  return (m.col == 1 || t->cols == 1) && (m.row == t->cols || t->rows == 1);
}

static void convert_tile(const Plan *p, const Tile *t, Matrix to, Matrix from) {
  _Alignas(64) char before[SMALL * 8], after[SMALL * 8];
  const int64_t n = t->rows * t->cols;
  const bool in = is_packed(t, from), out = is_packed(t, to);
  const Matrix a = {before, t->cols, 1}, b = {after, t->cols, 1};
  if (!in) matrix_copy(p->copy, p->src.bytes, t->rows, t->cols, a, from);
  convert(p->copy, n, p->from, in ? from.data : before, p->to,
          out ? to.data : after);
  if (!out) matrix_copy(p->copy, p->dst.bytes, t->rows, t->cols, to, b);
}

static void move_chunk(void *arg, int64_t chunk, int worker) {
  (void)worker;
  const Plan *p = arg;
  Tile t;
  const int64_t first = chunk * p->chunk;
  const int64_t end = min_i64(first + p->chunk, p->cut.tiles);
  for (int64_t i = first; i < end; i++) {
    tile_at(&p->cut, i, &t);
    const Matrix to = matrix_at(p, &t, p->dst), from = matrix_at(p, &t, p->src);
    if (p->cut.down) tile_prefetch(&p->cut, &t, p->dst);
    if (p->converts)
      convert_tile(p, &t, to, from);
    else
      matrix_copy(p->copy, p->dst.bytes, t.rows, t.cols, to, from);
  }
}

/* One run of equal dtypes: most copies of small tensors. */
static bool move_run(const Move *m) {
  if (m->axes != 1 || m->src.data == NULL || m->src.dtype != m->dst.dtype ||
      m->dst.stride[0] != 1 || m->src.stride[0] != 1 || m->size[0] > CHUNK)
    return false;
  memmove(m->dst.data, m->src.data,
          (size_t)m->size[0] * dtype_bytes(m->dst.dtype));
  return true;
}

bool copy_run(Backend *b, const Move *m, int level) {
  if (move_run(m)) return true;
  if (m->dst.data == m->src.data && m->dst.dtype == m->src.dtype) return true;
  Plan p;
  plan_open(&p, m, level);
  if (p.cut.tiles <= p.chunk) {
    move_chunk(&p, 0, 0);
    return true;
  }
  return run_chunks(b, ceil_div(p.cut.tiles, p.chunk), move_chunk, &p);
}

bool cpu_move(Backend *b, const Move *m) {
  return copy_run(b, m, level_best());
}

/* ---- ramps ---- */

typedef struct RampJob {
  const Ramp *ramp;
  const CopyLevel *copy;
  size_t bytes;
} RampJob;

/* n elements from place `at` on. */
static void ramp_reals(const RampJob *j, int64_t at, int n) {
  const Ramp *r = j->ramp;
  double x[SMALL];
  const double start = (double)at;
  for (int i = 0; i < n; i++) x[i] = r->first + (start + i) * r->step;
  convert(j->copy, n, DTYPE_F64, x, r->dtype, r->dst + at * (int64_t)j->bytes);
}

static void ramp_wholes(const RampJob *j, int64_t at, int n) {
  const Ramp *r = j->ramp;
  uint64_t x[SMALL];
  const uint64_t step = (uint64_t)r->whole_step;
  const uint64_t start = (uint64_t)r->whole_first + (uint64_t)at * step;
  for (int i = 0; i < n; i++) x[i] = start + (uint64_t)i * step;
  convert(j->copy, n, DTYPE_I64, x, r->dtype, r->dst + at * (int64_t)j->bytes);
}

static void ramp_chunk(void *arg, int64_t chunk, int worker) {
  (void)worker;
  const RampJob *j = arg;
  const bool real = dtype_class(j->ramp->dtype) == CLASS_FLOAT;
  const int64_t end = min_i64((chunk + 1) * CHUNK, j->ramp->count);
  for (int64_t at = chunk * CHUNK; at < end; at += SMALL) {
    const int n = (int)min_i64(SMALL, end - at);
    if (real)
      ramp_reals(j, at, n);
    else
      ramp_wholes(j, at, n);
  }
}

void cpu_ramp(Backend *b, const Ramp *r) {
  RampJob j = {r, copy_level(level_best()), dtype_bytes(r->dtype)};
  run_chunks(b, ceil_div(r->count, CHUNK), ramp_chunk, &j);
  if (!r->ends) return;
  char *const last = r->dst + (r->count - 1) * (int64_t)j.bytes;
  if (dtype_class(r->dtype) == CLASS_FLOAT)
    convert(j.copy, 1, DTYPE_F64, &r->last, r->dtype, last);
}

/* ---- bad numbers ---- */

/* v is outside least .. least + span, counted in unsigned numbers. */
#define OUTSIDE(U, v) ((U)((U)(v) - (U)least) > (U)span)

/* First i < n with x[i stride] outside; n for none.  Blocks side by side are
 * asked as a whole first: those loops have no exit and become vector code. */
#define SCAN(T, U)                                                           \
  static bool may_have_##T(const T *x, int64_t n, int64_t least,             \
                           uint64_t span) {                                  \
    T bad = 0;                                                               \
    for (int64_t i = 0; i < n; i++) bad = (T)(bad | OUTSIDE(U, x[i]));       \
    return bad != 0;                                                         \
  }                                                                          \
  static int64_t scan_##T(const char *data, int64_t n, int64_t stride,       \
                          int64_t least, uint64_t span) {                    \
    const T *const x = (const T *)data;                                      \
    for (int64_t at = 0; at < n; at += SMALL) {                              \
      const int64_t end = min_i64(at + SMALL, n);                            \
      if (stride == 1 && !may_have_##T(x + at, end - at, least, span))       \
        continue;                                                            \
      for (int64_t i = at; i < end; i++)                                     \
        if (OUTSIDE(U, x[i * stride])) return i;                             \
    }                                                                        \
    return n;                                                                \
  }
SCAN(int8_t, uint8_t)
SCAN(int16_t, uint16_t)
SCAN(int32_t, uint32_t)
SCAN(int64_t, uint64_t)

static int64_t scan(Dtype d, const char *data, int64_t n, int64_t stride,
                    int64_t least, uint64_t span) {
  switch (dtype_bytes(d)) {
  case 1:
    return scan_int8_t(data, n, stride, least, span);
  case 2:
    return scan_int16_t(data, n, stride, least, span);
  case 4:
    return scan_int32_t(data, n, stride, least, span);
  default:
    return scan_int64_t(data, n, stride, least, span);
  }
}

int64_t cpu_find_bad(Backend *b, const Move *m, int64_t least, int64_t most) {
  (void)b;
  const Leaf *l = &m->src;
  const int last = m->axes - 1;
  const int64_t top = dtype_greatest(l->dtype); /* more would wrap in it */
  const uint64_t span = (uint64_t)min_i64(most, top) - (uint64_t)least;
  if (l->data == NULL) return OUTSIDE(uint64_t, l->whole) ? 0 : -1;
  const int64_t cols = m->size[last], bytes = (int64_t)dtype_bytes(l->dtype);
  const int64_t look = l->stride[last] == 0 ? 1 : cols; /* all are alike */
  const Cut rows = cut_space(m->axes, m->size, 1, cols, false);
  Tile t;
  for (int64_t i = 0; i < rows.tiles; i++) {
    tile_at(&rows, i, &t);
    const char *const row = l->data + tile_offset(&rows, &t, l->stride) * bytes;
    const int64_t at = scan(l->dtype, row, look, l->stride[last], least,
                            span);
    if (at < look) return i * cols + at;
  }
  return -1;
}
