/* einsum.c: sums of products over letters, for one or two operands.
 *
 * One operand: diagonals, a permutation, a sum.  Two: letters that stand in
 * one operand only and not in the result are summed first; the rest is one
 * batched product: batch letters (in both and in the result), left, right,
 * contracted.
 *
 *   "bij,bjk->bik"   batch b   left i   contracted j   right k
 *                    (b, i, j) x (b, j, k) -> (b, i, k)
 *
 * Written in rows, so every derivative follows.
 * Must not know: kernels.
 */
#include <string.h>

#include "ops/run.h"

enum {
  LETTERS = 52,
  MAX_OPS = 2,
  /* An ellipsis gets labels of its own: one for each axis, from the right. */
  DOTS = LETTERS,
  LABELS = LETTERS + MAX_RANK
};

/* The labels of one operand or of the result, axis by axis. */
typedef struct Term {
  int rank, dots; /* dots: where the ellipsis stands; -1: none */
  int label[MAX_RANK];
} Term;

typedef struct Plan {
  const char *equation;
  int operands;
  Term term[MAX_OPS], out;
  bool has_out;
  int dot_axes;          /* most axes that an ellipsis stands for */
  int64_t size[LABELS];  /* 0..; -1: not seen */
} Plan;

/* ---- the equation ---- */

static int label_of(char letter) {
  if (letter >= 'A' && letter <= 'Z') return letter - 'A';
  if (letter >= 'a' && letter <= 'z') return letter - 'a' + 26;
  return -1;
}

static const char *letter_text(int label, char text[4]) {
  const char letter =
      (char)(label < 26 ? 'A' + label : 'a' + (label - 26));
  memcpy(text, "...", 4);
  if (label < LETTERS) text[0] = letter, text[1] = '\0';
  return text;
}

static Status refuse(Context *c, const Plan *p, const char *why) {
  return fail(c, E_EQUATION, "%A \"%s\": %s", "equation", p->equation, why);
}

/* Reads one term up to ',', '-' or the end. */
static Status read_term(Context *c, const Plan *p, const char **at, Term *t) {
  t->rank = 0;
  t->dots = -1;
  for (; **at != '\0' && **at != ',' && **at != '-'; ++*at) {
    if (**at == ' ') continue;
    if (**at == '.') {
      if (strncmp(*at, "...", 3) != 0 || t->dots >= 0)
        return refuse(c, p, "an ellipsis is three dots, once in a term");
      t->dots = t->rank;
      *at += 2;
      continue;
    }
    const int label = label_of(**at);
    if (label < 0)
      return refuse(c, p, "a letter, a comma, \"...\" or \"->\" is due");
    if (t->rank == MAX_RANK) return refuse(c, p, "a term has over 12 letters");
    t->label[t->rank++] = label;
  }
  return OK;
}

static Status read_equation(Context *c, Plan *p, int operands) {
  const char *at = p->equation;
  for (p->operands = 0;; at++) {
    if (p->operands == operands)
      return fail(c, E_EQUATION,
                  "%A \"%s\" has more terms than the %d operands given",
                  "equation", p->equation, operands);
    const Status s = read_term(c, p, &at, &p->term[p->operands++]);
    if (s != OK) return s;
    if (*at != ',') break;
  }
  if (p->operands != operands)
    return fail(c, E_EQUATION, "%A \"%s\" has %d terms for %d operands",
                "equation", p->equation, p->operands, operands);
  p->has_out = *at == '-';
  if (!p->has_out) return OK;
  if (at[1] != '>') return refuse(c, p, "\"->\" is due");
  at += 2;
  const Status s = read_term(c, p, &at, &p->out);
  if (s == OK && *at != '\0') return refuse(c, p, "text after the result");
  return s;
}

/* ---- ellipses and sizes ---- */

/* Puts labels in the place of the ellipsis: `axes` of them. */
static void spread_dots(Term *t, int axes) {
  if (t->dots < 0) return;
  memmove(&t->label[t->dots + axes], &t->label[t->dots],
          (size_t)(t->rank - t->dots) * sizeof *t->label);
  for (int i = 0; i < axes; i++) t->label[t->dots + i] = DOTS + axes - 1 - i;
  t->rank += axes;
}

