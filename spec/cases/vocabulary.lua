--- PyTorch's names and conventions, as calls of this project.
--   vocabulary.call(name, args, kwargs)   the results of the call there
-- Axes, positions and labels count from 0 there and from 1 here.  A call is
-- found by the name of a row; what its arguments are, the row itself says
-- (ts.ops()), so that only the differences stand below:
--   orders     the order of arguments there, where it is another
--   renamed    rows with another name here
--   keywords   options with another name here
--   positions  tensors that hold positions; results that do
--   special    calls that are no row
local json = require "dkjson"
local ts = require "tensus"
local values = require "spec.cases.values"

local vocabulary = {}

local renamed = {
  binary_cross_entropy = "bce_loss",
  binary_cross_entropy_with_logits = "bce_with_logits",
  clip = "clamp", concat = "cat", concatenate = "cat", negative = "neg",
  divide = "div", multiply = "mul", subtract = "sub", true_divide = "div",
  ["repeat"] = "tile", moveaxis = "movedim", swapdims = "transpose",
  swapaxes = "transpose", arctan2 = "atan2", absolute = "abs",
  greater = "gt", less = "lt", greater_equal = "ge", less_equal = "le",
  not_equal = "ne", fix = "trunc", unfold_f = "im2col", fold_f = "col2im",
  scaled_dot_product_attention = "attention",
  broadcast_tensors = "broadcast_tensors", new_zeros = "new_zeros",
}

local orders = {
  sum = "self dim keepdim", mean = "self dim keepdim",
  prod = "self dim keepdim", nansum = "self dim keepdim",
  var = "self dim correction keepdim", std = "self dim correction keepdim",
  conv1d = "self weight bias stride padding dilation groups",
  conv2d = "self weight bias stride padding dilation groups",
  conv3d = "self weight bias stride padding dilation groups",
  max_pool1d = "self kernel stride padding dilation ceil_mode return_indices",
  max_pool2d = "self kernel stride padding dilation ceil_mode return_indices",
  max_pool3d = "self kernel stride padding dilation ceil_mode return_indices",
  avg_pool1d = "self kernel stride padding ceil_mode count_include_pad",
  avg_pool2d = "self kernel stride padding ceil_mode count_include_pad",
  avg_pool3d = "self kernel stride padding ceil_mode count_include_pad",
  sort = "self dim descending", argsort = "self dim descending",
  topk = "self k dim largest sorted",
  cross_entropy = "self target weight - ignore_index",
  grid_sample = "self grid mode padding_mode align_corners",
  layer_norm = "self size weight bias eps",
  vector_norm = "self ord dim keepdim", norm = "self p dim keepdim",
  softplus = "self beta threshold", one_hot = "self classes",
  masked_fill = "self mask value", clamp = "self lo hi",
  pad = "self widths mode value",
  linspace = "first last n", full = "size value",
}

local keywords = {
  input = "self", other = "other", kernel_size = "kernel", min = "lo",
  max = "hi", tensor1 = "a", tensor2 = "b", num_classes = "classes",
  unbiased = "correction", fill_value = "value", axis = "dim",
  diagonal = "k", decimals = "decimals", rounding_mode = "rounding",
  vec2 = "other", mat2 = "other", exponent = "other", source = "source",
  src = "source", normalized_shape = "size", label_smoothing = "label_smoothing",
  scale_factor = "scale", negative_slope = "k",
}

-- row -> names of tensors that hold positions or labels.
local holds = {
  gather = "index", scatter = "index", scatter_add = "index",
  scatter_reduce = "index", index_select = "index", index_add = "index",
  index_copy = "index", index_fill = "index", take = "index",
  take_along_dim = "index", embedding = "self", cross_entropy = "target",
  nll_loss = "target", one_hot = "self", bincount = "self",
  max_unpool2d = "index", segment_sum = "index",
}

-- row -> which of its results are positions; `max` and the like give one
-- result without a dim, and that is a value.
local gives = {
  argmax = 1, argmin = 1, argsort = 1, nonzero = 1, searchsorted = 1,
  bucketize = 1, multinomial = 1, randperm = 1, sort = 2, topk = 2, max = 2,
  min = 2, median = 2, nanmedian = 2, kthvalue = 2, mode = 2, cummax = 2,
  cummin = 2, max_pool1d = 2, max_pool2d = 2, max_pool3d = 2, unique = 2,
}

