--- Cases whose steps are words, written out.  Each is a function that raises
-- where the case is not met.
--   words.has(id)       is there one?
--   words.run(case, again)   nil, or why; again(id, device) runs another case
--   words.stdout(case)  the same for a plain Lua program and what it prints
local ts = require "tensus"
local program = require "spec.cli.program"

local words = {}
local case = {}

local function same(found, expected, what)
  if found ~= expected then
    error(string.format("%s: %s, not %s", what, found, expected), 0)
  end
end

local function raises(code, f, ...)
  local ok, message = pcall(f, ...)
  same(ok, false, "a call that must raise " .. code)
  same(ts.errinfo().code, code, tostring(message))
end

local function variable(value)
  return ts.tensor({ value }, { dtype = "f64", requires_grad = true })
end

-- Memory of the process now, in MiB.
local function resident()
  for line in io.lines("/proc/self/status") do
    local kib = line:match("^VmRSS:%s+(%d+)")
    if kib then return tonumber(kib) / 1024 end
  end
  error("no VmRSS", 0)
end

local function flat_memory(room, f)
  local before = resident()
  f()
  local grown = resident() - before
  if grown > room then error("memory grew by " .. grown .. " MiB", 0) end
end

-- ---- differentiation ----

case["AUTO-08"] = function()
  pcall(ts.no_grad, function() error "inside" end)
  local x = variable(3)
  ts.sum(x * x):backward()
  same(x.grad(1), 6.0, "x.grad")
  local w = variable(5)
  local function square() (w * w):backward() end
  local co = coroutine.create(function()
    local _ <close> = ts.no_grad()
    coroutine.yield()
  end)
  coroutine.resume(co)
  same(ts.is_grad_enabled(), true, "grad mode beside a suspended coroutine")
  square()
  same(w.grad(1), 10.0, "w.grad")
  coroutine.resume(co)
  square()
  same(w.grad(1), 20.0, "w.grad")
  local dropped = coroutine.create(function()
    local _ <close> = ts.no_grad()
    coroutine.yield()
  end)
  coroutine.resume(dropped)
  dropped = nil
  collectgarbage()
  same(ts.is_grad_enabled(), true, "grad mode after a coroutine is collected")
end

-- The derivative of a scalar function, forward or in reverse.
local slope = {
  forward = function(f, a)
    local x = ts.is_tensor(a) and a or ts.tensor(a, "f64")
    local _, dy = ts.jvp(f, x, ts.ones_like(x))
    return dy
  end,
  reverse = function(f, a)
    local x = ts.is_tensor(a) and a or ts.tensor(a, "f64")
    return ts.grad(f)(x)
  end,
}

case["AUTO-10"] = function(record)
  local results = record.expect.values.results
  for outer, D in pairs(slope) do
    for inner, d in pairs(slope) do
      local found = {
        D(function(x)
          return x * d(function(y) return x + y end, 1)
        end, 1),
        D(function(x)
          return x * d(function(y) return x * y end, 1)
        end, 4),
        D(function(x) return x * d(function(y) return y * y end, x) end, 3),
        D(function(x)
          return d(function(y) return x * x * y end, 2)
        end, 5),
      }
      for k, expected in ipairs(results) do
        same(found[k]:item(), expected + 0.0,
          outer .. " over " .. inner .. ", " .. k)
      end
    end
  end
end

case["AUTO-16"] = function()
  local w = ts.ones(262144, { requires_grad = true })
  local function step(i)
    local a = w * i
    local loss = (a * a):mean()
    w.grad = nil
    loss:backward()
    return loss
  end
  local total = 0
  flat_memory(400, function()
    for i = 1, 2000 do total = total + step(i):detach():item() end
    local off = w.grad:sub(2 * 2000 ^ 2 / 262144):abs():amax():item()
    same(off <= 30.517578125e-6, true, "w.grad")
    local sum = ts.zeros {}
    for i = 1, 500 do sum = sum + step(i) end
    for i = 1, 2000 do local _ = (w * i):square():mean() end
  end)
  same(math.abs(total - 2668667000) <= 2668667000 * 1e-6, true, "total")
