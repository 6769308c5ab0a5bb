/* einsum.c: ts.einsum_path, the order of products as text.
 *
 * What would be done, for tensors or for shapes that nobody has made yet.
 * Must not know: how an order is found.
 */
#include "border/args.h"
#include "ops/einsum.h"

/* What is asked about; Lua holds it all. */
typedef struct Question {
  const char *equation;
  int count;
  Shape *shape;
  const Shape **place; /* of each shape */
  Einsum *e;
} Question;

/* ---- operands: tensors, or tables of sizes ---- */

static void read_sizes(lua_State *L, int index, int k, Shape *s) {
  const lua_Unsigned count = lua_rawlen(L, index);
  if (!lua_istable(L, index) || count > MAX_RANK)
    border_error(L, E_TYPE, NULL,
                 "%A[%d] is %s; a tensor or a table of sizes is due",
                 "operands", k + 1, border_describe(L, index));
  s->rank = 0;
  for (lua_Integer i = 1; i <= (lua_Integer)count; i++) {
    int64_t size = 0;
    lua_rawgeti(L, index, i);
    if (!args_is_whole(L, -1, &size) || size < 0)
      border_error(L, E_TYPE, NULL, "%A[%d][%I] is %s; a size is due",
                   "operands", k + 1, (int64_t)i, border_describe(L, -1));
    lua_pop(L, 1);
    shape_insert(s, s->rank, size, 0);
  }
  if (!shape_fits(s, sizeof(double)))
    border_error(L, E_SIZE, NULL, "%A[%d] %S is too large", "operands", k + 1,
                 SHAPE_ARG(s));
}

static void read_operand(lua_State *L, int index, int k, Shape *s) {
  if (border_handle(L, index) != NULL)
    *s = border_check(L, index, "operands")->shape;
  else
    read_sizes(L, index, k, s);
}

/* One table of operands?  Its first entry is no number then. */
static bool is_list(lua_State *L) {
  if (lua_gettop(L) != 2 || !lua_istable(L, 2)) return false;
  const bool is_shape = lua_rawgeti(L, 2, 1) == LUA_TNUMBER;
  lua_pop(L, 1);
  return !is_shape;
}

static void read_question(lua_State *L, Question *q) {
  const bool listed = is_list(L);
  const int top = lua_gettop(L);
  if (lua_type(L, 1) != LUA_TSTRING)
    border_error(L, E_TYPE, NULL, "%A is %s; a string is due", "equation",
                 border_describe(L, 1));
  q->equation = lua_tostring(L, 1);
  q->count = listed ? (int)lua_rawlen(L, 2) : top - 1;
  const size_t room = (size_t)q->count + 1;
  q->shape = lua_newuserdatauv(L, room * sizeof *q->shape, 0);
  q->place = lua_newuserdatauv(L, room * sizeof *q->place, 0);
  for (int k = 0; k < q->count; k++) {
    if (listed) lua_rawgeti(L, 2, k + 1);
    read_operand(L, listed ? lua_gettop(L) : k + 2, k, &q->shape[k]);
    if (listed) lua_pop(L, 1);
    q->place[k] = &q->shape[k];
  }
}

/* ---- the plan ---- */

/* Lua's memory for what a plan holds, so that text may be made of it. */
static void hold_plan(lua_State *L, Context *c, Question *q) {
  const size_t n = (size_t)q->count + 1;
  q->e = lua_newuserdatauv(L, sizeof *q->e, 0);
  Term *term = lua_newuserdatauv(L, 2 * n * sizeof *term, 0);
  EinsumStep *step = lua_newuserdatauv(L, n * sizeof *step, 0);
  Labels *summed = lua_newuserdatauv(L, n * sizeof *summed, 0);
  Einsum *e = q->e;
  Status s = einsum_read(c, e, q->equation, q->count, q->place);
  if (s == OK) s = einsum_plan(c, e);
  for (int k = 0; k + 1 < 2 * q->count && s == OK; k++) term[k] = e->term[k];
  for (int k = 0; k < q->count && s == OK; k++) {
    step[k] = e->step[k];
    summed[k] = e->summed[k];
  }
  einsum_close(c, e);
  if (s != OK) border_raise(L, c, s);
  e->term = term, e->step = step, e->summed = summed;
}

