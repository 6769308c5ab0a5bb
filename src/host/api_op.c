/* api_op.c: tensus.h, any row by name.
 *
 * Fills Args from values by the row's params, as border/args.c does from a Lua
 * stack; positions and dims count from 0 already.
 */
#include <string.h>

#include "host/api.h"

static Status set_device(Context *c, const tensus_Value *v, Arg *a) {
  a->kind = ARG_DEVICE;
  return context_device(c, v->u.s, &a->device);
}

static Status set_sizes(Context *c, const Param *p, const tensus_Value *v,
                        Arg *a) {
  if (v->kind == TENSUS_INTEGER) {
    *a = arg_sizes(1, &v->u.i);
    return OK;
  }
  if (v->kind != TENSUS_SIZES || v->len > MAX_RANK ||
      (v->len > 0 && v->u.sizes == NULL))
    return fail(c, E_TYPE, "%A wants at most %d sizes", p->name, MAX_RANK);
  *a = arg_sizes((int)v->len, v->u.sizes);
  return OK;
}

static Status set_wholes(Context *c, const Param *p, const tensus_Value *v,
                         Arg *a) {
  if (v->kind == TENSUS_INTEGER) {
    *a = arg_integer(v->u.i);
    return OK;
  }
  if (v->kind != TENSUS_SIZES || v->len > INT32_MAX ||
      (v->len > 0 && v->u.sizes == NULL))
    return fail(c, E_TYPE, "%A wants a whole number or several", p->name);
  a->kind = ARG_WHOLES;
  a->count = (int)v->len;
  a->wholes = v->u.sizes;
  return OK;
}

static Status set_text(Context *c, const Param *p, const tensus_Value *v,
                       Arg *a) {
  if (v->kind != TENSUS_STRING || v->u.s == NULL)
    return fail(c, E_TYPE, "%A wants a string", p->name);
  if (p->kind == PARAM_DEVICE) return set_device(c, v, a);
  if (p->kind == PARAM_TEXT || p->kind == PARAM_NAMES) {
    a->kind = ARG_TEXT;
    a->text = v->u.s;
    return OK;
  }
  if (p->kind == PARAM_DTYPE) {
    const Dtype d = dtype_find(v->u.s);
    *a = arg_integer(d);
    return d != DTYPE_NONE
               ? OK
               : fail(c, E_DTYPE, "%A: there is no dtype \"%s\"", p->name,
                      v->u.s);
  }
  int64_t k = 0; /* a choice: its place among the words */
  for (const char *word = p->words; *word != '\0'; k++) {
    const size_t n = strcspn(word, "|");
    if (strncmp(word, v->u.s, n) == 0 && v->u.s[n] == '\0') {
      *a = arg_integer(k);
      return OK;
    }
    word += n + (word[n] == '|');
  }
  return fail(c, E_OPTION, "%A is \"%s\"; %s are offered", p->name, v->u.s,
              p->words);
}

/* Sizes, or a word that the row knows. */
static Status set_tuple(Context *c, const Param *p, const tensus_Value *v,
                        Arg *a) {
  if (p->words == NULL || v->kind != TENSUS_STRING)
    return set_sizes(c, p, v, a);
  const Status s = set_text(c, p, v, a);
  if (s != OK) return s;
  a->kind = ARG_TEXT;
  a->text = v->u.s;
  return OK;
}

static Status set_number(Context *c, const Param *p, const tensus_Value *v,
                         Arg *a) {
  if (v->kind == TENSUS_INTEGER)
    *a = arg_integer(v->u.i);
  else if (v->kind == TENSUS_BOOLEAN)
    *a = arg_integer(v->u.b != 0);
  else if (v->kind == TENSUS_NUMBER)
    *a = arg_number(v->u.n);
  else
    return fail(c, E_TYPE, "%A wants a number", p->name);
  const bool is_real = p->kind == PARAM_NUMBER || p->kind == PARAM_VALUE ||
                       p->kind == PARAM_OPERAND;
  if (a->kind == ARG_INTEGER || is_real) return OK;
  return fail(c, E_TYPE, "%A wants a whole number", p->name);
}

static Status set_tensor(tensus_State *s, const Param *p,
                         const tensus_Value *v, Arg *a) {
  if (v->kind != TENSUS_TENSOR || v->u.t == NULL)
    return fail(s->c, E_TYPE, "%A wants a tensor", p->name);
  if (v->u.t->state != s)
    return fail(s->c, E_STATE, "%A belongs to another state", p->name);
  *a = arg_tensor(v->u.t->tensor);
  return OK;
}

/* A list of handles as one of tensors: `list` has room for them. */
static Status set_list(tensus_State *s, const Param *p, const tensus_Value *v,
                       Tensor **list, Arg *a) {
  for (size_t i = 0; i < v->len; i++) {
    const tensus_Tensor *h = v->u.tensors[i];
    list[i] = NULL;
    if (h == NULL && p->kind == PARAM_PICKS) continue; /* a whole axis */
    if (h == NULL)
      return fail(s->c, E_TYPE, "%A[%P] is no tensor", p->name, (int64_t)i);
    if (h->state != s)
      return fail(s->c, E_STATE, "%A belong to another state", p->name);
    list[i] = h->tensor;
  }
  a->kind = ARG_LIST;
  a->count = (int)v->len;
  a->list = list;
  return OK;
}

