/* create.c: rows that make tensors, and random draws.
 *
 * Always: a failed draw does not move its generator.
 * requires_grad belongs to the caller: these results are untracked.
 */
#include <math.h>
#include <string.h>

#include "ops/run.h"

/* dtype and device of options at params `k` and `k + 1`. */
static Dtype option_dtype(const Args *a, int k, Dtype other) {
  return a->at[k].kind == ARG_NONE ? other : (Dtype)a->at[k].integer;
}

static Device *option_device(const Args *a, int k, Device *other) {
  return a->at[k].kind == ARG_DEVICE ? a->at[k].device : other;
}

/* *r of a shape, all `value`; NULL: unset. */
static Status filled(Context *c, Device *d, Dtype dtype, const Shape *shape,
                     const Arg *value, Tensor **r) {
  Tensor *t = NULL;
  Status s = value != NULL ? check_fits(c, "value", value, dtype) : OK;
  if (s == OK) s = tensor_new(c, d, dtype, shape, &t);
  if (s == OK && value != NULL) s = fill_with(c, t, value);
  if (s == OK) *r = t;
  else tensor_release(c, t);
  return s;
}

/* Params (size, dtype, device, ..). */
static Status of_size(Context *c, Args *a, const Arg *value, Tensor **r) {
  Shape shape;
  const Status s = check_sizes(c, &a->at[0], &shape);
  if (s != OK) return s;
  return filled(c, option_device(a, 2, c->default_device),
                option_dtype(a, 1, c->default_dtype), &shape, value, &r[0]);
}

Status run_zeros(Context *c, Args *a, Tensor **r) {
  const Arg zero = arg_integer(0);
  return of_size(c, a, &zero, r);
}

Status run_ones(Context *c, Args *a, Tensor **r) {
  const Arg one = arg_integer(1);
  return of_size(c, a, &one, r);
}

Status run_empty(Context *c, Args *a, Tensor **r) {
  const Arg zero = arg_integer(0);
  return of_size(c, a, c->zero_empty ? &zero : NULL, r);
}

/* A tensor's value, tracked: of its own, stretched. */
static Status full_of(Context *c, Args *a, const Shape *shape, Tensor **r) {
  Tensor *value = a->at[1].tensor, *cast = NULL, *wide = NULL;
  Args to;
  if (value->shape.rank > 0)
    return fail(c, E_SHAPE, "%A %S must be a number or have rank 0", "value",
                SHAPE_ARG(&value->shape));
  to.at[0] = arg_tensor(value);
  to.at[1] = arg_integer(option_dtype(a, 2, value->dtype));
  to.at[2].kind = ARG_DEVICE;
  to.at[2].device = option_device(a, 3, tensor_device(value));
  Status s = op_call(c, OP_cast, &to, &cast);
  if (s == OK) s = op_expand(c, cast, shape->rank, shape->size, &wide);
  if (s == OK) s = op_unary(c, OP_clone, wide, r);
  tensor_release(c, cast);
  tensor_release(c, wide);
  return s;
}

Status run_full(Context *c, Args *a, Tensor **r) {
  Shape shape;
  const Status s = check_sizes(c, &a->at[0], &shape);
  if (s != OK) return s;
  if (a->at[1].kind == ARG_TENSOR) return full_of(c, a, &shape, r);
  return filled(c, option_device(a, 3, c->default_device),
                option_dtype(a, 2, c->default_dtype), &shape, &a->at[1], &r[0]);
}

/* Params (self, .., dtype, device) with dtype at `k`. */
static Status like(Context *c, Args *a, int k, const Arg *value, Tensor **r) {
  const Tensor *x = a->at[0].tensor;
  return filled(c, option_device(a, k + 1, tensor_device(x)),
                option_dtype(a, k, x->dtype), &x->shape, value, &r[0]);
}

Status run_zeros_like(Context *c, Args *a, Tensor **r) {
  const Arg zero = arg_integer(0);
  return like(c, a, 1, &zero, r);
}

Status run_ones_like(Context *c, Args *a, Tensor **r) {
  const Arg one = arg_integer(1);
  return like(c, a, 1, &one, r);
}

