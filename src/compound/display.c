/* display.c: see display.h.
 *
 * Which positions are shown is decided from the shape; those elements are
 * copied to the host in one piece, give the format, and are written in
 * row-major order.
 *
 *   size 9, 3 at each edge:  shown  0 1 2 . . . 6 7 8
 *   seen as two axes of one view:  (2, 3), strides (6, 1) times the stride
 *
 * Always: at most SHOWN_MOST elements are copied; the text is well formed.
 * Must not know: Lua.
 */
#include "compound/display.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "value/half.h"

enum {
  SHOWN_MOST = 5000,  /* an element takes two characters at least; below 2^13,
                         so that a shown view has at most 12 axes */
  ELEMENT_TEXT = 352, /* -1.8e308 in full, and DISPLAY_PRECISION digits */
  SUFFIX_TEXT = 512   /* dtype, 12 sizes, device, an op's name */
};

const DisplayOptions display_defaults = {4, 1000, 3, 80, DISPLAY_AUTO};

/* ---- a text that stops at its end ---- */

/* start <= at <= end; `full` once something did not fit */
typedef struct Text {
  char *start, *at, *end;
  char *line; /* where the last line begins */
  bool full;
} Text;

static void text_put(Text *t, const char *s, size_t n) {
  if (n > (size_t)(t->end - t->at)) {
    t->full = true;
    return;
  }
  memcpy(t->at, s, n);
  t->at += n;
}

static void text_fill(Text *t, char ch, int64_t n) {
  if (n > t->end - t->at) {
    t->full = true;
    return;
  }
  if (n <= 0) return;
  memset(t->at, ch, (size_t)n);
  t->at += n;
}

static void text_break(Text *t, int64_t lines, int64_t indent) {
  text_fill(t, '\n', lines);
  t->line = t->at;
  text_fill(t, ' ', indent);
}

/* ---- which positions are shown ---- */

/* Axis by axis of the tensor: `size` shown positions, and the number of the
 * one that `...` stands before (0: none is left out).
 * count == product of size <= SHOWN_MOST, once plan_make returned true */
typedef struct Plan {
  int rank;
  int64_t size[MAX_RANK], gap[MAX_RANK];
  int64_t count;
} Plan;

/* With `edge` positions at both ends of an axis; false if that is too much
 * to show. */
static bool plan_make(Plan *p, const Shape *s, int64_t edge) {
  p->rank = s->rank;
  p->count = 1;
  for (int i = 0; i < s->rank; i++) {
    const bool cut = s->size[i] / 2 >= edge && s->size[i] > 2 * edge;
    p->size[i] = cut ? 2 * edge : s->size[i];
    p->gap[i] = cut ? edge : 0;
    if (p->size[i] > SHOWN_MOST / p->count) return false;
    p->count *= p->size[i];
  }
  return true;
}

static void shape_append(Shape *s, int64_t size, int64_t stride) {
  if (size == 1) return;
  shape_insert(s, s->rank, size, stride);
}

/* The shown elements as one view of t: a cut axis becomes two.  SHOWN_MOST
 * bounds the axes: each has at least two positions. */
static Shape plan_view(const Plan *p, const Shape *s) {
  Shape r = {0};
  for (int i = 0; i < p->rank; i++) {
    const int64_t edge = p->gap[i];
    if (edge == 0) {
      shape_append(&r, s->size[i], s->stride[i]);
      continue;
    }
    shape_append(&r, 2, (s->size[i] - edge) * s->stride[i]);
    shape_append(&r, edge, s->stride[i]);
  }
  return r;
}

