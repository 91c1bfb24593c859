#!/usr/bin/env python3
"""Writes tests/data/sampler.json: what Hugging Face's logits processors leave of a distribution.

    python3 scripts/refs/sampler_fixtures.py tests/data/sampler.json     (needs transformers and torch)

Each case has logits, the tokens of prompt and answer so far, the options, and the probabilities that are left, of
transformers' RepetitionPenalty, Temperature, TopK, TopP and MinP processors in the order of its generate(). Bias and
the penalties for presence and frequency have no class there; they are the formulas of OpenAI's API reference, in numpy.
"""
import json
import sys

import numpy as np
import torch
from transformers.generation import logits_process as lp


def left(case):
    ids = torch.tensor([case["prompt"] + case["answer"]])
    x = np.array(case["logits"], dtype=np.float32)
    for token, add in case.get("bias", []):
        x[token] += np.float32(add)
    scores = torch.tensor(x)[None]
    if "repetition_penalty" in case:
        scores = lp.RepetitionPenaltyLogitsProcessor(case["repetition_penalty"])(ids, scores)
    for token in set(case["answer"]):
        scores[0, token] -= case.get("presence_penalty", 0.0)
        scores[0, token] -= case.get("frequency_penalty", 0.0) * case["answer"].count(token)
    chosen = int(torch.argmax(scores))
    scores = scores.double()
    scores = lp.TemperatureLogitsWarper(case["temperature"])(ids, scores)
    if "top_k" in case:
        scores = lp.TopKLogitsWarper(case["top_k"])(ids, scores)
    if "top_p" in case:
        scores = lp.TopPLogitsWarper(case["top_p"])(ids, scores)
    if "min_p" in case:
        scores = lp.MinPLogitsWarper(case["min_p"])(ids, scores)
    return chosen, torch.softmax(scores, -1)[0].tolist()


def main():
    rng = np.random.default_rng(11)
    cases = []
    options = {"top_k": [1, 3, 10, 200], "top_p": [0.05, 0.5, 0.9, 0.999], "min_p": [0.01, 0.2, 0.9],
               "repetition_penalty": [0.8, 1.3, 2.0], "presence_penalty": [-1.0, 0.7], "frequency_penalty": [-0.4, 1.5]}
    for i in range(60):
        v = int(rng.integers(5, 60))
        case = {"logits": [float(np.float32(z)) for z in rng.normal(0, rng.choice([1, 4]), v)],
                "prompt": rng.integers(0, v, 6).tolist(), "answer": rng.integers(0, v, 8).tolist(),
                "temperature": float(rng.choice([0.3, 1.0, 1.7]))}
        for name, values in options.items():
            if rng.random() < 0.4:
                case[name] = values[int(rng.integers(len(values)))]
        if rng.random() < 0.3:
            case["bias"] = [[int(rng.integers(v)), float(rng.choice([-100, -2, 5]))] for _ in range(2)]
        case["greedy"], case["probs"] = left(case)
        case["probs"] = [float("%.12g" % p) for p in case["probs"]]
        cases.append(case)
    with open(sys.argv[1], "w") as out:
        json.dump({"about": "made by scripts/refs/sampler_fixtures.py", "cases": cases}, out, separators=(",", ":"))
        out.write("\n")


main()
