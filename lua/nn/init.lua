--- tensus.nn: modules, and what is done with their parameters.
-- The parameters of a module are the tensors in it that are leaves and
-- require grad, in key order (numbers first, then strings sorted).
local ts = require "tensus"
local walk = require "tensus.nn.walk"

local nn = {
  module = require "tensus.nn.module",
  linear = require "tensus.nn.linear",
  conv2d = require "tensus.nn.conv2d",
  max_pool2d = require "tensus.nn.max_pool2d",
  layer_norm = require "tensus.nn.layer_norm",
  dropout = require "tensus.nn.dropout",
  sequential = require "tensus.nn.sequential",
}
for _, set in ipairs { "activations", "losses" } do
  for name, make in pairs(require("tensus.nn." .. set)) do nn[name] = make end
end

--- {name, tensor} pairs of all parameters, in order.
local function named(m)
  local list, seen = {}, {}
  walk(m, function(path, t)
    if t.requires_grad and t.is_leaf and not seen[t] then
      seen[t] = true
      list[#list + 1] = { path, t }
    end
  end)
  return list
end

function nn.parameters(m)
  local list = {}
  for i, pair in ipairs(named(m)) do list[i] = pair[2] end
  return list
end

--- for name, tensor in nn.named_parameters(m) do
function nn.named_parameters(m)
  local list, i = named(m), 0
  return function()
    i = i + 1
    if list[i] then return list[i][1], list[i][2] end
  end
end

--- How many numbers the parameters hold.
function nn.count(m)
  local n = 0
  for _, t in ipairs(nn.parameters(m)) do n = n + t:numel() end
  return n
end

--- Every tensor of m by its path: "1.weight" -> detached tensor.
function nn.state(m)
  local state = {}
  walk(m, function(path, t) state[path] = t:detach() end)
  return state
end

local function check_state(m, state, strict)
  local seen = {}
  walk(m, function(path, t)
    local given = state[path]
    seen[path] = true
    if not given then
      if strict then error("nn.load_state: " .. path .. " is missing", 4) end
      return
    end
    if given.shape ~= t.shape then
      error(("nn.load_state: %s is %s, the module has %s"):format(path,
        tostring(given.shape), tostring(t.shape)), 4)
    end
  end)
  for path in pairs(state) do
    if strict and not seen[path] then
      error(("nn.load_state: the module has no %s"):format(path), 3)
    end
  end
end

--- Copies the tensors of `state` into m; nothing changes unless all fit.
function nn.load_state(m, state, options)
  local strict = not options or options.strict ~= false
  check_state(m, state, strict)
  ts.no_grad(function()
    walk(m, function(path, t)
      if state[path] then t:copy_(state[path]) end
    end)
  end)
  return m
end

local function each_module(m, f, seen)
  if type(m) ~= "table" or seen[m] then return end
  seen[m] = true
  f(m)
  for _, value in next, m do each_module(value, f, seen) end
end

--- Calls f on m and on every table below it.
function nn.apply(m, f)
  each_module(m, f, {})
  return m
end

--- Switches dropout and its like on (default) or off.
function nn.train(m, on)
  return nn.apply(m, function(t)
    if rawget(t, "training") ~= nil then t.training = on ~= false end
  end)
end

function nn.eval(m) return nn.train(m, false) end

function nn.zero_grad(m)
  for _, t in ipairs(nn.parameters(m)) do t.grad = nil end
end

return nn
