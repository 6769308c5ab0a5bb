/* pointwise.c: runs a pointwise program tile by tile.
 *
 *   x f16, rows 2 apart --pack--> raw --convert--> tile 0 \
 *   y f32, side by side --------------------------------->  kernel
 *   number              --once a chunk-----------> tile 2 /    |
 *   out bool, side by side <------convert------- tile 5 <------+
 *
 * Kernels know unit steps of one type only (pointwise_level.c).  What does
 * not fit is packed into a tile that stays in L1; what fits is read and
 * written in place.  Three ways to cut the space:
 *   long    a tile is a piece of one row
 *   short   a tile is many whole rows
 *   crossed some operand runs along another axis: a tile is a block of both
 *
 * Always: no value depends on the cut, on threads or on the layout.
 * Must not know: what a row computes.
 */
#include "cpu/tile.h"

#include <string.h>

enum {
  INPUTS = 5,
  FEW = 256,      /* elements for which a number is spread on the stack */
  LONG_ROW = 256, /* from here on a call for each row costs less than packing */
  LINE = 64,      /* bytes: what a crossed tile is high, to use up lines */
  CROSS_LEAST = 8 /* shorter axes have no lines to save */
};

static const PointRow *point_level(int level) {
  static const PointRow *const levels[LEVEL_COUNT] = {
    [LEVEL_BASE] = pointwise_base,
#if defined(__x86_64__)
    [LEVEL_AVX2] = pointwise_avx2,
    [LEVEL_AVX512] = pointwise_avx512
#endif
  };
  assert(levels[level] != NULL);
  return levels[level];
}

static int point_type(Dtype compute) {
  switch (compute) {
  case DTYPE_F32:
    return POINT_F32;
  case DTYPE_F64:
    return POINT_F64;
  case DTYPE_I32:
    return POINT_I32;
  default:
    assert(compute == DTYPE_I64);
    return POINT_I64;
  }
}

static PointKernel *find_kernel(const Program *p, int level) {
  const Step *s = &p->step[0];
  const PointRow *row = &point_level(level)[s->op];
  const int type = point_type(p->compute);
  PointKernel *const kernel = s->reading == READ_VALUE
                                  ? row->value[type]
                                  : row->pull[type & 1][s->reading - READ_GX];
  assert(s->reading == READ_VALUE || type == POINT_F32 || type == POINT_F64);
  assert(kernel != NULL);
  return kernel;
}

/* ---- calling a kernel ---- */

/* One block of elements that may lie at the end of the caller's memory. */
typedef struct Pad {
  _Alignas(64) char data[POINT_PAD * 8];
} Pad;

/* A call in which kernels may not touch what follows: bit k of `exact` says
 * that in[k] must not be read past n, bit INPUTS the same of out. */
typedef struct Call {
  PointKernel *kernel;
  PadKernel *pad;
  size_t bytes;
  int exact;
} Call;

static void call_open(Call *c, const Program *p, int level) {
  const bool narrow = p->compute == DTYPE_F32 || p->compute == DTYPE_I32;
  const CopyLevel *const copy = copy_level(level);
  c->kernel = find_kernel(p, level);
  c->pad = narrow ? copy->pad_4 : copy->pad_8;
  c->bytes = narrow ? 4 : 8;
  c->exact = 0;
}

/* in[k] == NULL: not read. */
static void call_rest(const Call *c, int64_t from, int64_t n,
                      const void *const in[INPUTS], void *out) {
  Pad pad[INPUTS], result;
  const void *at[INPUTS];
  char *to = (char *)out + (size_t)from * c->bytes;
  const size_t rest = (size_t)(n - from) * c->bytes;
  for (int k = 0; k < INPUTS; k++) {
    at[k] = result.data;
    if (in[k] == NULL) continue;
    at[k] = (const char *)in[k] + (size_t)from * c->bytes;
    if ((c->exact >> k & 1) == 0) continue;
    c->pad(n - from, at[k], pad[k].data);
    at[k] = pad[k].data;
  }
  if ((c->exact >> INPUTS & 1) == 0) {
    c->kernel(n - from, at, to);
    return;
  }
  c->kernel(n - from, at, result.data);
  if (rest == c->bytes)
    memcpy(to, result.data, c->bytes == 4 ? 4 : 8);
  else
    memcpy(to, result.data, rest);
}

