#!/bin/sh
# Writes the reference pages that the program knows best: docs/ops.md, docs/methods.md, docs/cli.md,
# docs/formats/question.md, and the keywords and ops of the Python package.
#   gen-docs.sh            writes them
#   gen-docs.sh --check    compares only: exit 1 and the mending command when a page is stale
set -eu
cd "$(dirname "$0")/.."
program=build/ascribe
if [ ! -x $program ]; then
    [ "${1-}" = --check ] && exit 0 # nothing built, nothing to compare
    echo "gen-docs: $program is not built; run 'make build'" >&2
    exit 1
fi
new=$(mktemp)
trap 'rm -f "$new"' EXIT
stale=0
page() { # FILE COMMAND...: the page that `ascribe COMMAND...` prints
    file=$1
    shift
    if ! $program "$@" >"$new"; then
        echo "$file:1: 'ascribe $*' failed" >&2
        stale=1
    elif [ "$mode" = --check ]; then
        cmp -s "$new" "$file" || { echo "$file:1: not what 'ascribe $*' prints; run 'make docs'" >&2; stale=1; }
    else
        cat "$new" >"$file"
    fi
}
mode=${1-write}
page docs/ops.md ops --markdown
page docs/methods.md methods --markdown
page docs/cli.md help --markdown
page docs/formats/question.md help question --markdown
for table in keys ops; do
    python3 scripts/gen-python-$table.py $([ "$mode" = --check ] && echo --check) || stale=1
done
exit $stale
