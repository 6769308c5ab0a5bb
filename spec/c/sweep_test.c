/* sweep_test.c: every request for memory refused once, in every row.
 *
 * For k = 1, 2, ...: requests from the k-th on fail, until a call asks for
 * less.  After each failure: E_MEMORY, no results, and bytes, values, versions,
 * counts, gradients and the generator as they were.
 */
#include <unistd.h>

#include <lualib.h>

#include "check.h"
#include "compound/display.h"
#include "compound/io.h"
#include "grad/grad.h"
#include "host/api.h"

enum { OWNED = 16, LISTED = 2, MOST_REQUESTS = 20000 };

/* ---- cases: a row with arguments ---- */

/* tensor[0 .. tensors): all that the arguments hold; the case's. */
typedef struct Case {
  Context *c;
  OpId op;
  Args a;
  bool in_place;
  int tensors;
  Tensor *tensor[OWNED];
  Tensor *list[LISTED];
  int64_t wholes[MAX_RANK];
} Case;

/* How tensors are made. */
typedef struct Form {
  const char *name;
  bool tracks, turns; /* leaves that require grad; turned views */
} Form;

static const Form plain = {"plain", false, false};
static const Form tracked = {"tracked", true, false};
static const Form turned = {"turned", true, true};

/* What the kinds of params do not tell, in the order of params:
 *   f2x3 f32   i2x3 b2x3 i64 and bool (all 0)   _ left out   [ f2 f2 ] a list
 *   {2,3} sizes   'ij' a text   2 an integer   0.5 a number */
