--- tensus.data: datasets and shuffled batches.
local ts = require "tensus"
local check = require "tensus.check"

local data = {
  tensors = require "tensus.data.tensors",
  loader = require "tensus.data.loader",
}

local known = { base = "integer" }

--- data.idx(path, {base}): an idx or idx.gz file as a tensor.  With base=0 the
-- values are 0-based labels, and come back as labels from 1 (i64).
function data.idx(path, options)
  options = check.options("data.idx", options, known, 2)
  local x = ts.load(path)
  if not options.base then return x end
  return x:long() + (1 - options.base)
end

local function mnist_part(dir, part)
  local images = data.idx(("%s/%s-images-idx3-ubyte.gz"):format(dir, part))
  local labels = data.idx(("%s/%s-labels-idx1-ubyte.gz"):format(dir, part),
    { base = 0 })
  if images.ndim ~= 3 or #images ~= #labels then
    error(("data.mnist: %s has images %s and labels %s"):format(dir,
      tostring(images.shape), tostring(labels.shape)), 3)
  end
  return { images = images, labels = labels }
end

--- data.mnist(dir): {train={images, labels}, test={images, labels}}; images u8
-- {n,h,w}, labels i64 from 1.  Fashion-MNIST has the same form.
function data.mnist(dir)
  return { train = mnist_part(dir, "train"), test = mnist_part(dir, "t10k") }
end

return data
