-- What an order promises, on lines long enough for every way of finding it:
-- insertion, digits, selection by blocks, chunks of a long line, 64-bit keys
-- that differ in more than 32 bits.
local ts = require "tensus"

local generator

local function draw(shape, dtype)
  local options = { generator = generator }
  if dtype == "f64" or dtype == "f32" then
    options.dtype = dtype
    return ts.randn(shape, options)
  end
  if dtype:find("f", 1, true) then return ts.randn(shape, options):to(dtype) end
  if dtype == "i64" then
    return ts.randint(-(1 << 61), 1 << 61, shape, options)
  end
  return ts.randint(0, 1, shape, options):to(dtype)
end

-- Few keys, far apart in both halves: runs that are equal in the upper one.
local function runs(shape)
  local options = { generator = generator }
  return ts.randint(-3, 3, shape, options) * (1 << 40)
    + ts.randint(-3, 3, shape, options)
end

local function with_nan(x)
  return ts.where(x:gt(0.5), 0 / 0, ts.where(x:lt(-1), -0.0, x))
end

local inputs = {
  { "f32", function(s) return draw(s, "f32") end },
  { "f64", function(s) return draw(s, "f64") end },
  { "f16", function(s) return draw(s, "f16") end },
  { "i64", function(s) return draw(s, "i64") end },
  { "u8", function(s) return draw(s, "u8") end },
  { "i64 in runs", runs },
  { "f32 with NaN and zeros", function(s) return with_nan(draw(s, "f32")) end },
  { "f64 with NaN and zeros", function(s) return with_nan(draw(s, "f64")) end },
}

local shapes = { { 300000 }, { 2, 150000 }, { 30, 700 }, { 60, 49 }, { 5, 5000 } }

local function same(x, y)
  return (x:eq(y) | (x:ne(x) & y:ne(y))):all():item()
end

-- x before y, rising, by value: NaN is the greatest.
local function before(x, y)
  return x:lt(y) | (x:eq(x) & y:ne(y))
end

local function check_sort(x, descending)
  local n = x:size(-1)
  local values, places = x:sort(-1, { descending = descending })
  assert.is_true(same(values, x:gather(-1, places)))
  local counts = ts.zeros_like(places):scatter_add(-1, places,
    ts.ones_like(places))
  assert.is_true(counts:eq(1):all():item())
  local first, second = values:narrow(-1, 1, n - 1), values:narrow(-1, 2, n - 1)
  local rises = places:narrow(-1, 1, n - 1):lt(places:narrow(-1, 2, n - 1))
  if descending then first, second = second, first end
  local is_tie = ~before(first, second) & ~before(second, first)
  assert.is_true((before(first, second) | (is_tie & rises)):all():item())
  assert.is_true(places:equal(x:argsort(-1, { descending = descending })))
  return values, places
end

describe("an order", function()
  for _, input in ipairs(inputs) do
    for _, shape in ipairs(shapes) do
      local name = input[1] .. " {" .. table.concat(shape, ",") .. "}"
      it("is one and holds for every part of it, " .. name, function()
        generator = ts.generator(17)
        local x = input[2](shape)
        local n = shape[#shape]
        for _, descending in ipairs { false, true } do
          local values, places = check_sort(x, descending)
          for _, k in ipairs { 1, 7, n // 20 + 1, n // 5, n - 1 } do
            local top, at = x:topk(k, -1, { largest = descending })
            assert.is_true(same(top, values:narrow(-1, 1, k)))
            assert.is_true(at:equal(places:narrow(-1, 1, k)))
            if not descending then
              local value, place = x:kthvalue(k, -1)
              assert.is_true(same(value, values:select(-1, k)))
              assert.is_true(place:equal(places:select(-1, k)))
            end
          end
        end
      end)
    end
  end

  it("is the same along every dim", function()
    generator = ts.generator(18)
    local x = draw({ 40, 50, 60 }, "f32")
    for dim = 1, 3 do
      local values, places = x:sort(dim)
      local moved, at = x:transpose(dim, 3):contiguous():sort()
      assert.is_true(values:equal(moved:transpose(dim, 3)))
      assert.is_true(places:equal(at:transpose(dim, 3)))
    end
  end)
end)

describe("the position of an extreme", function()
  -- On lines that several threads share; the chunks and pieces of reduce.c
  -- begin at multiples of 4096 and of 65536.
  local places = { { 6 }, { 70000, 700000 }, { 65536, 65537 }, { 1000000 },
    { 131073, 131072 } }

  it("is the first of ties and the first NaN", function()
    generator = ts.generator(19)
    local x = draw({ 1000000 }, "f32"):clamp(-2, 2)
    for _, at in ipairs(places) do
      for _, value in ipairs { 7.0, 0 / 0 } do
        local y = x:clone()
        for _, k in ipairs(at) do y[k] = value end
        local first = math.min(table.unpack(at))
        assert.equal(first, y:argmax():item())
        assert.equal(first, (-y):argmin():item())
        local columns = ts.stack({ y, y }, 2)
        assert.same({ first, first }, columns:argmax(1):tolist())
        assert.same({ first, first }, columns:t():argmax(2):tolist())
      end
    end
  end)
end)
