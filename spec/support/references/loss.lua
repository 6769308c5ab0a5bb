--- Losses, in plain Lua.
local array = require "spec.support.array"

local function reduce(losses, shape, options, dtype, count)
  local sum = 0.0
  if options.reduction == "none" then return array.new(shape, losses, dtype) end
  for _, loss in ipairs(losses) do sum = sum + loss end
  if options.reduction == "batchmean" then sum = sum / (shape[1] or 1)
  elseif options.reduction ~= "sum" then sum = sum / (count or #losses) end
  return array.new({}, { sum }, dtype)
end

-- The number of an operand stretched to `shape`; 1 for none.
local function stretched(a, shape, index)
  if not a then return 1 end
  local at = {}
  for axis = 1, #a.shape do
    at[axis] = math.min(index[axis + #shape - #a.shape], a.shape[axis])
  end
  return array.get(a, at)
end

-- A loss of f(x, y, weight at the place), summed as the options say.
local function pairwise(f)
  return function(args, options)
    local x, y, losses = args[1], args[2], {}
    for index, k in array.each(x.shape) do
      local positive = stretched(options.pos_weight, x.shape, index)
      losses[k] = f(x.data[k], y.data[k], options, positive)
        * stretched(options.weight, x.shape, index)
    end
    return reduce(losses, x.shape, options, x.dtype)
  end
end

local function huber(width, scale)
  return function(x, y, options)
    local d, w = math.abs(x - y), options[width] or 1
    if w == 0 then return d end
    return (d <= w and d * d / 2 or w * (d - w / 2)) / (scale and w or 1)
  end
end

local function sigmoid(x) return 1 / (1 + math.exp(-x)) end

local function bce(x, y, positive)
  return -(positive * y * math.max(math.log(x), -100)
    + (1 - y) * math.max(math.log(1 - x), -100))
end

-- The row of classes at place k of the labels, as logs of softmax or plain.
local function row_of(x, k, as_logs)
  local classes = #x.shape == 1 and x.shape[1] or x.shape[2]
  local inner = 1
  for axis = 3, #x.shape do inner = inner * x.shape[axis] end
  local from = (k - 1) // inner * inner * classes + (k - 1) % inner
  local row, most, sum = {}, -math.huge, 0.0
  for c = 1, classes do
    row[c] = x.data[from + (c - 1) * inner + 1]
    most = math.max(most, row[c])
  end
  if not as_logs then return row end
  for c = 1, classes do sum = sum + math.exp(row[c] - most) end
  for c = 1, classes do row[c] = row[c] - most - math.log(sum) end
  return row
end

local function label_shape(x)
  local shape = {}
  for axis, size in ipairs(x.shape) do
    if axis ~= (#x.shape == 1 and 1 or 2) then shape[#shape + 1] = size end
  end
  return shape
end

-- A label with smoothing is a mixture of classes: the sum over all of them.
local function by_label(as_logs)
  return function(args, options)
    local x, y, losses, total = args[1], args[2], {}, 0.0
    local smoothing, shape = options.label_smoothing or 0, label_shape(args[1])
    for k = 1, array.count(shape) do
      local row = row_of(x, k, as_logs)
      local label = y.dtype == "i64" and y.data[k]
      local target = not label and row_of(y, k, false)
      local loss = 0.0
      for c = 1, #row do
        local weight = options.weight and options.weight.data[c] or 1
        local share = target and target[c] or c == label and 1 or 0
        share = share * (1 - smoothing) + smoothing / #row
        if share ~= 0 then loss = loss - weight * share * row[c] end
        if c == label then total = total + weight end
      end
      local ignored = label and label == (options.ignore_index or -100)
      if ignored then
        if label >= 1 then
          total = total - (options.weight and options.weight.data[label] or 1)
        end
        loss = 0.0
      end
      losses[k] = loss
    end
    return reduce(losses, shape, options, x.dtype,
      y.dtype == "i64" and total or nil)
  end
end

return {
  cross_entropy = by_label(true),
  nll_loss = by_label(false),
  mse_loss = pairwise(function(x, y) return (x - y) ^ 2 end),
  l1_loss = pairwise(function(x, y) return math.abs(x - y) end),
  huber_loss = pairwise(huber("delta", false)),
  smooth_l1_loss = pairwise(huber("beta", true)),
  bce_loss = pairwise(function(x, y) return bce(x, y, 1) end),
  bce_with_logits = pairwise(function(x, y, _, positive)
    return bce(sigmoid(x), y, positive)
  end),
  kl_div = pairwise(function(x, y, options)
    if options.log_target then return math.exp(y) * (y - x) end
    return y == 0 and 0 or y * (math.log(y) - x)
  end),
}
