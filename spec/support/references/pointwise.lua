--- What each pointwise row gives for numbers, in plain Lua doubles; integers
-- stay integers.  Booleans are 1 and 0.
local inf, nan = math.huge, 0 / 0
local exp, log, sqrt = math.exp, math.log, math.sqrt
local sin, cos = math.sin, math.cos

local function bool(condition) return condition and 1 or 0 end
local function is_nan(x) return x ~= x end

-- e^x - 1: its series near 0, where the difference would lose digits.
local function expm1(x)
  if math.abs(x) > 0.7 then return exp(x) - 1 end
  local sum, term = 0.0, 1.0
  for n = 1, 30 do
    term = term * x / n
    sum = sum + term
  end
  return x == 0 and x or sum
end

-- log(1 + x) by 2 atanh(x / (2 + x)).
local function log1p(x)
  if math.abs(x) > 0.5 then return log(1 + x) end
  local t = x / (2 + x)
  local square, power, sum = t * t, t, 0.0
  for n = 1, 61, 2 do
    sum = sum + power / n
    power = power * square
  end
  return x == 0 and x or 2 * sum
end

local function sinh(x)
  if math.abs(x) > 20 or is_nan(x) then
    return x == 0 and x or (exp(x) - exp(-x)) / 2
  end
  local e = expm1(x)
  return x == 0 and x or (e + e / (e + 1)) / 2
end

local function tanh(x)
  if math.abs(x) > 30 then return x > 0 and 1.0 or -1.0 end
  local e = expm1(2 * x)
  return x == 0 and x or e / (e + 2)
end

-- A series whose terms have one sign.
local function erf_series(x)
  local sum, term = x, x
  for n = 1, 200 do
    term = term * 2 * x * x / (2 * n + 1)
    sum = sum + term
  end
  return 2 / sqrt(math.pi) * exp(-x * x) * sum
end

-- The continued fraction of erfc, from its far end; x >= 1.
local function erfc_tail(x)
  local f = x
  for n = 400, 1, -1 do f = x + n / 2 / f end
  return exp(-x * x) / sqrt(math.pi) / f
end

local function erf(x)
  if is_nan(x) or x == 0 then return x end
  if x < 0 then return -erf(-x) end
  if x > 6 then return 1.0 end
  return x < 1.5 and erf_series(x) or 1 - erfc_tail(x)
end

local function erfc(x)
  if is_nan(x) then return x end
  if x == inf then return 0.0 end
  if x < 1 then return x == -inf and 2.0 or 1 - erf(x) end
  return erfc_tail(x)
end

local function sigmoid(x)
  if x >= 0 then return 1 / (1 + exp(-x)) end
  local e = exp(x)
  return e / (1 + e)
end

local function floor(x)
  if math.type(x) == "integer" then return x end
  if x ~= x or x == inf or x == -inf or x == 0 then return x end
  return x - x % 1.0
end

local function sinc(x)
  if x == 0 then return 1.0 end
  local u = x * math.pi
  return x % 1.0 == 0 and 0.0 or sin(u) / u
end

-- The y with erf(y) = x, by halving.
local function erfinv(x)
  local a = math.abs(x)
  if a >= 1 or is_nan(x) then return a == 1 and x * inf or nan end
  local low, high = 0.0, 7.0
  for _ = 1, 80 do
    local y = (low + high) / 2
    local above = a < 0.5 and erf(y) > a or a >= 0.5 and erfc(y) < 1 - a
    if above then high = y else low = y end
  end
  return x < 0 and -low or x == 0 and x or low
end

-- Stirling's series from 30 on, brought down by the recurrence.
local function lgamma(x)
  if is_nan(x) or x == inf or x == -inf then return x * x end
  if x <= 0 then
    if x == floor(x) then return inf end
    return log(math.pi / math.abs(sin(math.pi * x))) - lgamma(1 - x)
  end
  local product = 1.0
  while x < 30 do x, product = x + 1, product * x end
  local z = 1 / (x * x)
  return (x - 0.5) * log(x) - x + 0.5 * log(2 * math.pi)
    + (1 / 12 - z * (1 / 360 - z / 1260)) / x - log(product)
