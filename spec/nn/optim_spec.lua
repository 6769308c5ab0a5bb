local ts = require "tensus"
local optim = ts.optim

--- p after steps with the gradients, as the textbook loops say.
local function sgd_by_hand(p, grads, o)
  local buffer
  for _, g in ipairs(grads) do
    g = g + (o.weight_decay or 0) * p
    if (o.momentum or 0) ~= 0 then
      buffer = buffer and o.momentum * buffer + (1 - (o.dampening or 0)) * g
        or g
      g = o.nesterov and g + o.momentum * buffer or buffer
    end
    p = p - o.lr * g
  end
  return p
end

local function adam_by_hand(p, grads, o)
  local m, v = 0, 0
  local b1, b2 = table.unpack(o.betas or { 0.9, 0.999 })
  for t, g in ipairs(grads) do
    if not o.decoupled then g = g + (o.weight_decay or 0) * p end
    m = b1 * m + (1 - b1) * g
    v = b2 * v + (1 - b2) * g * g
    if o.decoupled then p = p - o.lr * o.weight_decay * p end
    p = p - o.lr * (m / (1 - b1 ^ t)) / (math.sqrt(v / (1 - b2 ^ t)) +
      (o.eps or 1e-8))
  end
  return p
end

local GRADS = { 0.5, -1.25, 2, 0.125, -0.75 }

local function run(make, options)
  local p = ts.full({ 3 }, 1.5, { dtype = "f64" }):requires_grad_()
  local opt = make({ p }, options)
  for _, g in ipairs(GRADS) do
    p.grad = ts.full({ 3 }, g, { dtype = "f64" })
    opt:step()
  end
  return p(2)
end

describe("optim.sgd", function()
  for name, options in pairs {
    plain = { lr = 0.1 },
    momentum = { lr = 0.1, momentum = 0.9 },
    dampened = { lr = 0.1, momentum = 0.9, dampening = 0.5 },
    nesterov = { lr = 0.1, momentum = 0.9, nesterov = true },
    decay = { lr = 0.1, momentum = 0.5, weight_decay = 0.01 },
  } do
    it("is the textbook's, " .. name, function()
      assert.is_near(sgd_by_hand(1.5, GRADS, options),
        run(optim.sgd, options), 1e-12)
    end)
  end

  it("wants a rate", function()
    assert.error_matches(function()
      optim.sgd({ ts.ones(1):requires_grad_() }, {})
    end, "option lr is missing")
  end)
end)

describe("optim.adam", function()
  for name, options in pairs {
    plain = { lr = 0.1 },
    betas = { lr = 0.1, betas = { 0.5, 0.75 }, eps = 1e-3 },
    decay = { lr = 0.1, weight_decay = 0.1 },
  } do
    it("is algorithm 1, " .. name, function()
      assert.is_near(adam_by_hand(1.5, GRADS, options),
        run(optim.adam, options), 1e-12)
    end)
  end

  it("takes the decay from the parameter as adamw", function()
    local options = { lr = 0.1, weight_decay = 0.1 }
    local by_hand = { lr = 0.1, weight_decay = 0.1, decoupled = true }
    assert.is_near(adam_by_hand(1.5, GRADS, by_hand),
      run(optim.adamw, options), 1e-12)
  end)
end)

describe("an optimiser", function()
  it("goes on from its state as if it had not stopped", function()
    local function fresh()
      local p = ts.ones(2):requires_grad_()
      return p, optim.adam({ p }, { lr = 0.1 })
    end
    local function step(p, opt, g)
      p.grad = ts.full({ 2 }, g)
      opt:step()
    end
    local p, opt = fresh()
    step(p, opt, 1)
    local q, other = fresh()
    ts.no_grad(function() q:copy_(p) end)
    other:load_state(opt:state())
    step(p, opt, -2)
    step(q, other, -2)
    assert.is_true(p:equal(q))
  end)

  it("leaves parameters without gradient alone", function()
    local p, q = ts.ones(2):requires_grad_(), ts.ones(2):requires_grad_()
    local opt = optim.sgd({ p, q }, { lr = 1 })
    p.grad = ts.ones(2)
    opt:step()
    assert.same({ 0, 0 }, p:tolist())
    assert.same({ 1, 1 }, q:tolist())
  end)

  it("says when nothing requires grad", function()
    assert.error_matches(function() optim.adam({ ts.ones(2) }) end,
      "no tensor here requires grad")
  end)

  it("lowers a loss", function()
    ts.manual_seed(1)
    local net = ts.nn.sequential {
      ts.nn.linear(2, 16), ts.nn.tanh(), ts.nn.linear(16, 1),
    }
    local opt = optim.adam(net, { lr = 0.05 })
    local x = ts.tensor { { 0, 0 }, { 0, 1 }, { 1, 0 }, { 1, 1 } }
    local y = ts.tensor { { 0 }, { 1 }, { 1 }, { 0 } }
    for _ = 1, 300 do
      local step <close> = ts.scope()
      local loss = ts.mse_loss(net(x), y)
      opt:zero_grad()
      loss:backward()
      opt:step()
    end
    assert.is_true(ts.mse_loss(net(x), y):item() < 1e-3)
  end)
end)
