--- Products, in plain Lua.
local array = require "spec.support.array"
local numbers = require "spec.support.numbers"

local function zero_of(a) return numbers.is_float[a.dtype] and 0.0 or 0 end

-- ---- einsum, over every value of every letter ----

-- The names of the axes of a term; those of an ellipsis of `axes` axes are
-- ".1" for the last one, ".2" before it.
local function names_of(term, axes)
  local names = {}
  for at = 1, #term do
    local letter = term:sub(at, at)
    if letter:match "%a" then
      names[#names + 1] = letter
    elseif term:sub(at, at + 2) == "..." then
      for k = axes, 1, -1 do names[#names + 1] = "." .. k end
    end
  end
  return names
end

local function split(text)
  local words = {}
  for word in (text .. ","):gmatch "([^,]*)," do words[#words + 1] = word end
  return words
end

-- Terms as lists of names; names and sizes of all; how often each occurs.
local function read_terms(words, operands)
  local terms, all, size, times, dots = {}, {}, {}, {}, 0
  for k, word in ipairs(words) do
    local letters = select(2, word:gsub("%a", ""))
    local axes = word:find("...", 1, true) and #operands[k].shape - letters or 0
    dots = math.max(dots, axes)
    terms[k] = names_of(word, axes)
    for axis, name in ipairs(terms[k]) do
      local found = operands[k].shape[axis]
      if not size[name] then
        all[#all + 1], size[name], times[name] = name, found, 0
      end
      if size[name] == 1 then size[name] = found end
      times[name] = times[name] + 1
    end
  end
  return terms, all, size, times, dots
end

local function implicit(all, times, dots)
  local letters = {}
  for _, name in ipairs(all) do
    if times[name] == 1 and #name == 1 then letters[#letters + 1] = name end
  end
  table.sort(letters)
  local names = names_of("...", dots)
  return table.move(letters, 1, #letters, #names + 1, names)
end

local function einsum(args)
  local operands = args[2]
  local equation = args[1]:gsub("%s", "")
  local left, right = equation:match "^(.-)%->(.*)$"
  local terms, all, size, times, dots =
    read_terms(split(left or equation), operands)
  local out = right and names_of(right, dots) or implicit(all, times, dots)
  local shape, sizes, value = {}, {}, {}
  for k, name in ipairs(out) do shape[k] = size[name] end
  for k, name in ipairs(all) do sizes[k] = size[name] end
  local first = operands[1]
  local result = array.build(shape, function() return zero_of(first) end,
    first.dtype)
  local function place(names, of)
    local index = {}
    for axis, name in ipairs(names) do
      index[axis] = of[axis] == 1 and 1 or value[name]
    end
    return array.place(array.strides(of), index)
  end
  for index in array.each(sizes) do
    for k, name in ipairs(all) do value[name] = index[k] end
    local product = 1
    for k, names in ipairs(terms) do
      product = product * operands[k].data[place(names, operands[k].shape)]
    end
    local at = place(out, shape)
    result.data[at] = result.data[at] + product
  end
  return result
end

return {
  einsum = einsum,
}