static void call(const Call *c, int64_t n, const void *const in[INPUTS],
                 void *out) {
  const int64_t whole = c->exact ? n / POINT_PAD * POINT_PAD : n;
  if (whole > 0) {
    const void *at[INPUTS];
    for (int k = 0; k < INPUTS; k++) at[k] = in[k] != NULL ? in[k] : out;
    c->kernel(whole, at, out);
  }
  if (whole < n) call_rest(c, whole, n, in, out);
}

/* ---- programs that need no tiles ---- */

/* A number of the type of the program. */
typedef union Number {
  float f32;
  double f64;
  int32_t i32;
  int64_t i64;
} Number;

static Number number_of(const Leaf *l, Dtype compute) {
  switch (compute) {
  case DTYPE_F32:
    return (Number){.f32 = (float)l->number};
  case DTYPE_F64:
    return (Number){.f64 = l->number};
  case DTYPE_I32:
    return (Number){.i32 = (int32_t)l->whole};
  default:
    return (Number){.i64 = l->whole};
  }
}

static void fill_number(const Program *p, const Leaf *l, int64_t n, char *to) {
  const Number x = number_of(l, p->compute);
  if (p->compute == DTYPE_F32 || p->compute == DTYPE_I32)
    for (int64_t i = 0; i < n; i++) ((int32_t *)to)[i] = x.i32;
  else
    for (int64_t i = 0; i < n; i++) ((int64_t *)to)[i] = x.i64;
}

static bool is_plain(const Program *p, const Leaf *l) {
  if (l->data == NULL) return p->size[0] <= FEW;
  return l->dtype == p->compute && (l->stride[0] == 1 || p->size[0] == 1);
}

/* One axis, one chunk, every operand as the kernel wants it or a number: run
 * at once and return true. */
static bool run_plain(const Program *p, int level) {
  if (p->axes != 1 || p->size[0] > CHUNK) return false;
  const Step *s = &p->step[0];
  const void *in[INPUTS] = {NULL};
  _Alignas(64) char numbers[INPUTS][FEW * sizeof(Number)];
  Call c;
  if (!is_plain(p, &p->leaf[s->out])) return false;
  call_open(&c, p, level);
  c.exact = (1 << (INPUTS + 1)) - 1;
  for (int k = 0; k < INPUTS; k++) {
    if (s->in[k] < 0) continue;
    const Leaf *l = &p->leaf[s->in[k]];
    if (!is_plain(p, l)) return false;
    in[k] = l->data;
    if (l->data != NULL) continue;
    fill_number(p, l, ceil_div(p->size[0], POINT_PAD) * POINT_PAD, numbers[k]);
    in[k] = numbers[k];
    c.exact &= ~(1 << k);
  }
  call(&c, p->size[0], in, p->leaf[s->out].data);
  return true;
}

/* ---- the plan of a job: read by all its chunks ---- */

typedef struct Operand {
  const Leaf *leaf; /* NULL: not read */
  size_t bytes;     /* of an element in memory */
  bool flat;        /* the elements of a tile stand side by side in memory */
  bool direct;      /* ... and have the type of the program */
  bool still;       /* tiles at one offset are the same tile */
} Operand;

typedef struct Plan {
  const Program *program;
  Program turned; /* the program with two axes exchanged, where needed */
  const CopyLevel *copy;
  Call call;
  Cut cut;
  int64_t chunk; /* tiles */
  Operand in[INPUTS], out;
} Plan;

typedef enum Layout { LONG, SHORT, CROSSED } Layout;

/* An outer axis along which the leaf is side by side, as its last axis is
 * not; -1 for none. */
static int crossed_axis(const Program *p, const Leaf *l) {
  const int last = p->axes - 1;
  if (l->data == NULL || l->stride[last] <= 1 || p->size[last] < 2) return -1;
  for (int d = last - 1; d >= 0; d--)
    if (l->stride[d] == 1 && p->size[d] >= CROSS_LEAST) return d;
  return -1;
}

static void swap_axes(Program *p, int a, int b) {
  const int64_t size = p->size[a];
  p->size[a] = p->size[b], p->size[b] = size;
  for (int i = 0; i < p->leaves; i++) {
    int64_t *const stride = p->leaf[i].stride;
    const int64_t was = stride[a];
    stride[a] = stride[b], stride[b] = was;
  }
}

