-- How rows are called: arguments, options, results, operators.
local ts = require "tensus"
local cases = require "spec.support.cases"

local function list(x) return x:tolist() end

describe("every row", function()
  for _, op in ipairs(ts.ops()) do
    it("offers " .. op.name .. " as it says", function()
      if not op.only_inplace then
        assert.is_function(cases.find(op.name))
        local method = op.name:match "[^.]+$"
        if op.method then assert.is_function(ts.ones(1)[method]) end
      end
      if op.inplace then assert.is_function(ts.ones(1)[op.name .. "_"]) end
      assert.is_string(ts.help(op.name))
    end)

    it("refuses a misspelt option of " .. op.name, function()
      local f = cases.find(op.only_inplace and op.name .. "_" or op.name)
      assert.is_false(pcall(f, { not_an_option = 1 }))
    end)

    it("refuses values of every type for " .. op.name, function()
      local f = cases.find(op.only_inplace and op.name .. "_" or op.name)
      for _, v in ipairs { "3", true, print, {}, 0 / 0, coroutine.create(print),
        io.stdout, { { {} } }, -1, 2 ^ 70 } do
        pcall(f, v) -- must raise or answer; never more
        pcall(f, v, v)
        pcall(f, ts.ones(2, 2), v)
        pcall(f, ts.ones(2, 2), v, v)
        pcall(f, ts.ones(2, 2), ts.ones(2, 2), v)
      end
    end)
  end
end)

describe("arguments", function()
  local x = ts.tensor { { 1, 2, 3 }, { 4, 5, 6 } }

  it("take sizes in a row or in a table", function()
    assert.same({ 2, 3 }, { table.unpack(ts.zeros(2, 3).shape) })
    assert.same({ 2, 3 }, { table.unpack(ts.zeros({ 2, 3 }).shape) })
    assert.same({ 3, 2 }, { table.unpack(x:reshape(3, -1).shape) })
    assert.same({ 3, 2 }, { table.unpack(x:reshape({ 3, 2 }).shape) })
    assert.equal(0, ts.zeros().ndim)
  end)

  it("take options beside sizes, or a dtype for the options", function()
    assert.equal("f64", ts.zeros({ 2, 3, dtype = "f64" }).dtype)
    assert.equal("f64", ts.ones(2, "f64").dtype)
    assert.equal("i32", ts.zeros(2, { dtype = "int" }).dtype)
    assert.is_true(ts.ones(2, { requires_grad = true }).requires_grad)
  end)

  it("count dims from 1 and from the end", function()
    assert.same({ 5, 7, 9 }, list(x:sum(1)))
    assert.same({ 6, 15 }, list(x:sum(-1)))
    assert.same({ 6, 15 }, list(x:sum(2.0)))
    assert.equal(21, x:sum({ 1, 2 }):item())
    assert.same({ { 6 }, { 15 } }, list(x:sum(2, { keepdim = true })))
  end)

  it("read an empty list of dims as no axis", function()
    assert.same(list(x), list(x:sum({})))
  end)

  it("take tensors as a list or in a row", function()
    assert.same({ 2, 2, 3 }, { table.unpack(ts.stack({ x, x }).shape) })
    assert.same({ 4, 3 }, { table.unpack(ts.cat({ x, x }, 1).shape) })
    assert.equal(91, ts.einsum("ij,ij->", x, x):item())
    assert.equal(91, ts.einsum("ij,ij->", { x, x }):item())
  end)

  it("may be left out in the middle", function()
    assert.same({ { 1, 2, 3 }, { 3, 3, 3 } }, list(x:clamp(nil, 3)))
  end)

  it("scale by alpha", function()
    assert.equal(3, ts.ones(1):add(ts.ones(1), { alpha = 2 }):item())
  end)

  it("are true and false where bool is legal", function()
    assert.same({ true, true }, list(ts.full({ 2 }, true)))
    assert.has_error(function() return x + true end)
  end)
end)

