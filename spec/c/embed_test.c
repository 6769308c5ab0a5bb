/* embed_test.c: tensus.h as a host sees it, and nothing else of tensus.
 *
 * Compiles as C11 and as C++17, against the objects or libtensus.so.
 */
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "tensus.h"

/* ---- short forms ---- */

static tensus_State *open_seeded(uint64_t seed) {
  tensus_Options o;
  tensus_State *s = NULL;
  tensus_options_init(&o);
  o.threads = 1;
  o.has_seed = 1;
  o.seed = seed;
  CHECK_INT(tensus_open(&o, &s), TENSUS_OK);
  return s;
}

static tensus_Status run(tensus_State *s, const char *code) {
  return tensus_run_string(s, code, strlen(code), "host");
}

/* A script that must succeed. */
static void run_ok(tensus_State *s, const char *code) {
  const tensus_Status status = run(s, code);
  CHECK(status == TENSUS_OK, "%s: %s", code, tensus_last_message(s));
}

/* A script that must fail so. */
static void run_bad(tensus_State *s, const char *code, tensus_Status status,
                    const char *part) {
  CHECK_INT(run(s, code), status);
  CHECK_INT(tensus_last_status(s), status);
  CHECK_FOUND(tensus_last_message(s), part);
}

static tensus_Value of_kind(tensus_Kind kind) {
  tensus_Value v;
  memset(&v, 0, sizeof v);
  v.kind = kind;
  return v;
}

static tensus_Value integer(int64_t i) {
  tensus_Value v = of_kind(TENSUS_INTEGER);
  v.u.i = i;
  return v;
}

static tensus_Value boolean(int b) {
  tensus_Value v = of_kind(TENSUS_BOOLEAN);
  v.u.b = b;
  return v;
}

static tensus_Value number(double n) {
  tensus_Value v = of_kind(TENSUS_NUMBER);
  v.u.n = n;
  return v;
}

static tensus_Value text(const char *s) {
  tensus_Value v = of_kind(TENSUS_STRING);
  v.u.s = s;
  v.len = strlen(s);
  return v;
}

static tensus_Value tensor(tensus_Tensor *t) {
  tensus_Value v = of_kind(TENSUS_TENSOR);
  v.u.t = t;
  return v;
}

static tensus_Value list_of(tensus_Tensor *const *list, size_t n) {
  tensus_Value v = of_kind(TENSUS_TENSORS);
  v.u.tensors = list;
  v.len = n;
  return v;
}

static tensus_Value sizes_of(const int64_t *sizes, size_t n) {
  tensus_Value v = of_kind(TENSUS_SIZES);
  v.u.sizes = sizes;
  v.len = n;
  return v;
}

static tensus_Layout layout_of(tensus_Dtype dtype, int ndim,
                               const int64_t *sizes) {
  tensus_Layout l;
  l.dtype = dtype;
  l.ndim = ndim;
  l.sizes = sizes;
  l.strides = NULL;
  return l;
}

/* A row of floats as a tensor. */
static tensus_Tensor *row(tensus_State *s, int64_t n, const float *values) {
  const tensus_Layout l = layout_of(TENSUS_F32, 1, &n);
  tensus_Tensor *t = NULL;
  CHECK_INT(tensus_tensor_copy(s, &l, values, (size_t)n * sizeof *values, &t),
            TENSUS_OK);
  return t;
}

static tensus_Tensor *matrix(tensus_State *s, int64_t n, int64_t m,
                             const float *values) {
  const int64_t sizes[2] = {n, m};
  const tensus_Layout l = layout_of(TENSUS_F32, 2, sizes);
  tensus_Tensor *t = NULL;
  CHECK_INT(tensus_tensor_copy(s, &l, values,
                               (size_t)(n * m) * sizeof *values, &t),
            TENSUS_OK);
  return t;
}

static void check_floats(tensus_Tensor *t, int n, const float *want) {
  float got[16] = {0};
  if (!CHECK(t != NULL)) return;
  CHECK_INT(tensus_tensor_read(t, got, (size_t)n * sizeof *got), TENSUS_OK);
  for (int i = 0; i < n; i++) CHECK_NEAR(got[i], want[i], 1e-6);
}

/* An op with one result; NULL when it failed. */
static tensus_Tensor *op(tensus_State *s, const char *name, int nargs,
                         const tensus_Value *args) {
  tensus_Value r = of_kind(TENSUS_NIL);
  int n = 1;
  const tensus_Status status =
      tensus_op(s, name, args, nargs, NULL, 0, &r, &n);
  if (status != TENSUS_OK) return NULL;
  CHECK_INT(n, 1);
  CHECK_INT(r.kind, TENSUS_TENSOR);
  return r.u.t;
}

static double global_number(tensus_State *s, const char *path) {
  tensus_Value v = of_kind(TENSUS_NIL);
  CHECK_INT(tensus_get_global(s, path, &v), TENSUS_OK);
  if (v.kind == TENSUS_INTEGER) return (double)v.u.i;
  if (v.kind == TENSUS_NUMBER) return v.u.n;
  CHECK(v.kind == TENSUS_NIL, "%s is of kind %d", path, (int)v.kind);
  return NAN;
}

static tensus_Tensor *global_tensor(tensus_State *s, const char *path) {
  tensus_Value v = of_kind(TENSUS_NIL);
  CHECK_INT(tensus_get_global(s, path, &v), TENSUS_OK);
  return CHECK_INT(v.kind, TENSUS_TENSOR) ? v.u.t : NULL;
}

