/* dtype.c: see dtype.h. */
#include "value/dtype.h"

#include <string.h>

static const struct {
  const char *name, *aliases;
  size_t bytes;
  DtypeClass class;
} rows[DTYPE_COUNT] = {
#define DTYPE(name, NAME, type, bytes, class, aliases) \
  {#name, aliases, bytes, CLASS_##class},
#include "value/dtype.def"
};

const char *dtype_name(Dtype d) {
  return d < DTYPE_COUNT ? rows[d].name : "none";
}

size_t dtype_bytes(Dtype d) { return rows[d].bytes; }

DtypeClass dtype_class(Dtype d) { return rows[d].class; }

/* Is `word` one of the blank-parted words of `list`? */
static bool has_word(const char *list, const char *word) {
  const size_t n = strlen(word);
  for (const char *p = list; n > 0 && (p = strstr(p, word)) != NULL; p++) {
    const bool starts = p == list || p[-1] == ' ';
    if (starts && (p[n] == ' ' || p[n] == '\0')) return true;
  }
  return false;
}

Dtype dtype_find(const char *name) {
  for (int d = 0; d < DTYPE_COUNT; d++)
    if (strcmp(rows[d].name, name) == 0 || has_word(rows[d].aliases, name))
      return (Dtype)d;
  return DTYPE_NONE;
}

/* Along the order of dtype.def the later one wins, with two exceptions:
 * u8 with i8 needs i16, and f16 with bf16 needs f32. */
Dtype dtype_promote(Dtype a, Dtype b) {
  const Dtype low = a < b ? a : b, high = a < b ? b : a;
  if (low == DTYPE_U8 && high == DTYPE_I8) return DTYPE_I16;
  if (low == DTYPE_F16 && high == DTYPE_BF16) return DTYPE_F32;
  return high;
}

Dtype dtype_compute(Dtype d) {
  if (d == DTYPE_F16 || d == DTYPE_BF16) return DTYPE_F32;
  return d < DTYPE_I32 ? DTYPE_I32 : d;
}

int64_t dtype_least(Dtype d) {
  if (d == DTYPE_BOOL || d == DTYPE_U8) return 0;
  const int bits = (int)rows[d].bytes * 8;
  return -1 - (INT64_MAX >> (64 - bits));
}

int64_t dtype_greatest(Dtype d) {
  if (d == DTYPE_BOOL) return 1;
  if (d == DTYPE_U8) return UINT8_MAX;
  const int bits = (int)rows[d].bytes * 8;
  return INT64_MAX >> (64 - bits);
}
