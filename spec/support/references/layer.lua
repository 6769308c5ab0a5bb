--- Convolutions, pools, normalisations, in plain Lua: loops over windows of any
-- number of axes, and sums over channels.
local array = require "spec.support.array"

local build, get = array.build, array.get

local function tail(list, count)
  return table.move(list, #list - count + 1, #list, 1, {})
end

local function head(list, count) return table.move(list, 1, count, 1, {}) end

local function joined(...)
  local result = {}
  for _, list in ipairs { ... } do
    table.move(list, 1, #list, #result + 1, result)
  end
  return result
end

local function filled(axes, value)
  local list = {}
  for a = 1, axes do list[a] = value end
  return list
end

-- ---- windows ----

-- One number for each axis; what is left out is `default`.
local function tuple(value, axes, default)
  if value == nil then value = default end
  if type(value) == "table" then return value end
  return filled(axes, value)
end

-- Padding before and after on each axis.
local function paddings(value, w)
  local axes = #w.kernel
  if value == "valid" then return filled(axes, 0), filled(axes, 0) end
  if value == "same" then
    local before, after = {}, {}
    for a = 1, axes do
      local all = w.dilation[a] * (w.kernel[a] - 1)
      before[a], after[a] = all // 2, all - all // 2
    end
    return before, after
  end
  value = tuple(value, axes, 0)
  return head(value, axes), tail(value, axes)
end

local function windows(kernel, options, stride)
  local axes = #kernel
  local w = { kernel = kernel, axes = axes }
  w.stride = tuple(options.stride, axes, stride or 1)
  w.dilation = tuple(options.dilation, axes, 1)
  w.before, w.after = paddings(options.padding, w)
  return w
end

-- How many windows start within, one axis: counted one by one.
local function count_windows(w, a, size, ceil)
  local count, start = 0, -w.before[a]
  local reach = w.dilation[a] * (w.kernel[a] - 1) + 1
  while start + reach <= size + w.after[a] do
    count, start = count + 1, start + w.stride[a]
  end
  local cut = start - w.stride[a] + reach < size + w.after[a]
  if ceil and cut and start < size then count = count + 1 end
  return count
end

local function results(w, sizes, ceil)
  local list = {}
  for a = 1, w.axes do list[a] = count_windows(w, a, sizes[a], ceil) end
  return list
end

-- The place (from 1) that tap k of window o reads.
local function reads(w, a, o, k)
  return (o - 1) * w.stride[a] + (k - 1) * w.dilation[a] - w.before[a] + 1
end

-- visit(at, tap) for each tap of window `o` inside `sizes`; `at` is new.
local function each_tap(w, o, sizes, visit)
  for tap in array.each(w.kernel) do
    local at, inside = {}, true
    for a = 1, w.axes do
      at[a] = reads(w, a, o[a], tap[a])
      inside = inside and at[a] >= 1 and at[a] <= sizes[a]
    end
    if inside then visit(at, tap) end
  end
end

local function batched(a, axes)
  if #a.shape == axes + 2 then return a, false end
  return array.new(joined({ 1 }, a.shape), a.data, a.dtype), true
end

local function unbatched(a, single)
  return single and array.new(tail(a.shape, #a.shape - 1), a.data, a.dtype) or a
end

-- ---- convolutions ----

local function accumulate(shape, dtype)
  local a = build(shape, function() return 0.0 end, dtype)
  local strides = array.strides(shape)
  return a, function(index, value)
    local k = array.place(strides, index)
    a.data[k] = a.data[k] + value
  end
end

-- visit(x index, weight index, y index) for every product of a convolution.
local function convolve(w, x_shape, y_shape, groups, visit)
  local per_group, out = x_shape[2] // groups, y_shape[2] // groups
  local sizes = tail(x_shape, w.axes)
  for y in array.each(y_shape) do
    local group = (y[2] - 1) // out
    each_tap(w, tail(y, w.axes), sizes, function(at, tap)
      for c = 1, per_group do
        visit(joined({ y[1], group * per_group + c }, at),
          joined({ y[2], c }, tap), y)
      end
    end)
  end
end

local function add_bias(result, bias)
  if not bias then return end
  local plane = array.count(result.shape) // (result.shape[1] * result.shape[2])
  for k = 1, #result.data do
    local channel = (k - 1) // plane % result.shape[2] + 1
    result.data[k] = result.data[k] + bias.data[channel]
  end
end

local function conv(axes)
  return function(args, options)
    local x, single = batched(args[1], axes)
    local weight = args[2]
    local w = windows(tail(weight.shape, axes), options)
    local shape = joined({ x.shape[1], weight.shape[1] },
      results(w, tail(x.shape, axes)))
    local y, add = accumulate(shape, x.dtype)
    convolve(w, x.shape, shape, options.groups or 1, function(at, tap, o)
      add(o, get(x, at) * get(weight, tap))
    end)
    if #y.data > 0 then add_bias(y, args[3]) end
    return unbatched(y, single)
  end
end

local function conv_transpose(axes)
  return function(args, options)
    local y, single = batched(args[1], axes)
    local weight, groups = args[2], options.groups or 1
    local w = windows(tail(weight.shape, axes), options)
    local more = tuple(options.output_padding, axes, 0)
    local shape = { y.shape[1], weight.shape[2] * groups }
    for a = 1, axes do
      shape[2 + a] = (y.shape[2 + a] - 1) * w.stride[a] - w.before[a]
        - w.after[a] + w.dilation[a] * (w.kernel[a] - 1) + 1 + more[a]
    end
    local x, add = accumulate(shape, y.dtype)
    convolve(w, shape, y.shape, groups, function(at, tap, o)
      add(at, get(y, o) * get(weight, tap))
    end)
    add_bias(x, args[3])
    return unbatched(x, single)
  end
end

local function conv_weight(args, options)
  local axes, groups = #args[3], options.groups or 1
  local x, y = batched(args[1], axes), batched(args[2], axes)
  local w = windows(args[3], options)
  local shape = joined({ y.shape[2], x.shape[2] // groups }, args[3])
  local weight, add = accumulate(shape, x.dtype)
  convolve(w, x.shape, y.shape, groups, function(at, tap, o)
    add(tap, get(x, at) * get(y, o))
  end)
  return weight
end

-- ---- pools ----

local function pool_windows(args, options, axes, at)
  local kernel = tuple(args[at], axes)
  return windows(kernel, options, kernel)
end

local function max_pool(axes)
  return function(args, options)
    local x = args[1]
    local w = pool_windows(args, options, axes, 2)
    local sizes, lead = tail(x.shape, axes), head(x.shape, #x.shape - axes)
    local shape = joined(lead, results(w, sizes, options.ceil_mode))
    local places, strides = {}, array.strides(sizes)
    local y = build(shape, function(index)
      local best, place
      each_tap(w, tail(index, axes), sizes, function(at)
        local value = get(x, joined(head(index, #lead), at))
        if best == nil or best == best and (value ~= value or value > best) then
          best, place = value, array.place(strides, at)
        end
      end)
      places[#places + 1] = place
      return best
    end, x.dtype)
    if not options.return_indices then return y end
    return y, array.new(shape, places, "i64")
  end
end

-- What a window counts: places of x, with `pad` those of the padding too.
local function divisor(w, o, sizes, pad)
  local count = 1
  for a = 1, w.axes do
    local inside = 0
    for k = 1, w.kernel[a] do
      local at = reads(w, a, o[a], k)
      local low = pad and 1 - w.before[a] or 1
      local high = pad and sizes[a] + w.after[a] or sizes[a]
      if at >= low and at <= high then inside = inside + 1 end
    end
    count = count * inside
  end
  return count
end

local function avg_pool(axes)
  return function(args, options)
    local x = args[1]
    local w = pool_windows(args, options, axes, 2)
    local sizes, lead = tail(x.shape, axes), head(x.shape, #x.shape - axes)
    local shape = joined(lead, results(w, sizes, options.ceil_mode))
    local pad = options.count_include_pad ~= false
    return build(shape, function(index)
      local sum, o = 0.0, tail(index, axes)
      each_tap(w, o, sizes, function(at)
        sum = sum + get(x, joined(head(index, #lead), at))
      end)
      return sum / divisor(w, o, sizes, pad)
    end, x.dtype)
  end
end

local function avg_pool_add(args, options)
  local y, sizes = args[1], args[2]
  local axes = #sizes
  local w = pool_windows(args, options, axes, 3)
  local lead = head(y.shape, #y.shape - axes)
  local x, add = accumulate(joined(lead, sizes), y.dtype)
  local pad = options.count_include_pad ~= false
  for index, k in array.each(y.shape) do
    local o = tail(index, axes)
    each_tap(w, o, sizes, function(at)
      add(joined(head(index, #lead), at),
        y.data[k] / divisor(w, o, sizes, pad))
    end)
  end
  return x
end

-- visit(at) for the places of window o of `results` over `sizes`; returns how
-- many there are.
local function each_adaptive(o, counts, sizes, visit)
  local from, span = {}, {}
  for a = 1, #sizes do
    from[a] = (o[a] - 1) * sizes[a] // counts[a]
    span[a] = -(-o[a] * sizes[a] // counts[a]) - from[a]
  end
  for step in array.each(span) do
    local at = {}
    for a = 1, #sizes do at[a] = from[a] + step[a] end
    visit(at)
  end
  return array.count(span)
end

local function adaptive_pool(axes)
  return function(args)
    local x, counts = args[1], tuple(args[2], axes)
    local sizes, lead = tail(x.shape, axes), head(x.shape, #x.shape - axes)
    return build(joined(lead, counts), function(index)
      local sum = 0.0
      local n = each_adaptive(tail(index, axes), counts, sizes, function(at)
        sum = sum + get(x, joined(head(index, #lead), at))
      end)
      return sum / n
    end, x.dtype)
  end
end

local function adaptive_pool_add(args)
  local y, sizes = args[1], args[2]
  local axes = #sizes
  local lead, counts = head(y.shape, #y.shape - axes), tail(y.shape, axes)
  local x, add = accumulate(joined(lead, sizes), y.dtype)
  for index, k in array.each(y.shape) do
    local o = tail(index, axes)
    local n = each_adaptive(o, counts, sizes, function() end)
    each_adaptive(o, counts, sizes, function(at)
      add(joined(head(index, #lead), at), y.data[k] / n)
    end)
  end
  return x
end

-- ---- windows as columns ----

-- visit(column index, image index) for all that im2col reads; image: {n,c,h,w}.
local function each_column(w, image, visit)
  local sizes = tail(image, 2)
  local counts, taps = results(w, sizes), array.count(w.kernel)
  local tap_strides, strides = array.strides(w.kernel), array.strides(counts)
  for place in array.each(joined(head(image, 2), counts)) do
    local o = tail(place, 2)
    each_tap(w, o, sizes, function(at, tap)
      local row = (place[2] - 1) * taps + array.place(tap_strides, tap)
      visit({ place[1], row, array.place(strides, o) },
        joined(head(place, 2), at))
    end)
  end
  return array.count(counts), taps
end

local function im2col(args, options)
  local x, single = batched(args[1], 2)
  local w = windows(tuple(args[2], 2), options)
  local counts, taps = results(w, tail(x.shape, 2)), array.count(w.kernel)
  local shape = { x.shape[1], x.shape[2] * taps, array.count(counts) }
  local columns, add = accumulate(shape, x.dtype)
  each_column(w, x.shape, function(to, from) add(to, get(x, from)) end)
  return unbatched(columns, single)
end

local function col2im(args, options)
  local columns, single = batched(args[1], 1)
  local w = windows(tuple(args[3], 2), options)
  local channels = columns.shape[2] // array.count(w.kernel)
  local image, add = accumulate(
    joined({ columns.shape[1], channels }, args[2]), columns.dtype)
  each_column(w, image.shape, function(from, to) add(to, get(columns, from)) end)
  return unbatched(image, single)
end

-- ---- normalisations ----

local function moments(data, places)
  local mean, variance = 0.0, 0.0
  for _, k in ipairs(places) do mean = mean + data[k] / #places end
  for _, k in ipairs(places) do
    variance = variance + (data[k] - mean) ^ 2 / #places
  end
  return mean, variance
end

local function layer_norm(args, options)
  local a, shape, weight, bias = table.unpack(args, 1, 4)
  local n = array.count(shape)
  local data = {}
  for first = 1, #a.data, n do
    local places = {}
    for k = 1, n do places[k] = first + k - 1 end
    local mean, variance = moments(a.data, places)
    local scale = 1 / math.sqrt(variance + (options.eps or 1e-5))
    for k = 1, n do
      local value = (a.data[first + k - 1] - mean) * scale
      if weight then value = value * weight.data[k] end
      if bias then value = value + bias.data[k] end
      data[first + k - 1] = value
    end
  end
  return array.new(a.shape, data, a.dtype)
end

-- Each group of places (a list for each key) normalised, then scaled by channel.
local function by_key(a, key, eps, weight, bias, given)
  local groups, data = {}, {}
  for index, k in array.each(a.shape) do
    local name = key(index)
    groups[name] = groups[name] or {}
    table.insert(groups[name], k)
  end
  local scales = {}
  for name, places in pairs(groups) do
    local mean, variance = moments(a.data, places)
    if given then mean, variance = given(name) end
    scales[name] = { mean, 1 / math.sqrt(variance + eps) }
  end
  for index, k in array.each(a.shape) do
    local scale = scales[key(index)]
    local value = (a.data[k] - scale[1]) * scale[2]
    if weight then value = value * weight.data[index[2]] end
    if bias then value = value + bias.data[index[2]] end
    data[k] = value
  end
  return array.new(a.shape, data, a.dtype)
end

local function batch_norm(args, options)
  local function given(c) return options.mean.data[c], options.var.data[c] end
  return by_key(args[1], function(index) return index[2] end,
    options.eps or 1e-5, args[2], args[3], not options.training and given)
end

local function group_norm(args, options)
  local per_group = args[1].shape[2] // args[2]
  return by_key(args[1], function(index)
    return index[1] .. ":" .. (index[2] - 1) // per_group
  end, options.eps or 1e-5, args[3], args[4])
end

local function instance_norm(args, options)
  return group_norm({ args[1], args[1].shape[2], args[2], args[3] }, options)
end

local function rms_norm(args, options)
  local a, weight = args[1], args[3]
  local n, data = array.count(args[2]), {}
  for first = 1, #a.data, n do
    local square = 0.0
    for k = first, first + n - 1 do square = square + a.data[k] ^ 2 / n end
    local scale = 1 / math.sqrt(square + (options.eps or 1e-5))
    for k = 1, n do
      local value = a.data[first + k - 1] * scale
      data[first + k - 1] = weight and value * weight.data[k] or value
    end
  end
  return array.new(a.shape, data, a.dtype)
end

return {
  batch_norm = batch_norm, group_norm = group_norm,
  instance_norm = instance_norm, rms_norm = rms_norm,
  conv1d = conv(1), conv2d = conv(2), conv3d = conv(3),
  conv_transpose1d = conv_transpose(1), conv_transpose2d = conv_transpose(2),
  conv_transpose3d = conv_transpose(3),
  conv_weight = conv_weight,
  max_pool1d = max_pool(1), max_pool2d = max_pool(2), max_pool3d = max_pool(3),
  avg_pool1d = avg_pool(1), avg_pool2d = avg_pool(2), avg_pool3d = avg_pool(3),
  avg_pool_add = avg_pool_add,
  adaptive_avg_pool1d = adaptive_pool(1), adaptive_avg_pool2d = adaptive_pool(2),
  adaptive_avg_pool3d = adaptive_pool(3),
  adaptive_pool_add = adaptive_pool_add,
  im2col = im2col,
  col2im = col2im,
  layer_norm = layer_norm,
}