local rows = {}
for _, row in ipairs(ts.ops()) do rows[row.name:gsub("^linalg%.", "")] = row end

local function param_of(row, name)
  for _, param in ipairs(row.params) do
    if param.name == name then return param end
  end
  return nil
end

local function is_null(v) return v == nil or v == json.null end

-- An axis or a place, from 0 to 1; negative ones count from the end in both.
local function shifted(v)
  if ts.is_tensor(v) then return v + 1 end
  if type(v) == "table" then
    local list = {}
    for k, item in ipairs(v) do list[k] = shifted(item) end
    return list
  end
  if type(v) == "number" and v >= 0 then return v + 1 end
  return v
end

local counts_from_0 = { dim = true, dims = true, position = true }

local function converted(row, param, v)
  if type(v) == "table" and v.dtype_name then return v.dtype_name end
  if param.name == "correction" and type(v) == "boolean" then
    return v and 1 or 0
  end
  if counts_from_0[param.kind] then return shifted(v) end
  local integers = ts.is_tensor(v) and v.dtype:match("^[iu]")
  if integers and holds[row.name] == param.name then
    if row.name:match("_loss$") or row.name == "cross_entropy" then
      return v -- shifted with ignore_index, below
    end
    return shifted(v)
  end
  return v
end

-- Labels move by one, the label that is ignored does not.
local function shift_labels(row, given)
  local labels = given.target
  if holds[row.name] ~= "target" or not labels then return end
  if not labels.dtype:match("^[iu]") then return end
  local ignored = given.ignore_index or -100
  given.target = ts.where(labels:eq(ignored), labels, labels + 1)
  if ignored >= 0 then -- 255 must not meet a label that moved onto it
    given.target = ts.where(labels:eq(ignored), -100, given.target)
    given.ignore_index = -100
  end
end