Status run_full_like(Context *c, Args *a, Tensor **r) {
  return like(c, a, 2, &a->at[1], r);
}

Status run_empty_like(Context *c, Args *a, Tensor **r) {
  const Arg zero = arg_integer(0);
  return like(c, a, 1, c->zero_empty ? &zero : NULL, r);
}

Status run_eye(Context *c, Args *a, Tensor **r) {
  const int64_t n = a->at[0].integer;
  const int64_t m = a->at[1].kind == ARG_NONE ? n : a->at[1].integer;
  const int64_t sizes[] = {n, m};
  const Arg both = arg_sizes(2, sizes), zero = arg_integer(0);
  const Arg one = arg_integer(1);
  Shape shape;
  Tensor *t = NULL, *line = NULL;
  Status s = check_sizes(c, &both, &shape);
  if (s == OK)
    s = filled(c, option_device(a, 3, c->default_device),
               option_dtype(a, 2, c->default_dtype), &shape, &zero, &t);
  if (s == OK) {
    Shape diagonal = {.rank = 1};
    diagonal.size[0] = min_i64(n, m);
    diagonal.stride[0] = m + 1;
    s = tensor_view(c, t, &diagonal, 0, &line);
  }
  if (s == OK) s = fill_with(c, line, &one);
  tensor_release(c, line);
  if (s == OK) r[0] = t;
  else tensor_release(c, t);
  return s;
}

static Status check_float(Context *c, Dtype dtype) {
  if (dtype_class(dtype) == CLASS_FLOAT) return OK;
  return fail(c, E_DTYPE, "%A is %s, and these draws are floats", "dtype",
              dtype_name(dtype));
}

/* ---- ramps ---- */

static Status ramp(Context *c, Device *d, Ramp *job, Tensor **r) {
  Tensor *t = NULL;
  const Shape shape = shape_of(1, &job->count);
  const Status s = tensor_new(c, d, job->dtype, &shape, &t);
  if (s != OK) return s;
  job->dst = tensor_data(t);
  if (job->count > 0) d->backend.ramp(&d->backend, job);
  *r = t;
  return OK;
}

/* floor((last - first) / step) + 1 values, none when that is below 1. */
static Status ramp_count(Context *c, const Ramp *job, bool whole, double first,
                         double last, int64_t whole_last, int64_t *count) {
  if (whole) {
    const int64_t step = job->whole_step, from = job->whole_first;
    const bool forward = step > 0;
    if (forward ? whole_last < from : whole_last > from) {
      *count = 0;
      return OK;
    }
    const uint64_t way = forward ? (uint64_t)whole_last - (uint64_t)from
                                 : (uint64_t)from - (uint64_t)whole_last;
    const uint64_t each = forward ? (uint64_t)step : 0 - (uint64_t)step;
    if (way / each >= (uint64_t)PTRDIFF_MAX)
      return fail(c, E_SIZE, "%A is too far from first", "last");
    *count = (int64_t)(way / each) + 1;
    return OK;
  }
  const double n = floor((last - first) / job->step) + 1;
  if (!(n < 0x1p60)) /* NaN too */
    return fail(c, E_SIZE, "%A %g cannot be reached from %g by steps of %g",
                "last", last, first, job->step);
  *count = n > 0 ? (int64_t)n : 0;
  return OK;
}

Status run_arange(Context *c, Args *a, Tensor **r) {
  const bool alone = a->at[1].kind == ARG_NONE;
  const Arg one = arg_integer(1);
  const Arg *first = alone ? &one : &a->at[0];
  const Arg *last = alone ? &a->at[0] : &a->at[1];
  const Arg *step = a->at[2].kind == ARG_NONE ? &one : &a->at[2];
  const bool whole = first->kind == ARG_INTEGER && last->kind == ARG_INTEGER &&
                     step->kind == ARG_INTEGER;
  Ramp job = {.dtype = option_dtype(a, 3, whole ? DTYPE_I64
                                                : c->default_dtype)};
  if (arg_f64(step) == 0) return fail(c, E_RANGE, "%A is 0", "step");
  job.first = arg_f64(first), job.step = arg_f64(step);
  job.whole_first = whole ? first->integer : 0;
  job.whole_step = whole ? step->integer : 1;
  if (!whole && dtype_class(job.dtype) != CLASS_FLOAT)
    return fail(c, E_DTYPE, "%A is %s, and the values are not whole", "dtype",
                dtype_name(job.dtype));
  Status s = ramp_count(c, &job, whole, job.first, arg_f64(last),
                        whole ? last->integer : 0, &job.count);
  if (s == OK && dtype_class(job.dtype) != CLASS_FLOAT && job.count > 0) {
    const Arg end =
        arg_integer(job.whole_first + (job.count - 1) * job.whole_step);
    s = check_fits(c, "first", first, job.dtype);
    if (s == OK) s = check_fits(c, "last", &end, job.dtype);
  }
  if (s != OK) return s;
  return ramp(c, option_device(a, 4, c->default_device), &job, &r[0]);
}

