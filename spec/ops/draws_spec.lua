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
  rand_like = function(g) return ts.rand_like(ts.ones(n), { generator = g }) end,
  randn_like = function(g) return ts.randn_like(ts.ones(n), { generator = g }) end,
  randint = function(g) return ts.randint(-2, 3, { n }, { generator = g }) end,
  randperm = function(g) return ts.randperm(n, { generator = g }) end,
  uniform = function(g) return ts.empty(n):uniform_(-1, 3, { generator = g }) end,
  normal = function(g) return ts.empty(n):normal_(2, 0.5, { generator = g }) end,
  bernoulli = function(g) return ts.empty(n):bernoulli_(0.3, { generator = g }) end,
  random = function(g) return ts.empty(n):random_(-2, 3, { generator = g }) end,
  multinomial = function(g)
    return ts.tensor({ 1, 0, 3 }):multinomial(n,
      { replacement = true, generator = g })
  end,
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
    mean, variance = moments(draws.randn_like(generator()))
    near(mean, 0, 1)
    near(variance, 1, math.sqrt(2))
    mean = moments(draws.rand_like(generator()))
    near(mean, 0.5, math.sqrt(1 / 12))
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

-- Five standard errors of a count out of `draws` with probability p.
local function counts_near(found, draws, p, what)
  local room = 5 * math.sqrt(draws * p * (1 - p)) + 1e-9
  assert.is_true(math.abs(found - draws * p) <= room,
    what .. ": " .. found .. " of " .. draws .. ", " .. p .. " is due")
end

local function count(x, value) return x:eq(value):count_nonzero():item() end

describe("multinomial", function()
  local weights = ts.tensor { 0, 3, 1, 0, 4, 0 }

  it("draws by weight, and never a weight of 0", function()
    local x = weights:multinomial(n, { replacement = true,
      generator = generator() })
    assert.equal("i64", x.dtype)
    for k, w in ipairs(weights:tolist()) do
      counts_near(count(x, k), n, w / 8, "position " .. k)
    end
  end)

  it("draws each position once without replacement, the first by weight",
    function()
      local g, first = generator(), 0
      local rounds = 3000
      local rows = weights:expand(rounds, 6)
      local x = rows:multinomial(3, { generator = g })
      assert.is_true(x:sum(2):eq(2 + 3 + 5):all():item())
      first = count(x[{ {}, 1 }], 5)
      counts_near(first, rounds, 4 / 8, "position 5 first")
      -- second place: 5 after 2 or 3 came first
      counts_near(count(x[{ {}, 2 }], 5), rounds,
        3 / 8 * 4 / 5 + 1 / 8 * 4 / 7, "position 5 second")
    end)

  it("follows each row's own weights, as its dtype holds them", function()
    for _, dtype in ipairs { "f16", "bf16", "f32", "f64" } do
      local w = ts.tensor({ { 1, 0, 0 }, { 0, 0, 2 } }, dtype)
      local x = w:multinomial(4, { replacement = true })
      assert.same({ { 1, 1, 1, 1 }, { 3, 3, 3, 3 } }, x:tolist())
    end
    assert.same({ 0, 2 }, { ts.zeros(0, 3):multinomial(2,
      { replacement = true }):size() })
    assert.same({ 3, 0 }, { ts.zeros(3, 2):multinomial(0):size() })
  end)

  it("names what is wrong with the weights", function()
    local function raises(code, ...)
      assert.is_false(pcall(ts.multinomial, ...))
      assert.equal(code, ts.errinfo().code)
    end
    raises("negative", ts.tensor { 1, -1 }, 1)
    raises("negative", ts.tensor { 1, 0 / 0 }, 1)
    raises("negative", ts.tensor { 1, math.huge }, 1)
    raises("zero_sum", ts.zeros(3), 1)
    raises("zero_sum", ts.zeros(0), 1, { replacement = true })
    raises("too_many", ts.ones(3), 4)
    raises("not_enough_nonzero", ts.tensor { 1, 0, 2 }, 3)
    raises("rank", ts.ones(2, 2, 2), 1)
    raises("rank", ts.ones {}, 1)
    raises("range", ts.ones(3), -1)
    raises("dtype", ts.ones(3, "i64"), 1)
    local info = ts.errinfo()
    assert.equal("multinomial", info.op)
  end)

  it("does not move the generator when it fails", function()
    local g = generator()
    pcall(ts.multinomial, ts.zeros(3), 1, { generator = g })
    assert.is_true(g:state():equal(generator():state()))
  end)
end)

describe("bernoulli", function()
  it("takes its probabilities from a tensor", function()
    local p = ts.tensor({ 0, 1, 0.25 }):expand(n, 3)
    local x = p:bernoulli({ generator = generator() })
    assert.equal(0, count(x[{ {}, 1 }], 1))
    assert.equal(n, count(x[{ {}, 2 }], 1))
    counts_near(count(x[{ {}, 3 }], 1), n, 0.25, "a quarter")
  end)

  it("is one draw for a number and a tensor of it", function()
    local a = ts.full({ 99 }, 0.3):bernoulli({ generator = generator() })
    local b = ts.empty(99):bernoulli(0.3, { generator = generator() })
    assert.is_true(a:equal(b))
  end)

  it("refuses what is no probability, and says where", function()
    for _, bad in ipairs { -0.1, 1.1, 0 / 0 } do
      local ok, why = pcall(ts.bernoulli, ts.tensor { { 0.5, bad } })
      assert.is_false(ok)
      assert.matches("%(1,2%)", why)
      assert.equal("range", ts.errinfo().code)
    end
  end)
end)

describe("random_", function()
  it("fills any dtype with whole numbers of a closed range", function()
    for _, dtype in ipairs { "i8", "u8", "i64", "f16", "f32" } do
      local x = ts.empty({ n }, dtype):random_(2, 5, { generator = generator() })
      for k = 2, 5 do counts_near(count(x, k), n, 1 / 4, dtype) end
    end
    assert.is_false(pcall(ts.random_, ts.empty(2, "u8"), -1, 3))
    assert.equal("range", ts.errinfo().code)
  end)
end)

describe("a generator's state", function()
  it("is saved and set", function()
    local g = generator()
    ts.randn(7, { generator = g })
    local state = g:state()
    local first = ts.randn(5, { generator = g })
    g:set_state(state)
    assert.is_true(ts.randn(5, { generator = g }):equal(first))
  end)

  it("parts forks from each other and from their parent", function()
    local g = generator()
    local seen = { ts.rand(9, { generator = generator() }) }
    for k = 0, 5 do seen[#seen + 1] = ts.rand(9, { generator = g:fork(k) }) end
    seen[#seen + 1] = ts.rand(9, { generator = g:fork(1):fork(1) })
    for i = 1, #seen do
      for j = 1, i - 1 do
        assert.is_false(seen[i]:equal(seen[j]), i .. " and " .. j)
      end
    end
  end)
end)

describe("empty", function()
  it("has the shape and dtype that are asked", function()
    local x = ts.empty({ 2, 0, 3 }, "i16")
    assert.is_true(x.shape == { 2, 0, 3 })
    assert.equal("i16", x.dtype)
  end)
end)
