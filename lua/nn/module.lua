--- nn.module(name, forward): a constructor of modules.
-- A module is a plain table with tensors, modules and settings in it; calling
-- it runs `forward(self, ...)`.  Nothing is registered: parameters are found
-- by walking the table.
return function(name, forward)
  local class = { name = name, is_module = true }
  class.__index = class
  class.__call = function(self, ...) return forward(self, ...) end
  class.__tostring = function() return "nn." .. name end
  class.forward = forward
  return function(fields) return setmetatable(fields, class) end
end
