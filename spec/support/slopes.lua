--- First and second derivatives of a call, by pull, by push and by differences.
--   slopes.variables(op, c)      arrays that have a derivative
--   slopes.call(op, c, make)     f(xs): the float result, from tensors
--   slopes.check(f, arrays)      raises where push, differences and pull part
--   slopes.second(f)             the gradient of f as a function to check
-- Differences are central, in f64, along one drawn direction.
local ts = require "tensus"
local array = require "spec.support.array"
local cases = require "spec.support.cases"
local numbers = require "spec.support.numbers"

local slopes = {}

local step = 6e-6 -- about the cube root of the f64 epsilon
local room = 1e-7

local function is_variable(op, arg, k)
  if not array.is(arg) or not numbers.is_float[arg.dtype] then return false end
  return not (k and op.slopes and op.slopes[k] == false)
end

--- The float arrays of a case that a derivative flows to, in order.
function slopes.variables(op, c)
  local found = {}
  for k = 1, c.n do
    local arg = c.args[k]
    if is_variable(op, arg, k) then
      found[#found + 1] = arg
    elseif type(arg) == "table" and not array.is(arg) then
      for _, item in ipairs(arg) do
        if is_variable(op, item) then found[#found + 1] = item end
      end
    end
  end
  for _, name in ipairs(cases.array_options(c)) do
    local option = c.options[name]
    if is_variable(op, option) then found[#found + 1] = option end
  end
  return found
end

local function generator_of(op)
  for _, param in ipairs(op.params) do
    if param.kind == "generator" then return ts.generator(5) end
  end
  return nil
end

-- The results that may have a slope, in order.
local function floats(...)
  local list = {}
  for k = 1, select("#", ...) do
    local y = select(k, ...)
    if numbers.is_float[y.dtype] then list[#list + 1] = y end
  end
  return list
end

--- The call as a function of a list of tensors, one per variable; the other
-- arrays are made by `make`.
function slopes.call(op, c, make)
  make = make or array.tensor
  local f = cases.call(op)
  return function(xs)
    local next_x, wanted = 0, {}
    for _, a in ipairs(slopes.variables(op, c)) do wanted[a] = true end
    local args = cases.tensors(c, function(a)
      if not wanted[a] then return make(a) end
      next_x = next_x + 1
      return xs[next_x]
    end)
    if op.only_inplace then args[1] = args[1]:clone() end
    if cases.symmetric[op.name] then
      args[1] = (args[1] + args[1]:transpose(-1, -2)) * 0.5
    end
    local call = { n = c.n, options = c.options }
    local generator = generator_of(op)
    if generator then
      call.options = { generator = generator }
      for name, value in pairs(c.options) do call.options[name] = value end
    end
    return floats(cases.run(f, call, args))
  end
end

local function random_like(shape)
  return array.build(shape, function() return numbers.between(-1, 1) end, "f64")
end

local function moved(a, direction, by)
  local data = {}
  for k, value in ipairs(a.data) do data[k] = value + by * direction.data[k] end
  return array.new(a.shape, data, a.dtype)
end

--- Tensors that require grad, one per array, made by `make`.
function slopes.leaves(arrays, make)
  local xs = {}
  for k, a in ipairs(arrays) do
    xs[k] = (make or array.tensor)(a):requires_grad_()
  end
  return xs
end

local function tensors(arrays, make)
  local xs = {}
  for k, a in ipairs(arrays) do xs[k] = (make or array.tensor)(a) end
  return xs
end

--- The tangents of f at xs along vs, and its results.
function slopes.push(f, xs, vs)
  local ys, pushed = ts.jvp(f, xs, vs)
  return pushed, ys
end

--- The cotangents of leaves xs for cotangents ws of f; a result that depends
-- on none of them is a constant, and none depends on constants alone.
function slopes.pull(f, xs, ws, options)
  local ys, seeds = {}, {}
  for k, y in ipairs(f(xs)) do
    if y.requires_grad then
      ys[#ys + 1], seeds[#seeds + 1] = y, ws[k]
    end
  end
  if #ys == 0 then
    local zeros = {}
    for k, x in ipairs(xs) do zeros[k] = ts.zeros_like(x) end
    return zeros
  end
  local wanted = { grad_outputs = seeds, unused = "zero" }
  for name, value in pairs(options or {}) do wanted[name] = value end
  return ts.grad(ys, xs, wanted)
end

local function is_finite(x) return x - x == 0 end

local function differ(found, expected)
  return math.abs(found - expected) > room * math.max(1, math.abs(expected))
end

local function fail(what, k, found, expected)
  error(string.format("%s [%d]: %.12g is found, %.12g is due", what, k, found,
    expected), 0)
end

local function dot(as, bs)
  local sum, size = 0.0, 1.0
  for k, a in ipairs(as) do
    for at, value in ipairs(a.data) do
      local term = value * bs[k].data[at]
      sum = sum + term
      size = size + math.abs(term)
    end
  end
  return sum, size
end

local function arrays_of(xs)
  local list = {}
  for k, x in ipairs(xs) do list[k] = array.of(x) end
  return list
end

--- Compares the push with differences, the pull with the push.  Returns how
-- many slopes were not 0.
function slopes.check(f, arrays, what)
  local vs, above, below = {}, {}, {}
  for k, a in ipairs(arrays) do
    vs[k] = random_like(a.shape)
    above[k], below[k] = moved(a, vs[k], step), moved(a, vs[k], -step)
  end
  local high = arrays_of(f(slopes.leaves(above)))
  local low = arrays_of(f(slopes.leaves(below)))
  local pushed, ys = slopes.push(f, slopes.leaves(arrays), tensors(vs))
  pushed, ys = arrays_of(pushed), arrays_of(ys)
  local live = 0
  for r, y in ipairs(ys) do
    for k, value in ipairs(y.data) do
      local due = (high[r].data[k] - low[r].data[k]) / (2 * step)
      if is_finite(value) and differ(pushed[r].data[k], due) then
        fail(what .. ": push of result " .. r, k, pushed[r].data[k], due)
      end
      if due ~= 0 then live = live + 1 end
    end
  end
  local ws = {}
  for r, y in ipairs(ys) do ws[r] = random_like(y.shape) end
  local pulled = arrays_of(slopes.pull(f, slopes.leaves(arrays), tensors(ws)))
  local left, size = dot(ws, pushed)
  local right = dot(pulled, vs)
  if is_finite(left) and math.abs(left - right) > 1e-11 * size then
    fail(what .. ": <w, push v> and <pull w, v>", 1, right, left)
  end
  return live
end

--- The gradient of f as a function of (xs, ws): one more list of variables.
-- ws: cotangents of f, as arrays of their shapes.
function slopes.second(f, arrays)
  local ys = f(slopes.leaves(arrays))
  local both = array.copy(arrays)
  for _, y in ipairs(ys) do
    both[#both + 1] = random_like(array.of(y).shape)
  end
  local n = #arrays
  return function(all)
    local xs = table.move(all, 1, n, 1, {})
    local ws = table.move(all, n + 1, #all, 1, {})
    return slopes.pull(f, xs, ws, { create_graph = true })
  end, both
end

--- Raises where two lists of tensors are more than 1e-12 apart.
function slopes.same(found, expected, what)
  for k, x in ipairs(found) do
    local a, b = array.of(x), array.of(expected[k])
    for at, value in ipairs(b.data) do
      local near = a.data[at] == value
        or math.abs(a.data[at] - value) <= 1e-12 * math.max(1, math.abs(value))
        or value ~= value and a.data[at] ~= a.data[at]
      if not near then fail(what .. " " .. k, at, a.data[at], value) end
    end
  end
end

slopes.tensors = tensors
slopes.random_like = random_like

return slopes
