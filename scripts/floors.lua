-- floors.lua: does every #include go downwards?
--
--   lua scripts/floors.lua        status 1 and one line for each that does not
--
-- A file may include its own folder and lower floors; cpu/ and cuda/ never each
-- other; of cpu/, those above see cpu.h alone.  A table includes at most other
-- tables.  A header from outside has an owner, so a dependency has one door.

local FLOORS = { ground = 1, value = 2, rows = 3, device = 4, cpu = 5,
  cuda = 5, tensor = 6, ops = 7, grad = 8, compound = 9, border = 10,
  host = 11 }
local PUBLIC = 9.5 -- src/tensus.h, src/tensus_lua.h: for border and host

-- The C library's headers that tell nothing of the system: anyone's.
local FREE = {}
for name in ([[assert ctype errno fenv float inttypes limits math stdalign
  stdarg stdatomic stdbool stddef stdint stdlib string]]):gmatch("%S+") do
  FREE[name .. ".h"] = true
end

-- Everything else: the header (a pattern) and who may include it (patterns).
local OWNERS = {
  { "^lua%.h$", "^src/border/", "^src/host/", "^src/tensus_lua%.h$" },
  { "^lauxlib%.h$", "^src/border/", "^src/host/" },
  { "^lualib%.h$", "^src/border/", "^src/host/" },
  -- Elsewhere than in compounds and host only to format into a buffer.
  { "^stdio%.h$", "^src/ground/status%.c$", "^src/device/device%.c$",
    "^src/tensor/context%.c$", "^src/border/table%.c$", "^src/compound/",
    "^src/host/", "^cuda/" },
  { "^pthread%.h$", "^src/ground/pool%.c$" },
  { "^dlfcn%.h$", "^src/ground/library%.c$" },
  -- A context asks the system for processors and a seed.
  { "^unistd%.h$", "^src/ground/", "^src/tensor/context%.c$", "^src/host/",
    "^cuda/fake/" },
  { "^time%.h$", "^src/ground/", "^src/tensor/context%.c$", "^src/compound/",
    "^src/border/", "^src/host/", "^cuda/" },
  { "^signal%.h$", "^src/ground/pool%.c$", "^src/ground/library%.c$",
    "^src/host/", "^cuda/fake/" },
  { "^poll%.h$", "^src/host/" },
  { "^termios%.h$", "^src/host/" },
  { "^sys/", "^src/ground/", "^src/compound/", "^src/host/", "^cuda/fake/" },
  { "^immintrin%.h$", "^src/cpu/vector%.h$", "^src/cpu/halves%.h$" },
  { "^arm_neon%.h$", "^src/cpu/vector%.h$" },
  { "^cJSON%.h$", "^src/compound/safetensors%.c$" },
  { "^png%.h$", "^src/compound/png%.c$" },
  { "^jpeglib%.h$", "^src/compound/jpeg%.c$" },
  { "^gif_lib%.h$", "^src/compound/gif%.c$" },
  { "^zlib%.h$", "^src/compound/npz%.c$", "^src/compound/idx%.c$" },
  { "^histedit%.h$", "^src/host/line%.c$" },
  { "^mpi%.h$", "^src/compound/mpi%.c$" },
  { "^cu%w*", "^cuda/" },
  { "^nccl", "^cuda/" },
  -- The launch header and its fake are C++ and live in one folder.
  { "^%l[%l_]*$", "^cuda/" },
  { "^setjmp%.h$", "^cuda/fake/" },
  { "^ucontext%.h$", "^cuda/fake/" },
  { "^sanitizer/", "^cuda/fake/" },
}

-- folder, floor of a path; nil for what is on no floor.
local function place(path)
  if path:match("^src/[^/]+%.h$") then return "src", PUBLIC end
  local folder = path:match("^src/([^/]+)/") or path:match("^(cuda)/")
  return folder, FLOORS[folder]
end

local function exists(path)
  local file = io.open(path, "rb")
  if file then file:close() end
  return file ~= nil
end

-- What "name" means in a file of directory dir.
local function resolve(dir, name)
  for _, root in ipairs { dir, "src/", "cuda/", "cuda/fake/", "" } do
    local path = (root .. name):gsub("[^/]+/%.%./", "")
    if exists(path) then return path end
  end
  return nil
end

local function base(path) return path:match("[^/]+$") end

-- Why `from` must not include the file `to`, or nil.
local function against_floors(from, to)
  local folder, floor = place(from)
  local target, below = place(to)
  if from:match("%.def$") and not to:match("%.def$") then
    return "a table includes tables only"
  end
  if folder == target then return nil end
  if not below then return "which is on no floor" end
  if below > floor then return "which is above" end
  if below == floor then return "which is beside" end
  if target == "cpu" and base(to) ~= "cpu.h" then
    return "of cpu/, cpu.h alone is for others"
  end
  return nil
end

-- Why `from` must not include <name>, or nil.
local function against_owners(from, name)
  if from:match("%.def$") then return "a table includes tables only" end
  if FREE[name] then return nil end
  for _, row in ipairs(OWNERS) do
    if name:match(row[1]) then
      for i = 2, #row do
        if from:match(row[i]) then return nil end
      end
      return "which has another owner"
    end
  end
  return "which has no owner (see OWNERS in scripts/floors.lua)"
end

local function label(path)
  local _, floor = place(path)
  return floor and string.format("%s (%g)", base(path), floor) or path
end

-- Calls report(line, what, why) for each wrong include; returns their number.
local function check(path, report)
  local dir, line, count = path:match("^.*/"), 0, 0
  for text in io.lines(path) do
    line = line + 1
    local name = text:match('^%s*#%s*include%s+"([^"]+)"')
    local system = text:match("^%s*#%s*include%s+<([^>]+)>")
    if name then
      count = count + 1
      local to = resolve(dir, name)
      local why = to and against_floors(path, to) or
        not to and against_owners(path, name)
      if why then report(line, to and label(to) or name, why) end
    elseif system then
      count = count + 1
      local why = against_owners(path, system)
      if why then report(line, "<" .. system .. ">", why) end
    end
  end
  return count
end

local files, includes, wrong = 0, 0, 0
local list = io.popen("find src cuda -type f 2>/dev/null | sort")
for path in list:lines() do
  local folder, floor = place(path)
  if path:match("%.[ch]u?$") or path:match("%.cpp$") or path:match("%.def$") then
    if not floor then
      wrong = wrong + 1
      print(path .. ":1: " .. tostring(folder) .. " is no floor")
    else
      files = files + 1
      includes = includes + check(path, function(line, what, why)
        wrong = wrong + 1
        print(string.format("%s:%d: %s includes %s, %s", path, line,
          label(path), what, why))
      end)
    end
  end
end
list:close()
print(string.format("floors: %d files, %d includes, %d wrong", files, includes,
  wrong))
os.exit(wrong == 0 and files > 0)
