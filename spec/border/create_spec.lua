-- ts.tensor and its kin: Lua values as tensors (API.md, section 2).
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

describe("ts.from_string", function()
  local bytes = string.pack("<fff", 1, 0.5, -2)

  it("reads elements of any dtype", function()
    same({ { 1, 0.5, -2 } }, ts.from_string(bytes, "f32", { 1, 3 }))
    same({ 258, -1 }, ts.from_string(string.pack("<i2i2", 258, -1), "i16", { 2 }))
    same({ true, false }, ts.from_string("\7\0", "bool", { 2 }))
    assert.equal(3, ts.from_string("\3", "u8", {}):item())
    assert.equal("f64", ts.from_string(bytes, "f32", { 3 }, "f64").dtype)
    assert.is_true(ts.from_string(bytes, "f32", { 3 }, { requires_grad = true })
      .requires_grad)
    assert.equal(0, ts.from_string("", "f32", { 0, 2 }):numel())
  end)

  it("wants exactly the bytes that the shape takes", function()
    raises("size", "shape {2} of f32 takes 8 bytes, and there are 12",
      ts.from_string, bytes, "f32", { 2 })
    raises("shape", "shape {-1} is no shape", ts.from_string, bytes, "f32", { -1 })
    raises("type", "a table of sizes is due", ts.from_string, bytes, "f32")
  end)
end)

describe("ts.full of a tensor", function()
  it("takes its dtype, and is tracked", function()
    local v = ts.tensor(1.5, { dtype = "f64", requires_grad = true })
    local x = ts.full({ 2, 3 }, v)
    assert.equal("f64", x.dtype)
    assert.is_false(x:is_view())
    same({ { 1.5, 1.5, 1.5 }, { 1.5, 1.5, 1.5 } }, x)
    x:sum():backward()
    assert.equal(6, v.grad:item())
    assert.equal("f32", ts.full({ 2 }, v, "f32").dtype)
    raises("shape", "must be a number or have rank 0", ts.full, { 2 }, ts.ones(2))
  end)
end)

describe("ts.tensor of numbers and booleans", function()
  it("gives the default float for numbers of either subtype", function()
    assert.equal("f32", ts.tensor(1).dtype)
    assert.equal("f32", ts.tensor{1, 2.5}.dtype)
    assert.equal("f32", ts.tensor{1, 2}.dtype)
    assert.equal(0, ts.tensor(1).ndim)
    assert.equal(1.0, ts.tensor(1):item())
  end)

  it("gives bool for booleans", function()
    local x = ts.tensor{{true, false}}
    assert.equal("bool", x.dtype)
    same({{true, false}}, x)
    assert.equal(true, ts.tensor(true):item())
  end)

  it("takes its shape from the nesting", function()
    assert.is_true(ts.tensor{{1, 2, 3}, {4, 5, 6}}.shape == {2, 3})
    assert.is_true(ts.tensor{{{1}}, {{2}}}.shape == {2, 1, 1})
    same({{1, 2, 3}, {4, 5, 6}}, ts.tensor{{1, 2, 3}, {4, 5, 6}})
  end)

  it("makes empty tables empty axes", function()
    assert.is_true(ts.tensor{}.shape == {0})
    assert.is_true(ts.tensor{{}, {}}.shape == {2, 0})
    assert.is_true(ts.tensor{{{}, {}, {}}}.shape == {1, 3, 0})
    assert.equal("f32", ts.tensor{}.dtype)
    assert.equal("i64", ts.tensor({}, "i64").dtype)
  end)

  it("converts to a dtype that is given", function()
    for _, d in ipairs{"f16", "bf16", "f32", "f64", "i8", "i16", "i32", "i64", "u8"} do
      local x = ts.tensor({0, 1, 100}, d)
      assert.equal(d, x.dtype)
      same({0, 1, 100}, x)
    end
    same({false, true, true}, ts.tensor({0, 1, 0.5}, "bool"))
    same({1, 0}, ts.tensor({true, false}, {dtype = "i16"}))
    same({1.0, 0.0}, ts.tensor({true, false}, {dtype = "f16"}))
    same({1.0, 0.0}, ts.tensor({true, false}, {dtype = "bf16"}))
  end)

  it("rounds to the nearest float, once", function()
    assert.equal(0.0999755859375, ts.tensor(0.1, "f16"):item())
    assert.equal(0.10009765625, ts.tensor(0.1, "bf16"):item())
    assert.equal(16777216.0, ts.tensor(16777217, "f32"):item())
    assert.equal(16777217.0, ts.tensor(16777217, "f64"):item())
    assert.equal(16777220.0, ts.tensor(16777219, "f32"):item())
  end)

  it("keeps integers of 64 bits exact", function()
    local most, least = math.maxinteger, math.mininteger
    same({most, least, 9007199254740993},
         ts.tensor({most, least, 9007199254740993}, "i64"))
  end)

  it("raises where f32 would round an integer unasked", function()
    raises("range", "element [2] is 16777217, which f32 would round", ts.tensor,
           {16777216, 16777217})
    raises("range", "-16777217", ts.tensor, -16777217)
    assert.equal(16777216.0, ts.tensor(16777216):item())
    assert.equal(16777216.0, ts.tensor(16777217.0):item())
  end)

  it("raises for numbers that an integer dtype cannot hold", function()
    raises("range", "element [1] is 1.5", ts.tensor, {1.5}, "i64")
    raises("range", "element [2][1] is 300, which does not fit in u8 (0..255)",
           ts.tensor, {{1}, {300}}, {dtype = "u8"})
    raises("range", "-1", ts.tensor, {-1}, "u8")
    raises("range", "128", ts.tensor, {128}, "i8")
    raises("range", "i64", ts.tensor, {0 / 0}, "i64")
    raises("range", "i64", ts.tensor, {2.0 ^ 63}, "i64")
    same({2}, ts.tensor({2.0}, "i64"))
  end)
end)

