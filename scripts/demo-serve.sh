#!/bin/sh
# The demonstration of the server: starts it on the model, says where it is, opens a browser where there is one and a display.
# demo-serve.sh MODEL.gguf [options of ascribe serve]; Ctrl-C ends it.
set -eu
cd "$(dirname "$0")/.."
model=$1
shift
line=$(mktemp "${TMPDIR:-/tmp}/ascribe-demo-XXXXXX")
build/ascribe serve "$model" "$@" >"$line" &
server=$!
trap 'rm -f "$line"' EXIT
trap 'kill -INT $server 2>/dev/null || :' INT TERM
while ! [ -s "$line" ] && kill -0 $server 2>/dev/null; do sleep 0.1; done
if [ -s "$line" ]; then
    address=$(sed 's/.* at //' "$line")
    printf 'The page:   %s\nThe API:    curl -d %s -H "Content-Type: application/json" %sv1/explain\nCtrl-C ends it.\n\n' "$address" \
        "'{\"prompt\": \"The capital of France is\", \"target\": \" Paris\"}'" "$address"
    if [ -n "${DISPLAY-}${WAYLAND_DISPLAY-}" ] && command -v xdg-open >/dev/null 2>&1; then xdg-open "$address" >/dev/null 2>&1 || :; fi
fi
code=0
wait $server || code=$?
while kill -0 $server 2>/dev/null; do wait $server && code=0 || code=$?; done # after a signal: until it has ended
exit $code
