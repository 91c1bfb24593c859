#!/usr/bin/env python3
"""What a call costs above the same call in C, on a small net: microseconds of the processor, best of several rounds
that take turns. Bar: 20.

usage: bench_call.py [BUILD]     (PYTHONPATH as scripts/python-path.sh prints it; BUILD/bench_call is built)
"""
import os
import subprocess
import sys
import tempfile
import time

import numpy as np
import support

import ascribe

CALLS, ROUNDS = 1000, 7


def main(build):
    with tempfile.TemporaryDirectory() as d:
        path = support.write_mlp(os.path.join(d, "mlp.onnx"))
        net = ascribe.load(path, threads=1, kind="net")
        x = (np.arange(8, dtype=np.float32) / 8 - 0.5).reshape(1, 8)
        c, py = [], []
        for _ in range(ROUNDS):
            c.append(float(subprocess.run(
                [os.path.join(build, "bench_call"), path,
                 '{"input":{"array":"x"},"method":"saliency","target":1}', "8", str(CALLS)],
                check=True, stdout=subprocess.PIPE).stdout))
            for _ in range(50):
                net.explain(x, method="saliency", target=1)
            start = time.process_time()
            for _ in range(CALLS):
                net.explain(x, method="saliency", target=1)
            py.append((time.process_time() - start) / CALLS * 1e6)
        print("C %.1f us, Python %.1f us, %.1f us more" % (min(c), min(py), min(py) - min(c)))
        net.close()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else support.BUILD)
