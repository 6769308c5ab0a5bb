--- Folds and scans, in plain Lua.
return {
}
