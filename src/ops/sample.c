/* sample.c: images read between their pixels: at the places of a grid, and on
 * another raster.
 *
 * A raster is another one for each axis by itself: interpolate goes axis by
 * axis, each time by a sparse matrix whose rows are made here.  Its transpose
 * is the transposed matrix, so one kernel serves both.
 * Must not know: derivatives.
 */
#include <math.h>
#include <string.h>

#include "ops/run.h"
#include "rows/taps.h"

/* ---- grid_sample ---- */

/* Params from `first` on: mode, padding_mode, align_corners, du, dv, dw; the
 * defaults are filled in for the rules. */
static Status read_sampling(Context *c, OpId op, Args *a, int first,
                            Sample *job) {
  static const int taps[] = {TAPS_LINEAR, TAPS_NEAREST, TAPS_CUBIC};
  job->taps = taps[args_integer(op, a, first)];
  job->outside = (int)args_integer(op, a, first + 1);
  job->corners = args_integer(op, a, first + 2) != 0;
  for (int i = 0; i < 3; i++) {
    const int64_t order = args_integer(op, a, first + 3 + i);
    const char *name = op_rows[op].param[first + 3 + i].name;
    if (order < 0)
      return fail(c, E_RANGE, "%A is %I, and must not be negative", name,
                  order);
    if (order > 0 && i >= job->axes)
      return fail(c, E_RANGE, "%A is %I, and the grid has %d coordinates",
                  name, order, job->axes);
    job->order[i] = (int)min_i64(order, TAPS_MOST); /* then all are 0 */
  }
  for (int k = first; k < first + 6; k++)
    a->at[k] = arg_integer(args_integer(op, a, k));
  return OK;
}

/* The grid {n, .., axes} beside an image {n, c, size..}. */
static Status check_grid(Context *c, const Shape *image, const Tensor *grid,
                         Sample *job) {
  const Shape *g = &grid->shape;
  job->axes = image->rank - 2;
  if (job->axes < 2 || job->axes > 3)
    return fail(c, E_RANK, "%A is %S; {n,c,h,w} or {n,c,d,h,w} is due", "self",
                SHAPE_ARG(image));
  if (g->rank != image->rank || g->size[g->rank - 1] != job->axes ||
      g->size[0] != image->size[0])
    return fail(c, E_SHAPE,
                "%A %S beside the image %S: {%I,..,%d} of rank %d is due",
                "grid", SHAPE_ARG(g), SHAPE_ARG(image), image->size[0],
                job->axes, image->rank);
  job->batch = image->size[0], job->channels = image->size[1];
  job->area = job->points = 1;
  for (int i = 0; i < job->axes; i++) {
    job->area *= job->size[i] = image->size[2 + i];
    job->points *= g->size[1 + i];
  }
  if (job->area > 0) return OK;
  return fail(c, E_EMPTY, "%A %S has no element to read", "self",
              SHAPE_ARG(image));
}

/* {n, c} of the image with the places of the grid. */
static Shape sampled_shape(const Shape *image, const Shape *grid) {
  Shape s = *grid;
  s.size[0] = image->size[0];
  for (int i = s.rank - 1; i >= 2; i--) s.size[i] = grid->size[i - 1];
  s.size[1] = image->size[1];
  return s;
}

/* The tensors of a job in its computing dtype, and a new result. */
static Status sample_open(Context *c, Tensor *x, Tensor *grid,
                          const Shape *result, Sample *job, Tensor **plain_x,
                          Tensor **plain_grid, Tensor **made) {
  Device *d = tensor_device(x);
  job->dtype = dtype_compute(x->dtype);
  Status s = plain(c, x, job->dtype, d, plain_x);
  if (s == OK) s = plain(c, grid, job->dtype, d, plain_grid);
  if (s == OK) s = tensor_new(c, d, job->dtype, result, made);
  if (s == OK) job->grid = tensor_data(*plain_grid);
  return s;
}

static Status check_pair(Context *c, const Tensor *x, const Tensor *grid) {
  const Status s = check_same_device(c, "self", x, "grid", grid);
  return s == OK ? check_same_dtype(c, "self", x, "grid", grid) : s;
}

Status run_grid_sample(Context *c, Args *a, Tensor **r) {
  Tensor *self = a->at[0].tensor, *grid = a->at[1].tensor;
  Tensor *x = NULL, *places = NULL, *y = NULL;
  Sample job = {.axes = 0};
  Status s = check_pair(c, self, grid);
  if (s == OK) s = check_grid(c, &self->shape, grid, &job);
  if (s == OK) s = read_sampling(c, OP_grid_sample, a, 2, &job);
  if (s != OK) return s;
  const Shape shape = sampled_shape(&self->shape, &grid->shape);
  s = sample_open(c, self, grid, &shape, &job, &x, &places, &y);
  if (s == OK && y->count > 0) {
    Backend *b = tensor_backend(x);
    job.x = tensor_data(x), job.y = tensor_data(y);
    s = check_done(c, b->sample(b, &job));
  }
  if (s == OK) s = plain(c, y, self->dtype, tensor_device(self), &r[0]);
  tensor_release(c, x);
  tensor_release(c, places);
  tensor_release(c, y);
  return s;
}

