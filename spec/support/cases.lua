--- Arguments for every row of ts.ops().
--   cases.of(op, dtype)    a list of cases with values of that dtype
--   cases.slopes(op)       the same in f64, drawn where the row is smooth
--   case.args, case.n      arrays (array.lua), lists of arrays, plain values
--   case.options           the last table of the call
--   case.label             for messages
-- A row that is not element by element has an entry in `rows` below; one
-- without raises, so a new row fails its specs until it is thought of.
local ts = require "tensus"
local array = require "spec.support.array"
local numbers = require "spec.support.numbers"

local cases = {}

-- Where values are checked, if not where slopes are (row.low to row.high).
local wide = {
  abs = { -2, 2 }, relu = { -2, 2 }, sqrt = { 0, 9 }, log1p = { -0.9, 9 },
  div = { -3, 3 }, reciprocal = { -3, 3 }, floor_divide = { -3, 3 },
  remainder = { -3, 3 }, atan2 = { -3, 3 }, tan = { -3, 3 }, exp = { -9, 9 },
  erf = { -4, 4 }, erfc = { -4, 4 }, sigmoid = { -15, 15 },
  softplus = { -15, 30 }, logsigmoid = { -15, 15 }, tanh = { -9, 9 },
  log = { 0.01, 99 }, round = { -4, 4 }, exp2 = { -9, 9 }, hypot = { -3, 3 },
  fmod = { -3, 3 }, frac = { -3, 3 }, copysign = { -2, 2 },
  softsign = { -9, 9 }, mish = { -15, 15 }, logit = { 0, 1 },
  xlogy = { 0, 9 }, asinh = { -9, 9 }, acosh = { 1, 9 },
}

-- Integers: the second operand of a division is not 0, an exponent not below 0.
local whole_second = {
  floor_divide = { 1, 5 }, remainder = { 1, 5 }, pow = { 0, 3 }, div = { 1, 5 },
  fmod = { 1, 5 }, bitwise_left_shift = { 0, 7 }, bitwise_right_shift = { 0, 7 },
  polygamma = { 1, 9 },
}
local whole_from = {
  reciprocal = 1, log = 1, log2 = 1, log10 = 1, rsqrt = 1, sqrt = 0, log1p = 0,
  acosh = 1, lgamma = 1, digamma = 1, xlogy = 0,
}

local special = {
  0 / 0, math.huge, -math.huge, 0.0, -0.0, 1.0, -1.0, 0.5, -2.5,
}

-- The numbers as their dtype holds them.
local function settle(a)
  local rounds = numbers.is_float[a.dtype] and a.dtype ~= "f64"
  if not rounds or #a.data == 0 then return a end
  return array.of(array.tensor(a))
end

local function draw(shape, dtype, low, high)
  local data = {}
  for k = 1, array.count(shape) do
    if dtype == "bool" then
      data[k] = numbers.whole(0, 1)
    elseif numbers.is_float[dtype] then
      data[k] = numbers.between(low or -2, high or 2)
    elseif low and math.type(low) == "integer" then
      data[k] = numbers.whole(low, high)
    else
      data[k] = numbers.whole(dtype == "u8" and 0 or -5, 9)
    end
  end
  return settle(array.new(shape, data, dtype))
end

--- What the cases of one row are drawn with: d(shape) gives an array.
-- d.smooth: slopes are checked, so nothing may be equal that is compared.
local function drawer(dtype, smooth)
  local d = { dtype = dtype, smooth = smooth }
  function d.positions(shape, n) return draw(shape, "i64", 1, n) end
  return setmetatable(d, {
    __call = function(_, shape, low, high)
      return draw(shape, dtype, low, high)
    end,
  })
end

local function describe(arg)
  if array.is(arg) then return array.show(arg.shape) end
  if type(arg) ~= "table" then return tostring(arg) end
  local words = {}
  for k, value in ipairs(arg) do words[k] = describe(value) end
  return "{" .. table.concat(words, ",") .. "}"
end

