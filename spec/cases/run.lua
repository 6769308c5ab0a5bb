--- Runs a file of cases: real faults of tensor libraries, as small inputs with
-- the right answer.
--
--   tensus spec/cases/run.lua FILE.json [FILES_DIR]
--
-- One line a case, `ok` or `FAIL` with the reason, and at last
-- `N passed, N failed`; the status is 1 when one failed.  A case that cannot be
-- translated fails.  FILES_DIR holds the files that cases of kind io name; it
-- is `files` beside FILE unless given.
-- As a module (`require "spec.cases.run"`) it gives the function
--   run(path, folder, report)   report(case, nil or why) for each case
local json = require "dkjson"
local files = require "spec.cases.files"
local program = require "spec.cases.program"
local values = require "spec.cases.values"
local words = require "spec.cases.words"

local judges = {}

local function codes(list) return table.concat(list or {}, " ") end

-- Every named value is what it should be.
local function values_differ(log, expect, tolerance)
  for name, record in pairs(expect.values or {}) do
    local why = values.difference(log.values[name], record, tolerance)
    if why then return name .. ": " .. why end
  end
  return nil
end

function judges.values(log, expect, tolerance)
  if log.failure then return log.failure end
  return values_differ(log, expect, tolerance)
end

function judges.errors(log, expect, tolerance)
  if expect.whole then
    return not log.failure and "raises nowhere" or nil
  end
  if log.failure then return log.failure end
  if codes(log.errors) ~= codes(expect.errors) then
    return "raises " .. codes(log.errors) .. ", not " .. codes(expect.errors)
  end
  return values_differ(log, expect, tolerance)
end

function judges.any_of(log, expect, tolerance)
  local reasons = {}
  for k, option in ipairs(expect.options) do
    local why = judges[option.type](log, option, tolerance)
    if not why then return nil end
    reasons[k] = why
  end
  return table.concat(reasons, "; or ")
end

local runners = {}

function runners.torch_program(case)
  local judge = judges[case.expect.type]
  if not judge then return "no judge for " .. tostring(case.expect.type) end
  return judge(program.run(case.input), case.expect, case.tolerance)
end

function runners.lua(case)
  return words.stdout(case) or words.run(case)
end

local function in_words(case, _, by_id)
  if not words.has(case.id) then return "steps in words: not translated" end
  return words.run(case, function(id, device)
    if not by_id[id] then return nil end -- another file of cases
    values.device = device
    local ok, why = pcall(runners.torch_program, by_id[id])
    values.device = nil
    return why or not ok and "failed"
  end)
end

runners.lua_tensor = in_words
runners.lua_tensor_cuda = in_words
runners.math = in_words
runners.io_read = files.read
runners.io_write = files.write

local function read(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read("a")
  file:close()
  local list, _, why = json.decode(text, 1, json.null)
  return list or error(path .. ": " .. tostring(why), 0)
end

local function run(path, folder, report)
  folder = folder or path:gsub("[^/]*$", "") .. "files"
  local list, by_id = read(path), {}
  for _, case in ipairs(list) do by_id[case.id] = case end
  for _, case in ipairs(list) do
    local runner = runners[case.input.runner]
    local ok, why = pcall(function()
      if not runner then return "no runner " .. tostring(case.input.runner) end
      return runner(case, folder, by_id)
    end)
    report(case, not ok and tostring(why) or why)
  end
end

if ... == "spec.cases.run" then return run end

local path, folder = ...
if not path then
  io.stderr:write("usage: tensus spec/cases/run.lua FILE.json [FILES_DIR]\n")
  os.exit(2)
end
local passed, failed = 0, 0
run(path, folder, function(case, why)
  if why then failed = failed + 1 else passed = passed + 1 end
  print((why and "FAIL " or "ok   ") .. case.id .. "  " .. case.title
    .. (why and ": " .. why or ""))
end)
print(string.format("%d passed, %d failed", passed, failed))
os.exit(failed == 0 and 0 or 1, true)
