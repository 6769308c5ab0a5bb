--- optim.sgd(p, {lr, momentum=0, dampening=0, nesterov=false,
-- weight_decay=0}): g += decay p; the first buffer is g, then
-- buffer = momentum buffer + (1 - dampening) g; p -= lr buffer.
local ts = require "tensus"
local check = require "tensus.check"
local optimizer = require "tensus.optim.optimizer"

local known = {
  lr = "number", momentum = "number", dampening = "number",
  nesterov = "boolean", weight_decay = "number",
}

local function update(self, p, g, slot)
  p:sgd_update_(g, slot.buffer, self.lr, {
    momentum = self.momentum, dampening = self.dampening,
    nesterov = self.nesterov, weight_decay = self.weight_decay,
    first = slot.steps == 0,
  })
  slot.steps = slot.steps + 1
end

return function(p, options)
  options = check.options("optim.sgd", options, known, 2)
  if not options.lr then error("optim.sgd: option lr is missing", 2) end
  local momentum = options.momentum or 0
  if options.nesterov and momentum <= 0 then
    error("optim.sgd: nesterov wants a momentum above 0", 2)
  end
  return optimizer.new {
    parameters = optimizer.parameters("optim.sgd", p),
    lr = options.lr,
    momentum = momentum,
    dampening = options.dampening or 0,
    nesterov = options.nesterov or false,
    weight_decay = options.weight_decay or 0,
    start = function(t)
      return {
        steps = 0,
        buffer = momentum ~= 0 and ts.zeros_like(t) or nil,
      }
    end,
    update = update,
  }
end
