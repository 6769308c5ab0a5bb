-- The prompt, driven through a pipe by -i.
local program = require "spec.cli.program"

-- What the prompt printed for these lines, without banner and prompt marks.
local function prompt(...)
  local r = program.run { "-i", input = table.concat({ ... }, "\n") .. "\n" }
  local out = r.out:gsub("^[^\n]*\n", ""):gsub("\n$", "")
  out = out:gsub("^> ", ""):gsub("\n> ", "\n"):gsub(">> ", ""):gsub("> ", "")
  return out, r
end

describe("the prompt", function()
  it("prints the values of an expression, one a line", function()
    assert.equal("3\n4\nnil\n", (prompt("1 + 2, 4, nil")))
  end)

  it("is silent after a semicolon and for a statement", function()
    assert.equal("", (prompt("1 + 2;", "x = 3", "x; ")))
  end)

  it("goes on while a construct is open", function()
    assert.equal("1\n2\n", (prompt("for i = 1, 2 do", "", "print(i)", "end")))
    assert.equal("7\n", (prompt("x = {", "7", "}", "x[1]")))
    assert.equal("a\nb\n", (prompt("[[a", "b]]")))
  end)

  it("keeps the last value in _", function()
    assert.equal("5\n6\n", (prompt("2, 5;", "5", "_ + 1")))
  end)

  it("reports errors and lives on", function()
    local out, r = prompt("error('one')", "x x", "nil + 1", "8")
    assert.equal("8\n", out)
    assert.matches("tensus: stdin:1: one\nstack traceback", r.err)
    assert.matches("syntax error near 'x'", r.err)
    assert.equal(0, r.status)
  end)

  it("has no limit on a line", function()
    assert.equal("100000\n", (prompt("#'" .. ("x"):rep(100000) .. "'")))
  end)

  it("tells an unfinished construct at the end of input", function()
    local _, r = prompt("function f(")
    assert.matches("near <eof>", r.err)
  end)

  it("says once that a local is lost", function()
    local _, r = prompt("local a = 1", "local b = 2")
    assert.equal(1, select(2, r.err:gsub("a local lives for one line", "")))
  end)

  it("comes after the script, also after one that failed", function()
    local name = program.script("x = 4 error('no')")
    local r = program.run { "-i", name, input = "x\n" }
    os.remove(name)
    assert.matches("> 4\n", r.out)
    assert.equal(1, r.status)
  end)

  it("has ts and help", function()
    assert.equal("true\n", (prompt("ts == require 'tensus'")))
    assert.matches("matmul", (prompt("help 'matmul'")))
  end)

  it("prints what fails to print as an error", function()
    local out, r = prompt("setmetatable({}, {__tostring = function() error 'mute' end})", "1")
    assert.equal("1\n", out)
    assert.matches("mute", r.err)
  end)
end)
