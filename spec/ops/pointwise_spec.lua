-- What is special about single rows that work element by element: options that
-- change what they are, edges, and what they refuse.
local ts = require "tensus"
local array = require "spec.support.array"

local inf, nan = math.huge, 0 / 0

-- f, written on a line of its own, fails there with this text.
local function raises(code, text, f)
  local ok, message = pcall(f)
  assert.is_false(ok, "it did not raise: " .. text)
  local info = debug.getinfo(f, "S")
  local place = string.format("%s:%d: ", info.short_src, info.linedefined)
  assert.equal(place .. text, message)
  assert.equal(code, ts.errinfo().code)
end

local function same(expected, x)
  for k, value in ipairs(expected) do
    local found = array.of(x).data[k]
    local equal = found == value or value ~= value and found ~= found
    assert.is_true(equal, string.format("[%d]: %s, %s is due", k, found, value))
  end
end

-- The slopes of f at `values`, pulled plainly, pulled tracked, and pushed.
local function slope(f, values, expected)
  local x = ts.tensor(values, "f64"):requires_grad_()
  for _, create in ipairs { false, true } do
    local y = f(x)
    same(expected, ts.grad(y, x, {
      grad_outputs = ts.ones_like(y), create_graph = create,
    }))
  end
  local _, pushed = ts.jvp(f, x:detach(), ts.ones_like(x))
  same(expected, pushed)
end

describe("div with a rounding", function()
  local x = ts.tensor { -7, 7, -7, 7 }
  local y = ts.tensor { 2, 2, -2, -2 }

  it("gives whole numbers, and integers for integers", function()
    assert.same({ -4, 3, 3, -4 }, x:div(y, { rounding = "floor" }):tolist())
    assert.same({ -3, 3, 3, -3 }, x:div(y, { rounding = "trunc" }):tolist())
    local i, j = x:to("i32"), y:to("i32")
    assert.equal("i32", i:div(j, { rounding = "floor" }).dtype)
    assert.same({ -4, 3, 3, -4 }, i:div(j, { rounding = "floor" }):tolist())
    assert.same({ -3, 3, 3, -3 }, i:div(j, { rounding = "trunc" }):tolist())
    assert.equal("f32", i:div(j, { rounding = "none" }).dtype)
  end)

  it("is flat, and works in place", function()
    local t = ts.ones(2):requires_grad_()
    assert.is_false(t:div(2, { rounding = "floor" }).requires_grad)
    assert.is_true(t:div(2).requires_grad)
    local z = x:clone()
    assert.equal(z, z:div_(2, { rounding = "trunc" }))
    assert.same({ -3, 3, -3, 3 }, z:tolist())
  end)

  it("refuses to divide integers by 0", function()
    raises("div_zero", "div: integer division by zero at (2) of other {2}",
      function() return ts.idx { 1, 2 }:div(ts.idx { 1, 0 }, { rounding = "trunc" }) end)
    raises("div_zero", "fmod: integer division by zero: other",
      function() return ts.idx { 1, 2 }:fmod(0) end)
  end)
end)

describe("round to decimals", function()
  it("rounds halves to even", function()
    local x = ts.tensor({ 0.125, 0.375, -2.5, 25, 35 }, "f64")
    assert.same({ 0.12, 0.38, -2.5, 25, 35 }, x:round({ decimals = 2 }):tolist())
    assert.same({ 0, 0, 0, 20, 40 }, x:round({ decimals = -1 }):tolist())
  end)

  it("leaves what has no such decimals", function()
    local x = ts.tensor { 3e38, inf, -inf, nan, 1 }
    same({ array.of(x).data[1], inf, -inf, nan, 1 }, x:round { decimals = 5 })
    same({ array.of(x).data[1], inf, -inf, nan, 1 }, x:round { decimals = 60 })
    same({ 0.0 }, ts.tensor { 1 }:round { decimals = -60 })
    assert.same({ 15 }, ts.idx { 15 }:round({ decimals = -1 }):tolist())
  end)
end)

