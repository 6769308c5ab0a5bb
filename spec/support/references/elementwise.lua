--- Rows of several pointwise passes, in plain Lua.
local array = require "spec.support.array"
local view = require "spec.support.references.view"

local greatest = {
  f16 = 65504.0, bf16 = 0x1.fep127, f32 = 0x1.fffffep127,
  f64 = 0x1.fffffffffffffp1023,
}

local function map(a, f)
  local data = {}
  for k, value in ipairs(a.data) do data[k] = f(value) end
  return array.new(a.shape, data, a.dtype)
end

local function common_shape(args, count)
  local rank, shape = 0, {}
  for k = 1, count do
    if array.is(args[k]) then rank = math.max(rank, #args[k].shape) end
  end
  for axis = 1, rank do shape[axis] = 1 end
  for k = 1, count do
    for axis, size in ipairs(array.is(args[k]) and args[k].shape or {}) do
      local at = axis + rank - #args[k].shape
      if size ~= 1 then shape[at] = size end
    end
  end
  return shape
end

-- f of numbers, of operands stretched to one shape.
local function each(args, count, f)
  local shape = common_shape(args, count)
  local operands, data = {}, {}
  for k = 1, count do
    if array.is(args[k]) then
      operands[k] = view.expanded(args[k], shape).data
    end
  end
  for at = 1, array.count(shape) do
    local values = {}
    for k = 1, count do
      values[k] = operands[k] and operands[k][at] or args[k]
    end
    data[at] = f(table.unpack(values, 1, count))
  end
  return array.new(shape, data, args[1].dtype)
end

local function is_close(x, y, options)
  local most = (options.atol or 1e-8) + (options.rtol or 1e-5) * math.abs(y)
  if x == y then return true end
  if x ~= x and y ~= y then return options.equal_nan == true end
  return x - x == 0 and y - y == 0 and math.abs(x - y) <= most
end

return {
  nan_to_num = function(args, options)
    local most = greatest[args[1].dtype]
    return map(args[1], function(x)
      if x ~= x then return options.nan or 0.0 end
      if x == math.huge then return options.posinf or most end
      return x == -math.huge and (options.neginf or -most) or x
    end)
  end,
  addcmul = function(args, options)
    local value = options.value or 1
    return each(args, 3, function(x, a, b) return x + value * (a * b) end)
  end,
  addcdiv = function(args, options)
    local value = options.value or 1
    return each(args, 3, function(x, a, b) return x + value * (a / b) end)
  end,
  isclose = function(args, options)
    local r = each(args, 2, function(x, y)
      return is_close(x, y, options) and 1 or 0
    end)
    r.dtype = "bool"
    return r
  end,
}