static Status set_arg(tensus_State *s, const Param *p, const tensus_Value *v,
                      Tensor **list, Arg *a) {
  a->kind = ARG_NONE;
  if (v->kind == TENSUS_NIL && p->need != NEEDED) return OK;
  switch (p->kind) {
  case PARAM_TENSOR: return set_tensor(s, p, v, a);
  case PARAM_OPERAND:
    return v->kind == TENSUS_TENSOR ? set_tensor(s, p, v, a)
                                    : set_number(s->c, p, v, a);
  case PARAM_PICKS:
  case PARAM_LIST:
    if (v->kind != TENSUS_TENSORS)
      return fail(s->c, E_TYPE, "%A wants a list of tensors", p->name);
    return set_list(s, p, v, list, a);
  case PARAM_DIMS:
  case PARAM_DIMS_TABLE:
  case PARAM_SHAPE:
  case PARAM_SHAPE_TABLE: return set_sizes(s->c, p, v, a);
  case PARAM_TUPLE: return set_tuple(s->c, p, v, a);
  case PARAM_DIM_LISTS:
  case PARAM_WHOLES: return set_wholes(s->c, p, v, a);
  case PARAM_TEXT:
  case PARAM_NAMES:
  case PARAM_CHOICE:
  case PARAM_DTYPE:
  case PARAM_DEVICE: return set_text(s->c, p, v, a);
  case PARAM_GENERATOR:
    return fail(s->c, E_TYPE, "%A cannot be given from C", p->name);
  case PARAM_VALUE:
  case PARAM_DIM:
  case PARAM_POSITION:
  case PARAM_INTEGER:
  case PARAM_NUMBER:
  case PARAM_FLAG: return set_number(s->c, p, v, a);
  }
  return fail(s->c, E_TYPE, "%A is of no known kind", p->name);
}

/* Positional arguments in order, options by name. */
static Status fill(tensus_State *s, OpId op, const tensus_Value *args,
                   int nargs, const tensus_Option *options, int noptions,
                   Tensor **list, Args *a) {
  const OpRow *row = &op_rows[op];
  int next = 0;
  Status status = OK;
  for (int k = 0; k < row->params && status == OK; k++) {
    const Param *p = &row->param[k];
    const tensus_Value *v = NULL;
    a->at[k].kind = ARG_NONE;
    if (p->need != OPTION && next < nargs) v = &args[next++];
    for (int i = 0; i < noptions && p->need == OPTION; i++)
      if (strcmp(options[i].name, p->name) == 0) v = &options[i].value;
    if (v != NULL)
      status = set_arg(s, p, v, list, &a->at[k]);
    else if (p->need == NEEDED)
      status = fail(s->c, E_TYPE, "%A is missing", p->name);
  }
  if (status == OK && next < nargs)
    status = fail(s->c, E_TOO_MANY, "%d arguments, %d are taken", nargs, next);
  for (int i = 0; i < noptions && status == OK; i++) {
    bool known = false;
    for (int k = 0; k < row->params; k++)
      known |= row->param[k].need == OPTION &&
               strcmp(row->param[k].name, options[i].name) == 0;
    if (!known)
      status = fail(s->c, E_OPTION, "unknown option %A", options[i].name);
  }
  return status;
}

/* "add_" is add in place. */
static OpId find_row(const char *name, bool *in_place) {
  char own[64];
  const size_t n = strlen(name);
  *in_place = n > 1 && n < sizeof own && name[n - 1] == '_';
  if (!*in_place) return op_find(name);
  memcpy(own, name, n - 1);
  own[n - 1] = '\0';
  return op_find(own);
}

static Status check_form(Context *c, OpId op, const char *name,
                         bool in_place) {
  if (op == OP_COUNT) return fail(c, E_NAME, "there is no op \"%s\"", name);
  const int flags = op_rows[op].flags;
  if ((flags & OP_HIDDEN) != 0)
    return fail(c, E_NAME, "%s is not offered; it serves other ops", name);
  if (in_place && (flags & (OP_INPLACE | OP_ONLY_INPLACE)) == 0)
    return fail(c, E_NAME, "%s has no form in place", op_rows[op].name);
  if (!in_place && (flags & OP_ONLY_INPLACE) != 0)
    return fail(c, E_NAME, "%s works in place only: %s_", name, name);
  return OK;
}

/* Handles for the results that there is room for come before the op runs: no
 * op is undone because of them. */
typedef struct Results {
  tensus_Tensor *handle[MAX_RESULTS];
  int room;
} Results;

static void drop_results(Results *r) {
  for (int k = 0; k < r->room; k++) tensus_tensor_release(r->handle[k]);
  r->room = 0;
}