describe("a shift", function()
  it("is what << and >> mean", function()
    local x = ts.tensor({ -8, 3 }, "i8")
    assert.same({ -16, 6 }, (x << 1):tolist())
    assert.same({ 0, -128 }, (x << 7):tolist())
    assert.same({ -1, 0 }, (x >> 7):tolist())
    assert.same({ 2, 4, 8 }, (1 << ts.idx { 1, 2, 3 }):tolist())
    assert.equal("i8", (x << 1).dtype)
    assert.same({ math.mininteger }, (ts.idx { 1 } << 63):tolist())
    assert.same({ 127 }, (ts.tensor({ 255 }, "u8") >> 1):tolist())
  end)

  it("is less than the bits of the result", function()
    raises("range", "bitwise_left_shift: a shift outside 0..7: other",
      function() return ts.ones({ 2 }, "u8") << 8 end)
    raises("range", "bitwise_right_shift: a shift outside 0..63 at (2) of other {2}",
      function() return ts.idx { 1, 1 } >> ts.idx { 63, -1 } end)
    raises("range", "bitwise_left_shift: a shift outside 0..15 at (1) of other {1}",
      function() return ts.ones({ 1 }, "i16") << ts.tensor({ 16 }, "i8") end)
    local x = ts.ones({ 2 }, "i32")
    assert.is_false(pcall(x.bitwise_left_shift_, x, ts.tensor({ 1, 32 }, "i32")))
    assert.same({ 1, 1 }, x:tolist())
  end)
end)

describe("masked_fill", function()
  local mask = ts.tensor { true, false, true }

  it("keeps the dtype of self", function()
    assert.equal("f16", ts.ones({ 3 }, "f16"):masked_fill(mask, 2).dtype)
    assert.equal("f16",
      ts.ones({ 3 }, "f16"):masked_fill(mask, ts.tensor(2, "f64")).dtype)
    assert.same({ 2, 1, 2 },
      ts.ones({ 3 }, "u8"):masked_fill(mask, ts.tensor(2, "i64")):tolist())
    assert.same({ false, true, false },
      ts.ones({ 3 }, "bool"):masked_fill(mask, false):tolist())
  end)

  it("stretches the mask, and self out of place", function()
    assert.same({ { 0, 1, 0 }, { 0, 1, 0 } },
      ts.ones(2, 3):masked_fill(mask, 0):tolist())
    assert.same({ 0, 1, 0 }, ts.ones(1):masked_fill(mask, 0):tolist())
    assert.same({ { 0, 1, 0 }, { 0, 1, 0 } },
      ts.ones(2, 3):masked_fill_(mask, 0):tolist())
  end)

  it("gives value the sum of what it replaced", function()
    local v = ts.tensor(5.0):requires_grad_()
    local x = ts.tensor { 1, 2, 3 }:requires_grad_();
    (x:masked_fill(mask, v) * ts.tensor { 1, 10, 100 }):sum():backward()
    assert.equal(101.0, v.grad:item())
    assert.same({ 0, 10, 0 }, x.grad:tolist())
  end)

  it("keeps infinite slopes out", function()
    local x = ts.ones(3):requires_grad_()
    for _, create in ipairs { false, true } do
      same({ 0, inf, 0 }, ts.grad(x:masked_fill(mask, 0), x,
        { grad_outputs = ts.tensor { inf, inf, inf }, create_graph = create }))
    end
  end)

  it("refuses other masks and values", function()
    local x = ts.ones(3)
    raises("dtype", "masked_fill: mask must be a bool tensor, and is f32",
      function() return x:masked_fill(x, 1) end)
    raises("rank", "masked_fill: value {1}: a number or a tensor of rank 0 is due",
      function() return x:masked_fill(mask, ts.ones(1)) end)
    raises("range", "masked_fill: value 300 does not fit in u8 (0..255)",
      function() return ts.ones({ 3 }, "u8"):masked_fill(mask, 300) end)
    raises("dtype",
      "masked_fill: value is f32 and self is i64: convert it with :to()",
      function() return ts.idx { 1, 1, 1 }:masked_fill(mask, ts.tensor(1.5)) end)
    raises("shape",
      "masked_fill: self {2} and mask {3} do not broadcast: self dim 1 is 2, mask dim 1 is 3",
      function() return ts.ones(2):masked_fill(mask, 1) end)
  end)
end)