static Status fit_term(Context *c, Plan *p, int k, const Tensor *t) {
  Term *term = &p->term[k];
  const int axes = t->shape.rank - term->rank;
  if (axes < 0 || (axes > 0 && term->dots < 0))
    return fail(c, E_EQUATION,
                "%A \"%s\": term %P has %d letters, operand %S has rank %d",
                "equation", p->equation, (int64_t)k, term->rank,
                SHAPE_ARG(&t->shape), t->shape.rank);
  spread_dots(term, axes);
  if (axes > p->dot_axes) p->dot_axes = axes;
  return OK;
}

static Status refuse_size(Context *c, const Plan *p, int label, int k,
                          Tensor *const *x, int64_t size) {
  char text[4];
  const Term *first = &p->term[0];
  int64_t known = p->size[label];
  for (int i = 0; i < first->rank; i++)
    if (first->label[i] == label) known = x[0]->shape.size[i];
  if (p->operands == 1)
    return fail(c, E_SHAPE, "%A \"%s\": letter %s is %I and %I in operand %S",
                "equation", p->equation, letter_text(label, text), known, size,
                SHAPE_ARG(&x[0]->shape));
  return fail(c, E_SHAPE,
              "%A \"%s\": letter %s is %I in operand %P %S and %I in operand "
              "%P %S",
              "equation", p->equation, letter_text(label, text), known,
              (int64_t)0, SHAPE_ARG(&x[0]->shape), size, (int64_t)k,
              SHAPE_ARG(&x[k]->shape));
}

/* A repeated letter of a term wants equal sizes; between terms 1 stretches. */
static Status learn_sizes(Context *c, Plan *p, Tensor *const *x) {
  for (int i = 0; i < LABELS; i++) p->size[i] = -1;
  for (int k = 0; k < p->operands; k++) {
    const Term *t = &p->term[k];
    for (int i = 0; i < t->rank; i++) {
      const int64_t size = x[k]->shape.size[i];
      int64_t *known = &p->size[t->label[i]];
      for (int j = 0; j < i; j++)
        if (t->label[j] == t->label[i] && x[k]->shape.size[j] != size)
          return refuse_size(c, p, t->label[i], k, x, size);
      if (*known >= 0 && *known != size && *known != 1 && size != 1)
        return refuse_size(c, p, t->label[i], k, x, size);
      if (*known < 0 || *known == 1) *known = size;
    }
  }
  return OK;
}

static bool has_label(const Term *t, int label) {
  for (int i = 0; i < t->rank; i++)
    if (t->label[i] == label) return true;
  return false;
}

static int times_used(const Plan *p, int label) {
  int n = 0;
  for (int k = 0; k < p->operands; k++)
    for (int i = 0; i < p->term[k].rank; i++)
      n += p->term[k].label[i] == label;
  return n;
}

/* Without "->": the ellipsis, then letters that occur once, A before b. */
static void implicit_out(Plan *p) {
  p->out.rank = 0;
  p->out.dots = -1;
  for (int i = p->dot_axes - 1; i >= 0; i--)
    p->out.label[p->out.rank++] = DOTS + i;
  for (int label = 0; label < LETTERS; label++)
    if (times_used(p, label) == 1) p->out.label[p->out.rank++] = label;
}

static Status check_out(Context *c, Plan *p) {
  char text[4];
  if (p->out.rank + (p->out.dots >= 0 ? p->dot_axes : 0) > MAX_RANK)
    return refuse(c, p, "the result has over 12 axes");
  spread_dots(&p->out, p->dot_axes);
  for (int i = 0; i < p->out.rank; i++) {
    const int label = p->out.label[i];
    if (p->size[label] < 0)
      return fail(c, E_EQUATION,
                  "%A \"%s\": letter %s of the result is in no term",
                  "equation", p->equation, letter_text(label, text));
    for (int j = 0; j < i; j++)
      if (p->out.label[j] == label)
        return fail(c, E_EQUATION,
                    "%A \"%s\": letter %s is twice in the result", "equation",
                    p->equation, letter_text(label, text));
  }
  return OK;
}

/* ---- running: each step takes *x over and gives a new one ---- */

static Status replace(Context *c, Status s, Tensor **x, Tensor *made) {
  if (s != OK) return s;
  tensor_release(c, *x);
  *x = made;
  return OK;
}

