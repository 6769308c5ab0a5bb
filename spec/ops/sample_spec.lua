--- Images between pixels and attention, at the edges: places that no drawn
-- case meets, identities that hold exactly, and what is refused.
local ts = require "tensus"

local function f64(v) return ts.tensor(v, "f64") end

local function raises(code, pattern, f, ...)
  local ok, message = pcall(f, ...)
  assert.is_false(ok)
  assert.equal(code, ts.errinfo().code, tostring(message))
  assert.matches(pattern, message)
end

-- A row of pixels read at places u, v = 0.
local function read_row(pixels, places, options)
  local grid = {}
  for k, u in ipairs(places) do grid[k] = { u, 0 } end
  local x = f64 { { { pixels } } }
  local y = x:grid_sample(f64 { { grid } }, options)
  return y:flatten():tolist()
end

describe("grid_sample", function()
  it("counts NaN as -1 and reads nothing at infinity", function()
    local corners = { align_corners = true }
    assert.same({ 3.0, 3.0 }, read_row({ 3, 5 }, { 0 / 0, -1 }, corners))
    assert.same({ 0.0, 0.0 },
      read_row({ 3, 5 }, { math.huge, -math.huge }, corners))
    corners.padding_mode = "border"
    assert.same({ 5.0, 3.0, 5.0 },
      read_row({ 3, 5 }, { math.huge, -math.huge, 1e300 }, corners))
    corners.padding_mode = "reflection"
    for _, y in ipairs(read_row({ 3, 5 }, { 1e18, -1e30, math.huge }, corners)) do
      assert.is_true(y >= 3 and y <= 5)
    end
  end)

  it("takes the even pixel of two that are equally near", function()
    assert.same({ 1.0, 3.0, 3.0 }, read_row({ 1, 2, 3, 4, 5 },
      { -0.75, 0.25, -0.25 }, { mode = "nearest", align_corners = true }))
  end)

  it("gives the pixels themselves at their centres, in every mode", function()
    local x = ts.randn(2, 3, 4, 5, { dtype = "f64" })
    local theta = f64 { { { 1, 0, 0 }, { 0, 1, 0 } } }:expand(2, 2, 3)
    for _, corners in ipairs { true, false } do
      local grid = theta:affine_grid({ 2, 3, 4, 5 }, { align_corners = corners })
      for _, mode in ipairs { "bilinear", "nearest", "bicubic" } do
        local y = x:grid_sample(grid, { mode = mode, align_corners = corners })
        assert.is_true(y:sub(x):abs():amax():item() < 1e-12, mode)
      end
    end
  end)

  it("has the slope of the next cell on a border between pixels", function()
    local x = f64 { { { { 0, 1, 5, 5, 9 } } } }
    local grid = f64 { { { { 0, 0 } } } }:requires_grad_()
    x:grid_sample(grid, { align_corners = true }):sum():backward()
    assert.equal(0.0, grid.grad(1, 1, 1, 1)) -- from 5 to 5, not from 1 to 5
  end)

  it("gives derivatives by du and dv", function()
    local x = ts.randn(1, 1, 4, 5, { dtype = "f64" })
    local grid = f64 { { { { 0.17, -0.31 } } } }
    local h = 1e-5
    local function at(du, dv, options)
      return x:grid_sample(grid + f64 { du, dv }, options):item()
    end
    local cubic = { mode = "bicubic" }
    local slope = (at(h, 0, cubic) - at(-h, 0, cubic)) / (2 * h)
    local found = x:grid_sample(grid, { mode = "bicubic", du = 1 }):item()
    assert.is_true(math.abs(found - slope) < 1e-8)
    local cross = (at(h, h) - at(h, -h) - at(-h, h) + at(-h, -h)) / (4 * h * h)
    found = x:grid_sample(grid, { du = 1, dv = 1 }):item()
    assert.is_true(math.abs(found - cross) < 1e-4)
    assert.equal(0.0, x:grid_sample(grid, { du = 2 }):item())
  end)

  it("says what does not fit", function()
    local x, grid = ts.ones(2, 3, 4, 5), ts.zeros(2, 6, 7, 2)
    raises("rank", "self is {3,4,5}", ts.grid_sample, x[1], grid)
    raises("shape", "grid {2,6,7,3}", ts.grid_sample, x, ts.zeros(2, 6, 7, 3))
    raises("shape", "{1,6,7,2}", ts.grid_sample, x, grid[{ { 1, 1 } }])
    raises("dtype", "grid is f64", ts.grid_sample, x, grid:double())
    raises("empty", "no element", ts.grid_sample, ts.ones(2, 3, 0, 5), grid)
    raises("range", "du is %-1", ts.grid_sample, x, grid, { du = -1 })
    raises("range", "dw is 1", ts.grid_sample, x, grid, { dw = 1 })
    raises("shape", "gives {2,3,6,7}", ts.grid_sample_add, ts.ones(2, 3, 6, 6),
      grid, { 2, 3, 4, 5 })
  end)
end)

