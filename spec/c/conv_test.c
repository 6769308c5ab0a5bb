/* conv_test.c: the three products of a convolution against naive loops, and
 * the same bits in either mode, alone or in a batch, in any order. */
#include "check.h"
#include "cpu/conv.h"
#include "cpu/level.h"

static uint64_t seed = 7;

static int64_t pick(int64_t count) {
  return (int64_t)(check_random(&seed) * (double)count);
}

static void *reserve(size_t bytes) {
  void *p = aligned_alloc(64, (bytes + 64) / 64 * 64);
  if (p == NULL) abort();
  memset(p, 0xff, bytes);
  return p;
}

/* Chunks from the last to the first, or as they come; each has scratch of its
 * own, which starts as NaN: so no thread could matter. */
static void run(const Conv *c, int what, int mode, int level, ConvData data,
                bool backwards) {
  ConvPlan plan = conv_plan(c, what, mode, level);
  void *shared = reserve(plan.shared_room);
  conv_prepare(&plan, what == CONV_PULL_W ? NULL : data.other, shared);
  for (int64_t i = 0; i < plan.chunks; i++) {
    void *scratch = reserve(plan.room);
    conv_chunk(&plan, &data, backwards ? plan.chunks - 1 - i : i, scratch);
    free(scratch);
  }
  conv_finish(&plan, &data);
  free(shared);
}

static int64_t volume(const int64_t size[SPACE]) {
  return size[DEEP] * size[DOWN] * size[ACROSS];
}

static int64_t elements(const Conv *c, int which) {
  if (which == 0) return c->batch * c->in * volume(c->size);
  if (which == 1) return c->out * c->in / c->groups * volume(c->kernel);
  return c->batch * c->out * volume(c->result);
}

/* ---- naive ---- */

static double get(int type, const void *data, int64_t i) {
  return type == GEMM_F32 ? (double)((const float *)data)[i]
                          : ((const double *)data)[i];
}

static void put(int type, void *data, int64_t i, double x) {
  if (type == GEMM_F32)
    ((float *)data)[i] = (float)x;
  else
    ((double *)data)[i] = x;
}

/* Operands, sums in f64, and sums of absolute values for the bound. */
typedef struct Naive {
  const Conv *c;
  void *x, *w, *gy, *bias;
  double *sum[3], *size[3]; /* gx, gw, y */
} Naive;

static void add(const Naive *z, int which, int64_t at, double x) {
  z->sum[which][at] += x;
  z->size[which][at] += fabs(x);
}

/* at: image, output channel, input channel of its group, place, tap */
enum { PLACE = 3, TAP = PLACE + SPACE, LOOPS = TAP + SPACE };

static void naive_tap(const Naive *z, const int64_t at[LOOPS]) {
  const Conv *c = z->c;
  const int t = c->type;
  const int64_t in = c->in / c->groups, o = at[1];
  const int64_t i = o / (c->out / c->groups) * in + at[2];
  int64_t xi = at[0] * c->in + i, wi = o * in + at[2];
  int64_t yi = at[0] * c->out + o;
  for (int a = 0; a < SPACE; a++) {
    const int64_t place = at[PLACE + a] * c->stride[a] +
                          at[TAP + a] * c->dilation[a] - c->pad[a];
    if (place < 0 || place >= c->size[a]) return;
    xi = xi * c->size[a] + place;
    wi = wi * c->kernel[a] + at[TAP + a];
    yi = yi * c->result[a] + at[PLACE + a];
  }
  add(z, 0, xi, get(t, z->gy, yi) * get(t, z->w, wi));
  add(z, 1, wi, get(t, z->gy, yi) * get(t, z->x, xi));
  add(z, 2, yi, get(t, z->x, xi) * get(t, z->w, wi));
}

