/* mask.c: what stands where a mask is true, packed, spread and counted.
 *
 *   mask    1 0 1 1 | 0 0 1 0 | 1 1 0 1     chunks of the row-major space
 *   counts     3    |    1    |    3        first pass
 *   starts     0         3         4    7   their running sum
 *
 * In the second pass every chunk knows where its elements go.
 * Must not know: what the numbers are good for.
 */
#include "cpu/axes.h"
#include "cpu/kernels.h"

#include <string.h>

enum { MASK_CHUNK = 1 << 14 }; /* elements; 16 KiB of mask in half an L1 */

/* Part of one row: `count` elements from position `first` of the last axis.
 * Element k of `dense` is the next, `end` those of the chunk. */
typedef struct Row {
  int64_t count, first;
  const uint8_t *mask;
  int64_t mask_step;
  char *data;
  int64_t data_step;
  const int64_t *at; /* positions along the axes before */
} Row;

typedef struct Masking {
  const Masked *m;
  int64_t *start; /* chunks + 1 */
  int64_t row, count, bytes;
} Masking;

static int64_t chunk_count(int64_t elements) {
  return ceil_div(elements, MASK_CHUNK);
}

size_t cpu_mask_room(Backend *b, const Masked *m) {
  (void)b;
  const int64_t n = chunk_count(axes_count(m->axes, m->size));
  return (size_t)(n + 1) * sizeof(int64_t);
}

static Masking masking_of(const Masked *m) {
  return (Masking){.m = m,
                   .start = m->scratch,
                   .row = m->size[m->axes - 1],
                   .count = axes_count(m->axes, m->size),
                   .bytes = (int64_t)dtype_bytes(m->dtype)};
}

/* ---- the rows of a chunk ---- */

/* Where the rows of a chunk start. */
typedef struct Rows {
  Walk mask, data;
  int64_t next, last; /* elements */
} Rows;

static void rows_start(const Masking *k, int64_t chunk, Rows *r) {
  const Masked *m = k->m;
  r->next = chunk * MASK_CHUNK;
  r->last = min_i64(r->next + MASK_CHUNK, k->count);
  const int64_t row = r->next / k->row;
  walk_start(&r->mask, m->axes - 1, m->size, m->mask_stride, row);
  walk_start(&r->data, m->axes - 1, m->size, m->data_stride, row);
}

static bool rows_next(const Masking *k, Rows *r, Row *row) {
  const Masked *m = k->m;
  const int axis = m->axes - 1;
  if (r->next >= r->last) return false;
  row->first = r->next % k->row;
  row->count = min_i64(k->row - row->first, r->last - r->next);
  row->mask_step = m->mask_stride[axis], row->data_step = m->data_stride[axis];
  row->mask = (const uint8_t *)m->mask + r->mask.offset +
              row->first * row->mask_step;
  row->data = m->data;
  if (m->data != NULL)
    row->data += (r->data.offset + row->first * row->data_step) * k->bytes;
  row->at = r->mask.at;
  r->next += row->count;
  return true;
}

static void rows_step(Rows *r) {
  walk_next(&r->mask);
  walk_next(&r->data);
}

/* ---- counting ---- */

/* Bytes of a word that are not 0. */
static int64_t count_word(uint64_t w) {
  const uint64_t low = UINT64_C(0x7f7f7f7f7f7f7f7f);
  return __builtin_popcountll((((w & low) + low) | w) & ~low);
}

static int64_t count_row(const Row *r) {
  int64_t n = 0, i = 0;
  if (r->mask_step == 1)
    for (; i + 8 <= r->count; i += 8) {
      uint64_t w;
      memcpy(&w, r->mask + i, sizeof w);
      n += count_word(w);
    }
  for (; i < r->count; i++) n += r->mask[i * r->mask_step] != 0;
  return n;
}

static void count_chunk(void *arg, int64_t chunk, int worker) {
  const Masking *k = arg;
  Rows rows;
  Row row;
  int64_t n = 0;
  (void)worker;
  rows_start(k, chunk, &rows);
  for (; rows_next(k, &rows, &row); rows_step(&rows)) n += count_row(&row);
  k->start[chunk] = n;
}

