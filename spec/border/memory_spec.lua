-- The collector, scopes, limits, and refused requests.
local ts = require "tensus"
local fault = require "tensus.fault"

local MIB = 2 ^ 20

--- Bytes above what was in use, at the worst, while f runs.
local function peak(f)
  collectgarbage()
  collectgarbage()
  ts.empty_cache()
  ts.reset_peak()
  local before = ts.memory().peak
  f()
  return ts.memory().peak - before
end

describe("temporaries", function()
  it("of 1 MiB are collected in time", function()
    local x = ts.ones(512, 512)
    assert.is_true(peak(function()
      for _ = 1, 10000 do ts.empty(512, 512) end
    end) < 64 * MIB)
    assert.is_true(peak(function()
      for _ = 1, 500 do local _ = x + 1 end
    end) < 64 * MIB)
  end)

  it("are collected in a coroutine", function()
    assert.is_true(peak(coroutine.wrap(function()
      for _ = 1, 2000 do ts.empty(512, 512) end
    end)) < 64 * MIB)
  end)

  it("that grew old go, too", function()
    assert.is_true(peak(function()
      for _ = 1, 200 do
        local batch = {}
        for i = 1, 16 do batch[i] = ts.empty(512, 512) end
      end
    end) < 160 * MIB)
  end)
end)

describe("a scope", function()
  it("frees what is not returned", function()
    local lost
    local kept = ts.scope(function()
      lost = ts.ones(3)
      return { { ts.ones(2) } }
    end)
    assert.equal(2, kept[1][1]:sum():item())
    assert.has_error(function() return lost:sum() end)
  end)

  it("frees after an error", function()
    local lost
    pcall(ts.scope, function()
      lost = ts.ones(3)
      error "x"
    end)
    assert.has_error(function() return lost:sum() end)
  end)

  it("keeps what a block keeps", function()
    local lost, kept
    do
      local s <close> = ts.scope()
      lost, kept = ts.ones(1), ts.ones(2)
      s:keep(kept)
    end
    assert.has_error(function() return lost:sum() end)
    assert.equal(2, kept:sum():item())
  end)

  it("nests", function()
    local inner
    ts.scope(function()
      inner = ts.scope(function() return ts.ones(1) end)
      assert.equal(1, inner:sum():item())
    end)
    assert.has_error(function() return inner:sum() end)
  end)

  it("ends cycles", function()
    local t = ts.scope(function()
      local t = { ts.ones(1) }
      t.t = t
      return t
    end)
    assert.equal(1, t[1]:sum():item())
  end)
end)

describe("free", function()
  it("gives the tensor up now", function()
    local x = ts.ones(1000)
    local before = ts.memory().tensors
    x:free()
    x:free()
    assert.equal(before - 1, ts.memory().tensors)
    local ok, text = pcall(function() return x + 1 end)
    assert.is_false(ok)
    assert.matches("add: self was freed at .*memory_spec.lua:%d+", text)
  end)

  it("ends a block", function()
    local kept
    do
      local x <close> = ts.ones(3)
      kept = x
    end
    assert.has_error(function() return kept:sum() end)
  end)

  it("is safe for what backward needs", function()
    local x = ts.tensor({ 1, 2 }, { requires_grad = true })
    local h = x * 2
    local y = (h * h):sum()
    h:free()
    y:backward()
    assert.same({ 8, 16 }, x.grad:tolist())
  end)
end)

describe("figures", function()
  it("are in bytes", function()
    local x = ts.zeros(1000, 1000)
    local m = ts.memory()
    assert.is_true(m.host >= 4000000)
    assert.is_true(m.lua > 0 and m.peak >= m.host)
    x:free()
    assert.is_true(ts.memory().host <= m.host - 4000000)
    assert.is_number(ts.memory("cpu").cached)
  end)

  it("name the threads", function()
    local n = ts.get_num_threads()
    ts.set_num_threads(1)
    assert.equal(1, ts.get_num_threads())
    ts.set_num_threads(n)
    assert.has_error(function() ts.set_num_threads(0) end)
  end)
end)

describe("refused requests", function()
  local function sweep(f, ...)
    for k = 1, 1000 do
      local before = fault.used()
      local ok, message, calls = fault.from(k, f, ...)
      if ok then return k end
      assert.matches("out of memory", message)
      assert.is_true(calls >= k)
      assert.equal(before, (fault.used()))
    end
    error "does not end"
  end

  it("leave nothing behind", function()
    local x = ts.ones(64, 64)
    assert.is_true(sweep(function() return x + 1 end) > 1)
    sweep(function() return x:sum(1) end)
    sweep(function() return ts.cat { x, x } end)
    sweep(function() return x:matmul(x) end)
  end)

  it("change no gradient", function()
    local x = ts.ones(4, { requires_grad = true })
    for k = 1, 1000 do
      local y = (x * x):sum()
      local before = x.grad and x.grad:tolist()
      local ok = fault.from(k, y.backward, y)
      if ok then break end
      assert.same(before, x.grad and x.grad:tolist())
    end
    assert.same({ 2, 2, 2, 2 }, x.grad:tolist())
  end)

  it("that reach Lua itself end in an error", function()
    local x = ts.ones(8)
    for k = 1, 200 do
      if fault.all(k, function()
        local t = {}
        for i = 1, 5 do t[i] = x + i end
        return ts.cat(t):sum(1, { keepdim = true })
      end) then break end
    end
    assert.equal(8, x:sum():item())
  end)
end)
