--- The figures of `make bench`: a table, then one line of JSON.
--
--   build/tensus scripts/bench/run.lua [row ...]
--
-- Each row is timed in rounds that take turns with the others of its group, and
-- with the same work in NumPy and PyTorch where python3 has them; the least of
-- the rounds counts.  A row with an aim says whether it was met.  Machines are
-- shared and noisy: read ratios, and run it twice.
local ts = require "tensus"

local build = os.getenv "BUILD" or "build"
local results = {} -- name -> {value, unit, aim, peers}
local order = {}

local function report(name, value, unit, aim)
  local row = results[name] or { unit = unit, aim = aim, peers = {} }
  row.value = value
  if not results[name] then
    results[name] = row
    order[#order + 1] = name
  end
end

--- The least seconds of one call of f, over rounds of about 20 ms.
local function best(f, rounds)
  f()
  local from, n = ts.clock(), 1
  f()
  local once = math.max(ts.clock() - from, 1e-7)
  n = math.max(1, math.floor(0.02 / once))
  local least = math.huge
  for _ = 1, rounds or 9 do
    from = ts.clock()
    for _ = 1, n do f() end
    least = math.min(least, (ts.clock() - from) / n)
  end
  return least
end

--- The first line of what a command prints.
local function read(command)
  local pipe = io.popen(command .. " 2>/dev/null")
  local lines = {}
  for line in pipe:lines() do lines[#lines + 1] = line end
  pipe:close()
  return lines
end

--- The least wall time of a whole process, of `rounds` starts in turn.
local function process_times(commands, rounds)
  local least = {}
  for i in ipairs(commands) do least[i] = math.huge end
  for _ = 1, rounds do
    for i, command in ipairs(commands) do
      local from = ts.clock()
      os.execute(command)
      least[i] = math.min(least[i], ts.clock() - from)
    end
  end
  return least
end

local rows = {}

function rows.start()
  local t = process_times({
    build .. "/lua-bootstrap -e '' >/dev/null 2>&1",
    build .. "/tensus -e '' >/dev/null 2>&1",
  }, 25)
  report("start-up over an empty Lua", (t[2] - t[1]) * 1e3, "ms", 3)
end

function rows.small()
  local a, b = ts.ones(1), ts.ones(1)
  local function loop(n)
    for _ = 1, n do local _ = a + b end
  end
  report("add of two 1-element tensors, Lua",
    best(function() loop(1000) end) * 1e6, "ns", 250)
  local x = ts.ones(1):requires_grad_()
  report("tracked add of 1 element, Lua",
    best(function() for _ = 1, 1000 do local _ = x + b end end) * 1e6, "ns",
    400)
  for _, line in ipairs(read(build .. "/bench/add")) do
    local value = line:match "^add (%S+) ns"
    if value then
      report("add of two 1-element tensors, C", tonumber(value), "ns", 150)
    end
  end
end

function rows.gemm()
  for _, line in ipairs(read(build .. "/bench/gemm 512x512x512 1")) do
    local threads, share = line:match "f32.512x512x512.NN.t(%d)%s.-(%d+) %% of peak"
    if threads then
      report("f32 product at 512, threads " .. threads, tonumber(share),
        "% of peak", 80)
    end
  end
  for threads = 1, 2 do
    ts.set_num_threads(threads)
    local a, b = ts.randn(512, 512), ts.randn(512, 512)
    local seconds = best(function() local _ = a:matmul(b) end)
    report(("matmul 512, %d thread%s"):format(threads,
      threads > 1 and "s" or ""), 2 * 512 ^ 3 / seconds * 1e-9, "GFLOP/s")
  end
end

function rows.linalg()
  ts.set_num_threads(2)
  local L = ts.linalg
  for _, size in ipairs { { 1, 512, 512 }, { 1000, 8, 8 } } do
    local n = size[3]
    local one = ts.eye(n, { dtype = "f64" })
    local b = ts.randn(size, { dtype = "f64" })
    local a = b + n * one
    local spd = a:matmul(a:transpose(2, 3))
    local work = {
      { "solve", function() local _ = L.solve(a, b) end },
      { "cholesky", function() local _ = L.cholesky(spd) end },
      { "qr", function() local _ = L.qr(b) end },
      { "svd", function() local _ = L.svd(b) end },
      { "eigh", function() local _ = L.eigh(spd) end },
    }
    for _, call in ipairs(work) do
      report(("%s %d x %d x %d f64"):format(call[1], table.unpack(size)),
        best(call[2]) * 1e3, "ms")
    end
  end
end

function rows.rows()
  ts.set_num_threads(1)
  for _, n in ipairs { 1024, 2048 } do
    local x, w = ts.randn(n, n), ts.ones(n)
    local work = {
      { "softmax", function() local _ = x:softmax(2) end },
      { "layer_norm", function() local _ = x:layer_norm({ n }, w, w) end },
      { "transpose copy", function() local _ = x:t():contiguous() end },
      { "sum", function() local _ = x:sum() end },
      { "sum of rows", function() local _ = x:sum(2) end },
      { "sum of columns", function() local _ = x:sum(1) end },
    }
    for _, one in ipairs(work) do
      report(("%s %d"):format(one[1], n), best(one[2]) * 1e6, "us")
    end
  end
  ts.set_num_threads(2)
end

--- einsum over the same product written by hand.
function rows.einsum()
  ts.set_num_threads(1)
  local function r(...) return ts.randn(...) end
  local small, bij, bjk = r(2, 2), r(16, 128, 128), r(16, 128, 128)
  local q, k, m = r(8, 8, 128, 64), r(8, 8, 128, 64), r(128, 128)
  local work = {
    { "ij,jk->ik", { small, small }, function() return small:matmul(small) end },
    { "bij,bjk->bik", { bij, bjk }, function() return bij:matmul(bjk) end },
    { "bhqd,bhkd->bhqk", { q, k }, function() return q:matmul(k.mT) end },
    { "ij,kj->ik", { m, m }, function() return m:matmul(m.T) end },
    { "bij,bjk,kl->bil", { bij, bjk, m },
      function() return bij:matmul(bjk:matmul(m)) end },
    { "bi,bj->bij", { m, m },
      function() return m:unsqueeze(3) * m:unsqueeze(2) end },
    { "ii->", { m }, function() return m:diagonal():sum() end },
  }
  for _, one in ipairs(work) do
    local equation, operands, by_hand = table.unpack(one)
    local a = best(function() local _ = ts.einsum(equation, operands) end)
    local b = best(by_hand)
    local aim = operands[1] == small and 2 or 1.1
    report("einsum " .. equation .. " over by hand", a / b, "times", aim)
  end
  ts.set_num_threads(2)
end

--- Work over the memory of a tensor, as multiples of a copy of its bytes.
function rows.bandwidth()
  local n = 1 << 24 -- 64 MiB of f32
  local x, y = ts.randn(n), ts.randn(n)
  local copy = best(function() local _ = x:clone() end)
  report("copy of 64 MiB", 2 * 4 * n / copy * 1e-9, "GB/s")
  local add = best(function() local _ = x + y end)
  report("add of 64 MiB, of the bandwidth of that copy",
    100 * (3 * 4 * n / add) / (2 * 4 * n / copy), "%", 90)
  local z = x:reshape(4096, 4096)
  local whole = best(function() local _ = z:sum(2) end)
  for axis, name in ipairs { "first", "last" } do
    for _, op in ipairs { "sum", "amax", "var", "norm", "prod" } do
      local function f()
        if op == "norm" then return z:norm(2, axis) end
        return z[op](z, axis)
      end
      report(("%s along the %s axis of 4096 by 4096, over sum of rows")
        :format(op, name), best(f) / whole, "times", op == "sum" and 1.5 or nil)
    end
  end
end

--- Orders and scans, in the units of the peers.
function rows.order()
  local x, i = ts.randn(1000000), ts.randint(1, 1000000, { 1000000 })
  local z = ts.randn(1000, 1000)
  local work = {
    { "sort of 1 M f32", function() return x:sort() end },
    { "sort of 1000 rows of 1000", function() return z:sort() end },
    { "topk 10 of 1 M", function() return x:topk(10) end },
    { "topk 10 of 1000 rows of 1000", function() return z:topk(10) end },
    { "cumsum of 1 M", function() return x:cumsum(1) end },
    { "cumsum of 1000 rows of 1000", function() return z:cumsum(2) end },
    { "cumsum down 1000 rows of 1000", function() return z:cumsum(1) end },
    { "gather of 1 M", function() return x:gather(1, i) end },
    { "masked_select of 1 M", function() return x:masked_select(x:gt(0)) end },
    { "quantile of 1 M", function() return x:quantile(0.3) end },
  }
  for _, one in ipairs(work) do report(one[1], best(one[2]) * 1e6, "us") end
end

--- One training step as a function, and one forward pass.
local function step_of(network, x, y)
  local optimizer = ts.optim.adam(network)
  local function forward()
    local _ <close> = ts.scope()
    ts.no_grad(function() return ts.cross_entropy(network(x), y) end)
  end
  local function tracked()
    local _ <close> = ts.scope()
    ts.cross_entropy(network(x), y)
  end
  local function step()
    local _ <close> = ts.scope()
    local loss = ts.cross_entropy(network(x), y)
    optimizer:zero_grad()
    loss:backward()
    optimizer:step()
  end
  local function both()
    local _ <close> = ts.scope()
    optimizer:zero_grad()
    ts.cross_entropy(network(x), y):backward()
  end
  return step, forward, tracked, both
end

function rows.steps()
  local nn = ts.nn
  ts.set_num_threads(2)
  local y = ts.randint(1, 10, { 64 })
  local step = step_of(nn.sequential {
    nn.linear(784, 256), nn.relu(), nn.linear(256, 10),
  }, ts.randn(64, 784), y)
  report("step of 784-256-10, batch 64", best(step) * 1e6, "us")
  local network = nn.sequential {
    nn.conv2d(1, 8, 3, { padding = 1 }), nn.relu(), nn.max_pool2d(2),
    nn.conv2d(8, 16, 3, { padding = 1 }), nn.relu(), nn.max_pool2d(2),
    nn.flatten(), nn.linear(16 * 7 * 7, 64), nn.relu(), nn.linear(64, 10),
  }
  local conv, _, tracked, both =
    step_of(network, ts.randn(64, 1, 28, 28), y)
  local step_time, forward, with_backward = best(conv), best(tracked),
    best(both)
  report("step of the demo's network, batch 64", step_time * 1e6, "us")
  report("its backward over its forward", (with_backward - forward) / forward,
    "times", 3)
end

function rows.memory()
  local x = ts.ones(262144)
  collectgarbage()
  ts.reset_peak()
  local before = ts.memory().peak
  for _ = 1, 10000 do local _ = x + 1 end
  report("peak over 10,000 temporaries of 1 MiB",
    (ts.memory().peak - before) / 2 ^ 20, "MiB", 64)
end

function rows.collector()
  local a, b = ts.rand(1000000), ts.rand(1000000)
  local function chain() local _ = ((a * b + a):tanh() - b):relu() * 0.5 end
  local few = best(chain)
  local live = {}
  for i = 1, 100000 do live[i] = { i } end
  collectgarbage()
  local many = best(chain)
  report("chain of six ops, 1 M", few * 1e6, "us")
  report("the same with 100,000 live objects, over none", many / few, "times",
    1.5)
  return live
end

--- One pass of the demo as a process, where its images are installed.
function rows.demo()
  local lines = read(build .. "/tensus scripts/demo/fashion.lua --epochs 1 " ..
    "--save " .. build .. "/bench.npy")
  for _, line in ipairs(lines) do
    local speed = line:match "(%d+) images/s"
    local peak = line:match "^peak memory (%d+) MiB"
    if speed then
      report("the demo learns from", tonumber(speed), "images/s")
    elseif peak then
      report("peak memory of the demo", tonumber(peak), "MiB")
    end
  end
end

--- The same work in other libraries: lines "library<TAB>name<TAB>value".
local function add_peers()
  local here = arg[0]:match "^(.*)/" or "."
  for _, line in ipairs(read("python3 " .. here .. "/peer.py")) do
    local library, name, value = line:match "^(%S+)\t(.-)\t(%S+)$"
    if library and results[name] then
      results[name].peers[library] = tonumber(value)
    end
  end
end

local function number(value)
  return value and ("%.3g"):format(value) or ""
end

local function print_table()
  print(("%-48s %10s %-10s %8s %-4s %10s %10s"):format("row", "value", "unit",
    "aim", "met", "numpy", "torch"))
  for _, name in ipairs(order) do
    local r = results[name]
    local low = r.unit:sub(1, 1) ~= "%"
    local met = r.aim and
      ((low and r.value <= r.aim or not low and r.value >= r.aim) and "yes" or
        "no") or ""
    print(("%-48s %10s %-10s %8s %-4s %10s %10s"):format(name,
      number(r.value), r.unit, r.aim or "", met, number(r.peers.numpy),
      number(r.peers.torch)))
  end
end

local function print_json()
  local parts = {}
  for _, name in ipairs(order) do
    local r = results[name]
    parts[#parts + 1] = ('{"row":"%s","value":%.6g,"unit":"%s"%s}'):format(
      name, r.value, r.unit, r.aim and (',"aim":%g'):format(r.aim) or "")
  end
  print("[" .. table.concat(parts, ",") .. "]")
end

local wanted = #arg > 0 and arg or
  { "start", "small", "gemm", "linalg", "rows", "einsum", "bandwidth", "order", "steps",
    "memory", "collector", "demo" }
for _, name in ipairs(wanted) do
  if not rows[name] then
    io.stderr:write("bench: there is no group ", name, "\n")
    os.exit(2)
  end
  rows[name]()
end
add_peers()
print_table()
print_json()
