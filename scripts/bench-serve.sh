#!/bin/sh
# Measures the server on a model: bench-serve.sh [MODEL.gguf [REQUESTS [AT_A_TIME]]]. With wrk installed (Debian: wrk) also
# how many requests a second it answers that need no model, and explanations by wrk.
set -eu
cd "$(dirname "$0")/.."
model=${1:-models/SmolLM2-135M-Instruct.Q4_1.gguf}
python3 scripts/bench-serve.py build/ascribe "$model" "${2:-200}" "${3:-8}"
command -v wrk >/dev/null || { echo "(with wrk installed: requests a second)"; exit 0; }
work=$(mktemp -d "${TMPDIR:-/tmp}/ascribe-bench-serve-XXXXXX")
build/ascribe serve "$model" --port 0 --quiet >"$work/line" 2>/dev/null &
server=$!
trap 'kill $server 2>/dev/null || :; rm -rf "$work"' EXIT
while ! [ -s "$work/line" ]; do sleep 0.1; done
address=$(sed 's/.* at //' "$work/line")
cat >"$work/explain.lua" <<'LUA'
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
wrk.body = '{"prompt": "The capital of France is", "target": " Paris"}'
LUA
echo "GET /healthz, 8 connections:"
wrk -t 2 -c 8 -d 3s "${address}healthz" | grep -E 'Requests/sec|Latency|Non-2xx' || :
echo "POST /v1/explain, 8 connections, 30 s (no line of errors is good):"
wrk -t 1 -c 8 -d 30s --timeout 600s -s "$work/explain.lua" "${address}v1/explain" |
    grep -E 'requests in|Non-2xx|Socket errors' || :
