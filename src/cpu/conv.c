/* conv.c: says where the elements of an image lie, and lets gemm do the rest.
 *
 *   padded image, one channel       column (oh, ow) of step (c, kh, kw):
 *     0 0 0 0 0 0
 *     0 a b c d 0       offset = [c][kh][kw]   +   [oh * stride][ow * stride]
 *     0 e f g h 0                    step                  lane
 *     0 0 0 0 0 0       no bound is tested: the border is there
 *
 * A chunk makes some rows of one plane of one image and one group, and pads
 * only what they see: of each channel a plane for each tap DEEP.  An image has
 * one plane, a volume has more.  For gw it sums some planes for some input
 * channels.
 *
 * Always: step + lane stays inside the padded rows.
 */
#include "cpu/conv.h"
#include "ground/check.h"
#include <string.h>

enum {
  ALIGN = 64,
  FEW_CHANNELS = 8,       /* scripts/bench/gemm.c: LeNet either side of it */
  CHUNK_FLOPS = 2 << 20,  /* as gemm.c: several times a wake-up */
  CHUNKS = 8,             /* enough for a few threads; more when cheap */
  WINDOW_BYTES = 1 << 19, /* padded rows of a chunk: a quarter of an L2 */
  SPLITS = 16,            /* of gw by planes, when the sums are small: */
  PARTIAL_BYTES = 1 << 16
};

/* ---- sizes ---- */

static int64_t bytes_of(const ConvPlan *p) {
  return p->conv.type == GEMM_F32 ? 4 : 8;
}

static int64_t plane(const int64_t size[SPACE]) {
  return size[DOWN] * size[ACROSS];
}

static int64_t volume(const int64_t size[SPACE]) {
  return size[DEEP] * plane(size);
}

static int64_t taps(const Conv *c) { return volume(c->kernel); }

static int64_t group_in(const Conv *c) { return c->in / c->groups; }

static int64_t group_out(const Conv *c) { return c->out / c->groups; }

/* Rows that one output row sees beyond the first. */
static int64_t reach(const Conv *c, int axis) {
  return c->dilation[axis] * (c->kernel[axis] - 1);
}

static size_t align(int64_t bytes) {
  return (size_t)(ceil_div(bytes, ALIGN) * ALIGN);
}

static bool is_pull_x(const ConvPlan *p) { return p->what == CONV_PULL_X; }

/* Of one group: channels that are read, channels that are made. */
static int64_t channels_read(const ConvPlan *p) {
  return is_pull_x(p) ? group_out(&p->conv) : group_in(&p->conv);
}

static int64_t channels_made(const ConvPlan *p) {
  return is_pull_x(p) ? group_in(&p->conv) : group_out(&p->conv);
}

static const int64_t *made_size(const ConvPlan *p) {
  return is_pull_x(p) ? p->conv.size : p->conv.result;
}

static const int64_t *read_size(const ConvPlan *p) {
  return is_pull_x(p) ? p->conv.result : p->conv.size;
}

/* Padded rows or columns from one output to the next. */
static int64_t stride_of(const ConvPlan *p, int axis) {
  return is_pull_x(p) ? 1 : p->conv.stride[axis];
}

/* Entries of the table of steps. */
static int64_t steps(const ConvPlan *p) {
  return channels_read(p) * taps(&p->conv);
}

/* Gathering a column pays from 9 channels made of it on; below, and where
 * rows are long enough for vectors, the kernel reads the image itself. */
static int best_mode(const ConvPlan *p) {
  const int64_t lanes = gemm_level(p->level, p->conv.type)->lanes;
  const bool direct = p->what != CONV_PULL_W && stride_of(p, ACROSS) == 1 &&
                      channels_made(p) <= FEW_CHANNELS &&
                      made_size(p)[ACROSS] * 2 > lanes;
  return direct ? CONV_DIRECT : CONV_PACKED;
}

/* Rows or columns of x from the first of its border to the last that is read
 * or x's own. */
static int64_t bordered(const Conv *c, int axis) {
  const int64_t read =
      (c->result[axis] - 1) * c->stride[axis] + reach(c, axis) + 1;
  return max_i64(c->pad[axis] + c->size[axis], read);
}

/* ---- the cut ---- */

static double flops(const ConvPlan *p) {
  return 2.0 * (double)channels_made(p) * (double)steps(p) *
         (double)plane(made_size(p));
}

