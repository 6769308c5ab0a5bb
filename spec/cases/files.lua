--- Cases about files: what is read, what is refused, what is written.
--   files.read(case, folder)    nil, or why a file is not as it should be
--   files.write(case, folder)
local ts = require "tensus"
local program = require "spec.cases.program"
local values = require "spec.cases.values"

local files = {}

local exact = { mode = "exact" }

-- An image as {h,w,4} of u8, whatever it was read as.
local function rgba(x)
  if x.dtype ~= "u8" then x = (x / 257):round():to("u8") end
  local h, w, c = x:size()
  if c == 4 then return x end
  local color = c < 3 and x[{ {}, {}, { 1, 1 } }]:expand(h, w, 3)
    or x[{ {}, {}, { 1, 3 } }]
  local alpha = c == 2 and x[{ {}, {}, { 2, 2 } }]
    or ts.full({ h, w, 1 }, 255, { dtype = "u8" })
  return ts.cat({ color, alpha }, 3)
end

local function same_image(x, pixels)
  return values.difference(rgba(x), { dtype = "uint8", data = pixels,
    shape = { #pixels, #pixels[1], 4 } }, exact)
end

local function same_frames(x, frames)
  for k, pixels in ipairs(frames) do
    local why = same_image(x[k], pixels)
    if why then return "frame " .. k .. ": " .. why end
  end
  return #x ~= #frames and #x .. " frames" or nil
end

local function same_tensors(found, tensors)
  for name, record in pairs(tensors) do
    local why = values.difference(found[name], record, exact)
    if why then return name .. ": " .. why end
  end
  return nil
end

local function same_file(found, expect)
  if expect.tensors then return same_tensors(found, expect.tensors) end
  if expect.frames_rgba8 then return same_frames(found, expect.frames_rgba8) end
  if expect.rgba8 then return same_image(found, expect.rgba8) end
  return values.difference(found, expect, exact)
end

local function refused(ok, expect)
  if ok then return "was read; " .. expect.error .. " is due" end
  local code = ts.errinfo().code
  return code ~= expect.error and code .. ", not " .. expect.error or nil
end

local function check(path, expect)
  local ok, found = pcall(ts.load, path)
  if expect.result == "error" then return refused(ok, expect) end
  if not ok then return tostring(found) end
  return same_file(found, expect)
end

function files.read(case, folder)
  for _, name in ipairs(case.input.files) do
    local why = check(folder .. "/" .. name, case.expect.files[name])
    if why then return name .. ": " .. why end
  end
  return nil
end

-- ---- writing ----

local function bytes_of(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read("a")
  file:close()
  return text
end

-- Reads back equal, and the header ends on a multiple of 64.
local function check_npy(path, x)
  ts.save(path, x)
  local text = bytes_of(path)
  local length = string.unpack("<I2", text, 9)
  if (10 + length) % 64 ~= 0 then return "the header ends at " .. 10 + length end
  if not text:find("'fortran_order': False", 1, true) then
    return "not in C order"
  end
  return not ts.load(path):equal(x) and "reads back otherwise" or nil
end

local function check_safetensors(path, tensors)
  ts.save(path, tensors)
  local back = ts.load(path)
  for name, x in pairs(tensors) do
    if not back[name] or not back[name]:equal(x) then
      return name .. " reads back otherwise"
    end
  end
  return nil
end

local function write_step(step, log)
  local name = step.save_npy or step.save_safetensors
  local path = os.tmpname()
  os.remove(path)
  path = path .. name:match("%.%w+$")
  local why
  if step.save_npy then
    why = check_npy(path, log.values[step.tensor])
  else
    local tensors = {}
    for _, at in ipairs(step.tensors) do tensors[at] = log.values[at] end
    why = check_safetensors(path, tensors)
  end
  os.remove(path)
  return why
end

function files.write(case)
  local make, save = {}, {}
  for _, step in ipairs(case.input.steps) do
    local writes = step.save_npy or step.save_safetensors
    table.insert(writes and save or make, step)
  end
  local log = program.run { tensors = case.input.tensors, steps = make }
  if log.failure then return log.failure end
  for _, step in ipairs(save) do
    local why = write_step(step, log)
    if why then return why end
  end
  return nil
end

return files
