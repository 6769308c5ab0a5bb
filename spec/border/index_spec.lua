-- x[index], x(i, j) and assignment (API.md, section 5).
local ts = require "tensus"

local function raises(code, text, f, ...)
  local ok, message = pcall(f, ...)
  assert.is_false(ok, "it did not raise")
  assert.is_truthy(message:find(text, 1, true), message)
  assert.equal(code, ts.errinfo().code)
end

local function same(expected, x)
  assert.same(expected, x:tolist())
end

-- the element at (a, b, c) is abc in decimal
local function cube()
  local t = {}
  for a = 1, 4 do
    t[a] = {}
    for b = 1, 5 do
      t[a][b] = {}
      for c = 1, 6 do t[a][b][c] = 100 * a + 10 * b + c end
    end
  end
  return ts.tensor(t)
end

local x = cube()
local i, j = ts.idx{1, 3}, ts.idx{{1}, {2}, {3}}
local m = x:gt(0)
local r = ts.tensor{true, false, true, false}

describe("the table of API.md:", function()
  local views = {
    {2, {5, 6}}, {-1, {5, 6}}, {2.0, {5, 6}},
    {{2, 3}, {6}}, {"2,3", {6}}, {{2, 3, 4}, {}},
    {{{2, 3}}, {2, 5, 6}}, {"2:3", {2, 5, 6}}, {{{2}}, {1, 5, 6}},
    {{{1, -1, 2}}, {2, 5, 6}}, {"::2", {2, 5, 6}}, {{{1, 0}}, {0, 5, 6}},
    {{{}, 3}, {4, 6}}, {":,3", {4, 6}}, {{ts.all, 3}, {4, 6}}, {{":", 3}, {4, 6}},
    {{"...", 1}, {4, 5}}, {"..., 1", {4, 5}},
    {"2, 2:3, ::2", {2, 3}}, {{1, {2, 3}, {-2, -1}}, {2, 2}},
    {{"new"}, {1, 4, 5, 6}}, {"new, ...", {1, 4, 5, 6}}, {{ts.newaxis}, {1, 4, 5, 6}},
    {"..., new", {4, 5, 6, 1}}, {{{}, "new", 2}, {4, 1, 6}}, {{}, {4, 5, 6}},
  }
  for k, case in ipairs(views) do
    it("case " .. k .. " is a view of the shape", function()
      local y = x[case[1]]
      assert.is_true(y.shape == case[2], tostring(y.shape))
      assert.is_true(y:shares(x) and y:is_view())
    end)
  end

  local copies = {
    {i, {2, 5, 6}}, {j, {3, 1, 5, 6}}, {{i, i}, {2, 6}}, {{j, i}, {3, 2, 6}},
    {{{}, i}, {4, 2, 6}}, {{i, {}, i}, {2, 5}}, {{{}, i, {1, 2}}, {4, 2, 2}},
    {{1, {}, i}, {5, 2}}, {m, {120}}, {r, {2, 5, 6}}, {{r, {1, 2}}, {2, 2, 6}},
  }
  for k, case in ipairs(copies) do
    it("index tensors, case " .. k .. ", give a copy of the shape", function()
      local y = x[case[1]]
      assert.is_true(y.shape == case[2], tostring(y.shape))
      assert.is_false(y:shares(x) or y:is_view())
    end)
  end

  it("x[2][3] is a view as x[{2, 3}] is", function()
    local y = x[2][3]
    assert.is_true(y.shape == {6} and y:shares(x) and y:is_view())
    same(x[{2, 3}]:tolist(), y)
    assert.equal(234.0, x(2, 3, 4))
  end)

  it("assigns to the places that it reads, and to no other", function()
    for _, list in ipairs{views, copies} do
      for k, case in ipairs(list) do
        local y = x:clone()
        y[case[1]] = -1
        local places = ts.arange(120):reshape(4, 5, 6)[case[1]]
        assert.is_true(y[case[1]]:eq(-1):all()(), "case " .. k)
        assert.equal(places:numel(), y:lt(0):sum():item(), "case " .. k)
        local untouched = y:gt(0)
        assert.is_true(y[untouched]:equal(x[untouched]))
      end
    end
  end)

  it("the errors", function()
    local function at(key) return function() return x[key] end end
    raises("mask", "index: mask {4} does not match dim 2 of {4,5,6}, size 5", at{2, r})
    raises("index", "index: position 0 of dim 1 of {4,5,6}: positions are 1..4 or -1..-4", at(0))
    raises("index", "position 5 of dim 1 of {4,5,6}: positions are 1..4 or -1..-4", at(5))
    raises("too_many", "{4,5,6}", at{1, 2, 3, 4})
  end)
end)

