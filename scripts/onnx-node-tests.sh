#!/bin/sh
# Runs ONNX's own test models (Debian's libonnx-testdata) on cpu and reference; a test that passed before
# (tests/data/onnx_nodetests_expected.tsv) and does not now is a failure. Arguments: parts of test names.
set -eu
cd "$(dirname "$0")/.."
scripts/install-deps.sh --onnx
bad=0
for device in cpu reference; do
    build/onnx_nodetests --device $device --expected tests/data/onnx_nodetests_expected.tsv \
        tests/data/onnx_nodetests.tsv "$@" || bad=1
done
exit $bad
