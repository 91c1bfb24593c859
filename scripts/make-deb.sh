#!/bin/sh
# Builds the Debian packages into dist/ and lets lintian look at them: make-deb.sh. Everything happens in a copy of the
# source; SOURCE_DATE_EPOCH is the last commit's time, so that a second build gives the same bytes.
set -eu
cd "$(dirname "$0")/.."
scripts/install-deps.sh --package
version=$(sed -n "s/^project('ascribe', 'c', version: '\([^']*\)'.*/\1/p" meson.build)
work=$(mktemp -d "${TMPDIR:-/tmp}/asc-deb.XXXXXX")
trap 'rm -rf "$work"' EXIT
tree=$work/ascribe-$version
SOURCE_DATE_EPOCH=$(scripts/source-tree.sh "$tree")
export SOURCE_DATE_EPOCH
grep -q "^ascribe ($version-" "$tree/packaging/debian/changelog" || {
    echo "make-deb: packaging/debian/changelog does not begin with version $version" >&2
    exit 1
}
cp -r "$tree/packaging/debian" "$tree/debian"
(cd "$tree" && DEB_BUILD_OPTIONS="parallel=$(nproc) ${DEB_BUILD_OPTIONS-}" dpkg-buildpackage -us -uc -b >"$work/log" 2>&1) || {
    tail -n 40 "$work/log" >&2
    echo "make-deb: dpkg-buildpackage failed" >&2
    exit 1
}
mkdir -p dist
cp "$work"/*.deb dist/
lintian --fail-on error,warning --tag-display-limit 0 --allow-root "$work"/*.changes
echo "make-deb: dist/ has $(cd "$work" && echo *.deb)"