/* One loop over all indices, an odometer. */
static void naive(const Naive *z) {
  const Conv *c = z->c;
  int64_t count[LOOPS] = {c->batch, c->out, c->in / c->groups};
  int64_t at[LOOPS] = {0};
  for (int a = 0; a < SPACE; a++)
    count[PLACE + a] = c->result[a], count[TAP + a] = c->kernel[a];
  for (int d = LOOPS - 1; d >= 0;) {
    naive_tap(z, at);
    for (d = LOOPS - 1; d >= 0 && ++at[d] == count[d]; d--) at[d] = 0;
  }
}

/* ---- one convolution ---- */

/* bias: NULL, or one per channel; then relu. */
static void compare(const char *name, const Naive *z, int which, const void *is,
                    double terms, const void *bias) {
  const Conv *c = z->c;
  const double unit = c->type == GEMM_F32 ? 0x1p-23 : 0x1p-52;
  const int64_t count = elements(c, which);
  const int64_t channels = which == 0 ? c->in : c->out;
  const int64_t plane = which == 1 ? 1 : count / c->batch / channels;
  int64_t bad = 0;
  for (int64_t i = 0; i < count; i++) {
    const double b =
        bias == NULL ? 0 : get(c->type, bias, i / plane % channels);
    const double sum = z->sum[which][i] + b;
    const double want = bias != NULL && sum < 0 ? 0 : sum;
    const double bound = (terms + 8) * unit * (z->size[which][i] + fabs(b));
    bad += !(fabs(get(c->type, is, i) - want) <= bound + 1e-30);
  }
  CHECK(bad == 0, "%s: %lld of %lld", name, (long long)bad, (long long)count);
}

/* y or gx: both modes with and without bias and relu, and an image alone. */
static void check_rows(const Naive *z, int what, int level) {
  const Conv *c = z->c;
  const int which = what == CONV_FORWARD ? 2 : 0;
  const size_t bytes = c->type == GEMM_F32 ? 4 : 8;
  const size_t count = (size_t)elements(c, which);
  const double terms = (double)volume(c->kernel) *
                       (double)(which == 2 ? c->in : c->out);
  ConvData data = {.image = which == 2 ? z->x : z->gy, .other = z->w};
  char *packed = reserve(count * bytes), *r = reserve(count * bytes);
  data.result = packed;
  run(c, what, CONV_PACKED, level, data, false);
  compare("packed", z, which, packed, terms, NULL);
  data.result = r;
  run(c, what, CONV_DIRECT, level, data, true);
  CHECK(memcmp(packed, r, count * bytes) == 0, "direct is not packed");
  Conv one = *c;
  one.batch = 1, data.result = r;
  run(&one, what, CONV_BEST, level, data, true);
  CHECK(memcmp(packed, r, count * bytes / (size_t)c->batch) == 0, "one image");
  data.bias = z->bias, data.relu = true;
  run(c, what, CONV_BEST, level, data, true);
  compare("bias, relu", z, which, r, terms, z->bias);
  free(packed), free(r);
}

static void check_sums(const Naive *z, int level) {
  const Conv *c = z->c;
  const size_t bytes = (size_t)elements(c, 1) * (c->type == GEMM_F32 ? 4 : 8);
  char *r = reserve(bytes), *again = reserve(bytes);
  ConvData data = {.image = z->x, .other = z->gy, .result = r};
  run(c, CONV_PULL_W, CONV_BEST, level, data, false);
  compare("gw", z, 1, r, (double)elements(c, 2) / (double)c->out, NULL);
  data.result = again;
  run(c, CONV_PULL_W, CONV_BEST, level, data, true);
  CHECK(memcmp(r, again, bytes) == 0, "gw in another order of chunks");
  free(r), free(again);
}

static void *random_data(int type, int64_t count) {
  void *x = reserve((size_t)count * 8);
  for (int64_t i = 0; i < count; i++)
    put(type, x, i, check_random(&seed) - 0.5);
  return x;
}

