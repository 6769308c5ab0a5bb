-- The command line: options, scripts, exit statuses.
local program = require "spec.cli.program"
local run = program.run

describe("tensus -e", function()
  it("runs code, several times, in order with -l", function()
    local r = run { "-e", "x = 1", "-l", "t=table", "-e", "print(x, t.concat{7})" }
    assert.equal("1\t7\n", r.out)
    assert.equal(0, r.status)
  end)

  it("takes the code glued to the letter", function()
    assert.equal("5\n", run { "-eprint(5)" }.out)
  end)

  it("stops at the first error, with status 1 and a traceback", function()
    local r = run { "-e", "local function f() error('no') end f()", "-e", "print(1)" }
    assert.equal(1, r.status)
    assert.equal("", r.out)
    assert.matches("^tensus: %(command line%):1: no\nstack traceback:", r.err)
  end)

  it("reports error objects that have no text", function()
    assert.matches("error object is a table value", run { "-e", "error({})" }.err)
    local r = run { "-e", "error(setmetatable({}, {__tostring = function() return 'mine' end}))" }
    assert.equal("tensus: mine\n", r.err)
  end)

  it("has ts as a global, loaded when it is read", function()
    local r = run { "-e", "print(rawget(_G, 'ts'), ts == require 'tensus', rawget(_G, 'ts') == ts)" }
    assert.equal("nil\ttrue\ttrue\n", r.out)
  end)

  it("gives no ts to a script", function()
    local name = program.script("print(ts)")
    assert.equal("nil\n", run { name }.out)
    os.remove(name)
  end)

  it("needs its code", function()
    assert.equal(2, run { "-e" }.status)
  end)
end)

describe("tensus -l", function()
  it("names the global after the module, or as told", function()
    assert.equal("true\ttrue\n",
      run { "-l", "string", "-l", "s=string", "-e", "print(string == require 'string', s == string)" }.out)
  end)

  it("fails with status 1 when there is no such module", function()
    local r = run { "-l", "no_such_module" }
    assert.equal(1, r.status)
    assert.matches("module 'no_such_module' not found", r.err)
  end)
end)

describe("a script", function()
  local name
  before_each(function()
    name = program.script("#!/usr/bin/env tensus\nprint(arg[0] == ..., arg[1], arg[-1] ~= nil, select('#', ...), select(2, ...))")
  end)
  after_each(function() os.remove(name) end)

  it("gets its arguments in arg and in ...", function()
    assert.equal("false\ta b\ttrue\t2\t-e\n", run { name, "a b", "-e" }.out)
  end)

  it("may stand behind --", function()
    assert.equal("false\tx\ttrue\t1\n", run { "--", name, "x" }.out)
  end)

  it("comes from standard input with - or with nothing", function()
    assert.equal("-\tb\tb\n", run { "-", "b", input = "print(arg[0], arg[1], ...)" }.out)
    assert.equal("3\n", run { input = "print(3)" }.out)
  end)

  it("says where standard input is wrong", function()
    local r = run { input = "\n\nx x" }
    assert.equal(1, r.status)
    assert.matches("^tensus: stdin:3:", r.err)
  end)

  it("that is not there gives status 1", function()
    local r = run { "/no/such/file.lua" }
    assert.equal(1, r.status)
    assert.matches("cannot open /no/such/file.lua", r.err)
  end)

  it("ends with what os.exit says", function()
    assert.equal(7, run { "-e", "os.exit(7)" }.status)
    assert.equal(0, run { "-e", "os.exit(true, true)" }.status)
  end)

  it("must be text", function()
    local code = program.script("")
    local file = io.open(code, "wb")
    file:write(string.dump(function() print "bytecode" end))
    file:close()
    local r = run { code }
    os.remove(code)
    assert.equal(1, r.status)
    assert.matches("attempt to load a binary chunk", r.err)
  end)
end)

describe("load, loadfile and dofile", function()
  it("refuse bytecode", function()
    local r = run { "-e", [[
      local code = string.dump(function() return 1 end)
      print(load(code))
      print(pcall(load, code, "x", "b"))
      print(load(code, "x", "bt"))
      local name = os.tmpname()
      local file = io.open(name, "wb") file:write(code) file:close()
      print(loadfile(name), (pcall(dofile, name)))
      os.remove(name)]] }
    assert.equal(0, r.status)
    assert.equal(3, select(2, r.out:gsub("attempt to load a binary chunk", "")) + 
      select(2, r.out:gsub("only text chunks", "")))
    assert.matches("nil\tfalse\n$", r.out)
  end)

  it("still take text, an environment and a function", function()
    local r = run { "-e", [[
      print(load("return ...")(4), load("x = 1; return x", "c", "t", {})())
      local n = 0
      print(load(function() n = n + 1 return ({"return ", "7"})[n] end)())
      print(pcall(load("return y.z", "=c", nil, nil)))]] }
    assert.equal("4\t1\n7\n", r.out:sub(1, 6))
    assert.matches("false\t", r.out)
  end)
end)