Status run_grid_sample_add(Context *c, Args *a, Tensor **r) {
  Tensor *self = a->at[0].tensor, *grid = a->at[1].tensor;
  Tensor *g = NULL, *places = NULL, *x = NULL;
  Sample job = {.axes = 0};
  Shape image;
  Status s = check_pair(c, self, grid);
  if (s == OK) s = check_sizes(c, &a->at[2], &image);
  if (s == OK) s = check_grid(c, &image, grid, &job);
  if (s == OK) s = read_sampling(c, OP_grid_sample_add, a, 3, &job);
  if (s != OK) return s;
  const Shape due = sampled_shape(&image, &grid->shape);
  if (!shape_same(&due, &self->shape))
    return fail(c, E_SHAPE, "%A is %S, and the grid %S of the image %S gives %S",
                "self", SHAPE_ARG(&self->shape), SHAPE_ARG(&grid->shape),
                SHAPE_ARG(&image), SHAPE_ARG(&due));
  s = sample_open(c, self, grid, &image, &job, &g, &places, &x);
  if (s == OK && x->count > 0) {
    Backend *b = tensor_backend(x);
    job.y = tensor_data(g), job.x = tensor_data(x);
    s = check_done(c, b->sample_add(b, &job));
  }
  if (s == OK) s = plain(c, x, self->dtype, tensor_device(self), &r[0]);
  tensor_release(c, g);
  tensor_release(c, places);
  tensor_release(c, x);
  return s;
}

/* ---- the matrix of one axis ---- */

enum { RASTER_NEAREST, RASTER_LINEAR, RASTER_CUBIC, RASTER_AREA };

/* How many elements of `in` one of `out` reads at most. */
static int64_t raster_most(int mode, int64_t in, int64_t out) {
  switch (mode) {
  case RASTER_NEAREST: return 1;
  case RASTER_LINEAR: return 2;
  case RASTER_CUBIC: return TAPS_MOST;
  default: return ceil_div(in, out) + 1;
  }
}

/* Where output i lies, and the first element that it reads. */
static int64_t raster_first(int mode, bool corners, int64_t i, int64_t in,
                            int64_t out, double *t) {
  const double ratio = (double)in / (double)out;
  double place = ((double)i + 0.5) * ratio - 0.5;
  if (mode == RASTER_NEAREST) place = floor((double)i * ratio);
  else if (corners)
    place = out > 1 ? (double)i * (double)(in - 1) / (double)(out - 1) : 0;
  else if (mode == RASTER_LINEAR && place < 0)
    place = 0;
  const int taps = mode == RASTER_NEAREST  ? TAPS_NEAREST
                   : mode == RASTER_LINEAR ? TAPS_LINEAR
                                           : TAPS_CUBIC;
  return tap_first(taps, place, t);
}

/* Entries (source, weight) of row i; returns how many. */
static int64_t raster_row(int mode, bool corners, int64_t i, int64_t in,
                          int64_t out, int64_t *source, double *weight) {
  if (mode == RASTER_AREA) {
    const int64_t first = i * in / out, last = ceil_div((i + 1) * in, out);
    for (int64_t k = first; k < last; k++) {
      source[k - first] = k;
      weight[k - first] = 1 / (double)(last - first);
    }
    return last - first;
  }
  double t;
  const int taps = (int)raster_most(mode, in, out);
  const int64_t first = raster_first(mode, corners, i, in, out, &t);
  for (int k = 0; k < taps; k++) {
    source[k] = tap_element(OUTSIDE_BORDER, false, first + k, in);
    weight[k] = tap_weight(taps, k, t, 0);
  }
  return taps;
}

/* A sparse matrix, in memory of the host. */
typedef struct Raster {
  int64_t rows, entries, room;
  int64_t *begin, *source;
  double *weight;
  char *block;
  size_t bytes;
} Raster;

static Status raster_take(Context *c, int64_t rows, int64_t room, Raster *m) {
  const size_t each = sizeof(int64_t) + sizeof(double);
  m->rows = rows, m->room = room, m->entries = 0;
  m->bytes = ((size_t)rows + 1) * sizeof(int64_t) + (size_t)room * each;
  const Status s = scratch_take(c, &c->host, m->bytes, &m->block);
  if (s != OK) return s;
  m->begin = (int64_t *)(void *)m->block;
  m->source = m->begin + rows + 1;
  m->weight = (double *)(void *)(m->source + room);
  return OK;
}

