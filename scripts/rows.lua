--- The table of rows in src/README.md, made from the rows.
--
--   tensus scripts/rows.lua           writes it between its two marks
--   tensus scripts/rows.lua --check   says whether it is as the rows are
local ts = require "tensus"

local path = "src/README.md"
local first, last = "<!-- rows: made by scripts/rows.lua -->", "<!-- end of rows -->"

local sets = {
  { "f16 bf16 f32 f64", "floats" }, { "f32 f64", "f32 f64" },
  { "i8 i16 i32 i64 u8", "integers" }, { "bool i8 i16 i32 i64 u8", "integers, bool" },
  { "bf16 f16 f32 f64 i8 i16 i32 i64 u8", "numbers" },
}

local function sorted(list)
  local copy = table.move(list, 1, #list, 1, {})
  table.sort(copy)
  return table.concat(copy, " ")
end

local names = {}
for _, set in ipairs(sets) do
  local list = {}
  for word in set[1]:gmatch "%S+" do list[#list + 1] = word end
  names[sorted(list)] = set[2]
end

local function dtypes(row)
  if row.float_plus then return "all, as floats" end
  if #row.dtypes == 10 then return "all" end
  return names[sorted(row.dtypes)] or table.concat(row.dtypes, " ")
end

local function line(row)
  local forms = row.inplace and not row.only_inplace and ", `_`" or ""
  return string.format("| `%s` | %s%s | %s |", row.signature:gsub("|", "\\|"),
    row.kind, forms, dtypes(row))
end

local function topics()
  local order, by = {}, {}
  for _, row in ipairs(ts.ops()) do
    if not by[row.topic] then
      by[row.topic] = {}
      order[#order + 1] = row.topic
    end
    table.insert(by[row.topic], row)
  end
  return order, by
end

local function text()
  local order, by = topics()
  local out = { first, "",
    "`_`: has a form in place. What an op does: `ts.help(name)`.", "" }
  for _, topic in ipairs(order) do
    out[#out + 1] = "### " .. topic
    out[#out + 1] = ""
    out[#out + 1] = "| call | kind | dtypes |"
    out[#out + 1] = "|---|---|---|"
    for _, row in ipairs(by[topic]) do out[#out + 1] = line(row) end
    out[#out + 1] = ""
  end
  out[#out + 1] = last
  return table.concat(out, "\n")
end

local function read()
  local file = assert(io.open(path, "rb"))
  local whole = file:read("a")
  file:close()
  return whole
end

local function replaced(whole)
  local a = assert(whole:find(first, 1, true), path .. " lacks the mark")
  local _, b = whole:find(last, a, true)
  return whole:sub(1, a - 1) .. text() .. whole:sub(assert(b) + 1)
end

local whole = read()
local made = replaced(whole)
if ... == "--check" then
  if made ~= whole then
    print(path .. " is not as the rows are: run tensus scripts/rows.lua")
    os.exit(1)
  end
elseif made ~= whole then
  local file = assert(io.open(path, "wb"))
  file:write(made)
  file:close()
end