describe("bad usage", function()
  it("names the option that was probably meant", function()
    local r = run { "--devcie=cpu" }
    assert.equal(2, r.status)
    assert.matches("unknown option %-%-devcie=cpu; did you mean %-%-device%?", r.err)
    assert.matches("did you mean %-%-seed", run { "--sed=1" }.err)
  end)

  it("gives no hint where nothing is near", function()
    local r = run { "--something-else" }
    assert.equal(2, r.status)
    assert.is_nil(r.err:find("did you mean", 1, true))
    assert.equal(2, run { "--" .. ("x"):rep(5000) }.status)
    assert.equal(2, run { "--=3" }.status)
  end)

  it("runs nothing at all", function()
    assert.equal("", run { "-e", "print(1)", "--nonsense" }.out)
  end)

  it("is a short option that is unknown or has something glued to it", function()
    assert.equal(2, run { "-q" }.status)
    assert.equal(2, run { "-iv" }.status)
  end)

  it("is a value that is missing, wrong or too much", function()
    assert.equal(2, run { "--threads" }.status)
    assert.equal(2, run { "--threads=" }.status)
    assert.equal(2, run { "--threads=two", "-e", "print(1)" }.status)
    assert.equal(2, run { "--version=3" }.status)
    local r = run { "--dtype=f99", "-e", "print(1)" }
    assert.equal(2, r.status)
    assert.equal("", r.out)
    assert.matches("%-%-dtype=f99: ", r.err)
  end)
end)

describe("defaults", function()
  it("are set before the code that follows", function()
    assert.equal("f64\n", run { "--dtype=f64", "-e", "print(ts.zeros(2).dtype)" }.out)
    assert.equal("2\n", run { "--threads=2", "-e", "print(ts.get_num_threads())" }.out)
    local code = "print(ts.rand(3))"
    assert.equal(run { "--seed=5", "-e", code }.out, run { "--seed=5", "-e", code }.out)
    assert.not_equal(run { "--seed=5", "-e", code }.out, run { "--seed=6", "-e", code }.out)
  end)
end)

describe("the environment", function()
  it("is read: LUA_INIT as code or as a file", function()
    assert.equal("9\n", run { "-e", "print(x)", env = "LUA_INIT='x = 9'" }.out)
    local name = program.script("x = 8")
    assert.equal("8\n", run { "-e", "print(x)", env = "LUA_INIT=@" .. name }.out)
    os.remove(name)
    assert.equal("5\n", run { "-e", "print(x)", env = "LUA_INIT='x = 4' LUA_INIT_5_4='x = 5'" }.out)
  end)

  it("that fails ends the program", function()
    local r = run { "-e", "print(1)", env = "LUA_INIT='error(\"bad\")'" }
    assert.equal(1, r.status)
    assert.matches("LUA_INIT:1: bad", r.err)
  end)

  it("is ignored after -E", function()
    local r = run { "-E", "-e", "print(x, package.path:find('nowhere'), os.getenv 'TENSUS_A', os.getenv 'TENSUS_B')",
      env = "LUA_INIT='x = 9' LUA_PATH=/nowhere TENSUS_A=1 TENSUS_B=2" }
    assert.equal("nil\tnil\tnil\tnil\n", r.out)
  end)
end)

describe("--version and --help", function()
  it("name tensus and its Lua, and which Lua that is", function()
    local r = run { "--version" }
    assert.equal(0, r.status)
    assert.matches("^tensus %d+%.%d+%.%d+\nLua 5%.4%.%d+ %(%l+%)\n", r.out)
    assert.equal(r.out, run { "-v" }.out)
  end)

  it("list every option", function()
    local r = run { "--help" }
    assert.equal(0, r.status)
    for row in io.lines("src/host/flags.def") do
      local letter, name = row:match("^FLAG%((.-), \"(.-)\"")
      if name and name ~= "" then
        assert.is_truthy(r.out:find("--" .. name, 1, true), name)
      elseif letter then
        assert.is_truthy(r.out:find("-" .. letter:sub(2, 2), 1, true), letter)
      end
    end
  end)

  it("tell what an op does", function()
    local r = run { "--help=matmul" }
    assert.equal(0, r.status)
    assert.matches("matmul", r.out)
  end)

  it("fail for an op that is not there", function()
    local r = run { "--help=no_such_op" }
    assert.equal(1, r.status)
    assert.matches("no_such_op", r.err)
  end)
end)

describe("-W", function()
  it("shows warnings, which are off without it", function()
    assert.matches("Lua warning: hi", run { "-W", "-e", "warn 'hi'" }.err)
    assert.equal("", run { "-e", "warn 'hi'" }.err)
  end)
end)

describe("standard output", function()
  it("may be closed by its reader: the end is quiet, with 0", function()
    local r = program.shell([["$T" -e 'while true do print(1) end' | head -n 1
      "$T" -e 'for i = 1, 1e6 do io.write(i, "\n") end; os.exit(3)' | true]])
    assert.equal("1\n", r.out)
    assert.equal("", r.err)
    r = program.shell([[{ "$T" -e 'while true do print(1) end'; echo $? >&2; } | head -n 1]])
    assert.equal("0\n", r.err)
  end)

  it("that is full is an error", function()
    local r = program.shell([["$T" -e 'print(1)' >/dev/full]])
    assert.equal(1, r.status)
    assert.matches("standard output", r.err)
  end)

  it("is not what another broken pipe is about", function()
    local r = run { "-e", [[
      local p = io.popen("true", "w")
      os.execute("sleep 0.1")
      local ok, message = true
      for i = 1, 10 do
        if ok then ok, message = p:write(("x"):rep(100000)) end
      end
      print(message)]] }
    assert.equal("Broken pipe\n", r.out)
    assert.equal(0, r.status)
  end)
end)