/* ---- text ---- */

static void add_count(luaL_Buffer *b, double n) {
  if (n < 0x1p53) lua_pushfstring(b->L, "%I", (LUAI_UACINT)n);
  else lua_pushfstring(b->L, "%f", n);
  luaL_addvalue(b);
}

static void add_labels(luaL_Buffer *b, const Term *t) {
  char text[4];
  for (int i = 0; i < t->rank; i++)
    if (t->label[i] != BLANK)
      luaL_addstring(b, label_text(t->label[i], text));
}

static void add_sizes(luaL_Buffer *b, const Einsum *e, const Term *t) {
  const char *between = "";
  luaL_addstring(b, "{");
  for (int i = 0; i < t->rank; i++) {
    if (t->label[i] == BLANK) continue;
    luaL_addstring(b, between);
    add_count(b, (double)e->size[t->label[i]]);
    between = ",";
  }
  luaL_addstring(b, "}");
}

/* "sum i of operand 2" */
static void add_summed(luaL_Buffer *b, const Einsum *e, int k) {
  char text[4];
  if (e->summed[k] == 0) return;
  luaL_addstring(b, "sum ");
  for (Labels set = e->summed[k]; set != 0; set &= set - 1)
    luaL_addstring(b, label_text(lowest_bit(set), text));
  lua_pushfstring(b->L, " of operand %d\n", k + 1);
  luaL_addvalue(b);
}

/* "ij,jk->ik  {2,3} {3,4} -> {2,4}  24 multiplications" */
static void add_step(luaL_Buffer *b, const Einsum *e, int k) {
  const EinsumStep *s = &e->step[k];
  const Term *x = &e->term[s->left], *y = &e->term[s->right];
  const Term *made = &e->term[e->count + k];
  add_labels(b, x);
  luaL_addstring(b, ",");
  add_labels(b, y);
  luaL_addstring(b, "->");
  add_labels(b, made);
  luaL_addstring(b, "  ");
  add_sizes(b, e, x);
  luaL_addstring(b, " ");
  add_sizes(b, e, y);
  luaL_addstring(b, " -> ");
  add_sizes(b, e, made);
  luaL_addstring(b, "  ");
  add_count(b, s->cost);
  luaL_addstring(b, " multiplications\n");
}

/* A term as it is once diagonals are taken and sums are done. */
static void settle(Term *t, Labels summed) {
  const Term was = *t;
  *t = (Term){.dots = -1};
  for (int i = 0; i < was.rank; i++) {
    if (was.label[i] == BLANK) continue;
    const Labels label = label_bit(was.label[i]);
    if (((summed | t->labels) & label) == 0) term_add(t, was.label[i]);
  }
}

static int ts_einsum_path(lua_State *L) {
  Context *c = border_begin(L, "einsum_path");
  Question q;
  luaL_Buffer b;
  double cost = 0, largest = 0;
  read_question(L, &q);
  hold_plan(L, c, &q);
  Einsum *e = q.e;
  luaL_buffinit(L, &b);
  for (int k = 0; k < e->count; k++) add_summed(&b, e, k);
  for (int k = 0; k < e->count; k++) settle(&e->term[k], e->summed[k]);
  for (int k = 0; k + 1 < e->count; k++) {
    add_step(&b, e, k);
    cost += e->step[k].cost;
    if (k + 2 < e->count && e->step[k].size > largest)
      largest = e->step[k].size;
  }
  luaL_addstring(&b, "total ");
  add_count(&b, cost);
  luaL_addstring(&b, " multiplications, largest intermediate ");
  add_count(&b, largest);
  luaL_addstring(&b, " elements");
  luaL_pushresult(&b);
  return 1;
}

const luaL_Reg border_einsum_functions[] = {{"einsum_path", ts_einsum_path},
                                            {NULL, NULL}};
