-- Reductions at their edges: nothing to reduce, NaN, infinities, numbers whose
-- sum or square leaves the dtype, many terms.
local ts = require "tensus"
local array = require "spec.support.array"
local slopes = require "spec.support.slopes"

local inf, nan = math.huge, 0 / 0

local function same(expected, x)
  local found = array.of(x).data
  assert.equal(#expected, #found)
  for k, value in ipairs(expected) do
    local equal = found[k] == value or value ~= value and found[k] ~= found[k]
    assert.is_true(equal, string.format("[%d]: %s, %s is due", k, found[k],
      value))
  end
end

local function raises(code, text, f)
  local ok, message = pcall(f)
  assert.is_false(ok, "it did not raise: " .. text)
  assert.is_truthy(message:find(text, 1, true), message)
  assert.equal(code, ts.errinfo().code)
end

local floats = { "f16", "bf16", "f32", "f64" }
local wholes = { "bool", "u8", "i8", "i16", "i32", "i64" }

describe("mean", function()
  it("adds halves wide: their sum may leave the dtype, their mean does not",
    function()
      for _, dtype in ipairs { "f16", "bf16" } do
        local n = 200000
        same({ 1 }, ts.ones({ n }, dtype):mean())
        same({ 0.5 }, ts.full({ n }, 0.5, dtype):nanmean())
      end
    end)

  it("of integers does not wrap", function()
    local big = ts.tensor({ math.maxinteger, math.maxinteger }, "i64")
    same({ 2.0 ^ 63 }, big:mean())
    for _, dtype in ipairs(wholes) do
      assert.equal("f32", ts.ones({ 3 }, dtype):mean().dtype)
      assert.equal("f32", ts.ones({ 3 }, dtype):nanmean().dtype)
    end
  end)

  it("is a float", function()
    raises("dtype", "mean: dtype is i64; a mean is a float",
      function() return ts.ones(3):mean({ dtype = "i64" }) end)
  end)

  it("of nothing is NaN", function()
    for _, dtype in ipairs(floats) do
      same({ nan }, ts.empty({ 0 }, dtype):mean())
      same({ nan, nan }, ts.empty({ 2, 0 }, dtype):nanmean(2))
    end
  end)
end)

describe("NaN", function()
  it("spreads through mean, and not through nansum and nanmean", function()
    local x = ts.tensor { { 1, nan, 3 }, { nan, nan, nan } }
    same({ nan, nan }, x:mean(2))
    same({ 4, 0 }, x:nansum(2))
    same({ 2, nan }, x:nanmean(2))
  end)

  it("gets no gradient from nansum and nanmean, nor gives any", function()
    local x = ts.tensor({ 1, nan, 3 }, { requires_grad = true })
    x:nanmean():backward()
    same({ 0.5, 0, 0.5 }, x.grad)
    x.grad = nil
    x:nansum():backward()
    same({ 1, 0, 1 }, x.grad)
  end)
end)

describe("prod", function()
  it("of nothing is 1, and NaN spreads", function()
    same({ 1, 1 }, ts.empty(2, 0):prod(2))
    same({ nan, 6 }, ts.tensor({ { 1, nan }, { 2, 3 } }):prod(2))
    same({ 1 }, ts.empty({ 0 }, "i32"):prod())
  end)

  it("of integers and bool is i64", function()
    for _, dtype in ipairs(wholes) do
      assert.equal("i64", ts.ones({ 3 }, dtype):prod().dtype)
      assert.equal("i64", ts.ones({ 3 }, dtype):cumprod(1).dtype)
      assert.equal("i64", ts.ones({ 3 }, dtype):cumsum(1).dtype)
    end
    same({ 100 * 100 * 100 }, ts.full({ 3 }, 100, "u8"):prod())
  end)

  it("keeps the digits of a million factors", function()
    local n, step = 1000000, 2.0 ^ -20
    local due = ts.tensor((1 + step) ^ n, "f32")
    same({ due:item() }, ts.full({ n }, 1 + step):prod())
  end)

  it("stays finite where factors in between do not", function()
    local x = ts.tensor { 1e30, 1e30, 1e-30, 1e-30 }
    assert.is_true(math.abs(x:prod():item() - 1) < 1e-6)
  end)
end)

-- Push, differences and pull agree to second order at this very point.
local function differentiable(f, values)
  local function call(xs) return { f(xs[1]) } end
  local at = array.of(ts.tensor(values, "f64"))
  slopes.check(call, { at }, "first order")
  local gradient, both = slopes.second(call, { at })
  slopes.check(gradient, both, "second order")
end

local function gradient(f, values)
  local x = ts.tensor(values, { dtype = "f64", requires_grad = true })
  f(x):sum():backward()
  return x.grad
end

describe("a zero among factors", function()
  local zeros = {
    { 2, 0, 3, -1 }, { 0, 2, 3 }, { 2, 3, 0 }, { 2, 0, 3, 0, 5 },
    { 0, 0, 0, 1 }, { 0 },
  }

  it("lets the others pass in prod", function()
    same({ 0, -6, 0, 0 }, gradient(ts.prod, { 2, 0, 3, -1 }))
    same({ 0, 0, 0, 0, 0 }, gradient(ts.prod, { 2, 0, 3, 0, 5 }))
    same({ 1 }, gradient(ts.prod, { 0 }))
    for _, values in ipairs(zeros) do differentiable(ts.prod, values) end
    differentiable(function(x) return x:prod({ 1, 3 }) end,
      { { { 2, 0 }, { 3, 1 } }, { { 0, 4 }, { 0, 2 } } })
  end)

  it("lets the others pass in cumprod", function()
    same({ 1, 1, 0, 0 }, gradient(function(x) return x:cumprod(1) end,
      { 1, 0, 0, 3 }))
    for _, values in ipairs(zeros) do
      for _, reverse in ipairs { false, true } do
        differentiable(function(x)
          return x:cumprod(1, { reverse = reverse })
        end, values)
      end
    end
  end)

  it("does not meet an infinite factor", function()
    same({ inf, 0 }, gradient(ts.prod, { 0, inf }))
  end)
end)

describe("var and std", function()
  it("are NaN where n does not exceed the correction", function()
    for _, name in ipairs { "var", "std" } do
      local f = ts[name]
      same({ nan }, f(ts.ones(1)))
      same({ 0 }, f(ts.ones(1), nil, { correction = 0 }))
      same({ nan }, f(ts.empty(0)))
      same({ nan }, f(ts.empty(0), nil, { correction = -1 }))
      same({ nan }, f(ts.ones(3), nil, { correction = 4 }))
      same({ nan }, f(ts.tensor { 1, nan }))
      same({ nan }, f(ts.tensor { 1, inf }))
    end
  end)

  it("see the last digits of large numbers", function()
    for _, mean in ipairs { 1e8, -1e8, 2.0 ^ 29 } do
      local step = 64.0
      local data = {}
      for k = 1, 9000 do data[k] = mean + (k % 3 - 1) * step end
      local x = ts.tensor(data)
      local due = ts.tensor(step ^ 2 * 2 / 3, "f32"):item()
      same({ due }, x:var(nil, { correction = 0 }))
      same({ due }, ts.stack({ x, x }, 2):var(1, { correction = 0 })[1])
    end
  end)

  it("have an exact slope there, too", function()
    local x = ts.tensor({ 1e8, 1e8 + 8, 1e8 + 24, 1e8 - 16 },
      { requires_grad = true })
    local due = {}
    for k, value in ipairs(x:tolist()) do
      due[k] = 2 / 3 * (value - (1e8 + 4))
    end
    due = ts.tensor(due)
    for _, create in ipairs { false, true } do
      local g = ts.grad(x:var(), x, { create_graph = create }):detach()
      assert.is_true(g:allclose(due, { rtol = 2.0 ^ -22, atol = 0 }))
    end
  end)

  it("take integers in the default float", function()
    local x = ts.tensor({ 1, 2, 3, 4 }, "u8")
    assert.equal("f32", x:var().dtype)
    same({ 5 / 4 }, x:var(nil, { correction = 0 }))
  end)

  it("have slope 0 where std is 0", function()
    same({ 0, 0, 0 }, gradient(ts.std, { 2, 2, 2 }))
    local function both(x) return x:std(2) end
    local g = array.of(gradient(both, { { 1, 1 }, { 1, 3 } })).data
    assert.same({ 0.0, 0.0 }, { g[1], g[2] })
    assert.is_true(math.abs(g[4] - math.sqrt(0.5)) < 1e-15)
    local x = ts.tensor({ 2, 2 }, { dtype = "f64", requires_grad = true })
    local first = ts.grad(x:std(), x, { create_graph = true })
    same({ 0, 0 }, ts.grad(first:sum(), x))
  end)
end)

local orders = { 0, 0.5, 1, 1.5, 2, 3, inf, -inf, -1 }

describe("norm", function()
  it("of nothing is 0, but has no least element", function()
    for _, p in ipairs(orders) do
      if p ~= -inf then
        same({ 0, 0 }, ts.empty(2, 0):norm(p, 2))
        same({ 0 }, ts.empty({ 0 }, "f16"):norm(p))
      end
    end
    raises("empty", "norm: dim 2 of self {2,0} is empty and the norm of order "
      .. "-inf has no identity",
      function() return ts.empty(2, 0):norm(-inf, 2) end)
    raises("range", "norm: p is NaN", function() return ts.ones(2):norm(nan) end)
  end)

  it("spreads NaN", function()
    for _, p in ipairs(orders) do
      same({ nan }, ts.tensor({ 1, nan, 0 }):norm(p))
    end
  end)

  it("knows zeros and infinities", function()
    for _, p in ipairs(orders) do
      same({ 0 }, ts.zeros(3):norm(p))
      local least = p < 0
      same({ p == 0 and 2 or least and p == -inf and 1 or least and 1 or inf },
        ts.tensor({ 1, -inf }):norm(p))
    end
  end)

  it("is exact for the sides of a triangle", function()
    for _, dtype in ipairs(floats) do
      for _, sides in ipairs { { 3, 4, 5 }, { 5, 12, 13 }, { 8, 15, 17 } } do
        same({ sides[3] }, ts.tensor({ sides[1], -sides[2] }, dtype):norm())
      end
    end
  end)

  it("neither overflows nor vanishes", function()
    for dtype, sizes in pairs {
      f32 = { 2.0 ^ 100, 2.0 ^ 124, 2.0 ^ -100, 2.0 ^ -140 },
      f64 = { 2.0 ^ 400, 2.0 ^ 1000, 2.0 ^ -400, 2.0 ^ -1060 },
      f16 = { 2.0 ^ 12, 2.0 ^ -20 },
    } do
      for _, size in ipairs(sizes) do
        local x = ts.tensor({ 3, 4 }, dtype) * size
        same({ 5 * size }, x:norm())
        same({ 7 * size }, x:norm(1))
        local cubes = x:norm(3):item() / size
        assert.is_true(math.abs(cubes - 91 ^ (1 / 3)) < 2e-2)
      end
    end
  end)

  it("has slope 0 at 0, also in a batch, and to second order", function()
    for _, p in ipairs(orders) do
      local x = ts.tensor({ { 0, 0 }, { 3, 4 } },
        { dtype = "f64", requires_grad = true })
      local g = ts.grad(x:norm(p, 2):sum(), x, { create_graph = true })
      same({ 0, 0 }, g[1])
      if g.requires_grad then
        same({ 0, 0 }, ts.grad(g:sum(), x, { unused = "zero" })[1])
      end
    end
  end)

  it("shares between equal extremes", function()
    same({ 0.5, 0, -0.5 },
      gradient(function(x) return x:norm(inf) end, { 3, 1, -3 }))
    same({ 0, 1, 0 },
      gradient(function(x) return x:norm(-inf) end, { 3, 1, -3 }))
  end)

  it("has finite slopes for numbers of any size", function()
    for _, size in ipairs { 2.0 ^ 100, 2.0 ^ -100 } do
      local x = (ts.tensor { 3, -4 } * size):requires_grad_()
      for _, p in ipairs { 2, 3 } do
        local g = ts.grad(x:norm(p), x)
        assert.is_true(g:isfinite():all():item())
        assert.is_true(math.abs(g(2)) > 0.7)
      end
    end
  end)
end)

describe("normalize", function()
  it("leaves a zero vector alone", function()
    same({ 0, 0 }, ts.zeros(2):normalize(1))
    local g = gradient(function(x) return x:normalize(1) end, { 0, 0 })
    assert.is_true(g:isfinite():all():item())
  end)
end)

describe("logsumexp", function()
  it("knows infinities and NaN", function()
    for _, dtype in ipairs(floats) do
      local x = ts.tensor({ { -inf, -inf }, { inf, 0 }, { -inf, 0 },
        { nan, 0 }, { inf, -inf }, { inf, inf } }, dtype)
      same({ -inf, inf, 0, nan, inf, inf }, x:logsumexp(2))
    end
    same({ -inf, -inf }, ts.empty(2, 0):logsumexp(2))
  end)
end)

describe("a scan", function()
  it("of nothing is nothing", function()
    for _, name in ipairs { "cumsum", "cumprod", "cummax", "cummin",
      "logcumsumexp" } do
      local y, places = ts[name](ts.empty(2, 0), 2)
      assert.same({ 2, 0 }, { y:size(1), y:size(2) })
      assert.is_true(places == nil or places.dtype == "i64")
    end
  end)

  it("spreads NaN onward, from either end", function()
    local x = ts.tensor { 1, nan, 2 }
    same({ 1, nan, nan }, x:cumsum(1))
    same({ nan, nan, 2 }, x:cumsum(1, { reverse = true }))
    same({ 1, nan, nan }, x:cumprod(1))
    same({ 1, nan, nan }, (x:cummax(1)))
    same({ 1, nan, nan }, (x:cummin(1)))
    same({ nan, nan }, x:logcumsumexp(1)["2:3"])
  end)

  it("reports the last of equal extremes, and the last NaN", function()
    local _, at = ts.tensor({ 2, 1, 2, 3, 3, 0 }):cummax(1)
    same({ 1, 1, 3, 4, 5, 5 }, at)
    _, at = ts.tensor({ 2, 3, 2, 1, 1, 4 }):cummin(1)
    same({ 1, 1, 3, 4, 5, 5 }, at)
    _, at = ts.tensor({ 1, nan, 5, nan }):cummax(1)
    same({ 1, 2, 2, 4 }, at)
    same({ 1, 0, 1, 0 }, gradient(function(x) return (x:cummax(1)) end,
      { 1, -1, 1, 0 }) / 2)
  end)

  it("keeps -inf, and what follows it", function()
    local x = ts.tensor({ -inf, -inf, 0, inf, 0 }, "f64")
    same({ -inf, -inf, 0, inf, inf }, x:logcumsumexp(1))
    same({ 0, 0, 2, 0 }, gradient(function(y) return y:logcumsumexp(1) end,
      { -inf, -inf, 0, -inf }))
    local big = ts.tensor { 1000, -1000, 1000 }:logcumsumexp(1)
    assert.is_true(math.abs(big(3) - 1000 - math.log(2)) < 1e-4)
  end)

  it("keeps the digits of ten million terms", function()
    local n = 10000000
    local tenth = ts.tensor(0.1, "f32"):item()
    local y = ts.full({ n }, 0.1):cumsum(1)
    local due = ts.tensor(tenth * n, "f32"):item()
    assert.is_true(math.abs(y(n) - due) <= 2.0 ^ -23 * due)
  end)

  it("is pulled back from the other end", function()
    same({ 3, 2, 1 }, gradient(function(x) return x:cumsum(1) end, { 5, 6, 7 }))
    same({ 1, 2, 3 }, gradient(function(x)
      return x:cumsum(1, { reverse = true })
    end, { 5, 6, 7 }))
  end)
end)

describe("a sum of ten million terms", function()
  -- 8 units: each element meets at most 64 + 6 + 12 others.
  local function agrees(x, dim)
    local found, due = x:sum(dim), x:to("f64"):sum(dim)
    local off = (found:to("f64") - due):abs() / due:abs()
    assert.is_true(off:amax():item() <= 8 * 2.0 ^ -23)
    found, due = x:mean(dim), x:to("f64"):mean(dim)
    off = (found:to("f64") - due):abs() / due:abs()
    assert.is_true(off:amax():item() <= 8 * 2.0 ^ -23)
  end

  it("is within a few units of the f64 answer along every axis", function()
    local n = 10000000
    local g = ts.generator(3)
    for _, x in ipairs { ts.full({ n }, 0.1), ts.rand({ n }, { generator = g }) } do
      agrees(x)
      agrees(x:reshape(n // 4, 4), 1)
      agrees(x:reshape(4, n // 4), 2)
      agrees(x:reshape(4, n // 8, 2), 2)
    end
  end)
end)

describe("diff", function()
  it("asks for an axis and for a count that is not negative", function()
    raises("rank", "diff", function() return ts.tensor(1):diff() end)
    raises("range", "diff: n is -1; it must be 0 or more",
      function() return ts.ones(3):diff({ n = -1 }) end)
    raises("dim", "diff: dim 2 of self {3}: dims are 1..1 or -1..-1",
      function() return ts.ones(3):diff({ dim = 2 }) end)
  end)
end)
