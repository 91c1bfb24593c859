#!/bin/sh
# Tests of the Python package with the extension module of a build folder: check-python.sh [BUILD] [unittest
# arguments]. PYTHON chooses one; else the first that has numpy. Ends with unittest's own verdict.
set -eu
cd "$(dirname "$0")/.."
build=${1:-build}
[ $# -eq 0 ] || shift
python=
for candidate in ${PYTHON:-python3 /usr/bin/python3}; do
    if "$candidate" -c 'import sys, numpy; assert sys.version_info >= (3, 11)' 2>/dev/null; then
        python=$candidate
        break
    fi
done
if [ -z "$python" ]; then
    echo "check-python: no Python from 3.11 on with numpy (Debian: python3-numpy); PYTHON=... names one" >&2
    exit 1
fi
PYTHONPATH=$(scripts/python-path.sh "$build"):$PWD/bindings/python/tests
ASC_BUILD=$(cd "$build" && pwd)
for variable in $(scripts/sources.sh variables); do unset "$variable"; done # as in meson.build
ASC_CACHE=0 # no test reads or leaves programs in the user's folder
for set in ${SUITE_VARIABLES-}; do export "${set?}"; done # run-tests.sh --set
export PYTHONPATH ASC_BUILD ASC_CACHE
"$python" -m unittest discover -s bindings/python/tests -p "${1:-test_*.py}" 2>&1 || exit 1
