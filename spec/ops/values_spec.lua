-- Every row gives what plain Lua gives, in every dtype it computes in, however
-- its operands lie in memory.
local ts = require "tensus"
local array = require "spec.support.array"
local cases = require "spec.support.cases"
local layouts = require "spec.support.layouts"
local numbers = require "spec.support.numbers"
local references = require "spec.support.references"

print("operands drawn from seed " .. numbers.seed)

-- Units in the last place that a row may be off, and from which magnitude on
-- they count: sums of numbers up to 2 lose digits to cancellation.
local room = {
  pointwise = { f64 = 24, f32 = 4, f16 = 1, bf16 = 1 },
  other = { f64 = 24, f32 = 8, f16 = 2, bf16 = 2 },
}
local smallest = { pointwise = 0, other = 8 }
-- Their operands cancel.
local cancels = {
  lerp = 4, remainder = 4, add = 4, sub = 4, fmod = 4, frac = 4, logaddexp = 2,
  lgamma = 8, digamma = 4, polygamma = 4, softshrink = 2, sinc = 1,
}

local dtypes = {
  "f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8", "u8", "bool",
}

local function takes(op, dtype)
  local few = cases.dtypes[op.name]
  if few then return few[dtype] end
  for _, name in ipairs(op.dtypes) do
    if name == dtype then return true end
  end
  return op.float_plus
end

-- The dtype of a result, from the dtype of the operands.
local function result_dtype(op, expected)
  if op.compares then return "bool" end
  if op.float_plus and not numbers.is_float[expected.dtype] then return "f32" end
  return expected.dtype
end

local function check(op, c, found, expected, which)
  local dtype = result_dtype(op, expected)
  assert.equal(dtype, found.dtype, c.label)
  local values = array.of(found)
  assert.same(expected.shape, values.shape, c.label)
  local class = op.pointwise and "pointwise" or "other"
  local units = room[class][dtype] or 0
  local scale = cancels[op.name] or smallest[class]
  for k, value in ipairs(expected.data) do
    if not numbers.is_float[dtype] then
      value = numbers.wrap(math.tointeger(value) or value, dtype)
    end
    local why = references.difference(values.data[k], value, dtype, units, scale)
    if why then
      error(string.format("%s %s: %s[%d] is %s, %s is due: %s", op.name,
        c.label, which, k, values.data[k], value, why), 0)
    end
  end
end

-- The text of every bit: -0 is not 0, and all NaN are one.
local function bits(x)
  local words = {}
  for k, value in ipairs(array.of(x).data) do
    words[k] = value ~= value and "nan"
      or math.type(value) == "integer" and tostring(value)
      or string.format("%a", value)
  end
  return x.dtype .. array.show(x.shape) .. table.concat(words, " ")
end

local function run(op, c, layout)
  local args = cases.tensors(c, layout.tensor)
  return args, table.pack(cases.run(cases.call(op), c, args))
end

-- The case with the values that a layout can hold.
local function as_held(c, layout)
  local held = { n = c.n, label = c.label }
  held.args = cases.tensors(c, layout.values)
  held.options = held.args.options
  return held
end

local function agrees(op, c)
  local reference = references.of(op.name)
  local args, found = run(op, c, layouts[1])
  local expected = table.pack(reference(c.args, c.options))
  assert.equal(expected.n, found.n, c.label)
  for k = 1, expected.n do
    check(op, c, found[k], expected[k], "result " .. k)
  end
  local first = expected[1] -- nil: an empty list
  for k, changed in pairs(first and first.changes or {}) do
    check(op, c, args[k], changed, "argument " .. k)
  end
end

local function same_in(op, c, layout)
  local held = as_held(c, layout)
  local _, plain = run(op, held, layouts[1])
  local _, found = run(op, held, layout)
  for k = 1, plain.n do
    assert.equal(bits(plain[k]), bits(found[k]), layout.name .. " " .. c.label)
  end
end

-- name_ into a target of that layout, where it has the form of the result.
local function in_place(op, c, layout)
  if not array.is(c.args[1]) then return end
  local args = cases.tensors(c, array.tensor)
  local plain = cases.run(ts[op.name], c, args)
  local target = layout.tensor(c.args[1])
  local fits = target.dtype == plain.dtype and target.shape == plain.shape
  if not fits then return end
  args = cases.tensors(c, array.tensor)
  args[1] = target
  local result = cases.run(ts[op.name .. "_"], c, args)
  assert.equal(target, result, op.name .. "_ gives its target")
  assert.equal(bits(plain), bits(target), layout.name .. " " .. c.label)
end

for _, op in ipairs(ts.ops()) do
  describe(op.name, function()
    local drawn = references.drawn[op.name]
    it("has a reference", function()
      assert.is_truthy(drawn or references.of(op.name))
    end)
    if drawn then return end
    for _, dtype in ipairs(dtypes) do
      if takes(op, dtype) then
        it("gives what plain Lua gives in " .. dtype, function()
          for _, c in ipairs(cases.of(op, dtype)) do agrees(op, c) end
        end)
        it("gives the same bits in every layout in " .. dtype, function()
          for _, c in ipairs(cases.of(op, dtype)) do
            for k = 2, #layouts do
              local barred = op.only_inplace and layouts[k].overlaps
                or cases.contiguous[op.name]
              if not barred then same_in(op, c, layouts[k]) end
            end
          end
        end)
        if op.inplace and not op.only_inplace then
          it("gives the same in place in " .. dtype, function()
            for _, c in ipairs(cases.of(op, dtype)) do
              for _, layout in ipairs(layouts) do
                if not layout.overlaps then in_place(op, c, layout) end
              end
            end
          end)
        end
      end
    end
  end)
end
