--- Calls of every row with one or two things wrong: none crashes, hangs or
-- leaks; one that raises names its row and has left every operand as it was.
-- The seed is printed where something is found; MALFORMED_SEED sets it.
local ts = require "tensus"
local array = require "spec.support.array"
local cases = require "spec.support.cases"

local seed = tonumber(os.getenv("MALFORMED_SEED")) or os.time()

-- A generator of its own: cases restart the one of math.
local state
local function restart(n) state = n & 0xffffffff end
local function below(n) -- a whole number from 1 to n
  state = (state * 1664525 + 1013904223) & 0xffffffff
  return (state >> 8) % n + 1
end

local function released()
  local x = ts.ones(2)
  x:free()
  return x
end

local freed = released()

-- What stands where something else is due.
local oddities = {
  function() return nil end,
  function() return 0 / 0 end,
  function() return math.huge end,
  function() return -math.huge end,
  function() return 1.5 end,
  function() return 0 end,
  function() return -1 end,
  function() return below(9) - 5 end,
  function() return math.maxinteger end,
  function() return math.mininteger end,
  function() return 2 ^ 63 end,
  function() return 2 ^ 53 end,
  function() return 1 << 32 end,
  function() return "3" end,
  function() return "" end,
  function() return ("x"):rep(3000) end,
  function() return true end,
  function() return {} end,
  function() return { 1, nil, 3 } end,
  function() return { 1, { 2, 3 } } end,
  function() return { {}, {} } end,
  function() return { -1, -1 } end,
  function() return { 0, 2 } end,
  function() return { 1 << 31, 1 << 31, 1 << 31 } end,
  function() return { 1, 1 } end,
  function() return { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13 } end,
  function() return { "a", "b" } end,
  function() return { keepdims = true } end,
  function() return { dtype = "f33" } end,
  function() return { device = "cuda:99" } end,
  function() return { dim = 0 / 0 } end,
  function() return print end,
  function() return io.stdout end,
  function() return coroutine.create(print) end,
  function() return freed end,
  function() return ts.ones(3) end,
  function() return ts.ones(0, 3) end,
  function() return ts.ones {} end,
  function() return ts.ones(7, 1, 2) end,
  function() return ts.ones(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1) end,
  function() return ts.ones(2, 3, "bool") end,
  function() return ts.ones(2, 3, "i64") end,
  function() return ts.ones(2, 3, "u8") end,
  function() return ts.ones(3, 2, "f64") end,
  function() return ts.ones(2, 3, "bf16") end,
  function() return ts.idx { 0 } end,
  function() return ts.idx { -1, 99 } end,
  function() return ts.idx { math.maxinteger } end,
  function() return ts.ones(1):expand(2, 3) end,
  function() return ts.ones(3, 2):t() end,
  function() return ts.tensor { 0 / 0, math.huge } end,
}

local function oddity() return oddities[below(#oddities)]() end

-- ---- a pool of calls that are right ----

local pool = {}
for _, op in ipairs(ts.ops()) do
  for _, dtype in ipairs { "f32", "i64" } do
    local ok, list = pcall(cases.of, op, dtype)
    for _, c in ipairs(ok and list or {}) do
      pool[#pool + 1] = { op = op, case = c }
    end
    if ok and #list > 0 then break end
  end
end

-- Rows that only draw have no cases.
for _, name in ipairs { "rand", "randn", "randint", "randperm" } do
  pool[#pool + 1] = { op = ts.ops("^" .. name .. "$")[1],
    case = { args = { 2, 3 }, n = 2, options = {} } }
end

local function spoil_options(options)
  local spoilt = {}
  for k, v in pairs(options) do
    spoilt[k] = v
    if below(2) == 1 then spoilt[k] = oddity() end
  end
  if below(3) == 1 then spoilt.unheard_of = 1 end
  return spoilt
end

-- The arguments of a call with something wrong, and how many.
local function spoilt(entry)
  local c = entry.case
  local args = cases.tensors(c, array.tensor)
  local n = c.n
  if next(c.options) or below(8) == 1 then
    n = n + 1
    args[n] = below(3) == 1 and spoil_options(c.options) or c.options
  end
  for _ = 1, below(2) do
    local k = below(n + 1)
    args[k] = oddity()
    n = math.max(n, k)
  end
  if below(10) == 1 then n = below(n) - 1 end
  return args, n
end

-- ---- operands as they were ----

local function each_tensor(args, n, f)
  for k = 1, n do
    local v = args[k]
    if ts.is_tensor(v) then
      f(v)
    elseif type(v) == "table" then
      for _, item in pairs(v) do
        if ts.is_tensor(item) then f(item) end
      end
    end
  end
end

local function contents(args, n)
  local texts = {}
  each_tensor(args, n, function(x)
    if x ~= freed then texts[#texts + 1] = x:repr() end
  end)
  return table.concat(texts, "\n")
end

local function show(entry, args, n)
  local words = {}
  for k = 1, n do
    local v = args[k]
    words[k] = v == freed and "freed" or ts.is_tensor(v)
      and v.dtype .. array.show { v:size() } or tostring(v)
    if type(v) == "table" then
      local inner = {}
      for key, item in pairs(v) do
        inner[#inner + 1] = tostring(key) .. "=" .. (item == freed and "freed"
          or ts.is_tensor(item) and item.dtype .. array.show { item:size() }
          or tostring(item))
      end
      words[k] = "{" .. table.concat(inner, ",") .. "}"
    end
  end
  return string.format("seed %d: %s(%s)", seed, entry.op.name,
    table.concat(words, ", "))
end

local function names_it(message, op)
  local name = op.name:match "[^.]+$"
  return type(message) == "string" and message:find(name, 1, true) ~= nil
end

local function try(entry)
  local args, n = spoilt(entry)
  local before = contents(args, n)
  local f = cases.call(entry.op)
  local ok, message = pcall(f, table.unpack(args, 1, n))
  if ok then return end
  if not names_it(message, entry.op) then
    error(show(entry, args, n) .. " raises " .. tostring(message), 0)
  end
  if contents(args, n) ~= before then
    error(show(entry, args, n) .. " raised and changed an operand", 0)
  end
end

local function run(count)
  for _ = 1, count do try(pool[below(#pool)]) end
end

local function alive()
  collectgarbage()
  collectgarbage()
  return ts.memory().tensors
end

describe("malformed calls", function()
  local limit
  setup(function()
    limit = ts.limit()
    ts.limit { host = 1 << 29 }
    restart(seed)
    run(200) -- what is made once is made
  end)

  local function without_leak(count)
    local before = alive()
    run(count)
    assert.equal(before, alive(), "tensors left behind, seed " .. seed)
  end

  it("raise or work, in " .. #pool .. " shapes", function()
    without_leak(5000)
  end)
  it("raise or work, many #slow", function() without_leak(95000) end)
end)
