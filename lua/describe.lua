--- describe(x): what a tensor is, as text: name, shape, strides, dtype, device
-- and, of its elements, least, greatest, mean and how many are NaN.  The
-- numbers are of the elements that are no NaN; reads the tensor, records
-- nothing.
local ts = require "tensus"
local raw = require "tensus.raw"

local is_float = { f16 = true, bf16 = true, f32 = true, f64 = true }

local function braces(...)
  return "{" .. table.concat({ ... }, ",") .. "}"
end

local function short(number)
  if math.type(number) == "integer" then return tostring(number) end
  return string.format("%.6g", number)
end

-- least, greatest, mean, count of NaN; nil where there is no element.
local function numbers(x)
  if x.dtype == "bool" then x = x:to("u8") end
  local odd = 0
  if is_float[x.dtype] then
    local nan = x:isnan()
    odd = nan:sum():item()
    if odd > 0 then x = x:flatten()[(~nan):flatten()] end
  end
  if x:numel() == 0 then return nil, nil, nil, odd end
  local wide = is_float[x.dtype] and x:to("f64") or x
  return x:amin():item(), x:amax():item(), wide:mean({ dtype = "f64" }):item(),
    odd
end

local function layout(x)
  local words = {}
  if not x:is_contiguous() then words[#words + 1] = "not contiguous" end
  if x:is_view() then words[#words + 1] = "view" end
  if x.requires_grad then
    words[#words + 1] = x.is_leaf and "requires_grad" or "grad_fn=" .. x.grad_fn
  end
  return #words > 0 and "  " .. table.concat(words, ", ") or ""
end

local function describe(x)
  if not ts.is_tensor(x) then
    raw.fail("type", "describe", "x is a " .. type(x) .. "; a tensor is due", 2)
  end
  local low, high, mean, nan
  ts.no_grad(function() low, high, mean, nan = numbers(x:detach()) end)
  local lines = {
    string.format("%s%s %s on %s%s", x.name and x.name .. ": " or "",
      braces(x:size()), x.dtype, x.device, layout(x)),
    string.format("  strides %s, offset %d, %d elements, %d bytes",
      braces(x:stride()), x:storage_offset(), x:numel(), x:nbytes()),
  }
  if low then
    lines[#lines + 1] = string.format("  min %s, max %s, mean %s", short(low),
      short(high), short(mean))
  end
  if is_float[x.dtype] then
    lines[#lines + 1] = string.format("  %d NaN", nan)
  end
  return table.concat(lines, "\n")
end

return describe
