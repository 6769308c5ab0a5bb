--- Runs a `torch_program`: named tensors, then steps.
--   program.run(input)   {values=, errors=, failure=}
--     values    by name, as they are at the end
--     errors    the code of each step that was to raise ("none" if it did not)
--     failure   the message of a step that raised unasked; the rest is not run
-- A call that raises must leave every tensor as it was; one that does not is
-- reported as a failure.
local json = require "dkjson"
local ts = require "tensus"
local values = require "spec.cases.values"
local vocabulary = require "spec.cases.vocabulary"

local program = {}

local run_steps

local function lookup(scope, name)
  local base, field = name:match("^(.-)%.(%w+)$")
  local v = scope[base or name]
  if v == nil then error("no value " .. name, 0) end
  return field and v[field] or not field and v or nil
end

-- An argument as JSON holds it, with names looked up.
local function resolve(scope, v)
  if v == json.null then return v end
  if type(v) == "string" then
    if v:sub(1, 1) == "$" then return lookup(scope, v:sub(2)) end
    local ok, number = pcall(values.number, v)
    return ok and number or v
  end
  if type(v) ~= "table" then return v end
  if v.dtype_arg then return { dtype_name = values.dtype(v.dtype_arg) } end
  if v.int then return math.tointeger(v.int) end
  if v.float then return values.number(v.float) + 0.0 end
  local list = {}
  for k, item in pairs(v.tuple or v) do list[k] = resolve(scope, item) end
  return list
end

local function resolve_all(scope, list)
  local args = { n = #(list or {}) }
  for k, v in ipairs(list or {}) do args[k] = resolve(scope, v) end
  return args
end

local function closure(scope, fn)
  if not fn then return nil end
  return function(...)
    local inner = setmetatable({}, { __index = scope })
    for k, name in ipairs(fn.params) do inner[name] = select(k, ...) end
    run_steps(inner, fn.steps, nil)
    if type(fn["return"]) ~= "table" then return inner[fn["return"]] end
    local list = {}
    for k, name in ipairs(fn["return"]) do list[k] = inner[name] end
    return table.unpack(list)
  end
end

local do_step = {}

function do_step.call(scope, step)
  local kwargs = {}
  for name, v in pairs(step.kwargs or {}) do kwargs[name] = resolve(scope, v) end
  return vocabulary.call(step.call, resolve_all(scope, step.args), kwargs,
    closure(scope, step.fn))
end

-- The value now: later steps may write over it.
function do_step.get(scope, step)
  local v = lookup(scope, step.get)
  return ts.is_tensor(v) and v:detach():clone() or v
end

function do_step.getitem(scope, step)
  local x = resolve(scope, step.getitem)
  return x[vocabulary.index(x, resolve_all(scope, step.index))]
end

function do_step.setitem(scope, step)
  local x = resolve(scope, step.setitem)
  x[vocabulary.index(x, resolve_all(scope, step.index))] =
    resolve(scope, step.value)
end

do_step["with"] = function(scope, step, log)
  local mode = step["with"]:gsub("^torch%.", "")
  ts[mode](function() run_steps(scope, step.steps, log) end)
end

do_step["repeat"] = function(scope, step, log)
  for _ = 1, step["repeat"] do run_steps(scope, step.steps, log) end
end

local function kind_of(step)
  for name in pairs(do_step) do
    if step[name] ~= nil then return name end
  end
  error("a step of no known kind", 0)
end

-- Texts of all tensors in scope, to see that nothing has changed.
local function snapshot(scope)
  local all = {}
  for name, v in pairs(scope) do
    if ts.is_tensor(v) and v:numel() <= 10000 then
      all[name] = { v, v:detach():clone() }
    end
  end
  return all
end

local function unchanged(before)
  for name, pair in pairs(before) do
    local x, y = pair[1]:detach(), pair[2]
    local equal = x:eq(y):logical_or(x:ne(x):logical_and(y:ne(y)))
    if not equal:all():item() then
      error(name .. " has changed in a call that raised", 0)
    end
  end
end

local function expect_error(scope, step, log)
  local before = snapshot(scope)
  local ok, result = pcall(do_step[kind_of(step)], scope, step, log)
  if ok then
    log.errors[#log.errors + 1] = "none"
    if step.out then scope[step.out] = result end
    return
  end
  local info = ts.errinfo()
  local code = info and info.code or "unknown"
  -- A message that is not the core's own says what could not be translated.
  if not info or not tostring(result):find(info.message, 1, true) then
    code = tostring(result)
  end
  log.errors[#log.errors + 1] = code
  unchanged(before)
end

function run_steps(scope, steps, log)
  for _, step in ipairs(steps) do
    if step.expect_error and log then
      expect_error(scope, step, log)
    else
      local result = do_step[kind_of(step)](scope, step, log)
      if step.out then scope[step.out] = result end
    end
  end
end

function program.run(input)
  local scope, log = {}, { errors = {} }
  for name, record in pairs(input.tensors or {}) do
    scope[name] = values.tensor(record)
  end
  local ok, message = pcall(run_steps, scope, input.steps, log)
  if not ok then log.failure = tostring(message) end
  log.values = scope
  return log
end

return program
