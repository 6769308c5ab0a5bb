/* npy.c: NumPy's array files (format versions 1 to 3).
 *
 *   "\x93NUMPY" major minor | header length (2 or 4 bytes, little-endian) |
 *   {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), } .. '\n' | data
 *
 * The header is text in the form of a Python dictionary; this reader knows the
 * three keys, in any order and once each, and nothing else.
 */
#include <stdlib.h>
#include <string.h>

#include "compound/format.h"
#include "ops/ops.h"

enum { HEADER_MOST = 65536 };

/* What a header says. */
typedef struct Header {
  Dtype dtype;
  bool is_swapped, is_fortran;
  bool has_descr, has_order, has_shape;
  Shape shape;
} Header;

/* A place in the text; `ok` goes false once and stays. */
typedef struct Text {
  const char *at;
  bool ok;
} Text;

static void skip_blanks(Text *t) {
  while (*t->at == ' ' || *t->at == '\t' || *t->at == '\n' || *t->at == '\r')
    t->at++;
}

static bool take(Text *t, char wanted) {
  skip_blanks(t);
  if (*t->at != wanted) return false;
  t->at++;
  return true;
}

static void want(Text *t, char wanted) { t->ok = t->ok && take(t, wanted); }

/* A quoted word without escapes into `word`. */
static void take_word(Text *t, char *word, size_t room) {
  skip_blanks(t);
  const char quote = *t->at;
  size_t n = 0;
  word[0] = '\0';
  t->ok = t->ok && (quote == '\'' || quote == '"');
  if (!t->ok) return;
  for (t->at++; *t->at != quote && *t->at != '\0' && n + 1 < room; t->at++)
    word[n++] = *t->at;
  word[n] = '\0';
  want(t, quote);
}

static bool take_name(Text *t, const char *name) {
  skip_blanks(t);
  const size_t n = strlen(name);
  if (strncmp(t->at, name, n) != 0) return false;
  t->at += n;
  return true;
}