describe("interpolate", function()
  it("keeps a constant, and the ends with align_corners", function()
    for _, mode in ipairs { "nearest", "linear", "cubic", "area" } do
      local y = ts.full({ 1, 2, 5, 3 }, 2.5):interpolate { size = { 7, 9 },
        mode = mode }
      assert.is_true(y:sub(2.5):abs():amax():item() < 1e-6, mode)
    end
    local y = f64 { { { 3, 7, 4 } } }:interpolate { size = 8, mode = "linear",
      align_corners = true }
    assert.equal(3.0, y(1, 1, 1))
    assert.equal(4.0, y(1, 1, 8))
  end)

  it("gives a copy where the size stays", function()
    local x = ts.randn(1, 2, 3)
    local y = x:interpolate { size = 3, mode = "cubic" }
    assert.is_true(y:equal(x))
    assert.is_false(y:shares(x))
  end)

  it("says what does not fit", function()
    local x = ts.ones(1, 2, 4, 4)
    raises("option", "size or scale", ts.interpolate, x)
    raises("option", "not both", ts.interpolate, x, { size = 2, scale = 2 })
    raises("size", "size gives 0", ts.interpolate, x, { size = 0 })
    raises("size", "scale gives 0", ts.interpolate, x, { scale = 0.1 })
    raises("range", "scale is %-1", ts.interpolate, x, { scale = -1 })
    raises("shape", "size has 3 entries", ts.interpolate, x, { size = { 1, 2, 3 } })
    raises("rank", "{4,4}", ts.interpolate, ts.ones(4, 4), { size = 2 })
    raises("empty", "no element", ts.interpolate, ts.ones(1, 2, 0), { size = 2 })
    raises("option", "one of nearest", ts.interpolate, x,
      { size = 2, mode = "lanczos" })
    raises("shape", "no image", ts.interpolate_add, x, { 1, 3, 4, 4 })
  end)
end)

describe("attention", function()
  it("gives 0 and no gradient to a query that sees no key", function()
    local q = ts.randn(2, 3, { dtype = "f64", requires_grad = true })
    local k, v = ts.randn(4, 3, "f64"), ts.randn(4, 2, "f64")
    local mask = ts.tensor { { true, true, false, true },
      { false, false, false, false } }
    local y = q:attention(k, v, { mask = mask })
    assert.same({ 0.0, 0.0 }, y[2]:detach():tolist())
    y:sum():backward()
    assert.same({ 0.0, 0.0, 0.0 }, q.grad[2]:tolist())
    assert.is_true(q.grad:isfinite():all():item())
  end)

  it("says what does not fit", function()
    local q = ts.ones(2, 3)
    raises("shape", "self {2,3} and key {4,5}", ts.attention, q, ts.ones(4, 5),
      ts.ones(4, 5))
    raises("shape", "key {4,3} and value {5,3}", ts.attention, q, ts.ones(4, 3),
      ts.ones(5, 3))
    raises("dtype", "mask is i64", ts.attention, q, q, q,
      { mask = ts.ones(2, 2, "i64") })
    raises("rank", "self", ts.attention, ts.ones(3), q, q)
  end)
end)