static const struct {
  OpId op;
  const char *args;
} special[] = {
    {OP_fill, "f2x3 0.5"},
    {OP_where, "b2x3 f2x3 f2x3"},
    {OP_masked_fill, "f2x3 b2x3 f"},
    {OP_bitwise_left_shift, "i2x3 i2x3"},
    {OP_bitwise_right_shift, "i2x3 i2x3"},
    {OP_addcmul, "f2x3 f3 f2x1"},
    {OP_addcdiv, "f2x3 f3 f2x1"},
    {OP_isclose, "f2x3 f3"},
    {OP_matmul, "f2x3 f3x4"},
    {OP_mv, "f2x3 f3"},
    {OP_outer, "f2 f3"},
    {OP_dot, "f3 f3"},
    {OP_solve, "f2x2 f2"},
    {OP_inv, "f2x2"},
    {OP_det, "f2x2"},
    {OP_slogdet, "f2x2"},
    {OP_slogdet_parts, "f2x2"},
    {OP_lu_factor, "f2x2"},
    {OP_cholesky, "f1x1"},
    {OP_cholesky_solve, "f2x2 f2x2"},
    {OP_qr_pair, "f3x2"},
    {OP_qr, "f3x2"},
    {OP_eigh, "f2x2"},
    {OP_eigvalsh, "f2x2"},
    {OP_triangular_solve, "f2x2 f2x2"},
    {OP_lstsq, "f3x2 f3"},
    {OP_matrix_power, "f2x2 3"},
    {OP_matrix_exp, "f2x2"},
    {OP_cond, "f2x2"},
    {OP_linear, "f2x3 f4x3 f4"},
    {OP_einsum, "'ik,kj->ij' [ f2x3 f3x2 ]"},
    {OP_contract, "f2x3x4 f4x3x5 {0,1,2} {2,1,3} {3,0}"},
    {OP_addmm, "f2x4 f2x3 f3x4 2.0 0.5"},
    {OP_baddbmm, "f4 f2x2x3 f2x3x4 2.0 0.5"},
    {OP_tensordot, "f2x3x4 f4x3x5 {2,1,0,1}"},
    {OP_inner, "f2x3 f4x3"},
    {OP_kron, "f2x3 f3x2"},
    {OP_cross, "f2x3 f2x3 -1"},
    {OP_bilinear, "f2x3 f2x4 f5x3x4 f5"},
    {OP_chain_matmul, "[ f2x3 f3x4 ]"},
    {OP_cosine_similarity, "f2x3 f2x3 1"},
    {OP_cdist, "f3x2 f4x2 1.0"},
    {OP_conv1d, "f2x2x5 f3x2x3 f3"},
    {OP_conv2d, "f2x2x5x5 f3x2x3x3 f3"},
    {OP_conv3d, "f2x2x3x5x5 f3x2x2x3x3 f3"},
    {OP_conv_transpose1d, "f2x2x3 f2x3x3 f3"},
    {OP_conv_transpose3d, "f2x2x3x3x3 f2x3x3x3x3 f3"},
    {OP_conv_transpose2d, "f2x2x3x3 f2x3x3x3 f3"},
    {OP_conv_weight, "f2x2x5x5 f2x3x3x3 {3,3}"},
    {OP_max_pool1d, "f2x2x4 2"},
    {OP_max_pool2d, "f2x2x4x4 2"},
    {OP_max_pool3d, "f2x2x4x4x4 2"},
    {OP_avg_pool1d, "f2x2x4 2"},
    {OP_avg_pool2d, "f2x2x4x4 2"},
    {OP_avg_pool3d, "f2x2x4x4x4 2"},
    {OP_avg_pool_add, "f2x2x2x2 {4,4} 2"},
    {OP_adaptive_avg_pool1d, "f2x2x4 3"},
    {OP_adaptive_avg_pool2d, "f2x2x4x4 3"},
    {OP_adaptive_avg_pool3d, "f2x2x4x4x4 3"},
    {OP_adaptive_pool_add, "f2x2x3x3 {4,4}"},
    {OP_im2col, "f2x2x4x4 2"},
    {OP_col2im, "f2x8x9 {4,4} 2"},
    {OP_layer_norm, "f2x3 {3} f3 f3"},
    {OP_batch_norm, "f2x3x2 f3 f3 _ _ 1"},
    {OP_group_norm, "f2x4x2 2 f4 f4"},
    {OP_instance_norm, "f2x3x2 f3 f3"},
    {OP_rms_norm, "f2x3 {3} f3"},
    {OP_grid_sample, "f1x2x2x3 f1x2x2x2"},
    {OP_grid_sample_add, "f1x2x2x2 f1x2x2x2 {1,2,2,3}"},
    {OP_interpolate, "f1x2x3 {5} _ 1"},
    {OP_interpolate_add, "f1x2x5 {1,2,3} 1"},
    {OP_affine_grid, "f1x2x3 {1,1,2,3}"},
    {OP_attention, "f2x3 f4x3 f4x2"},
    {OP_cross_entropy, "f2x3 i2 f3 -100 0 0.5"},
    {OP_cross_entropy_rows, "f2x3 i2"},
    {OP_nll_loss, "f2x3x2 i2x2 f3"},
    {OP_bce_with_logits, "f2x3 f2x3 f2x3 f3"},
    {OP_bce_loss, "f2x3 f2x3 f2x3"},
    {OP_huber_loss, "f2x3 f2x3 0.5"},
    {OP_smooth_l1_loss, "f2x3 f2x3 0.5"},
    {OP_gather, "f2x3 0 i2x3"},
    {OP_scatter_add, "f2x3 0 i2x3 f2x3"},
    {OP_index_select, "f2x3 1 i4"},
    {OP_index_add, "f2x3 0 i4 f4x3"},
    {OP_scatter, "f2x3 0 i2x3 f2x3"},
    {OP_scatter_prod, "f2x3 0 i2x3 f2x3"},
    {OP_scatter_amax, "f2x3 0 i2x3 f2x3"},
    {OP_scatter_amin, "f2x3 0 i2x3 f2x3"},
    {OP_scatter_reduce, "f2x3 0 i2x3 f2x3 1"},
    {OP_assign, "f2x3 f2 {0,1} {1,2} {1,1}"},
    {OP_index, "f2x3 [ i4 i4 ]"},
    {OP_index_put, "f2x3 [ i4 i4 ] f4"},
    {OP_masked_select, "f2x3 b2x3"},
    {OP_masked_scatter, "f2x3 b2x3 f6"},
    {OP_index_copy, "f2x3 0 i4 f4x3"},
    {OP_index_fill, "f2x3 0 i4 0.5"},
    {OP_take, "f2x3 i4"},
    {OP_take_along_dim, "f2x3 i2x1 1"},
    {OP_put, "f2x3 i4 f4"},
    {OP_embedding, "i4 f2x3 1"},
    {OP_segment_sum, "f4x3 i4 2"},
    {OP_one_hot, "i3 4"},
    {OP_place, "f2x3 {5,3} 0 1 2"},
    {OP_narrow, "f2x3 1 1 2"},
    {OP_slice, "f2x3 1 0 2 2"},
    {OP_select, "f2x3 1 2"},
    {OP_transpose, "f2x3 0 1"},
    {OP_permute, "f2x3 {1,0}"},
    {OP_view, "f2x3 {2,1,3}"},
    {OP_expand, "f2x1 {4,2,3}"},
    {OP_sum_to, "f2x3 {1,3}"},
    {OP_unfold, "f2x5 1 3 2"},
    {OP_unfold_add, "f2x2x3 {2,5} 1 3 2"},
    {OP_as_strided, "f4x4 {2,3} {3,1} 1"},
    {OP_as_strided_add, "f2x3 {9} {3,1} 1"},
    {OP_unflatten, "f2x4 1 {2,2}"},
    {OP_movedim, "f2x3 {0} {1}"},
    {OP_diag, "f3"},
    {OP_repeat_interleave, "f2x3 2 1"},
    {OP_tile, "f2x3 {2,2}"},
    {OP_roll, "f2x3 {1,1} {0,1}"},
    {OP_pad, "f3x4 {1,2,2,1} 1"},
    {OP_pad_fold, "f6x6 {1,2,2,1} 1"},
    {OP_rearrange, "f2x4 'a (b c) -> b (a c)' 'c=2 '"},
    {OP_reduce, "f2x4 'a (b 2) -> b a' 0"},
    {OP_einrepeat, "f2x3 'a b -> b a c' 'c=2 '"},
    {OP_logspace, "0.5 2.5 5"},
    {OP_tril_indices, "3 3"},
    {OP_triu_indices, "3 3"},
    {OP_cartesian_prod, "[ f2 f3 ]"},
    {OP_split, "f2x3 {1,0,2} 1"},
    {OP_chunk, "f2x3 2 1"},
    {OP_meshgrid, "[ f2 f3 ]"},
    {OP_squeeze, "f2x1x3"},
    {OP_logsumexp, "f2x3 1"},
    {OP_mean, "f2x3 1"},
    {OP_sum, "f2x3 1"},
    {OP_max, "f2x3 1"},
    {OP_min, "f2x3 1"},
    {OP_median, "f2x3 1"},
    {OP_mode, "f2x3 1"},
    {OP_quantile, "f2x3 0.5 1"},
    {OP_unique, "f2x3 1 1 1"},
    {OP_searchsorted, "f4 f2x3"},
    {OP_bucketize, "f2x3 f4"},
    {OP_isin, "f2x3 f4"},
    {OP_bincount, "i5 f5 3"},
    {OP_histc, "f2x3 4"},
    {OP_nanmedian, "f2x3"},
    {OP_randint, "1 9 {2,3}"},
    {OP_linspace, "0.5 2.5 5"},
    {OP_arange, "1 5"},
    {OP_full, "{2,3} 0.5"},
    {OP_adam_update, "f2x3 f2x3 f2x3 f2x3 1 0.1"},
    {OP_sgd_update, "f2x3 f2x3 f2x3 0.1 0.9"},
};

