/* tensus.h: the C API of tensus, an embeddable Lua 5.4 interpreter in which
 * tensors with derivatives are a native type.  Link libtensus.
 *
 * - Positions and dims count from 0 here, negative ones from the end.
 * - No call aborts, exits, prints, or installs a signal handler.  There is no
 *   mutable global: many states run in parallel, each serves one thread at a
 *   time.
 * - Functions that can fail return a tensus_Status; out parameters are written
 *   on success only.  After a failure the state keeps the details until the
 *   next call that can fail.
 * - `const char *` results live until the next call on that state.
 * - Texts that are given end with a zero; `path`, `name` and handles are there
 *   (not NULL) unless it says otherwise.
 */
#ifndef TENSUS_H
#define TENSUS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define TENSUS_API __attribute__((visibility("default")))
#else
#define TENSUS_API
#endif

typedef struct tensus_State tensus_State;
typedef struct tensus_Tensor tensus_Tensor; /* counted, bound to its state */

typedef enum {
  TENSUS_F16,
  TENSUS_BF16,
  TENSUS_F32,
  TENSUS_F64,
  TENSUS_I8,
  TENSUS_I16,
  TENSUS_I32,
  TENSUS_I64,
  TENSUS_U8,
  TENSUS_BOOL
} tensus_Dtype;

/* ORDER src/ground/status.c */
typedef enum {
  TENSUS_OK,
  TENSUS_E_SYNTAX,
  TENSUS_E_RUN,
  TENSUS_E_ARG,
  TENSUS_E_SHAPE,
  TENSUS_E_DTYPE,
  TENSUS_E_INDEX,
  TENSUS_E_GRAD,
  TENSUS_E_MEMORY,
  TENSUS_E_LIMIT,
  TENSUS_E_INTERRUPT,
  TENSUS_E_IO,
  TENSUS_E_DEVICE,
  TENSUS_E_STATE
} tensus_Status;

typedef enum {
  TENSUS_NIL,
  TENSUS_BOOLEAN,
  TENSUS_INTEGER,
  TENSUS_NUMBER,
  TENSUS_STRING,
  TENSUS_TENSOR,
  TENSUS_SIZES,   /* len whole numbers: a shape, dims, a pair; arguments only */
  TENSUS_TENSORS  /* len tensors; arguments only */
} tensus_Kind;

/* An argument or a result.  In a result a string or tensor is the caller's:
 * give it back by tensus_value_clear. */
typedef struct {
  tensus_Kind kind;
  size_t len; /* of a string without its zero, of sizes, of tensors */
  union {
    int b;
    int64_t i;
    double n;
    const char *s;
    tensus_Tensor *t;
    const int64_t *sizes;
    tensus_Tensor *const *tensors;
  } u;
} tensus_Value;

/* An option of an op, by name. */
typedef struct {
  const char *name;
  tensus_Value value;
} tensus_Option;

/* sizes: ndim of them.  strides in elements, 0 or more; NULL: row-major. */
typedef struct {
  tensus_Dtype dtype;
  int ndim;
  const int64_t *sizes, *strides;
} tensus_Layout;

/* Called once with what was given, by the thread that uses the state then;
 * must not call the state. */
typedef void (*tensus_Deleter)(void *data, void *ctx);

/* Set by tensus_options_init; then change what you want. */
typedef struct {
  size_t size;
  size_t memory_bytes; /* of Lua and tensors together; 0: no limit */
  int threads;         /* 0: one per processor */
  int has_seed;        /* else the seed comes from the system */
  uint64_t seed;
} tensus_Options;

typedef struct {
  size_t size;
  size_t host_bytes, device_bytes, peak_bytes;
  int64_t tensors;
} tensus_Usage;

enum { TENSUS_MAX_NDIM = 12, TENSUS_MAX_SHAPES = 4 };

/* What the last failure was about; text fields are "" when there is none. */
typedef struct {
  size_t size;
  const char *op, *code, *arg;
  int nshapes, ndim[TENSUS_MAX_SHAPES];
  int64_t sizes[TENSUS_MAX_SHAPES][TENSUS_MAX_NDIM];
} tensus_Detail;

/* ---- states ---- */

/* "0.1.0": static text. */
TENSUS_API const char *tensus_version(void);

/* The defaults, and the size that tells which version of the struct it is. */
TENSUS_API void tensus_options_init(tensus_Options *options);

/* options NULL: the defaults.  TENSUS_E_MEMORY, TENSUS_E_ARG. */
TENSUS_API tensus_Status tensus_open(const tensus_Options *options,
                                     tensus_State **state);

/* NULL is fine.  Handles of the state are dead then, and still releasable;
 * strings are still to be cleared. */
TENSUS_API void tensus_close(tensus_State *state);

/* Runs Lua text (never bytecode); `chunk` is what messages call it. */
TENSUS_API tensus_Status tensus_run_string(tensus_State *state,
                                           const char *code, size_t len,
                                           const char *chunk);
TENSUS_API tensus_Status tensus_run_file(tensus_State *state,
                                         const char *path);

/* Calls a global function, "net.predict": dots walk tables.  *nres: room of
 * `res`, then how many results there are; further ones are dropped, and tables
 * and functions become nil.  nres NULL: none is wanted. */
TENSUS_API tensus_Status tensus_call(tensus_State *state, const char *path,
                                     const tensus_Value *args, int nargs,
                                     tensus_Value *res, int *nres);
TENSUS_API tensus_Status tensus_set_global(tensus_State *state,
                                           const char *name,
                                           const tensus_Value *value);
TENSUS_API tensus_Status tensus_get_global(tensus_State *state,
                                           const char *path,
                                           tensus_Value *value);
TENSUS_API void tensus_value_clear(tensus_State *state, tensus_Value *value);

