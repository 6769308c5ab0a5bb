--- What works on rows, one_hot, dropout by its mask, gelu.
local array = require "spec.support.array"
local pointwise = require "spec.support.references.pointwise"
local reduce = require "spec.support.references.reduce"

-- Each group of elements along a dim goes through f, a list to a list.
local function along(a, dim, f)
  local _, lists, places = reduce.groups(a, dim, true)
  local data = {}
  for k, list in ipairs(lists) do
    for at, value in ipairs(f(list)) do data[places[k][at]] = value end
  end
  return array.new(a.shape, data, a.dtype)
end

local function log_softmax(list)
  local total = reduce.rows.logsumexp({ array.new({ #list }, list, "f64") }, {})
  local result = {}
  for k, value in ipairs(list) do result[k] = value - total.data[1] end
  return result
end

local function softmax(list)
  local result = log_softmax(list)
  for k, value in ipairs(result) do result[k] = math.exp(value) end
  return result
end

local function one_hot(args, options)
  local a, classes = args[1], args[2]
  local shape = array.copy(a.shape)
  shape[#shape + 1] = classes
  return array.build(shape, function(index)
    local source = table.move(index, 1, #index - 1, 1, {})
    return array.get(a, source) == index[#index] and 1 or 0
  end, options.dtype or "i64")
end

return {
  softmax = function(args) return along(args[1], args[2], softmax) end,
  log_softmax = function(args) return along(args[1], args[2], log_softmax) end,
  one_hot = one_hot,
  gelu = function(args, options)
    local name = options.approximate == "tanh" and "gelu_tanh" or "gelu_erf"
    local data = {}
    for k, value in ipairs(args[1].data) do data[k] = pointwise[name](value) end
    return array.new(args[1].shape, data, args[1].dtype)
  end,
}
