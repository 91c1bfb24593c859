#!/bin/sh
# Makes the throw-away environment of the peers: setup.sh. See README.md here. Versions are those of the goldens.
set -eu
env=${PEERS_ENV:-${TMPDIR:-/tmp}/ascribe-peers}
[ -x "$env/bin/python3" ] || python3 -m venv "$env"
"$env/bin/pip" install --quiet torch==2.15.0 captum==0.9.0 scikit-learn transformers==5.24.0 gguf==0.19.0
# Only a source package exists; it is compiled for this processor, as its users have it, but without AMX: virtual
# machines announce those instructions without allowing them, and llama.cpp then dies at its first product.
no_amx="-mno-amx-tile -mno-amx-int8 -mno-amx-bf16"
CMAKE_BUILD_PARALLEL_LEVEL=${JOBS:-2} \
    CMAKE_ARGS="-DCMAKE_C_FLAGS='$no_amx' -DCMAKE_CXX_FLAGS='$no_amx' -DLLAVA_BUILD=OFF" \
    "$env/bin/pip" install --quiet --no-cache-dir llama-cpp-python==0.3.36
echo "peers: ready in $env"
