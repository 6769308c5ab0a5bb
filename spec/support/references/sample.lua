--- Interpolation, losses, attention, in plain Lua.
return {
}
