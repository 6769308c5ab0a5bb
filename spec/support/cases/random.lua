--- Draws: what their rows are tried on (see cases.lua).
return function(tools)
  local case = tools.case
  return {
    bernoulli = function(d)
      return {
        case { d({ 4, 5 }, 0, 1) }, case { d { 2, 3 }, 0.5 },
        case { d({}, 0, 1) }, case { d({ 0, 3 }, 0, 1) },
      }
    end,
    random = function(d)
      return { case { d { 2, 3 }, 1, 9 }, case { d { 0 }, 0, 0 } }
    end,
    multinomial = function(d)
      return {
        case({ d({ 5 }, 0.1, 3), 7 }, { replacement = true }),
        case { d({ 3, 4 }, 0.1, 3), 2 }, case { d({ 2, 3 }, 0.1, 3), 3 },
        case { d({ 0, 3 }, 0.1, 3), 1 }, case { d({ 3 }, 0.1, 1), 0 },
      }
    end,
  }
end
