--- nn.dropout(p): zeroes each element with probability p while training.
local ts = require "tensus"
local module = require "tensus.nn.module"

local dropout = module("dropout", function(self, x)
  return ts.dropout(x, self.p, { training = self.training })
end)

return function(p)
  if type(p) ~= "number" or not (p >= 0 and p <= 1) then
    error(("nn.dropout: p is %s; a number in 0..1 is due"):format(
      tostring(p)), 2)
  end
  return dropout { p = p, training = true }
end