static void set_tensor(tensus_State *s, const char *name, tensus_Tensor *t) {
  const tensus_Value v = tensor(t);
  CHECK_INT(tensus_set_global(s, name, &v), TENSUS_OK);
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- states ---- */

static void test_open(void) {
  tensus_Options o;
  tensus_State *s = NULL;
  tensus_close(NULL);
  CHECK(strlen(tensus_version()) >= 5);
  tensus_options_init(&o);
  CHECK_INT(o.size, sizeof o);
  o.size--;
  CHECK_INT(tensus_open(&o, &s), TENSUS_E_ARG);
  tensus_options_init(&o);
  o.threads = -1;
  CHECK_INT(tensus_open(&o, &s), TENSUS_E_ARG);
  o.threads = 65;
  CHECK_INT(tensus_open(&o, &s), TENSUS_E_ARG);
  tensus_options_init(&o);
  o.memory_bytes = 1000;
  CHECK_INT(tensus_open(&o, &s), TENSUS_E_MEMORY);
  CHECK(s == NULL);
  CHECK_INT(tensus_open(NULL, &s), TENSUS_OK);
  CHECK_INT(tensus_last_status(s), TENSUS_OK);
  CHECK_TEXT(tensus_last_message(s), "");
  tensus_close(s);
}

static void test_status_names(void) {
  CHECK_TEXT(tensus_status_name(TENSUS_OK), "ok");
  CHECK_TEXT(tensus_status_name(TENSUS_E_SHAPE), "shape");
  CHECK_TEXT(tensus_status_name(TENSUS_E_STATE), "state");
  CHECK_TEXT(tensus_status_name((tensus_Status)99), "unknown");
}

static void test_run(void) {
  tensus_State *s = open_seeded(1);
  run_ok(s, "x = 1 + 1; assert(ts.ones(3):sum()() == 3)");
  CHECK_NEAR(global_number(s, "x"), 2, 0);
  run_ok(s, "");
  CHECK_INT(tensus_run_string(s, NULL, 0, NULL), TENSUS_OK);
  run_bad(s, "x = = 1", TENSUS_E_SYNTAX, "host:1:");
  run_bad(s, "\n\nerror 'so it is'", TENSUS_E_RUN, "host:3: so it is");
  run_bad(s, "error()", TENSUS_E_RUN, "nil");
  run_bad(s, "error(42)", TENSUS_E_RUN, "42");
  run_bad(s, "error(setmetatable({}, {__tostring = function() return 'own' "
             "end}))",
          TENSUS_E_RUN, "own");
  CHECK_INT(run(s, "error(setmetatable({}, {__tostring = function() error() "
                   "end}))"),
            TENSUS_E_RUN);
  run_bad(s, "local function f() return f() + 1 end f()", TENSUS_E_RUN,
          "stack overflow");
  tensus_clear_error(s);
  CHECK_INT(tensus_last_status(s), TENSUS_OK);
  CHECK_TEXT(tensus_last_message(s), "");
  tensus_close(s);
}

static void test_bytecode(void) {
  tensus_State *s = open_seeded(1);
  run_bad(s, "\x1bLua", TENSUS_E_SYNTAX, "binary");
  run_ok(s, "assert(load(string.dump(function() end)) == nil)");
  run_ok(s, "assert(not pcall(load, string.dump(print and function() end), "
            "'x', 'b'))");
  tensus_close(s);
}

static void test_files(void) {
  tensus_State *s = open_seeded(1);
  char path[] = "/tmp/embed_test_XXXXXX";
  const int fd = mkstemp(path);
  if (!CHECK(fd >= 0)) return;
  const char *code = "from_file = 7\nerror 'second line'";
  CHECK_INT(write(fd, code, strlen(code)), strlen(code));
  close(fd);
  CHECK_INT(tensus_run_file(s, path), TENSUS_E_RUN);
  CHECK_FOUND(tensus_last_message(s), ":2: second line");
  CHECK_NEAR(global_number(s, "from_file"), 7, 0);
  unlink(path);
  CHECK_INT(tensus_run_file(s, path), TENSUS_E_IO);
  CHECK_FOUND(tensus_last_message(s), "embed_test_");
  tensus_close(s);
}

/* ---- details of failures ---- */

static tensus_Detail detail_of(const tensus_State *s) {
  tensus_Detail d;
  d.size = sizeof d;
  tensus_last_detail(s, &d);
  return d;
}

static void test_detail(void) {
  tensus_State *s = open_seeded(1);
  run_bad(s, "\nlocal r = ts.ones(2,3) + ts.ones(2)", TENSUS_E_SHAPE,
          "host:2: add: self {2,3} and other {2} do not broadcast: self dim 2 "
          "is 3, other dim 1 is 2");
  tensus_Detail d = detail_of(s);
  CHECK_TEXT(d.op, "add");
  CHECK_TEXT(d.code, "shape");
  CHECK_INT(d.nshapes, 2);
  CHECK_INT(d.ndim[0], 2);
  CHECK_INT(d.sizes[0][0], 2);
  CHECK_INT(d.sizes[0][1], 3);
  CHECK_INT(d.ndim[1], 1);
  CHECK_INT(d.sizes[1][0], 2);
  run_bad(s, "ts.ones(2, 3):sum(3)", TENSUS_E_SHAPE, "dims are 1..2");
  run_bad(s, "ts.ones(2):sum{keep_dim = true}", TENSUS_E_ARG, "keep_dim");
  CHECK_TEXT(detail_of(s).code, "option");
  run_bad(s, "return ts.ones(2) + 'x'", TENSUS_E_ARG, "add");
  CHECK_TEXT(detail_of(s).arg, "other");
  run_ok(s, "assert(not pcall(function() return ts.ones(2) + ts.ones(3) end))");
  CHECK_TEXT(detail_of(s).op, "");
  CHECK_TEXT(detail_of(s).code, "");
  run_bad(s, "pcall(function() return ts.ones(2) + ts.ones(3) end) error 'b'",
          TENSUS_E_RUN, "host:1: b");
  CHECK_TEXT(detail_of(s).code, "");
  tensus_close(s);
}

/* A host compiled against an older, shorter struct. */
static void test_short_detail(void) {
  tensus_State *s = open_seeded(1);
  union {
    tensus_Detail d;
    char bytes[sizeof(tensus_Detail)];
  } old;
  memset(&old, 0x55, sizeof old);
  run_bad(s, "return ts.ones(2) + ts.ones(3)", TENSUS_E_SHAPE, "add");
  old.d.size = offsetof(tensus_Detail, nshapes);
  tensus_last_detail(s, &old.d);
  CHECK_TEXT(old.d.op, "add");
  CHECK_INT(old.bytes[offsetof(tensus_Detail, nshapes)], 0x55);
  tensus_close(s);
}

/* ---- values in and out ---- */

static void test_call(void) {
  tensus_State *s = open_seeded(1);
  const float values[3] = {1, 2, 3}, doubled[3] = {2, 4, 6};
  tensus_Tensor *x = row(s, 3, values);
  tensus_Value args[5], res[6];
  int n = 6;
  run_ok(s, "net = {deep = {}}\n"
            "function net.deep.all(x, i, d, t, b)\n"
            "  return x * 2, i + 1, d / 2, t .. '\\0!', not b, {}\n"
            "end\n"
            "function none() end\n"
            "function fails() local y = ts.ones(2) + ts.ones(3) end");
  args[0] = tensor(x);
  args[1] = integer(41);
  args[2] = number(5);
  args[3] = text("hi");
  args[4] = boolean(1);
  CHECK_INT(tensus_call(s, "net.deep.all", args, 5, res, &n), TENSUS_OK);
  CHECK_INT(n, 6);
  check_floats(res[0].u.t, 3, doubled);
  CHECK_INT(res[1].u.i, 42);
  CHECK_NEAR(res[2].u.n, 2.5, 0);
  CHECK_INT(res[3].len, 4);
  CHECK_INT(memcmp(res[3].u.s, "hi\0!", 5), 0);
  CHECK_INT(res[4].kind, TENSUS_BOOLEAN);
  CHECK_INT(res[4].u.b, 0);
  CHECK_INT(res[5].kind, TENSUS_NIL);
  for (int i = 0; i < n; i++) tensus_value_clear(s, &res[i]);
  CHECK_INT(res[0].kind, TENSUS_NIL);
  n = 1; /* less room than results */
  CHECK_INT(tensus_call(s, "net.deep.all", args, 5, res, &n), TENSUS_OK);
  CHECK_INT(n, 1);
  tensus_value_clear(s, &res[0]);
  CHECK_INT(tensus_call(s, "net.deep.all", args, 5, NULL, NULL), TENSUS_OK);
  n = 6;
  CHECK_INT(tensus_call(s, "none", NULL, 0, res, &n), TENSUS_OK);
  CHECK_INT(n, 0);
  n = 6;
  CHECK_INT(tensus_call(s, "net.shallow.all", args, 5, res, &n), TENSUS_E_RUN);
  CHECK_FOUND(tensus_last_message(s), "net.shallow.all");
  CHECK_INT(n, 6);
  CHECK_INT(tensus_call(s, "fails", NULL, 0, NULL, NULL), TENSUS_E_SHAPE);
  CHECK_FOUND(tensus_last_message(s), "host:6: add");
  CHECK_INT(tensus_call(s, "net", NULL, 0, NULL, NULL), TENSUS_E_RUN);
  tensus_tensor_release(x);
  tensus_close(s);
}

static void test_lists_as_arguments(void) {
  tensus_State *s = open_seeded(1);
  const float values[2] = {1, 2};
  const int64_t sizes[3] = {4, 5, 6};
  tensus_Tensor *x = row(s, 2, values), *pair[3] = {x, x, NULL};
  tensus_Value args[2];
  run_ok(s, "function f(list, sizes) a = #list; b = sizes[3]; "
            "c = list[2]:sum()() end");
  args[0] = list_of(pair, 2);
  args[1] = sizes_of(sizes, 3);
  CHECK_INT(tensus_call(s, "f", args, 2, NULL, NULL), TENSUS_OK);
  CHECK_NEAR(global_number(s, "a"), 2, 0);
  CHECK_NEAR(global_number(s, "b"), 6, 0);
  CHECK_NEAR(global_number(s, "c"), 3, 0);
  tensus_tensor_release(x);
  tensus_close(s);
}

static void test_globals(void) {
  tensus_State *s = open_seeded(1);
  tensus_Value v = text("a\xff"), got;
  CHECK_INT(tensus_set_global(s, "word", &v), TENSUS_OK);
  run_ok(s, "assert(#word == 2); t = {u = {v = 1.5}}; require = nil");
  CHECK_INT(tensus_get_global(s, "word", &got), TENSUS_OK);
  CHECK_TEXT(got.u.s, "a\xff");
  tensus_value_clear(s, &got);
  CHECK_NEAR(global_number(s, "t.u.v"), 1.5, 0);
  CHECK(isnan(global_number(s, "t.w.v.x")));
  CHECK(isnan(global_number(s, "nothing")));
  CHECK(isnan(global_number(s, "")));
  v = of_kind(TENSUS_NIL);
  CHECK_INT(tensus_set_global(s, "word", &v), TENSUS_OK);
  run_ok(s, "assert(word == nil)");
  run_ok(s, "setmetatable(_G, {__index = function(_, k) error('no ' .. k) "
            "end})");
  CHECK_INT(tensus_get_global(s, "word", &got), TENSUS_E_RUN);
  CHECK_FOUND(tensus_last_message(s), "no word");
  const float one = 1; /* `require` is gone: tensors still go in and out */
  tensus_Tensor *x = row(s, 1, &one), *y = NULL;
  set_tensor(s, "x", x);
  y = global_tensor(s, "x");
  check_floats(y, 1, &one);
  tensus_tensor_release(x);
  tensus_tensor_release(y);
  tensus_close(s);
}

static void test_values_of_other_states(void) {
  tensus_State *s = open_seeded(1), *other = open_seeded(1);
  const float one = 1;
  tensus_Tensor *x = row(other, 1, &one);
  const tensus_Value v = tensor(x), l = list_of(&x, 1);
  CHECK_INT(tensus_set_global(s, "x", &v), TENSUS_E_STATE);
  CHECK_INT(tensus_call(s, "print", &l, 1, NULL, NULL), TENSUS_E_STATE);
  CHECK(op(s, "neg", 1, &v) == NULL);
  CHECK_INT(tensus_last_status(s), TENSUS_E_STATE);
  CHECK(op(s, "cat", 1, &l) == NULL);
  CHECK_INT(tensus_last_status(s), TENSUS_E_STATE);
  tensus_Tensor *mine = row(s, 1, &one);
  CHECK_INT(tensus_tensor_set_requires_grad(mine, 1), TENSUS_OK);
  CHECK_INT(tensus_backward(mine, x), TENSUS_E_STATE);
  tensus_tensor_release(mine);
  tensus_tensor_release(x);
  tensus_close(s);
  tensus_close(other);
}

/* ---- tensors ---- */

static void test_tensor(void) {
  tensus_State *s = open_seeded(1);
  const float values[6] = {1, 2, 3, 4, 5, 6};
  double value = 0;
  tensus_Tensor *x = matrix(s, 2, 3, values), *y = NULL;
  CHECK_INT(tensus_tensor_ndim(x), 2);
  CHECK_INT(tensus_tensor_size(x, 0), 2);
  CHECK_INT(tensus_tensor_size(x, -1), 3);
  CHECK_INT(tensus_tensor_size(x, 2), -1);
  CHECK_INT(tensus_tensor_size(x, -3), -1);
  CHECK_INT(tensus_tensor_sizes(x)[1], 3);
  CHECK_INT(tensus_tensor_numel(x), 6);
  CHECK_INT(tensus_tensor_bytes(x), 24);
  CHECK_INT(tensus_tensor_dtype(x), TENSUS_F32);
  CHECK_TEXT(tensus_tensor_device(x), "cpu");
  CHECK_INT(tensus_tensor_read(x, &value, 8), TENSUS_E_SHAPE);
  CHECK_FOUND(tensus_last_message(s), "24 bytes");
  CHECK_INT(tensus_tensor_item_f64(x, &value), TENSUS_E_SHAPE);
  CHECK_FOUND(tensus_last_message(s), "{2,3}");
  CHECK_INT(tensus_tensor_to(x, TENSUS_I64, NULL, &y), TENSUS_OK);
  int64_t whole[6] = {0};
  CHECK_INT(tensus_tensor_read(y, whole, sizeof whole), TENSUS_OK);
  CHECK_INT(whole[5], 6);
  tensus_tensor_release(y);
  y = NULL;
  CHECK_INT(tensus_tensor_to(x, TENSUS_F32, "gpu", &y), TENSUS_E_DEVICE);
  CHECK_INT(tensus_tensor_to(x, (tensus_Dtype)77, NULL, &y), TENSUS_E_DTYPE);
  CHECK(y == NULL);
  CHECK(tensus_tensor_retain(x) == x);
  tensus_tensor_release(x);
  check_floats(x, 6, values);
  tensus_tensor_release(x);
  tensus_tensor_release(NULL);
  tensus_close(s);
}

static void test_read_strided(void) {
  tensus_State *s = open_seeded(1);
  const float want[6] = {1, 3, 5, 2, 4, 6}, more[6] = {9, 8, 7, 6, 5, 4};
  run_ok(s, "x = ts.tensor{{1, 2}, {3, 4}, {5, 6}}; y = x.T");
  tensus_Tensor *y = global_tensor(s, "y");
  check_floats(y, 6, want);
  CHECK_INT(tensus_tensor_write(y, more, sizeof more), TENSUS_OK);
  run_ok(s, "assert(x(1, 1) == 9 and x(2, 1) == 8 and x(1, 2) == 6)");
  char bytes[sizeof more + 1]; /* at an odd address */
  memcpy(bytes + 1, want, sizeof want);
  CHECK_INT(tensus_tensor_write(y, bytes + 1, sizeof want), TENSUS_OK);
  check_floats(y, 6, want);
  run_ok(s, "z = ts.ones(2):expand(3, 2)");
  tensus_Tensor *z = global_tensor(s, "z");
  CHECK_INT(tensus_tensor_write(z, more, sizeof more), TENSUS_E_ARG);
  CHECK_FOUND(tensus_last_message(s), "share memory");
  tensus_tensor_release(y);
  tensus_tensor_release(z);
  tensus_close(s);
}

static void test_dtypes(void) {
  static const struct {
    tensus_Dtype dtype;
    const char *name;
    size_t bytes;
  } rows[] = {{TENSUS_F16, "f16", 2},   {TENSUS_BF16, "bf16", 2},
              {TENSUS_F32, "f32", 4},   {TENSUS_F64, "f64", 8},
              {TENSUS_I8, "i8", 1},     {TENSUS_I16, "i16", 2},
              {TENSUS_I32, "i32", 4},   {TENSUS_I64, "i64", 8},
              {TENSUS_U8, "u8", 1},     {TENSUS_BOOL, "bool", 1}};
  tensus_State *s = open_seeded(1);
  const int64_t n = 3;
  for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
    const tensus_Layout l = layout_of(rows[k].dtype, 1, &n);
    tensus_Tensor *t = NULL, *d = NULL;
    char code[64];
    double value = -1;
    if (!CHECK_INT(tensus_tensor_new(s, &l, &t), TENSUS_OK)) continue;
    CHECK_INT(tensus_tensor_dtype(t), rows[k].dtype);
    CHECK_INT(tensus_tensor_bytes(t), 3 * rows[k].bytes);
    set_tensor(s, "t", t);
    snprintf(code, sizeof code, "assert(t.dtype == '%s')", rows[k].name);
    run_ok(s, code);
    const tensus_Value args[2] = {tensor(t), integer(1)};
    tensus_Tensor *f = op(s, "fill_", 2, args);
    CHECK(f != NULL, "%s", tensus_last_message(s));
    CHECK_INT(tensus_tensor_to(t, TENSUS_F64, NULL, &d), TENSUS_OK);
    double got[3] = {0};
    CHECK_INT(tensus_tensor_read(d, got, sizeof got), TENSUS_OK);
    CHECK_NEAR(got[2], 1, 0);
    const tensus_Value pick[3] = {tensor(t), integer(0), integer(-1)};
    tensus_Tensor *last = op(s, "select", 3, pick);
    CHECK_INT(tensus_tensor_item_f64(last, &value), TENSUS_OK);
    CHECK_NEAR(value, 1, 0);
    tensus_tensor_release(last);
    tensus_tensor_release(f);
    tensus_tensor_release(d);
    tensus_tensor_release(t);
  }
  tensus_close(s);
}

