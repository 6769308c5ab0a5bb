/* tile.c: see tile.h.  The plain loops here move bits, so one compilation
 * serves all levels; what gains by wide vectors is in copy_level.c. */
#include "cpu/tile.h"

#include <string.h>

enum {
  LINE = 64,  /* bytes of a cache line */
  BAND = 256, /* bytes of a row that squares write side by side: a few lines */
  FAR = 1024  /* bytes between rows beyond which the processor does not guess */
};

/* ---- cutting a space ---- */

/* ceil(size / step); divisions are slow, and small jobs are many. */
static int64_t tiles_along(int64_t size, int64_t step) {
  if (size <= step) return 1;
  return step == 1 ? size : ceil_div(size, step);
}

Cut cut_space(int axes, const int64_t *size, int64_t rows, int64_t cols,
              bool across) {
  Cut c = {axes, size, rows, cols, across, false, 1, 1, 1};
  int64_t outer = 1;
  for (int d = 0; d < axes - 2; d++) outer *= size[d];
  const int64_t side = axes > 1 ? size[axes - 2] : 1;
  c.wide = tiles_along(size[axes - 1], cols);
  c.high = tiles_along(across ? outer * side : side, rows);
  c.tiles = across ? c.high : outer * c.high * c.wide;
  return c;
}

/* Place number `rest` among the axes up to `d`.  Divisions are slow, and most
 * spaces have few axes: the outermost needs none. */
static void place_at(const Cut *c, Tile *t, int d, int64_t rest) {
  for (; d > 0; d--) {
    t->at[d] = rest % c->size[d];
    rest /= c->size[d];
  }
  if (d == 0) t->at[0] = rest;
}

static void tile_across(const Cut *c, int64_t index, Tile *t) {
  const int last = c->axes - 1;
  const int64_t first = index * c->rows;
  int64_t all = 1;
  for (int d = 0; d < last; d++) all *= c->size[d];
  t->rows = min_i64(c->rows, all - first);
  t->cols = c->cols;
  t->at[last] = 0;
  place_at(c, t, last - 1, first);
}

/* The last digit of *index in base `count`, taken off. */
INLINE int64_t take(int64_t *index, int64_t count) {
  if (count == 1) return 0;
  const int64_t digit = *index % count;
  *index /= count;
  return digit;
}

void tile_at(const Cut *c, int64_t index, Tile *t) {
  if (c->across) {
    tile_across(c, index, t);
    return;
  }
  const int last = c->axes - 1;
  int64_t col = 0, row = 0;
  if (c->down)
    row = take(&index, c->high), col = take(&index, c->wide);
  else {
    col = take(&index, c->wide);
    row = last > 1 ? take(&index, c->high) : index;
  }
  t->at[last] = col * c->cols;
  t->cols = min_i64(c->cols, c->size[last] - t->at[last]);
  t->rows = 1;
  if (last == 0) return;
  t->at[last - 1] = row * c->rows;
  t->rows = min_i64(c->rows, c->size[last - 1] - t->at[last - 1]);
  place_at(c, t, last - 2, index);
}

/* ---- matrices of bits ---- */

/* Loops over elements of one size.  Inlined with constant counts of columns
 * where rows are short. */
#define ELEMENTS(T)                                                           \
  INLINE void nest_##T(int64_t rows, int64_t cols, Matrix to, Matrix from) {  \
    for (int64_t r = 0; r < rows; r++) {                                      \
      T *const a = (T *)to.data + r * to.row;                                 \
      const T *const b = (const T *)from.data + r * from.row;                 \
      for (int64_t c = 0; c < cols; c++) a[c * to.col] = b[c * from.col];     \
    }                                                                         \
  }                                                                           \
  static void fill_##T(int64_t rows, int64_t cols, Matrix to, Matrix from) {  \
    for (int64_t r = 0; r < rows; r++) {                                      \
      T *const a = (T *)to.data + r * to.row;                                 \
      const T b = ((const T *)from.data)[r * from.row];                       \
      if (b == 0)                                                             \
        memset(a, 0, (size_t)cols * sizeof(T));                               \
      else                                                                    \
        for (int64_t c = 0; c < cols; c++) a[c] = b;                          \
    }                                                                         \
  }                                                                           \
  static void loops_##T(int64_t rows, int64_t cols, Matrix to, Matrix from) { \
    switch (cols) {                                                           \
    case 1:                                                                   \
      nest_##T(rows, 1, to, from);                                            \
      break;                                                                  \
    case 2:                                                                   \
      nest_##T(rows, 2, to, from);                                            \
      break;                                                                  \
    case 3:                                                                   \
      nest_##T(rows, 3, to, from);                                            \
      break;                                                                  \
    case 4:                                                                   \
      nest_##T(rows, 4, to, from);                                            \
      break;                                                                  \
    default:                                                                  \
      nest_##T(rows, cols, to, from);                                         \
    }                                                                         \
  }
