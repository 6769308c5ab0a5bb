--- Images between pixels, in plain Lua: each element is the sum over all
-- pixels of a kernel of its distance, which is slow and plainly right.
local array = require "spec.support.array"

-- Weight of a pixel at distance d, by mode.
local kernels = {
  nearest = function(d) return d == 0 and 1 or 0 end,
  bilinear = function(d) return math.max(0, 1 - math.abs(d)) end,
  bicubic = function(d) -- Keys 1981, a = -3/4
    local a = -0.75
    d = math.abs(d)
    if d <= 1 then return ((a + 2) * d - (a + 3)) * d * d + 1 end
    if d < 2 then return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a end
    return 0
  end,
}
kernels.linear, kernels.cubic = kernels.bilinear, kernels.bicubic

-- The pixel that stands at i, however far outside; nil: none.
local outside = {
  zeros = function(i, n) return i >= 0 and i < n and i or nil end,
  border = function(i, n) return math.max(0, math.min(n - 1, i)) end,
  reflection = function(i, n, corners)
    if n == 1 then return 0 end
    while i < 0 or i >= n do -- fold at one border after the other
      if i < 0 then
        i = corners and -i or -1 - i
      else
        i = corners and 2 * (n - 1) - i or 2 * n - 1 - i
      end
    end
    return i
  end,
}

-- Halves go to the even neighbour.
local function nearest(p)
  local low = math.floor(p)
  if p - low ~= 0.5 then return math.floor(p + 0.5) end
  return low % 2 == 0 and low or low + 1
end

-- The weights of one axis: pixel -> weight.
local function axis_weights(place, n, mode, pad, corners)
  local weights = {}
  if mode == "nearest" then place = nearest(place) end
  for i = math.floor(place) - 2, math.floor(place) + 3 do
    local w = kernels[mode](place - i)
    local at = outside[pad](i, n, corners)
    if w ~= 0 and at then weights[at] = (weights[at] or 0) + w end
  end
  return weights
end

local function place_of(u, n, corners)
  if u ~= u then u = -1 end
  if corners then return (u + 1) / 2 * (n - 1) end
  return ((u + 1) * n - 1) / 2
end

-- f(offset in the plane, weight) for every pixel that a point reads.
local function each_tap(per_axis, sizes, f, axis, at, weight)
  axis, at, weight = axis or 1, at or 0, weight or 1
  if axis > #sizes then return f(at + 1, weight) end
  for pixel, w in pairs(per_axis[axis]) do
    each_tap(per_axis, sizes, f, axis + 1, at * sizes[axis] + pixel, weight * w)
  end
end

local function count(sizes)
  local n = 1
  for _, size in ipairs(sizes) do n = n * size end
  return n
end