Status run_linspace(Context *c, Args *a, Tensor **r) {
  Ramp job = {.dtype = option_dtype(a, 3, c->default_dtype)};
  job.count = a->at[2].integer;
  if (job.count < 0)
    return fail(c, E_SHAPE, "%A is %I, and must not be negative", "n",
                job.count);
  if (dtype_class(job.dtype) != CLASS_FLOAT)
    return fail(c, E_DTYPE, "%A is %s, and linspace makes floats", "dtype",
                dtype_name(job.dtype));
  job.first = arg_f64(&a->at[0]);
  job.last = arg_f64(&a->at[1]);
  job.ends = job.count > 1;
  job.step = job.count > 1 ? (job.last - job.first) / (double)(job.count - 1)
                           : 0;
  return ramp(c, option_device(a, 4, c->default_device), &job, &r[0]);
}

/* Powers in f64, rounded once. */
Status run_logspace(Context *c, Args *a, Tensor **r) {
  const Dtype dtype = option_dtype(a, 4, c->default_dtype);
  Device *d = option_device(a, 5, c->default_device);
  Tensor *line = NULL, *powers = NULL;
  Args even, raise;
  if (dtype_class(dtype) != CLASS_FLOAT)
    return fail(c, E_DTYPE, "%A is %s, and logspace makes floats", "dtype",
                dtype_name(dtype));
  for (int k = 0; k < 3; k++) even.at[k] = a->at[k];
  even.at[3] = arg_integer(DTYPE_F64);
  even.at[4].kind = ARG_DEVICE;
  even.at[4].device = d;
  Status s = run_linspace(c, &even, &line);
  raise.at[0] = arg_number(args_number(OP_logspace, a, 3));
  raise.at[1] = arg_tensor(line);
  if (s == OK) s = op_call(c, OP_pow, &raise, &powers);
  if (s == OK) s = plain(c, powers, dtype, d, &r[0]);
  tensor_release(c, line);
  tensor_release(c, powers);
  return s;
}

/* ---- windows ---- */

/* base - (1 - base) cos(2 pi k / m), in f64, rounded once. */
static Status window(Context *c, OpId op, Args *a, double base, Tensor **r) {
  const int64_t n = a->at[0].integer;
  const Arg sizes = arg_sizes(1, &n);
  const Dtype dtype = option_dtype(a, 2, c->default_dtype);
  const int64_t m = n - (args_integer(op, a, 1) == 0);
  Shape shape;
  Tensor *t = NULL;
  Status s = check_sizes(c, &sizes, &shape);
  if (s == OK) s = check_float(c, dtype);
  if (s == OK) s = tensor_new(c, &c->host, DTYPE_F64, &shape, &t);
  if (s != OK) return s;
  double *at = (double *)(void *)tensor_data(t);
  for (int64_t k = 0; k < n; k++) {
    const double turn = 2 * 3.14159265358979323846 * (double)k / (double)m;
    at[k] = n == 1 ? 1 : base - (1 - base) * cos(turn);
  }
  s = plain(c, t, dtype, option_device(a, 3, c->default_device), r);
  tensor_release(c, t);
  return s;
}

Status run_hann_window(Context *c, Args *a, Tensor **r) {
  return window(c, OP_hann_window, a, 0.5, r);
}

Status run_hamming_window(Context *c, Args *a, Tensor **r) {
  return window(c, OP_hamming_window, a, 0.54, r);
}

