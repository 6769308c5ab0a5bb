--- What every row gives, in plain Lua on plain arrays (array.lua):
--   references.of(name)(args, options)   -> one array per result
-- Nothing here uses the core; an element-by-element row is a function of
-- numbers (references/pointwise.lua), broadcast here.  Draws have no value to
-- state: draws_spec.lua holds them against what a draw promises.
local ts = require "tensus"
local array = require "spec.support.array"
local numbers = require "spec.support.numbers"
local pointwise = require "spec.support.references.pointwise"
local reduce = require "spec.support.references.reduce"
local view = require "spec.support.references.view"

local others = {}
for _, rows in ipairs {
  reduce.rows, view,
  require "spec.support.references.elementwise",
  require "spec.support.references.loss",
  require "spec.support.references.product",
  require "spec.support.references.rows",
  (require "spec.support.references.create"),
  (require "spec.support.references.scan"),
  (require "spec.support.references.order"),
  (require "spec.support.references.position"),
  (require "spec.support.references.layout"),
  (require "spec.support.references.algebra"),
  (require "spec.support.references.linalg"),
  (require "spec.support.references.layer"),
  (require "spec.support.references.sample"),
} do
  for name, f in pairs(rows) do others[name] = f end
end

local references = {}

-- Rows without a stated value, and why.
references.drawn = {
  rand = true, randn = true, rand_like = true, randn_like = true,
  empty_like = true, randint = true, randperm = true, uniform = true,
  normal = true, bernoulli = true, dropout = true, empty = true,
  random = true, multinomial = true,
}

local function common_shape(args)
  local rank = 0
  for _, arg in ipairs(args) do
    if array.is(arg) then rank = math.max(rank, #arg.shape) end
  end
  local shape = {}
  for axis = 1, rank do shape[axis] = 1 end
  for _, arg in ipairs(args) do
    if array.is(arg) then
      for axis, size in ipairs(arg.shape) do
        local at = axis + rank - #arg.shape
        if size ~= 1 then shape[at] = size end
      end
    end
  end
  return shape
end

-- Operands that are given as options: { [3] = "threshold" }.
local function option_operands(name)
  local found = {}
  for _, op in ipairs(ts.ops()) do
    for k, param in ipairs(op.name == name and op.params or {}) do
      if param.option then found[k] = param.name end
    end
  end
  return found
end

local function pointwise_row(name)
  local f, options_at = pointwise[name], option_operands(name)
  return function(args, options)
    local operands = {}
    local shape = common_shape(args)
    for k = 1, args.n or #args do
      local arg = args[k]
      if array.is(arg) then
        operands[k] = view.expanded(arg, shape).data
      end
    end
    local alpha = options.alpha
    local function operand(k, at)
      if operands[k] then return operands[k][at] end
      local given = args[k]
      if options_at[k] then given = options[options_at[k]] end
      if given == true then return 1 end
      return given
    end
    local data = {}
    for at = 1, array.count(shape) do
      local x, y, z = operand(1, at), operand(2, at), operand(3, at)
      if alpha then y, z = alpha * y, nil end
      data[at] = f(x, y, z)
    end
    local first = array.is(args[1]) and args[1] or args[2]
    if name == "where" then first = array.is(args[2]) and args[2] or args[3] end
    if name == "polygamma" and array.is(args[2]) then first = args[2] end
    if name == "bitwise_not" and first.dtype == "bool" then
      for at, value in ipairs(data) do data[at] = value & 1 end
    end
    return array.new(shape, data, first.dtype)
  end
end

--- The reference of a row; nil when nobody has written one.
function references.of(name)
  if pointwise[name] then return pointwise_row(name) end
  return others[name]
end

--- Why two numbers are not the same within `units` units in the last place
-- of the dtype, counted from the greater of |expected| and `scale`; nil when
-- they are.
function references.difference(found, expected, dtype, units, scale)
  if expected ~= expected then
    return found == found and "NaN is due" or nil
  end
  if found ~= found then return "NaN" end
  if not numbers.is_float[dtype] or found == expected then
    return found ~= expected and "differs" or nil
  end
  if math.abs(expected) == math.huge or math.abs(found) == math.huge then
    return "infinite"
  end
  local room = numbers.epsilon[dtype] * units
    * math.max(math.abs(expected), scale)
  if dtype == "f16" then room = math.max(room, 2.0 ^ -24) end
  local off = math.abs(found - expected)
  return off > room and "off by " .. off .. " of " .. room or nil
end

return references
