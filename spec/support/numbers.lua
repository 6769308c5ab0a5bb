--- Draws and roundings of the specs: a fixed seed, the same on any machine.
local numbers = {}

numbers.seed = 20240229

-- Park and Miller's generator: enough for operands, and six lines.
local state = numbers.seed

function numbers.restart(seed) state = seed or numbers.seed end

--- Uniform in (0, 1).
function numbers.uniform()
  state = state * 48271 % 2147483647
  return state / 2147483647
end

function numbers.between(low, high)
  return low + (high - low) * numbers.uniform()
end

--- A whole number from low to high, both included.
function numbers.whole(low, high)
  return low + math.floor(numbers.uniform() * (high - low + 1))
end

numbers.is_float = { f16 = true, bf16 = true, f32 = true, f64 = true }
numbers.is_signed = { i8 = true, i16 = true, i32 = true, i64 = true }

--- One unit in the last place, relative.
numbers.epsilon = {
  f16 = 2.0 ^ -10,
  bf16 = 2.0 ^ -7,
  f32 = 2.0 ^ -23,
  f64 = 2.0 ^ -52,
}

local bits = { u8 = 8, i8 = 8, i16 = 16, i32 = 32 }

--- An integer as an integer dtype holds it: it wraps.
function numbers.wrap(value, dtype)
  local width = bits[dtype]
  if not width then return value end
  local mask = (1 << width) - 1
  value = value & mask
  if dtype ~= "u8" and value >> (width - 1) == 1 then
    value = value - mask - 1
  end
  return value
end

return numbers
