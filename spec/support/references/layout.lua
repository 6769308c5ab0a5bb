--- Where elements lie, in plain Lua.
local array = require "spec.support.array"
local numbers = require "spec.support.numbers"

local build, get, axis_of = array.build, array.get, array.axis

local function changed(list, at, value)
  local copy = array.copy(list)
  copy[at] = value
  return copy
end

--- Positions first + 1 to first + length of an axis.
local function part(a, axis, first, length)
  return build(changed(a.shape, axis, length), function(index)
    return get(a, changed(index, axis, index[axis] + first))
  end, a.dtype)
end

-- Every rule for pieces ends in a list of sizes.
local function parts(a, axis, sizes)
  local pieces, first = {}, 0
  for k, length in ipairs(sizes) do
    pieces[k] = part(a, axis, first, length)
    first = first + length
  end
  return table.unpack(pieces)
end

local function equal_sizes(size, length)
  local sizes = {}
  while size > length do
    sizes[#sizes + 1] = length
    size = size - length
  end
  sizes[#sizes + 1] = size
  return sizes
end

local function split(args)
  local a, size = args[1], args[2]
  local axis = axis_of(#a.shape, args[3] or 1)
  if type(size) == "number" then size = equal_sizes(a.shape[axis], size) end
  return parts(a, axis, size)
end

local function chunk(args)
  local a = args[1]
  local axis = axis_of(#a.shape, args[3] or 1)
  local size = a.shape[axis]
  return parts(a, axis, equal_sizes(size, math.max(1, math.ceil(size / args[2]))))
end

local function unbind(args)
  local a = args[1]
  local axis, list = axis_of(#a.shape, args[2] or 1), {}
  local shape = array.copy(a.shape)
  table.remove(shape, axis)
  for k = 1, a.shape[axis] do
    list[k] = build(shape, function(index)
      local source = array.copy(index)
      table.insert(source, axis, k)
      return get(a, source)
    end, a.dtype)
  end
  return table.unpack(list)
end

local function meshgrid(args, options)
  local axes, shape, list = {}, {}, {}
  for k in ipairs(args[1]) do axes[k] = k end
  if options.indexing == "xy" and #axes > 1 then axes[1], axes[2] = 2, 1 end
  for k, a in ipairs(args[1]) do shape[axes[k]] = #a.data end
  for k, a in ipairs(args[1]) do
    list[k] = build(shape, function(index) return a.data[index[axes[k]]] end,
      a.dtype)
  end
  return table.unpack(list)
end

-- ---- windows and free strides ----

--- The place of a window's element on the axis that was cut.
local function unfolded(index, axis, step)
  local source = array.copy(index)
  local within = table.remove(source)
  source[axis] = (index[axis] - 1) * (step or 1) + within
  return source
end

local function unfold(args)
  local a, dim, size, step = table.unpack(args, 1, 4)
  local axis = axis_of(#a.shape, dim)
  local shape = changed(a.shape, axis, (a.shape[axis] - size) // (step or 1) + 1)
  shape[#shape + 1] = size
  return build(shape, function(index)
    return get(a, unfolded(index, axis, step))
  end, a.dtype)
end

local function zeros(shape, dtype)
  local zero = numbers.is_float[dtype] and 0.0 or 0
  return build(shape, function() return zero end, dtype)
end

local function unfold_add(args)
  local g, shape, dim, _, step = table.unpack(args, 1, 5)
  local axis, strides = axis_of(#shape, dim), array.strides(shape)
  local sum = zeros(shape, g.dtype)
  for index, k in array.each(g.shape) do
    local at = array.place(strides, unfolded(index, axis, step))
    sum.data[at] = sum.data[at] + g.data[k]
  end
  return sum
end

local function as_strided(args)
  local a, shape, strides, offset = table.unpack(args, 1, 4)
  return build(shape, function(index)
    return a.data[array.place(strides, index) + (offset or 0)]
  end, a.dtype)
end

local function as_strided_add(args)
  local g, shape, strides, offset = table.unpack(args, 1, 4)
  local sum = zeros(shape, g.dtype)
  for index, k in array.each(g.shape) do
    local at = array.place(strides, index) + (offset or 0)
    sum.data[at] = sum.data[at] + g.data[k]
  end
  return sum
end

-- ---- other sizes, other orders ----

local function unflatten(args)
  local a, dim, sizes = table.unpack(args, 1, 3)
  local axis, shape = axis_of(#a.shape, dim), {}
  local rest = a.shape[axis]
  for _, size in ipairs(sizes) do
    if size > 0 then rest = rest // size end
  end
  for k, size in ipairs(a.shape) do
    if k ~= axis then
      shape[#shape + 1] = size
    else
      for _, part in ipairs(sizes) do
        shape[#shape + 1] = part == -1 and rest or part
      end
    end
  end
  return array.new(shape, a.data, a.dtype)
end

local function expand_as(args)
  local a, shape = args[1], args[2].shape
  local more = #shape - #a.shape
  return build(shape, function(index)
    local source = {}
    for k, size in ipairs(a.shape) do
      source[k] = size == 1 and 1 or index[k + more]
    end
    return get(a, source)
  end, a.dtype)
end

local function as_list(value)
  return type(value) == "table" and value or { value }
end

local function movedim(args)
  local a, from, to = args[1], as_list(args[2]), as_list(args[3])
  local rank, order, moved = #a.shape, {}, {}
  for k, dim in ipairs(from) do
    order[axis_of(rank, to[k])] = axis_of(rank, dim)
    moved[axis_of(rank, dim)] = true
  end
  local axis = 1
  for k = 1, rank do
    if not order[k] then
      while moved[axis] do axis = axis + 1 end
      order[k], moved[axis] = axis, true
    end
  end
  local shape = {}
  for k = 1, rank do shape[k] = a.shape[order[k]] end
  return build(shape, function(index)
    local source = {}
    for k = 1, rank do source[order[k]] = index[k] end
    return get(a, source)
  end, a.dtype)
end

-- ---- turned, moved on, bordered ----

local function flip(args)
  local a, turned = args[1], {}
  for k = 1, #a.shape do turned[k] = args[2] == nil end
  for _, dim in ipairs(as_list(args[2])) do turned[axis_of(#a.shape, dim)] = true end
  return build(a.shape, function(index)
    local source = array.copy(index)
    for k, size in ipairs(a.shape) do
      if turned[k] then source[k] = size + 1 - index[k] end
    end
    return get(a, source)
  end, a.dtype)
end

-- One turn takes (i, j) to (columns + 1 - j, i).
local function rot90(args)
  local a = args[1]
  local dims = args[3] or { 1, 2 }
  local i, j = axis_of(#a.shape, dims[1]), axis_of(#a.shape, dims[2])
  for _ = 1, (args[2] or 1) % 4 do
    local before, shape = a, array.copy(a.shape)
    shape[i], shape[j] = shape[j], shape[i]
    a = build(shape, function(index)
      local source = array.copy(index)
      source[i], source[j] = index[j], before.shape[j] + 1 - index[i]
      return get(before, source)
    end, a.dtype)
  end
  return a
end

local function roll(args)
  local a, shifts, dims = args[1], as_list(args[2]), args[3]
  if dims == nil then
    local n, data = #a.data, {}
    for k, value in ipairs(a.data) do data[(k - 1 + shifts[1]) % n + 1] = value end
    return array.new(a.shape, data, a.dtype)
  end
  return build(a.shape, function(index)
    local source = array.copy(index)
    for k, dim in ipairs(as_list(dims)) do
      local axis = axis_of(#a.shape, dim)
      source[axis] = (index[axis] - 1 - shifts[k]) % a.shape[axis] + 1
    end
    return get(a, source)
  end, a.dtype)
end

local function triangle(keeps)
  return function(args)
    local a, k = args[1], args[2] or 0
    local rank = #a.shape
    return build(a.shape, function(index)
      local zero = numbers.is_float[a.dtype] and 0.0 or 0
      return keeps(index[rank] - index[rank - 1], k) and get(a, index) or zero
    end, a.dtype)
  end
end

-- Position j (from 0) of a padded axis as one of its n; nil: outside.
local from_border = {
  constant = function(j, n) return j >= 0 and j < n and j or nil end,
  reflect = function(j, n)
    if j < 0 then return -j end
    return j < n and j or 2 * (n - 1) - j
  end,
  replicate = function(j, n) return math.max(0, math.min(n - 1, j)) end,
  circular = function(j, n) return j % n end,
}

--- Of an array of `inner` sizes: the source of each padded index; nil: none.
local function border(inner, widths, mode)
  local outer, before = array.copy(inner), {}
  for k = 1, #inner do before[k] = 0 end
  for k = 1, #widths, 2 do
    local axis = #inner - k // 2
    before[axis] = widths[k]
    outer[axis] = inner[axis] + widths[k] + widths[k + 1]
  end
  return outer, function(index)
    local source = {}
    for k, n in ipairs(inner) do
      local at = from_border[mode or "constant"](index[k] - 1 - before[k], n)
      if not at then return nil end
      source[k] = at + 1
    end
    return source
  end
end

local function pad(args, options)
  local a = args[1]
  local outer, source_of = border(a.shape, args[2], options.mode)
  return build(outer, function(index)
    local source = source_of(index)
    local value = options.value or 0
    if not source then return numbers.is_float[a.dtype] and value + 0.0 or value end
    return get(a, source)
  end, a.dtype)
end

local function pad_fold(args, options)
  local g, inner = args[1], array.copy(args[1].shape)
  for k = 1, #args[2], 2 do
    local axis = #inner - k // 2
    inner[axis] = inner[axis] - args[2][k] - args[2][k + 1]
  end
  local _, source_of = border(inner, args[2], options.mode)
  local sum, strides = zeros(inner, g.dtype), array.strides(inner)
  for index, k in array.each(g.shape) do
    local source = source_of(index)
    if source then
      local at = array.place(strides, source)
      sum.data[at] = sum.data[at] + g.data[k]
    end
  end
  return sum
end

local function diag(args)
  local a, k = args[1], args[2] or 0
  local down, right = math.max(-k, 0), math.max(k, 0)
  if #a.shape == 1 then
    local n = a.shape[1] + math.abs(k)
    local zero = zeros({ n, n }, a.dtype)
    for i, value in ipairs(a.data) do
      zero.data[(i + down - 1) * n + i + right] = value
    end
    return zero
  end
  local n = math.max(0, math.min(a.shape[1] - down, a.shape[2] - right))
  return build({ n }, function(index)
    return get(a, { index[1] + down, index[1] + right })
  end, a.dtype)
end

local function trace(args)
  local a = args[1]
  local sum = numbers.is_float[a.dtype] and 0.0 or 0
  for i = 1, math.min(a.shape[1], a.shape[2]) do sum = sum + get(a, { i, i }) end
  return array.new({}, { sum }, numbers.is_float[a.dtype] and a.dtype or "i64")
end

local function tile(args)
  local a, counts, shape = args[1], args[2], {}
  local more = #counts - #a.shape
  for k, count in ipairs(counts) do
    shape[k] = count * (k > more and a.shape[k - more] or 1)
  end
  return build(shape, function(index)
    local source = {}
    for k, size in ipairs(a.shape) do
      source[k] = (index[k + more] - 1) % size + 1
    end
    return get(a, source)
  end, a.dtype)
end

local function repeat_interleave(args)
  local a, counts, dim = table.unpack(args, 1, 3)
  if not dim then a, dim = array.new({ #a.data }, a.data, a.dtype), 1 end
  local axis, places = axis_of(#a.shape, dim), {}
  for k = 1, a.shape[axis] do
    local n = array.is(counts) and (counts.data[k] or counts.data[1]) or counts
    for _ = 1, n do places[#places + 1] = k end
  end
  return build(changed(a.shape, axis, #places), function(index)
    return get(a, changed(index, axis, places[index[axis]]))
  end, a.dtype)
end

-- ---- joined ----

--- The sizes of an array seen with at least `rank` axes: a line is a row.
local function at_least(a, rank)
  local s, n = a.shape, #a.shape
  if n >= rank then return a end
  local shape = { 1, 1, 1 }
  if n == 1 then shape[rank > 1 and 2 or 1] = s[1] end
  if n == 2 then shape[1], shape[2] = s[1], s[2] end
  return array.new(table.move(shape, 1, rank, 1, {}), a.data, a.dtype)
end

local function joined(list, rank, axis)
  local pieces, owner, start, size = {}, {}, {}, 0
  for k, a in ipairs(list) do
    pieces[k] = at_least(a, rank)
    start[k] = size
    for _ = 1, pieces[k].shape[axis] do
      size = size + 1
      owner[size] = k
    end
  end
  return build(changed(pieces[1].shape, axis, size), function(index)
    local k = owner[index[axis]]
    return get(pieces[k], changed(index, axis, index[axis] - start[k]))
  end, list[1].dtype)
end

local function block_diag(args)
  local list, rows, columns = args[1], 0, 0
  local whole = {}
  for k, a in ipairs(list) do
    whole[k] = at_least(a, 2)
    rows, columns = rows + whole[k].shape[1], columns + whole[k].shape[2]
  end
  local result = zeros({ rows, columns }, list[1].dtype)
  local down, right = 0, 0
  for _, a in ipairs(whole) do
    for index, k in array.each(a.shape) do
      result.data[(index[1] + down - 1) * columns + index[2] + right] = a.data[k]
    end
    down, right = down + a.shape[1], right + a.shape[2]
  end
  return result
end

local function cartesian_prod(args)
  local list, rows = args[1], { {} }
  if #list == 1 then return list[1] end
  for _, a in ipairs(list) do
    local longer = {}
    for _, row in ipairs(rows) do
      for _, value in ipairs(a.data) do
        local copy = array.copy(row)
        copy[#copy + 1] = value
        longer[#longer + 1] = copy
      end
    end
    rows = longer
  end
  local data = {}
  for _, row in ipairs(rows) do table.move(row, 1, #row, #data + 1, data) end
  return array.new({ #rows, #list }, data, list[1].dtype)
end

-- ---- created ----

local function logspace(args, options)
  local first, last, n = table.unpack(args, 1, 3)
  local data = {}
  for k = 1, n do
    local power = n == 1 and first or first + (last - first) * (k - 1) / (n - 1)
    data[k] = (options.base or 10) ^ power
  end
  return array.new({ n }, data, options.dtype or "f32")
end

local function window(base)
  return function(args, options)
    local n, data = args[1], {}
    local m = options.periodic == false and n - 1 or n
    for k = 1, n do
      local turn = 2 * math.pi * (k - 1) / m
      data[k] = n == 1 and 1.0 or base - (1 - base) * math.cos(turn)
    end
    return array.new({ n }, data, options.dtype or "f32")
  end
end

local function places(keeps)
  return function(args)
    local n, m, k = args[1], args[2] or args[1], args[3] or 0
    local rows, columns = {}, {}
    for i = 1, n do
      for j = 1, m do
        if keeps(j - i, k) then rows[#rows + 1], columns[#columns + 1] = i, j end
      end
    end
    local count = #rows
    return array.new({ 2, count }, table.move(columns, 1, count, count + 1, rows),
      "i64")
  end
end

-- ---- axes by name ----

--- The groups of a side: lists of names; a number is a name of its own.
local function read_side(text, rank, sizes, mark)
  local groups, dots = {}, nil
  local function axis(word)
    if word:find("^%d") then
      local name = mark .. #groups .. "_" .. word
      sizes[name] = tonumber(word)
      return name
    end
    return word
  end
  text = text:gsub("%.%.%.", "@"):gsub("%b()", function(group)
    return "(" .. group:sub(2, -2):gsub("%s+", ",") .. ")"
  end)
  for word in text:gmatch("%S+") do
    local list = {}
    for name in word:gsub("[()]", ""):gmatch("[^,]+") do
      if name ~= "1" then list[#list + 1] = axis(name) end
    end
    groups[#groups + 1] = list
    if word == "@" then dots = #groups end
  end
  return groups, dots and rank and rank - (#groups - 1)
end

local function spread(groups, count)
  local result = {}
  for _, group in ipairs(groups) do
    local list = {}
    for _, name in ipairs(group) do
      if name ~= "@" then
        list[#list + 1] = name
      elseif #group == 1 then
        for k = 1, count do result[#result + 1] = { "@" .. k } end
      else
        for k = 1, count do list[#list + 1] = "@" .. k end
      end
    end
    if group[1] ~= "@" or #group > 1 then result[#result + 1] = list end
  end
  return result
end

--- Both sides of a pattern as groups of names, and the size of every name.
local function read_pattern(a, pattern, given)
  local sizes = {}
  for name, size in pairs(given) do sizes[name] = size end
  local left_text, right_text = pattern:match("^(.-)%->(.*)$")
  local left, count = read_side(left_text, #a.shape, sizes, "l")
  local right = read_side(right_text, nil, sizes, "r")
  left, right = spread(left, count or 0), spread(right, count or 0)
  for k, group in ipairs(left) do
    local rest, unknown = a.shape[k], nil
    for _, name in ipairs(group) do
      if sizes[name] then rest = rest // sizes[name] else unknown = name end
    end
    if unknown then sizes[unknown] = rest end
  end
  return left, right, sizes
end

local function group_sizes(groups, sizes)
  local shape = {}
  for k, group in ipairs(groups) do
    shape[k] = 1
    for _, name in ipairs(group) do shape[k] = shape[k] * sizes[name] end
  end
  return shape
end

--- Positions (from 0) of names into at, from an index of their groups.
local function take_apart(groups, sizes, index, at)
  for k, group in ipairs(groups) do
    local rest = index[k] - 1
    for n = #group, 1, -1 do
      at[group[n]] = rest % sizes[group[n]]
      rest = rest // sizes[group[n]]
    end
  end
end

local function put_together(groups, sizes, at)
  local index = {}
  for k, group in ipairs(groups) do
    index[k] = 0
    for _, name in ipairs(group) do index[k] = index[k] * sizes[name] + at[name] end
    index[k] = index[k] + 1
  end
  return index
end

local function rearrange(args, options)
  local a = args[1]
  local left, right, sizes = read_pattern(a, args[2], options)
  return build(group_sizes(right, sizes), function(index)
    local at = {}
    take_apart(right, sizes, index, at)
    return get(a, put_together(left, sizes, at))
  end, a.dtype)
end

local folds = {
  sum = function(list, zero)
    for _, value in ipairs(list) do zero = zero + value end
    return zero
  end,
  max = function(list) return math.max(table.unpack(list)) end,
  min = function(list) return math.min(table.unpack(list)) end,
  any = function(list)
    for _, value in ipairs(list) do if value ~= 0 then return 1 end end
    return 0
  end,
  all = function(list)
    for _, value in ipairs(list) do if value == 0 then return 0 end end
    return 1
  end,
}
function folds.mean(list) return folds.sum(list, 0.0) / #list end

local function folded_dtype(kind, dtype)
  local is_float = numbers.is_float[dtype]
  if kind == "any" or kind == "all" then return "bool" end
  if kind == "sum" then return is_float and dtype or "i64" end
  return kind == "mean" and not is_float and "f32" or dtype
end

local function reduce(args, options)
  local a, pattern, kind = args[1], args[2], args[3]
  local left, right, sizes = read_pattern(a, pattern, options)
  local shape, lists = group_sizes(right, sizes), {}
  local strides = array.strides(shape)
  for index, k in array.each(a.shape) do
    local at = {}
    take_apart(left, sizes, index, at)
    local place = array.place(strides, put_together(right, sizes, at))
    lists[place] = lists[place] or {}
    table.insert(lists[place], a.data[k])
  end
  local dtype, data = folded_dtype(kind, a.dtype), {}
  local zero = numbers.is_float[dtype] and 0.0 or 0
  for k = 1, array.count(shape) do data[k] = folds[kind](lists[k] or {}, zero) end
  return array.new(shape, data, dtype)
end

local function below(right, k) return right <= k end
local function above(right, k) return right >= k end

return {
  hstack = function(args)
    local list = args[1]
    return joined(list, 1, #list[1].shape <= 1 and 1 or 2)
  end,
  vstack = function(args) return joined(args[1], 2, 1) end,
  dstack = function(args) return joined(args[1], 3, 3) end,
  block_diag = block_diag,
  cartesian_prod = cartesian_prod,
  fliplr = function(args) return flip { args[1], 2 } end,
  flipud = function(args) return flip { args[1], 1 } end,
  logspace = logspace,
  hann_window = window(0.5),
  hamming_window = window(0.54),
  tril_indices = places(below),
  triu_indices = places(above),
  rearrange = rearrange,
  reduce = reduce,
  einrepeat = rearrange,
  flip = flip,
  rot90 = rot90,
  roll = roll,
  tril = triangle(below),
  triu = triangle(above),
  pad = pad,
  pad_fold = pad_fold,
  unfold = unfold,
  unfold_add = unfold_add,
  as_strided = as_strided,
  as_strided_add = as_strided_add,
  unflatten = unflatten,
  expand_as = expand_as,
  movedim = movedim,
  diag = diag,
  trace = trace,
  tile = tile,
  repeat_interleave = repeat_interleave,
  split = split,
  chunk = chunk,
  unbind = unbind,
  meshgrid = meshgrid,
}
