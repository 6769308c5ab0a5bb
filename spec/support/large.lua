--- Operands large enough for several threads (a chunk is 65,536 elements).
--   large.of(op)    tensors and values in a row, options last; nil for views,
--                   which compute nothing
-- A row that is neither here nor a view raises.
local ts = require "tensus"

local large = {}

local generator

local function draw(shape, low, high)
  local x = ts.rand(shape, { generator = generator })
  return x * (high - low) + low
end

local function r(...) return draw({ ... }, -2, 2) end
local function positions(n, ...)
  return ts.randint(1, n, { ... }, { generator = generator })
end

local function one(...)
  local shape = { ... }
  return function() return { draw(shape, -2, 2) } end
end

-- Wide, tall, and all of it: a reduction has a way for each.
local function reduction() return { r(300, 700), 2 } end
local function total() return { r(300, 700) } end
local function square() return { r(190, 210), r(210, 170) } end
local function filled() return { { 300, 700 } } end

-- Well-conditioned matrices: many small ones, or one that a library cuts.
local function regular(...)
  local x = r(...)
  local n = x:size(-1)
  return x + 4 * n * ts.eye(n)
end
local function matrices() return { regular(300, 20, 20) } end
local function large_matrix() return { regular(200, 200) } end
local function symmetric()
  local x = regular(300, 20, 20)
  return { x + x:transpose(2, 3) }
end

local function two() return { r(300, 700), r(300, 700) } end
local function fractions()
  return { draw({ 300, 700 }, 0.1, 0.9), draw({ 300, 700 }, 0.1, 0.9) }
end

