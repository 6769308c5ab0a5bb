/* storage.h: counted bytes that tensors look at.
 *
 * Views share a storage and its version; the version counts in-place calls.
 * Must not know: shapes, dtypes, gradients.
 */
#ifndef TENSUS_STORAGE_H
#define TENSUS_STORAGE_H

#include "device/device.h"

typedef void StorageDeleter(void *data, void *arg);

/* refs == tensors and saved values that look at it
 * data == block behind this header, block of the device, or foreign memory */
typedef struct Storage {
  _Alignas(16) int refs; /* inline bytes follow: aligned, too */
  uint32_t version;
  bool is_inline; /* the bytes follow the header: one allocation */
  bool foreign;   /* the host's memory: `deleter` ends it */
  bool exposed;   /* a host pointer is out: never deferred */
  bool readonly;
  bool revoked;   /* the host took its memory back: data is NULL */
  bool by_reshape; /* a copy that reshape made: lint asks */
  Device *device;
  char *data;
  size_t bytes;
  StorageDeleter *deleter;
  void *arg;
  const char *writer; /* the op that last wrote in place, and its line */
  const char *writer_source;
  int writer_line;
} Storage;

/* refs is 1, values unset; `bytes` may be 0.  NULL when out of memory. */
Storage *storage_new(Device *d, size_t bytes);

/* Over memory of the host; `deleter` (may be NULL) is called once, when the
 * last reference goes.  On failure it is not called. */
Storage *storage_foreign(Device *d, void *data, size_t bytes,
                         StorageDeleter *deleter, void *arg);

INLINE Storage *storage_share(Storage *s) {
  s->refs++;
  return s;
}

/* Drop one count. */
void storage_release(Storage *s);

#endif
