#!/bin/sh
# Installs library, headers, pkg-config file, program, man page and shell completions. PREFIX (default /usr/local)
# is where they will live; DESTDIR (default none) is put before it, for packagers and tests.
set -eu
cd "$(dirname "$0")/.."
prefix=${PREFIX:-/usr/local}
scripts/build.sh build
meson install -C build --no-rebuild --quiet
root=${DESTDIR-}$prefix
program=build/ascribe
if [ -x $program ]; then
    write() { # FILE COMMAND...: what `ascribe COMMAND...` prints becomes FILE
        file=$root/share/$1
        shift
        mkdir -p "${file%/*}"
        $program "$@" >"$file"
    }
    write man/man1/ascribe.1 help --man
    for command in $($program help | sed -n 's/^  \([a-z-]*\)  .*/\1/p'); do
        write "man/man1/ascribe-$command.1" help "$command" --man
    done
    write bash-completion/completions/ascribe completions bash
    write zsh/site-functions/_ascribe completions zsh
    write fish/vendor_completions.d/ascribe.fish completions fish
fi
if [ -z "${DESTDIR-}" ] && [ "$(id -u)" = 0 ]; then ldconfig || true; fi
echo "installed under $root"
