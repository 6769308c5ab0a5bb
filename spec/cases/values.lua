--- Values as the records write them, made into tensors and compared.
--   values.tensor(record)      {dtype=, shape=, data= or gen=, requires_grad=}
--   values.number(v)           a number as JSON holds it: 5, "nan", "9007.."
--   values.difference(found, record, tolerance)   nil, or what differs
-- A record is a table of JSON; a tensor, a number or a boolean is its value.
local json = require "dkjson"
local ts = require "tensus"

-- `values.device` is where tensors are made: the CPU unless it is set.
local values = {}

local names = {
  float16 = "f16", bfloat16 = "bf16", float32 = "f32", float64 = "f64",
  int8 = "i8", int16 = "i16", int32 = "i32", int64 = "i64", uint8 = "u8",
  bool = "bool",
}

--- The name here of a dtype there.
function values.dtype(name)
  name = name:gsub("^torch%.", "")
  return names[name] or error("no dtype " .. name, 0)
end

local is_float = { f16 = true, bf16 = true, f32 = true, f64 = true }

local words = {
  nan = 0 / 0, inf = math.huge, ["-inf"] = -math.huge,
  ["Infinity"] = math.huge, ["-Infinity"] = -math.huge, ["NaN"] = 0 / 0,
}

--- A number, or a boolean, from JSON; integers beyond 2^53 come as text.
function values.number(v)
  if type(v) ~= "string" then return v end
  return words[v] or math.tointeger(v) or tonumber(v)
    or error("no number: " .. v, 0)
end

-- Nested lists in row-major order.
local function flat(data, into)
  if type(data) ~= "table" then
    into[#into + 1] = values.number(data)
    return into
  end
  for _, item in ipairs(data) do flat(item, into) end
  return into
end

local function count(shape)
  local n = 1
  for _, size in ipairs(shape) do n = n * size end
  return n
end

-- Large tensors by rule; places count from 0.
local generators = {
  full = function(record)
    return ts.full(record.shape, record.gen.value,
      { dtype = values.dtype(record.dtype) })
  end,
  columns = function(record)
    local row = ts.tensor(record.gen.values,
      { dtype = values.dtype(record.dtype) })
    return row:expand(record.shape):clone()
  end,
  affine_mod = function(record)
    local g, sum = record.gen, nil
    for axis, size in ipairs(record.shape) do
      local sizes = {}
      for k = 1, #record.shape do sizes[k] = k == axis and size or 1 end
      local term = (ts.arange(size) - 1):reshape(sizes) * g.coef[axis]
      sum = sum and sum + term or term
    end
    local x = (sum % g.mod):to(values.dtype(record.dtype))
    return (x - (g.sub or 0)) / (g.div or 1)
  end,
}

local function plain(record)
  local dtype = values.dtype(record.dtype)
  local data = flat(record.data, {})
  if #data ~= count(record.shape) then error("data do not fill the shape", 0) end
  for k, v in ipairs(data) do
    if dtype == "bool" then
      data[k] = v == true or (type(v) == "number" and v ~= 0)
    elseif is_float[dtype] then
      data[k] = v + 0.0
    end
  end
  return ts.tensor(data, { dtype = dtype }):reshape(record.shape)
end

function values.tensor(record)
  local make = plain
  if record.gen then
    make = generators[record.gen.kind]
      or error("no generator " .. tostring(record.gen.kind), 0)
  end
  local x = make(record)
  if values.device then x = x:to(values.device) end
  if record.requires_grad then x.requires_grad = true end
  return x
end

-- ---- comparing ----

local function near(found, expected, tolerance)
  if expected ~= expected then return found ~= found end
  if found == expected then return true end
  if tolerance.mode ~= "close" or type(found) ~= "number" then return false end
  if math.abs(expected) == math.huge then return false end
  local room = (tolerance.atol or 0)
    + (tolerance.rtol or 0) * math.abs(expected)
  return math.abs(found - expected) <= room
end

local function show(shape) return "{" .. table.concat(shape, ",") .. "}" end

local function same_tensor(found, record, tolerance)
  if not ts.is_tensor(found) then
    return "a " .. type(found) .. ", not a tensor"
  end
  local dtype = values.dtype(record.dtype)
  if found.dtype ~= dtype then
    return "dtype " .. found.dtype .. ", not " .. dtype
  end
  local shape = { found:size() }
  if show(shape) ~= show(record.shape) then
    return "shape " .. show(shape) .. ", not " .. show(record.shape)
  end
  local expected = values.tensor(record):cpu():flatten():tolist()
  for k, v in ipairs(found:detach():cpu():flatten():tolist()) do
    if not near(v, expected[k], tolerance) then
      return string.format("element %d is %s, not %s", k, v, expected[k])
    end
  end
  return nil
end

-- A list of records against a list of values.
local function same_list(found, records, tolerance)
  if type(found) ~= "table" then return "a " .. type(found) .. ", not a list" end
  if #found ~= #records then
    return #found .. " values, not " .. #records
  end
  for k, record in ipairs(records) do
    local why = values.difference(found[k], record, tolerance)
    if why then return "[" .. k .. "] " .. why end
  end
  return nil
end

function values.difference(found, record, tolerance)
  if record == json.null then
    return found ~= nil and "something, where nothing is due" or nil
  end
  if type(record) == "table" then
    if record.dtype then return same_tensor(found, record, tolerance) end
    if record.tuple then return same_list(found, record.tuple, tolerance) end
    return same_list(found, record, tolerance)
  end
  local expected = values.number(record)
  if ts.is_tensor(found) and found:numel() == 1 then found = found:item() end
  if near(found, expected, tolerance) then return nil end
  return tostring(found) .. ", not " .. tostring(expected)
end

return values
