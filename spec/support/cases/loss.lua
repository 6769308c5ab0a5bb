--- Losses: what their rows are tried on (see cases.lua).
local array = require "spec.support.array"

return function(tools)
  local case = tools.case

  -- Pairs of one shape, self and target between low and high.
  local function pairs_of(d, low, high, ...)
    local list = {
      case { d({ 2, 3 }, low, high), d({ 2, 3 }, low, high) },
      case({ d({ 4 }, low, high), d({ 4 }, low, high) }, { reduction = "sum" }),
      case({ d({ 2, 3 }, low, high), d({ 2, 3 }, low, high) },
        { reduction = "none" }),
      case { d({}, low, high), d({}, low, high) },
    }
    for _, options in ipairs { ... } do
      list[#list + 1] =
        case({ d({ 3, 4 }, low, high), d({ 3, 4 }, low, high) }, options)
    end
    return list
  end

  local function labels(shape, list)
    return array.new(shape, list, "i64")
  end

  local function classes(d)
    return {
      case { d { 3, 4 }, labels({ 3 }, { 1, 4, 2 }) },
      case { d { 4 }, labels({}, { 2 }) },
      case { d { 2, 3, 2 }, labels({ 2, 2 }, { 1, 3, 3, 2 }) },
      case({ d { 2, 3, 2, 2 }, labels({ 2, 2, 2 }, { 1, 3, 3, 2, 2, 2, 1, 3 }) },
        { reduction = "none" }),
      case({ d { 3, 4 }, labels({ 3 }, { 1, -100, 2 }) }, { reduction = "sum" }),
      case({ d { 3, 4 }, labels({ 3 }, { 3, 3, 2 }) },
        { reduction = "none", ignore_index = 3 }),
      case({ d { 3, 4 }, labels({ 3 }, { 1, -100, 4 }) },
        { weight = d({ 4 }, 0.5, 2) }),
      case({ d { 2, 3, 2 }, labels({ 2, 2 }, { 1, 3, 3, 2 }) },
        { weight = d({ 3 }, 0.5, 2), reduction = "sum" }),
    }
  end

  local function entropies(d)
    local list = classes(d)
    for _, c in ipairs {
      case({ d { 3, 4 }, labels({ 3 }, { 1, -100, 4 }) },
        { label_smoothing = 0.25 }),
      case({ d { 2, 3, 2 }, labels({ 2, 2 }, { 1, 3, 3, 2 }) },
        { label_smoothing = 0.25, weight = d({ 3 }, 0.5, 2) }),
      case { d { 3, 4 }, d({ 3, 4 }, 0, 1) },
      case({ d { 2, 3, 2 }, d({ 2, 3, 2 }, 0, 1) },
        { label_smoothing = 0.5, weight = d({ 3 }, 0.5, 2) }),
      case({ d { 4 }, d({ 4 }, 0, 1) }, { reduction = "none" }),
    } do list[#list + 1] = c end
    return list
  end
  return {
    cross_entropy = entropies,
    nll_loss = classes,
    mse_loss = function(d) return pairs_of(d, -2, 2) end,
    l1_loss = function(d) return pairs_of(d, -2, 2) end,
    huber_loss = function(d) return pairs_of(d, -2, 2, { delta = 0.5 }) end,
    smooth_l1_loss = function(d)
      return pairs_of(d, -2, 2, { beta = 0.5 }, { beta = 0 })
    end,
    bce_loss = function(d)
      return pairs_of(d, 0.1, 0.9, { weight = d({ 4 }, 0.5, 2) })
    end,
    bce_with_logits = function(d)
      return pairs_of(d, 0.1, 0.9,
        { weight = d({ 3, 1 }, 0.5, 2), pos_weight = d({ 4 }, 0.5, 2) },
        { pos_weight = d({}, 0.5, 2), reduction = "none" })
    end,
    kl_div = function(d)
      return pairs_of(d, 0.1, 0.9, { reduction = "batchmean" },
        { log_target = true })
    end,
  }
end
