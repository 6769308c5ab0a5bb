-- Every differentiable row: push against differences, pull against push, both
-- once more for the gradient, the fused pull against the tracked one, and all
-- of it through operands that lie in memory in other ways.
local ts = require "tensus"
local array = require "spec.support.array"
local cases = require "spec.support.cases"
local layouts = require "spec.support.layouts"
local numbers = require "spec.support.numbers"
local slopes = require "spec.support.slopes"

print("directions drawn from seed " .. numbers.seed)

local is_differentiable = {
  linear = true, view = true, multilinear = true, pointwise = true,
  selection = true, rule = true, composed = true,
}

-- Its results are constants.
local constant = { zero = true }

local function each_case(op, visit)
  for _, c in ipairs(cases.slopes(op)) do
    local variables = slopes.variables(op, c)
    if #variables > 0 then
      local ok, message = pcall(visit, slopes.call(op, c), variables, c)
      if not ok then
        error(op.name .. " " .. c.label .. ": " .. tostring(message), 0)
      end
    end
  end
end

local function in_layout(op, layout)
  each_case(op, function(f, variables)
    local held, ws, vs = {}, {}, {}
    for k, a in ipairs(variables) do
      held[k] = layout.values(a)
      vs[k] = layout.values(slopes.random_like(a.shape))
    end
    local ys = f(slopes.leaves(held))
    for k, y in ipairs(ys) do
      ws[k] = layout.values(slopes.random_like(array.of(y).shape))
    end
    local plain = slopes.pull(f, slopes.leaves(held), slopes.tensors(ws))
    local pulled = slopes.pull(f, slopes.leaves(held, layout.tensor),
      slopes.tensors(ws, layout.tensor))
    slopes.same(pulled, plain, "pull")
    plain = slopes.push(f, slopes.leaves(held), slopes.tensors(vs))
    local pushed = slopes.push(f, slopes.leaves(held, layout.tensor),
      slopes.tensors(vs, layout.tensor))
    slopes.same(pushed, plain, "push")
  end)
end

-- name_ on a copy of the first operand: the pull of name, or `modified` where
-- a saved value was overwritten; never another gradient.
local function in_place(op)
  local agreed, refused = 0, 0
  each_case(op, function(f, variables, c)
    local y = f(slopes.leaves(variables))[1]
    local target = c.args[1]
    local fits = target == variables[1]
      and y.shape == array.tensor(target).shape
    if not fits then return end
    local written = setmetatable({ only_inplace = true }, { __index = op })
    local g = slopes.call(written, c)
    local ws = { slopes.random_like(target.shape) }
    local plain = slopes.pull(f, slopes.leaves(variables), slopes.tensors(ws))
    local ok, found = pcall(slopes.pull, g, slopes.leaves(variables),
      slopes.tensors(ws))
    if ok then
      slopes.same(found, plain, "pull in place")
      agreed = agreed + 1
    else
      assert.is_truthy(found:find("has changed since", 1, true), found)
      refused = refused + 1
    end
  end)
  return agreed, refused
end

-- Their pulls read neither the overwritten operand nor anything of it.
local free = { neg = true, add = true, sub = true, exp = true, relu = true,
  sqrt = true, tanh = true, sigmoid = true, scatter_add = true,
  index_add = true, rsqrt = true, expm1 = true }

local function differentiable(op)
  local is_variable = not (op.slopes and op.slopes[1] == false)
  if op.inplace and not op.only_inplace and is_variable then
    it("pulls the same in place, or says what was overwritten", function()
      local agreed, refused = in_place(op)
      assert.is_true(agreed + refused > 0)
      if free[op.name] then
        assert.is_true(agreed > 0)
        assert.equal(0, refused)
      end
    end)
  end

  it("agrees with differences, pull and push", function()
    local live = 0
    each_case(op, function(f, variables)
      live = live + slopes.check(f, variables, "first order")
    end)
    if not constant[op.name] then
      assert.is_true(live > 0, op.name .. " has no gradient case")
    end
  end)

  it("agrees once more for its gradient", function()
    each_case(op, function(f, variables)
      local gradient, both = slopes.second(f, variables)
      slopes.check(gradient, both, "second order")
    end)
  end)

  it("pulls the same fused and tracked", function()
    each_case(op, function(f, variables)
      local ws = {}
      for k, y in ipairs(f(slopes.leaves(variables))) do
        ws[k] = slopes.random_like(array.of(y).shape)
      end
      local fused = slopes.pull(f, slopes.leaves(variables), slopes.tensors(ws))
      local tracked = slopes.pull(f, slopes.leaves(variables),
        slopes.tensors(ws), { create_graph = true })
      slopes.same(fused, tracked, "fused pull")
    end)
  end)

  for k = 2, cases.contiguous[op.name] and 0 or #layouts do
    it("pulls and pushes the same " .. layouts[k].name, function()
      in_layout(op, layouts[k])
    end)
  end
end

local function takes_floats(op)
  return table.concat(op.dtypes, " "):find("f64", 1, true) ~= nil
end

local function flat(op)
  it("gives untracked results", function()
    if not takes_floats(op) then return end
    each_case(op, function(f, variables)
      for _, y in ipairs(f(slopes.leaves(variables))) do
        assert.is_false(y.requires_grad)
      end
    end)
  end)
end

describe("the check itself", function()
  local a = array.new({ 2 }, { 1.5, -0.5 }, "f64")

  it("finds a slope that is wrong", function()
    local function half(xs) return { xs[1] * xs[1]:detach() } end
    assert.is_false(pcall(slopes.check, half, { a }, "half"))
    local function square(xs) return { xs[1] * xs[1] } end
    assert.equal(2, slopes.check(square, { a }, "square"))
  end)

  it("finds a second slope that is wrong", function()
    -- The first slope is 3 x^2, and the graph takes x^2 for a constant.
    local gradient, both = slopes.second(function(xs)
      local x = xs[1]
      return { x:detach() ^ 2 * x * 3 - x:detach() ^ 3 * 2 }
    end, { a })
    assert.is_false(pcall(slopes.check, gradient, both, "second"))
  end)
end)

for _, op in ipairs(ts.ops()) do
  describe(op.name, function()
    if is_differentiable[op.kind] then
      differentiable(op)
    elseif op.kind == "flat" then
      flat(op)
    else
      it("makes or changes tensors outside the graph", function()
        assert.is_true(op.kind == "create" or op.kind == "update", op.kind)
      end)
    end
  end)
end
