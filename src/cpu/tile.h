/* tile.h: strided arrays in tiles: where a tile stands, packed and converted.
 *
 *   size (4, 3, 5), tiles of 2 x 5       across: tiles of 2 x 5 of 12 rows
 *     +-----+-----+-----+-----+            rows 0 1 | 2 3 | 4 5 | ...
 *     | 0 1 | 0 1 | 0 1 | 0 1 |            a tile may span an outer axis
 *     | 2   | 2   | 2   | 2   |
 *     +-----+-----+-----+-----+
 *
 * The last axis holds the columns, the one before it the rows.
 * Must not know: what is computed on a tile, threads.
 */
#ifndef TENSUS_TILE_H
#define TENSUS_TILE_H

#include "cpu/kernels.h"

enum {
  TILE_BYTES = 4096, /* of one operand: six of them and more in a 48 KiB L1 */
  CHUNK = 1 << 16    /* elements that a thread takes at a time: 5 to 100 us,
                        several times a wake-up */
};

/* A space cut in tiles. */
typedef struct Cut {
  int axes;
  const int64_t *size;
  int64_t rows, cols; /* of a full tile */
  bool across;        /* cols == size[axes - 1], and rows cross outer axes */
  bool down;          /* tiles are counted down the rows first */
  int64_t wide, high; /* tiles along the columns, along the rows */
  int64_t tiles;
} Cut;

/* rows x cols elements from place `at` on; at[axes - 2] counts on past its
 * size when the tile goes across. */
typedef struct Tile {
  int64_t at[MAX_RANK];
  int64_t rows, cols;
} Tile;

Cut cut_space(int axes, const int64_t *size, int64_t rows, int64_t cols,
              bool across);

/* Tile number `index` in row-major order, or `down`. */
void tile_at(const Cut *c, int64_t index, Tile *t);

/* Place of the first element of the tile, in elements. */
INLINE int64_t tile_offset(const Cut *c, const Tile *t, const int64_t *stride) {
  int64_t offset = 0;
  for (int d = 0; d < c->axes; d++) offset += t->at[d] * stride[d];
  return offset;
}

/* A strided array of elements of `bytes`. */
typedef struct Strided {
  char *data;
  const int64_t *stride;
  size_t bytes;
} Strided;

/* Elements of the tile, side by side in row-major order, from or to `packed`,
 * which shares none with the array. */
void tile_pack(const CopyLevel *l, const Cut *c, const Tile *t, Strided from,
               char *packed);
void tile_unpack(const CopyLevel *l, const Cut *c, const Tile *t, Strided to,
                 const char *packed);

/* Ask for the lines of the tile below this one, which is going to be read or
 * written.  For rows far apart: there the processor does not guess them. */
void tile_prefetch(const Cut *c, const Tile *t, Strided s);

/* A matrix of elements, strides in elements. */
typedef struct Matrix {
  char *data;
  int64_t row, col;
} Matrix;

/* to = from, elements of 1, 2, 4 or 8 bytes; no element shared. */
void matrix_copy(const CopyLevel *l, size_t bytes, int64_t rows, int64_t cols,
                 Matrix to, Matrix from);

/* Side by side, n elements; the arrays share none.  Equal dtypes: bits. */
void convert(const CopyLevel *l, int64_t n, Dtype from_type, const void *from,
             Dtype to_type, void *to);

const CopyLevel *copy_level(int level);

/* work(arg, i, worker) for i < chunks; one chunk runs on the spot.  False when
 * the stop flag was seen before the last one began. */
bool run_chunks(Backend *b, int64_t chunks, PoolWork *work, void *arg);

#endif