describe("x[...] reads", function()
  it("positions from both ends", function()
    assert.equal(234.0, x[{2, 3, 4}]:item())
    assert.equal(456.0, x[{-1, -1, -1}]:item())
    assert.equal(111.0, x[1][1][1]:item())
    assert.equal(0, x[{2, 3, 4}].ndim)
  end)

  it("ranges with both ends and steps", function()
    same({211, 221, 231}, x["2, 1:3, 1"])
    same({211, 231, 251}, x["2, ::2, 1"])
    same({221, 241}, x["2, 2:5:2, 1"])
    same({221, 231}, x[{2, {2, 3}, 1}])
    same({241, 251}, x[{2, {-2, -1}, 1}])
    same({211, 241}, x[{2, {1, 5, 3}, 1}])
    same({251}, x["2, 5:, 1"])
    same({211, 221}, x["2, :2, 1"])
    same({211}, x["2, 1:1:7, 1"])
    same({211}, x[{2, {1, -1, math.maxinteger}, 1}])
    assert.equal(0, x[{{2, 1, math.maxinteger}}]:size(1))
  end)

  it("empty ranges anywhere between two elements", function()
    for k = 0, 4 do assert.equal(k, x[{{1, k}}]:size(1)) end
    assert.equal(0, x[{{5, 4}}]:size(1))
    assert.equal(0, x[{{3, 2, 2}}]:size(1))
    assert.is_true(ts.zeros(0, 3)[{{1, -1}}].shape == {0, 3})
    assert.is_true(ts.zeros(0, 3)["::2"].shape == {0, 3})
  end)

  it("text with and without blanks", function()
    same(x["2,3"]:tolist(), x[" 2 , 3 "])
    same(x["2, 2:3"]:tolist(), x["2,2 : 3"])
    same(x["...,-1"]:tolist(), x["... , -1"])
  end)

  it("rank 0 by no items", function()
    local s = ts.tensor(7)
    assert.is_true(s[{}].shape == {})
    assert.is_true(s["new, ..."].shape == {1})
    assert.is_true(s[{"new", "new"}].shape == {1, 1})
  end)

  it("through strides", function()
    assert.equal(243.0, x:permute(3, 1, 2)[{3, 2, 4}]:item())
    same({122, 222, 322, 422}, x:transpose(1, 3)["2, 2"])
  end)
end)

