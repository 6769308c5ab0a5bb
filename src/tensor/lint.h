/* lint.h: calls that are right and often not meant.
 *
 * An op that meets one asks lint_asks first, which costs one comparison when
 * lint is off, and then reports it: a line on standard error, once for each
 * line of the caller's, or a failure.
 * Must not know: Lua, what the ops do.
 */
#ifndef TENSUS_LINT_H
#define TENSUS_LINT_H

#include "ground/status.h"

typedef enum LintId {
#define LINT(id) LINT_##id,
#include "tensor/lint.def"
  LINT_COUNT
} LintId;

typedef enum LintMode { LINT_OFF, LINT_WARN, LINT_ERROR } LintMode;

/* Shows one warning; line 0: none is known. */
typedef void LintSay(const char *source, int line, const char *text);

/* mode[id] is a LintMode
 * is_set: somebody chose a mode; lint_default is too late then
 * seen: the warnings that were shown, in the ledger */
typedef struct Lint {
  uint8_t mode[LINT_COUNT];
  bool is_set;
  LintSay *say; /* NULL: nobody listens */
  struct LintSeen *seen;
  Failure finding;
} Lint;

typedef struct Context Context;

const char *lint_name(LintId id);

/* All entries, unless a mode was chosen before. */
void lint_default(Context *c, LintMode mode);

/* Forget what was shown: the same line may warn again. */
void lint_forget(Context *c);

/* The text, made by failure_set, has been found at the caller's line: shown,
 * or E_LINT in c->failure.  Use lint_found. */
Status lint_tell(Context *c, LintId id);

/* Status lint_found(c, id, format, ...), formats of failure_set. */
#define lint_found(c, id, ...)                                     \
  ((c)->lint.finding.base = (c)->failure.base,                     \
   (void)failure_set(&(c)->lint.finding, E_LINT, __VA_ARGS__),     \
   lint_tell(c, id))

/* Is anybody interested?  Not in what derivatives do. */
#define lint_asks(c, id) \
  (!LIKELY((c)->lint.mode[id] == LINT_OFF) && !(c)->in_backward)

#endif
