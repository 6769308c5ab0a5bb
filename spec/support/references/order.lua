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

local function median(number)
  return function(args, options)
    local a = args[1]
    if args[2] then return number_of_line(args, args[2], options, number) end
    local line = array.new({ #a.data }, a.data, a.dtype)
    local value = number_of_line({ line }, 1, {}, number)
    for axis = 1, options.keepdim and #a.shape or 0 do value.shape[axis] = 1 end
    return value
  end
end

return {
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