local function case(args, options)
  local words = {}
  args.n = args.n or #args
  for k = 1, args.n do words[k] = describe(args[k]) end
  for name, value in pairs(options or {}) do
    words[#words + 1] = name .. "=" .. describe(value)
  end
  return {
    args = args, n = args.n, options = options or {},
    label = table.concat(words, " "),
  }
end

-- ---- element by element ----

local shapes = {
  { { 2, 3 }, { 2, 3 }, { 2, 3 } }, { { 7 }, { 7 }, { 7 } },
  { { 2, 3, 2 }, { 3, 1 }, { 2 } }, { { 2, 1 }, { 1, 3 }, { 3 } },
  { {}, {}, {} }, { {}, { 2 }, { 2 } }, { { 0, 3 }, { 3 }, { 1, 1 } },
  { { 17, 5 }, { 17, 5 }, { 5 } },
}

-- The operand that chooses, of the rows that have one.
local conditions = { where = 1, masked_fill = 2 }

-- Operand k of a row.
local function operand(op, k, shape, dtype, smooth)
  if conditions[op.name] == k then return draw(shape, "bool") end
  if op.name == "masked_fill" and k == 3 then shape = {} end
  if op.name == "polygamma" and k == 1 then
    local most = dtype == "bool" and 1 or 3
    return array.new(shape, draw(shape, "i64", 0, most).data, dtype)
  end
  local low, high = op.low, op.high
  if numbers.is_float[dtype] then
    if wide[op.name] and not smooth then
      low, high = table.unpack(wide[op.name])
    end
    return draw(shape, dtype, low, high)
  end
  local second = k == 2 and whole_second[op.name]
  if second then return draw(shape, dtype, second[1], second[2]) end
  local first = whole_from[op.name]
  if first then return draw(shape, dtype, first, 9) end
  return draw(shape, dtype)
end

local function tensors_of(op)
  local count = 0
  for _, param in ipairs(op.params) do
    local takes = param.kind == "tensor" or param.kind == "operand"
    if takes and not param.option then count = count + 1 end
  end
  return count
end

-- Scalar parameters other than the defaults: positions, then options.
local parameters = {
  clamp = { { 0 }, { 1, 2 }, { nil, 1, n = 2 } },
  hardtanh = { { 0 }, { -0.5, 1.5 }, { nil, 0.25, n = 2 } },
  leaky_relu = { { 0.2 }, { -0.5 } }, elu = { { 0.7 } }, celu = { { 0.7 } },
  softshrink = { { 0.25 } }, hardshrink = { { 0.25 } },
  softplus = { { options = { beta = 2, threshold = 3 } } },
  logit = { { options = { eps = 0.25 } } },
  round = {
    { options = { decimals = 1 } }, { options = { decimals = 3 } },
    { options = { decimals = -1 } },
  },
}

-- Options and numbers among the operands that only some rows have.
local function extra_cases(op, dtype, smooth, list)
  local function x(k, shape) return operand(op, k, shape, dtype, smooth) end
  local is_float = numbers.is_float[dtype]
  local function add(args, options) list[#list + 1] = case(args, options) end
  if op.name == "add" or op.name == "sub" then
    add({ x(1, { 2, 3 }), x(2, { 3 }) }, { alpha = is_float and 0.5 or 3 })
  end
  for _, given in ipairs(parameters[op.name] or {}) do
    local args = { x(1, { 3, 4 }), n = 1 + (given.n or #given) }
    table.move(given, 1, args.n - 1, 2, args)
    add(args, given.options)
  end
  if op.name == "masked_fill" then
    add({ x(1, { 2, 3 }), x(2, { 3 }), dtype == "bool" and true or 3 })
  end
  local count = tensors_of(op)
  if count < 2 or conditions[op.name] then return end
  local last = array.copy { 2, 3 }
  local args = {}
  for k = 1, count do args[k] = x(k, last) end
  local with_number = array.copy(args)
  with_number[count] = is_float and 1.5 or 3
  if dtype == "bool" then
    if not op.compares then return end
    with_number[count] = 1
  end
  add(with_number)
  if op.params[1].kind ~= "operand" or count > 2 then return end
  local number_first = array.copy(args)
  number_first[1] = is_float and op.name ~= "polygamma" and 1.5 or 2
  if dtype == "bool" then number_first[1] = 0 end
  add(number_first)
end

local function special_cases(op, dtype, list)
  local barred = op.name == "lerp" or op.name == "polygamma"
  if not numbers.is_float[dtype] or barred then return end
  local n = #special
  local first, second = {}, {}
  for i = 1, n do
    for j = 1, n do
      first[#first + 1] = special[i]
      second[#second + 1] = special[j]
    end
  end
  local x = array.new({ n * n }, first, dtype)
  local y = array.new({ n * n }, second, dtype)
  local condition = {}
  for k = 1, n * n do condition[k] = k % 2 end
  condition = array.new({ n * n }, condition, "bool")
  if op.name == "where" then
    list[#list + 1] = case { condition, x, y }
  elseif op.name == "masked_fill" then
    list[#list + 1] = case { x, condition, math.huge }
  elseif tensors_of(op) == 1 then
    list[#list + 1] = case { array.new({ n }, special, dtype) }
  else
    list[#list + 1] = case { x, y }
  end
  list[#list].special = true
end

local function pointwise_cases(op, dtype, smooth)
  local list, count = {}, tensors_of(op)
  for _, choice in ipairs(shapes) do
    local args = {}
    for k = 1, count do
      args[k] = operand(op, k, choice[k], dtype, smooth)
    end
    list[#list + 1] = case(args)
  end
  extra_cases(op, dtype, smooth, list)
  if not smooth then special_cases(op, dtype, list) end
  return list
end

-- ---- all others: a row's name, and what it is tried on ----

local function reductions(d)
  return {
    case { d { 3, 4 } }, case { d { 3, 4 }, 1 }, case { d { 3, 4 }, -1 },
    case { d { 2, 3, 4 }, { 1, 3 } }, case { d { 2, 3, 4 }, 2 },
    case({ d { 2, 3, 4 }, { 1, 2 } }, { keepdim = true }),
    case({ d { 5 } }, { keepdim = true }), case { d {} }, case { d {}, 1 },
    case { d { 2, 3 }, {} }, case { d { 2, 70 }, 2 }, case { d { 300 } },
  }
end

local function with_empty(list, d)
  list[#list + 1] = case { d { 0 } }
  list[#list + 1] = case { d { 2, 0, 3 }, 2 }
  list[#list + 1] = case { d { 0, 3 }, 2 }
  return list
end

local function folds(d) return with_empty(reductions(d), d) end

local function extremes(d)
  local list = reductions(d)
  list[#list + 1] = case { d { 0, 3 }, 2 }
  return list
end

local function one_dim(d)
  return {
    case { d { 3, 4 } }, case { d { 3, 4 }, 1 }, case { d { 2, 3, 4 }, -2 },
    case({ d { 2, 3, 4 }, 3 }, { keepdim = true }), case { d {} },
    case { d { 2, 70 }, 2 }, case { d { 0, 3 }, 2 },
  }
end

local function rowwise(d)
  return {
    case { d { 3, 5 }, 2 }, case { d { 3, 5 }, 1 }, case { d { 2, 3, 4 }, -2 },
    case { d { 4 }, 1 }, case { d {}, 1 }, case { d { 0, 3 }, 2 },
    case { d { 2, 33 }, 2 },
  }
end

local function diagonals(d)
  return {
    case { d { 3, 4 } }, case({ d { 3, 4 } }, { offset = 1 }),
    case({ d { 3, 4 } }, { offset = -2 }),
    case({ d { 2, 3, 4 } }, { dim1 = 2, dim2 = 3 }),
    case({ d { 3, 2, 4 } }, { dim1 = -1, dim2 = 1, offset = 1 }),
  }
end

local function likes(d) return { case { d { 2, 3 } }, case { d {} } } end

local function sized(d)
  local options = { dtype = d.dtype }
  return {
    case({ { 2, 3 } }, options), case({ { 0 } }, options), case({ {} }, options),
  }
end

local function products(d)
  return {
    case { d { 3, 4 }, d { 4, 2 } }, case { d { 4 }, d { 4 } },
    case { d { 3, 4 }, d { 4 } }, case { d { 4 }, d { 4, 2 } },
    case { d { 2, 3, 4 }, d { 4, 5 } }, case { d { 2, 1, 3, 4 }, d { 3, 4, 2 } },
    case { d { 3, 0 }, d { 0, 2 } }, case { d { 0, 4 }, d { 4, 2 } },
    case { d { 17, 19 }, d { 19, 9 } },
  }
end

local function labels(list)
  return array.new({ #list }, list, "i64")
end

local rows = {
  reshape = function(d)
    return {
      case { d { 2, 6 }, { 3, 4 } }, case { d { 2, 6 }, { -1, 2 } },
      case { d {}, { 1, 1 } }, case { d { 1 }, {} }, case { d { 0, 3 }, { 3, 0 } },
      case { d { 2, 3, 4 }, { 2, 12 } }, case { d { 2, 3 }, { 2, 1, 3 } },
    }
  end,
  -- Shapes that every layout can give as a view.
  view = function(d)
    return {
      case { d { 2, 3 }, { 2, 1, 3 } }, case { d { 1, 3 }, { 3 } },
      case { d {}, { 1 } },
    }
  end,
  permute = function(d)
    return {
      case { d { 2, 3, 4 }, { 3, 1, 2 } }, case { d { 2, 3 }, { -1, 1 } },
      case { d {}, {} }, case { d { 0, 3 }, { 2, 1 } },
    }
  end,
  transpose = function(d)
    return { case { d { 2, 3, 4 }, 1, -1 }, case { d { 2, 3 }, 1, 1 } }
  end,
  squeeze = function(d)
    return {
      case { d { 1, 3, 1 } }, case { d { 1, 3, 1 }, 1 },
      case { d { 1, 3, 1 }, { 1, -1 } }, case { d { 2, 3 }, 1 }, case { d {} },
    }
  end,
  unsqueeze = function(d)
    return {
      case { d { 2, 3 }, 1 }, case { d { 2, 3 }, 3 }, case { d { 2, 3 }, -1 },
      case { d {}, 1 },
    }
  end,
  expand = function(d)
    return {
      case { d { 2, 1 }, { 2, 3 } }, case { d { 3 }, { 2, 3 } },
      case { d { 1, 3 }, { 4, -1 } }, case { d {}, { 2, 2 } },
      case { d { 1 }, { 0 } },
    }
  end,
  select = function(d)
    return {
      case { d { 2, 3, 4 }, 2, 3 }, case { d { 2, 3 }, -1, -1 },
      case { d { 3 }, 1, 2 },
    }
  end,
  narrow = function(d)
    return {
      case { d { 2, 5 }, 2, 2, 3 }, case { d { 4, 2 }, 1, 3, 2 },
      case { d { 4 }, 1, 2, 0 }, case { d { 4 }, 1, -2, 2 },
    }
  end,
  slice = function(d)
    return {
      case { d { 2, 7 }, 2, 2, 6, 2 }, case { d { 5, 2 }, 1, 2, 4 },
      case { d { 4 }, 1, 1, 0 }, case { d { 4 }, 1, 2, -1, 2 },
      case { d { 9 }, 1, 1, 9, 5 },
    }
  end,
  diagonal = diagonals,
  place = function(d)
    return {
      case { d { 2, 3 }, { 2, 7 }, 2, 2, 2 }, case { d { 2, 3 }, { 4, 3 }, 1, 3 },
      case { d { 3 }, { 3 }, 1, 1, 1 },
    }
  end,
  diag_embed = function(d)
    return {
      case { d { 3 } }, case({ d { 2, 3 } }, { dim1 = 2, dim2 = 3, offset = 1 }),
      case({ d { 2, 3 } }, { dim1 = 1, dim2 = -1 }),
      case({ d { 3 } }, { offset = -2 }),
    }
  end,
  sum = function(d)
    local list = folds(d)
    list[#list + 1] = case({ d { 3, 4 }, 1 }, { dtype = "f64" })
    return list
  end,
  sum_to = function(d)
    return {
      case { d { 2, 3, 4 }, { 3, 1 } }, case { d { 2, 3 }, {} },
      case { d { 2, 3 }, { 2, 3 } }, case { d { 5, 2 }, { 1, 2 } },
      case { d { 0, 3 }, { 1, 3 } },
    }
  end,
  clone = likes,
  contiguous = likes,
  copy = function(d)
    return {
      case { d { 2, 3 }, d { 2, 3 } }, case { d { 2, 3 }, d { 3 } },
      case { d { 2, 3 }, 1 },
    }
  end,
  cat = function(d)
    return {
      case { { d { 2, 3 }, d { 1, 3 } } }, case { { d { 2, 3 }, d { 2, 1 } }, 2 },
      case { { d { 2 }, d { 0 }, d { 3 } }, -1 }, case { { d { 2, 3 } } },
      case { { d { 2, 2 }, d { 0, 2 }, d { 1, 2 } }, 1 },
    }
  end,
  gather = function(d)
    return {
      case { d { 3, 4 }, 1, d.positions({ 2, 4 }, 3) },
      case { d { 3, 4 }, 2, d.positions({ 3, 5 }, 4) },
      case { d { 2, 3, 2 }, -2, d.positions({ 2, 4, 2 }, 3) },
      case { d { 4 }, 1, d.positions({ 0 }, 4) },
    }
  end,
  scatter_add = function(d)
    return {
      case { d { 3, 4 }, 1, d.positions({ 2, 4 }, 3), d { 2, 4 } },
      case { d { 3, 4 }, 2, d.positions({ 3, 5 }, 4), d { 3, 5 } },
      case { d { 4 }, 1, d.positions({ 9 }, 4), d { 9 } },
    }
  end,
  index_select = function(d)
    return {
      case { d { 3, 4 }, 1, d.positions({ 5 }, 3) },
      case { d { 3, 4 }, 2, d.positions({}, 4) },
      case { d { 2, 3, 2 }, -2, d.positions({ 0 }, 3) },
    }
  end,
  index_add = function(d)
    local alpha = numbers.is_float[d.dtype] and 0.5 or 2
    return {
      case { d { 3, 4 }, 1, d.positions({ 5 }, 3), d { 5, 4 } },
      case({ d { 2, 3 }, -1, d.positions({ 2 }, 3), d { 2, 2 } },
        { alpha = alpha }),
    }
  end,
  matmul = products,
  mv = function(d)
    return { case { d { 3, 4 }, d { 4 } }, case { d { 2, 0 }, d { 0 } } }
  end,
  outer = function(d)
    return { case { d { 3 }, d { 4 } }, case { d { 0 }, d { 2 } } }
  end,
  dot = function(d)
    return { case { d { 5 }, d { 5 } }, case { d { 0 }, d { 0 } } }
  end,
  linear = function(d)
    return {
      case { d { 3, 4 }, d { 2, 4 }, d { 2 } }, case { d { 4 }, d { 2, 4 } },
      case { d { 2, 3, 4 }, d { 5, 4 }, d { 5 } },
    }
  end,
  amax = extremes,
  amin = extremes,
  max = one_dim,
  min = one_dim,
  argmax = one_dim,
  argmin = one_dim,
  any = folds,
  all = folds,
  count_nonzero = folds,
  mean = folds,
  logsumexp = folds,
  softmax = rowwise,
  log_softmax = rowwise,
  detach = likes,
  one_hot = function(d)
    return {
      case { d({ 4 }, 1, 5), 5 }, case { d({ 2, 3 }, 1, 4), 4 },
      case({ d({}, 1, 3), 3 }, { dtype = "f32" }),
    }
  end,
  gelu = function(d)
    return {
      case { d { 2, 3 } }, case({ d { 2, 3 } }, { approximate = "tanh" }),
    }
  end,
  flatten = function(d)
    return {
      case { d { 2, 3, 4 } }, case { d { 2, 3, 4 }, 2 }, case { d { 2, 3, 4 }, 1, 2 },
      case { d {} }, case { d { 0, 3 } },
    }
  end,
  t = function(d) return { case { d { 2, 3 } }, case { d { 3 } }, case { d {} } } end,
  stack = function(d)
    return {
      case { { d { 2, 3 }, d { 2, 3 } } }, case { { d { 2 }, d { 2 }, d { 2 } }, 2 },
      case { { d {}, d {} } }, case { { d { 2, 3 } }, -1 },
    }
  end,
  fill = function(d)
    return { case { d { 2, 3 }, 1 }, case { d { 2, 3 }, d {} } }
  end,
  zero = likes,
  zeros = sized,
  ones = sized,
  empty = sized,
  full = function(d)
    return { case({ { 2, 3 }, 1 }, { dtype = d.dtype }) }
  end,
  zeros_like = likes,
  ones_like = likes,
  empty_like = likes,
  rand_like = likes,
  randn_like = likes,
  full_like = function(d) return { case { d { 2, 3 }, 1 } } end,
  eye = function(d)
    local options = { dtype = d.dtype }
    return { case({ 3 }, options), case({ 2, 4 }, options), case({ 3, 1 }, options) }
  end,
  arange = function(d)
    local options = { dtype = d.dtype }
    return {
      case({ 5 }, options), case({ 3, 9, 2 }, options), case({ 4, 1, -1 }, options),
      case { 2, 5 }, case { 0.5, 2 }, case { 5, 4 },
    }
  end,
  linspace = function(d)
    local options = { dtype = d.dtype }
    return {
      case({ -1, 2, 7 }, options), case({ 1, 2, 1 }, options),
      case({ 1, 2, 0 }, options), case { 0, 1, 3 },
    }
  end,
  sgd_update = function(d)
    return {
      case { d { 3, 2 }, d { 3, 2 }, nil, 0.5, n = 4 },
      case({ d { 3, 2 }, d { 3, 2 }, d { 3, 2 }, 0.1 },
        { momentum = 0.9, weight_decay = 0.01, dampening = 0.1 }),
      case({ d { 4 }, d { 4 }, d { 4 }, 0.1 }, { momentum = 0.9, nesterov = true }),
      case({ d { 4 }, d { 4 }, d { 4 }, 0.1 }, { momentum = 0.9, first = true }),
    }
  end,
  adam_update = function(d)
    return {
      case { d { 3, 2 }, d { 3, 2 }, d { 3, 2 }, d({ 3, 2 }, 0, 2), 3, 0.1 },
      case({ d { 4 }, d { 4 }, d { 4 }, d({ 4 }, 0, 2), 1, 0.1 },
        { weight_decay = 0.1, decoupled = true, beta1 = 0.8, beta2 = 0.9 }),
      case({ d { 4 }, d { 4 }, d { 4 }, d({ 4 }, 0, 2), 2, 0.1 },
        { weight_decay = 0.1, eps = 1e-3 }),
    }
  end,
  uniform = likes,
  normal = likes,
  dropout = function(d)
    return { case { d { 4, 5 }, 0.5 }, case { d { 4, 5 }, 0 }, case { d { 4 }, 1 } }
  end,
}

-- What cases/TOPIC.lua may build on; each returns a table like `rows`.
local tools = {
  case = case, settle = settle, labels = labels, folds = folds, extremes = extremes,
  one_dim = one_dim, rowwise = rowwise, likes = likes, sized = sized,
  products = products, diagonals = diagonals,
}
for _, topic in ipairs {
  "elementwise", "loss", "reduction", "order", "position", "layout", "algebra", "linalg", "layer",
  "sample", "random",
} do
  for name, make in pairs(require("spec.support.cases." .. topic)(tools)) do
    rows[name] = make
  end
end

-- Rows that ask more of their operands than ts.ops() says.
cases.contiguous = { sgd_update = true, adam_update = true, as_strided = true }
-- Their slopes are those of symmetric matrices.
cases.symmetric = {
  ["linalg.cholesky"] = true, ["linalg.eigh"] = true,
  ["linalg.eigvalsh"] = true,
}
cases.dtypes = {
  rand_like = { f16 = true, bf16 = true, f32 = true, f64 = true },
  randn_like = { f16 = true, bf16 = true, f32 = true, f64 = true },
  sgd_update = { f32 = true, f64 = true },
  adam_update = { f32 = true, f64 = true },
}

local function cases_of(op, dtype, smooth)
  numbers.restart()
  if op.pointwise then return pointwise_cases(op, dtype, smooth) end
  local make = rows[op.name]
    or error("spec/support/cases.lua has no case for " .. op.name, 0)
  return make(drawer(dtype, smooth))
end

function cases.of(op, dtype) return cases_of(op, dtype, false) end
function cases.slopes(op) return cases_of(op, "f64", true) end

-- ---- calling ----

--- What the module holds under a name: "matmul", "linalg.solve".
function cases.find(name)
  local found = ts
  for word in name:gmatch "[^.]+" do found = found[word] end
  return found
end

--- The function of a row; an op that works only in place has no other.  The
-- tensors of a list are results in a row.
function cases.call(op)
  local f = cases.find(op.only_inplace and op.name .. "_" or op.name)
  if op.results ~= "many" then return f end
  return function(...)
    local list = f(...)
    return table.unpack(list, 1, #list)
  end
end

local function made(arg, make)
  if array.is(arg) then return make(arg) end
  if type(arg) ~= "table" then return arg end
  local list = {}
  for at, item in ipairs(arg) do
    list[at] = array.is(item) and make(item) or item
  end
  return list
end

--- Names of the options that are arrays, in order.
function cases.array_options(c)
  local names = {}
  for name, value in pairs(c.options) do
    if array.is(value) then names[#names + 1] = name end
  end
  table.sort(names)
  return names
end

--- The arguments with every array made into a tensor by make(array);
-- args.options: so are those among the options.
function cases.tensors(c, make)
  local args = { options = {} }
  for name, value in pairs(c.options) do args.options[name] = value end
  for k = 1, c.n do args[k] = made(c.args[k], make) end
  for _, name in ipairs(cases.array_options(c)) do
    args.options[name] = make(c.options[name])
  end
  return args
end

--- The call: arguments in a row, options last.
function cases.run(f, c, args)
  local n, options = c.n, {}
  for name, value in pairs(c.options) do
    options[name] = array.is(value) and args.options[name] or value
  end
  if next(options) then
    n = n + 1
    args[n] = options
  end
  return f(table.unpack(args, 1, n))
end

return cases