describe("x[...] refuses", function()
  local function at(key) return function() return x[key] end end

  it("positions that are not there, with a hint for loops", function()
    raises("index", "for a loop use x:iter()", at(5))
    local _, message = pcall(at(6))
    assert.is_nil(message:find("iter", 1, true))
    raises("index", "position -5 of dim 1", at(-5))
    raises("index", "position 7 of dim 3", at{1, 1, 7})
    raises("index", "position 9007199254740992 of dim 1", at(2.0 ^ 53))
    raises("index", "position", at"99999999999999999999, 1")
    raises("index", "position", at{math.mininteger})
    raises("index", "range", at{{math.mininteger, math.maxinteger}})
    raises("index", "position", at{ts.idx{math.mininteger, math.maxinteger}})
    raises("too_many", "{}", function() return ts.tensor(1)[1] end)
  end)

  it("numbers that are not whole", function()
    raises("index", "1.5", at(1.5))
    raises("index", "nan", at(0 / 0))
    raises("index", "inf", at(math.huge))
    raises("index", "1.5", at{{1.5, 2}})
  end)

  it("ranges that leave the axis or run backwards", function()
    raises("index", "range 1:5 of dim 1 of {4,5,6}", at{{1, 5}})
    raises("index", "range 0:2 of dim 1", at{{0, 2}})
    raises("index", "range 6:5 of dim 1", at{{6, 5}})
    raises("index", "ends before it begins", at{{3, 1}})
    raises("index", "range 2:9 of dim 2", at":, 2:9")
    raises("index", "use x:flip(1)", at{{1, 3, -1}})
    raises("index", "use x:flip(2)", at"1, 1:3:0")
    raises("index", "ts.idx", at{{1, 2, 3, 4}})
    raises("index", "", at{{a = 1}})
  end)

  it("text that is no slice", function()
    raises("index", "write x[1]", at"1")
    raises("index", "write x[-2]", at"-2")
    raises("index", "write 2", at{"2", 1})
    raises("index", "is no index", at"1:2,")
    raises("index", "is no index", at"1;2")
    raises("index", "is no index", at"1:2:")
    raises("index", "is no index", at"1:2\0,3")
    raises("index", "more than once", at"..., ...")
    raises("name", "sum", function() return x.summ end)
  end)

  it("items that are none", function()
    raises("type", "item 1 is true", at{true})
    raises("type", "is no index", at(true))
    raises("type", "item 2", at{1, print})
    raises("index", "a hole", at{1, nil, nil, 2, n = 3})
  end)

  it("tensors that are no index", function()
    raises("dtype", "see ts.idx", at(ts.ones(2)))
    raises("mask", "rank 0", at(ts.tensor(true)))
    raises("index", "position 5 of dim 1 of {4,5,6}", at(ts.idx{1, 5}))
    raises("index", "position 0 of dim 2 of {4,5,6}", at{1, ts.idx{0}})
    raises("shape", "index tensors {2} and {3} do not broadcast", at{i, ts.idx{1, 2, 3}})
    raises("too_many", "", at{m, 1})
  end)
end)

describe("index tensors", function()
  it("pick positions, negative ones from the end", function()
    same({111, 311, 411}, x[ts.idx{1, 3, -1}][{{}, 1, 1}])
    same({{111, 211}, {311, 411}}, x[ts.idx{{1, 2}, {3, 4}}]["..., 1, 1"])
    same({321, 322, 323, 324, 325, 326}, x[ts.idx(3)][2])
  end)

  it("go together by broadcasting", function()
    same({112, 332}, x[{i, i, 2}])
    same({{111, 131}, {211, 231}, {311, 331}}, x[{j, i, 1}])
  end)

  it("come first when something stands between", function()
    local y = x[{i, {}, i}]
    same({111, 121, 131, 141, 151}, y[1])
    same({313, 323, 333, 343, 353}, y[2])
    local z = x[{1, {}, i}]
    same({111, 113}, z[1])
  end)

  it("of any integer dtype", function()
    for _, d in ipairs{"u8", "i8", "i16", "i32", "i64"} do
      same({211, 411}, x[ts.tensor({2, 4}, d)]["..., 1, 1"])
    end
  end)

  it("may be empty", function()
    assert.is_true(x[ts.tensor({}, "i64")].shape == {0, 5, 6})
  end)

  it("give gradients that add up where a position repeats", function()
    local v = ts.tensor({1, 2, 3}, {requires_grad = true})
    ;(v[ts.idx{1, 1, 3}] * ts.tensor{1, 10, 100}):sum():backward()
    same({11, 0, 100}, v.grad)
  end)
end)

describe("masks", function()
  it("pick true places in row-major order", function()
    same({254, 255, 256}, x[x:gt(253)][{{1, 3}}])
    local a = ts.tensor{{1, 2}, {3, 4}}
    same({2, 3}, a[ts.tensor{{false, true}, {true, false}}])
    same({{3, 4}}, a[ts.tensor{false, true}])
    same({{2}, {4}}, a[{{}, ts.tensor{false, true}}])
  end)

  it("stand beside index tensors as the positions they pick", function()
    local a = ts.tensor{{1, 2, 3}, {4, 5, 6}, {7, 8, 9}}
    same({2, 9}, a[{ts.tensor{true, false, true}, ts.idx{2, 3}}])
  end)

  it("that pick nothing give no elements", function()
    assert.is_true(x[x:lt(0)].shape == {0})
  end)
end)

