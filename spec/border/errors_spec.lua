-- What errors say, and where.
local ts = require "tensus"

--- The message of f, without its position; and the position.
local function message(f, ...)
  local ok, text = pcall(f, ...)
  assert.is_false(ok)
  local place, rest = text:match("^([^:]+:%d+): (.*)$")
  return rest or text, place, text
end

local x = ts.tensor { { 1, 2, 3 }, { 4, 5, 6 } }

describe("a message", function()
  it("names op, arguments and both sizes", function()
    assert.equal("add: self {2,3} and other {2} do not broadcast: self dim 2 " ..
      "is 3, other dim 1 is 2", (message(function() return x + ts.ones(2) end)))
  end)

  it("names the line of the caller", function()
    local line = debug.getinfo(1, "l").currentline + 1
    local _, place = message(function() return x + ts.ones(2) end)
    assert.matches("errors_spec.lua:" .. line .. "$", place)
  end)

  it("skips C functions between", function()
    local line = debug.getinfo(1, "l").currentline + 1
    local _, place = message(function() select(2, pcall(error), x:sum(9)) end)
    assert.matches(":" .. line .. "$", place)
  end)

  it("names the form that was called", function()
    assert.matches("^add_: ", (message(function() x:add_("3") end)))
  end)

  it("says what was given", function()
    assert.equal('add: other is the string "3"; a tensor or a number is due',
      (message(function() return x + "3" end)))
    assert.equal('add: self is the string "3"; a tensor or a number is due',
      (message(function() return "3" + x end)))
    assert.equal("add: other is true; a tensor or a number is due",
      (message(function() return x + true end)))
    assert.equal("add: other is missing", (message(x.add, x)))
  end)

  it("suggests names", function()
    assert.equal("sum: unknown option keep_dim; did you mean keepdim?",
      (message(function() x:sum(1, { keep_dim = true }) end)))
    assert.matches('tensor has no field or method "summ"; did you mean "sum"?',
      (message(function() return x.summ end)), 1, true)
    assert.matches('here it is "clamp"', (message(function() x:clip(1) end)), 1,
      true)
    assert.matches('here it is "cat"', (message(function() ts.concat {} end)), 1,
      true)
    assert.matches("did you mean f32?", (message(ts.ones, 2, "f31")), 1, true)
    assert.matches("reserved", (message(ts.ones, 2, "c64")))
  end)

  it("counts dims from 1", function()
    assert.equal("sum: dim 3 of self {2,3}: dims are 1..2 or -1..-2",
      (message(function() x:sum(3) end)))
    assert.equal("sum: dim is 0: dims are 1..2 or -1..-2",
      (message(function() x:sum(0) end)))
  end)

  it("points to the elementwise comparison", function()
    assert.matches("use a:lt(b)", (message(function() return x < x end)), 1, true)
    assert.matches("use a:le(b)", (message(function() return 1 <= x end)), 1, true)
    assert.matches("use ts.cat", (message(function() return x .. x end)), 1, true)
  end)

  it("says how to read an element", function()
    assert.matches("position 3 of dim 1 of {2,3}: positions are 1..2 or -1..-2",
      (message(function() return x(3, 1) end)), 1, true)
    assert.matches("takes one position for each dim", (message(x, 1)))
    assert.is_false(pcall(x, 1.5, 1))
    assert.is_false(pcall(x, 0 / 0, 1))
    assert.is_false(pcall(x, 0, 1))
  end)

  it("refuses what is too much", function()
    assert.matches("at most 1 are taken", (message(ts.exp, x, x)))
    assert.matches("tensors[2] is the number 2", (message(ts.cat, { x, 2 })), 1,
      true)
  end)
end)

describe("errinfo", function()
  it("describes the last error of this coroutine", function()
    local _, _, text = message(function() return x + ts.ones(2) end)
    local info = ts.errinfo()
    assert.equal(text, info.message)
    assert.equal("add", info.op)
    assert.equal("shape", info.code)
    assert.same({ { 2, 3 }, { 2 } }, info.shapes)
    assert.is_number(info.line)
    assert.is_nil(coroutine.wrap(function() return ts.errinfo() end)())
  end)

  it("knows the argument", function()
    pcall(function() return x + "3" end)
    local info = ts.errinfo()
    assert.equal("other", info.arg)
    assert.equal(2, info.argpos)
    assert.equal("type", info.code)
  end)
end)

describe("help", function()
  it("tells of names and of functions", function()
    assert.matches("ts.softplus(self, {beta=1.0, threshold=20.0})",
      ts.help("softplus"), 1, true)
    assert.equal(ts.help("exp"), ts.help(ts.exp))
    assert.equal(ts.help("flatten"), ts.help("ravel")) -- another name of it
    assert.matches("clamp", (message(ts.help, "clip")))
    assert.matches("no_grad", ts.help(ts.no_grad))
  end)
end)
