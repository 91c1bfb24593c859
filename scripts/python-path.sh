#!/bin/sh
# Lays out the Python package in BUILD/python with the extension module that BUILD has: links, no copies. Prints the
# folder, for PYTHONPATH.   python-path.sh [BUILD]
set -eu
cd "$(dirname "$0")/.."
build=${1:-build}
root=$PWD
case "$build" in /*) ;; *) build=$root/$build ;; esac
[ -f "$build/_ascribe.abi3.so" ] || { echo "python-path: $build has no extension module; run 'make build'" >&2; exit 1; }
rm -rf "$build/python/ascribe"
mkdir -p "$build/python/ascribe"
for file in "$root"/bindings/python/ascribe/*; do
    case "$file" in */__pycache__) ;; *) ln -s "$file" "$build/python/ascribe/" ;; esac
done
ln -s "$build/_ascribe.abi3.so" "$build/python/ascribe/_ascribe.abi3.so"
echo "$build/python"
