#!/usr/bin/env python3
"""What `--dry-run` says against what the run then takes: time (within 25 %) and peak of memory (within 5 %).

usage: bench-predict.py MODEL.gguf [--encoder FOLDER] [--net NET.onnx] [--only WORD,...] [--mode M] [--runs N]

Every job is priced and run in turns, in processes of their own; the columns are medians over the runs. Needs quiet cores.
"""
import argparse
import json
import os
import random
import statistics
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
WORDS = ("the city river old house of in and was built by people near large small garden stone bridge winter summer "
         "market road").split()


def text(sentences, words):
    rng = random.Random(3)
    return " ".join(" ".join(rng.choice(WORDS) for _ in range(words)).capitalize() + "." for _ in range(sentences))


def jobs(args):
    gguf, short, middle, long = args.model, text(4, 13), text(30, 16), text(60, 31)
    answer = ["--target", " the"]
    yield "saliency, 56 tokens", [gguf, "--prompt", short, *answer, "--method", "saliency"]
    yield "integrated gradients, 64 steps", [gguf, "--prompt", short, *answer, "--method", "integrated-gradients", "--rule",
                                             "gauss-legendre", "--steps", "64"]
    yield "leave one out, words", [gguf, "--prompt", short, *answer, "--method", "feature-ablation"]
    yield "leave one out, 30 sentences", [gguf, "--prompt", middle, *answer, "--features", "sentence"]
    yield "leave one out, 60 sentences", [gguf, "--prompt", long, *answer, "--features", "sentence"]
    yield "shapley sampling, words", [gguf, "--prompt", short, *answer, "--method", "shapley-sampling", "--samples", "10"]
    yield "saliency, 30 sentences", [gguf, "--prompt", middle, *answer, "--method", "saliency"]
    yield "generate 60, saliency", [gguf, "--prompt", middle, "--generate", "60", "--method", "saliency"]
    yield "generate 200, words", [gguf, "--prompt", "The river was", "--generate", "200"]
    if args.encoder:
        pair = [args.encoder, "--text", short, "--similar-to", "an old house near a river"]
        yield "encoder, leave one out", [*pair, "--method", "feature-ablation"]
        yield "encoder, integrated gradients", [*pair, "--method", "integrated-gradients", "--rule", "gauss-legendre",
                                                "--steps", "64"]
    if args.net:
        for name, more in (("saliency", []), ("integrated-gradients", ["--rule", "gauss-legendre", "--steps", "32"]),
                           ("occlusion", ["--window", "3x16x16"])):
            yield "net, " + name, [args.net, "--image", args.image, "--method", name, *more]


def document(args, job, *more):
    command = [os.path.join(ROOT, "build", "ascribe"), "explain", *job, "--json", "-", *more]
    if args.mode:
        command += ["--mode", args.mode]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 3) or not done.stdout:
        sys.exit("%s\n%s" % (" ".join(command), done.stderr))
    return json.loads(done.stdout)


def figure(d, key):
    """The value of the first `key` anywhere in the document."""
    if isinstance(d, dict):
        if key in d:
            return d[key]
        d = list(d.values())
    for v in d if isinstance(d, list) else []:
        found = figure(v, key)
        if found is not None:
            return found
    return None


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    p.add_argument("model")
    p.add_argument("--encoder")
    p.add_argument("--net")
    p.add_argument("--image", default=os.path.join(ROOT, "tests/data/image/adam7.png"))
    p.add_argument("--only", default="")
    p.add_argument("--mode")
    p.add_argument("--runs", type=int, default=1)
    args = p.parse_args()
    print("%-32s %9s %8s %9s %8s" % ("job", "seconds", "said/is", "peak MB", "said/is"))
    for name, job in jobs(args):
        if not any(w in name for w in args.only.split(",")):
            continue
        seconds, peaks, shares, parts = [], [], [], []
        for _ in range(args.runs):
            said, done = document(args, job, "--dry-run"), document(args, job)
            seconds.append(figure(done, "seconds"))
            peaks.append(figure(done, "peak_bytes") / 1e6)
            shares.append(figure(said, "predicted_seconds") / seconds[-1])
            parts.append(figure(said, "predicted_peak_bytes") / 1e6 / peaks[-1])
        share, part = statistics.median(shares), statistics.median(parts)
        print("%-32s %9.3f %8.2f %9.1f %8.3f%s" % (name, statistics.median(seconds), share, statistics.median(peaks), part,
                                                   "" if abs(share - 1) <= 0.25 and abs(part - 1) <= 0.05 else "  OFF"),
              flush=True)


if __name__ == "__main__":
    main()
