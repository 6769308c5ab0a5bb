--- Sorting, counting, searching, in plain Lua.
return {
}
