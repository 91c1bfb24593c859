#!/usr/bin/env python3
"""Prompt processing of an f32 GGUF file: ascribe and llama.cpp in turns, and their ratio (wanted: 1.2).

usage: prompt_f32.py MODEL.gguf [--threads N] [--rounds N] [--keep FILE]

The f32 file is made from MODEL: each matrix as the `gguf` package expands it. Tokens a second, best of the rounds.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

import peers


def expand(source, target):
    import numpy as np
    from gguf import GGMLQuantizationType, GGUFReader, GGUFValueType, GGUFWriter, dequantize
    reader = GGUFReader(source)
    writer = GGUFWriter(target, str(reader.fields["general.architecture"].contents()))
    for field in reader.fields.values():
        if field.name.startswith("GGUF.") or field.name == "general.architecture":
            continue
        kind = field.types[0]
        value = 0 if field.name == "general.file_type" else field.contents()
        more = {"sub_type": field.types[-1]} if kind == GGUFValueType.ARRAY else {}
        writer.add_key_value(field.name, value, kind, **more)
    for t in reader.tensors:
        writer.add_tensor(t.name, np.array(dequantize(t.data, t.tensor_type), dtype=np.float32),
                          raw_dtype=GGMLQuantizationType.F32)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def ours(path, threads, ids):
    out = subprocess.run([peers.ASCRIBE, "bench", path, "--ids", ",".join(map(str, ids)), "--threads", str(threads),
                          "--steps", "1", "--json", "-"], capture_output=True, text=True, check=True).stdout
    return json.loads(out)["prompt_tokens_per_second"]


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    p.add_argument("model")
    p.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--keep", help="keep the f32 file here, or take it from here")
    p.add_argument("--job", help=argparse.SUPPRESS)
    args = p.parse_args()
    if args.job:
        json.dump(peers.llama_prompt(args.job, args.threads), sys.stdout)
        return
    path = args.keep or os.path.join(tempfile.mkdtemp(), "f32.gguf")
    if not os.path.exists(path):
        expand(args.model, path)
    best = [0.0] * 4
    for _ in range(args.rounds):
        done = subprocess.run([sys.executable, os.path.abspath(__file__), args.model, "--threads", str(args.threads), "--job",
                               path], capture_output=True, text=True, check=True).stdout
        peer = json.loads(done[done.index("{"):])
        now = [ours(path, args.threads, peers.IDS), peer["tokens_per_second_56"],
               ours(path, args.threads, (peers.IDS * 10)[:peers.PROMPT]), peer["tokens_per_second"]]
        print("56 tokens: %.0f and %.0f tokens/s; %d tokens: %.0f and %.0f" % (now[0], now[1], peers.PROMPT, *now[2:]),
              flush=True)
        best = [max(a, b) for a, b in zip(best, now)]
    for name, at in (("56 tokens", 0), ("%d tokens" % peers.PROMPT, 2)):
        print("%-10s ascribe %.0f, llama.cpp %.0f tokens/s, ratio %.2f, wanted 1.20" %
              (name, best[at], best[at + 1], best[at] / best[at + 1]))
    if not args.keep:
        os.unlink(path)


if __name__ == "__main__":
    main()
