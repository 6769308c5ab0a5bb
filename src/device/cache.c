/* cache.c: see cache.h. */
#include "device/cache.h"

#include <string.h>

/* The class of a size: eight steps for each doubling. */
static int class_of(size_t bytes) {
  size_t size = CACHE_LEAST;
  int class = 0;
  while (size * 2 <= bytes) size *= 2, class += 8;
  const size_t step = size / 8;
  return class + (int)((bytes - size + step - 1) / step);
}

static size_t class_size(int class) {
  const size_t size = (size_t)CACHE_LEAST << class / 8;
  return size + (size_t)(class % 8) * (size / 8);
}

size_t cache_size(size_t bytes) {
  assert(bytes >= CACHE_LEAST);
  const int class = class_of(bytes);
  return class < CACHE_CLASSES ? class_size(class) : bytes;
}

void *cache_take(Cache *c, size_t bytes) {
  const int class = class_of(bytes);
  if (class >= CACHE_CLASSES || c->count[class] == 0) return NULL;
  c->bytes -= class_size(class);
  return c->block[class][--c->count[class]];
}

bool cache_put(Cache *c, void *block, size_t bytes) {
  const int class = class_of(bytes);
  if (class >= CACHE_CLASSES || c->count[class] == CACHE_DEPTH) return false;
  if (c->bytes + class_size(class) > CACHE_MOST) return false;
  c->bytes += class_size(class);
  c->block[class][c->count[class]++] = block;
  return true;
}

/* A sanitizer sees uses after free only where memory is freed. */
#if defined(__SANITIZE_ADDRESS__)
enum { KEEPS_SMALL = 0 };
#else
enum { KEEPS_SMALL = 1 };
#endif

static size_t small_class(size_t bytes) {
  assert(bytes > 0 && bytes <= SMALL_MOST);
  return (bytes - 1) / SMALL_STEP;
}

size_t cache_small_size(size_t bytes) {
  return (small_class(bytes) + 1) * SMALL_STEP;
}

void *cache_take_small(Cache *c, size_t bytes) {
  void **chain = &c->small[small_class(bytes)];
  void *block = *chain;
  if (block == NULL) return NULL;
  memcpy(chain, block, sizeof *chain); /* a kept block begins with the next */
  c->bytes -= cache_small_size(bytes);
  c->small_bytes -= cache_small_size(bytes);
  return block;
}

bool cache_put_small(Cache *c, void *block, size_t bytes) {
  void **chain = &c->small[small_class(bytes)];
  const size_t size = cache_small_size(bytes);
  if (!KEEPS_SMALL || c->small_bytes + size > SMALL_KEPT) return false;
  memcpy(block, chain, sizeof *chain);
  *chain = block;
  c->bytes += size;
  c->small_bytes += size;
  return true;
}

static void *pop_small(Cache *c, size_t *size) {
  for (size_t class = 0; class < SMALL_CLASSES; class++) {
    *size = (class + 1) * SMALL_STEP;
    if (c->small[class] != NULL) return cache_take_small(c, *size);
  }
  return NULL;
}

void *cache_pop(Cache *c, size_t *size) {
  if (c->bytes == c->small_bytes) return pop_small(c, size);
  for (int class = CACHE_CLASSES - 1; class >= 0; class--) {
    if (c->count[class] == 0) continue;
    *size = class_size(class);
    c->bytes -= *size;
    return c->block[class][--c->count[class]];
  }
  return NULL;
}
