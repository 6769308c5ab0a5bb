--- Picking and writing at positions, in plain Lua.
return {
}
