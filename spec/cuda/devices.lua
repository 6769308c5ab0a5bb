--- Run by devices_spec.lua in a process of its own: every case of every row on
-- the device and on the CPU.  Prints what differs, and last how many results
-- were compared.
--   tensus spec/cuda/devices.lua values|slopes
local ts = require "tensus"
local array = require "spec.support.array"
local cases = require "spec.support.cases"
local layouts = require "spec.support.layouts"
local numbers = require "spec.support.numbers"
local references = require "spec.support.references"
local slopes = require "spec.support.slopes"

local device = "cuda"
local compared, shown = 0, 0

local units = { f64 = 24, f32 = 6, f16 = 1, bf16 = 1 }

local function report(text)
  shown = shown + 1
  if shown <= 20 then print(text) end
end

local function compare(what, found, expected, scale)
  compared = compared + 1
  if found.device:sub(1, 4) ~= "cuda" then
    return report(what .. ": the result is on " .. found.device)
  end
  local a, b = array.of(found), array.of(expected)
  if a.dtype ~= b.dtype or array.show(a.shape) ~= array.show(b.shape) then
    return report(what .. ": another dtype or shape")
  end
  for k, value in ipairs(b.data) do
    local why = references.difference(a.data[k], value, b.dtype,
      units[b.dtype] or 0, scale)
    if why then
      return report(string.format("%s [%d]: %s, on the CPU %s: %s", what, k,
        a.data[k], value, why))
    end
  end
end

local function takes(op, dtype)
  local few = cases.dtypes[op.name]
  if few then return few[dtype] end
  for _, name in ipairs(op.dtypes) do
    if name == dtype then return true end
  end
  return op.float_plus
end

-- The options of the call, with the device or a generator where it takes one.
local function options_of(op, c, on)
  local options = {}
  for name, value in pairs(c.options) do options[name] = value end
  for _, param in ipairs(op.params) do
    if param.kind == "device" then options.device = on end
    if param.kind == "generator" then options.generator = ts.generator(5) end
  end
  return options
end

local function run(op, c, layout, on)
  local args = cases.tensors(c, function(a)
    return layout.tensor(a, { device = on })
  end)
  local call = { n = c.n, options = options_of(op, c, on) }
  local results = table.pack(cases.run(cases.call(op), call, args))
  for k, arg in ipairs(args) do
    if op.kind == "update" and ts.is_tensor(arg) then
      results.n = results.n + 1
      results[results.n] = args[k]
    end
  end
  return results
end

local drawn = {
  rand = { { 5, 7 } }, randn = { { 5, 7 } }, randint = { -3, 9, { 5, 7 } },
  randperm = { 40 },
}

local function cases_of(op, dtype)
  local args = drawn[op.name]
  if not args then return cases.of(op, dtype) end
  if dtype ~= "f32" and dtype ~= "i64" then return {} end
  return { { args = args, n = #args, options = {}, label = "drawn" } }
end

-- Strides are walked the same way for every size of an element.
local strided = { f32 = { layouts[1], layouts[3] }, i64 = { layouts[1], layouts[3] } }

local function values_of(op, dtype)
  for _, c in ipairs(cases_of(op, dtype)) do
    for _, layout in ipairs(strided[dtype] or { layouts[1] }) do
      local barred = cases.contiguous[op.name] and layout ~= layouts[1]
        or op.name == "empty" or op.name == "empty_like"
      if not barred then
        local what = string.format("%s %s in %s %s", op.name, c.label, dtype,
          layout.name)
        local ok, found = pcall(run, op, c, layout, device)
        if ok then
          local expected = run(op, c, layout, "cpu")
          local scale = op.pointwise and 0.25 or 8
          for k = 1, expected.n do compare(what, found[k], expected[k], scale) end
        else
          report(what .. ": " .. tostring(found))
        end
      end
    end
  end
end

local function slopes_of(op)
  for _, c in ipairs(cases.slopes(op)) do
    local variables = slopes.variables(op, c)
    local what = op.name .. " " .. c.label
    local function on(where)
      local function make(a) return array.tensor(a, { device = where }) end
      numbers.restart()
      local f = slopes.call(op, c, make)
      local ws = {}
      for k, y in ipairs(f(slopes.leaves(variables, make))) do
        ws[k] = make(slopes.random_like(array.of(y).shape))
      end
      local results = slopes.pull(f, slopes.leaves(variables, make), ws)
      local vs = {}
      for k, a in ipairs(variables) do
        vs[k] = make(slopes.random_like(a.shape))
      end
      local pushed = slopes.push(f, slopes.tensors(variables, make), vs)
      local tracked = slopes.pull(f, slopes.leaves(variables, make), ws,
        { create_graph = true })
      table.move(pushed, 1, #pushed, #results + 1, results)
      table.move(tracked, 1, #tracked, #results + 1, results)
      return results
    end
    if #variables > 0 then
      local ok, found = pcall(on, device)
      if ok then
        for k, x in ipairs(on("cpu")) do compare(what, found[k], x, 8) end
      else
        report(what .. ": " .. tostring(found))
      end
    end
  end
end

local differentiable = {
  linear = true, view = true, multilinear = true, pointwise = true,
  selection = true, rule = true, composed = true,
}

for _, op in ipairs(ts.ops()) do
  if arg[1] == "slopes" then
    if differentiable[op.kind] then slopes_of(op) end
  else
    for _, dtype in ipairs { "f64", "f32", "f16", "bf16", "i64", "i32", "u8", "bool" } do
      if takes(op, dtype) then values_of(op, dtype) end
    end
  end
end
print(string.format("compared %d, differ %d", compared, shown))