/* Copy the shown elements, row-major, to new memory of p->count elements. */
static Status plan_read(Context *c, const Plan *p, const Tensor *t,
                        char **host) {
  Tensor *view = NULL, *flat = NULL;
  const Shape shape = plan_view(p, &t->shape);
  const size_t bytes = (size_t)p->count * dtype_bytes(t->dtype);
  char *data = NULL;
  Status s = tensor_view(c, t, &shape, t->offset, &view);
  if (s != OK) return s;
  if ((s = op_contiguous(c, view, &flat)) != OK) goto done;
  data = ledger_alloc(&c->ledger, bytes);
  if (data == NULL) {
    s = context_no_memory(c, &shape, t->dtype);
    goto done;
  }
  if ((s = tensor_read(c, flat, data)) != OK) goto done;
  *host = data;
  data = NULL;
done:
  ledger_free(&c->ledger, data, bytes);
  tensor_release(c, flat);
  tensor_release(c, view);
  return s;
}

/* ---- how an element is written ---- */

/* All shown elements: row-major at `data`. */
typedef struct Shown {
  const char *data;
  Dtype dtype;
  int64_t count;
} Shown;

/* width == the longest text of a shown element */
typedef struct Format {
  bool scientific;
  int digits; /* behind the point */
  int64_t width;
} Format;

static const char *shown_at(const Shown *e, int64_t i) {
  return e->data + (size_t)i * dtype_bytes(e->dtype);
}

/* A host may have set a locale whose point is a comma. */
static void mend_point(char *text) {
  char *comma = strchr(text, ',');
  if (comma != NULL) *comma = '.';
}

static size_t float_text(double x, const Format *f, char *text) {
  if (isnan(x)) return (size_t)snprintf(text, ELEMENT_TEXT, "nan");
  if (isinf(x))
    return (size_t)snprintf(text, ELEMENT_TEXT, x < 0 ? "-inf" : "inf");
  const char *format = f->scientific   ? "%.*e"
                       : f->digits > 0 ? "%.*f"
                                       : "%.*f.";
  const int n = snprintf(text, ELEMENT_TEXT, format, f->digits, x);
  mend_point(text);
  return (size_t)n;
}

static size_t element_text(const Shown *e, int64_t i, const Format *f,
                           char *text) {
  const char *at = shown_at(e, i);
  if (dtype_class(e->dtype) == CLASS_FLOAT)
    return float_text(scalar_to_f64(at, e->dtype), f, text);
  const int64_t value = scalar_to_i64(at, e->dtype);
  if (dtype_class(e->dtype) == CLASS_BOOL)
    return (size_t)snprintf(text, ELEMENT_TEXT, value ? "true" : "false");
  return (size_t)snprintf(text, ELEMENT_TEXT, "%lld", (long long)value);
}

/* Digits behind the point that are left when trailing zeros go. */
static int digits_needed(double x, int precision) {
  char text[ELEMENT_TEXT];
  const Format f = {false, precision, 0};
  size_t n = float_text(x, &f, text);
  int digits = precision;
  while (digits > 0 && text[--n] == '0') digits--;
  return digits;
}

/* Finite elements other than 0: the least and the greatest magnitude, 0 when
 * there is none. */
static void magnitudes(const Shown *e, double *least, double *greatest) {
  *least = *greatest = 0;
  for (int64_t i = 0; i < e->count; i++) {
    const double x = fabs(scalar_to_f64(shown_at(e, i), e->dtype));
    if (x == 0 || !isfinite(x)) continue;
    if (*least == 0 || x < *least) *least = x;
    if (x > *greatest) *greatest = x;
  }
}

/* Columns of fixed digits show no more than five orders of magnitude well.
 * A tensor of small values only would print as zeros. */
static bool is_scientific(const Shown *e, const DisplayOptions *o) {
  double least, greatest;
  if (o->mode != DISPLAY_AUTO) return o->mode == DISPLAY_SCIENTIFIC;
  magnitudes(e, &least, &greatest);
  if (greatest == 0) return false;
  return greatest / least > 1e5 || greatest > 1e8 ||
         greatest < pow(10, -o->precision);
}

static int fixed_digits(const Shown *e, int precision) {
  int digits = 0;
  for (int64_t i = 0; i < e->count && digits < precision; i++) {
    const double x = scalar_to_f64(shown_at(e, i), e->dtype);
    if (!isfinite(x)) continue;
    const int needed = digits_needed(x, precision);
    if (needed > digits) digits = needed;
  }
  return digits;
}

