#!/bin/sh
# Runs the comparison: run.sh [MODEL.gguf] [--threads N] [--only JOB,...]; see README.md here.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
env=${PEERS_ENV:-${TMPDIR:-/tmp}/ascribe-peers}
[ -x "$env/bin/python3" ] || { echo "peers: run scripts/peers/setup.sh first" >&2; exit 1; }
case "${1-}" in "" | --*) set -- "$root/models/SmolLM2-135M-Instruct.Q4_1.gguf" "$@" ;; esac
exec "$env/bin/python3" "$root/scripts/peers/peers.py" "$@"
