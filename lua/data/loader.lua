--- data.loader(d, {batch=64, shuffle=false, drop_last=false, generator}).
-- A dataset of tensors is cut by one index_select a batch; any other has #d and
-- d[i], a tensor or a list of tensors, which are stacked.
local ts = require "tensus"
local check = require "tensus.check"

local known = {
  batch = "integer", shuffle = "boolean", drop_last = "boolean",
  generator = "any",
}

local loader = {}
loader.__index = loader

function loader:__len()
  local n = #self.dataset
  return self.drop_last and n // self.batch or -(-n // self.batch)
end

local function stack_items(dataset, positions)
  local columns = {}
  for k = 1, #positions do
    local item = dataset[positions(k)]
    item = ts.is_tensor(item) and { item } or item
    for j, t in ipairs(item) do
      columns[j] = columns[j] or {}
      columns[j][k] = t
    end
  end
  for j, column in ipairs(columns) do columns[j] = ts.stack(column) end
  return columns
end

--- for x, y in loader:iter() do
function loader:iter()
  local n = #self.dataset
  local order = self.shuffle and
    ts.randperm(n, { generator = self.generator }) or ts.arange(n)
  local at, batches = 0, #self
  return function()
    if at == batches then return end
    local first = at * self.batch + 1
    local last = math.min(first + self.batch - 1, n)
    at = at + 1
    local positions = order[{ { first, last } }]
    if self.dataset.batch then
      return table.unpack(self.dataset:batch(positions))
    end
    return table.unpack(stack_items(self.dataset, positions))
  end
end

return function(dataset, options)
  options = check.options("data.loader", options, known, 2)
  local batch = check.count("data.loader", "batch", options.batch or 64, 1, 2)
  return setmetatable({
    dataset = dataset,
    batch = batch,
    shuffle = options.shuffle or false,
    drop_last = options.drop_last or false,
    generator = options.generator,
  }, loader)
end
