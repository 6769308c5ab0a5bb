#!/bin/sh
# Brings a pinned Lua to vendor/lua/src, or settles for the system's.
#
#   vendor/fetch.sh        writes vendor/lua/choice.mk, which the Makefile reads
#
# The source package is asked of the same host that the system's own package
# entries name, whatever that is, through the package client and with private
# lists: nothing of the system's is changed and no rights are needed. What comes
# is used only when its SHA-256 is the one in versions.mk.
# Must not know: how Lua is compiled (the Makefile does).
set -eu

here=$(cd "$(dirname "$0")" && pwd)
lua=$here/lua
work=$lua/fetch

# entries: the system's archive entries for its own release, one per line, as
# "URI<tab>KEYRING" (KEYRING may be empty), from both formats of apt.
entries() {
  cat /etc/apt/sources.list.d/*.sources 2>/dev/null | awk '
    function flush() {
      if (types ~ /deb/ && suites !~ /security/ && enabled != "no")
        for (i = 1; i <= n; i++) print uri[i] "\t" key
      types = suites = key = enabled = ""; n = 0
    }
    /^[ \t]*$/ { flush() }
    tolower($1) == "types:" { types = $0 }
    tolower($1) == "enabled:" { enabled = tolower($2) }
    tolower($1) == "suites:" { suites = $0 }
    tolower($1) == "uris:" { n = NF - 1; for (i = 1; i <= n; i++) uri[i] = $(i + 1) }
    tolower($1) == "signed-by:" { key = $2 }
    END { flush() }'
  cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null | awk '
    $1 == "deb" {
      key = ""; i = 2
      if ($2 ~ /^\[/) {
        while ($i !~ /\]$/) i++
        if (match($0, /signed-by=[^] ]*/)) key = substr($0, RSTART + 10, RLENGTH - 10)
        i++
      }
      if ($(i + 1) !~ /security/) print $i "\t" key
    }'
}

# write_entry URI KEYRING: our private sources directory.
write_entry() {
  rm -rf "$work"
  mkdir -p "$work/sources" "$work/lists/partial" "$work/cache/archives/partial"
  {
    echo "Types: deb-src"
    echo "URIs: $1"
    echo "Suites: $(sed -n 's/^# suites //p' "$here/versions.mk")"
    echo "Components: main"
    if [ -n "$2" ]; then echo "Signed-By: $2"; fi
  } >"$work/sources/lua.sources"
}

client() {
  apt-get -qq -o Dir::Etc::sourcelist=/dev/null \
    -o Dir::Etc::sourceparts="$work/sources" \
    -o Dir::State::Lists="$work/lists" -o Dir::Cache="$work/cache" \
    -o APT::Sandbox::User="$(id -un)" \
    -o Acquire::Languages=none -o Acquire::IndexTargets::deb-src::DEP-11::DefaultEnabled=false \
    -o Acquire::http::Timeout=20 -o Acquire::Retries=1 "$@"
}

# unpack VERSION SUM: into lua/src, if the tarball is there and is the one.
unpack() {
  tarball=$work/lua5.4_$1.orig.tar.gz
  [ -f "$tarball" ] || return 1
  if ! echo "$2  $tarball" | sha256sum -c - >/dev/null 2>&1; then
    echo "vendor: lua $1 has another SHA-256 than versions.mk says: not used" >&2
    return 1
  fi
  rm -rf "$lua/src" "$work/tree"
  mkdir -p "$work/tree"
  tar -xzf "$tarball" -C "$work/tree" --strip-components=1
  [ -f "$work/tree/src/lua.h" ] && [ -f "$work/tree/src/lvm.c" ] || return 1
  mv "$work/tree/src" "$lua/src"
}

choose() { # KIND VERSION
  printf 'LUA_KIND := %s\nLUA_RELEASE := %s\n' "$1" "$2" >"$lua/choice.mk"
}

fetch() {
  command -v apt-get >/dev/null || return 1
  entries | sort -u >"$lua/entries"
  tab=$(printf '\t')
  while IFS=$tab read -r uri key; do
    write_entry "$uri" "$key"
    client update >"$work/log" 2>&1 || continue
    sed -n 's/^lua //p' "$here/versions.mk" >"$work/pins"
    while read -r version package sum; do
      # Its own status is not asked: a missing .dsc fails it, and the tarball,
      # which the sum judges, may still have come.
      (cd "$work" && client source --download-only "lua5.4=$package") \
        >>"$work/log" 2>&1 </dev/null || :
      if unpack "$version" "$sum"; then
        choose vendored "$version"
        return 0
      fi
    done <"$work/pins"
  done <"$lua/entries"
  return 1
}

mkdir -p "$lua"
if fetch; then
  rm -rf "$work" "$lua/entries"
  exit 0
fi
rm -f "$lua/entries"
if pkg-config --exists lua5.4 2>/dev/null; then
  version=$(pkg-config --modversion lua5.4)
elif echo '#include <lua5.4/lua.h>' | ${CC:-cc} -E - >/dev/null 2>&1; then
  version=5.4
else
  echo "no Lua 5.4: its source package could not be fetched and the system" \
    "has none;" >&2
  [ -e "$work/log" ] && tail -n 5 "$work/log" >&2
  echo "install liblua5.4-dev (Debian: apt-get install liblua5.4-dev)" >&2
  exit 1
fi
echo "vendor: no pinned Lua source to be had; using the system's Lua $version" \
  "(rm -r vendor/lua to try again)" >&2
choose system "$version"
