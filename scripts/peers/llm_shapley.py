#!/usr/bin/env python3
"""Shapley values of 20 words for an answer of 20 tokens at equal standard error: ascribe against both ways of Captum's
LLMAttribution(ShapleyValueSampling) with its default of 25 orders.

usage: llm_shapley.py MODEL.gguf [--threads N] [--skip-default] [--default-orders N] [--check ORDERS]

Captum gives no standard errors; they are those of its own orders' contributions (llm_captum.py). ascribe is run with
more and more samples until the root mean square of its printed errors is no larger, and that run's time counts.
--default-orders: the token loop runs so many of the orders and its time is scaled up: every order costs as many prompts.
--check: also runs ascribe with so many orders' worth of sets and prints how far both are from that.
"""
import argparse

import llm_runs

TEXT = ("Anna keeps two old cats in her small blue house near the sea, and every morning she feeds them "
        "fresh")


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    p.add_argument("model")
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--answer", type=int, default=20)
    p.add_argument("--orders", type=int, default=25)
    p.add_argument("--text", default=TEXT)
    p.add_argument("--skip-default", action="store_true", help="leave out the token loop (minutes)")
    p.add_argument("--default-orders", type=int, default=0)
    p.add_argument("--check", type=int, default=0)
    p.add_argument("--empty", type=int, default=1, help="token that stands for an empty prompt")
    a = p.parse_args()

    def ours(samples):
        return llm_runs.ours(a.model, a.threads, "--prompt", a.text, "--generate", str(a.answer), "--features", "word",
                             "--method", "shapley", "--samples", str(samples), "--seed", "1")
    first = ours(2)
    n = len(first["features"])
    print("Shapley values, %d words, %d answer tokens, %d thread(s)" % (n, len(first["target"]["ids"]), a.threads))
    them = {True: llm_runs.captum(a.model, a.threads, first, "shapley", True, a.orders, empty=a.empty)}
    if not a.skip_default:
        run = a.default_orders or a.orders
        them[False] = llm_runs.captum(a.model, a.threads, first, "shapley", False, run, empty=a.empty)
        if run < a.orders:
            print("Captum, default: %.2f s for %d of %d orders" % (them[False]["seconds"], run, a.orders), flush=True)
            them[False]["seconds"] *= a.orders / run
            them[False]["evaluations"] = round(them[False]["evaluations"] * a.orders / run)
            them[False]["errors"] = them[True]["errors"]
    error = llm_runs.rms(them[True]["errors"])
    for one_pass, t in them.items():
        print("%-20s %8.2f s  peak %5.0f MB  %5d prompts  standard error %.4f" % (
            "Captum, one pass" if one_pass else "Captum, default", t["seconds"], t["rss"] / 1e6, t["evaluations"],
            llm_runs.rms(t["errors"])), flush=True)
    samples, us = 3, None
    while us is None or llm_runs.rms([f["error"] or 1e9 for f in us["features"]]) > error:
        us = ours(samples)
        print("%-20s %8.2f s  peak %5.0f MB  %5d prompts  standard error %.4f" % (
            "ascribe", us["seconds"], us["rss"] / 1e6, us["evaluations"]["forward"],
            llm_runs.rms([f["error"] or 1e9 for f in us["features"]])), flush=True)
        samples = samples + 1 if samples < 12 else samples + 2
    for one_pass, name, wanted in ((True, "one pass", 1 / 4), (False, "default", 1 / 40)):
        if one_pass in them:
            llm_runs.verdict("  time against Captum, " + name, us["seconds"], them[one_pass]["seconds"], wanted)
            llm_runs.verdict("  peak memory against Captum, " + name, us["rss"], them[one_pass]["rss"], 1 / 3)
    if a.check:
        truth = llm_runs.scores(ours(a.check))
        for name, s in (("Captum", them[True]["scores"]), ("ascribe", llm_runs.scores(us))):
            print("%-10s is %.4f (root mean square) from %d orders' worth of sets" % (
                name, llm_runs.rms([x - y for x, y in zip(s, truth)]), a.check))


if __name__ == "__main__":
    main()
