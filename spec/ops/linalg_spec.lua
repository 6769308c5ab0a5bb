-- What factors must be, whoever made them: a library, or our own loops.  The
-- second half runs this file and the values once more without a library.
local ts = require "tensus"
local linalg = ts.linalg

local dtypes = { f64 = 2.0 ^ -52, f32 = 2.0 ^ -23 }

-- Below and above what is left to our own loops, and what a thread takes.
local sizes = { { 1, 1 }, { 5, 5 }, { 7, 4 }, { 4, 7 }, { 40, 40 }, { 60, 33 },
  { 33, 60 }, { 150, 140 } }

local function draw(generator, dtype, ...)
  return ts.randn({ ... }, { dtype = dtype, generator = generator })
end

-- |x - y| in units of |y| n, by Frobenius.
local function apart(x, y, unit)
  local n = math.max(x:size(-1), x:size(-2))
  return (x - y):norm():item() / (unit * n * math.max(y:norm():item(), 1e-300))
end

local function near(x, y, unit, what)
  local off = apart(x, y, unit)
  assert.is_true(off < 8, what .. ": off by " .. off)
end

local function orthonormal(q, unit, what)
  local one = ts.eye(q:size(-1), { dtype = q.dtype })
  near(q:transpose(-1, -2):matmul(q), one:expand(q:size(1), -1, -1), unit, what)
end

local function turn(x) return x:transpose(-1, -2) end

-- The greatest entry of each column, by size, is positive.
local function positive(x)
  local place = x:abs():argmax(-2, { keepdim = true })
  return x:gather(-2, place):gt(0):all():item()
end

for dtype, unit in pairs(dtypes) do
  for _, size in ipairs(sizes) do
    local m, n = size[1], size[2]
    local label = string.format(" %d x %d in %s", m, n, dtype)
    local g = ts.generator(m * n)
    local x = draw(g, dtype, 2, m, n)

    it("qr gives an orthonormal and an upper factor," .. label, function()
      for _, mode in ipairs { "reduced", "complete" } do
        local q, r = linalg.qr(x, { mode = mode })
        near(q:matmul(r), x, unit, "q r")
        orthonormal(q, unit, "q'q")
        assert.is_true(r:tril(-1):eq(0):all():item())
        assert.is_true(r:diagonal { dim1 = -2, dim2 = -1 }:ge(0):all():item())
      end
      local _, r = linalg.qr(x)
      assert.is_true(linalg.qr(x, { mode = "r" }):equal(r))
    end)

    it("svd gives two bases and what falls," .. label, function()
      for _, full in ipairs { false, true } do
        local u, s, v = linalg.svd(x, { full = full })
        local k = s:size(-1)
        local y = (u:narrow(-1, 1, k) * s:unsqueeze(-2)):matmul(v:narrow(-2, 1, k))
        near(y, x, unit, "u s v'")
        orthonormal(u, unit, "u'u")
        orthonormal(turn(v), unit, "v'v")
        assert.is_true(positive(u))
        assert.is_true(s:ge(0):all():item())
        assert.is_true(s:diff():le(0):all():item())
        near(linalg.svdvals(x), s, unit, "svdvals")
      end
    end)

    it("pinv satisfies the four equations of Penrose," .. label, function()
      local p = linalg.pinv(x)
      local xp, px = x:matmul(p), p:matmul(x)
      local bad = linalg.cond(x):amax():item() * unit
      near(xp:matmul(x), x, bad, "x p x")
      near(px:matmul(p), p, bad, "p x p")
      near(turn(xp), xp, bad, "x p is symmetric")
      near(turn(px), px, bad, "p x is symmetric")
    end)

    if m == n then
      local spd = x:matmul(turn(x)) + ts.eye(n, { dtype = dtype })

      it("solve leaves no residual," .. label, function()
        local b = draw(g, dtype, 2, n, 3)
        local y = linalg.solve(x, b)
        local scale = x:norm():item() * y:norm():item() * n
        assert.is_true((x:matmul(y) - b):norm():item() < 8 * unit * scale)
        near(linalg.solve(spd, spd), ts.eye(n, { dtype = dtype }):expand(2, n, n),
          unit * linalg.cond(spd):amax():item(), "solve of itself")
      end)

      it("lu_factor gives two triangles of the exchanged rows," .. label, function()
        local lu, pivots = linalg.lu_factor(x)
        local lower = lu:tril(-1) + ts.eye(n, { dtype = dtype })
        local rows = {}
        for k = 1, 2 do
          local order = {}
          for i = 1, n do order[i] = i end
          for i, at in ipairs(pivots[k]:tolist()) do
            order[i], order[at] = order[at], order[i]
          end
          rows[k] = x[k]:index_select(1, ts.idx(order))
        end
        near(lower:matmul(lu:triu()), ts.stack(rows), unit, "l u")
      end)

      it("cholesky gives a triangle," .. label, function()
        local l = linalg.cholesky(spd)
        local u = linalg.cholesky(spd, { upper = true })
        near(l:matmul(turn(l)), spd, unit, "l l'")
        near(turn(u):matmul(u), spd, unit, "u'u")
        assert.is_true(l:triu(1):eq(0):all():item())
        assert.is_true(u:tril(-1):eq(0):all():item())
        local junk = spd:tril() + ts.full({ n, n }, 99, { dtype = dtype }):triu(1)
        assert.is_true(linalg.cholesky(junk):equal(l))
      end)

      it("eigh gives what a symmetric matrix stretches," .. label, function()
        local a = x + turn(x)
        local l, v = linalg.eigh(a)
        near(a:matmul(v), v * l:unsqueeze(-2), 4 * unit, "a v")
        orthonormal(v, unit, "v'v")
        assert.is_true(positive(v))
        assert.is_true(l:diff():ge(0):all():item())
        near(linalg.eigvalsh(a, { upper = true }), l, 4 * unit, "eigvalsh")
      end)
    end
  end