/* Stops what runs, as soon as it looks: safe in a signal handler and from any
 * thread.  The request stays until it is cleared. */
TENSUS_API void tensus_interrupt(tensus_State *state);
TENSUS_API void tensus_interrupt_clear(tensus_State *state);

/* What the state holds now; usage->size must be set.  TENSUS_E_ARG. */
TENSUS_API tensus_Status tensus_usage(tensus_State *state,
                                      tensus_Usage *usage);
/* Threads of later kernels, 1 to 64; never changes a bit.  TENSUS_E_ARG. */
TENSUS_API tensus_Status tensus_set_threads(tensus_State *state, int threads);
/* Restarts the state's generator: equal seeds, equal draws. */
TENSUS_API tensus_Status tensus_manual_seed(tensus_State *state,
                                            uint64_t seed);
/* Runs Lua's collector to its end: garbage tensors give their memory back. */
TENSUS_API tensus_Status tensus_gc(tensus_State *state);

/* ---- failures ---- */

/* Of the last call that could fail; TENSUS_OK when it did not. */
TENSUS_API tensus_Status tensus_last_status(const tensus_State *state);
/* Its words, "" when there are none; never NULL. */
TENSUS_API const char *tensus_last_message(const tensus_State *state);
/* detail->size must be set; text fields live as long as the failure. */
TENSUS_API void tensus_last_detail(const tensus_State *state,
                                   tensus_Detail *detail);
TENSUS_API void tensus_clear_error(tensus_State *state);
TENSUS_API const char *tensus_status_name(tensus_Status status);

/* ---- tensors; every handle that is given out is the caller's ---- */

/* Zeros. */
TENSUS_API tensus_Status tensus_tensor_new(tensus_State *state,
                                           const tensus_Layout *layout,
                                           tensus_Tensor **tensor);
/* A copy of `bytes` at src, which must cover the layout. */
TENSUS_API tensus_Status tensus_tensor_copy(tensus_State *state,
                                            const tensus_Layout *layout,
                                            const void *src, size_t bytes,
                                            tensus_Tensor **tensor);
/* The host keeps `data`, and takes it back by revoke: later use by a script is
 * an error then.  readonly: scripts cannot write into it.  Here and in adopt,
 * `data` must be a multiple of the dtype's size. */
TENSUS_API tensus_Status tensus_tensor_borrow(tensus_State *state,
                                              const tensus_Layout *layout,
                                              void *data, size_t bytes,
                                              int readonly,
                                              tensus_Tensor **tensor);
TENSUS_API tensus_Status tensus_tensor_revoke(tensus_Tensor *tensor);
/* The state takes `data`; the deleter ends it.  Not called on failure. */
TENSUS_API tensus_Status tensus_tensor_adopt(tensus_State *state,
                                             const tensus_Layout *layout,
                                             void *data, size_t bytes,
                                             tensus_Deleter deleter, void *ctx,
                                             tensus_Tensor **tensor);
TENSUS_API tensus_Tensor *tensus_tensor_retain(tensus_Tensor *tensor);
TENSUS_API void tensus_tensor_release(tensus_Tensor *tensor); /* NULL is fine */

/* Facts of a tensor; 0, NULL or "" once its state is closed. */
TENSUS_API int tensus_tensor_ndim(const tensus_Tensor *tensor);
/* -1: no such dim. */
TENSUS_API int64_t tensus_tensor_size(const tensus_Tensor *tensor, int dim);
TENSUS_API const int64_t *tensus_tensor_sizes(const tensus_Tensor *tensor);
TENSUS_API int64_t tensus_tensor_numel(const tensus_Tensor *tensor);
TENSUS_API size_t tensus_tensor_bytes(const tensus_Tensor *tensor);
TENSUS_API tensus_Dtype tensus_tensor_dtype(const tensus_Tensor *tensor);
TENSUS_API const char *tensus_tensor_device(const tensus_Tensor *tensor);

/* Row-major elements; `bytes` must be tensus_tensor_bytes.  Waits. */
TENSUS_API tensus_Status tensus_tensor_read(tensus_Tensor *tensor, void *dst,
                                            size_t bytes);
TENSUS_API tensus_Status tensus_tensor_write(tensus_Tensor *tensor,
                                             const void *src, size_t bytes);
TENSUS_API tensus_Status tensus_tensor_item_f64(tensus_Tensor *tensor,
                                                double *value);
TENSUS_API tensus_Status tensus_tensor_to(tensus_Tensor *tensor,
                                          tensus_Dtype dtype,
                                          const char *device,
                                          tensus_Tensor **result);

/* ---- ops and derivatives ---- */

/* Any row by name ("add", "matmul", "add_" in place): args in the order of its
 * parameters (TENSUS_NIL: left out), options by name.  *nres: room, then how
 * many results there are; nres NULL: none is wanted.  The tensors of a list
 * ("split") are results one after the other; more than there is room for are
 * dropped. */
TENSUS_API tensus_Status tensus_op(tensus_State *state, const char *name,
                                   const tensus_Value *args, int nargs,
                                   const tensus_Option *options, int noptions,
                                   tensus_Value *res, int *nres);
TENSUS_API tensus_Status tensus_tensor_set_requires_grad(
    tensus_Tensor *tensor, int on);
TENSUS_API int tensus_tensor_requires_grad(const tensus_Tensor *tensor);
/* *grad is NULL when there is none. */
TENSUS_API tensus_Status tensus_tensor_grad(tensus_Tensor *tensor,
                                            tensus_Tensor **grad);
/* seed NULL: one element. */
TENSUS_API tensus_Status tensus_backward(tensus_Tensor *tensor,
                                         tensus_Tensor *seed);

#ifdef __cplusplus
}
#endif
#endif