/* Rows of a chunk: few enough for the cache, and for some threads. */
static void cut_rows(ConvPlan *p) {
  const Conv *c = &p->conv;
  const int64_t all = made_size(p)[DOWN];
  const int64_t planes = c->batch * c->groups * made_size(p)[DEEP];
  const int64_t row =
      channels_read(p) * p->padded[DEEP] * p->padded[ACROSS] * bytes_of(p);
  const int64_t halo = reach(c, DOWN);
  const int64_t fit = (WINDOW_BYTES / row - halo) / stride_of(p, DOWN);
  const int64_t least = min_i64(all, 4 * (halo + 1)); /* or it is all halo */
  p->parts = ceil_div(all, min_i64(all, max_i64(fit, least)));
  while (planes * p->parts < CHUNKS && p->parts * 2 <= all &&
         flops(p) > 2.0 * CHUNK_FLOPS * (double)p->parts)
    p->parts *= 2;
  p->rows = ceil_div(all, p->parts);
  p->parts = ceil_div(all, p->rows);
  p->chunks = planes * p->parts;
  p->padded[DOWN] = (p->rows - 1) * stride_of(p, DOWN) + halo + 1;
}

/* gw: planes apart where its sums are small, else input channels apart. */
static void cut_sums(ConvPlan *p) {
  const Conv *c = &p->conv;
  const int64_t bytes = c->out * steps(p) * bytes_of(p);
  const int64_t all = c->batch * c->result[DEEP];
  const double work = flops(p) * (double)(all * c->groups) / CHUNK_FLOPS;
  const int64_t wanted = work < 1 ? 1 : work < SPLITS ? (int64_t)work : SPLITS;
  int64_t splits = 1;
  if (bytes <= PARTIAL_BYTES) splits = ceil_div(wanted, c->groups);
  p->planes = ceil_div(all, min_i64(all, splits));
  p->splits = ceil_div(all, p->planes);
  const int64_t cuts = ceil_div(min_i64(wanted, CHUNKS), c->groups * p->splits);
  p->channels = ceil_div(group_in(c), min_i64(group_in(c), cuts));
  p->parts = ceil_div(group_in(c), p->channels);
  p->chunks = c->groups * p->parts * p->splits;
  p->rows = c->result[DOWN];
  p->padded[DOWN] = bordered(c, DOWN);
}

/* The product of one plane and one group, pointers still missing. */
static Gemm product(const ConvPlan *p) {
  const Conv *c = &p->conv;
  const int64_t row = made_size(p)[ACROSS];
  Gemm g = {.type = c->type, .batch = 1, .alpha = 1, .c_col = 1};
  g.a.col.stride = 1;
  if (p->what == CONV_PULL_W) {
    g.m = group_out(c), g.n = p->channels * taps(c), g.k = plane(p->conv.result);
    g.a.row.stride = volume(c->result), g.c_row = steps(p);
    return g;
  }
  g.tiled = true; /* DIRECT and PACKED have other rows and columns */
  g.m = channels_made(p), g.n = p->rows * row, g.k = steps(p);
  g.a.row.stride = g.k, g.c_row = volume(made_size(p)), g.bias_row = 1;
  if (p->mode == CONV_PACKED) return g;
  g.batch = p->rows, g.n = row, g.c_batch = row;
  g.b.batch = stride_of(p, DOWN) * p->padded[ACROSS];
  g.b.col.stride = stride_of(p, ACROSS);
  return g;
}

/* A chunk of fewer rows or channels than most. */
static Gemm last_product(const ConvPlan *p) {
  const int64_t rows = made_size(p)[DOWN] - (p->parts - 1) * p->rows;
  Gemm g = p->product;
  if (p->what == CONV_PULL_W)
    g.n = (group_in(&p->conv) - (p->parts - 1) * p->channels) * taps(&p->conv);
  else if (p->mode == CONV_DIRECT)
    g.batch = rows;
  else
    g.n = rows * made_size(p)[ACROSS];
  return g;
}

/* The padded channels that a chunk reads. */
static size_t image_room(const ConvPlan *p) {
  const int64_t count = p->what == CONV_PULL_W ? p->channels : channels_read(p);
  return align(count * volume(p->padded) * bytes_of(p));
}

