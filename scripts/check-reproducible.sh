#!/bin/sh
# Builds release tarball and Debian packages twice, in folders of different names, and compares their bytes.
set -eu
cd "$(dirname "$0")/.."
work=$(mktemp -d "${TMPDIR:-/tmp}/asc-twice.XXXXXX")
trap 'rm -rf "$work"' EXIT
for n in 1 second; do
    mkdir -p "$work/$n"
    rm -rf dist
    TMPDIR=$work/$n scripts/make-release.sh
    TMPDIR=$work/$n scripts/make-deb.sh
    (cd dist && sha256sum -- *) >"$work/sums-$n"
done
if cmp -s "$work/sums-1" "$work/sums-second"; then
    echo "check-reproducible: $(wc -l <"$work/sums-1") files, the same bytes twice"
else
    diff "$work/sums-1" "$work/sums-second" >&2 || true
    echo "check-reproducible: the two builds differ" >&2
    exit 1
fi