local rows = {
  nan_to_num = total,
  addcmul = function()
    return { r(300, 700), r(300, 700), r(700), { value = 0.5 } }
  end,
  addcdiv = function()
    return { r(300, 700), r(300, 700), draw({ 700 }, 1, 2) }
  end,
  isclose = function() return { r(300, 700), r(700), { rtol = 0.1 } } end,
  place = function() return { r(300, 350), { 300, 701 }, 2, 2, 2 } end,
  diag_embed = one(300, 30),
  prod = function() return { draw({ 300, 700 }, 0.9, 1.1), 2 } end,
  var = reduction, std = total, norm = reduction, normalize = reduction,
  var_mean = total, std_mean = reduction,
  cumsum = reduction, cumprod = function() return { r(300, 700), 1 } end,
  cummax = reduction, cummin = function() return { r(300, 700), 1 } end,
  logcumsumexp = reduction,
  nansum = reduction, nanmean = total, aminmax = reduction, diff = total,
  unfold_add = function() return { r(300, 350, 3), { 300, 352 }, 2, 3 } end,
  as_strided_add = function()
    return { r(300, 700), { 300, 700 }, { 350, 1 } }
  end,
  diag = one(400), trace = total,
  tril = total, triu = total, flip = reduction,
  roll = function() return { r(300, 700), { 100, 7 }, { 1, 2 } } end,
  pad = function() return { r(300, 700), { 5, 9, 3, 2 }, { mode = "reflect" } } end,
  pad_fold = function()
    return { r(300, 700), { 5, 9, 3, 2 }, { mode = "reflect" } }
  end,
  rot90 = total,
  reduce = function() return { r(300, 700), "a (b c) -> c a", "sum", { c = 7 } } end,
  einrepeat = function() return { r(300, 700), "a b -> b a 2" } end,
  tile = function() return { r(300, 350), { 2, 3 } } end,
  repeat_interleave = function() return { r(300, 350), 3, 1 } end,
  sum = reduction, mean = reduction, amax = reduction, amin = reduction,
  max = reduction, min = reduction, argmax = reduction, argmin = total,
  any = reduction, all = total, count_nonzero = total, logsumexp = reduction,
  sort = one(200000), argsort = one(300, 700),
  topk = function() return { r(200000), 20 } end,
  kthvalue = function() return { r(200000), 100000 } end,
  median = reduction, nanmedian = total, mode = reduction,
  quantile = function() return { r(300, 700), 0.3, 2 } end,
  unique = function()
    return { positions(5000, 200000), { inverse = true, counts = true } }
  end,
  searchsorted = function() return { (r(5000):sort()), r(300, 700) } end,
  bucketize = function() return { r(300, 700), (r(5000):sort()) } end,
  isin = function() return { positions(5000, 300, 700), positions(5000, 900) } end,
  bincount = function() return { positions(5000, 200000), { weights = r(200000) } } end,
  histc = function() return { r(300, 700), 50 } end,
  sum_to = function() return { r(300, 700), { 700 } } end,
  clone = function() return { r(300, 700):t() } end,
  contiguous = function() return { r(300, 700):t() } end,
  copy = function() return { r(300, 700), r(700, 300):t() } end,
  cat = function() return { { r(300, 300), r(300, 400) }, 2 } end,
  stack = function() return { { r(300, 300), r(300, 300) }, 2 } end,
  gather = function() return { r(300, 700), 2, positions(700, 300, 600) } end,
  scatter_add = function()
    return { r(300, 700), 1, positions(300, 290, 700), r(290, 700) }
  end,
  index_select = function() return { r(300, 700), 1, positions(300, 400) } end,
  index_add = function()
    return { r(300, 700), 1, positions(300, 400), r(400, 700) }
  end,
  index = function()
    return { r(300, 700), { positions(300, 90000), positions(700, 90000) } }
  end,
  index_put = function()
    return { r(300, 700), { positions(300, 90000), positions(700, 90000) },
      r(90000) }
  end,
  masked_select = function() return { r(300, 700), r(300, 700):gt(0) } end,
  masked_scatter = function()
    return { r(300, 700), r(300, 700):gt(0), r(210000) }
  end,
  nonzero = function() return { r(300, 700):gt(1) } end,
  scatter = function()
    return { r(300, 700), 1, positions(300, 290, 700), r(290, 700) }
  end,
  scatter_reduce = function()
    return { r(300, 700), 1, positions(300, 290, 700), r(290, 700), "amax" }
  end,
  index_copy = function()
    return { r(300, 700), 1, positions(300, 400), r(400, 700) }
  end,
  index_fill = function() return { r(300, 700), 1, positions(300, 200), 0.5 } end,
  take = function() return { r(300, 700), positions(210000, 400, 300) } end,
  take_along_dim = function()
    return { r(300, 700), positions(700, 1, 600), 2 }
  end,
  put = function()
    return { r(300, 700), positions(210000, 90000), r(90000) }
  end,
  embedding = function() return { positions(900, 2000), r(900, 70) } end,
  segment_sum = function() return { r(3000, 70), positions(90, 3000), 90 } end,
  dropout = function()
    return { r(300, 700), 0.5, { generator = ts.generator(3) } }
  end,
  matmul = square,
  mv = function() return { r(300, 700), r(700) } end,
  outer = function() return { r(300), r(700) } end,
  dot = function() return { r(150000), r(150000) } end,
  linear = function() return { r(190, 210), r(170, 210), r(170) } end,
  einsum = function() return { "ik,kj->ji", square() } end,
  addmm = function() return { r(170), table.unpack(square()) } end,
  baddbmm = function()
    return { r(9, 40, 60), r(9, 40, 50), r(9, 50, 60) }
  end,
  tensordot = function() return { r(190, 210), r(210, 170), 1 } end,
  inner = function() return { r(190, 210), r(170, 210) } end,
  kron = function() return { r(30, 20), r(25, 35) } end,
  cross = function() return { r(70000, 3), r(70000, 3) } end,
  bilinear = function()
    return { r(300, 40), r(300, 50), r(30, 40, 50), r(30) }
  end,
  chain_matmul = function() return { { r(90, 100), r(100, 80), r(80, 70) } } end,
  cosine_similarity = function() return { r(300, 700), r(300, 700) } end,
  cdist = function() return { r(90, 20), r(80, 20) } end,
  conv2d = function()
    return { r(4, 8, 30, 30), r(16, 8, 3, 3), r(16), { padding = 1 } }
  end,
  conv_transpose2d = function()
    return { r(4, 16, 15, 15), r(16, 8, 3, 3), r(8), { stride = 2 } }
  end,
  conv_weight = function()
    return { r(4, 8, 30, 30), r(4, 16, 28, 28), { 3, 3 } }
  end,
  max_pool2d = function() return { r(4, 16, 60, 60), 2 } end,
  conv1d = function()
    return { r(4, 8, 900), r(16, 8, 3), r(16), { padding = 1 } }
  end,
  conv3d = function()
    return { r(2, 4, 9, 20, 20), r(8, 4, 3, 3, 3), r(8), { padding = 1 } }
  end,
  conv_transpose1d = function()
    return { r(4, 16, 450), r(16, 8, 3), r(8), { stride = 2 } }
  end,
  conv_transpose3d = function()
    return { r(2, 8, 5, 9, 9), r(8, 4, 3, 3, 3), r(4), { stride = 2 } }
  end,
  max_pool1d = function() return { r(16, 16, 900), 3 } end,
  max_pool3d = function() return { r(2, 8, 12, 40, 40), 2 } end,
  avg_pool1d = function() return { r(16, 16, 900), 3, { padding = 1 } } end,
  avg_pool2d = function() return { r(4, 16, 60, 60), 3, { stride = 2 } } end,
  avg_pool3d = function() return { r(2, 8, 12, 40, 40), 2 } end,
  avg_pool_add = function() return { r(4, 16, 30, 30), { 60, 60 }, 2 } end,
  adaptive_avg_pool1d = function() return { r(16, 16, 900), { 70 } } end,
  adaptive_avg_pool2d = function() return { r(4, 16, 60, 60), { 7, 9 } } end,
  adaptive_avg_pool3d = function()
    return { r(2, 8, 12, 40, 40), { 5, 7, 9 } }
  end,
  adaptive_pool_add = function() return { r(4, 16, 7, 9), { 60, 60 } } end,
  im2col = function() return { r(4, 8, 40, 40), 3, { padding = 1 } } end,
  col2im = function()
    return { r(4, 72, 1600), { 40, 40 }, 3, { padding = 1 } }
  end,
  batch_norm = function()
    return { r(8, 16, 900), r(16), r(16), { training = true } }
  end,
  group_norm = function() return { r(8, 16, 900), 4, r(16), r(16) } end,
  instance_norm = function() return { r(8, 16, 900), r(16), r(16) } end,
  rms_norm = function() return { r(300, 700), { 700 }, r(700) } end,
  softmax = reduction, log_softmax = reduction,
  layer_norm = function() return { r(300, 700), { 700 }, r(700), r(700) } end,
  cross_entropy = function() return { r(300, 700), positions(700, 300) } end,
  nll_loss = function() return { r(300, 700), positions(700, 300) } end,
  mse_loss = two, l1_loss = two, huber_loss = two, smooth_l1_loss = two,
  bce_with_logits = two, kl_div = fractions, bce_loss = fractions,
  one_hot = function() return { positions(40, 5000), 40 } end,
  gelu = total,
  fill = function() return { r(300, 700), 1.5 } end,
  zero = total,
  zeros = filled, ones = filled,
  empty = function() return nil end,
  full = function() return { { 300, 700 }, 1.5 } end,
  empty_like = function() return nil end,
  rand_like = function()
    return { r(300, 700), { generator = ts.generator(3) } }
  end,
  randn_like = function()
    return { r(300, 700), { generator = ts.generator(3) } }
  end,
  hann_window = function() return { 200000 } end,
  hamming_window = function() return { 200000, { periodic = false } } end,
  logspace = function() return { 0, 1, 200000 } end,
  tril_indices = function() return { 500, 400 } end,
  triu_indices = function() return { 500, 400 } end,
  hstack = function() return { { r(300, 300), r(300, 400) } } end,
  vstack = function() return { { r(300, 300), r(400, 300) } } end,
  dstack = function() return { { r(300, 300, 1), r(300, 300, 2) } } end,
  block_diag = function() return { { r(200, 300), r(300, 200) } } end,
  cartesian_prod = function() return { { r(300), r(400) } } end,
  fliplr = total, flipud = total,
  zeros_like = total, ones_like = total,
  full_like = function() return { r(300, 700), 1.5 } end,
  eye = function() return { 400 } end,
  arange = function() return { 200000 } end,
  linspace = function() return { 0, 1, 200000 } end,
  rand = function()
    return { { 300, 700 }, { generator = ts.generator(3) } }
  end,
  randn = function()
    return { { 300, 700 }, { generator = ts.generator(3) } }
  end,
  randint = function()
    return { 1, 99, { 300, 700 }, { generator = ts.generator(3) } }
  end,
  randperm = function() return { 200000, { generator = ts.generator(3) } } end,
  uniform = function()
    return { r(300, 700), -1, 1, { generator = ts.generator(3) } }
  end,
  normal = function()
    return { r(300, 700), 1, 2, { generator = ts.generator(3) } }
  end,
  bernoulli = function()
    return { r(300, 700), 0.3, { generator = ts.generator(3) } }
  end,
  random = function()
    return { r(300, 700), 1, 99, { generator = ts.generator(3) } }
  end,
  multinomial = function()
    return { draw({ 9 }, 0, 1), 200000,
      { replacement = true, generator = ts.generator(3) } }
  end,
  grid_sample = function()
    return { r(2, 9, 40, 50), draw({ 2, 60, 70, 2 }, -1.2, 1.2) }
  end,
  grid_sample_add = function()
    return { r(2, 9, 60, 70), draw({ 2, 60, 70, 2 }, -1.2, 1.2),
      { 2, 9, 40, 50 } }
  end,
  interpolate = function()
    return { r(2, 9, 40, 50), { size = { 90, 70 }, mode = "cubic" } }
  end,
  interpolate_add = function()
    return { r(2, 9, 90, 70), { 2, 9, 40, 50 }, { mode = "linear" } }
  end,
  affine_grid = function() return { r(2, 2, 3), { 2, 1, 200, 300 } } end,
  attention = function()
    return { r(2, 100, 32), r(2, 90, 32), r(2, 90, 16), { causal = true } }
  end,
  sgd_update = function()
    return { r(300, 700), r(300, 700), r(300, 700), 0.1, { momentum = 0.9 } }
  end,
  adam_update = function()
    return { r(300, 700), r(300, 700), r(300, 700), draw({ 300, 700 }, 0, 1), 3, 0.1 }
  end,
}

