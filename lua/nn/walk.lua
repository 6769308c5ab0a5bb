--- walk: the tensors in a module, in a fixed order.
-- Keys in order: numbers first, then strings sorted.  A table that is met
-- twice is walked once.
local ts = require "tensus"

local function sorted_keys(t)
  local keys = {}
  for key in next, t do
    if type(key) == "number" or type(key) == "string" then
      keys[#keys + 1] = key
    end
  end
  table.sort(keys, function(a, b)
    if type(a) ~= type(b) then return type(a) == "number" end
    return a < b
  end)
  return keys
end

--- Calls visit(path, tensor, owner, key) for every tensor below `root`.
local function walk(root, visit)
  local seen = {}
  local function step(value, path, owner, key)
    if ts.is_tensor(value) then return visit(path, value, owner, key) end
    if type(value) ~= "table" or seen[value] then return end
    seen[value] = true
    for _, k in ipairs(sorted_keys(value)) do
      local name = path == "" and tostring(k) or path .. "." .. tostring(k)
      step(rawget(value, k), name, value, k)
    end
  end
  step(root, "", nil, nil)
end

return walk