static size_t product_room(const ConvPlan *p) {
  const Gemm last = last_product(p);
  const size_t room = gemm_room(&p->product, p->level);
  const size_t last_room = gemm_room(&last, p->level);
  return room > last_room ? room : last_room;
}

/* shared: steps | lanes | turned weights or partial sums */
static int64_t lanes(const ConvPlan *p) { return p->rows * made_size(p)[ACROSS]; }

static size_t tables_room(const ConvPlan *p) {
  return align((steps(p) + lanes(p)) * (int64_t)sizeof(int64_t));
}

static size_t sums_room(const ConvPlan *p) {
  const int64_t weights = p->conv.out * group_in(&p->conv) * taps(&p->conv);
  if (is_pull_x(p)) return align(weights * bytes_of(p));
  return p->splits > 1 ? align(p->splits * weights * bytes_of(p)) : 0;
}

ConvPlan conv_plan(const Conv *c, int what, int mode, int level) {
  ConvPlan p = {
      .conv = *c, .what = what, .mode = mode, .level = level, .splits = 1};
  assert(c->in % c->groups == 0 && c->out % c->groups == 0);
  assert(volume(c->result) > 0);
  p.padded[DEEP] = c->kernel[DEEP];
  p.padded[ACROSS] = is_pull_x(&p) ? c->size[ACROSS] + reach(c, ACROSS)
                                   : bordered(c, ACROSS);
  if (mode == CONV_BEST) p.mode = best_mode(&p);
  if (what == CONV_PULL_W)
    cut_sums(&p);
  else
    cut_rows(&p);
  p.product = product(&p);
  p.shared_room = tables_room(&p) + sums_room(&p);
  p.room = image_room(&p) + product_room(&p);
  return p;
}

/* ---- before the chunks ---- */

/* One channel's part of table[(c, kd, kh, kw)], from offset `at` on; rows and
 * columns of the kernel are turned around for PULL_X. */
static int64_t *fill_taps(const ConvPlan *p, int64_t at, int64_t *table) {
  const Conv *c = &p->conv;
  for (int64_t h = 0; h < c->kernel[DOWN]; h++)
    for (int64_t w = 0; w < c->kernel[ACROSS]; w++) {
      const int64_t down = is_pull_x(p) ? c->kernel[DOWN] - 1 - h : h;
      const int64_t right = is_pull_x(p) ? c->kernel[ACROSS] - 1 - w : w;
      *table++ = at + down * c->dilation[DOWN] * p->padded[ACROSS] +
                 right * c->dilation[ACROSS];
    }
  return table;
}

static void fill_steps(const ConvPlan *p, int64_t *table) {
  const int64_t planes = channels_read(p) * p->padded[DEEP];
  for (int64_t i = 0; i < planes; i++)
    table = fill_taps(p, i * plane(p->padded), table);
}

static void fill_lanes(const ConvPlan *p, int64_t *table) {
  for (int64_t h = 0; h < p->rows; h++)
    for (int64_t w = 0; w < made_size(p)[ACROSS]; w++)
      *table++ = h * stride_of(p, DOWN) * p->padded[ACROSS] + w * stride_of(p, ACROSS);
}

/* w (groups, in, out, kernel), as PULL_X reads and makes, -> turned (groups,
 * out, in, kernel) */
static void turn_weights(const ConvPlan *p, const char *w, char *turned) {
  const int64_t in = channels_read(p), out = channels_made(p);
  const int64_t bytes = taps(&p->conv) * bytes_of(p);
  for (int64_t g = 0; g < p->conv.groups; g++)
    for (int64_t o = 0; o < out; o++)
      for (int64_t i = 0; i < in; i++, turned += bytes)
        memcpy(turned, w + ((g * in + i) * out + o) * bytes, (size_t)bytes);
}

void conv_prepare(ConvPlan *p, const void *w, void *shared) {
  int64_t *table = shared;
  char *rest = (char *)shared + tables_room(p);
  Gemm *g = &p->product;
  fill_steps(p, table);
  fill_lanes(p, table + steps(p));
  if (p->what == CONV_PULL_W) {
    g->b.row.table = table + steps(p), g->b.col.table = table;
    p->partial = p->splits > 1 ? rest : NULL;
    return;
  }
  g->b.row.table = table;
  if (p->mode == CONV_PACKED) g->b.col.table = table + steps(p);
  if (!is_pull_x(p)) return;
  turn_weights(p, w, rest);
  g->a.data = rest;
}

