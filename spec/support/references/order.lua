--- Sorting, counting, searching, in plain Lua.
local array = require "spec.support.array"
local groups = require("spec.support.references.reduce").groups

local function is_nan(x) return x ~= x end

-- Positions of a list in order: NaN the greatest, equal ones as they came.
local function order(list, descending)
  local at = {}
  for k = 1, #list do at[k] = k end
  table.sort(at, function(i, j)
    local x, y = list[i], list[j]
    if is_nan(x) ~= is_nan(y) then return is_nan(y) ~= (descending or false) end
    if is_nan(x) or x == y then return i < j end
    if descending then return x > y end
    return x < y
  end)
  return at
end

-- Values and positions: for each line of a along dim, those that pick(list)
-- names, `keep` of them; `gone`: one, and the dim goes.
local function along(a, dim, keep, pick, gone)
  local axis = array.axis(#a.shape, dim)
  local _, lists = groups(a, axis, true)
  local shape, lines = array.copy(a.shape), array.copy(a.shape)
  if #a.shape > 0 then shape[axis], lines[axis] = keep, 1 end
  local strides, picked = array.strides(lines), {}
  for k, list in ipairs(lists) do picked[k] = pick(list) end
  local values, places = {}, {}
  for index, k in array.each(shape) do
    local line, number = 1, index[axis] or 1
    for d = 1, #shape do
      if d ~= axis then line = line + (index[d] - 1) * strides[d] end
    end
    places[k] = picked[line][number]
    values[k] = lists[line][places[k]]
  end
  if gone and #shape > 0 then table.remove(shape, axis) end
  return array.new(shape, values, a.dtype), array.new(shape, places, "i64")
end

local function size(a, dim)
  return a.shape[array.axis(#a.shape, dim)] or 1
end

local function sort(args, options)
  local a, dim = args[1], args[2] or -1
  return along(a, dim, size(a, dim), function(list)
    return order(list, options.descending)
  end)
end

local function number_of_line(args, dim, options, number)
  return along(args[1], dim, 1, function(list)
    local at = order(list)
    return { at[number(list, #list)] }
  end, not options.keepdim)
end

local function nans(list)
  local n = 0
  for _, x in ipairs(list) do n = n + (is_nan(x) and 1 or 0) end
  return n
end

local function middle(list, n)
  local count = nans(list)
  return count > 0 and n - count + 1 or (n + 1) // 2
end

local function middle_number(list, n)
  local count = nans(list)
  return count == n and 1 or (n - count + 1) // 2
end

local function in_line(a) return array.new({ #a.data }, a.data, a.dtype) end

local function median(number)
  return function(args, options)
    local a = args[1]
    if args[2] then return number_of_line(args, args[2], options, number) end
    local value = number_of_line({ in_line(a) }, 1, {}, number)
    for axis = 1, options.keepdim and #a.shape or 0 do value.shape[axis] = 1 end
    return value
  end
end

-- The most frequent value, the smallest of ties; its last place.
local function most_frequent(list)
  local at, best, most = order(list), nil, 0
  local run = 0
  for k, place in ipairs(at) do
    local x, y = list[place], list[at[k - 1]]
    local same = k > 1 and (x == y or is_nan(x) and is_nan(y))
    run = same and run + 1 or 1
    if run > most then best, most = place, run end
  end
  return { best }
end

-- ---- between two elements ----

local function part_of(list, q, word)
  local at = order(list)
  local n = #list
  if is_nan(list[at[n]]) then return 0 / 0 end
  local place = q * (n - 1)
  local low, high = math.floor(place), math.ceil(place)
  local share = place - low
  if word == "lower" then
    share = 0
  elseif word == "higher" then
    low = high
  elseif word == "midpoint" then
    share = low < high and 0.5 or 0
  elseif word == "nearest" then
    if share > 0.5 or share == 0.5 and low % 2 == 1 then low = high end
  end
  local x, y = list[at[low + 1]], list[at[high + 1]]
  if word == "nearest" or word == "lower" or word == "higher" then return x end
  if x == y or share == 0 then return x end
  return x + share * (y - x)
end

local function quantile(args, options)
  local a, q, dim = args[1], args[2], args[3]
  local shape, lists = groups(a, dim, options.keepdim)
  local parts = array.is(q) and q.data or { q }
  local data = {}
  for _, part in ipairs(parts) do
    for _, list in ipairs(lists) do
      data[#data + 1] = part_of(list, part, options.interpolation)
    end
  end
  if array.is(q) then table.insert(shape, 1, #parts) end
  return array.new(shape, data, a.dtype)
end

-- ---- looking for values ----

-- How many of the list come before x, or are equal to it with `right`.
local function count_before(list, x, right)
  local n = 0
  for _, y in ipairs(list) do
    local same = x == y or is_nan(x) and is_nan(y)
    local is_less = y < x or is_nan(x) and not is_nan(y)
    if is_less or right and same then n = n + 1 end
  end
  return n
end

local function searchsorted(sequence, values, options)
  if not array.is(values) then values = array.new({}, { values }) end
  local n, places = sequence.shape[#sequence.shape], {}
  local per_line = values.shape[#values.shape] or 1
  for k, x in ipairs(values.data) do
    local first = #sequence.shape == 1 and 0 or (k - 1) // per_line * n
    local line = table.move(sequence.data, first + 1, first + n, 1, {})
    places[k] = count_before(line, x, options.right) + 1
  end
  return array.new(values.shape, places, "i64")
end

local function unique(args, options)
  local a = args[1]
  local at, values, inverse, counts = order(a.data), {}, {}, {}
  for _, place in ipairs(at) do
    local x = a.data[place]
    if x ~= values[#values] then
      values[#values + 1], counts[#counts + 1] = x, 0
    end
    counts[#counts] = counts[#counts] + 1
    inverse[place] = #values
  end
  local results = { array.new({ #values }, values, a.dtype) }
  if options.inverse then
    results[#results + 1] = array.new(a.shape, inverse, "i64")
  end
  if options.counts then
    results[#results + 1] = array.new({ #counts }, counts, "i64")
  end
  return table.unpack(results)
end

-- ---- counting ----

local function bincount(args, options)
  local labels, weights = args[1], options.weights
  local bins, is_float = {}, weights and weights.dtype == "f64"
  for k = 1, math.max(options.minlength or 0, 0, table.unpack(labels.data)) do
    bins[k] = is_float and 0.0 or 0
  end
  for k, label in ipairs(labels.data) do
    bins[label] = bins[label] + (weights and weights.data[k] or 1)
  end
  return array.new({ #bins }, bins, weights and weights.dtype or "i64")
end

local function histc(args, options)
  local a, bins = args[1], args[2]
  local numbers = {}
  for _, x in ipairs(a.data) do
    if not is_nan(x) then numbers[#numbers + 1] = x end
  end
  local low, high = options.min, options.max
  if #numbers == 0 then numbers[1] = low or high or 0.0 end
  low = low or math.min(high or math.huge, table.unpack(numbers))
  high = high or math.max(low, table.unpack(numbers))
  if low == high then low, high = low - 1, high + 1 end
  local counts = {}
  for k = 1, bins do counts[k] = 0.0 end
  for _, x in ipairs(a.data) do
    if x >= low and x <= high then
      local bin = math.min(math.floor((x - low) / (high - low) * bins) + 1, bins)
      counts[bin] = counts[bin] + 1
    end
  end
  return array.new({ bins }, counts, a.dtype)
end

return {
  mode = function(args, options)
    return along(args[1], args[2], 1, most_frequent, not options.keepdim)
  end,
  quantile = quantile,
  unique = unique,
  searchsorted = function(args, options)
    return searchsorted(args[1], args[2], options)
  end,
  bucketize = function(args, options)
    return searchsorted(args[2], args[1], options)
  end,
  isin = function(args)
    local is = {}
    for k, x in ipairs(args[1].data) do
      is[k] = 0
      for _, y in ipairs(args[2].data) do if x == y then is[k] = 1 end end
    end
    return array.new(args[1].shape, is, "bool")
  end,
  bincount = bincount,
  histc = histc,
  sort = sort,
  argsort = function(args, options)
    local _, places = sort(args, options)
    return places
  end,
  topk = function(args, options)
    return along(args[1], args[3] or -1, args[2], function(list)
      return order(list, options.largest ~= false)
    end)
  end,
  kthvalue = function(args, options)
    return number_of_line(args, args[3] or -1, options, function()
      return args[2]
    end)
  end,
  median = median(middle),
  nanmedian = median(middle_number),
}
