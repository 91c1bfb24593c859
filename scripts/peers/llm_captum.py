#!/usr/bin/env python3
"""Captum's LLMAttribution on a prompt of words or tokens, in a process of its own: what llm_shapley.py and
llm_ablation.py compare with.

usage: llm_captum.py MODEL.gguf < JOB.json
JOB: {"method": "shapley" | "ablation", "one_pass": bool, "orders": N, "threads": N, "features": [[ids], ...],
"prompt": [ids], "target": [ids], "replace": id or null, "empty": id}. Prints {"seconds", "scores", "errors"}; errors
(shapley) are standard errors of the orders that were drawn, which Captum does not give: they are worked out from the
values that it asked for.

The model is transformers' Llama on the weights that the gguf package dequantises, in f32. Absent features are left
out, as by TextTemplateInput, or replaced, as by TextTokenInput; tokens are put together from ids, which spares Captum
the tokenizer.
"""
import json
import resource
import statistics
import sys
import time

import peers


def attribute(path, job):
    import torch
    from captum.attr import FeatureAblation, LLMAttribution, ShapleyValueSampling, TextTemplateInput
    from captum.attr._core import llm_attr
    model = peers.load_torch(path, job["threads"])
    features, replace = job["features"], job["replace"]
    values, masks = [], []

    class Words(TextTemplateInput):
        def __init__(self):
            self.n_itp_features = len(features)
            self.values = [str(i) for i in range(len(features))]

        def to_tensor(self):
            return torch.ones(1, len(features))

        def to_model_input(self, perturbed_tensor=None):
            there = [True] * len(features) if perturbed_tensor is None else (perturbed_tensor[0] != 0).tolist()
            masks.append(there)
            ids = []
            for on, own in zip(there, features):
                ids += own if on else [] if replace is None else [replace] * len(own)
            return torch.tensor([ids or [job["empty"]]])

        def format_attr(self, itp_attr):
            return itp_attr

    llm_attr._convert_ids_to_pretty_tokens = lambda ids, tokenizer: [str(int(i)) for i in ids]
    base = (ShapleyValueSampling if job["method"] == "shapley" else FeatureAblation)(model)
    method = LLMAttribution(base, tokenizer=None)
    forward = method.attr_method.forward_func

    def recorded(*args):
        out = forward(*args)
        values.append(float(out.reshape(-1)[0]))
        return out
    method.attr_method.forward_func = recorded
    options = {"n_samples": job["orders"]} if job["method"] == "shapley" else {}
    torch.manual_seed(1)
    start = time.monotonic()
    with torch.no_grad():
        result = method.attribute(Words(), target=torch.tensor(job["target"]),
                                  forward_in_tokens=not job["one_pass"], **options)
    seconds = time.monotonic() - start
    return {"seconds": seconds, "scores": result.seq_attr.tolist(), "evaluations": len(values),
            "errors": standard_errors(values, masks[-len(values):]) if job["method"] == "shapley" else None}


def standard_errors(values, masks):
    """Of the mean of each feature's contributions: orders begin at the empty prompt."""
    n = len(masks[0])
    empty = next(v for v, m in zip(values, masks) if not any(m))
    given, before, last = [[] for _ in range(n)], [False] * n, empty
    for value, mask in zip(values, masks):
        new = [i for i in range(n) if mask[i] and not before[i]]
        if len(new) == 1 and sum(mask) == sum(before) + 1:
            given[new[0]].append(value - last)
        if len(new) == 1 and sum(mask) == 1:  # a new order
            given[new[0]][-1] = value - empty
        before, last = (mask, value) if not all(mask) else ([False] * n, empty)
    return [statistics.stdev(g) / len(g) ** 0.5 if len(g) > 1 else None for g in given]


def main():
    job = json.load(sys.stdin)
    out = attribute(sys.argv[1], job)
    out["peak"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    json.dump(out, sys.stdout)


if __name__ == "__main__":
    main()
