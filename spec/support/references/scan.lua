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

return {
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
