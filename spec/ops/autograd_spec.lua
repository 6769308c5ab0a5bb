-- The graph: what is added up, kept, freed, refused, and how deep it may be.
local ts = require "tensus"

local here = debug.getinfo(1, "S").short_src
local function line() return debug.getinfo(2, "l").currentline end

local function leaf(values) return ts.tensor(values, "f64"):requires_grad_() end
local function same(expected, x) assert.same(expected, x:tolist()) end

local function fails(code, text, f, ...)
  local ok, message = pcall(f, ...)
  assert.is_false(ok, "it did not raise: " .. text)
  assert.is_truthy(message:find(text, 1, true), message)
  assert.equal(code, ts.errinfo().code)
  return message
end

describe("a gradient", function()
  it("adds up over backwards", function()
    local x = leaf { 1, 2 }
    assert.is_nil(x.grad);
    (x * 3):sum():backward()
    same({ 3, 3 }, x.grad);
    (x * x):sum():backward()
    same({ 5, 7 }, x.grad)
    x.grad = nil;
    (x * 2):sum():backward()
    same({ 2, 2 }, x.grad)
  end)

  it("adds up over uses", function()
    local x = leaf { 1, 2 }
    local y = x * x + x * 3 + x
    y:sum():backward()
    same({ 6, 8 }, x.grad)
  end)

  it("adds up where one operand stands twice", function()
    local x = leaf { 2, 3 }
    ts.mul(x, x):sum():backward()
    same({ 4, 6 }, x.grad)
    x.grad = nil
    x:dot(x):backward()
    same({ 4, 6 }, x.grad)
  end)

  it("has the shape and dtype of its leaf", function()
    local row, column = leaf { 1, 2, 3 }, leaf { { 1 }, { 2 } }
    local small = ts.tensor({ 1, 1, 1 }, "f32"):requires_grad_();
    (row * column + small:to("f64")):sum():backward()
    same({ 3, 3, 3 }, row.grad)
    same({ { 6 }, { 6 } }, column.grad)
    same({ 2, 2, 2 }, small.grad)
    assert.equal("f32", small.grad.dtype)
  end)

  it("is summed back over every stretched axis", function()
    local x = leaf { { { 2 } } }
    x:expand(4, 3, 2):sum():backward()
    same({ { { 24 } } }, x.grad)
    local scalar = ts.tensor(2, "f64"):requires_grad_();
    (scalar * ts.ones({ 2, 3 }, "f64")):sum():backward()
    assert.equal(6.0, scalar.grad:item())
  end)

  it("does not share memory with the cotangent or with its operand", function()
    local x, g = leaf { 1, 2 }, ts.tensor({ 5, 7 }, "f64")
    x:clone():backward(g)
    x.grad:add_(1)
    same({ 5, 7 }, g)
    same({ 1, 2 }, x)
  end)

  it("flows through views of views", function()
    local x = leaf { { 1, 2, 3 }, { 4, 5, 6 } }
    x:t():select(1, 2):slice(1, 2, 2):sum():backward()
    same({ { 0, 0, 0 }, { 0, 1, 0 } }, x.grad)
  end)

  it("is only asked of what is reached", function()
    local x, y = leaf { 1 }, leaf { 2 }
    local z = (x * 2):sum()
    fails("independent", "xs[2] does not influence y", ts.grad, z, { x, y },
      { retain_graph = true })
    local found = ts.grad(z, { x, y }, { unused = "zero", retain_graph = true })
    same({ 2 }, found[1])
    same({ 0 }, found[2])
    found = ts.grad(z, { x, y }, { unused = "nil" })
    assert.is_nil(found[2])
    assert.is_nil(x.grad)
  end)

  it("stays as it was when a backward fails", function()
    local x = leaf { 1, 2 }
    local y = x:exp()
    y:sum():backward()
    local before = x.grad:tolist()
    local z = x * 1
    local kept = z:exp()
    local sum = (kept + x * 3):sum()
    ts.no_grad(function() kept:add_(1) end)
    fails("modified", "has changed since", sum.backward, sum)
    same(before, x.grad)
  end)
end)

