/* sort.h: the loops over items that sort.c has for each type of item.
 *
 * An item is the key of an element (value/key.h) and its place on the line.
 * Must not know: lines, threads.
 */
#ifndef TENSUS_CPU_SORT_H
#define TENSUS_CPU_SORT_H

#include "value/key.h"

/* items[i] = element i of n, `step` apart, with place at + i.  `turn`: the bits
 * of a key that are turned, for a falling order.  `shift`: how many of its low
 * bits are left out; what an item has no room for on the other side, too. */
typedef void ItemLoad(int64_t n, const char *from, int64_t step, uint64_t turn,
                      int shift, int64_t at, void *items);

/* to[i step] = from[place of items[i] from_step], for 1, 2, 4, 8 bytes. */
typedef void ItemValues(int64_t n, const void *items, const char *from,
                        int64_t from_step, char *to, int64_t step);

typedef struct ItemLoops {
  size_t bytes;
  ItemLoad *load[DTYPE_COUNT];
  ItemValues *values[4];
  /* to[i step] = base + place of items[i] */
  void (*places)(int64_t n, const void *items, int64_t base, char *to,
                 int64_t step);
  /* In order; spare: as many items. */
  void (*sort)(int64_t n, void *items, void *spare);
  /* count[digit at `shift`] += how often it occurs. */
  void (*count)(int64_t n, const void *items, int shift, int64_t *count);
  /* to[place[digit]++] = each item, one after the other. */
  void (*deal)(int64_t n, const void *items, int shift, int64_t *place,
               void *to);
  /* items[0] = number r of the order; the others are anything. */
  void (*rank)(int64_t n, void *items, int64_t r);
  /* Keeps what comes not after *last, in its order; returns how many. */
  int64_t (*keep)(int64_t n, void *items, const void *last);
  int64_t (*equals)(int64_t n, const void *items, uint64_t key);
} ItemLoops;

#endif