static void raster_give(Context *c, Raster *m) {
  scratch_give(&c->host, m->block, m->bytes);
}

static Status raster_make(Context *c, int mode, bool corners, int64_t in,
                          int64_t out, Raster *m) {
  const int64_t most = raster_most(mode, in, out);
  int64_t room;
  if (!checked_mul(out, most, &room) || room > INT64_MAX / 32)
    return fail(c, E_SIZE, "%I results are too many", out);
  const Status s = raster_take(c, out, room, m);
  if (s != OK) return s;
  for (int64_t i = 0; i < out; i++) {
    m->begin[i] = m->entries;
    m->entries += raster_row(mode, corners, i, in, out, m->source + m->entries,
                             m->weight + m->entries);
  }
  m->begin[out] = m->entries;
  return OK;
}

/* The transpose: entries of each column, in the order of rows. */
static Status raster_turn(Context *c, const Raster *m, int64_t columns,
                          Raster *t) {
  const Status s = raster_take(c, columns, m->entries, t);
  if (s != OK) return s;
  t->entries = m->entries;
  memset(t->begin, 0, ((size_t)columns + 1) * sizeof *t->begin);
  for (int64_t e = 0; e < m->entries; e++) t->begin[m->source[e] + 1]++;
  for (int64_t i = 0; i < columns; i++) t->begin[i + 1] += t->begin[i];
  for (int64_t row = 0; row < m->rows; row++)
    for (int64_t e = m->begin[row]; e < m->begin[row + 1]; e++) {
      const int64_t at = t->begin[m->source[e]]++;
      t->source[at] = row;
      t->weight[at] = m->weight[e];
    }
  for (int64_t i = columns; i > 0; i--) t->begin[i] = t->begin[i - 1];
  t->begin[0] = 0;
  return OK;
}

/* *r = `n` numbers of the host as a vector of `dtype` on d. */
static Status to_device(Context *c, const void *data, int64_t n, Dtype from,
                        Dtype dtype, Device *d, Tensor **r) {
  const Shape shape = shape_of(1, &n);
  Tensor *t = NULL;
  Status s = tensor_new(c, &c->host, from, &shape, &t);
  if (s == OK && n > 0) s = tensor_write(c, t, data);
  if (s == OK) s = plain(c, t, dtype, d, r);
  tensor_release(c, t);
  return s;
}

/* ---- interpolate ---- */

/* *y = the matrix m applied along `axis` of x (contiguous, computing dtype). */
static Status raster_apply(Context *c, const Raster *m, Tensor *x, int axis,
                           Tensor **y) {
  Tensor *begin = NULL, *source = NULL, *weight = NULL;
  Device *d = tensor_device(x);
  Shape shape = x->shape;
  shape.size[axis] = m->rows;
  Status s = to_device(c, m->begin, m->rows + 1, DTYPE_I64, DTYPE_I64, d,
                       &begin);
  if (s == OK)
    s = to_device(c, m->source, m->entries, DTYPE_I64, DTYPE_I64, d, &source);
  if (s == OK)
    s = to_device(c, m->weight, m->entries, DTYPE_F64, x->dtype, d, &weight);
  if (s == OK) s = tensor_new(c, d, x->dtype, &shape, y);
  if (s == OK && (*y)->count > 0) {
    Resample job = {.dtype = x->dtype, .outer = 1, .size = x->shape.size[axis],
                    .rows = m->rows, .inner = 1};
    for (int i = 0; i < axis; i++) job.outer *= x->shape.size[i];
    for (int i = axis + 1; i < x->shape.rank; i++)
      job.inner *= x->shape.size[i];
    job.begin = tensor_data(begin), job.source = tensor_data(source);
    job.weight = tensor_data(weight), job.x = tensor_data(x);
    job.y = tensor_data(*y);
    Backend *b = tensor_backend(x);
    s = check_done(c, b->resample(b, &job));
  }
  tensor_release(c, begin);
  tensor_release(c, source);
  tensor_release(c, weight);
  return s;
}

/* How a raster of `from` becomes one of `to`, and whether transposed. */
typedef struct How {
  int mode;
  bool corners, back;
} How;

static Status one_axis(Context *c, How how, int axis, int64_t to, Tensor *x,
                       Tensor **y) {
  const int64_t from = x->shape.size[axis];
  Raster m = {.block = NULL}, turned = {.block = NULL};
  Status s = how.back ? raster_make(c, how.mode, how.corners, to, from, &m)
                      : raster_make(c, how.mode, how.corners, from, to, &m);
  if (s == OK && how.back) s = raster_turn(c, &m, to, &turned);
  if (s == OK) s = raster_apply(c, how.back ? &turned : &m, x, axis, y);
  raster_give(c, &m);
  raster_give(c, &turned);
  return s;
}

