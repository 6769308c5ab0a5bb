--- nn.sequential{a, b, c}: c(b(a(x))).
local module = require "tensus.nn.module"

local sequential = module("sequential", function(self, x)
  for i = 1, #self do x = self[i](x) end
  return x
end)

return function(layers)
  if type(layers) ~= "table" or #layers == 0 then
    error("nn.sequential: a table of layers is due", 2)
  end
  for i = 1, #layers do
    local callable = type(layers[i]) == "function" or
      (getmetatable(layers[i]) or {}).__call
    if not callable then
      error(("nn.sequential: layer %d is a %s and cannot be called"):format(i,
        type(layers[i])), 2)
    end
  end
  local own = {}
  for i, layer in ipairs(layers) do own[i] = layer end
  return sequential(own)
end
