/* pattern.c: rearrange, reduce and einrepeat: axes by name (API.md 8).
 *
 *   pattern = side "->" side        side = { item }, parted by blanks
 *   item    = name | number | "..." | "(" { name | number | "..." } ")"
 *
 * A side is a list of groups, a group a list of axes; "1" and "()" are groups
 * of none.  All three rows split the operand into the axes of the left side,
 * drop, order or add axes, and merge them into the groups of the right one.
 * Written in rows: each records itself.
 * Must not know: kernels, derivatives.
 */
#include <string.h>

#include "ops/run.h"

enum { MAX_AXES = 24, NAME_ROOM = 24, UNKNOWN = -1, DOTS = -1 };

/* name "": an axis without one, of "..." or of a number. */
typedef struct Axis {
  char name[NAME_ROOM];
  int64_t size; /* or UNKNOWN */
  bool is_new;  /* on the right side only */
} Axis;

/* Group i holds axis[first[i]] up to axis[first[i + 1]]; entries are numbers of
 * axes, or DOTS until it is known how many axes those are. */
typedef struct Side {
  int groups, count;
  int first[MAX_AXES + MAX_RANK + 2];
  int axis[MAX_AXES + MAX_RANK];
} Side;

typedef struct Pattern {
  Context *c;
  const char *text;
  const Tensor *x;
  bool adds, drops; /* what the row allows the right side to do */
  int axes;
  Axis axis[MAX_AXES + MAX_RANK];
  int dots, dot_count; /* the axes of "..." */
  Side left, right;
} Pattern;

/* ---- reading ---- */

#define BAD(p, status, format, ...) \
  fail((p)->c, status, "pattern \"%s\": " format, (p)->text, __VA_ARGS__)

static bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* The axis called `name`; UNKNOWN for none. */
static int find_axis(const Pattern *p, const char *name) {
  for (int i = 0; i < p->axes; i++)
    if (strcmp(p->axis[i].name, name) == 0) return i;
  return UNKNOWN;
}

static Status add_axis(Pattern *p, const char *name, int64_t size, bool is_new,
                       int *number) {
  if (p->axes == MAX_AXES)
    return BAD(p, E_RANK, "more than %d axes", (int)MAX_AXES);
  Axis *a = &p->axis[*number = p->axes++];
  memcpy(a->name, name, strlen(name) + 1);
  a->size = size;
  a->is_new = is_new;
  return OK;
}

static Status put(Pattern *p, Side *s, int number) {
  for (int i = 0; i < s->count; i++) {
    if (s->axis[i] != number) continue;
    const char *name = number == DOTS ? "..." : p->axis[number].name;
    return BAD(p, E_DUPLICATE, "%s occurs twice on one side", name);
  }
  if (s->count == MAX_AXES)
    return BAD(p, E_RANK, "more than %d axes", (int)MAX_AXES);
  s->axis[s->count++] = number;
  return OK;
}

static Status read_name(Pattern *p, Side *s, const char **at) {
  char name[NAME_ROOM];
  size_t n = 0;
  while (is_letter((*at)[n]) || is_digit((*at)[n])) n++;
  if (n >= NAME_ROOM)
    return BAD(p, E_EQUATION, "names have at most %d letters", NAME_ROOM - 1);
  memcpy(name, *at, n);
  name[n] = '\0';
  *at += n;
  int number = find_axis(p, name);
  if (number == UNKNOWN) {
    if (s == &p->right && !p->adds)
      return BAD(p, E_UNKNOWN_LABEL, "%s is on the right side only", name);
    const Status status =
        add_axis(p, name, UNKNOWN, s == &p->right, &number);
    if (status != OK) return status;
  }
  return put(p, s, number);
}

/* A number is an axis of that size that nothing else names. */
static Status read_number(Pattern *p, Side *s, const char **at) {
  int64_t size = 0;
  int number = 0;
  for (; is_digit(**at); ++*at) {
    size = size * 10 + (**at - '0');
    if (size > INT32_MAX) return BAD(p, E_SIZE, "%s is too large", *at);
  }
  if (size == 1) return OK; /* adds nothing to a group, and alone is one */
  if (size == 0) return BAD(p, E_EQUATION, "%s", "0 is no size");
  if (s == &p->right ? !p->adds : !p->drops)
    return BAD(p, E_EQUATION, "%I: an axis that is kept needs a name", size);
  const Status status = add_axis(p, "", size, s == &p->right, &number);
  return status != OK ? status : put(p, s, number);
}

