--- Losses as modules: nn.cross_entropy(options)(x, target).
local ts = require "tensus"
local module = require "tensus.nn.module"
local check = require "tensus.check"

local losses = {}

local function loss(name, known)
  local make = module(name, function(self, x, target)
    return ts[name](x, target, self.options)
  end)
  return function(options)
    return make { options = check.options("nn." .. name, options, known, 2) }
  end
end

losses.cross_entropy = loss("cross_entropy",
  { reduction = "string", ignore_index = "integer" })
losses.mse_loss = loss("mse_loss", { reduction = "string" })

return losses
