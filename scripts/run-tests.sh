#!/bin/sh
# Runs the tests of a build folder, and further checks, and ends with one line of totals over every test of every
# program: "N passed, N failed" (and ", N skipped" when there were any).
#   run-tests.sh [--build DIR] [--set VARIABLE=VALUE]... [--with COMMAND]... [--note TEXT] [-- meson test arguments]
# A note is printed just before the totals. What is set reaches every test program, also where tests otherwise have the
# variable empty (docs/checking.md), and the commands as SUITE_VARIABLES; values have no blanks.
# Exit code 0 only when something ran and nothing failed.
set -eu
cd "$(dirname "$0")/.."
build=build
note=
variables=
tally=$(mktemp)
trap 'rm -f "$tally"' EXIT
while [ $# -gt 0 ]; do
    case "$1" in
    --build) build=$2; shift 2 ;;
    --set)
        case "$2" in
        [A-Z_]*=*[[:space:]]*) echo "run-tests: blanks in --set $2" >&2; exit 2 ;;
        [A-Z_]*=*) variables="$variables $2" ;;
        *) echo "run-tests: --set takes VARIABLE=VALUE, not $2" >&2; exit 2 ;;
        esac
        SUITE_VARIABLES=$variables
        export SUITE_VARIABLES
        shift 2
        ;;
    --with) # a check that is no test program counts as one test
        if $2; then echo "passed $2" >>"$tally"; else echo "failed $2" >>"$tally"; fi
        shift 2
        ;;
    --note) note=$2; shift 2 ;;
    --) shift; break ;;
    *) echo "usage: run-tests.sh [--build DIR] [--set VARIABLE=VALUE]... [--with COMMAND]... [--note TEXT] [-- ...]" >&2; exit 2 ;;
    esac
done
log=$build/meson-logs/testlog${variables:+-env}.json
rm -f "$log"
meson test -C "$build" --no-rebuild --print-errorlogs ${variables:+--wrap "env$variables"} "$@" | grep -v -e '^Full log' -e '^ninja: ' -e '^$' || true
[ -z "$note" ] || echo "$note"
python3 scripts/count-tests.py "$log" "$tally"
