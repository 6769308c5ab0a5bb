/* lint.c: see lint.h. */
#include "tensor/context.h"

/* A warning that was shown; `source` is interned. */
typedef struct LintSeen {
  struct LintSeen *next;
  const char *source;
  int line;
  LintId id;
} LintSeen;

const char *lint_name(LintId id) {
  static const char *const names[] = {
#define LINT(id) #id,
#include "tensor/lint.def"
  };
  return names[id];
}

void lint_default(Context *c, LintMode mode) {
  for (int i = 0; i < LINT_COUNT && !c->lint.is_set; i++)
    c->lint.mode[i] = (uint8_t)mode;
}

void lint_forget(Context *c) {
  while (c->lint.seen != NULL) {
    LintSeen *s = c->lint.seen;
    c->lint.seen = s->next;
    ledger_free(&c->ledger, s, sizeof *s);
  }
}

/* Has this line been told?  If not it is now; without memory it is told again,
 * which does no harm. */
static bool is_told(Context *c, LintId id, const char *source, int line) {
  for (const LintSeen *s = c->lint.seen; s != NULL; s = s->next)
    if (s->line == line && s->id == id && s->source == source) return true;
  LintSeen *s = ledger_alloc(&c->ledger, sizeof *s);
  if (s == NULL) return false;
  *s = (LintSeen){c->lint.seen, source, line, id};
  c->lint.seen = s;
  return false;
}

Status lint_tell(Context *c, LintId id) {
  Lint *l = &c->lint;
  if (l->mode[id] == LINT_ERROR) {
    c->failure = l->finding;
    c->failure.op = "lint";
    return E_LINT;
  }
  const char *source = "";
  int line = 0;
  context_where(c, &source, &line);
  if (l->say != NULL && !is_told(c, id, source, line))
    l->say(source, line, l->finding.text);
  return OK;
}
