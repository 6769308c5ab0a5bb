/* product.c: matrix products, through the plans of gemm.h.
 *
 * Must not know: tiles, vectors.
 */
#include "cpu/gemm.h"
#include "cpu/kernels.h"
#include "cpu/level.h"

enum { JOB_PRODUCTS = 1 << 16 }; /* multiplications of a plain job: 30 us */

static int type_of(Dtype d) {
  switch (d) {
  case DTYPE_F32: return GEMM_F32;
  case DTYPE_F64: return GEMM_F64;
  case DTYPE_I32: return GEMM_I32;
  case DTYPE_I64: return GEMM_I64;
  default: return GEMM_U8; /* i8 wraps to the same bits */
  }
}

static Gemm as_gemm(const Product *p) {
  return (Gemm){.type = type_of(p->dtype),
                .batch = p->batch, .m = p->m, .n = p->n, .k = p->k,
                .a = {p->a, {p->a_row, NULL}, {p->a_col, NULL}, p->a_batch},
                .b = {p->b, {p->b_row, NULL}, {p->b_col, NULL}, p->b_batch},
                .c = p->c, .c_row = p->c_row, .c_col = p->c_col,
                .c_batch = p->c_batch, .alpha = 1};
}

/* ---- i16: the one type without tiles ---- */

/* A row of C. */
static void short_row(const Product *p, int64_t batch, int64_t i) {
  const uint16_t *a = (const uint16_t *)(const void *)p->a;
  const uint16_t *b = (const uint16_t *)(const void *)p->b;
  uint16_t *c = (uint16_t *)(void *)p->c;
  a += batch * p->a_batch + i * p->a_row, b += batch * p->b_batch;
  c += batch * p->c_batch + i * p->c_row;
  for (int64_t j = 0; j < p->n; j++) {
    uint32_t sum = 0;
    for (int64_t k = 0; k < p->k; k++)
      sum += (uint32_t)a[k * p->a_col] *
             (uint32_t)b[k * p->b_row + j * p->b_col];
    c[j * p->c_col] = (uint16_t)sum;
  }
}

static int64_t short_rows(const Product *p) {
  return max_i64(1, JOB_PRODUCTS / max_i64(1, p->n * max_i64(1, p->k)));
}

static void short_work(void *arg, int64_t job, int worker) {
  const Product *p = arg;
  const int64_t rows = short_rows(p), first = job * rows;
  const int64_t last = min_i64(first + rows, p->batch * p->m);
  (void)worker;
  for (int64_t i = first; i < last; i++) short_row(p, i / p->m, i % p->m);
}

/* ---- the others ---- */

typedef struct Multiplying {
  GemmPlan plan;
  char *scratch;
} Multiplying;

static void product_work(void *arg, int64_t job, int worker) {
  const Multiplying *m = arg;
  gemm_chunk(&m->plan, job, m->scratch + (size_t)worker * m->plan.room);
}

/* One chunk runs on the caller alone. */
size_t cpu_product_room(Backend *b, const Product *p) {
  if (p->dtype == DTYPE_I16) return 0;
  const Gemm g = as_gemm(p);
  const GemmPlan plan = gemm_plan(&g, level_best());
  const int threads = plan.chunks > 1 ? pool_threads(b->pool) : 1;
  return plan.room * (size_t)threads;
}

bool cpu_product(Backend *b, const Product *p) {
  if (p->dtype == DTYPE_I16) {
    Product copy = *p;
    return pool_run(b->pool, ceil_div(p->batch * p->m, short_rows(p)),
                    short_work, &copy);
  }
  const Gemm g = as_gemm(p);
  Multiplying m = {gemm_plan(&g, level_best()), p->scratch};
  return pool_run(b->pool, m.plan.chunks, product_work, &m);
}
