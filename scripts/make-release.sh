#!/bin/sh
# Builds dist/ascribe-VERSION-linux-ARCH.tar.xz: program, library, headers, manual pages, completions, and beside them every
# shared library that is not the C library's own, found through $ORIGIN. It runs on any system whose C library is as new as
# the one it was built with. Two runs on one source give the same bytes.
set -eu
cd "$(dirname "$0")/.."
scripts/install-deps.sh --package
version=$(sed -n "s/^project('ascribe', 'c', version: '\([^']*\)'.*/\1/p" meson.build)
name=ascribe-$version-linux-$(uname -m)
work=$(mktemp -d "${TMPDIR:-/tmp}/asc-release.XXXXXX")
trap 'rm -rf "$work"' EXIT
SOURCE_DATE_EPOCH=$(scripts/source-tree.sh "$work/source")
export SOURCE_DATE_EPOCH
(
    cd "$work/source"
    meson setup ../build --prefix / --libdir lib -Dtests=false -Dpython=disabled >../log 2>&1 &&
        ninja -C ../build --quiet >>../log 2>&1 && DESTDIR=$work/$name meson install -C ../build --no-rebuild --quiet >>../log 2>&1
) || {
    tail -n 40 "$work/log" >&2
    echo "make-release: building failed" >&2
    exit 1
}
BUILD=$work/build scripts/install-pages.sh "$work/$name"
root=$work/$name
strip --strip-unneeded "$root/bin/ascribe" "$root/lib/libascribe.so.$version"

# Bundled: whatever program and library load, but the C library and the loader.
ours='^lib(c|m|pthread|dl|rt)\.so|^ld-linux'
for file in "$root/bin/ascribe" "$root/lib/libascribe.so.$version"; do
    ldd "$file" | sed -n 's/^[[:space:]]*\([^ ]*\) => \(\/[^ ]*\) .*/\1 \2/p'
done | sort -u | grep -E -v "$ours" >"$work/libraries"
mkdir -p "$root/share/doc/ascribe/licences"
while read -r so path; do
    cp -L "$path" "$root/lib/$so"
    chmod 644 "$root/lib/$so"
    patchelf --set-rpath '$ORIGIN' "$root/lib/$so"
    real=$(readlink -f "$path") # a package may own it as /lib/... or as /usr/lib/...
    package=$(dpkg-query -S "$real" "${real#/usr}" 2>/dev/null | head -n 1 | cut -d: -f1 || true)
    if [ -n "$package" ] && [ -f "/usr/share/doc/$package/copyright" ]; then
        cp -L "/usr/share/doc/$package/copyright" "$root/share/doc/ascribe/licences/$package"
    fi
done <"$work/libraries"
patchelf --set-rpath '$ORIGIN/../lib' "$root/bin/ascribe"
patchelf --set-rpath '$ORIGIN' "$root/lib/libascribe.so.$version"
cp LICENSE README.md CHANGELOG.md "$root/share/doc/ascribe/"
find "$root" -name '*.pc' -exec sed -i 's|^prefix=.*|prefix=${pcfiledir}/../..|' {} +

# It starts without any of the system's libraries but those.
env -i "$root/bin/ascribe" --version >/dev/null
mkdir -p dist
tar -C "$work" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --mode=go-w -cf - "$name" |
    xz -T1 -6 >"dist/$name.tar.xz"
(cd dist && sha256sum "$name.tar.xz")
