--- ts.describe: every word of it is what the tensor says itself.
local ts = require "tensus"

local text_of = ts.describe

describe("ts.describe", function()
  it("gives shape, dtype, device, strides and numbers", function()
    local text = text_of(ts.tensor { { 1, 2 }, { 3, 6 } })
    assert.equal("{2,2} f32 on cpu\n" ..
      "  strides {2,1}, offset 0, 4 elements, 16 bytes\n" ..
      "  min 1, max 6, mean 3\n  0 NaN", text)
  end)

  it("counts NaN and leaves it out of the numbers", function()
    local text = text_of(ts.tensor { 0 / 0, 2, 4 })
    assert.matches("min 2, max 4, mean 3\n  1 NaN$", text)
    assert.matches("  2 NaN$", text_of(ts.tensor { 0 / 0, 0 / 0 }))
    assert.is_nil(text_of(ts.tensor { 0 / 0 }):find("min"))
  end)

  it("says what is not contiguous, a view, tracked, named", function()
    local x = ts.ones(2, 3, { requires_grad = true })
    assert.matches("requires_grad", text_of(x))
    assert.matches("not contiguous, view, grad_fn=", text_of(x:t()))
    x.name = "weights"
    assert.matches("^weights: {2,3}", text_of(x))
  end)

  it("takes every dtype, and no element", function()
    for _, dtype in ipairs { "f16", "bf16", "f32", "f64", "i8", "i16", "i32",
      "i64", "u8", "bool" } do
      assert.matches("min 1, max 1, mean 1", text_of(ts.ones(3, dtype)))
      assert.is_nil(text_of(ts.ones(0, dtype)):find("min"))
    end
    assert.matches(tostring(math.maxinteger), text_of(ts.idx { math.maxinteger }))
  end)

  it("records nothing and raises on what is no tensor", function()
    local x = ts.ones(2, { requires_grad = true })
    text_of(x * 2)
    assert.is_true(ts.is_grad_enabled())
    local ok, why = pcall(ts.describe, "x")
    assert.is_false(ok)
    assert.matches("describe: x is a string; a tensor is due", why)
    assert.equal("type", ts.errinfo().code)
  end)
end)
