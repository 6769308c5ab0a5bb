--- program.run{args..., input=, env=, shell=}: runs tensus as a shell does.
-- Returns {status=, out=, err=}.  `input` is its standard input (default:
-- empty), `env` goes before the command ("LUA_INIT=..."), `before` is a command
-- that starts it ("timeout 1").
local program = { path = os.getenv("TENSUS") or arg[-1] or "build/tensus" }

local function quote(text)
  return "'" .. tostring(text):gsub("'", "'\\''") .. "'"
end

local function take(name)
  local file = assert(io.open(name, "rb"))
  local text = file:read("a")
  file:close()
  os.remove(name)
  return text
end

local function give(text)
  local name = os.tmpname()
  local file = assert(io.open(name, "wb"))
  file:write(text)
  file:close()
  return name
end

--- program.shell(line, input): runs a line of sh; `$T` is the program.
function program.shell(line, input)
  local from, out, err = give(input or ""), os.tmpname(), os.tmpname()
  local _, _, status = os.execute(string.format("T=%s; export T; { %s\n} <%s >%s 2>%s",
    quote(program.path), line, from, out, err))
  os.remove(from)
  return { status = status, out = take(out), err = take(err) }
end

function program.run(options)
  local words = {}
  for i, word in ipairs(options) do words[i] = quote(word) end
  return program.shell(string.format("%s %s \"$T\" %s", options.env or "",
    options.before or "", table.concat(words, " ")), options.input)
end

--- program.script(text): a file with that text; remove it with os.remove.
program.script = give

return program
