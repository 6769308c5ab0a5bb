-- Wrong calls of linear algebra say which op, which operand, which matrix of a
-- batch; and change nothing.
local ts = require "tensus"
local linalg = ts.linalg

-- f, written on a line of its own, fails there with this text.
local function raises(code, text, f)
  local ok, message = pcall(f)
  assert.is_false(ok, "it did not raise: " .. text)
  local info = debug.getinfo(f, "S")
  assert.equal(string.format("%s:%d: %s", info.short_src, info.linedefined, text),
    message)
  assert.equal(code, ts.errinfo().code)
end

local one = ts.eye(3)
local zero = ts.zeros(3, 3)
local nan = ts.full({ 3, 3 }, 0 / 0)

describe("a matrix that does not fit", function()
  it("is named with its sizes", function()
    raises("shape", "solve: self {2,3} is not square: dim 1 is 2, dim 2 is 3",
      function() return linalg.solve(ts.ones(2, 3), ts.ones(2)) end)
    raises("rank", "det: self {3} must have rank 2 to 12",
      function() return linalg.det(ts.ones(3)) end)
    raises("shape", "solve: self {3,3} and other {2}: self dim 2 is 3, other dim 1 is 2",
      function() return linalg.solve(one, ts.ones(2)) end)
    raises("shape", "triangular_solve: self {3,3} and other {3,2}: self dim 2 is 3, other dim 2 is 2",
      function() return linalg.triangular_solve(one, ts.ones(3, 2), { left = false }) end)
    raises("shape", "solve: batches of self {2,3,3} and other {5,3,1} do not broadcast: self dim 1 is 2, other dim 1 is 5",
      function() return linalg.solve(ts.ones(2, 3, 3), ts.ones(5, 3, 1)) end)
    raises("shape", "matrix_power: self {2,3} is not square: dim 1 is 2, dim 2 is 3",
      function() return linalg.matrix_power(ts.ones(2, 3), 2) end)
    raises("shape", "lstsq: self {2,3} and other {3}: self dim 1 is 2, other dim 1 is 3",
      function() return linalg.lstsq(ts.ones(2, 3), ts.ones(3)) end)
  end)

  it("has one dtype with the other, a float", function()
    raises("dtype", "solve: self is f32, other is f64: convert one with :to()",
      function() return linalg.solve(one, ts.ones({ 3 }, "f64")) end)
    raises("dtype", "inv: self is i64; inv takes floats",
      function() return linalg.inv(ts.ones({ 2, 2 }, "i64")) end)
  end)

  it("names the words of a choice", function()
    raises("option", 'matrix_norm: ord is "3"; one of fro|nuc|2|-2|1|-1|inf|-inf is due',
      function() return linalg.matrix_norm(one, 3) end)
    raises("option", 'qr: mode is "raw"; one of reduced|complete|r is due',
      function() return linalg.qr(one, { mode = "raw" }) end)
  end)
end)

describe("a matrix without a result", function()
  it("is singular, and says where", function()
    raises("numeric", "solve: the matrix is singular: pivot 1 is 0",
      function() return linalg.solve(zero, ts.ones(3)) end)
    raises("numeric", "inv: batch 2: the matrix is singular: pivot 3 is 0",
      function() return linalg.inv(ts.stack { one, ts.tensor { { 1, 2, 3 }, { 2, 4, 6 }, { 1, 0, 0 } } }) end)
    raises("numeric", "triangular_solve: the matrix is singular: pivot 2 is 0",
      function() return linalg.triangular_solve(ts.tensor { { 1, 0 }, { 3, 0 } }, ts.ones(2)) end)
  end)

  it("is not positive definite, and says from which minor on", function()
    raises("numeric", "cholesky: batch 3: leading minor 2 is not positive",
      function() return linalg.cholesky(ts.stack { one, one, ts.tensor { { 1, 2, 0 }, { 2, 1, 0 }, { 0, 0, 1 } } }) end)
    raises("numeric", "cholesky: batch (2,1): leading minor 1 is not positive",
      function() return linalg.cholesky(ts.stack { one, zero }:reshape(2, 1, 3, 3)) end)
    raises("numeric", "cholesky: leading minor 1 is not positive",
      function() return linalg.cholesky(nan) end)
    assert.equal(3, (function()
      pcall(linalg.cholesky, ts.stack { one, one, -one })
      return ts.errinfo().position
    end)())
  end)

  it("has no vectors where an element is not finite", function()
    for _, name in ipairs { "svd", "svdvals", "eigh", "eigvalsh", "pinv" } do
      for _, n in ipairs { 3, 40 } do
        for _, bad in ipairs { 0 / 0, math.huge, -math.huge } do
          local x = ts.eye(n)
          x[{ n, n - 1 }] = bad
          x[{ n - 1, n }] = bad
          local ok, message = pcall(linalg[name], x)
          assert.is_false(ok)
          assert.matches(name .. ": an element is NaN or infinite$", message)
        end
      end
    end
  end)

  it("gives NaN where a formula does", function()
    for _, n in ipairs { 3, 40 } do
      local x = ts.full({ n, n }, 0 / 0)
      assert.is_true(linalg.solve(x, ts.ones(n)):isnan():all():item())
      assert.is_true(linalg.det(x):isnan():item())
      assert.is_true(linalg.matrix_exp(x):isnan():all():item())
      local q, r = linalg.qr(x)
      assert.is_true(q:isnan():any():item() and r:isnan():any():item())
    end
  end)

  it("leaves its operands as they were", function()
    local a = ts.stack { one, -one }
    local before = a:clone()
    pcall(linalg.cholesky, a)
    pcall(linalg.solve, a:sub(one), ts.ones(3))
    assert.is_true(a:equal(before))
  end)
end)

describe("a slope that is not there", function()
  it("says why, in backward", function()
    local x = ts.ones(3, 2):requires_grad_()
    local q = linalg.qr(x, { mode = "complete" })
    local ok, message = pcall(function() q:sum():backward() end)
    assert.is_false(ok)
    assert.matches('mode "complete" of more rows than columns has no slope', message)
    local u = linalg.svd(ts.rand(2, 3):requires_grad_(), { full = true })
    ok, message = pcall(function() u:sum():backward() end)
    assert.is_false(ok)
    assert.matches("full bases of a matrix that is not square have no slope", message)
    local sign, log = linalg.slogdet(ts.zeros(2, 2):requires_grad_())
    assert.is_false(sign.requires_grad)
    ok, message = pcall(function() log:backward() end)
    assert.is_false(ok)
    assert.matches("the matrix is singular: pivot 1 is 0", message)
  end)
end)
