-- Every request for memory refused once, below calls of scripts (src: fault.h).
-- spec/c/sweep_test.c does the same for rows; here is what Lua adds: tables,
-- handles, indexing, text, modules.
local ts = require "tensus"
local fault = require "tensus.fault"
local nn, optim, data = ts.nn, ts.optim, ts.data

local MOST = 100000 -- requests of one call: it must end before

--- Values and gradients of tensors, as text.
local function look(tensors)
  local seen = {}
  for i, t in ipairs(tensors) do
    seen[i] = tostring(t:detach():clone()) .. tostring(t.grad)
  end
  return table.concat(seen, "\n")
end

--- The core's requests: after a failure all is as it was.
local function sweep_core(f, tensors)
  local before = look(tensors)
  local bytes, count = fault.used()
  for k = 1, MOST do
    local ok, message, calls = fault.from(k, f)
    local now, many = fault.used()
    assert.equal(bytes, now, "bytes after request " .. k)
    assert.equal(count, many, "tensors after request " .. k)
    if not ok then
      assert.matches("out of memory", message)
      assert.equal(before, look(tensors), "values after request " .. k)
    end
    if calls < k then return k end
  end
  error "this never ends"
end

--- Lua's requests, too: it fails in order, and nothing is lost.
local function sweep_all(f)
  local bytes, count = fault.used()
  for k = 1, MOST do
    local ok, message, calls = fault.all(k, f)
    if not ok then assert.matches("memory", message) end
    if calls < k then break end
  end
  local now, many = fault.used()
  assert.equal(bytes, now)
  assert.equal(count, many)
end

local x = ts.tensor { { 1, 2, 3 }, { 4, 5, 6 } }
local w = ts.tensor({ { 1, 2, 3 }, { 4, 5, 6 } }, { requires_grad = true })
local rows = ts.tensor({ 2, 1, 2 }, { dtype = "i64" })
local mask = x:gt(2)