/* Large enough for packed panels, partial sums, chunks and scratch. */
static const struct {
  OpId op;
  const char *args;
} large[] = {
    {OP_matmul, "f70x80 f80x90"},
    {OP_matmul, "f1x300 f300x200"},
    {OP_matmul, "f3x40x50 f50x60"},
    {OP_einsum, "'bik,bkj->bij' [ f3x40x50 f3x50x60 ]"},
    {OP_conv2d, "f2x8x20x20 f16x8x3x3 f16"},
    {OP_conv2d, "f2x8x9x9 f8x8x1x1"},
    {OP_conv_transpose2d, "f2x8x9x9 f8x4x3x3"},
    {OP_max_pool2d, "f2x8x20x20 2"},
    {OP_solve, "f2x2 f30x2x2"},
    {OP_svd, "f3x4"},
    {OP_sum, "f40x5x60 {0,2}"},
    {OP_sum, "f10000"},
    {OP_amax, "f40x5x60 {0,2}"},
    {OP_argmax, "f40x300 0"},
    {OP_softmax, "f40x300 0"},
    {OP_sort, "f40x300 0"},
    {OP_sort, "f140000"},
    {OP_topk, "f140000 5"},
    {OP_layer_norm, "f40x300 {300} f300 f300"},
    {OP_cross_entropy, "f64x100 i64"},
    {OP_cat, "[ f100x30 f200x30 ]"},
    {OP_index_add, "f20x300 0 i40 f40x300"},
    {OP_add, "f100x70 f70"},
    {OP_gelu, "f100x70"},
};

static const char *special_of(OpId op, bool in_place) {
  if (op == OP_where && in_place) return "b2x3 b2x3 b2x3"; /* of one dtype */
  for (size_t i = 0; i < sizeof special / sizeof *special; i++)
    if (special[i].op == op) return special[i].args;
  return NULL;
}

static Tensor *keep(Case *k, Tensor *t) {
  if (!CHECK(k->tensors < OWNED)) abort();
  return k->tensor[k->tensors++] = t;
}

/* Values 0.5, 0.6, ...: good for log and for division; whole ones are 0. */
static void fill(Case *k, Tensor *t) {
  for (int64_t i = 0; i < t->count; i++) {
    const float x = 0.5f + 0.1f * (float)(i % 12);
    const int64_t zero = 0;
    char *to = tensor_data(t) + (size_t)i * dtype_bytes(t->dtype);
    if (t->dtype == DTYPE_F32)
      memcpy(to, &x, sizeof x);
    else
      memcpy(to, &zero, dtype_bytes(t->dtype));
  }
  (void)k;
}

static Tensor *make(Case *k, Dtype dtype, int rank, const int64_t *size,
                    const Form *form) {
  Tensor *t = NULL, *view = NULL;
  Shape shape = shape_of(rank, size);
  const bool turns = form->turns && rank >= 2;
  if (turns) {
    shape.size[rank - 1] = size[rank - 2];
    shape.size[rank - 2] = size[rank - 1];
  }
  Status s = tensor_new(k->c, &k->c->host, dtype, &shape, &t);
  if (!CHECK_INT(s, OK)) abort();
  keep(k, t);
  fill(k, t);
  if (turns) {
    s = op_transpose(k->c, t, rank - 2, rank - 1, &view);
    if (!CHECK_INT(s, OK)) abort();
    t = keep(k, view);
  }
  if (form->tracks && dtype_class(dtype) == CLASS_FLOAT)
    CHECK_INT(grad_require(k->c, t, true), OK);
  return t;
}

/* ---- arguments from a text ---- */

static Tensor *read_tensor(Case *k, const char **p, const Form *form) {
  const char letter = *(*p)++;
  const Dtype dtype = letter == 'f'   ? DTYPE_F32
                      : letter == 'i' ? DTYPE_I64
                                      : DTYPE_BOOL;
  int64_t size[MAX_RANK];
  int rank = 0;
  while (**p >= '0' && **p <= '9') {
    char *end;
    size[rank++] = (int64_t)strtol(*p, &end, 10);
    *p = end + (*end == 'x');
  }
  return make(k, dtype, rank, size, form);
}

static Arg read_list(Case *k, const char **p, const Form *form) {
  Arg a = {.kind = ARG_LIST};
  for (*p += 2; **p != ']'; ++*p)
    k->list[a.count++] = read_tensor(k, p, form);
  ++*p;
  a.list = k->list;
  return a;
}

static Arg read_sizes(const char **p) {
  int64_t size[MAX_RANK];
  int n = 0;
  do {
    char *end;
    size[n++] = (int64_t)strtol(*p + 1, &end, 10);
    *p = end;
  } while (**p == ',');
  ++*p;
  return arg_sizes(n, size);
}

static Arg read_arg(Case *k, const char **p, const Form *form) {
  static char texts[2][32]; /* of one call */
  static int last;
  Arg a = {.kind = ARG_NONE};
  char *end;
  switch (**p) {
  case 'f':
  case 'i':
  case 'b': return arg_tensor(read_tensor(k, p, form));
  case '[': return read_list(k, p, form);
  case '{': return read_sizes(p);
  case '_': ++*p; return a;
  case '\'': {
    const size_t n = strcspn(*p + 1, "'");
    char *const text = texts[last ^= 1];
    memcpy(text, *p + 1, n);
    text[n] = '\0';
    *p += n + 2;
    a.kind = ARG_TEXT;
    a.text = text;
    return a;
  }
  default: break;
  }
  const size_t n = strcspn(*p, " ");
  const double value = strtod(*p, &end);
  a = memchr(*p, '.', n) != NULL ? arg_number(value)
                                 : arg_integer((int64_t)value);
  *p = end;
  return a;
}

/* Sizes of a text as a table of any length. */
static Arg as_wholes(Case *k, const Arg *sizes) {
  Arg a = *sizes;
  if (sizes->kind != ARG_SIZES) return a;
  memcpy(k->wholes, sizes->sizes, (size_t)sizes->count * sizeof *k->wholes);
  a.kind = ARG_WHOLES;
  a.wholes = k->wholes;
  return a;
}

static void read_args(Case *k, const char *text, const Form *form) {
  for (int i = 0; *text != '\0'; i++) {
    k->a.at[i] = read_arg(k, &text, form);
    if (op_rows[k->op].param[i].kind == PARAM_WHOLES ||
        op_rows[k->op].param[i].kind == PARAM_DIM_LISTS)
      k->a.at[i] = as_wholes(k, &k->a.at[i]);
    if (*text == ' ') text++;
  }
}

