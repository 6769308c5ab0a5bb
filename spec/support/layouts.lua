--- The same values in every way that memory can hold them.
--   layout.name
--   layout.values(a)      the array that it can hold: a itself, save `expanded`
--   layout.tensor(a, o)   a tensor of layout.values(a)
--   layout.overlaps       elements share memory: no target of an in-place op
local ts = require "tensus"
local array = require "spec.support.array"

local function same(a) return a end

local function reversed(rank)
  local dims = {}
  for axis = 1, rank do dims[axis] = rank - axis + 1 end
  return dims
end

-- The axes lie in memory in the opposite order.
local function transposed(a, options)
  if #a.shape < 2 then return array.tensor(a, options) end
  local dims = reversed(#a.shape)
  local shape = {}
  for axis, dim in ipairs(dims) do shape[axis] = a.shape[dim] end
  local strides = array.strides(a.shape)
  local swapped = array.build(shape, function(index)
    local k = 1
    for axis, dim in ipairs(dims) do
      k = k + (index[axis] - 1) * strides[dim]
    end
    return a.data[k]
  end, a.dtype)
  return array.tensor(swapped, options):permute(dims)
end

-- Every second element of every axis of a larger tensor, from the second on;
-- what lies between is a number that would show in any result.
local function holes(a, options)
  local shape = {}
  for axis, size in ipairs(a.shape) do shape[axis] = 2 * size + 1 end
  if #shape == 0 then
    local row = array.new({ 3 }, { 77, a.data[1], 77 }, a.dtype)
    return array.tensor(row, options):select(1, 2)
  end
  local strides = array.strides(a.shape)
  local large = array.build(shape, function(index)
    local k = 1
    for axis = 1, #shape do
      if index[axis] % 2 == 1 then return 77 end
      k = k + (index[axis] // 2 - 1) * strides[axis]
    end
    return a.data[k]
  end, a.dtype)
  local x = array.tensor(large, options)
  for axis, size in ipairs(a.shape) do
    x = ts.slice(x, axis, size == 0 and 1 or 2, 2 * size, 2)
  end
  return x
end

-- A matrix marked `regular` keeps its rows; a batch of them may repeat one.
local function cannot_repeat(a)
  return #a.shape == 0 or a.shape[1] < 2 or a.regular and #a.shape == 2
end

-- The first row of the first axis, for all rows.
local function repeated(a)
  if cannot_repeat(a) then return a end
  local step = #a.data // a.shape[1]
  local data = {}
  for k = 1, #a.data do data[k] = a.data[(k - 1) % step + 1] end
  return array.new(a.shape, data, a.dtype)
end

local function expanded(a, options)
  if cannot_repeat(a) then return array.tensor(a, options) end
  local shape = array.copy(a.shape)
  shape[1] = 1
  local data = table.move(a.data, 1, #a.data // a.shape[1], 1, {})
  local row = array.tensor(array.new(shape, data, a.dtype), options)
  return row:expand(a.shape)
end

return {
  { name = "contiguous", values = same, tensor = array.tensor },
  { name = "transposed", values = same, tensor = transposed },
  { name = "with holes", values = same, tensor = holes },
  { name = "expanded", values = repeated, tensor = expanded, overlaps = true },
}
