/* idx.c: the idx files of the digit sets (LeCun), plain or gzipped.
 *
 *   0 0 type rank | rank sizes, 4 bytes each | elements; all big-endian
 */
#include <string.h>
#include <zlib.h>

#include "compound/format.h"

enum { PIECE = 1 << 20 }; /* zlib counts in int: read by the megabyte */

static Dtype dtype_of(int type) {
  switch (type) {
  case 0x08: return DTYPE_U8;
  case 0x09: return DTYPE_I8;
  case 0x0b: return DTYPE_I16;
  case 0x0c: return DTYPE_I32;
  case 0x0d: return DTYPE_F32;
  case 0x0e: return DTYPE_F64;
  default: return DTYPE_NONE;
  }
}

static bool read_all(gzFile file, char *to, size_t bytes) {
  while (bytes > 0) {
    const unsigned piece = bytes < PIECE ? (unsigned)bytes : PIECE;
    const int n = gzread(file, to, piece);
    if (n <= 0) return false;
    to += n;
    bytes -= (size_t)n;
  }
  return true;
}

static Status read_shape(Context *c, gzFile file, const char *path, int rank,
                         Shape *shape) {
  shape->rank = rank;
  for (int i = 0; i < rank; i++) {
    unsigned char b[4];
    if (!read_all(file, (char *)b, sizeof b))
      return io_fail(c, E_TRUNCATED, path, "the idx header is cut short");
    shape->size[i] =
        (int64_t)b[0] << 24 | (int64_t)b[1] << 16 | (int64_t)b[2] << 8 | b[3];
  }
  return OK;
}

/* Deflate packs at most 1032 times: a header that promises more lies, and no
 * memory is taken for it. */
static Status check_promise(Context *c, const Source *s, const Shape *shape,
                            Dtype dtype) {
  if (!shape_fits(shape, dtype_bytes(dtype)))
    return fail(c, E_SIZE_OVERFLOW, "%s: shape %S is too large", s->path,
                SHAPE_ARG(shape));
  const int64_t bytes = shape_count(shape) * (int64_t)dtype_bytes(dtype);
  if (bytes / 1032 <= s->size) return OK;
  return fail(c, E_TRUNCATED, "%s: %S %s cannot lie in a file of %I bytes", s->path,
              SHAPE_ARG(shape), dtype_name(dtype), s->size);
}

static Status read_tensor(Context *c, gzFile file, const Source *s,
                          Tensor **r) {
  unsigned char head[4];
  Shape shape;
  Tensor *t = NULL;
  if (!read_all(file, (char *)head, sizeof head))
    return io_fail(c, E_TRUNCATED, s->path, "the idx header is cut short");
  const Dtype dtype = dtype_of(head[2]);
  if (head[0] != 0 || head[1] != 0 || dtype == DTYPE_NONE ||
      head[3] > MAX_RANK)
    return io_fail(c, E_BAD_MAGIC, s->path, "is no idx file");
  Status status = read_shape(c, file, s->path, head[3], &shape);
  if (status == OK) status = check_promise(c, s, &shape, dtype);
  if (status == OK) status = tensor_new(c, &c->host, dtype, &shape, &t);
  if (status != OK) return status;
  char beyond;
  const size_t bytes = tensor_bytes(t);
  if (bytes > 0 && !read_all(file, tensor_data(t), bytes))
    status = io_fail(c, E_TRUNCATED, s->path, "the elements are cut short");
  else if (gzread(file, &beyond, 1) > 0)
    status = io_fail(c, E_FILE_FORMAT, s->path,
                     "has more elements than its header says");
  if (status != OK) {
    tensor_release(c, t);
    return status;
  }
  io_swap(bytes > 0 ? tensor_data(t) : NULL, bytes, dtype_bytes(dtype));
  *r = t;
  return OK;
}

Status idx_load(Context *c, const Source *s, Tensor **r) {
  gzFile file = gzopen(s->path, "rb"); /* plain files pass through */
  if (file == NULL) return io_fail(c, E_IO, s->path, "cannot be opened");
  const Status status = read_tensor(c, file, s, r);
  gzclose(file);
  return status;
}