describe("x(i, j)", function()
  it("reads a Lua value", function()
    assert.equal(234.0, x(2, 3, 4))
    assert.equal(456.0, x(-1, -1, -1))
    assert.equal(7.0, ts.tensor(7)())
    assert.equal("integer", math.type(ts.idx{5}(1)))
    assert.equal(true, ts.tensor{true}(1))
  end)

  it("takes a position for each dim", function()
    raises("too_many", "{4,5,6}", function() return x(1) end)
    raises("index", "position 6 of dim 2", function() return x(1, 6, 1) end)
  end)
end)

describe("x:item", function()
  it("reads the one element", function()
    assert.equal(3.0, ts.tensor{{3}}:item())
    raises("size", "{2}", function() return ts.ones(2):item() end)
    raises("size", "{0}", function() return ts.ones(0):item() end)
  end)
end)

describe("x[index] = v writes", function()
  it("numbers, stretched", function()
    local a = ts.zeros(2, 3)
    a[1] = 5
    a[{2, {2, 3}}] = 7
    same({{5, 5, 5}, {0, 7, 7}}, a)
    a[{}] = 1
    same({{1, 1, 1}, {1, 1, 1}}, a)
    a["..., 2"] = -1
    same({{1, -1, 1}, {1, -1, 1}}, a)
  end)

  it("tensors and tables, stretched", function()
    local a = ts.zeros(2, 3)
    a[{}] = ts.tensor{1, 2, 3}
    same({{1, 2, 3}, {1, 2, 3}}, a)
    a["..., 1:2"] = {{4}, {5}}
    same({{4, 4, 3}, {5, 5, 3}}, a)
    a[1] = {7, 8, 9}
    same({{7, 8, 9}, {5, 5, 3}}, a)
  end)

  it("booleans into bool", function()
    local b = ts.tensor{false, false}
    b[2] = true
    same({false, true}, b)
    b[{}] = {true, false}
    same({true, false}, b)
  end)

  it("through views into the base", function()
    local a = ts.zeros(3, 3)
    a.T[1][2] = 5
    same({{0, 0, 0}, {5, 0, 0}, {0, 0, 0}}, a)
  end)

  it("what overlaps as if it had been copied", function()
    local a = ts.tensor{1, 2, 3, 4, 5}
    a["2:5"] = a["1:4"]
    same({1, 1, 2, 3, 4}, a)
  end)

  it("by index tensors, the last one winning", function()
    local a = ts.zeros(4)
    a[ts.idx{1, 3}] = 5
    a[ts.idx{-1}] = {6}
    same({5, 0, 5, 6}, a)
    a[ts.idx{2, 2, 2}] = {1, 2, 3}
    same({5, 3, 5, 6}, a)
    local b = ts.zeros(2, 3)
    b[{ts.idx{1, 2}, ts.idx{3, 1}}] = {8, 9}
    same({{0, 0, 8}, {9, 0, 0}}, b)
    b[{{}, ts.idx{1, 2}}] = {{1, 2}, {3, 4}}
    same({{1, 2, 8}, {3, 4, 0}}, b)
  end)

  it("by masks", function()
    local a = ts.tensor{1, -2, 3, -4}
    a[a:lt(0)] = 0
    same({1, 0, 3, 0}, a)
    a[a:gt(0)] = {8, 9}
    same({8, 0, 9, 0}, a)
    a[a:lt(0)] = 7
    same({8, 0, 9, 0}, a)
  end)

  it("one element by x:set", function()
    local a = ts.zeros(2, 2)
    a:set(1, -1, 4)
    same({{0, 4}, {0, 0}}, a)
    local s = ts.tensor(1)
    s:set(9)
    assert.equal(9.0, s:item())
    raises("too_many", "{2,2}", a.set, a, 1, 5)
    raises("type", "", a.set, a, 1, 1, {5})
  end)

  it("converting as the dtypes allow", function()
    local f, n, u = ts.zeros(2), ts.zeros(2, "i64"), ts.zeros(2, "u8")
    f[1] = ts.tensor(2, "f64")
    f[2] = ts.idx(3)
    same({2, 3}, f)
    u[1] = ts.idx(255)
    n[1] = u[1]
    n[2] = 4.0
    same({255, 4}, n)
  end)

  it("keeping every bit of an integer", function()
    local n = ts.zeros(1, "i64")
    n[1] = 9007199254740993
    assert.equal(9007199254740993, n(1))
    n[ts.idx{1}] = math.mininteger
    assert.equal(math.mininteger, n(1))
  end)
end)