/* *r = x {n, c, ..} with the spatial sizes of `to`. */
static Status interpolate(Context *c, Tensor *x, const Shape *to, How how,
                          Tensor **r) {
  Tensor *now = NULL;
  Status s = plain(c, x, dtype_compute(x->dtype), tensor_device(x), &now);
  for (int axis = 2; axis < x->shape.rank && s == OK; axis++) {
    Tensor *next = NULL;
    const bool is_same = to->size[axis] == now->shape.size[axis];
    if (is_same) continue; /* every mode is then the identity */
    s = one_axis(c, how, axis, to->size[axis], now, &next);
    tensor_release(c, now);
    now = next;
  }
  if (s == OK) s = plain(c, now, x->dtype, tensor_device(x), r);
  /* no axis changed: the result must not be the operand itself */
  if (s == OK && *r == x) {
    tensor_release(c, *r);
    *r = NULL;
    s = op_unary(c, OP_clone, x, r);
  }
  tensor_release(c, now);
  return s;
}

static Status check_image(Context *c, const Shape *x) {
  if (x->rank < 3 || x->rank > 5)
    return fail(c, E_RANK, "%A is %S; {n,c,..} with 1 to 3 axes more is due",
                "self", SHAPE_ARG(x));
  for (int i = 2; i < x->rank; i++)
    if (x->size[i] == 0)
      return fail(c, E_EMPTY, "%A %S has no element to read", "self",
                  SHAPE_ARG(x));
  return OK;
}

static Status scaled_size(Context *c, int64_t in, double scale, int64_t *out) {
  const double size = floor((double)in * scale);
  if (!(scale > 0) || !(size < 0x1p62))
    return fail(c, E_RANGE, "%A is %g, and must be positive and finite",
                "scale", scale);
  *out = (int64_t)size;
  return OK;
}

/* The sizes that are asked for, by `size` or by `scale`. */
static Status target_sizes(Context *c, const Tensor *x, const Arg *size,
                           const Arg *scale, Shape *to) {
  const int axes = x->shape.rank - 2;
  *to = x->shape;
  if ((size->kind == ARG_NONE) == (scale->kind == ARG_NONE))
    return fail(c, E_OPTION, "%A or scale is due, and not both", "size");
  if (size->kind != ARG_NONE && size->count != axes && size->count != 1)
    return fail(c, E_SHAPE, "%A has %d entries, self %S has %d axes to resize",
                "size", size->count, SHAPE_ARG(&x->shape), axes);
  for (int i = 0; i < axes; i++) {
    int64_t *out = &to->size[2 + i];
    Status s = OK;
    if (size->kind != ARG_NONE) *out = size->sizes[size->count == 1 ? 0 : i];
    else s = scaled_size(c, x->shape.size[2 + i], arg_f64(scale), out);
    if (s != OK) return s;
    if (*out < 1)
      return fail(c, E_SIZE, "%A gives %I for axis %P of self %S",
                  size->kind != ARG_NONE ? "size" : "scale", *out,
                  (int64_t)(2 + i), SHAPE_ARG(&x->shape));
  }
  return OK;
}

Status run_interpolate(Context *c, Args *a, Tensor **r) {
  enum { SELF, SIZE, SCALE, MODE, CORNERS };
  Tensor *x = a->at[SELF].tensor;
  Shape to;
  Status s = check_image(c, &x->shape);
  if (s == OK) s = target_sizes(c, x, &a->at[SIZE], &a->at[SCALE], &to);
  if (s != OK) return s;
  const How how = {(int)args_integer(OP_interpolate, a, MODE),
                   args_integer(OP_interpolate, a, CORNERS) != 0, false};
  return interpolate(c, x, &to, how, &r[0]);
}

Status run_interpolate_add(Context *c, Args *a, Tensor **r) {
  enum { SELF, SIZE, MODE, CORNERS };
  Tensor *g = a->at[SELF].tensor;
  Shape to;
  Status s = check_image(c, &g->shape);
  if (s == OK) s = check_sizes(c, &a->at[SIZE], &to);
  if (s == OK) s = check_image(c, &to);
  if (s != OK) return s;
  if (to.rank != g->shape.rank || to.size[0] != g->shape.size[0] ||
      to.size[1] != g->shape.size[1])
    return fail(c, E_SHAPE, "%A %S is no image of self %S", "size",
                SHAPE_ARG(&to), SHAPE_ARG(&g->shape));
  const How how = {(int)args_integer(OP_interpolate_add, a, MODE),
                   args_integer(OP_interpolate_add, a, CORNERS) != 0, true};
  return interpolate(c, g, &to, how, &r[0]);
}
