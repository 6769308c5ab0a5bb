--- Where elements lie, in plain Lua.
local array = require "spec.support.array"

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

return {
  split = split,
  chunk = chunk,
  unbind = unbind,
  meshgrid = meshgrid,
}
