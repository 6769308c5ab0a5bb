--- Where elements lie: what their rows are tried on (see cases.lua).
return function(tools)
  local case = tools.case
  return {
    split = function(d)
      return {
        case { d { 2, 7 }, 3, 2 }, case { d { 5, 2 }, { 1, 0, 4 } },
        case { d { 4 }, 9, -1 }, case { d { 0, 2 }, 3 },
        case { d { 13 }, { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 } },
      }
    end,
    chunk = function(d)
      return {
        case { d { 2, 7 }, 3, 2 }, case { d { 5, 2 }, 9 }, case { d { 4 }, 2, -1 },
        case { d { 0, 2 }, 3 },
      }
    end,
    unbind = function(d)
      return { case { d { 2, 3 } }, case { d { 2, 3 }, -1 }, case { d { 0, 2 } } }
    end,
    meshgrid = function(d)
      return {
        case { { d { 2 }, d { 3 } } },
        case({ { d { 2 }, d { 3 }, d { 2 } } }, { indexing = "xy" }),
        case({ { d { 3 } } }, { indexing = "xy" }), case { { d {}, d { 2 } } },
        case { { d { 2 }, d { 0 } } },
      }
    end,
  }
end
