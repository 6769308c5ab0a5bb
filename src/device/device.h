/* device.h: a place where bytes live: the host's memory, or a GPU's.
 *
 * Opens the CUDA plug-in when a GPU is first asked for, never before.
 * Must not know: tensors.
 */
#ifndef TENSUS_DEVICE_H
#define TENSUS_DEVICE_H

#include "device/backend.h"
#include "device/cache.h"

enum { DEVICE_NAME = 16 };

/* Blocks of the host come from the ledger; those of a GPU from the backend,
 * and are counted in ledger->device_used. */
typedef struct Device {
  Backend backend;
  Ledger *ledger;
  Cache cache;
  bool is_host;
  char name[DEVICE_NAME]; /* "cpu", "cuda:0" */
} Device;

/* The host.  The caller fills device->backend (cpu_open). */
void device_open_host(Device *d, Ledger *l);

/* GPU `index`.  NULL, or a text that says why it cannot be used; it is static
 * or lives in `why` (of `room` bytes). */
const char *device_open_cuda(Device *d, Ledger *l, int index, char *why,
                             size_t room);

/* How many GPUs can be used; 0 with the reason in `why`. */
int device_count_cuda(char *why, size_t room);

void device_close(Device *d);

/* A block of `bytes` > 0, on a 64-byte boundary, unset; NULL when out of
 * memory. */
char *device_alloc(Device *d, size_t bytes);
void device_free(Device *d, char *block, size_t bytes);

/* A header of `bytes` > 0 in host memory, from the cache of the host `d`. */
void *device_small(Device *d, size_t bytes);
void device_small_free(Device *d, void *p, size_t bytes);

/* Give kept blocks back to the system; true if there were any. */
bool device_trim(Device *d);

#endif
