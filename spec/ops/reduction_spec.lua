-- Reductions at their edges: nothing to reduce, NaN, infinities, numbers whose
-- sum or square leaves the dtype, many terms.
local ts = require "tensus"
local array = require "spec.support.array"

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

describe("diff", function()
  it("asks for an axis and for a count that is not negative", function()
    raises("rank", "diff", function() return ts.tensor(1):diff() end)
    raises("range", "diff: n is -1; it must be 0 or more",
      function() return ts.ones(3):diff({ n = -1 }) end)
    raises("dim", "diff: dim 2 of self {3}: dims are 1..1 or -1..-1",
      function() return ts.ones(3):diff({ dim = 2 }) end)
  end)
end)
