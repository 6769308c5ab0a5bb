--- Picking and writing at positions: what their rows are tried on (see cases.lua).
local array = require "spec.support.array"
local numbers = require "spec.support.numbers"

return function(tools)
  local case = tools.case

  -- Positions that are all different, so that the order of adding is plain.
  local function shuffled(n)
    local list = {}
    for k = 1, n do list[k] = k end
    for k = n, 2, -1 do
      local at = numbers.whole(1, k)
      list[k], list[at] = list[at], list[k]
    end
    return array.new({ n }, list, "i64")
  end

  local function number(d)
    if d.dtype == "bool" then return 1 end
    return numbers.is_float[d.dtype] and 1.5 or 3
  end

  local function mask(shape)
    return array.build(shape, function() return numbers.whole(0, 1) end, "bool")
  end

  -- Every place but one, and none.
  local function full(shape, value)
    local a = array.build(shape, function() return value end, "bool")
    if value == 1 and #a.data > 1 then a.data[2] = 0 end
    return a
  end

  -- Index tensors as brackets take them: from either end.
  local function either(shape, n)
    return array.build(shape, function()
      local at = numbers.whole(1, n)
      return numbers.whole(0, 1) == 1 and at or at - n - 1
    end, "i64")
  end

  -- Rows alike, so that each layout can hold it and takes as many.
  local function alike(shape)
    return array.build(shape, function(at)
      return (#at == 1 or at[#at] ~= 2) and 1 or 0
    end, "bool")
  end

  local function picks()
    return {
      { { 4, 3 }, { either({ 5 }, 4) }, { 5, 3 } },
      { { 4, 3 }, { {}, either({ 2, 2 }, 3) }, { 4, 2, 2 } },
      { { 3, 4, 2 }, { either({ 3, 1 }, 3), either({ 2 }, 4) }, { 3, 2, 2 } },
      { { 3, 4, 2 }, { either({ 3 }, 3), {}, either({ 3 }, 2) }, { 3, 4 } },
      { { 3, 4 }, { alike { 3, 4 } }, { 9 } },
      { { 3, 4 }, { {}, alike { 4 } }, { 3, 4 } },
      { { 2, 3, 2 }, { alike { 2, 3 }, either({ 4 }, 2) }, { 4 } },
      { { 4 }, { either({}, 4) }, {} },
      { { 4, 2 }, { either({ 0 }, 4) }, { 0, 2 } },
      { { 3, 4 }, { full({ 3 }, 0) }, { 0, 4 } },
      { { 6 }, { either({ 20 }, 6) }, { 20 } },
    }
  end

  return {
    index = function(d)
      local list = {}
      for k, p in ipairs(picks()) do list[k] = case { d(p[1]), p[2] } end
      return list
    end,
    index_put = function(d)
      local list = {}
      for _, p in ipairs(picks()) do
        list[#list + 1] = case { d(p[1]), p[2], d(p[3]) }
      end
      list[#list + 1] = case { d { 4, 3 }, { either({ 5 }, 4) }, d { 3 } }
      list[#list + 1] = case { d { 4, 3 }, { either({ 5 }, 4) }, number(d) }
      list[#list + 1] = case { d { 4, 3 }, { {}, either({ 5 }, 3) }, d {} }
      if d.dtype == "bool" then return list end
      for _, p in ipairs(picks()) do
        list[#list + 1] = case({ d(p[1]), p[2], d(p[3]) }, { accumulate = true })
      end
      return list
    end,
    masked_select = function(d)
      return {
        case { d { 3, 4 }, mask { 3, 4 } }, case { d { 3, 4 }, mask { 4 } },
        case { d { 3, 1 }, mask { 2, 1, 5 } }, case { d { 70 }, full({ 70 }, 1) },
        case { d { 3, 4 }, full({ 3, 4 }, 0) }, case { d {}, mask {} },
        case { d { 2, 3 }, mask {} }, case { d { 0, 3 }, mask { 0, 3 } },
      }
    end,
    masked_scatter = function(d)
      return {
        case { d { 3, 4 }, mask { 3, 4 }, d { 12 } },
        case { d { 3, 4 }, mask { 3, 1 }, d { 5, 3 } },
        case { d { 4 }, mask { 3, 4 }, d { 12 } },
        case { d { 70 }, full({ 70 }, 1), d { 70 } },
        case { d { 3, 4 }, full({ 3, 4 }, 0), d { 0 } },
        case { d {}, full({}, 1), d {} }, case { d { 0 }, mask { 0 }, d { 2 } },
      }
    end,
    nonzero = function(d)
      return {
        case { d({ 3, 4 }, 0, 1) }, case { d { 2, 3, 2 } }, case { d {} },
        case { d { 0, 3 } }, case { d { 70 } },
        case { array.new({ 2, 3 }, { 0, 1, 0, 0, 1, 1 }, d.dtype) },
      }
    end,
    scatter = function(d)
      return {
        case { d { 3, 4 }, 1, d.positions({ 2, 4 }, 3), d { 2, 4 } },
        case { d { 3, 4 }, 2, d.positions({ 3, 9 }, 4), d { 3, 9 } },
        case { d { 3, 4 }, 2, d.positions({ 2, 3 }, 4), d { 3, 5 } },
        case { d { 2, 3, 2 }, -2, d.positions({ 2, 4, 1 }, 3), d { 2, 4, 2 } },
        case { d { 3, 4 }, 2, d.positions({ 2, 3 }, 4), number(d) },
        case { d { 3, 4 }, 1, d.positions({ 2, 3 }, 3), d {} },
        case { d { 4 }, 1, d.positions({ 0 }, 4), d { 0 } },
      }
    end,
    scatter_reduce = function(d)
      local list = {}
      for _, kind in ipairs { "sum", "mean", "amax", "amin", "prod" } do
        local function one(x, dim, i, source)
          list[#list + 1] = case { x, dim, i, source, kind }
        end
        one(d { 3, 4 }, 1, d.positions({ 2, 4 }, 3), d { 2, 4 })
        one(d { 3, 4 }, -1, d.positions({ 2, 5 }, 4), d { 3, 6 })
        one(d { 4 }, 1, d.positions({ 6 }, 4), d { 6 })
        one(d { 4 }, 1, d.positions({ 0 }, 4), d { 0 })
      end
      return list
    end,
    index_copy = function(d)
      return {
        case { d { 3, 4 }, 1, d.positions({ 5 }, 3), d { 5, 4 } },
        case { d { 2, 3, 2 }, -2, d.positions({ 2 }, 3), d { 2, 2, 2 } },
        case { d { 3, 4 }, 2, d.positions({}, 4), d { 3, 1 } },
        case { d { 9 }, 1, d.positions({ 20 }, 9), d { 20 } },
        case { d { 3, 4 }, 1, d.positions({ 0 }, 3), d { 0, 4 } },
      }
    end,
    index_fill = function(d)
      return {
        case { d { 3, 4 }, 1, d.positions({ 2 }, 3), number(d) },
        case { d { 3, 4 }, -1, d.positions({ 5 }, 4), d {} },
        case { d { 2, 3 }, 2, d.positions({}, 3), d {} },
        case { d { 2, 3 }, 2, d.positions({ 0 }, 3), number(d) },
      }
    end,
    take = function(d)
      return {
        case { d { 3, 4 }, d.positions({ 2, 5 }, 12) },
        case { d { 3, 4 }, d.positions({}, 12) },
        case { d { 5 }, d.positions({ 0, 2 }, 5) },
      }
    end,
    take_along_dim = function(d)
      return {
        case { d { 3, 4 }, d.positions({ 3, 2 }, 4), 2 },
        case { d { 3, 4 }, d.positions({ 2, 1 }, 3), 1 },
        case { d { 1, 4 }, d.positions({ 3, 6 }, 4), -1 },
        case { d { 5 }, d.positions({ 0 }, 5), 1 },
      }
    end,
    put = function(d)
      local list = {
        case { d { 3, 4 }, d.positions({ 2, 5 }, 12), d { 2, 5 } },
        case { d { 3, 4 }, d.positions({ 6 }, 12), d { 2, 3 } },
        case { d { 5 }, d.positions({ 0 }, 5), d { 0 } },
      }
      if d.dtype ~= "bool" then
        list[#list + 1] = case({ d { 3, 4 }, d.positions({ 7 }, 12), d { 7 } },
          { accumulate = true })
      end
      return list
    end,
    embedding = function(d)
      local is_float = numbers.is_float[d.dtype] -- slopes: of the weight
      local weights = is_float and d.dtype or "f64"
      local function i(shape, n)
        if is_float then return d.positions(shape, n) end
        return d(shape, 1, n)
      end
      local function w(shape)
        return array.build(shape, function() return numbers.between(-2, 2) end,
          weights)
      end
      return {
        case { i({ 4 }, 5), w { 5, 3 } }, case { i({ 2, 3 }, 4), w { 4, 2 } },
        case { i({}, 3), w { 3, 2 } }, case { i({ 0 }, 3), w { 3, 2 } },
        case { i({ 6 }, 3), w { 3, 2 } },
      }
    end,
    segment_sum = function(d)
      return {
        case { d { 6, 2 }, d.positions({ 6 }, 4), 4 },
        case { d { 5 }, shuffled(5), 7 }, case { d { 0, 3 }, d.positions({ 0 }, 1), 2 },
      }
    end,
  }
end
