--- Linear algebra, in plain Lua.
return {
}
