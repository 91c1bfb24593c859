"""Runs one job by ascribe or by Captum in a process of its own; what llm_shapley.py and llm_ablation.py share."""
import json
import os
import subprocess
import sys
import time

import peers

HERE = os.path.dirname(os.path.abspath(__file__))


def child(command, threads, given=None):
    """Output as JSON, with wall seconds and peak resident bytes of the process."""
    env = dict(os.environ, OMP_NUM_THREADS=str(threads))
    start = time.monotonic()
    p = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)
    p.stdin.write((given or "").encode())
    p.stdin.close()
    text = p.stdout.read().decode()
    _, status, usage = os.wait4(p.pid, 0)
    p.returncode = status
    if status != 0:
        sys.exit("failed: %s" % " ".join(command[:6]))
    out = json.loads(text[text.index("{"):])
    out.update(wall=time.monotonic() - start, rss=usage.ru_maxrss * 1024)
    return out


def ours(model, threads, *options):
    return child([peers.ASCRIBE, "explain", model, "--threads", str(threads), "--json", "-", *options], threads)


def captum(model, threads, result, method, one_pass, orders=0, replace=None, empty=0):
    """The same prompt, features and answer as in a result of ascribe."""
    job = {"method": method, "one_pass": one_pass, "orders": orders, "threads": threads, "replace": replace,
           "empty": empty, "prompt": result["prompt"]["ids"], "target": result["target"]["ids"],
           "features": [f["token_ids"] for f in result["features"]]}
    return child([sys.executable, os.path.join(HERE, "llm_captum.py"), model], threads, json.dumps(job))


def answer(model, threads, n):
    """The model's own answer of n tokens to the prompt of peers.py, as ids."""
    out = child([peers.ASCRIBE, "generate", model, "--threads", str(threads), "--ids", ",".join(map(str, peers.IDS)),
                 "--generate", str(n), "--json", "-"], threads)
    return out["ids"]


def ours_on(model, threads, target, *options):
    """Scores of the tokens of peers.py for that answer."""
    return ours(model, threads, "--ids", ",".join(map(str, peers.IDS)), "--target-ids", ",".join(map(str, target)),
                "--features", "token", *options)


def in_turns(us, them, rounds):
    """Both run in turns. (ours, theirs): the results of the round whose ratio of seconds is the median one."""
    pairs = sorted(((us(), them()) for _ in range(rounds)), key=lambda p: p[0]["seconds"] / p[1]["seconds"])
    if rounds > 1:
        print("  rounds: " + ", ".join("%.2f s / %.2f s" % (u["seconds"], t["seconds"]) for u, t in pairs))
    return pairs[rounds // 2]


def scores(result):
    return [f["score"] for f in result["features"]]


def rms(numbers):
    return (sum(x * x for x in numbers) / len(numbers)) ** 0.5


def verdict(what, ours_is, peer_is, wanted):
    ratio = ours_is / peer_is
    print("%-58s 1/%-6.1f wanted 1/%-5g %s" % (what, 1 / ratio, 1 / wanted, "yes" if ratio <= wanted else "NO"),
          flush=True)
