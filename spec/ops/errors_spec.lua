-- A wrong call says which op, which argument, both sizes in the caller's base
-- and the caller's line; and it changes nothing.
local ts = require "tensus"
local array = require "spec.support.array"
local cases = require "spec.support.cases"

-- f, written on a line of its own, fails there with this text (without the position).
local function raises(code, text, f)
  local ok, message = pcall(f)
  assert.is_false(ok, "it did not raise: " .. text)
  local info = debug.getinfo(f, "S")
  local place = string.format("%s:%d: ", info.short_src, info.linedefined)
  assert.equal(place .. text, message)
  assert.equal(code, ts.errinfo().code)
end

local x = ts.ones(2, 3)
local whole = ts.ones({ 2, 3 }, "i64")
local image = ts.ones(1, 3, 5, 5)

describe("a shape that does not fit", function()
  it("names both operands and both sizes", function()
    raises("shape",
      "add: self {2,3} and other {2} do not broadcast: self dim 2 is 3, other dim 1 is 2",
      function() return x + ts.ones(2) end)
    raises("shape",
      "matmul: self {4,3} and other {2,5}: self dim 2 is 3, other dim 1 is 2",
      function() return ts.ones(4, 3):matmul(ts.ones(2, 5)) end)
    raises("shape", "mv: self {2,3} and other {2}: self dim 2 is 3, other dim 1 is 2",
      function() return x:mv(ts.ones(2)) end)
    raises("shape", "mse_loss: self {3} and target {3,1} must have equal shapes",
      function() return ts.ones(3):mse_loss(ts.ones(3, 1)) end)
    raises("shape", "dot: self {2} and other {3} must have equal shapes",
      function() return ts.ones(2):dot(ts.ones(3)) end)
    raises("shape",
      "linear: self {2,3} and weight {2,4}: self dim 2 is 3, weight dim 2 is 4",
      function() return x:linear(ts.ones(2, 4)) end)
    raises("shape", "layer_norm: the last dims of self {2,3} must be size {4}",
      function() return x:layer_norm({ 4 }) end)
    raises("shape", "sum_to: {2,2} does not broadcast to self {2,3}",
      function() return x:sum_to(2, 2) end)
    raises("shape", "expand: self {2,3} does not broadcast to {3,3}",
      function() return x:expand(3, 3) end)
    raises("shape", "place: self {2,3} does not fit into {2,3} along dim 2",
      function() return x:place({ 2, 3 }, 2, 2) end)
    raises("shape", "index_add: source is {3,3}; self {2,3} and index {2} want {2,3}",
      function() return x:index_add(1, ts.idx { 1, 1 }, ts.ones(3, 3)) end)
  end)

  it("names the letter of an einsum", function()
    raises("shape",
      'einsum "ik,kj->ij": letter k is 3 in operand 1 {2,3} and 4 in operand 2 {4,5}',
      function() return ts.einsum("ik,kj->ij", x, ts.ones(4, 5)) end)
  end)

  it("names the piece of a list", function()
    raises("shape",
      "cat: tensors[2] is {2,4}, which does not join the first {2,3} along dim 1",
      function() return ts.cat({ x, ts.ones(2, 4) }) end)
    raises("shape", "stack: tensors[2] is {2,4} and the first is {2,3}",
      function() return ts.stack({ x, ts.ones(2, 4) }) end)
    raises("empty", "cat: tensors is an empty list",
      function() return ts.cat({}) end)
  end)

  it("counts elements for a reshape", function()
    raises("size", "reshape: {2,3} has 6 elements, {4,2} needs 8",
      function() return x:reshape(4, 2) end)
    raises("ambiguous", "reshape: -1 is ambiguous beside a zero size, {0,4} -> {0,-1}",
      function() return ts.ones(0, 4):reshape(0, -1) end)
    raises("stride",
      "view: {3,2} with strides {1,3} cannot be seen as {6}; reshape copies",
      function() return x:t():view(6) end)
  end)
end)

