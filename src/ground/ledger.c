/* ledger.c: counts every byte of a state and refuses what is beyond its quota.
 *
 * Always: used <= quota; a refused request changes nothing.
 */
#include "ground/ledger.h"

#include <stdlib.h>

enum { ALIGNMENT = 64 }; /* a cache line, and the widest vector */

void ledger_open(Ledger *l) { *l = (Ledger){.quota = SIZE_MAX}; }

bool ledger_gate(Ledger *l) {
  if (LIKELY(l->fail_from == 0)) return true;
  return ++l->calls < l->fail_from;
}

static bool make_room(Ledger *l, size_t bytes) {
  if (l->room == NULL || l->in_room) return false;
  l->in_room = true;
  const bool freed = l->room(l->room_arg, bytes);
  l->in_room = false;
  return freed;
}

static bool fits(const Ledger *l, size_t bytes) {
  return bytes <= l->quota - l->used;
}

static void charge(Ledger *l, size_t bytes) {
  l->used += bytes;
  if (l->used > l->peak) l->peak = l->used;
  assert(l->used <= l->quota);
}

/* Memory of `bytes`, asked for at most twice. */
static void *take(Ledger *l, size_t bytes, bool aligned) {
  assert(bytes > 0);
  if (!ledger_gate(l)) return NULL;
  const size_t whole = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  if (aligned && whole < bytes) return NULL; /* wrapped */
  for (int try = 0; try < 2; try++) {
    void *p = NULL;
    if (fits(l, bytes))
      p = aligned ? aligned_alloc(ALIGNMENT, whole) : malloc(bytes);
    if (p != NULL) {
      charge(l, bytes);
      return p;
    }
    if (try == 0 && !make_room(l, bytes)) return NULL;
  }
  return NULL;
}

void *ledger_alloc(Ledger *l, size_t bytes) { return take(l, bytes, false); }

void *ledger_alloc_aligned(Ledger *l, size_t bytes) {
  return take(l, bytes, true);
}

void ledger_free(Ledger *l, void *p, size_t bytes) {
  if (p == NULL) return;
  assert(bytes <= l->used);
  l->used -= bytes;
  free(p);
}

void *ledger_realloc(Ledger *l, void *p, size_t old_bytes, size_t new_bytes) {
  if (p == NULL) return ledger_alloc(l, new_bytes);
  if (new_bytes <= old_bytes) {
    void *smaller = realloc(p, new_bytes);
    if (smaller == NULL) smaller = p;
    l->used -= old_bytes - new_bytes;
    return smaller;
  }
  const size_t more = new_bytes - old_bytes;
  if (!ledger_gate(l)) return NULL;
  for (int try = 0; try < 2; try++) {
    void *larger = fits(l, more) ? realloc(p, new_bytes) : NULL;
    if (larger != NULL) {
      charge(l, more);
      return larger;
    }
    if (try == 0 && !make_room(l, more)) return NULL;
  }
  return NULL;
}