describe("x[index] = v refuses", function()
  local function into(x_, key, v)
    return function() x_[key] = v end
  end

  it("values that are none", function()
    local a = ts.zeros(3)
    raises("type", "nil", into(a, 1, nil))
    raises("type", [["a"]], into(a, 1, "a"))
    raises("type", [[element [2] is the string "b"]], into(a, {}, {1, "b", 3}))
  end)

  it("values of another kind, and changes nothing", function()
    local f, n, b, u = ts.zeros(2), ts.zeros(2, "i64"), ts.tensor{true}, ts.zeros(2, "u8")
    raises("dtype", "1.5", into(n, 1, 1.5))
    raises("dtype", "f32", into(n, 1, ts.tensor(1.5)))
    raises("dtype", "true", into(f, 1, true))
    raises("dtype", "1", into(b, 1, 1))
    raises("dtype", "i64", into(b, 1, ts.idx(1)))
    raises("dtype", "boolean", into(f, {}, {true, false}))
    raises("dtype", "number", into(b, {}, {1}))
    raises("range", "value 300 does not fit in u8 (0..255)", into(u, 1, 300))
    raises("range", "300", into(u, {}, ts.idx{1, 300}))
    raises("range", "300", into(u, {}, {1, 300}))
    same({0, 0}, f)
    same({0, 0}, n)
    same({0, 0}, u)
  end)

  it("shapes that do not stretch to the place", function()
    local a = ts.zeros(2, 3)
    raises("shape", "value {2} does not broadcast to the indexed {3}", into(a, 1, ts.ones(2)))
    raises("shape", "value {2,3} does not broadcast to the indexed {3}", into(a, 1, ts.ones(2, 3)))
    raises("shape", "value {3} does not broadcast to the indexed {2}",
           into(a, {1, ts.idx{1, 2}}, ts.ones(3)))
    same({{0, 0, 0}, {0, 0, 0}}, a)
  end)

  it("elements that share memory", function()
    raises("overlap", "expand", into(ts.zeros(1, 3):expand(2, 3), 1, 1))
  end)
end)

describe("the gradient", function()
  it("flows through a read to the places that were read", function()
    local v = ts.tensor({{1, 2, 3}, {4, 5, 6}}, {requires_grad = true})
    ;(v["2, ::2"] * ts.tensor{1, 10}):sum():backward()
    same({{0, 0, 0}, {1, 0, 10}}, v.grad)
  end)

  it("of overwritten places is 0, that of the value its own", function()
    local v = ts.tensor({1, 2, 3}, {requires_grad = true})
    local w = ts.tensor({5, 6}, {requires_grad = true})
    local y = v * 2
    y["1:2"] = w * 3
    same({15, 18, 6}, y)
    ;(y * ts.tensor{1, 10, 100}):sum():backward()
    same({0, 0, 200}, v.grad)
    same({3, 30}, w.grad)
  end)

  it("reaches what was written into an untracked tensor", function()
    local v = ts.tensor({1, 2}, {requires_grad = true})
    local z = ts.zeros(2, 2)
    z[1] = v:sum() * 2
    z[{2, 1}] = v[2]
    ;(z * ts.tensor{{1, 10}, {100, 1000}}):sum():backward()
    same({22, 122}, v.grad)
  end)

  it("of repeated positions goes to the last one", function()
    local v = ts.tensor({1, 2, 3}, {requires_grad = true})
    local z = ts.zeros(2)
    z[ts.idx{1, 1, 2}] = v * 1
    ;(z * ts.tensor{10, 100}):sum():backward()
    same({0, 10, 100}, v.grad)
  end)

  it("of a new axis and a step in one target", function()
    local v = ts.tensor({1, 2, 3}, {requires_grad = true})
    local z = ts.zeros(2, 5)
    z["2, new, ::2"] = v * 1
    same({{0, 0, 0, 0, 0}, {1, 0, 2, 0, 3}}, z)
    ;(z * ts.arange(10):reshape(2, 5)):sum():backward()
    same({6, 8, 10}, v.grad)
  end)

  it("guards leaves while recording", function()
    local v = ts.tensor({1, 2}, {requires_grad = true})
    raises("leaf", "wrap the update in ts.no_grad", function() v[1] = 5 end)
    ts.no_grad(function() v[1] = 5 end)
    same({5, 2}, v)
    assert.is_true(v.is_leaf and v.requires_grad)
  end)
end)