describe("an edge of an activation", function()
  it("has the slope of the page of ops", function()
    slope(ts.relu6, { 0, 6, 3 }, { 0, 0, 1 })
    slope(ts.hardtanh, { -1, 1, 0 }, { 0, 0, 1 })
    slope(ts.leaky_relu, { 0, 1 }, { 0.01, 1 })
    slope(function(x) return x:elu(0.5) end, { 0, 1 }, { 0.5, 1 })
    slope(function(x) return x:celu(0.5) end, { 0, 1 }, { 1, 1 })
    slope(ts.hardsigmoid, { -3, 3 }, { 0, 0 })
    slope(ts.hardswish, { -3, 3, 4 }, { 0, 1, 1 })
    slope(ts.softshrink, { -0.5, 0.5, 1 }, { 0, 0, 1 })
    slope(ts.hardshrink, { -0.5, 0.5, 1 }, { 0, 0, 1 })
  end)

  it("lets no overflow through the side that is not taken", function()
    local x = ts.tensor({ 800.0 }, "f64"):requires_grad_()
    for _, name in ipairs { "elu", "celu", "selu" } do
      local g = ts.grad(ts[name](x), x, { create_graph = true })
      same({ 0 }, ts.grad(g, x, { unused = "zero" }))
    end
  end)
end)

describe("a point without a derivative", function()
  it("has the slope of the page of ops", function()
    local zero = ts.zeros(1, "f64")
    slope(function(x) return x:hypot(zero) end, { 0, 2 }, { 0, 1 })
    slope(function(x) return x:copysign(-1) end, { 0, 2, -2 }, { 0, -1, 1 })
    slope(ts.sinc, { 0 }, { 0 })
    slope(function(x) return x:logit { eps = 0.25 } end, { 0.1, 0.5, 0.9 },
      { 0, 4, 0 })
    slope(ts.nan_to_num, { nan, inf, -inf, 1 }, { 0, 0, 0, 1 })
  end)

  it("shares between equal operands of fmax, and follows the number", function()
    local y = ts.tensor({ 1, nan, 2 }, "f64")
    slope(function(x) return x:fmax(y) end, { 1, 1, nan }, { 0.5, 1, 0 })
    slope(function(x) return x:fmin(y) end, { 1, 1, nan }, { 0.5, 1, 0 })
    slope(function(x) return y:fmax(x) end, { 1, 1, nan }, { 0.5, 1, 0 })
  end)

  it("shares between two infinities of logaddexp", function()
    local y = ts.tensor({ -inf, 0 }, "f64")
    slope(function(x) return x:logaddexp(y) end, { -inf, 0 }, { 0.5, 0.5 })
  end)

  it("is 0 in the second operand of xlogy where the first is 0", function()
    local x = ts.zeros(2, "f64")
    slope(function(y) return x:xlogy(y) end, { 0, 3 }, { 0, 0 })
  end)
end)

describe("derivatives of any order", function()
  it("are those of sinc at 0", function()
    local expected = { 0, -math.pi ^ 2 / 3, 0, math.pi ^ 4 / 5 }
    for n, value in ipairs(expected) do
      local x = ts.tensor(0.0, "f64"):requires_grad_()
      local g = x:sinc()
      for k = 1, n do g = ts.grad(g, x, { create_graph = k < n }) end
      assert.is_true(math.abs(g:item() - value) < 1e-12)
    end
  end)

  it("are those of lgamma at 1", function()
    -- -gamma, zeta(2), -2 zeta(3)
    local expected = { -0.57721566490153286, math.pi ^ 2 / 6, -2.4041138063191886 }
    for n, value in ipairs(expected) do
      local x = ts.tensor(1.0, "f64"):requires_grad_()
      local g = x:lgamma()
      for k = 1, n do g = ts.grad(g, x, { create_graph = k < n }) end
      assert.is_true(math.abs(g:item() - value) < 1e-13)
    end
  end)
end)

describe("allclose", function()
  it("counts shapes", function()
    assert.is_false(ts.ones(2):allclose(ts.ones(2, 1)))
    assert.is_false(ts.ones(2):allclose(ts.tensor(1)))
    assert.is_true(ts.ones(0, 2):allclose(ts.ones(0, 2)))
  end)

  it("takes tolerances", function()
    local x, y = ts.tensor { 1, nan }, ts.tensor { 1.01, nan }
    assert.is_false(x:allclose(y, { rtol = 0.02 }))
    assert.is_true(x:allclose(y, { rtol = 0.02, equal_nan = true }))
    assert.is_false(x:allclose(y, { rtol = 0, atol = 0.005, equal_nan = true }))
    assert.is_true(x:allclose(y, { rtol = 0, atol = 0.02, equal_nan = true }))
  end)
end)