/* Chooses how to cut, and for CROSSED puts the other axis beside the last. */
static Layout choose(Plan *plan) {
  const Program *p = plan->program;
  for (int i = 0; i < p->leaves && p->axes > 1; i++) {
    const int d = crossed_axis(p, &p->leaf[i]);
    if (d < 0) continue;
    if (d == p->axes - 2) return CROSSED;
    plan->turned = *p;
    swap_axes(&plan->turned, d, p->axes - 2);
    plan->program = &plan->turned;
    return CROSSED;
  }
  return p->axes == 1 || p->size[p->axes - 1] >= LONG_ROW ? LONG : SHORT;
}

/* Do the strides describe one contiguous row-major array? */
static bool is_contiguous(const Program *p, const Leaf *l) {
  int64_t next = 1;
  for (int d = p->axes - 1; d >= 0; d--) {
    if (p->size[d] != 1 && l->stride[d] != next) return false;
    next *= p->size[d];
  }
  return true;
}

static bool is_flat(const Program *p, const Leaf *l, Layout layout) {
  if (l->data == NULL || layout == CROSSED) return false;
  if (layout == SHORT) return is_contiguous(p, l);
  return l->stride[p->axes - 1] == 1 || p->size[p->axes - 1] == 1;
}

static bool outer_still(const Program *p, const Leaf *l) {
  for (int d = 0; d < p->axes - 1; d++)
    if (l->stride[d] != 0 && p->size[d] != 1) return false;
  return true;
}

static void operand_open(Operand *o, const Program *p, int leaf,
                         Layout layout) {
  o->leaf = NULL;
  o->flat = o->direct = o->still = false;
  if (leaf < 0) return;
  o->leaf = &p->leaf[leaf];
  o->bytes = dtype_bytes(o->leaf->dtype);
  o->flat = is_flat(p, o->leaf, layout);
  o->direct = o->flat && o->leaf->dtype == p->compute;
  o->still =
      layout != SHORT || o->leaf->data == NULL || outer_still(p, o->leaf);
}

/* A tile of whole rows holds a multiple of POINT_PAD elements where it can:
 * then a kernel never has a rest. */
static int64_t rows_of(int64_t most, int64_t cols) {
  int64_t step = POINT_PAD;
  for (int64_t c = cols; step > 1 && c % 2 == 0; c /= 2) step /= 2;
  const int64_t rows = max_i64(most / cols, 1);
  return rows >= step ? rows / step * step : rows;
}

static void cut_plan(Plan *plan, Layout layout) {
  const Program *p = plan->program;
  const bool narrow = plan->call.bytes == 4;
  const int64_t tile = narrow ? TILE_BYTES / 4 : TILE_BYTES / 8;
  const int64_t last = p->size[p->axes - 1];
  bool all_direct = plan->out.direct;
  for (int k = 0; k < INPUTS; k++)
    all_direct = all_direct && (plan->in[k].leaf == NULL || plan->in[k].direct);
  int64_t rows = 1, cols = all_direct ? CHUNK : tile;
  if (layout == SHORT) cols = last, rows = rows_of(tile, cols);
  if (layout == CROSSED) {
    rows = narrow ? LINE / 4 : LINE / 8;
    cols = min_i64(last, TILE_BYTES / LINE);
    if (cols < TILE_BYTES / LINE) rows = rows_of(tile, cols);
  }
  plan->cut = cut_space(p->axes, p->size, rows, cols, layout == SHORT);
  plan->cut.down = layout == CROSSED;
  plan->chunk = 1;
  if (plan->cut.tiles > 1)
    plan->chunk = max_i64(CHUNK / (rows * min_i64(cols, last)), 1);
}

static void plan_open(Plan *plan, const Program *p, int level) {
  const Step *s = &p->step[0];
  plan->program = p;
  const Layout layout = choose(plan);
  plan->copy = copy_level(level);
  call_open(&plan->call, p, level);
  operand_open(&plan->out, plan->program, s->out, layout);
  plan->call.exact = plan->out.direct ? 1 << INPUTS : 0;
  for (int k = 0; k < INPUTS; k++) {
    operand_open(&plan->in[k], plan->program, s->in[k], layout);
    if (plan->in[k].direct) plan->call.exact |= 1 << k;
  }
  cut_plan(plan, layout);
}

