/* api.c: tensus.h, states and failures.  See api_tensor.c, api_op.c, api_call.c
 * for the rest.
 */
#include "host/api.h"

#include <stdio.h>
#include <string.h>

#include "host/state.h"

const char *tensus_version(void) { return TENSUS_RELEASE; }

void tensus_options_init(tensus_Options *options) {
  memset(options, 0, sizeof *options);
  options->size = sizeof *options;
}

/* ---- failures ---- */

tensus_Status api_begin(tensus_State *s) {
  s->status = TENSUS_OK;
  s->message[0] = '\0';
  failure_clear(&s->failure);
  s->failure.op = NULL;
  if (s->c != NULL) return TENSUS_OK;
  return api_fail(s, TENSUS_E_STATE, "the state has been closed");
}

/* The core's own depth counts as one: an op inside keeps our name. */
tensus_Status api_enter(tensus_State *s, const char *op) {
  const tensus_Status status = api_begin(s);
  if (status != TENSUS_OK) return status;
  Context *c = s->c;
  failure_clear(&c->failure);
  c->failure.base = 0;
  c->failure.op = op;
  c->depth = 1;
  c->is_recording = s->border->main_records;
  s->border->running = s->L;
  return TENSUS_OK;
}

tensus_Status api_fail(tensus_State *s, tensus_Status status,
                       const char *text) {
  snprintf(s->message, sizeof s->message, "%s", text);
  return s->status = status;
}

tensus_Status api_end(tensus_State *s, Status status) {
  Context *c = s->c;
  c->failure.base = 1; /* as scripts count */
  c->depth = 0;
  s->border->running = NULL;
  if (status == OK) return TENSUS_OK;
  s->failure = c->failure;
  snprintf(s->message, sizeof s->message, "%s%s%s", s->failure.op,
           failure_joint(&s->failure), s->failure.text);
  return s->status = (tensus_Status)status_public(status);
}

tensus_Status tensus_last_status(const tensus_State *s) { return s->status; }

const char *tensus_last_message(const tensus_State *s) { return s->message; }

void tensus_clear_error(tensus_State *s) {
  s->status = TENSUS_OK;
  s->message[0] = '\0';
  failure_clear(&s->failure);
  s->failure.op = NULL;
}

/* As many bytes as the caller's struct has: it may be an older one. */
void tensus_last_detail(const tensus_State *s, tensus_Detail *out) {
  const Failure *f = &s->failure;
  tensus_Detail d;
  memset(&d, 0, sizeof d);
  d.size = out->size < sizeof d ? out->size : sizeof d;
  d.op = f->op != NULL ? f->op : "";
  d.code = f->status != OK ? status_name(f->status) : "";
  d.arg = f->arg;
  d.nshapes = f->shapes;
  for (int k = 0; k < f->shapes; k++) {
    d.ndim[k] = f->rank[k];
    memcpy(d.sizes[k], f->size[k], (size_t)f->rank[k] * sizeof *d.sizes[k]);
  }
  memcpy(out, &d, d.size);
}

const char *tensus_status_name(tensus_Status status) {
  static const char *const names[] = {
      "ok",    "syntax", "run",    "argument", "shape",     "dtype",  "index",
      "grad",  "memory", "limit",  "interrupt", "io",       "device", "state"};
  const size_t k = (size_t)status;
  return k < sizeof names / sizeof *names ? names[k] : "unknown";
}

/* ---- states ---- */

void api_forget(tensus_State *s) {
  if (s->L != NULL || s->handles != NULL || s->texts > 0) return;
  Ledger ledger = s->ledger; /* the state lies in it */
  ledger_free(&ledger, s, sizeof *s);
  assert(ledger.used == 0);
}

/* A state with Lua in it, or NULL. */
static tensus_State *state_new(void) {
  Ledger ledger;
  ledger_open(&ledger);
  tensus_State *s = ledger_alloc(&ledger, sizeof *s);
  if (s == NULL) return NULL;
  memset(s, 0, sizeof *s);
  s->ledger = ledger;
  s->L = state_open(&s->stop, true);
  if (s->L == NULL) {
    api_forget(s);
    return NULL;
  }
  lua_pushcfunction(s->L, api_prepare);
  const bool is_ready = lua_pcall(s->L, 0, 0, 0) == LUA_OK;
  lua_settop(s->L, 0);
  s->border = border_find(s->L);
  s->c = s->border->context;
  if (is_ready) return s;
  tensus_close(s);
  return NULL;
}

tensus_Status tensus_open(const tensus_Options *options, tensus_State **out) {
  tensus_Options o;
  tensus_options_init(&o);
  if (options != NULL && options->size != sizeof o) return TENSUS_E_ARG;
  if (options != NULL) o = *options;
  if (o.threads < 0 || o.threads > POOL_MAX) return TENSUS_E_ARG;
  tensus_State *s = state_new();
  if (s == NULL) return TENSUS_E_MEMORY;
  if (o.memory_bytes > 0 && o.memory_bytes < s->c->ledger.used) {
    tensus_close(s);
    return TENSUS_E_MEMORY;
  }
  if (o.memory_bytes > 0) s->c->ledger.quota = o.memory_bytes;
  if (o.threads > 0) pool_set_threads(s->c->pool, o.threads);
  if (o.has_seed) s->c->generator = (Philox){.seed = o.seed};
  *out = s;
  return TENSUS_OK;
}

void tensus_close(tensus_State *s) {
  if (s == NULL || s->L == NULL) return;
  for (tensus_Tensor *h = s->handles; h != NULL; h = h->next) {
    tensor_release(s->c, h->tensor);
    h->tensor = NULL;
  }
  lua_State *L = s->L;
  state_close(L, &s->stop);
  s->L = NULL;
  s->c = NULL;
  s->border = NULL;
  api_forget(s);
}

void tensus_interrupt(tensus_State *s) { interrupt_request(&s->stop); }

void tensus_interrupt_clear(tensus_State *s) { interrupt_clear(&s->stop); }

tensus_Status tensus_usage(tensus_State *s, tensus_Usage *usage) {
  const tensus_Status status = api_begin(s);
  if (status != TENSUS_OK) return status;
  if (usage->size != sizeof *usage)
    return api_fail(s, TENSUS_E_ARG, "usage: field size is not set");
  usage->host_bytes = s->c->ledger.used;
  usage->device_bytes = s->c->ledger.device_used;
  usage->peak_bytes = s->c->ledger.peak;
  usage->tensors = s->c->tensors;
  return TENSUS_OK;
}

tensus_Status tensus_set_threads(tensus_State *s, int threads) {
  const tensus_Status begun = api_enter(s, "set_threads");
  if (begun != TENSUS_OK) return begun;
  if (threads < 1 || threads > POOL_MAX)
    return api_end(s, fail(s->c, E_RANGE, "%A is %d: threads are 1..%d",
                           "threads", threads, (int)POOL_MAX));
  pool_set_threads(s->c->pool, threads);
  return api_end(s, OK);
}

tensus_Status tensus_manual_seed(tensus_State *s, uint64_t seed) {
  const tensus_Status status = api_begin(s);
  if (status != TENSUS_OK) return status;
  s->c->generator = (Philox){.seed = seed};
  return TENSUS_OK;
}

static int collect(lua_State *L) {
  lua_gc(L, LUA_GCCOLLECT);
  return 0;
}

tensus_Status tensus_gc(tensus_State *s) {
  const tensus_Status status = api_begin(s);
  if (status != TENSUS_OK) return status;
  lua_pushcfunction(s->L, collect);
  return api_raised(s, lua_pcall(s->L, 0, 0, 0));
}