/* Repeated letters of a term become a diagonal, as the last axis. */
static Status take_diagonals(Context *c, Term *t, Tensor **x) {
  for (int i = 0; i < t->rank; i++)
    for (int j = i + 1; j < t->rank; j++) {
      if (t->label[i] != t->label[j]) continue;
      const int label = t->label[i];
      Tensor *made = NULL;
      Args a;
      a.at[0] = arg_tensor(*x);
      a.at[1].kind = ARG_NONE;
      a.at[2] = arg_integer(i);
      a.at[3] = arg_integer(j);
      Status s = op_call(c, OP_diagonal, &a, &made);
      if ((s = replace(c, s, x, made)) != OK) return s;
      for (int k = j; k + 1 < t->rank; k++) t->label[k] = t->label[k + 1];
      for (int k = i; k + 2 < t->rank; k++) t->label[k] = t->label[k + 1];
      t->rank--;
      t->label[t->rank - 1] = label;
      return take_diagonals(c, t, x); /* at most 12 deep */
    }
  return OK;
}

/* Sums the letters that neither `other` (may be NULL) nor the result has. */
static Status sum_local(Context *c, const Plan *p, Term *t, const Term *other,
                        Tensor **x) {
  int64_t dims[MAX_RANK];
  int count = 0, kept = 0;
  for (int i = 0; i < t->rank; i++) {
    const bool stays = has_label(&p->out, t->label[i]) ||
                       (other != NULL && has_label(other, t->label[i]));
    if (stays) t->label[kept++] = t->label[i];
    else dims[count++] = i;
  }
  t->rank = kept;
  if (count == 0) return OK;
  Tensor *made = NULL;
  const Dtype dtype = (*x)->dtype;
  Status s = op_sum(c, *x, count, dims, false, &made);
  if ((s = replace(c, s, x, made)) != OK || (*x)->dtype == dtype) return s;
  made = NULL;
  s = op_cast(c, *x, dtype, &made); /* integers wrap in their own dtype */
  return replace(c, s, x, made);
}

/* Axes of x in the order of `want`; letters that x lacks become size 1. */
static Status arrange(Context *c, const Term *t, const int *want, int count,
                      Tensor **x) {
  int64_t dims[MAX_RANK], size[MAX_RANK];
  int found = 0;
  for (int i = 0; i < count; i++) {
    size[i] = 1;
    for (int j = 0; j < t->rank; j++)
      if (t->label[j] == want[i]) {
        dims[found++] = j;
        size[i] = (*x)->shape.size[j];
      }
  }
  assert(found == t->rank);
  Tensor *made = NULL;
  Status s = op_permute(c, *x, found, dims, &made);
  if ((s = replace(c, s, x, made)) != OK || found == count) return s;
  made = NULL;
  s = op_reshape(c, *x, count, size, &made);
  return replace(c, s, x, made);
}

/* The four parts of a pair, as labels. */
typedef struct Pair {
  int batches, lefts, rights, sums;
  int batch[MAX_RANK], left[MAX_RANK], right[MAX_RANK], sum[MAX_RANK];
} Pair;

static void part(const Plan *p, const Term *x, const Term *y, Pair *pair) {
  memset(pair, 0, sizeof *pair);
  for (int i = 0; i < x->rank; i++) {
    const int label = x->label[i];
    if (!has_label(y, label)) pair->left[pair->lefts++] = label;
    else if (has_label(&p->out, label)) pair->batch[pair->batches++] = label;
    else pair->sum[pair->sums++] = label;
  }
  for (int i = 0; i < y->rank; i++)
    if (!has_label(x, y->label[i])) pair->right[pair->rights++] = y->label[i];
}

static int64_t product_of(const Plan *p, const int *labels, int count) {
  int64_t n = 1;
  for (int i = 0; i < count; i++) n *= p->size[labels[i]];
  return n;
}