/* ---- places of triangles ---- */

/* Columns [*from, *to) of row i that a triangle holds. */
static void triangle_row(int64_t i, int64_t m, int64_t k, bool below,
                         int64_t *from, int64_t *to) {
  const int64_t edge = max_i64(0, min_i64(m, i + k + (below ? 1 : 0)));
  *from = below ? 0 : edge;
  *to = below ? edge : m;
}

static Status triangle_places(Context *c, OpId op, Args *a, Tensor **r) {
  const int64_t n = a->at[0].integer;
  const int64_t m = a->at[1].kind == ARG_NONE ? n : a->at[1].integer;
  const int64_t sizes[] = {n, m};
  const Arg both = arg_sizes(2, sizes);
  const bool below = op == OP_tril_indices;
  int64_t k = args_integer(op, a, 2), count = 0, from, to;
  Shape shape;
  Tensor *t = NULL;
  Status s = check_sizes(c, &both, &shape);
  if (s != OK) return s;
  k = max_i64(-n, min_i64(m, k));
  for (int64_t i = 0; i < n; i++) {
    triangle_row(i, m, k, below, &from, &to);
    count += max_i64(0, to - from);
  }
  const int64_t size[] = {2, count};
  shape = shape_of(2, size);
  s = tensor_new(c, &c->host, DTYPE_I64, &shape, &t);
  if (s != OK) return s;
  int64_t *row = (int64_t *)(void *)tensor_data(t), *col = row + count;
  for (int64_t i = 0; i < n; i++) {
    triangle_row(i, m, k, below, &from, &to);
    for (int64_t j = from; j < to; j++)
      *row++ = i + c->failure.base, *col++ = j + c->failure.base;
  }
  s = plain(c, t, DTYPE_I64, option_device(a, 3, c->default_device), r);
  tensor_release(c, t);
  return s;
}

Status run_tril_indices(Context *c, Args *a, Tensor **r) {
  return triangle_places(c, OP_tril_indices, a, r);
}

Status run_triu_indices(Context *c, Args *a, Tensor **r) {
  return triangle_places(c, OP_triu_indices, a, r);
}

/* ---- draws ---- */

static Philox *generator_of(Context *c, const Args *a, int k) {
  return a->at[k].kind == ARG_GENERATOR ? a->at[k].generator : &c->generator;
}

/* Blocks that n elements use up (API.md 11). */
static uint64_t blocks_for(int64_t n, Dtype dtype) {
  const int64_t each = dtype_bytes(dtype) == 8 ? 2 : 4;
  return (uint64_t)ceil_div(n, each);
}

/* Draw into contiguous t (f32, f64, i64); moves the generator on success. */
static Status draw_into(Context *c, Draw *job, Tensor *t, Philox *g) {
  job->dtype = t->dtype;
  job->count = t->count;
  job->dst = tensor_data(t);
  job->generator = *g;
  if (t->count == 0) return OK;
  Backend *b = tensor_backend(t);
  const Status s = check_done(c, b->draw(b, job));
  if (s == OK) g->counter += blocks_for(t->count, t->dtype);
  return s;
}

/* A draw for any float dtype: f16 and bf16 are drawn in f32.  Uniform draws
 * of few bits must not round up to 1: they are cut, not rounded. */
static Status draw(Context *c, Draw *job, Device *d, Dtype dtype,
                   const Shape *shape, Philox *g, Tensor **r) {
  const Dtype drawn = dtype_compute(dtype);
  Tensor *t = NULL;
  Status s = tensor_new(c, d, drawn, shape, &t);
  if (s == OK) s = draw_into(c, job, t, g);
  if (s == OK && drawn != dtype && job->what == DRAW_UNIFORM) {
    const double grain = dtype == DTYPE_F16 ? 0x1p11 : 0x1p8;
    Tensor *cut = NULL;
    s = op_with_number(c, OP_mul, t, grain, &cut);
    tensor_release(c, t);
    t = cut;
    cut = NULL;
    if (s == OK) s = op_unary(c, OP_floor, t, &cut);
    tensor_release(c, t);
    t = cut;
    cut = NULL;
    if (s == OK) s = op_with_number(c, OP_mul, t, 1 / grain, &cut);
    tensor_release(c, t);
    t = cut;
  }
  if (s == OK) s = plain(c, t, dtype, d, r);
  tensor_release(c, t);
  return s;
}

