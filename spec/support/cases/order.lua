--- Sorting, counting, searching: what their rows are tried on (see cases.lua).
local array = require "spec.support.array"
local numbers = require "spec.support.numbers"

return function(tools)
  local case = tools.case

  -- Equal elements, both zeros and, where there are, NaN and the infinite.
  local function tied(d)
    local data = { 1, 0, 2, 1, 0, 0, 2, 1, 1, 2, 0, 1 }
    if numbers.is_float[d.dtype] then
      data = { 1.0, 0.0, 0 / 0, -math.huge, -0.0, 1.0, -0.0, 0 / 0, 0.0,
        math.huge, 1.0, -1.0 }
    elseif d.dtype == "bool" then
      data = { 1, 0, 1, 1, 0, 0, 1, 1, 1, 0, 0, 1 }
    end
    return array.new({ 2, 6 }, data, d.dtype)
  end

  -- The elements of a drawn array, or of a given one, each line in order; NaN
  -- comes last.
  local function in_order(d, shape, from)
    from = from or d(shape)
    local n, data = shape[#shape], {}
    for first = 1, #from.data, math.max(n, 1) do
      local line = table.move(from.data, first, first + n - 1, 1, {})
      table.sort(line, function(x, y)
        if x ~= x or y ~= y then return x == x and y ~= y end
        return x < y
      end)
      table.move(line, 1, n, first, data)
    end
    return array.new(shape, data, d.dtype)
  end

  -- Lines along each dim, of few elements and of many, of one and of none.
  local function sorts(d)
    local list = {
      case { d { 3, 4 } }, case { d { 3, 4 }, 1 }, case { d { 2, 3, 4 }, -2 },
      case({ d { 2, 3, 4 }, 3 }, { descending = true }), case { d {} },
      case({ d { 130 } }, { descending = true }), case { d { 60, 2 }, 1 },
      case { d { 0 } }, case { d { 0, 3 }, 2 }, case { d { 3, 0 }, 2 },
    }
    if d.smooth then return list end
    list[#list + 1] = case { tied(d) }
    list[#list + 1] = case({ tied(d) }, { descending = true })
    list[#list + 1] = case { tied(d), 1 }
    return list
  end

  local function medians(d)
    local list = {
      case { d { 3, 4 } }, case { d { 3, 5 }, 1 }, case { d { 3, 4 }, 2 },
      case({ d { 2, 3, 4 }, -2 }, { keepdim = true }), case { d {} },
      case { d {}, 1 }, case({ d { 2, 60 } }, { keepdim = true }),
      case { d { 0, 3 }, 2 },
    }
    if d.smooth then return list end
    list[#list + 1] = case { tied(d) }
    list[#list + 1] = case { tied(d), 1 }
    list[#list + 1] = case { tied(d), 2 }
    if numbers.is_float[d.dtype] then
      local nan = 0 / 0
      list[#list + 1] = case {
        array.new({ 2, 2 }, { nan, nan, 1.0, nan }, d.dtype), 2,
      }
    end
    return list
  end

  return {
    sort = sorts,
    argsort = sorts,
    topk = function(d)
      local list = {
        case { d { 3, 4 }, 2 }, case { d { 3, 4 }, 3, 1 },
        case({ d { 2, 70, 2 }, 3, -2 }, { largest = false }),
        case({ d { 5 }, 5 }, { sorted = false }), case { d { 4 }, 0 },
        case { d {}, 1 }, case { d { 0, 3 }, 2 }, case { d { 130 }, 70 },
      }
      if d.smooth then return list end
      list[#list + 1] = case { tied(d), 4 }
      list[#list + 1] = case({ tied(d), 4 }, { largest = false })
      return list
    end,
    kthvalue = function(d)
      local list = {
        case { d { 3, 4 }, 2 }, case { d { 3, 4 }, 3, 1 }, case { d {}, 1 },
        case({ d { 2, 70, 2 }, 30, -2 }, { keepdim = true }),
        case { d { 0, 3 }, 2 },
      }
      if d.smooth then return list end
      for k = 1, 6 do list[#list + 1] = case { tied(d), k } end
      return list
    end,
    median = medians,
    nanmedian = medians,
    mode = function(d)
      local list = {
        case { d { 3, 4 }, 2 }, case { d { 3, 4 }, 1 }, case { d {}, 1 },
        case({ d { 2, 3, 4 }, -2 }, { keepdim = true }), case { d { 0, 3 }, 2 },
      }
      if d.smooth then return list end
      list[#list + 1] = case { tied(d), 2 }
      list[#list + 1] = case { tied(d), 1 }
      list[#list + 1] = case({ d { 60, 2 }, 1 }, { keepdim = true })
      return list
    end,
    quantile = function(d)
      -- Whole parts have no slope: a vector of them is no variable.
      local ends = array.new({ 2 }, { 0, 1 }, "i64")
      local list = {
        case { d { 3, 4 }, 0.4 }, case { d { 3, 5 }, 0.3, 1 },
        case({ d { 2, 3, 4 }, 0.9, -2 }, { keepdim = true }),
        case { d {}, 0.5 }, case { d {}, 0.5, 1 }, case { d { 0, 3 }, 0.5, 2 },
        case({ d { 3, 4 }, ends, 2 }, { keepdim = true }),
        case { d { 3, 4 }, ends, 1 }, case { d { 3, 4 }, ends },
      }
      for _, word in ipairs { "linear", "lower", "higher", "nearest",
        "midpoint" } do
        list[#list + 1] = case({ d { 2, 6 }, 0.3, 2 },
          { interpolation = word })
      end
      if d.smooth then return list end
      local parts = array.new({ 4 }, { 0.1, 0.5, 0.8, 1.0 }, "f64")
      list[#list + 1] = case { tied(d), parts, 2 }
      list[#list + 1] = case({ tied(d), parts, 1 }, { keepdim = true })
      local far = array.new({ 5 },
        { math.huge, -math.huge, math.huge, 1.0, -math.huge }, d.dtype)
      list[#list + 1] = case { far, parts }
      list[#list + 1] = case({ d { 7 }, parts }, { interpolation = "nearest" })
      return list
    end,
    unique = function(d)
      local all = { inverse = true, counts = true }
      return {
        case { tied(d) }, case({ tied(d) }, all),
        case({ tied(d) }, { counts = true }),
        case({ tied(d) }, { inverse = true, sorted = false }),
        case({ d { 40, 3 } }, all), case({ d {} }, all),
        case({ d { 0, 2 } }, all), case({ d { 1 } }, all),
      }
    end,
    searchsorted = function(d)
      local line = in_order(d, { 7 })
      return {
        case { line, d { 2, 5 } }, case({ line, d { 9 } }, { right = true }),
        case { line, line }, case({ line, line }, { right = true }),
        case { in_order(d, { 2, 5 }), d { 2, 3 } }, case { line, 1 },
        case { d { 0 }, d { 3 } }, case { line, d { 0, 2 } },
        case { in_order(d, { 2, 0 }), d { 2, 3 } }, case { line, d {} },
        case { array.new({ 12 }, in_order(d, { 12 }, tied(d)).data, d.dtype),
          tied(d) },
      }
    end,
    bucketize = function(d)
      local line = in_order(d, { 7 })
      return {
        case { d { 2, 5 }, line }, case({ line, line }, { right = true }),
        case { tied(d), line }, case { d {}, line }, case { d { 3 }, d { 0 } },
      }
    end,
    isin = function(d)
      return {
        case { tied(d), d { 3 } }, case { tied(d), tied(d) },
        case { d { 3, 4 }, d { 0 } }, case { d {}, d { 2, 2 } },
        case { d { 0 }, d { 2 } },
      }
    end,
    bincount = function(d)
      local function labels(n)
        if numbers.is_float[d.dtype] then return d.positions({ n }, 6) end
        return d({ n }, 1, 6)
      end
      local function weights(n, dtype)
        local data = {}
        for k = 1, n do
          data[k] = dtype == "f64" and numbers.between(-2, 2)
            or numbers.whole(-3, 3)
        end
        return array.new({ n }, data, dtype)
      end
      return {
        case { labels(20) }, case({ labels(5) }, { minlength = 9 }),
        case { labels(0) }, case({ labels(0) }, { minlength = 2 }),
        case({ labels(20) }, { weights = weights(20, "f64") }),
        case({ labels(9) }, { weights = weights(9, "i32"), minlength = 8 }),
      }
    end,
    histc = function(d)
      return {
        case { d { 5, 8 }, 6 }, case({ d { 40 }, 4 }, { min = -1, max = 1 }),
        case({ tied(d), 4 }, { min = -1, max = 1 }), case { d { 1 }, 3 },
        case({ d { 9 }, 5 }, { min = 0 }), case({ d { 9 }, 5 }, { max = 0 }),
        case { d { 0 }, 3 }, case { d {}, 1 },
        case({ d { 4 }, 2 }, { min = 1, max = 1 }),
      }
    end,
  }
end
