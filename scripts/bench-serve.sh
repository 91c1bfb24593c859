#!/bin/sh
# Measures the server on a model: bench-serve.sh [MODEL.gguf [REQUESTS [AT_A_TIME]]]. With wrk installed (Debian: wrk) also
# how many requests a second it answers that need no model, and 200 explanations by wrk.
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
local all, good = 0, 0
function response(status)
    all = all + 1
    if status == 200 then good = good + 1 end
    if all == 200 then
        print(string.format("wrk: %d replies, %d of them 200", all, good))
        wrk.thread:stop()
    end
end
LUA
echo "GET /healthz, 8 connections:"
wrk -t 2 -c 8 -d 3s "${address}healthz" | grep -E 'Requests/sec|Latency|Non-2xx' || :
wrk -t 1 -c 8 -d 600s --timeout 600s -s "$work/explain.lua" "${address}v1/explain" | grep -E '^wrk:|Non-2xx|Socket errors' || :
