--- nn.layer_norm(size, {eps=1e-5, affine=true}): `size` is the last axis, or a
-- table of the last axes.  Weight starts at 1, bias at 0.
local ts = require "tensus"
local module = require "tensus.nn.module"
local check = require "tensus.check"

local known = { eps = "number", affine = "boolean" }

local layer_norm = module("layer_norm", function(self, x)
  return ts.layer_norm(x, self.size, self.weight, self.bias,
    { eps = self.eps })
end)

return function(size, options)
  options = check.options("nn.layer_norm", options, known, 2)
  size = type(size) == "table" and size or { size }
  local affine = options.affine ~= false
  return layer_norm {
    size = size,
    eps = options.eps or 1e-5,
    weight = affine and ts.ones(size):requires_grad_() or nil,
    bias = affine and ts.zeros(size):requires_grad_() or nil,
  }
end
