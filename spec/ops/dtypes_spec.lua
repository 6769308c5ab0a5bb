-- Promotion, weak numbers, and conversion, from the tables of the API page.
local ts = require "tensus"

local names = { "bool", "u8", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64" }

-- Rows and columns in the order of `names`; the table is symmetric.
local promoted = {
  "bool u8 i8 i16 i32 i64 f16 bf16 f32 f64",
  "u8 u8 i16 i16 i32 i64 f16 bf16 f32 f64",
  "i8 i16 i8 i16 i32 i64 f16 bf16 f32 f64",
  "i16 i16 i16 i16 i32 i64 f16 bf16 f32 f64",
  "i32 i32 i32 i32 i32 i64 f16 bf16 f32 f64",
  "i64 i64 i64 i64 i64 i64 f16 bf16 f32 f64",
  "f16 f16 f16 f16 f16 f16 f16 f32 f32 f64",
  "bf16 bf16 bf16 bf16 bf16 bf16 f32 bf16 f32 f64",
  "f32 f32 f32 f32 f32 f32 f32 f32 f32 f64",
  "f64 f64 f64 f64 f64 f64 f64 f64 f64 f64",
}

local function is_float(name) return name:find("f", 1, true) ~= nil end

local function each_pair(visit)
  for i, row in ipairs(promoted) do
    local j = 0
    for due in row:gmatch("%S+") do
      j = j + 1
      visit(names[i], names[j], due)
    end
  end
end

describe("two tensors", function()
  it("promote by the table", function()
    each_pair(function(a, b, due)
      local x, y = ts.ones({ 2 }, a), ts.ones({ 2 }, b)
      assert.equal(due, ts.maximum(x, y).dtype, a .. " " .. b)
      assert.equal(due, ts.where(x:eq(1), x, y).dtype, a .. " " .. b)
      assert.equal(due, ts.cat({ x, y }).dtype, a .. " " .. b)
      assert.equal(due, ts.stack({ x, y }).dtype, a .. " " .. b)
      if due == "bool" then
        assert.is_false(pcall(ts.add, x, y))
      else
        assert.equal(due, (x + y).dtype, a .. " " .. b)
        assert.same(2, math.tointeger((x + y):tolist()[1]))
      end
    end)
  end)

  it("promote whatever their rank", function()
    assert.equal("f64", (ts.ones(2, 2) + ts.tensor(1, "f64")).dtype)
    assert.equal("i64", (ts.tensor(1, "i64") + ts.ones({ 2 }, "u8")).dtype)
  end)

  it("divide in floats", function()
    each_pair(function(a, b, due)
      local y = ts.ones({ 2 }, a) / ts.ones({ 2 }, b)
      assert.equal(is_float(due) and due or "f32", y.dtype, a .. " " .. b)
    end)
  end)

  it("compare exactly across dtypes", function()
    local big = ts.tensor({ 2 ^ 53 | 0, (2 ^ 53 | 0) + 1 }, "i64")
    assert.same({ true, false }, big:eq(ts.tensor(2 ^ 53 | 0, "i64")):tolist())
    assert.same({ true }, ts.tensor({ 200 }, "u8"):gt(ts.tensor({ -1 }, "i8")):tolist())
  end)
end)

describe("a number beside a tensor", function()
  it("is weak: its subtype counts, its value does not", function()
    for _, name in ipairs(names) do
      local x = ts.ones({ 2 }, name)
      local with_integer = name == "bool" and "i64" or name
      local with_float = is_float(name) and name or "f32"
      assert.equal(with_integer, (x + 2).dtype, name)
      assert.equal(with_float, (x + 2.0).dtype, name)
      assert.equal(with_float, (0.5 * x).dtype, name)
      assert.equal(with_integer, (2 - x).dtype, name)
    end
  end)

  it("follows the default float", function()
    ts.set_default_dtype("f64")
    local ok, dtype = pcall(function() return (ts.ones({ 2 }, "i64") * 0.5).dtype end)
    ts.set_default_dtype("f32")
    assert.is_true(ok)
    assert.equal("f64", dtype)
  end)

  it("must fit an integer dtype", function()
    assert.is_false(pcall(ts.add, ts.ones({ 2 }, "u8"), 300))
    assert.equal("range", ts.errinfo().code)
    assert.is_false(pcall(ts.add, ts.ones({ 2 }, "i8"), -129))
    assert.same({ 0, 0 }, (ts.ones({ 2 }, "u8") + 255):tolist())
  end)

  it("is compared exactly", function()
    local x = ts.tensor({ 0, 200, 255 }, "u8")
    assert.same({ true, true, true }, x:lt(300):tolist())
    assert.same({ false, false, false }, x:lt(-1):tolist())
    assert.same({ true, false, false }, x:lt(199.5):tolist())
    assert.same({ false }, ts.tensor({ 0.1 }, "f32"):eq(0.1):tolist())
    assert.same({ true }, ts.tensor({ 0.1 }, "f64"):eq(0.1):tolist())
    local big = ts.tensor({ (2 ^ 53 | 0) + 1 }, "i64")
    assert.same({ false }, big:eq(2.0 ^ 53):tolist())
  end)
end)

-- What a value becomes: {from, value, to, due}.
local conversions = {
  { "f64", 2.9, "i32", 2 }, { "f64", -2.9, "i32", -2 },
  { "f64", 1e30, "i32", 2147483647 }, { "f64", -1e30, "i32", -2147483648 },
  { "f64", 300.5, "u8", 255 }, { "f64", -4, "u8", 0 }, { "f64", 0 / 0, "i64", 0 },
  { "f64", math.huge, "i64", math.maxinteger },
  { "f64", -math.huge, "i64", math.mininteger },
  { "f32", 1e10, "i8", 127 }, { "f16", 1000, "u8", 255 },
  { "bf16", -1000, "i8", -128 },
  { "f64", 0.0, "bool", false }, { "f64", 0 / 0, "bool", true },
  { "f32", 0.25, "bool", true }, { "i64", 256, "bool", true },
  { "i64", 257, "u8", 1 }, { "i64", -1, "u8", 255 }, { "i32", 200, "i8", -56 },
  { "i16", -129, "i8", 127 }, { "u8", 200, "i8", -56 },
  { "i64", (1 << 53) + 1, "f64", 2.0 ^ 53 },
  { "i64", (1 << 24) + 3, "f32", 2.0 ^ 24 + 4 },
  { "bool", 1, "i16", 1 }, { "bool", 1, "f16", 1.0 },
  { "f64", 65520, "f16", math.huge }, { "f64", 65519, "f16", 65504.0 },
  { "f64", 2 ^ -25, "f16", 0.0 }, { "f64", 1 + 2 ^ -8, "bf16", 1.0 },
  { "f64", 1 + 3 * 2 ^ -8, "bf16", 1 + 2.0 ^ -6 },
  { "f64", 1e300, "f32", math.huge },
}

describe("a conversion", function()
  for _, c in ipairs(conversions) do
    local from, value, to, due = table.unpack(c)
    it(string.format("of %s %s to %s gives %s", from, value, to, due), function()
      local x = ts.tensor({ value, value }, from)
      assert.same({ due, due }, x:to(to):tolist())
      local holes = ts.tensor({ value, 0, value }, from):slice(1, 1, 3, 2)
      assert.same({ due, due }, holes:to(to):tolist())
      assert.same(due, ts.tensor(value, from):to(to):item())
    end)
  end

  it("to its own dtype is the tensor itself", function()
    local x = ts.ones(2)
    assert.equal(x, x:to("f32"))
    assert.is_false(x:shares(x:to("f32", { copy = true })))
  end)

  it("is tracked between floats, with a pull back to the dtype", function()
    local x = ts.tensor({ 1, 2 }, "f32"):requires_grad_();
    (x:to("f64") * 3):sum():backward()
    assert.equal("f32", x.grad.dtype)
    assert.same({ 3, 3 }, x.grad:tolist())
  end)
end)

describe("accumulation", function()
  it("of integers and bools is in i64", function()
    for _, name in ipairs { "bool", "u8", "i8", "i16", "i32", "i64" } do
      local x = ts.ones({ 300 }, name)
      assert.equal("i64", x:sum().dtype)
      assert.equal(300, x:sum():item())
      assert.equal("f32", x:mean().dtype)
      assert.equal(1.0, x:mean():item())
    end
  end)

  it("of small floats does not stop at their precision", function()
    assert.equal(4096.0, ts.ones({ 4096 }, "f16"):sum():item())
    assert.equal(4096.0, ts.ones({ 4096 }, "bf16"):sum():item())
    assert.equal(4096.0, ts.ones({ 4096 }, "bf16"):dot(ts.ones({ 4096 }, "bf16")):item())
  end)

  it("wraps in i64", function()
    local x = ts.tensor({ math.maxinteger, 1 }, "i64")
    assert.equal(math.mininteger, x:sum():item())
  end)
end)

describe("whole numbers", function()
  it("divide by the floor rule", function()
    local x = ts.tensor({ -7, 7, -7, 7 }, "i32")
    local y = ts.tensor({ 2, -2, -2, 2 }, "i32")
    assert.same({ -4, -4, 3, 3 }, (x // y):tolist())
    assert.same({ 1, -1, -1, 1 }, (x % y):tolist())
  end)

  it("wrap at the edge of their dtype", function()
    local least = ts.tensor({ math.mininteger }, "i64")
    assert.same({ math.mininteger }, (least // -1):tolist())
    assert.same({ 0 }, (least % -1):tolist())
    assert.same({ math.mininteger }, least:abs():tolist())
    assert.same({ -128 }, (ts.tensor({ 127 }, "i8") + 1):tolist())
    assert.same({ 255 }, (-ts.tensor({ 1 }, "u8")):tolist())
    assert.same({ 0 }, (ts.tensor({ 2 }, "i32") ^ 32):tolist())
  end)
end)