describe("a dim or a position", function()
  it("is named in the caller's base", function()
    raises("dim", "sum: dim 3 of self {2,3}: dims are 1..2 or -1..-2",
      function() return x:sum(3) end)
    raises("dim", "sum: dim is 0: dims are 1..2 or -1..-2",
      function() return x:sum(0) end)
    raises("dim", "softmax: dim -3 of self {2,3}: dims are 1..2 or -1..-2",
      function() return x:softmax(-3) end)
    raises("duplicate", "permute: dim 1 occurs twice",
      function() return x:permute({ 1, 1 }) end)
    raises("duplicate", "sum: dim 2 occurs twice",
      function() return x:sum({ 2, -1 }) end)
    raises("duplicate", "diagonal: dim1 and dim2 are both 1",
      function() return x:diagonal { dim1 = 1, dim2 = 1 } end)
    raises("rank", "diagonal: self {3} must have rank 2 to 12",
      function() return ts.ones(3):diagonal() end)
    raises("index", "select: position 3 of dim 1 of {2,3}: positions are 1..2 or -1..-2",
      function() return x:select(1, 3) end)
    raises("index", "slice: position 3 of dim 1 of {2,3}: positions are 1..2 or -1..-2",
      function() return x:slice(1, 1, 3) end)
    raises("index", "narrow: length 3 from position 2 of dim 2 of {2,3}",
      function() return x:narrow(2, 2, 3) end)
  end)

  it("is named when a tensor holds it", function()
    raises("index",
      "index_select: index[2] is 3; positions of dim 1 of self {2,3} are 1..2",
      function() return x:index_select(1, ts.idx { 1, 3 }) end)
    raises("index", "gather: index(1,1) is 0; positions of dim 1 of self {2,3} are 1..2",
      function() return x:gather(1, ts.idx { { 0, 1, 1 } }) end)
    raises("index",
      "cross_entropy: target[2] is 4, classes are 1..3 (labels start at 1)",
      function() return x:cross_entropy(ts.idx { 1, 4 }) end)
    raises("index", "one_hot: self[2] is 4, classes are 1..3",
      function() return ts.idx({ 1, 4 }):one_hot(3) end)
  end)

  it("cannot be on an empty axis", function()
    raises("empty",
      "amax: dim 2 of self {2,0,3} is empty and the maximum has no identity",
      function() return ts.ones(2, 0, 3):amax(2) end)
  end)
end)

describe("a dtype", function()
  it("must be the same for a product", function()
    raises("dtype", "matmul: self is f32, other is f64: convert one with :to()",
      function() return x:matmul(ts.ones(3, 2, "f64")) end)
  end)

  it("is not changed in place", function()
    raises("dtype",
      "add_: the result is f32 and self is i64; in-place ops never change the dtype",
      function() return whole:add_(0.5) end)
    raises("dtype",
      "sqrt_: the result is f32 and self is i64; in-place ops never change the dtype",
      function() return whole:sqrt_() end)
  end)

  it("must be taken by the op", function()
    raises("dtype", "softmax: self is i64; softmax takes floats",
      function() return whole:softmax(1) end)
    raises("dtype", "one_hot: self is f32; one_hot takes integers",
      function() return x:one_hot(3) end)
    raises("dtype", "where: condition must be a bool tensor, and is f32",
      function() return ts.where(x, x, x) end)
    raises("dtype",
      'add: self and other are bool; use & and |, or convert one with :to("i64")',
      function() return x:gt(0) + x:gt(0) end)
  end)
end)

