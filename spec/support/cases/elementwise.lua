--- Rows of several pointwise passes: what they are tried on (see cases.lua).
local array = require "spec.support.array"
local numbers = require "spec.support.numbers"

return function(tools)
  local case = tools.case

  -- Drawn numbers with infinities and NaN among them, where there are any.
  local function holed(d, shape)
    local a = d(shape)
    if not numbers.is_float[a.dtype] then return a end
    for k, value in ipairs { 0 / 0, math.huge, -math.huge } do
      a.data[k] = value
    end
    return a
  end

  -- a, moved a little here and there.
  local function close(a)
    local data = {}
    for k, value in ipairs(a.data) do
      if not numbers.is_float[a.dtype] then
        data[k] = k % 3 == 0 and 1 or value
      else
        data[k] = value * (1 + (k % 3) * 0.05)
      end
    end
    return array.of(array.tensor(array.new(a.shape, data, a.dtype)))
  end

  local function pairs_of(d, options)
    local a = holed(d, { 4, 5 })
    return case({ a, close(a) }, options)
  end

  local function sums(d)
    local third = numbers.is_float[d.dtype] and 0.5 or 3
    return {
      case { d { 2, 3 }, d { 2, 3 }, d({ 2, 3 }, 1, 2) },
      case({ d { 2, 3 }, d { 3 }, d({ 2, 1 }, 1, 2) }, { value = third }),
      case { d { 3 }, d { 2, 3 }, third }, case { d {}, d {}, d({}, 1, 2) },
      case { d { 0, 3 }, d { 3 }, d({}, 1, 2) },
    }
  end

  return {
    nan_to_num = function(d)
      return {
        case { d { 2, 3 } }, case { holed(d, { 7 }) }, case { d {} },
        case({ holed(d, { 2, 3 }) }, { nan = 1.5, posinf = 7 }),
        case({ holed(d, { 3 }) }, { neginf = -3, nan = -1 }),
      }
    end,
    addcmul = sums,
    addcdiv = sums,
    isclose = function(d)
      return {
        pairs_of(d), pairs_of(d, { equal_nan = true }),
        pairs_of(d, { rtol = 0.07 }), pairs_of(d, { rtol = 0, atol = 0.1 }),
        case { d { 2, 3 }, 1 }, case { d { 2, 3 }, d { 3 } },
      }
    end,
  }
end
