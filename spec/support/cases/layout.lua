--- Where elements lie: what their rows are tried on (see cases.lua).
return function(tools)
  local case = tools.case

  local function windows(d)
    return {
      case({ 5 }, { dtype = d.dtype }),
      case({ 6 }, { dtype = d.dtype, periodic = false }),
      case({ 1 }, { dtype = d.dtype }), case { 0 },
      case({ 1 }, { dtype = d.dtype, periodic = false }),
    }
  end

  local function triangles(d)
    return {
      case { d { 3, 4 } }, case { d { 2, 3, 3 }, 1 }, case { d { 4, 2 }, -2 },
      case { d { 2, 2 }, 9 }, case { d { 0, 3 } },
    }
  end

  -- Widths that every mode can make of {3,4}, and a fold can take off {7,8}.
  local function bordered(make)
    local list = {}
    for _, mode in ipairs { "constant", "reflect", "replicate", "circular" } do
      list[#list + 1] = make({ 1, 2 }, mode)
      list[#list + 1] = make({ 0, 1, 2, 1 }, mode)
      list[#list + 1] = make({ 3, 3, 2, 2 }, mode)
    end
    return list
  end

  return {
    tril = triangles,
    triu = triangles,
    flip = function(d)
      return {
        case { d { 2, 3 } }, case { d { 2, 37 }, 2 }, case { d { 3, 2, 2 }, { 1, -1 } },
        case { d { 0, 2 }, 1 }, case { d {} }, case { d { 41 }, 1 },
      }
    end,
    rot90 = function(d)
      return {
        case { d { 2, 3 } }, case { d { 2, 3 }, -1 }, case { d { 2, 3 }, 2 },
        case { d { 2, 3, 2 }, 1, { 3, 1 } }, case { d { 2, 2 }, 4 },
      }
    end,
    roll = function(d)
      return {
        case { d { 2, 5 }, 2 }, case { d { 2, 5 }, -1, 2 },
        case { d { 2, 3, 4 }, { 1, 7 }, { 1, -1 } }, case { d { 0, 2 }, 1, 1 },
        case { d { 3 }, 0, 1 },
      }
    end,
    pad = function(d)
      local list = bordered(function(widths, mode)
        return case({ d { 3, 4 }, widths }, { mode = mode })
      end)
      list[#list + 1] = case { d { 3, 4 }, { -1, 2, 1, -2 } }
      list[#list + 1] = case({ d { 2, 3 }, { 1, 0 } }, { value = 1 })
      list[#list + 1] = case { d { 2, 3 }, { 4, -5 } }
      list[#list + 1] = case { d { 2, 3 }, { -4, 3, 1, 1 } }
      list[#list + 1] = case { d { 0, 2 }, { 1, 1, 1, 0 } }
      list[#list + 1] = case { d {}, {} }
      return list
    end,
    pad_fold = function(d)
      local list = bordered(function(widths, mode)
        return case({ d { 7, 10 }, widths }, { mode = mode })
      end)
      list[#list + 1] = case { d { 3, 4 }, { -1, 2 } }
      return list
    end,
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
    rearrange = function(d)
      return {
        case({ d { 2, 6, 3 }, "b (h p) w -> b h (w p)" }, { p = 2 }),
        case { d { 2, 3 }, "a b -> b a" }, case { d { 2, 3, 4 }, "... c -> c ..." },
        case { d { 2, 3, 4 }, "a ... -> (... a)" }, case { d { 1, 3 }, "1 a -> a ()" },
        case({ d { 4 }, "(x1 y_2)->y_2 x1 1" }, { x1 = 2 }), case { d {}, "-> 1" },
        case { d { 0, 3 }, "a b -> (a b)" }, case { d { 3 }, "... a -> a ..." },
        case({ d { 2, 2, 4 }, "a b (c d) -> (b d) (a c)" }, { c = 2, d = 2 }),
      }
    end,
    reduce = function(d)
      local list = {
        case { d { 2, 4, 6 }, "c (h 2) (w 2) -> c h w", "sum" },
        case({ d { 2, 6 }, "a (b c) -> c", "sum" }, { c = 3 }),
        case { d { 2, 3 }, "a b -> b a", "sum" }, case { d { 2, 3 }, "... -> ", "sum" },
        case { d { 2, 3, 2 }, "a ... -> ...", "max" },
        case { d { 3, 4 }, "a (b 2) -> a b", "min" }, case { d { 2, 3 }, "a b -> 1 b", "sum" },
        case { d { 3, 2 }, "a b -> a", "mean" },
      }
      if d.dtype ~= "f64" then -- in which slopes are taken, and these have none
        list[#list + 1] = case { d { 3, 2 }, "a b -> b", "any" }
        list[#list + 1] = case { d { 3, 2 }, "a b -> b", "all" }
      end
      return list
    end,
    einrepeat = function(d)
      return {
        case({ d { 2, 3 }, "h w -> h w c" }, { c = 2 }),
        case { d { 2, 3 }, "h w -> (h 2) (2 w)" }, case { d { 2, 3 }, "h w -> w h" },
        case({ d { 3 }, "... -> n ..." }, { n = 0 }), case { d {}, "-> 3" },
        case({ d { 4 }, "(a b) -> b r a" }, { b = 2, r = 2 }),
      }
    end,
    hstack = function(d)
      return {
        case { { d { 2, 3 }, d { 2, 1 } } }, case { { d { 2 }, d { 3 } } },
        case { { d {}, d { 2 } } }, case { { d { 2, 1, 2 }, d { 2, 2, 2 } } },
      }
    end,
    vstack = function(d)
      return {
        case { { d { 2, 3 }, d { 3 } } }, case { { d { 2 }, d { 2 } } },
        case { { d {}, d {} } },
      }
    end,
    dstack = function(d)
      return {
        case { { d { 2, 3 }, d { 2, 3, 2 } } }, case { { d { 2 }, d { 2 } } },
        case { { d {}, d {} } },
      }
    end,
    block_diag = function(d)
      return {
        case { { d { 2, 3 }, d { 1, 2 } } }, case { { d { 2 }, d {}, d { 2, 1 } } },
        case { { d { 0, 2 }, d { 2, 1 } } },
      }
    end,
    cartesian_prod = function(d)
      return {
        case { { d { 2 }, d { 3 } } }, case { { d { 2 }, d { 1 }, d { 3 } } },
        case { { d { 3 } } }, case { { d { 2 }, d { 0 } } },
      }
    end,
    fliplr = function(d) return { case { d { 2, 3 } }, case { d { 2, 2, 2 } } } end,
    flipud = function(d) return { case { d { 3 } }, case { d { 2, 3 } } } end,
    logspace = function(d)
      local options = { dtype = d.dtype }
      return {
        case({ -1, 2, 7 }, options), case({ 0, 1, 1 }, options),
        case({ 1, 2, 0 }, options), case({ 0, 3, 4 }, { base = 2 }),
      }
    end,
    hann_window = windows,
    hamming_window = windows,
    tril_indices = function()
      return { case { 3 }, case { 2, 4, 1 }, case { 4, 2, -1 }, case { 2, 2, -9 } }
    end,
    triu_indices = function()
      return { case { 3 }, case { 2, 4, 1 }, case { 4, 2, -1 }, case { 2, 2, -9 } }
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
