-- Which ops share storage with their operand: all that the API page lists as
-- views, those that are views where strides allow, and no other of the layout.
local ts = require "tensus"

local x = ts.arange(24):float():reshape(2, 3, 4)
local turned = x:permute(3, 1, 2)

local views = {
  view = function(t) return t:view(6, 4) end,
  select = function(t) return t:select(2, 1) end,
  narrow = function(t) return t:narrow(2, 2, 2) end,
  slice = function(t) return t:slice(3, 1, 4, 2) end,
  transpose = function(t) return t:transpose(1, 3) end,
  swapaxes = function(t) return t:swapaxes(1, 3) end,
  permute = function(t) return t:permute(3, 1, 2) end,
  t = function(t) return t[1]:t() end,
  T = function(t) return t[1].T end,
  mT = function(t) return t.mT end,
  movedim = function(t) return t:movedim(1, 3) end,
  squeeze = function(t) return t["1:1"]:squeeze() end,
  unsqueeze = function(t) return t:unsqueeze(2) end,
  expand = function(t) return t:expand(5, 2, 3, 4) end,
  expand_as = function(t) return t:expand_as(ts.ones(5, 2, 3, 4)) end,
  broadcast_to = function(t) return t:broadcast_to(5, 2, 3, 4) end,
  diagonal = function(t) return t:diagonal() end,
  unfold = function(t) return t:unfold(3, 2, 1) end,
  as_strided = function(t) return t:as_strided({ 2, 2 }, { 1, 1 }, 3) end,
  split = function(t) return t:split(2, 2)[2] end,
  chunk = function(t) return t:chunk(2, 3)[2] end,
  unbind = function(t) return t:unbind(3)[4] end,
  detach = function(t) return t:detach() end,
  ["a number"] = function(t) return t[2] end,
  ["a range"] = function(t) return t[{ 1, { 2, 3 } }] end,
  ["..."] = function(t) return t["..., 1"] end,
  new = function(t) return t["new, ..."] end,
}

-- A view of x, a copy of what lies turned.
local both = {
  reshape = function(t) return t:reshape(-1) end,
  rearrange = function(t) return t:rearrange("a b c -> (a b) c") end,
  flatten = function(t) return t:flatten() end,
  ravel = function(t) return t:ravel() end,
  unflatten = function(t) return t:flatten(1, 2):unflatten(1, { 2, -1 }) end,
}

local copies = {
  flip = function(t) return t:flip(1) end,
  roll = function(t) return t:roll(0) end,
  rot90 = function(t) return t:rot90(0) end,
  tile = function(t) return t:tile(1, 1, 1) end,
  repeat_interleave = function(t) return t:repeat_interleave(1, 1) end,
  einrepeat = function(t) return t:einrepeat("a b c -> a b c n", { n = 1 }) end,
  reduce = function(t) return t:reduce("a b c -> a b c", "sum") end,
  clone = function(t) return t:clone() end,
  pad = function(t) return t:pad {} end,
  tril = function(t) return t:tril(9) end,
  diag = function(t) return t[1]:diag() end,
  ["an index tensor"] = function(t) return t[ts.idx { 1, 2 }] end,
}

describe("a view", function()
  for name, f in pairs(views) do
    it("is what " .. name .. " gives", function()
      assert.is_true(f(x):shares(x))
    end)
  end

  for name, f in pairs(both) do
    it("is what " .. name .. " gives where strides allow", function()
      assert.is_true(f(x):shares(x))
      local copy = f(turned)
      assert.is_false(copy:shares(x))
      assert.is_true(copy:equal(f(turned:clone())))
    end)
  end

  for name, f in pairs(copies) do
    it("is not what " .. name .. " gives", function()
      assert.is_false(f(x):shares(x))
    end)
  end

  it("of a grid shares with its line", function()
    local line = ts.arange(3)
    local grid = ts.meshgrid { line, ts.arange(2) }
    assert.is_true(grid[1]:shares(line))
  end)

  it("is written through", function()
    local t = ts.zeros(2, 3)
    t:unfold(2, 1, 2)[{ 1, 2 }] = 5
    assert.equal(5, t(1, 3))
    t:as_strided({ 3 }, { 1 }, 3):fill_(7)
    assert.equal(7, t(2, 1))
  end)

  it("that overlaps itself is not written", function()
    local t = ts.zeros(5)
    assert.is_false(pcall(function() t:unfold(1, 3, 1):add_(1) end))
    assert.equal("overlap", ts.errinfo().code)
    assert.equal(0, t:sum():item())
  end)
end)
