/* cache.h: freed blocks, kept by size class for the next allocation.
 *
 * A fresh block of a megabyte costs page faults; a loop of temporaries takes
 * the same few blocks again and again.
 * Must not know: what is in a block, which device it is on.
 */
#ifndef TENSUS_CACHE_H
#define TENSUS_CACHE_H

#include "ground/check.h"

enum {
  CACHE_CLASSES = 256, /* 8 for each doubling, from CACHE_LEAST on */
  CACHE_DEPTH = 64,    /* blocks kept of one class: a collection frees dozens */
  CACHE_LEAST = 4096,  /* smaller blocks of elements are malloc's business */
  SMALL_STEP = 64,     /* headers: tensors, storages with their bytes, nodes */
  SMALL_MOST = 1024,
  SMALL_CLASSES = SMALL_MOST / SMALL_STEP
};
/* Bytes of headers kept in all: what dies between two collections. */
#define SMALL_KEPT ((size_t)8 << 20)
#define CACHE_MOST ((size_t)256 << 20) /* bytes kept in all */

/* bytes == sum over classes of count * size of the class, small ones too
 * small[k]: a chain of blocks of (k + 1) SMALL_STEP bytes */
typedef struct Cache {
  size_t bytes, small_bytes;
  void *small[SMALL_CLASSES];
  uint8_t count[CACHE_CLASSES];
  void *block[CACHE_CLASSES][CACHE_DEPTH];
} Cache;

/* The size of a block that serves `bytes` (>= CACHE_LEAST): at most an eighth
 * larger.  bytes + CACHE_LEAST must not wrap. */
size_t cache_size(size_t bytes);

/* A kept block of cache_size(bytes), the caller's; NULL when there is none. */
void *cache_take(Cache *c, size_t bytes);

/* Keep the block; false when there is no place: then it stays the caller's. */
bool cache_put(Cache *c, void *block, size_t bytes);

/* The size of a small block that serves 0 < bytes <= SMALL_MOST. */
size_t cache_small_size(size_t bytes);

/* The same as cache_take and cache_put, for small blocks. */
void *cache_take_small(Cache *c, size_t bytes);
bool cache_put_small(Cache *c, void *block, size_t bytes);

/* Some kept block and its size, the caller's; NULL when empty. */
void *cache_pop(Cache *c, size_t *size);

#endif
