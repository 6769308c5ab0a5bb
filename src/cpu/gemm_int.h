/* gemm_int.h: integer products, WORD wide; read by gemm_level.c twice.
 *
 * Sums wrap modulo 2^32 or 2^64, so every order gives the same bits, and a
 * narrower element is widened when it is packed and cut when it is stored.
 *
 *   for piece in k
 *     for panel of 2 vectors in n    pack B -> (INT_DEPTH, 2 vectors)
 *       for tile of 4 rows           pack A -> (INT_DEPTH, 4), sum, add to C
 *
 * Must not know: floats.
 */
#ifndef TENSUS_GEMM_INT_H
#define TENSUS_GEMM_INT_H
enum { INT_ROWS = 4, INT_DEPTH = 256 };
#define Word FN(Word)
#define word_get FN(word_get)
#define word_put FN(word_put)
#define word_tile FN(word_tile)
#define moved FN(moved)
#endif

enum { LANES = VEC_BYTES / WORD_BYTES, SPAN = 2 * LANES };
typedef WORD Word __attribute__((vector_size(VEC_BYTES)));

/* u8 is widened with zeros: what is cut off again does not matter. */
INLINE WORD word_get(int type, const void *data, int64_t i) {
  if (type == GEMM_U8) return ((const uint8_t *)data)[i];
  return ((const WORD *)data)[i];
}

INLINE void word_put(int type, void *data, int64_t i, WORD x, bool add) {
  if (type == GEMM_U8) {
    uint8_t *c = (uint8_t *)data + i;
    *c = (uint8_t)(add ? *c + x : x);
  } else {
    WORD *c = (WORD *)data + i;
    *c = add ? *c + x : x;
  }
}

/* sums (INT_ROWS, SPAN) = a (k, INT_ROWS) x b (k, SPAN) */
static void word_tile(const WORD *a, const WORD *b, int64_t k, WORD *sums) {
  Word sum[INT_ROWS][2] = {{{0}}};
  for (int64_t p = 0; p < k; p++) {
    Word x[2];
    memcpy(x, b + p * SPAN, sizeof x);
    VEC_UNROLL for (int i = 0; i < INT_ROWS; i++) {
      const Word y = a[p * INT_ROWS + i] - (Word){0};
      sum[i][0] += y * x[0], sum[i][1] += y * x[1];
    }
  }
  memcpy(sums, sum, sizeof sum);
}

/* x(lane, step) -> out[step][width], lanes beyond `lanes` are 0. */
static void pack(int type, const void *x, const GemmAxis *lane, int64_t from,
                 int64_t lanes, const GemmAxis *step, int64_t first,
                 int64_t steps, WORD *out, int width) {
  for (int64_t p = 0; p < steps; p++, out += width) {
    const int64_t at = axis_at(step, first + p);
    for (int64_t i = 0; i < width; i++)
      out[i] = i < lanes ? word_get(type, x, at + axis_at(lane, from + i)) : 0;
  }
}

/* A block of one product. */
typedef struct Job {
  const Gemm *g;
  int64_t row, col, rows, cols;
  int64_t a, b, c; /* where the product starts, in elements */
} Job;

/* Element `i` on from the first. */
INLINE const void *moved(int type, const void *x, int64_t i) {
  const int64_t bytes = type == GEMM_U8 ? 1 : WORD_BYTES;
  return (const char *)x + i * bytes;
}

/* C += A B for one piece of k and one panel of columns. */
static void panel(const Job *j, int64_t from, int64_t depth, int64_t col,
                  int64_t cols, const WORD *b, WORD *a, bool add) {
  const Gemm *g = j->g;
  WORD sums[INT_ROWS * SPAN];
  for (int64_t i = 0; i < j->rows; i += INT_ROWS) {
    const int64_t rows = min_i64(INT_ROWS, j->rows - i);
    pack(g->type, moved(g->type, g->a.data, j->a), &g->a.row, j->row + i, rows,
         &g->a.col, from, depth, a, INT_ROWS);
    word_tile(a, b, depth, sums);
    for (int64_t r = 0; r < rows; r++) {
      const int64_t at = j->c + (j->row + i + r) * g->c_row + col * g->c_col;
      for (int64_t l = 0; l < cols; l++)
        word_put(g->type, g->c, at + l * g->c_col, sums[r * SPAN + l], add);
    }
  }
}

static void run(const Job *j, WORD *room) {
  const Gemm *g = j->g;
  WORD *a = room + INT_DEPTH * SPAN;
  int64_t from = 0;
  do { /* once for k = 0: C is cleared */
    const int64_t depth = min_i64(INT_DEPTH, g->k - from);
    for (int64_t l = 0; l < j->cols; l += SPAN) {
      const int64_t cols = min_i64(SPAN, j->cols - l);
      pack(g->type, moved(g->type, g->b.data, j->b), &g->b.col, j->col + l,
           cols, &g->b.row, from, depth, room, SPAN);
      panel(j, from, depth, j->col + l, cols, room, a,
            from > 0 || g->beta != 0);
    }
    from += INT_DEPTH;
  } while (from < g->k);
}

/* Scratch: (INT_DEPTH, SPAN + INT_ROWS) words. */
static void block(const Gemm *g, const GemmBlock *w, void *scratch) {
  Job j = {.g = g, .row = w->row, .col = w->col, .rows = w->rows,
           .cols = w->cols};
  for (int64_t i = 0; i < w->batches; i++) {
    const int64_t n = w->batch + i;
    j.a = n * g->a.batch, j.b = n * g->b.batch, j.c = n * g->c_batch;
    run(&j, (WORD *)scratch);
  }
}
