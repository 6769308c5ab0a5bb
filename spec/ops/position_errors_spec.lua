-- Bad positions, masks and sources: what is said, and that nothing was written.
local ts = require "tensus"

local function raises(code, text, f, ...)
  local ok, message = pcall(f, ...)
  assert.is_false(ok, "it did not raise")
  assert.is_truthy(message:find(text, 1, true), message)
  assert.equal(code, ts.errinfo().code)
end

local x = ts.tensor{{1, 2, 3}, {4, 5, 6}}

-- The form in place leaves x as it was, too.
local function refuses(code, text, name, ...)
  raises(code, name .. ": " .. text, ts[name], x, ...)
  local before = x:tolist()
  local target = x:clone()
  local ok, message = pcall(ts[name .. "_"], target, ...)
  assert.is_false(ok)
  assert.is_truthy(message:find(text, 1, true), message)
  assert.same(before, target:tolist())
end

describe("positions", function()
  it("are checked before one is written", function()
    refuses("index", "index(2,1) is 3; positions of dim 1 of self {2,3} are 1..2",
      "scatter", 1, ts.idx{{1}, {3}}, 5)
    refuses("index", "index(1,1) is -1", "scatter", 1, ts.idx{{-1}}, 5)
    refuses("index", "index[3] is 4; positions of dim 2 of self {2,3} are 1..3",
      "index_copy", 2, ts.idx{1, 2, 4}, ts.ones(2, 3))
    refuses("index", "index[2] is 0", "index_fill", 1, ts.idx{1, 0}, 5)
    refuses("index", "index[1] is 7", "put", ts.idx{7}, ts.ones(1))
    raises("index", "take: index[2] is 7", x.take, x, ts.idx{1, 7})
    raises("index", "take: index[1] is -1", x.take, x, ts.idx{-1})
    raises("index", "take_along_dim: index(1,1) is 4", x.take_along_dim, x, ts.idx{{4}}, 2)
    raises("index", "embedding: index[2] is 3", ts.embedding, ts.idx{1, 3}, x)
    raises("index", "position 3 of dim 1 of {2,3}", ts.embedding, ts.idx{1}, x, {padding_idx = 3})
    raises("index", "segment_sum: index[2] is 3", x.segment_sum, x, ts.idx{1, 3}, 2)
    raises("index", "9223372036854775807", x.take, x, ts.idx{math.maxinteger})
    raises("index", "-9223372036854775808", x.take, x, ts.idx{math.mininteger})
  end)

  it("are integers", function()
    refuses("dtype", "index is f32; positions are integers", "scatter", 1,
      ts.ones(1, 1), 5)
    refuses("dtype", "index is bool; positions are integers", "index_copy", 1,
      ts.tensor{true}, ts.ones(1, 3))
    raises("dtype", "f32", x.take, x, ts.tensor{0 / 0})
    raises("dtype", "embedding takes integers", ts.embedding, ts.ones(2), x)
  end)
end)

describe("shapes", function()
  it("fit", function()
    refuses("shape", "index {3} does not fit self {2,3} along dim 1", "scatter", 1,
      ts.idx{1, 1, 1}, 5)
    refuses("shape", "index {2,3} does not fit source {1,3}", "scatter", 1,
      ts.ones(2, 3):to("i64"), ts.ones(1, 3))
    refuses("shape", "source is {2}; self {2,3} and index {1} want {1,3}",
      "index_copy", 1, ts.idx{1}, ts.ones(2))
    refuses("rank", "value {2}", "index_fill", 1, ts.idx{1}, ts.ones(2))
    refuses("shape", "source {2} and index {1}", "put", ts.idx{1}, ts.ones(2))
    raises("shape", "take_along_dim: index {3,1} and self {2,3} do not broadcast beside dim 2",
      x.take_along_dim, x, ts.idx{{1}, {1}, {1}}, 2)
    raises("rank", "weight {2,2,2}", ts.embedding, ts.idx{1}, ts.ones(2, 2, 2))
    raises("shape", "index {1} does not label the rows of self {2,3}",
      x.segment_sum, x, ts.idx{1}, 2)
    raises("range", "n is -1", x.segment_sum, x, ts.idx{1, 1}, -1)
  end)

  it("have dims", function()
    refuses("dim", "dim 3 of self {2,3}", "scatter", 3, ts.idx{{1}}, 5)
    refuses("dim", "dim is 0", "index_fill", 0, ts.idx{1}, 5)
    raises("rank", "take_along_dim", x.take_along_dim, ts.ones{}, ts.idx(1), 1)
  end)
end)

describe("sources", function()
  it("are of the dtype, and numbers fit", function()
    refuses("dtype", "self is f32, source is f64", "scatter", 1, ts.idx{{1}},
      ts.ones(1, 1, "f64"))
    refuses("dtype", "self is f32, source is i64", "index_copy", 1, ts.idx{1}, ts.idx{{1, 2, 3}})
    local u = ts.zeros(2, "u8")
    raises("range", "300 does not fit in u8", u.scatter, u, 1, ts.idx{1}, 300)
    raises("range", "1.5 does not fit in u8", u.index_fill, u, 1, ts.idx{1}, 1.5)
  end)
end)

describe("masks", function()
  it("are bool and stretch", function()
    raises("dtype", "masked_select: mask is f32; a mask is bool", x.masked_select,
      x, ts.ones(2, 3))
    raises("shape", "masked_select: mask {2} and self {2,3} do not broadcast",
      x.masked_select, x, ts.tensor{true, false})
    refuses("shape", "mask {2} and self {2,3} do not broadcast", "masked_scatter",
      ts.tensor{true, false}, ts.ones(6))
  end)

  it("ask for enough", function()
    refuses("size", "source {5} has 5 elements, the mask takes 6",
      "masked_scatter", x:gt(0), ts.ones(5))
    refuses("dtype", "self is f32, source is f64", "masked_scatter", x:gt(0), ts.ones(6, "f64"))
  end)

  it("do not stretch what is written in place", function()
    local row = ts.ones(3)
    raises("shape", "masked_scatter_: self {3} would have to stretch to {2,3}",
      row.masked_scatter_, row, x:gt(0), ts.zeros(6))
    assert.same({1, 1, 1}, row:tolist())
  end)
end)

