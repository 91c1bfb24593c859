#!/bin/sh
# Copies what belongs to the source (tracked files, as they stand) into a new folder: source-tree.sh FOLDER. Prints the
# time of the last commit, which packages take for their own.
set -eu
cd "$(dirname "$0")/.."
mkdir -p "$1"
git ls-files -z --cached | tar --null --files-from=- --create --ignore-failed-read --file=- 2>/dev/null | tar -x -C "$1" -f -
git log -1 --format=%ct
