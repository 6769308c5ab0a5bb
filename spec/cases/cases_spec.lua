--- Every case of public.json holds, but for those that wait for what is not
-- built; one of them that begins to hold must leave the list.
local ts = require "tensus"
local run = require "spec.cases.run"

local waiting = {
  ["AUTO-17"] = "hooks",
  ["IO-06"] = "safetensors", ["IO-08"] = "safetensors",
  ["IO-10"] = "png", ["IO-12"] = "gif", ["IO-14"] = "safetensors",
  ["LUA-13"] = "a terminal for the prompt", ["LUA-15"] = "a threaded host",
}

if not ts.cuda.is_available() then
  waiting["GPU-01"], waiting["GPU-03"] = "a device", "a device"
end

describe("cases", function()
  local seen = {}
  run("spec/cases/public.json", nil, function(case, why)
    seen[case.id] = true
    local what = case.id .. "  " .. case.title
    if not waiting[case.id] then
      it(what, function() assert.is_nil(why) end)
    elseif why then
      pending(what .. " (" .. waiting[case.id] .. ")")
    else
      it(what, function() error "holds now: take it off the list" end)
    end
  end)

  it("has every case that waits", function()
    for id in pairs(waiting) do assert.is_true(seen[id] or false, id) end
  end)
end)
