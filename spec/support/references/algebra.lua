--- Products, in plain Lua.
return {
}
