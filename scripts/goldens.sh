#!/bin/sh
# Compares with third-party numbers: goldens.sh FOLDER [MODEL.gguf]. Files are recognised by their names.
set -eu
cd "$(dirname "$0")/.."
if [ -z "${1-}" ] || [ ! -d "$1" ]; then
    echo "usage: make goldens DIR=folder [MODEL=file.gguf]" >&2
    [ -z "${1-}" ] || echo "there is no folder '$1'" >&2
    exit 2
fi
model=${2-}
if [ -n "$model" ] && [ ! -f "$model" ]; then
    case "$model" in
    models/SmolLM2-*) scripts/fetch-model.sh || model= ;;
    *) echo "there is no file '$model'" >&2; exit 2 ;;
    esac
fi
exec build/goldens ${model:+--model "$model"} "$1"
