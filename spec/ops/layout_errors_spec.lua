-- What the rows of layout refuse, and in which words.
local ts = require "tensus"

local x = ts.ones(2, 3)

-- A call, the code and the text it raises.
local wrong = {
  { "unflatten", { 2, { 2, 2 } }, "size",
    "unflatten: size {2,2} does not split dim 2 of {2,3}" },
  { "unflatten", { 2, { 2, -1 } }, "size",
    "unflatten: size {2,-1} does not split dim 2 of {2,3}" },
  { "unflatten", { 3, { 3 } }, "dim",
    "unflatten: dim 3 of self {2,3}: dims are 1..2 or -1..-2" },
  { "movedim", { { 1, 2 }, 1 }, "rank",
    "movedim: from names 2 dims and to names 1" },
  { "movedim", { { 1, 1 }, { 1, 2 } }, "duplicate",
    "movedim: from 1 occurs twice" },
  { "unfold", { 2, 4, 1 }, "size",
    "unfold: size 4 does not fit in dim 2 of {2,3}" },
  { "unfold", { 2, 2, 0 }, "range", "unfold: step 0: a step is at least 1" },
  { "unfold_add", { { 2, 4 }, 2, 3 }, "shape",
    "unfold_add: self is {2,3}; the windows of size {2,4} are {2,2,3}" },
  { "as_strided", { { 2, 2 }, { 4, 2 } }, "index",
    "as_strided: size {2,2} with strides {4,2} from offset 0 leaves the 6 "
      .. "elements that there are" },
  { "as_strided", { { 2, 2 }, { 1 } }, "rank",
    "as_strided: 1 strides for size {2,2}" },
  { "as_strided", { { 2 }, { -1 }, 3 }, "index",
    "as_strided: size {2} with strides {-1} from offset 3 leaves the 6 "
      .. "elements that there are" },
  { "as_strided", { { 2 ^ 40, 2 ^ 40 }, { 2 ^ 40, 1 } }, "size",
    "as_strided: size {1099511627776,1099511627776} is too large" },
  { "tile", { 2 }, "rank", "tile: 1 repeats for self {2,3} of rank 2" },
  { "tile", { 2, -1 }, "range", "tile: repeats {2,-1}: a count is negative" },
  { "repeat_interleave", { -1 }, "range",
    "repeat_interleave: counts is -1; a whole number, not negative, is due" },
  { "repeat_interleave", { ts.idx { 1, 2, 3, 4 }, 2 }, "shape",
    "repeat_interleave: counts {4}: one count or one for each of the 3 "
      .. "positions of dim 2 of self {2,3}" },
  { "repeat_interleave", { ts.idx { 1, -2, 3 }, 2 }, "range",
    "repeat_interleave: counts[2] is -2; a count is not negative" },
  { "roll", { { 1, 2 }, 1 }, "rank", "roll: 2 shifts for 1 dims" },
  { "roll", { { 1, 2 } }, "rank", "roll: 2 shifts for 1 dims" },
  { "rot90", { 1, { 1, 1 } }, "dims", "rot90: dims 1 occurs twice" },
  { "rot90", { 1, { 1 } }, "rank", "rot90: 1 dims; two are due" },
  { "pad", { { 1 } }, "type",
    "pad: widths come in pairs, {before, after, ...}" },
  { "pad", { { 1, 1, 1, 1, 1, 1 } }, "rank",
    "pad: 6 widths for self {2,3} of rank 2" },
  { "pad", { { -2, -2 } }, "shape",
    "pad: widths -2 and -2 leave nothing of dim 2 of self {2,3}" },
  { "pad", { { 3, 0 }, { mode = "reflect" } }, "range",
    "pad: widths 3 of dim 2: the mode takes at most 2 of 3" },
  { "pad", { { 4, 0 }, { mode = "circular" } }, "range",
    "pad: widths 4 of dim 2: the mode takes at most 3 of 3" },
  { "pad", { { -1, 0 }, { mode = "replicate" } }, "range",
    "pad: widths -1: only the constant mode crops" },
  { "pad_fold", { { 2, 2 } }, "shape",
    "pad_fold: widths 2 and 2 leave nothing of dim 2 of self {2,3}" },
  { "diag", {}, "rank", "diag: self {1,2,3} must have rank 1 to 2",
    ts.ones(1, 2, 3) },
  { "trace", {}, "rank", "trace: self {2} must have rank 2", ts.ones(2) },
  { "tril", {}, "rank", "tril: self {2} must have rank 2 to 12", ts.ones(2) },
  { "rearrange", { "a b -> a c" }, "unknown_output_label",
    'rearrange: pattern "a b -> a c": c is on the right side only' },
  { "rearrange", { "a b -> a" }, "unknown_output_label",
    'rearrange: pattern "a b -> a": b is on the left side only' },
  { "rearrange", { "a b c -> a b c" }, "rank",
    'rearrange: pattern "a b c -> a b c": the left side has 3 dims, self '
      .. "{2,3} has 2" },
  { "rearrange", { "a b" }, "bad_equation",
    'rearrange: pattern "a b": -> is missing' },
  { "rearrange", { "a (b -> a b" }, "bad_character",
    "rearrange: pattern \"a (b -> a b\": '-' is not expected" },
  { "rearrange", { "a a -> a" }, "duplicate",
    'rearrange: pattern "a a -> a": a occurs twice on one side' },
  { "rearrange", { "a (b c) -> a b c" }, "two_unknowns",
    'rearrange: pattern "a (b c) -> a b c": the sizes of b and c are not '
      .. "known" },
  { "rearrange", { "a (b c) -> a b c", { b = 2 } }, "size",
    'rearrange: pattern "a (b c) -> a b c": (b ...): dim 2 of self {2,3} is 3, '
      .. "and the product of the known sizes is 2" },
  { "rearrange", { "a b -> b a", { a = 4 } }, "size",
    'rearrange: pattern "a b -> b a": a: dim 1 of self {2,3} is 2, and the '
      .. "axis is 4" },
  { "rearrange", { "a b -> b a", { c = 4 } }, "option",
    'rearrange: pattern "a b -> b a": a size is given for c, which does not '
      .. "occur" },
  { "rearrange", { "a 3 -> a 3" }, "bad_equation",
    'rearrange: pattern "a 3 -> a 3": 3: an axis that is kept needs a name' },
  { "einrepeat", { "a b -> a b c" }, "shape",
    'einrepeat: pattern "a b -> a b c": the new axis c needs a size' },
  { "reduce", { "a b -> a", "median" }, "option",
    'reduce: kind is "median"; one of sum|mean|max|min|prod|any|all is due' },
  { "split", { 2 }, "rank", "split: self has rank 0 and no dim", ts.ones() },
}