static Status read_item(Pattern *p, Side *s, const char **at) {
  const char c = **at;
  if (is_letter(c)) return read_name(p, s, at);
  if (is_digit(c)) return read_number(p, s, at);
  if (strncmp(*at, "...", 3) == 0) {
    *at += 3;
    return put(p, s, DOTS);
  }
  const char shown[] = {c, '\0'};
  return BAD(p, E_CHARACTER, "'%s' is not expected", shown);
}

static void skip_blanks(const char **at) { *at += strspn(*at, " \t\n"); }

static Status read_group(Pattern *p, Side *s, const char **at) {
  const bool is_wrapped = **at == '(';
  Status status = OK;
  if (s->groups == MAX_AXES)
    return BAD(p, E_RANK, "more than %d axes", (int)MAX_AXES);
  s->first[s->groups++] = s->count;
  if (!is_wrapped) return read_item(p, s, at);
  ++*at;
  for (skip_blanks(at); **at != ')' && status == OK; skip_blanks(at)) {
    if (**at == '\0' || **at == '(')
      return BAD(p, E_EQUATION, "%s", "a parenthesis is not closed");
    status = read_item(p, s, at);
  }
  if (status == OK) ++*at;
  return status;
}

/* Up to "->" or the end. */
static Status read_side(Pattern *p, Side *s, const char **at) {
  s->groups = s->count = 0;
  for (skip_blanks(at); **at != '\0'; skip_blanks(at)) {
    if (strncmp(*at, "->", 2) == 0) break;
    const Status status = read_group(p, s, at);
    if (status != OK) return status;
  }
  s->first[s->groups] = s->count;
  return OK;
}

/* ---- what "..." stands for ---- */

static bool has_dots(const Side *s) {
  for (int i = 0; i < s->count; i++)
    if (s->axis[i] == DOTS) return true;
  return false;
}

/* DOTS in a side become `n` axes from p->dots on; alone they are groups of
 * their own, in parentheses one group. */
static void spread_dots(const Pattern *p, Side *s) {
  Side r = {0};
  const int n = p->dot_count;
  for (int g = 0; g < s->groups; g++) {
    const int from = s->first[g], to = s->first[g + 1];
    const bool alone = to == from + 1 && s->axis[from] == DOTS;
    if (!alone || n > 0) r.first[r.groups++] = r.count;
    for (int i = from; i < to; i++) {
      if (s->axis[i] != DOTS) {
        r.axis[r.count++] = s->axis[i];
        continue;
      }
      for (int k = 0; k < n; k++) {
        if (alone && k > 0) r.first[r.groups++] = r.count;
        r.axis[r.count++] = p->dots + k;
      }
    }
  }
  r.first[r.groups] = r.count;
  *s = r;
}

static Status expand_dots(Pattern *p) {
  const int rank = p->x->shape.rank;
  const bool left = has_dots(&p->left), right = has_dots(&p->right);
  if (right && !left)
    return BAD(p, E_UNKNOWN_LABEL, "%s is on the right side only", "...");
  if (left && !right && !p->drops)
    return BAD(p, E_UNKNOWN_LABEL, "%s is on the left side only", "...");
  const int named = p->left.groups - left, n = rank - named;
  if (left ? n < 0 : n != 0)
    return BAD(p, E_RANK, "the left side has %d dims%s, self %S has %d", named,
               left ? " beside ..." : "", SHAPE_ARG(&p->x->shape), rank);
  p->dots = p->axes, p->dot_count = left ? n : 0;
  for (int k = 0; k < p->dot_count; k++)
    p->axis[p->axes++] = (Axis){.size = UNKNOWN};
  spread_dots(p, &p->left);
  spread_dots(p, &p->right);
  return OK;
}

/* ---- sizes ---- */

/* "p=2 h=3": sizes that the caller gave. */
static Status read_sizes(Pattern *p, const char *text) {
  while (text != NULL && *text != '\0') {
    char name[NAME_ROOM];
    const size_t n = strcspn(text, "="), most = NAME_ROOM - 1;
    const size_t kept = n < most ? n : most;
    memcpy(name, text, kept);
    name[kept] = '\0';
    const int number =
        n > 0 && n < NAME_ROOM ? find_axis(p, name) : UNKNOWN;
    if (number == UNKNOWN)
      return BAD(p, E_OPTION, "a size is given for %s, which does not occur",
                 name);
    int64_t size = 0;
    text += n + (text[n] == '=');
    for (; is_digit(*text); text++)
      size = size < INT32_MAX ? size * 10 + (*text - '0') : size;
    if (*text != ' ' && *text != '\0')
      return BAD(p, E_SHAPE, "the size of %s is no size", name);
    p->axis[number].size = size;
    text += *text == ' ';
  }
  return OK;
}

