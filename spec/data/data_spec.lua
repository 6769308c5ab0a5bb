local ts = require "tensus"
local data = ts.data

local function dataset(n)
  return data.tensors(ts.arange(n):float():reshape(n, 1), ts.arange(n))
end

describe("data.loader", function()
  it("cuts a set into batches, the last one shorter", function()
    local sizes = {}
    for x, y in data.loader(dataset(10), { batch = 4 }):iter() do
      sizes[#sizes + 1] = #x
      assert.is_true(x:flatten():equal(y:float()))
    end
    assert.same({ 4, 4, 2 }, sizes)
  end)

  it("drops the last one if asked", function()
    local loader = data.loader(dataset(10), { batch = 4, drop_last = true })
    assert.equal(2, #loader)
    local n = 0
    for _ in loader:iter() do n = n + 1 end
    assert.equal(2, n)
  end)

  it("shuffles every element once, by the seed", function()
    local function order(seed)
      local seen, list = {}, {}
      ts.manual_seed(seed)
      local loader = data.loader(dataset(50), { batch = 7, shuffle = true })
      for _, y in loader:iter() do
        for _, label in ipairs(y:tolist()) do
          assert.is_nil(seen[label])
          seen[label] = true
          list[#list + 1] = label
        end
      end
      assert.equal(50, #list)
      return table.concat(list, " ")
    end
    assert.equal(order(5), order(5))
    assert.not_equal(order(5), order(6))
  end)

  it("stacks the items of any table with a length", function()
    local items = {}
    for i = 1, 5 do items[i] = { ts.full({ 2 }, i), ts.tensor(i) } end
    local total = 0
    for x, y in data.loader(items, { batch = 2 }):iter() do
      assert.equal(2, x.ndim)
      assert.is_true(x:select(2, 1):equal(y))
      total = total + #y
    end
    assert.equal(5, total)
  end)

  it("names a bad option", function()
    assert.error_matches(function()
      data.loader(dataset(3), { batch = 0 })
    end, "batch is 0")
    assert.error_matches(function()
      data.loader(dataset(3), { suffle = true })
    end, "did you mean shuffle")
  end)
end)

describe("data.tensors", function()
  it("wants equal first sizes", function()
    assert.error_matches(function()
      data.tensors(ts.zeros(3, 2), ts.zeros(4))
    end, "argument 2 is {4}, the first {3,2}")
  end)

  it("gives one item as views", function()
    local x, y = table.unpack(dataset(4)[3])
    assert.equal(3.0, x(1))
    assert.equal(3, y:item())
  end)
end)
