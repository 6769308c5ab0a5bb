-- busted.lua: an output handler that prints failures and one count line.
--
--   busted --output=scripts/busted.lua FILE
--
-- The last line is `N passed, N failed`, and `, N pending` where tests were
-- left out; an error outside a test (a file that does not load, a broken
-- setup) counts as a failure.  scripts/test.sh adds the lines up.

local function place(trace)
  if not trace or not trace.short_src then return "" end
  return trace.short_src .. ":" .. (trace.currentline or 0) .. ": "
end

local function text(message)
  if type(message) == "string" then return message end
  if message == nil then return "an error without a message" end
  return require("pl.pretty").write(message)
end

return function()
  local busted = require "busted"
  local handler = require "busted.outputHandlers.base"()

  local function show(word, found)
    for _, f in ipairs(found) do
      print(word .. " " .. place(f.element.trace) .. f.name)
      print("  " .. text(f.message):gsub("\n", "\n  "))
    end
  end

  handler.suiteEnd = function()
    show("FAILED", handler.failures)
    show("ERROR", handler.errors)
    local line = string.format("%d passed, %d failed", handler.successesCount,
      handler.failuresCount + handler.errorsCount)
    if handler.pendingsCount > 0 then
      line = line .. string.format(", %d pending", handler.pendingsCount)
    end
    print(line)
    io.flush()
    return nil, true
  end

  busted.subscribe({ "suite", "end" }, handler.suiteEnd)
  return handler
end
