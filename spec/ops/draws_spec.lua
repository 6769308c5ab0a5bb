-- What a draw promises: its range, its moments within five standard errors,
-- and that a generator's state decides every number.
local ts = require "tensus"

local n = 20000

local function generator() return ts.generator(17) end
local function moments(x)
  local values = x:to("f64")
  local mean = values:mean():item()
  local variance = (values - mean):square():mean():item()
  return mean, variance
end

local function near(found, due, deviation)
  local room = 5 * deviation / math.sqrt(n)
  assert.is_true(math.abs(found - due) < room,
    string.format("%g, %g within %g is due", found, due, room))
end

-- Each row as a function of a generator.
local draws = {
  rand = function(g) return ts.rand({ n }, { generator = g }) end,
  randn = function(g) return ts.randn({ n }, { generator = g }) end,
  randint = function(g) return ts.randint(-2, 3, { n }, { generator = g }) end,
  randperm = function(g) return ts.randperm(n, { generator = g }) end,
  uniform = function(g) return ts.empty(n):uniform_(-1, 3, { generator = g }) end,
  normal = function(g) return ts.empty(n):normal_(2, 0.5, { generator = g }) end,
  bernoulli = function(g) return ts.empty(n):bernoulli_(0.3, { generator = g }) end,
  dropout = function(g) return ts.ones(n):dropout(0.3, { generator = g }) end,
}

describe("a draw", function()
  it("is described here for every row that takes a generator", function()
    for _, op in ipairs(ts.ops()) do
      for _, param in ipairs(op.params) do
        if param.kind == "generator" then
          assert.is_truthy(draws[op.name], op.name)
        end
      end
    end
  end)

  for name, draw in pairs(draws) do
    it("follows its generator: " .. name, function()
      local g = generator()
      local first, second = draw(g), draw(g)
      assert.is_true(draw(generator()):equal(first))
      assert.is_false(first:equal(second))
      assert.is_false(draw(ts.generator(18)):equal(first))
    end)

    it("follows the seed of the state without one: " .. name, function()
      ts.manual_seed(5)
      local first = draw(nil)
      ts.manual_seed(5)
      assert.is_true(draw(nil):equal(first))
    end)
  end

  it("has the moments of its law", function()
    local mean, variance = moments(draws.rand(generator()))
    near(mean, 0.5, math.sqrt(1 / 12))
    near(variance, 1 / 12, 0.0746)
    mean, variance = moments(draws.randn(generator()))
    near(mean, 0, 1)
    near(variance, 1, math.sqrt(2))
    mean, variance = moments(draws.normal(generator()))
    near(mean, 2, 0.5)
    near(variance, 0.25, 0.25 * math.sqrt(2))
    mean = moments(draws.uniform(generator()))
    near(mean, 1, 4 / math.sqrt(12))
    mean = moments(draws.bernoulli(generator()))
    near(mean, 0.3, math.sqrt(0.21))
    mean = moments(draws.randint(generator()))
    near(mean, 0.5, math.sqrt(35 / 12))
    mean = moments(draws.dropout(generator()))
    near(mean, 1, math.sqrt(0.3 / 0.7))
  end)

  it("stays in its range, in every float dtype", function()
    for _, dtype in ipairs { "f16", "bf16", "f32", "f64" } do
      local x = ts.rand({ n }, { dtype = dtype, generator = generator() })
      assert.equal(dtype, x.dtype)
      assert.is_true(x:ge(0):all():item())
      assert.is_true(x:lt(1):all():item())
      x = ts.empty({ n }, dtype):uniform_(-1, 3, { generator = generator() })
      assert.is_true(x:ge(-1):all():item() and x:lt(3):all():item())
    end
  end)

  it("hits every whole number of a closed range, and no other", function()
    local x = draws.randint(generator())
    assert.equal("i64", x.dtype)
    assert.equal(-2, x:amin():item())
    assert.equal(3, x:amax():item())
    for k = -2, 3 do
      local count = x:eq(k):count_nonzero():item()
      assert.is_true(math.abs(count - n / 6) < 5 * math.sqrt(n * 5 / 36))
    end
  end)

  it("permutes: every position once", function()
    local x = draws.randperm(generator())
    local seen = ts.zeros(n):index_add(1, x, ts.ones(n))
    assert.is_true(seen:equal(ts.ones(n)))
    assert.same({}, ts.randperm(0):tolist())
  end)

  it("begins alike for any length", function()
    local long = ts.randn({ 1003 }, { generator = generator() })
    local short = ts.randn({ 100 }, { generator = generator() })
    assert.is_true(long:slice(1, 1, 100):equal(short))
  end)

  it("keeps or scales: dropout", function()
    local x = draws.dropout(generator())
    local kept = x:ne(0)
    assert.is_true(x:eq(ts.tensor(1 / 0.7)):eq(kept):all():item())
    local y = ts.ones(9)
    assert.is_true(y:dropout(0.9, { training = false }):equal(y))
    assert.is_true(y:dropout(1):equal(ts.zeros(9)))
    assert.is_true(y:dropout(0):equal(y))
  end)

  it("does not move when it fails", function()
    local g = generator()
    assert.is_false(pcall(ts.randint, 3, 2, { 4 }, { generator = g }))
    local x = ts.empty(4)
    assert.is_false(pcall(x.normal_, x, 0, -1, { generator = g }))
    assert.is_true(draws.rand(g):equal(draws.rand(generator())))
  end)
end)

describe("empty", function()
  it("has the shape and dtype that are asked", function()
    local x = ts.empty({ 2, 0, 3 }, "i16")
    assert.is_true(x.shape == { 2, 0, 3 })
    assert.equal("i16", x.dtype)
  end)
end)