/* ---- arguments from the kinds of params ---- */

static Dtype dtype_of_row(const OpRow *row) {
  if (dtype_in(DTYPE_F32, row->dtypes)) return DTYPE_F32;
  return dtype_in(DTYPE_I64, row->dtypes) ? DTYPE_I64 : DTYPE_BOOL;
}

static Arg arg_of_kind(Case *k, const Param *p, const Form *form) {
  static const int64_t size[2] = {2, 3};
  const Dtype dtype = dtype_of_row(&op_rows[k->op]);
  Arg a = {.kind = ARG_NONE};
  if (p->need != NEEDED) return a;
  switch (p->kind) {
  case PARAM_TENSOR:
  case PARAM_OPERAND: return arg_tensor(make(k, dtype, 2, size, form));
  case PARAM_LIST:
    a.kind = ARG_LIST;
    a.count = LISTED;
    for (int i = 0; i < LISTED; i++)
      k->list[i] = make(k, dtype, 2, size, form);
    a.list = k->list;
    return a;
  case PARAM_SHAPE:
  case PARAM_SHAPE_TABLE: return arg_sizes(2, size);
  case PARAM_DIM:
  case PARAM_POSITION: return arg_integer(0);
  case PARAM_INTEGER: return arg_integer(2);
  case PARAM_NUMBER: return arg_number(0.5);
  case PARAM_DTYPE: return arg_integer(DTYPE_F64);
  default: return a; /* a row that needs more stands in the table */
  }
}

/* text NULL: by the table or the kinds. */
static void case_open(Case *k, Context *c, OpId op, bool in_place,
                      const char *text, const Form *form) {
  const OpRow *row = &op_rows[op];
  if (text == NULL) text = special_of(op, in_place);
  memset(k, 0, sizeof *k);
  k->c = c;
  k->op = op;
  k->in_place = in_place;
  for (int i = 0; i < row->params && text == NULL; i++)
    k->a.at[i] = arg_of_kind(k, &row->param[i], form);
  if (text != NULL) read_args(k, text, form);
}

static void case_close(Case *k) {
  while (k->tensors > 0) tensor_release(k->c, k->tensor[--k->tensors]);
}

/* ---- what must not change ---- */

typedef struct Seen {
  uint64_t bytes; /* a sum over the storage (Fletcher) */
  uint32_t version;
  int refs, storage_refs;
  const Node *node;
  const Tensor *grad;
} Seen;

typedef struct Snapshot {
  size_t used;
  int64_t tensors;
  Philox generator;
  bool is_recording, in_backward;
  int depth;
  Seen seen[OWNED];
} Snapshot;

static uint64_t sum_bytes(const Storage *s) {
  uint64_t a = 1, b = 0;
  for (size_t i = 0; i < s->bytes; i++) {
    a = (a + (uint8_t)s->data[i]) % 0xfffffffb;
    b = (b + a) % 0xfffffffb;
  }
  return b << 32 | a;
}

static Snapshot look(const Case *k) {
  Context *c = k->c;
  Snapshot now;
  memset(&now, 0, sizeof now); /* compared as bytes */
  device_trim(&c->host);
  now.used = c->ledger.used;
  now.tensors = c->tensors;
  now.generator = c->generator;
  now.is_recording = c->is_recording;
  now.in_backward = c->in_backward;
  now.depth = c->depth;
  for (int i = 0; i < k->tensors; i++) {
    const Tensor *t = k->tensor[i];
    Seen *s = &now.seen[i];
    s->bytes = sum_bytes(t->storage);
    s->version = t->storage->version;
    s->refs = t->refs;
    s->storage_refs = t->storage->refs;
    s->node = t->node;
    s->grad = grad_get(t);
  }
  return now;
}

static void check_same(const Snapshot *a, const Snapshot *b, const char *what,
                       int64_t k) {
  CHECK(a->used == b->used, "%s, request %d: %+d bytes", what, (int)k,
        (int)(b->used - a->used));
  CHECK(a->tensors == b->tensors, "%s, request %d: %+d tensors", what, (int)k,
        (int)(b->tensors - a->tensors));
  CHECK(a->depth == b->depth && a->in_backward == b->in_backward &&
            a->is_recording == b->is_recording,
        "%s, request %d: a mode is left on", what, (int)k);
  CHECK(memcmp(&a->generator, &b->generator, sizeof a->generator) == 0,
        "%s, request %d: the generator moved", what, (int)k);
  CHECK(memcmp(a->seen, b->seen, sizeof a->seen) == 0,
        "%s, request %d: an operand changed", what, (int)k);
}

/* What is swept: a call that leaves nothing behind when it succeeds, either.
 * `made` is for its results: NULL after a failure. */
typedef Status SweptCall(Case *k, Tensor **made);

static void refuse_from(Context *c, int64_t k) {
  c->ledger.calls = 0;
  c->ledger.fail_from = k;
}

static void release_made(Case *k, Tensor **made) {
  for (int i = 0; i < MAX_RESULTS; i++) {
    tensor_release(k->c, made[i]);
    made[i] = NULL;
  }
}

/* The call with faults; *met: whether there was one. */
static Status try_from(Case *k, SweptCall *call, int64_t from, bool *met,
                       const char *what) {
  Tensor *made[MAX_RESULTS] = {NULL};
  refuse_from(k->c, from);
  const Status s = call(k, made);
  *met = k->c->ledger.calls >= from;
  k->c->ledger.fail_from = 0;
  CHECK(s == OK || (*met && s == E_MEMORY), "%s, request %d: %s", what,
        (int)from, k->c->failure.text);
  for (int i = 0; i < MAX_RESULTS && s != OK; i++)
    CHECK(made[i] == NULL, "%s, request %d: result %d is left", what,
          (int)from, i);
  release_made(k, made);
  return s;
}