/* x as (batch.., rows, cols): arranged, stretched where a letter is 1. */
static Status as_matrices(Context *c, const Plan *p, const Pair *pair,
                          const Term *t, const int *rows, int row_count,
                          const int *cols, int col_count, Tensor **x) {
  int want[2 * MAX_RANK], count = 0, groups = 0;
  int64_t size[MAX_RANK], whole[MAX_RANK];
  for (int i = 0; i < pair->batches; i++) want[count++] = pair->batch[i];
  for (int i = 0; i < row_count; i++) want[count++] = rows[i];
  for (int i = 0; i < col_count; i++) want[count++] = cols[i];
  Status s = arrange(c, t, want, count, x);
  if (s != OK) return s;
  bool stretches = false;
  for (int i = 0; i < count; i++) {
    whole[i] = i < pair->batches ? (*x)->shape.size[i] : p->size[want[i]];
    stretches |= whole[i] != (*x)->shape.size[i];
  }
  Tensor *made = NULL;
  if (stretches) {
    s = op_expand(c, *x, count, whole, &made);
    if ((s = replace(c, s, x, made)) != OK) return s;
    made = NULL;
  }
  for (int i = 0; i < pair->batches; i++)
    size[groups++] = (*x)->shape.size[i];
  size[groups++] = product_of(p, rows, row_count);
  size[groups++] = product_of(p, cols, col_count);
  s = op_reshape(c, *x, groups, size, &made);
  return replace(c, s, x, made);
}

/* The product (batch.., left, right) as axes, in the order of the result. */
static Status as_result(Context *c, const Plan *p, const Pair *pair,
                        Tensor **x) {
  Term t = {.rank = 0, .dots = -1};
  int64_t size[MAX_RANK];
  for (int i = 0; i < pair->batches; i++) t.label[t.rank++] = pair->batch[i];
  for (int i = 0; i < pair->lefts; i++) t.label[t.rank++] = pair->left[i];
  for (int i = 0; i < pair->rights; i++) t.label[t.rank++] = pair->right[i];
  for (int i = 0; i < t.rank; i++) size[i] = p->size[t.label[i]];
  Tensor *made = NULL;
  Status s = op_reshape(c, *x, t.rank, size, &made);
  if ((s = replace(c, s, x, made)) != OK) return s;
  return arrange(c, &t, p->out.label, p->out.rank, x);
}

static Status run_pair(Context *c, Plan *p, Tensor **x, Tensor **y,
                       Tensor **r) {
  Pair pair;
  Tensor *product = NULL;
  part(p, &p->term[0], &p->term[1], &pair);
  Status s = as_matrices(c, p, &pair, &p->term[0], pair.left, pair.lefts,
                         pair.sum, pair.sums, x);
  if (s == OK)
    s = as_matrices(c, p, &pair, &p->term[1], pair.sum, pair.sums, pair.right,
                    pair.rights, y);
  if (s == OK) s = op_binary(c, OP_matmul, *x, *y, &product);
  if (s == OK) s = as_result(c, p, &pair, &product);
  if (s == OK) *r = product;
  else tensor_release(c, product);
  return s;
}

static Status prepare(Context *c, Plan *p, const Arg *list) {
  Status s = OK;
  if (list->count < 1 || list->count > MAX_OPS)
    return fail(c, E_EQUATION, "%d %A: one or two are offered", list->count,
                "operands");
  s = read_equation(c, p, list->count);
  for (int k = 0; k < p->operands && s == OK; k++)
    s = fit_term(c, p, k, list->list[k]);
  if (s == OK) s = learn_sizes(c, p, list->list);
  if (s != OK) return s;
  if (!p->has_out) implicit_out(p);
  return check_out(c, p);
}

Status run_einsum(Context *c, Args *a, Tensor **r) {
  const Arg *list = &a->at[1];
  Plan p = {.equation = a->at[0].text};
  Tensor *x[MAX_OPS] = {NULL};
  Status s = prepare(c, &p, list);
  if (s != OK) return s;
  if (p.operands == 2)
    s = check_same_dtype(c, "operand 1", list->list[0], "operand 2",
                         list->list[1]);
  for (int k = 0; k < p.operands && s == OK; k++) {
    const Term *other = p.operands == 2 ? &p.term[1 - k] : NULL;
    x[k] = tensor_share(list->list[k]);
    s = take_diagonals(c, &p.term[k], &x[k]);
    if (s == OK) s = sum_local(c, &p, &p.term[k], other, &x[k]);
  }
  if (s == OK && p.operands == 2) {
    s = run_pair(c, &p, &x[0], &x[1], &r[0]);
  } else if (s == OK) {
    s = arrange(c, &p.term[0], p.out.label, p.out.rank, &x[0]);
    if (s == OK) r[0] = tensor_share(x[0]);
  }
  tensor_release(c, x[0]);
  tensor_release(c, x[1]);
  return s;
}