int64_t cpu_mask_count(Backend *b, const Masked *m) {
  Masking k = masking_of(m);
  int64_t sum = 0;
  const int64_t chunks = chunk_count(k.count);
  if (!pool_run(b->pool, chunks, count_chunk, &k)) return -1;
  for (int64_t i = 0; i < chunks; i++) {
    const int64_t n = k.start[i];
    k.start[i] = sum;
    sum += n;
  }
  return k.start[chunks] = sum;
}

/* ---- moving ---- */

/* Moves at most end - at elements; returns the place of the next one.  A
 * store goes to the next place whether the mask is true or not: no branch to
 * guess; none of it leaves the chunk's own places. */
typedef int64_t MaskMove(const Row *r, char *dense, int64_t at, int64_t end);

/* Is the mask false for the eight elements from i on? */
INLINE bool skips(const Row *r, int64_t i) {
  uint64_t w;
  if (r->mask_step != 1 || i + 8 > r->count) return false;
  memcpy(&w, r->mask + i, sizeof w);
  return w == 0;
}

#define MASK_LOOP(name, type, body)                                          \
  static int64_t name(const Row *r, char *to, int64_t at, int64_t end) {     \
    type *dense = (type *)(void *)to, *data = (type *)(void *)r->data;       \
    for (int64_t i = 0; i < r->count && at < end;) {                         \
      if (skips(r, i)) {                                                     \
        i += 8;                                                              \
        continue;                                                            \
      }                                                                      \
      const int64_t stop = min_i64(i + 8, r->count);                         \
      for (; i < stop && at < end; i++) {                                    \
        const bool is = r->mask[i * r->mask_step] != 0;                      \
        type *d = data + i * r->data_step;                                   \
        body;                                                                \
        at += is;                                                            \
      }                                                                      \
    }                                                                        \
    return at;                                                               \
  }
#define MASK_MOVERS(type, bits)                         \
  MASK_LOOP(take_##bits, type, dense[at] = *d)          \
  MASK_LOOP(put_##bits, type, *d = is ? dense[at] : *d)
MASK_MOVERS(uint8_t, 8)
MASK_MOVERS(uint16_t, 16)
MASK_MOVERS(uint32_t, 32)
MASK_MOVERS(uint64_t, 64)

static MaskMove *mover(const Masked *m) {
  const bool takes = m->what == MASK_TAKE;
  switch (dtype_bytes(m->dtype)) {
  case 1: return takes ? take_8 : put_8;
  case 2: return takes ? take_16 : put_16;
  case 4: return takes ? take_32 : put_32;
  default: return takes ? take_64 : put_64;
  }
}

/* Positions along all axes, for each element one after the other. */
static int64_t list_row(const Masked *m, const Row *r, int64_t at,
                        int64_t end) {
  const int before = m->axes - 1;
  int64_t *dense = (int64_t *)(void *)m->dense;
  for (int64_t i = 0; i < r->count && at < end; i++) {
    if (skips(r, i)) {
      i += 7;
      continue;
    }
    int64_t *to = dense + at * m->axes;
    for (int a = 0; a < before; a++) to[a] = m->base + r->at[a];
    to[before] = m->base + r->first + i;
    at += r->mask[i * r->mask_step] != 0;
  }
  return at;
}

static void move_chunk(void *arg, int64_t chunk, int worker) {
  const Masking *k = arg;
  const Masked *m = k->m;
  const int64_t end = k->start[chunk + 1];
  int64_t at = k->start[chunk];
  MaskMove *const move = mover(m);
  Rows rows;
  Row row;
  (void)worker;
  if (at == end) return;
  rows_start(k, chunk, &rows);
  for (; at < end && rows_next(k, &rows, &row); rows_step(&rows))
    at = m->what == MASK_PLACES ? list_row(m, &row, at, end)
                                : move(&row, m->dense, at, end);
  assert(at == end);
}

bool cpu_mask_move(Backend *b, const Masked *m) {
  Masking k = masking_of(m);
  return pool_run(b->pool, chunk_count(k.count), move_chunk, &k);
}
