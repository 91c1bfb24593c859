#!/bin/sh
# What `make check` runs after the build: the model (tests that need it are skipped without it), the checks of the
# tree, a trial installation and every test. The last line printed is the total.
set -eu
cd "$(dirname "$0")/.."
note=
if [ -z "${ASC_MODEL-}" ]; then
    ASC_MODEL=$PWD/models/SmolLM2-135M-Instruct.Q4_1.gguf
    scripts/fetch-model.sh || note="The model could not be fetched, so the tests that need it were skipped."
fi
export ASC_MODEL
exec scripts/run-tests.sh --with scripts/test-check-tree.py --with scripts/check-tree.py --with scripts/test-install.sh \
    --with scripts/check-python.sh \
    --note "$note"