end

case["AUTO-17"] = function()
  local function hooked(hook)
    local x = variable(2)
    local y = x * 3
    y:register_hook(hook)
    (y * y + y * 5):backward()
    return x.grad(1)
  end
  local calls, got = 0, nil
  same(hooked(function(g) calls, got = calls + 1, g(1) end), 51.0, "x.grad")
  same(calls, 1, "calls")
  same(got, 17.0, "what the hook got")
  same(hooked(function(g) return g * 10 end), 510.0, "x.grad, replaced")
  local x = variable(2)
  x:register_hook(function(g) return g + 1 end)
  x:register_hook(function(g) return g * 2 end)
  local y = x * 3;
  (y * y + y * 5):backward()
  same(x.grad(1), 104.0, "x.grad after two hooks")
end

-- ---- numbers ----

case["DT-02"] = function()
  local one, zero = ts.idx { 1 }, ts.idx { 0 }
  raises("div_zero", function() return one // zero end)
  raises("div_zero", function() return one % zero end)
  raises("div_zero", function() return one // 0 end)
  raises("div_zero", ts.fmod, one, zero)
  local least = ts.idx { math.mininteger }
  same((least // ts.idx { -1 })(1), math.mininteger, "least // -1")
  same((least % ts.idx { -1 })(1), 0, "least % -1")
  local low = ts.tensor({ -2147483648 }, "i32")
  same((low // ts.tensor({ -1 }, "i32"))(1), -2147483648, "i32 least // -1")
  local function f(x) return ts.tensor(x, "f64") end
  local q = f { 1, 0, -1 } / f { 0, 0, 0 }
  same(q(1), math.huge, "1 / 0")
  same(q(2) ~= q(2), true, "0 / 0 is NaN")
  same(q(3), -math.huge, "-1 / 0")
  same((f { 1 } // f { 0 })(1), math.huge, "1 // 0")
  same((f { 5.5 } % f { math.huge })(1), 5.5, "5.5 % inf")
  same((f { -5.5 } % f { math.huge })(1), math.huge, "-5.5 % inf")
end

case["RNG-02"] = function()
  local threads = ts.get_num_threads()
  local first
  for _, n in ipairs { 1, 2, 4 } do
    ts.set_num_threads(n)
    ts.manual_seed(7)
    pcall(ts.randn, { -1 })
    local a, b, c = ts.randn(100003), ts.randperm(10007), ts.rand(3, 5)
    first = first or { a, b, c }
    same(a:equal(first[1]) and b:equal(first[2]) and c:equal(first[3]), true,
      "draws on " .. n .. " threads")
  end
  ts.set_num_threads(threads)
  same(ts.sort(first[2]):equal(ts.arange(10007)), true, "each once")
  ts.manual_seed(7)
  same(ts.randn(1000):equal(first[1][{ { 1, 1000 } }]), true, "the prefix")
  same(math.abs(first[1]:mean():item()) < 0.0127, true, "mean")
  local s = first[1]:std():item()
  same(s > 0.991 and s < 1.009, true, "deviation")
  local u = ts.rand(1 << 24)
  same(u:amin():item() >= 0 and u:amax():item() < 1, true, "range of rand")
  local g, h = ts.generator(3), ts.generator(3)
  for _ = 1, 10 do
    local x, y = ts.rand(5, { generator = g }), ts.rand(5, { generator = h })
    same(x:equal(y), true, "two generators of one seed")
  end
end

-- ---- Lua ----

-- What tensors do where the plain program shows what Lua does.
case["LUA-01"] = function()
  local x = ts.tensor { 5, 6 }
  same(x[1.0]:item(), x[1]:item(), "x[1.0]")
  raises("index", function() return x[1.5] end)
  same(pcall(function() return x["1"] end), false, "x['1'] raises")
  for _, bad in ipairs { math.huge, 0 / 0, 2.0 ^ 53 } do
    raises("index", function() return x[bad] end)
  end
end

case["LUA-02"] = function()
  local x = ts.tensor { 1, 2 }
  raises("type", function() return x + "3" end)
  same(ts.tensor({ 1, 2.5 }).dtype, "f32", "dtype of a float table")
  same(x.dtype, "f32", "dtype of a table of whole numbers")
end

case["LUA-03"] = function() end

case["LUA-04"] = function()
  local kept
  do
    local t <close> = ts.ones(3)
    kept = t
  end
  raises("released", function() return kept:sum() end)
  collectgarbage()
end

case["LUA-06"] = function()
  local x, y = ts.tensor { 1, 2 }, ts.tensor { 1, 3 }
  same(x == x, true, "x == x")
  same(x == y, false, "x == y")
  same(x:eq(y)(2), false, "x:eq(y)")
  local ok, why = pcall(function() return x < y end)
  same(not ok and why:find("lt") ~= nil, true, "x < y points to lt")
  local keys = { [x] = 1, [ts.tensor { 1, 2 }] = 2 }
  same(keys[x], 1, "a tensor as a key")
end

case["LUA-07"] = function()
  flat_memory(400, function()
    local last
    for i = 1, 20000 do
      local a = ts.zeros(262144)
      a[1] = i
      if i == 20000 then last = a(1) end
    end
    same(last, 20000.0, "a[1]")
    for i = 1, 3000 do
      local a = ts.zeros(262144)
      local _ = (a + a):view(512, 512) * 2
    end
    for i = 1, 3000 do
      local a = ts.zeros(262144)
      local co = coroutine.create(function() coroutine.yield(a) end)
      coroutine.resume(co)
    end
  end)
end

case["LUA-09"] = function()
  local t = {}
  for i = 1, 200000 do t[i] = ts.full({ 10 }, i, { dtype = "i32" }) end
  local y, z = ts.cat(t), ts.stack(t)
  same(y:size(1), 2000000, "size of cat")
  same(y:sum():item(), 200001000000, "sum of cat")
  same(z:size(1) * 100 + z:size(2), 20000010, "shape of stack")
  local numbers, rows = {}, {}
  for i = 1, 1000000 do numbers[i] = i end
  same(ts.tensor(numbers):sum({ dtype = "f64" }):item(), 500000500000.0, "x.sum")
  for i = 1, 300000 do rows[i] = { i, i } end
  local v = ts.tensor(rows)
  same(v:size(1) * 10 + v:size(2), 3000002, "shape of rows")
  same(ts.cat({ table.unpack(t, 1, 250) }):size(1), 2500, "250 tensors")
end

case["LUA-10"] = function()
  same(#tostring(ts.zeros(100000, 1000)) <= 10000, true, "length of a text")
  same(#tostring(ts.zeros(0, 3)) > 0, true, "an empty tensor")
  local odd = tostring(ts.tensor({ 0 / 0, math.huge, -math.huge, 1e-30, 1e30, -0.0 }))
  for _, word in ipairs { "nan", "inf", "-inf" } do
    same(odd:find(word, 1, true) ~= nil, true, word)
  end
  local big = tostring(ts.idx { 9007199254740993 })
  same(big:find("9007199254740993", 1, true) ~= nil, true, "an exact integer")
  local r = program.run { "-i", input = "t={}; t.self=t\nt\nprint(7)\n" }
  same(r.out:find("7") ~= nil, true, "the prompt after a cyclic table")
  local text = tostring(ts.ones(2, 2))
  r = program.run { "-e", "table=nil; string={}; math=42; " ..
    "print(tostring(ts.ones(2,2)))" }
  same(r.out, text .. "\n", "a text with the libraries shadowed")
  local x = ts.ones(2, 2, { requires_grad = true })
  same(tostring(x[1]):find("grad") ~= nil, true, "a tracked view")
end

case["LUA-11"] = function()
  local x = ts.ones(3)
  same(getmetatable(x), "tensus.tensor", "the metatable is locked")
  same(pcall(setmetatable, x, nil), false, "setmetatable")
  same(x:sum():item(), 3.0, "sum")
  local foreign = io.stdout
  raises("type", function() return x.sum(foreign) end)
  same(pcall(x.sum, foreign), false, "a method on a foreign userdata")
end

-- ---- devices ----

local function need_device()
  if not ts.cuda.is_available() then
    error("no device: " .. tostring(ts.cuda.why()), 0)
  end
end

local on_device = { device = "cuda" }

case["GPU-01"] = function()
  need_device()
  local x = ts.arange(0.0, 70000 * 3 - 1, on_device):reshape(70000, 3)
  local s, m = x:sum(2), x:amax(2)
  same(s(1), 3.0, "s[0]")
  same(s(70000), 629994.0, "s[69999]")
  same(m(70000), 209999.0, "m[69999]")
  same(x:sum():item() / 22049895000 - 1 < 1e-6, true, "sum of s")
  local eye = ts.eye(2, on_device):mul(2):expand(70000, 2, 2)
  local b = eye:matmul(ts.ones(70000, 2, 2, on_device))
  same(b:eq(2):all():item(), true, "b")
  local even = ts.zeros(70000, 4, on_device):softmax(2)
  same(even:eq(0.25):all():item(), true, "softmax")
  same(ts.ones(70000, 8, on_device):layer_norm({ 8 }):eq(0):all():item(), true,
    "layer_norm of equal values")
  local y = ts.conv2d(ts.ones(70000, 1, 2, 2, on_device),
    ts.ones(1, 1, 2, 2, on_device))
  same(y:eq(4):all():item(), true, "conv")
  local u = ts.rand(8192, 1024, on_device)
  same(u:amin():item() >= 0 and u:amax():item() < 1, true, "range of rand")
  same(x:t():contiguous()(3, 70000), 209999.0, "t_last")
  for _, shape in ipairs { { 0, 5 }, { 5, 0 } } do
    local e = ts.zeros(shape, on_device)
    same(e:sum():item(), 0.0, "sum of an empty tensor")
    same(e:softmax(2):numel(), 0, "softmax of an empty tensor")
    same(e:t():contiguous():numel(), 0, "an empty transpose")
  end
end

-- Cases that are run again with every tensor on the device.
local corners = {
  "NUM-01", "NUM-09", "NUM-10", "NUM-12", "NUM-13", "NUM-18", "NUM-20",
  "DT-01", "DT-05", "IDX-01", "CONV-05", "CONV-07", "CONV-08", "CONV-10",
}

case["GPU-03"] = function(_, again)
  need_device()
  for _, id in ipairs(corners) do
    local why = again(id, "cuda")
    if why then error(id .. " on the device: " .. why, 0) end
  end
  local x = ts.ones(3, on_device)
  raises("index", ts.index_select, x, 1, ts.idx { 99 }:to("cuda"))
  same(ts.ones(4, on_device):sum():item(), 4.0, "a sum after an error")
  local odd = ts.tensor { 0 / 0, 1e30, -1e30, 1.5 }
  same(odd:to("cuda"):to("i32"):cpu():equal(odd:to("i32")), true,
    "conversion to integers")
  local ok, why = pcall(ts.add, x, ts.ones(3))
  same(not ok and why:find("cuda") ~= nil and why:find("cpu") ~= nil, true,
    "mixed devices")
end

function words.has(id) return case[id] ~= nil end

function words.run(record, again)
  local f = case[record.id]
  if not f then return record.input.tensor_part and "tensor part: not translated" end
  local ok, why = pcall(f, record, again)
  return not ok and tostring(why) or nil
end

function words.stdout(record)
  local path = os.tmpname()
  local file = assert(io.open(path, "w"))
  file:write(record.input.lua)
  file:close()
  local r = program.run { path }
  os.remove(path)
  local expected = table.concat(record.expect.lines, "\n") .. "\n"
  if r.status ~= 0 then return "status " .. r.status .. ": " .. r.err end
  return r.out ~= expected and "prints " .. r.out or nil
end

return words
