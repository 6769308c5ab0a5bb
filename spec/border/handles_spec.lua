-- Handles: identity, locks, finalisers, hostile use.
local ts = require "tensus"

describe("a handle", function()
  it("hides its metatable", function()
    local x = ts.ones(1)
    assert.equal("tensus.tensor", getmetatable(x))
    assert.has_error(function() setmetatable(x, {}) end)
    assert.is_false(pcall(function() return x.__gc end))
  end)

  it("is a key by identity", function()
    local x, y = ts.ones(1), ts.ones(1)
    local t = { [x] = 1, [y] = 2 }
    assert.equal(1, t[x])
    assert.equal(2, t[y])
  end)

  it("is told from foreign userdata", function()
    assert.has_error(function() ts.sum(io.stdout) end)
    assert.has_error(function() return ts.ones(1).sum(io.stdout) end)
    assert.has_error(function() return ts.ones(1) + io.stdout end)
  end)

  it("is no string of its size", function()
    for n = 1, 200 do
      assert.is_false(pcall(ts.exp, ("x"):rep(n)))
    end
  end)
end)

describe("a finaliser", function()
  it("may free what a call has taken", function()
    local x = ts.ones(64)
    local done = false
    for _ = 1, 2000 do
      local t = setmetatable({}, { __gc = function()
        if not done then
          done = true
          x:free()
        end
      end })
      t = nil
      local ok, r = pcall(ts.cat, { x, x }, 1)
      if not ok then
        assert.matches("freed", r)
        break
      end
      assert.equal(128, r:numel())
    end
  end)

  it("may make and keep tensors", function()
    local kept = {}
    for i = 1, 100 do
      setmetatable({}, { __gc = function() kept[#kept + 1] = ts.ones(i) end })
    end
    collectgarbage()
    collectgarbage()
    assert.is_true(#kept > 0)
    for _, x in ipairs(kept) do assert.equal(x:numel(), x:sum():item()) end
  end)
end)

describe("a state", function()
  it("closes with tensors, graphs and modes alive", function()
    local program = os.getenv("TENSUS") or arg[-1]
    local code = [[
      local ts = require "tensus"
      keep = ts.ones(3, {requires_grad=true})
      graph = (keep * 2):sum()
      mode = ts.no_grad()
      co = coroutine.wrap(function()
        local _ <close> = ts.no_grad()
        local x <close> = ts.ones(2)
        coroutine.yield(x)
      end)
      held = co()
      setmetatable({}, {__gc = function() late = ts.ones(5) + held end})
    ]]
    local name = os.tmpname()
    local file = assert(io.open(name, "w"))
    file:write(code)
    file:close()
    assert.is_true(os.execute(program .. " " .. name) == true)
    os.remove(name)
  end)
end)
