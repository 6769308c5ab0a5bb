/* twins_test.cpp: every slot of the CUDA backend beside its CPU twin, on the
 * fake device, in three thread orders.
 *
 * Integers, copies, folds and uniform draws agree bit for bit; floats that
 * pass through functions or products within a few units in the last place,
 * since machine levels of the CPU differ in them too.
 */
#include "twins_test.h"

namespace {

double close_to(Dtype d) { return d == DTYPE_F32 ? 4e-6 : 1e-13; }

const Dtype reals[] = {DTYPE_F32, DTYPE_F64};

std::string name_of(const char *what, Dtype d) {
  return std::string(what) + " " + dtype_name(d);
}

/* ---- pointwise ---- */

struct Space {
  const char *name;
  int axes;
  int64_t size[3], stride[3]; /* of every operand; the result is packed */
};
const Space spaces[] = {
    {"packed", 1, {300}, {1}},
    {"one", 1, {1}, {1}},
    {"holes", 1, {150}, {2}},
    {"turned", 2, {12, 25}, {1, 12}},
    {"stretched", 3, {4, 5, 6}, {0, 7, 1}},
};

int64_t count_of(const Space &s) {
  int64_t n = 1;
  for (int a = 0; a < s.axes; a++) n *= s.size[a];
  return n;
}

Program program_of(const Space &s, Dtype compute, Dtype in, Dtype out, OpId op,
                   Reading reading, const Pointers &at) {
  Program p = {};
  p.axes = s.axes;
  p.compute = compute;
  p.leaves = 6;
  p.steps = 1;
  for (int k = 0; k < 6; k++) {
    p.leaf[k].data = at[k];
    p.leaf[k].dtype = k == 0 ? out : in;
  }
  int64_t packed = 1;
  for (int a = s.axes - 1; a >= 0; a--) {
    p.size[a] = s.size[a];
    for (int k = 1; k < 6; k++) p.leaf[k].stride[a] = s.stride[a];
    p.leaf[0].stride[a] = packed;
    packed *= s.size[a];
  }
  p.step[0] = {op, reading, 0, {1, 2, 3, 4, 5}};
  const OpRow *row = &op_rows[op];
  const int reads = reading == READ_VALUE ? (1 << row->operands) - 1
                                          : row->uses[reading - READ_GX];
  for (int k = 0; k < 5; k++)
    if (!(reads >> k & 1)) p.step[0].in[k] = -1;
  return p;
}

void point(OpId op, Reading reading, Dtype compute, Dtype in, Dtype out,
           const Space &s) {
  const OpRow *row = &op_rows[op];
  Buffers buffers = {drawn(out, (size_t)count_of(s), 0, 1)};
  const bool whole = dtype_class(in) != CLASS_FLOAT;
  const double low = whole ? 1 : row->low, high = whole ? 50 : row->high;
  for (int k = 0; k < 5; k++) buffers.push_back(drawn(in, 320, low, high));
  twins(std::string(row->name) + " " + dtype_name(in) + " " + s.name +
            " reading " + std::to_string(reading),
        buffers, whole ? 0 : 10 * close_to(compute),
        [&](Backend *b, const Pointers &at) {
          const Program p = program_of(s, compute, in, out, op, reading, at);
          CHECK(b->run(b, &p));
        });
}

void test_rows() {
  for (int i = 0; i < (int)POINT_COUNT; i++) {
    const OpId op = (OpId)i;
    const OpRow *row = &op_rows[op];
    const Dtype truth = row->flags & OP_COMPARES ? DTYPE_BOOL : DTYPE_NONE;
    for (Dtype d : {DTYPE_F32, DTYPE_F64, DTYPE_I32, DTYPE_I64}) {
      if (!dtype_in(d, row->dtypes)) continue;
      const Dtype out = truth == DTYPE_NONE ? d : truth;
      point(op, READ_VALUE, d, d, out, spaces[0]);
      for (int r = READ_GX; r <= READ_GZ; r++)
        if (dtype_class(d) == CLASS_FLOAT &&
            (row->uses[r - READ_GX] & USES_WORD))
          point(op, (Reading)r, d, d, out, spaces[0]);
    }
  }
}

void test_layouts_and_dtypes() {
  for (const Space &s : spaces) {
    point(OP_add, READ_VALUE, DTYPE_F32, DTYPE_F32, DTYPE_F32, s);
    point(OP_exp, READ_GX, DTYPE_F64, DTYPE_F64, DTYPE_F64, s);
    point(OP_where, READ_VALUE, DTYPE_I64, DTYPE_I64, DTYPE_I64, s);
  }
  for (Dtype d : {DTYPE_F16, DTYPE_BF16})
    point(OP_add, READ_VALUE, DTYPE_F32, d, d, spaces[4]);
  for (Dtype d : {DTYPE_U8, DTYPE_I8, DTYPE_I16, DTYPE_BOOL})
    point(OP_bitwise_xor, READ_VALUE, DTYPE_I32, d, d, spaces[4]);
}

void test_numbers() {
  twins("x - 2.5", {drawn(DTYPE_F32, 7, 0, 1), drawn(DTYPE_F32, 7, 0, 1)}, 0,
        [](Backend *b, const Pointers &at) {
          Program p = program_of(
              spaces[1], DTYPE_F32, DTYPE_F32, DTYPE_F32, OP_sub, READ_VALUE,
              {at[0], at[1], nullptr, nullptr, nullptr, nullptr});
          p.size[0] = 7;
          p.leaf[2].number = 2.5;
          CHECK(b->run(b, &p));
        });
}

/* ---- copies ---- */

void test_moves() {
  const double edges[] = {-1e30, -300.7, -1,    -0.5, 0,   0.3, 1,
                          255.9, 65519,  65520, 1e5,  3e9, 1e30};
  for (int from = 0; from < (int)DTYPE_COUNT; from++)
    for (int to = 0; to < (int)DTYPE_COUNT; to++) {
      const Dtype f = (Dtype)from, t = (Dtype)to;
      Buffer src = drawn(f, 120, dtype_class(f) == CLASS_FLOAT ? -300 : 0, 200);
      if (dtype_class(f) == CLASS_FLOAT) {
        for (size_t i = 0; i < 13; i++) set_value(&src, i, edges[i]);
        set_value(&src, 13, NAN);
        set_value(&src, 14, INFINITY);
      }
      twins(std::string("move ") + dtype_name(f) + " to " + dtype_name(t),
            {drawn(t, 60, 0, 1), src}, 0, [=](Backend *b, const Pointers &at) {
              Move m = {};
              m.axes = 2, m.size[0] = 6, m.size[1] = 10;
              m.dst.data = at[0], m.dst.dtype = t;
              m.dst.stride[0] = 10, m.dst.stride[1] = 1;
              m.src.data = at[1], m.src.dtype = f;
              m.src.stride[0] = 1, m.src.stride[1] = 6;
              CHECK(b->move(b, &m));
            });
    }
}

void test_fills() {
  for (int d = 0; d < (int)DTYPE_COUNT; d++) {
    const Dtype t = (Dtype)d;
    twins(name_of("fill", t), {drawn(t, 60, 0, 1)}, 0,
          [=](Backend *b, const Pointers &at) {
            Move m = {};
            m.axes = 1, m.size[0] = 30;
            m.dst.data = at[0], m.dst.dtype = t, m.dst.stride[0] = 2;
            m.src.dtype = t, m.src.number = 3, m.src.whole = 3;
            CHECK(b->move(b, &m));
          });
    twins(name_of("ramp", t), {drawn(t, 60, 0, 1)}, 0,
          [=](Backend *b, const Pointers &at) {
            Ramp r = {};
            r.dtype = t, r.count = 60, r.dst = at[0];
            r.first = 0.1, r.step = 0.3, r.last = 17.8, r.ends = true;
            r.whole_first = 5, r.whole_step = 2;
            b->ramp(b, &r);
          });
  }
}

/* ---- reductions ---- */

/* (kept, gone) of a packed array; `across`: the gone axis comes first. */
Reduce reduce_of(FoldId fold, Dtype compute, Dtype in, Dtype out, int64_t kept,
                 int64_t gone, bool across, const Pointers &at) {
  Reduce r = {};
  r.fold = fold, r.compute = compute, r.in = in, r.out = out;
  r.dst = at[0], r.src = at[1];
  r.kept = r.gone = 1;
  r.kept_size[0] = kept, r.gone_size[0] = gone;
  r.kept_src[0] = across ? 1 : gone, r.gone_src[0] = across ? kept : 1;
  r.kept_dst[0] = 1;
  return r;
}

void fold(FoldId id, Dtype in, Dtype compute, Dtype out, int64_t kept,
          int64_t gone, bool across) {
  const bool whole = dtype_class(in) != CLASS_FLOAT;
  twins("fold " + std::to_string(id) + " " + dtype_name(in) + " " +
            std::to_string(kept) + " x " + std::to_string(gone),
        {drawn(out, (size_t)kept, 0, 1),
         drawn(in, (size_t)(kept * gone) + 1, whole ? 0 : -1, whole ? 9 : 1),
         drawn(compute, (size_t)kept, 0, 3)},
        0, [=](Backend *b, const Pointers &at) {
          Reduce r = reduce_of(id, compute, in, out, kept, gone, across, at);
          r.by = at[2];
          Scratch room(b, b->reduce_room(b, &r));
          r.scratch = room.at;
          CHECK(b->reduce(b, &r));
          if (b == &gpu) b->wait(b);
        });
}

/* Is the fold compiled for integers? */
static bool folds_whole(int f) {
  switch (f) {
#define NO_REAL_FOLDS
#define FOLD(name, ...) \
  case FOLD_##name: return true;
#include "rows/fold.def"
#undef NO_REAL_FOLDS
  default: return false;
  }
}

void test_folds() {
  for (bool across : {false, true})
    for (int64_t gone : {0, 1, 3, 17, 64, 65, 1000, 9001, 13000}) {
      const int64_t kept = gone > 1000 ? 2 : 5;
      for (Dtype d : reals) fold(FOLD_sum, d, d, d, kept, gone, across);
      fold(FOLD_sum, DTYPE_F16, DTYPE_F32, DTYPE_F16, kept, gone, across);
      fold(FOLD_sum, DTYPE_U8, DTYPE_I64, DTYPE_I64, kept, gone, across);
    }
  for (int64_t gone : {70, 5000}) {
    fold(FOLD_sum, DTYPE_F32, DTYPE_F32, DTYPE_F32, 40, gone, true);
    fold(FOLD_amax, DTYPE_I32, DTYPE_I64, DTYPE_I64, 16, gone, true);
  }
  for (int id = 0; id < (int)FOLD_COUNT; id++)
    for (Dtype d : {DTYPE_F32, DTYPE_F64, DTYPE_I32, DTYPE_I64})
      for (int64_t gone : {5, 200}) {
        if (dtype_class(d) != CLASS_FLOAT && !folds_whole(id)) continue;
        fold((FoldId)id, d, d, d, 3, gone, true);
      }
}

/* Lines of n elements, `lines` of them; `across`: side by side in memory. */
void scan(ScanId id, Dtype in, Dtype compute, int64_t lines, int64_t n,
          bool across, bool back) {
  const size_t count = (size_t)(lines * n);
  const bool real = dtype_class(in) == CLASS_FLOAT;
  const double low = real ? 0.7 : 0, high = real ? 1.3 : 5;
  twins("scan " + std::to_string(id) + " " + dtype_name(in) + " " +
            std::to_string(lines) + " x " + std::to_string(n),
        {drawn(real ? in : compute, count, 0, 1), drawn(in, count, low, high),
         drawn(in, count, low, high), drawn(DTYPE_I64, count, 0, 1)},
        real ? 4 * close_to(in) : 0, [=](Backend *b, const Pointers &at) {
          Scan s = {};
          const bool places = id == SCAN_MAX || id == SCAN_MIN;
          const int64_t step = across ? lines : 1, end = back ? n - 1 : 0;
          const int64_t width = real && in == DTYPE_F32 ? 4 : 8;
          const int64_t from = end * step;
          s.scan = id, s.in = in, s.out = real ? in : compute;
          s.compute = compute, s.base = 1, s.n = n, s.lines = 1;
          s.size[0] = lines, s.previous = back;
          s.src_line[0] = s.dst_line[0] = s.by_line[0] = across ? 1 : n;
          s.src_step = s.dst_step = s.by_step = back ? -step : step;
          s.dst = at[0] + from * width;
          s.src = at[1] + from * (int64_t)dtype_bytes(in);
          s.by = id == SCAN_CHAIN ? at[2] + from * width : nullptr;
          s.place = places ? at[3] + from * 8 : nullptr;
          Scratch room(b, b->scan_room(b, &s));
          s.scratch = room.at;
          CHECK(b->scan(b, &s));
          if (b == &gpu) b->wait(b);
        });
}

void test_scans() {
  for (bool across : {false, true})
    for (int64_t n : {1, 5, 33, 300, 5000}) {
      const int64_t lines = n > 1000 ? 2 : 9;
      for (int id = 0; id < (int)SCAN_COUNT; id++)
        for (Dtype d : reals) {
          const bool exact = id == SCAN_MAX || id == SCAN_MIN;
          const bool back = n == 33;
          scan((ScanId)id, d, exact ? d : DTYPE_F64, lines, n, across, back);
        }
      for (int id = 0; id <= SCAN_MIN; id++)
        scan((ScanId)id, DTYPE_U8, DTYPE_I64, lines, n, across, false);
    }
}

void extreme(Dtype in, bool greatest, int64_t kept, int64_t gone,
             bool with_nan) {
  Buffer src = drawn(in, (size_t)(kept * gone), 0, 9); /* ties in integers */
  if (with_nan) {
    set_value(&src, 2, NAN);
    set_value(&src, (size_t)gone - 1, NAN);
  }
  twins(name_of("arg_extreme", in), {drawn(DTYPE_I64, (size_t)kept, 0, 1), src},
        0, [=](Backend *b, const Pointers &at) {
          ArgExtreme a = {};
          a.at = reduce_of(FOLD_sum,
                           dtype_class(in) == CLASS_FLOAT ? in : DTYPE_I64, in,
                           DTYPE_I64, kept, gone, false, at);
          a.greatest = greatest;
          a.base = 1;
          CHECK(b->arg_extreme(b, &a));
        });
}

void test_extremes() {
  for (bool greatest : {false, true})
    for (int64_t gone : {1, 4, 63, 500}) {
      extreme(DTYPE_I64, greatest, 3, gone, false);
      extreme(DTYPE_F64, greatest, 3, gone, false);
      if (gone > 3) extreme(DTYPE_F32, greatest, 3, gone, true);
    }
}

/* ---- positions ---- */

/* data (4, limit, 3), other and index (4, n, 3), along the middle axis. */
Pick pick_of(Dtype d, int64_t n, int64_t limit, const Pointers &at) {
  Pick p = {};
  p.axes = 3, p.along = 1, p.dtype = d, p.base = 1;
  p.data = at[0], p.other = at[1], p.index = at[2];
  const int64_t size[] = {4, n, 3}, data[] = {limit * 3, 3, 1};
  for (int a = 0; a < 3; a++) {
    p.size[a] = size[a];
    p.data_stride[a] = data[a];
  }
  p.other_stride[0] = p.index_stride[0] = n * 3;
  p.other_stride[1] = p.index_stride[1] = 3;
  p.other_stride[2] = p.index_stride[2] = 1;
  return p;
}

Buffer positions(size_t count, int64_t limit) {
  return drawn(DTYPE_I64, count, 1, static_cast<double>(limit) + 0.999);
}

using Slot = bool (*Backend::*)(Backend *, const Pick *);

void pick(const char *what, Slot slot, Dtype d, int64_t n, int64_t limit) {
  const size_t others = (size_t)n * 12;
  twins(name_of(what, d),
        {drawn(d, (size_t)limit * 12, 0, 100), drawn(d, others, 0, 100),
         positions(others, limit)},
        0, [=](Backend *b, const Pointers &at) {
          const Pick p = pick_of(d, n, limit, at);
          CHECK((b->*slot)(b, &p));
        });
}

void fold_at(FoldId fold, Dtype d, int64_t n, int64_t limit) {
  const size_t others = (size_t)n * 12;
  twins(name_of("scatter_fold", d),
        {drawn(d, (size_t)limit * 12, 0, 3), drawn(d, others, 0, 3),
         positions(others, limit)},
        0, [=](Backend *b, const Pointers &at) {
          const Pick p = pick_of(d, n, limit, at);
          CHECK(b->scatter_fold(b, &p, fold));
        });
}

void test_scatter_folds() {
  for (int i = 0; i < (int)DTYPE_COUNT; i++)
    for (FoldId fold : {FOLD_prod, FOLD_amax, FOLD_amin})
      if (i != DTYPE_BOOL) fold_at(fold, (Dtype)i, 9, 5);
}

/* data (n, 3), across memory, and mask (n, 1): counted, then moved. */
void masked(MaskWhat what, Dtype d, int64_t n, double most) {
  twins(name_of("mask", d),
        {drawn(d, (size_t)n * 3, 0, 9), drawn(DTYPE_U8, (size_t)n, 0, most),
         drawn(d, (size_t)n * 6, 0, 9)},
        0, [=](Backend *b, const Pointers &at) {
          Masked m = {};
          m.what = what, m.dtype = d, m.base = 1;
          m.axes = 2, m.size[0] = n, m.size[1] = 3;
          m.data = at[0], m.mask = at[1], m.dense = at[2];
          m.data_stride[0] = 1, m.data_stride[1] = n;
          m.mask_stride[0] = 1, m.mask_stride[1] = 0;
          Scratch room(b, b->mask_room(b, &m));
          m.scratch = room.at;
          CHECK(b->mask_count(b, &m) >= 0);
          CHECK(b->mask_move(b, &m));
        });
}

void test_masks() {
  for (int64_t n : {1, 40, 700, 6000}) {
    for (Dtype d : {DTYPE_U8, DTYPE_F16, DTYPE_F32, DTYPE_I64}) {
      masked(MASK_TAKE, d, n, 1.999);
      masked(MASK_PUT, d, n, 1.999);
    }
    masked(MASK_PLACES, DTYPE_I64, n, 1.999);
    masked(MASK_PLACES, DTYPE_I64, n, 0.5); /* none */
  }
}

void test_picks() {
  for (int i = 0; i < (int)DTYPE_COUNT; i++) {
    const Dtype d = (Dtype)i;
    pick("gather", &Backend::gather, d, 9, 5);
    pick("scatter", &Backend::scatter, d, 9, 5);
    if (d == DTYPE_BOOL) continue;
    pick("scatter_add", &Backend::scatter_add, d, 9, 5);
    pick("scatter_add many", &Backend::scatter_add, d, 300, 7);
  }
}

/* Rows of a table added up: index and other share a stride of 0. */
void test_rows_added() {
  twins("index_add",
        {drawn(DTYPE_F32, 30, 0, 1), drawn(DTYPE_F32, 300, 0, 1),
         positions(100, 10)},
        0, [](Backend *b, const Pointers &at) {
          Pick p = {};
          p.axes = 2, p.along = 0, p.dtype = DTYPE_F32, p.base = 1;
          p.data = at[0], p.other = at[1], p.index = at[2];
          p.size[0] = 100, p.size[1] = 3;
          p.data_stride[0] = p.other_stride[0] = 3;
          p.data_stride[1] = p.other_stride[1] = 1;
          p.index_stride[0] = 1, p.index_stride[1] = 0;
          CHECK(b->scatter_add(b, &p));
        });
}

/* ---- orders ---- */

/* Three lines that stand as columns; ties and, where there are, NaN. */
void sort(Dtype d, int64_t n, bool falls, SortFrom from, int64_t first,
          int64_t keep) {
  const size_t all = (size_t)(3 * n), kept = (size_t)(3 * keep);
  Buffer src = drawn(d, all, -9, 9);
  if (dtype_class(d) == CLASS_FLOAT)
    for (size_t i = 0; i < all; i += 5) set_value(&src, i, NAN);
  twins(name_of("sort", d),
        {drawn(d, kept, 0, 1), drawn(DTYPE_I64, kept, 0, 1), src}, 0,
        [=](Backend *b, const Pointers &at) {
          Sort s = {};
          s.dtype = d, s.falls = falls, s.from = from, s.base = 1;
          s.n = n, s.first = first, s.keep = keep;
          s.axes = 1, s.size[0] = 3;
          s.src_stride[0] = s.dst_stride[0] = 1;
          s.src_step = s.dst_step = 3;
          s.values = at[0], s.places = at[1], s.src = at[2];
          const Scratch scratch(b, b->sort_room(b, &s));
          s.scratch = scratch.at;
          CHECK(b->sort(b, &s));
        });
}

void bisect(Dtype d, int64_t n, bool right, bool own) {
  const int64_t lines = 3, count = 20;
  Buffer sequence = drawn(d, (size_t)(own ? lines * n : n), 0, 1);
  for (int64_t i = 0; i < (own ? lines * n : n); i++)
    set_value(&sequence, (size_t)i, (double)(i % n / 2));
  twins(name_of("bisect", d),
        {drawn(DTYPE_I64, (size_t)(lines * count), 0, 1), sequence,
         drawn(d, (size_t)(lines * count), 0, (double)n)},
        0, [=](Backend *b, const Pointers &at) {
          Bisect s = {};
          s.dtype = d, s.right = right, s.base = 1;
          s.lines = lines, s.n = n, s.count = count;
          s.line_step = own ? n : 0;
          s.at = at[0], s.sequence = at[1], s.x = at[2];
          CHECK(b->bisect(b, &s));
        });
}

void test_orders() {
  for (int i = 0; i < DTYPE_COUNT; i++) {
    const Dtype d = (Dtype)i;
    for (int64_t n : {1, 2, 7, 100}) {
      sort(d, n, false, SORT_FIRST, 0, n);
      sort(d, n, true, SORT_FIRST, n / 2, 1);
      sort(d, n, false, SORT_MEDIAN, 0, 1);
      sort(d, n, false, SORT_NANMEDIAN, 0, 1);
    }
    sort(d, 100, true, SORT_FIRST, 2, 5);
    for (int k = 0; k < 4 && d != DTYPE_BOOL; k++)
      bisect(d, 9 + k, k % 2 == 1, k >= 2);
  }
}

void test_searches() {
  for (int64_t bad : {-1, 0, 40, 107}) {
    Buffer index = positions(108, 5), whole = drawn(DTYPE_I32, 108, 1, 9);
    if (bad >= 0) {
      set_value(&index, (size_t)bad, 6);
      set_value(&index, 107, 0);
      set_value(&whole, (size_t)bad, bad % 2 ? 0 : -3);
    }
    set_value(&index, 3, bad == 3 ? 6 : -100); /* the label to ignore */
    twins("searches", {index, whole}, 0, [=](Backend *b, const Pointers &at) {
      const Pick p = pick_of(DTYPE_I64, 9, 5, {at[0], at[0], at[0]});
      CHECK_INT(b->find_outside(b, &p, 5, -100), bad);
      Move m = {};
      m.axes = 1, m.size[0] = 108;
      m.src.data = at[1], m.src.dtype = DTYPE_I32, m.src.stride[0] = 1;
      CHECK_INT(bad % 2 == 0 ? b->find_bad(b, &m, 0, INT64_MAX)
                             : b->find_bad(b, &m, 1, -1), bad);
    });
  }
}

/* ---- products ---- */

void product(Dtype d, int64_t batch, int64_t m, int64_t n, int64_t k,
             bool turned) {
  const bool whole = dtype_class(d) != CLASS_FLOAT;
  twins(name_of("product", d) + " " + std::to_string(m) + " " +
            std::to_string(n) + " " + std::to_string(k),
        {drawn(d, (size_t)(batch * m * n), 0, 1),
         drawn(d, (size_t)(batch * m * k) + 1, -1, whole ? 99 : 1),
         drawn(d, (size_t)(batch * k * n) + 1, -1, whole ? 99 : 1)},
        whole ? 0 : 100 * close_to(d), [=](Backend *b, const Pointers &at) {
          Product p = {};
          p.dtype = d, p.batch = batch, p.m = m, p.n = n, p.k = k;
          p.c = at[0], p.a = at[1], p.b = at[2];
          p.a_batch = m * k, p.b_batch = k * n, p.c_batch = m * n;
          p.a_row = turned ? 1 : k, p.a_col = turned ? m : 1;
          p.b_row = turned ? 1 : n, p.b_col = turned ? k : 1;
          p.c_row = n, p.c_col = 1;
          Scratch room(b, b->product_room(b, &p));
          p.scratch = room.at;
          CHECK(b->product(b, &p));
          if (b == &gpu) b->wait(b);
        });
}

void test_products() {
  const Dtype types[] = {DTYPE_F32, DTYPE_F64, DTYPE_U8, DTYPE_I32, DTYPE_I64};
  for (Dtype d : types)
    for (bool turned : {false, true}) {
      product(d, 1, 2, 2, 0, turned);
      product(d, 3, 5, 7, 11, turned);
      product(d, 1, 1, 9, 70, turned);
      product(d, 2, 6, 1, 33, turned);
      product(d, 1, 1, 1, 5000, turned);
    }
  product(DTYPE_F32, 1, 70, 130, 20, false);
  product(DTYPE_F64, 1, 3, 66, 900, true);
  for (Dtype d : types) product(d, 2, 5, 6, 2000, false); /* in pieces */
}

/* ---- convolutions and pools ---- */

struct Geometry {
  int64_t size[SPACE], kernel[SPACE], stride[SPACE], pad[SPACE];
  int64_t dilation[SPACE];
};
const Geometry geometries[] = {
    {{1, 6, 7}, {1, 3, 3}, {1, 1, 1}, {0, 0, 0}, {1, 1, 1}},
    {{1, 6, 7}, {1, 3, 2}, {1, 2, 1}, {0, 1, 1}, {1, 1, 1}},
    {{1, 9, 8}, {1, 2, 3}, {1, 3, 2}, {0, 1, 0}, {1, 2, 1}},
    {{1, 5, 5}, {1, 1, 1}, {1, 2, 2}, {0, 0, 0}, {1, 1, 1}},
    {{5, 4, 3}, {3, 2, 2}, {2, 1, 1}, {1, 0, 1}, {1, 2, 1}},
};

int64_t result_of(const Geometry &g, int a) {
  return (g.size[a] + 2 * g.pad[a] - g.dilation[a] * (g.kernel[a] - 1) - 1) /
             g.stride[a] +
         1;
}

int64_t volume_of(const int64_t *size) { return size[0] * size[1] * size[2]; }

int64_t results_of(const Geometry &g) {
  return result_of(g, 0) * result_of(g, 1) * result_of(g, 2);
}

template <typename T> void set_sizes(T *job, const Geometry &g) {
  for (int a = 0; a < SPACE; a++) {
    job->size[a] = g.size[a], job->kernel[a] = g.kernel[a];
    job->stride[a] = g.stride[a], job->pad[a] = g.pad[a];
    job->result[a] = result_of(g, a);
  }
}

template <typename T> void set_geometry(T *job, const Geometry &g) {
  set_sizes(job, g);
  for (int a = 0; a < SPACE; a++) job->dilation[a] = g.dilation[a];
}

void conv(Dtype d, ConvWhat what, const Geometry &g, int64_t groups,
          bool biased) {
  const int64_t batch = 2, in = 4, out = 6;
  const int64_t places = results_of(g), taps = volume_of(g.kernel);
  twins(name_of("conv", d) + " " + std::to_string(what),
        {drawn(d, (size_t)(batch * in * volume_of(g.size)), -1, 1),
         drawn(d, (size_t)(out * in / groups * taps), -1, 1),
         drawn(d, (size_t)(batch * out * places), -1, 1),
         drawn(d, (size_t)out, -1, 1)},
        100 * close_to(d), [=](Backend *b, const Pointers &at) {
          Convolution c = {};
          c.dtype = d, c.what = what;
          c.batch = batch, c.in = in, c.out = out, c.groups = groups;
          set_geometry(&c, g);
          c.x = at[0], c.w = at[1], c.y = at[2];
          c.bias = biased ? at[3] : nullptr;
          Scratch room(b, b->conv_room(b, &c));
          c.scratch = room.at;
          CHECK(b->conv(b, &c));
          if (b == &gpu) b->wait(b);
        });
}

void test_convs() {
  for (Dtype d : reals)
    for (const Geometry &g : geometries)
      for (int64_t groups : {1, 2}) {
        conv(d, CONV_VALUE, g, groups, groups == 1);
        conv(d, CONV_TO_X, g, groups, false);
        conv(d, CONV_TO_WEIGHT, g, groups, false);
      }
}

void test_pools() {
  for (Dtype d : reals)
    for (const Geometry &g : geometries) {
      const size_t places = (size_t)results_of(g);
      Buffer x = drawn(d, (size_t)(3 * volume_of(g.size)), 0, 1);
      set_value(&x, 5, NAN);
      set_value(&x, 6, NAN);
      twins(name_of("max_pool", d),
            {x, drawn(d, 3 * places, 0, 1), drawn(DTYPE_I64, 3 * places, 0, 1)},
            0, [=](Backend *b, const Pointers &at) {
              MaxPool p = {};
              p.dtype = d, p.planes = 3;
              set_geometry(&p, g);
              p.x = at[0], p.y = at[1], p.at = at[2];
              CHECK(b->max_pool(b, &p));
            });
    }
}

void mean_pool(Dtype d, const Geometry &g, bool adaptive, bool counts_pad) {
  const size_t places = 3 * (size_t)results_of(g);
  const size_t all = 3 * (size_t)volume_of(g.size);
  for (bool add : {false, true})
    twins(name_of(add ? "avg_pool_add" : "avg_pool", d),
          {drawn(d, all, -1, 1), drawn(d, places, -1, 1)}, 4 * close_to(d),
          [=](Backend *b, const Pointers &at) {
            AvgPool p = {};
            p.dtype = d, p.planes = 3;
            p.adaptive = adaptive, p.counts_pad = counts_pad;
            set_sizes(&p, g);
            p.x = at[0], p.y = at[1];
            CHECK((add ? b->avg_pool_add : b->avg_pool)(b, &p));
          });
}

void test_means() {
  for (Dtype d : reals)
    for (Geometry g : geometries) {
      for (int a = 0; a < SPACE; a++) g.dilation[a] = 1;
      mean_pool(d, g, false, true);
      mean_pool(d, g, false, false);
      mean_pool(d, g, true, false);
    }
}

/* ---- rows of numbers ---- */

void rows_of(Dtype d, int64_t rows, int64_t n) {
  const size_t all = (size_t)(rows * n), each = (size_t)rows;
  Buffer x = drawn(d, all, -5, 5);
  for (size_t j = 0; j < (size_t)n; j++) set_value(&x, j, -INFINITY);
  const std::string size = " of " + std::to_string(n);
  for (bool log : {false, true}) {
    twins(name_of("softmax", d) + size, {x, drawn(d, all, 0, 1)},
          10 * close_to(d), [=](Backend *b, const Pointers &at) {
            Softmax s = {d, log, rows, n, at[0], nullptr, at[1]};
            CHECK(b->softmax(b, &s));
          });
    twins(name_of("softmax_pull", d) + size,
          {drawn(d, all, -3, 0), drawn(d, all, -1, 1), drawn(d, all, 0, 1)},
          10 * close_to(d), [=](Backend *b, const Pointers &at) {
            Softmax s = {d, log, rows, n, at[0], at[1], at[2]};
            CHECK(b->softmax_pull(b, &s));
          });
  }
  twins(name_of("logsumexp", d) + size, {x, drawn(d, each, 0, 1)},
        10 * close_to(d), [=](Backend *b, const Pointers &at) {
          LogSumExp s = {d, rows, n, at[0], at[1]};
          CHECK(b->logsumexp(b, &s));
        });
}

void norm_of(Dtype d, int64_t rows, int64_t n, bool scaled) {
  const size_t all = (size_t)(rows * n), each = (size_t)rows, row = (size_t)n;
  twins(name_of("layer_norm", d),
        {drawn(d, all, -1, 2), drawn(d, row, 1, 2), drawn(d, row, -1, 1),
         drawn(d, all, -1, 1), drawn(d, all, 0, 1), drawn(d, each, 0, 1),
         drawn(d, each, 0, 1), drawn(d, all, 0, 1), drawn(d, row, 0, 1),
         drawn(d, row, 0, 1)},
        1000 * close_to(d), [=](Backend *b, const Pointers &at) {
          LayerNorm l = {};
          l.dtype = d, l.rows = rows, l.n = n, l.eps = 1e-5;
          l.x = at[0], l.g = at[3], l.y = at[4], l.mean = at[5];
          l.rstd = at[6], l.gx = at[7];
          if (scaled) l.w = at[1], l.b = at[2], l.gw = at[8], l.gb = at[9];
          CHECK(b->layer_norm(b, &l));
          Scratch room(b, b->layer_norm_room(b, &l));
          l.scratch = room.at;
          CHECK(b->layer_norm_pull(b, &l));
          if (b == &gpu) b->wait(b);
        });
}

void entropy_of(Dtype d, int64_t rows, int64_t n, int64_t g_stride) {
  const size_t all = (size_t)(rows * n), each = (size_t)rows;
  Buffer label = positions(each, n);
  set_value(&label, 1, -100);
  twins(name_of("cross_entropy", d),
        {drawn(d, all, -4, 4), label, drawn(d, each, 0, 1),
         drawn(d, 2 * each, 0, 1), drawn(d, each, -1, 1), drawn(d, all, 0, 1)},
        20 * close_to(d), [=](Backend *b, const Pointers &at) {
          CrossEntropy e = {};
          e.dtype = d, e.rows = rows, e.n = n, e.base = 1, e.ignore = -100;
          e.g_stride = g_stride;
          e.x = at[0], e.label = at[1], e.loss = at[2], e.lse = at[3];
          e.g = at[4], e.gx = at[5];
          CHECK(b->cross_entropy(b, &e));
          CHECK(b->cross_entropy_pull(b, &e));
        });
}

void test_rows_of_numbers() {
  for (Dtype d : reals) {
    for (int64_t n : {1, 10, 65, 5000}) rows_of(d, 3, n);
    norm_of(d, 5, 33, true);
    norm_of(d, 100, 4, true);
    norm_of(d, 3, 70, false);
    norm_of(d, 5000, 3, true);
    for (int64_t g_stride : {0, 1}) entropy_of(d, 6, 10, g_stride);
  }
}

/* ---- random, updates ---- */

void draws(DrawWhat what, Dtype d, int64_t count, double a, double z,
           int64_t low, int64_t high, double within) {
  twins("draw " + std::to_string(what) + " " + dtype_name(d),
        {drawn(d, (size_t)count, 0, 1)}, within,
        [=](Backend *b, const Pointers &at) {
          Draw r = {};
          r.what = what, r.dtype = d, r.count = count, r.dst = at[0];
          r.generator = {123456789, 77, 5};
          r.a = a, r.b = z, r.low = low, r.high = high;
          CHECK(b->draw(b, &r));
        });
}

void test_draws() {
  for (Dtype d : reals)
    for (int64_t count : {1, 5, 999}) {
      draws(DRAW_UNIFORM, d, count, -2, 3, 0, 0, 0);
      draws(DRAW_BERNOULLI, d, count, 0.3, 0, 0, 0, 0);
      draws(DRAW_NORMAL, d, count, 1, 2, 0, 0, 10 * close_to(d));
    }
  for (Dtype d : {DTYPE_I32, DTYPE_I64}) {
    draws(DRAW_INTEGERS, d, 1000, 0, 0, -3, 3, 0);
    draws(DRAW_INTEGERS, d, 1000, 0, 0, 0, 0x5fffffff, 0);
  }
  draws(DRAW_INTEGERS, DTYPE_I64, 1000, 0, 0, INT64_MIN, INT64_MAX, 0);
  draws(DRAW_INTEGERS, DTYPE_I64, 1000, 0, 0, 0, INT64_MAX / 3 * 2, 0);
}

void test_updates() {
  for (Dtype d : reals)
    for (int mode = 0; mode < 4; mode++) {
      const Buffers buffers = {drawn(d, 200, -1, 1), drawn(d, 200, -1, 1),
                               drawn(d, 200, 0, 1), drawn(d, 200, 0, 1)};
      twins(name_of("sgd", d), buffers, close_to(d),
            [=](Backend *b, const Pointers &at) {
              Sgd s = {};
              s.dtype = d, s.count = 200, s.p = at[0], s.g = at[1];
              s.buffer = mode == 0 ? nullptr : at[2];
              s.lr = 0.1, s.momentum = 0.9, s.dampening = 0.2, s.decay = 0.01;
              s.nesterov = mode == 2, s.first = mode == 3;
              CHECK(b->sgd(b, &s));
            });
      twins(name_of("adam", d), buffers, 10 * close_to(d),
            [=](Backend *b, const Pointers &at) {
              Adam a = {};
              a.dtype = d, a.count = 200, a.step = mode + 1;
              a.p = at[0], a.g = at[1], a.m = at[2], a.v = at[3];
              a.lr = 0.01, a.beta1 = 0.9, a.beta2 = 0.999, a.eps = 1e-8;
              a.decay = mode > 1 ? 0.1 : 0, a.decoupled = mode == 3;
              CHECK(b->adam(b, &a));
            });
    }
}

/* ---- the device itself ---- */

void test_memory() {
  setenv("FAKE_CUDA_BYTES", "100000", 1);
  CHECK(gpu.alloc(&gpu, 200000) == nullptr, "more than the device has");
  unsetenv("FAKE_CUDA_BYTES");
  char out[4] = {1, 2, 3, 4}, in[4] = {};
  void *at = gpu.alloc(&gpu, 4);
  CHECK((uintptr_t)at % 256 == 0, "aligned");
  gpu.write(&gpu, at, out, 4);
  memset(out, 9, 4); /* the host's bytes were read at the call */
  gpu.read(&gpu, in, at, 4);
  CHECK(in[0] == 1 && in[3] == 4, "there and back");
  gpu.free(&gpu, at);
  CHECK(tensus_cuda_error(&gpu) == nullptr);
}

bool stop = false;

void test_stop() {
  Move m = {};
  stop = true;
  CHECK(!gpu.move(&gpu, &m), "a stopped slot");
  stop = false;
}

/* A slot that one backend has, the other has: both are filled whole. */
void test_slots() {
  const size_t from = offsetof(Backend, run), to = sizeof(Backend);
  for (size_t at = from; at < to; at += sizeof(void *)) {
    void *c, *g;
    memcpy(&c, (char *)&cpu + at, sizeof c);
    memcpy(&g, (char *)&gpu + at, sizeof g);
    /* matrices go through the host (backend.h) */
    const bool hosted = at == offsetof(Backend, dense_room) ||
                        at == offsetof(Backend, dense);
    CHECK(c != nullptr && (g != nullptr || hosted), "slot %d is empty",
          (int)((at - from) / sizeof(void *)));
  }
}

/* ThreadSanitizer takes microseconds for a switch of fibers, and one thread
 * of the host has nothing to show it. */
#if defined(__SANITIZE_THREAD__)
enum { SLOW_SWITCH = 1 };
#else
enum { SLOW_SWITCH = 0 };
#endif

void test_kernels() {
  RUN(test_rows);
  RUN(test_layouts_and_dtypes);
  RUN(test_numbers);
  RUN(test_moves);
  RUN(test_fills);
  RUN(test_folds);
  RUN(test_scans);
  RUN(test_extremes);
  RUN(test_picks);
  RUN(test_scatter_folds);
  RUN(test_masks);
  RUN(test_rows_added);
  RUN(test_orders);
  RUN(test_searches);
  RUN(test_products);
  RUN(test_convs);
  RUN(test_pools);
  RUN(test_means);
  RUN(test_rows_of_numbers);
  RUN(test_draws);
  RUN(test_updates);
}

} // namespace

int main() {
  Ledger ledger;
  ledger_open(&ledger);
  cpu.stop = gpu.stop = &stop;
  cpu.pool = pool_open(&ledger, 1, &stop);
  cpu_open(&cpu);
  if (!CHECK(tensus_cuda_open(&gpu, 0) == nullptr)) return check_report();
  RUN(test_slots);
  RUN(test_memory);
  RUN(test_stop);
  if (!SLOW_SWITCH) test_kernels();
  gpu.close(&gpu);
  CHECK_INT(fake_live(), 0);
  pool_close(cpu.pool);
  return check_report();
}
