#!/bin/sh
# Drives the server's page with a headless Chromium (tests/browser): check-browser.sh [--shots DIR] [--only CASE]...
# Starts servers of its own on free ports: the demonstration model, the same behind a token, a vision model of the test data
# and, where it was fetched, the MiniLM encoder (scripts/fetch-minilm.sh). Without Chromium or the model it says so and passes.
# Variables: BUILD (build), ASC_MODEL, ASC_VISION, ASC_ENCODER, CHROMIUM, RUN (another script than tests/browser/run.py).
set -eu
cd "$(dirname "$0")/.."
: "${BUILD:=build}" "${ASC_MODEL:=models/SmolLM2-135M-Instruct.Q4_1.gguf}" "${ASC_VISION:=tests/data/encoders/deit}"
: "${ASC_ENCODER:=models/all-MiniLM-L6-v2}"
program=$BUILD/ascribe

skip() {
    echo "check-browser: skipped: $1"
    exit 0
}
found=
for name in "${CHROMIUM-}" chromium chromium-browser google-chrome; do
    if [ -n "$name" ] && command -v "$name" >/dev/null; then found=$name; fi
done
[ -n "$found" ] || skip "no chromium (on Debian: apt-get install chromium)"
[ -f "$ASC_MODEL" ] || skip "no model at $ASC_MODEL (make model)"
[ -x "$program" ] || { echo "check-browser: no $program; make build" >&2; exit 1; }

dir=$(mktemp -d)
pids=
# shellcheck disable=SC2317,SC2086 # called by the trap; pids are words
end() {
    [ -z "$pids" ] || kill $pids 2>/dev/null || true
    for _ in $(seq 50); do
        kill -0 $pids 2>/dev/null || break
        sleep 0.1
    done
    [ -z "$pids" ] || kill -9 $pids 2>/dev/null || true
    rm -rf "$dir"
}
trap end EXIT
trap 'exit 1' INT TERM
ASCRIBE_TOKEN=browser-test-token-0123456789
export ASCRIBE_TOKEN
echo $ASCRIBE_TOKEN >"$dir/token"

# start KIND MODEL [OPTION...]: adds KIND=URL to the arguments of the run
urls=
start() {
    kind=$1
    shift
    : >"$dir/$kind"
    ASC_CACHE=0 "$program" serve "$@" --port 0 --max-seconds 1000000 >"$dir/$kind" 2>"$dir/$kind.log" &
    pids="$pids $!"
    for _ in $(seq 6000); do # against hanging only
        url=$(sed -n 's#.* at \(http://[^ ]*\)/$#\1#p' "$dir/$kind")
        [ -z "$url" ] || break
        kill -0 $! 2>/dev/null || break
        sleep 0.1
    done
    [ -n "$url" ] || { echo "check-browser: the server of $1 did not start:" >&2; cat "$dir/$kind.log" >&2; exit 1; }
    urls="$urls $kind=$url"
}
start decoder "$ASC_MODEL"
start locked "$ASC_MODEL" --token-file "$dir/token"
start vision "$ASC_VISION"
if [ -d "$ASC_ENCODER" ]; then start encoder "$ASC_ENCODER"; fi
status=0
# shellcheck disable=SC2086 # urls are words
python3 "${RUN:-tests/browser/run.py}" "$@" $urls || status=$?
exit $status
