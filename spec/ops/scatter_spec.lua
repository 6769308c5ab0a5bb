-- scatter_reduce at its edges: ties, NaN, factors that are 0.
local ts = require "tensus"

local function leaf(list) return ts.tensor(list, {dtype = "f64", requires_grad = true}) end

describe("scatter_reduce", function()
  local one = ts.idx{1, 1, 1}

  it("shares the gradient among equal extremes, self among them", function()
    local x, s = leaf{2, 9}, leaf{2, 1, 2}
    for _, kind in ipairs{"amax", "amin"} do
      local y = x:scatter_reduce(1, one, s, kind)
      local gx, gs = table.unpack(ts.grad(y * ts.tensor({6, 5}, "f64"), {x, s},
        {grad_outputs = ts.ones(2, "f64")}))
      if kind == "amax" then
        assert.same({2, 9}, y:tolist())
        assert.same({2, 5}, gx:tolist())
        assert.same({2, 0, 2}, gs:tolist())
      else
        assert.same({1, 9}, y:tolist())
        assert.same({0, 5}, gx:tolist())
        assert.same({0, 6, 0}, gs:tolist())
      end
    end
  end)

  it("lets NaN win, whichever comes first", function()
    local nan = 0 / 0
    for _, kind in ipairs{"amax", "amin"} do
      for _, list in ipairs{{nan, 1, 2}, {1, nan, 2}, {1, 2, nan}} do
        local y = ts.zeros(1):scatter_reduce(1, one, ts.tensor(list), kind)
        assert.is_true(y:isnan()(1))
      end
    end
  end)

  it("multiplies the other factors, to second order", function()
    -- 0 to 3 factors that are 0, in self and in source
    for bits = 0, 15 do
      local v = {}
      for k = 1, 4 do v[k] = bits >> (k - 1) & 1 == 1 and 0 or k + 0.5 end
      local function scattered(u)
        return u["1:1"]:scatter_reduce(1, one, u["2:4"], "prod"):sum()
      end
      local function multiplied(u) return u[1] * u[2] * u[3] * u[4] end
      local u = ts.tensor(v, "f64")
      assert.is_true(ts.allclose(ts.grad(multiplied)(u), ts.grad(scattered)(u)))
      assert.is_true(ts.allclose(ts.hessian(multiplied, u), ts.hessian(scattered, u)))
    end
  end)

  it("takes the mean of integers as a floor, and counts beyond the dtype", function()
    local x = ts.tensor({-1, 0}, "i8")
    assert.same({-1, 0}, x:scatter_reduce(1, ts.idx{1, 1}, ts.tensor({0, 0}, "i8"), "mean"):tolist())
    local n = 300
    local zeros = ts.zeros(n, "i8")
    assert.same({0}, ts.zeros(1, "i8"):scatter_reduce(1, ts.ones(n, "i64"), zeros, "mean"):tolist())
    local half = ts.ones(1, "f16"):scatter_reduce(1, ts.ones(4095, "i64"), ts.zeros(4095, "f16"), "mean")
    assert.equal(2.0 ^ -12, half:item())
  end)

  it("knows its kinds", function()
    assert.is_false(pcall(ts.scatter_reduce, ts.zeros(1), 1, one, ts.zeros(3), "median"))
    assert.equal("option", ts.errinfo().code)
  end)
end)
