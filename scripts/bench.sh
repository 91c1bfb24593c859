#!/bin/sh
# Measured speed and memory, as ratios: bench.sh [MODEL.gguf]. A language model against this machine's rates, attribution on
# small nets and convolutions; where the peers' environment is set up (scripts/peers/setup.sh), also against Captum.
set -eu
cd "$(dirname "$0")/.."
build/ascribe bench "$1"
echo
python3 scripts/bench-modes.py "$1"
echo
echo "Recording ops, and cutting them when the pattern was seen before"
build/bench_record || : # it says so when over a limit
echo
echo "Attribution on small nets: seconds a call, calls, peak memory of the process so far"
build/bench_attribution
echo
build/bench_conv
echo
echo "Dry runs against runs: peak within 5 %, time within 25 %"
OMP_WAIT_POLICY=passive build/bench_predict "$1"
python=${PEERS_ENV:-${TMPDIR:-/tmp}/ascribe-peers}/bin/python3
if [ -x "$python" ]; then
    echo
    echo "The same jobs against Captum 0.9.0 on torch, 2 threads, one process each"
    "$python" scripts/peers/captum_jobs.py --bench build/bench_attribution
else
    echo
    echo "(ratios to Captum: scripts/peers/setup.sh, then again)"
fi
