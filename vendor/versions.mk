# Which Lua the build takes, first choice first: VERSION  PACKAGE  SHA-256.
# `vendor/fetch.sh` reads the lines that start with `lua`; nothing else does.
# The sum is that of the upstream tarball inside the source package.
#
#   word  version  source package  sha-256 of lua5.4_VERSION.orig.tar.gz
define LUA_SOURCES
lua 5.4.9 5.4.9-2 2335b6c582a52654f94612bf10d2f4672805d05329aa6568b1d8cd9e5c6fb8e6
lua 5.4.7 5.4.7-1 9fbf5e28ef86c69858f6d3d34eccc32e911c1a28b4120ff3e84aaa70cfbf1e30
endef
# The suites where those packages live.
# suites trixie sid
