--- The ops that must be there, by tier (1: must, 2: should), in the order of
-- the sections of the op list.  tiers_spec.lua walks them.
return {
  [1] = [[
    tensor idx zeros ones full eye arange linspace zeros_like ones_like rand
    randn randint randperm uniform_ normal_ bernoulli multinomial dropout neg
    abs square sqrt exp expm1 log log1p sin cos tanh erf sigmoid relu gelu
    silu softplus floor ceil trunc round clamp add sub mul div pow
    floor_divide remainder maximum minimum where copy_ fill_ eq ne lt le gt
    ge isnan isfinite bitwise_and bitwise_or bitwise_xor bitwise_not equal
    allclose sum sum_to mean prod var std amax amin max min argmax argmin any
    all logsumexp norm cumsum reshape view flatten ravel transpose t permute
    squeeze unsqueeze expand select narrow slice place diagonal diag_embed
    tril triu flip rot90 cat stack unbind split chunk pad contiguous clone to
    detach diag trace index index_put gather scatter scatter_add index_select
    embedding index_add masked_fill masked_select nonzero sort topk one_hot
    matmul bmm mv outer dot einsum linear solve inv det svdvals eigvalsh
    lstsq softmax log_softmax conv2d conv_transpose2d conv_weight max_pool2d
    avg_pool2d avg_pool_add layer_norm batch_norm cross_entropy nll_loss
    mse_loss bce_with_logits grid_sample grid_sample_add
  ]],
  [2] = [[
    empty full_like randn_like new_zeros sign logsigmoid reciprocal rsqrt
    log2 log10 tan asin acos atan sinh cosh relu6 hardtanh leaky_relu elu
    nan_to_num lerp atan2 hypot fmod logaddexp xlogy bitwise_left_shift
    bitwise_right_shift logical_and isin count_nonzero cumprod cummax
    logcumsumexp nansum median nanmedian quantile kthvalue diff histc
    bincount unique pad_fold unflatten expand_as movedim unfold unfold_add
    as_strided as_strided_add tile repeat_interleave roll meshgrid rearrange
    reduce einrepeat masked_scatter argsort take_along_dim scatter_reduce
    segment_sum searchsorted addmm tensordot kron cross slogdet cholesky qr
    svd eigh triangular_solve pinv matrix_power matrix_exp matrix_norm
    vector_norm matrix_rank adaptive_avg_pool2d adaptive_pool_add conv1d
    conv3d conv_transpose1d max_pool1d avg_pool1d group_norm instance_norm
    rms_norm normalize im2col col2im interpolate interpolate_add affine_grid
    attention l1_loss smooth_l1_loss huber_loss bce_loss kl_div
  ]],
}