end

it("solve stays backward stable where the matrix is ill-conditioned", function()
  local n = 12
  local i = ts.arange(n):to("f64")
  local hilbert = 1 / (i:unsqueeze(1) + i:unsqueeze(2) - 1) -- cond 1.7e16
  local b = ts.ones({ n }, "f64")
  local x = linalg.solve(hilbert, b)
  local scale = hilbert:norm():item() * x:norm():item() * n
  assert.is_true((hilbert:matmul(x) - b):norm():item() < 8 * 2 ^ -52 * scale)
  assert.is_true(linalg.cond(hilbert):item() > 1e15)
end)

it("svd finds rank and bases of a deficient matrix", function()
  local g = ts.generator(5)
  for _, n in ipairs { 6, 30 } do
    local x = draw(g, "f64", n, 2):matmul(draw(g, "f64", 2, n))
    assert.equal(2, linalg.matrix_rank(x):item())
    local u, s, v = linalg.svd(x)
    near((u * s):matmul(v), x, 2 ^ -52, "u s v'")
    orthonormal(u:unsqueeze(1), 2 ^ -52, "u'u")
    u, s, v = linalg.svd(ts.zeros({ n, n }, "f64"))
    assert.equal(0, s:sum():item())
    orthonormal(u:unsqueeze(1), 2 ^ -52, "u'u of zeros")
    orthonormal(v:unsqueeze(1), 2 ^ -52, "v of zeros")
  end
end)

it("lstsq gives the shortest of the best", function()
  local g = ts.generator(6)
  local a = draw(g, "f64", 5, 2):matmul(draw(g, "f64", 2, 4))
  local b = draw(g, "f64", 5)
  local x = linalg.lstsq(a, b)
  local residual = a:matmul(x) - b
  assert.is_true(a:t():matmul(residual):norm():item() < 1e-12)
  -- What a maps to 0 is across x.
  local _, _, v = linalg.svd(a, { full = true })
  assert.is_true(v:narrow(1, 3, 2):matmul(x):norm():item() < 1e-12)
end)

