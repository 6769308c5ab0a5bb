--- Interpolation, losses, attention: what their rows are tried on (see cases.lua).
local array = require "spec.support.array"

return function(tools)
  local case = tools.case

  -- Places inside and outside the image, none on a border between pixels.
  local function grid(d, shape) return d(shape, -1.37, 1.41) end

  local samplings = {
    {}, { align_corners = true }, { mode = "bicubic" },
    { mode = "bicubic", padding_mode = "border", align_corners = true },
    { padding_mode = "border" }, { padding_mode = "reflection" },
    { padding_mode = "reflection", align_corners = true },
    { mode = "bicubic", padding_mode = "reflection" },
    { mode = "nearest" }, { mode = "nearest", padding_mode = "border" },
  }

  local rasters = {
    { mode = "nearest" }, { mode = "linear" }, { mode = "cubic" },
    { mode = "area" }, { mode = "linear", align_corners = true },
    { mode = "cubic", align_corners = true },
  }

  local function with(options, more)
    local all = {}
    for k, v in pairs(options) do all[k] = v end
    for k, v in pairs(more) do all[k] = v end
    return all
  end

  return {
    grid_sample = function(d)
      local list = {}
      for _, options in ipairs(samplings) do
        list[#list + 1] = case({ d { 2, 2, 3, 4 }, grid(d, { 2, 2, 3, 2 }) },
          options)
      end
      list[#list + 1] = case { d { 1, 2, 2, 3, 2 }, grid(d, { 1, 2, 1, 2, 3 }) }
      list[#list + 1] = case { d { 1, 1, 1, 5 }, grid(d, { 1, 1, 4, 2 }) }
      list[#list + 1] = case { d { 0, 2, 3, 3 }, grid(d, { 0, 2, 2, 2 }) }
      list[#list + 1] = case { d { 1, 2, 3, 3 }, grid(d, { 1, 0, 2, 2 }) }
      return list
    end,
    grid_sample_add = function(d)
      local list = {}
      for _, options in ipairs(samplings) do
        list[#list + 1] = case({ d { 2, 2, 2, 3 }, grid(d, { 2, 2, 3, 2 }),
          { 2, 2, 3, 4 } }, options)
      end
      list[#list + 1] = case { d { 1, 2, 2, 1, 2 },
        grid(d, { 1, 2, 1, 2, 3 }), { 1, 2, 2, 3, 2 } }
      list[#list + 1] = case { d { 1, 2, 0, 2 }, grid(d, { 1, 0, 2, 2 }),
        { 1, 2, 3, 3 } }
      return list
    end,
    interpolate = function(d)
      local list = {}
      for _, options in ipairs(rasters) do
        list[#list + 1] = case({ d { 2, 1, 3, 4 } },
          with(options, { size = { 5, 2 } }))
        list[#list + 1] = case({ d { 1, 2, 5 } }, with(options, { scale = 1.5 }))
      end
      list[#list + 1] = case({ d { 1, 1, 2, 3, 2 } },
        { size = 4, mode = "linear" })
      list[#list + 1] = case({ d { 1, 2, 3, 3 } }, { size = 3 })
      list[#list + 1] = case({ d { 0, 2, 3 } }, { size = 2 })
      return list
    end,
    interpolate_add = function(d)
      local list = {}
      for _, options in ipairs(rasters) do
        list[#list + 1] = case({ d { 2, 1, 5, 2 }, { 2, 1, 3, 4 } }, options)
        list[#list + 1] = case({ d { 1, 2, 7 }, { 1, 2, 5 } }, options)
      end
      list[#list + 1] = case { d { 1, 2, 3 }, { 1, 2, 3 } }
      return list
    end,
    affine_grid = function(d)
      return {
        case { d { 2, 2, 3 }, { 2, 1, 3, 4 } },
        case({ d { 1, 2, 3 }, { 1, 1, 2, 3 } }, { align_corners = true }),
        case { d { 1, 3, 4 }, { 1, 2, 2, 1, 3 } },
        case({ d { 1, 2, 3 }, { 1, 1, 1, 1 } }, { align_corners = true }),
      }
    end,
    attention = function(d)
      local function seen(list, shape)
        return array.new(shape, list, "bool")
      end
      return {
        case { d { 3, 4 }, d { 5, 4 }, d { 5, 2 } },
        case({ d { 2, 3, 4 }, d { 2, 3, 4 }, d { 2, 3, 4 } }, { causal = true }),
        case({ d { 2, 2, 3 }, d { 2, 3, 3 }, d { 2, 3, 2 } },
          { mask = seen({ 1, 0, 1, 0, 0, 0 }, { 2, 3 }), scale = 0.5 }),
        case({ d { 2, 3 }, d { 2, 3 }, d { 2, 1 } },
          { mask = d { 2, 2 }, causal = true }),
        case { d { 1, 2, 2, 3 }, d { 1, 2, 4, 3 }, d { 1, 2, 4, 3 } },
        case { d { 0, 3 }, d { 2, 3 }, d { 2, 3 } },
      }
    end,
  }
end
