local ts = require "tensus"
local nn = ts.nn

describe("nn.linear", function()
  it("is x W' + b", function()
    local layer = nn.linear(2, 3)
    ts.no_grad(function()
      layer.weight:copy_(ts.tensor { { 1, 2 }, { 3, 4 }, { 5, 6 } })
      layer.bias:copy_(ts.tensor { 10, 20, 30 })
    end)
    local y = layer(ts.tensor { { 1, -1 } })
    assert.same({ { 9, 19, 29 } }, y:tolist())
  end)

  it("starts within 1/sqrt(inputs)", function()
    ts.manual_seed(3)
    local layer = nn.linear(16, 40)
    assert.is_true(layer.weight:abs():amax():item() <= 0.25)
    assert.is_true(layer.weight:abs():amax():item() > 0.2)
    assert.is_true(layer.weight.requires_grad)
  end)

  it("goes without a bias", function()
    assert.is_nil(nn.linear(2, 3, { bias = false }).bias)
  end)

  it("names a misspelt option and the nearest one, at the caller", function()
    local ok, message = pcall(function()
      local layer = nn.linear(2, 3, { bais = false })
      return layer
    end)
    assert.is_false(ok)
    assert.matches("nn_spec.lua:%d+: nn.linear: unknown option bais; " ..
      "did you mean bias%?", message)
  end)

  it("refuses sizes that are none", function()
    assert.error_matches(function() nn.linear(0, 3) end, "inputs is 0")
    assert.error_matches(function() nn.linear(2, 1.5) end, "outputs is 1.5")
  end)
end)

describe("nn.conv2d", function()
  it("has a weight {out, in/groups, kh, kw} and convolves with it", function()
    local layer = nn.conv2d(4, 6, { 3, 5 }, { groups = 2, padding = { 1, 2 } })
    assert.equal("{6,2,3,5}", tostring(layer.weight.shape))
    assert.equal("{2,6,8,9}",
      tostring(layer(ts.randn(2, 4, 8, 9)).shape))
  end)

  it("refuses groups that do not part the channels", function()
    assert.error_matches(function() nn.conv2d(3, 6, 3, { groups = 2 }) end,
      "cin 3 does not part into 2 groups")
  end)
end)

describe("a module", function()
  local function make()
    return nn.sequential {
      nn.conv2d(1, 2, 3), nn.relu(), nn.max_pool2d(2), nn.flatten(),
      nn.linear(18, 5), nn.log_softmax(),
    }
  end

  it("lists its parameters in key order", function()
    local names = {}
    for name in nn.named_parameters(make()) do names[#names + 1] = name end
    assert.same({ "1.bias", "1.weight", "5.bias", "5.weight" }, names)
  end)

  it("counts them", function()
    assert.equal(2 * 9 + 2 + 18 * 5 + 5, nn.count(make()))
  end)

  it("lists a shared parameter once", function()
    local layer = nn.linear(2, 2)
    assert.equal(2, #nn.parameters { layer, layer })
  end)

  it("gives its state and takes it back", function()
    local a, b = make(), make()
    nn.load_state(b, nn.state(a))
    local x = ts.randn(3, 1, 8, 8)
    assert.is_true(a(x):equal(b(x)))
  end)

  it("changes nothing when a state does not fit", function()
    local a = nn.linear(2, 3)
    local before = a.bias:clone()
    local state = nn.state(nn.linear(2, 3))
    state.weight = ts.zeros(5, 5)
    assert.error_matches(function() nn.load_state(a, state) end,
      "weight is {5,5}, the module has {3,2}")
    assert.is_true(a.bias:equal(before))
  end)

  it("names what a state lacks or has too much", function()
    assert.error_matches(function()
      nn.load_state(nn.linear(1, 1), { weight = ts.zeros(1, 1) })
    end, "bias is missing")
    assert.error_matches(function()
      nn.load_state(nn.linear(1, 1, { bias = false }),
        { weight = ts.zeros(1, 1), other = ts.zeros(1) })
    end, "the module has no other")
  end)

  it("switches dropout off for evaluation", function()
    local m = nn.sequential { nn.dropout(0.5) }
    local x = ts.ones(1000)
    assert.is_false(m(x):equal(x))
    nn.eval(m)
    assert.is_true(m(x):equal(x))
    nn.train(m)
    assert.is_false(m(x):equal(x))
  end)

  it("of one's own is a table and a function", function()
    local Net = nn.module("Net", function(self, x)
      return self.b(ts.relu(self.a(x)))
    end)
    local net = Net { a = nn.linear(4, 3), b = nn.linear(3, 2) }
    assert.equal("{7,2}", tostring(net(ts.randn(7, 4)).shape))
    assert.equal("nn.Net", tostring(net))
    assert.equal(4, #nn.parameters(net))
  end)

  it("forgets its gradients", function()
    local m = nn.linear(2, 1)
    m(ts.ones(1, 2)):backward()
    assert.is_truthy(m.weight.grad)
    nn.zero_grad(m)
    assert.is_nil(m.weight.grad)
  end)
end)

describe("nn.sequential", function()
  it("names the layer that cannot be called", function()
    assert.error_matches(function() nn.sequential { nn.relu(), 3 } end,
      "layer 2 is a number")
  end)
end)
