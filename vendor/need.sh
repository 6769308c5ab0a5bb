#!/bin/sh
# Sees to it that the machine has what a target needs.
#
#   vendor/need.sh build|demo|test|ci
#
# Installs the missing packages of debian.txt on Debian, as root or by sudo.
# Elsewhere, or without rights, names every missing piece and the line that
# installs it, and ends with status 1: nothing has been built by then.
# Must not know: how anything is built.
set -u

here=$(cd "$(dirname "$0")" && pwd)
goal=${1:-build}

# purposes GOAL: which rows of debian.txt it takes.
case $goal in
build) purposes="build" ;;
demo) purposes="build demo" ;;
test) purposes="build test" ;;
ci) purposes="build test ci" ;;
*)
  echo "need.sh: no goal '$goal'; build, demo, test, ci" >&2
  exit 2
  ;;
esac

present() { # PROBE
  case $1 in
  command:*) command -v "${1#command:}" >/dev/null 2>&1 ;;
  header:*)
    [ -e "/usr/include/${1#header:}" ] ||
      echo "#include <${1#header:}>" | ${CC:-cc} -E - >/dev/null 2>&1
    ;;
  path:*)
    for file in ${1#path:}; do [ -e "$file" ] && return 0; done
    return 1
    ;;
  esac
}

# missing: "package probe what for", one per line.
missing() {
  grep -v '^#' "$here/debian.txt" | while read -r purpose package probe what; do
    case " $purposes " in
    *" $purpose "*) present "$probe" || echo "$package $probe $what" ;;
    esac
  done
}

rest=$(missing)
[ -z "$rest" ] && exit 0
packages=$(echo "$rest" | cut -d' ' -f1 | tr '\n' ' ')

as_root=
if [ "$(id -u)" -ne 0 ]; then
  if command -v sudo >/dev/null 2>&1 && { [ -t 0 ] || sudo -n true 2>/dev/null; }
  then as_root=sudo; else as_root=none; fi
fi

if [ -e /etc/debian_version ] && command -v apt-get >/dev/null 2>&1 &&
  [ "$as_root" != none ]; then
  echo "installing: $packages"
  install() {
    # shellcheck disable=SC2086 # a list of packages, a word or nothing
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -y \
      --no-install-recommends install $packages </dev/null >/dev/null
  }
  # A fresh machine has no lists yet, or old ones: fetch them and try again.
  install 2>/dev/null || { $as_root apt-get -qq update && install; }
  rest=$(missing)
  [ -z "$rest" ] && exit 0
fi

echo "missing for 'make $goal':" >&2
echo "$rest" | while read -r package probe what; do
  echo "  ${probe#*:}  ($what; Debian package $package)" >&2
done
echo "install: sudo apt-get install $(echo "$rest" | cut -d' ' -f1 | tr '\n' ' ')" >&2
[ -e /etc/debian_version ] ||
  echo "(not a Debian system: install what holds the pieces named above)" >&2
exit 1