/* One step of a sweep; false when the call asked for less than `from`. */
static bool step(Case *k, SweptCall *call, int64_t from, const char *what) {
  bool met;
  const Snapshot before = look(k);
  const Status s = try_from(k, call, from, &met, what);
  const Snapshot after = look(k);
  if (s != OK) {
    check_same(&before, &after, what, from);
    return met;
  }
  if (k->in_place) return met; /* the target may have a node more, or less */
  CHECK(after.tensors == before.tensors && after.used == before.used,
        "%s, request %d: %+d tensors, %+d bytes are left", what, (int)from,
        (int)(after.tensors - before.tensors),
        (int)(after.used - before.used));
  return met;
}

static void sweep(Case *k, SweptCall *call, const char *what) {
  int64_t from = 1;
  while (from < MOST_REQUESTS && step(k, call, from, what)) from++;
  CHECK(from < MOST_REQUESTS, "%s never ends", what);
}

/* ---- calls of a row ---- */

/* The first tensors of a list stand for all: a lost one shows in the bytes. */
static Status call_list(Case *k, Tensor **made) {
  TensorList list;
  const Status s = op_call_list(k->c, k->op, &k->a, &list);
  for (int i = 0; i < list.count && i < MAX_RESULTS; i++) {
    made[i] = list.at[i];
    list.at[i] = NULL;
  }
  list_release(k->c, &list);
  return s;
}

static Status call_row(Case *k, Tensor **made) {
  failure_clear(&k->c->failure);
  if (k->in_place) return op_call_inplace(k->c, k->op, &k->a);
  if (op_rows[k->op].results == RESULTS_MANY) return call_list(k, made);
  return op_call(k->c, k->op, &k->a, made);
}

static Status seed_of(Case *k, const Tensor *y, Tensor **seed) {
  return op_full(k->c, &k->c->host, y->dtype, y->shape.rank, y->shape.size, 1,
                 seed);
}

static bool has_graph(const Tensor *y) {
  return y != NULL && y->node != NULL && y->node->op != OP_LEAF;
}

/* Leaves among the tensors of a case. */
static int leaves_of(const Case *k, Tensor **leaf) {
  int n = 0;
  for (int i = 0; i < k->tensors; i++) {
    const Tensor *t = k->tensor[i];
    if (t->node != NULL && t->node->op == OP_LEAF) leaf[n++] = k->tensor[i];
  }
  return n;
}

/* Forward without faults, then `reading` with them. */
typedef Status GraphCall(Case *k, Tensor *y, Tensor *seed);

static Status forward_then(Case *k, GraphCall *reading) {
  Tensor *y[MAX_RESULTS] = {NULL}, *seed = NULL;
  const int64_t from = k->c->ledger.fail_from;
  const Philox generator = k->c->generator;
  failure_clear(&k->c->failure);
  k->c->ledger.fail_from = 0;
  Status s = call_row(k, y);
  if (s == OK && has_graph(y[0])) s = seed_of(k, y[0], &seed);
  device_trim(&k->c->host);
  k->c->ledger.fail_from = from;
  if (s == OK && seed != NULL) s = reading(k, y[0], seed);
  tensor_release(k->c, seed);
  release_made(k, y);
  k->c->generator = generator; /* the forward drew, not what is swept */
  return s;
}

static Status read_backward(Case *k, Tensor *y, Tensor *seed) {
  Tensor *leaf[OWNED] = {NULL};
  const int n = leaves_of(k, leaf);
  const Status s = grad_backward(k->c, y, seed, false);
  for (int i = 0; i < n; i++)
    if (s == OK) CHECK_INT(grad_set(k->c, leaf[i], NULL), OK);
  return s;
}

static Status read_gradients(Case *k, Tensor *y, Tensor *seed) {
  Tensor *leaf[OWNED] = {NULL}, *gx[OWNED];
  const int n = leaves_of(k, leaf);
  const Status s =
      grad_of(k->c, 1, &y, &seed, n, leaf, true, true, UNUSED_ZERO, gx);
  for (int i = 0; i < n; i++) {
    CHECK((s == OK) == (gx[i] != NULL));
    tensor_release(k->c, gx[i]);
  }
  return s;
}

static Status read_push(Case *k, Tensor *y, Tensor *seed) {
  Tensor *leaf[OWNED] = {NULL}, *ty = NULL;
  const int n = leaves_of(k, leaf);
  (void)seed;
  const Status s = grad_push(k->c, n, leaf, leaf, 1, &y, &ty);
  CHECK((s == OK) == (ty != NULL));
  tensor_release(k->c, ty);
  return s;
}

static Status call_backward(Case *k, Tensor **made) {
  (void)made;
  return forward_then(k, read_backward);
}

static Status call_gradients(Case *k, Tensor **made) {
  (void)made;
  return forward_then(k, read_gradients);
}

static Status call_push(Case *k, Tensor **made) {
  (void)made;
  return forward_then(k, read_push);
}

/* ---- rows ---- */

static void name_case(char text[96], OpId op, const char *what,
                      const Form *form) {
  snprintf(text, 96, "%s %s %s", op_rows[op].name, what, form->name);
}

static void sweep_call(Context *c, OpId op, const char *text,
                       const Form *form) {
  char what[96];
  Case k;
  Tensor *made[MAX_RESULTS] = {NULL};
  name_case(what, op, "call", form);
  case_open(&k, c, op, false, text, form);
  const Status s = call_row(&k, made);
  CHECK(s == OK, "%s has no arguments: %s", what, c->failure.text);
  const bool graph = s == OK && has_graph(made[0]);
  release_made(&k, made);
  if (s == OK) sweep(&k, call_row, what);
  if (graph) {
    name_case(what, op, "backward", form);
    sweep(&k, call_backward, what);
    name_case(what, op, "gradients", form);
    sweep(&k, call_gradients, what);
    name_case(what, op, "push", form);
    sweep(&k, call_push, what);
  }
  case_close(&k);
}

