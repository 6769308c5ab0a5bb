-- What lint finds, how it says so, and that it is silent where it is not asked.
local ts = require "tensus"
local program = require "spec.cli.program"

local x = ts.tensor { { 1, 0, 0 }, { 4, 5, 6 } }

local function unused()
  local p = ts.ones({ 2 }, { requires_grad = true })
  local q = ts.ones({ 3 }, { requires_grad = true })
  local opt = ts.optim.sgd({ p, q }, { lr = 0.1 })
  p:sum():backward()
  opt:step()
end

-- An entry, a call that it reports, a like one that it does not, and the text.
local entries = {
  { "two_sided", function() return ts.ones(3) + ts.ones(3, 1) end,
    function() return ts.ones(2, 3) + ts.ones(3), ts.ones(3) + ts.ones(1, 1) end,
    "add stretches both {3} and {3,1}, to {3,3}" },
  { "reshape_permutes", function() return x:reshape(3, 2) end,
    function() return x:reshape(6), x:reshape(2, 1, 3), ts.ones(2, 2):reshape(2, 2) end,
    "reshape {2,3} -> {3,2} keeps row-major order; for swapped axes use x:t()" },
  { "reshape_permutes", function() return ts.ones(2, 3, 4):view(4, 2, 3) end,
    function() return ts.ones(2, 3, 4):view(2, 12) end,
    "view {2,3,4} -> {4,2,3} keeps row-major order; for swapped axes use "
      .. "x:permute{3,1,2}" },
  { "reshape_copied", function() return x:t():reshape(6):add_(1) end,
    function() return x:clone():reshape(6):add_(1), x:t():clone():add_(1) end,
    "add_ writes into a copy" },
  { "reshape_copied", function() x:t():reshape(6)[2] = 7 end,
    function() x:clone():reshape(6)[2] = 7 end, "writes into a copy" },
  { "split_index",
    function() return ts.ones(4, 5, 6)[{ ts.idx { 1, 2 }, {}, ts.idx { 1, 2 } }] end,
    function() return ts.ones(4, 5, 6)[{ {}, ts.idx { 1, 2 }, ts.idx { 1, 2 } }] end,
    "their shape {2} comes first in the result" },
  { "einsum_stretch",
    function() return ts.einsum("ij,jk", ts.ones(2, 1), ts.ones(3, 4)) end,
    function() return ts.einsum("ij,jk", ts.ones(2, 3), ts.ones(3, 1)) end,
    'einsum "ij,jk": letter j is 1 in one operand and 3 in another' },
  { "where_nan",
    function()
      local w = ts.tensor({ 0, 1 }, { requires_grad = true })
      return ts.where(w:gt(0), w:log(), w)
    end,
    function()
      local w = ts.tensor({ 0, 1 }, { requires_grad = true })
      return ts.where(w:gt(0), w, w), ts.where(w:eq(0), w:log(), w)
    end,
    "where: self is NaN or infinite where it is not chosen" },
  { "unused_param", unused,
    function() return ts.optim.sgd({ ts.ones({ 2 }, { requires_grad = true }) }, { lr = 1 }) end,
    "step: parameter 2 {3} has no gradient" },
}

describe("lint", function()
  it("is off in scripts", function()
    assert.equal("off", ts.lint())
    for _, entry in ipairs(entries) do entry[2]() end
  end)

  for k, entry in ipairs(entries) do
    local id, found, free, text = table.unpack(entry)
    it("finds " .. id .. ", case " .. k, function()
      local _ <close> = ts.lint_scope { [id] = "error" }
      local ok, message = pcall(found)
      assert.is_false(ok)
      assert.is_truthy(message:find("lint: ", 1, true), message)
      assert.is_truthy(message:find(text, 1, true), message)
      assert.equal("lint", ts.errinfo().code)
      free()
    end)

    it("finds " .. id .. " only where it is asked, case " .. k, function()
      local _ <close> = ts.lint_scope "error"
      ts.lint { [id] = "off" }
      found()
    end)
  end

  it("leaves derivatives alone", function()
    local w = ts.ones({ 3 }, { requires_grad = true })
    local y = (w + ts.ones(3, 1)):sum()
    ts.lint("error", function()
      y:backward()
      local function f(v) return v:outer(v) end
      assert.equal(3, ts.jacobian(f, ts.arange(3):float()):size(3))
    end)
    assert.equal(3, w.grad(1))
  end)

  it("leaves outer and meshgrid alone", function()
    local _ <close> = ts.lint_scope "error"
    assert.is_true(ts.ones(3):outer(ts.ones(2)).shape == { 3, 2 })
    assert.equal(2, #ts.meshgrid { ts.ones(3), ts.ones(2) })
  end)

  it("changes nothing when it raises", function()
    local t = x:t():reshape(6)
    local before = t:clone()
    assert.is_false(pcall(ts.lint, "error", t.add_, t, 1))
    assert.is_true(t:equal(before))
  end)
end)

describe("the mode of lint", function()
  it("is returned when another is set", function()
    assert.equal("off", ts.lint "error")
    assert.equal("error", ts.lint { two_sided = "off" })
    local old = ts.lint "off"
    assert.equal("off", old.two_sided)
    assert.equal("error", old.split_index)
    ts.lint(old)
    assert.same(old, ts.lint "off")
  end)

  it("ends with the call, also by an error", function()
    assert.equal(7, ts.lint("error", function(n)
      assert.equal("error", ts.lint())
      return n
    end, 7))
    assert.equal("off", ts.lint())
    assert.is_false(pcall(ts.lint, "warn", error, "on purpose"))
    assert.equal("off", ts.lint())
  end)

  it("ends with the block", function()
    do
      local _ <close> = ts.lint_scope "error"
      assert.equal("error", ts.lint())
    end
    assert.equal("off", ts.lint())
  end)

  it("is one of three, of known entries", function()
    assert.is_false(pcall(ts.lint, "loud"))
    assert.equal('mode is the string "loud"; one of off|warn|error is due',
      ts.errinfo().text)
    assert.is_false(pcall(ts.lint, { two_side = "off" }))
    assert.equal('lint has no entry "two_side"; did you mean "two_sided"?',
      ts.errinfo().text)
    assert.is_false(pcall(ts.lint, { two_sided = true }))
    assert.equal("off", ts.lint())
  end)
end)

describe("a warning", function()
  local script = [[
    local ts = require "tensus"
    for i = 1, 3 do
      ts.ones(3):add(ts.ones(3, 1))
    end
    ts.ones(2):mul(ts.ones(2, 1))
  ]]
  local add = "lint: add stretches both {3} and {3,1}"

  local function count(text, part)
    local n, at = 0, 1
    while true do
      at = text:find(part, at, true)
      if not at then return n end
      n, at = n + 1, at + 1
    end
  end

  it("shows once for each line of a script that asks", function()
    local name = program.script(script)
    local r = program.run { "--lint=warn", name }
    assert.equal(0, r.status)
    assert.equal(1, count(r.err, add))
    assert.is_truthy(r.err:find(":3: " .. add, 1, true), r.err)
    assert.is_truthy(r.err:find(":5: lint: mul", 1, true), r.err)
    assert.equal("", program.run({ name }).err)
    assert.equal(1, program.run({ "--lint=error", name }).status)
    os.remove(name)
  end)

  it("shows at the prompt, for each line of it", function()
    local line = "ts.ones(3) + ts.ones(3, 1);\n"
    local r = program.run { "-i", input = line .. line }
    assert.equal(2, count(r.err, "stdin:1: " .. add))
    r = program.run { "--lint=off", "-i", input = line }
    assert.equal("", r.err)
  end)
end)
