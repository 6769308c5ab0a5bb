-- Ctrl-C: a loop stops wherever it runs, and the process says 130.
local program = require "spec.cli.program"

local function interrupted(code)
  return program.run { "-e", code, before = "timeout --preserve-status -k 5 -s INT 0.3" }
end

local endless = {
  ["a loop"] = "while true do end",
  ["a loop that pcalls"] = "while true do pcall(function() while true do end end) end",
  ["a coroutine"] = "coroutine.wrap(function() while true do end end)()",
  ["a coroutine that pcalls"] =
    "coroutine.wrap(function() while true do pcall(function() while true do end end) end end)()",
  ["a resumed coroutine"] =
    "while true do coroutine.resume(coroutine.create(function() while true do end end)) end",
  ["a coroutine in a coroutine"] =
    "coroutine.wrap(function() coroutine.wrap(function() while true do end end)() end)()",
  ["many short coroutines"] =
    "while true do coroutine.wrap(function() coroutine.yield(1) end)() end",
  ["a generator and its user"] =
    "local g = coroutine.wrap(function() while true do coroutine.yield(1) end end) while true do g() end",
  ["a closing variable"] =
    "local co = coroutine.create(function() local x <close> = setmetatable({}, {__close = function() while true do end end}) coroutine.yield() end) coroutine.resume(co) coroutine.close(co)",
  ["waiting for input"] = "os.execute('true') local p = io.popen('sleep 5') p:read() while true do end",
}

-- ThreadSanitizer holds signals back until the next call of the C library: a
-- loop makes none.
local stops = os.getenv("SANITIZE") == "thread" and pending or describe

stops("Ctrl-C stops", function()
  for name, code in pairs(endless) do
    it(name, function()
      local r = interrupted(code)
      assert.equal(130, r.status)
      assert.matches("interrupted", r.err)
      assert.equal("", r.out)
    end)
  end

  it("a script, and tells its line", function()
    local r = interrupted("\n\nwhile true do end")
    assert.matches("^tensus: %(command line%):3: interrupted\nstack traceback:", r.err)
  end)

  it("a process that does not answer, the second time", function()
    -- A finaliser runs without hooks: nothing in Lua can stop it.  A shell's
    -- background job would ignore SIGINT.
    local r = program.shell([[env --default-signal=INT "$T" -e '
      setmetatable({}, {__gc = function() while true do end end})
      collectgarbage()' &
      sleep 0.3; kill -INT $!; sleep 0.3; kill -INT $!
      wait $!; echo $?]])
    assert.equal("130\n", r.out)
  end)

  it("nothing that a shell has put into the background", function()
    local r = program.shell([["$T" -e '
      local t = os.clock() repeat until os.clock() > t + 0.3' &
      sleep 0.1; kill -INT $!; wait $!; echo $?]])
    assert.equal("0\n", r.out)
  end)
end)

-- The functions that pass control between coroutines are our own: what they do
-- is compared with the plain Lua that the build made for itself.
describe("coroutines", function()
  local bootstrap = program.path:gsub("tensus$", "lua-bootstrap")

  local function same(code)
    local name = program.script(code)
    local stock = program.shell(bootstrap .. " " .. name)
    local ours = program.run { name }
    os.remove(name)
    assert.equal("", stock.err)
    assert.equal(stock.out, ours.out)
    assert.equal("", ours.err)
  end

  it("pass values and errors as in stock Lua", function()
    same [[
      local co = coroutine.create(function(a, b)
        local c, d = coroutine.yield(a + b, "first")
        error({c, d})
      end)
      print(coroutine.resume(co, 1, 2))
      local ok, e = coroutine.resume(co, 3, 4)
      print(ok, e[1], e[2], coroutine.status(co))
      print(coroutine.resume(co))
      local f = coroutine.wrap(function() error("oh") end)
      print(pcall(f))
      print(pcall(f))
      print(pcall(coroutine.wrap(function() error({}) end)) == false)
      print(pcall(coroutine.resume, 3))
      print(pcall(coroutine.wrap, 3))
      print(pcall(function() coroutine.resume(3) end))
      print(select("#", coroutine.resume(coroutine.create(function(...) return ... end), nil, nil)))
      print(coroutine.resume(coroutine.running()))
      print(pcall(coroutine.wrap(function() pcall(coroutine.yield, 1) error "late" end)))]]
  end)

  it("close as in stock Lua", function()
    same [[
      local closed
      local function open(message)
        local co = coroutine.create(function()
          local x <close> = setmetatable({}, {__close = function()
            closed = true
            if message then error(message, 0) end
          end})
          coroutine.yield()
        end)
        coroutine.resume(co)
        return co
      end
      local co = open()
      print(coroutine.close(co), closed, coroutine.status(co))
      print(coroutine.close(open("in the closer")))
      print(coroutine.close(co))
      print(pcall(coroutine.close, coroutine.running()))
      print(pcall(coroutine.close, nil))
      local f = coroutine.wrap(function()
        local x <close> = setmetatable({}, {__close = function() error("second", 0) end})
        error("first", 0)
      end)
      print(pcall(f))]]
  end)

  it("nest as deep as in stock Lua, but for what the program itself takes", function()
    local name = program.script [[
      local function deep(n)
        if n == 0 then return 0 end
        return 1 + coroutine.wrap(function() return deep(n - 1) end)()
      end
      local most = 0
      for n = 1, 300 do
        if pcall(deep, n) then most = n end
      end
      print(most)]]
    local stock = tonumber(program.shell(bootstrap .. " " .. name).out)
    local ours = tonumber(program.run { name }.out)
    os.remove(name)
    assert.is_true(stock > 100)
    assert.is_true(ours >= stock - 2)
  end)
end)
