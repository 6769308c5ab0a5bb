/* sort.cu: lines in order, and searches in them.
 *
 * Elements become items, a key and a place, no two of which are equal.  Runs
 * of 1, 2, 4 ... items are merged, one thread an item: its place is its own in
 * its run and the number of items of the other run that come before it, found
 * by halving.  All lines go together, in log2(n) launches.
 */
#include "kernel.h"
#include "value/key.h"

struct Item {
  uint64_t key;
  int64_t at;
};

struct Sorting {
  Walk lines;
  int64_t line_stride[2][MAX_RANK]; /* src, dst */
  int64_t n, first, keep, base, src_step, dst_step, count;
  int dtype, width, from;
  bool is_float;
  uint64_t turn;
  const char *src;
  char *values, *places;
  Item *items, *spare; /* (lines, n) */
};
LAUNCH_POINTERS(Sorting, s, {
  pointers.push_back(s.src);
  pointers.push_back(s.values);
  pointers.push_back(s.places);
  pointers.push_back(s.items);
  pointers.push_back(s.spare);
})

static __device__ uint64_t key_at(const char *data, int dtype, int64_t i) {
  switch (dtype) {
#define KEYED(DTYPE, U, key) \
  case DTYPE_##DTYPE: return key(((const U *)data)[i]);
    KEYED_DTYPES(KEYED)
#undef KEYED
  }
  return 0;
}

static __device__ bool before(const Item &a, const Item &b) {
  return a.key < b.key || (a.key == b.key && a.at < b.at);
}

static __global__ void load_items(Sorting s) {
  EACH(i, s.count) {
    const int64_t line = i / s.n, at = i - line * s.n;
    int64_t start[2];
    walk_at<2>(s.lines, s.line_stride, line, start);
    const uint64_t key = key_at(s.src, s.dtype, start[0] + at * s.src_step);
    s.items[i] = {key ^ s.turn, at};
  }
}

/* spare = items with neighbouring runs of `run` items merged. */
static __global__ void merge_runs(Sorting s, int64_t run) {
  EACH(i, s.count) {
    const int64_t start = i / s.n * s.n, own = (i - start) / run;
    const int64_t other = own ^ 1, pair = (own & ~(int64_t)1) * run;
    const int64_t first = start + (other * run < s.n ? other * run : s.n);
    const Item x = s.items[i];
    int64_t low = 0, high = start + s.n - first;
    if (high > run) high = run;
    while (low < high) {
      const int64_t middle = (low + high) / 2;
      if (before(s.items[first + middle], x))
        low = middle + 1;
      else
        high = middle;
    }
    s.spare[start + pair + (i - start - own * run) + low] = x;
  }
}

