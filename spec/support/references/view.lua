--- Views, their transposes, copies, joining, and picking at positions.
local array = require "spec.support.array"
local numbers = require "spec.support.numbers"

local build, get, axis_of = array.build, array.get, array.axis

local function zeros(shape, dtype)
  local zero = numbers.is_float[dtype] and 0.0 or 0
  return build(shape, function() return zero end, dtype)
end

local function put(a, index, value)
  a.data[array.place(array.strides(a.shape), index)] = value
end

local function same_data(a, shape)
  return array.new(shape, a.data, a.dtype)
end

local function with(index, axis, value)
  local changed = array.copy(index)
  changed[axis] = value
  return changed
end

local function place_of(position, size)
  return position < 0 and position + size + 1 or position
end

-- Sizes with at most one -1, which takes what is left.
local function reshape(args)
  local a, shape = args[1], array.copy(args[2])
  local known, hole = 1, nil
  for axis, size in ipairs(shape) do
    if size == -1 then hole = axis else known = known * size end
  end
  if hole then shape[hole] = #a.data // known end
  return same_data(a, shape)
end

local function permute(a, dims)
  local shape = {}
  for axis, dim in ipairs(dims) do
    shape[axis] = a.shape[axis_of(#a.shape, dim)]
  end
  return build(shape, function(index)
    local source = {}
    for axis, dim in ipairs(dims) do
      source[axis_of(#a.shape, dim)] = index[axis]
    end
    return get(a, source)
  end, a.dtype)
end

local function transpose(a, dim1, dim2)
  local dims = {}
  for axis = 1, #a.shape do dims[axis] = axis end
  dim1, dim2 = axis_of(#dims, dim1), axis_of(#dims, dim2)
  dims[dim1], dims[dim2] = dims[dim2], dims[dim1]
  return permute(a, dims)
end

local function squeeze(args)
  local a, named = args[1], nil
  if args[2] ~= nil then
    named = {}
    local dims = type(args[2]) == "table" and args[2] or { args[2] }
    for _, dim in ipairs(dims) do named[axis_of(#a.shape, dim)] = true end
  end
  local shape = {}
  for axis, size in ipairs(a.shape) do
    local goes = size == 1 and (named == nil or named[axis])
    if not goes then shape[#shape + 1] = size end
  end
  return same_data(a, shape)
end

local function unsqueeze(args)
  local a, shape = args[1], array.copy(args[1].shape)
  table.insert(shape, axis_of(#shape + 1, args[2]), 1)
  return same_data(a, shape)
end

local function expand(a, shape)
  local sizes = array.copy(shape)
  local extra = #shape - #a.shape
  for axis, size in ipairs(shape) do
    if size == -1 then sizes[axis] = a.shape[axis - extra] end
  end
  return build(sizes, function(index)
    local source = {}
    for axis, size in ipairs(a.shape) do
      source[axis] = size == 1 and 1 or index[axis + extra]
    end
    return get(a, source)
  end, a.dtype)
end

local function slice(a, dim, first, last, step)
  local axis = axis_of(#a.shape, dim)
  local size = a.shape[axis]
  first, last = place_of(first, size), place_of(last, size)
  step = step or 1
  local shape = array.copy(a.shape)
  shape[axis] = math.max(0, (last - first) // step + 1)
  return build(shape, function(index)
    return get(a, with(index, axis, first + (index[axis] - 1) * step))
  end, a.dtype)
end

local function select(a, dim, position)
  local axis = axis_of(#a.shape, dim)
  local row = slice(a, dim, position, position)
  local shape = array.copy(row.shape)
  table.remove(shape, axis)
  return same_data(row, shape)
end

-- Index of the whole from (rest, k along the diagonal).
local function on_diagonal(index, offset, axis1, axis2)
  local k = index[#index]
  local source, at = {}, 0
  for axis = 1, #index + 1 do
    if axis == axis1 then
      source[axis] = k + math.max(0, -offset)
    elseif axis == axis2 then
      source[axis] = k + math.max(0, offset)
    else
      at = at + 1
      source[axis] = index[at]
    end
  end
  return source
end

local function diagonal(args, options)
  local a, offset = args[1], options.offset or 0
  local axis1 = axis_of(#a.shape, options.dim1 or 1)
  local axis2 = axis_of(#a.shape, options.dim2 or 2)
  local shape = {}
  for axis, size in ipairs(a.shape) do
    if axis ~= axis1 and axis ~= axis2 then shape[#shape + 1] = size end
  end
  local length = math.min(a.shape[axis1] - math.max(0, -offset),
    a.shape[axis2] - math.max(0, offset))
  shape[#shape + 1] = math.max(0, length)
  return build(shape, function(index)
    return get(a, on_diagonal(index, offset, axis1, axis2))
  end, a.dtype)
end

local function diag_embed(args, options)
  local a, offset = args[1], options.offset or 0
  local rank = #a.shape + 1
  local axis1 = axis_of(rank, options.dim1 or 1)
  local axis2 = axis_of(rank, options.dim2 or 2)
  local shape, at = {}, 0
  local length = a.shape[#a.shape] + math.abs(offset)
  for axis = 1, rank do
    if axis == axis1 or axis == axis2 then
      shape[axis] = length
    else
      at = at + 1
      shape[axis] = a.shape[at]
    end
  end
  local result = zeros(shape, a.dtype)
  for index, k in array.each(a.shape) do
    put(result, on_diagonal(index, offset, axis1, axis2), a.data[k])
  end
  return result
end

local function place(args)
  local a, shape, dim, first, step = table.unpack(args, 1, 5)
  local axis = axis_of(#shape, dim)
  first = place_of(first, shape[axis])
  local result = zeros(shape, a.dtype)
  for index, k in array.each(a.shape) do
    local at = first + (index[axis] - 1) * (step or 1)
    put(result, with(index, axis, at), a.data[k])
  end
  return result
end

-- Arrays of rank 1 without elements are skipped.
local function cat(args)
  local parts = {}
  for _, part in ipairs(args[1]) do
    local skipped = #part.shape == 1 and part.shape[1] == 0
    if not skipped then parts[#parts + 1] = part end
  end
  local first = parts[1] or args[1][1]
  local axis = axis_of(#first.shape, args[2] or 1)
  local shape = array.copy(first.shape)
  shape[axis] = 0
  for _, part in ipairs(parts) do
    shape[axis] = shape[axis] + part.shape[axis]
  end
  return build(shape, function(index)
    local at, k = index[axis], 1
    while at > parts[k].shape[axis] do
      at = at - parts[k].shape[axis]
      k = k + 1
    end
    return get(parts[k], with(index, axis, at))
  end, first.dtype)
end

local function stack(args)
  local parts, first = args[1], args[1][1]
  local shape = array.copy(first.shape)
  local axis = axis_of(#shape + 1, args[2] or 1)
  table.insert(shape, axis, #parts)
  return build(shape, function(index)
    local source = array.copy(index)
    local k = table.remove(source, axis)
    return get(parts[k], source)
  end, first.dtype)
end

local function gather(args)
  local a, dim, picks = table.unpack(args, 1, 3)
  local axis = axis_of(#a.shape, dim)
  return build(picks.shape, function(index)
    return get(a, with(index, axis, get(picks, index)))
  end, a.dtype)
end

local function scatter_add(args)
  local a, dim, picks, source = table.unpack(args, 1, 4)
  local axis = axis_of(#a.shape, dim)
  local result = array.new(a.shape, array.copy(a.data), a.dtype)
  for index in array.each(picks.shape) do
    local at = with(index, axis, get(picks, index))
    put(result, at, get(result, at) + get(source, index))
  end
  return result
end

-- A single position keeps its axis, with size 1.
local function index_select(args)
  local a, dim, picks = table.unpack(args, 1, 3)
  local axis = axis_of(#a.shape, dim)
  local shape = array.copy(a.shape)
  shape[axis] = #picks.data
  return build(shape, function(index)
    return get(a, with(index, axis, picks.data[index[axis]]))
  end, a.dtype)
end

local function index_add(args, options)
  local a, dim, picks, source = table.unpack(args, 1, 4)
  local axis = axis_of(#a.shape, dim)
  local result = array.new(a.shape, array.copy(a.data), a.dtype)
  for index in array.each(source.shape) do
    local at = with(index, axis, picks.data[index[axis]])
    local value = (options.alpha or 1) * get(source, index)
    put(result, at, get(result, at) + value)
  end
  return result
end

local function flatten(args)
  local a = args[1]
  if #a.shape == 0 then return same_data(a, { 1 }) end
  local first = axis_of(#a.shape, args[2] or 1)
  local last = axis_of(#a.shape, args[3] or -1)
  local shape = {}
  for axis, size in ipairs(a.shape) do
    if axis > first and axis <= last then
      shape[#shape] = shape[#shape] * size
    else
      shape[#shape + 1] = size
    end
  end
  return same_data(a, shape)
end

local function itself(args) return args[1] end

local function stretched(args)
  local a, other = args[1], args[2]
  if not array.is(other) then
    return build(a.shape, function() return other end, a.dtype)
  end
  return array.new(a.shape, expand(other, a.shape).data, a.dtype)
end

return {
  reshape = reshape,
  view = reshape,
  permute = function(args) return permute(args[1], args[2]) end,
  transpose = function(args) return transpose(args[1], args[2], args[3]) end,
  t = function(args)
    local a = args[1]
    return #a.shape < 2 and a or transpose(a, 1, 2)
  end,
  squeeze = squeeze,
  unsqueeze = unsqueeze,
  expand = function(args) return expand(args[1], args[2]) end,
  select = function(args) return select(args[1], args[2], args[3]) end,
  narrow = function(args)
    local a, dim, start, length = table.unpack(args, 1, 4)
    start = place_of(start, a.shape[axis_of(#a.shape, dim)])
    return slice(a, dim, start, start + length - 1)
  end,
  slice = function(args) return slice(table.unpack(args, 1, 5)) end,
  diagonal = diagonal,
  diag_embed = diag_embed,
  place = place,
  flatten = flatten,
  cat = cat,
  stack = stack,
  gather = gather,
  scatter_add = scatter_add,
  index_select = index_select,
  index_add = index_add,
  clone = itself,
  contiguous = itself,
  detach = itself,
  copy = stretched,
  fill = stretched,
  zero = function(args) return zeros(args[1].shape, args[1].dtype) end,
  expanded = expand,
}