describe("a graph", function()
  it("is used up by one backward", function()
    local x = leaf { 1, 2 }
    local y = x:exp():sum()
    local used = line() + 1
    y:backward()
    fails("freed", string.format("the graph was used up at %s:%d", here, used),
      y.backward, y)
  end)

  it("is kept on demand", function()
    local x = leaf { 1, 2 }
    local y = (x * x):sum()
    y:backward(nil, { retain_graph = true })
    y:backward()
    same({ 4, 8 }, x.grad)
  end)

  it("names both writers when a saved value has changed", function()
    local x = leaf { 1, 2 }
    local y = x * 1
    local saved = line() + 1
    local z = y * y
    local wrote = line() + 1
    y:add_(1)
    local sum = z:sum()
    fails("modified", string.format(
      "mul (%s:%d) saved a value that add_ (%s:%d) has changed since", here,
      saved, here, wrote), sum.backward, sum)
  end)

  it("does not mind writes into what it did not save", function()
    local x = leaf { 1, 2 }
    local y = x * 3
    local z = y + 1
    y:mul_(5)
    z:sum():backward()
    same({ 3, 3 }, x.grad)
  end)

  it("follows writes in place", function()
    local x = leaf { 1, -2 }
    local y = x * 2
    y:add_(x)
    y:relu_()
    y:sum():backward()
    same({ 3, 0 }, x.grad)
  end)

  it("follows a copy and a fill into its target", function()
    local x, v, s = leaf { 1, 2 }, leaf { 3, 4 }, ts.tensor(5, "f64")
    s:requires_grad_()
    local y = x * 2
    y:copy_(v);
    (y * y):sum():backward()
    assert.is_nil(x.grad)
    same({ 6, 8 }, v.grad)
    local z = x * 2
    z:fill_(s);
    (z * z):sum():backward()
    assert.is_nil(x.grad)
    assert.equal(20.0, s.grad:item())
  end)

  it("never loses an activation in place", function()
    local x = leaf { 1, 2 }
    local y = x * 1
    y:gelu_()
    local sum = y:sum()
    fails("modified", "gelu_", sum.backward, sum)
  end)

  it("refuses a write into a leaf and into a tracked view", function()
    local x = leaf { 1, 2 }
    fails("leaf", "add_: self is a leaf that requires grad", x.add_, x, 1)
    fails("view", "add_: self {1} is a view", function()
      return (x * 2):slice(1, 1, 1):add_(1)
    end)
    ts.no_grad(function() x:add_(1) end)
    same({ 2, 3 }, x)
  end)

  it("ends at detach, at no_grad and at integers", function()
    local x = leaf { 1, 2 }
    assert.is_false((x * 2):detach().requires_grad)
    assert.is_false(ts.no_grad(function() return x * 2 end).requires_grad)
    assert.is_false(x:to("i64").requires_grad)
    assert.is_false(x:argmax().requires_grad)
    local y = (x * x:detach()):sum()
    y:backward()
    same({ 1, 2 }, x.grad)
  end)

  it("shares storage and version through detach", function()
    local x = leaf { 1, 2 }
    local y = x * 1
    local z = y * y
    y:detach():add_(1)
    local sum = z:sum()
    fails("modified", "add_", sum.backward, sum)
  end)
end)

describe("higher orders", function()
  it("reach the third derivative of x^4", function()
    local x = leaf { 1, -2, 3 }
    local g = x ^ 4
    for _, due in ipairs { { 4, -32, 108 }, { 12, 48, 108 }, { 24, -48, 72 } } do
      g = ts.grad(g:sum(), x, { create_graph = true })
      same(due, g)
    end
    same({ 24, 24, 24 }, ts.grad(g:sum(), x))
  end)

  it("mix pull and push", function()
    local function gradient(x)
      local y = (x * x * x):sum()
      return ts.grad(y, x, { create_graph = true })
    end
    local _, dy = ts.jvp(gradient, ts.tensor({ 1, 2 }, "f64"),
      ts.tensor({ 1, 1 }, "f64"))
    same({ 6, 12 }, dy)
  end)

  it("do not touch .grad", function()
    local x = leaf { 1, 2 }
    local g = ts.grad((x ^ 3):sum(), x, { create_graph = true })
    assert.is_nil(x.grad)
    g:sum():backward()
    same({ 6, 12 }, x.grad)
  end)
end)

-- ---- depth: built, walked and freed in a child with a small stack ----

local deep = [[
local ts = require "tensus"
local x = ts.tensor({ 1, 2 }, "f64"):requires_grad_()
local y = x
for _ = 1, 1000000 do y = y + 1 end
%s
]]

local function child(body)
  local path = os.tmpname()
  local file = assert(io.open(path, "w"))
  file:write(deep:format(body))
  file:close()
  local program = os.getenv("TENSUS") or arg[-1] or "build/tensus"
  -- A sanitizer's frames are larger, and its own start needs room.
  local sanitized = (os.getenv("SANITIZE") or "") ~= ""
  local command = string.format("ulimit -s %d; '%s' '%s' 2>&1",
    sanitized and 1024 or 256, program, path)
  local pipe = assert(io.popen(command))
  local text = pipe:read("a")
  local ok = pipe:close()
  os.remove(path)
  return ok, text
end

describe("a chain of a million ops", function()
  it("is walked backward on a stack of 256 KiB", function()
    local ok, text = child("y:sum():backward() print(x.grad)")
    assert.is_true(ok, text)
    assert.equal("[1., 1.]  f64 {2}\n", text)
  end)

  it("is freed without a walk", function()
    local ok, text = child("y = nil collectgarbage() print(ts.memory().tensors)")
    assert.is_true(ok, text)
    assert.is_truthy(tonumber(text) and tonumber(text) <= 2, text)
  end)
end)
