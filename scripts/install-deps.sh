#!/bin/sh
# Brings the Debian packages that the build and the tests need. Quick when everything is there.
#   install-deps.sh          what `make demo` and `make check` need
#   install-deps.sh --onnx   also ONNX's own test models (make onnx-node-tests)
#   install-deps.sh --package  also what `make deb` and `make release` need
#   install-deps.sh --full   also what `make check-full` and `make format` need
set -eu
packages="gcc libc6-dev make meson ninja-build pkg-config libdnnl-dev libutf8proc-dev libonig-dev libjansson-dev nettle-dev
  libpng-dev libjpeg62-turbo-dev libmicrohttpd-dev libedit-dev python3-dev python3-venv python3-numpy
  libcmocka-dev zlib1g-dev python3 python3-pip unzip ca-certificates"
if [ "${1-}" = --full ]; then
    packages="$packages zsh fish clang libclang-rt-14-dev libomp-14-dev clang-format valgrind patchelf curl"
fi

[ "${1-}" = --package ] && packages="$packages debhelper dpkg-dev fakeroot lintian patchelf xz-utils"
[ "${1-}" = --onnx ] && packages="$packages libonnx-testdata"

if ! command -v dpkg-query >/dev/null 2>&1; then # not Debian: look for the things themselves
    missing=
    for tool in cc meson ninja pkg-config python3 unzip; do
        command -v "$tool" >/dev/null 2>&1 || missing="$missing $tool"
    done
    for module in libmicrohttpd libedit nettle jansson libutf8proc oniguruma zlib libpng libjpeg cmocka; do
        pkg-config --exists "$module" 2>/dev/null || missing="$missing lib:$module"
    done
    [ -z "$missing" ] && exit 0
    echo "install-deps: this is not Debian; please install:$missing and oneDNN (dnnl.h) with your package manager" >&2
    exit 1
fi

# shellcheck disable=SC2086 # a list of words on purpose
missing=$(
    for p in $packages; do echo "$p"; done | sort >"${TMPDIR:-/tmp}/asc-want.$$"
    dpkg-query -W -f='${db:Status-Status} ${Package}\n' $packages 2>/dev/null | sed -n 's/^installed //p' | sort |
        comm -23 "${TMPDIR:-/tmp}/asc-want.$$" - | tr '\n' ' '
    rm -f "${TMPDIR:-/tmp}/asc-want.$$"
)
[ -z "$missing" ] && exit 0

if [ "$(id -u)" = 0 ]; then
    as_root=
elif command -v sudo >/dev/null 2>&1; then
    as_root="sudo"
else
    echo "install-deps: these packages are missing, and neither root nor sudo is at hand. As root, run:" >&2
    echo "  apt-get update && apt-get install --no-install-recommends $missing" >&2
    exit 1
fi
echo "install-deps: installing $missing"
export DEBIAN_FRONTEND=noninteractive
$as_root apt-get update -qq || echo "install-deps: 'apt-get update' failed; trying with the lists at hand" >&2
# shellcheck disable=SC2086
$as_root apt-get install -y -qq --no-install-recommends $missing >/dev/null || {
    echo "install-deps: apt-get could not install: $missing" >&2
    echo "  See its messages above; check the network and /etc/apt/sources.list, then try again." >&2
    exit 1
}