/* A leaf cannot be written: the target is a clone of it. */
static void clone_target(Case *k) {
  Tensor *t = NULL, *leaf = k->a.at[0].tensor;
  if (leaf->node == NULL) return;
  CHECK_INT(op_unary(k->c, OP_clone, leaf, &t), OK);
  k->a.at[0] = arg_tensor(keep(k, t));
}

/* Afresh for each fault: a success changes the target. */
static bool step_inplace(Context *c, OpId op, const Form *form, int64_t from,
                         const char *what) {
  Case k;
  case_open(&k, c, op, true, NULL, form);
  clone_target(&k);
  const bool met = step(&k, call_row, from, what);
  case_close(&k);
  return met;
}

static void sweep_inplace(Context *c, OpId op, const Form *form) {
  char what[96];
  Case first;
  int64_t from = 1;
  name_case(what, op, "in place", form);
  case_open(&first, c, op, true, NULL, form);
  clone_target(&first);
  const Status s = op_call_inplace(c, op, &first.a);
  CHECK(s == OK, "%s has no arguments: %s", what, c->failure.text);
  case_close(&first);
  while (s == OK && step_inplace(c, op, form, from, what)) from++;
}

static Context *open_context(void) {
  Context *c = context_open(SIZE_MAX, 1);
  if (c == NULL) abort();
  c->failure.base = 0;
  c->generator = (Philox){.seed = 1};
  return c;
}

static void test_rows(void) {
  for (int op = 0; op < (int)OP_COUNT; op++) {
    Context *c = open_context();
    const int flags = op_rows[op].flags;
    const size_t used = (device_trim(&c->host), c->ledger.used);
    if ((flags & OP_ONLY_INPLACE) == 0) {
      sweep_call(c, (OpId)op, NULL, &plain);
      sweep_call(c, (OpId)op, NULL, &tracked);
      sweep_call(c, (OpId)op, NULL, &turned);
    }
    if ((flags & (OP_INPLACE | OP_ONLY_INPLACE)) != 0) {
      sweep_inplace(c, (OpId)op, &plain);
      sweep_inplace(c, (OpId)op, &tracked);
    }
    device_trim(&c->host);
    CHECK(c->ledger.used == used, "%s: %d bytes leaked", op_rows[op].name,
          (int)(c->ledger.used - used));
    context_close(c);
  }
}

static void test_large(void) {
  for (size_t i = 0; i < sizeof large / sizeof *large; i++) {
    Context *c = open_context();
    sweep_call(c, large[i].op, large[i].args, &plain);
    sweep_call(c, large[i].op, large[i].args, &tracked);
    sweep_call(c, large[i].op, large[i].args, &turned);
    context_close(c);
  }
}

/* ---- longer stories ---- */

/* tensor[0] weight, [1] bias, [2] images, [3] labels, [4..7] moments. */
static Status train_step(Case *k, Tensor **made) {
  Context *c = k->c;
  Tensor *y = NULL, *loss = NULL;
  Args a = {.at[0] = arg_tensor(k->tensor[2])};
  failure_clear(&c->failure);
  (void)made;
  a.at[1] = arg_tensor(k->tensor[0]);
  a.at[2] = arg_tensor(k->tensor[1]);
  Status s = op_call(c, OP_linear, &a, &y);
  memset(&a, 0, sizeof a);
  a.at[0] = arg_tensor(y);
  a.at[1] = arg_tensor(k->tensor[3]);
  if (s == OK) s = op_call(c, OP_cross_entropy, &a, &loss);
  if (s == OK) s = grad_backward(c, loss, NULL, false);
  for (int i = 0; i < 2 && s == OK; i++) {
    memset(&a, 0, sizeof a);
    a.at[0] = arg_tensor(k->tensor[i]);
    a.at[1] = arg_tensor(grad_get(k->tensor[i]));
    a.at[2] = arg_tensor(k->tensor[4 + i]);
    a.at[3] = arg_tensor(k->tensor[6 + i]);
    a.at[4] = arg_integer(1);
    a.at[5] = arg_number(0.01);
    s = op_call_inplace(c, OP_adam_update, &a);
  }
  tensor_release(c, y);
  tensor_release(c, loss);
  for (int i = 0; i < 2; i++) grad_set(c, k->tensor[i], NULL);
  return s;
}

static void open_net(Case *k, Context *c) {
  const int64_t weight[2] = {10, 40}, bias[1] = {10}, images[2] = {32, 40};
  memset(k, 0, sizeof *k);
  k->c = c;
  make(k, DTYPE_F32, 2, weight, &tracked);
  make(k, DTYPE_F32, 1, bias, &tracked);
  make(k, DTYPE_F32, 2, images, &plain);
  make(k, DTYPE_I64, 1, images, &plain);
  for (int i = 0; i < 2; i++) {
    make(k, DTYPE_F32, 2, weight, &plain);
    make(k, DTYPE_F32, 1, bias, &plain);
  }
}

static void test_training(void) {
  Context *c = open_context();
  Case k;
  open_net(&k, c);
  sweep(&k, train_step, "training step");
  case_close(&k);
  context_close(c);
}

static Status print_tensor(Case *k, Tensor **made) {
  char text[DISPLAY_ROOM];
  size_t length = 7;
  failure_clear(&k->c->failure);
  (void)made;
  const Status s = display_tensor(k->c, k->tensor[k->tensors - 1],
                                  &display_defaults, true, text, &length);
  CHECK((s == OK) == (length != 7));
  return s;
}

static void test_display(void) {
  static const int64_t few[2] = {2, 3}, many[2] = {300, 40};
  Context *c = open_context();
  for (int i = 0; i < 4; i++) {
    Case k = {.c = c};
    make(&k, i % 2 == 0 ? DTYPE_F32 : DTYPE_I64, 2, i < 2 ? few : many,
         &turned);
    sweep(&k, print_tensor, "display");
    case_close(&k);
  }
  context_close(c);
}

static char path[] = "/tmp/sweep_test_XXXXXX.npy";

static Status save_tensor(Case *k, Tensor **made) {
  failure_clear(&k->c->failure);
  (void)made;
  return io_save(k->c, path, k->tensor[k->tensors - 1]);
}

