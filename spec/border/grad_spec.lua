-- Marking, backward, ts.grad, modes, and derivatives of functions.
local ts = require "tensus"

local function list(x) return x:tolist() end
local function leaf(v) return ts.tensor(v, { requires_grad = true, dtype = "f64" }) end

describe("backward", function()
  it("adds to .grad of leaves", function()
    local x = leaf { 1, 2, 3 }
    assert.is_nil(x.grad)
    ;(x * x):sum():backward()
    assert.same({ 2, 4, 6 }, list(x.grad))
    ;(x * x):sum():backward()
    assert.same({ 4, 8, 12 }, list(x.grad))
    assert.is_true(x.grad == x.grad)
    assert.is_false(x.grad.requires_grad)
  end)

  it("takes a cotangent", function()
    local x = leaf { 1, 2 }
    ;(x * x):backward(ts.tensor({ 1, 10 }, "f64"))
    assert.same({ 2, 40 }, list(x.grad))
  end)

  it("leaves other leaves alone with inputs", function()
    local x, y = leaf { 1, 2 }, leaf { 3, 4 }
    ;(x * y):sum():backward({ inputs = { x } })
    assert.same({ 3, 4 }, list(x.grad))
    assert.is_nil(y.grad)
  end)

  it("refuses create_graph and a second pass", function()
    local x = leaf { 1, 2 }
    local y = (x * x):sum()
    assert.has_error(function() y:backward({ create_graph = true }) end)
    y:backward({ retain_graph = true })
    y:backward()
    assert.has_error(function() y:backward() end)
  end)

  it("keeps the gradient of a result that asks for it", function()
    local x = leaf { 1, 2 }
    local y = (x * 2):retain_grad()
    y:sum():backward()
    assert.same({ 1, 1 }, list(y.grad))
  end)

  it("keeps the identity of a gradient that is assigned", function()
    local x, g = leaf { 1, 2 }, ts.ones(2, "f64")
    x.grad = g
    assert.is_true(x.grad == g)
    x.grad = nil
    assert.is_nil(x.grad)
    assert.has_error(function() x.grad = ts.ones(3, "f64") end)
    assert.has_error(function() x.grad = 3 end)
  end)
end)

describe("marking", function()
  it("is for floats", function()
    local x = ts.ones(2)
    assert.is_false(x.requires_grad)
    x.requires_grad = true
    assert.is_true(x.requires_grad)
    assert.is_true(x.is_leaf)
    assert.equal("mul", (x * 2).grad_fn)
    assert.has_error(function() ts.idx({ 1 }):requires_grad_() end)
    assert.is_false(x:detach().requires_grad)
  end)
end)

describe("ts.grad", function()
  it("returns gradients in the form of its inputs", function()
    local x, y = leaf { 1, 2 }, leaf { 3, 4 }
    local g = ts.grad((x * y):sum(), { a = x, b = { y } })
    assert.same({ 3, 4 }, list(g.a))
    assert.same({ 1, 2 }, list(g.b[1]))
    assert.is_nil(x.grad)
  end)

  it("may record itself", function()
    local x = leaf { 1, 2, 3 }
    local g = ts.grad((x ^ 3):sum(), x, { create_graph = true })
    assert.same({ 6, 12, 18 }, list(ts.grad(g:sum(), x)))
  end)

  it("says what has no influence", function()
    local x, y = leaf { 1 }, leaf { 2 }
    assert.has_error(function() ts.grad(x:sum(), { x, y }) end)
    assert.same({ 0 }, list(ts.grad(x:sum(), { x, y }, { unused = "zero" })[2]))
    assert.is_nil(ts.grad(x:sum(), { x, y }, { unused = "nil" })[2])
    assert.has_error(function() ts.grad(x:sum(), x, { unused = "x" }) end)
  end)
end)

