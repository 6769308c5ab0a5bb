-- Every row has on the device the values and slopes that it has on the CPU, in
-- whatever order the device runs its threads.  With the fake device there are
-- three orders (cuda/README.md); a missing barrier shows in one of them.
local plugin = os.getenv("TENSUS_CUDA_PLUGIN")
local program = os.getenv("TENSUS") or arg[-1] or "build/tensus"

local function is_there(path)
  local file = path and io.open(path)
  if file then file:close() end
  return file ~= nil
end

local function child(order, what)
  local command = string.format(
    "LAUNCH_ORDER=%s '%s' spec/cuda/devices.lua %s 2>&1", order, program, what)
  local pipe = assert(io.popen(command))
  local text = pipe:read("a")
  return pipe:close(), text
end

-- At least so many results, none of which differs.
local function agrees(order, what, least)
  local ok, text = child(order, what)
  assert.is_true(ok, text)
  local compared, differ = text:match("compared (%d+), differ (%d+)\n$")
  assert.is_truthy(compared, text)
  assert.equal("0", differ, text)
  assert.is_true(tonumber(compared) >= least, text)
end

describe("a CUDA device", function()
  if not is_there(plugin) then
    pending("no plug-in at TENSUS_CUDA_PLUGIN")
    return
  end
  for _, order in ipairs { "forward", "reverse", "shuffle:1" } do
    it("gives the values of the CPU, threads " .. order, function()
      agrees(order, "values", 4000)
    end)
    it("gives the slopes of the CPU, threads " .. order, function()
      agrees(order, "slopes", 1000)
    end)
  end
end)
