--- Modules without parameters that apply one op: nn.relu() and its like.
local ts = require "tensus"
local module = require "tensus.nn.module"

local activations = {}

for _, name in ipairs { "relu", "gelu", "silu", "tanh", "sigmoid" } do
  local make = module(name, function(_, x) return ts[name](x) end)
  activations[name] = function() return make {} end
end

for _, name in ipairs { "softmax", "log_softmax" } do
  local make = module(name, function(self, x) return ts[name](x, self.dim) end)
  activations[name] = function(dim) return make { dim = dim or -1 } end
end

--- nn.flatten(): keeps the first axis, makes one of the others.
local flatten = module("flatten", function(_, x) return x:flatten(2) end)
activations.flatten = function() return flatten {} end

local identity = module("identity", function(_, x) return x end)
activations.identity = function() return identity {} end

return activations
