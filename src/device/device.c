/* device.c: blocks of memory with a cache, and the door to the plug-in.
 *
 * Always: the ledger counts a kept block as used until it is trimmed.
 */
#include "device/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ground/library.h"

void device_open_host(Device *d, Ledger *l) {
  memset(d, 0, sizeof *d);
  d->ledger = l;
  d->is_host = true;
  snprintf(d->name, sizeof d->name, "cpu");
}

/* ---- the plug-in ---- */

/* TENSUS_CUDA_PLUGIN names it; else it lies beside this program or library. */
static void *plugin_open(char *why, size_t room) {
  char beside[4096];
  const char *named = getenv("TENSUS_CUDA_PLUGIN");
  library_path((const void *)(uintptr_t)&device_open_host, beside,
               sizeof beside);
  char *slash = strrchr(beside, '/');
  const size_t head = slash != NULL ? (size_t)(slash - beside) + 1 : 0;
  snprintf(beside + head, sizeof beside - head, "tensus_cuda.so");
  const char *const names[] = {named != NULL ? named : beside,
                               named != NULL ? NULL : "tensus_cuda.so", NULL};
  return library_open(names, why, room);
}

static void *plugin_symbol(const char *symbol, char *why, size_t room) {
  char text[256];
  void *library = plugin_open(text, sizeof text);
  if (library == NULL) {
    snprintf(why, room,
             "the CUDA plug-in cannot be opened (%s); build it with `make "
             "cuda`, or name it in TENSUS_CUDA_PLUGIN",
             text);
    return NULL;
  }
  void *found = library_symbol(library, symbol);
  if (found == NULL) snprintf(why, room, "the CUDA plug-in lacks %s", symbol);
  return found;
}

int device_count_cuda(char *why, size_t room) {
  void *symbol = plugin_symbol("tensus_cuda_count", why, room);
  if (symbol == NULL) return 0;
  int (*count)(void);
  memcpy(&count, &symbol, sizeof count); /* object to function pointer */
  const int n = count();
  if (n <= 0)
    snprintf(why, room,
             "no CUDA driver, or no GPU that it can use; install NVIDIA's "
             "driver, or stay on \"cpu\"");
  return n > 0 ? n : 0;
}

const char *device_open_cuda(Device *d, Ledger *l, int index, char *why,
                             size_t room) {
  const int count = device_count_cuda(why, room);
  if (count == 0) return why;
  if (index < 0 || index >= count) {
    snprintf(why, room, "there is no cuda:%d: devices are cuda:0 to cuda:%d",
             index, count - 1);
    return why;
  }
  void *symbol = plugin_symbol("tensus_cuda_open", why, room);
  if (symbol == NULL) return why;
  BackendOpen *open;
  memcpy(&open, &symbol, sizeof open);
  const Backend kept = d->backend; /* pool and stop are the caller's */
  memset(d, 0, sizeof *d);
  d->backend.pool = kept.pool;
  d->backend.stop = kept.stop;
  d->ledger = l;
  snprintf(d->name, sizeof d->name, "cuda:%d", index);
  return open(&d->backend, index);
}

/* ---- blocks ---- */

static char *fresh(Device *d, size_t size) {
  if (d->is_host) return ledger_alloc_aligned(d->ledger, size);
  if (!ledger_gate(d->ledger)) return NULL;
  char *block = d->backend.alloc(&d->backend, size);
  if (block == NULL && device_trim(d))
    block = d->backend.alloc(&d->backend, size);
  if (block != NULL) d->ledger->device_used += size;
  return block;
}

static void discard(Device *d, char *block, size_t size) {
  if (d->is_host) {
    ledger_free(d->ledger, block, size);
    return;
  }
  d->backend.free(&d->backend, block);
  d->ledger->device_used -= size;
}

char *device_alloc(Device *d, size_t bytes) {
  if (bytes > SIZE_MAX / 2) return NULL;
  if (bytes < CACHE_LEAST) return fresh(d, bytes);
  if (d->cache.bytes > 0) {
    if (!ledger_gate(d->ledger)) return NULL;
    char *kept = cache_take(&d->cache, bytes);
    if (kept != NULL) return kept;
  }
  return fresh(d, cache_size(bytes));
}

void device_free(Device *d, char *block, size_t bytes) {
  if (block == NULL) return;
  if (bytes < CACHE_LEAST)
    discard(d, block, bytes);
  else if (!cache_put(&d->cache, block, bytes))
    discard(d, block, cache_size(bytes));
}

void *device_small(Device *d, size_t bytes) {
  assert(d->is_host);
  if (bytes > SMALL_MOST) return ledger_alloc(d->ledger, bytes);
  void *kept = d->cache.small[(bytes - 1) / SMALL_STEP];
  if (kept == NULL) return ledger_alloc(d->ledger, cache_small_size(bytes));
  if (!ledger_gate(d->ledger)) return NULL;
  return cache_take_small(&d->cache, bytes);
}

void device_small_free(Device *d, void *p, size_t bytes) {
  if (p == NULL) return;
  if (bytes > SMALL_MOST)
    ledger_free(d->ledger, p, bytes);
  else if (!cache_put_small(&d->cache, p, bytes))
    ledger_free(d->ledger, p, cache_small_size(bytes));
}

bool device_trim(Device *d) {
  const bool any = d->cache.bytes > 0;
  size_t size = 0;
  for (char *block; (block = cache_pop(&d->cache, &size)) != NULL;)
    discard(d, block, size);
  return any;
}

void device_close(Device *d) {
  device_trim(d);
  if (!d->is_host && d->backend.close != NULL) d->backend.close(&d->backend);
}
