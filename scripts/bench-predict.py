#!/usr/bin/env python3
"""What `--dry-run` says against what the run then takes: time (within 25 %) and peak of memory (within 5 %).

usage: bench-predict.py MODEL.gguf [--encoder FOLDER] [--net NET.onnx ...] [--bytes-net NET.onnx ...] [--only WORD,...] [--mode M]
                        [--runs N] [--keep FILE]

Every job is priced and run in turns, in processes of their own; the columns are medians over the runs. Needs quiet cores.
With --keep the figures of each run are added to a file, and the table is of all that is there: so many short calls make one.
--runs 0 prints that table alone.
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


def steps(n):
    return ["--method", "integrated-gradients", "--rule", "gauss-legendre", "--steps", str(n)]


def jobs(args):
    gguf, short, middle, long = args.model, text(4, 13), text(30, 16), text(60, 31)
    answer = ["--target", " the"]
    yield "saliency, 56 tokens", [gguf, "--prompt", short, *answer, "--method", "saliency"]
    yield "integrated gradients, 16 steps", [gguf, "--prompt", short, *answer, *steps(16)]
    yield "integrated gradients, 64 steps", [gguf, "--prompt", short, *answer, *steps(64)]
    yield "leave one out, words", [gguf, "--prompt", short, *answer, "--method", "feature-ablation"]
    yield "leave one out, 30 sentences", [gguf, "--prompt", middle, *answer, "--features", "sentence"]
    yield "leave one out, 12 long sentences", [gguf, "--prompt", text(12, 155), *answer, "--features", "sentence"]
    yield "leave one out, 60 sentences", [gguf, "--prompt", long, *answer, "--features", "sentence"]
    yield "shapley sampling, words", [gguf, "--prompt", short, *answer, "--method", "shapley-value-sampling", "--samples", "10"]
    yield "saliency, 30 sentences", [gguf, "--prompt", middle, *answer, "--method", "saliency"]
    yield "saliency, 60 sentences", [gguf, "--prompt", long, *answer, "--method", "saliency"]
    yield "generate 60, saliency", [gguf, "--prompt", middle, "--generate", "60", "--method", "saliency"]
    yield "generate 200, words", [gguf, "--prompt", "The river was", "--generate", "200"]
    if args.encoder:
        pair = [args.encoder, "--text", short, "--similar-to", "an old house near a river"]
        yield "encoder, saliency", [*pair, "--method", "saliency"]
        yield "encoder, leave one out", [*pair, "--method", "feature-ablation"]
        yield "encoder, integrated gradients", [*pair, *steps(64)]
        yield "encoder, shapley sampling", [*pair, "--method", "shapley-value-sampling", "--samples", "10"]
    for net in args.net:
        for name, more in (("saliency", ["--method", "saliency"]), ("integrated gradients", steps(32)),
                           ("occlusion", ["--method", "occlusion", "--window", "3x16x16"])):
            yield "%s, %s" % (os.path.basename(net), name), [net, "--image", args.image, *more]
    for net in args.bytes_net:
        for name, more in (("saliency", ["--method", "saliency"]), ("integrated gradients", steps(32)),
                           ("leave one out", ["--method", "feature-ablation"])):
            yield "%s, %s" % (os.path.basename(net), name), [net, "--bytes", os.path.abspath(__file__), *more]


def warm():
    """Memory that a process has just given back is touched several times faster than other: here it is so for all runs."""
    subprocess.run([sys.executable, "-c", "b'x' * (448 << 20)"], check=True)


def document(args, job, *more):
    warm()
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


def tiny(args):
    """Jobs of milliseconds, in one process each: bench_predict's without a model."""
    done = subprocess.run([os.path.join(ROOT, "build", "bench_predict")], capture_output=True, text=True, check=True)
    for line in done.stdout.splitlines()[1:]:
        name, peak, part, seconds, share = line.rsplit(None, 4)
        yield name, float(seconds), float(share), float(peak), float(part)


def measure(args):
    """Rows (job, seconds, said/is, peak in MB, said/is), one for each run."""
    wanted = args.only.split(",")
    for _ in range(args.runs):
        for name, job in jobs(args):
            if not any(w in name for w in wanted):
                continue
            said, done = document(args, job, "--dry-run"), document(args, job)
            seconds, peak = figure(done, "seconds"), figure(done, "peak_bytes")
            yield (name, seconds, figure(said, "predicted_seconds") / seconds, peak / 1e6,
                   figure(said, "predicted_peak_bytes") / peak)
        if any(w in "MLP" for w in wanted):
            yield from tiny(args)


def table(rows):
    within = 0
    by_name = {}
    for name, *figures in rows:
        by_name.setdefault(name, []).append(figures)
    print("%-40s %4s %9s %8s %9s %8s" % ("job", "runs", "seconds", "said/is", "peak MB", "said/is"))
    for name, runs in by_name.items():
        seconds, share, peak, part = (statistics.median(x) for x in zip(*runs))
        good = abs(share - 1) <= 0.25 and abs(part - 1) <= 0.05
        within += good
        print("%-40s %4d %9.4f %8.2f %9.1f %8.3f%s" % (name, len(runs), seconds, share, peak, part, "" if good else "  OFF"))
    print("%d of %d within 25 %% in time and 5 %% in peak" % (within, len(by_name)))


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    p.add_argument("model")
    p.add_argument("--encoder")
    p.add_argument("--net", nargs="*", default=[])
    p.add_argument("--bytes-net", nargs="*", default=[])
    p.add_argument("--image", default=os.path.join(ROOT, "examples/turned.png"))
    p.add_argument("--only", default="")
    p.add_argument("--mode")
    p.add_argument("--runs", type=int, default=1)
    p.add_argument("--keep")
    args = p.parse_args()
    rows = []
    if args.keep and os.path.exists(args.keep):
        with open(args.keep, encoding="utf-8") as f:
            rows = [json.loads(line) for line in f]
    for row in measure(args):
        rows.append(row)
        if args.keep:
            with open(args.keep, "a", encoding="utf-8") as f:
                f.write(json.dumps(row) + "\n")
    table(rows)


if __name__ == "__main__":
    main()