static Status make_room(tensus_State *s, int count, Results *r) {
  for (r->room = 0; r->room < count; r->room++) {
    r->handle[r->room] = api_handle(s, NULL);
    if (r->handle[r->room] != NULL) continue;
    drop_results(r);
    return fail(s->c, E_MEMORY, "out of memory");
  }
  return OK;
}

/* What was made into *res, as far as there is room; returns how many. */
static int give_results(tensus_State *s, Tensor **made, Results *r,
                        tensus_Value *res) {
  int given = 0;
  for (int k = 0; k < MAX_RESULTS; k++) {
    if (made[k] == NULL || given == r->room) {
      tensor_release(s->c, made[k]);
      continue;
    }
    r->handle[given]->tensor = made[k];
    res[given] =
        (tensus_Value){.kind = TENSUS_TENSOR, .u.t = r->handle[given]};
    r->handle[given++] = NULL;
  }
  drop_results(r);
  return given;
}

/* Pointers of the longest list among the arguments. */
static size_t list_bytes(const tensus_Value *args, int nargs) {
  size_t n = 0;
  for (int i = 0; i < nargs; i++)
    if (args[i].kind == TENSUS_TENSORS && args[i].len > n) n = args[i].len;
  return n * sizeof(Tensor *);
}

static bool wants_grad(OpId op, const Args *a) {
  const OpRow *row = &op_rows[op];
  for (int k = 0; k < row->params; k++)
    if (strcmp(row->param[k].name, "requires_grad") == 0)
      return a->at[k].kind == ARG_INTEGER && a->at[k].integer != 0;
  return false;
}

static Status call(Context *c, OpId op, const Args *a, Tensor **made) {
  Status status = op_call(c, op, a, made);
  if (status != OK || !wants_grad(op, a)) return status;
  status = grad_require(c, made[0], true);
  if (status == OK) return OK;
  tensor_release(c, made[0]);
  made[0] = NULL;
  return status;
}

/* A row that gives a list: its tensors into *res one after the other, as far
 * as there is room. */
static Status call_list(tensus_State *s, OpId op, const Args *a,
                        tensus_Value *res, int *nres) {
  TensorList list;
  const int room = nres != NULL ? *nres : 0;
  int given = 0;
  Status status = op_call_list(s->c, op, a, &list);
  while (status == OK && given < room && given < list.count) {
    tensus_Tensor *h = api_handle(s, NULL);
    if (h == NULL) {
      status = fail(s->c, E_MEMORY, "out of memory");
      break;
    }
    h->tensor = list.at[given];
    list.at[given] = NULL;
    res[given++] = (tensus_Value){.kind = TENSUS_TENSOR, .u.t = h};
  }
  list_release(s->c, &list);
  while (status != OK && given > 0) tensus_tensor_release(res[--given].u.t);
  if (status == OK && nres != NULL) *nres = given;
  return status;
}

static Status call_in_place(Context *c, OpId op, const Args *a,
                            Tensor **made) {
  if (a->at[0].kind != ARG_TENSOR)
    return fail(c, E_TYPE, "%A wants a tensor", op_rows[op].param[0].name);
  const Status status = op_call_inplace(c, op, a);
  if (status == OK) made[0] = tensor_share(a->at[0].tensor);
  return status;
}

tensus_Status tensus_op(tensus_State *s, const char *name,
                        const tensus_Value *args, int nargs,
                        const tensus_Option *options, int noptions,
                        tensus_Value *res, int *nres) {
  Args a;
  Results results = {.room = 0};
  Tensor *made[MAX_RESULTS] = {NULL}, **list = NULL;
  bool in_place;
  const OpId op = find_row(name, &in_place);
  const tensus_Status begun =
      api_enter(s, op != OP_COUNT ? op_rows[op].name : "op");
  if (begun != TENSUS_OK) return begun;
  const size_t bytes = list_bytes(args, nargs);
  Status status = check_form(s->c, op, name, in_place);
  if (status == OK && bytes > 0) {
    list = ledger_alloc(&s->c->ledger, bytes);
    if (list == NULL) status = fail(s->c, E_MEMORY, "out of memory");
  }
  if (status == OK)
    status = fill(s, op, args, nargs, options, noptions, list, &a);
  if (status == OK && op_rows[op].results == RESULTS_MANY) {
    s->c->depth = 0;
    status = call_list(s, op, &a, res, nres);
    ledger_free(&s->c->ledger, list, bytes);
    return api_end(s, status);
  }
  if (status == OK) {
    const int count = op_rows[op].results, room = nres != NULL ? *nres : 0;
    status = make_room(s, count < room ? count : room, &results);
  }
  s->c->depth = 0; /* the op names itself */
  if (status == OK)
    status = in_place ? call_in_place(s->c, op, &a, made)
                      : call(s->c, op, &a, made);
  if (status != OK)
    drop_results(&results);
  else if (nres != NULL)
    *nres = give_results(s, made, &results, res);
  else
    give_results(s, made, &results, NULL);
  ledger_free(&s->c->ledger, list, bytes);
  return api_end(s, status);
}
