--- check: arguments of library functions, held against what is known.
-- Errors name the function and are raised at the caller's line.  Knows no
-- tensors beyond ts.is_tensor.
local check = {}

local function distance(a, b)
  local row = {}
  for j = 0, #b do row[j] = j end
  for i = 1, #a do
    local diagonal = row[0]
    row[0] = i
    for j = 1, #b do
      local cost = a:byte(i) == b:byte(j) and 0 or 1
      local best = math.min(row[j] + 1, row[j - 1] + 1, diagonal + cost)
      diagonal, row[j] = row[j], best
    end
  end
  return row[#b]
end

--- The known word nearest to `word`, nil when none is near.
function check.nearest(word, known)
  local best, least = nil, 3
  for candidate in pairs(known) do
    local d = distance(word, candidate)
    if d < least or (d == least and best and candidate < best) then
      best, least = candidate, d
    end
  end
  return best
end

local function kind(value)
  return math.type(value) == "integer" and "integer" or type(value)
end

local function fits(value, wanted)
  for word in wanted:gmatch "%S+" do
    if word == "any" or type(value) == word or kind(value) == word then
      return true
    end
  end
  return false
end

--- The options table, {} for nil; every key is in `known` and of the types
-- that it names ("number table").  `level` is that of the caller to blame.
function check.options(name, options, known, level)
  if options == nil then return {} end
  level = (level or 1) + 1
  if type(options) ~= "table" then
    error(("%s: options are a table, got a %s"):format(name, type(options)),
      level)
  end
  for key, value in pairs(options) do
    local wanted = known[key]
    if not wanted then
      local near = type(key) == "string" and check.nearest(key, known)
      error(("%s: unknown option %s%s"):format(name, tostring(key),
        near and "; did you mean " .. near .. "?" or ""), level)
    end
    if not fits(value, wanted) then
      error(("%s: option %s is a %s; %s is due"):format(name, key,
        kind(value), (wanted:gsub(" ", " or "))), level)
    end
  end
  return options
end

--- Raises at the caller's line unless `value` is a whole number >= least.
function check.count(name, argument, value, least, level)
  if math.type(value) == "integer" and value >= least then return value end
  error(("%s: %s is %s; a whole number of at least %d is due"):format(name,
    argument, tostring(value), least), (level or 1) + 1)
end

return check
