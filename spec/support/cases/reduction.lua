--- Folds and scans: what their rows are tried on (see cases.lua).
return function(tools)
  local case, folds = tools.case, tools.folds

  local function with_corrections(d)
    local list = folds(d)
    list[#list + 1] = case({ d { 3, 4 }, 2 }, { correction = 0 })
    list[#list + 1] = case({ d { 2, 3, 4 }, { 1, 3 } }, { correction = 2 })
    list[#list + 1] = case({ d { 3, 2 }, 2 }, { correction = 2 })
    return list
  end

  -- Every order; over all, over one axis, over two; nothing to reduce.
  local function norms(d)
    local list = {}
    for _, p in ipairs { 2, 1, 0, math.huge, -math.huge, 3, 1.5, 0.5, -1, -2 } do
      list[#list + 1] = case { d { 3, 4 }, p }
      list[#list + 1] = case { d { 2, 3, 4 }, p, 2 }
      list[#list + 1] = case({ d { 2, 3, 4 }, p, { 1, -1 } }, { keepdim = true })
      list[#list + 1] = case { d { 70 }, p }
      list[#list + 1] = case { d {}, p }
      if p ~= -math.huge then list[#list + 1] = case { d { 2, 0 }, p, 2 } end
    end
    list[#list + 1] = case { d { 3, 4 } }
    return list
  end

  local function scans(d)
    return {
      case { d { 7 }, 1 }, case { d { 3, 5 }, 1 }, case { d { 3, 5 }, -1 },
      case { d { 2, 3, 4 }, 2 }, case { d {}, 1 }, case { d { 0, 3 }, 1 },
      case { d { 3, 0 }, 1 }, case { d { 2, 35 }, 2 }, case { d { 19, 17 }, 1 },
      case { d { 3, 11, 10 }, 2 },
    }
  end

  local function both_ways(d)
    local list = scans(d)
    list[#list + 1] = case({ d { 3, 5 }, 1 }, { reverse = true })
    list[#list + 1] = case({ d { 3, 19 }, 2 }, { reverse = true })
    list[#list + 1] = case({ d { 2, 5, 9 }, 2 }, { reverse = true })
    list[#list + 1] = case({ d {}, 1 }, { reverse = true })
    return list
  end

  return {
    prod = folds,
    var = with_corrections,
    std = with_corrections,
    var_mean = with_corrections,
    std_mean = with_corrections,
    norm = norms,
    normalize = function(d)
      return {
        case { d { 3, 4 }, 2 }, case { d { 3, 4 }, -2 }, case { d {}, 1 },
        case({ d { 2, 3, 4 }, 2 }, { p = 1 }),
        case({ d { 3, 4 }, 1 }, { p = 3, eps = 2 }), case { d { 0, 3 }, 2 },
      }
    end,
    cumsum = both_ways,
    cumprod = both_ways,
    cummax = scans,
    cummin = scans,
    logcumsumexp = scans,
    nansum = folds,
    nanmean = folds,
    aminmax = tools.extremes,
    diff = function(d)
      return {
        case { d { 7 } }, case { d { 3, 5 } }, case({ d { 3, 5 } }, { dim = 1 }),
        case({ d { 2, 6 } }, { n = 3 }), case({ d { 2, 3 } }, { n = 0 }),
        case({ d { 2, 3 } }, { n = 5 }), case({ d { 2, 5, 3 } }, { dim = -2, n = 2 }),
        case { d { 0 } }, case { d { 2, 1 } },
      }
    end,
  }
end
