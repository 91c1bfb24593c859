#!/bin/sh
# The demonstration with bytes: which bytes of a file made magika (Apache-2.0, 3 MB, from its wheel) say what kind of
# file it is? demo-bytes.sh [FILE]
set -eu
cd "$(dirname "$0")/.."
model=models/onnx/magika.onnx
config=models/onnx/magika.json
file=${1:-scripts/demo.sh}
from=magika/models/standard_v3_3
scripts/fetch-onnx.sh $model magika==1.0.3 $from/model.onnx \
    fe2d2eb49c5f88a9e0a6c048e15d6ffdf86235519c2afc535044de433169ec8c
scripts/fetch-onnx.sh $config magika==1.0.3 $from/config.min.json \
    ae24c742205358f6ff6dfd5facb6743fb69743dbba8373e73da58ff0cbd695db
python3 -c 'import json, sys; print("\n".join(json.load(open(sys.argv[1]))["target_labels_space"]))' $config \
    >models/onnx/magika.txt
# The number behind the softmax: its share of the input is not cut off where the model is sure.
set -- explain $model --bytes "$file" --labels models/onnx/magika.txt \
    --target-value jax2tf_get_logits_/pjit_get_logits_/MagikaV2/Dense_1/AddV2:0 --method integrated-gradients \
    --tolerance 10% --max-evaluations 600
printf '$ ascribe %s\n\n' "$*"
build/ascribe "$@" --html demo-bytes.html
printf '\nThe same as a page: %s/demo-bytes.html\n' "$PWD"