describe("a mode", function()
  local x = leaf { 1 }
  local function records() return (x * 2).requires_grad end

  it("holds for a call and for a block", function()
    assert.is_false(ts.no_grad(records))
    do
      local _ <close> = ts.no_grad()
      assert.is_false(records())
      assert.is_true(ts.enable_grad(records))
      assert.is_false(ts.is_grad_enabled())
    end
    assert.is_true(records())
  end)

  it("passes arguments and results", function()
    assert.same({ 1, nil, 3 }, { ts.no_grad(function(...) return ... end, 1, nil, 3) })
  end)

  it("ends with an error", function()
    assert.has_error(function() ts.no_grad(error, "x") end)
    assert.is_true(records())
    pcall(function()
      local _ <close> = ts.no_grad()
      error "x"
    end)
    assert.is_true(records())
  end)

  it("belongs to its coroutine", function()
    local co = coroutine.create(function()
      local _ <close> = ts.no_grad()
      coroutine.yield(records())
      return records()
    end)
    assert.same({ true, false }, { coroutine.resume(co) })
    assert.is_true(records())
    local _ <close> = ts.no_grad()
    assert.is_true(coroutine.wrap(records)()) -- a new one records
    assert.same({ true, false }, { coroutine.resume(co) })
  end)

  it("survives a yield inside the call", function()
    local co = coroutine.wrap(function()
      return ts.no_grad(function()
        coroutine.yield(records())
        return records()
      end), records()
    end)
    assert.is_false(co())
    assert.is_true(records())
    assert.same({ false, true }, { co() })
  end)

  it("ends with coroutine.close", function()
    local co = coroutine.create(function()
      local _ <close> = ts.no_grad()
      coroutine.yield()
    end)
    coroutine.resume(co)
    coroutine.close(co)
    assert.is_true(records())
  end)
end)

describe("derivatives of functions", function()
  local x = ts.tensor({ 1, 2, 3 }, "f64")
  local ones = ts.ones(3, "f64")

  it("leave the caller's tensors alone", function()
    local g, extra = ts.grad(function(a) return (a ^ 3):sum(), "more" end)(x)
    assert.same({ 3, 12, 27 }, list(g))
    assert.equal("more", extra)
    assert.is_false(x.requires_grad)
    assert.is_false(g.requires_grad)
  end)

  it("agree in both modes", function()
    local f = function(a) return a * a:sum() end
    assert.same(list(ts.jacobian(f, x, { mode = "push" })),
      list(ts.jacobian(f, x, { mode = "pull" })))
    local y, dy = ts.jvp(f, x, ones)
    local _, pull = ts.vjp(f, x)
    assert.same({ 6, 12, 18 }, list(y))
    assert.equal((dy * ones):sum():item(), (pull(ones) * ones):sum():item())
  end)

  it("have second order", function()
    local f = function(a) return (a ^ 3):sum() end
    assert.same({ { 6, 0, 0 }, { 0, 12, 0 }, { 0, 0, 18 } }, list(ts.hessian(f, x)))
    local y, hv = ts.hvp(f, x, ones)
    assert.equal(36, y:item())
    assert.same({ 6, 12, 18 }, list(hv))
    assert.same({ 6, 12, 18 }, list((select(2, ts.vhp(f, x, ones)))))
  end)

  it("nest by level", function()
    local one, three = ts.tensor(1.0), ts.tensor(3.0)
    local D = ts.grad
    assert.equal(1, D(function(a)
      return a * D(function(b) return a + b end)(one)
    end)(three):item())
    assert.equal(6, D(function(a)
      return a * D(function(b) return a * b end)(one)
    end)(three):item())
    assert.equal(6, select(2, ts.jvp(function(a)
      return a * select(2, ts.jvp(function(b) return a * b end, one, one))
    end, three, one)):item())
  end)

  it("work on trees", function()
    local g = ts.grad(function(p) return (p.a * p.b[1]):sum() end)
      { a = x, b = { x + 1 }, name = "kept" }
    assert.same({ 2, 3, 4 }, list(g.a))
    assert.same({ 1, 2, 3 }, list(g.b[1]))
  end)

  it("are tracked when something outside is", function()
    local w = leaf { 1, 2, 3 }
    local g = ts.grad(function(a) return (a * a * w):sum() end)(x)
    assert.is_true(g.requires_grad)
    g:sum():backward()
    assert.same({ 2, 4, 6 }, list(w.grad))
  end)
end)

describe("gradcheck", function()
  local x = ts.tensor({ 0.5, 1.5 }, "f64")

  it("passes what is right", function()
    assert.is_true(ts.gradcheck(function(a, b) return a * b + a:exp() end,
      { x, x + 1 }))
  end)

  it("finds what is wrong", function()
    local ok, report = ts.gradcheck(function(a) return a * a:detach() end, { x },
      { raise = false })
    assert.is_false(ok)
    assert.matches("analytic 1.5, numeric 3", report, 1, true)
    assert.has_error(function() ts.gradcheck(ts.exp, { ts.ones(2) }) end)
  end)
end)
