--- Picking and writing at positions, in plain Lua.
local array = require "spec.support.array"
local numbers = require "spec.support.numbers"

local function with(index, axis, at)
  local copy = array.copy(index)
  copy[axis] = at
  return copy
end

local function copied(a)
  return array.new(a.shape, array.copy(a.data), a.dtype)
end

local function put(a, index, value)
  a.data[array.place(array.strides(a.shape), index)] = value
end

-- The element of a source at an index: a number, or rank 0, is everywhere.
local function element(source, index)
  if not array.is(source) then return source end
  if #source.shape == 0 then return source.data[1] end
  return array.get(source, index)
end

local function scatter(args)
  local a, dim, picks, source = table.unpack(args, 1, 4)
  local axis = array.axis(#a.shape, dim)
  local result = copied(a)
  for index in array.each(picks.shape) do
    put(result, with(index, axis, array.get(picks, index)),
      element(source, index))
  end
  return result
end

local fold = {
  sum = function(a, b) return a + b end,
  prod = function(a, b) return a * b end,
  amax = function(a, b) return (b > a or b ~= b) and b or a end,
  amin = function(a, b) return (b < a or b ~= b) and b or a end,
}
fold.mean = fold.sum

local function scatter_reduce(args)
  local a, dim, picks, source, kind = table.unpack(args, 1, 5)
  local axis = array.axis(#a.shape, dim)
  local result = copied(a)
  local count = array.build(a.shape, function() return 1 end, "i64")
  for index in array.each(picks.shape) do
    local at = with(index, axis, array.get(picks, index))
    put(result, at, fold[kind](array.get(result, at), array.get(source, index)))
    put(count, at, array.get(count, at) + 1)
  end
  if kind ~= "mean" then return result end
  for k, n in ipairs(count.data) do
    local sum = result.data[k]
    result.data[k] = numbers.is_float[a.dtype] and sum / n
      or numbers.wrap(sum, a.dtype) // n
  end
  return result
end

local function index_copy(args)
  local a, dim, picks, source = table.unpack(args, 1, 4)
  local axis = array.axis(#a.shape, dim)
  local result = copied(a)
  for index in array.each(with(a.shape, axis, #picks.data)) do
    put(result, with(index, axis, picks.data[index[axis]]),
      element(source, index))
  end
  return result
end

local function take(args)
  local a, picks = args[1], args[2]
  return array.build(picks.shape, function(index)
    return a.data[array.get(picks, index)]
  end, a.dtype)
end

-- An axis of size 1 is read at its one position.
local function stretched(a, index)
  local at = {}
  for axis, size in ipairs(a.shape) do at[axis] = size == 1 and 1 or index[axis] end
  return array.get(a, at)
end

local function take_along_dim(args)
  local a, picks, dim = args[1], args[2], args[3]
  local axis = array.axis(#a.shape, dim)
  local shape = {}
  for k, size in ipairs(a.shape) do
    shape[k] = k ~= axis and size ~= 1 and size or picks.shape[k]
  end
  return array.build(shape, function(index)
    return stretched(a, with(index, axis, stretched(picks, index)))
  end, a.dtype)
end

local function put_flat(args, options)
  local a, picks, source = args[1], args[2], args[3]
  local result = copied(a)
  for k, at in ipairs(picks.data) do
    local before = options.accumulate and result.data[at] or 0
    result.data[at] = before + source.data[k]
  end
  return result
end

local function embedding(args)
  local picks, weight = args[1], args[2]
  local shape = array.copy(picks.shape)
  shape[#shape + 1] = weight.shape[2]
  return array.build(shape, function(index)
    local row = array.copy(index)
    local column = table.remove(row)
    return array.get(weight, { array.get(picks, row), column })
  end, weight.dtype)
end

local function segment_sum(args)
  local a, labels, n = args[1], args[2], args[3]
  local result = array.build(with(a.shape, 1, n), function() return 0 end, a.dtype)
  for index in array.each(a.shape) do
    local at = with(index, 1, labels.data[index[1]])
    put(result, at, array.get(result, at) + array.get(a, index))
  end
  return result
end

-- Sizes of two arrays stretched to each other.
local function common(a, b)
  local shape, rank = {}, math.max(#a.shape, #b.shape)
  for axis = 1, rank do
    local m = a.shape[axis - rank + #a.shape] or 1
    local n = b.shape[axis - rank + #b.shape] or 1
    shape[axis] = m == 1 and n or m
  end
  return shape
end

local function wide(a, index)
  local at = {}
  for axis = 1, #a.shape do at[axis] = index[#index - #a.shape + axis] end
  return stretched(a, at)
end

local function masked_select(args)
  local a, mask = args[1], args[2]
  local data = {}
  for index in array.each(common(a, mask)) do
    if wide(mask, index) ~= 0 then data[#data + 1] = wide(a, index) end
  end
  return array.new({ #data }, data, a.dtype)
end

local function masked_scatter(args)
  local a, mask, source = args[1], args[2], args[3]
  local next_one = 0
  return array.build(common(a, mask), function(index)
    if wide(mask, index) == 0 then return wide(a, index) end
    next_one = next_one + 1
    return source.data[next_one]
  end, a.dtype)
end

local function nonzero(args)
  local a, data, n = args[1], {}, 0
  for index, k in array.each(a.shape) do
    if a.data[k] ~= 0 then
      n = n + 1
      for _, at in ipairs(index) do data[#data + 1] = at end
    end
  end
  return array.new({ n, #a.shape }, data, "i64")
end

-- ---- brackets: a list of index arrays, {} for whole axes ----

-- Each item as lists of positions, one per axis it stands for, in its shape.
local function pick_of(item, shape, axis)
  if item.dtype ~= "bool" then
    local n, data = shape[axis], {}
    for k, at in ipairs(item.data) do data[k] = at < 0 and at + n + 1 or at end
    return { axis = axis, axes = 1, shape = item.shape, at = { data } }
  end
  local columns, count = {}, 0
  for a = 1, #item.shape do columns[a] = {} end
  for index, k in array.each(item.shape) do
    if item.data[k] ~= 0 then
      count = count + 1
      for a = 1, #index do columns[a][count] = index[a] end
    end
  end
  return { axis = axis, axes = #item.shape, shape = { count }, at = columns }
end

local function picks_of(list, shape)
  local picks, axis = {}, 1
  for _, item in ipairs(list) do
    if array.is(item) then
      picks[#picks + 1] = pick_of(item, shape, axis)
      axis = axis + picks[#picks].axes
    else
      axis = axis + 1
    end
  end
  return picks
end

-- Where each element of the result is read: a function from its index, and
-- the shape of the result.
local function plan_of(list, shape)
  local picks = picks_of(list, shape)
  local both, is_picked, apart, last = {}, {}, false, nil
  for _, p in ipairs(picks) do
    both = common({ shape = both }, p)
    apart = apart or last ~= nil and p.axis ~= last
    last = p.axis + p.axes
    for a = p.axis, last - 1 do is_picked[a] = true end
  end
  local first = apart and 1 or picks[1].axis
  local result, others = {}, {}
  for axis = 1, #shape do
    if not is_picked[axis] then others[#others + 1] = axis end
  end
  for k = 1, #others + #both do
    local at = k - first + 1
    if at >= 1 and at <= #both then
      result[k] = both[at]
    else
      result[k] = shape[others[at < 1 and k or k - #both]]
    end
  end
  return function(index)
    local source = {}
    for k, axis in ipairs(others) do
      source[axis] = index[k < first and k or k + #both]
    end
    local inner = table.move(index, first, first + #both - 1, 1, {})
    for _, p in ipairs(picks) do
      for a, column in ipairs(p.at) do
        source[p.axis + a - 1] = wide(array.new(p.shape, column, "i64"), inner)
      end
    end
    return source
  end, result
end

local function index(args)
  local a = args[1]
  local place, shape = plan_of(args[2], a.shape)
  return array.build(shape, function(at) return array.get(a, place(at)) end,
    a.dtype)
end

local function index_put(args, options)
  local a, value = args[1], args[3]
  local place, shape = plan_of(args[2], a.shape)
  local result = copied(a)
  for at in array.each(shape) do
    local to = place(at)
    local before = options.accumulate and array.get(result, to) or 0
    local v = array.is(value) and wide(value, at) or value
    put(result, to, before + v)
  end
  return result
end

return {
  index = index, index_put = index_put,
  masked_select = masked_select, masked_scatter = masked_scatter,
  nonzero = nonzero,
  scatter = scatter, scatter_reduce = scatter_reduce, index_copy = index_copy, index_fill = index_copy,
  take = take, take_along_dim = take_along_dim, put = put_flat,
  embedding = embedding, segment_sum = segment_sum,
}
