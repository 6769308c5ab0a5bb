-- What the build leaves behind: names that show, names that do not, size.
local program = require "spec.cli.program"
local folder = program.path:match("^(.*)/") or "."

local function lines(command)
  local pipe = assert(io.popen(command))
  local list = {}
  for line in pipe:lines() do list[#list + 1] = line end
  assert(pipe:close(), command)
  return list
end

-- The names a library defines for others: nm's third column.
local function names(options, file)
  local list = {}
  for _, line in ipairs(lines("nm " .. options .. " " .. folder .. "/" .. file)) do
    local kind, name = line:match("^%x+ (%u) ([^%s@]+)")
    if kind then list[#list + 1] = name end
  end
  return list
end

local function undefined(options, file, pattern)
  local n = 0
  for _, line in ipairs(lines("nm " .. options .. " -u " .. folder .. "/" .. file)) do
    if line:match(pattern) then n = n + 1 end
  end
  return n
end

local function only(list, ...)
  assert.is_true(#list > 0)
  for _, name in ipairs(list) do
    local known = false
    for _, pattern in ipairs { ... } do known = known or name:match(pattern) end
    assert.is_truthy(known, name)
  end
end

describe("libtensus", function()
  it("shows tensus_* and nothing else", function()
    only(names("-D --defined-only", "libtensus.so"), "^tensus_")
    only(names("-g --defined-only", "libtensus.a"), "^tensus_")
  end)

  it("has its Lua inside", function()
    -- The system's static Lua cannot go into a shared library.
    if program.run { "--version" }.out:match("%(system%)") then return end
    assert.equal(0, undefined("-D", "libtensus.so", " lua_"))
  end)
end)

describe("the module for a host's own Lua", function()
  it("shows luaopen_tensus and tensus_*", function()
    only(names("-D --defined-only", "tensus.so"), "^tensus_", "^luaopen_tensus$")
    only(names("-g --defined-only", "libtensus_lua.a"), "^tensus_", "^luaopen_tensus$")
  end)

  it("leaves Lua to the host", function()
    assert.is_true(undefined("-D", "tensus.so", " lua_") > 10)
    assert.is_true(undefined("", "libtensus_lua.a", " lua_") > 10)
  end)

  it("loads into a plain Lua", function()
    local r = program.shell(string.format([[%s/lua-bootstrap /dev/stdin <<'END'
      package.cpath = "%s/?.so"
      print(require("tensus").ones(2):sum():item())
END]], folder, folder))
    assert.equal("", r.err)
    assert.equal("2.0\n", r.out)
  end)
end)

describe("the program", function()
  it("exports Lua to C modules, and none of the core", function()
    local list = names("-D --defined-only", "tensus")
    only(list, "^lua_", "^luaL_", "^luaopen_", "^tensus_", "^_", "^data_start$",
      "^environ$", "^std%l+$")
    assert.is_true(#list > 100)
  end)

  it("needs no BLAS, CUDA or MPI to start", function()
    for _, line in ipairs(lines("ldd " .. program.path)) do
      assert.is_nil(line:match("blas") or line:match("cuda") or line:match("libmpi"), line)
    end
  end)

  -- A sanitizer's program is ten times as large.
  local sized = (os.getenv "SANITIZE" or "") == "" and it or pending
  -- The aim is 3 MB; see the note on sizes in src/cpu/README.md.
  sized("is under 4 MB without debug information", function()
    local name = os.tmpname()
    assert.is_true(os.execute("strip -o " .. name .. " " .. program.path))
    local file = io.open(name, "rb")
    local size = file:seek("end")
    file:close()
    os.remove(name)
    assert.is_true(size < 4e6, size .. " bytes")
  end)
end)
