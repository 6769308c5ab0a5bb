/* words.h: the words of the columns gx, gy, gz, push of all rows that are not
 * pointwise.  Each is a function of rules.c or transpose.c on the `tape` in
 * scope; g is the cotangent, tx ty tz the tangents (NULL: none), h the first
 * hidden result.
 * No include guard: words_end.h takes them back.
 */
#define NONE NULL
#define AUTO NULL
#define h tape_saved(tape, SAVED_H)
#define MUL(a, b) tape_binary(tape, OP_mul, a, b)

#define RESHAPE_BACK(g) reshape_back(tape, g)
#define PERMUTE_BACK(g) permute_back(tape, g)
#define TRANSPOSE_BACK(g) transpose_back(tape, g)
#define SUM_BACK(g) sum_back(tape, g, 0)
#define SUM_BACK_Y(g) sum_back(tape, g, 1)
#define PLACE_BACK(g) place_back(tape, g)
#define SLICE_BACK(g) slice_back(tape, g)
#define DIAGONAL_BACK(g) diagonal_back(tape, g)
#define DIAG_EMBED_BACK(g) diag_embed_back(tape, g)
#define UNFOLD_BACK(g) unfold_back(tape, g)
#define UNFOLD_ADD_BACK(g) unfold_add_back(tape, g)
#define AS_STRIDED_BACK(g) as_strided_back(tape, g)
#define AS_STRIDED_PUSH(tx) as_strided_push(tape, tx)
#define AS_STRIDED_ADD_BACK(g) as_strided_add_back(tape, g)
#define SPREAD(g) spread(tape, g)
#define EXPAND_BACK(g) expand_back(tape, g)
#define CAST_BACK(g) cast_back(tape, g)
#define COPY_PUSH(ty) copy_push(tape, ty)
#define PIECE_BACK(g) piece_back(tape, g)
#define SCATTER_ADD_BACK(g) scatter_add_back(tape, g)
#define GATHER_BACK(g) gather_back(tape, g)
#define SCATTER_ADD_PUSH(tx, tz) add_push(tape, OP_scatter_add, tx, tz)
#define INDEX_ADD_BACK(g) index_add_back(tape, g)
#define INDEX_SELECT_BACK(g) index_select_back(tape, g)
#define INDEX_ADD_PUSH(tx, tz) add_push(tape, OP_index_add, tx, tz)

#define MATMUL_X(g) matmul_back(tape, g, 0)
#define MATMUL_Y(g) matmul_back(tape, g, 1)
#define CONV_X(g) conv_x(tape, g)
#define CONV_WEIGHT(g) conv_weight(tape, g)
#define CONV_BIAS(g) conv_bias(tape, g)
#define CONV_PUSH(tx, ty, tz) conv_push(tape, OP_conv2d, tx, ty, tz)
#define CONV_T_X(g) conv_t_x(tape, g)
#define CONV_T_WEIGHT(g) conv_t_weight(tape, g)
#define CONV_T_PUSH(tx, ty, tz) \
  conv_push(tape, OP_conv_transpose2d, tx, ty, tz)
#define CONV_W_X(g) conv_w_x(tape, g)
#define CONV_W_Y(g) conv_w_y(tape, g)

#define TIES_BACK(g) ties_back(tape, g)
#define TIES_PUSH(tx) ties_push(tape, tx)
#define PICK_BACK(g) pick_back(tape, g)
#define PICK_PUSH(tx) pick_push(tape, tx)
#define POOL_BACK(g) pool_back(tape, g)
#define POOL_PUSH(tx) pool_push(tape, tx)

#define SOFTMAX_BACK(g) softmax_back(tape, g, false)
#define SOFTMAX_PUSH(tx) softmax_push(tape, tx)
#define LOG_SOFTMAX_BACK(g) softmax_back(tape, g, true)
#define LOG_SOFTMAX_PUSH(tx) log_softmax_push(tape, tx)
#define LOGSUMEXP_BACK(g) logsumexp_back(tape, g)
#define LOGSUMEXP_PUSH(tx) logsumexp_push(tape, tx)
#define LAYER_NORM_X(g) layer_norm_back(tape, g, 0)
#define LAYER_NORM_WEIGHT(g) layer_norm_back(tape, g, 1)
#define LAYER_NORM_BIAS(g) layer_norm_back(tape, g, 2)
#define LAYER_NORM_PUSH(tx, ty, tz) layer_norm_push(tape, tx, ty, tz)
#define CROSS_ENTROPY_BACK(g) cross_entropy_back(tape, g)
#define CROSS_ENTROPY_PUSH(tx) cross_entropy_push(tape, tx)
