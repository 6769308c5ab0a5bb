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

describe("a dim", function()
  it("is one of self", function()
    raises("dim", "sort: dim 3 of self {2,3}: dims are 1..2 or -1..-2",
      function() return x:sort(3) end)
    raises("dim", "median: dim is 0: dims are 1..2 or -1..-2",
      function() return x:median(0) end)
  end)
end)
