--- nn.linear(inputs, outputs, {bias=true}): y = x W' + b.
-- x {..., inputs} -> y {..., outputs}.  Weight {outputs, inputs} and bias
-- {outputs} start uniform in +-1/sqrt(inputs), as in PyTorch.
local ts = require "tensus"
local module = require "tensus.nn.module"
local check = require "tensus.check"

local known = { bias = "boolean" }

local linear = module("linear", function(self, x)
  return ts.linear(x, self.weight, self.bias)
end)

return function(inputs, outputs, options)
  check.count("nn.linear", "inputs", inputs, 1, 2)
  check.count("nn.linear", "outputs", outputs, 1, 2)
  options = check.options("nn.linear", options, known, 2)
  local bound = 1 / math.sqrt(inputs)
  local function start(...)
    return ts.empty(...):uniform_(-bound, bound):requires_grad_()
  end
  return linear {
    weight = start(outputs, inputs),
    bias = options.bias ~= false and start(outputs) or nil,
  }
end