ELEMENTS(uint8_t)
ELEMENTS(uint16_t)
ELEMENTS(uint32_t)
ELEMENTS(uint64_t)

/* Rows of the source backwards, by vectors of 16 bytes. */
#define REVERSE(T, ...)                                                        \
  static void reverse_##T(int64_t rows, int64_t cols, Matrix to,               \
                          Matrix from) {                                       \
    typedef T Lanes __attribute__((vector_size(16)));                          \
    enum { LANES = 16 / sizeof(T) };                                           \
    for (int64_t r = 0; r < rows; r++) {                                       \
      T *const a = (T *)to.data + r * to.row;                                  \
      const T *const b = (const T *)from.data + r * from.row;                  \
      int64_t c = 0;                                                           \
      for (; c + LANES <= cols; c += LANES) {                                  \
        Lanes v;                                                               \
        memcpy(&v, b - c - (LANES - 1), sizeof v);                             \
        v = __builtin_shufflevector(v, v, __VA_ARGS__);                        \
        memcpy(a + c, &v, sizeof v);                                           \
      }                                                                        \
      for (; c < cols; c++) a[c] = b[-c];                                      \
    }                                                                          \
  }
REVERSE(uint8_t, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
REVERSE(uint16_t, 7, 6, 5, 4, 3, 2, 1, 0)
REVERSE(uint32_t, 3, 2, 1, 0)
REVERSE(uint64_t, 1, 0)

typedef void Loops(int64_t rows, int64_t cols, Matrix to, Matrix from);

static Loops *const fill_by[4] = {fill_uint8_t, fill_uint16_t, fill_uint32_t,
                                  fill_uint64_t};
static Loops *const loops_by[4] = {loops_uint8_t, loops_uint16_t,
                                   loops_uint32_t, loops_uint64_t};

static Loops *const reverse_by[4] = {reverse_uint8_t, reverse_uint16_t,
                                     reverse_uint32_t, reverse_uint64_t};

/* log2 of 1, 2, 4, 8 */
INLINE int size_log(size_t bytes) { return bytes == 8 ? 3 : (int)(bytes >> 1); }

INLINE Matrix moved(Matrix m, size_t bytes, int64_t row, int64_t col) {
  m.data += (row * m.row + col * m.col) * (int64_t)bytes;
  return m;
}

static void copy_rows(size_t bytes, int64_t rows, int64_t cols, Matrix to,
                      Matrix from) {
  if (to.row == cols && from.row == cols) cols *= rows, rows = 1;
  for (int64_t r = 0; r < rows; r++)
    memcpy(to.data + (size_t)(r * to.row) * bytes,
           from.data + (size_t)(r * from.row) * bytes, (size_t)cols * bytes);
}

/* Ask for the lines that a square will write.  Writes far apart wait for their
 * lines one after another: at 2048 x 2048 this is a third of the time. */
INLINE void prefetch_square(char *to, int64_t row_bytes, int64_t side) {
#if defined(__GNUC__)
  for (int64_t r = 0; r < side; r++) __builtin_prefetch(to + r * row_bytes, 1);
#endif
}

/* All whole squares: bands of a few squares, so that the columns of the source
 * stay near, and their lines are used up. */
static void transpose_squares(const CopyLevel *l, int size, int64_t rows,
                              int64_t cols, Matrix to, Matrix from) {
  const size_t bytes = (size_t)1 << size;
  const int64_t side = l->side[size], band = BAND >> size;
  for (int64_t first = 0; first < cols; first += band) {
    const int64_t end = min_i64(first + band, cols);
    for (int64_t r = 0; r < rows; r += side)
      for (int64_t c = first; c < end; c += side) {
        char *const at = moved(to, bytes, r, c).data;
        if (r + side < rows)
          prefetch_square(at + to.row * side * (int64_t)bytes,
                          to.row * (int64_t)bytes, side);
        l->square[size](moved(from, bytes, r, c).data, from.col, at, to.row);
      }
  }
}

/* Squares in registers; what remains at the right and below by loops. */
static void transpose(const CopyLevel *l, size_t bytes, int64_t rows,
                      int64_t cols, Matrix to, Matrix from) {
  const int size = size_log(bytes);
  const int64_t side = l->side[size];
  const int64_t down = rows / side * side, right = cols / side * side;
  transpose_squares(l, size, down, right, to, from);
  if (right < cols)
    loops_by[size](down, cols - right, moved(to, bytes, 0, right),
                   moved(from, bytes, 0, right));
  if (down < rows)
    loops_by[size](rows - down, cols, moved(to, bytes, down, 0),
                   moved(from, bytes, down, 0));
}

void matrix_copy(const CopyLevel *l, size_t bytes, int64_t rows, int64_t cols,
                 Matrix to, Matrix from) {
  const int size = size_log(bytes);
  if (cols <= 4) {
    loops_by[size](rows, cols, to, from);
  } else if (to.col == 1 && from.col == 1) {
    copy_rows(bytes, rows, cols, to, from);
  } else if (to.col == 1 && from.col == 0) {
    fill_by[size](rows, cols, to, from);
  } else if (to.col == 1 && from.col == -1) {
    reverse_by[size](rows, cols, to, from);
  } else if (to.col == 1 && from.row == 1) {
    transpose(l, bytes, rows, cols, to, from);
  } else if (to.row == 1 && from.col == 1) { /* the same, seen from aside */
    transpose(l, bytes, cols, rows, (Matrix){to.data, to.col, to.row},
              (Matrix){from.data, from.col, from.row});
  } else {
    loops_by[size](rows, cols, to, from);
  }
}

/* ---- tiles ---- */

/* Call matrix_copy for each run of rows within the last outer axis. */
static void pack(const CopyLevel *l, const Cut *c, const Tile *t, Strided s,
                 char *packed, bool out) {
  Tile run = *t;
  const int last = c->axes - 1;
  const int64_t row = last > 0 ? s.stride[last - 1] : 0;
  for (int64_t left = t->rows; left > 0;) {
    const int64_t rows =
        last > 0 ? min_i64(left, c->size[last - 1] - run.at[last - 1]) : 1;
    const Matrix side = {packed, t->cols, 1};
    const Matrix array = {s.data +
                              tile_offset(c, &run, s.stride) * (int64_t)s.bytes,
                          row, s.stride[last]};
    matrix_copy(l, s.bytes, rows, t->cols, out ? array : side,
                out ? side : array);
    packed += (size_t)(rows * t->cols) * s.bytes;
    if ((left -= rows) == 0) return;
    run.at[last - 1] += rows;
    for (int d = last - 1; d > 0 && run.at[d] == c->size[d]; d--)
      run.at[d] = 0, run.at[d - 1]++;
  }
}

void tile_pack(const CopyLevel *l, const Cut *c, const Tile *t, Strided from,
               char *packed) {
  pack(l, c, t, from, packed, false);
}

void tile_unpack(const CopyLevel *l, const Cut *c, const Tile *t, Strided to,
                 const char *packed) {
  pack(l, c, t, to, (char *)(uintptr_t)packed, true);
}

void tile_prefetch(const Cut *c, const Tile *t, Strided s) {
#if defined(__GNUC__)
  const int last = c->axes - 1;
  const int64_t size = (int64_t)s.bytes;
  const int64_t row = s.stride[last - 1] * size, col = s.stride[last] * size;
  if (col != size || row < FAR) return;
  const char *at = s.data + tile_offset(c, t, s.stride) * size + t->rows * row;
  const int64_t below = c->size[last - 1] - t->at[last - 1] - t->rows;
  for (int64_t r = min_i64(t->rows, below); r > 0; r--, at += row)
    for (int64_t i = 0; i < t->cols * col; i += LINE)
      __builtin_prefetch(at + i, 1);
#endif
}

/* ---- conversion ---- */

void convert(const CopyLevel *l, int64_t n, Dtype from_type, const void *from,
             Dtype to_type, void *to) {
  ConvertKernel *const kernel = l->convert[from_type][to_type];
  const size_t in = dtype_bytes(from_type), out = dtype_bytes(to_type);
  if (kernel == NULL) {
    memcpy(to, from, (size_t)n * in);
    return;
  }
  const int64_t whole = n / l->pad * l->pad;
  const size_t rest = (size_t)(n - whole);
  if (whole > 0) kernel(whole, from, to);
  if (rest == 0) return;
  _Alignas(64) char a[CONVERT_PAD * 8], b[CONVERT_PAD * 8];
  memcpy(a, (const char *)from + (size_t)whole * in, rest * in);
  memset(a + rest * in, 0, (size_t)l->pad * in - rest * in);
  kernel(l->pad, a, b);
  memcpy((char *)to + (size_t)whole * out, b, rest * out);
}

const CopyLevel *copy_level(int level) {
  static const CopyLevel *const levels[LEVEL_COUNT] = {
    [LEVEL_BASE] = &copy_base,
#if defined(__x86_64__)
    [LEVEL_AVX2] = &copy_avx2,
    [LEVEL_AVX512] = &copy_avx512
#endif
  };
  assert(levels[level] != NULL);
  return levels[level];
}

/* ---- threads ---- */

bool run_chunks(Backend *b, int64_t chunks, PoolWork *work, void *arg) {
  if (chunks > 1 && b->pool != NULL)
    return pool_run(b->pool, chunks, work, arg);
  for (int64_t i = 0; i < chunks; i++) {
    if (i > 0 && b->stop != NULL && *b->stop) return false;
    work(arg, i, 0);
  }
  return true;
}
