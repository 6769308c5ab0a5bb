--- Where elements lie, in plain Lua.
return {
}
