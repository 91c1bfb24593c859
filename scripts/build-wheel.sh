#!/bin/sh
# Makes the wheel of the Python package: build-wheel.sh [FOLDER] [KEY=VALUE...]. FOLDER is dist unless said; bundle=1
# puts the shared libraries into it (bindings/python/backend/ascribe_build.py has the settings). Prints its path.
set -eu
cd "$(dirname "$0")/.."
scripts/install-deps.sh
folder=dist
case "${1-}" in '' | *=*) ;; *) folder=$1; shift ;; esac
exec python3 bindings/python/backend/ascribe_build.py "$folder" ${JOBS:+"jobs=$JOBS"} "$@"