/* ---- layouts ---- */

typedef struct Bad {
  int ndim;
  int64_t sizes[3], strides[3];
  tensus_Status status;
} Bad;

static void test_bad_layouts(void) {
  static const Bad rows[] = {
      {1, {-1, 0, 0}, {1, 0, 0}, TENSUS_E_SHAPE},
      {2, {2, 2, 0}, {-1, 1, 0}, TENSUS_E_SHAPE},
      {-1, {0, 0, 0}, {0, 0, 0}, TENSUS_E_SHAPE},
      {13, {0, 0, 0}, {0, 0, 0}, TENSUS_E_SHAPE},
      {2, {INT64_MAX, 2, 0}, {1, 1, 0}, TENSUS_E_SHAPE},
      {3, {1 << 21, 1 << 21, 1 << 21}, {1, 1, 1}, TENSUS_E_SHAPE},
      {2, {INT64_MAX, 0, 0}, {INT64_MAX, 1, 0}, TENSUS_E_SHAPE},
      {1, {9, 0, 0}, {1, 0, 0}, TENSUS_E_SHAPE},
      {2, {2, 2, 0}, {7, 1, 0}, TENSUS_E_SHAPE},
      {2, {3, 3, 0}, {INT64_MAX, INT64_MAX, 0}, TENSUS_E_SHAPE},
      {2, {2, 2, 0}, {INT64_MAX, INT64_MAX, 0}, TENSUS_E_SHAPE},
  };
  tensus_State *s = open_seeded(1);
  float data[8] = {0};
  for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
    tensus_Layout l = layout_of(TENSUS_F32, rows[k].ndim, rows[k].sizes);
    tensus_Tensor *t = NULL;
    l.strides = rows[k].strides;
    CHECK(tensus_tensor_copy(s, &l, data, sizeof data, &t) == rows[k].status,
          "row %d: %s", (int)k, tensus_last_message(s));
    CHECK(tensus_tensor_borrow(s, &l, data, sizeof data, 0, &t) ==
              rows[k].status,
          "row %d: %s", (int)k, tensus_last_message(s));
    CHECK(t == NULL);
  }
  tensus_close(s);
}

static void test_odd_layouts(void) {
  tensus_State *s = open_seeded(1);
  float data[8] = {0, 1, 2, 3, 4, 5, 6, 7};
  const float corners[4] = {0, 3, 4, 7};
  const int64_t sizes[2] = {2, 2}, strides[2] = {4, 3}, none[2] = {0, 9};
  tensus_Layout l = layout_of(TENSUS_F32, 2, sizes);
  tensus_Tensor *t = NULL;
  l.strides = strides;
  CHECK_INT(tensus_tensor_copy(s, &l, data, sizeof data, &t), TENSUS_OK);
  check_floats(t, 4, corners);
  tensus_tensor_release(t);
  l = layout_of(TENSUS_F32, 2, none); /* no elements: no memory is due */
  CHECK_INT(tensus_tensor_copy(s, &l, NULL, 0, &t), TENSUS_OK);
  CHECK_INT(tensus_tensor_numel(t), 0);
  CHECK_INT(tensus_tensor_read(t, NULL, 0), TENSUS_OK);
  CHECK_INT(tensus_tensor_write(t, NULL, 0), TENSUS_OK);
  tensus_tensor_release(t);
  CHECK_INT(tensus_tensor_borrow(s, &l, NULL, 0, 0, &t), TENSUS_OK);
  tensus_tensor_release(t);
  l = layout_of(TENSUS_F32, 0, NULL); /* rank 0 has one element */
  CHECK_INT(tensus_tensor_copy(s, &l, data + 5, 4, &t), TENSUS_OK);
  check_floats(t, 1, data + 5);
  tensus_tensor_release(t);
  t = NULL;
  CHECK_INT(tensus_tensor_copy(s, &l, NULL, 4, &t), TENSUS_E_ARG);
  CHECK_INT(tensus_tensor_copy(s, &l, data, 3, &t), TENSUS_E_SHAPE);
  l = layout_of(TENSUS_F32, 2, NULL);
  CHECK_INT(tensus_tensor_new(s, &l, &t), TENSUS_E_ARG);
  l = layout_of((tensus_Dtype)10, 2, sizes);
  CHECK_INT(tensus_tensor_new(s, &l, &t), TENSUS_E_DTYPE);
  CHECK(t == NULL);
  tensus_close(s);
}

