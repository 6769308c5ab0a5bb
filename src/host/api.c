/* api.c: tensus.h, states and failures.  See api_tensor.c, api_op.c, api_call.c
 * for the rest.
 */
#include "host/api.h"

#include <stdio.h>
#include <string.h>

#include "host/state.h"

#define VERSION "0.1.0"

const char *tensus_version(void) { return VERSION; }

void tensus_options_init(tensus_Options *options) {
  memset(options, 0, sizeof *options);
  options->size = sizeof *options;
}

/* ---- failures ---- */

tensus_Status api_begin(tensus_State *s) {
  s->status = TENSUS_OK;
  s->message[0] = '\0';
  failure_clear(&s->failure);
  if (s->c == NULL)
    return api_fail(s, TENSUS_E_STATE, "the state has been closed");
  s->c->failure.base = 0;
  s->c->failure.op = NULL;
  return TENSUS_OK;
}

tensus_Status api_fail(tensus_State *s, tensus_Status status,
                       const char *text) {
  snprintf(s->message, sizeof s->message, "%s", text);
  return s->status = status;
}

tensus_Status api_end(tensus_State *s, Status status) {
  s->c->failure.base = 1; /* as scripts count */
  if (status == OK) return TENSUS_OK;
  s->failure = s->c->failure;
  const char *op = s->failure.op != NULL ? s->failure.op : "tensus";
  snprintf(s->message, sizeof s->message, "%s: %s", op, s->failure.text);
  return s->status = (tensus_Status)status_public(status);
}

tensus_Status tensus_last_status(const tensus_State *s) { return s->status; }

const char *tensus_last_message(const tensus_State *s) { return s->message; }

void tensus_clear_error(tensus_State *s) {
  s->status = TENSUS_OK;
  s->message[0] = '\0';
}

void tensus_last_detail(const tensus_State *s, tensus_Detail *d) {
  const Failure *f = &s->failure;
  const size_t size = d->size;
  memset(d, 0, sizeof *d);
  d->size = size;
  d->op = f->op != NULL ? f->op : "";
  d->code = f->status != OK ? status_name(f->status) : "";
  d->arg = f->arg;
  d->nshapes = f->shapes;
  for (int k = 0; k < f->shapes; k++) {
    d->ndim[k] = f->rank[k];
    memcpy(d->sizes[k], f->size[k], sizeof d->sizes[k]);
  }
}

const char *tensus_status_name(tensus_Status status) {
  static const char *const names[] = {
      "ok",    "syntax", "run",    "argument", "shape",     "dtype",  "index",
      "grad",  "memory", "limit",  "interrupt", "io",       "device", "state"};
  const size_t k = (size_t)status;
  return k < sizeof names / sizeof *names ? names[k] : "unknown";
}

/* ---- states ---- */

static void state_free(tensus_State *s) {
  Ledger ledger = s->ledger; /* the state lies in it */
  ledger_free(&ledger, s, sizeof *s);
}

static int load_tensus(lua_State *L) {
  lua_getglobal(L, "require");
  lua_pushliteral(L, "tensus");
  lua_call(L, 1, 1);
  lua_setglobal(L, "ts");
  return 0;
}

tensus_Status tensus_open(const tensus_Options *options, tensus_State **out) {
  tensus_Options o;
  Ledger ledger;
  tensus_options_init(&o);
  if (options != NULL) o = *options;
  if (o.size != sizeof o || o.threads < 0 || o.threads > POOL_MAX)
    return TENSUS_E_ARG;
  ledger_open(&ledger);
  tensus_State *s = ledger_alloc(&ledger, sizeof *s);
  if (s == NULL) return TENSUS_E_MEMORY;
  memset(s, 0, sizeof *s);
  s->ledger = ledger;
  s->L = state_open(&s->stop, true);
  if (s->L == NULL) {
    state_free(s);
    return TENSUS_E_MEMORY;
  }
  lua_pushcfunction(s->L, load_tensus);
  const bool loaded = lua_pcall(s->L, 0, 0, 0) == LUA_OK;
  if (loaded) s->c = border_find(s->L)->context;
  if (!loaded || (o.memory_bytes > 0 && o.memory_bytes < s->c->ledger.used)) {
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
  for (tensus_Tensor *t = s->handles; t != NULL; t = t->next) {
    tensor_release(s->c, t->tensor);
    t->tensor = NULL;
  }
  lua_State *L = s->L;
  s->L = NULL;
  s->c = NULL;
  state_close(L, &s->stop);
  if (s->handles == NULL) state_free(s);
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
  return api_end(s, OK);
}

tensus_Status tensus_set_threads(tensus_State *s, int threads) {
  const tensus_Status status = api_begin(s);
  if (status != TENSUS_OK) return status;
  if (threads < 1 || threads > POOL_MAX)
    return api_fail(s, TENSUS_E_ARG, "threads: 1 to 64 are offered");
  pool_set_threads(s->c->pool, threads);
  return api_end(s, OK);
}

tensus_Status tensus_manual_seed(tensus_State *s, uint64_t seed) {
  const tensus_Status status = api_begin(s);
  if (status != TENSUS_OK) return status;
  s->c->generator = (Philox){.seed = seed};
  return api_end(s, OK);
}

static int collect(lua_State *L) {
  lua_gc(L, LUA_GCCOLLECT);
  return 0;
}

tensus_Status tensus_gc(tensus_State *s) {
  const tensus_Status status = api_begin(s);
  if (status != TENSUS_OK) return status;
  lua_pushcfunction(s->L, collect);
  s->c->failure.base = 1;
  return api_raised(s, lua_pcall(s->L, 0, 0, 0));
}
