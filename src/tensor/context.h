/* context.h: what one state owns.
 *
 * Everything that another library would keep in globals.  Many contexts live
 * in a process; each serves one thread at a time.
 * Must not know: Lua, ops.
 */
#ifndef TENSUS_CONTEXT_H
#define TENSUS_CONTEXT_H

#include "device/storage.h"
#include "ground/status.h"
#include "rows/rows.h"
#include "tensor/lint.h"

enum {
  MAX_CUDA = 8,
  SOURCE_TEXT = 64 /* as much of a chunk's name as messages show */
};

/* The caller's line, for messages of backward: fills *line and a text. */
typedef void ContextWhere(void *arg, char *source, size_t room, int *line);

typedef struct Node Node;
typedef struct Tensor Tensor;

/* tensors == live Tensor objects */
struct Context {
  Failure failure;
  Ledger ledger;
  Pool *pool;
  volatile bool stop; /* interrupt asked for: kernels look between chunks */
  Device host;
  Device *cuda[MAX_CUDA]; /* NULL until asked for */
  Device *default_device;
  Dtype default_dtype; /* f32 or f64 */
  Philox generator;
  bool is_recording;   /* grad mode */
  bool zero_empty;     /* `empty` is zero-filled (sandboxes) */
  bool in_backward;
  int depth;           /* op_call inside op_call: the outermost names itself */
  int64_t tensors;
  uint64_t sequence;   /* of nodes */
  ContextWhere *where; /* NULL: no lines */
  void *where_arg;
  struct SourceName *sources; /* names of chunks, interned */
  struct SourceName *last_source;
  Lint lint;
};

#define fail(c, ...) failure_set(&(c)->failure, __VA_ARGS__)

/* A context with the host device, a pool of `threads` (0: one per processor,
 * at most POOL_MAX), f32 and a seed from the system.  On failure NULL; the
 * context lives in its own ledger. */
Context *context_open(size_t quota, int threads);

/* All tensors must have been released.  NULL is fine. */
void context_close(Context *c);

/* Device number k of CUDA, opened now if it was not.  E_DEVICE with why. */
Status context_cuda(Context *c, int k, Device **d);

/* A device by name: "cpu", "cuda", "cuda:1". */
Status context_device(Context *c, const char *name, Device **d);

/* The caller's line for a node; *source is interned, lives as long as c. */
void context_where(Context *c, const char **source, int *line);

/* "out of memory: {..} f32 needs ..": always E_MEMORY. */
Status context_no_memory(Context *c, const Shape *shape, Dtype dtype);

#endif