static void test_alignment(void) {
  tensus_State *s = open_seeded(1);
  float data[4] = {0};
  const float two[2] = {5, 6};
  const int64_t n = 2, stride = 2;
  char *odd = (char *)data + 1;
  tensus_Layout l = layout_of(TENSUS_F32, 1, &n);
  tensus_Tensor *t = NULL;
  memcpy(odd, two, sizeof two);
  CHECK_INT(tensus_tensor_borrow(s, &l, odd, 8, 0, &t), TENSUS_E_ARG);
  CHECK_FOUND(tensus_last_message(s), "data");
  CHECK_INT(tensus_tensor_copy(s, &l, odd, 8, &t), TENSUS_OK);
  check_floats(t, 2, two);
  tensus_tensor_release(t);
  t = NULL;
  l.strides = &stride;
  CHECK_INT(tensus_tensor_copy(s, &l, odd, 12, &t), TENSUS_E_ARG);
  CHECK(t == NULL);
  tensus_close(s);
}

/* ---- memory of the host ---- */

static void test_borrow(void) {
  tensus_State *s = open_seeded(1);
  float data[4] = {1, 2, 3, 4};
  const int64_t n = 4;
  const tensus_Layout l = layout_of(TENSUS_F32, 1, &n);
  tensus_Tensor *t = NULL;
  double value;
  CHECK_INT(tensus_tensor_borrow(s, &l, data, sizeof data, 0, &t), TENSUS_OK);
  set_tensor(s, "x", t);
  run_ok(s, "x:add_(10); v = x['2:3']");
  CHECK_NEAR(data[3], 14, 0);
  run_ok(s, "w = ts.ones(4, {requires_grad = true}); y = (w * x):sum()");
  CHECK_INT(tensus_tensor_revoke(t), TENSUS_OK);
  memset(data, 0xff, sizeof data);
  run_bad(s, "return x + 1", TENSUS_E_STATE, "taken it back");
  run_bad(s, "return v:sum()", TENSUS_E_STATE, "taken it back");
  run_bad(s, "x:fill_(1)", TENSUS_E_STATE, "taken it back");
  run_bad(s, "return x(1)", TENSUS_E_STATE, "taken it back");
  run_bad(s, "return x[1]", TENSUS_E_STATE, "taken it back");
  run_bad(s, "x[1] = 5", TENSUS_E_STATE, "taken it back");
  run_bad(s, "x['1:2'] = ts.ones(2)", TENSUS_E_STATE, "taken it back");
  run_bad(s, "return x[ts.tensor({1, 2}, {dtype = 'i64'})]", TENSUS_E_STATE,
          "taken it back");
  run_bad(s, "return tostring(x)", TENSUS_E_STATE, "taken it back");
  run_bad(s, "return x:tolist()", TENSUS_E_STATE, "taken it back");
  run_bad(s, "return ts.cat{x, x}", TENSUS_E_STATE, "taken it back");
  run_bad(s, "y:backward()", TENSUS_E_STATE, "taken it back");
  run_bad(s, "return x:clone()", TENSUS_E_STATE, "taken it back");
  run_bad(s, "return x:to('f64')", TENSUS_E_STATE, "taken it back");
  CHECK_INT(tensus_tensor_read(t, data, sizeof data), TENSUS_E_STATE);
  CHECK_INT(tensus_tensor_write(t, data, sizeof data), TENSUS_E_STATE);
  CHECK_INT(tensus_tensor_item_f64(t, &value), TENSUS_E_STATE);
  CHECK_INT(tensus_tensor_revoke(t), TENSUS_OK); /* twice is fine */
  run_ok(s, "assert(#x.shape == 1 and x:numel() == 4)");
  tensus_tensor_release(t);
  tensus_close(s);
}

static void test_readonly(void) {
  tensus_State *s = open_seeded(1);
  float data[2] = {1, 2}, more[2] = {3, 4};
  const int64_t n = 2;
  const tensus_Layout l = layout_of(TENSUS_F32, 1, &n);
  tensus_Tensor *t = NULL, *own = NULL;
  CHECK_INT(tensus_tensor_borrow(s, &l, data, sizeof data, 1, &t), TENSUS_OK);
  set_tensor(s, "x", t);
  run_ok(s, "assert(x:sum()() == 3)");
  run_bad(s, "x:add_(1)", TENSUS_E_STATE, "read-only");
  run_bad(s, "x[1] = 2", TENSUS_E_STATE, "read-only");
  run_bad(s, "x['1:2'] = 2", TENSUS_E_STATE, "read-only");
  run_bad(s, "x['1:2']:zero_()", TENSUS_E_STATE, "read-only");
  run_bad(s, "x:set(1, 7)", TENSUS_E_STATE, "read-only");
  run_bad(s, "x:normal_()", TENSUS_E_STATE, "read-only");
  CHECK_INT(tensus_tensor_write(t, more, sizeof more), TENSUS_E_STATE);
  CHECK_NEAR(data[0], 1, 0);
  own = row(s, 2, more);
  CHECK_INT(tensus_tensor_revoke(own), TENSUS_E_STATE);
  tensus_tensor_release(own);
  tensus_tensor_release(t);
  tensus_close(s);
}

typedef struct Deleted {
  int times;
  void *data;
} Deleted;

static void note_deleted(void *data, void *ctx) {
  Deleted *d = (Deleted *)ctx;
  d->times++;
  d->data = data;
}

static void test_adopt(void) {
  tensus_State *s = open_seeded(1);
  float data[2] = {1, 2};
  const int64_t n = 2, three = 3;
  tensus_Layout l = layout_of(TENSUS_F32, 1, &n);
  tensus_Tensor *t = NULL;
  Deleted d = {0, NULL};
  CHECK_INT(tensus_tensor_adopt(s, &l, data, 8, note_deleted, &d, &t),
            TENSUS_OK);
  CHECK_INT(tensus_tensor_revoke(t), TENSUS_E_STATE);
  set_tensor(s, "x", t);
  run_ok(s, "x = x['1:1']; collectgarbage()");
  tensus_tensor_release(t);
  CHECK_INT(d.times, 0); /* a view of it lives */
  run_ok(s, "x = nil; collectgarbage(); collectgarbage()");
  CHECK_INT(d.times, 1);
  CHECK(d.data == data);
  l.sizes = &three; /* beyond the buffer */
  t = NULL;
  CHECK_INT(tensus_tensor_adopt(s, &l, data, 8, note_deleted, &d, &t),
            TENSUS_E_SHAPE);
  CHECK(t == NULL);
  CHECK_INT(d.times, 1);
  tensus_close(s);
  CHECK_INT(d.times, 1);
}

static void test_adopt_and_close(void) {
  tensus_State *s = open_seeded(1);
  float data[2] = {1, 2};
  const int64_t n = 2;
  const tensus_Layout l = layout_of(TENSUS_F32, 1, &n);
  tensus_Tensor *t = NULL, *u = NULL;
  Deleted d = {0, NULL}, e = {0, NULL};
  CHECK_INT(tensus_tensor_adopt(s, &l, data, 8, note_deleted, &d, &t),
            TENSUS_OK);
  CHECK_INT(tensus_tensor_adopt(s, &l, data, 8, note_deleted, &e, &u),
            TENSUS_OK);
  set_tensor(s, "x", t); /* held by both, and `u` by C alone */
  tensus_close(s);
  CHECK_INT(d.times, 1);
  CHECK_INT(e.times, 1);
  tensus_tensor_release(t);
  tensus_tensor_release(u);
  CHECK_INT(d.times + e.times, 2);
}

