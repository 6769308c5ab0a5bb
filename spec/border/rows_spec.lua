--- The table in src/README.md is as the rows are, and every call that ts.ops()
-- lists has help under its own name.
local ts = require "tensus"
local program = require "spec.cli.program"

describe("the table of rows", function()
  it("is up to date", function()
    local r = program.run { "scripts/rows.lua", "--check" }
    assert.equal(0, r.status, r.out .. r.err)
  end)

  for _, row in ipairs(ts.ops()) do
    it("has help for " .. row.name, function()
      local text = ts.help(row.name)
      assert.is_truthy(text:find(row.signature, 1, true), text)
      assert.is_truthy(text:find(row.help, 1, true), text)
    end)
  end
end)
