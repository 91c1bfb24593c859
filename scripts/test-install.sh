#!/bin/sh
# Installs into a temporary folder and builds against it as a stranger would: the public headers alone, with what
# pkg-config says, in C and in C++ where a C++ compiler is at hand; then runs the example on a tiny model.
set -eu
cd "$(dirname "$0")/.."
case ${TMPDIR-} in *[[:space:]]*) unset TMPDIR ;; esac # pkg-config does not take a sysroot with blanks
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
die() {
    echo "test-install: $1" >&2
    exit 1
}
prefix=${PREFIX:-/usr/local}
DESTDIR=$dir PREFIX=$prefix scripts/install.sh >"$dir/log" 2>&1 || { cat "$dir/log" >&2; die "installing failed"; }

pc=$(find "$dir" -name ascribe.pc | head -n 1)
[ -n "$pc" ] || die "no ascribe.pc was installed"
export PKG_CONFIG_PATH="${pc%/*}" PKG_CONFIG_SYSROOT_DIR="$dir"
flags=$(pkg-config --cflags --libs ascribe) || die "pkg-config does not accept $pc"
libdir=$(dirname "$(find "$dir" -name 'libascribe.so' | head -n 1)")

# Each header compiles alone, and the one of all knows it.
for header in include/ascribe/*.h; do
    case $header in
    */ascribe.h) ;;
    *) grep -qx "#include \"ascribe/${header##*/}\"" include/ascribe/ascribe.h || die "ascribe.h lacks $header" ;;
    esac
    printf '#include <ascribe/%s>\nint main(void) { return 0; }\n' "${header##*/}" >"$dir/alone.c"
    # shellcheck disable=SC2086 # flags are words
    cc -std=c17 -Wall -Wextra -Wpedantic -Werror -o "$dir/alone" "$dir/alone.c" $flags || die "$header does not stand alone"
    if command -v c++ >/dev/null 2>&1; then
        c++ -x c++ -std=c++17 -Wall -Wextra -Werror -fsyntax-only "$dir/alone.c" $flags || die "$header is not good C++"
    fi
done

if [ -f examples/explain.c ]; then
    # shellcheck disable=SC2086
    cc -std=c17 -Wall -Wextra -Werror -o "$dir/explain" examples/explain.c $flags || die "examples/explain.c does not build"
    model=$(find tests/data -name '*.gguf' -path '*llama-q8_0*' | head -n 1)
    if [ -n "$model" ]; then
        LD_LIBRARY_PATH=$libdir "$dir/explain" "$model" "The capital" >"$dir/out" || die "the example failed on $model"
        [ -s "$dir/out" ] || die "the example printed nothing"
    fi
fi

for example in examples/explain_*.c; do # nets written in C: they need no model
    # shellcheck disable=SC2086
    cc -std=c17 -Wall -Wextra -Werror -o "$dir/net" "$example" $flags || die "$example does not build"
    LD_LIBRARY_PATH=$libdir "$dir/net" >"$dir/out" || die "$example failed"
    [ -s "$dir/out" ] || die "$example printed nothing"
done

program=$dir$prefix/bin/ascribe
if [ -x "$program" ]; then
    "$program" --version >/dev/null || die "the installed program does not start"
    for page in ascribe ascribe-explain ascribe-compare-methods; do
        [ -s "$dir$prefix/share/man/man1/$page.1" ] || die "the man page $page(1) was not installed"
    done
    for f in bash-completion/completions/ascribe zsh/site-functions/_ascribe fish/vendor_completions.d/ascribe.fish; do
        [ -s "$dir$prefix/share/$f" ] || die "no shell completion at share/$f"
    done
    bash -n "$dir$prefix/share/bash-completion/completions/ascribe" || die "the bash completion has an error"
fi
echo "test-install: the installed library, headers and program work"
