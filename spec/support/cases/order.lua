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
  }
end
