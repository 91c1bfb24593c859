#!/bin/sh
# Makes the throw-away environment of the peers: setup.sh. See README.md here. Versions are those of the goldens.
set -eu
env=${PEERS_ENV:-${TMPDIR:-/tmp}/ascribe-peers}
[ -x "$env/bin/python3" ] || python3 -m venv "$env"
"$env/bin/pip" install --quiet torch==2.15.0 captum==0.9.0 transformers==5.24.0 gguf==0.19.0
# Only a source package exists; it is compiled for this processor, as its users have it.
CMAKE_BUILD_PARALLEL_LEVEL=${JOBS:-2} "$env/bin/pip" install --quiet llama-cpp-python==0.3.36
echo "peers: ready in $env"
