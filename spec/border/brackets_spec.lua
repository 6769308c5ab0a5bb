-- Brackets with items drawn by chance, read and assigned, against a plan in
-- plain Lua that says for each element of the result where it lies in x.
local ts = require "tensus"
local array = require "spec.support.array"
local numbers = require "spec.support.numbers"

local seed = tonumber(os.getenv("SEED")) or numbers.seed
print("brackets drawn from seed " .. seed)

local whole = numbers.whole
local DRAWS = 400

-- ---- items ----

-- Either spelling of a position of an axis of n.
local function spelt(at, n)
  return whole(1, 2) == 1 and at or at - n - 1
end

local function range_of(n)
  local first = whole(1, n + 1)
  local last = whole(first - 1, n)
  local step = whole(1, 3)
  local places = {}
  for at = first, last, step do places[#places + 1] = at end
  local item = { first, last, step }
  if first <= n and last >= 1 then item = { spelt(first, n), spelt(last, n), step } end
  return item, places
end

local function all_of(n)
  local places = {}
  for at = 1, n do places[at] = at end
  return places
end

-- Positions for one axis, in a shape that broadcasts to `both`.
local function pick_of(n, both)
  local shape = {}
  for k = whole(1, #both + 1), #both do
    shape[#shape + 1] = whole(1, 3) == 1 and 1 or both[k]
  end
  if n == 0 then shape = { 0 } end
  local spelling, places = {}, {}
  for k = 1, array.count(shape) do
    places[k] = whole(1, n)
    spelling[k] = spelt(places[k], n)
  end
  return array.tensor(array.new(shape, spelling, "i64")), shape, { places }
end

-- A mask over some axes that is true `count` times, or as it comes.
local function mask_of(sizes, count)
  local data, columns = {}, {}
  for k = 1, array.count(sizes) do data[k] = whole(0, 1) end
  if count then
    for k = 1, #data do data[k] = k <= count and 1 or 0 end
    for k = #data, 2, -1 do
      local at = whole(1, k)
      data[k], data[at] = data[at], data[k]
    end
  end
  for a = 1, #sizes do columns[a] = {} end
  local n = 0
  for index, k in array.each(sizes) do
    if data[k] == 1 then
      n = n + 1
      for a = 1, #sizes do columns[a][n] = index[a] end
    end
  end
  return array.tensor(array.new(sizes, data, "bool")), { n }, columns
end

--- Items for a shape: what stands in brackets, and for each axis of the view
-- an entry {axis=, places=} or {new=true} or {pick=, axes=}; fixed: axes gone.
local function draw(shape)
  local both = {}
  for k = 1, whole(0, 2) do both[k] = whole(1, 3) end
  local d = { items = {}, entries = {}, fixed = {} }
  local axis, ellipsis = 1, false
  local function add(item, entry)
    d.items[#d.items + 1] = item
    if entry then d.entries[#d.entries + 1] = entry end
  end
  local function add_whole(at)
    d.entries[#d.entries + 1] = { axis = at, places = all_of(shape[at]) }
  end
  local function add_pick(item, pick_shape, columns)
    add(item, { pick = { shape = pick_shape, at = columns, axis = axis } })
    axis = axis + #columns
  end
  while axis <= #shape do
    local n, kind = shape[axis], whole(1, 8)
    if kind == 1 and n > 0 then
      local at = whole(1, n)
      add(spelt(at, n))
      d.fixed[axis] = at
      axis = axis + 1
    elseif kind == 2 then
      local item, places = range_of(n)
      add(item, { axis = axis, places = places })
      axis = axis + 1
    elseif kind == 3 then
      add(({ {}, ":", ts.all })[whole(1, 3)])
      add_whole(axis)
      axis = axis + 1
    elseif kind == 4 and #d.entries < 6 then
      add("new", { new = true })
    elseif kind == 5 and not ellipsis then
      ellipsis = true
      local stop = whole(axis, #shape + 1)
      add("...")
      for at = axis, stop - 1 do add_whole(at) end
      axis = stop
    elseif kind <= 7 then
      add_pick(pick_of(n, both))
    else
      local sizes = { n }
      if axis < #shape and whole(1, 2) == 1 then sizes[2] = shape[axis + 1] end
      local wants = both[#both]
      if wants and wants > array.count(sizes) then wants = nil end
      if not d.masked and (wants or #both == 0) then
        d.masked = true
        add_pick(mask_of(sizes, wants))
        if #both == 0 then both = array.copy(d.entries[#d.entries].pick.shape) end
      end
    end
  end
  return d
end

-- ---- the plan ----

local function stretch(a, b)
  local rank, shape = math.max(#a, #b), {}
  for k = 1, rank do
    local m, n = a[k - rank + #a] or 1, b[k - rank + #b] or 1
    if m ~= n and m ~= 1 and n ~= 1 then return nil end
    shape[k] = m == 1 and n or m
  end
  return shape
end

-- The picks of the entries as one: their shape, and where they stand.
local function together(entries)
  local shape, first, last, apart = {}, nil, nil, false
  for k, entry in ipairs(entries) do
    if entry.pick then
      shape = stretch(shape, entry.pick.shape)
      if not shape then return nil end
      apart = apart or last ~= nil and k ~= last + 1
      first, last = first or k, k
    end
  end
  return shape, apart and 1 or first
end

local function picked(pick, inner)
  local at, step = 1, 1
  for k = #pick.shape, 1, -1 do
    local place = pick.shape[k] == 1 and 1 or inner[#inner - #pick.shape + k]
    at = at + (place - 1) * step
    step = step * pick.shape[k]
  end
  return at
end

--- The shape of x[items] and, for an index of it, the index of x; nil if the
-- index tensors do not broadcast.
local function plan(d)
  local both, first = together(d.entries)
  if not both then return nil end
  local shape, read = {}, {} -- read[k]: what axis k of the result is
  local function insert_both()
    for k = 1, #both do
      shape[#shape + 1] = both[k]
      read[#read + 1] = { inner = k }
    end
  end
  if first == 1 then insert_both() end
  for k, entry in ipairs(d.entries) do
    if entry.pick then
      if k == first and first ~= 1 then insert_both() end
    else
      shape[#shape + 1] = entry.new and 1 or #entry.places
      read[#read + 1] = { entry = entry }
    end
  end
  local function place(index)
    local at, inner = {}, {}
    for axis, position in pairs(d.fixed) do at[axis] = position end
    for k, what in ipairs(read) do
      if what.inner then
        inner[what.inner] = index[k]
      elseif not what.entry.new then
        at[what.entry.axis] = what.entry.places[index[k]]
      end
    end
    for _, entry in ipairs(d.entries) do
      local pick = entry.pick
      for a, column in ipairs(pick and pick.at or {}) do
        at[pick.axis + a - 1] = column[picked(pick, inner)]
      end
    end
    return at
  end
  return shape, place
end

local function spell(d)
  local words = {}
  for k, item in ipairs(d.items) do
    if ts.is_tensor(item) then
      words[k] = item.dtype .. tostring(item.shape)
    elseif type(item) == "table" then
      words[k] = "{" .. table.concat(item, ",") .. "}"
    else
      words[k] = tostring(item)
    end
  end
  return "{" .. table.concat(words, ", ") .. "}"
end

-- ---- tensors to index ----

local function filled(shape, first)
  local data = {}
  for k = 1, array.count(shape) do data[k] = first + k end
  return array.new(shape, data, "f64")
end

-- The same values in row-major order or another.
local function turned(a)
  if #a.shape < 2 or whole(1, 2) == 1 then return array.tensor(a) end
  local x = array.tensor(a)
  local copy = x:transpose(1, -1):clone()
  return copy:transpose(1, -1)
end

local function each_draw(visit)
  numbers.restart(seed)
  local counted, seen = 0, {}
  for _ = 1, DRAWS do
    local shape = {}
    for k = 1, whole(1, 4) do
      shape[k] = whole(1, 20) == 1 and 0 or whole(1, 4)
    end
    local d = draw(shape)
    local result, place = plan(d)
    local ok, message = pcall(visit, shape, d, result, place)
    if not ok then
      error(array.show(shape) .. spell(d) .. ": " .. tostring(message), 0)
    end
    if result and array.count(result) > 0 then counted = counted + 1 end
    for _, item in ipairs(d.items) do
      local kind = ts.is_tensor(item) and item.dtype or type(item)
      seen[kind] = (seen[kind] or 0) + 1
    end
  end
  assert.is_true(counted > DRAWS / 2)
  for _, kind in ipairs { "number", "table", "string", "function", "i64", "bool" } do
    assert.is_true((seen[kind] or 0) > DRAWS / 20, kind)
  end
end

local function same(x, a)
  local found = array.of(x)
  assert.same(a.shape, found.shape)
  assert.same(a.data, found.data)
end

-- A value that stretches to the shape: of fewer axes, or with sizes of 1.
local function value_for(shape)
  local own = {}
  for k = whole(1, #shape + 1), #shape do
    own[#own + 1] = whole(1, 3) == 1 and 1 or shape[k]
  end
  return filled(own, 1000)
end

local function written(a, shape, place, value)
  local result = array.new(a.shape, array.copy(a.data), a.dtype)
  local strides, last = array.strides(a.shape), {}
  for index in array.each(shape) do
    local at = array.place(strides, place(index))
    local k = picked(value, index)
    result.data[at] = value.data[k]
    last[at] = k
  end
  return result, last
end

local function zeros(a)
  return array.build(a.shape, function() return 0 end, "f64")
end

describe("brackets", function()
  it("read where the plan says, and pull there", function()
    each_draw(function(shape, d, result, place)
      local a = filled(shape, 0)
      local x = turned(a):requires_grad_()
      if not result then
        assert.is_false(pcall(function() return x[d.items] end))
        return assert.equal("shape", ts.errinfo().code)
      end
      local y = x[d.items]
      local expected = array.build(result, function(index)
        return array.get(a, place(index))
      end, "f64")
      same(y, expected)
      local g, due = filled(result, 0), zeros(a)
      local strides = array.strides(shape)
      for index, k in array.each(result) do
        local at = array.place(strides, place(index))
        due.data[at] = due.data[at] + g.data[k]
      end
      same(ts.grad(y, x, { grad_outputs = array.tensor(g) }), due)
    end)
  end)

  it("write where the plan says, the last one winning", function()
    each_draw(function(shape, d, result, place)
      if not result then return end
      local a, value = filled(shape, 0), value_for(result)
      local x = turned(a)
      x[d.items] = array.tensor(value)
      same(x, (written(a, result, place, value)))
    end)
  end)

  it("name one winner for value and gradient", function()
    each_draw(function(shape, d, result, place)
      if not result then return end
      local a, value = filled(shape, 0), value_for(result)
      local x, v = turned(a):requires_grad_(), turned(value):requires_grad_()
      local y = x * 1
      y[d.items] = v
      local expected, last = written(a, result, place, value)
      same(y, expected)
      local g, to_x, to_v = filled(shape, 0), zeros(a), zeros(value)
      for at = 1, #g.data do
        local k = last[at]
        if k then
          to_v.data[k] = to_v.data[k] + g.data[at]
        else
          to_x.data[at] = g.data[at]
        end
      end
      local gx, gv = table.unpack(ts.grad(y, { x, v },
        { grad_outputs = array.tensor(g), unused = "zero" }))
      same(gx, to_x)
      same(gv, to_v)
    end)
  end)

  it("read themselves first when they overlap what they write", function()
    each_draw(function(shape, d, result, place)
      if not result then return end
      local a = filled(shape, 0)
      local x = turned(a)
      local ok, source = pcall(function() return x[d.items]:expand(result) end)
      if not ok then return end
      local twisted = #result > 0 and result[1] > 1 and source:flip(1) or source
      local value = array.of(twisted)
      x[d.items] = twisted
      same(x, (written(a, result, place, value)))
    end)
  end)
end)
