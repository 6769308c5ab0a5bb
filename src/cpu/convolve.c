/* convolve.c: convolutions, through the plans of conv.h.
 *
 *   scratch   shared (tables, turned weights, partial sums) | worker 0 | 1 ...
 *
 * Must not know: how an image is read.
 */
#include "cpu/conv.h"
#include "cpu/kernels.h"
#include "cpu/level.h"

typedef struct Convolving {
  ConvPlan plan;
  ConvData data;
  char *scratch; /* of the workers */
} Convolving;

static ConvPlan plan_of(const Conv2d *c) {
  static const int what[] = {[CONV_VALUE] = CONV_FORWARD,
                             [CONV_TO_X] = CONV_PULL_X,
                             [CONV_TO_WEIGHT] = CONV_PULL_W};
  const Conv conv = {.type = c->dtype == DTYPE_F32 ? GEMM_F32 : GEMM_F64,
                     .batch = c->batch, .in = c->in, .out = c->out,
                     .groups = c->groups,
                     .size = {c->size[0], c->size[1]},
                     .kernel = {c->kernel[0], c->kernel[1]},
                     .stride = {c->stride[0], c->stride[1]},
                     .pad = {c->pad[0], c->pad[1]},
                     .dilation = {c->dilation[0], c->dilation[1]}};
  assert(conv_result(&conv, 0) == c->result[0]);
  assert(conv_result(&conv, 1) == c->result[1]);
  return conv_plan(&conv, what[c->what], CONV_BEST, level_best());
}

static ConvData data_of(const Conv2d *c) {
  switch (c->what) {
  case CONV_VALUE:
    return (ConvData){.image = c->x, .other = c->w, .result = c->y,
                      .bias = c->bias};
  case CONV_TO_X:
    return (ConvData){.image = c->y, .other = c->w, .result = c->x};
  default:
    return (ConvData){.image = c->x, .other = c->y, .result = c->w};
  }
}

static void conv_work(void *arg, int64_t job, int worker) {
  const Convolving *c = arg;
  conv_chunk(&c->plan, &c->data, job,
             c->scratch + (size_t)worker * c->plan.room);
}

size_t cpu_conv_room(Backend *b, const Conv2d *c) {
  const ConvPlan plan = plan_of(c);
  const int threads = plan.chunks > 1 ? pool_threads(b->pool) : 1;
  return plan.shared_room + plan.room * (size_t)threads;
}

bool cpu_conv(Backend *b, const Conv2d *c) {
  Convolving v = {.plan = plan_of(c), .data = data_of(c)};
  v.scratch = (char *)c->scratch + v.plan.shared_room;
  conv_prepare(&v.plan, c->w, c->scratch);
  if (!pool_run(b->pool, v.plan.chunks, conv_work, &v)) return false;
  conv_finish(&v.plan, &v.data);
  return true;
}
