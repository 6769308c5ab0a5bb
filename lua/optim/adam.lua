--- optim.adam(p, {lr=1e-3, betas={0.9, 0.999}, eps=1e-8, weight_decay=0}), and
-- optim.adamw, which takes the decay from p itself (weight_decay=1e-2).
-- Kingma and Ba 2015, algorithm 1; Loshchilov and Hutter 2019, algorithm 2.
local ts = require "tensus"
local check = require "tensus.check"
local optimizer = require "tensus.optim.optimizer"

local known = {
  lr = "number", betas = "table", eps = "number", weight_decay = "number",
}

local function update(self, p, g, slot)
  p:adam_update_(g, slot.m, slot.v, slot.steps + 1, self.lr, {
    beta1 = self.betas[1], beta2 = self.betas[2], eps = self.eps,
    weight_decay = self.weight_decay, decoupled = self.decoupled,
  })
  slot.steps = slot.steps + 1
end

local function maker(name, decoupled, decay)
  return function(p, options)
    options = check.options(name, options, known, 2)
    return optimizer.new {
      parameters = optimizer.parameters(name, p),
      lr = options.lr or 1e-3,
      betas = options.betas or { 0.9, 0.999 },
      eps = options.eps or 1e-8,
      weight_decay = options.weight_decay or decay,
      decoupled = decoupled,
      start = function(t)
        return { steps = 0, m = ts.zeros_like(t), v = ts.zeros_like(t) }
      end,
      update = update,
    }
  end
end

return {
  adam = maker("optim.adam", false, 0),
  adamw = maker("optim.adamw", true, 1e-2),
}