/* Params (size, dtype, device, requires_grad, generator). */
static Status draw_of_size(Context *c, Args *a, Draw *job, Tensor **r) {
  Shape shape;
  const Dtype dtype = option_dtype(a, 1, c->default_dtype);
  Status s = check_sizes(c, &a->at[0], &shape);
  if (s == OK) s = check_float(c, dtype);
  if (s != OK) return s;
  return draw(c, job, option_device(a, 2, c->default_device), dtype, &shape,
              generator_of(c, a, 4), &r[0]);
}

Status run_rand(Context *c, Args *a, Tensor **r) {
  Draw job = {.what = DRAW_UNIFORM, .a = 0, .b = 1};
  return draw_of_size(c, a, &job, r);
}

Status run_randn(Context *c, Args *a, Tensor **r) {
  Draw job = {.what = DRAW_NORMAL, .a = 0, .b = 1};
  return draw_of_size(c, a, &job, r);
}

/* Params (self, dtype, device, requires_grad, generator). */
static Status draw_like(Context *c, Args *a, Draw *job, Tensor **r) {
  const Tensor *x = a->at[0].tensor;
  const Dtype dtype = option_dtype(a, 1, x->dtype);
  const Status s = check_float(c, dtype);
  if (s != OK) return s;
  return draw(c, job, option_device(a, 2, tensor_device(x)), dtype, &x->shape,
              generator_of(c, a, 4), &r[0]);
}

Status run_rand_like(Context *c, Args *a, Tensor **r) {
  Draw job = {.what = DRAW_UNIFORM, .a = 0, .b = 1};
  return draw_like(c, a, &job, r);
}

Status run_randn_like(Context *c, Args *a, Tensor **r) {
  Draw job = {.what = DRAW_NORMAL, .a = 0, .b = 1};
  return draw_like(c, a, &job, r);
}

Status run_randint(Context *c, Args *a, Tensor **r) {
  Draw job = {.what = DRAW_INTEGERS};
  Shape shape;
  Tensor *t = NULL;
  const Dtype dtype = option_dtype(a, 3, DTYPE_I64);
  Device *d = option_device(a, 4, c->default_device);
  job.low = a->at[0].integer, job.high = a->at[1].integer;
  if (job.low > job.high)
    return fail(c, E_RANGE, "%A %I is above high %I", "low", job.low,
                job.high);
  Status s = check_sizes(c, &a->at[2], &shape);
  if (s == OK) s = check_fits(c, "low", &a->at[0], dtype);
  if (s == OK) s = check_fits(c, "high", &a->at[1], dtype);
  if (s == OK) s = tensor_new(c, d, DTYPE_I64, &shape, &t);
  if (s == OK) s = draw_into(c, &job, t, generator_of(c, a, 5));
  if (s == OK) s = plain(c, t, dtype, d, &r[0]);
  tensor_release(c, t);
  return s;
}

/* Fisher and Yates (Durstenfeld 1964), one unbiased draw for each place. */
static void shuffle(int64_t *at, int64_t n, const Philox *g) {
  uint32_t word[4];
  for (int64_t i = n - 1; i > 0; i--) {
    const uint64_t range = (uint64_t)i + 1, skip = (0 - range) % range;
    uint64_t bits, extra = 0;
    do { /* bits below 2^64 mod range would favour some places */
      Philox stream = *g;
      stream.stream ^= extra++;
      philox_block(&stream, (uint64_t)i / 2, word);
      bits = (uint64_t)word[i % 2 * 2] << 32 | word[i % 2 * 2 + 1];
    } while (bits < skip);
    const int64_t j = (int64_t)(bits % range), kept = at[i];
    at[i] = at[j];
    at[j] = kept;
  }
}

