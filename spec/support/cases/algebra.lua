--- Products: what their rows are tried on (see cases.lua).
return function(tools)
  local case = tools.case
  return {
  }
end
