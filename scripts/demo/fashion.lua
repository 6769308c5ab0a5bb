--- A small convolutional network learns Fashion-MNIST: 60,000 images of
-- clothes, 28 by 28 pixels, in ten classes.
--
--   build/tensus scripts/demo/fashion.lua [--data DIR] [--epochs N]
--                                         [--save FILE] [--linear]
--
-- Prints loss, images a second and accuracy; at the end a table of what was
-- taken for what.  The parameters are saved, loaded into a new network, and
-- must give the same accuracy.  Same seed, same figures, bit for bit.
local ts = require "tensus"
local nn, optim, data = ts.nn, ts.optim, ts.data
local progress = require "scripts.demo.progress"

local CLASSES = {
  "t-shirt", "trouser", "pullover", "dress", "coat",
  "sandal", "shirt", "sneaker", "bag", "boot",
}

local settings = {
  data = "/usr/share/datasets/fashion-mnist",
  epochs = 5,
  save = "build/fashion.npy",
  batch = 64,
  linear = false,
}

local function read_arguments(arguments)
  local i = 1
  while arguments[i] do
    local name = arguments[i]:match "^%-%-(%a+)$"
    local known = name and settings[name]
    if known == nil then
      io.stderr:write("usage: fashion.lua [--data DIR] [--epochs N] ",
        "[--save FILE] [--batch N] [--linear]\n")
      os.exit(2)
    end
    if type(known) == "boolean" then
      settings[name] = true
    else
      i = i + 1
      local value = arguments[i]
      settings[name] = type(known) == "number" and
        math.tointeger(tonumber(value)) or value
    end
    i = i + 1
  end
end

--- u8 {n,28,28} -> f32 {n,1,28,28}, centred and scaled by the training set.
local function prepare(part)
  local n = #part.images
  local x = part.images:float():reshape(n, 1, 28, 28)
  x:mul_(1 / 255):sub_(0.2860):div_(0.3530)
  return { images = x, labels = part.labels }
end

--- 8 and 16 channels, windows of 3 by 3: 52 thousand parameters.
local function make_network()
  if settings.linear then
    return nn.sequential { nn.flatten(), nn.linear(784, 10) }
  end
  return nn.sequential {
    nn.conv2d(1, 8, 3, { padding = 1 }), nn.relu(), nn.max_pool2d(2),
    nn.conv2d(8, 16, 3, { padding = 1 }), nn.relu(), nn.max_pool2d(2),
    nn.flatten(), nn.linear(16 * 7 * 7, 64), nn.relu(), nn.linear(64, 10),
  }
end

--- One pass over the training set; the mean loss.
local function train(network, optimizer, loader, title)
  local bar = progress(title, #loader)
  local total, seen, clock = 0.0, 0, ts.clock()
  for x, y in loader:iter() do
    local step <close> = ts.scope()
    local loss = ts.cross_entropy(network(x), y)
    optimizer:zero_grad()
    loss:backward()
    optimizer:step()
    total = total + loss:item() * #y
    seen = seen + #y
    bar:advance(("loss %.4f"):format(total / seen))
  end
  local seconds = ts.clock() - clock
  bar:finish(("loss %.4f   %.0f images/s"):format(total / seen,
    seen / seconds))
  return total / seen
end

--- Accuracy on a set, and counts[label][guess].
local function test(network, part)
  local counts, right = {}, 0
  for i = 1, #CLASSES do
    counts[i] = {}
    for j = 1, #CLASSES do counts[i][j] = 0 end
  end
  local loader = data.loader(data.tensors(part.images, part.labels),
    { batch = 500 })
  ts.no_grad(function()
    for x, y in loader:iter() do
      local step <close> = ts.scope()
      local guess = network(x):argmax(2):tolist()
      for i, label in ipairs(y:tolist()) do
        local row = counts[label]
        row[guess[i]] = row[guess[i]] + 1
        if guess[i] == label then right = right + 1 end
      end
    end
  end)
  return right / #part.labels, counts
end

local function print_confusion(counts)
  io.write("\n", (" "):rep(10), "taken for\n", (" "):rep(10))
  for _, name in ipairs(CLASSES) do io.write(("%6s"):format(name:sub(1, 5))) end
  io.write("\n")
  for i, row in ipairs(counts) do
    io.write(("%-10s"):format(CLASSES[i]))
    for _, n in ipairs(row) do
      io.write(n == 0 and "     ." or ("%6d"):format(n))
    end
    io.write("\n")
  end
end

--- All parameters in one vector, in their order; and back.
local function save(network, path)
  local flat = {}
  for i, p in ipairs(nn.parameters(network)) do
    flat[i] = p:detach():flatten()
  end
  ts.save(path, ts.cat(flat))
end

local function load(network, path)
  local flat, at = ts.load(path), 1
  ts.no_grad(function()
    for _, p in ipairs(nn.parameters(network)) do
      local n = p:numel()
      p:copy_(flat:narrow(1, at, n):reshape(p.shape))
      at = at + n
    end
  end)
end

local function main()
  read_arguments(arg)
  ts.manual_seed(1)
  local sets = data.mnist(settings.data)
  local training, testing = prepare(sets.train), prepare(sets.test)
  local network = make_network()
  print(("Fashion-MNIST: %d images to learn from, %d to test; %d parameters")
    :format(#training.labels, #testing.labels, nn.count(network)))
  local loader = data.loader(
    data.tensors(training.images, training.labels),
    { batch = settings.batch, shuffle = true })
  local optimizer = optim.adam(network, { lr = 3e-3 })
  for epoch = 1, settings.epochs do
    if epoch == settings.epochs then optimizer.lr = 5e-4 end
    train(network, optimizer, loader,
      ("epoch %d of %d"):format(epoch, settings.epochs))
  end
  local accuracy, counts = test(network, testing)
  print_confusion(counts)
  save(network, settings.save)
  local again = make_network()
  load(again, settings.save)
  local loaded = test(again, testing)
  if loaded ~= accuracy then
    error("the loaded parameters give another accuracy: " .. loaded)
  end
  print(("\nsaved to %s, loaded again: the same accuracy"):format(
    settings.save))
  print(("peak memory %.0f MiB"):format(ts.memory().peak / 2 ^ 20))
  print(("accuracy on the %d test images: %.2f %%"):format(#testing.labels,
    100 * accuracy))
end

main()
