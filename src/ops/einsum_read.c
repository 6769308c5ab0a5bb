/* einsum_read.c: the text of an equation, and the shapes it is for.
 *
 *   equation = term { "," term } [ "->" term ]      blanks are ignored
 *   term     = letters, and at most one "..."
 *
 * Always: costs grow with the text, and stop at the first mistake in it.
 * Must not know: in which order products are taken.
 */
#include <string.h>

#include "ops/einsum.h"

enum { SHOWN = 80 }; /* of an equation in a message */

/* ---- messages: "ik,kj->ij": .. ---- */

/* As much of the equation as a message has room for. */
static const char *shown(const Einsum *e, char text[SHOWN]) {
  const size_t n = strlen(e->equation);
  memcpy(text, e->equation, n < SHOWN ? n + 1 : SHOWN);
  if (n >= SHOWN) memcpy(text + SHOWN - 4, "...", 4);
  return text;
}

static Status refuse(Context *c, const Einsum *e, Status s, const char *why) {
  char text[SHOWN];
  return fail(c, s, "\"%s\": %s", shown(e, text), why);
}

const char *label_text(int label, char text[4]) {
  static const char names[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                              "abcdefghijklmnopqrstuvwxyz";
  const int dot = label - DOTS + 1;
  memset(text, 0, 4);
  if (label < LETTERS) text[0] = names[label];
  else if (dot < 10) text[0] = (char)('0' + dot);
  else text[0] = '1', text[1] = (char)('0' + dot - 10);
  return text;
}

static Status refuse_label(Context *c, const Einsum *e, Status s, int label,
                           const char *why) {
  char text[SHOWN], name[4];
  return fail(c, s, "\"%s\": letter %s %s", shown(e, text),
              label_text(label, name), why);
}

static Status refuse_character(Context *c, const Einsum *e, const char *at) {
  char text[SHOWN];
  const char one[2] = {*at, '\0'};
  return fail(c, E_CHARACTER,
              "\"%s\": character %P is '%s'; letters, commas, \"...\" and "
              "\"->\" are due",
              shown(e, text), (int64_t)(at - e->equation), one);
}

/* ---- the equation ---- */

static int label_of(char letter) {
  if (letter >= 'A' && letter <= 'Z') return letter - 'A';
  if (letter >= 'a' && letter <= 'z') return letter - 'a' + 26;
  return BLANK;
}

/* The next character that is no blank; *at stands on it. */
static char look(const char **at) {
  *at += strspn(*at, " \t\n\r");
  return **at;
}

static Status read_dots(Context *c, const Einsum *e, const char **at,
                        Term *t) {
  for (int i = 0; i < 3; i++, ++*at)
    if (look(at) != '.' || t->dots >= 0)
      return refuse(c, e, E_EQUATION,
                    "an ellipsis is three dots, once in a term");
  t->dots = t->rank;
  return OK;
}

/* One term, up to ',', '-' or the end. */
static Status read_term(Context *c, const Einsum *e, const char **at,
                        Term *t) {
  *t = (Term){.dots = -1};
  for (;;) {
    const char next = look(at);
    const int label = label_of(next);
    if (next == '\0' || next == ',' || next == '-') return OK;
    if (next == '.') {
      const Status s = read_dots(c, e, at, t);
      if (s != OK) return s;
      continue;
    }
    if (next == '>') return refuse(c, e, E_EQUATION, "\"->\" is due");
    if (label == BLANK) return refuse_character(c, e, *at);
    if (t->rank == MAX_RANK)
      return refuse(c, e, E_RANK, "a term has over 12 letters");
    term_add(t, label);
    ++*at;
  }
}

static Status refuse_count(Context *c, const Einsum *e, const char *terms) {
  char text[SHOWN];
  return fail(c, E_OPERAND_COUNT, "\"%s\" has %s terms than the %d %A",
              shown(e, text), terms, e->count, "operands");
}

static Status read_out(Context *c, Einsum *e, const char *at) {
  e->has_out = true;
  at++;
  if (look(&at) != '>') return refuse(c, e, E_EQUATION, "\"->\" is due");
  at++;
  const Status s = read_term(c, e, &at, &e->out);
  if (s == OK && *at != '\0')
    return refuse(c, e, E_EQUATION, "text after the result");
  return s;
}

static Status read_terms(Context *c, Einsum *e) {
  const char *at = e->equation;
  for (int k = 0;; k++, at++) {
    if (k == e->count) return refuse_count(c, e, "more");
    const Status s = read_term(c, e, &at, &e->term[k]);
    if (s != OK) return s;
    if (*at == ',') continue;
    if (k + 1 < e->count) return refuse_count(c, e, "fewer");
    return *at == '-' ? read_out(c, e, at) : OK;
  }
}

/* ---- ellipses and sizes ---- */

/* Puts labels in the place of the ellipsis: `axes` of them. */
static void spread_dots(Term *t, int axes) {
  const Term was = *t;
  *t = (Term){.dots = was.dots};
  for (int i = 0; i <= was.rank; i++) {
    if (i == was.dots)
      for (int k = axes - 1; k >= 0; k--) term_add(t, DOTS + k);
    if (i < was.rank) term_add(t, was.label[i]);
  }
}

static Status fit_term(Context *c, Einsum *e, int k, const Shape *s) {
  Term *t = &e->term[k];
  const int axes = s->rank - t->rank;
  char text[SHOWN];
  if (axes < 0 || (axes > 0 && t->dots < 0))
    return fail(c, E_RANK,
                "\"%s\": term %P has %d letters, operand %S has rank %d",
                shown(e, text), (int64_t)k, (int)t->rank, SHAPE_ARG(s),
                s->rank);
  if (t->dots >= 0) spread_dots(t, axes);
  if (t->dots >= 0 && axes > e->dot_axes) e->dot_axes = axes;
  return OK;
}

static Status refuse_size(Context *c, const Einsum *e, int label, int k,
                          const Shape *const *shape, int64_t size) {
  char text[SHOWN], name[4];
  const int first = e->known[label];
  if (first == k)
    return fail(c, E_SHAPE, "\"%s\": letter %s is %I and %I in operand %P %S",
                shown(e, text), label_text(label, name), e->size[label], size,
                (int64_t)k, SHAPE_ARG(shape[k]));
  return fail(c, E_SHAPE,
              "\"%s\": letter %s is %I in operand %P %S and %I in operand %P "
              "%S",
              shown(e, text), label_text(label, name), e->size[label],
              (int64_t)first, SHAPE_ARG(shape[first]), size, (int64_t)k,
              SHAPE_ARG(shape[k]));
}

/* A repeated letter of a term wants equal sizes, 1 too; between terms 1
 * stretches, and here it is found out. */
static Status learn_size(Context *c, Einsum *e, int label, int k,
                         const Shape *const *shape, int64_t size) {
  const bool is_new = (e->used & label_bit(label)) == 0;
  const int64_t known = is_new ? 1 : e->size[label];
  if (!is_new) e->repeated |= label_bit(label);
  if (!is_new && known == size) return OK;
  if (known != 1 && size != 1)
    return refuse_size(c, e, label, k, shape, size);
  if (!is_new && label < LETTERS) e->stretched = label;
  if (size == 1 && !is_new) return OK;
  e->used |= label_bit(label);
  e->size[label] = size;
  e->known[label] = k;
  return OK;
}

static Status learn_sizes(Context *c, Einsum *e, const Shape *const *shape) {
  for (int k = 0; k < e->count; k++) {
    const Term *t = &e->term[k];
    for (int i = 0; i < t->rank; i++) {
      const int64_t size = shape[k]->size[i];
      for (int j = 0; j < i; j++)
        if (t->label[j] == t->label[i] && shape[k]->size[j] != size) {
          e->size[t->label[i]] = shape[k]->size[j];
          e->known[t->label[i]] = k;
          return refuse_size(c, e, t->label[i], k, shape, size);
        }
      const Status s = learn_size(c, e, t->label[i], k, shape, size);
      if (s != OK) return s;
    }
  }
  return OK;
}

/* ---- the result ---- */

/* Without "->": the ellipsis, then letters that occur once, A before b. */
static Status implicit_out(Context *c, Einsum *e) {
  const Labels letters = label_bit(DOTS) - 1;
  Labels once = e->used & ~e->repeated & letters;
  e->out = (Term){.dots = -1};
  if (e->dot_axes + label_count(once) > MAX_RANK)
    return refuse(c, e, E_RANK, "the result has over 12 axes");
  for (int k = e->dot_axes - 1; k >= 0; k--) term_add(&e->out, DOTS + k);
  for (; once != 0; once &= once - 1) term_add(&e->out, lowest_bit(once));
  return OK;
}

static Status check_out(Context *c, Einsum *e) {
  Labels seen = 0;
  for (int i = 0; i < e->out.rank; i++) {
    const int label = e->out.label[i];
    if ((e->used & label_bit(label)) == 0)
      return refuse_label(c, e, E_UNKNOWN_LABEL, label,
                          "of the result is in no term");
    if ((seen & label_bit(label)) != 0)
      return refuse_label(c, e, E_REPEATED_LABEL, label,
                          "is twice in the result");
    seen |= label_bit(label);
  }
  if (e->out.dots < 0) return OK;
  if (e->out.rank + e->dot_axes > MAX_RANK)
    return refuse(c, e, E_RANK, "the result has over 12 axes");
  spread_dots(&e->out, e->dot_axes);
  return OK;
}

/* ---- blanks and sums ---- */

/* Takes its label from every axis of size 1. */
static void blank_ones(Term *t, const Shape *s) {
  t->labels = 0;
  for (int i = 0; i < t->rank; i++) {
    if (s->size[i] == 1) t->label[i] = BLANK;
    else t->labels |= label_bit(t->label[i]);
  }
}

static void blank_out(Einsum *e) {
  Shape s = {.rank = e->out.rank};
  for (int i = 0; i < s.rank; i++) s.size[i] = e->size[e->out.label[i]];
  blank_ones(&e->out, &s);
}

static void find_summed(Einsum *e) {
  Labels once = 0, twice = 0;
  for (int k = 0; k < e->count; k++) {
    twice |= once & e->term[k].labels;
    once |= e->term[k].labels;
  }
  for (int k = 0; k < e->count; k++)
    e->summed[k] = e->term[k].labels & ~twice & ~e->out.labels;
}

/* ---- the whole ---- */

static size_t room(int count) {
  return (size_t)count *
         (2 * sizeof(Term) + sizeof(Labels) + sizeof(EinsumStep));
}

static Status open_plan(Context *c, Einsum *e) {
  e->term = e->few_terms;
  e->summed = e->few_summed;
  e->step = e->few_steps;
  if (e->count <= EINSUM_FEW) return OK;
  e->step = ledger_alloc(&c->ledger, room(e->count));
  if (e->step == NULL) return fail(c, E_MEMORY, "out of memory");
  e->summed = (Labels *)(e->step + e->count);
  e->term = (Term *)(e->summed + e->count);
  return OK;
}

void einsum_close(Context *c, Einsum *e) {
  if (e->count > EINSUM_FEW)
    ledger_free(&c->ledger, e->step, room(e->count));
}

/* Lint: a letter that an operand has once only. */
static Status ask_stretched(Context *c, const Einsum *e) {
  char text[SHOWN], name[4];
  if (c->depth > 1 || e->stretched == BLANK) return OK;
  return lint_found(c, LINT_einsum_stretch,
                    "einsum \"%s\": letter %s is 1 in one operand and %I in "
                    "another: the 1 stands for all; where both were meant to "
                    "be equal, look at the shapes",
                    shown(e, text), label_text(e->stretched, name),
                    e->size[e->stretched]);
}

Status einsum_read(Context *c, Einsum *e, const char *equation, int count,
                   const Shape *const *shape) {
  e->equation = equation;
  e->count = count;
  e->has_out = false;
  e->dot_axes = 0;
  e->stretched = BLANK;
  e->used = e->repeated = 0;
  Status s = open_plan(c, e);
  if (s == OK && count == 0) s = refuse_count(c, e, "more");
  if (s == OK) s = read_terms(c, e);
  for (int k = 0; k < count && s == OK; k++) s = fit_term(c, e, k, shape[k]);
  if (s == OK) s = learn_sizes(c, e, shape);
  if (s == OK) s = e->has_out ? check_out(c, e) : implicit_out(c, e);
  if (s == OK && lint_asks(c, LINT_einsum_stretch)) s = ask_stretched(c, e);
  if (s != OK) return s;
  for (int k = 0; k < count; k++) blank_ones(&e->term[k], shape[k]);
  blank_out(e);
  find_summed(e);
  return OK;
}