static void test_after_close(void) {
  tensus_State *s = open_seeded(1);
  const float one = 1;
  float got = 0;
  double value = 0;
  tensus_Tensor *x = row(s, 1, &one), *y = row(s, 1, &one), *out = NULL;
  tensus_Value v = of_kind(TENSUS_NIL);
  tensus_Usage u;
  run_ok(s, "word = 'kept'");
  CHECK_INT(tensus_get_global(s, "word", &v), TENSUS_OK);
  u.size = sizeof u;
  tensus_close(s);
  tensus_close(s);
  CHECK_INT(tensus_tensor_read(x, &got, 4), TENSUS_E_STATE);
  CHECK_INT(tensus_tensor_write(x, &got, 4), TENSUS_E_STATE);
  CHECK_INT(tensus_tensor_item_f64(x, &value), TENSUS_E_STATE);
  CHECK_INT(tensus_tensor_to(x, TENSUS_F64, NULL, &out), TENSUS_E_STATE);
  CHECK_INT(tensus_tensor_grad(x, &out), TENSUS_E_STATE);
  CHECK_INT(tensus_tensor_set_requires_grad(x, 1), TENSUS_E_STATE);
  CHECK_INT(tensus_tensor_revoke(x), TENSUS_E_STATE);
  CHECK_INT(tensus_backward(x, y), TENSUS_E_STATE);
  CHECK_INT(tensus_tensor_ndim(x), 0);
  CHECK_INT(tensus_tensor_size(x, 0), -1);
  CHECK_INT(tensus_tensor_numel(x), 0);
  CHECK_INT(tensus_tensor_bytes(x), 0);
  CHECK_INT(tensus_tensor_requires_grad(x), 0);
  CHECK_TEXT(tensus_tensor_device(x), "");
  (void)tensus_tensor_dtype(x);
  CHECK_INT(run(s, "x = 1"), TENSUS_E_STATE);
  CHECK_INT(tensus_run_file(s, "/dev/null"), TENSUS_E_STATE);
  CHECK_INT(tensus_usage(s, &u), TENSUS_E_STATE);
  CHECK_INT(tensus_gc(s), TENSUS_E_STATE);
  CHECK_INT(tensus_set_threads(s, 1), TENSUS_E_STATE);
  CHECK_INT(tensus_manual_seed(s, 1), TENSUS_E_STATE);
  CHECK_INT(tensus_set_global(s, "x", &v), TENSUS_E_STATE);
  CHECK_INT(tensus_get_global(s, "x", &v), TENSUS_E_STATE);
  CHECK_INT(tensus_call(s, "x", NULL, 0, NULL, NULL), TENSUS_E_STATE);
  CHECK_INT(tensus_op(s, "neg", NULL, 0, NULL, 0, NULL, NULL), TENSUS_E_STATE);
  CHECK_FOUND(tensus_last_message(s), "closed");
  tensus_interrupt(s);
  tensus_interrupt_clear(s);
  CHECK(out == NULL);
  tensus_tensor_release(x);
  CHECK_TEXT(v.u.s, "kept");
  tensus_tensor_release(y);
  tensus_value_clear(s, &v); /* the last of the state */
}

/* ---- ops by name ---- */

/* An op that must fail so. */
static void op_bad(tensus_State *s, const char *name, int nargs,
                   const tensus_Value *args, tensus_Status status,
                   const char *part) {
  tensus_Value r = of_kind(TENSUS_NIL);
  int n = 1;
  CHECK(tensus_op(s, name, args, nargs, NULL, 0, &r, &n) == status, "%s: %s",
        name, tensus_last_message(s));
  CHECK_FOUND(tensus_last_message(s), part);
  CHECK_INT(r.kind, TENSUS_NIL);
}

static void test_op(void) {
  tensus_State *s = open_seeded(1);
  const float values[6] = {1, 2, 3, 4, 5, 6};
  const int64_t both[2] = {0, 1}, swapped[2] = {1, 0}, flat[1] = {-1};
  tensus_Tensor *x = matrix(s, 2, 3, values), *r;
  tensus_Value a[3] = {tensor(x), tensor(x), of_kind(TENSUS_NIL)};
  const float sum = 21, columns[3] = {5, 7, 9}, rows[2] = {6, 15};
  const float turned[6] = {1, 4, 2, 5, 3, 6}, half[2] = {4, 5};
  r = op(s, "sum", 1, a);
  check_floats(r, 1, &sum);
  tensus_tensor_release(r);
  a[1] = integer(0);
  r = op(s, "sum", 2, a);
  check_floats(r, 3, columns);
  tensus_tensor_release(r);
  a[1] = integer(-1);
  r = op(s, "sum", 2, a);
  check_floats(r, 2, rows);
  tensus_tensor_release(r);
  a[1] = sizes_of(both, 2);
  r = op(s, "sum", 2, a);
  check_floats(r, 1, &sum);
  tensus_tensor_release(r);
  a[1] = of_kind(TENSUS_NIL); /* as if it were left out */
  r = op(s, "sum", 2, a);
  check_floats(r, 1, &sum);
  tensus_tensor_release(r);
  a[1] = sizes_of(swapped, 2);
  r = op(s, "permute", 2, a);
  check_floats(r, 6, turned);
  tensus_tensor_release(r);
  a[1] = sizes_of(flat, 1);
  r = op(s, "reshape", 2, a);
  CHECK_INT(tensus_tensor_ndim(r), 1);
  a[0] = tensor(r);
  a[1] = integer(0);
  const tensus_Value part[4] = {a[0], a[1], integer(3), integer(2)};
  tensus_Tensor *narrow = op(s, "narrow", 4, part);
  check_floats(narrow, 2, half);
  tensus_tensor_release(narrow);
  tensus_tensor_release(r);
  tensus_tensor_release(x);
  tensus_close(s);
}

static tensus_Option option(const char *name, tensus_Value value) {
  tensus_Option o;
  o.name = name;
  o.value = value;
  return o;
}

static void test_op_options(void) {
  tensus_State *s = open_seeded(1);
  const float values[6] = {1, 2, 3, 4, 5, 6}, third[1] = {1.5f};
  const int64_t two[2] = {2, 2}, one[2] = {1, 1};
  tensus_Tensor *x = matrix(s, 2, 3, values);
  tensus_Value args[2] = {tensor(x), integer(1)}, r = of_kind(TENSUS_NIL);
  tensus_Option o[3];
  int n = 1;
  o[0] = option("keepdim", boolean(1));
  o[1] = option("dtype", text("f64"));
  CHECK_INT(tensus_op(s, "sum", args, 2, o, 2, &r, &n), TENSUS_OK);
  CHECK_INT(tensus_tensor_ndim(r.u.t), 2);
  CHECK_INT(tensus_tensor_dtype(r.u.t), TENSUS_F64);
  tensus_value_clear(s, &r);
  o[1] = option("dtype", text("f31"));
  CHECK_INT(tensus_op(s, "sum", args, 2, o, 2, &r, &n), TENSUS_E_DTYPE);
  CHECK_FOUND(tensus_last_message(s), "f31");
  o[1] = option("keepdims", boolean(1));
  CHECK_INT(tensus_op(s, "sum", args, 2, o, 2, &r, &n), TENSUS_E_ARG);
  CHECK_FOUND(tensus_last_message(s), "keepdims");
  o[1] = option("self", tensor(x)); /* a parameter, but no option */
  CHECK_INT(tensus_op(s, "sum", args, 2, o, 2, &r, &n), TENSUS_E_ARG);
  o[0] = option("keepdim", text("yes"));
  CHECK_INT(tensus_op(s, "sum", args, 2, o, 1, &r, &n), TENSUS_E_ARG);
  o[0] = option("alpha", number(0.5));
  args[1] = integer(1);
  args[0] = number(1); /* numbers alone make a tensor or are refused */
  (void)tensus_op(s, "add", args, 2, o, 1, &r, &n);
  tensus_value_clear(s, &r);
  n = 1;
  args[0] = tensor(x);
  CHECK_INT(tensus_op(s, "add", args, 2, o, 1, &r, &n), TENSUS_OK);
  float got[6] = {0};
  CHECK_INT(tensus_tensor_read(r.u.t, got, sizeof got), TENSUS_OK);
  CHECK_NEAR(got[0], third[0], 0);
  tensus_value_clear(s, &r);
  o[0] = option("approximate", text("tanh"));
  CHECK_INT(tensus_op(s, "gelu", args, 1, o, 1, &r, &n), TENSUS_OK);
  tensus_value_clear(s, &r);
  o[0] = option("approximate", text("tan"));
  CHECK_INT(tensus_op(s, "gelu", args, 1, o, 1, &r, &n), TENSUS_E_ARG);
  CHECK_FOUND(tensus_last_message(s), "tan");
  args[1] = sizes_of(two, 2); /* pairs */
  const int64_t image[3] = {1, 2, 3};
  const tensus_Value view[2] = {tensor(x), sizes_of(image, 3)};
  tensus_Tensor *picture = op(s, "reshape", 2, view);
  args[0] = tensor(picture);
  o[0] = option("stride", sizes_of(one, 2));
  CHECK_INT(tensus_op(s, "max_pool2d", args, 2, o, 1, &r, &n), TENSUS_OK);
  CHECK_INT(tensus_tensor_numel(r.u.t), 2);
  tensus_value_clear(s, &r);
  o[0] = option("device", text("cpu"));
  o[1] = option("requires_grad", boolean(1));
  args[0] = sizes_of(two, 2);
  CHECK_INT(tensus_op(s, "rand", args, 1, o, 2, &r, &n), TENSUS_OK);
  CHECK_INT(tensus_tensor_requires_grad(r.u.t), 1);
  tensus_value_clear(s, &r);
  o[0] = option("device", text("tpu"));
  CHECK_INT(tensus_op(s, "rand", args, 1, o, 1, &r, &n), TENSUS_E_DEVICE);
  o[0] = option("generator", integer(1));
  CHECK_INT(tensus_op(s, "rand", args, 1, o, 1, &r, &n), TENSUS_E_ARG);
  CHECK_INT(r.kind, TENSUS_NIL);
  tensus_tensor_release(picture);
  tensus_tensor_release(x);
  tensus_close(s);
}