end

local function digamma(x)
  if is_nan(x) or x == inf then return x end
  if x == -inf then return nan end
  if x <= 0 then
    if x == 0 then return -1 / x end
    if x == floor(x) then return -inf end
    return digamma(1 - x) - math.pi / math.tan(math.pi * (x - floor(x)))
  end
  local sum = 0.0
  while x < 40 do x, sum = x + 1, sum - 1 / x end
  local z = 1 / (x * x)
  return sum + log(x) - 1 / (2 * x)
    - z * (1 / 12 - z * (1 / 120 - z * (1 / 252 - z / 240)))
end

-- A sum up to 40, and what remains by the formula of Euler and Maclaurin.
local function polygamma(n, x)
  if n == 0 then return digamma(x) end
  local s, sum, factorial = n + 1, 0.0, 1
  for k = 2, n do factorial = factorial * k end
  while x < 40 do x, sum = x + 1, sum + x ^ -s end
  local rest = x ^ (1 - s) / (s - 1) + x ^ -s / 2
    + s * x ^ (-s - 1) / 12 - s * (s + 1) * (s + 2) * x ^ (-s - 3) / 720
    + s * (s + 1) * (s + 2) * (s + 3) * (s + 4) * x ^ (-s - 5) / 30240
  return (n % 2 == 1 and 1 or -1) * factorial * (sum + rest)
end

local function whole_power(x, n)
  local r = 1
  for _ = 1, n do r = r * x end
  return r
end

local function pow(x, y)
  if math.type(x) == "integer" and math.type(y) == "integer" then
    return whole_power(x, y)
  end
  return x ^ y
end

local function round(x)
  if math.type(x) == "integer" then return x end
  if is_nan(x) or math.abs(x) >= 2.0 ^ 52 or x == 0 then return x end
  local below = floor(x)
  local part = x - below
  if part > 0.5 or part == 0.5 and below % 2 == 1 then below = below + 1 end
  return below == 0 and x < 0 and -0.0 or below
end

-- The product with 10^-decimals is rounded, not x: what is checked.
local function round_to(x, decimals)
  if not decimals or math.type(x) == "integer" then return round(x) end
  local scale = 10.0 ^ math.abs(decimals)
  if decimals < 0 then return round(x / scale) * scale end
  local up = x * scale
  return up - up == 0 and round(up) / scale or x
end

local function trunc(x) return x < 0 and -floor(-x) or floor(x) end

-- Lua's own // and % have the floor rule; by infinities % follows C.
local function remainder(x, y)
  if math.type(x) == "integer" and math.type(y) == "integer" then
    return x % y
  end
  if x == inf or x == -inf or y == 0 then return nan end
  return x % y
end

local function fmod(x, y)
  if math.type(x) == "integer" and math.type(y) == "integer" then
    return math.fmod(x, y)
  end
  if x - x ~= 0 or y == 0 or is_nan(y) then return nan end
  return math.fmod(x, y)
end

local function sign_of(x) return (x < 0 or 1 / x < 0) and -1 or 1 end

local function copysign(x, y)
  return (x < 0 or 1 / x < 0) ~= (sign_of(y) < 0) and -x or x
end

local function hypot(x, y)
  if math.abs(x) == inf or math.abs(y) == inf then return inf end
  return sqrt(x * x + y * y)
end

local function greatest(x, y)
  if is_nan(x) then return x end
  if is_nan(y) then return y end
  return x > y and x or y
end

local function least(x, y)
  if is_nan(x) then return x end
  if is_nan(y) then return y end
  return x < y and x or y
end

local function clamp(x, low, high)
  if low and x < low then x = low end
  if high and x > high then x = high end
  return x
end

local function lerp(x, y, weight)
  if weight == 1 then return y end
  return x + weight * (y - x)
end

