#!/bin/sh
# Runs the tests of a build folder, and further checks, and ends with one line of totals over every test of every
# program: "N passed, N failed" (and ", N skipped" when there were any).
#   run-tests.sh [--build DIR] [--with COMMAND]... [--note TEXT] [-- meson test arguments]
# A note is printed just before the totals.
# Exit code 0 only when something ran and nothing failed.
set -eu
cd "$(dirname "$0")/.."
build=build
note=
tally=$(mktemp)
trap 'rm -f "$tally"' EXIT
while [ $# -gt 0 ]; do
    case "$1" in
    --build) build=$2; shift 2 ;;
    --with) # a check that is no test program counts as one test
        if $2; then echo "passed $2" >>"$tally"; else echo "failed $2" >>"$tally"; fi
        shift 2
        ;;
    --note) note=$2; shift 2 ;;
    --) shift; break ;;
    *) echo "usage: run-tests.sh [--build DIR] [--with COMMAND]... [--note TEXT] [-- ...]" >&2; exit 2 ;;
    esac
done
rm -f "$build/meson-logs/testlog.json"
meson test -C "$build" --no-rebuild --print-errorlogs "$@" | grep -v -e '^Full log' -e '^ninja: ' -e '^$' || true
[ -z "$note" ] || echo "$note"
python3 scripts/count-tests.py "$build/meson-logs/testlog.json" "$tally"
