--- Products, in plain Lua.
local array = require "spec.support.array"
local numbers = require "spec.support.numbers"
local view = require "spec.support.references.view"

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

-- ---- by einsum ----

-- matrix products with self: beta self + alpha product
local function adds(equation)
  return function(args, options)
    local alpha, beta = options.alpha or 1, options.beta or 1
    local product = einsum { equation, { args[2], args[3] } }
    local self = view.expanded(args[1], product.shape)
    for k, value in ipairs(product.data) do
      product.data[k] = alpha * value
        + (beta == 0 and 0 or beta * self.data[k])
    end
    return product
  end
end

local function letter(k) return string.char(96 + k) end

-- Letters of a tensor from number `first` on; those of `shared` in their place.
local function word(rank, first, shared)
  local letters = {}
  for axis = 1, rank do
    letters[axis] = shared and shared[axis] or letter(first + axis)
  end
  return letters
end

-- Sums over dims d1[i] of a and d2[i] of b.
local function sum_pairs(a, b, d1, d2)
  local shared, gone = {}, {}
  local left = word(#a.shape, 0)
  for k, dim in ipairs(d1) do
    local name = left[array.axis(#a.shape, dim)]
    shared[array.axis(#b.shape, d2[k])], gone[name] = name, true
  end
  local right, out = word(#b.shape, #a.shape, shared), {}
  for _, letters in ipairs { left, right } do
    for _, name in ipairs(letters) do
      if not gone[name] then out[#out + 1] = name end
    end
  end
  return einsum {
    table.concat(left) .. "," .. table.concat(right) .. "->"
      .. table.concat(out), { a, b },
  }
end

local function list_of(value)
  return type(value) == "table" and value or { value }
end

local function tensordot(args)
  local a, b, dims = args[1], args[2], args[3] or 2
  if type(dims) == "table" then
    return sum_pairs(a, b, list_of(dims[1]), list_of(dims[2]))
  end
  local d1, d2 = {}, {}
  for k = 1, dims do d1[k], d2[k] = #a.shape - dims + k, k end
  return sum_pairs(a, b, d1, d2)
end

local function inner(args)
  local a, b = args[1], args[2]
  local scales = #a.shape == 0 or #b.shape == 0
  return sum_pairs(a, b, scales and {} or { -1 }, scales and {} or { -1 })
end

local function bilinear(args)
  local x, y, weight, bias = args[1], args[2], args[3], args[4]
  local result = einsum { "...i,oij,...j->...o", { x, weight, y } }
  local out = weight.shape[1]
  for k, value in ipairs(result.data) do
    result.data[k] = value + (bias and bias.data[(k - 1) % out + 1] or 0)
  end
  return result
end

local function chain(args)
  local list, words = args[1], {}
  local n = #list
  for k, a in ipairs(list) do
    local from, to = letter(k), letter(k + 1)
    words[k] = #a.shape == 2 and from .. to or k == 1 and to or from
  end
  local out = (#list[1].shape == 2 and letter(1) or "")
    .. (#list[n].shape == 2 and letter(n + 1) or "")
  if n == 1 then out = words[1] end
  return einsum { table.concat(words, ",") .. "->" .. out, list }
end

-- ---- by their elements ----

local function in_front(shape, rank) -- ones
  local full = {}
  for axis = 1, rank do full[axis] = shape[axis - rank + #shape] or 1 end
  return full
end

local function kron(args)
  local a, b = args[1], args[2]
  local rank = math.max(#a.shape, #b.shape)
  local shape1, shape2 = in_front(a.shape, rank), in_front(b.shape, rank)
  local shape = {}
  for axis = 1, rank do shape[axis] = shape1[axis] * shape2[axis] end
  return array.build(shape, function(index)
    local at1, at2 = {}, {}
    for axis = 1, rank do
      at1[axis] = (index[axis] - 1) // shape2[axis] + 1
      at2[axis] = (index[axis] - 1) % shape2[axis] + 1
    end
    return a.data[array.place(array.strides(shape1), at1)]
      * b.data[array.place(array.strides(shape2), at2)]
  end, a.dtype)
end

-- The shape that two broadcast to.
local function common(shape1, shape2)
  local rank = math.max(#shape1, #shape2)
  local full1, full2 = in_front(shape1, rank), in_front(shape2, rank)
  for axis, size in ipairs(full2) do
    if full1[axis] == 1 then full1[axis] = size end
  end
  return full1
end

-- Element k along `dim` of the line through `index`.
local function along(a, index, dim, k)
  local at = array.copy(index)
  at[dim] = k
  return array.get(a, at)
end

local function cross(args)
  local shape = common(args[1].shape, args[2].shape)
  local dim = array.axis(#shape, args[3] or -1)
  local a, b = view.expanded(args[1], shape), view.expanded(args[2], shape)
  return array.build(shape, function(index)
    local one, two = index[dim] % 3 + 1, (index[dim] + 1) % 3 + 1
    return along(a, index, dim, one) * along(b, index, dim, two)
      - along(a, index, dim, two) * along(b, index, dim, one)
  end, a.dtype)
end

local function cosine_similarity(args, options)
  local shape = common(args[1].shape, args[2].shape)
  local dim = array.axis(#shape, args[3] or 2)
  local a, b = view.expanded(args[1], shape), view.expanded(args[2], shape)
  local eps = options.eps or 1e-8
  local n = shape[dim]
  local kept = array.copy(shape)
  table.remove(kept, dim)
  return array.build(kept, function(index)
    local at = array.copy(index)
    table.insert(at, dim, 1)
    local product, left, right = 0.0, 0.0, 0.0
    for k = 1, n do
      local x, y = along(a, at, dim, k), along(b, at, dim, k)
      product, left, right = product + x * y, left + x * x, right + y * y
    end
    return product / math.max(math.sqrt(left), eps)
      / math.max(math.sqrt(right), eps)
  end, a.dtype)
end

local function p_norm(list, p)
  local sum, most = 0.0, 0.0
  for _, value in ipairs(list) do
    value = math.abs(value)
    most = math.max(most, value)
    sum = sum + (p == 0 and (value ~= 0 and 1 or 0) or value ^ p)
  end
  if p == math.huge then return most end
  return p == 0 and sum or sum ^ (1 / p)
end

local function cdist(args, options)
  local a, b = args[1], args[2]
  local rank = math.max(#a.shape, #b.shape)
  local batch = common(table.move(a.shape, 1, #a.shape - 2, 1, {}),
    table.move(b.shape, 1, #b.shape - 2, 1, {}))
  local d = a.shape[#a.shape]
  local function matrices(x)
    local shape = array.copy(batch)
    shape[#shape + 1], shape[#shape + 2] = x.shape[#x.shape - 1], d
    return view.expanded(x, shape)
  end
  local left, right = matrices(a), matrices(b)
  local shape = array.copy(batch)
  shape[#shape + 1] = a.shape[#a.shape - 1]
  shape[#shape + 1] = b.shape[#b.shape - 1]
  return array.build(shape, function(index)
    local i, j = array.copy(index), array.copy(index)
    i[rank], j[rank], j[rank - 1] = 1, 1, index[rank]
    local differences = {}
    for k = 1, d do
      differences[k] = along(left, i, rank, k) - along(right, j, rank, k)
    end
    return p_norm(differences, options.p or 2)
  end, a.dtype)
end

return {
  einsum = einsum,
  addmm = adds "ik,kj->ij",
  baddbmm = adds "bik,bkj->bij",
  tensordot = tensordot,
  inner = inner,
  kron = kron,
  cross = cross,
  bilinear = bilinear,
  chain_matmul = chain,
  cosine_similarity = cosine_similarity,
  cdist = cdist,
}
