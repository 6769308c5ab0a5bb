--- Linear algebra, in plain Lua: Gauss's elimination, Gram and Schmidt's
-- bases, Jacobi's rotations, power series.
-- A matrix here is {m =, n =, [i] = {row}}.
local array = require "spec.support.array"
local scan = require "spec.support.references.scan"

-- ---- matrices and arrays ----

local function build(m, n, f)
  local x = { m = m, n = n }
  for i = 1, m do
    x[i] = {}
    for j = 1, n do x[i][j] = f(i, j) end
  end
  return x
end

local function identity(n)
  return build(n, n, function(i, j) return i == j and 1.0 or 0.0 end)
end

local function turned(x)
  return build(x.n, x.m, function(i, j) return x[j][i] end)
end

local function times(x, y)
  return build(x.m, y.n, function(i, j)
    local sum = 0.0
    for k = 1, x.n do sum = sum + x[i][k] * y[k][j] end
    return sum
  end)
end

local function batch_shape(shape)
  return table.move(shape, 1, math.max(#shape - 2, 0), 1, {})
end

-- Matrix number k (from 0) of an array; a vector is one column.
local function matrix_of(a, k)
  local rank = #a.shape
  local m, n = a.shape[rank - 1], a.shape[rank]
  if rank == 1 then m, n = n, 1 end
  return build(m, n, function(i, j) return a.data[(k * m + i - 1) * n + j] end)
end

-- One result per matrix of the batch: a matrix, a list (a line), a number.
local function gather(batch, list, m, n, dtype)
  local shape, data = array.copy(batch), {}
  if m then shape[#shape + 1] = m end
  if n then shape[#shape + 1] = n end
  for _, x in ipairs(list) do
    if type(x) ~= "table" then
      data[#data + 1] = x
    elseif not x.m then
      table.move(x, 1, #x, #data + 1, data)
    else
      for i = 1, x.m do table.move(x[i], 1, x.n, #data + 1, data) end
    end
  end
  return array.new(shape, data, dtype)
end

-- f(matrix) for each matrix of a; gives the lists of its results.
local function each(a, results, f)
  local batch, lists = batch_shape(a.shape), {}
  for r = 1, results do lists[r] = {} end
  for k = 0, array.count(batch) - 1 do
    for r, value in ipairs { f(matrix_of(a, k)) } do lists[r][k + 1] = value end
  end
  return batch, table.unpack(lists)
end

local function sizes(a) return a.shape[#a.shape - 1], a.shape[#a.shape] end

-- f(x) of the size m n.
local function map(f, size)
  return function(args, options)
    local a = args[1]
    local m, n = size(sizes(a))
    local batch, list = each(a, 1, function(x) return f(x, args, options) end)
    return gather(batch, list, m, n, a.dtype)
  end
end

-- ---- elimination ----

-- x packed as lower and upper factors, the rows exchanged, the sign of that.
local function factor(x)
  local a, pivots, sign = build(x.m, x.n, function(i, j) return x[i][j] end), {}, 1
  for k = 1, x.n do
    local at = k
    for i = k + 1, x.n do
      if math.abs(a[i][k]) > math.abs(a[at][k]) then at = i end
    end
    pivots[k] = at
    if at ~= k then
      a[k], a[at] = a[at], a[k]
      sign = -sign
    end
    for i = k + 1, x.n do
      a[i][k] = a[i][k] / a[k][k]
      for j = k + 1, x.n do a[i][j] = a[i][j] - a[i][k] * a[k][j] end
    end
  end
  return a, pivots, sign
end

-- One triangle of a against the columns of b.
local function substitute(a, b, upper, unit)
  local n = a.n
  local y = build(b.m, b.n, function(i, j) return b[i][j] end)
  for step = 1, n do
    local i = upper and n + 1 - step or step
    for j = 1, b.n do
      for k = upper and i + 1 or 1, upper and n or i - 1 do
        y[i][j] = y[i][j] - a[i][k] * y[k][j]
      end
      if not unit then y[i][j] = y[i][j] / a[i][i] end
    end
  end
  return y
end

local function solved(a, b)
  local lu, pivots = factor(a)
  local y = build(b.m, b.n, function(i, j) return b[i][j] end)
  for k, at in ipairs(pivots) do y[k], y[at] = y[at], y[k] end
  return substitute(lu, substitute(lu, y, false, true), true, false)
end

local function inverse(x) return solved(x, identity(x.n)) end

local function determinant(x)
  local lu, _, product = factor(x)
  for k = 1, x.n do product = product * lu[k][k] end
  return product
end

-- The matrix of a batch that a member of a larger one reads.
local function source(a, whole, k)
  local batch = batch_shape(a.shape)
  local place, step = 0, 1
  for axis = #batch, 1, -1 do
    local at = axis + #whole - #batch
    local after = 1
    for later = at + 1, #whole do after = after * whole[later] end
    local index = k // after % whole[at]
    if batch[axis] > 1 then place = place + index * step end
    step = step * batch[axis]
  end
  return matrix_of(a, place)
end

local function joined(a, b)
  local x, y = batch_shape(a.shape), batch_shape(b.shape)
  local rank, whole = math.max(#x, #y), {}
  for axis = 1, rank do
    local i, j = x[axis - rank + #x] or 1, y[axis - rank + #y] or 1
    whole[axis] = i == 1 and j or i
  end
  return whole
end

-- f(a, b) over broadcast batches, in the form of b; f gives m rows.
local function both(f, rows)
  return function(args, options)
    local a, b = args[1], args[2]
    local whole, list = joined(a, b), {}
    for k = 0, array.count(whole) - 1 do
      list[k + 1] = f(source(a, whole, k), source(b, whole, k), options)
    end
    local m = rows and a.shape[#a.shape] or b.shape[math.max(#b.shape - 1, 1)]
    local n = #b.shape > 1 and b.shape[#b.shape] or nil
    return gather(whole, list, m, n, b.dtype)
  end
end

local function triangle_solved(a, b, options)
  if options.left == false then
    return turned(substitute(turned(a), turned(b), not options.upper,
      options.unit))
  end
  return substitute(a, b, options.upper, options.unit)
end

local function cholesky(x)
  local l = build(x.n, x.n, function() return 0.0 end)
  for j = 1, x.n do
    for i = j, x.n do
      local sum = x[i][j]
      for k = 1, j - 1 do sum = sum - l[i][k] * l[j][k] end
      l[i][j] = i == j and math.sqrt(sum) or sum / l[j][j]
    end
  end
  return l
end

-- ---- bases ----

local function dot(x, i, y, j)
  local sum = 0.0
  for k = 1, x.m do sum = sum + x[k][i] * y[k][j] end
  return sum
end

local function scale_column(x, j, f)
  for k = 1, x.m do x[k][j] = x[k][j] * f end
end

-- Is the greatest entry of column j below 0?
local function is_turned(x, j)
  local most = 0.0
  for k = 1, x.m do
    if math.abs(x[k][j]) > math.abs(most) then most = x[k][j] end
  end
  return most < 0
end

-- The columns of x and, up to `count`, unit vectors, each across those before.
local function basis(x, count)
  local q = build(x.m, count, function() return 0.0 end)
  local made = 0
  for j = 1, x.n + x.m do
    if made == count then break end
    made = made + 1
    for k = 1, x.m do
      q[k][made] = j <= x.n and x[k][j] or (k == j - x.n and 1.0 or 0.0)
    end
    for _ = 1, 3 do
      for i = 1, made - 1 do
        local along = dot(q, i, q, made)
        for k = 1, x.m do q[k][made] = q[k][made] - along * q[k][i] end
      end
    end
    local length = math.sqrt(dot(q, made, q, made))
    if length < 1e-8 then
      made = made - 1
    else
      scale_column(q, made, 1 / length)
      if j > x.n and is_turned(q, made) then scale_column(q, made, -1) end
    end
  end
  return q
end

local function qr(args, options)
  local a, mode = args[1], options.mode or "reduced"
  local m, n = sizes(a)
  local least = math.min(m, n)
  local count = mode == "complete" and m or least
  local batch, qs, rs = each(a, 2, function(x)
    local front = build(m, least, function(i, j) return x[i][j] end)
    local q = basis(front, count)
    local r = times(turned(q), x)
    for i = 1, r.m do
      for j = 1, math.min(i - 1, r.n) do r[i][j] = 0.0 end
    end
    return q, r
  end)
  local r = gather(batch, rs, count, n, a.dtype)
  if mode == "r" then return r end
  return gather(batch, qs, m, count, a.dtype), r
end

-- ---- rotations ----

-- Turns columns i and j of x.
local function rotate(x, i, j, c, s)
  for k = 1, x.m do
    local a, b = x[k][i], x[k][j]
    x[k][i], x[k][j] = c * a - s * b, s * a + c * b
  end
end

local function angle(a, b, z)
  local half = (b - a) / (2 * z)
  local t = (half >= 0 and 1 or -1) / (math.abs(half) + math.sqrt(half * half + 1))
  local c = 1 / math.sqrt(t * t + 1)
  return c, t * c
end

-- Columns j by falling s.
local function order_of(s)
  local order = {}
  for j = 1, #s do order[j] = j end
  table.sort(order, function(i, j) return s[i] > s[j] end)
  return order
end

local function picked(x, order)
  return build(x.m, #order, function(i, j) return x[i][order[j]] end)
end

-- Orthogonal columns of x (m >= n) by rotations from the right: u, s, v.
local function tall_svd(x)
  local w, v = build(x.m, x.n, function(i, j) return x[i][j] end), identity(x.n)
  for _ = 1, 40 do
    for i = 1, x.n do
      for j = i + 1, x.n do
        local z = dot(w, i, w, j)
        if math.abs(z) > 1e-300 then
          local c, s = angle(dot(w, i, w, i), dot(w, j, w, j), z)
          rotate(w, i, j, c, s)
          rotate(v, i, j, c, s)
        end
      end
    end
  end
  local s = {}
  for j = 1, x.n do
    s[j] = math.sqrt(dot(w, j, w, j))
    scale_column(w, j, 1 / s[j])
  end
  local order, sorted = order_of(s), {}
  for j, at in ipairs(order) do sorted[j] = s[at] end
  return picked(w, order), sorted, picked(v, order)
end

local function svd(x)
  local u, s, v
  if x.m >= x.n then
    u, s, v = tall_svd(x)
  else
    v, s, u = tall_svd(turned(x))
  end
  for j = 1, #s do
    if is_turned(u, j) then
      scale_column(u, j, -1)
      scale_column(v, j, -1)
    end
  end
  return u, s, v
end

local function svd_row(args, options)
  local a = args[1]
  local m, n = sizes(a)
  local least = math.min(m, n)
  local p, q = least, least
  if options.full then p, q = m, n end
  local batch, us, ss, vs = each(a, 3, function(x)
    local u, s, v = svd(x)
    return basis(u, p), s, turned(basis(v, q))
  end)
  return gather(batch, us, m, p, a.dtype), gather(batch, ss, least, nil, a.dtype),
    gather(batch, vs, q, n, a.dtype)
end

local function values(x)
  local _, s = svd(x)
  return s
end

-- Rising eigenvalues of one triangle of x, and the vectors.
local function eigh(x, upper)
  local n = x.n
  local a = build(n, n, function(i, j)
    if (i < j) == (upper or false) then return x[i][j] end
    return x[j][i]
  end)
  local v = identity(n)
  for _ = 1, 40 do
    for i = 1, n do
      for j = i + 1, n do
        if math.abs(a[i][j]) > 1e-300 then
          local c, s = angle(a[i][i], a[j][j], a[i][j])
          rotate(a, i, j, c, s)
          a = turned(a)
          rotate(a, i, j, c, s)
          rotate(v, i, j, c, s)
        end
      end
    end
  end
  local l, sorted = {}, {}
  for j = 1, n do l[j] = -a[j][j] end
  local order = order_of(l)
  for j, at in ipairs(order) do sorted[j] = -l[at] end
  v = picked(v, order)
  for j = 1, n do
    if is_turned(v, j) then scale_column(v, j, -1) end
  end
  return sorted, v
end

local function eigh_row(args, options)
  local a = args[1]
  local _, n = sizes(a)
  local batch, ls, vs = each(a, 2, function(x) return eigh(x, options.upper) end)
  return gather(batch, ls, n, nil, a.dtype), gather(batch, vs, n, n, a.dtype)
end

-- ---- what follows from them ----

local function roundoff(a)
  return math.max(sizes(a)) * (a.dtype == "f64" and 2.0 ^ -52 or 2.0 ^ -23)
end

local function pinv(x, args, options)
  local u, s, v = svd(x)
  local limit = (options and options.rcond or roundoff(args[1])) * (s[1] or 0)
  return build(x.n, x.m, function(i, j)
    local sum = 0.0
    for k = 1, #s do
      if s[k] > limit then sum = sum + v[i][k] * u[j][k] / s[k] end
    end
    return sum
  end)
end

local function power(x, n)
  local base = n < 0 and inverse(x) or x
  local y = identity(x.n)
  for _ = 1, math.abs(n) do y = times(y, base) end
  return y
end

-- The series at x / 16, squared four times.
local function exponential(x)
  local small = build(x.n, x.n, function(i, j) return x[i][j] / 16 end)
  local sum, term = identity(x.n), identity(x.n)
  for k = 1, 40 do
    term = times(term, small)
    for i = 1, x.n do
      for j = 1, x.n do
        term[i][j] = term[i][j] / k
        sum[i][j] = sum[i][j] + term[i][j]
      end
    end
  end
  for _ = 1, 4 do sum = times(sum, sum) end
  return sum
end

-- Sums of |x| by columns.
local function column_sums(x)
  local list = {}
  for j = 1, x.n do
    list[j] = 0.0
    for i = 1, x.m do list[j] = list[j] + math.abs(x[i][j]) end
  end
  return list
end

local norms = {
  ["fro"] = function(x)
    local sum = 0.0
    for j = 1, x.n do sum = sum + dot(x, j, x, j) end
    return math.sqrt(sum)
  end,
  ["nuc"] = function(x)
    local sum = 0.0
    for _, s in ipairs(values(x)) do sum = sum + s end
    return sum
  end,
  [2] = function(x) return math.max(table.unpack(values(x))) end,
  [-2] = function(x) return math.min(table.unpack(values(x))) end,
  [1] = function(x) return math.max(table.unpack(column_sums(x))) end,
  [-1] = function(x) return math.min(table.unpack(column_sums(x))) end,
}
norms[math.huge] = function(x) return norms[1](turned(x)) end
norms[-math.huge] = function(x) return norms[-1](turned(x)) end

local function condition(x, order)
  local s = values(x)
  if order == 2 then return s[1] / s[#s] end
  if order == -2 then return s[#s] / s[1] end
  return norms[order](x) * norms[order](inverse(x))
end

local function keep(m, n) return m, n end
local function turn(m, n) return n, m end
local function least(m, n) return math.min(m, n) end
local function none() end

local rows = {
  solve = both(solved, true),
  triangular_solve = both(triangle_solved),
  inv = map(inverse, keep),
  det = map(determinant, none),
  slogdet = function(args)
    local batch, signs, logs = each(args[1], 2, function(x)
      local d = determinant(x)
      return d > 0 and 1.0 or -1.0, math.log(math.abs(d))
    end)
    return gather(batch, signs, nil, nil, args[1].dtype),
      gather(batch, logs, nil, nil, args[1].dtype)
  end,
  lu_factor = function(args)
    local a = args[1]
    local _, n = sizes(a)
    local batch, lus, pivots = each(a, 2, function(x)
      local lu, exchanged = factor(x)
      return lu, exchanged
    end)
    return gather(batch, lus, n, n, a.dtype), gather(batch, pivots, n, nil, "i64")
  end,
  cholesky = map(function(x, _, options)
    if options.upper then return turned(cholesky(turned(x))) end
    return cholesky(x)
  end, keep),
  cholesky_solve = function(args, options)
    return both(function(factor_, b)
      local l = options.upper and turned(factor_) or factor_
      return substitute(turned(l), substitute(l, b, false), true)
    end)({ args[2], args[1] }, options)
  end,
  qr = qr,
  svd = svd_row,
  svdvals = function(args)
    local batch, list = each(args[1], 1, values)
    return gather(batch, list, least(sizes(args[1])), nil, args[1].dtype)
  end,
  eigh = eigh_row,
  eigvalsh = function(args, options) return (eigh_row(args, options)) end,
  lstsq = function(args)
    return both(function(a, b) return times(pinv(a, args), b) end, true)(args)
  end,
  pinv = map(pinv, turn),
  matrix_power = map(function(x, args) return power(x, args[2]) end, keep),
  matrix_exp = map(exponential, keep),
  matrix_norm = function(args, options)
    local batch, list = each(args[1], 1, norms[args[2] or "fro"])
    local one = options.keepdim and 1 or nil
    return gather(batch, list, one, one, args[1].dtype)
  end,
  vector_norm = function(...) return scan.norm(...) end,
  matrix_rank = function(args, options)
    local a = args[1]
    local batch, list = each(a, 1, function(x)
      local s, count = values(x), 0
      local limit = options.tol or roundoff(a) * (s[1] or 0)
      for _, value in ipairs(s) do
        if value > limit then count = count + 1 end
      end
      return count
    end)
    return gather(batch, list, nil, nil, "i64")
  end,
  cond = map(function(x, args) return condition(x, args[2] or 2) end, none),
}

local named = {}
for name, f in pairs(rows) do named["linalg." .. name] = f end
return named