static const char *group_name(const Pattern *p, const Side *s, int g) {
  const int from = s->first[g];
  return from < s->first[g + 1] ? p->axis[s->axis[from]].name : "1";
}

/* The sizes of the axes of group g, which make a dim of `size`. */
static Status fit_group(Pattern *p, int g, int64_t size) {
  const Side *s = &p->left;
  int64_t known = 1;
  int unknown = UNKNOWN;
  for (int i = s->first[g]; i < s->first[g + 1]; i++) {
    const Axis *a = &p->axis[s->axis[i]];
    if (a->size == UNKNOWN && unknown != UNKNOWN)
      return BAD(p, E_TWO_UNKNOWNS, "the sizes of %s and %s are not known",
                 p->axis[unknown].name, a->name);
    if (a->size == UNKNOWN) unknown = s->axis[i];
    else if (!checked_mul(known, a->size, &known)) known = 0;
  }
  if (unknown != UNKNOWN && known > 0 && size % known == 0) {
    p->axis[unknown].size = size / known;
    return OK;
  }
  if (unknown == UNKNOWN && known == size) return OK;
  const bool is_one = s->first[g + 1] - s->first[g] <= 1;
  return BAD(p, E_SIZE, "%s%s%s: dim %P of self %S is %I, and %s is %I",
             is_one ? "" : "(", group_name(p, s, g), is_one ? "" : " ...)",
             (int64_t)g, SHAPE_ARG(&p->x->shape), size,
             unknown != UNKNOWN ? "the product of the known sizes"
             : is_one           ? "the axis"
                                : "the product",
             known);
}

static Status check_sides(Pattern *p) {
  bool on_right[MAX_AXES + MAX_RANK] = {false};
  for (int i = 0; i < p->right.count; i++) on_right[p->right.axis[i]] = true;
  for (int i = 0; i < p->axes; i++) {
    const Axis *a = &p->axis[i];
    if (!on_right[i] && !p->drops)
      return BAD(p, E_UNKNOWN_LABEL, "%s is on the left side only", a->name);
    if (a->is_new && a->size == UNKNOWN)
      return BAD(p, E_SHAPE, "the new axis %s needs a size", a->name);
  }
  if (p->left.count <= MAX_RANK && p->right.count <= MAX_RANK &&
      p->right.groups <= MAX_RANK)
    return OK;
  return BAD(p, E_RANK, "more than %d axes at a time", (int)MAX_RANK);
}

static Status pattern_open(Context *c, const Args *a, int sizes, bool adds,
                           bool drops, Pattern *p) {
  const char *at = a->at[1].text;
  memset(p, 0, sizeof *p);
  p->c = c, p->text = at, p->x = a->at[0].tensor;
  p->adds = adds, p->drops = drops;
  Status s = read_side(p, &p->left, &at);
  if (s == OK && *at == '\0') s = BAD(p, E_EQUATION, "%s", "-> is missing");
  if (s != OK) return s;
  at += 2;
  s = read_side(p, &p->right, &at);
  if (s == OK && *at != '\0') s = BAD(p, E_EQUATION, "%s", "-> occurs twice");
  if (s == OK)
    s = read_sizes(p, a->at[sizes].kind == ARG_TEXT ? a->at[sizes].text : NULL);
  if (s == OK) s = expand_dots(p);
  for (int g = 0; g < p->left.groups && s == OK; g++)
    s = fit_group(p, g, p->x->shape.size[g]);
  return s != OK ? s : check_sides(p);
}

/* ---- doing ---- */

/* x seen with one dim for each axis of the left side. */
static Status split_axes(Context *c, const Pattern *p, Tensor *x, Tensor **r) {
  int64_t size[MAX_RANK];
  for (int i = 0; i < p->left.count; i++)
    size[i] = p->axis[p->left.axis[i]].size;
  return op_reshape(c, x, p->left.count, size, r);
}

/* The axes that are left of `have`, in the order of the right side. */
static Status order_axes(Context *c, const Pattern *p, Tensor *x,
                         const int *have, int count, Tensor **r) {
  int64_t dims[MAX_RANK];
  int n = 0;
  for (int i = 0; i < p->right.count; i++)
    for (int k = 0; k < count; k++)
      if (have[k] == p->right.axis[i]) dims[n++] = k;
  assert(n == count);
  return op_permute(c, x, n, dims, r);
}

static Status merge_axes(Context *c, const Pattern *p, Tensor *x, Tensor **r) {
  int64_t size[MAX_RANK];
  for (int g = 0; g < p->right.groups; g++) {
    size[g] = 1;
    for (int i = p->right.first[g]; i < p->right.first[g + 1]; i++)
      if (!checked_mul(size[g], p->axis[p->right.axis[i]].size, &size[g]))
        return BAD(p, E_SIZE, "dim %P of the result is too large", (int64_t)g);
  }
  return op_reshape(c, x, p->right.groups, size, r);
}

