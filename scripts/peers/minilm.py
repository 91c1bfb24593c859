#!/usr/bin/env python3
"""Sentence similarity on all-MiniLM-L6-v2: integrated gradients of 100 sentences, ascribe against Captum.

    minilm.py [--model FOLDER] [--ascribe PROGRAM] [--sentences N] [--rounds N] [--threads N] [--mode MODE]

Both explain the cosine with one other sentence by 20 Gauss-Legendre points from the padding token ([CLS] and [SEP]
stay). Captum: LayerIntegratedGradients on the word embeddings, one sentence a call, its 20 points as one batch, as its
documentation has it. ascribe: one process over a file of sentences, loading included. The two take turns; what is
compared is processor time, which other work on the machine disturbs least, and the scores must agree.
"""
import argparse
import json
import os
import resource
import statistics
import subprocess
import tempfile
import time

WHO = ["a man", "the old teacher", "my neighbour's daughter", "somebody", "the new engineer at the plant"]
DOES = ["is cooking pasta", "reads a long letter from home", "repairs bicycles", "was waiting for the late train",
        "plays the violin very softly in the evening"]
WHERE = ["in the kitchen.", "near the river bank.", "while it rains outside.", "and smiles at everybody who walks by."]
OTHER = "Someone prepares a meal at home."


def sentences(n):
    every = [f"{a} {b} {c}" for a in WHO for b in DOES for c in WHERE]
    return [every[i * 37 % len(every)] for i in range(n)]


def spent(who):
    r = resource.getrusage(who)
    return r.ru_utime + r.ru_stime


class Captum:
    def __init__(self, folder, threads):
        import torch
        from captum.attr import LayerIntegratedGradients
        from transformers import AutoModel, AutoTokenizer

        torch.set_num_threads(threads)
        self.torch = torch
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.model = AutoModel.from_pretrained(folder).eval()
        self.other = self.embed(self.tokenizer(OTHER, return_tensors="pt")["input_ids"]).detach()
        self.method = LayerIntegratedGradients(self.cosine, self.model.embeddings.word_embeddings)

    def embed(self, ids):
        mean = self.model(input_ids=ids).last_hidden_state.mean(dim=1)
        return self.torch.nn.functional.normalize(mean, dim=1)

    def cosine(self, ids):
        return (self.embed(ids) * self.other).sum(dim=1)

    def run(self, texts):
        pad = self.tokenizer.pad_token_id
        scores = []
        for text in texts:
            ids = self.tokenizer(text, return_tensors="pt")["input_ids"]
            base = ids.clone()
            base[:, 1:-1] = pad
            a = self.method.attribute(ids, baselines=base, n_steps=20, method="gausslegendre")
            scores.append(a.sum(dim=-1)[0].tolist())
        return scores


def ascribe(args, folder, texts):
    with tempfile.TemporaryDirectory() as d:
        with open(os.path.join(d, "in.jsonl"), "w", encoding="utf-8") as f:
            for i, text in enumerate(texts):
                f.write(json.dumps({"id": str(i), "text": text}) + "\n")
        out = os.path.join(d, "out.jsonl")
        subprocess.run([args.ascribe, "explain", folder, "--prompts", f.name, "--out", out, "--similar-to", OTHER,
                        "--method", "integrated-gradients", "--rule", "gauss-legendre", "--steps", "20", "--features",
                        "token", "--mode", args.mode, "--threads", str(args.threads), "--quiet"], check=True)
        scores = {}
        with open(out, encoding="utf-8") as f:
            for line in f:
                one = json.loads(line)
                scores[int(one["id"])] = one["result"]["scores"]
        return [scores[i] for i in range(len(texts))]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--model", default="models/all-MiniLM-L6-v2")
    p.add_argument("--ascribe", default="build/ascribe")
    p.add_argument("--sentences", type=int, default=100)
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--mode", default="compiled")
    args = p.parse_args()
    texts = sentences(args.sentences)
    peer = Captum(args.model, args.threads)
    peer.run(texts[:3])
    times = {"captum": [], "ascribe": []}
    wall = {"captum": [], "ascribe": []}
    worst = 0.0
    for _ in range(args.rounds):
        c0, w0 = spent(resource.RUSAGE_SELF), time.perf_counter()
        theirs = peer.run(texts)
        times["captum"].append(spent(resource.RUSAGE_SELF) - c0)
        wall["captum"].append(time.perf_counter() - w0)
        c0, w0 = spent(resource.RUSAGE_CHILDREN), time.perf_counter()
        ours = ascribe(args, args.model, texts)
        times["ascribe"].append(spent(resource.RUSAGE_CHILDREN) - c0)
        wall["ascribe"].append(time.perf_counter() - w0)
        for a, b in zip(ours, theirs):
            largest = max(abs(x) for x in b)
            worst = max(worst, max(abs(x - y) for x, y in zip(a, b)) / largest)
    for name in times:
        print(f"{name:8} processor {statistics.median(times[name]):7.2f} s, wall {statistics.median(wall[name]):7.2f} s")
    ratios = [a / c for a, c in zip(times["ascribe"], times["captum"])]
    print(f"ratio ascribe / captum: {statistics.median(ratios):.3f} (rounds: {', '.join(f'{r:.3f}' for r in ratios)})")
    print(f"largest difference of a score: {worst:.1e} of the sentence's largest")


if __name__ == "__main__":
    main()