static Status load_tensor(Case *k, Tensor **made) {
  failure_clear(&k->c->failure);
  return io_load(k->c, path, &made[0]);
}

static void test_files(void) {
  const int64_t size[2] = {200, 30};
  Context *c = open_context();
  Case k = {.c = c};
  const int fd = mkstemps(path, 4);
  if (!CHECK(fd >= 0)) return;
  close(fd);
  make(&k, DTYPE_F32, 2, size, &turned);
  CHECK_INT(io_save(c, path, k.tensor[1]), OK);
  sweep(&k, save_tensor, "save");
  sweep(&k, load_tensor, "load");
  case_close(&k);
  unlink(path);
  context_close(c);
}

/* ---- states ---- */

static int require_tensus(lua_State *L) {
  luaL_openlibs(L);
  luaL_requiref(L, "tensus", luaopen_tensus, 1);
  return luaL_dostring(L, "local t = require 'tensus'.ones(3) return t + t") ==
                 LUA_OK
             ? 1
             : lua_error(L);
}

/* Opening with any quota works or gives up. */
static void test_open_with_little(void) {
  bool opened = false;
  for (size_t quota = 1024; quota < 4u << 20 && !opened; quota += 3000) {
    Context *c = NULL;
    lua_State *L = border_newstate(quota, 1, &c);
    if (L == NULL) continue;
    lua_pushcfunction(L, require_tensus);
    opened = lua_pcall(L, 0, 0, 0) == LUA_OK;
    border_close(L);
  }
  CHECK(opened);
}

/* ---- the C API ---- */

typedef struct Host {
  tensus_State *s;
  tensus_Tensor *x, *leaf, *loss;
} Host;

typedef tensus_Status ApiCall(Host *h);

static const int64_t six = 6;
static float data[6] = {1, 2, 3, 4, 5, 6};

/* A call that gives *t on success only. */
static tensus_Status done(tensus_Status status, tensus_Tensor **t) {
  CHECK((status == TENSUS_OK) == (*t != NULL));
  tensus_tensor_release(*t);
  return status;
}

static tensus_Status api_new(Host *h) {
  const tensus_Layout l = {TENSUS_F32, 1, &six, NULL};
  tensus_Tensor *t = NULL;
  return done(tensus_tensor_new(h->s, &l, &t), &t);
}

static tensus_Status api_copy(Host *h) {
  const tensus_Layout l = {TENSUS_F32, 1, &six, NULL};
  tensus_Tensor *t = NULL;
  return done(tensus_tensor_copy(h->s, &l, data, sizeof data, &t), &t);
}

static tensus_Status api_copy_strided(Host *h) {
  const int64_t three = 3, stride = 2;
  const tensus_Layout l = {TENSUS_F32, 1, &three, &stride};
  tensus_Tensor *t = NULL;
  return done(tensus_tensor_copy(h->s, &l, data, sizeof data, &t), &t);
}

static tensus_Status api_borrow(Host *h) {
  const tensus_Layout l = {TENSUS_F32, 1, &six, NULL};
  tensus_Tensor *t = NULL;
  return done(tensus_tensor_borrow(h->s, &l, data, sizeof data, 1, &t), &t);
}

static int deleted;
static void note_deleted(void *p, void *ctx) { (void)p, (void)ctx, deleted++; }

static tensus_Status api_adopt(Host *h) {
  const tensus_Layout l = {TENSUS_F32, 1, &six, NULL};
  tensus_Tensor *t = NULL;
  deleted = 0;
  const tensus_Status status =
      done(tensus_tensor_adopt(h->s, &l, data, sizeof data, note_deleted, NULL,
                               &t),
           &t);
  CHECK_INT(deleted, status == TENSUS_OK);
  return status;
}

static tensus_Status api_read(Host *h) {
  float got[6];
  return tensus_tensor_read(h->x, got, sizeof got);
}

static tensus_Status api_write(Host *h) {
  return tensus_tensor_write(h->x, data, sizeof data);
}

static tensus_Status api_write_odd(Host *h) {
  char bytes[sizeof data + 1];
  memcpy(bytes + 1, data, sizeof data);
  return tensus_tensor_write(h->x, bytes + 1, sizeof data);
}

static tensus_Status api_to(Host *h) {
  tensus_Tensor *t = NULL;
  return done(tensus_tensor_to(h->x, TENSUS_F64, NULL, &t), &t);
}

static tensus_Status api_op(Host *h) {
  tensus_Value a = {TENSUS_TENSOR, 0, {.t = h->x}}, r = {.kind = TENSUS_NIL};
  int n = 1;
  return done(tensus_op(h->s, "exp", &a, 1, NULL, 0, &r, &n), &r.u.t);
}

static tensus_Status api_op_list(Host *h) {
  tensus_Tensor *two[2] = {h->x, h->x};
  tensus_Value a = {TENSUS_TENSORS, 2, {.tensors = two}};
  tensus_Value r = {.kind = TENSUS_NIL};
  int n = 1;
  return done(tensus_op(h->s, "cat", &a, 1, NULL, 0, &r, &n), &r.u.t);
}

static tensus_Status api_op_inplace(Host *h) {
  tensus_Value a[2] = {{TENSUS_TENSOR, 0, {.t = h->x}},
                       {TENSUS_NUMBER, 0, {.n = 1}}};
  tensus_Value r = {.kind = TENSUS_NIL};
  int n = 1;
  return done(tensus_op(h->s, "add_", a, 2, NULL, 0, &r, &n), &r.u.t);
}

static tensus_Status api_requires_grad(Host *h) {
  const tensus_Status s = tensus_tensor_set_requires_grad(h->x, 1);
  CHECK_INT(tensus_tensor_requires_grad(h->x), s == TENSUS_OK);
  if (s != TENSUS_OK) return s;
  return tensus_tensor_set_requires_grad(h->x, 0);
}

static tensus_Status api_grad(Host *h) {
  tensus_Tensor *t = NULL;
  return done(tensus_tensor_grad(h->leaf, &t), &t);
}