/* ---- one chunk ---- */

/* What a tile buffer holds: a tile that began at `from`. */
typedef struct Held {
  const char *from;
  int64_t rows, cols;
} Held;

typedef struct Scratch {
  _Alignas(64) char tile[INPUTS + 1][TILE_BYTES];
  _Alignas(64) char raw[2 * TILE_BYTES]; /* before or after a conversion */
  Held held[INPUTS];
} Scratch;

static bool holds(const Held *h, const char *from, const Tile *t) {
  if (h->from != from || h->rows < t->rows) return false;
  return h->cols == t->cols || (t->rows == 1 && h->cols > t->cols);
}

static const void *load(const Plan *plan, Scratch *s, int k, const Tile *t) {
  const Operand *o = &plan->in[k];
  const Dtype compute = plan->program->compute;
  char *const tile = s->tile[k];
  const int64_t n = t->rows * t->cols;
  if (o->leaf == NULL) return NULL;
  const char *const from =
      o->leaf->data == NULL
          ? (const char *)&o->leaf->number
          : o->leaf->data +
                tile_offset(&plan->cut, t, o->leaf->stride) * (int64_t)o->bytes;
  if (o->direct) return from;
  if (o->still && holds(&s->held[k], from, t)) return tile;
  s->held[k] = (Held){from, t->rows, t->cols};
  if (o->leaf->data == NULL) {
    fill_number(plan->program, o->leaf, n, tile);
    return tile;
  }
  const Strided array = {o->leaf->data, o->leaf->stride, o->bytes};
  const bool same = o->leaf->dtype == compute;
  if (plan->cut.down) tile_prefetch(&plan->cut, t, array);
  if (!o->flat)
    tile_pack(plan->copy, &plan->cut, t, array, same ? tile : s->raw);
  if (!same)
    convert(plan->copy, n, o->leaf->dtype, o->flat ? from : s->raw, compute,
            tile);
  return tile;
}

static void store(const Plan *plan, Scratch *s, const Tile *t, char *to) {
  const Operand *o = &plan->out;
  const char *packed = s->tile[INPUTS];
  if (o->leaf->dtype != plan->program->compute) {
    char *const target = o->flat ? to : s->raw;
    convert(plan->copy, t->rows * t->cols, plan->program->compute, packed,
            o->leaf->dtype, target);
    packed = target;
  }
  const Strided array = {o->leaf->data, o->leaf->stride, o->bytes};
  if (plan->cut.down) tile_prefetch(&plan->cut, t, array);
  if (!o->flat) tile_unpack(plan->copy, &plan->cut, t, array, packed);
}

static void run_tile(const Plan *plan, Scratch *s, const Tile *t) {
  const void *in[INPUTS];
  const Operand *o = &plan->out;
  for (int k = 0; k < INPUTS; k++) in[k] = load(plan, s, k, t);
  char *const to = o->leaf->data + tile_offset(&plan->cut, t, o->leaf->stride) *
                                       (int64_t)o->bytes;
  call(&plan->call, t->rows * t->cols, in, o->direct ? to : s->tile[INPUTS]);
  if (!o->direct) store(plan, s, t, to);
}

static void run_chunk(void *arg, int64_t chunk, int worker) {
  (void)worker;
  const Plan *plan = arg;
  Scratch s;
  Tile t;
  for (int k = 0; k < INPUTS; k++) s.held[k].from = NULL;
  const int64_t first = chunk * plan->chunk;
  const int64_t end = min_i64(first + plan->chunk, plan->cut.tiles);
  for (int64_t i = first; i < end; i++) {
    tile_at(&plan->cut, i, &t);
    run_tile(plan, &s, &t);
  }
}

bool pointwise_run(Backend *b, const Program *p, int level) {
  assert(p->steps == 1 && p->axes >= 1);
  if (run_plain(p, level)) return true;
  Plan plan;
  plan_open(&plan, p, level);
  if (plan.cut.tiles <= plan.chunk) {
    run_chunk(&plan, 0, 0);
    return true;
  }
  return run_chunks(b, ceil_div(plan.cut.tiles, plan.chunk), run_chunk, &plan);
}

bool cpu_run(Backend *b, const Program *p) {
  return pointwise_run(b, p, level_best());
}
