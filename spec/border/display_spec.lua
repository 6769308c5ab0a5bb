-- tostring, repr and print options (API.md, sections 1 and 12).
local ts = require "tensus"

local function shows(text, x) assert.equal(text, tostring(x)) end

-- a table of the numbers first to last
local function count(first, last)
  local t = {}
  for k = first, last do t[#t + 1] = k end
  return t
end

describe("tostring of floats", function()
  it("writes whole values with a point", function()
    shows("[2., 4., 6.]  f32 {3}", ts.tensor{2, 4, 6})
    shows("[[1., 2., 3.],\n [4., 5., 6.]]  f32 {2,3}", ts.tensor{{1, 2, 3}, {4, 5, 6}})
    shows("[ 1., -1.]  f32 {2}", ts.tensor{1, -1})
    shows("[-0.,  0.]  f32 {2}", ts.tensor{-0.0, 0.0})
  end)

  it("cuts trailing zeros of all columns together", function()
    shows("[1.0, 2.5]  f32 {2}", ts.tensor{1, 2.5})
    shows("[0.10, 0.25, 3.00]  f32 {3}", ts.tensor{0.1, 0.25, 3})
    shows("[-0.3791,  0.4118]  f32 {2}", ts.tensor{-0.37908497, 0.4117647})
  end)

  it("is scientific when magnitudes differ too much", function()
    shows("[1.0000e+00, 1.0000e+06]  f32 {2}", ts.tensor{1, 1e6})
    shows("[     1., 100000.]  f32 {2}", ts.tensor{1, 1e5})
    shows("[1.5000e+08]  f32 {1}", ts.tensor{1.5e8})
    shows("[100000000.]  f32 {1}", ts.tensor{1e8})
    shows("[1.0000e-06, 0.0000e+00]  f32 {2}", ts.tensor{1e-6, 0})
  end)

  it("aligns nan and inf", function()
    shows("[ nan,  inf, -inf,   1.]  f32 {4}", ts.tensor{0 / 0, 1 / 0, -1 / 0, 1})
    shows("[[ 1.0000e+00, -2.5000e-09],\n [        nan,         inf]]  f64 {2,2} requires_grad",
      ts.tensor({{1, -2.5e-9}, {0 / 0, 1 / 0}}, {dtype = "f64", requires_grad = true}))
  end)

  it("shows what a half holds", function()
    shows("[0.1]  f16 {1}", ts.tensor({0.1}, "f16"))
    shows("[0.1001]  bf16 {1}", ts.tensor({0.1}, "bf16"))
  end)
end)

describe("tostring of other dtypes", function()
  it("writes integers exactly", function()
    shows("[ 1, -2, 30]  i64 {3}", ts.idx{1, -2, 30})
    shows("[9007199254740993]  i64 {1}", ts.idx{9007199254740993})
    shows("[-9223372036854775808]  i64 {1}", ts.idx{math.mininteger})
  end)

  it("writes booleans", function()
    shows("[ true, false]  bool {2}", ts.tensor{true, false})
    shows("[true]  bool {1}", ts.tensor{true})
  end)
end)

describe("tostring of rank 0", function()
  it("is the number alone, as short as it reads back", function()
    shows("5.25", ts.tensor(5.25))
    shows("0.1", ts.tensor(0.1))
    shows("0.1", ts.tensor(0.1, "f64"))
    shows("0.30000000000000004", ts.tensor(0.1 + 0.2, "f64"))
    shows("0.1", ts.tensor(0.1, "f16"))
    shows("6.", ts.tensor(6))
    shows("1e+30", ts.tensor(1e30))
    shows("-1.5e-07", ts.tensor(-1.5e-7))
    shows("0.0001", ts.tensor(1e-4))
    shows("16777216.", ts.tensor(16777216))
    shows("nan", ts.tensor(0 / 0))
    shows("-inf", ts.tensor(-1 / 0))
    shows("7", ts.idx(7))
    shows("true", ts.tensor(true))
    assert.equal("loss 5.25", "loss " .. ts.tensor(5.25))
  end)

  it("has the suffix in repr", function()
    assert.equal("5.25  f32 {}", ts.tensor(5.25):repr())
    assert.equal("7  i64 {}", ts.idx(7):repr())
    assert.equal("[1.]  f32 {1}", ts.ones(1):repr())
    assert.equal("2.  f32 {} requires_grad", ts.tensor(2, {requires_grad = true}):repr())
  end)
end)

describe("the suffix", function()
  it("names where a value comes from", function()
    local x = ts.tensor({1, 2}, {requires_grad = true})
    shows("[1., 2.]  f32 {2} requires_grad", x)
    shows("[1., 4.]  f32 {2} grad_fn=mul", x * x)
    shows("[1., 2.]  f32 {2}", x:detach())
  end)

  it("of empty tensors", function()
    shows("[]  f32 {0,3}", ts.zeros(0, 3))
    shows("[]  i64 {0}", ts.tensor({}, "i64"))
    shows("[]  f32 {2,0}", ts.tensor{{}, {}})
  end)
end)

describe("the layout", function()
  it("sets matrices of higher ranks apart", function()
    shows("[[[1., 2.],\n  [3., 4.]],\n\n [[5., 6.],\n  [7., 8.]]]  f32 {2,2,2}",
      ts.tensor{{{1, 2}, {3, 4}}, {{5, 6}, {7, 8}}})
  end)

  it("shows views by their own order", function()
    shows("[[1., 3.],\n [2., 4.]]  f32 {2,2}", ts.tensor{{1, 2}, {3, 4}}.T)
    shows("[1., 1., 1.]  f32 {3}", ts.ones(1):expand(3))
    shows("[2., 4.]  f32 {2}", ts.tensor{1, 2, 3, 4, 5}["2:4:2"])
  end)

  it("breaks rows at the line's width", function()
    local text = tostring(ts.tensor(count(101, 150)))
    local lines = 0
    for line in (text .. "\n"):gmatch("(.-)\n") do
      lines = lines + 1
      assert.is_true(#line <= 80 + #"  f32 {50}")
      if lines > 1 then assert.equal(" ", line:sub(1, 1)) end
    end
    assert.equal(4, lines) -- 50 numbers of 4 characters, 13 in a line
  end)

  it("leaves out the middle above a thousand elements", function()
    shows("[   1,    2,    3, ...,  999, 1000, 1001]  i64 {1001}", ts.arange(1001))
    assert.is_nil(tostring(ts.arange(1000)):find("...", 1, true))
    local x = ts.arange(2000):reshape(1000, 2)
    shows([=[
[[   1,    2],
 [   3,    4],
 [   5,    6],
 ...,
 [1995, 1996],
 [1997, 1998],
 [1999, 2000]]  i64 {1000,2}]=], x)
  end)

  it("takes its format from what is shown", function()
    local x = ts.zeros(2000)
    x[1000] = 0.123
    shows("[0., 0., 0., ..., 0., 0., 0.]  f32 {2000}", x)
  end)

  it("never exceeds 10000 characters", function()
    local ranks = {ts.zeros(100000, 100), ts.zeros(7, 7, 7, 7, 7, 7, 7, "u8"),
                   ts.zeros(2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2)}
    for _, x in ipairs(ranks) do
      local text = tostring(x)
      assert.is_true(#text <= 10000)
      assert.is_truthy(text:find(tostring(x.shape), 1, true))
    end
    local _, opened = tostring(ranks[2]):gsub("%[", "")
    local _, closed = tostring(ranks[2]):gsub("%]", "")
    assert.equal(opened, closed)
  end)

  it("uses no global of the script", function()
    local before = tostring(ts.ones(2, 2))
    local string_, table_, math_ = string, table, math
    string, table, math = {}, nil, 42 -- luacheck: ignore
    local ok, text = pcall(tostring, ts.ones(2, 2))
    string, table, math = string_, table_, math_ -- luacheck: ignore
    assert.is_true(ok)
    assert.equal(before, text)
  end)
end)

describe("print options", function()
  local before
  before_each(function() before = ts.get_printoptions() end)
  after_each(function() ts.set_printoptions(before) end)

  it("have the defaults of the page", function()
    assert.same({precision = 4, threshold = 1000, edgeitems = 3, linewidth = 80, sci_mode = "auto"},
      before)
  end)

  it("change the text", function()
    ts.set_printoptions{precision = 2}
    shows("[0.12]  f32 {1}", ts.tensor{0.123})
    ts.set_printoptions{sci_mode = true}
    shows("[1.23e-01]  f32 {1}", ts.tensor{0.123})
    ts.set_printoptions{sci_mode = false, precision = 4}
    shows("[      1., 1000000.]  f32 {2}", ts.tensor{1, 1e6})
    ts.set_printoptions{threshold = 4, edgeitems = 1}
    shows("[1, ..., 5]  i64 {5}", ts.arange(5))
    ts.set_printoptions{threshold = 1000, linewidth = 10}
    shows("[1, 2, 3,\n 4, 5]  i64 {5}", ts.arange(5))
  end)

  it("keep texts short whatever they are", function()
    ts.set_printoptions{threshold = math.maxinteger, edgeitems = math.maxinteger, precision = 17}
    assert.is_true(#tostring(ts.randn(100, 1000)) <= 10000)
    ts.set_printoptions{threshold = 0, linewidth = 1}
    assert.is_true(#tostring(ts.randn(100, 1000)) <= 10000)
    ts.set_printoptions{sci_mode = false}
    assert.is_true(#tostring(ts.full({100, 100}, 1e300, "f64")) <= 10000)
  end)

  it("refuse what they do not know", function()
    assert.has_error(function() ts.set_printoptions{precison = 2} end)
    assert.equal("option", ts.errinfo().code)
    assert.has_error(function() ts.set_printoptions{precision = 99} end)
    assert.has_error(function() ts.set_printoptions{edgeitems = 0} end)
    assert.has_error(function() ts.set_printoptions{sci_mode = "maybe"} end)
    assert.same(before, ts.get_printoptions())
  end)
end)
