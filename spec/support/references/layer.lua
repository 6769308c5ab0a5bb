--- Convolutions, pools, normalisations, in plain Lua.
return {
}
