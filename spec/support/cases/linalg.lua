--- Linear algebra: what their rows are tried on (see cases.lua).
-- Matrices are well-conditioned: draws between -0.3 and 0.3 and a diagonal of
-- from, from + step, ..., which parts singular values and eigenvalues, too.
local array = require "spec.support.array"

return function(tools)
  local case = tools.case

  -- Calls visit(place, i, j) for every element of every matrix.
  local function each(a, visit)
    local rank = #a.shape
    for index, k in array.each(a.shape) do
      visit(k, index[rank - 1], index[rank])
    end
  end

  local function matrix(d, shape, from, step)
    local a = d(shape, -0.3, 0.3)
    each(a, function(k, i, j)
      if i == j then
        a.data[k] = a.data[k] + (from or 2) + (step or 1.5) * (i - 1)
      end
    end)
    a = tools.settle(a)
    a.regular = true
    return a
  end

  -- The lower triangle in both.
  local function symmetric(d, shape, from, step)
    local a, n = matrix(d, shape, from, step), shape[#shape]
    each(a, function(k, i, j)
      if j > i then a.data[k] = a.data[k - i * n - j + j * n + i] end
    end)
    return a
  end

  -- Above 16 rows a library computes, below it our own loops.
  local function squares(d, make)
    return {
      case { make(d, { 3, 3 }) }, case { make(d, { 2, 4, 4 }) },
      case { make(d, { 1, 1 }) }, case { make(d, { 2, 1, 2, 2 }) },
      case { make(d, { 0, 0 }) }, case { make(d, { 0, 3, 3 }) },
    }
  end

  local function on_squares(d)
    local list = squares(d, matrix)
    if not d.smooth then -- its determinant fits f16
      list[#list + 1] = case { matrix(d, { 19, 19 }, 1, 0.05) }
    end
    return list
  end

  local function any_shape(d)
    local list = squares(d, matrix)
    list[#list + 1] = case { matrix(d, { 4, 3 }) }
    list[#list + 1] = case { matrix(d, { 2, 2, 3 }) }
    list[#list + 1] = case { matrix(d, { 3, 0 }) }
    return list
  end

  local function each_option(name, values, list)
    local all = {}
    for _, c in ipairs(list) do
      for _, value in ipairs(values) do
        all[#all + 1] = case({ c.args[1] }, { [name] = value })
      end
    end
    return all
  end

  local function on_symmetric(d)
    return each_option("upper", { false, true }, squares(d, symmetric))
  end

  local function sides(d)
    return {
      { matrix(d, { 3, 3 }), d { 3 } }, { matrix(d, { 3, 3 }), d { 3, 2 } },
      { matrix(d, { 2, 3, 3 }), d { 3, 2 } }, { matrix(d, { 2, 2 }), d { 3, 2, 1 } },
      { matrix(d, { 2, 3, 3 }), d { 3 } },
      { matrix(d, { 2, 1, 2, 2 }), d { 3, 2, 2 } }, { matrix(d, { 0, 0 }), d { 0, 2 } },
      { matrix(d, { 2, 2 }), d { 2, 0 } },
    }
  end

  local function solutions(d)
    local list = {}
    for k, args in ipairs(sides(d)) do list[k] = case(args) end
    if not d.smooth then
      list[#list + 1] = case { matrix(d, { 19, 19 }), d { 19, 3 } }
    end
    return list
  end

  local function triangular(d)
    local list = {}
    for _, args in ipairs(sides(d)) do
      for _, upper in ipairs { false, true } do
        list[#list + 1] = case({ args[1], args[2] }, { upper = upper })
      end
    end
    local a = matrix(d, { 3, 3 })
    for _, upper in ipairs { false, true } do
      local options = { upper = upper, left = false }
      list[#list + 1] = case({ a, d { 2, 3 } }, options)
      list[#list + 1] = case({ matrix(d, { 2, 3, 3 }), d { 2, 3 } },
        { upper = upper, left = false, unit = true })
      list[#list + 1] = case({ a, d { 3, 2 } }, { upper = upper, unit = true })
      if not d.smooth then
        list[#list + 1] = case({ matrix(d, { 18, 18 }), d { 2, 18 } }, options)
      end
    end
    return list
  end

  -- Complete and full bases have a slope only where they are the reduced ones.
  local function factors(d, option, thin, full)
    local list = any_shape(d)
    for _, c in ipairs(any_shape(d)) do
      local shape = c.args[1].shape
      local is_square = shape[#shape] == shape[#shape - 1]
      if is_square or not d.smooth then
        list[#list + 1] = case({ c.args[1] }, { [option] = full })
      end
    end
    list[#list + 1] = case({ matrix(d, { 3, 3 }) }, { [option] = thin })
    return list
  end

  local orders = { "fro", "nuc", 2, -2, 1, -1, math.huge, -math.huge }

  local function with_orders(list, make, from)
    for k = from, #orders do list[#list + 1] = case { make(), orders[k] } end
    return list
  end

  local rows = {
    solve = solutions,
    inv = on_squares,
    det = on_squares,
    slogdet = on_squares,
    lu_factor = on_squares,
    cholesky = function(d)
      local list = on_symmetric(d)
      if not d.smooth then
        list[#list + 1] = case { symmetric(d, { 19, 19 }, 9) }
        list[#list + 1] = case({ symmetric(d, { 19, 19 }, 9) }, { upper = true })
      end
      return list
    end,
    cholesky_solve = function(d)
      return {
        case { d { 3, 2 }, matrix(d, { 3, 3 }) },
        case({ d { 3, 2 }, matrix(d, { 2, 3, 3 }) }, { upper = true }),
      }
    end,
    qr = function(d)
      local list = factors(d, "mode", "r", "complete")
      if not d.smooth then
        list[#list + 1] = case { matrix(d, { 21, 19 }) }
        list[#list + 1] = case({ matrix(d, { 19, 21 }) }, { mode = "complete" })
      end
      return list
    end,
    svd = function(d) return factors(d, "full", false, true) end,
    svdvals = any_shape,
    eigh = on_symmetric,
    eigvalsh = on_symmetric,
    triangular_solve = triangular,
    lstsq = function(d)
      return {
        case { matrix(d, { 4, 3 }), d { 4 } }, case { matrix(d, { 2, 3 }), d { 2, 2 } },
        case { matrix(d, { 2, 4, 3 }), d { 2, 4, 2 } },
        case { matrix(d, { 3, 3 }), d { 3, 1 } },
      }
    end,
    pinv = function(d)
      local list = any_shape(d)
      list[#list + 1] = case({ matrix(d, { 4, 3 }) }, { rcond = 0.01 })
      return list
    end,
    matrix_power = function(d)
      local list = {}
      for n = -2, 5 do list[#list + 1] = case { matrix(d, { 2, 2 }, 1, 0.3), n } end
      list[#list + 1] = case { matrix(d, { 2, 3, 3 }, 1, 0.2), 3 }
      list[#list + 1] = case { matrix(d, { 0, 0 }), 2 }
      return list
    end,
    matrix_exp = function(d)
      return {
        case { d { 3, 3 } }, case { d({ 2, 2, 2 }, -4, 4) }, case { d { 1, 1 } },
        case { d { 0, 0 } }, case { d { 0, 2, 2 } },
      }
    end,
    matrix_norm = function(d)
      local list = { case { d { 3, 4 } }, case({ d { 3, 2 } }, { keepdim = true }) }
      list[#list + 1] = case({ d { 2, 3, 2 }, 1 }, { keepdim = true })
      return with_orders(list, function() return matrix(d, { 2, 3, 4 }) end, 1)
    end,
    vector_norm = function(d)
      return {
        case { d { 3, 4 } }, case { d { 3, 4 }, 1 }, case { d { 3, 4 }, 2, 2 },
        case({ d { 2, 3 }, 2, 1 }, { keepdim = true }),
      }
    end,
    matrix_rank = function(d)
      return {
        case { d { 3, 4 } }, case { d { 2, 4, 3 } }, case({ d { 3, 3 } }, { tol = 1 }),
        case { d { 0, 3 } },
      }
    end,
    cond = function(d)
      local list = { case { matrix(d, { 3, 3 }) }, case { matrix(d, { 4, 3 }), -2 } }
      return with_orders(list, function() return matrix(d, { 2, 3, 3 }) end, 1)
    end,
  }

  local named = {}
  for name, make in pairs(rows) do named["linalg." .. name] = make end
  return named
end
