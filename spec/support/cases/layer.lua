--- Convolutions, pools, normalisations: what their rows are tried on (see cases.lua).
return function(tools)
  local case = tools.case

  -- ---- convolutions: strides that leave elements unread, groups, padding of
  -- either side, no batch, an empty batch ----

  local function conv1d(d)
    return {
      case { d { 2, 3, 9 }, d { 4, 3, 3 }, d { 4 } },
      case({ d { 1, 1, 6 }, d { 1, 1, 3 } }, { stride = 2 }),
      case({ d { 1, 1, 3 }, d { 2, 1, 2 } },
        { stride = 2, padding = 1, dilation = 2 }),
      case({ d { 2, 4, 5 }, d { 2, 2, 4 }, d { 2 } },
        { padding = "same", groups = 2 }),
      case({ d { 1, 2, 5 }, d { 3, 2, 2 } }, { padding = { 2, 0 } }),
      case { d { 2, 4 }, d { 3, 2, 1 } }, case { d { 0, 2, 4 }, d { 3, 2, 2 } },
    }
  end

  local function conv2d(d)
    return {
      case { d { 2, 3, 5, 6 }, d { 4, 3, 3, 2 }, d { 4 } },
      case({ d { 1, 2, 5, 5 }, d { 2, 1, 3, 3 } }, { groups = 2, padding = 1 }),
      case({ d { 1, 2, 7, 6 }, d { 3, 2, 2, 3 } },
        { stride = { 2, 1 }, padding = { 1, 2 }, dilation = { 2, 1 } }),
      case({ d { 2, 4, 6, 5 }, d { 6, 2, 3, 3 }, d { 6 } },
        { stride = 2, padding = 1, groups = 2 }),
      case({ d { 1, 2, 4, 5 }, d { 2, 2, 2, 3 } }, { padding = "same" }),
      case({ d { 1, 1, 4, 4 }, d { 1, 1, 3, 3 } }, { padding = "valid" }),
      case({ d { 1, 1, 3, 4 }, d { 1, 1, 2, 2 } }, { padding = { 1, 0, 0, 2 } }),
      case { d { 2, 4, 4 }, d { 3, 2, 1, 1 }, d { 3 } },
      case { d { 0, 2, 4, 4 }, d { 3, 2, 3, 3 } },
    }
  end

  local function conv3d(d)
    return {
      case { d { 2, 2, 4, 3, 5 }, d { 3, 2, 2, 3, 2 }, d { 3 } },
      case({ d { 1, 2, 5, 4, 3 }, d { 2, 1, 3, 2, 2 } },
        { stride = { 2, 1, 2 }, padding = { 1, 0, 1 }, groups = 2 }),
      case({ d { 1, 1, 5, 4, 4 }, d { 2, 1, 2, 2, 2 } },
        { dilation = { 2, 1, 2 }, stride = { 3, 2, 1 }, padding = { 1, 1, 0 } }),
      case({ d { 1, 3, 2, 3 }, d { 1, 1, 2, 1, 2 } }, { padding = "same" }),
      case { d { 0, 1, 2, 2, 2 }, d { 1, 1, 1, 1, 1 } },
    }
  end

  local function conv_transpose1d(d)
    return {
      case { d { 2, 3, 4 }, d { 3, 2, 3 }, d { 2 } },
      case({ d { 1, 2, 3 }, d { 2, 2, 4 } },
        { groups = 2, stride = 3, padding = 1, output_padding = 2 }),
      case { d { 3, 3 }, d { 3, 1, 2 }, d { 1 } },
    }
  end

  local function conv_transpose2d(d)
    return {
      case { d { 2, 3, 4, 3 }, d { 3, 2, 3, 2 }, d { 2 } },
      case({ d { 1, 2, 3, 3 }, d { 2, 2, 3, 3 } },
        { groups = 2, stride = 2, padding = 1, output_padding = 1 }),
      case({ d { 1, 2, 3, 4 }, d { 2, 1, 2, 2 } }, { dilation = { 2, 1 } }),
      case { d { 2, 3, 3 }, d { 2, 2, 2, 2 } },
    }
  end

  local function conv_transpose3d(d)
    return {
      case { d { 1, 2, 2, 3, 2 }, d { 2, 2, 2, 2, 3 }, d { 2 } },
      case({ d { 1, 2, 2, 2, 3 }, d { 2, 1, 3, 2, 2 } },
        { stride = { 2, 3, 1 }, padding = { 1, 0, 1 }, groups = 2,
          output_padding = { 1, 2, 0 }, dilation = { 1, 2, 2 } }),
    }
  end

  local function conv_weight(d)
    return {
      case { d { 2, 3, 5, 6 }, d { 2, 4, 3, 5 }, { 3, 2 } },
      case({ d { 2, 2, 5, 5 }, d { 2, 4, 5, 5 }, { 3, 3 } },
        { groups = 2, padding = 1 }),
      case({ d { 1, 2, 7, 7 }, d { 1, 3, 3, 3 }, { 3, 3 } }, { stride = 2 }),
      case({ d { 2, 2, 6 }, d { 2, 3, 3 }, { 2 } }, { stride = 2 }),
      case({ d { 1, 1, 4, 3, 4 }, d { 1, 2, 2, 2, 3 }, { 3, 2, 2 } },
        { stride = { 2, 1, 1 }, padding = { 1, 0, 0 } }),
      case({ d { 2, 4 }, d { 3, 4 }, { 2 } }, { padding = "same" }),
    }
  end

  -- ---- pools: windows cut by ceil_mode, windows dropped because they would
  -- start in the padding ----

  local function max_pool1d(d)
    return {
      case { d { 2, 3, 7 }, 2 },
      case({ d { 1, 1, 5 }, 2 }, { stride = 2, padding = 1, ceil_mode = true }),
      case({ d { 1, 1, 5 }, 2 }, { stride = 2, ceil_mode = true }),
      case({ d { 2, 3 }, 3 }, { stride = 1, padding = 1 }),
      case({ d { 1, 2, 40 }, 5 }, { stride = 3, dilation = 2, padding = 2 }),
      case({ d { 1, 1, 600 }, 9 }, { stride = 2 }), case { d { 0, 2, 4 }, 2 },
    }
  end

  local function max_pool2d(d)
    return {
      case { d { 2, 3, 6, 6 }, 2 },
      case({ d { 1, 2, 5, 7 }, { 3, 2 } }, { stride = { 2, 1 }, padding = 1 }),
      case({ d { 2, 5, 6 }, 2 }, { ceil_mode = true }),
      case({ d { 1, 1, 7, 7 }, 2 }, { dilation = 2, stride = 1 }),
      case({ d { 1, 1, 5, 5 }, 2 },
        { stride = 2, padding = 1, ceil_mode = true }),
      case({ d { 2, 1, 5, 37 }, 3 }, { stride = 1, padding = 1 }),
    }
  end

  local function max_pool3d(d)
    return {
      case { d { 1, 2, 4, 4, 4 }, 2 },
      case({ d { 1, 4, 5, 6 }, { 3, 2, 3 } },
        { stride = { 1, 2, 2 }, padding = { 1, 1, 0 }, ceil_mode = true }),
      case({ d { 1, 1, 5, 4, 5 }, 2 }, { dilation = { 2, 1, 3 }, stride = 1 }),
    }
  end

  local function avg_pool1d(d)
    return {
      case { d { 2, 3, 7 }, 2 },
      case({ d { 1, 1, 5 }, 2 }, { stride = 2, padding = 1, ceil_mode = true }),
      case({ d { 2, 9 }, 4 },
        { stride = 3, padding = 2, count_include_pad = false }),
      case({ d { 1, 1, 3 }, 4 }, { stride = 1, padding = 2 }),
      case({ d { 1, 1, 700 }, 600 }, { stride = 50 }), case { d { 0, 2, 4 }, 2 },
    }
  end

  local function avg_pool2d(d)
    return {
      case { d { 2, 3, 6, 6 }, 2 },
      case({ d { 2, 1, 5, 37 }, 3 }, { stride = 1, padding = 1 }),
      case({ d { 1, 2, 5, 7 }, { 3, 2 } },
        { stride = { 2, 1 }, padding = 1, count_include_pad = false }),
      case({ d { 5, 6, 5 }, 3 },
        { stride = 2, padding = 1, ceil_mode = true }),
      case({ d { 1, 1, 4, 6 }, { 2, 3 } },
        { stride = 3, ceil_mode = true, count_include_pad = false }),
    }
  end

  local function avg_pool3d(d)
    return {
      case { d { 1, 2, 4, 4, 4 }, 2 },
      case({ d { 1, 4, 5, 6 }, { 3, 2, 3 } },
        { stride = { 1, 2, 2 }, padding = { 1, 1, 0 }, ceil_mode = true }),
    }
  end

  local function avg_pool_add(d)
    return {
      case { d { 2, 1, 3, 3 }, { 6, 7 }, 2 },
      case({ d { 1, 2, 3, 8 }, { 5, 7 }, { 3, 2 } },
        { stride = { 2, 1 }, padding = 1, count_include_pad = false }),
      case({ d { 2, 3 }, { 5 }, 2 },
        { stride = 2, padding = 1, ceil_mode = true }),
      case({ d { 2, 2, 3, 3 }, { 4, 3, 5 }, { 2, 1, 3 } },
        { stride = { 2, 1, 2 }, padding = { 0, 0, 1 } }),
    }
  end

  local function adaptive_pool_add(d)
    return {
      case { d { 2, 1, 3, 2 }, { 7, 4 } }, case { d { 2, 5 }, { 3 } },
      case { d { 1, 2, 1, 3 }, { 3, 2, 4 } },
    }
  end

  local function im2col(d)
    return {
      case { d { 2, 3, 4, 5 }, 2 },
      case({ d { 1, 2, 5, 4 }, { 3, 2 } },
        { stride = { 2, 1 }, padding = { 1, 2 }, dilation = { 1, 2 } }),
      case { d { 2, 3, 3 }, 3 },
      case({ d { 1, 1, 3, 3 }, 2 }, { padding = "same" }),
    }
  end

  local function col2im(d)
    return {
      case { d { 2, 12, 12 }, { 4, 5 }, 2 },
      case({ d { 1, 12, 18 }, { 5, 4 }, { 3, 2 } },
        { stride = { 2, 1 }, padding = { 1, 2 }, dilation = { 1, 2 } }),
      case { d { 18, 1 }, { 3, 3 }, 3 },
    }
  end

  -- ---- normalisations ----

  local function layer_norm(d)
    return {
      case { d { 3, 5 }, { 5 }, d { 5 }, d { 5 } }, case { d { 3, 5 }, { 5 } },
      case { d { 2, 3, 4 }, { 3, 4 }, d { 3, 4 } },
      case({ d { 2, 6 }, { 6 }, nil, d { 6 }, n = 4 }, { eps = 0.1 }),
    }
  end

  return {
    conv1d = conv1d, conv2d = conv2d, conv3d = conv3d,
    conv_transpose1d = conv_transpose1d, conv_transpose2d = conv_transpose2d,
    conv_transpose3d = conv_transpose3d, conv_weight = conv_weight,
    max_pool1d = max_pool1d, max_pool2d = max_pool2d, max_pool3d = max_pool3d,
    avg_pool1d = avg_pool1d, avg_pool2d = avg_pool2d, avg_pool3d = avg_pool3d,
    avg_pool_add = avg_pool_add,
    adaptive_avg_pool1d = function(d)
      return { case { d { 2, 3, 7 }, 3 }, case { d { 2, 3 }, 5 } }
    end,
    adaptive_avg_pool2d = function(d)
      return {
        case { d { 2, 3, 7, 5 }, { 3, 2 } }, case { d { 1, 5, 6 }, 1 },
        case { d { 1, 1, 3, 4 }, { 5, 4 } }, case { d { 0, 2, 3, 4 }, 2 },
      }
    end,
    adaptive_avg_pool3d = function(d)
      return { case { d { 1, 2, 3, 4, 5 }, { 2, 3, 1 } } }
    end,
    adaptive_pool_add = adaptive_pool_add,
    im2col = im2col, col2im = col2im,
    layer_norm = layer_norm,
    batch_norm = function(d)
      return {
        case({ d { 3, 4, 2 }, d { 4 }, d { 4 } }, { training = true }),
        case({ d { 5, 3 } }, { training = true, eps = 0.1 }),
        case({ d { 2, 3, 2, 3 }, nil, d { 3 }, n = 3 }, { training = true }),
      }
    end,
    group_norm = function(d)
      return {
        case { d { 2, 4, 3 }, 2, d { 4 }, d { 4 } },
        case({ d { 2, 6, 2, 2 }, 3 }, { eps = 0.1 }), case { d { 2, 4 }, 1 },
      }
    end,
    instance_norm = function(d)
      return {
        case { d { 2, 3, 4 }, d { 3 }, d { 3 } },
        case({ d { 1, 2, 2, 3 } }, { eps = 0.1 }),
      }
    end,
    rms_norm = function(d)
      return {
        case { d { 3, 5 }, { 5 }, d { 5 } }, case { d { 2, 3, 4 }, { 3, 4 } },
        case({ d { 2, 6 }, { 6 } }, { eps = 0.1 }),
      }
    end,
  }
end
