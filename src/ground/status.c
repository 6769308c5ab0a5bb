/* status.c: names of failures, and the formatter of their texts.
 *
 * Always: no allocation; a text never leaves its buffer.
 */
#include "ground/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ORDER tensus_Status of tensus.h */
enum {
  PUBLIC_OK,
  PUBLIC_SYNTAX,
  PUBLIC_RUN,
  PUBLIC_ARG,
  PUBLIC_SHAPE,
  PUBLIC_DTYPE,
  PUBLIC_INDEX,
  PUBLIC_GRAD,
  PUBLIC_MEMORY,
  PUBLIC_LIMIT,
  PUBLIC_INTERRUPT,
  PUBLIC_IO,
  PUBLIC_DEVICE,
  PUBLIC_STATE
};

static const struct {
  const char *name;
  int public;
} status_rows[STATUS_COUNT] = {
    [OK] = {"ok", PUBLIC_OK},
#define STATUS(code, name, public) [E_##code] = {name, PUBLIC_##public},
#include "ground/status.def"
};

const char *status_name(Status s) { return status_rows[s].name; }

int status_public(Status s) { return status_rows[s].public; }

/* A text that grows to the right and is cut at the end of its buffer. */
typedef struct Line {
  char *at, *end; /* end: the place of the final zero */
} Line;

static void line_text(Line *l, const char *text) {
  while (*text != '\0' && l->at < l->end) *l->at++ = *text++;
}

static void line_integer(Line *l, int64_t value) {
  char digits[24];
  snprintf(digits, sizeof digits, "%lld", (long long)value);
  line_text(l, digits);
}

static void line_shape(Line *l, int rank, const int64_t *size) {
  line_text(l, "{");
  for (int i = 0; i < rank; i++) {
    if (i > 0) line_text(l, ",");
    line_integer(l, size[i]);
  }
  line_text(l, "}");
}

/* The positions of element `at` of a shape; no size is 0. */
static void line_place(Line *l, const Failure *f, int rank,
                       const int64_t *size, int64_t at) {
  int64_t position[FAILURE_RANK];
  if (never(rank > FAILURE_RANK)) return;
  for (int i = rank - 1; i >= 0; i--) {
    position[i] = at % size[i] + f->base;
    at /= size[i];
  }
  line_text(l, "(");
  for (int i = 0; i < rank; i++) {
    if (i > 0) line_text(l, ",");
    line_integer(l, position[i]);
  }
  line_text(l, ")");
}

static void failure_shape(Failure *f, int rank, const int64_t *size) {
  if (f->shapes == FAILURE_SHAPES || rank > FAILURE_RANK) return;
  f->rank[f->shapes] = rank;
  memcpy(f->size[f->shapes++], size, (size_t)rank * sizeof *size);
}

static void line_argument(Line *l, Failure *f, const char *name) {
  snprintf(f->arg, sizeof f->arg, "%s", name);
  line_text(l, name);
}

void failure_clear(Failure *f) {
  f->status = OK;
  f->shapes = 0;
  f->position = 0;
  f->arg[0] = f->text[0] = '\0';
}

const char *failure_joint(const Failure *f) {
  return f->text[0] == '"' ? " " : ": ";
}

static void line_number(Line *l, double value) {
  char digits[32];
  snprintf(digits, sizeof digits, "%.14g", value);
  line_text(l, digits);
}

Status failure_set(Failure *f, Status status, const char *format, ...) {
  char text[FAILURE_TEXT]; /* an argument may be the old text */
  Line l = {text, text + sizeof text - 1};
  va_list v;
  failure_clear(f);
  va_start(v, format);
  for (const char *p = format; *p != '\0'; p++) {
    if (*p != '%') {
      const char one[2] = {*p, '\0'};
      line_text(&l, one);
      continue;
    }
    switch (*++p) {
    case 's': line_text(&l, va_arg(v, const char *)); break;
    case 'A': line_argument(&l, f, va_arg(v, const char *)); break;
    case 'd': line_integer(&l, va_arg(v, int)); break;
    case 'I': line_integer(&l, va_arg(v, int64_t)); break;
    case 'g': line_number(&l, va_arg(v, double)); break;
    case 'P':
      f->position = va_arg(v, int64_t) + f->base;
      line_integer(&l, f->position);
      break;
    case 'S': {
      const int rank = va_arg(v, int);
      const int64_t *size = va_arg(v, const int64_t *);
      failure_shape(f, rank, size);
      line_shape(&l, rank, size);
      break;
    }
    case 'Q': {
      const int rank = va_arg(v, int);
      const int64_t *size = va_arg(v, const int64_t *);
      line_place(&l, f, rank, size, va_arg(v, int64_t));
      break;
    }
    case '%': line_text(&l, "%"); break;
    default: assert(!"failure_set: unknown format");
    }
  }
  va_end(v);
  *l.at = '\0';
  memcpy(f->text, text, sizeof text);
  f->status = status;
  return status;
}