describe("results", function()
  it("are as many as the call gives", function()
    local x = ts.tensor { { 1, 5 }, { 7, 2 } }
    assert.equal(1, select("#", x:max()))
    local values, places = x:max(2)
    assert.same({ 5, 7 }, list(values))
    assert.same({ 2, 1 }, list(places))
  end)

  it("are the operand itself when nothing was to do", function()
    local x = ts.ones(3)
    assert.equal(x, x:contiguous())
    assert.equal(x, x:add_(1))
  end)
end)

describe("operators", function()
  local x = ts.tensor { 7, -7 }

  it("are the rows of their names", function()
    assert.same({ 8, -6 }, list(x + 1))
    assert.same({ -6, 8 }, list(1 - x))
    assert.same({ 14, -14 }, list(2 * x))
    assert.same({ 3.5, -3.5 }, list(x / 2))
    assert.same({ 3, -4 }, list(x // 2))
    assert.same({ 1, 1 }, list(x % 2))
    assert.same({ 49, 49 }, list(x ^ 2))
    assert.same({ -7, 7 }, list(-x))
    assert.equal(2, #x)
  end)

  it("work bit by bit on integers and bool", function()
    local i = ts.idx { 6, 3 }
    assert.same({ 2, 3 }, list(i & 3))
    assert.same({ 7, 3 }, list(i | 3))
    assert.same({ 5, 0 }, list(i ~ 3))
    assert.same({ -7, -4 }, list(~i))
    assert.same({ false, true }, list(~ts.tensor { true, false }))
  end)

  it("join text", function()
    assert.equal("loss 5.25", "loss " .. ts.tensor(5.25))
    assert.equal("5.25 loss", ts.tensor(5.25) .. " loss")
  end)

  it("compare by identity only", function()
    local same = x
    assert.is_true(x == same)
    assert.is_false(x == x:clone())
  end)

  it("read an element by a call", function()
    local m = ts.tensor { { 1, 2 }, { 3, 4 } }
    assert.equal(2, m(1, 2))
    assert.equal(4, m(-1, -1))
    assert.equal(3, ts.tensor(3)())
    assert.equal("integer", math.type(ts.idx { 5 }(1)))
    assert.is_true(ts.tensor { true }(1))
  end)

  it("walk a dim", function()
    local seen = {}
    for i, row in pairs(ts.tensor { { 1, 2 }, { 3, 4 } }) do
      seen[i] = list(row)
    end
    assert.same({ { 1, 2 }, { 3, 4 } }, seen)
    seen = {}
    for i, column in ts.tensor({ { 1, 2 }, { 3, 4 } }):iter(-1) do
      seen[i] = list(column)
    end
    assert.same({ { 1, 3 }, { 2, 4 } }, seen)
  end)
end)

describe("random numbers", function()
  it("follow the seed", function()
    ts.manual_seed(7)
    local a = list(ts.randn(5))
    ts.manual_seed(7)
    assert.same(a, list(ts.randn(5)))
    assert.equal(7, ts.seed())
  end)

  it("come from a generator of their own", function()
    local g = ts.generator(3)
    local state = g:state()
    local a = list(ts.rand(4, { generator = g }))
    g:set_state(state)
    assert.same(a, list(ts.rand(4, { generator = g })))
    local fork = g:fork(1)
    assert.not_same(a, list(ts.rand(4, { generator = fork })))
    assert.has_error(function() ts.rand(4, { generator = 3 }) end)
  end)
end)

describe("defaults", function()
  it("are set for the state", function()
    finally(function() ts.set_default_dtype("f32") end)
    ts.set_default_dtype("f64")
    assert.equal("f64", ts.ones(1).dtype)
    assert.has_error(function() ts.set_default_dtype("i64") end)
    assert.equal("cpu", ts.device("cpu"))
    assert.is_number(ts.cuda.device_count())
  end)
end)