describe("a value", function()
  it("must be in range", function()
    raises("range", "fill_: value 300 does not fit in u8 (0..255)",
      function() return ts.ones({ 2 }, "u8"):fill_(300) end)
    raises("range", "dropout: p is 1.5, and must be in 0..1",
      function() return x:dropout(1.5) end)
    raises("range", "arange: step is 0",
      function() return ts.arange(1, 5, 0) end)
    raises("div_zero", "floor_divide: integer division by zero at (2,1) of other {3,1}",
      function() return ts.ones({ 3 }, "i64") // ts.tensor({ { 1 }, { 0 }, { 3 } }, "i64") end)
    raises("div_zero", "remainder: integer division by zero at (3) of other {3}",
      function() return whole % ts.tensor({ 1, 2, 0 }, "i64") end)
  end)

  it("must have the type that is due", function()
    raises("type", 'add: other is the string "3"; a tensor or a number is due',
      function() return x:add("3") end)
    raises("type", 'clamp: hi is the string "a"; a number is due',
      function() return x:clamp(nil, "a") end)
    raises("type", "sin: self is missing",
      function() return ts.sin() end)
    raises("too_many", "sin: argument 2 is the number 1; at most 1 are taken",
      function() return ts.sin(x, 1) end)
    raises("option", "sum: unknown option keep_dim; did you mean keepdim?",
      function() return x:sum(1, { keep_dim = true }) end)
  end)
end)

describe("a convolution or a pool", function()
  it("says what does not fit", function()
    raises("channels",
      "conv2d: self {1,3,5,5} has 3 channels, weight {2,4,3,3} with 1 groups wants 4",
      function() return image:conv2d(ts.ones(2, 4, 3, 3)) end)
    raises("channels", "conv2d: bias {3} must be {2}, one for each channel made",
      function() return image:conv2d(ts.ones(2, 3, 3, 3), ts.ones(3)) end)
    raises("kernel_too_big", "conv2d: kernel reaches over 6, the padded input has 5",
      function() return image:conv2d(ts.ones(2, 3, 6, 6)) end)
    raises("stride", "conv2d: stride is 0, and must be at least 1",
      function() return image:conv2d(ts.ones(2, 3, 3, 3), { stride = 0 }) end)
    raises("pad_gt_half_kernel", "max_pool2d: padding 2 is above half the kernel 2",
      function() return image:max_pool2d(2, { padding = 2 }) end)
  end)
end)

describe("an in-place op", function()
  it("is refused where elements share memory, and on a leaf", function()
    raises("overlap",
      "add_: elements of self {4,5} share memory (made by expand); clone it first",
      function() return ts.ones(5):expand(4, 5):add_(1) end)
    local leaf = ts.ones(5):requires_grad_()
    raises("leaf",
      "add_: self is a leaf that requires grad; wrap the update in ts.no_grad",
      function() return leaf:add_(1) end)
  end)

  it("never stretches its target", function()
    raises("shape", "add_: other {2,2,3} does not broadcast to self {2,3}",
      function() return x:add_(ts.ones(2, 2, 3)) end)
    raises("shape", "copy_: other {3,3} does not broadcast to self {2,3}",
      function() return x:copy_(ts.ones(3, 3)) end)
  end)

  it("leaves its target when a later element is the fault", function()
    local target = ts.tensor({ 7, 8, 9 }, "i64")
    assert.is_false(pcall(target.floor_divide_, target,
      ts.tensor({ 1, 2, 0 }, "i64")))
    assert.same({ 7, 8, 9 }, target:tolist())
    local rows = ts.ones(3, 2)
    assert.is_false(pcall(rows.index_add_, rows, 1, ts.idx { 1, 2, 4 },
      ts.ones(3, 2)))
    assert.same({ { 1, 1 }, { 1, 1 }, { 1, 1 } }, rows:tolist())
    assert.is_false(pcall(rows.scatter_add_, rows, 1, ts.idx { { 1, 0 } },
      ts.ones(1, 2)))
    assert.same({ { 1, 1 }, { 1, 1 }, { 1, 1 } }, rows:tolist())
  end)
end)

-- ---- over the table ----

local function takes(op, dtype)
  for _, name in ipairs(op.dtypes) do
    if name == dtype then return true end
  end
  return op.float_plus
end

-- The name that a message begins with, after the position.
local function failure(f, ...)
  local ok, message = pcall(f, ...)
  assert.is_false(ok, "it did not raise")
  return message:gsub("^[^:]*:%d+: ", ""), ts.errinfo().code
end

-- Messages leave the table out: "solve", not "linalg.solve".
local function shown_name(op)
  local name = op.name:match "[^.]+$"
  return op.only_inplace and name .. "_" or name
end

for _, op in ipairs(ts.ops()) do
  describe(op.name, function()
    local call, name = cases.call(op), shown_name(op)
    local on_tensor = op.params[1].kind == "tensor"
      or op.params[1].kind == "operand"

    local first = op.params[1]
    if first.kind ~= "shape" then -- zeros() is zeros({})
      it("says that nothing is no operand", function()
        local message, code = failure(call)
        assert.equal(name .. ": ", message:sub(1, #name + 2))
        assert.equal("type", code)
        assert.is_truthy(message:find(first.name, 1, true), message)
      end)
    end

    if on_tensor then
      it("says that a string is no operand", function()
        local message, code = failure(call, "1")
        assert.equal("type", code)
        assert.is_truthy(message:find(name .. ': ' .. op.params[1].name
          .. ' is the string "1"', 1, true), message)
      end)
    end

    for _, dtype in ipairs { "bool", "i64", "f32" } do
      if on_tensor and op.name ~= "where" and not takes(op, dtype) then
        it("refuses " .. dtype .. " and changes nothing", function()
          local donor = takes(op, "f32") and "f32" or "i64"
          local c = cases.of(op, donor)[1]
          local args = cases.tensors(c, function(a)
            if a.dtype ~= donor then return array.tensor(a) end
            return ts.ones(a.shape, dtype)
          end)
          local before = args[1]:tolist()
          local message, code = failure(cases.run, call, c, args)
          assert.equal("dtype", code)
          assert.is_truthy(message:find(name .. ": " .. first.name, 1, true),
            message)
          assert.same(before, args[1]:tolist())
        end)
      end
    end

    local two = op.pointwise and op.params[2]
      and op.params[2].kind == "operand" and op.inplace
    if two then
      it("does not touch its target when shapes do not fit", function()
        local dtype = op.name == "where" and "bool"
          or takes(op, "f32") and "f32" or "i64"
        local target = ts.ones({ 2, 3 }, dtype)
        local other = ts.ones({ 4 }, dtype)
        local third = op.params[3] and op.params[3].kind == "operand"
        local message, code = failure(ts[op.name .. "_"], target, other,
          third and other or nil)
        assert.equal("shape", code, message)
        assert.is_true(target:equal(ts.ones({ 2, 3 }, dtype)))
      end)
    end
  end)
end
