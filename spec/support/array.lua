--- Plain arrays: {shape = {2, 3}, data = {1, 2, ...}, dtype = "f32"}.
-- Row-major, Lua numbers; a boolean is 1 or 0.  What the references work on:
-- nothing here is asked of the core but the values of a tensor.
local ts = require "tensus"

local array = {}

function array.count(shape)
  local n = 1
  for _, size in ipairs(shape) do n = n * size end
  return n
end

function array.new(shape, data, dtype)
  return { shape = shape, data = data, dtype = dtype }
end

function array.is(value)
  return type(value) == "table" and value.data ~= nil and value.shape ~= nil
end

--- Steps of each axis in row-major order.
function array.strides(shape)
  local strides, step = {}, 1
  for axis = #shape, 1, -1 do
    strides[axis] = step
    step = step * shape[axis]
  end
  return strides
end

--- Every index of a shape in row-major order: for index, k in each(shape).
-- The table is one and the same; it changes from step to step.
function array.each(shape)
  local index, k, n = {}, 0, array.count(shape)
  for axis = 1, #shape do index[axis] = 1 end
  return function()
    k = k + 1
    if k > n then return nil end
    if k > 1 then
      local axis = #shape
      while index[axis] == shape[axis] do
        index[axis] = 1
        axis = axis - 1
      end
      index[axis] = index[axis] + 1
    end
    return index, k
  end
end

--- The place in data of an index (from 1).
function array.place(strides, index)
  local k = 1
  for axis = 1, #strides do k = k + (index[axis] - 1) * strides[axis] end
  return k
end

function array.get(a, index)
  return a.data[array.place(array.strides(a.shape), index)]
end

--- An array of a shape whose elements are f(index).
function array.build(shape, f, dtype)
  local data = {}
  for index, k in array.each(shape) do data[k] = f(index) end
  return array.new(shape, data, dtype)
end

function array.copy(list) return table.move(list, 1, #list, 1, {}) end

--- The positive number of a dim.
function array.axis(rank, dim)
  return dim < 0 and dim + rank + 1 or dim
end

local function flatten(value, data)
  if type(value) == "table" then
    for _, row in ipairs(value) do flatten(row, data) end
  elseif type(value) == "boolean" then
    data[#data + 1] = value and 1 or 0
  else
    data[#data + 1] = value
  end
  return data
end

local function shape_of(x)
  local shape = {}
  for axis = 1, x.ndim do shape[axis] = x:size(axis) end
  return shape
end

--- The values of a tensor.
function array.of(x)
  return array.new(shape_of(x), flatten(x:tolist(), {}), x.dtype)
end

--- A contiguous tensor of the values.
function array.tensor(a, options)
  local wanted = { dtype = a.dtype, device = options and options.device }
  if #a.shape == 0 then
    local only = a.data[1]
    if a.dtype == "bool" then only = only ~= 0 end
    return ts.tensor(only, wanted)
  end
  if #a.data == 0 then return ts.empty(a.shape, wanted) end
  return ts.tensor(a.data, wanted):reshape(a.shape)
end

function array.show(shape) return "{" .. table.concat(shape, ",") .. "}" end

return array
