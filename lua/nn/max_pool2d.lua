--- nn.max_pool2d(kernel, {stride padding dilation ceil_mode}).
-- x {n, c, h, w} -> the greatest of each window.
local ts = require "tensus"
local module = require "tensus.nn.module"
local check = require "tensus.check"

local known = {
  stride = "integer table", padding = "integer table",
  dilation = "integer table", ceil_mode = "boolean",
}

local max_pool2d = module("max_pool2d", function(self, x)
  return ts.max_pool2d(x, self.kernel, self.options)
end)

return function(kernel, options)
  return max_pool2d {
    kernel = kernel,
    options = check.options("nn.max_pool2d", options, known, 2),
  }
end