-- min(x, 0) - log(1 + e^-|x|)
local function logsigmoid(x)
  return least(x, 0.0) - log1p(exp(-math.abs(x)))
end

local function softplus(x, beta, threshold)
  beta, threshold = beta or 1, threshold or 20
  if x * beta > threshold then return x end
  return (greatest(x * beta, 0.0) + log1p(exp(-math.abs(x * beta)))) / beta
end

local function logaddexp(x, y)
  if x == y then return x + log(2) end
  if is_nan(x) or is_nan(y) then return nan end
  return greatest(x, y) + log1p(exp(-math.abs(x - y)))
end

local function xlogy(x, y)
  if x == 0 and not is_nan(y) then return 0.0 end
  return x * log(y)
end

local function logit(x, eps)
  if eps then x = clamp(x, eps, 1 - eps) end
  if math.abs(x - 0.5) < 0.2 then return log1p((2 * x - 1) / (1 - x)) end
  return log(x) - log1p(-x)
end

local function mish(x)
  if x == -inf then return -0.0 end
  return x * tanh(x > 40 and x or log1p(exp(x)))
end

local function elu(x, a)
  if x > 0 then return x end
  return (a or 1) * expm1(x)
end

local function celu(x, a)
  if x > 0 then return x end
  return (a or 1) * expm1(x / (a or 1))
end

-- Klambauer et al. 2017.
local function selu(x) return 1.0507009873554804934 * elu(x, 1.6732632423543772848) end

local function hardsigmoid(x)
  return x == inf and 1 or x == -inf and 0 or clamp((x + 3) / 6, 0.0, 1.0)
end

local function hardswish(x)
  if x == inf then return x end
  if x == -inf then return 0.0 end
  return x * hardsigmoid(x)
end

local function softshrink(x, k)
  k = k or 0.5
  if x > k then return x - k end
  return x < -k and x + k or is_nan(x) and x or 0.0
end

local function hardshrink(x, k)
  return math.abs(x) <= (k or 0.5) and 0.0 or x
end

local function heaviside(x, y)
  if x == 0 then return y end
  return x > 0 and 1 or x < 0 and 0 or x
end

local function fmax(x, y)
  if is_nan(x) then return y end
  return is_nan(y) and x or greatest(x, y)
end

local function fmin(x, y)
  if is_nan(x) then return y end
  return is_nan(y) and x or least(x, y)
end

local function sign(x)
  local one = math.type(x) == "integer" and 1 or 1.0
  return x > 0 and one or x < 0 and -one or x
end

local function relu(x)
  if x > 0 or is_nan(x) then return x end
  return math.type(x) == "integer" and 0 or 0.0
end

-- At -inf the limit, where the formula is inf * 0.
local function silu(x)
  if x == -inf then return -0.0 end
  return x * sigmoid(x)
end

local function gelu_erf(x)
  if x == -inf then return -0.0 end
  return 0.5 * x * erfc(-x / sqrt(2))
end

local function gelu_tanh(x)
  if x == -inf then return -0.0 end
  return x * sigmoid(2 * sqrt(2 / math.pi) * (x + 0.044715 * x ^ 3))
end

