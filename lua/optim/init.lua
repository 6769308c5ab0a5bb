--- tensus.optim: optimisers.  opt = optim.sgd(module or tree, options);
-- opt:zero_grad(); loss:backward(); opt:step().
local adam = require "tensus.optim.adam"

return {
  sgd = require "tensus.optim.sgd",
  adam = adam.adam,
  adamw = adam.adamw,
}
