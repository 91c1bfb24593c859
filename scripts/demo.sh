#!/bin/sh
# The demonstration: explains one sentence in the terminal and as a page. demo.sh MODEL.gguf
set -eu
cd "$(dirname "$0")/.."
prompt="The capital of France is"
target=" Paris"
printf '$ ascribe explain %s --prompt "%s" --target "%s"\n\n' "$1" "$prompt" "$target"
build/ascribe explain "$1" --prompt "$prompt" --target "$target" --html demo.html
printf '\nThe same as a page: %s/demo.html\n' "$PWD"