describe("ts.tensor refuses", function()
  it("ragged rows, and names them", function()
    raises("shape", "element [2] has size 1, the first one 2", ts.tensor, {{1, 2}, {3}})
    raises("shape", "element [2] has size 1, the first one 0", ts.tensor, {{}, {1}})
    raises("shape", "element [1][2] has size 2, the first one 1", ts.tensor, {{{1}, {2, 3}}})
  end)

  it("rows of mixed depth", function()
    raises("type", "element [2] is the number 3", ts.tensor, {{1, 2}, 3})
    raises("type", "element [2] is a table", ts.tensor, {1, {2}})
  end)

  it("leaves that are no numbers, with their path", function()
    raises("type", [[element [2][3] is the string "3"]], ts.tensor, {{1, 2, 3}, {1, 2, "3"}})
    raises("type", "element [1] is", ts.tensor, {print})
    raises("type", "element [2] is a boolean, the first one a number", ts.tensor, {1, true})
    raises("type", "element [2] is a number, the first one a boolean", ts.tensor, {true, 1})
  end)

  it("holes and other keys, which would get lost", function()
    raises("type", "element [2] is nil", ts.tensor, {1, nil, 3})
    raises("type", "element [2][2] is nil", ts.tensor, {{1, 2, 3}, {4, nil, 6}})
    raises("type", "element [2] is nil", ts.tensor, {[1] = 1, [5] = 2})
    raises("type", "the key x", ts.tensor, {1, x = 2})
    raises("type", "element [2] has the key x", ts.tensor, {{1}, {2, x = 3}})
  end)

  it("what is no value at all", function()
    raises("type", [[the string "3"]], ts.tensor, "3")
    raises("type", "value is missing", ts.tensor)
    raises("type", "value is", ts.tensor, print)
  end)

  it("tables nested too deep, or in themselves", function()
    local deep = 1
    for _ = 1, 12 do deep = {deep} end
    assert.equal(12, ts.tensor(deep).ndim)
    raises("rank", "more than 12 deep", ts.tensor, {deep})
    local t = {}
    t[1] = t
    raises("rank", "more than 12 deep", ts.tensor, t)
    local u = {1, 2}
    u[2] = u
    raises("type", "element [2] is a table", ts.tensor, u)
  end)

  it("options it does not know", function()
    raises("option", "unknown option dtyp; did you mean dtype?", ts.tensor, {1}, {dtyp = "f64"})
    raises("dtype", "c64 is reserved", ts.tensor, {1}, "c64")
    raises("dtype", "f31", ts.tensor, {1}, {dtype = "f31"})
    raises("dtype", "", ts.tensor, {1}, {dtype = "i64", requires_grad = true})
  end)

  it("and calls no metamethod of the tables", function()
    local called = false
    local note = function() called = true end
    local t = setmetatable({1, 2}, {__index = note, __len = note, __pairs = note})
    same({1, 2}, ts.tensor(t))
    assert.is_false(called)
  end)
end)

