--- progress(title, steps): a bar on a terminal, a line at the end elsewhere.
local BAR = 30

local progress = {}
progress.__index = progress

--- Is standard output a terminal?  Asked of the system's own test.
local function is_terminal()
  if os.getenv "TERM" == nil or os.getenv "TERM" == "dumb" then return false end
  return os.execute "test -t 1" == true
end

function progress:advance(text)
  self.done = self.done + 1
  if not self.draws then return end
  local filled = self.done * BAR // self.steps
  if filled == self.filled and self.done % 50 ~= 0 then return end
  self.filled = filled
  io.write("\r", self.title, "  [", ("#"):rep(filled),
    ("-"):rep(BAR - filled), "]  ", text, "\27[K")
  io.flush()
end

function progress:finish(text)
  if self.draws then io.write "\r\27[K" end
  print(self.title .. "  " .. text)
end

return function(title, steps)
  return setmetatable({
    title = title, steps = steps, done = 0, filled = -1,
    draws = is_terminal(),
  }, progress)
end
