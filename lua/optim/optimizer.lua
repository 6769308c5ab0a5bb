--- What optimisers share: their parameters, zero_grad, state.
-- A step changes all parameters or none: everything that can fail is checked
-- before the first is written.
local ts = require "tensus"
local raw = require "tensus.raw"
local walk = require "tensus.nn.walk"

local optimizer = {}

--- The leaves that require grad in a tree, a module or one tensor.
function optimizer.parameters(name, tree)
  local list, seen = {}, {}
  walk(ts.is_tensor(tree) and { tree } or tree, function(_, t)
    if t.requires_grad and t.is_leaf and not seen[t] then
      seen[t] = true
      list[#list + 1] = t
    end
  end)
  if #list == 0 then
    error(name .. ": no tensor here requires grad", 3)
  end
  return list
end

local methods = {}
methods.__index = methods

--- Forgets all gradients.
function methods:zero_grad()
  for _, p in ipairs(self.parameters) do p.grad = nil end
end

--- One update of every parameter that has a gradient.
function methods:step()
  local ready = {}
  for i, p in ipairs(self.parameters) do
    local g = p.grad
    if g then
      ready[#ready + 1] = { p, g, self.kept[i] }
    else
      raw.lint("unused_param", ("step: parameter %d %s has no gradient: it took "
        .. "no part in the loss, or its graph was cut"):format(i, p.shape), 2)
    end
  end
  ts.no_grad(function()
    for _, one in ipairs(ready) do self.update(self, one[1], one[2], one[3]) end
  end)
end

--- What a checkpoint must keep: a table of tensors and numbers.
function methods:state()
  local state = {}
  for i, slot in pairs(self.kept) do
    for key, value in pairs(slot) do
      state[i .. "." .. key] = ts.is_tensor(value) and value:clone() or value
    end
  end
  return state
end

function methods:load_state(state)
  local kept = {}
  for path, value in pairs(state) do
    local i, key = path:match "^(%d+)%.(.+)$"
    i = math.tointeger(tonumber(i))
    local p = i and self.parameters[i]
    if not p then
      error("load_state: there is no parameter for " .. tostring(path), 2)
    end
    if ts.is_tensor(value) and value.shape ~= p.shape then
      error(("load_state: %s is %s, the parameter is %s"):format(path,
        tostring(value.shape), tostring(p.shape)), 2)
    end
    kept[i] = kept[i] or {}
    kept[i][key] = ts.is_tensor(value) and value:clone() or value
  end
  self.kept = kept
end

--- An optimiser of `fields`: parameters, `start(p)` for the slots of a
-- parameter and `update(self, p, g, slot)`.  Slots are made here, not in a
-- step: a step may run in a scope that frees what is made inside.
function optimizer.new(fields)
  fields.kept = {}
  for i, p in ipairs(fields.parameters) do fields.kept[i] = fields.start(p) end
  return setmetatable(fields, methods)
end

return optimizer
