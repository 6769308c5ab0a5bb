--- Nothing of the first two tiers is missing: each name is a row, and what is
-- a row has help, a reference and cases (values_spec runs them).
local ts = require "tensus"
local cases = require "spec.support.cases"
local references = require "spec.support.references"
local tiers = require "spec.support.tiers"

local rows = {}
for _, row in ipairs(ts.ops()) do rows[row.name] = row end

-- Functions over rows that are no rows themselves, and why.
local functions = {
  tensor = "reads tables", idx = "reads tables", to = "cast by another name",
  equal = "gives a boolean", allclose = "gives a boolean",
  new_zeros = "zeros_like with sizes",
}

local function row_of(name)
  return rows[name] or rows["linalg." .. name] or rows[name:match "^(.-)_$"]
end

local function is_called(name)
  return type(ts[name] or ts.zeros(1)[name]) == "function"
end

local function has(row, dtype)
  for _, name in ipairs(row.dtypes) do
    if name == dtype then return true end
  end
  return false
end

for tier, names in pairs(tiers) do
  describe("tier " .. tier, function()
    for name in names:gmatch "%S+" do
      it("has " .. name, function()
        local row = row_of(name)
        if not row then
          assert.is_true(functions[name] ~= nil or ts.help(name) ~= nil, name)
          assert.is_true(is_called(name), name .. " cannot be called")
          return
        end
        assert.is_true(#row.help > 0, name .. " has no help")
        if references.drawn[row.name] then return end
        local dtype = has(row, "f32") and "f32" or row.dtypes[1]
        assert.is_true(#cases.of(row, dtype) > 0, name .. " has no case")
        assert.is_truthy(references.of(row.name), name .. " has no reference")
      end)
    end
  end)
end
