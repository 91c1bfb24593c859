#!/bin/sh
# Configures (when needed) and compiles one build folder: build.sh DIR [meson options]. New source files need no
# line anywhere: the list of sources.sh is kept in the folder, and a changed list configures it anew.
set -eu
cd "$(dirname "$0")/.."
dir=$1
shift
case "$dir" in
build) scripts/install-deps.sh ;;
*) scripts/install-deps.sh --full ;;
esac

list=$(for kind in inc lib kernel avx2 avx512 amx cli programs test goldens fuzz example bench python; do scripts/sources.sh "$kind"; done)
prefix=${PREFIX:-/usr/local}
if [ ! -f "$dir/build.ninja" ]; then
    rm -rf "$dir"
    meson setup "$dir" --prefix "$prefix" "$@" >"${TMPDIR:-/tmp}/asc-setup.$$" || {
        cat "${TMPDIR:-/tmp}/asc-setup.$$" >&2
        rm -f "${TMPDIR:-/tmp}/asc-setup.$$"
        exit 1
    }
    rm -f "${TMPDIR:-/tmp}/asc-setup.$$"
    # nothing is printed while it goes well, and the first time is long
    echo "build: compiling $(printf '%s\n' "$list" | wc -l) files into $dir/, minutes on 2 cores" >&2
elif [ "$list" != "$(cat "$dir/.sources" 2>/dev/null)" ] || [ "$prefix" != "$(cat "$dir/.prefix" 2>/dev/null)" ]; then
    meson setup --reconfigure "$dir" --prefix "$prefix" "$@" >/dev/null
fi
printf '%s\n' "$list" >"$dir/.sources"
printf '%s\n' "$prefix" >"$dir/.prefix"
ninja -C "$dir" ${JOBS:+-j "$JOBS"} --quiet