/* ---- the padded rows ---- */

/* One row of x between its borders. */
static void pad_row(const ConvPlan *p, const char *x, char *out) {
  const size_t bytes = (size_t)bytes_of(p);
  const size_t pad = (size_t)p->conv.pad[ACROSS] * bytes;
  const size_t row = (size_t)p->conv.size[ACROSS] * bytes;
  memset(out, 0, pad);
  memcpy(out + pad, x, row);
  memset(out + pad + row, 0, (size_t)p->padded[ACROSS] * bytes - pad - row);
}

/* Rows [top, top + padded[DOWN]) of one channel of x with its border. */
static void pad_plane(const ConvPlan *p, const char *x, int64_t top,
                      char *out) {
  const Conv *c = &p->conv;
  const int64_t row = p->padded[ACROSS] * bytes_of(p);
  for (int64_t i = 0; i < p->padded[DOWN]; i++, out += row) {
    const int64_t h = top + i - c->pad[DOWN];
    if (h < 0 || h >= c->size[DOWN])
      memset(out, 0, (size_t)row);
    else
      pad_row(p, x + h * c->size[ACROSS] * bytes_of(p), out);
  }
}

/* One row of gy, `stride` apart, cut where it leaves the image. */
static void spread_row(const ConvPlan *p, const char *gy, char *out) {
  const Conv *c = &p->conv;
  const int64_t bytes = bytes_of(p), step = c->stride[ACROSS];
  const int64_t left = reach(c, ACROSS) - c->pad[ACROSS];
  const int64_t first = left < 0 ? (step - 1 - left) / step : 0;
  const int64_t last =
      min_i64(p->conv.result[ACROSS], (p->padded[ACROSS] - left + step - 1) / step);
  if (last <= first) return;
  gy += first * bytes, out += (left + first * step) * bytes;
  if (step == 1) {
    memcpy(out, gy, (size_t)((last - first) * bytes));
    return;
  }
  for (int64_t j = 0; j < last - first; j++)
    memcpy(out + j * step * bytes, gy + j * bytes, (size_t)bytes);
}

/* Rows [top, ...) of one channel of gy, each element where its first kernel
 * tap lands, zeros elsewhere. */
static void spread_plane(const ConvPlan *p, const char *gy, int64_t top,
                         char *out) {
  const Conv *c = &p->conv;
  const int64_t row = p->padded[ACROSS] * bytes_of(p);
  const int64_t start = reach(c, DOWN) - c->pad[DOWN] - top;
  memset(out, 0, (size_t)(p->padded[DOWN] * row));
  for (int64_t i = 0; i < p->conv.result[DOWN]; i++) {
    const int64_t h = start + i * c->stride[DOWN];
    if (h >= 0 && h < p->padded[DOWN])
      spread_row(p, gy + i * p->conv.result[ACROSS] * bytes_of(p), out + h * row);
  }
}

/* The plane of the image that tap `tap` DEEP of the plane `made` reads; -1:
 * none, it lies in the border or between strides. */
static int64_t plane_read(const ConvPlan *p, int64_t made, int64_t tap) {
  const Conv *c = &p->conv;
  const int64_t step = c->stride[DEEP], lift = tap * c->dilation[DEEP];
  int64_t at = made * step + lift - c->pad[DEEP];
  if (is_pull_x(p)) {
    const int64_t from = made + c->pad[DEEP] - lift;
    at = from % step == 0 ? from / step : -1;
  }
  return at < read_size(p)[DEEP] ? at : -1;
}

static void place_plane(const ConvPlan *p, const char *x, int64_t top,
                        char *scratch) {
  if (x == NULL)
    memset(scratch, 0, (size_t)(plane(p->padded) * bytes_of(p)));
  else if (is_pull_x(p))
    spread_plane(p, x, top, scratch);
  else
    pad_plane(p, x, top, scratch);
}

/* Channels of an image from `first` on, counted over the batch, as the plane
 * `made` sees them -> scratch */
static void place(const ConvPlan *p, const void *image, int64_t first,
                  int64_t count, int64_t made, int64_t top, char *scratch) {
  const int64_t bytes = bytes_of(p), to = plane(p->padded) * bytes;
  for (int64_t i = first; i < first + count; i++)
    for (int64_t tap = 0; tap < p->padded[DEEP]; tap++, scratch += to) {
      const int64_t at = plane_read(p, made, tap);
      const int64_t from = i * volume(read_size(p)) + at * plane(read_size(p));
      place_plane(p, at < 0 ? NULL : (const char *)image + from * bytes, top,
                  scratch);
    }
}