static tensus_Status api_set_global(Host *h) {
  const tensus_Value v = {TENSUS_TENSOR, 0, {.t = h->x}}, nil = {0};
  const tensus_Status s = tensus_set_global(h->s, "swept", &v);
  return s == TENSUS_OK ? tensus_set_global(h->s, "swept", &nil) : s;
}

static tensus_Status api_get_global(Host *h) {
  tensus_Value v = {.kind = TENSUS_NUMBER}, w = {.kind = TENSUS_NUMBER};
  tensus_Status s = tensus_get_global(h->s, "t.word", &v);
  if (s == TENSUS_OK) s = tensus_get_global(h->s, "t.x", &w);
  tensus_value_clear(h->s, &v);
  tensus_value_clear(h->s, &w);
  return s;
}

static tensus_Status api_call(Host *h) {
  const tensus_Value a = {TENSUS_TENSOR, 0, {.t = h->x}};
  tensus_Value r[3] = {{0}};
  int n = 3;
  const tensus_Status s = tensus_call(h->s, "t.f", &a, 1, r, &n);
  CHECK(s == TENSUS_OK || r[0].kind == TENSUS_NIL);
  for (int i = 0; i < 3; i++) tensus_value_clear(h->s, &r[i]);
  return s;
}

static tensus_Status api_run_string(Host *h) {
  static const char code[] = "local x = ts.ones(3, 4) * 2; x = x:sum(1)";
  return tensus_run_string(h->s, code, sizeof code - 1, "swept");
}

static tensus_Status api_run_file(Host *h) {
  return tensus_run_file(h->s, "/dev/null");
}

static tensus_Status api_gc(Host *h) { return tensus_gc(h->s); }

static const struct {
  const char *name;
  ApiCall *call;
} api_calls[] = {
    {"new", api_new},
    {"copy", api_copy},
    {"copy strided", api_copy_strided},
    {"borrow", api_borrow},
    {"adopt", api_adopt},
    {"read", api_read},
    {"write", api_write},
    {"write odd", api_write_odd},
    {"to", api_to},
    {"op", api_op},
    {"op list", api_op_list},
    {"op in place", api_op_inplace},
    {"requires_grad", api_requires_grad},
    {"grad", api_grad},
    {"set_global", api_set_global},
    {"get_global", api_get_global},
    {"call", api_call},
    {"run_string", api_run_string},
    {"run_file", api_run_file},
    {"gc", api_gc},
};

/* Whose requests are refused: the core's, those for handles and texts, and
 * Lua's. */
typedef enum Whose { OF_CORE, OF_HANDLES, OF_LUA, WHOSE_COUNT } Whose;

static void refuse(tensus_State *s, Whose whose, int64_t k) {
  Ledger *l = whose == OF_HANDLES ? &s->ledger : &s->c->ledger;
  device_trim(&s->c->host);
  l->calls = 0;
  if (whose == OF_LUA)
    s->border->faults = k;
  else
    l->fail_from = k;
}

static int64_t allow(tensus_State *s, Whose whose) {
  Ledger *l = whose == OF_HANDLES ? &s->ledger : &s->c->ledger;
  l->fail_from = 0;
  s->border->faults = 0;
  return l->calls;
}

static int64_t live_tensors(tensus_State *s) {
  tensus_Usage u = {.size = sizeof u};
  CHECK_INT(tensus_gc(s), TENSUS_OK);
  CHECK_INT(tensus_usage(s, &u), TENSUS_OK);
  return u.tensors;
}

static void sweep_api(Host *h, size_t i, Whose whose) {
  const int64_t tensors = live_tensors(h->s);
  const size_t handles = h->s->ledger.used;
  for (int64_t k = 1; k < MOST_REQUESTS; k++) {
    refuse(h->s, whose, k);
    const tensus_Status s = api_calls[i].call(h);
    const bool met = allow(h->s, whose) >= k;
    CHECK(s == TENSUS_OK || (met && s == TENSUS_E_MEMORY),
          "%s (%d), request %d: %s", api_calls[i].name, (int)whose, (int)k,
          tensus_last_message(h->s));
    CHECK(live_tensors(h->s) == tensors, "%s (%d), request %d",
          api_calls[i].name, (int)whose, (int)k);
    CHECK(h->s->ledger.used == handles, "%s (%d), request %d",
          api_calls[i].name, (int)whose, (int)k);
    CHECK_INT(lua_gettop(h->s->L), 0);
    if (!met) return;
  }
}

static tensus_Tensor *global(tensus_State *s, const char *name) {
  tensus_Value v = {.kind = TENSUS_NIL};
  CHECK_INT(tensus_get_global(s, name, &v), TENSUS_OK);
  return v.u.t;
}

static void test_api(void) {
  static const char code[] =
      "t = {word = 'a long word', x = ts.ones(2, 3)}\n"
      "function t.f(x) return x * 2, 'text' .. x:numel(), x end\n"
      "x = ts.ones(3, 2).T; leaf = ts.ones(6, {requires_grad = true});\n"
      "(leaf * leaf):sum():backward()";
  tensus_Options o;
  Host h = {0};
  tensus_options_init(&o);
  o.threads = 1;
  if (!CHECK_INT(tensus_open(&o, &h.s), TENSUS_OK)) return;
  CHECK(tensus_run_string(h.s, code, sizeof code - 1, "set-up") == TENSUS_OK,
        "%s", tensus_last_message(h.s));
  h.x = global(h.s, "x");
  h.leaf = global(h.s, "leaf");
  for (size_t i = 0; i < sizeof api_calls / sizeof *api_calls; i++)
    for (int whose = 0; whose < WHOSE_COUNT; whose++)
      sweep_api(&h, i, (Whose)whose);
  tensus_tensor_release(h.x);
  tensus_tensor_release(h.leaf);
  tensus_close(h.s);
}

int main(void) {
  RUN(test_rows);
  RUN(test_large);
  RUN(test_training);
  RUN(test_display);
  RUN(test_files);
  RUN(test_open_with_little);
  RUN(test_api);
  return check_report();
}
