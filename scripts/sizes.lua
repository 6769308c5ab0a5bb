-- sizes.lua: function and file sizes, comments, contracts and asserts of the
-- core, by folder, beside what we aim at and beside an older commit.
--
--   lua scripts/sizes.lua [REVISION]     REVISION: HEAD~ when there is one
--
-- Reads C as it is formatted here: a function starts in the first column, its
-- body ends with a brace there.  Over the aim is a question in review, not a
-- failure: the status is 0 unless nothing could be read.

local AIM = { median = 12, p90 = 30, long = 2, limit = 60, file = 800,
  comments = { 20, 30 }, contracts = 70, asserts = 20 }

-- Marks for each line of a file: has it code, has it a comment?
local function mark(text)
  local lines, inside = {}, false
  for raw in (text .. "\n"):gmatch("(.-)\n") do
    local code, comment, rest = "", inside, raw
    rest = rest:gsub('\\.', "__"):gsub('"[^"]*"', '""'):gsub("'[^']*'", "''")
    while rest ~= "" do
      local from, to = rest:find(inside and "*/" or "/*", 1, true)
      if not inside then code = code .. rest:sub(1, (from or 0) - 1) end
      if not from then break end
      comment, inside, rest = true, not inside, rest:sub(to + 1)
    end
    local plain = code:gsub("//.*", "")
    lines[#lines + 1] = { raw = raw, code = plain, has_code = plain:match("%S"),
      has_comment = comment or plain ~= code, blank = not raw:match("%S") }
  end
  return lines
end

local NO_FUNCTION = { typedef = true, struct = true, enum = true, union = true,
  extern = true }