static Format format_choose(const Shown *e, const DisplayOptions *o) {
  Format f = {false, 0, 0};
  char text[ELEMENT_TEXT];
  if (dtype_class(e->dtype) == CLASS_FLOAT) {
    f.scientific = is_scientific(e, o);
    f.digits = f.scientific ? o->precision : fixed_digits(e, o->precision);
  }
  for (int64_t i = 0; i < e->count; i++)
    f.width = max_i64(f.width, (int64_t)element_text(e, i, &f, text));
  return f;
}

/* ---- the brackets ---- */

/* Where the walk through the shown elements stands. */
typedef struct Walk {
  const Plan *plan;
  int64_t place[MAX_RANK];
  int64_t width, linewidth;
} Walk;

/* To the next element; returns the axis that moved on, -1 at the end. */
static int walk_step(Walk *w) {
  int axis = w->plan->rank - 1;
  while (axis >= 0 && ++w->place[axis] == w->plan->size[axis])
    w->place[axis--] = 0;
  return axis;
}

/* What stands between two neighbours along `axis`. */
static void put_separator(Text *t, const Walk *w, int axis) {
  const int rank = w->plan->rank;
  text_put(t, ",", 1);
  if (axis < rank - 1) {
    text_break(t, rank - 1 - axis, axis + 1);
    return;
  }
  /* " ", the element, and the comma or bracket behind it */
  if (t->at - t->line + w->width + 2 > w->linewidth)
    text_break(t, 1, rank);
  else
    text_put(t, " ", 1);
}

static void put_elements(Text *t, Walk *w, const Shown *e, const Format *f) {
  char text[ELEMENT_TEXT];
  const int rank = w->plan->rank;
  text_fill(t, '[', rank);
  for (int64_t i = 0; i < e->count && !t->full; i++) {
    const size_t n = element_text(e, i, f, text);
    text_fill(t, ' ', f->width - (int64_t)n);
    text_put(t, text, n);
    const int axis = walk_step(w);
    text_fill(t, ']', rank - 1 - axis);
    if (axis < 0) return;
    put_separator(t, w, axis);
    if (w->place[axis] == w->plan->gap[axis]) {
      text_put(t, "...", 3);
      put_separator(t, w, axis);
    }
    text_fill(t, '[', rank - 1 - axis);
  }
}

/* ---- rank 0 ---- */

static bool reads_back(const char *text, double x, Dtype dtype) {
  switch (dtype) {
  case DTYPE_F16:
    return f32_to_f16(strtof(text, NULL)) == f32_to_f16((float)x);
  case DTYPE_BF16:
    return f32_to_bf16(strtof(text, NULL)) == f32_to_bf16((float)x);
  case DTYPE_F32:
    return strtof(text, NULL) == (float)x;
  default:
    return strtod(text, NULL) == x;
  }
}

/* As Python writes them: digits in full from 1e-4 up to 1e16. */
size_t display_number(double x, Dtype dtype, char text[DISPLAY_NUMBER]) {
  int digits = 0;
  if (!isfinite(x))
    return (size_t)snprintf(text, DISPLAY_NUMBER, "%s",
                            isnan(x) ? "nan"
                            : x < 0  ? "-inf"
                                     : "inf");
  do snprintf(text, DISPLAY_NUMBER, "%.*e", digits++, x);
  while (digits < DISPLAY_PRECISION && !reads_back(text, x, dtype));
  const int exponent = atoi(strchr(text, 'e') + 1);
  size_t n = strlen(text);
  if (exponent >= -4 && exponent < 16) {
    const int behind = digits - 1 > exponent ? digits - 1 - exponent : 0;
    n = (size_t)snprintf(text, DISPLAY_NUMBER, behind > 0 ? "%.*f" : "%.*f.",
                         behind, x);
  }
  mend_point(text);
  return n;
}

