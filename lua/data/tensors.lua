--- data.tensors(x, y, ...): a dataset of tensors whose first sizes agree.
-- d[i] is a list of views; d:batch(positions) picks many at once.
local ts = require "tensus"

local tensors = {}

function tensors.__len(d) return #rawget(d, "columns")[1] end

function tensors.__index(d, key)
  if math.type(key) ~= "integer" then return tensors[key] end
  local item = {}
  for j, column in ipairs(rawget(d, "columns")) do item[j] = column[key] end
  return item
end

function tensors.batch(d, positions)
  local columns = {}
  for j, column in ipairs(rawget(d, "columns")) do
    columns[j] = column:index_select(1, positions)
  end
  return columns
end

return function(...)
  local columns = { ... }
  if #columns == 0 then error("data.tensors: a tensor is due", 2) end
  for j, column in ipairs(columns) do
    if not ts.is_tensor(column) or column.ndim == 0 then
      error(("data.tensors: argument %d must be a tensor with a dim"):format(
        j), 2)
    end
    if #column ~= #columns[1] then
      error(("data.tensors: argument %d is %s, the first %s"):format(j,
        tostring(column.shape), tostring(columns[1].shape)), 2)
    end
  end
  return setmetatable({ columns = columns }, tensors)
end
