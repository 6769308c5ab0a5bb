-- Losses at their edges, and what they refuse.
local ts = require "tensus"

-- f, written on a line of its own, fails there with this text.
local function raises(code, text, f)
  local ok, message = pcall(f)
  assert.is_false(ok, "it did not raise: " .. text)
  local info = debug.getinfo(f, "S")
  local place = string.format("%s:%d: ", info.short_src, info.linedefined)
  assert.equal(place .. text, message)
  assert.equal(code, ts.errinfo().code)
end

local x = ts.tensor { { 1, 2, 3 }, { 4, 5, 6 } }

describe("a loss of two tensors", function()
  it("wants equal shapes", function()
    for _, name in ipairs { "mse_loss", "l1_loss", "huber_loss",
      "smooth_l1_loss", "bce_loss", "bce_with_logits", "kl_div" } do
      raises("shape", name .. ": self {3} and target {3,1} must have equal shapes",
        function() return ts.ones(3)[name](ts.ones(3), ts.ones(3, 1)) end)
    end
  end)

  it("wants a weight that does not stretch it", function()
    raises("shape", "bce_loss: weight {2,3} does not broadcast to self {3}",
      function() return ts.ones(3):bce_loss(ts.ones(3), { weight = x }) end)
    raises("shape", "bce_with_logits: pos_weight {2,3} does not broadcast to self {3}",
      function() return ts.ones(3):bce_with_logits(ts.ones(3), { pos_weight = x }) end)
  end)

  it("wants a width", function()
    raises("range", "huber_loss: delta is 0; it must be above 0",
      function() return x:huber_loss(x, { delta = 0 }) end)
    raises("range", "smooth_l1_loss: beta is -1; it must be at least 0",
      function() return x:smooth_l1_loss(x, { beta = -1 }) end)
  end)

  it("has slope 0 where they are equal", function()
    for _, name in ipairs { "l1_loss", "huber_loss", "smooth_l1_loss" } do
      local a = x:clone():requires_grad_()
      a[name](a, x):backward()
      assert.is_true(a.grad:equal(ts.zeros_like(x)), name)
    end
  end)

  it("holds logarithms above -100", function()
    local p = ts.tensor({ 0.0, 1.0, 0.0, 1.0 }):requires_grad_()
    local loss = p:bce_loss(ts.tensor { 0, 1, 1, 0 }, { reduction = "none" })
    assert.same({ 0, 0, 100, 100 }, loss:tolist())
    loss:sum():backward()
    assert.is_true(p.grad:isfinite():all():item())
  end)

  it("neither overflows nor cancels with logits", function()
    local z = ts.tensor({ -50, 50, -500, 500 }, "f64")
    local loss = z:bce_with_logits(ts.tensor({ 0, 1, 1, 0 }, "f64"),
      { reduction = "none" })
    local tail = math.exp(-50)
    assert.is_true(loss:allclose(ts.tensor({ tail, tail, 500, 500 }, "f64"),
      { rtol = 1e-14, atol = 0 }))
  end)

  it("counts nothing where the target of kl_div is 0", function()
    local loss = ts.tensor({ -1, -2 }):kl_div(ts.tensor { 0, 1 }, { reduction = "sum" })
    assert.equal(2.0, loss:item())
  end)
end)

describe("a loss of labels", function()
  it("gives 0 or NaN where every label is ignored", function()
    local y = ts.tensor({ -100, -100 }, "i64")
    local weight = ts.ones(3)
    for _, name in ipairs { "cross_entropy", "nll_loss" } do
      local a = x:clone():requires_grad_()
      local sum = a[name](a, y, { reduction = "sum", weight = weight })
      assert.equal(0.0, sum:item())
      sum:backward()
      assert.is_true(a.grad:equal(ts.zeros_like(x)))
      local mean = a[name](a, y):item()
      assert.is_true(mean ~= mean)
    end
  end)

  it("keeps what is infinite at an ignored label out", function()
    local a = ts.tensor { { -math.huge, -1 }, { -2, -1 } }
    local y = ts.tensor({ -100, 1 }, "i64")
    assert.equal(2.0, a:nll_loss(y):item())
  end)

  it("names the label that is none", function()
    raises("index",
      "nll_loss: target[2] is 4, classes are 1..3 (labels start at 1)",
      function() return x:nll_loss(ts.idx { 1, 4 }) end)
    raises("index",
      "cross_entropy: target[1] is 0, classes are 1..3 (labels start at 1)",
      function() return x:cross_entropy(ts.idx { 0, 1 }, { weight = ts.ones(3) }) end)
  end)

  it("names sizes that do not fit", function()
    raises("shape",
      "cross_entropy: self {2,3} wants a label for each row, and target is {3}",
      function() return x:cross_entropy(ts.idx { 1, 2, 3 }) end)
    raises("shape",
      "cross_entropy: weight is {2}; a weight for each of 3 classes is due",
      function() return x:cross_entropy(ts.idx { 1, 2 }, { weight = ts.ones(2) }) end)
    raises("shape",
      "cross_entropy: self {2,3} and target {2} must have equal shapes",
      function() return x:cross_entropy(ts.ones(2)) end)
    raises("range", "cross_entropy: label_smoothing is 2; it must be in 0..1",
      function() return x:cross_entropy(ts.idx { 1, 2 }, { label_smoothing = 2 }) end)
  end)
end)