static void test_op_wrong(void) {
  tensus_State *s = open_seeded(1);
  const float values[6] = {1, 2, 3, 4, 5, 6};
  tensus_Tensor *x = matrix(s, 2, 3, values), *y = row(s, 2, values);
  tensus_Value a[4] = {tensor(x), tensor(y), integer(0), integer(0)};
  op_bad(s, "add", 2, a, TENSUS_E_SHAPE,
         "add: self {2,3} and other {2} do not broadcast: self dim 1 is 3, "
         "other dim 0 is 2");
  tensus_Detail d = detail_of(s);
  CHECK_TEXT(d.op, "add");
  CHECK_TEXT(d.code, "shape");
  CHECK_INT(d.sizes[0][1], 3);
  CHECK_INT(d.ndim[1], 1);
  op_bad(s, "add", 1, a, TENSUS_E_ARG, "other is missing");
  CHECK_TEXT(detail_of(s).arg, "other");
  op_bad(s, "neg", 2, a, TENSUS_E_INDEX, "2 arguments");
  op_bad(s, "no_such", 1, a, TENSUS_E_ARG, "no_such");
  op_bad(s, "cast", 1, a, TENSUS_E_ARG, "cast");
  op_bad(s, "fill", 1, a, TENSUS_E_ARG, "fill_");
  op_bad(s, "matmul_", 2, a, TENSUS_E_ARG, "in place");
  op_bad(s, "_", 1, a, TENSUS_E_ARG, "_");
  op_bad(s, "", 1, a, TENSUS_E_ARG, "no op");
  a[1] = integer(2);
  op_bad(s, "sum", 2, a, TENSUS_E_SHAPE, "dims are 0..1 or -1..-2");
  CHECK_TEXT(detail_of(s).code, "dim");
  a[1] = integer(-3);
  op_bad(s, "sum", 2, a, TENSUS_E_SHAPE, "dims are 0..1 or -1..-2");
  a[1] = integer(INT64_MIN);
  op_bad(s, "sum", 2, a, TENSUS_E_SHAPE, "dim");
  a[1] = integer(INT64_MAX);
  op_bad(s, "sum", 2, a, TENSUS_E_SHAPE, "dim");
  a[1] = number(0.5);
  op_bad(s, "sum", 2, a, TENSUS_E_ARG, "dim");
  op_bad(s, "softmax", 2, a, TENSUS_E_ARG, "whole number");
  a[1] = text("x");
  op_bad(s, "softmax", 2, a, TENSUS_E_ARG, "number");
  op_bad(s, "add", 2, a, TENSUS_E_ARG, "other");
  op_bad(s, "reshape", 2, a, TENSUS_E_ARG, "size");
  op_bad(s, "matmul", 2, a, TENSUS_E_ARG, "other wants a tensor");
  op_bad(s, "cat", 1, a, TENSUS_E_ARG, "list");
  a[0] = of_kind(TENSUS_NIL);
  op_bad(s, "neg", 1, a, TENSUS_E_ARG, "self");
  a[0] = tensor(NULL);
  op_bad(s, "neg", 1, a, TENSUS_E_ARG, "self");
  tensus_Tensor *holes[2] = {x, NULL};
  a[0] = list_of(holes, 2);
  op_bad(s, "cat", 1, a, TENSUS_E_ARG, "tensors[1]");
  a[0] = list_of(holes, 0);
  op_bad(s, "cat", 1, a, TENSUS_E_SHAPE, "cat");
  a[0] = sizes_of(NULL, 2);
  op_bad(s, "zeros", 1, a, TENSUS_E_ARG, "size");
  int64_t many[13] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  a[0] = sizes_of(many, 13);
  op_bad(s, "zeros", 1, a, TENSUS_E_ARG, "at most 12");
  many[0] = many[1] = INT64_MAX;
  a[0] = sizes_of(many, 2);
  op_bad(s, "zeros", 1, a, TENSUS_E_SHAPE, "too large");
  many[0] = -5;
  op_bad(s, "zeros", 1, a, TENSUS_E_SHAPE, "zeros");
  tensus_tensor_release(x);
  tensus_tensor_release(y);
  tensus_close(s);
}

static void test_op_lists(void) {
  tensus_State *s = open_seeded(1);
  const float values[6] = {1, 2, 3, 4, 5, 6};
  const float joined[4] = {1, 2, 1, 2}, product[4] = {1, 2, 2, 4};
  tensus_Tensor *x = row(s, 2, values), *two[2] = {x, x};
  tensus_Value a[2] = {list_of(two, 2), integer(-1)};
  tensus_Tensor *r = op(s, "cat", 2, a);
  check_floats(r, 4, joined);
  tensus_tensor_release(r);
  a[0] = text("i,j->ij");
  a[1] = list_of(two, 2);
  r = op(s, "einsum", 2, a);
  check_floats(r, 4, product);
  tensus_tensor_release(r);
  a[0] = text("i,j->k");
  op_bad(s, "einsum", 2, a, TENSUS_E_ARG, "einsum");
  tensus_tensor_release(x);
  tensus_close(s);
}

static void test_op_in_place(void) {
  tensus_State *s = open_seeded(1);
  const float values[2] = {1, 2}, doubled[2] = {2, 4}, twos[2] = {2, 2};
  tensus_Tensor *x = row(s, 2, values);
  const tensus_Value a[2] = {tensor(x), number(2)};
  CHECK_INT(tensus_op(s, "mul_", a, 2, NULL, 0, NULL, NULL), TENSUS_OK);
  check_floats(x, 2, doubled);
  tensus_Value r = of_kind(TENSUS_NIL);
  int n = 1;
  CHECK_INT(tensus_op(s, "copy_", a, 2, NULL, 0, &r, &n), TENSUS_OK);
  CHECK_INT(n, 1);
  check_floats(r.u.t, 2, twos);
  tensus_value_clear(s, &r);
  CHECK_INT(tensus_tensor_set_requires_grad(x, 1), TENSUS_OK);
  op_bad(s, "mul_", 2, a, TENSUS_E_GRAD, "leaf");
  const tensus_Value first[1] = {number(1)};
  op_bad(s, "neg_", 1, first, TENSUS_E_ARG, "self");
  const tensus_Value turned[2] = {number(1), tensor(x)};
  op_bad(s, "add_", 2, turned, TENSUS_E_ARG, "self");
  tensus_tensor_release(x);
  tensus_close(s);
}

/* The tensors of a list are results in a row. */
static void test_op_list(void) {
  tensus_State *s = open_seeded(1);
  const float values[3] = {1, 3, 2}, last = 2;
  const int64_t sizes[3] = {2, 0, 1};
  tensus_Tensor *x = row(s, 3, values);
  tensus_Value r[4];
  tensus_Value a[2] = {tensor(x),
                       {.kind = TENSUS_SIZES, .len = 3, .u.sizes = sizes}};
  int n = 4;
  CHECK_INT(tensus_op(s, "split", a, 2, NULL, 0, r, &n), TENSUS_OK);
  CHECK_INT(n, 3);
  check_floats(r[0].u.t, 2, values);
  check_floats(r[2].u.t, 1, &last);
  while (n > 0) tensus_value_clear(s, &r[--n]);
  n = 1; /* less room than results */
  a[1] = integer(1);
  CHECK_INT(tensus_op(s, "split", a, 2, NULL, 0, r, &n), TENSUS_OK);
  CHECK_INT(n, 1);
  check_floats(r[0].u.t, 1, values);
  tensus_value_clear(s, &r[0]);
  CHECK_INT(tensus_op(s, "split", a, 2, NULL, 0, NULL, NULL), TENSUS_OK);
  a[1] = integer(0);
  CHECK(tensus_op(s, "split", a, 2, NULL, 0, r, &n) != TENSUS_OK);
  CHECK_FOUND(tensus_last_message(s), "size is 0");
  tensus_tensor_release(x);
  tensus_close(s);
}

static void test_op_results(void) {
  tensus_State *s = open_seeded(1);
  const float values[3] = {1, 3, 2}, greatest = 3;
  double place = -1;
  tensus_Tensor *x = row(s, 3, values);
  tensus_Value a[2] = {tensor(x), integer(0)}, r[3];
  int n = 3;
  CHECK_INT(tensus_op(s, "max", a, 2, NULL, 0, r, &n), TENSUS_OK);
  CHECK_INT(n, 2);
  check_floats(r[0].u.t, 1, &greatest);
  CHECK_INT(tensus_tensor_item_f64(r[1].u.t, &place), TENSUS_OK);
  CHECK_NEAR(place, 1, 0); /* from 0 */
  tensus_value_clear(s, &r[0]);
  tensus_value_clear(s, &r[1]);
  n = 1;
  CHECK_INT(tensus_op(s, "max", a, 2, NULL, 0, r, &n), TENSUS_OK);
  CHECK_INT(n, 1);
  tensus_value_clear(s, &r[0]);
  n = 0;
  CHECK_INT(tensus_op(s, "max", a, 2, NULL, 0, NULL, &n), TENSUS_OK);
  CHECK_INT(n, 0);
  n = 3;
  CHECK_INT(tensus_op(s, "max", a, 1, NULL, 0, r, &n), TENSUS_OK);
  CHECK_INT(n, 1);
  tensus_value_clear(s, &r[0]);
  tensus_tensor_release(x);
  tensus_close(s);
}

