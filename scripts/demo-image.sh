#!/bin/sh
# The demonstration with a picture: is a line of text upright or turned by 180 degrees, and where can it be seen? The
# model is PaddleOCR's classifier (Apache-2.0, 0.6 MB) from the wheel of rapidocr-onnxruntime. demo-image.sh [PICTURE]
set -eu
cd "$(dirname "$0")/.."
model=models/onnx/ppocr_cls.onnx
picture=${1:-examples/turned.png}
scripts/fetch-onnx.sh $model rapidocr-onnxruntime==1.4.4 rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx \
    e47acedf663230f8863ff1ab0e64dd2d82b838fceb5957146dab185a89d6215c
printf 'upright\nturned\n' >models/onnx/ppocr_cls.txt
set -- explain $model --image "$picture" --resize 192x48 --normalise half --channels bgr \
    --labels models/onnx/ppocr_cls.txt --target-value linear_1.tmp_1 --baseline white --method deep-lift
printf '$ ascribe %s\n\n' "$*"
build/ascribe "$@" --html demo-image.html
printf '\nThe same as a page: %s/demo-image.html\n' "$PWD"
