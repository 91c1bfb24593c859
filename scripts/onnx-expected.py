#!/usr/bin/env python3
"""Writes tests/data/onnx_nodetests_expected.tsv anew: what each of ONNX's test models gives on cpu and on reference.

usage: onnx-expected.py   (in the source tree, after `make build`, with libonnx-testdata installed)
"""
import os
import subprocess
import tempfile

root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
columns = []
for device in ("cpu", "reference"):
    with tempfile.NamedTemporaryFile("r") as out:
        subprocess.run([root + "/build/onnx_nodetests", "--device", device, "--write", out.name,
                        root + "/tests/data/onnx_nodetests.tsv"], check=True, stdout=subprocess.DEVNULL)
        columns.append([line.rstrip("\n").split("\t") for line in out])
with open(root + "/tests/data/onnx_nodetests_expected.tsv", "w") as f:
    for cpu, reference in zip(*columns):
        f.write("\t".join([cpu[0], cpu[1], reference[1]]) + "\n")