Status run_rearrange(Context *c, Args *a, Tensor **r) {
  Tensor *split = NULL, *ordered = NULL;
  Pattern p;
  Status s = pattern_open(c, a, 2, false, false, &p);
  if (s != OK) return s;
  s = split_axes(c, &p, a->at[0].tensor, &split);
  if (s == OK)
    s = order_axes(c, &p, split, p.left.axis, p.left.count, &ordered);
  if (s == OK) s = merge_axes(c, &p, ordered, &r[0]);
  tensor_release(c, split);
  tensor_release(c, ordered);
  return s;
}

/* The row of a kind of reduction, in the order of the words of `reduce`. */
static OpId reduction_of(int64_t kind) {
  static const char *const rows[] = {"sum",  "mean", "amax", "amin",
                                     "prod", "any",  "all"};
  return op_find(rows[kind]);
}

/* Axes that the right side lacks are reduced; `have` keeps the others. */
static Status drop_axes(Context *c, const Pattern *p, int64_t kind, Tensor *x,
                        int *have, int *count, Tensor **r) {
  const OpId op = reduction_of(kind);
  int64_t dims[MAX_RANK];
  int n = 0;
  *count = 0;
  for (int k = 0; k < p->left.count; k++) {
    bool stays = false;
    for (int i = 0; i < p->right.count; i++)
      stays |= p->right.axis[i] == p->left.axis[k];
    if (stays) have[(*count)++] = p->left.axis[k];
    else dims[n++] = k;
  }
  if (op == OP_COUNT) return fail(c, E_OPTION, "%A is not offered yet", "kind");
  Args a;
  for (int k = 0; k < op_rows[op].params; k++) a.at[k].kind = ARG_NONE;
  a.at[0] = arg_tensor(x);
  a.at[1] = arg_sizes(n, dims);
  return op_call(c, op, &a, r);
}

Status run_reduce(Context *c, Args *a, Tensor **r) {
  Tensor *split = NULL, *less = NULL, *ordered = NULL;
  int have[MAX_RANK], count = 0;
  Pattern p;
  Status s = pattern_open(c, a, 3, false, true, &p);
  if (s != OK) return s;
  s = split_axes(c, &p, a->at[0].tensor, &split);
  if (s == OK)
    s = drop_axes(c, &p, a->at[2].integer, split, have, &count, &less);
  if (s == OK) s = order_axes(c, &p, less, have, count, &ordered);
  if (s == OK) s = merge_axes(c, &p, ordered, &r[0]);
  tensor_release(c, split);
  tensor_release(c, less);
  tensor_release(c, ordered);
  return s;
}

/* New axes as size 1, then stretched. */
static Status stretch_axes(Context *c, const Pattern *p, Tensor *x,
                           Tensor **r) {
  int64_t one[MAX_RANK], size[MAX_RANK];
  Tensor *line = NULL;
  for (int i = 0; i < p->right.count; i++) {
    const Axis *axis = &p->axis[p->right.axis[i]];
    size[i] = axis->size;
    one[i] = axis->is_new ? 1 : axis->size;
  }
  Status s = op_reshape(c, x, p->right.count, one, &line);
  if (s == OK) s = op_expand(c, line, p->right.count, size, r);
  tensor_release(c, line);
  return s;
}

/* Storage of its own, as all ops that are not listed as views. */
static Status own_storage(Context *c, const Tensor *x, Tensor *y, Tensor **r) {
  if (y->storage != x->storage) {
    *r = tensor_share(y);
    (*r)->is_view = false;
    return OK;
  }
  return op_unary(c, OP_clone, y, r);
}

Status run_einrepeat(Context *c, Args *a, Tensor **r) {
  Tensor *split = NULL, *ordered = NULL, *wide = NULL, *merged = NULL;
  Pattern p;
  Status s = pattern_open(c, a, 2, true, false, &p);
  if (s != OK) return s;
  s = split_axes(c, &p, a->at[0].tensor, &split);
  if (s == OK)
    s = order_axes(c, &p, split, p.left.axis, p.left.count, &ordered);
  if (s == OK) s = stretch_axes(c, &p, ordered, &wide);
  if (s == OK) s = merge_axes(c, &p, wide, &merged);
  if (s == OK) s = own_storage(c, a->at[0].tensor, merged, &r[0]);
  tensor_release(c, split);
  tensor_release(c, ordered);
  tensor_release(c, wide);
  tensor_release(c, merged);
  return s;
}
