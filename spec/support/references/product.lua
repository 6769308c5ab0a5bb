--- Products, by their sums.
local array = require "spec.support.array"
local numbers = require "spec.support.numbers"
local view = require "spec.support.references.view"

local build, get = array.build, array.get

local function zero_of(a) return numbers.is_float[a.dtype] and 0.0 or 0 end

local function reshaped(a, shape) return array.new(shape, a.data, a.dtype) end

local function batch_of(shape)
  return table.move(shape, 1, #shape - 2, 1, {})
end

local function broadcast(shape1, shape2)
  local rank = math.max(#shape1, #shape2)
  local shape = {}
  for axis = 1, rank do
    local size1 = shape1[axis - rank + #shape1] or 1
    local size2 = shape2[axis - rank + #shape2] or 1
    shape[axis] = size1 == 1 and size2 or size1
  end
  return shape
end

local function joined(list, ...)
  local result = array.copy(list)
  for _, value in ipairs { ... } do result[#result + 1] = value end
  return result
end

local function matmul(a, b)
  local left_vector, right_vector = #a.shape == 1, #b.shape == 1
  if left_vector then a = reshaped(a, { 1, a.shape[1] }) end
  if right_vector then b = reshaped(b, { b.shape[1], 1 }) end
  local batch = broadcast(batch_of(a.shape), batch_of(b.shape))
  local rows, inner = a.shape[#a.shape - 1], a.shape[#a.shape]
  local columns = b.shape[#b.shape]
  a = view.expanded(a, joined(batch, rows, inner))
  b = view.expanded(b, joined(batch, inner, columns))
  local data, at, zero = {}, 0, zero_of(a)
  for block = 0, array.count(batch) - 1 do
    for i = 0, rows - 1 do
      for j = 1, columns do
        local sum = zero
        for k = 1, inner do
          sum = sum + a.data[(block * rows + i) * inner + k]
            * b.data[(block * inner + k - 1) * columns + j]
        end
        at = at + 1
        data[at] = sum
      end
    end
  end
  local shape = batch
  if not left_vector then shape = joined(shape, rows) end
  if not right_vector then shape = joined(shape, columns) end
  return array.new(shape, data, a.dtype)
end

local function linear(args)
  local x, weight, bias = args[1], args[2], args[3]
  local swapped = build({ weight.shape[2], weight.shape[1] }, function(index)
    return get(weight, { index[2], index[1] })
  end, weight.dtype)
  local y = matmul(x, swapped)
  if not bias then return y end
  local out = weight.shape[1]
  for k = 1, #y.data do
    y.data[k] = y.data[k] + bias.data[(k - 1) % out + 1]
  end
  return y
end

local function outer(args)
  local a, b = args[1], args[2]
  return build({ a.shape[1], b.shape[1] }, function(index)
    return a.data[index[1]] * b.data[index[2]]
  end, a.dtype)
end

local function product(args) return matmul(args[1], args[2]) end

return {
  matmul = product,
  mv = product,
  dot = product,
  outer = outer,
  linear = linear,
}
