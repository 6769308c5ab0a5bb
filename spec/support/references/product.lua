--- Products and convolutions, by their sums.
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

-- ---- convolutions ----

local function pair(value, default)
  if value == nil then return default, default end
  if type(value) == "table" then return value[1], value[2] end
  return value, value
end

-- Calls visit(n, o, c, i, j, y, x, p, q) for every product of a convolution
-- with in-range input: image n, output channel o, channel c (within the
-- group), window place (i, j), output place (y, x), input place (p, q).
local function convolve(sizes, options, visit)
  local stride1, stride2 = pair(options.stride, 1)
  local padding1, padding2 = pair(options.padding, 0)
  local dilation1, dilation2 = pair(options.dilation, 1)
  local groups = options.groups or 1
  local per_group, out_per_group = sizes.c // groups, sizes.o // groups
  for n = 1, sizes.n do
    for o = 1, sizes.o do
      local group = (o - 1) // out_per_group
      for y = 1, sizes.y do
        for x = 1, sizes.x do
          for c = 1, per_group do
            for i = 1, sizes.i do
              for j = 1, sizes.j do
                local p = (y - 1) * stride1 + (i - 1) * dilation1 - padding1 + 1
                local q = (x - 1) * stride2 + (j - 1) * dilation2 - padding2 + 1
                local inside = p >= 1 and p <= sizes.p and q >= 1
                  and q <= sizes.q
                if inside then
                  visit(n, o, c, i, j, y, x, p, q, group * per_group + c)
                end
              end
            end
          end
        end
      end
    end
  end
end

local function accumulate(shape, dtype)
  local a = build(shape, function() return 0.0 end, dtype)
  local strides = array.strides(shape)
  return a, function(index, value)
    local k = array.place(strides, index)
    a.data[k] = a.data[k] + value
  end
end

-- The size of the result along one axis.
local function out_size(size, kernel, stride, padding, dilation)
  return (size + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1
end

local function batched(a)
  if #a.shape == 4 then return a, false end
  return reshaped(a, { 1, table.unpack(a.shape) }), true
end

local function unbatched(a, single)
  return single and reshaped(a, { table.unpack(a.shape, 2) }) or a
end

local function add_bias(result, bias)
  if not bias then return end
  local plane = result.shape[3] * result.shape[4]
  for k = 1, #result.data do
    local channel = (k - 1) // plane % result.shape[2] + 1
    result.data[k] = result.data[k] + bias.data[channel]
  end
end

local function conv2d(args, options)
  local input, single = batched(args[1])
  local weight = args[2]
  local stride1, stride2 = pair(options.stride, 1)
  local padding1, padding2 = pair(options.padding, 0)
  local dilation1, dilation2 = pair(options.dilation, 1)
  local n, c, p, q = table.unpack(input.shape)
  local o, _, i, j = table.unpack(weight.shape)
  local y = out_size(p, i, stride1, padding1, dilation1)
  local x = out_size(q, j, stride2, padding2, dilation2)
  local result, add = accumulate({ n, o, y, x }, input.dtype)
  local sizes = { n = n, c = c, p = p, q = q, o = o, i = i, j = j, y = y, x = x }
  convolve(sizes, options, function(n1, o1, c1, i1, j1, y1, x1, p1, q1, channel)
    add({ n1, o1, y1, x1 }, get(input, { n1, channel, p1, q1 })
      * get(weight, { o1, c1, i1, j1 }))
  end)
  add_bias(result, args[3])
  return unbatched(result, single)
end

-- The convolution read from its result to its input.
local function conv_transpose2d(args, options)
  local input, single = batched(args[1])
  local weight = args[2]
  local stride1, stride2 = pair(options.stride, 1)
  local padding1, padding2 = pair(options.padding, 0)
  local more1, more2 = pair(options.output_padding, 0)
  local dilation1, dilation2 = pair(options.dilation, 1)
  local n, o, y, x = table.unpack(input.shape)
  local _, per_group, i, j = table.unpack(weight.shape)
  local c = per_group * (options.groups or 1)
  local p = (y - 1) * stride1 - 2 * padding1 + dilation1 * (i - 1) + more1 + 1
  local q = (x - 1) * stride2 - 2 * padding2 + dilation2 * (j - 1) + more2 + 1
  local result, add = accumulate({ n, c, p, q }, input.dtype)
  local sizes = { n = n, c = c, p = p, q = q, o = o, i = i, j = j, y = y, x = x }
  convolve(sizes, options, function(n1, o1, c1, i1, j1, y1, x1, p1, q1, channel)
    add({ n1, channel, p1, q1 }, get(input, { n1, o1, y1, x1 })
      * get(weight, { o1, c1, i1, j1 }))
  end)
  add_bias(result, args[3])
  return unbatched(result, single)
end

local function conv_weight(args, options)
  local input, grad, kernel = args[1], args[2], args[3]
  local n, c, p, q = table.unpack(input.shape)
  local _, o, y, x = table.unpack(grad.shape)
  local shape = { o, c // (options.groups or 1), kernel[1], kernel[2] }
  local result, add = accumulate(shape, input.dtype)
  local sizes = {
    n = n, c = c, p = p, q = q, o = o, i = kernel[1], j = kernel[2], y = y, x = x,
  }
  convolve(sizes, options, function(n1, o1, c1, i1, j1, y1, x1, p1, q1, channel)
    add({ o1, c1, i1, j1 }, get(input, { n1, channel, p1, q1 })
      * get(grad, { n1, o1, y1, x1 }))
  end)
  return result
end

-- ---- pooling ----

local function pool_size(size, kernel, stride, padding, dilation, ceil)
  local room = size + 2 * padding - dilation * (kernel - 1) - 1
  if not ceil then return room // stride + 1 end
  local count = -(-room // stride) + 1
  if (count - 1) * stride >= size + padding then count = count - 1 end
  return count
end

local function max_pool2d(args, options)
  local input = args[1]
  local kernel1, kernel2 = pair(args[2])
  local stride1, stride2 = pair(options.stride)
  stride1, stride2 = stride1 or kernel1, stride2 or kernel2
  local padding1, padding2 = pair(options.padding, 0)
  local dilation1, dilation2 = pair(options.dilation, 1)
  local rank = #input.shape
  local high, wide = input.shape[rank - 1], input.shape[rank]
  local shape = array.copy(input.shape)
  shape[rank - 1] = pool_size(high, kernel1, stride1, padding1, dilation1,
    options.ceil_mode)
  shape[rank] = pool_size(wide, kernel2, stride2, padding2, dilation2,
    options.ceil_mode)
  return build(shape, function(index)
    local best = -math.huge
    local source = array.copy(index)
    for i = 0, kernel1 - 1 do
      for j = 0, kernel2 - 1 do
        local p = (index[rank - 1] - 1) * stride1 - padding1 + i * dilation1 + 1
        local q = (index[rank] - 1) * stride2 - padding2 + j * dilation2 + 1
        if p >= 1 and p <= high and q >= 1 and q <= wide then
          source[rank - 1], source[rank] = p, q
          local value = get(input, source)
          if value ~= value or value > best then best = value end
          if best ~= best then return best end
        end
      end
    end
    return best
  end, input.dtype)
end

local function product(args) return matmul(args[1], args[2]) end

return {
  matmul = product,
  mv = product,
  dot = product,
  outer = outer,
  linear = linear,
  conv2d = conv2d,
  conv_transpose2d = conv_transpose2d,
  conv_weight = conv_weight,
  max_pool2d = max_pool2d,
}
