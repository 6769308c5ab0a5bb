-- einsum against nested loops, for equations drawn at random: 1 to 5 operands,
-- repeated letters, ellipses, sizes 0 to 3, stretched or not, with and without
-- "->".  Operands hold small whole numbers, so every order of adding and
-- multiplying gives the same number: values must be equal.
local ts = require "tensus"
local array = require "spec.support.array"
local numbers = require "spec.support.numbers"
local reference = require("spec.support.references.algebra").einsum
local slopes = require "spec.support.slopes"

print("equations drawn from seed " .. numbers.seed)

local letters = { "a", "b", "c", "d", "z", "A", "B" }

local function chance(one_in) return numbers.whole(1, one_in) == 1 end

local function pick(list) return list[numbers.whole(1, #list)] end

-- The axes of an operand: {name, size}; names ".1" and ".2" are those of its
-- ellipsis, from the last one.
local function draw_term(size)
  local axes = {}
  for _ = 1, numbers.whole(0, 3) do
    local name = pick(letters)
    local found = chance(6) and 1 or size[name]
    for _, axis in ipairs(axes) do
      if axis[1] == name then found = axis[2] end
    end
    axes[#axes + 1] = { name, found }
  end
  local dots = chance(3) and numbers.whole(0, 2)
  if dots then
    local at = numbers.whole(1, #axes + 1)
    table.insert(axes, at, { "..." })
    for k = 1, dots do
      local name = "." .. k
      table.insert(axes, at + 1, { name, chance(4) and 1 or size[name] })
    end
  end
  return axes
end

local function draw_operand(axes, dtype)
  local term, shape = {}, {}
  for _, axis in ipairs(axes) do
    if #axis[1] ~= 2 then term[#term + 1] = axis[1] end
    if axis[2] then shape[#shape + 1] = axis[2] end
  end
  local x = array.build(shape, function()
    local n = numbers.whole(dtype == "u8" and 0 or -3, 3)
    return numbers.is_float[dtype] and n + 0.0 or n
  end, dtype)
  return table.concat(term), x
end

local function draw_result(terms)
  local seen, names = {}, {}
  for name in table.concat(terms):gmatch "%a" do
    if not seen[name] and chance(2) then
      table.insert(names, numbers.whole(1, #names + 1), name)
    end
    seen[name] = true
  end
  if table.concat(terms):find("...", 1, true) and not chance(3) then
    table.insert(names, numbers.whole(1, #names + 1), "...")
  end
  return "->" .. table.concat(names)
end

local function draw_case(dtype)
  local size, terms, operands = {}, {}, {}
  for _, name in ipairs(letters) do size[name] = numbers.whole(1, 3) end
  size[".1"], size[".2"] = numbers.whole(1, 3), numbers.whole(1, 2)
  if chance(6) then size[pick(letters)] = 0 end
  for k = 1, numbers.whole(1, 5) do
    terms[k], operands[k] = draw_operand(draw_term(size), dtype)
  end
  local equation = table.concat(terms, chance(2) and "," or ", ")
  if not chance(3) then equation = equation .. draw_result(terms) end
  return equation, operands
end

local function label(equation, operands)
  local shapes = {}
  for k, x in ipairs(operands) do shapes[k] = array.show(x.shape) end
  return ("%q %s"):format(equation, table.concat(shapes, " "))
end

local function turned(x) -- the same values, its axes reversed in memory
  local back = {}
  for k = 1, x.ndim do back[k] = x.ndim + 1 - k end
  return x:permute(back):clone():contiguous():permute(back)
end

local function tensors(operands, make)
  local xs = {}
  for k, x in ipairs(operands) do xs[k] = (make or array.tensor)(x) end
  return xs
end

local function agrees(equation, operands, make)
  local what = label(equation, operands)
  local ok, found = pcall(ts.einsum, equation, tensors(operands, make))
  assert.is_true(ok, what .. ": " .. tostring(found))
  local due = reference { equation, operands }
  assert.equal(due.dtype, found.dtype, what)
  found = array.of(found)
  assert.same(due.shape, found.shape, what)
  for k, value in ipairs(due.data) do
    if not numbers.is_float[due.dtype] then
      value = numbers.wrap(value, due.dtype)
    end
    assert.equal(value, found.data[k], what .. " at " .. k)
  end
end

-- Axes that a result may have; the drawn ones may ask for more.
local function fits(equation, operands)
  return #reference({ equation, operands }).shape <= 12
end

describe("einsum of a drawn equation", function()
  for _, dtype in ipairs { "f64", "f32", "i64", "u8" } do
    it("gives what nested loops give in " .. dtype, function()
      numbers.restart()
      local count = dtype == "f64" and 400 or 150
      for _ = 1, count do
        local equation, operands = draw_case(dtype)
        if fits(equation, operands) then
          agrees(equation, operands)
          agrees(equation, operands, function(a)
            return turned(array.tensor(a))
          end)
        end
      end
    end)
  end

  it("pulls and pushes as differences do, twice", function()
    numbers.restart()
    local live = 0
    for _ = 1, 60 do
      local equation, operands = draw_case "f64"
      if fits(equation, operands) then
        local function f(xs) return { (ts.einsum(equation, xs)) } end
        local what = label(equation, operands)
        live = live + slopes.check(f, operands, what)
        local gradient, both = slopes.second(f, operands)
        slopes.check(gradient, both, what .. " once more")
      end
    end
    assert.is_true(live > 100)
  end)
end)

-- Large enough for copies of operands and for the ways that small ones skip.
local large = {
  { "ij,ij->j", { 40, 60 }, { 40, 60 } }, { "ij,ij->i", { 100, 20 }, { 100, 20 } },
  { "ij,ji->i", { 30, 70 }, { 70, 30 } }, { "ij,ij->", { 40, 60 }, { 40, 60 } },
  { "i1j,ij1->ji", { 20, 1, 70 }, { 20, 70, 1 } },
  { "ijb,jkb->ikb", { 9, 20, 30 }, { 20, 8, 30 } },
  { "bijc,jbck->kcbi", { 6, 5, 20, 11 }, { 20, 6, 11, 7 } },
  { "aibj,jbk->kia", { 4, 30, 5, 9 }, { 9, 5, 8 } },
}

describe("einsum of large operands", function()
  for _, row in ipairs(large) do
    local equation = row[1]:gsub("1", "o")
    it("gives what nested loops give: " .. equation, function()
      numbers.restart()
      local operands = {}
      for k = 2, #row do
        operands[k - 1] = array.build(row[k], function()
          return numbers.whole(-3, 3) + 0.0
        end, "f32")
      end
      agrees(equation, operands)
      agrees(equation, operands, function(a) return turned(array.tensor(a)) end)
      local function f(xs) return { (ts.einsum(equation, xs)) } end
      for _, a in ipairs(operands) do a.dtype = "f64" end
      assert.is_true(slopes.check(f, operands, equation) > 0)
    end)
  end
end)

describe("einsum_path", function()
  it("says what is multiplied, with sizes and costs", function()
    local due = table.concat({
      "ij,jk->ik  {2,30} {30,4} -> {2,4}  240 multiplications",
      "ik,kl->il  {2,4} {4,5} -> {2,5}  40 multiplications",
      "total 280 multiplications, largest intermediate 8 elements",
    }, "\n")
    local equation = "ij,jk,kl"
    assert.equal(due,
      ts.einsum_path(equation, { 2, 30 }, { 30, 4 }, { 4, 5 }))
    assert.equal(due,
      ts.einsum_path(equation, { { 2, 30 }, { 30, 4 }, { 4, 5 } }))
    assert.equal(due, ts.einsum_path(equation, ts.ones(2, 30), ts.ones(30, 4),
      ts.ones(4, 5)))
  end)

  it("sums letters of one operand before all else", function()
    assert.equal(table.concat({
      "sum i of operand 1", "sum kl of operand 2",
      "j,j->  {3} {3} -> {}  3 multiplications",
      "total 3 multiplications, largest intermediate 0 elements",
    }, "\n"), ts.einsum_path("iij,jkl->", { 2, 2, 3 }, { 3, 4, 5 }))
  end)

  -- The best order of a chain of matrices, by the rule for chains.
  local function least(sizes)
    local best = {}
    local n = #sizes - 1
    for span = 0, n - 1 do
      for i = 1, n - span do
        local j = i + span
        best[i] = best[i] or {}
        best[i][j] = span == 0 and 0 or math.huge
        for k = i, j - 1 do
          best[i][j] = math.min(best[i][j], best[i][k] + best[k + 1][j]
            + sizes[i] * sizes[k + 1] * sizes[j + 1])
        end
      end
    end
    return best[1][n]
  end

  it("finds the best order of up to six operands", function()
    numbers.restart()
    local letters_of = "abcdefg"
    for n = 2, 6 do
      for _ = 1, 10 do
        local sizes, shapes, words = {}, {}, {}
        for k = 1, n + 1 do sizes[k] = numbers.whole(2, 40) end
        for k = 1, n do
          shapes[k] = { sizes[k], sizes[k + 1] }
          words[k] = letters_of:sub(k, k + 1)
        end
        local text = ts.einsum_path(table.concat(words, ","), shapes)
        assert.equal(least(sizes), tonumber(text:match "total (%d+)"), text)
      end
    end
  end)

  it("is refused as einsum is", function()
    assert.is_false(pcall(ts.einsum_path, "ij,jk", { 2, 3 }, { 4, 5 }))
    assert.equal("shape", ts.errinfo().code)
    assert.is_false(pcall(ts.einsum_path, "ij", { 2, -3 }))
    assert.equal("type", ts.errinfo().code)
    assert.is_false(pcall(ts.einsum_path, "ij"))
    assert.equal("operand_count", ts.errinfo().code)
  end)
end)
