#!/bin/sh
# Attribution of a language model's answers against Captum's LLMAttribution: llm.sh [MODEL.gguf] [--threads N]
# [--skip-default]; see README.md here. Several minutes: Captum's default way runs the model for each answer token.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
env=${PEERS_ENV:-${TMPDIR:-/tmp}/ascribe-peers}
[ -x "$env/bin/python3" ] || { echo "peers: run scripts/peers/setup.sh first" >&2; exit 1; }
case "${1-}" in "" | --*) set -- "$root/models/SmolLM2-135M-Instruct.Q4_1.gguf" "$@" ;; esac
"$env/bin/python3" "$root/scripts/peers/llm_ablation.py" "$@"
"$env/bin/python3" "$root/scripts/peers/llm_shapley.py" "$@"
for a; do shift; [ "$a" = --skip-default ] || set -- "$@" "$a"; done
exec "$env/bin/python3" "$root/scripts/peers/llm_matrix.py" "$@"