-- The names of the arguments there, in order.
local function order_of(row)
  local names = {}
  if orders[row.name] then
    for name in orders[row.name]:gmatch("%S+") do names[#names + 1] = name end
    return names
  end
  for _, param in ipairs(row.params) do names[#names + 1] = param.name end
  return names
end

-- Sizes may stand in a row there.
local function takes_rest(row, name)
  local param = name ~= "self" and param_of(row, name)
  return param and (param.kind == "shape" or row.name == "permute"
    or row.name == "tile")
end

local function gather(row, args, kwargs)
  local given, names = {}, order_of(row)
  local k = 1
  for at, name in ipairs(names) do
    if k > args.n then break end
    if takes_rest(row, name) and type(args[k]) ~= "table" then
      given[name] = table.move(args, k, args.n, 1, {})
      k = args.n + 1
    else
      given[name] = args[k]
      k = k + 1
    end
    if at == #names and k <= args.n then error("too many arguments", 0) end
  end
  for name, v in pairs(kwargs) do
    local here = param_of(row, name) and name or keywords[name] or name
    given[here] = v
  end
  return given
end

local dropped = { out = true, inplace = true, layout = true, ["-"] = true,
  pin_memory = true, size_average = true, antialias = true,
  recompute_scale_factor = true, stable = true, dtype = false }

local function arguments(row, given)
  shift_labels(row, given)
  local args, options, n = {}, {}, 0
  for _, param in ipairs(row.params) do
    local v = given[param.name]
    given[param.name] = nil
    if is_null(v) then v = nil else v = converted(row, param, v) end
    if param.option then
      options[param.name] = v
    else
      n = n + 1
      args[n] = v
    end
  end
  for name, v in pairs(given) do
    if not dropped[name] and not is_null(v) then
      error("no argument " .. name .. " of " .. row.name, 0)
    end
  end
  while n > 0 and args[n] == nil do n = n - 1 end
  if next(options) then
    n = n + 1
    args[n] = options
  end
  return args, n
end

local function lowered(row, results)
  local which = gives[row.name]
  if which and results[which] and (which == 1 or results.n > 1) then
    local r = results[which]
    if ts.is_tensor(r) then results[which] = r - 1 end
  end
  if results.n <= 1 then return results[1] end
  return results
end

local function function_of(row, in_place)
  local space, name = row.name:match "^(linalg)%.(.*)$"
  if space then return ts.linalg[name] end
  return ts[in_place and row.name .. "_" or row.name]
end

local function run_row(row, in_place, args, kwargs)
  local list, n = arguments(row, gather(row, args, kwargs))
  local f = function_of(row, in_place)
  return lowered(row, table.pack(f(table.unpack(list, 1, n))))
end

-- ---- what is no row ----

local special = {}

function special.backward(args, kwargs)
  args[1]:backward(args[2] or kwargs.gradient,
    { retain_graph = kwargs.retain_graph })
end

special["autograd.grad"] = function(args, kwargs)
  local many = type(args[2]) == "table" and not ts.is_tensor(args[2])
  local options = { create_graph = kwargs.create_graph,
    retain_graph = kwargs.retain_graph,
    grad_outputs = args[3] or kwargs.grad_outputs }
  local result = ts.grad(args[1], many and args[2] or { args[2] }, options)
  result.n = #result
  return result
end

-- A function of several tensors, as one of a list.
local function of_list(f)
  return function(list) return f(table.unpack(list)) end
end

local function functional(name)
  return function(args, kwargs, f)
    local options = next(kwargs) and kwargs or nil
    local x = args[1]
    if ts.is_tensor(x) then return ts[name](f, x, options) end
    return ts[name](of_list(f), x, options)
  end
end

special["functional.jacobian"] = functional "jacobian"
special["functional.hessian"] = functional "hessian"

special["fwd.jvp"] = function(args, _, f)
  local y, dy = ts.jvp(f, args[1], args[2])
  return { y, dy, n = 2 }
end

special["functional.jvp"] = special["fwd.jvp"]
special["functional.hvp"] = function(args, _, f)
  local y, hv = ts.hvp(f, args[1], args[2])
  return { y, hv, n = 2 }
end

special["functional.vjp"] = function(args, _, f)
  local y, pull = ts.vjp(f, args[1])
  return { y, (pull(args[2])), n = 2 }
end

local function optimizer(name)
  return function(args, kwargs)
    local options = {}
    for k, v in pairs(kwargs) do options[k] = v end
    return ts.optim[name](args[1], options)
  end
end

for name, here in pairs { SGD = "sgd", Adam = "adam", AdamW = "adamw",
  RMSprop = "rmsprop", Adagrad = "adagrad" } do
  special["optim." .. name] = optimizer(here)
end

special["method.zero_grad"] = function(args) args[1]:zero_grad() end
special["method.step"] = function(args) args[1]:step() end

-- A tuple has its places from 0, a tensor too.
special["py.index"] = function(args)
  local x, at = args[1], args[2]
  return x[at < 0 and at or at + 1]
end

special["py.item"] = function(args) return args[1]:item() end

function special.item(args) return args[1]:item() end

function special.to(args, kwargs)
  local dtype = args[2] or kwargs.dtype
  return args[1]:to(dtype.dtype_name)
end

special.type = special.to

local function open_end(first, last, step)
  local count = math.ceil((last - first) / step)
  if math.type(first) == "integer" and math.type(last) == "integer"
    and math.type(step) == "integer" then
    count = -((first - last) // step)
  end
  return first + (count - 1) * step
end

-- The end is not included there.
function special.arange(args, kwargs)
  local first, last, step = 0, args[1], args[3] or kwargs.step or 1
  if args.n > 1 then first, last = args[1], args[2] end
  local dtype = kwargs.dtype and kwargs.dtype.dtype_name
  local same = math.type(first) == "integer" and math.type(last) == "integer"
  return ts.arange(first, open_end(first, last, step), step,
    { dtype = dtype or not same and "f32" or nil })
end

function special.randint(args, kwargs)
  local low, high, shape = 0, args[1], args[2]
  if args.n > 2 then low, high, shape = args[1], args[2], args[3] end
  return ts.randint(low, high - 1, shape or kwargs.size)
end

function special.tensor(args, kwargs)
  local dtype = kwargs.dtype and kwargs.dtype.dtype_name
  return ts.tensor(args[1], { dtype = dtype,
    requires_grad = kwargs.requires_grad })
end

function special.manual_seed(args) ts.manual_seed(args[1]) end

function special.index_put(args, kwargs)
  local list = {}
  for k, index in ipairs(args[2]) do
    list[k] = index.dtype == "bool" and index
      or ts.where(index:lt(0), index, index + 1)
  end
  return ts.index_put(args[1], list, args[3],
    { accumulate = args[4] or kwargs.accumulate })
end

special.index_put_ = function(args, kwargs)
  args[1]:copy_(special.index_put(args, kwargs))
  return args[1]
end

function special.requires_grad_(args) return args[1]:requires_grad_() end
function special.retain_grad(args) return args[1]:retain_grad() end
function special.numel(args) return args[1]:numel() end
function special.tolist(args) return args[1]:tolist() end
function special.is_contiguous(args) return args[1]:is_contiguous() end
function special.equal(args) return args[1]:equal(args[2]) end

function special.allclose(args, kwargs)
  return ts.allclose(args[1], args[2], kwargs)
end

-- The bag of rows stands after the indices there as well.
function special.embedding(args, kwargs)
  return ts.embedding(args[1] + 1, args[2] or kwargs.weight)
end

function special.einsum(args)
  local operands = type(args[2]) == "table" and not ts.is_tensor(args[2])
    and args[2] or table.move(args, 2, args.n, 1, {})
  return ts.einsum(args[1], operands)
end

function special.squeeze(args, kwargs)
  local dim = args[2] or kwargs.dim
  if dim == nil then return ts.squeeze(args[1]) end
  return ts.squeeze(args[1], shifted(dim))
end

local function lua_name(name)
  return (name:gsub("^torch%.", ""):gsub("^F%.", ""):gsub("^Tensor%.", "")
    :gsub("^linalg%.", ""):gsub("^nn%.functional%.", ""))
end

--- The results there: one value, or a list with `n` for a tuple.
-- `f`, where the call takes one, is a function of tensors.
function vocabulary.call(name, args, kwargs, f)
  local short = lua_name(name)
  local odd = special[name] or special[short]
  if odd then return odd(args, kwargs, f) end
  if name == "F.unfold" or name == "F.fold" then short = short .. "_f" end
  local base = short:match("^(.-)_$")
  local in_place = base ~= nil and rows[renamed[base] or base] ~= nil
  local row = rows[short] or rows[renamed[short]]
  if in_place then row = rows[renamed[base] or base] end
  if not row then error("no row for " .. name, 0) end
  return run_row(row, in_place, args, kwargs)
end

-- A slice there is cut to the axis; an end is not part of it.
local function bound(v, size, default)
  if is_null(v) then return default end
  if v < 0 then v = v + size end
  return math.max(0, math.min(size, v))
end

local function range(slice, size)
  local step = is_null(slice[3]) and 1 or slice[3]
  local first, last = bound(slice[1], size, 0), bound(slice[2], size, size)
  return { first + 1, math.max(first, last), step }
end

-- How many axes an item stands for.
local function axes_of(item)
  if item == json.null or item == "..." then return 0 end
  if ts.is_tensor(item) and item.dtype == "bool" then return item.ndim end
  return 1
end

local function index_item(item, size)
  if item == json.null then return "new" end
  if ts.is_tensor(item) then
    if item.dtype == "bool" then return item end
    return ts.where(item:lt(0), item, item + 1)
  end
  if type(item) == "table" then
    if item.slice then return range(item.slice, size) end
    return index_item(ts.idx(item), size)
  end
  return shifted(item)
end

--- An index of x there, as one here.
function vocabulary.index(x, list)
  local named, items, axis = 0, {}, 1
  for _, item in ipairs(list) do named = named + axes_of(item) end
  for k, item in ipairs(list) do
    items[k] = index_item(item, axis <= x.ndim and x:size(axis) or 0)
    axis = axis + (item == "..." and x.ndim - named or axes_of(item))
  end
  return items
end

return vocabulary
