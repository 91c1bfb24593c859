#!/usr/bin/env python3
"""Modes and levels as ratios, with the limit beside each: bench-modes.py MODEL.gguf [RUNS].

One run of `ascribe bench --modes` per job; within it the rows take turns, so the ratios hold on a machine whose speed
changes. Limits are for two cores with AVX-512 and bf16 instructions and nothing else to do. Exit code 0 in any case:
a busy machine misses limits.
"""
import json
import subprocess
import sys

PROGRAM = "build/ascribe"


def bench(*options):
    line = [PROGRAM, "bench", *options, "--no-reference", "--json", "-"]
    rows = json.loads(subprocess.run(line, check=True, capture_output=True).stdout)["rows"]
    return {(r["mode"], r["precision"]): r for r in rows}


def show(what, value, unit, limit, at_least):
    good = value >= limit if at_least else value <= limit
    word = "at least" if at_least else "at most"
    print(f"  {what:<52} {value:9.3g} {unit:<3} {word} {limit:g}{'' if good else '   MISSED'}")


def main():
    model, runs = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "3"
    rows = bench(model, "--method", "integrated-gradients", "--rule", "gauss-legendre", "--steps", "64",
                 "--runs", runs, "--modes", "eager,deferred,compiled", "--precision", "highest,medium")
    print("Integrated gradients, 64 steps, 56 tokens: share of the sustained multiply-add peak (4 N count)")
    for mode, limit in (("compiled", 86), ("deferred", 80), ("eager", 70)):
        show(mode, 100 * rows[mode, "highest"]["share_of_peak"]["median"], "%", limit, True)
    one = rows["compiled", "highest"]
    show("compiled: share of the cores in kernels", 100 * one["busy"], "%", 97, True)
    warm, medium = (rows["compiled", p]["warm_seconds"]["median"] for p in ("highest", "medium"))
    show("medium: times faster than highest, compiled", warm / medium, "", 1.7, True)
    first = bench(model, "--method", "integrated-gradients", "--rule", "gauss-legendre", "--steps", "64", "--runs", "1",
                  "--modes", "compiled")["compiled", "highest"]
    show("compiled: first call of a process over a warm one", first["first_seconds"] / first["warm_seconds"]["median"],
         "", 1.3, False)
    rows = bench("mlp", "--runs", runs, "--modes", "eager,compiled")
    print("A small MLP, 50 steps: a call")
    show("compiled", 1e6 * rows["compiled", "highest"]["warm_seconds"]["least"], "us", 15, False)
    show("eager", 1e6 * rows["eager", "highest"]["warm_seconds"]["least"], "us", 60, False)


main()