-- The functions defined in a file: name, line, length from brace to brace.
local function functions(lines)
  local found, head, start = {}, nil, nil
  local macro = false
  for i, line in ipairs(lines) do
    local code = line.code
    local in_macro = macro
    macro = (in_macro or code:match("^%s*#")) and line.raw:match("\\%s*$")
    if in_macro or code:match("^%s*#") then goto continue end
    if not start then
      if code:match("^[%a_]") then head = { text = "", line = i } end
      if head then head.text = head.text .. code end
      if head and head.text:match("[;}=]%s*$") then head = nil end
      if head and head.text:match("%)%s*{%s*$") then start = i end
      local one_line = head and head.text:match("%)%s*{.*}%s*$")
      if head and one_line then head = nil end
    elseif code:match("^}") then
      local name = head.text:match("([%a_][%w_]*)%s*%b()%s*{")
      if name then
        found[#found + 1] = { name = name, line = head.line, length = i - start }
      end
      head, start = nil, nil
    end
    ::continue::
  end
  return found
end

-- The prototypes of a header, and whether a comment stands at each: above it,
-- behind it, or above the group it is in.
local function contracts(lines)
  local found, told = {}, false
  for i, line in ipairs(lines) do
    local code, before = line.code, lines[i - 1]
    if line.blank then
      told = false
    elseif line.has_comment then
      told = true
    end
    local first = code:match("^([%a_][%w_]*)")
    if first and not NO_FUNCTION[first] and first ~= "static" and
        first ~= "INLINE" and code:match("^[%a_][%w_]*[ *]+[%w_ *]*%l[%w_ *]*%(") and
        not code:match("{") and not (before and before.raw:match("\\%s*$")) then
      found[#found + 1] = { name = code:match("([%a_][%w_]*)%s*%("), line = i,
        told = told }
    end
  end
  return found
end

local function measure(path, text)
  local lines = mark(text)
  local m = { path = path, lines = #lines - 1, code = 0, comment = 0,
    asserts = 0, functions = functions(lines), contracts = {} }
  for _, line in ipairs(lines) do
    if line.has_code then m.code = m.code + 1 end
    if line.has_comment then m.comment = m.comment + 1 end
    for _ in line.code:gmatch("assert[%a_]*%s*%(") do m.asserts = m.asserts + 1 end
    for _ in line.code:gmatch("never%s*%(") do m.asserts = m.asserts + 1 end
  end
  if path:match("%.h$") then m.contracts = contracts(lines) end
  return m
end

local function read(command)
  local pipe = io.popen(command .. " 2>/dev/null")
  local text = pipe:read("a")
  return pipe:close() and text or nil
end

-- The files of the working tree, or of a revision: a list of measures.
local function tree(revision)
  local find = "find src cuda -type f"
  if revision then find = "git ls-tree -r --name-only " .. revision .. " src cuda" end
  local all = {}
  for path in (read(find .. " | sort") or ""):gmatch("[^\n]+") do
    if path:match("%.[ch]$") or path:match("%.cu$") or path:match("%.cpp$") then
      local show = revision and "git show " .. revision .. ":" or "cat "
      all[#all + 1] = measure(path, read(show .. path) or "")
    end
  end
  return all
end

local function percentile(sorted, share)
  if #sorted == 0 then return 0 end
  return sorted[math.max(1, math.ceil(share * #sorted))]
end

local function share(part, whole) return whole > 0 and 100 * part / whole or 0 end

-- The figures of one set of files.
local function sum(files)
  local s = { files = #files, code = 0, comment = 0, asserts = 0, long = 0,
    told = 0, exported = 0, longest = 0 }
  local lengths = {}
  for _, m in ipairs(files) do
    s.code, s.comment = s.code + m.code, s.comment + m.comment
    s.asserts, s.longest = s.asserts + m.asserts, math.max(s.longest, m.lines)
    for _, f in ipairs(m.functions) do
      lengths[#lengths + 1] = f.length
      if f.length > AIM.limit then s.long = s.long + 1 end
    end
    for _, f in ipairs(m.contracts) do
      s.exported = s.exported + 1
      if f.told then s.told = s.told + 1 end
    end
  end
  table.sort(lengths)
  s.functions, s.median = #lengths, percentile(lengths, 0.5)
  s.p90 = percentile(lengths, 0.9)
  s.comments = share(s.comment, s.code + s.comment)
  s.contracts = share(s.told, s.exported)
  s.density = s.code > 0 and 1000 * s.asserts / s.code or 0
  return s
end

local ROW = "%-14s %5d %6d %5d %6d %4d %7.1f %7d %8.0f %9.0f %7.0f"

local function print_row(name, s)
  print(string.format(ROW, name, s.files, s.code, s.functions, s.median, s.p90,
    share(s.long, s.functions), s.longest, s.comments, s.contracts, s.density))
end

local function by_folder(files)
  local folders, names = {}, {}
  for _, m in ipairs(files) do
    local folder = m.path:match("^(.*)/")
    if not folders[folder] then
      folders[folder] = {}
      names[#names + 1] = folder
    end
    table.insert(folders[folder], m)
  end
  table.sort(names)
  for _, name in ipairs(names) do print_row(name, sum(folders[name])) end
end

local function print_outliers(files)
  for _, m in ipairs(files) do
    if m.lines > AIM.file then
      print(string.format("%s: %d lines", m.path, m.lines))
    end
    for _, f in ipairs(m.functions) do
      if f.length > AIM.limit then
        print(string.format("%s:%d: %s is %d lines", m.path, f.line, f.name,
          f.length))
      end
    end
    for _, f in ipairs(m.contracts) do
      if not f.told then
        print(string.format("%s:%d: %s has no contract", m.path, f.line, f.name))
      end
    end
  end
end

local files = tree()
print(string.format("%-14s %5s %6s %5s %6s %4s %7s %7s %8s %9s %7s", "folder",
  "files", "code", "funcs", "median", "p90", ">60, %", "longest", "comment%",
  "contract%", "asserts"))
by_folder(files)
print_row("all", sum(files))
local before = arg[1] or (read("git rev-parse -q --verify HEAD~") or ""):match("%x+")
if before then print_row(before:sub(1, 10), sum(tree(before))) end
print(string.format("%-14s %5s %6s %5s %6d %4d %7d %7d  %2d - %d %9d %7d", "aim",
  "", "", "", AIM.median, AIM.p90, AIM.long, AIM.file, AIM.comments[1],
  AIM.comments[2], AIM.contracts, AIM.asserts))
print_outliers(files)
os.exit(#files > 0)
