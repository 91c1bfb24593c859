#!/usr/bin/env python3
"""Makes tests/data/inputs/: a table by Python's csv module and files with the numbers that magika makes of them.

usage: make_input_fixtures.py CASE.json tests/data/inputs
CASE.json is goldens/onnx_real/magika/case.json, whose "inputs" came from the magika program itself.
"""
import base64
import csv
import hashlib
import json
import os
import random
import struct
import sys

case, out = sys.argv[1:3]
lines = ["# Made by scripts/refs/make_input_fixtures.py: SHA-256 of the values, little-endian."]


def sha(b):
    return hashlib.sha256(b).hexdigest()


random.seed(3)
rows = [[random.choice([random.uniform(-1, 1), random.gauss(0, 1) * 10.0 ** random.randint(-300, 300),
                        float(random.randint(-9, 9)), 5e-324, 1.7976931348623157e308, -0.0]) for _ in range(6)]
        for _ in range(40)]
names = ["a", "b c", 'with "quotes"', "comma, inside", "line\nbreak", "gr\u00fc\u00df"]
with open(os.path.join(out, "table.csv"), "w", newline="", encoding="utf-8") as f:
    w = csv.writer(f)
    w.writerow(names + ["remark"])
    for i, r in enumerate(rows):
        w.writerow(r + ["row %d, \"text\"" % i])
lines.append("csv table.csv 40 %s" % sha(b"".join(struct.pack("<6d", *r) for r in rows)))


def rule(data):
    """The rule again, from its description (for files that the goldens do not have)."""
    first = list(data[:4096].lstrip()[:1024])
    last = list(data[-4096:].rstrip()[-1024:])
    return first + [256] * (1024 - len(first)) + [256] * (1024 - len(last)) + last


def magika(name, data, ids):
    with open(os.path.join(out, name), "wb") as f:
        f.write(data)
    lines.append("magika %s %d %s" % (name, len(data), sha(struct.pack("<2048i", *ids))))


for c in json.load(open(case))["cases"]:
    data, ids = base64.b64decode(c["file"]["b64"]), c["inputs"]["bytes"]
    ids = list(struct.unpack("<2048i", base64.b64decode(ids["b64"])))
    if ids != rule(data):
        sys.exit("the rule is wrong for " + c["id"])
    magika(c["id"] + ".bin", data, ids)
for name, data in (("spaces.bin", b" \t\n\r\x0b\x0c" * 50 + b"x"), ("blank.bin", b" " * 5000), ("one.bin", b"\0"),
                   ("long_blank.bin", b"a" + b" " * 4200 + b"z" + b"\n" * 3500),
                   ("exact.bin", bytes(range(33, 133)) * 11 + b"\x1c\x85\xa0 ")):
    magika(name, data, rule(data))
open(os.path.join(out, "cases.txt"), "w").write("\n".join(lines) + "\n")
