/* io.c: opens, sniffs, dispatches; writes beside and renames.
 *
 * The formats are told apart in one place, formats.def.
 */
#include "compound/io.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "compound/format.h"
#include "ops/ops.h"

Status io_fail(Context *c, Status code, const char *path, const char *why) {
  return fail(c, code, "%s: %s", path, why);
}

void io_swap(char *data, size_t bytes, size_t each) {
  for (size_t at = 0; each > 1 && at + each <= bytes; at += each)
    for (size_t i = 0; i < each / 2; i++) {
      const char kept = data[at + i];
      data[at + i] = data[at + each - 1 - i];
      data[at + each - 1 - i] = kept;
    }
}

Status io_read_elements(Context *c, const Source *s, Dtype dtype,
                        const Shape *shape, Tensor **r) {
  Tensor *t = NULL;
  if (!shape_fits(shape, dtype_bytes(dtype)))
    return fail(c, E_SIZE_OVERFLOW, "%s: shape %S is too large", s->path,
                SHAPE_ARG(shape));
  const int64_t bytes = shape_count(shape) * (int64_t)dtype_bytes(dtype);
  const int64_t left = s->size - (int64_t)ftell(s->file);
  if (bytes > left)
    return fail(c, E_TRUNCATED, "%s: %S %s wants %I bytes, the file has %I left",
                s->path, SHAPE_ARG(shape), dtype_name(dtype), bytes, left);
  const Status status = tensor_new(c, &c->host, dtype, shape, &t);
  if (status != OK) return status;
  if (bytes > 0 &&
      fread(tensor_data(t), 1, (size_t)bytes, s->file) != (size_t)bytes) {
    tensor_release(c, t);
    return io_fail(c, E_TRUNCATED, s->path, "cannot be read to its end");
  }
  *r = t;
  return OK;
}

typedef Status Load(Context *c, const Source *s, Tensor **r);

/* A gzipped file holds idx: the only form that is read compressed. */
static Status gz_load(Context *c, const Source *s, Tensor **r) {
  return idx_load(c, s, r);
}

static const struct {
  const char *magic;
  size_t length;
  Load *load;
} formats[] = {
#define FORMAT(name, extension, magic, writes) \
  {magic, sizeof(magic) - 1, name##_load},
#include "compound/formats.def"
};

/* *form = how to read the file.  E_BAD_MAGIC; E_TRUNCATED where it ends
 * within what would be a known beginning. */
static Status sniff(Context *c, const Source *s, Load **form) {
  char head[8] = {0};
  bool is_cut = false;
  const size_t n = fread(head, 1, sizeof head, s->file);
  rewind(s->file);
  for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
    const size_t length = formats[i].length < n ? formats[i].length : n;
    if (memcmp(head, formats[i].magic, length) != 0) continue;
    *form = formats[i].load;
    if (length == formats[i].length) return OK;
    is_cut = true;
  }
  if (is_cut) return io_fail(c, E_TRUNCATED, s->path, "is cut short");
  return io_fail(c, E_BAD_MAGIC, s->path,
                 "is of no known format; npy, idx and idx.gz are read");
}

static int64_t file_size(FILE *file) {
  struct stat info;
  if (fstat(fileno(file), &info) != 0 || !S_ISREG(info.st_mode)) return -1;
  return (int64_t)info.st_size;
}

static Status load(Context *c, const char *path, Tensor **r) {
  Source s = {fopen(path, "rb"), path, 0};
  if (s.file == NULL) return io_fail(c, E_IO, path, strerror(errno));
  s.size = file_size(s.file);
  Load *form = NULL;
  Status status = s.size < 0 ? io_fail(c, E_IO, path, "is no regular file")
                             : sniff(c, &s, &form);
  if (status == OK) status = form(c, &s, r);
  fclose(s.file);
  return status;
}

Status io_load(Context *c, const char *path, Tensor **r) {
  if (c->depth++ == 0) c->failure.op = "load";
  const Status s = load(c, path, r);
  c->depth--;
  return s;
}

/* ---- writing ---- */

enum { PATH_ROOM = 4096 };

static bool ends_with(const char *path, const char *end) {
  const size_t n = strlen(path), m = strlen(end);
  return n >= m && strcmp(path + n - m, end) == 0;
}

/* The bytes reach the disk's own error checks before the rename. */
static bool finish(FILE *file) {
  const bool flushed = fflush(file) == 0 && ferror(file) == 0;
  return fclose(file) == 0 && flushed;
}

static Status save(Context *c, const char *path, Tensor *t) {
  char beside[PATH_ROOM];
  Tensor *plain = NULL, *host = NULL;
  if (!ends_with(path, ".npy"))
    return io_fail(c, E_FILE_FORMAT, path, "tensors are written as .npy");
  const int n = snprintf(beside, sizeof beside, "%s.part", path);
  if (n < 0 || (size_t)n >= sizeof beside)
    return io_fail(c, E_IO, path, "the name is too long");
  Args a = {.at[0] = arg_tensor(t), .at[1] = arg_integer(t->dtype)};
  a.at[2].kind = ARG_DEVICE;
  a.at[2].device = &c->host;
  Status s = op_call(c, OP_cast, &a, &host);
  if (s == OK) s = op_contiguous(c, host, &plain);
  FILE *file = s == OK ? fopen(beside, "wb") : NULL;
  if (s == OK && file == NULL) s = io_fail(c, E_IO, beside, strerror(errno));
  if (s == OK) {
    s = npy_save(c, file, path, plain);
    const bool done = finish(file);
    if (s == OK && !done) s = io_fail(c, E_IO, path, "cannot be written");
    if (s == OK && rename(beside, path) != 0)
      s = io_fail(c, E_IO, path, strerror(errno));
    if (s != OK) remove(beside);
  }
  tensor_release(c, host);
  tensor_release(c, plain);
  return s;
}

/* Ops that run inside do not name themselves. */
Status io_save(Context *c, const char *path, Tensor *t) {
  if (c->depth++ == 0) c->failure.op = "save";
  const Status s = save(c, path, t);
  c->depth--;
  return s;
}
