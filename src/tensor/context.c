/* context.c: see context.h. */
#include "tensor/context.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cpu/cpu.h"

/* A chunk's name; the list is short, and the last one is asked for mostly. */
typedef struct SourceName {
  struct SourceName *next;
  char text[SOURCE_TEXT];
} SourceName;

static int processors(void) {
  const long n = sysconf(_SC_NPROCESSORS_ONLN);
  return n < 1 ? 1 : n > POOL_MAX ? POOL_MAX : (int)n;
}

/* A seed from the system's entropy; the clock where there is none. */
static uint64_t system_seed(void) {
  uint64_t seed = 0;
  if (getentropy(&seed, sizeof seed) == 0) return seed >> 11;
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return (uint64_t)now.tv_sec * 1000000007u ^ (uint64_t)now.tv_nsec;
}

/* Kept blocks are what can be freed without asking anyone. */
static bool trim_all(void *arg, size_t bytes) {
  Context *c = arg;
  (void)bytes;
  bool any = device_trim(&c->host);
  for (int k = 0; k < MAX_CUDA; k++)
    if (c->cuda[k] != NULL) any |= device_trim(c->cuda[k]);
  return any;
}

Context *context_open(size_t quota, int threads) {
  Ledger ledger;
  ledger_open(&ledger);
  ledger.quota = quota;
  Context *c = ledger_alloc(&ledger, sizeof *c);
  if (c == NULL) return NULL;
  memset(c, 0, sizeof *c);
  c->ledger = ledger;
  c->ledger.room = trim_all;
  c->ledger.room_arg = c;
  c->default_dtype = DTYPE_F32;
  c->is_recording = true;
  c->generator.seed = system_seed();
  c->pool = pool_open(&c->ledger, threads > 0 ? threads : processors(),
                      &c->stop);
  if (c->pool == NULL) {
    context_close(c);
    return NULL;
  }
  device_open_host(&c->host, &c->ledger);
  c->host.backend.pool = c->pool;
  c->host.backend.stop = &c->stop;
  cpu_open(&c->host.backend);
  c->default_device = &c->host;
  return c;
}

static void close_cuda(Context *c, int k) {
  if (c->cuda[k] == NULL) return;
  device_close(c->cuda[k]);
  ledger_free(&c->ledger, c->cuda[k], sizeof *c->cuda[k]);
  c->cuda[k] = NULL;
}

void context_close(Context *c) {
  if (c == NULL) return;
  assert(c->tensors == 0);
  for (int k = 0; k < MAX_CUDA; k++) close_cuda(c, k);
  if (c->host.ledger != NULL) device_close(&c->host);
  pool_close(c->pool);
  lint_forget(c);
  while (c->sources != NULL) {
    SourceName *s = c->sources;
    c->sources = s->next;
    ledger_free(&c->ledger, s, sizeof *s);
  }
  Ledger ledger = c->ledger; /* the context lies in it */
  ledger_free(&ledger, c, sizeof *c);
  assert(ledger.used == 0);
}

Status context_cuda(Context *c, int k, Device **d) {
  if (k < 0 || k >= MAX_CUDA)
    return fail(c, E_DEVICE, "cuda:%d: devices are cuda:0 to cuda:%d", k,
                MAX_CUDA - 1);
  if (c->cuda[k] == NULL) {
    char why[512];
    Device *fresh = ledger_alloc(&c->ledger, sizeof *fresh);
    if (fresh == NULL) return fail(c, E_MEMORY, "out of memory");
    memset(fresh, 0, sizeof *fresh);
    fresh->backend.pool = c->pool;
    fresh->backend.stop = &c->stop;
    const char *reason =
        device_open_cuda(fresh, &c->ledger, k, why, sizeof why);
    if (reason != NULL) {
      ledger_free(&c->ledger, fresh, sizeof *fresh);
      return fail(c, E_DEVICE, "cuda:%d: %s", k, reason);
    }
    c->cuda[k] = fresh;
  }
  *d = c->cuda[k];
  return OK;
}

Status context_device(Context *c, const char *name, Device **d) {
  int k = 0, end = 0;
  if (strcmp(name, "cpu") == 0) {
    *d = &c->host;
    return OK;
  }
  if (strcmp(name, "cuda") == 0) return context_cuda(c, 0, d);
  if (sscanf(name, "cuda:%2d%n", &k, &end) == 1 && name[end] == '\0')
    return context_cuda(c, k, d);
  return fail(c, E_DEVICE,
              "there is no device \"%s\"; devices are \"cpu\" and \"cuda:0\"",
              name);
}

void context_where(Context *c, const char **source, int *line) {
  char text[SOURCE_TEXT] = "";
  *source = "";
  *line = 0;
  if (c->where == NULL) return;
  c->where(c->where_arg, text, sizeof text, line);
  if (c->last_source != NULL && strcmp(c->last_source->text, text) == 0) {
    *source = c->last_source->text;
    return;
  }
  SourceName *s = c->sources;
  while (s != NULL && strcmp(s->text, text) != 0) s = s->next;
  if (s == NULL) {
    s = ledger_alloc(&c->ledger, sizeof *s);
    if (s == NULL) return; /* a line is a comfort: without it all still works */
    memcpy(s->text, text, sizeof text);
    s->next = c->sources;
    c->sources = s;
  }
  c->last_source = s;
  *source = s->text;
}

/* "256 MiB": for people. */
static void bytes_text(char *to, size_t room, size_t bytes) {
  static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  double value = (double)bytes;
  int unit = 0;
  while (value >= 1024 && unit < 4) value /= 1024, unit++;
  snprintf(to, room, value < 10 && unit > 0 ? "%.1f %s" : "%.0f %s", value,
           units[unit]);
}

Status context_no_memory(Context *c, const Shape *shape, Dtype dtype) {
  char need[32], left[32], quota[32];
  const size_t bytes = (size_t)shape_count(shape) * dtype_bytes(dtype);
  bytes_text(need, sizeof need, bytes);
  if (c->ledger.quota == SIZE_MAX)
    return fail(c, E_MEMORY, "out of memory: %S %s needs %s",
                SHAPE_ARG(shape), dtype_name(dtype), need);
  bytes_text(left, sizeof left, c->ledger.quota - c->ledger.used);
  bytes_text(quota, sizeof quota, c->ledger.quota);
  return fail(c, E_MEMORY, "out of memory: %S %s needs %s, %s of %s left",
              SHAPE_ARG(shape), dtype_name(dtype), need, left, quota);
}