Status run_randperm(Context *c, Args *a, Tensor **r) {
  const int64_t n = a->at[0].integer;
  const Arg size = arg_sizes(1, &n);
  Device *d = option_device(a, 1, c->default_device);
  Philox *g = generator_of(c, a, 2);
  Shape shape;
  Tensor *t = NULL;
  Status s = check_sizes(c, &size, &shape);
  if (s == OK) s = tensor_new(c, &c->host, DTYPE_I64, &shape, &t);
  if (s != OK) return s;
  int64_t *at = (int64_t *)(void *)tensor_data(t);
  for (int64_t i = 0; i < n; i++) at[i] = i + c->failure.base;
  shuffle(at, n, g);
  s = plain(c, t, DTYPE_I64, d, &r[0]);
  if (s == OK) g->counter += blocks_for(n, DTYPE_I64);
  tensor_release(c, t);
  return s;
}

/* ---- draws in place: the result is self ---- */

static Status draw_self(Context *c, Args *a, Draw *job, Philox *g,
                        Tensor **r) {
  Tensor *self = a->at[0].tensor, *t = NULL;
  Philox before = *g;
  Status s = draw(c, job, tensor_device(self), self->dtype, &self->shape, g,
                  &t);
  if (s == OK) s = move_into(c, self, t);
  tensor_release(c, t);
  if (s == OK) r[0] = tensor_share(self);
  else *g = before;
  return s;
}

Status run_uniform(Context *c, Args *a, Tensor **r) {
  Draw job = {.what = DRAW_UNIFORM,
              .a = args_number(OP_uniform, a, 1),
              .b = args_number(OP_uniform, a, 2)};
  if (!(job.a <= job.b))
    return fail(c, E_RANGE, "%A %g is above high %g", "low", job.a, job.b);
  const Dtype dtype = a->at[0].tensor->dtype;
  if (dtype_compute(dtype) == dtype || (job.a == 0 && job.b == 1))
    return draw_self(c, a, &job, generator_of(c, a, 3), r);
  /* f16, bf16: drawn in [0, 1), then scaled */
  Draw unit = {.what = DRAW_UNIFORM, .a = 0, .b = 1};
  Status s = draw_self(c, a, &unit, generator_of(c, a, 3), r);
  Args scale;
  for (int k = 0; k < MAX_PARAMS; k++) scale.at[k].kind = ARG_NONE;
  scale.at[0] = arg_tensor(a->at[0].tensor);
  scale.at[1] = arg_number(job.b - job.a);
  if (s == OK) s = pointwise_call(c, OP_mul, &scale, a->at[0].tensor, NULL);
  scale.at[1] = arg_number(job.a);
  if (s == OK) s = pointwise_call(c, OP_add, &scale, a->at[0].tensor, NULL);
  return s;
}

Status run_normal(Context *c, Args *a, Tensor **r) {
  Draw job = {.what = DRAW_NORMAL,
              .a = args_number(OP_normal, a, 1),
              .b = args_number(OP_normal, a, 2)};
  if (!(job.b >= 0))
    return fail(c, E_RANGE, "%A is %g, and must not be negative", "std",
                job.b);
  return draw_self(c, a, &job, generator_of(c, a, 3), r);
}

static Status check_probability(Context *c, double p) {
  if (p >= 0 && p <= 1) return OK;
  return fail(c, E_RANGE, "%A is %g, and must be in 0..1", "p", p);
}

/* Every element is a probability; the first that is none is named. */
static Status check_probabilities(Context *c, Tensor *p) {
  Tensor *low = NULL, *high = NULL, *both = NULL, *first = NULL;
  uint8_t fine = 1;
  int64_t at = 0;
  Status s = op_with_number(c, OP_ge, p, 0, &low);
  if (s == OK) s = op_with_number(c, OP_le, p, 1, &high);
  if (s == OK) s = op_binary(c, OP_logical_and, low, high, &both);
  if (s == OK && p->count > 0) s = op_unary(c, OP_argmin, both, &first);
  if (s == OK && p->count > 0) s = tensor_read(c, first, &at);
  tensor_release(c, first);
  first = NULL;
  if (s == OK) s = op_unary(c, OP_all, both, &first);
  if (s == OK) s = tensor_read(c, first, &fine);
  tensor_release(c, low);
  tensor_release(c, high);
  tensor_release(c, both);
  tensor_release(c, first);
  if (s != OK || fine) return s;
  return fail(c, E_RANGE, "%A holds at %Q a value outside 0..1", "self",
              SHAPE_ARG(&p->shape), at - c->failure.base);
}