it("det of a singular matrix has the cofactors for its slope", function()
  local function slope(list)
    local x = ts.tensor(list, { dtype = "f64", requires_grad = true })
    return ts.grad(linalg.det(x):sum(), x)
  end
  local function same(due, found)
    found = ts.is_tensor(found) and found or found[1]
    assert.is_true((found - ts.tensor(due, { dtype = "f64" })):abs():amax():item()
      < 1e-12, tostring(found))
  end
  same({ { 4, -2 }, { -2, 1 } }, slope { { 1, 2 }, { 2, 4 } })
  same({ { 0, 0 }, { 0, 1 } }, slope { { 1, 0 }, { 0, 0 } })
  same({ { 0, 0, 0 }, { 0, 0, 0 }, { 0, 0, 0 } },
    slope { { 1, 2, 3 }, { 2, 4, 6 }, { 3, 6, 9 } })
  -- A regular and a singular one in one batch.
  same({ { { 4, -3 }, { -2, 1 } }, { { 4, -2 }, { -2, 1 } } },
    slope { { { 1, 2 }, { 3, 4 } }, { { 1, 2 }, { 2, 4 } } })
end)

it("equal values have slopes, and vectors of them 0 where undefined", function()
  local x = ts.eye(3, { dtype = "f64", requires_grad = true })
  local g = ts.grad(linalg.svdvals(x):sum(), x)
  assert.is_true((g - ts.eye(3, { dtype = "f64" })):abs():amax():item() < 1e-12)
  g = ts.grad(linalg.eigvalsh(x):sum(), x)
  assert.is_true((g - ts.eye(3, { dtype = "f64" })):abs():amax():item() < 1e-12)
  local _, v = linalg.eigh(x)
  g = ts.grad(v:sum(), x)
  assert.equal(0, g:abs():amax():item())
  local u = linalg.svd(x)
  g = ts.grad(u:sum(), x)
  assert.equal(0, g:abs():amax():item())
end)

it("matrix_exp of what is large is scaled by itself", function()
  local x = ts.tensor({ { { -900, 0 }, { 0, 700 } }, { { 0, 1 }, { 0, 0 } } },
    { dtype = "f64" })
  local y = linalg.matrix_exp(x)
  assert.equal(1, y[2](1, 2))
  assert.equal(0, y[1](1, 1))
  assert.is_true(math.abs(y[1](2, 2) / math.exp(700) - 1) < 1e-12)
end)

it("has the names it says, and no others", function()
  assert.is_nil(rawget(ts, "solve"))
  assert.is_function(linalg.solve)
  local a = ts.eye(2) * 2
  assert.equal(4, a:det():item())
  assert.is_true(a:inv():equal(linalg.inv(a)))
  assert.is_false(pcall(function() return a:qr() end))
  assert.matches("ts.linalg.solve%(self, other%)", ts.help("linalg.solve"))
  assert.equal(ts.help(linalg.qr), ts.help("linalg.qr"))
  assert.is_string(ts.build().lapack)
end)

if os.getenv "TENSUS_LAPACK" then return end

describe("without a library", function()
  local program = os.getenv("TENSUS") or arg[-1] or "build/tensus"

  local function child(file, filter)
    local pipe = assert(io.popen(string.format(
      "TENSUS_LAPACK=own '%s' /usr/bin/busted --output=scripts/busted.lua %s %s 2>&1",
      program, filter, file)))
    local text = pipe:read "a"
    assert.is_true(pipe:close(), text)
    assert.matches(" 0 failed", text)
  end

  it("factors are what they must be", function()
    child("spec/ops/linalg_spec.lua", "")
  end)

  it("failures are told in the same words", function()
    child("spec/ops/linalg_errors_spec.lua", "")
  end)

  it("every row gives what plain Lua gives", function()
    child("spec/ops/values_spec.lua", "--filter=linalg")
  end)
end)
