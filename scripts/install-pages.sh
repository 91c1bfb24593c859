#!/bin/sh
# Writes what the installed program says about itself: install-pages.sh PREFIX (with DESTDIR before it). Manual pages, one
# of the program and one of each command, and the completions of three shells. BUILD is the build folder (default build).
set -eu
root=$1
program=${BUILD:-build}/ascribe
write() { # FILE COMMAND...: what `ascribe COMMAND...` prints becomes FILE
    file=$root/share/$1
    shift
    mkdir -p "${file%/*}"
    "$program" "$@" >"$file"
}
write man/man1/ascribe.1 help --man
for command in $("$program" help | sed -n 's/^  \([a-z-]*\)  .*/\1/p'); do
    write "man/man1/ascribe-$command.1" help "$command" --man
done
write bash-completion/completions/ascribe completions bash
write zsh/${ZSH_FOLDER:-site-functions}/_ascribe completions zsh
write fish/vendor_completions.d/ascribe.fish completions fish