/* ---- a chunk ---- */

static void multiply(const Gemm *g, int level, void *scratch) {
  const GemmPlan plan = gemm_plan(g, level);
  for (int64_t i = 0; i < plan.chunks; i++) gemm_chunk(&plan, i, scratch);
}

/* Some rows of y or gx, of one plane, one image and one group. */
static void make_rows(const ConvPlan *p, const ConvData *d, int64_t chunk,
                      char *scratch) {
  const int64_t *made = made_size(p);
  const int64_t part = chunk % p->parts, slice = chunk / p->parts % made[DEEP];
  const int64_t which = chunk / p->parts / made[DEEP]; /* image, group */
  const int64_t group = which % p->conv.groups;
  const int64_t bytes = bytes_of(p), first = group * channels_made(p);
  const int64_t top = part * p->rows;
  Gemm g = part == p->parts - 1 ? last_product(p) : p->product;
  const char *w = is_pull_x(p) ? g.a.data : d->other;
  place(p, d->image, which * channels_read(p), channels_read(p), slice,
        top * stride_of(p, DOWN), scratch);
  g.a.data = w + first * steps(p) * bytes;
  g.b.data = scratch;
  g.c = (char *)d->result + (which * channels_made(p) * volume(made) +
                             slice * plane(made) + top * made[ACROSS]) *
                                bytes;
  if (d->bias != NULL) g.bias = (const char *)d->bias + first * bytes;
  g.relu = d->relu;
  multiply(&g, p->level, scratch + image_room(p));
}

/* gw (group, out, channels, kernel): some planes, one after the other. */
static void sum_planes(const ConvPlan *p, const ConvData *d, int64_t chunk,
                       char *scratch) {
  const Conv *c = &p->conv;
  const int64_t bytes = bytes_of(p), deep = c->result[DEEP];
  const int64_t part = chunk % p->parts, split = chunk / p->parts % p->splits;
  const int64_t group = chunk / p->parts / p->splits;
  const int64_t first = part * p->channels;
  const int64_t count = min_i64(p->channels, group_in(c) - first);
  const int64_t end = min_i64(c->batch * deep, (split + 1) * p->planes);
  Gemm g = part == p->parts - 1 ? last_product(p) : p->product;
  char *sums = p->partial == NULL
                   ? d->result
                   : p->partial + split * c->out * steps(p) * bytes;
  g.c = sums + (group * g.m * steps(p) + first * taps(c)) * bytes;
  g.b.data = scratch;
  for (int64_t n = split * p->planes; n < end; n++) {
    const int64_t which = n / deep * c->groups + group, slice = n % deep;
    place(p, d->image, which * group_in(c) + first, count, slice, 0, scratch);
    g.a.data = (const char *)d->other +
               (which * g.m * deep + slice) * g.k * bytes;
    multiply(&g, p->level, scratch + image_room(p));
    g.beta = 1;
  }
}

void conv_chunk(const ConvPlan *p, const ConvData *data, int64_t chunk,
                void *scratch) {
  assert(chunk >= 0 && chunk < p->chunks);
  (p->what == CONV_PULL_W ? sum_planes : make_rows)(p, data, chunk, scratch);
}

/* ---- after the chunks ---- */

void conv_finish(const ConvPlan *p, const ConvData *data) {
  if (p->partial == NULL) return;
  const int64_t count = p->conv.out * steps(p);
  if (p->conv.type == GEMM_F32) {
    float *r = data->result;
    const float *s = (const float *)(const void *)p->partial;
    for (int64_t i = 0; i < count; i++) r[i] = s[i];
    for (int64_t n = 1; n < p->splits; n++)
      for (int64_t i = 0; i < count; i++) r[i] += s[n * count + i];
  } else {
    double *r = data->result;
    const double *s = (const double *)(const void *)p->partial;
    for (int64_t i = 0; i < count; i++) r[i] = s[i];
    for (int64_t n = 1; n < p->splits; n++)
      for (int64_t i = 0; i < count; i++) r[i] += s[n * count + i];
  }
}