describe("in place", function()
  it("what overlaps is read first", function()
    local a = ts.arange(6):float()
    a["2:6"]:index_copy_(1, ts.idx{1, 2, 3, 4, 5}, a["1:5"])
    assert.same({1, 1, 2, 3, 4, 5}, a:tolist())
    local i = ts.idx{2, 1, 3}
    i:scatter_(1, i, ts.idx{7, 8, 9})
    assert.same({8, 7, 9}, i:tolist())
    local m = ts.tensor{true, false, true}
    m:masked_scatter_(m, ts.tensor{false, true})
    assert.same({false, false, true}, m:tolist())
  end)
end)

describe("nonzero", function()
  it("gives a result for each dim as a tuple", function()
    local m = ts.tensor{{0, 2, 0}, {3, 0, 4}}
    local i, j = m:nonzero{as_tuple = true}
    assert.same({1, 2, 2}, i:tolist())
    assert.same({2, 1, 3}, j:tolist())
    assert.same({2, 3, 4}, m[{i, j}]:tolist())
    assert.equal(0, select("#", ts.tensor(3):nonzero{as_tuple = true}))
  end)
end)

describe("embedding", function()
  it("gives the row of padding_idx no gradient", function()
    local w = ts.ones(3, 2, {requires_grad = true})
    local y = ts.embedding(ts.idx{1, 2, 2, 3}, w, {padding_idx = -2})
    assert.same(w:tolist()[1], y:tolist()[2])
    y:sum():backward()
    assert.same({{1, 1}, {0, 0}, {1, 1}}, w.grad:tolist())
  end)
end)

describe("equal positions", function()
  it("have one winner, for value and gradient", function()
    local n = 40
    for _, dtype in ipairs{"f32", "f64"} do
      local at = ts.randint(1, 7, {n}, {generator = ts.generator(5)})
      local v = ts.rand(n, {dtype = dtype, generator = ts.generator(6)}):requires_grad_()
      local last = {}
      for k = 1, n do last[at(k)] = k end
      for _, write in ipairs{
        function() return ts.zeros(7, dtype):scatter(1, at, v) end,
        function() return ts.zeros(7, dtype):index_copy(1, at, v) end,
        function() return ts.zeros(7, dtype):put(at, v) end,
      } do
        local y = write()
        local g = ts.grad((y * ts.arange(7)):sum(), v)
        for k = 1, n do
          local wins = last[at(k)] == k
          if wins then assert.equal(v(k), y(at(k))) end
          assert.equal(wins and at(k) or 0, g(k))
        end
      end
    end
  end)
end)

describe("lists of positions", function()
  it("name dims, sizes and what does not fit", function()
    raises("index", "index: position 4 of dim 2 of {2,3}: positions are 1..3 or -1..-3",
      x.index, x, {{}, ts.idx{1, 4}})
    raises("index", "index: position -3 of dim 1 of {2,3}", x.index, x, {ts.idx{-3}})
    refuses("index", "position 0 of dim 1 of {2,3}", "index_put", {ts.idx{1, 0}}, 5)
    refuses("mask", "mask {2} does not match dim 2 of {2,3}, size 3", "index_put",
      {{}, ts.tensor{true, false}}, 5)
    refuses("too_many", "positions are too many for self {2,3}, which has 2 dims",
      "index_put", {{}, {}, ts.idx{1}}, 5)
    refuses("shape", "index tensors {2} and {3} do not broadcast", "index_put",
      {ts.idx{1, 2}, ts.idx{1, 2, 3}}, 5)
    refuses("shape", "value {2} does not broadcast to the indexed {1,3}", "index_put",
      {ts.idx{1}}, ts.ones(2))
    refuses("empty", "positions hold no tensor", "index_put", {{}, ":"}, 5)
    refuses("dtype", "an index tensor is f32", "index_put", {ts.ones(2)}, 5)
    refuses("mask", "a bool of rank 0 masks nothing", "index_put", {ts.tensor(true)}, 5)
    refuses("type", "positions[1] is the string \"1:2\"", "index_put", {"1:2"}, 5)
    refuses("type", "positions[2] is the number 3", "index_put", {ts.idx{1}, 3}, 5)
    local u = ts.zeros(2, "u8")
    raises("range", "value 300 does not fit in u8", u.index_put, u, {ts.idx{1}}, 300)
    raises("range", "value holds -1", u.index_put, u, {ts.idx{1}}, ts.idx{-1})
    raises("dtype", "value is f32 and self is u8", u.index_put, u, {ts.idx{1}}, ts.ones(1))
    local b = ts.tensor{true}
    raises("dtype", "self is bool, which does not add up", b.index_put, b, {ts.idx{1}}, true,
      {accumulate = true})
  end)

  it("take what brackets take", function()
    assert.same({3, 6}, x:index{":", ts.idx(-1)}:tolist())
    assert.same({{4, 5, 6}}, x:index(ts.idx{2}):tolist())
    assert.same({{1, 2, 3}, {7, 8, 9}}, x:index_put({ts.idx{2}}, ts.idx{7, 8, 9}):tolist())
    assert.same({true, false}, ts.tensor{false, false}:index_put({ts.idx{1}}, true):tolist())
  end)
end)
