--- Statistics along axes, and scans, in plain Lua.
local array = require "spec.support.array"
local numbers = require "spec.support.numbers"
local reduce = require "spec.support.references.reduce"

local function is_nan(x) return x ~= x end

-- Reductions of the call f(a, dims, {keepdim}), a list at a time.
local function reduction(f, dtype_of)
  return function(args, options)
    local dtype = dtype_of and dtype_of(args[1].dtype) or args[1].dtype
    return reduce.fold(args[1], args[2], options, f, dtype)
  end
end

local function sum_dtype(dtype)
  return numbers.is_float[dtype] and dtype or "i64"
end

local function mean_dtype(dtype)
  return numbers.is_float[dtype] and dtype or "f32"
end

local function without_nan(list)
  local kept = {}
  for _, value in ipairs(list) do
    if not is_nan(value) then kept[#kept + 1] = value end
  end
  return kept
end

-- x[i + 1] - x[i] along an axis.
local function difference(a, dim)
  local shape = array.copy(a.shape)
  shape[dim] = math.max(shape[dim] - 1, 0)
  local strides = array.strides(a.shape)
  return array.build(shape, function(index)
    local k = array.place(strides, index)
    return a.data[k + strides[dim]] - a.data[k]
  end, a.dtype)
end

-- ---- spread and length ----

local function variance(list, correction)
  local n, mean, sum = #list, 0.0, 0.0
  for _, value in ipairs(list) do mean = mean + value / n end
  for _, value in ipairs(list) do sum = sum + (value - mean) ^ 2 end
  return n > correction and sum / (n - correction) or 0 / 0
end

local function spread(finish)
  return function(args, options)
    return reduction(function(list)
      return finish(variance(list, options.correction or 1))
    end, mean_dtype)(args, options)
  end
end

local function same(value) return value end
local var, std = spread(same), spread(math.sqrt)

local function norm(list, p)
  local sum, most, least = 0.0, 0.0, math.huge
  for _, value in ipairs(list) do
    if is_nan(value) then return value end
    local size = math.abs(value) + 0.0
    most, least = math.max(most, size), math.min(least, size)
    sum = sum + (p == 0 and (size > 0 and 1 or 0) or size ^ p)
  end
  if #list == 0 then return 0.0 end
  if p == math.huge then return most end
  if p == -math.huge then return least end
  return p == 0 and sum or sum ^ (1 / p)
end

-- ---- scans ----

-- Each line along a dim goes through f, a list to one list per result.
local function lines(a, dim, f, dtypes)
  local dims = #a.shape > 0 and dim or {}
  local _, lists, places = reduce.groups(a, dims, true)
  local results = {}
  for r, dtype in ipairs(dtypes) do
    results[r] = array.new(a.shape, {}, dtype)
  end
  for k, list in ipairs(lists) do
    for r, found in ipairs { f(list) } do
      for at, value in ipairs(found) do
        results[r].data[places[k][at]] = value
      end
    end
  end
  return table.unpack(results)
end

local function reversed(list)
  local turned = {}
  for k, value in ipairs(list) do turned[#list - k + 1] = value end
  return turned
end

local function running(join)
  return function(args, options)
    local a = args[1]
    return lines(a, args[2], function(list)
      if options.reverse then list = reversed(list) end
      local found = {}
      for k, value in ipairs(list) do
        found[k] = k == 1 and value or join(found[k - 1], value)
      end
      return options.reverse and reversed(found) or found
    end, { sum_dtype(a.dtype) })
  end
end

-- The last of ties; once there is a NaN, the last NaN.
local function running_extreme(better)
  return function(args)
    local a = args[1]
    return lines(a, args[2], function(list)
      local values, places, at = {}, {}, 1
      for k, value in ipairs(list) do
        local best = list[at]
        if is_nan(value) or value == best or better(value, best) then at = k end
        values[k], places[k] = list[at], at
      end
      return values, places
    end, { a.dtype, "i64" })
  end
end

local function logaddexp(x, y)
  local most = x > y and x or y
  if is_nan(x) or is_nan(y) then return 0 / 0 end
  if most == math.huge or most == -math.huge then return most end
  return most + math.log(math.exp(x - most) + math.exp(y - most))
end

return {
  prod = reduction(function(list)
    local product = math.type(list[1]) == "float" and 1.0 or 1
    for _, value in ipairs(list) do product = product * value end
    return product
  end, sum_dtype),
  var = var,
  std = std,
  var_mean = function(args, options)
    return var(args, options), reduce.rows.mean(args, options)
  end,
  std_mean = function(args, options)
    return std(args, options), reduce.rows.mean(args, options)
  end,
  norm = function(args, options)
    return reduce.fold(args[1], args[3], options, function(list)
      return norm(list, args[2] or 2)
    end)
  end,
  normalize = function(args, options)
    local a = args[1]
    return lines(a, args[2], function(list)
      local size = math.max(norm(list, options.p or 2), options.eps or 1e-12)
      local found = {}
      for k, value in ipairs(list) do found[k] = value / size end
      return found
    end, { a.dtype })
  end,
  cumsum = running(function(x, y) return x + y end),
  cumprod = running(function(x, y) return x * y end),
  cummax = running_extreme(function(x, y) return x > y end),
  cummin = running_extreme(function(x, y) return x < y end),
  logcumsumexp = running(logaddexp),
  nansum = reduction(function(list)
    return reduce.total(without_nan(list))
  end, sum_dtype),
  nanmean = reduction(function(list)
    local kept = without_nan(list)
    return reduce.total(kept) / #kept
  end, mean_dtype),
  aminmax = function(args, options)
    return reduce.rows.amin(args, options), reduce.rows.amax(args, options)
  end,
  diff = function(args, options)
    local a, dim = args[1], array.axis(#args[1].shape, options.dim or -1)
    for _ = 1, options.n or 1 do a = difference(a, dim) end
    return a
  end,
}
