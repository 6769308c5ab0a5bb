-- Points without a derivative have the slope that the page of ops states: by
-- pull, by the tracked pull and by push alike; and what a condition keeps out
-- stays out, infinite or NaN.
local ts = require "tensus"
local array = require "spec.support.array"
local slopes = require "spec.support.slopes"

local inf, nan = math.huge, 0 / 0

local function same(expected, x, what)
  local found = array.of(x).data
  assert.equal(#expected, #found)
  for k, value in ipairs(expected) do
    local equal = found[k] == value or value ~= value and found[k] ~= found[k]
    assert.is_true(equal, string.format("%s [%d]: %s, %s is due", what, k,
      found[k], value))
  end
end

local function leaf(values) return ts.tensor(values, "f64"):requires_grad_() end

-- The pull of f at leaves made of `points`, for a cotangent g (ones): `expected`
-- for each point.
local function pulls(f, points, expected, g)
  for _, create in ipairs { false, true } do
    local xs = {}
    for k, values in ipairs(points) do xs[k] = leaf(values) end
    local y = f(table.unpack(xs))
    local seed = g and ts.tensor(g, "f64") or ts.ones_like(y)
    local found = ts.grad({ y }, xs,
      { grad_outputs = { seed }, create_graph = create })
    for k, values in ipairs(expected) do
      same(values, found[k], create and "tracked pull" or "pull")
    end
  end
end

-- The push of f at one leaf, along tangent v (ones).
local function pushes(f, values, expected, v)
  local x = leaf(values)
  local tangent = v and ts.tensor(v, "f64") or ts.ones_like(x)
  local pushed = slopes.push(function(xs) return { f(xs[1]) } end, { x },
    { tangent })
  same(expected, pushed[1], "push")
end

-- An element-by-element f of one operand: slopes by pull and by push.
local function slope(f, values, expected)
  pulls(f, { values }, { expected })
  pushes(f, values, expected)
end

describe("a kink", function()
  it("has slope 0 for relu and abs at 0", function()
    slope(ts.relu, { 0, -0.0, 1, -1 }, { 0, 0, 1, 0 })
    slope(ts.abs, { 0, -0.0, 2, -2 }, { 0, 0, 1, -1 })
  end)

  it("has slope 1 at both edges of clamp", function()
    local function f(x) return x:clamp(-1, 1) end
    slope(f, { -1, 1, 0, -1.5, 1.5 }, { 1, 1, 1, 0, 0 })
  end)

  it("shares between equal operands of maximum and minimum", function()
    for _, name in ipairs { "maximum", "minimum" } do
      local first = name == "maximum" and 0 or 1
      pulls(ts[name], { { 1, 1, 0 }, { 1, 2, 0 } },
        { { 0.5, first, 0.5 }, { 0.5, 1 - first, 0.5 } })
      pushes(function(x) return ts[name](x, ts.ones(3, "f64")) end, { 1, 2, 0 },
        { 0.5, 1 - first, first })
    end
  end)

  it("shares between the ties of amax and amin", function()
    pulls(function(x) return x:amax(1) end, { { 3, 1, 3, 2 } },
      { { 0.5, 0, 0.5, 0 } })
    pulls(function(x) return x:amin() end, { { 1, 1, 1, 2 } },
      { { 1 / 3, 1 / 3, 1 / 3, 0 } })
    pushes(function(x) return x:amax() end, { 3, 1, 3 }, { 2 }, { 1, 9, 3 })
  end)

  it("follows the reported position for max and min of a dim", function()
    pulls(function(x) return (x:max(1)) end, { { 3, 1, 3 } }, { { 1, 0, 0 } })
    pulls(function(x) return (x:min(1)) end, { { 3, 1, 1 } }, { { 0, 1, 0 } })
    pushes(function(x) return (x:max(1)) end, { 3, 1, 3 }, { 5 }, { 5, 6, 7 })
  end)

  it("follows the first maximum of a window", function()
    pulls(function(x) return x:reshape(1, 2, 2):max_pool2d(2) end,
      { { 1, 4, 4, 4 } }, { { 0, 1, 0, 0 } })
  end)
end)

describe("an infinite slope", function()
  it("is that of sqrt, rsqrt, log and x^0.5 at 0", function()
    slope(ts.sqrt, { 0, 4 }, { inf, 0.25 })
    slope(ts.rsqrt, { 0, 4 }, { -inf, -1 / 16 })
    slope(ts.log, { 0, 4 }, { inf, 0.25 })
    slope(function(x) return x ^ 0.5 end, { 0, 4 }, { inf, 0.25 })
  end)

  it("is that of asin and acos at -1 and 1", function()
    slope(ts.asin, { -1, 1, 0 }, { inf, inf, 1 })
    slope(ts.acos, { -1, 1, 0 }, { -inf, -inf, -1 })
  end)
end)

describe("pow", function()
  it("has slope 0 in both operands at 0^0", function()
    pulls(ts.pow, { { 0 }, { 0 } }, { { 0 }, { 0 } })
    assert.equal(1.0, ts.tensor(0.0):pow(0):item())
  end)

  it("has slope 0 in the base where the exponent is 0", function()
    slope(function(x) return x ^ 0 end, { 0, 2, -3 }, { 0, 0, 0 })
  end)

  it("has slope 0 in the exponent where the base is 0", function()
    pulls(ts.pow, { { 0, 0 }, { 2, 0.5 } }, { { 0, inf }, { 0, 0 } })
  end)

  it("has slope NaN in the exponent for a negative base", function()
    pulls(ts.pow, { { -2 }, { 3 } }, { { 12 }, { nan } })
    slope(function(x) return x ^ 3 end, { -2 }, { 12 })
  end)
end)

describe("a norm of nothing", function()
  it("gives atan2 slope 0 at (0, 0)", function()
    pulls(ts.atan2, { { 0 }, { 0 } }, { { 0 }, { 0 } })
  end)

  it("gives logsumexp slope 0 where all are -inf", function()
    pulls(function(x) return x:logsumexp() end, { { -inf, -inf } }, { { 0, 0 } })
    pushes(function(x) return x:logsumexp() end, { -inf, -inf }, { 0 })
  end)

  it("gives softmax NaN where all are -inf", function()
    pulls(function(x) return x:softmax(1) end, { { -inf, -inf } },
      { { nan, nan } })
  end)

  it("keeps finite slopes beside -inf", function()
    pulls(function(x) return x:logsumexp() end, { { -inf, 0 } }, { { 0, 1 } })
    pulls(function(x) return x:softmax(1) end, { { -inf, 0, 0 } }, { { 0, 0, 0 } })
  end)
end)

-- Cotangents and tangents that would spoil everything they are multiplied with.
for name, bad in pairs { infinity = inf, ["negative infinity"] = -inf, NaN = nan } do
  describe(name .. " at a place that a condition leaves out", function()
    it("stays out of relu", function()
      pulls(ts.relu, { { -1, 0, 2 } }, { { 0, 0, 3 } }, { bad, bad, 3 })
      pushes(ts.relu, { -1, 0, 2 }, { 0, 0, 3 }, { bad, bad, 3 })
    end)

    it("stays out of clamp", function()
      local function f(x) return x:clamp(0, 1) end
      pulls(f, { { -1, 0.5, 2 } }, { { 0, 3, 0 } }, { bad, 3, bad })
      pushes(f, { -1, 0.5, 2 }, { 0, 3, 0 }, { bad, 3, bad })
    end)

    it("stays out of both sides of where", function()
      local condition = ts.tensor { true, false }
      local function f(x, y) return ts.where(condition, x, y) end
      pulls(f, { { 1, 2 }, { 3, 4 } }, { { 5, 0 }, { 0, bad } }, { 5, bad })
      pulls(f, { { 1, 2 }, { 3, 4 } }, { { bad, 0 }, { 0, 6 } }, { bad, 6 })
      pushes(function(x) return f(x, ts.zeros(2, "f64")) end, { 1, 2 }, { 7, 0 },
        { 7, bad })
    end)

    it("stays out of the loser of maximum and minimum", function()
      pulls(ts.maximum, { { 1, 5 }, { 2, 3 } }, { { 0, 4 }, { bad, 0 } },
        { bad, 4 })
      pulls(ts.minimum, { { 1, 5 }, { 2, 3 } }, { { bad, 0 }, { 0, 4 } },
        { bad, 4 })
    end)

    it("stays out of what a pick leaves", function()
      pulls(function(x) return x:amax(1) end, { { { 1, 2 }, { 4, 3 } } },
        { { 0, 0, bad, 6 } }, { bad, 6 })
      pushes(function(x) return x:amax() end, { 1, 2, 0 }, { 5 }, { bad, 5, bad })
      pushes(function(x) return (x:max(1)) end, { 1, 2, 0 }, { 5 },
        { bad, 5, bad })
    end)

    it("stays out of labels that are ignored", function()
      local y = ts.idx { 1, -100 }
      local function f(x) return x:cross_entropy(y, { reduction = "none" }) end
      pulls(f, { { { 0, 0 }, { 0, 0 } } }, { { -1, 1, 0, 0 } }, { 2, bad })
    end)
  end)
end

describe("dropout", function()
  it("pulls with the mask of the forward run", function()
    local x = ts.ones(1000, "f64"):requires_grad_()
    local y = x:dropout(0.25, { generator = ts.generator(3) })
    y:sum():backward()
    assert.is_true(x.grad:equal(y:detach()))
    local kept = y:detach():count_nonzero():item()
    assert.is_true(kept > 650 and kept < 850, tostring(kept))
  end)

  it("is the identity outside training", function()
    slope(function(x) return x:dropout(0.5, { training = false }) end,
      { 1, 2 }, { 1, 1 })
  end)
end)

describe("steps", function()
  it("give no gradient to what they round", function()
    for _, name in ipairs { "floor", "ceil", "trunc", "round", "sign" } do
      local x = leaf { 0.5, 1.5 }
      assert.is_false(ts[name](x).requires_grad)
      local y = x * 2 + ts[name](x)
      y:sum():backward()
      same({ 2, 2 }, x.grad, name)
    end
  end)
end)
