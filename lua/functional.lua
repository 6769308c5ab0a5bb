--- functional: derivatives of functions: grad, vjp, jvp, jacobian, hessian.
-- A tree is a tensor or a plain table of trees; its float tensors are the
-- variables, other leaves pass through.  The function gets fresh tracked
-- aliases, so no tensor of the caller's is marked and no .grad is touched.
-- Results are tracked outside only where recording is on there and something
-- outside is tracked: then the alias is a view of the outer variable, and the
-- derivative itself is recorded.
local ts = require "tensus"
local raw = require "tensus.raw"

local functional = {}

-- Raise at the line `level` calls up; the message begins with the op's name.
local function fail(level, code, message, ...)
  local op, text = message:format(...):match("^(%S+): (.*)$")
  raw.fail(code, op, text, level + 1)
end

local function is_variable(x)
  return ts.is_tensor(x) and (x.dtype:find("f", 1, true) ~= nil)
end

--- A table that holds numbers only is a tensor; anything else is as it is.
local function is_numbers(t)
  if #t == 0 then return false end
  for _, v in pairs(t) do
    if type(v) == "table" then
      if not is_numbers(v) then return false end
    elseif type(v) ~= "number" then
      return false
    end
  end
  return true
end

--- The tree with f(leaf) for each tensor; in the order of sorted keys.
local function map(tree, f)
  if ts.is_tensor(tree) then return f(tree) end
  if type(tree) ~= "table" then return tree end
  if is_numbers(tree) then return f(ts.tensor(tree)) end
  local keys, result = {}, {}
  for k in pairs(tree) do keys[#keys + 1] = k end
  table.sort(keys, function(a, b)
    if type(a) == type(b) and type(a) ~= "boolean" then return a < b end
    return type(a) == "number"
  end)
  for _, k in ipairs(keys) do result[k] = map(tree[k], f) end
  return result
end

--- Variables of a tree, in the order of `map`.
local function variables(tree)
  local list = {}
  map(tree, function(x)
    if is_variable(x) then list[#list + 1] = x end
    return x
  end)
  return list
end

--- The tree with its variables replaced by list[1], list[2], ...
local function fill(tree, list)
  local k = 0
  return map(tree, function(x)
    if not is_variable(x) then return x end
    k = k + 1
    return list[k]
  end)
end

--- What a derivative has of the variables alone: other leaves are left out.
local function fill_only(tree, list)
  if ts.is_tensor(tree) and not is_variable(tree) then return nil end
  local k = 0
  return map(tree, function(x)
    if not is_variable(x) then return nil end
    k = k + 1
    return list[k]
  end)
end

local function detach(tree)
  return map(tree, function(x)
    return x.requires_grad and x:detach() or x
  end)
end

--- A trace: f called on fresh aliases.  Returns what it gave and what is
-- needed to differentiate it.
local function trace(f, args, which)
  local outside = ts.is_grad_enabled()
  local mark = raw.mark()
  local scope <close> = ts.enable_grad()
  local inner, all = {}, table.pack(table.unpack(args, 1, args.n))
  for _, k in ipairs(which) do
    all[k] = map(args[k], function(x)
      if not is_variable(x) then return x end
      local alias = outside and x.requires_grad and x:view(x.shape)
        or x:detach():requires_grad_()
      inner[#inner + 1] = alias
      return alias
    end)
  end
  local results = table.pack(f(table.unpack(all, 1, all.n)))
  return {
    results = results, inputs = inner, trees = args, which = which,
    outside = outside, mark = mark,
  }
end

--- Is the derivative of y to be recorded?
local function is_linked(t, list)
  if not t.outside then return false end
  for _, y in ipairs(list) do
    if y.requires_grad and raw.reaches(y, t.mark) then return true end
  end
  return false
end

--- Pull of the cotangents gs of the tensors ys to the inputs; zeros where
-- there is no influence.
local function pull(t, ys, gs, create)
  local outputs, seeds = {}, {}
  for i, y in ipairs(ys) do
    if y.requires_grad then
      outputs[#outputs + 1] = y
      seeds[#seeds + 1] = gs and gs[i]
    end
  end
  if #outputs == 0 or #t.inputs == 0 then
    local zeros = {}
    for i, x in ipairs(t.inputs) do zeros[i] = ts.zeros_like(x) end
    return zeros
  end
  local scope <close> = create and ts.enable_grad() or ts.no_grad()
  return ts.grad(outputs, t.inputs, {
    grad_outputs = gs and seeds, retain_graph = true, create_graph = create,
    unused = "zero",
  })
end

local function tensors(tree)
  local list = {}
  map(tree, function(x) list[#list + 1] = x return x end)
  return list
end

local function argument_list(argnums)
  if argnums == nil then return { 1 } end
  return type(argnums) == "table" and argnums or { argnums }
end

--- One gradient tree, or a list of them when argnums is a list.
local function split_trees(t, list, argnums)
  local at, trees = 0, {}
  for i, k in ipairs(t.which) do
    local count = #variables(t.trees[k])
    trees[i] = fill_only(t.trees[k], table.move(list, at + 1, at + count, 1, {}))
    at = at + count
  end
  return type(argnums) == "table" and trees or trees[1]
end

local known_grad = { argnums = true }

local function check_options(name, options, known)
  for k in pairs(options or {}) do
    if not known[k] then fail(4, "option", "%s: unknown option %s", name, tostring(k)) end
  end
  return options or {}
end

local function value_and_grad(name, f, options)
  local argnums = check_options(name, options, known_grad).argnums
  return function(...)
    local t = trace(f, table.pack(...), argument_list(argnums))
    local y = t.results[1]
    if not is_variable(y) or #y.shape ~= 0 then
      fail(2, "shape", "%s: the function must give a 0-d float tensor, not %s", name,
        ts.is_tensor(y) and tostring(y.shape) .. " " .. y.dtype or type(y))
    end
    local linked = is_linked(t, { y })
    local g = split_trees(t, pull(t, { y }, nil, linked), argnums)
    local extra = table.pack(table.unpack(t.results, 2, t.results.n))
    if not linked then y = detach(y) end
    for i = 1, extra.n do
      if not is_linked(t, tensors(extra[i])) then extra[i] = detach(extra[i]) end
    end
    return y, g, extra
  end
end

--- grad(f, {argnums=1}): a function that gives the gradient tree, then what
-- else f gave.
function functional.grad(f, options)
  local both = value_and_grad("grad", f, options)
  return function(...)
    local _, g, extra = both(...)
    return g, table.unpack(extra, 1, extra.n)
  end
end

function functional.value_and_grad(f, options)
  local both = value_and_grad("value_and_grad", f, options)
  return function(...)
    local y, g, extra = both(...)
    return y, g, table.unpack(extra, 1, extra.n)
  end
end

--- A cotangent or tangent tree in the form of `like`; numbers become tensors
-- of the dtype of their point.
local function matching(name, tree, like)
  local points, list = variables(like), {}
  if type(tree) == "number" and #points == 1 then
    tree = ts.full(points[1].shape, tree, { dtype = points[1].dtype })
  end
  map(tree, function(x) list[#list + 1] = x return x end)
  if #list ~= #points then
    fail(3, "shape", "%s: %d tensors given for %d", name, #list, #points)
  end
  for i, x in ipairs(list) do
    if x.dtype ~= points[i].dtype and not x.requires_grad then
      list[i] = x:to(points[i].dtype)
    end
  end
  return list
end

--- vjp(f, ...): y, pull.  pull(g) gives one tree for each argument.
function functional.vjp(f, ...)
  local args = table.pack(...)
  local which = {}
  for k = 1, args.n do which[k] = k end
  local t = trace(f, args, which)
  local y = t.results[1]
  local ys = variables(y)
  local linked = is_linked(t, ys)
  local function back(g)
    local gs = g ~= nil and matching("pull", g, y)
    local create = linked
    for _, v in ipairs(gs or {}) do
      create = create or (ts.is_grad_enabled() and v.requires_grad)
    end
    local list = pull(t, ys, gs or nil, create)
    local trees = split_trees(t, list, which)
    return table.unpack(trees, 1, #which)
  end
  return linked and y or detach(y), back
end

--- The push of tangents through a trace.
local function push(t, ys, tangents, create)
  local outputs, result = {}, {}
  for i, y in ipairs(ys) do
    if y.requires_grad and #t.inputs > 0 then
      outputs[#outputs + 1] = y
    else
      result[i] = ts.zeros_like(y)
    end
  end
  if #outputs > 0 then
    local scope <close> = create and ts.enable_grad() or ts.no_grad()
    local made, k = raw.push(t.inputs, tangents, outputs), 0
    for i = 1, #ys do
      if not result[i] then
        k = k + 1
        result[i] = made[k]
      end
    end
  end
  return result
end

local function linearize(name, f, x)
  local t = trace(f, table.pack(x), { 1 })
  local y = t.results[1]
  local ys = variables(y)
  local linked = is_linked(t, ys)
  local function forward(v)
    local tangents = matching(name, v, x)
    local create = linked
    for _, tangent in ipairs(tangents) do
      create = create or (t.outside and tangent.requires_grad)
    end
    return fill(y, push(t, ys, tangents, create))
  end
  return linked and y or detach(y), forward
end

--- jvp(f, x, v): y, dy.
function functional.jvp(f, x, v)
  local y, forward = linearize("jvp", f, x)
  return y, forward(v)
end

--- linearize(f, x): y, push.
function functional.linearize(f, x)
  return linearize("push", f, x)
end

--- Row k of the identity, in the shape of x.
local function unit(x, k)
  local e = ts.zeros(x:numel(), { dtype = x.dtype, device = x.device })
  e:set(k, 1)
  return e:reshape(x.shape)
end

local function joined(a, b)
  local shape = {}
  for _, n in ipairs(a) do shape[#shape + 1] = n end
  for _, n in ipairs(b) do shape[#shape + 1] = n end
  return shape
end

--- Rows of the Jacobian by pulling, columns by pushing.
local function rows(t, y, xs, linked)
  local lists = {}
  for i in ipairs(xs) do lists[i] = {} end
  for k = 1, y:numel() do
    local g = pull(t, { y }, { unit(y, k) }, linked)
    for i in ipairs(xs) do lists[i][k] = g[i] end
  end
  local blocks = {}
  for i, x in ipairs(xs) do
    blocks[i] = #lists[i] > 0
      and ts.stack(lists[i]):reshape(joined(y.shape, x.shape))
      or ts.zeros(joined(y.shape, x.shape), { dtype = y.dtype })
  end
  return blocks
end

local function columns(t, y, xs, linked)
  local blocks = {}
  for i, x in ipairs(xs) do
    local list = {}
    for k = 1, x:numel() do
      local tangents = {}
      for j, other in ipairs(xs) do
        tangents[j] = j == i and unit(x, k) or ts.zeros_like(other)
      end
      list[k] = push(t, { y }, tangents, linked)[1]:reshape(y:numel())
    end
    blocks[i] = #list > 0
      and ts.stack(list, 2):reshape(joined(y.shape, x.shape))
      or ts.zeros(joined(y.shape, x.shape), { dtype = y.dtype })
  end
  return blocks
end

local known_jacobian = { mode = true, chunk = true, strict = true }

--- jacobian(f, x, {mode="auto"}): shape of y, then shape of x; J[out][in] for
-- trees.
function functional.jacobian(f, x, options)
  options = check_options("jacobian", options, known_jacobian)
  local t = trace(f, table.pack(x), { 1 })
  local y, xs = t.results[1], variables(x)
  local inputs, outputs = 0, 0
  for _, v in ipairs(xs) do inputs = inputs + v:numel() end
  for _, v in ipairs(variables(y)) do outputs = outputs + v:numel() end
  local mode = options.mode or "auto"
  if mode ~= "auto" and mode ~= "push" and mode ~= "pull" then
    fail(2, "option", "jacobian: mode is %s; one of auto|push|pull is due",
      tostring(mode))
  end
  local linked = is_linked(t, variables(y))
  local pushes = mode == "push" or (mode == "auto" and inputs <= outputs)
  return map(y, function(one)
    if options.strict and not one.requires_grad then
      fail(2, "independent", "jacobian: the result does not depend on x")
    end
    local blocks = (pushes and columns or rows)(t, one, xs, linked)
    return fill_only(x, blocks)
  end)
end

--- hessian(f, x): shape of x twice.
function functional.hessian(f, x, options)
  return functional.jacobian(functional.grad(f), x, options)
end

--- hvp(f, x, v): y, Hv: forward over reverse.
function functional.hvp(f, x, v)
  local y
  local g = functional.value_and_grad(f)
  local _, hv = functional.jvp(function(p)
    local value, gradient = g(p)
    y = value
    return gradient
  end, x, v)
  return detach(y), hv
end

--- vhp(f, x, v): y, vH: reverse over reverse.
function functional.vhp(f, x, v)
  local y
  local g = functional.value_and_grad(f)
  local _, back = functional.vjp(function(p)
    local value, gradient = g(p)
    y = value
    return gradient
  end, x)
  return detach(y), (back(v))
end

return functional
