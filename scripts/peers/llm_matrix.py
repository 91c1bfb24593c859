#!/usr/bin/env python3
"""Scores of each token of a 20-token answer by each of 56 prompt tokens (input x gradient): ascribe against Captum's
LLMGradientAttribution(LayerGradientXActivation), with the largest difference of the scores.

usage: llm_matrix.py MODEL.gguf [--threads N] [--answer N] [--rounds N]
       llm_matrix.py MODEL.gguf --captum < JOB.json    (Captum's side, in a process of its own)
Captum's model is transformers' Llama on the weights that the gguf package dequantises, in f32; its tokens are given as
ids, which spares it the tokenizer.
"""
import argparse
import json
import os
import resource
import sys
import time

import llm_runs
import peers


def captum_side(path):
    import torch
    from captum.attr import LayerGradientXActivation, LLMGradientAttribution, TextTokenInput
    from captum.attr._core import llm_attr
    job = json.load(sys.stdin)
    model = peers.load_torch(path, job["threads"])
    for p in model.model.embed_tokens.parameters():
        p.requires_grad_(True)  # so that the layer's output is part of the graph

    class Ids(TextTokenInput):
        def __init__(self, ids):
            self.inp_tensor = self.itp_tensor = torch.tensor([ids])
            self.itp_mask, self.skip_tokens, self.baselines = None, None, 0
            self.values = [str(i) for i in ids]
            self.n_itp_features = len(ids)

    class Tokenizer:  # asked for nothing: prompt and target are ids
        pass

    llm_attr._convert_ids_to_pretty_tokens = lambda ids, tokenizer: [str(int(i)) for i in ids]
    method = LLMGradientAttribution(LayerGradientXActivation(model, model.model.embed_tokens), Tokenizer())
    start = time.monotonic()
    r = method.attribute(Ids(job["prompt"]), target=torch.tensor(job["target"]))
    json.dump({"seconds": time.monotonic() - start, "rows": r.token_attr.tolist(),
               "rss": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}, sys.stdout)


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    p.add_argument("model")
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--answer", type=int, default=20)
    p.add_argument("--rounds", type=int, default=3, help="in turns; the median ratio counts")
    p.add_argument("--captum", action="store_true", help=argparse.SUPPRESS)
    a = p.parse_args()
    if a.captum:
        captum_side(a.model)
        return
    target = llm_runs.answer(a.model, a.threads, a.answer)
    job = {"threads": a.threads, "prompt": peers.IDS, "target": target}
    us, them = llm_runs.in_turns(
        lambda: llm_runs.ours_on(a.model, a.threads, target, "--method", "input-x-gradient", "--per-token"),
        lambda: llm_runs.child([sys.executable, os.path.abspath(__file__), a.model, "--captum"], a.threads,
                               json.dumps(job)), a.rounds)
    rows = [t["scores"] for t in us["answer_tokens"]]
    largest = max(abs(x) for row in them["rows"] for x in row)
    off = max(abs(x - y) for r, s in zip(rows, them["rows"]) for x, y in zip(r, s)) / largest
    print("prompt x answer by input x gradient, %d x %d, %d thread(s)" % (len(rows[0]), len(rows), a.threads))
    print("%-28s %8.2f s  peak %5.0f MB" % ("ascribe", us["seconds"], us["rss"] / 1e6))
    print("%-28s %8.2f s  peak %5.0f MB  scores differ by %.1e of the largest" % (
        "Captum", them["seconds"], them["rss"] / 1e6, off))
    llm_runs.verdict("  time", us["seconds"], them["seconds"], 1 / 3)
    llm_runs.verdict("  peak memory", us["rss"], them["rss"], 1 / 3)


if __name__ == "__main__":
    main()