static void check_conv(const Conv *c) {
  const int64_t nx = elements(c, 0), nw = elements(c, 1), ny = elements(c, 2);
  double *sums = calloc((size_t)(2 * (nx + nw + ny)), sizeof *sums);
  if (sums == NULL) abort();
  Naive z = {.c = c,
             .x = random_data(c->type, nx),
             .w = random_data(c->type, nw),
             .gy = random_data(c->type, ny),
             .bias = random_data(c->type, c->in + c->out),
             .sum = {sums, sums + nx, sums + nx + nw}};
  for (int i = 0; i < 3; i++) z.size[i] = z.sum[i] + nx + nw + ny;
  naive(&z);
  for (int level = 0; level <= level_best(); level++) {
    check_rows(&z, CONV_FORWARD, level);
    check_rows(&z, CONV_PULL_X, level);
    check_sums(&z, level);
  }
  free(z.x), free(z.w), free(z.gy), free(z.bias), free(sums);
}

/* ---- which ones ---- */

/* Windows along an axis that is padded by `behind` behind. */
static int64_t result(const Conv *c, int axis, int64_t behind) {
  return (c->size[axis] + c->pad[axis] + behind -
          c->dilation[axis] * (c->kernel[axis] - 1) - 1) /
             c->stride[axis] +
         1;
}

static Conv random_conv(void) {
  Conv c = {.type = (int)pick(2), .batch = 1 + pick(3), .groups = 1,
            .size = {1}, .kernel = {1}, .stride = {1}, .dilation = {1},
            .result = {1}};
  if (pick(3) == 0) c.groups = 1 + pick(5);
  c.in = c.groups * (1 + pick(c.groups > 1 ? 4 : 20));
  c.out = c.groups * (1 + pick(c.groups > 1 ? 4 : 33));
  for (int i = pick(3) == 0 ? DEEP : DOWN; i < SPACE; i++) {
    c.kernel[i] = 1 + pick(5);
    c.stride[i] = pick(2) ? 1 : 1 + pick(3);
    c.pad[i] = pick(4), c.dilation[i] = 1 + pick(2);
    c.size[i] = c.dilation[i] * c.kernel[i] + pick(i == DEEP ? 5 : 30);
    c.result[i] = result(&c, i, pick(3)); /* more padding behind, or less */
  }
  return c;
}

static Conv square(int64_t batch, int64_t in, int64_t out, int64_t groups,
                   int64_t size, int64_t kernel, int64_t pad) {
  Conv c = {GEMM_F32,         batch,          in,        out,
            groups,           {1, size, size}, {1, kernel, kernel},
            {1, 1, 1},        {0, pad, pad},  {1, 1, 1}, {1, 1, 1}};
  c.result[DOWN] = c.result[ACROSS] = result(&c, DOWN, pad);
  return c;
}

/* Shapes that are cut in rows, images and channels. */
static void check_cuts(void) {
  const Conv all[] = {
      square(17, 1, 6, 1, 28, 5, 2),  square(1, 3, 8, 1, 90, 3, 1),
      square(2, 40, 16, 1, 70, 3, 1), square(1, 32, 32, 32, 40, 3, 1),
      square(9, 16, 32, 2, 14, 3, 0), square(2, 64, 80, 1, 9, 3, 1),
      square(3, 2, 2, 1, 1, 1, 0)};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) check_conv(&all[i]);
}

/* More threads than one have work where there is enough of it. */
static void check_chunks(void) {
  const Conv first = square(64, 1, 6, 1, 28, 5, 2);
  const Conv large = square(1, 3, 16, 1, 512, 3, 1);
  const int best = level_best();
  CHECK(conv_plan(&first, CONV_PULL_W, CONV_BEST, best).chunks >= 4);
  CHECK(conv_plan(&large, CONV_PULL_W, CONV_BEST, best).chunks >= 3);
  CHECK(conv_plan(&large, CONV_FORWARD, CONV_BEST, best).chunks >= 8);
  CHECK(conv_plan(&large, CONV_PULL_X, CONV_BEST, best).chunks >= 8);
}

int main(int argc, char **argv) {
  const int cases = argc > 1 ? atoi(argv[1]) : check_fast() ? 20 : 80;
  check_chunks();
  check_cuts();
  for (int i = 0; i < cases; i++) {
    const Conv c = random_conv();
    check_conv(&c);
  }
  return check_report();
}