-- f(place in x, place in y, weight) for all that y reads of x.
local function each_pair(image, grid, options, f)
  local n, channels = image[1], image[2]
  local sizes = table.move(image, 3, #image, 1, {})
  local axes, area = #sizes, count(sizes)
  local points = #grid.data // (axes * math.max(n, 1))
  for b = 0, n - 1 do
    for p = 0, points - 1 do
      local per_axis = {}
      for k, size in ipairs(sizes) do
        local u = grid.data[(b * points + p) * axes + (axes - k) + 1]
        per_axis[k] = axis_weights(place_of(u, size, options.align_corners),
          size, options.mode or "bilinear", options.padding_mode or "zeros",
          options.align_corners)
      end
      for c = 0, channels - 1 do
        local plane = b * channels + c
        each_tap(per_axis, sizes, function(at, w)
          f(plane * area + at, plane * points + p + 1, w)
        end)
      end
    end
  end
end

local function zeros(shape, dtype)
  return array.build(shape, function() return 0.0 end, dtype)
end

local function sampled_shape(image, grid)
  local shape = { image[1], image[2] }
  for k = 2, #grid.shape - 1 do shape[#shape + 1] = grid.shape[k] end
  return shape
end

-- ---- another raster ----

local function raster_place(i, from, to, mode, corners)
  if mode == "nearest" then return math.floor(i * from / to) end
  if corners then return to > 1 and i * (from - 1) / (to - 1) or 0 end
  local place = (i + 0.5) * from / to - 0.5
  return mode == "linear" and math.max(0, place) or place
end

local function raster_weights(i, from, to, mode, corners)
  if mode ~= "area" then
    return axis_weights(raster_place(i, from, to, mode, corners), from, mode,
      "border", false)
  end
  local first, last = i * from // to, -(-(i + 1) * from // to)
  local weights = {}
  for k = first, last - 1 do weights[k] = 1 / (last - first) end
  return weights
end

-- f(place in x, place in y, weight).
local function each_raster(from, to, options, f)
  local mode = options.mode or "nearest"
  local a = table.move(from, 3, #from, 1, {})
  local b = table.move(to, 3, #to, 1, {})
  for index, k in array.each(b) do
    local per_axis = {}
    for axis = 1, #a do
      per_axis[axis] = raster_weights(index[axis] - 1, a[axis], b[axis], mode,
        options.align_corners)
    end
    for plane = 0, from[1] * from[2] - 1 do
      each_tap(per_axis, a, function(at, w)
        f(plane * count(a) + at, plane * count(b) + k, w)
      end)
    end
  end
end

local function target(x, options)
  local shape = { x.shape[1], x.shape[2] }
  for k = 3, #x.shape do
    local size = options.size
    if type(size) == "table" then size = size[#size == 1 and 1 or k - 2] end
    shape[k] = size or math.floor(x.shape[k] * options.scale)
  end
  return shape
end

-- ---- attention ----

-- Does query i see key j of batch b, and what is added to its score?
local function mask_at(options, b, i, j, n, m)
  local mask = options.mask
  local added, seen = 0, true
  if options.causal and j > i then seen = false end
  if mask then
    local batched = #mask.shape > 2 and (b - 1) * n * m or 0
    local value = mask.data[batched + (i - 1) * m + j]
    if mask.dtype == "bool" then
      seen = seen and value ~= 0
    else
      added = value
      seen = seen and value > -math.huge
    end
  end
  return seen, added
end

local function attention(args, options)
  local q, k, v = args[1], args[2], args[3]
  local rank = #q.shape
  local n, d, m, e = q.shape[rank - 1], q.shape[rank], k.shape[rank - 1],
    v.shape[rank]
  local shape = table.move(q.shape, 1, rank - 1, 1, {})
  shape[rank] = e
  local scale = options.scale or 1 / math.sqrt(d)
  local y = zeros(shape, q.dtype)
  for b = 1, n * e > 0 and #y.data // (n * e) or 0 do
    for i = 1, n do
      local weights, sum = {}, 0
      for j = 1, m do
        local seen, score = mask_at(options, b, i, j, n, m)
        for at = 1, d do
          score = score + scale * q.data[((b - 1) * n + i - 1) * d + at]
            * k.data[((b - 1) * m + j - 1) * d + at]
        end
        weights[j] = seen and math.exp(score) or 0
        sum = sum + weights[j]
      end
      for c = 1, e do
        local total = 0
        for j = 1, m do
          local value = v.data[((b - 1) * m + j - 1) * e + c]
          if weights[j] > 0 then total = total + weights[j] / sum * value end
        end
        y.data[((b - 1) * n + i - 1) * e + c] = total
      end
    end
  end
  return y
end

return {
  grid_sample = function(args, options)
    local x, grid = args[1], args[2]
    local y = zeros(sampled_shape(x.shape, grid), x.dtype)
    each_pair(x.shape, grid, options, function(from, to, w)
      y.data[to] = y.data[to] + w * x.data[from]
    end)
    return y
  end,
  grid_sample_add = function(args, options)
    local g, grid, shape = args[1], args[2], args[3]
    local x = zeros(shape, g.dtype)
    each_pair(shape, grid, options, function(to, from, w)
      x.data[to] = x.data[to] + w * g.data[from]
    end)
    return x
  end,
  interpolate = function(args, options)
    local x = args[1]
    local y = zeros(target(x, options), x.dtype)
    each_raster(x.shape, y.shape, options, function(from, to, w)
      y.data[to] = y.data[to] + w * x.data[from]
    end)
    return y
  end,
  interpolate_add = function(args, options)
    local g, shape = args[1], args[2]
    local x = zeros(shape, g.dtype)
    each_raster(shape, g.shape, options, function(to, from, w)
      x.data[to] = x.data[to] + w * g.data[from]
    end)
    return x
  end,
  affine_grid = function(args, options)
    local theta, size = args[1], args[2]
    local axes = #size - 2
    local shape = table.move(size, 3, #size, 2, { size[1] })
    shape[#shape + 1] = axes
    return array.build(shape, function(index)
      local n, out = index[1], index[#index]
      local row = ((n - 1) * axes + out - 1) * (axes + 1)
      local sum = theta.data[row + axes + 1]
      for k = 1, axes do -- the last axis of the image comes first
        local count, i = size[#size + 1 - k], index[#index - k] - 1
        local u = (2 * i + 1) / count - 1
        if options.align_corners then
          u = count > 1 and 2 * i / (count - 1) - 1 or 0
        end
        sum = sum + theta.data[row + k] * u
      end
      return sum
    end, theta.dtype)
  end,
  attention = attention,
}