--- Calls that leave nothing behind.
local calls = {
  { "ts.tensor of tables", function()
    return ts.tensor { { 1, 2 }, { 3, 4 }, { 5, 6 } }
  end },
  { "ts.tensor of booleans", function() return ts.tensor { true, false } end },
  { "creation", function()
    return ts.zeros(3, 4), ts.arange(9), ts.eye(3), ts.full({ 2, 2 }, 1.5),
      ts.linspace(0, 1, 5)
  end },
  { "draws from a generator", function()
    local g = ts.generator(3)
    return ts.rand(3, { generator = g }), ts.randn(3, { generator = g }),
      ts.randperm(5, { generator = g })
  end },
  { "operators", function() return -(x + 1) * 2 / x ^ 2 % 3 // 1 end },
  { "comparison", function() return x == x, x:lt(3), x:eq(x):all() end },
  { "statistics", function()
    return x:prod(1), x:var(2), x:std_mean(), x:nanmean(1), x:diff()
  end },
  { "norms", function()
    return x:norm(), x:norm(3, 1), x:double():norm(2, { 1, 2 }),
      x:norm(math.huge), x:normalize(1)
  end },
  { "scans", function()
    return x:cumsum(1, { reverse = true }), x:cumprod(2), x:cummax(1),
      x:logcumsumexp(2)
  end },
  { "gradients of reductions", function()
    return ts.grad(w:prod(1):sum(), w), ts.grad(w:var(), w),
      ts.grad(w:norm(3), w), ts.grad(w:norm(math.huge), w)
  end },
  { "gradients of scans", function()
    local y = w:cumprod(2):sum() + w:logcumsumexp(1):sum()
      + w:cummax(2):sum() + w:cumsum(1):sum()
    local g = ts.grad(y, w, { create_graph = true })
    return ts.grad(g:sum(), w)
  end },
  { "a view", function() return x[1], x["1:2,2"], x.T, x:reshape(3, 2) end },
  { "indexing by positions", function() return x[rows] end },
  { "indexing by a table", function() return x[{ rows, 2 }] end },
  { "indexing by a mask", function() return x[mask] end },
  { "tracked indexing", function() return w[1], w[rows], w[mask] end },
  { "tostring", function() return tostring(x), tostring(mask) end },
  { "tostring of a large tensor", function()
    return tostring(ts.ones(50, 60, 2))
  end },
  { "tolist", function() return x:tolist() end },
  { "iteration", function()
    for _, row in x:iter() do row:sum():item() end
  end },
  { "cat and stack", function() return ts.cat { x, x }, ts.stack { x, x } end },
  { "a list of views", function() return x:split { 1, 1 }, w:unbind(2) end },
  { "einsum", function() return ts.einsum("ij,kj->ik", x, x) end },
  { "einsum of ten", function()
    return ts.einsum("ij,kj,lk,l,iji,j,m,m,n,n->li", x, x, x:t(), x[1],
      ts.ones(2, 3, 2), x[1], x[1], x[1], x[1], x[1])
  end },
  { "several results", function() return x:max(1) end },
  { "conversion", function() return x:double(), x:to("i32"), x:clone() end },
  { "a scope", function()
    return ts.scope(function() return (x + 1) * (x + 2) end)
  end },
  { "no_grad", function() return ts.no_grad(function() return w * 2 end) end },
  { "ts.grad", function()
    local y = (w * w):sum()
    return ts.grad(y, w)
  end },
  { "a gradient's gradient", function()
    local g = ts.grad((w ^ 3):sum(), w, { create_graph = true })
    g = type(g) == "table" and g[1] or g
    return ts.grad(g:sum(), w)
  end },
  { "fields", function() return x.shape, x.grad, w.is_leaf, x.T end },
  { "ts.memory", function() return ts.memory() end },
  { "help", function() return ts.ops() end },
}

describe("memory that runs out in", function()
  for _, call in ipairs(calls) do
    it(call[1] .. " changes nothing", function()
      call[2]() -- what is made once (interned names, kept tables)
      sweep_core(call[2], { x, w, rows, mask })
    end)

    it(call[1] .. " loses nothing, Lua's own requests refused", function()
      call[2]()
      sweep_all(call[2])
    end)
  end
end)

describe("memory that runs out in a draw", function()
  it("does not move the generator", function()
    local t = ts.ones(5)
    local draws = {
      function() return ts.rand(5) end,
      function() return ts.randint(1, 6, { 5 }) end,
      function() return ts.randperm(5) end,
      function() return t:normal_() end,
      function() return ts.dropout(w, 0.5) end,
    }
    ts.manual_seed(4)
    local want = ts.rand(3)
    for _, draw in ipairs(draws) do
      for k = 1, MOST do
        ts.manual_seed(4)
        local ok, _, requests = fault.from(k, draw)
        if not ok then assert.is_true(ts.rand(3):equal(want)) end
        if requests < k then break end
      end
    end
  end)
end)

describe("memory that runs out in an assignment", function()
  local function check(f)
    local t = ts.ones(3, 4)
    for k = 1, MOST do
      local before = look { t }
      local ok, message, requests = fault.from(k, f, t)
      if not ok then
        assert.matches("out of memory", message)
        assert.equal(before, look { t })
      end
      if requests < k then return end
    end
  end

  it("leaves the tensor as it was", function()
    check(function(t) t[1] = ts.zeros(4) end)
    check(function(t) t[{ 1, 2 }] = 7 end)
    check(function(t) t[rows] = 5 end)
    check(function(t) t[t:gt(0.5)] = ts.arange(12):float() end)
    check(function(t) t["2:3"] = t["1:2"] + 1 end)
    check(function(t) t["1:2"] = t["2:3"] end)
    check(function(t) t:add_(t) end)
    check(function(t) t:copy_(ts.arange(4)) end)
    check(function(t) t:uniform_() end)
  end)

  it("of .grad leaves the old gradient", function()
    local g = ts.full({ 2, 3 }, 7)
    w.grad = g
    for k = 1, MOST do
      local ok, _, requests = fault.from(k, function() w.grad = w * 2 end)
      if not ok then assert.equal(7, w.grad(1, 1)) end
      if requests < k then break end
    end
    w.grad = nil
  end)
end)

describe("memory that runs out in backward", function()
  local v = ts.tensor({ { 1, 0 }, { 0, 1 }, { 1, -1 } }, { requires_grad = true })

  local function loss()
    return ts.cross_entropy(w:matmul(v):relu() + 1,
      ts.tensor({ 2, 1 }, { dtype = "i64" }))
  end

  it("leaves every gradient as it was", function()
    loss():backward()
    local old, other = w.grad:clone(), v.grad:clone()
    for k = 1, MOST do
      local y = loss()
      local ok, message, requests = fault.from(k, y.backward, y)
      if ok then
        assert.is_true(w.grad:equal(old + old))
      else
        assert.matches("out of memory", message)
        assert.is_true(w.grad:equal(old) and v.grad:equal(other))
      end
      if requests < k then break end
      w.grad, v.grad = old:clone(), other:clone()
    end
    w.grad, v.grad = nil, nil
  end)

  it("leaves a state that can go on", function()
    for k = 1, 40 do
      fault.all(k, function() loss():backward() end)
      w.grad, v.grad = nil, nil
    end
    loss():backward()
    assert.is_true(w.grad:abs():sum():item() > 0)
    w.grad, v.grad = nil, nil
  end)
end)

describe("memory that runs out in training", function()
  local images, labels

  local function network()
    ts.manual_seed(1)
    images = ts.randn(6, 1, 8, 8)
    labels = ts.randint(1, 3, { 6 })
    return nn.sequential {
      nn.conv2d(1, 2, 3), nn.relu(), nn.max_pool2d(2), nn.flatten(),
      nn.layer_norm { 18 }, nn.linear(18, 3),
    }
  end

  local function step(net, opt)
    opt:zero_grad()
    ts.cross_entropy(net(images), labels):backward()
    opt:step()
  end

  local function parameters(opt) return look(opt.parameters) end

  for _, name in ipairs { "sgd", "adam", "adamw" } do
    it("steps of " .. name .. " are whole or not at all", function()
      local net = network()
      local opt = optim[name](net, { lr = 0.01 })
      step(net, opt)
      for k = 1, MOST do
        opt:zero_grad()
        local before = parameters(opt)
        local ok, message, requests = fault.from(k, step, net, opt)
        if not ok then
          assert.matches("out of memory", message)
          opt:zero_grad()
          assert.equal(before, parameters(opt))
        end
        if requests < k then break end
      end
    end)
  end

  it("loses nothing", function()
    local net = network()
    local opt = optim.sgd(net, { lr = 0.01, momentum = 0.9 })
    sweep_all(function()
      step(net, opt)
      opt:zero_grad()
    end)
  end)

  it("of a loader's batches loses nothing", function()
    network()
    local all = data.tensors(images, labels)
    local loader = data.loader(all, { batch = 4, shuffle = true })
    local function pass()
      for a, b in loader:iter() do assert(#a == #b) end
    end
    pass()
    sweep_all(pass)
    sweep_core(pass, {})
  end)
end)

describe("memory that runs out in files", function()
  local path = os.tmpname()
  os.remove(path)
  path = path .. ".npy"

  it("leaves the old file", function()
    ts.save(path, x)
    for k = 1, MOST do
      local ok, message, requests = fault.from(k, ts.save, path, x * 2)
      if not ok then
        assert.matches("out of memory", message)
        assert.is_true(ts.load(path):equal(x))
      end
      if requests < k then break end
    end
    ts.save(path, x)
    sweep_core(function() return ts.load(path) end, { x })
    sweep_all(function() return ts.load(path) end)
    os.remove(path)
  end)
end)