/* ---- derivatives ---- */

static void test_backward(void) {
  tensus_State *s = open_seeded(1);
  const float values[3] = {1, 2, 3}, slopes[3] = {2, 4, 6};
  const float seeded[3] = {4, 12, 24}, one[3] = {1, 2, 3};
  tensus_Tensor *x = row(s, 3, values), *g = x, *y, *z;
  tensus_Value a[2] = {tensor(x), tensor(x)};
  CHECK_INT(tensus_tensor_requires_grad(x), 0);
  CHECK_INT(tensus_backward(x, NULL), TENSUS_E_GRAD);
  CHECK_INT(tensus_tensor_set_requires_grad(x, 1), TENSUS_OK);
  CHECK_INT(tensus_tensor_requires_grad(x), 1);
  CHECK_INT(tensus_tensor_grad(x, &g), TENSUS_OK);
  CHECK(g == NULL);
  y = op(s, "mul", 2, a);
  a[0] = tensor(y);
  z = op(s, "sum", 1, a);
  CHECK_INT(tensus_backward(y, NULL), TENSUS_E_SHAPE);
  CHECK_FOUND(tensus_last_message(s), "{3}");
  CHECK_INT(tensus_backward(z, NULL), TENSUS_OK);
  CHECK_INT(tensus_tensor_grad(x, &g), TENSUS_OK);
  check_floats(g, 3, slopes);
  tensus_tensor_release(g);
  CHECK_INT(tensus_backward(z, NULL), TENSUS_E_GRAD);
  CHECK_FOUND(tensus_last_message(s), "used up");
  tensus_tensor_release(y);
  tensus_tensor_release(z);
  a[0] = a[1] = tensor(x);
  y = op(s, "mul", 2, a);
  tensus_Tensor *seed = row(s, 3, one);
  CHECK_INT(tensus_backward(y, seed), TENSUS_OK);
  CHECK_INT(tensus_tensor_grad(x, &g), TENSUS_OK);
  check_floats(g, 3, seeded);
  tensus_tensor_release(g);
  CHECK_INT(tensus_tensor_set_requires_grad(y, 0), TENSUS_E_STATE);
  CHECK_INT(tensus_tensor_set_requires_grad(x, 0), TENSUS_OK);
  const int64_t n = 1;
  const tensus_Layout l = layout_of(TENSUS_I64, 1, &n);
  tensus_Tensor *whole = NULL;
  CHECK_INT(tensus_tensor_new(s, &l, &whole), TENSUS_OK);
  CHECK_INT(tensus_tensor_set_requires_grad(whole, 1), TENSUS_E_DTYPE);
  tensus_tensor_release(whole);
  tensus_tensor_release(seed);
  tensus_tensor_release(y);
  tensus_tensor_release(x);
  tensus_close(s);
}

/* A script counts from 1, C from 0; the graph of one serves the other. */
static void test_graph_of_script(void) {
  tensus_State *s = open_seeded(1);
  const float third[4] = {0, 0, 1, 0};
  run_ok(s, "x = ts.zeros(4, {requires_grad = true})\n"
            "y = x:gather(1, ts.tensor({3}, {dtype = 'i64'})):sum()\n"
            "w = ts.zeros(2, 4, {requires_grad = true})\n"
            "t = ts.tensor({4, 1}, {dtype = 'i64'})\n"
            "loss = ts.cross_entropy(w, t)\n"
            "m = ts.tensor({1, 5, 2, 0}, {requires_grad = true})\n"
            "top = m:max(1)");
  tensus_Tensor *y = global_tensor(s, "y"), *x = global_tensor(s, "x");
  tensus_Tensor *loss = global_tensor(s, "loss"), *w = global_tensor(s, "w");
  tensus_Tensor *top = global_tensor(s, "top"), *m = global_tensor(s, "m");
  tensus_Tensor *g = NULL;
  CHECK(tensus_backward(y, NULL) == TENSUS_OK, "%s", tensus_last_message(s));
  CHECK_INT(tensus_tensor_grad(x, &g), TENSUS_OK);
  check_floats(g, 4, third);
  tensus_tensor_release(g);
  const float slopes[8] = {0.125f, 0.125f,  0.125f, -0.375f,
                           -0.375f, 0.125f, 0.125f, 0.125f};
  CHECK(tensus_backward(loss, NULL) == TENSUS_OK, "%s",
        tensus_last_message(s));
  CHECK_INT(tensus_tensor_grad(w, &g), TENSUS_OK);
  check_floats(g, 8, slopes);
  tensus_tensor_release(g);
  const float second[4] = {0, 1, 0, 0};
  CHECK(tensus_backward(top, NULL) == TENSUS_OK, "%s", tensus_last_message(s));
  CHECK_INT(tensus_tensor_grad(m, &g), TENSUS_OK);
  check_floats(g, 4, second);
  tensus_tensor_release(g);
  tensus_Tensor *all[6] = {y, x, loss, w, top, m};
  for (int i = 0; i < 6; i++) tensus_tensor_release(all[i]);
  tensus_close(s);
}

static void test_graph_of_c(void) {
  tensus_State *s = open_seeded(1);
  const float values[4] = {0, 0, 0, 0};
  const int64_t n = 1, label = 2;
  const tensus_Layout l = layout_of(TENSUS_I64, 1, &n);
  tensus_Tensor *x = row(s, 4, values), *index = NULL, *y;
  CHECK_INT(tensus_tensor_copy(s, &l, &label, sizeof label, &index),
            TENSUS_OK);
  CHECK_INT(tensus_tensor_set_requires_grad(x, 1), TENSUS_OK);
  const tensus_Value a[3] = {tensor(x), integer(0), tensor(index)};
  y = op(s, "gather", 3, a);
  if (!CHECK(y != NULL, "%s", tensus_last_message(s))) return;
  set_tensor(s, "x", x);
  set_tensor(s, "y", y);
  run_ok(s, "y:sum():backward(); g = x.grad");
  run_ok(s, "assert(g(3) == 1 and g:sum()() == 1)");
  const tensus_Value b[3] = {tensor(x), integer(0), tensor(index)};
  const int64_t four = 4;
  CHECK_INT(tensus_tensor_write(index, &four, sizeof four), TENSUS_OK);
  op_bad(s, "gather", 3, b, TENSUS_E_INDEX, "0..3");
  tensus_tensor_release(y);
  tensus_tensor_release(x);
  tensus_tensor_release(index);
  tensus_close(s);
}

/* A script's modes are over when it has ended. */
static void test_recording(void) {
  tensus_State *s = open_seeded(1);
  const float one = 1;
  tensus_Tensor *x = row(s, 1, &one);
  CHECK_INT(tensus_tensor_set_requires_grad(x, 1), TENSUS_OK);
  run_ok(s, "ts.no_grad(function() return ts.ones(2) + 1 end)");
  run_bad(s, "ts.no_grad(function() return ts.ones(2) + ts.ones(3) end)",
          TENSUS_E_SHAPE, "add");
  run_ok(s, "co = coroutine.wrap(function() local _ <close> = ts.no_grad() "
            "x = ts.ones(2) + 1 coroutine.yield() end) co()");
  const tensus_Value a[1] = {tensor(x)};
  tensus_Tensor *y = op(s, "neg", 1, a);
  CHECK_INT(tensus_tensor_requires_grad(y), 1);
  tensus_tensor_release(y);
  tensus_tensor_release(x);
  tensus_close(s);
}

/* ---- limits ---- */

static tensus_State *open_small(size_t bytes) {
  tensus_Options o;
  tensus_State *s = NULL;
  tensus_options_init(&o);
  o.memory_bytes = bytes;
  o.threads = 1;
  CHECK_INT(tensus_open(&o, &s), TENSUS_OK);
  return s;
}

static void test_quota(void) {
  tensus_State *s = open_small((size_t)16 << 20);
  tensus_Usage u;
  u.size = sizeof u;
  run_bad(s, "x = ts.zeros(8192, 8192)", TENSUS_E_MEMORY,
          "host:1: zeros: out of memory: {8192,8192} f32 needs 256 MiB");
  CHECK_FOUND(tensus_last_message(s), "of 16 MiB left");
  CHECK_TEXT(detail_of(s).code, "memory");
  run_bad(s, "local t = {} for i = 1, 1e9 do t[i] = i end", TENSUS_E_MEMORY,
          "memory");
  run_bad(s, "local t = {} for i = 1, 1e9 do t[i] = ts.ones(100, 100) end",
          TENSUS_E_MEMORY, "out of memory");
  run_ok(s, "assert(ts.ones(100):sum()() == 100)");
  run_ok(s, "for i = 1, 200 do local x = ts.ones(512, 512) + 1 end");
  const int64_t sizes[2] = {8192, 8192};
  const tensus_Value a[1] = {sizes_of(sizes, 2)};
  op_bad(s, "zeros", 1, a, TENSUS_E_MEMORY, "{8192,8192} f32 needs 256 MiB");
  CHECK_INT(tensus_usage(s, &u), TENSUS_OK);
  CHECK(u.host_bytes <= (size_t)16 << 20);
  CHECK(u.peak_bytes <= (size_t)16 << 20);
  tensus_close(s);
}

