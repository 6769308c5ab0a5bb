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

static ConvPlan plan_of(const Convolution *c) {
  static const int what[] = {[CONV_VALUE] = CONV_FORWARD,
                             [CONV_TO_X] = CONV_PULL_X,
                             [CONV_TO_WEIGHT] = CONV_PULL_W};
  Conv conv = {.type = c->dtype == DTYPE_F32 ? GEMM_F32 : GEMM_F64,
               .batch = c->batch, .in = c->in, .out = c->out,
               .groups = c->groups};
  for (int i = 0; i < SPACE; i++) {
    conv.size[i] = c->size[i], conv.kernel[i] = c->kernel[i];
    conv.stride[i] = c->stride[i], conv.pad[i] = c->pad[i];
    conv.dilation[i] = c->dilation[i], conv.result[i] = c->result[i];
  }
  return conv_plan(&conv, what[c->what], CONV_BEST, level_best());
}

static ConvData data_of(const Convolution *c) {
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

size_t cpu_conv_room(Backend *b, const Convolution *c) {
  const ConvPlan plan = plan_of(c);
  const int threads = plan.chunks > 1 ? pool_threads(b->pool) : 1;
  return plan.shared_room + plan.room * (size_t)threads;
}

bool cpu_conv(Backend *b, const Convolution *c) {
  Convolving v = {.plan = plan_of(c), .data = data_of(c)};
  v.scratch = (char *)c->scratch + v.plan.shared_room;
  conv_prepare(&v.plan, c->w, c->scratch);
  if (!pool_run(b->pool, v.plan.chunks, conv_work, &v)) return false;
  conv_finish(&v.plan, &v.data);
  return true;
}
