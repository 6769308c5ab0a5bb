local ts = require "tensus"

local function temporary(extension)
  local path = os.tmpname()
  os.remove(path)
  return path .. extension
end

local function write(path, bytes)
  local file = assert(io.open(path, "wb"))
  file:write(bytes)
  file:close()
end

--- The bytes of an npy file with a header text of any kind.
local function npy(header, payload)
  local text = header .. (" "):rep(-(#header + 11) % 64) .. "\n"
  return "\x93NUMPY\1\0" .. string.pack("<I2", #text) .. text .. payload
end

describe("npy", function()
  for _, dtype in ipairs { "f16", "f32", "f64", "i8", "i16", "i32", "i64",
    "u8", "bool" } do
    it("comes back as it was written, " .. dtype, function()
      local path = temporary ".npy"
      local x = ts.randint(0, 1, { 3, 4 }):to(dtype)
      ts.save(path, x)
      local y = ts.load(path)
      os.remove(path)
      assert.equal(dtype, y.dtype)
      assert.is_true(x:equal(y))
    end)
  end

  it("is written in row-major order whatever the layout", function()
    local path = temporary ".npy"
    local x = ts.arange(6):reshape(2, 3):t()
    ts.save(path, x)
    local y = ts.load(path)
    os.remove(path)
    assert.same({ { 1, 4 }, { 2, 5 }, { 3, 6 } }, y:tolist())
  end)

  it("keeps rank 0 and empty tensors", function()
    local path = temporary ".npy"
    for _, x in ipairs { ts.tensor(2.5), ts.zeros(0, 3) } do
      ts.save(path, x)
      assert.is_true(ts.load(path):equal(x))
    end
    os.remove(path)
  end)

  it("has no bf16", function()
    assert.error_matches(function()
      ts.save("x.npy", ts.ones(2, "bf16"))
    end, "npy has no bf16")
  end)

  it("reads Fortran order and big-endian elements", function()
    local path = temporary ".npy"
    write(path, npy(
      "{'shape': (2, 3), 'fortran_order': True, 'descr': '>i2', }",
      string.pack(">i2i2i2i2i2i2", 1, 2, 3, 4, 5, 6)))
    local x = ts.load(path)
    os.remove(path)
    assert.same({ { 1, 3, 5 }, { 2, 4, 6 } }, x:tolist())
  end)

  local HEADER = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }"
  for what, case in pairs {
    ["cut short"] = { npy(HEADER, "\0\0\0\0"), "wants 8 bytes" },
    ["an object"] = { npy(HEADER:gsub("<f4", "|O8"), ""), "'|O8' are not" },
    ["a shape of 2^62"] = {
      npy(HEADER:gsub("2,", "4611686018427387904,"), ""), "too large" },
    ["a product that wraps"] = {
      npy(HEADER:gsub("2,", "4294967296, 4294967296,"), ""), "too large" },
    ["a negative size"] = { npy(HEADER:gsub("2,", "-2,"), ""), "shape" },
    ["a key twice"] = {
      npy("{'shape': (1,), 'shape': (1,), 'descr': '<f4', }", ""),
      "malformed" },
    ["a key too few"] = { npy("{'descr': '<f4', }", ""), "malformed" },
    ["code"] = { npy("__import__('os')", ""), "malformed" },
    ["no magic"] = { "hello, world", "no known format" },
    ["nothing"] = { "", "cut short" },
    ["a version to come"] = { "\x93NUMPY\9\0\0\0", "version" },
    ["a header cut short"] = { "\x93NUMPY\1\0\xff\0{", "cut short" },
  } do
    it("refuses " .. what, function()
      local path = temporary ".npy"
      write(path, case[1])
      local ok, message = pcall(ts.load, path)
      os.remove(path)
      assert.is_false(ok)
      assert.is_truthy(message:find(case[2], 1, true), message)
      assert.is_truthy(message:find(path, 1, true), message)
    end)
  end

  it("says which file is not there", function()
    assert.error_matches(function() ts.load "no/such/file.npy" end,
      "load: no/such/file.npy: No such file")
  end)

  it("leaves the old file when a save fails", function()
    assert.error_matches(function()
      ts.save("no/such/folder/x.npy", ts.ones(1))
    end, "save: no/such/folder/x.npy")
  end)
end)

describe("idx", function()
  it("reads sizes and elements, big-endian", function()
    local path = temporary ".idx"
    write(path, "\0\0\x0b\2" .. string.pack(">I4I4", 2, 2) ..
      string.pack(">i2i2i2i2", 1, -2, 300, 4))
    local x = ts.load(path)
    os.remove(path)
    assert.equal("i16", x.dtype)
    assert.same({ { 1, -2 }, { 300, 4 } }, x:tolist())
  end)

  for what, case in pairs {
    ["cut short"] = { "\0\0\x08\1" .. string.pack(">I4", 5) .. "abc",
      "cut short" },
    ["too long"] = { "\0\0\x08\1" .. string.pack(">I4", 2) .. "abc",
      "more elements" },
    ["a type of no kind"] = { "\0\0\x07\1\0\0\0\1a", "is no idx file" },
    ["a lie of 4 GB"] = { "\0\0\x08\1" .. string.pack(">I4", 2 ^ 32 - 1 | 0),
      "cannot lie in a file" },
  } do
    it("refuses what is " .. what, function()
      local path = temporary ".idx"
      write(path, case[1])
      local ok, message = pcall(ts.load, path)
      os.remove(path)
      assert.is_false(ok)
      assert.is_truthy(message:find(case[2], 1, true), message)
    end)
  end
end)
