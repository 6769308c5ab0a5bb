--- gradcheck(f, inputs, {eps=1e-6, atol=1e-6, rtol=1e-5, order=2, raise=true})
-- Compares the push with central differences, the pull with the push by the
-- dot product, then does the same for the gradient (order 2).  Moves nothing
-- away from kinks: the inputs are the caller's choice.  Returns true, or
-- raises with the worst entry; raise=false returns false and a report.
local ts = require "tensus"
local functional = require "tensus.functional"

local known = { eps = 1e-6, atol = 1e-6, rtol = 1e-5, order = 2, raise = true }

local function settings(options)
  local result = {}
  for k, v in pairs(known) do result[k] = v end
  for k, v in pairs(options or {}) do
    if known[k] == nil then
      error("gradcheck: unknown option " .. tostring(k), 3)
    end
    result[k] = v
  end
  return result
end

local function is_float(x)
  return ts.is_tensor(x) and x.dtype:find("f", 1, true) ~= nil
end

--- f's float results as one list.
local function results_of(f, list)
  local out = {}
  for _, y in ipairs(table.pack(f(table.unpack(list, 1, list.n or #list)))) do
    if is_float(y) then out[#out + 1] = y end
  end
  return out
end

--- The function of one list, whatever f takes.
local function on_list(f, inputs)
  local places = {}
  for k = 1, inputs.n do
    if is_float(inputs[k]) then places[#places + 1] = k end
  end
  local points = {}
  for i, k in ipairs(places) do points[i] = inputs[k] end
  local function g(xs)
    local all = { n = inputs.n, table.unpack(inputs, 1, inputs.n) }
    for i, k in ipairs(places) do all[k] = xs[i] end
    return results_of(f, all)
  end
  return g, points
end

--- A direction that is the same each time and has no zero.
local function direction(x, seed)
  local g = ts.generator(seed)
  local v = ts.rand(x.shape, { dtype = "f64", generator = g })
  return v:mul(2):sub(1):add(v:sub(0.5):sign():mul(0.1))
end

local function copy(x)
  return x:detach():clone()
end

--- Elements as a flat Lua list.
local function numbers(x)
  return x:detach():contiguous():reshape(-1):tolist()
end

--- (f(x + e u) - f(x - e u)) / 2e for the unit u at element k of point i.
local function difference(f, points, i, k, eps)
  local flat = copy(points[i]):reshape(-1)
  local x = flat(k)
  local step = eps * math.max(1, math.abs(x))
  local moved = { table.unpack(points) }
  local sides = {}
  for s, sign in ipairs { 1, -1 } do
    local there = flat:clone()
    there:set(k, x + sign * step)
    moved[i] = there:reshape(points[i].shape)
    sides[s] = ts.no_grad(f, moved)
  end
  local slopes = {}
  for j, up in ipairs(sides[1]) do
    slopes[j] = numbers(up:sub(sides[2][j]):div(2 * step))
  end
  return slopes
end

--- The tangent of every result for the unit at element k of point i.
local function analytic(push, points, i, k)
  local tangents = {}
  for j, x in ipairs(points) do tangents[j] = ts.zeros_like(x) end
  local unit = ts.zeros(points[i]:numel(), "f64")
  unit:set(k, 1)
  tangents[i] = unit:reshape(points[i].shape)
  local slopes = {}
  for j, t in ipairs(push(tangents)) do slopes[j] = numbers(t) end
  return slopes
end

local function is_close(a, b, s)
  return a == b or (a ~= a and b ~= b) or
    math.abs(a - b) <= s.atol + s.rtol * math.abs(b)
end

--- Push against differences: nil, or the worst entry.
local function check_push(f, points, s, what)
  local _, push = functional.linearize(f, points)
  local worst, most
  for i, x in ipairs(points) do
    for k = 1, x:numel() do
      local a, n = analytic(push, points, i, k), difference(f, points, i, k, s.eps)
      for j, column in ipairs(n) do
        for m, numeric in ipairs(column) do
          local err = math.abs(a[j][m] - numeric)
          if not is_close(a[j][m], numeric, s) and not (most and err <= most) then
            most = err
            worst = ("gradcheck: %s of result %d at %d by input %d at %d: " ..
              "analytic %.10g, numeric %.10g"):format(what, j, m, i, k,
              a[j][m], numeric)
          end
        end
      end
    end
  end
  return worst
end

--- <g, push v> = <pull g, v> for fixed random g and v.
local function check_pull(f, points, s, what)
  local v, tangents = {}, 0
  for i, x in ipairs(points) do v[i] = direction(x, 100 + i) end
  local y, dy = functional.jvp(f, points, v)
  local g, scale = {}, 0
  for j, one in ipairs(y) do
    g[j] = direction(one, 200 + j)
    tangents = tangents + g[j]:mul(dy[j]):sum():item()
    scale = scale + g[j]:mul(dy[j]):abs():sum():item()
  end
  local _, pull = functional.vjp(f, points)
  local cotangents = 0
  for i, gx in ipairs((pull(g))) do
    cotangents = cotangents + gx:mul(v[i]):sum():item()
    scale = scale + gx:mul(v[i]):abs():sum():item()
  end
  local close = math.abs(tangents - cotangents) <= s.atol + s.rtol * scale
  if close or (tangents ~= tangents and cotangents ~= cotangents) then return end
  return ("gradcheck: %s: pull and push disagree: <g, push v> is %.10g, " ..
    "<pull g, v> is %.10g"):format(what, tangents, cotangents)
end

--- The gradient of <c, f>, c fixed, as a function of the points.
local function gradient_of(f, points)
  local c = {}
  for j, y in ipairs(ts.no_grad(f, points)) do c[j] = direction(y, 300 + j) end
  return functional.grad(function(xs)
    local total = ts.zeros({}, "f64")
    for j, y in ipairs(f(xs)) do total = total + y:mul(c[j]):sum() end
    return total
  end)
end

local function check_order(f, points, s, what)
  return check_push(f, points, s, what) or check_pull(f, points, s, what)
end

return function(f, inputs, options)
  local s = settings(options)
  if ts.is_tensor(inputs) then inputs = { inputs } end
  inputs = { n = inputs.n or #inputs, table.unpack(inputs, 1, inputs.n or #inputs) }
  for k = 1, inputs.n do
    local x = inputs[k]
    if is_float(x) and x.dtype ~= "f64" then
      error(("gradcheck: input %d is %s; f64 is due"):format(k, x.dtype), 2)
    end
  end
  local g, points = on_list(f, inputs)
  for i, x in ipairs(points) do points[i] = copy(x) end
  local report = check_order(g, points, s, "slope")
  if not report and s.order >= 2 then
    report = check_order(gradient_of(g, points), points, s, "second slope")
  end
  if not report then return true end
  if s.raise then error(report, 2) end
  return false, report
end
