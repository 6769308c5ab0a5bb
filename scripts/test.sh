#!/bin/sh
# Runs the tests, each file in a process of its own, and adds up the counts.
#
#   scripts/test.sh full|fast [WORD]   only files with WORD in their path
#
# BUILD names the build folder, SANITIZE its sanitizers (a test may ask), JOBS
# how many run at a time.  `fast` leaves out
# what is tagged #slow.  The last line is `N passed, N failed`; the status is 1
# when anything failed, crashed or ran out of time, or when nothing ran.
# Must not know: what is tested.
set -u

BUILD=${BUILD:-build}
JOBS=${JOBS:-$(nproc 2>/dev/null || echo 2)}
mode=${1:-full}
logs=$BUILD/log

run() { # FILE: the test itself
  case $1 in
  *.lua)
    tags=
    [ "$TENSUS_CHECK" = fast ] && tags=--exclude-tags=slow
    timeout -k 5 "$LIMIT" "$BUILD/tensus" /usr/bin/busted \
      --output=scripts/busted.lua $tags "$1"
    ;;
  *) timeout -k 5 "$LIMIT" "$1" ;;
  esac
}

# one FILE: run it, keep its log and its counts, say how it went.
one() {
  log=$logs/$(echo "$1" | sed "s|^$BUILD/||" | tr '/' '-')
  start=$(date +%s)
  run "$1" >"$log.out" 2>"$log.err" </dev/null
  status=$?
  # Only the very last line counts: a program that dies after it has said so
  # is caught by its status, one that dies before it by this line's absence.
  line=$(tail -n 1 "$log.out" | grep -E '^[0-9]+ passed, [0-9]+ failed' || :)
  passed=$(echo "$line" | sed -n 's/^\([0-9]*\) passed.*/\1/p')
  failed=$(echo "$line" | sed -n 's/.*, \([0-9]*\) failed.*/\1/p')
  pending=$(echo "$line" | sed -n 's/.*, \([0-9]*\) pending.*/\1/p')
  passed=${passed:-0} failed=${failed:-0}
  note=
  if [ -z "$line" ]; then
    failed=1 note="no count line, status $status"
  elif [ "$status" -ne 0 ] && [ "$failed" -eq 0 ]; then
    failed=1 note="status $status"
  elif [ $((passed + failed + ${pending:-0})) -eq 0 ] &&
    [ "$TENSUS_CHECK" = full ]; then
    failed=1 note="nothing ran"
  fi
  [ "$status" -eq 124 ] && note="out of time: $LIMIT s"
  echo "$passed $failed ${pending:-0}" >"$log.count"
  word=ok
  [ "$failed" -ne 0 ] && word=FAIL
  printf '%-4s %5d passed, %d failed  %3d s  %s%s\n' "$word" "$passed" \
    "$failed" $(($(date +%s) - start)) "$1" "${note:+  ($note)}"
  [ "$failed" -eq 0 ] && return
  { head -n 60 "$log.out"; tail -n 40 "$log.err"; } | sed 's/^/     | /'
}

if [ "$mode" = one ]; then
  shift
  for file; do one "$file"; done
  exit 0
fi

TENSUS_CHECK=$mode
case $mode in full) LIMIT=600 ;; fast) LIMIT=180 ;; *)
  echo "usage: scripts/test.sh full|fast [WORD]" >&2
  exit 2
  ;;
esac
# The program finds itself and the fake device by these; what a user's shell
# sets for Lua must not reach a test.
TENSUS=$BUILD/tensus
TENSUS_CUDA_PLUGIN=$PWD/$BUILD/tensus_fakecuda.so
SANITIZE=${SANITIZE:-}
export BUILD LIMIT SANITIZE TENSUS TENSUS_CHECK TENSUS_CUDA_PLUGIN
unset LUA_INIT LUA_INIT_5_4 LUA_PATH LUA_CPATH LUA_PATH_5_4 LUA_CPATH_5_4 || :

rm -rf "$logs"
mkdir -p "$logs"
{
  find "$BUILD/spec" -name '*_test' -type f 2>/dev/null | sort
  find spec -name '*_spec.lua' 2>/dev/null | sort
} | grep -F -e "${2:-}" >"$logs/files"
xargs -P "$JOBS" -n 1 sh "$0" one <"$logs/files"

cat "$logs"/*.count 2>/dev/null | awk '
  { passed += $1; failed += $2; pending += $3; n++ }
  END {
    if (pending > 0) printf "%d pending\n", pending
    printf "%d passed, %d failed\n", passed, failed
    exit n == 0 || failed > 0 || passed == 0
  }'
