/* windows.c: see windows.h. */
#include "ops/windows.h"

#include <string.h>

Windows windows_of(int axes) {
  Windows w = {.axes = axes};
  assert(axes >= 1 && axes <= SPACE);
  for (int i = 0; i < SPACE; i++) {
    w.size[i] = w.kernel[i] = w.stride[i] = w.dilation[i] = 1;
    w.before[i] = w.after[i] = 0, w.result[i] = 1;
  }
  return w;
}

/* ---- arguments ---- */

static Status check_counts(Context *c, const Param *p, int count,
                           const Windows *w) {
  if (count == w->axes) return OK;
  return fail(c, E_TYPE, "%A has %d entries; one number is due, or %d",
              p->name, count, w->axes);
}

static Status check_least(Context *c, const Param *p, Status code,
                          int64_t value, int64_t least) {
  if (value >= least && value <= INT32_MAX) return OK;
  if (value < least)
    return fail(c, code, "%A is %I, and must be at least %I", p->name, value,
                least);
  return fail(c, code, "%A is %I, and must be below 2^31", p->name, value);
}

/* numbers[] = param k: one for each axis, or *count as they were given. */
static void read_tuple(OpId op, const Args *a, int k, int axes, int *count,
                       int64_t numbers[MAX_RANK]) {
  const Arg *arg = &a->at[k];
  const bool is_one = arg->kind != ARG_SIZES || arg->count == 1;
  const int64_t one = arg->kind == ARG_SIZES ? arg->sizes[0]
                                             : args_integer(op, a, k);
  *count = is_one ? axes : arg->count;
  for (int i = 0; i < *count; i++) numbers[i] = is_one ? one : arg->sizes[i];
}

Status windows_tuple(Context *c, OpId op, Args *a, int k, int64_t least,
                     Status code, Windows *w, int64_t to[SPACE]) {
  const Param *p = &op_rows[op].param[k];
  int64_t numbers[MAX_RANK];
  int count = 0;
  read_tuple(op, a, k, w->axes, &count, numbers);
  Status s = check_counts(c, p, count, w);
  for (int i = 0; i < count && s == OK; i++)
    s = check_least(c, p, code, numbers[i], least);
  if (s != OK) return s;
  memcpy(to + SPACE - w->axes, numbers, (size_t)count * sizeof *numbers);
  a->at[k] = arg_sizes(count, numbers);
  return OK;
}

/* "same": half of what a window reaches beyond one place before, and the rest,
 * which is one more where that is odd, after. */
static Status pad_same(Context *c, Windows *w) {
  for (int i = SPACE - w->axes; i < SPACE; i++) {
    const int64_t all = windows_reach(w, i) - 1;
    if (w->stride[i] != 1)
      return fail(c, E_PADDING, "%A \"same\" needs a stride of 1, it is %I",
                  "padding", w->stride[i]);
    w->before[i] = all / 2, w->after[i] = all - all / 2;
  }
  return OK;
}

static Status pad_numbers(Context *c, OpId op, Args *a, int k, Windows *w) {
  const Param *p = &op_rows[op].param[k];
  int64_t numbers[MAX_RANK];
  int count = 0;
  read_tuple(op, a, k, w->axes, &count, numbers);
  const bool is_both = p->words != NULL && count == 2 * w->axes;
  Status s = is_both ? OK : check_counts(c, p, count, w);
  for (int i = 0; i < count && s == OK; i++)
    s = check_least(c, p, E_PADDING, numbers[i], 0);
  for (int i = 0; i < w->axes && s == OK; i++) {
    w->before[SPACE - w->axes + i] = numbers[i];
    w->after[SPACE - w->axes + i] = numbers[is_both ? w->axes + i : i];
  }
  return s;
}

/* As it is recorded: one number for each axis where both sides are equal. */
static Arg padding_arg(const Windows *w) {
  int64_t both[2 * SPACE];
  const size_t bytes = (size_t)w->axes * sizeof *both;
  memcpy(both, windows_last(w->axes, w->before), bytes);
  memcpy(both + w->axes, windows_last(w->axes, w->after), bytes);
  const bool same = memcmp(both, both + w->axes, bytes) == 0;
  return arg_sizes(same ? w->axes : 2 * w->axes, both);
}

static Status pad_options(Context *c, OpId op, Args *a, int k, Windows *w) {
  const Arg *arg = &a->at[k];
  Status s = OK;
  if (arg->kind != ARG_TEXT) s = pad_numbers(c, op, a, k, w);
  else if (strcmp(arg->text, "same") == 0) s = pad_same(c, w);
  if (s == OK) a->at[k] = padding_arg(w);
  return s;
}

static Status check_kernel(Context *c, const Windows *w) {
  for (int i = 0; i < SPACE; i++)
    if (w->kernel[i] < 1)
      return fail(c, E_KERNEL, "%A size %I is below 1", "kernel",
                  w->kernel[i]);
  return OK;
}

Status windows_options(Context *c, OpId op, Args *a, int stride, int padding,
                       int dilation, Windows *w) {
  Status s = check_kernel(c, w);
  if (s == OK) s = windows_tuple(c, op, a, stride, 1, E_STRIDE, w, w->stride);
  if (s == OK && dilation != 0)
    s = windows_tuple(c, op, a, dilation, 1, E_DILATION, w, w->dilation);
  return s == OK ? pad_options(c, op, a, padding, w) : s;
}

Status windows_count(Context *c, Windows *w) {
  for (int i = 0; i < SPACE; i++) {
    const int64_t padded = w->size[i] + w->before[i] + w->after[i];
    const int64_t room = padded - windows_reach(w, i);
    if (room < 0)
      return fail(c, E_KERNEL_TOO_BIG,
                  "%A reaches over %I, the padded input has %I", "kernel",
                  windows_reach(w, i), padded);
    w->result[i] = room / w->stride[i] + 1;
  }
  return OK;
}

/* ---- operands ---- */

Status windows_operand(Context *c, const char *name, Tensor *x, int axes,
                       Tensor **r) {
  Tensor *flat = NULL;
  Status s = check_rank(c, name, x, axes + 1, axes + 2);
  if (s == OK)
    s = plain(c, x, dtype_compute(x->dtype), tensor_device(x), &flat);
  if (s != OK) return s;
  Shape shape = flat->shape;
  if (shape.rank == axes + 1) shape_insert(&shape, 0, 1, 1);
  shape_contiguous(&shape);
  s = tensor_view(c, flat, &shape, flat->offset, r);
  tensor_release(c, flat);
  return s;
}

void windows_sizes(const Shape *s, int axes, int64_t to[SPACE]) {
  assert(s->rank >= axes);
  for (int i = 0; i < SPACE; i++) {
    const int from_last = SPACE - i;
    to[i] = from_last > axes ? 1 : s->size[s->rank - from_last];
  }
}

Shape windows_shape(int lead, const int64_t *lead_size, int axes,
                    const int64_t size[SPACE]) {
  int64_t all[MAX_RANK];
  memcpy(all, lead_size, (size_t)lead * sizeof *all);
  memcpy(all + lead, windows_last(axes, size), (size_t)axes * sizeof *all);
  return shape_of(lead + axes, all);
}
