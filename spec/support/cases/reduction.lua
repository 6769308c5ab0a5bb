--- Folds and scans: what their rows are tried on (see cases.lua).
return function(tools)
  local case, folds = tools.case, tools.folds
  return {
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
