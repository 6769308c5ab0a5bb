/* ledger.h: all memory of one state.
 *
 * Every byte passes `ledger_alloc` or `ledger_realloc`: the only callers of
 * malloc.  The ledger counts, caps, makes room and tries once more, and can
 * be told to fail from the k-th request on.
 * Must not know: what the bytes are for.
 */
#ifndef TENSUS_LEDGER_H
#define TENSUS_LEDGER_H

#include "ground/check.h"

/* Frees what it can; true if anything was freed.  Must not allocate more
 * than it frees. */
typedef bool LedgerRoom(void *arg, size_t bytes);

/* used == bytes handed out and not given back; used <= quota always. */
typedef struct Ledger {
  size_t used, peak, quota;
  size_t device_used;  /* bytes on devices: counted, not capped by `quota` */
  int64_t calls;       /* requests while injecting */
  int64_t fail_from;   /* requests from this one on fail; 0: none do */
  LedgerRoom *room;    /* NULL: nothing to free */
  void *room_arg;
  bool in_room;        /* making room must not ask for room */
} Ledger;

void ledger_open(Ledger *l);

/* `bytes` > 0, 16-aligned memory of unset values, the caller's; NULL when the
 * quota, the system or an injected fault says no.  Nothing changes then. */
void *ledger_alloc(Ledger *l, size_t bytes);

/* As ledger_alloc, on a 64-byte boundary; give back by ledger_free. */
void *ledger_alloc_aligned(Ledger *l, size_t bytes);

/* As realloc: p (old_bytes, both may be 0) becomes new_bytes > 0; NULL and p
 * unchanged on failure.  Shrinking never fails. */
void *ledger_realloc(Ledger *l, void *p, size_t old_bytes, size_t new_bytes);

/* Take p back; NULL is fine.  `bytes` as asked for. */
void ledger_free(Ledger *l, void *p, size_t bytes);

/* May a request go ahead?  Counts it; for requests that are served without
 * malloc (cached blocks), so that an injected fault reaches them too. */
bool ledger_gate(Ledger *l);

#endif
