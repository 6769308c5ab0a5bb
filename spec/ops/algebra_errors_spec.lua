-- Wrong equations and products: the code, the text, the caller's line.
local ts = require "tensus"

local function raises(code, text, f)
  local ok, message = pcall(f)
  assert.is_false(ok, "it did not raise: " .. text)
  local info = debug.getinfo(f, "S")
  local place = string.format("%s:%d: ", info.short_src, info.linedefined)
  assert.equal(place .. text, message)
  assert.equal(code, ts.errinfo().code)
  assert.equal(message, ts.errinfo().message)
end

local x, y, v = ts.ones(2, 3), ts.ones(4, 5), ts.ones(2)

describe("an equation", function()
  it("has as many terms as operands", function()
    raises("operand_count", 'einsum "i,j" has more terms than the 1 operands',
      function() return ts.einsum("i,j", v) end)
    raises("operand_count", 'einsum "i" has fewer terms than the 2 operands',
      function() return ts.einsum("i", v, v) end)
    raises("operand_count", 'einsum "i" has more terms than the 0 operands',
      function() return ts.einsum("i") end)
    raises("operand_count", 'einsum "" has more terms than the 0 operands',
      function() return ts.einsum("", {}) end)
  end)

  it("is made of letters, commas, ellipses and one arrow", function()
    raises("bad_character", "einsum \"i;j\": character 2 is ';'; letters, commas, \"...\" and \"->\" are due",
      function() return ts.einsum("i;j", v) end)
    raises("bad_character", "einsum \"i1\": character 2 is '1'; letters, commas, \"...\" and \"->\" are due",
      function() return ts.einsum("i1", v) end)
    for _, wrong in ipairs { "i-i", "i->i->i", "i->i,i", "i>i", "..i", "i..", "....", "i...i..." } do
      local ok = pcall(ts.einsum, wrong, ts.ones(2))
      assert.is_false(ok, wrong)
      assert.equal("bad_equation", ts.errinfo().code, wrong)
    end
    raises("bad_equation", 'einsum "i-j": "->" is due',
      function() return ts.einsum("i-j", v) end)
    raises("bad_equation", 'einsum "...i...": an ellipsis is three dots, once in a term',
      function() return ts.einsum("...i...", v) end)
  end)

  it("names in its result what the terms have, once", function()
    raises("unknown_output_label", 'einsum "i->ij": letter j of the result is in no term',
      function() return ts.einsum("i->ij", v) end)
    raises("repeated_output_label", 'einsum "ij->jj": letter j is twice in the result',
      function() return ts.einsum("ij->jj", x) end)
  end)

  it("has a letter for each axis", function()
    raises("rank", 'einsum "i": term 1 has 1 letters, operand {2,3} has rank 2',
      function() return ts.einsum("i", x) end)
    raises("rank", 'einsum "i,...jkl": term 2 has 3 letters, operand {2,3} has rank 2',
      function() return ts.einsum("i,...jkl", v, x) end)
  end)

  it("has one size for each letter", function()
    raises("shape", 'einsum "ik,kj->ij": letter k is 3 in operand 1 {2,3} and 4 in operand 2 {4,5}',
      function() return ts.einsum("ik,kj->ij", x, y) end)
    raises("shape", 'einsum "ii": letter i is 2 and 3 in operand 1 {2,3}',
      function() return ts.einsum("ii", x) end)
    raises("shape", 'einsum "ii": letter i is 1 and 3 in operand 1 {1,3}',
      function() return ts.einsum("ii", ts.ones(1, 3)) end)
    raises("shape", 'einsum "i,j,i": letter i is 2 in operand 1 {2} and 4 in operand 3 {4}',
      function() return ts.einsum("i,j,i", v, v, ts.ones(4)) end)
    raises("shape", 'einsum "...,...": letter 1 is 3 in operand 1 {2,3} and 2 in operand 2 {2}',
      function() return ts.einsum("...,...", x, v) end)
  end)

  it("takes operands of one dtype, numbers all", function()
    raises("dtype", "einsum: operand 1 is f32, operand 2 is f64: convert one with :to()",
      function() return ts.einsum("i,i", v, v:to("f64")) end)
    raises("dtype", "einsum: operands is bool; einsum takes floats and integers",
      function() return ts.einsum("i", v:to("bool")) end)
  end)

  it("is refused at its first mistake, however long", function()
    local many = {}
    for k = 1, 100 do many[k] = ts.ones(table.unpack({ 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2 })) end
    local words = {}
    for k = 1, 100 do
      local word = {}
      for axis = 0, 11 do
        local letter = (k * 7 + axis * 5) % 52
        word[axis + 1] = string.char(letter < 26 and 65 + letter or 71 + letter)
      end
      words[k] = table.concat(word)
    end
    assert.is_false(pcall(ts.einsum, ("a"):rep(100000), v))
    assert.equal("rank", ts.errinfo().code)
    assert.is_false(pcall(ts.einsum, ("a,"):rep(50000), v))
    assert.equal("operand_count", ts.errinfo().code)
    assert.is_false(pcall(ts.einsum, table.concat(words, ",") .. "->", many))
    assert.equal("rank", ts.errinfo().code)
  end)
end)

describe("einsum of very many operands", function()
  it("multiplies them all", function()
    local many, due = {}, 1
    for k = 1, 300 do
      many[k] = ts.tensor({ k % 2 == 0 and 2.0 or 0.5, 1 }, "f64")
      due = due * many[k](1)
    end
    local equation = ("a,"):rep(299) .. "a->a"
    local y = ts.einsum(equation, many)
    assert.equal(due, y(1))
    assert.equal(1.0, y(2))
  end)
end)