static void put_number(Text *t, const Shown *e) {
  char text[ELEMENT_TEXT];
  const Format f = {false, 0, 0};
  const size_t n =
      dtype_class(e->dtype) == CLASS_FLOAT
          ? display_number(scalar_to_f64(e->data, e->dtype), e->dtype, text)
          : element_text(e, 0, &f, text);
  text_put(t, text, n);
}

/* ---- the whole ---- */

static void put_word(Text *t, const char *word) {
  text_put(t, word, strlen(word));
}

static void put_sizes(Text *t, const Shape *s) {
  char text[24];
  put_word(t, "{");
  for (int i = 0; i < s->rank; i++) {
    const int n = snprintf(text, sizeof text, i > 0 ? ",%lld" : "%lld",
                           (long long)s->size[i]);
    text_put(t, text, (size_t)n);
  }
  put_word(t, "}");
}

static void put_suffix(Text *t, const Tensor *x) {
  put_word(t, "  ");
  put_word(t, dtype_name(x->dtype));
  put_word(t, " ");
  put_sizes(t, &x->shape);
  if (!tensor_device(x)->is_host) {
    put_word(t, " ");
    put_word(t, tensor_device(x)->name);
  }
  if (!tensor_is_tracked(x)) return;
  if (x->node->op == OP_LEAF) {
    put_word(t, " requires_grad");
    return;
  }
  put_word(t, " grad_fn=");
  put_word(t, node_name(x->node));
}

static void put_shown(Text *t, const Plan *p, const Shown *e,
                      const DisplayOptions *o) {
  if (p->rank == 0) {
    put_number(t, e);
    return;
  }
  const Format f = format_choose(e, o);
  Walk w = {p, {0}, f.width, o->linewidth};
  put_elements(t, &w, e, &f);
}

/* Write what p shows of x; t->full when it does not fit. */
static Status put_plan(Context *c, Text *t, const Plan *p, const Tensor *x,
                       const DisplayOptions *o) {
  char *host = NULL;
  const Status s = plan_read(c, p, x, &host);
  if (s != OK) return s;
  const Shown e = {host, x->dtype, p->count};
  put_shown(t, p, &e, o);
  ledger_free(&c->ledger, host, (size_t)p->count * dtype_bytes(x->dtype));
  return OK;
}

/* Fewer positions at the edges, when the last try was too long. */
static int64_t edge_below(int64_t edge, const DisplayOptions *o) {
  if (edge > o->edgeitems) return o->edgeitems;
  return edge > 8 ? edge / 2 : edge - 1;
}

static Status put_body(Context *c, Text *t, const Tensor *x,
                       const DisplayOptions *o) {
  if (x->count == 0) {
    put_word(t, "[]");
    return OK;
  }
  int64_t edge = x->count > o->threshold ? o->edgeitems : INT64_MAX;
  for (; edge > 0; edge = edge_below(edge, o)) {
    Plan p;
    if (!plan_make(&p, &x->shape, edge)) continue;
    const Status s = put_plan(c, t, &p, x, o);
    if (s != OK || !t->full) return s;
    t->at = t->line = t->start;
    t->full = false;
  }
  put_word(t, "[...]"); /* so many axes that even their corners are too much */
  return OK;
}

Status display_tensor(Context *c, Tensor *x, const DisplayOptions *o, bool repr,
                      char *text, size_t *length) {
  char suffix[SUFFIX_TEXT];
  Text end = {suffix, suffix, suffix + SUFFIX_TEXT, suffix, false};
  Status s = tensor_ready(c, x, "self");
  if (s != OK) return s;
  if (repr || x->shape.rank > 0) put_suffix(&end, x);
  const size_t tail = (size_t)(end.at - suffix);
  Text t = {text, text, text + DISPLAY_MOST - tail, text, false};
  if ((s = put_body(c, &t, x, o)) != OK) return s;
  memcpy(t.at, suffix, tail);
  t.at[tail] = '\0';
  *length = (size_t)(t.at - text) + tail;
  return OK;
}
