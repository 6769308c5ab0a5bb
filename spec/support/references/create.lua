--- Creation and optimiser steps.
local array = require "spec.support.array"

local function filled(shape, value, options, default)
  return array.build(shape, function() return value end,
    options.dtype or default)
end

local function sgd(args, options)
  local p, grad, buffer, lr = table.unpack(args, 1, 4)
  local data, slots = {}, {}
  for k, value in ipairs(p.data) do
    local g = grad.data[k] + (options.weight_decay or 0) * value
    if buffer then
      slots[k] = options.first and g
        or (options.momentum or 0) * buffer.data[k]
          + (1 - (options.dampening or 0)) * g
      g = options.nesterov and g + options.momentum * slots[k] or slots[k]
    end
    data[k] = value - lr * g
  end
  local result = array.new(p.shape, data, p.dtype)
  result.changes = { [3] = buffer and array.new(p.shape, slots, p.dtype) }
  return result
end

local function adam(args, options)
  local p, grad, m, v, step, lr = table.unpack(args, 1, 6)
  local beta1, beta2 = options.beta1 or 0.9, options.beta2 or 0.999
  local decay = options.weight_decay or 0
  local data, firsts, seconds = {}, {}, {}
  for k, value in ipairs(p.data) do
    local g = grad.data[k]
    if options.decoupled then
      value = value - lr * decay * value
    else
      g = g + decay * value
    end
    firsts[k] = beta1 * m.data[k] + (1 - beta1) * g
    seconds[k] = beta2 * v.data[k] + (1 - beta2) * g * g
    local size = math.sqrt(seconds[k] / (1 - beta2 ^ step))
    data[k] = value - lr * firsts[k] / (1 - beta1 ^ step)
      / (size + (options.eps or 1e-8))
  end
  local result = array.new(p.shape, data, p.dtype)
  result.changes = {
    [3] = array.new(p.shape, firsts, p.dtype),
    [4] = array.new(p.shape, seconds, p.dtype),
  }
  return result
end

return {
  zeros = function(args, options) return filled(args[1], 0, options, "f32") end,
  ones = function(args, options) return filled(args[1], 1, options, "f32") end,
  full = function(args, options)
    return filled(args[1], args[2], options, "f32")
  end,
  zeros_like = function(args, options)
    return filled(args[1].shape, 0, options, args[1].dtype)
  end,
  ones_like = function(args, options)
    return filled(args[1].shape, 1, options, args[1].dtype)
  end,
  full_like = function(args, options)
    return filled(args[1].shape, args[2], options, args[1].dtype)
  end,
  eye = function(args, options)
    return array.build({ args[1], args[2] or args[1] }, function(index)
      return index[1] == index[2] and 1 or 0
    end, options.dtype or "f32")
  end,
  arange = function(args, options)
    local first, last, step = table.unpack(args, 1, 3)
    if last == nil then first, last = 1, first end
    step = step or 1
    local data, n = {}, math.floor((last - first) / step) + 1
    for k = 1, n do data[k] = first + (k - 1) * step end
    local whole = math.type(first) == "integer"
      and math.type(last) == "integer" and math.type(step) == "integer"
    return array.new({ math.max(n, 0) }, data,
      options.dtype or (whole and "i64" or "f32"))
  end,
  linspace = function(args, options)
    local first, last, n = table.unpack(args, 1, 3)
    local data = {}
    for k = 1, n do
      data[k] = n == 1 and first or first + (last - first) * (k - 1) / (n - 1)
    end
    return array.new({ n }, data, options.dtype or "f32")
  end,
  sgd_update = sgd,
  adam_update = adam,
}
