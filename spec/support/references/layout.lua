--- Where elements lie, in plain Lua.
local array = require "spec.support.array"
local numbers = require "spec.support.numbers"

local build, get, axis_of = array.build, array.get, array.axis

local function changed(list, at, value)
  local copy = array.copy(list)
  copy[at] = value
  return copy
end

--- Positions first + 1 to first + length of an axis.
local function part(a, axis, first, length)
  return build(changed(a.shape, axis, length), function(index)
    return get(a, changed(index, axis, index[axis] + first))
  end, a.dtype)
end

-- Every rule for pieces ends in a list of sizes.
local function parts(a, axis, sizes)
  local pieces, first = {}, 0
  for k, length in ipairs(sizes) do
    pieces[k] = part(a, axis, first, length)
    first = first + length
  end
  return table.unpack(pieces)
end

local function equal_sizes(size, length)
  local sizes = {}
  while size > length do
    sizes[#sizes + 1] = length
    size = size - length
  end
  sizes[#sizes + 1] = size
  return sizes
end

local function split(args)
  local a, size = args[1], args[2]
  local axis = axis_of(#a.shape, args[3] or 1)
  if type(size) == "number" then size = equal_sizes(a.shape[axis], size) end
  return parts(a, axis, size)
end

local function chunk(args)
  local a = args[1]
  local axis = axis_of(#a.shape, args[3] or 1)
  local size = a.shape[axis]
  return parts(a, axis, equal_sizes(size, math.max(1, math.ceil(size / args[2]))))
end

local function unbind(args)
  local a = args[1]
  local axis, list = axis_of(#a.shape, args[2] or 1), {}
  local shape = array.copy(a.shape)
  table.remove(shape, axis)
  for k = 1, a.shape[axis] do
    list[k] = build(shape, function(index)
      local source = array.copy(index)
      table.insert(source, axis, k)
      return get(a, source)
    end, a.dtype)
  end
  return table.unpack(list)
end

local function meshgrid(args, options)
  local axes, shape, list = {}, {}, {}
  for k in ipairs(args[1]) do axes[k] = k end
  if options.indexing == "xy" and #axes > 1 then axes[1], axes[2] = 2, 1 end
  for k, a in ipairs(args[1]) do shape[axes[k]] = #a.data end
  for k, a in ipairs(args[1]) do
    list[k] = build(shape, function(index) return a.data[index[axes[k]]] end,
      a.dtype)
  end
  return table.unpack(list)
end

-- ---- windows and free strides ----

--- The place of a window's element on the axis that was cut.
local function unfolded(index, axis, step)
  local source = array.copy(index)
  local within = table.remove(source)
  source[axis] = (index[axis] - 1) * (step or 1) + within
  return source
end

local function unfold(args)
  local a, dim, size, step = table.unpack(args, 1, 4)
  local axis = axis_of(#a.shape, dim)
  local shape = changed(a.shape, axis, (a.shape[axis] - size) // (step or 1) + 1)
  shape[#shape + 1] = size
  return build(shape, function(index)
    return get(a, unfolded(index, axis, step))
  end, a.dtype)
end

local function zeros(shape, dtype)
  local zero = numbers.is_float[dtype] and 0.0 or 0
  return build(shape, function() return zero end, dtype)
end

local function unfold_add(args)
  local g, shape, dim, _, step = table.unpack(args, 1, 5)
  local axis, strides = axis_of(#shape, dim), array.strides(shape)
  local sum = zeros(shape, g.dtype)
  for index, k in array.each(g.shape) do
    local at = array.place(strides, unfolded(index, axis, step))
    sum.data[at] = sum.data[at] + g.data[k]
  end
  return sum
end

local function as_strided(args)
  local a, shape, strides, offset = table.unpack(args, 1, 4)
  return build(shape, function(index)
    return a.data[array.place(strides, index) + (offset or 0)]
  end, a.dtype)
end

local function as_strided_add(args)
  local g, shape, strides, offset = table.unpack(args, 1, 4)
  local sum = zeros(shape, g.dtype)
  for index, k in array.each(g.shape) do
    local at = array.place(strides, index) + (offset or 0)
    sum.data[at] = sum.data[at] + g.data[k]
  end
  return sum
end

-- ---- other sizes, other orders ----

local function unflatten(args)
  local a, dim, sizes = table.unpack(args, 1, 3)
  local axis, shape = axis_of(#a.shape, dim), {}
  local rest = a.shape[axis]
  for _, size in ipairs(sizes) do
    if size > 0 then rest = rest // size end
  end
  for k, size in ipairs(a.shape) do
    if k ~= axis then
      shape[#shape + 1] = size
    else
      for _, part in ipairs(sizes) do
        shape[#shape + 1] = part == -1 and rest or part
      end
    end
  end
  return array.new(shape, a.data, a.dtype)
end

local function expand_as(args)
  local a, shape = args[1], args[2].shape
  local more = #shape - #a.shape
  return build(shape, function(index)
    local source = {}
    for k, size in ipairs(a.shape) do
      source[k] = size == 1 and 1 or index[k + more]
    end
    return get(a, source)
  end, a.dtype)
end

local function as_list(value)
  return type(value) == "table" and value or { value }
end

local function movedim(args)
  local a, from, to = args[1], as_list(args[2]), as_list(args[3])
  local rank, order, moved = #a.shape, {}, {}
  for k, dim in ipairs(from) do
    order[axis_of(rank, to[k])] = axis_of(rank, dim)
    moved[axis_of(rank, dim)] = true
  end
  local axis = 1
  for k = 1, rank do
    if not order[k] then
      while moved[axis] do axis = axis + 1 end
      order[k], moved[axis] = axis, true
    end
  end
  local shape = {}
  for k = 1, rank do shape[k] = a.shape[order[k]] end
  return build(shape, function(index)
    local source = {}
    for k = 1, rank do source[order[k]] = index[k] end
    return get(a, source)
  end, a.dtype)
end

local function diag(args)
  local a, k = args[1], args[2] or 0
  local down, right = math.max(-k, 0), math.max(k, 0)
  if #a.shape == 1 then
    local n = a.shape[1] + math.abs(k)
    local zero = zeros({ n, n }, a.dtype)
    for i, value in ipairs(a.data) do
      zero.data[(i + down - 1) * n + i + right] = value
    end
    return zero
  end
  local n = math.max(0, math.min(a.shape[1] - down, a.shape[2] - right))
  return build({ n }, function(index)
    return get(a, { index[1] + down, index[1] + right })
  end, a.dtype)
end

local function trace(args)
  local a = args[1]
  local sum = numbers.is_float[a.dtype] and 0.0 or 0
  for i = 1, math.min(a.shape[1], a.shape[2]) do sum = sum + get(a, { i, i }) end
  return array.new({}, { sum }, numbers.is_float[a.dtype] and a.dtype or "i64")
end

local function tile(args)
  local a, counts, shape = args[1], args[2], {}
  local more = #counts - #a.shape
  for k, count in ipairs(counts) do
    shape[k] = count * (k > more and a.shape[k - more] or 1)
  end
  return build(shape, function(index)
    local source = {}
    for k, size in ipairs(a.shape) do
      source[k] = (index[k + more] - 1) % size + 1
    end
    return get(a, source)
  end, a.dtype)
end

local function repeat_interleave(args)
  local a, counts, dim = table.unpack(args, 1, 3)
  if not dim then a, dim = array.new({ #a.data }, a.data, a.dtype), 1 end
  local axis, places = axis_of(#a.shape, dim), {}
  for k = 1, a.shape[axis] do
    local n = array.is(counts) and (counts.data[k] or counts.data[1]) or counts
    for _ = 1, n do places[#places + 1] = k end
  end
  return build(changed(a.shape, axis, #places), function(index)
    return get(a, changed(index, axis, places[index[axis]]))
  end, a.dtype)
end

return {
  unfold = unfold,
  unfold_add = unfold_add,
  as_strided = as_strided,
  as_strided_add = as_strided_add,
  unflatten = unflatten,
  expand_as = expand_as,
  movedim = movedim,
  diag = diag,
  trace = trace,
  tile = tile,
  repeat_interleave = repeat_interleave,
  split = split,
  chunk = chunk,
  unbind = unbind,
  meshgrid = meshgrid,
}
