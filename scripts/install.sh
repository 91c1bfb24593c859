#!/bin/sh
# Installs library, headers, pkg-config file, program, man pages and shell completions. PREFIX (default /usr/local)
# is where they will live; DESTDIR (default none) is put before it, for packagers and tests.
set -eu
cd "$(dirname "$0")/.."
prefix=${PREFIX:-/usr/local}
scripts/build.sh build
meson install -C build --no-rebuild --quiet
root=${DESTDIR-}$prefix
scripts/install-pages.sh "$root"
if [ -z "${DESTDIR-}" ] && [ "$(id -u)" = 0 ]; then ldconfig || true; fi
echo "installed under $root"
