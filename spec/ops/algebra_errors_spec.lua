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
    raises("dtype", "einsum: operand 1 is f32, operand 11 is f64: convert one with :to()",
      function() return ts.einsum("i,i,i,i,i,i,i,i,i,i,i", v, v, v, v, v, v, v, v, v, v, v:to("f64")) end)
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

describe("a product", function()
  local m, i = ts.ones(2, 3), ts.ones({ 2, 3 }, "i64")

  it("wants operands of one dtype, whatever they are made of", function()
    local d = m:to("f64")
    raises("dtype", "matmul: self is f32, other is f64: convert one with :to()",
      function() return m:matmul(d:t()) end)
    raises("dtype", "outer: self is f32, other is f64: convert one with :to()",
      function() return m[1]:outer(d[1]) end)
    raises("dtype", "dot: self is f32, other is f64: convert one with :to()",
      function() return m[1]:dot(d[1]) end)
    raises("dtype", "linear: self is f32, other is f64: convert one with :to()",
      function() return m:linear(d) end)
    raises("dtype", "kron: self is f32, other is f64: convert one with :to()",
      function() return m:kron(d) end)
    raises("dtype", "inner: self is f32, other is i64: convert one with :to()",
      function() return m:inner(i) end)
    raises("dtype", "tensordot: self is f32, other is i64: convert one with :to()",
      function() return m:tensordot(i, 0) end)
    raises("dtype", "cross: self is f32, other is f64: convert one with :to()",
      function() return m:cross(d) end)
    raises("dtype", "addmm: self is f64, mat2 is f32: convert one with :to()",
      function() return ts.ones(2, "f64"):addmm(d, m) end)
    raises("dtype", "matmul: self is bool; matmul takes floats and integers",
      function() return m:to("bool"):matmul(m) end)
  end)

  it("has a rank for each operand", function()
    raises("rank", "matmul: self {} must have rank 1 to 12",
      function() return ts.ones({}):matmul(m) end)
    raises("rank", "mv: vector {2,3} must have rank 1",
      function() return m:mv(m) end)
    raises("rank", "addmm: mat1 {3} must have rank 2",
      function() return m:addmm(m[1], m) end)
    raises("rank", "chain_matmul: tensors {3} must have rank 2",
      function() return ts.chain_matmul(m, m[1], m) end)
    raises("rank", "tensordot: 3 dims of self {2,3} and other {2,3}",
      function() return m:tensordot(m, 3) end)
    raises("rank", "kron: self {1,1,1,1,1,1,1} must have rank 0 to 6",
      function() return ts.ones(1, 1, 1, 1, 1, 1, 1):kron(m) end)
  end)

  it("names the sizes that differ", function()
    raises("shape", "matmul: batches of self {2,2,3} and other {3,3,2} do not broadcast: self dim 1 is 2, other dim 1 is 3",
      function() return ts.ones(2, 2, 3):matmul(ts.ones(3, 3, 2)) end)
    raises("shape", "tensordot: self {2,3} and other {2,3}: self dim 2 is 3, other dim 1 is 2",
      function() return m:tensordot(m, 1) end)
    raises("shape", "inner: self {2,3} and other {2}: self dim 2 is 3, other dim 1 is 2",
      function() return m:inner(v) end)
    raises("shape", "cdist: self {2,3} and other {3,2}: self dim 2 is 3, other dim 2 is 2",
      function() return m:cdist(m:t()) end)
    raises("shape", "cross: self {2,3} and other {2,3}: dim 1 must be the same axis, of size 3",
      function() return m:cross(m, 1) end)
    raises("shape", "addmm: self {5} does not broadcast to the product {2,2}",
      function() return ts.ones(5):addmm(m, m:t()) end)
    raises("shape", "addmm: mat1 {2,3} and mat2 {2,3} have no product",
      function() return m:addmm(m, m) end)
    raises("shape", "chain_matmul: tensors[1] {2,1} and tensors[2] {3,2} have no product",
      function() return ts.chain_matmul(ts.ones(2, 1), m:t()) end)
    raises("shape", "bilinear: weight {1,2,3} takes 2 and 3 features: self is {2,3}, other {2,3}",
      function() return m:bilinear(m, ts.ones(1, 2, 3)) end)
  end)

  it("takes dims as a count or as two lists", function()
    raises("size", "tensordot: dims has 2 dims of self and 1 of other",
      function() return m:tensordot(m, { { 1, 2 }, { 1 } }) end)
    raises("type", "tensordot: dims has 1 entries; two lists of dims are due",
      function() return m:tensordot(m, { { 1, 2 } }) end)
    raises("duplicate", "tensordot: dim 1 of self is named twice",
      function() return m:tensordot(m, { { 1, 1 }, { 1, 2 } }) end)
    raises("dim", "tensordot: dim is 0: dims are 1..2 or -1..-2",
      function() return m:tensordot(m, { 0, 1 }) end)
    raises("operand_count", "chain_matmul: 0 tensors; 1 to 51 are taken",
      function() return ts.chain_matmul({}) end)
    raises("range", "cdist: p is -1; 0 or more is due",
      function() return m:cdist(m, { p = -1 }) end)
  end)
end)

describe("products of integers", function()
  it("are exact and wrap, and empty sums are 0", function()
    local big = ts.tensor({ { 2 ^ 53 // 1 | 1, 3 } }, "i64")
    assert.equal(3 * ((2 ^ 53 // 1 | 1) + 3),
      big:matmul(ts.tensor({ { 3 }, { 3 } }, "i64"))(1, 1))
    local top = ts.tensor({ math.maxinteger }, "i64")
    assert.equal(math.maxinteger * 3, top:dot(ts.tensor({ 3 }, "i64"))())
    local u = ts.tensor({ 200, 100 }, "u8")
    assert.equal((200 * 3 + 100 * 5) & 255, u:dot(ts.tensor({ 3, 5 }, "u8"))())
    assert.equal(0, ts.ones({ 0 }, "i64"):dot(ts.ones({ 0 }, "i64"))())
    assert.is_true(ts.ones(2, 0):matmul(ts.ones(0, 3)):equal(ts.zeros(2, 3)))
    assert.same({ 2, 0, 4 }, { ts.ones(2, 0, 3):matmul(ts.ones(3, 4)):size() })
  end)
end)

describe("addmm with a beta of 0", function()
  it("does not read self", function()
    local a = ts.ones(2, 2)
    local nan = ts.full({ 2, 2 }, 0 / 0)
    assert.is_true(nan:addmm(a, a, { beta = 0 }):equal(a:matmul(a)))
  end)
end)

describe("cdist of equal rows", function()
  it("has slope 0", function()
    local x = ts.tensor({ { 1, 2 }, { 3, 4 } }, { requires_grad = true })
    x:cdist(x:detach()):diagonal():sum():backward()
    assert.is_true(x.grad:equal(ts.zeros(2, 2)))
  end)
end)
