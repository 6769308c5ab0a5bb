--- nn.conv2d(cin, cout, kernel, {stride padding dilation groups bias}).
-- x {n, cin, h, w} -> y {n, cout, h', w'}.  kernel, stride, padding and
-- dilation are a number, or one for each axis.  Weight and bias start uniform
-- in +-1/sqrt(cin/groups kh kw), as in PyTorch.
local ts = require "tensus"
local module = require "tensus.nn.module"
local check = require "tensus.check"

local known = {
  stride = "integer table", padding = "integer table",
  dilation = "integer table", groups = "integer", bias = "boolean",
}

local conv2d = module("conv2d", function(self, x)
  return ts.conv2d(x, self.weight, self.bias, self.options)
end)

return function(cin, cout, kernel, options)
  check.count("nn.conv2d", "cin", cin, 1, 2)
  check.count("nn.conv2d", "cout", cout, 1, 2)
  options = check.options("nn.conv2d", options, known, 2)
  local groups = options.groups or 1
  if cin % groups ~= 0 then
    error(("nn.conv2d: cin %d does not part into %d groups"):format(cin,
      groups), 2)
  end
  local size = type(kernel) == "table" and kernel or { kernel, kernel }
  check.count("nn.conv2d", "kernel", size[1], 1, 2)
  check.count("nn.conv2d", "kernel", size[2], 1, 2)
  local bound = 1 / math.sqrt(cin // groups * size[1] * size[2])
  local function start(...)
    return ts.empty(...):uniform_(-bound, bound):requires_grad_()
  end
  return conv2d {
    weight = start(cout, cin // groups, size[1], size[2]),
    bias = options.bias ~= false and start(cout) or nil,
    options = {
      stride = options.stride, padding = options.padding,
      dilation = options.dilation, groups = options.groups,
    },
  }
end