return {
  neg = function(x) return -x end,
  add = function(x, y) return x + y end,
  sub = function(x, y) return x - y end,
  mul = function(x, y) return x * y end,
  div = function(x, y) return x / y end,
  square = function(x) return x * x end,
  reciprocal = function(x) return 1 / x end,
  deg2rad = function(x) return x / 180 * math.pi end,
  rad2deg = function(x) return x / math.pi * 180 end,

  eq = function(x, y) return bool(x == y) end,
  ne = function(x, y) return bool(x ~= y) end,
  lt = function(x, y) return bool(x < y) end,
  le = function(x, y) return bool(x <= y) end,
  gt = function(x, y) return bool(x > y) end,
  ge = function(x, y) return bool(x >= y) end,
  isnan = function(x) return bool(is_nan(x)) end,
  isfinite = function(x) return bool(x - x == 0) end,
  isinf = function(x) return bool(x == inf or x == -inf) end,
  signbit = function(x)
    if math.type(x) == "integer" then return bool(x < 0) end
    return bool(not is_nan(x) and sign_of(x) < 0)
  end,
  logical_not = function(x) return bool(x == 0) end,
  logical_and = function(x, y) return bool(x ~= 0 and y ~= 0) end,
  logical_or = function(x, y) return bool(x ~= 0 or y ~= 0) end,
  logical_xor = function(x, y) return bool((x ~= 0) ~= (y ~= 0)) end,
  bitwise_and = function(x, y) return x & y end,
  bitwise_or = function(x, y) return x | y end,
  bitwise_xor = function(x, y) return x ~ y end,
  bitwise_not = function(x) return ~x end,
  bitwise_left_shift = function(x, y) return x << y end,
  bitwise_right_shift = function(x, y) return x // (1 << y) end,

  sign = sign,
  floor = floor,
  ceil = function(x) return -floor(-x) end,
  trunc = trunc,
  round = round_to,
  frac = function(x) return x - trunc(x) end,
  heaviside = heaviside,
  floor_divide = function(x, y) return x // y end,
  remainder = remainder,
  fmod = fmod,

  where = function(condition, x, y) return condition ~= 0 and x or y end,
  abs = function(x) return x < 0 and -x or x == 0 and x * x or x end,
  relu = relu,
  clamp = clamp,
  maximum = greatest,
  minimum = least,
  masked_fill = function(x, mask, value) return mask ~= 0 and value or x end,
  fmax = fmax,
  fmin = fmin,
  copysign = copysign,

  sqrt = sqrt,
  rsqrt = function(x) return 1 / sqrt(x) end,
  exp = exp,
  exp2 = function(x) return 2.0 ^ x end,
  expm1 = expm1,
  log = log,
  log1p = log1p,
  log2 = function(x) return log(x, 2) end,
  log10 = function(x) return log(x, 10) end,
  logaddexp = logaddexp,
  xlogy = xlogy,
  logit = logit,
  sin = sin,
  cos = cos,
  tan = math.tan,
  asin = math.asin,
  acos = math.acos,
  atan = function(x) return math.atan(x) end,
  atan2 = math.atan,
  sinh = sinh,
  cosh = function(x) return (exp(x) + exp(-x)) / 2 end,
  tanh = tanh,
  asinh = function(x)
    local a = math.abs(x)
    if a == inf or x == 0 or is_nan(x) then return x end
    return (x < 0 and -1 or 1) * log1p(a + a * a / (1 + sqrt(a * a + 1)))
  end,
  acosh = function(x)
    if x == inf or not (x >= 1) then return x == inf and x or nan end
    return log1p(x - 1 + sqrt((x - 1) * (x + 1)))
  end,
  atanh = function(x)
    return x == 0 and x or 0.5 * (log1p(x) - log1p(-x))
  end,
  hypot = hypot,
  sinc = sinc,

  erf = erf,
  erfc = erfc,
  erfinv = erfinv,
  lgamma = lgamma,
  digamma = digamma,
  polygamma = polygamma,
  sigmoid = sigmoid,
  silu = silu,
  gelu_erf = gelu_erf,
  gelu_tanh = gelu_tanh,
  softplus = softplus,
  logsigmoid = logsigmoid,
  relu6 = function(x) return clamp(x, 0, 6) end,
  hardtanh = function(x, low, high) return clamp(x, low or -1, high or 1) end,
  leaky_relu = function(x, k) return x > 0 and x or (k or 0.01) * x end,
  elu = elu,
  celu = celu,
  selu = selu,
  mish = mish,
  hardsigmoid = hardsigmoid,
  hardswish = hardswish,
  softsign = function(x)
    if x == inf or x == -inf then return x > 0 and 1.0 or -1.0 end
    return x / (1 + math.abs(x))
  end,
  softshrink = softshrink,
  hardshrink = hardshrink,
  pow = pow,
  lerp = lerp,
}
