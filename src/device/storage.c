/* storage.c: see storage.h. */
#include "device/storage.h"

#include <string.h>

enum {
  INLINE_BYTES = 512 /* up to here one malloc serves header and bytes */
};

/* Headers lie in host memory, those of a GPU's blocks too. */
static Storage *header(Device *d, size_t more) {
  Storage *s = d->is_host ? device_small(d, sizeof *s + more)
                          : ledger_alloc(d->ledger, sizeof *s + more);
  if (s == NULL) return NULL;
  memset(s, 0, sizeof *s);
  s->refs = 1;
  s->device = d;
  return s;
}

static void header_free(Device *d, Storage *s) {
  const size_t bytes = sizeof *s + (s->is_inline ? s->bytes : 0);
  if (d->is_host)
    device_small_free(d, s, bytes);
  else
    ledger_free(d->ledger, s, bytes);
}

Storage *storage_new(Device *d, size_t bytes) {
  const bool is_inline = d->is_host && bytes <= INLINE_BYTES;
  Storage *s = header(d, is_inline ? bytes : 0);
  if (s == NULL) return NULL;
  s->bytes = bytes;
  s->is_inline = is_inline;
  if (is_inline) {
    s->data = (char *)(s + 1);
    return s;
  }
  if (bytes == 0) return s;
  s->data = device_alloc(d, bytes);
  if (s->data != NULL) return s;
  header_free(d, s);
  return NULL;
}

Storage *storage_foreign(Device *d, void *data, size_t bytes,
                         StorageDeleter *deleter, void *arg) {
  Storage *s = header(d, 0);
  if (s == NULL) return NULL;
  s->bytes = bytes;
  s->data = data;
  s->foreign = s->exposed = true;
  s->deleter = deleter;
  s->arg = arg;
  return s;
}

void storage_release(Storage *s) {
  assert(s->refs > 0);
  if (--s->refs > 0) return;
  Device *d = s->device;
  if (s->foreign && s->deleter != NULL) s->deleter(s->data, s->arg);
  if (!s->foreign && !s->is_inline) device_free(d, s->data, s->bytes);
  header_free(d, s);
}