describe("walking", function()
  it("gives positions and views", function()
    local a, seen = ts.tensor{{1, 2}, {3, 4}, {5, 6}}, {}
    for k, row in pairs(a) do
      seen[k] = row:tolist()
      assert.is_true(row:shares(a))
    end
    assert.same({{1, 2}, {3, 4}, {5, 6}}, seen)
    local columns = {}
    for k, column in a:iter(2) do columns[k] = column:tolist() end
    assert.same({{1, 3, 5}, {2, 4, 6}}, columns)
  end)
end)

describe("brackets", function()
  it("agree through a view whose axes cannot be seen as one", function()
    local base = ts.arange(120):float():reshape(6, 5, 4)
    local y, z = base:permute(3, 2, 1), base:permute(3, 2, 1):clone()
    local at = {ts.idx{1, 4, 1}, ts.idx{2, 5, 2}}
    assert.is_true(y[at]:equal(z[at]))
    y[at] = ts.arange(18):reshape(3, 6)
    z[at] = ts.arange(18):reshape(3, 6)
    assert.is_true(y:equal(z))
    assert.equal(13.0, y(1, 2, 1))
  end)

  it("read a value before they write over it", function()
    local y = ts.tensor{1, 2, 3, 4}
    y[ts.idx{4, 3, 2, 1}] = y
    same({4, 3, 2, 1}, y)
  end)
end)

describe("out of memory", function()
  local fault = require "tensus.fault"

  -- f(target) with every request from the k-th on refused, for all k
  local function sweep(target, f)
    for k = 1, 1000 do
      local before, used = target:tolist(), fault.used()
      local ok, message = fault.from(k, f, target)
      if ok then return end
      assert.matches("out of memory", message)
      assert.same(before, target:tolist())
      assert.equal(used, fault.used())
    end
    error "it never succeeded"
  end

  it("changes nothing and keeps nothing", function()
    local w = ts.tensor({1, 2, 3}, {requires_grad = true})
    local two = ts.idx{{1}, {2}}
    sweep(ts.ones(3, 3), function(t) return t["2, new, ::2"] end)
    sweep(ts.ones(3, 3, 3), function(t) return t[{two, {}, ts.idx{1, 3}}] end)
    sweep(ts.ones(3, 3), function(t) return t[t:gt(0)] end)
    sweep(ts.ones(3, 3), function(t) t["2:3"] = {5, 6, 7} end)
    sweep(ts.ones(3, 3), function(t) t[{two, {2, 3}}] = 9 end)
    sweep(ts.ones(3, 3), function(t) t[t:gt(0)] = 9 end)
    sweep(ts.ones(3, 3), function(t) t["2, new, ::2"] = w["1:2"] end)
    sweep(ts.ones(3, 3), function(t) t[{two, {2, 3}}] = w[1] end)
    sweep(ts.ones(3, 3), function(t) return ts.tensor{{w[1], w[2]}, {w[3], w[1]}} end)
    sweep(ts.ones(3, 3), function(t) return ts.tensor({{1, 2}}, {dtype = "f64"}) end)
    sweep(ts.ones(3, 3), function(t) return tostring(t.T) end)
  end)

  it("changes nothing in a tracked assignment", function()
    local w = ts.tensor({1, 2, 3}, {requires_grad = true})
    sweep(ts.ones(3, 3), function(t) t["..., 1"] = w end)
    sweep(ts.ones(3, 3), function(t) t[ts.idx{1, 1, 2}] = w:reshape(3, 1) end)
  end)
end)