for name, make in pairs {
  solve = function() return { regular(200, 200), r(200, 30) } end,
  triangular_solve = function() return { regular(300, 20, 20), r(20, 20) } end,
  cholesky = symmetric, eigh = symmetric, eigvalsh = symmetric,
  cholesky_solve = function() return { r(20, 30), regular(300, 20, 20) } end,
  lstsq = function() return { r(100, 30, 20), r(30, 4) } end,
  pinv = function() return { r(100, 30, 20) } end,
  matrix_power = function() return { regular(100, 20, 20) * 0.01, 3 } end,
  inv = large_matrix, det = matrices, slogdet = matrices,
  lu_factor = large_matrix, qr = matrices, svd = matrices, svdvals = matrices,
  matrix_exp = function() return { r(100, 20, 20) } end,
  matrix_norm = matrices, vector_norm = total, matrix_rank = matrices,
  cond = matrices,
} do
  rows["linalg." .. name] = make
end

local computes_nothing = {
  detach = true, flatten = true, t = true, split = true, chunk = true,
  unbind = true, meshgrid = true, unflatten = true, expand_as = true,
  movedim = true, rearrange = true,
}

local function takes_floats(op)
  return table.concat(op.dtypes, " "):find("f32", 1, true) ~= nil
end

-- One operand lies across memory: both walks have to agree.
local function pointwise(op)
  local args = {}
  for k, param in ipairs(op.params) do
    if param.kind == "tensor" or param.kind == "operand" then
      if not takes_floats(op) then
        args[k] = positions(31, 300, 700)
      elseif op.name == "where" and k == 1
        or op.name == "masked_fill" and k == 2 then
        args[k] = draw({ 300, 700 }, -1, 1):gt(0)
      elseif op.name == "masked_fill" and k == 3 then
        args[k] = 1.5
      elseif op.name == "polygamma" and k == 1 then
        args[k] = 2
      elseif k == 2 then
        args[k] = draw({ 700, 300 }, op.low, op.high):t()
      else
        args[k] = draw({ 300, 700 }, op.low, op.high)
      end
    end
  end
  return args
end

function large.of(op)
  generator = ts.generator(11)
  if op.pointwise then return pointwise(op) end
  if op.kind == "view" or computes_nothing[op.name] then return nil end
  local make = rows[op.name]
    or error("spec/support/large.lua has no operands for " .. op.name, 0)
  return make()
end

return large
