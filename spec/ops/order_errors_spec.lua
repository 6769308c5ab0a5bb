-- Bad calls of the rows that sort, count and search.
local ts = require "tensus"

local function raises(code, text, f)
  local ok, message = pcall(f)
  assert.is_false(ok, "it did not raise: " .. text)
  assert.equal(text, (message:gsub("^[^:]*:%d+: ", "")))
  assert.equal(code, ts.errinfo().code)
end

local x = ts.ones(2, 3)

describe("a rank", function()
  it("lies within the line", function()
    raises("range", "topk: k is 4; dim 2 of self {2,3} has 3 elements",
      function() return x:topk(4) end)
    raises("range", "topk: k is -1; dim 1 of self {2,3} has 2 elements",
      function() return x:topk(-1, 1) end)
    raises("range", "kthvalue: k is 0; dim 2 of self {2,3} has 3 elements",
      function() return x:kthvalue(0) end)
    raises("range", "kthvalue: k is 2; self {} has 1 element",
      function() return ts.tensor(1.0):kthvalue(2) end)
  end)

  it("needs an element", function()
    raises("empty", "median: dim 1 of self {0} is empty and has no median",
      function() return ts.ones(0, 2):median() end)
    raises("empty", "nanmedian: dim 2 of self {2,0} is empty and has no median",
      function() return ts.ones(2, 0):nanmedian(2) end)
    raises("empty", "kthvalue: dim 1 of self {0,2} is empty and has no k-th value",
      function() return ts.ones(0, 2):kthvalue(1, 1) end)
  end)
end)

describe("a part of the order", function()
  it("lies between 0 and 1", function()
    raises("range", "quantile: q is 1.5; parts are 0 to 1",
      function() return x:quantile(1.5) end)
    raises("range", "quantile: q[2] is -0.1; parts are 0 to 1",
      function() return x:quantile(ts.tensor({ 0.1, -0.1 }, "f64"), 1) end)
    assert.is_false(pcall(ts.quantile, x, 0 / 0))
    raises("rank", "quantile: q {1,2} must have rank 0 to 1",
      function() return x:quantile(ts.zeros(1, 2)) end)
    raises("empty", "quantile: dim 1 of self {0} is empty and has no quantile",
      function() return ts.ones(0):quantile(0.5) end)
  end)
end)

describe("a search", function()
  it("asks for lines that fit the values", function()
    raises("rank", "searchsorted: self {} must have rank 1 to 12",
      function() return ts.tensor(1.0):searchsorted(1) end)
    raises("shape", "searchsorted: values is {3,2}; a sequence {2,3} has lines "
      .. "for values of the same leading sizes",
      function() return x:searchsorted(ts.ones(3, 2)) end)
    raises("rank", "bucketize: boundaries {2,3} must have rank 1",
      function() return x:bucketize(x) end)
  end)

  it("compares across dtypes without loss", function()
    local big = 1 << 53
    local line = ts.tensor({ big - 1, big + 1 }, "i64")
    assert.equal(2, line:searchsorted(big):item())
    assert.equal(2, ts.tensor({ 1, 2, 4 }, "u8"):searchsorted(1.5):item())
    assert.equal(4, ts.tensor({ 1, 2, 4 }, "u8"):searchsorted(300):item())
    local halves = ts.tensor({ 0.5, 2.5 }, "f64")
    local places = ts.tensor({ 0, 1, 2, 3 }, "i8"):bucketize(halves)
    assert.same({ 1, 2, 2, 3 }, places:tolist())
    assert.same({ false, true }, ts.tensor({ 1, 2 }, "i32")
      :isin(ts.tensor({ 1.5, 2.0 }, "f64")):tolist())
  end)
end)

describe("a count", function()
  it("takes labels from 1 on", function()
    raises("index", "bincount: self[2] is 0; labels count from 1",
      function() return ts.idx({ 3, 0 }):bincount() end)
    raises("rank", "bincount: self {1,1} must have rank 1",
      function() return ts.idx({ { 1 } }):bincount() end)
    raises("range", "bincount: minlength is -1, below 0",
      function() return ts.idx({ 1 }):bincount { minlength = -1 } end)
    raises("shape", "bincount: self {2} and weights {3} must have equal shapes",
      function() return ts.idx({ 1, 2 }):bincount { weights = ts.ones(3) } end)
  end)

  it("takes a range of bins that has ends", function()
    raises("range", "histc: bins is 0, not of 1..2147483647",
      function() return x:histc(0) end)
    raises("range", "histc: min 2 is above max 1",
      function() return x:histc(3, { min = 2, max = 1 }) end)
    raises("range",
      "histc: bins from 0 to inf: give finite ends as min and max",
      function() return ts.tensor({ 0.0, math.huge }):histc(3) end)
  end)
end)

describe("a dim", function()
  it("is one of self", function()
    raises("dim", "sort: dim 3 of self {2,3}: dims are 1..2 or -1..-2",
      function() return x:sort(3) end)
    raises("dim", "median: dim is 0: dims are 1..2 or -1..-2",
      function() return x:median(0) end)
  end)
end)