describe("a wrong call of", function()
  for _, w in ipairs(wrong) do
    local name, args, code, text, self = table.unpack(w, 1, 5)
    it(name .. " raises: " .. text, function()
      self = self or x
      local before = self:clone()
      local ok, message = pcall(function()
        local r = ts[name](self, table.unpack(args))
        return r
      end)
      assert.is_false(ok)
      assert.equal(text, (message:gsub("^%S-:%d+: ", "")))
      assert.equal(code, ts.errinfo().code)
      assert.is_true(self:equal(before))
    end)
  end

  it("meshgrid names the tensor", function()
    assert.has_error(function() ts.meshgrid({}) end)
    assert.equal("empty", ts.errinfo().code)
    assert.is_false(pcall(ts.meshgrid, { ts.ones(2), x }))
    assert.equal("tensors[2] {2,3} must have rank 0 or 1", ts.errinfo().text)
  end)

  it("as_strided has no derivative where self overlaps", function()
    local w = ts.ones({ 1 }, { requires_grad = true }):expand(3)
    assert.is_false(pcall(w.as_strided, w, { 1 }, { 1 }))
    assert.equal("overlap", ts.errinfo().code)
    assert.is_false(ts.no_grad(function()
      return w:as_strided({ 1 }, { 1 }).requires_grad
    end))
  end)
end)

describe("as_strided", function()
  it("pulls through memory, however its operand lies", function()
    local w = ts.arange(12):float():reshape(3, 4)
    w.requires_grad = true
    -- Two columns, turned: of the four places that are read, two are its own.
    local part = w:t()[{ { 2, 3 } }]
    local y = part:as_strided({ 4 }, { 1 }, 0)
    assert.is_true(y:detach():equal(ts.tensor { 1, 2, 3, 4 }))
    y:sum():backward()
    local due = ts.zeros(3, 4)
    due["1, 2:3"] = 1
    assert.is_true(w.grad:equal(due))
  end)

  it("pulls what was written meanwhile", function()
    local w = ts.ones({ 4 }, { requires_grad = true })
    local v = w * 1
    local y = v:as_strided({ 2 }, { 2 })
    ts.no_grad(function() v:add_(1) end)
    y:sum():backward()
    assert.is_true(w.grad:equal(ts.tensor { 1, 0, 1, 0 }))
  end)
end)
