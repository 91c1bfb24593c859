#!/bin/sh
# mypy --strict over the Python package and its examples, in an environment of its own (build-mypy/, kept).
set -eu
cd "$(dirname "$0")/.."
env=build-mypy
if [ ! -x $env/bin/mypy ]; then
    rm -rf $env
    python3 -m venv $env
    $env/bin/pip install --quiet --disable-pip-version-check mypy numpy || {
        echo "check-python-types: mypy and numpy could not be fetched" >&2
        rm -rf $env
        exit 1
    }
fi
MYPYPATH=bindings/python $env/bin/mypy --strict --cache-dir $env/cache bindings/python/ascribe
examples=$(find bindings/python/examples -name '*.py' 2>/dev/null | sort)
for file in $examples; do
    MYPYPATH=bindings/python $env/bin/mypy --strict --cache-dir $env/cache "$file"
done
