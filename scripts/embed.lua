-- embed.lua: the Lua libraries as one C file, on standard output.
--
--   lua scripts/embed.lua lua/check.lua lua/nn/init.lua ...
--
-- lua/nn/linear.lua becomes the module tensus.nn.linear, lua/nn/init.lua
-- tensus.nn.  A file that does not compile stops the build here, with its line.
-- src/border/embedded.h declares the table.

local quoted = { ["\\"] = "\\\\", ['"'] = '\\"', ["\n"] = "\\n",
  ["\t"] = "\\t", ["\r"] = "\\r", ["?"] = "\\?" } -- ??x is a trigraph in C11

local function escape(byte)
  return quoted[byte] or string.format("\\%03o", byte:byte())
end

-- A string literal a line, so that the file can be read next to its source.
local function write_text(out, index, text)
  out:write("static const char text_", index, "[] =\n")
  for line in text:gmatch("[^\n]*\n?") do
    if line ~= "" then
      out:write('    "', (line:gsub('[%c\\"?\128-\255]', escape)), '"\n')
    end
  end
  out:write('    "";\n\n')
end

local function module_name(path)
  local name = path:gsub("^%./", ""):gsub("^lua/", ""):gsub("%.lua$", "")
  name = name:gsub("/init$", ""):gsub("/", ".")
  return name == "init" and "tensus" or "tensus." .. name
end

local function read(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read("a")
  file:close()
  local chunk = "@" .. path:gsub("^lua/", "tensus/")
  assert(load(text, "@" .. path, "t"))
  return { name = module_name(path), chunk = chunk, text = text }
end

local modules = {}
for i = 1, #arg do modules[i] = read(arg[i]) end
table.sort(modules, function(a, b) return a.name < b.name end)
for i = 2, #modules do
  if modules[i].name == modules[i - 1].name then
    error("two files are the module " .. modules[i].name, 0)
  end
end

local out = io.stdout
out:write("/* Written by scripts/embed.lua. */\n")
out:write('#include "border/embedded.h"\n\n')
for i, module in ipairs(modules) do write_text(out, i, module.text) end
out:write("const Embedded tensus_embedded[] = {\n")
for i, module in ipairs(modules) do
  out:write(string.format('    {"%s", "%s", text_%d, sizeof text_%d - 1},\n',
    module.name, module.chunk, i, i))
end
out:write("    {NULL, NULL, NULL, 0}};\n")
