-- What products promise beside their values and slopes.
local ts = require "tensus"

local function draw(...)
  return ts.rand({ ... }, { generator = ts.generator(7) }) - 0.5
end

describe("matmul with one matrix for all batches", function()
  it("gives each batch the bits that it has alone", function()
    local w = draw(33, 21)
    for _, rows in ipairs { 1, 2, 5 } do
      for _, x in ipairs { draw(4, rows, 33), draw(rows, 4, 33):transpose(1, 2) } do
        local y = x:matmul(w)
        for k, one in x:iter() do
          assert.is_true(y[k]:equal(one:matmul(w)), "rows " .. rows)
        end
      end
    end
  end)

  it("pulls to the matrix without a matrix for each batch", function()
    local x, w = draw(500, 2, 40), draw(40, 40):requires_grad_()
    local y = x:matmul(w):sum()
    collectgarbage()
    ts.reset_peak()
    local before = ts.memory().peak
    y:backward()
    assert.is_true(ts.memory().peak - before < 500 * 40 * 40 * 4 / 2)
  end)
end)

describe("a product of a leaf and a constant", function()
  for name, product in pairs {
    matmul = function(x, w) return x:matmul(w) end,
    einsum = function(x, w) return ts.einsum("ij,jk->ki", x, w) end,
  } do
    it("saves only what the pull reads: " .. name, function()
      local x, w = draw(3, 4):requires_grad_(), draw(4, 5)
      local plain = draw(3, 4):requires_grad_()
      product(plain, w):sum():backward()
      local y = product(x, w):sum()
      ts.no_grad(function() x:add_(1) end)
      y:backward()
      assert.is_true(x.grad:equal(plain.grad))
      y = product(x, w):sum()
      w:add_(1)
      assert.is_false(pcall(y.backward, y))
      assert.equal("modified", ts.errinfo().code)
    end)
  end
end)

describe("einsum", function()
  it("gives new storage, also where axes only change places", function()
    local x = draw(3, 3)
    for _, equation in ipairs { "ij->ij", "ij->ji", "ii->i", "...->..." } do
      assert.is_false(ts.einsum(equation, x):shares(x), equation)
    end
  end)

  it("does not pull to an operand that asks for nothing", function()
    local x, w = draw(2, 3), draw(3, 4):requires_grad_()
    ts.einsum("ij,jk->ik", x, w):sum():backward()
    assert.is_nil(x.grad)
    assert.is_true(w.grad:allclose(x:t():matmul(ts.ones(2, 4))))
  end)
end)