describe("ts.tensor of tensors", function()
  it("stacks 0-d tensors, tracked", function()
    local a = ts.tensor(2, {requires_grad = true})
    local b = ts.tensor(3)
    local s = ts.tensor{{a, b, a}, {b, b, a}}
    assert.is_true(s.shape == {2, 3})
    same({{2, 3, 2}, {3, 3, 2}}, s)
    s:sum():backward()
    assert.equal(3.0, a.grad:item())
  end)

  it("stacks in the promoted dtype, or the one that is given", function()
    local i, x = ts.tensor(2, "i32"), ts.tensor(0.5, "f64")
    assert.equal("f64", ts.tensor{i, x}.dtype)
    assert.equal("f16", ts.tensor({i, x}, "f16").dtype)
  end)

  it("refuses tensors of other ranks and mixed leaves", function()
    raises("shape", "element [1] is a tensor of shape {2}", ts.tensor, {ts.ones(2)})
    raises("type", "element [2] is a number, the first one a tensor", ts.tensor, {ts.tensor(1), 1})
  end)

  it("copies a tensor", function()
    local x = ts.tensor{1, 2}
    local y = ts.tensor(x)
    assert.is_false(x:shares(y))
    y[1] = 5
    same({1, 2}, x)
    assert.equal("i64", ts.tensor(x, "i64").dtype)
  end)

  it("keeps the history of a copy unless requires_grad is said", function()
    local x = ts.tensor({1, 2}, {requires_grad = true})
    assert.equal("clone", ts.tensor(x).grad_fn)
    local leaf = ts.tensor(x, {requires_grad = true})
    assert.is_true(leaf.is_leaf and leaf.requires_grad)
    assert.is_false(ts.tensor(x, {requires_grad = false}).requires_grad)
  end)
end)

describe("ts.idx", function()
  it("gives i64", function()
    local i = ts.idx{1, 3, -1}
    assert.equal("i64", i.dtype)
    same({1, 3, -1}, i)
    same({{1}, {2}}, ts.idx{{1}, {2}})
    assert.equal(0, ts.idx(4).ndim)
    assert.equal("i64", ts.idx(ts.tensor({1, 2}, "i32")).dtype)
    same({2}, ts.idx{2.0})
  end)

  it("takes whole numbers only", function()
    raises("range", "1.5", ts.idx, {1.5})
    raises("dtype", "f32", ts.idx, ts.tensor{1.0})
    raises("dtype", "always i64", ts.idx, {1}, "i32")
  end)
end)

describe("x:new_tensor and its kin", function()
  it("take dtype and device of x", function()
    local x = ts.ones(2, "f64")
    assert.equal("f64", x:new_tensor{1, 2}.dtype)
    assert.equal("f64", x:new_zeros(2, 3).dtype)
    assert.is_true(x:new_zeros{2, 3}.shape == {2, 3})
    same({7, 7}, x:new_full({2}, 7))
    assert.equal("i64", x:new_ones(2, "i64").dtype)
    assert.is_true(x:new_zeros(2, {requires_grad = true}).requires_grad)
  end)
end)

describe("x:tolist", function()
  it("gives nested tables of numbers and booleans", function()
    assert.same({{1, 4}, {2, 5}, {3, 6}}, ts.tensor{{1, 2, 3}, {4, 5, 6}}.T:tolist())
    assert.equal(5.0, ts.tensor(5):tolist())
    assert.equal("integer", math.type(ts.idx{1}:tolist()[1]))
    assert.equal("float", math.type(ts.tensor{1}:tolist()[1]))
    assert.same({}, ts.zeros(0, 3):tolist())
    assert.same({{}, {}}, ts.zeros(2, 0):tolist())
  end)

  it("gives back what ts.tensor took", function()
    local t = {{{1, 2}, {3, 4}, {5, 6}}, {{7, 8}, {9, 10}, {11, 12}}}
    assert.same(t, ts.tensor(t):tolist())
  end)
end)