static Dtype dtype_of(char kind, char bytes) {
  static const struct {
    char kind, bytes;
    Dtype dtype;
  } rows[] = {{'b', '1', DTYPE_BOOL}, {'u', '1', DTYPE_U8},
              {'i', '1', DTYPE_I8},   {'i', '2', DTYPE_I16},
              {'i', '4', DTYPE_I32},  {'i', '8', DTYPE_I64},
              {'f', '2', DTYPE_F16},  {'f', '4', DTYPE_F32},
              {'f', '8', DTYPE_F64}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (rows[i].kind == kind && rows[i].bytes == bytes) return rows[i].dtype;
  return DTYPE_NONE;
}

/* '<f4': byte order, kind, size. */
static Status read_descr(Context *c, const Source *s, Text *t, Header *h) {
  char word[16];
  take_word(t, word, sizeof word);
  if (!t->ok) return OK; /* the caller says it */
  const bool has_order = strchr("<>|=", word[0]) != NULL && word[0] != '\0';
  const char *kind = word + has_order;
  h->dtype = strlen(kind) == 2 ? dtype_of(kind[0], kind[1]) : DTYPE_NONE;
  h->is_swapped = word[0] == '>';
  h->has_descr = true;
  if (h->dtype != DTYPE_NONE) return OK;
  return fail(c, kind[0] == 'O' ? E_OBJECT_DTYPE : E_FILE_FORMAT,
              "%s: elements of type '%s' are not read", s->path, word);
}

static void read_shape(Text *t, Header *h) {
  h->shape.rank = 0;
  h->has_shape = true;
  want(t, '(');
  while (t->ok && !take(t, ')')) {
    char *end = NULL;
    skip_blanks(t);
    t->ok = *t->at >= '0' && *t->at <= '9' && h->shape.rank < MAX_RANK;
    if (!t->ok) return;
    const unsigned long long n = strtoull(t->at, &end, 10);
    t->ok = n <= INT64_MAX;
    t->at = *end == 'L' ? end + 1 : end; /* Python 2 wrote 3L */
    h->shape.size[h->shape.rank++] = (int64_t)n;
    if (!take(t, ',') && *t->at != ')') t->ok = false;
  }
}

static Status read_entry(Context *c, const Source *s, Text *t, Header *h) {
  char key[32];
  take_word(t, key, sizeof key);
  want(t, ':');
  if (!t->ok) return OK;
  if (strcmp(key, "descr") == 0 && !h->has_descr)
    return read_descr(c, s, t, h);
  if (strcmp(key, "shape") == 0 && !h->has_shape) {
    read_shape(t, h);
    if (!t->ok)
      return io_fail(c, E_BAD_SHAPE, s->path,
                     "the npy header holds no shape");
  } else if (strcmp(key, "fortran_order") == 0 && !h->has_order) {
    h->has_order = true;
    h->is_fortran = take_name(t, "True");
    t->ok = h->is_fortran || take_name(t, "False");
  } else {
    t->ok = false;
  }
  return OK;
}

static Status read_header(Context *c, const Source *s, const char *text,
                          Header *h) {
  Text t = {text, true};
  memset(h, 0, sizeof *h);
  want(&t, '{');
  while (t.ok && !take(&t, '}')) {
    const Status status = read_entry(c, s, &t, h);
    if (status != OK) return status;
    if (!take(&t, ',') && *t.at != '}') t.ok = false;
  }
  skip_blanks(&t);
  if (!t.ok || *t.at != '\0' || !h->has_descr || !h->has_order ||
      !h->has_shape)
    return io_fail(c, E_FILE_FORMAT, s->path, "the npy header is malformed");
  return OK;
}

/* The text of the header, ended by a zero; the caller frees `room` bytes. */
static Status header_text(Context *c, const Source *s, char **text,
                          size_t *room) {
  unsigned char head[12];
  if (fread(head, 1, 10, s->file) != 10)
    return io_fail(c, E_TRUNCATED, s->path, "the npy header is cut short");
  size_t length = (size_t)head[8] | (size_t)head[9] << 8;
  if (head[6] < 1 || head[6] > 3)
    return io_fail(c, E_FILE_FORMAT, s->path, "the npy version is not known");
  if (head[6] > 1) {
    if (fread(head + 10, 1, 2, s->file) != 2)
      return io_fail(c, E_TRUNCATED, s->path, "the npy header is cut short");
    length |= (size_t)head[10] << 16 | (size_t)head[11] << 24;
  }
  if (length > HEADER_MOST)
    return io_fail(c, E_FILE_FORMAT, s->path, "the npy header is too long");
  char *room_at = ledger_alloc(&c->ledger, length + 1);
  if (room_at == NULL) return fail(c, E_MEMORY, "out of memory");
  if (fread(room_at, 1, length, s->file) != length) {
    ledger_free(&c->ledger, room_at, length + 1);
    return io_fail(c, E_TRUNCATED, s->path, "the npy header is cut short");
  }
  room_at[length] = '\0';
  *text = room_at;
  *room = length + 1;
  return OK;
}

/* Fortran order: the axes were written the other way round. */
static Status in_row_major(Context *c, Tensor *t, Tensor **r) {
  int64_t dims[MAX_RANK];
  Tensor *turned = NULL;
  for (int i = 0; i < t->shape.rank; i++) dims[i] = t->shape.rank - 1 - i;
  Status s = op_permute(c, t, t->shape.rank, dims, &turned);
  if (s == OK) s = op_contiguous(c, turned, r);
  tensor_release(c, turned);
  return s;
}

Status npy_load(Context *c, const Source *source, Tensor **r) {
  char *text = NULL;
  size_t room = 0;
  Header h;
  Tensor *t = NULL;
  Status s = header_text(c, source, &text, &room);
  if (s != OK) return s;
  s = read_header(c, source, text, &h);
  ledger_free(&c->ledger, text, room);
  if (s != OK) return s;
  for (int i = 0; h.is_fortran && i < h.shape.rank / 2; i++) {
    const int64_t kept = h.shape.size[i];
    h.shape.size[i] = h.shape.size[h.shape.rank - 1 - i];
    h.shape.size[h.shape.rank - 1 - i] = kept;
  }
  s = io_read_elements(c, source, h.dtype, &h.shape, &t);
  if (s != OK) return s;
  if (h.is_swapped)
    io_swap(tensor_data(t), tensor_bytes(t), dtype_bytes(h.dtype));
  if (h.is_fortran && h.shape.rank > 1)
    s = in_row_major(c, t, r);
  else
    *r = tensor_share(t);
  tensor_release(c, t);
  return s;
}

/* ---- writing: version 1, row-major, little-endian ---- */

static const char *descr_of(Dtype d) {
  static const char *const names[DTYPE_COUNT] = {
      [DTYPE_BOOL] = "|b1", [DTYPE_U8] = "|u1",  [DTYPE_I8] = "|i1",
      [DTYPE_I16] = "<i2",  [DTYPE_I32] = "<i4", [DTYPE_I64] = "<i8",
      [DTYPE_F16] = "<f2",  [DTYPE_F32] = "<f4", [DTYPE_F64] = "<f8"};
  return names[d];
}

Status npy_save(Context *c, FILE *file, const char *path, const Tensor *t) {
  char header[512];
  int n = 0;
  if (descr_of(t->dtype) == NULL)
    return fail(c, E_DTYPE, "%s: npy has no %s; convert it with :to()", path,
                dtype_name(t->dtype));
  n += snprintf(header, sizeof header,
                "{'descr': '%s', 'fortran_order': False, 'shape': (",
                descr_of(t->dtype));
  for (int i = 0; i < t->shape.rank; i++)
    n += snprintf(header + n, sizeof header - (size_t)n, "%lld,",
                  (long long)t->shape.size[i]);
  n += snprintf(header + n, sizeof header - (size_t)n, "), }");
  const int length = (10 + n + 1 + 63) / 64 * 64 - 10; /* data 64-aligned */
  unsigned char head[10] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0};
  head[8] = (unsigned char)(length & 0xff);
  head[9] = (unsigned char)(length >> 8);
  memset(header + n, ' ', (size_t)(length - 1 - n));
  header[length - 1] = '\n';
  const size_t bytes = tensor_bytes(t);
  const bool written =
      fwrite(head, 1, sizeof head, file) == sizeof head &&
      fwrite(header, 1, (size_t)length, file) == (size_t)length &&
      (bytes == 0 || fwrite(tensor_data(t), 1, bytes, file) == bytes);
  return written ? OK : io_fail(c, E_IO, path, "cannot be written");
}
