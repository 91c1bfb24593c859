#!/bin/sh
# The demonstration in Python: builds the wheel, installs it into an environment that is thrown away, and runs the
# snippet of README.md on the demonstration model. demo-python.sh MODEL.gguf
set -eu
cd "$(dirname "$0")/.."
model=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
wheel=$(scripts/build-wheel.sh "$dir/wheel" | tail -n 1)
python3 -m venv "$dir/env"
if ! "$dir/env/bin/pip" install --quiet --disable-pip-version-check "$wheel" 2>"$dir/pip.log"; then
    # without a package index: Debian's numpy
    /usr/bin/python3 -m venv --clear --system-site-packages "$dir/env"
    "$dir/env/bin/pip" install --quiet --disable-pip-version-check --no-index "$wheel" || { cat "$dir/pip.log" >&2; exit 1; }
fi
# The first block of README.md in Python, with the model's place put in.
awk '/^```python$/ { inside = 1; next } /^```$/ && inside { exit } inside' README.md |
    sed "s|\"model.gguf\"|\"$model\"|; s|\"paris.html\"|\"demo-python.html\"|" >"$dir/snippet.py"
sed 's/^/>>> /' "$dir/snippet.py"
"$dir/env/bin/python" "$dir/snippet.py"
printf '\nThe same as a page: %s/demo-python.html\n' "$PWD"
