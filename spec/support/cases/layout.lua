--- Where elements lie: what their rows are tried on (see cases.lua).
return function(tools)
  local case = tools.case
  return {
    unfold = function(d)
      return {
        case { d { 2, 7 }, 2, 3, 2 }, case { d { 5, 2 }, 1, 2 },
        case { d { 4 }, -1, 4, 9 }, case { d { 6 }, 1, 2, 3 },
      }
    end,
    unfold_add = function(d)
      return {
        case { d { 2, 3, 3 }, { 2, 7 }, 2, 3, 2 },
        case { d { 4, 2, 2 }, { 5, 2 }, 1, 2 }, case { d { 2, 2 }, { 6 }, -1, 2, 3 },
        case { d { 0, 2, 2 }, { 0, 3 }, 2, 2 },
      }
    end,
    as_strided = function(d)
      return {
        case { d { 3, 4 }, { 2, 2 }, { 5, 1 }, 1 }, case { d { 6 }, { 4, 3 }, { 1, 1 } },
        case { d { 4 }, { 3, 2 }, { 0, 2 } }, case { d { 4 }, { 0, 2 }, { 9, 1 } },
        case { d { 5 }, {}, {}, 4 },
      }
    end,
    as_strided_add = function(d)
      return {
        case { d { 2, 2 }, { 3, 4 }, { 5, 1 }, 1 },
        case { d { 4, 3 }, { 6 }, { 1, 1 } }, case { d { 3, 2 }, { 4 }, { 0, 2 } },
        case { d { 3, 3, 2 }, { 2, 4 }, { 1, 2, 1 } }, case { d {}, { 5 }, {}, 4 },
      }
    end,
    unflatten = function(d)
      return {
        case { d { 2, 6 }, 2, { 3, -1 } }, case { d { 4 }, -1, { 2, 1, 2 } },
        case { d { 0, 2 }, 1, { 0, 3 } },
      }
    end,
    expand_as = function(d)
      return { case { d { 3, 1 }, d { 2, 3, 2 } }, case { d {}, d { 2 } } }
    end,
    movedim = function(d)
      return {
        case { d { 2, 3, 4 }, 1, 3 }, case { d { 2, 3, 4 }, { 1, 2 }, { -1, 1 } },
        case { d { 2, 3 }, -1, 1 },
      }
    end,
    diag = function(d)
      return {
        case { d { 3 } }, case { d { 2 }, 1 }, case { d { 3, 4 }, -1 },
        case { d { 3, 2 } },
      }
    end,
    trace = function(d) return { case { d { 3, 4 } }, case { d { 0, 2 } } } end,
    tile = function(d)
      return {
        case { d { 2, 3 }, { 2, 2 } }, case { d { 3 }, { 2, 1, 3 } },
        case { d { 2 }, { 0 } }, case { d {}, { 3 } }, case { d { 2, 2 }, { 1, 1 } },
      }
    end,
    repeat_interleave = function(d)
      return {
        case { d { 2, 3 }, 2 }, case { d { 2, 3 }, 3, -1 }, case { d { 2, 2 }, 0, 1 },
        case { d { 2, 3 }, tools.labels { 2, 0, 1 }, 2 },
        case { d { 2, 2 }, tools.labels { 1, 2, 0, 1 } },
        case { d { 3 }, tools.labels { 2 }, 1 },
      }
    end,
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
