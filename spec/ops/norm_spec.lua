--- Normalisations at the edges: running values, what is refused, and that a
-- call which raises has written nothing.
local ts = require "tensus"

local function raises(code, pattern, f, ...)
  local ok, message = pcall(f, ...)
  assert.is_false(ok)
  assert.equal(code, ts.errinfo().code, tostring(message))
  assert.matches(pattern, message)
end

local function near(found, expected)
  assert.is_true(found:sub(expected):abs():amax():item() < 1e-12,
    tostring(found))
end

describe("batch_norm", function()
  local x = ts.randn(4, 3, 5, { dtype = "f64" })

  it("moves running values by momentum, the variance by n - 1", function()
    local mean, var = ts.ones(3, "f64"), ts.full({ 3 }, 2, { dtype = "f64" })
    x:batch_norm(nil, nil, { mean = mean, var = var, training = true,
      momentum = 0.25 })
    near(mean, x:mean({ 1, 3 }) * 0.25 + 0.75)
    near(var, x:var({ 1, 3 }) * 0.25 + 2 * 0.75)
  end)

  it("uses them, as constants, where it does not train", function()
    local mean, var = ts.randn(3, { dtype = "f64" }), ts.rand(3, { dtype = "f64" })
    local y = x:batch_norm(nil, nil, { mean = mean, var = var, eps = 0.5 })
    local m, v = mean:unsqueeze(2), var:unsqueeze(2)
    near(y, (x - m) / (v + 0.5):sqrt())
    mean.requires_grad = true
    y = x:batch_norm(nil, nil, { mean = mean, var = var })
    assert.is_false(y.requires_grad)
  end)

  it("updates nothing when it fails", function()
    local mean, var = ts.ones(3, "f64"), ts.ones(3, "f64")
    local options = { mean = mean, var = var, training = true }
    raises("shape", "more than one", ts.batch_norm, x["1:1"][{ {}, {}, { 1, 1 } }],
      nil, nil, options)
    raises("channels", "weight {4}", ts.batch_norm, x, ts.ones(4, "f64"), nil,
      options)
    raises("channels", "var {4}", ts.batch_norm, x, nil, nil,
      { mean = mean, var = ts.ones(4), training = true })
    raises("option", "mean is needed", ts.batch_norm, x)
    raises("rank", "self", ts.batch_norm, ts.ones(3), nil, nil, options)
    assert.is_true(mean:equal(ts.ones(3, "f64")) and var:equal(ts.ones(3, "f64")))
  end)

  it("is exact at a large mean", function()
    local y = (ts.tensor { { 1 }, { -1 } } + 1e6):batch_norm(nil, nil,
      { training = true, eps = 0 })
    assert.same({ { 1.0 }, { -1.0 } }, y:tolist())
  end)
end)

describe("group_norm, instance_norm, rms_norm", function()
  local x = ts.randn(2, 6, 4, { dtype = "f64" })

  it("agree where they are the same", function()
    near(x:group_norm(6), x:instance_norm())
    near(x:group_norm(1), x:layer_norm({ 6, 4 }))
  end)

  it("take an empty batch", function()
    assert.same({ 0, 6, 4 }, { ts.ones(0, 6, 4):group_norm(3):size() })
    assert.same({ 0, 4 }, { ts.ones(0, 4):rms_norm({ 4 }):size() })
  end)

  it("say what does not fit", function()
    raises("groups", "6 channels do not part into 4", ts.group_norm, x, 4)
    raises("groups", "into 0", ts.group_norm, x, 0)
    raises("channels", "bias {5}", ts.group_norm, x, 2, nil, ts.ones(5, "f64"))
    raises("rank", "self", ts.instance_norm, ts.ones(2, 3))
    raises("shape", "size {5}", ts.rms_norm, x, { 5 })
    raises("shape", "weight is {3}", ts.rms_norm, x, { 4 }, ts.ones(3, "f64"))
  end)
end)
