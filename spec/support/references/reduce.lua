--- Reductions: collect what meets in one element of the result, then fold it.
local array = require "spec.support.array"
local numbers = require "spec.support.numbers"

local function as_list(dims)
  return type(dims) == "table" and dims or { dims }
end

-- For each element of the result: the list of elements in row-major order of
-- the reduced axes, and their places in a.data.
local function groups(a, dims, keepdim)
  local reduced = {}
  if dims == nil then
    for axis = 1, #a.shape do reduced[axis] = true end
  else
    for _, dim in ipairs(as_list(dims)) do
      reduced[array.axis(#a.shape, dim)] = true
    end
  end
  local full, shape = {}, {}
  for axis, size in ipairs(a.shape) do
    full[axis] = reduced[axis] and 1 or size
    if not reduced[axis] then
      shape[#shape + 1] = size
    elseif keepdim then
      shape[#shape + 1] = 1
    end
  end
  local strides, lists, places = array.strides(full), {}, {}
  for k = 1, array.count(full) do lists[k], places[k] = {}, {} end
  for index, k in array.each(a.shape) do
    local at = 1
    for axis = 1, #full do
      if not reduced[axis] then at = at + (index[axis] - 1) * strides[axis] end
    end
    table.insert(lists[at], a.data[k])
    table.insert(places[at], k)
  end
  return shape, lists, places
end

local function fold(a, dims, options, f, dtype)
  local shape, lists = groups(a, dims, options.keepdim)
  local data = {}
  for k, list in ipairs(lists) do data[k] = f(list) end
  return array.new(shape, data, dtype or a.dtype)
end

-- The place of the greatest by `better`; the first NaN wins, then the first.
local function best(list, better)
  local at = 1
  for k, value in ipairs(list) do
    if list[at] ~= list[at] then return at end
    if value ~= value or better(value, list[at]) then at = k end
  end
  return at
end

local function above(x, y) return x > y end
local function below(x, y) return x < y end

local function extreme(better)
  return function(args, options)
    return fold(args[1], args[2], options, function(list)
      return list[best(list, better)]
    end)
  end
end

local function position(better)
  return function(args, options)
    local a, dim = args[1], args[2]
    local result = fold(a, dim, options, function(list)
      return best(list, better)
    end, "i64")
    return result
  end
end

-- Without a dim the value alone, with one the value and its position.
local function extreme_and_place(better)
  return function(args, options)
    local value = extreme(better)(args, options)
    if args[2] == nil then return value end
    return value, position(better)(args, options)
  end
end

local function total(list)
  local sum = math.type(list[1]) == "integer" and 0 or 0.0
  for _, value in ipairs(list) do sum = sum + value end
  return sum
end

local function logsumexp(list)
  local top = -math.huge
  for _, value in ipairs(list) do
    if value ~= value then return value end
    top = math.max(top, value)
  end
  if top == math.huge or top == -math.huge then return top end
  local sum = 0.0
  for _, value in ipairs(list) do sum = sum + math.exp(value - top) end
  return top + math.log(sum)
end

local function count(list)
  local n = 0
  for _, value in ipairs(list) do n = n + (value ~= 0 and 1 or 0) end
  return n
end

local references = {
  groups = groups,
  fold = fold,
  total = total,
  rows = {
    sum = function(args, options)
      local a = args[1]
      local dtype = options.dtype
        or (numbers.is_float[a.dtype] and a.dtype or "i64")
      return fold(a, args[2], options, total, dtype)
    end,
    mean = function(args, options)
      local a = args[1]
      local dtype = options.dtype
        or (numbers.is_float[a.dtype] and a.dtype or "f32")
      return fold(a, args[2], options, function(list)
        return total(list) / #list
      end, dtype)
    end,
    amax = extreme(above),
    amin = extreme(below),
    max = extreme_and_place(above),
    min = extreme_and_place(below),
    argmax = position(above),
    argmin = position(below),
    any = function(args, options)
      return fold(args[1], args[2], options, function(list)
        return count(list) > 0 and 1 or 0
      end, "bool")
    end,
    all = function(args, options)
      return fold(args[1], args[2], options, function(list)
        return count(list) == #list and 1 or 0
      end, "bool")
    end,
    count_nonzero = function(args, options)
      return fold(args[1], args[2], options, count, "i64")
    end,
    logsumexp = function(args, options)
      return fold(args[1], args[2], options, logsumexp)
    end,
    sum_to = function(args)
      local a, shape = args[1], args[2]
      local strides, data = array.strides(shape), {}
      local extra = #a.shape - #shape
      local zero = numbers.is_float[a.dtype] and 0.0 or 0
      for k = 1, array.count(shape) do data[k] = zero end
      for index, k in array.each(a.shape) do
        local at = 1
        for axis = 1, #shape do
          if shape[axis] ~= 1 then
            at = at + (index[axis + extra] - 1) * strides[axis]
          end
        end
        data[at] = data[at] + a.data[k]
      end
      return array.new(shape, data, a.dtype)
    end,
  },
}

return references