/* How many items of a sorted line are not NaN (never turned for medians). */
static __device__ int64_t numbers_of(const Sorting &s, const Item *line) {
  const uint64_t nan = key_last(s.width);
  int64_t low = 0, high = s.n;
  while (low < high) {
    const int64_t middle = (low + high) / 2;
    if (line[middle].key < nan)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static __device__ int64_t first_of(const Sorting &s, const Item *line) {
  if (s.from == SORT_FIRST) return s.first;
  const int64_t numbers = s.is_float ? numbers_of(s, line) : s.n;
  if (s.from == SORT_MEDIAN && numbers < s.n) return numbers;
  return numbers == 0 ? 0 : (numbers - 1) / 2;
}

static __device__ void copy_value(const Sorting &s, int64_t to, int64_t from) {
  switch (s.width) {
  case 1: ((uint8_t *)s.values)[to] = ((const uint8_t *)s.src)[from]; break;
  case 2: ((uint16_t *)s.values)[to] = ((const uint16_t *)s.src)[from]; break;
  case 4: ((uint32_t *)s.values)[to] = ((const uint32_t *)s.src)[from]; break;
  default: ((uint64_t *)s.values)[to] = ((const uint64_t *)s.src)[from];
  }
}

static __global__ void store_items(Sorting s) {
  EACH(i, s.lines.count * s.keep) {
    const int64_t line = i / s.keep, k = i - line * s.keep;
    const Item *items = s.items + line * s.n;
    const int64_t at = items[first_of(s, items) + k].at;
    int64_t start[2];
    walk_at<2>(s.lines, s.line_stride, line, start);
    const int64_t to = start[1] + k * s.dst_step;
    if (s.values != nullptr) copy_value(s, to, start[0] + at * s.src_step);
    if (s.places != nullptr) ((int64_t *)s.places)[to] = s.base + at;
  }
}

static Sorting sorting_of(const Sort *sort) {
  Sorting s = {};
  s.lines = walk_of(sort->axes, sort->size);
  for (int a = 0; a < sort->axes; a++) {
    s.line_stride[0][a] = sort->src_stride[a];
    s.line_stride[1][a] = sort->dst_stride[a];
  }
  s.n = sort->n, s.first = sort->first, s.keep = sort->keep;
  s.base = sort->base, s.from = sort->from;
  s.src_step = sort->src_step, s.dst_step = sort->dst_step;
  s.count = s.lines.count * s.n;
  s.dtype = sort->dtype, s.width = dtype_width(sort->dtype);
  s.is_float = dtype_is_float(sort->dtype);
  s.turn = sort->falls ? UINT64_MAX : 0;
  s.src = sort->src, s.values = sort->values, s.places = sort->places;
  s.items = static_cast<Item *>(sort->scratch);
  s.spare = s.items + s.count;
  return s;
}

static size_t cuda_sort_room(Backend *, const Sort *sort) {
  int64_t count = sort->n;
  for (int a = 0; a < sort->axes; a++) count *= sort->size[a];
  return 2 * sizeof(Item) * (size_t)count;
}

static bool cuda_sort(Backend *b, const Sort *sort) {
  if (!cuda_ready(b)) return false;
  const cudaStream_t stream = cuda_of(b)->stream;
  Sorting s = sorting_of(sort);
  Grid g = grid_of(s.count);
  LAUNCH(load_items, g.blocks, g.threads, 0, stream, s);
  for (int64_t run = 1; run < s.n; run *= 2) {
    LAUNCH(merge_runs, g.blocks, g.threads, 0, stream, s, run);
    Item *const swapped = s.items;
    s.items = s.spare, s.spare = swapped;
  }
  g = grid_of(s.lines.count * s.keep);
  LAUNCH(store_items, g.blocks, g.threads, 0, stream, s);
  return cuda_launched(b);
}

/* ---- searches in what is sorted ---- */

struct Bisecting {
  Bisect b;
};
LAUNCH_POINTERS(Bisecting, s, {
  pointers.push_back(s.b.sequence);
  pointers.push_back(s.b.x);
  pointers.push_back(s.b.at);
})

static __global__ void bisect_each(Bisecting job) {
  const Bisect &s = job.b;
  EACH(i, s.lines * s.count) {
    const int64_t start = i / s.count * s.line_step;
    const uint64_t x = key_at(s.x, s.dtype, i);
    int64_t low = 0, high = s.n;
    while (low < high) {
      const int64_t middle = (low + high) / 2;
      const uint64_t key = key_at(s.sequence, s.dtype, start + middle);
      if (s.right ? key <= x : key < x)
        low = middle + 1;
      else
        high = middle;
    }
    ((int64_t *)s.at)[i] = s.base + low;
  }
}

static bool cuda_bisect(Backend *b, const Bisect *s) {
  if (!cuda_ready(b)) return false;
  const Bisecting job = {*s};
  const Grid g = grid_of(s->lines * s->count);
  LAUNCH(bisect_each, g.blocks, g.threads, 0, cuda_of(b)->stream, job);
  return cuda_launched(b);
}

void cuda_fill_sort(Backend *b) {
  b->sort_room = cuda_sort_room;
  b->sort = cuda_sort;
  b->bisect = cuda_bisect;
}