/* Each element of r is 1 with the probability that self holds there. */
static Status bernoulli_of(Context *c, Args *a, Tensor **r) {
  Tensor *p = a->at[0].tensor, *u = NULL, *hit = NULL;
  const Dtype drawn = dtype_compute(p->dtype);
  Draw job = {.what = DRAW_UNIFORM, .a = 0, .b = 1};
  Philox *g = generator_of(c, a, 2), before = *g;
  Status s = check_probabilities(c, p);
  if (s == OK) s = tensor_new(c, tensor_device(p), drawn, &p->shape, &u);
  if (s == OK) s = draw_into(c, &job, u, g);
  if (s == OK) s = op_binary(c, OP_lt, u, p, &hit);
  if (s == OK) s = plain(c, hit, p->dtype, tensor_device(p), &r[0]);
  if (s != OK) *g = before;
  tensor_release(c, u);
  tensor_release(c, hit);
  return s;
}

Status run_bernoulli(Context *c, Args *a, Tensor **r) {
  const Tensor *self = a->at[0].tensor;
  if (a->at[1].kind == ARG_NONE) return bernoulli_of(c, a, r);
  Draw job = {.what = DRAW_BERNOULLI, .a = arg_f64(&a->at[1])};
  const Status s = check_probability(c, job.a);
  if (s != OK) return s;
  return draw(c, &job, tensor_device(self), self->dtype, &self->shape,
              generator_of(c, a, 2), &r[0]);
}

Status run_random(Context *c, Args *a, Tensor **r) {
  Tensor *self = a->at[0].tensor, *t = NULL;
  Draw job = {.what = DRAW_INTEGERS,
              .low = a->at[1].integer,
              .high = a->at[2].integer};
  Philox *g = generator_of(c, a, 3), before = *g;
  if (job.low > job.high)
    return fail(c, E_RANGE, "%A %I is above high %I", "low", job.low,
                job.high);
  Status s = check_fits(c, "low", &a->at[1], self->dtype);
  if (s == OK) s = check_fits(c, "high", &a->at[2], self->dtype);
  if (s == OK) s = tensor_new(c, tensor_device(self), DTYPE_I64, &self->shape,
                              &t);
  if (s == OK) s = draw_into(c, &job, t, g);
  if (s == OK) s = move_into(c, self, t);
  tensor_release(c, t);
  if (s == OK) r[0] = tensor_share(self);
  else *g = before;
  return s;
}

/* r = self * mask, mask = 0 or 1 / (1 - p); the mask is the hidden result. */
Status run_dropout(Context *c, Args *a, Tensor **r) {
  Tensor *x = a->at[0].tensor, *mask = NULL;
  const double p = args_number(OP_dropout, a, 1);
  const bool off = args_integer(OP_dropout, a, 2) == 0;
  Draw job = {.what = DRAW_BERNOULLI, .a = 1 - p};
  Philox *g = generator_of(c, a, 3), before = *g;
  Status s = check_probability(c, p);
  if (s != OK) return s;
  if (off || p == 0) {
    const Arg one = arg_integer(1);
    s = filled(c, tensor_device(x), x->dtype, &x->shape, &one, &mask);
  } else {
    s = draw(c, &job, tensor_device(x), x->dtype, &x->shape, g, &mask);
    if (s == OK && p < 1) {
      Args scale;
      for (int k = 0; k < MAX_PARAMS; k++) scale.at[k].kind = ARG_NONE;
      scale.at[0] = arg_tensor(mask);
      scale.at[1] = arg_number(1 / (1 - p));
      s = pointwise_call(c, OP_mul, &scale, mask, NULL);
    }
  }
  if (s == OK) {
    Args product;
    product.at[0] = arg_tensor(mask);
    product.at[1] = arg_tensor(x);
    s = pointwise_call(c, OP_mul, &product, NULL, &r[0]);
  }
  if (s == OK) r[1] = mask;
  else tensor_release(c, mask), *g = before;
  return s;
}