/* An op of C collects what scripts have dropped before it gives up. */
static void test_room_from_garbage(void) {
  tensus_State *s = open_small((size_t)16 << 20);
  const int64_t n = 2 << 20;
  const tensus_Value a[1] = {integer(n)};
  run_ok(s, "collectgarbage 'stop'; x = ts.ones(2 << 20); x = nil");
  tensus_Tensor *t = op(s, "ones", 1, a);
  CHECK(t != NULL, "%s", tensus_last_message(s));
  tensus_tensor_release(t);
  tensus_close(s);
}

static void test_usage(void) {
  tensus_State *s = open_seeded(1);
  tensus_Usage u, v;
  u.size = 0;
  CHECK_INT(tensus_usage(s, &u), TENSUS_E_ARG);
  u.size = v.size = sizeof u;
  CHECK_INT(tensus_usage(s, &u), TENSUS_OK);
  run_ok(s, "x = ts.ones(1000, 1000)");
  CHECK_INT(tensus_usage(s, &v), TENSUS_OK);
  CHECK(v.host_bytes >= u.host_bytes + 4000000);
  CHECK(v.peak_bytes >= v.host_bytes);
  CHECK_INT(v.tensors, u.tensors + 1);
  run_ok(s, "x = nil");
  CHECK_INT(tensus_gc(s), TENSUS_OK);
  CHECK_INT(tensus_usage(s, &v), TENSUS_OK);
  CHECK_INT(v.tensors, u.tensors);
  CHECK_INT(v.device_bytes, 0);
  tensus_close(s);
}

static void test_threads_option(void) {
  tensus_State *s = open_seeded(1);
  CHECK_INT(tensus_set_threads(s, 0), TENSUS_E_ARG);
  CHECK_INT(tensus_set_threads(s, 65), TENSUS_E_ARG);
  CHECK_FOUND(tensus_last_message(s), "1..64");
  CHECK_INT(tensus_set_threads(s, 2), TENSUS_OK);
  run_ok(s, "assert(ts.get_num_threads() == 2)");
  tensus_close(s);
}

static void test_seed(void) {
  tensus_State *s = open_seeded(7);
  run_ok(s, "a = ts.rand(4)");
  CHECK_INT(tensus_manual_seed(s, 7), TENSUS_OK);
  run_ok(s, "b = ts.rand(4); ts.manual_seed(7); c = ts.rand(4)");
  run_ok(s, "assert(a:eq(b):all()() and a:eq(c):all()())");
  tensus_close(s);
}

/* ---- interrupts ---- */

typedef struct Stopper {
  tensus_State *state;
  double when; /* filled: when it asked */
} Stopper;

static void *stop_soon(void *arg) {
  Stopper *p = (Stopper *)arg;
  const struct timespec pause = {0, 30 * 1000 * 1000};
  nanosleep(&pause, NULL);
  p->when = now();
  tensus_interrupt(p->state);
  return NULL;
}

/* Seconds from the request until the script has ended. */
static double stop_once(tensus_State *s, const char *code) {
  pthread_t thread;
  Stopper p = {s, 0};
  CHECK_INT(pthread_create(&thread, NULL, stop_soon, &p), 0);
  const tensus_Status status = run(s, code);
  const double end = now();
  pthread_join(thread, NULL);
  CHECK(status == TENSUS_E_INTERRUPT, "%s: %s", code, tensus_last_message(s));
  CHECK_FOUND(tensus_last_message(s), "interrupted");
  CHECK_INT(run(s, "x = 1"), TENSUS_E_INTERRUPT); /* until it is cleared */
  tensus_interrupt_clear(s);
  run_ok(s, "assert((ts.ones(300, 300):matmul(ts.ones(300, 300)))(1, 1) == "
            "300)");
  return end - p.when;
}

/* Sanitizers and valgrind take their time. */
static double promised(void) {
  const char *preloaded = getenv("LD_PRELOAD");
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return 2;
#endif
  return preloaded != NULL && strstr(preloaded, "valgrind") != NULL ? 60 : 0.1;
}

/* The best of a few: the machine may be busy. */
static void check_stops(const char *code) {
  tensus_State *s = open_seeded(1);
  double best = 1e9;
  for (int i = 0; i < 5 && best > promised(); i++) {
    const double took = stop_once(s, code);
    if (took < best) best = took;
  }
  CHECK(best <= promised(), "took %.3f s: %s", best, code);
  tensus_close(s);
}

static void test_interrupt(void) {
  check_stops("while true do end");
  check_stops("while true do pcall(function() while true do end end) end");
  check_stops("coroutine.wrap(function() while true do end end)()");
  check_stops("local a = ts.ones(1500, 1500) while true do a:matmul(a) end");
  check_stops("local a = ts.ones(4000, 4000) while true do a:matmul(a) end");
  check_stops("local a = ts.ones(3000, 3000) while true do a:exp() end");
  check_stops("local a = ts.ones(3000, 3000) while true do a:sum(1) end");
  check_stops("local a = ts.ones(8, 32, 64, 64) local w = ts.ones(64, 32, 3, "
              "3) while true do ts.conv2d(a, w) end");
}

/* A request that comes first stops what comes next. */
static void test_early_interrupt(void) {
  tensus_State *s = open_seeded(1);
  tensus_interrupt(s);
  run_bad(s, "while true do end", TENSUS_E_INTERRUPT, "interrupted");
  CHECK_INT(tensus_call(s, "print", NULL, 0, NULL, NULL), TENSUS_E_INTERRUPT);
  tensus_interrupt_clear(s);
  tensus_interrupt_clear(s);
  run_ok(s, "x = 2");
  tensus_close(s);
}

/* ---- many states ---- */

static const char *const work =
    "local w = ts.randn(20, 10, {requires_grad = true})\n"
    "for i = 1, 20 do\n"
    "  local x = ts.randn(8, 20)\n"
    "  ts.cross_entropy(x:matmul(w), ts.randint(1, 10, {8})):backward()\n"
    "  ts.no_grad(function() w:sub_(w.grad * 0.1) end)\n"
    "  w.grad = nil\n"
    "end\n"
    "result = (result or 0) + (w * w):sum()()";

static void *work_alone(void *arg) {
  tensus_Options o;
  tensus_State *s = NULL;
  double *sum = (double *)arg;
  tensus_Value v = of_kind(TENSUS_NIL);
  tensus_options_init(&o);
  o.threads = 2;
  o.has_seed = 1;
  o.seed = 5;
  if (tensus_open(&o, &s) != TENSUS_OK) return NULL;
  for (int i = 0; i < 10; i++)
    if (run(s, work) != TENSUS_OK) printf("%s\n", tensus_last_message(s));
  if (tensus_get_global(s, "result", &v) == TENSUS_OK) *sum = v.u.n;
  tensus_close(s);
  return NULL;
}

static void test_two_at_once(void) {
  double alone = 0, sums[2] = {1, 2};
  pthread_t thread[2];
  work_alone(&alone);
  CHECK(alone > 0);
  for (int i = 0; i < 2; i++)
    CHECK_INT(pthread_create(&thread[i], NULL, work_alone, &sums[i]), 0);
  for (int i = 0; i < 2; i++) {
    pthread_join(thread[i], NULL);
    CHECK_NEAR(sums[i], alone, 0);
  }
}

static void test_interleaved(void) {
  tensus_State *a = open_seeded(5), *b = open_seeded(5);
  for (int i = 0; i < 3; i++) {
    run_ok(a, work);
    run_ok(b, work);
    run_bad(i % 2 == 0 ? a : b, "error 'x'", TENSUS_E_RUN, "x");
    CHECK_NEAR(global_number(a, "result"), global_number(b, "result"), 0);
  }
  run_ok(a, "only_a = 1");
  CHECK(isnan(global_number(b, "only_a")));
  tensus_close(a);
  run_ok(b, work);
  tensus_close(b);
}

int main(void) {
  RUN(test_open);
  RUN(test_status_names);
  RUN(test_run);
  RUN(test_bytecode);
  RUN(test_files);
  RUN(test_detail);
  RUN(test_short_detail);
  RUN(test_call);
  RUN(test_lists_as_arguments);
  RUN(test_globals);
  RUN(test_values_of_other_states);
  RUN(test_tensor);
  RUN(test_read_strided);
  RUN(test_dtypes);
  RUN(test_bad_layouts);
  RUN(test_odd_layouts);
  RUN(test_alignment);
  RUN(test_borrow);
  RUN(test_readonly);
  RUN(test_adopt);
  RUN(test_adopt_and_close);
  RUN(test_after_close);
  RUN(test_op);
  RUN(test_op_options);
  RUN(test_op_wrong);
  RUN(test_op_lists);
  RUN(test_op_in_place);
  RUN(test_op_results);
  RUN(test_op_list);
  RUN(test_backward);
  RUN(test_graph_of_script);
  RUN(test_graph_of_c);
  RUN(test_recording);
  RUN(test_quota);
  RUN(test_room_from_garbage);
  RUN(test_usage);
  RUN(test_threads_option);
  RUN(test_seed);
  RUN(test_interrupt);
  RUN(test_early_interrupt);
  RUN(test_two_at_once);
  RUN(test_interleaved);
  return check_report();
}
