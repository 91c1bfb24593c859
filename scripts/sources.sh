#!/bin/sh
# Lists the source files of one kind, in a stable order, for meson.build. Kinds: inc lib kernel avx2 avx512 amx cli programs page test goldens nodetests fuzz example bench python;
# variables: the environment variables that tests have empty.
# Files of src/backends/cpu/kernels/ hold fast kernels: *_avx2.c, *_avx512.c and *_amx.c are compiled for those instructions.
set -eu
cd "$(dirname "$0")/.."
export LC_ALL=C
find_c() { if [ -d "$1" ]; then find "$1" -name "$2" -type f | sort; fi; }
case "$1" in
inc) find src -mindepth 1 -type d | grep -v -e '^src/cli$' -e '^src/serve' -e '^src/shell$' -e '^src/backends$' -e '^src/backends/ref$' -e '^src/backends/null$' | sort ;;
lib) find_c src '*.c' | grep -v -e '^src/cli/' -e '^src/serve/' -e '^src/shell/' -e '^src/backends/cpu/kernels/' || true ;;
avx2) find_c src/backends/cpu/kernels '*_avx2.c' ;;
avx512) find_c src/backends/cpu/kernels '*_avx512.c' ;;
amx) find_c src/backends/cpu/kernels '*_amx.c' ;;
kernel) find_c src/backends/cpu/kernels '*.c' | grep -v -e '_avx2\.c$' -e '_avx512\.c$' -e '_amx\.c$' || true ;;
cli) find_c src/cli '*.c' ;;
test) find_c tests 'test_*.c' ;;
programs) { find_c src/serve '*.c'; find_c src/shell '*.c'; } ;;
page) find_c src/serve/page '*' | grep -v README || true ;;
nets) find_c tests/nets '*.c' | grep -v '/test_' || true ;;
goldens) find_c tests/goldens '*.c' ;;
nodetests) find_c tests/onnx 'onnx_*.c' ;;
fuzz) find_c tests/fuzz 'fuzz_*.c' ;;
example) find_c examples '*.c' ;;
bench) find_c bench '*.c' ;;
python) find_c bindings/python/src '*.c' ;;
variables) sed -n 's/^[A-Z]*([^"]*"\(ASC_[A-Z_]*\)".*/\1/p' src/base/env.def src/cli/env.def | grep -v -x -e ASC_ISA -e ASC_THREADS ;;
*) echo "usage: sources.sh KIND" >&2; exit 2 ;;
esac
