-- Results and gradients have the same bits with one thread, two and three.
local ts = require "tensus"
local cases = require "spec.support.cases"
local large = require "spec.support.large"

-- f with a number of threads; the number before is put back, also on error.
local function with_threads(n, f)
  local before = ts.get_num_threads()
  ts.set_num_threads(n)
  local results = table.pack(pcall(f))
  ts.set_num_threads(before)
  assert(results[1], results[2])
  return table.unpack(results, 2, results.n)
end

local function is_float(x)
  return ts.is_tensor(x) and x.dtype:find("f", 1, true) ~= nil
end

-- The results of a row, and after them the gradients of its operands.
local function all_of(op)
  local args = large.of(op)
  local leaves = {}
  local function mark(value)
    if is_float(value) and not op.only_inplace then
      leaves[#leaves + 1] = value:detach():requires_grad_()
      return leaves[#leaves]
    end
    if type(value) ~= "table" then return value end
    local list = {}
    for k, item in pairs(value) do list[k] = mark(item) end
    return list
  end
  local marked = mark(args)
  local results = { cases.call(op)(table.unpack(marked, 1, #marked)) }
  if results[1].requires_grad then
    local seed = ts.rand(results[1].shape, { generator = ts.generator(7) })
    local gradients = ts.grad({ results[1] }, leaves,
      { grad_outputs = { seed }, unused = "zero" })
    table.move(gradients, 1, #gradients, #results + 1, results)
  end
  if op.only_inplace then
    for k = 2, #args do
      if ts.is_tensor(args[k]) then results[#results + 1] = args[k] end
    end
  end
  return results
end

for _, op in ipairs(ts.ops()) do
  if large.of(op) then
    describe(op.name, function()
      it("has the same bits with 1, 2 and 3 threads", function()
        local one = with_threads(1, function() return all_of(op) end)
        for n = 2, 3 do
          local found = with_threads(n, function() return all_of(op) end)
          assert.equal(#one, #found)
          for k, x in ipairs(found) do
            assert.is_true(one[k]:equal(x),
              string.format("result %d of %d with %d threads", k, #one, n))
          end
        end
      end)
    end)
  end
end
