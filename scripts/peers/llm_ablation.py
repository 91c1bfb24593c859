#!/usr/bin/env python3
"""Leave-one-out over the 56 tokens of peers.py with an answer of 20 tokens: ascribe against both ways of Captum's
LLMAttribution(FeatureAblation), with the largest difference of the scores.

usage: llm_ablation.py MODEL.gguf [--threads N] [--answer N] [--rounds N] [--skip-default]
"""
import argparse

import llm_runs
import peers


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    p.add_argument("model")
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--answer", type=int, default=20)
    p.add_argument("--rounds", type=int, default=3, help="of the one-pass way, in turns; the median ratio counts")
    p.add_argument("--skip-default", action="store_true", help="leave out the token loop (minutes)")
    a = p.parse_args()
    target = llm_runs.answer(a.model, a.threads, a.answer)

    def ours():
        return llm_runs.ours_on(a.model, a.threads, target, "--method", "feature-ablation",
                                "--baseline", "token:%d" % peers.BASELINE)

    us = ours()
    print("leave-one-out, 56 tokens, %d answer tokens, %d thread(s)" % (len(target), a.threads), flush=True)
    for one_pass, name, wanted in ((True, "Captum, one pass", 1 / 2.5), (False, "Captum, default", 1 / 35)):
        if not one_pass and a.skip_default:
            continue
        us, them = llm_runs.in_turns(
            ours, lambda: llm_runs.captum(a.model, a.threads, us, "ablation", one_pass, replace=peers.BASELINE),
            a.rounds if one_pass else 1)
        mine = llm_runs.scores(us)
        largest = max(abs(s) for s in them["scores"])
        off = max(abs(x - y) for x, y in zip(mine, them["scores"])) / largest
        print("%-28s %8.2f s  peak %5.0f MB" % ("ascribe", us["seconds"], us["rss"] / 1e6))
        print("%-28s %8.2f s  peak %5.0f MB  scores differ by %.1e of the largest" % (
            name, them["seconds"], them["rss"] / 1e6, off), flush=True)
        llm_runs.verdict("  time against " + name, us["seconds"], them["seconds"], wanted)
        llm_runs.verdict("  peak memory against " + name, us["rss"], them["rss"], 1 / 3)


if __name__ == "__main__":
    main()
