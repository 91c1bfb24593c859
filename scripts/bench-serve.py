#!/usr/bin/env python3
"""Measures `ascribe serve`: bench-serve.py PROGRAM MODEL [REQUESTS [AT_A_TIME]]. Standard library only.

Time from the program's start to its first line and to the first token of an answer; then many explanations, several
at a time: none may be lost, and the process may not grow. Exit code 1 when a bar is missed.
"""
import http.client
import json
import os
import re
import subprocess
import sys
import threading
import time

QUESTION = {"prompt": "The capital of France is", "target": " Paris"}
FIRST_TOKEN_BAR = 1.0        # seconds
GROWTH_BAR = 16 << 20        # bytes of resident memory between the first quarter and the end


def start(program, model):
    begun = time.monotonic()
    p = subprocess.Popen([program, "serve", model, "--port", "0", "--quiet"], stdout=subprocess.PIPE, text=True,
                         stderr=subprocess.DEVNULL)
    port = int(re.search(r":(\d+)/", p.stdout.readline()).group(1))
    return p, port, begun, time.monotonic() - begun


def post(port, path, body):
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
    c.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
    return c, c.getresponse()


def first_token(port, begun):
    c, r = post(port, "/v1/completions", {"prompt": QUESTION["prompt"], "max_tokens": 4, "stream": True})
    while not r.readline().startswith(b"data: {"):
        pass
    seconds = time.monotonic() - begun
    r.read()
    c.close()
    return seconds


def resident(p):
    with open("/proc/%d/statm" % p.pid, encoding="ascii") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGESIZE")


class Load:
    """So many requests in all, from so many clients, each of which waits for its answer."""

    def __init__(self, p, port, total, clients):
        self.p, self.port, self.left, self.total = p, port, total, total
        self.lock, self.seconds, self.lost, self.sizes, self.answers = threading.Lock(), [], [], [], set()
        self.threads = [threading.Thread(target=self.client) for _ in range(clients)]

    def client(self):
        while True:
            with self.lock:
                if self.left == 0:
                    return
                self.left -= 1
            begun = time.monotonic()
            try:
                c, r = post(self.port, "/v1/explain", QUESTION)
                doc = json.loads(r.read())
                c.close()
                words = [f["score"] for f in doc["features"]] if r.status == 200 else []
                fault = None if words else "status %d: %s" % (r.status, doc)
            except (OSError, ValueError, KeyError, http.client.HTTPException) as e:
                words, fault = [], repr(e)
            with self.lock:
                self.seconds.append(time.monotonic() - begun)
                self.sizes.append(resident(self.p))
                if fault:
                    self.lost.append(fault)
                self.answers.add(tuple(words))

    def run(self):
        begun = time.monotonic()
        for t in self.threads:
            t.start()
        for t in self.threads:
            t.join()
        return time.monotonic() - begun


def main():
    program, model = sys.argv[1:3]
    total, clients = int((sys.argv[3:4] or ["200"])[0]), int((sys.argv[4:5] or ["8"])[0])
    first = []
    for _ in range(3):
        p, port, begun, listening = start(program, model)
        first.append((first_token(port, begun), listening))
        p.terminate()
        p.wait()
    token, listening = min(first)
    print("start to listening %.2f s, to the first token %.2f s (best of 3; bar %.1f s)" % (listening, token, FIRST_TOKEN_BAR))
    p, port, _, _ = start(program, model)
    load = Load(p, port, total, clients)
    seconds = load.run()
    p.terminate()
    p.wait()
    times, quarter = sorted(load.seconds), load.sizes[len(load.sizes) // 4]
    print("%d explanations, %d at a time: %d lost, %s, %.1f s, %.2f a second; each %.2f s (median), "
          "%.2f s (longest)" % (total, clients, len(load.lost),
                                "all alike" if len(load.answers) == 1 else "%d different answers" % len(load.answers), seconds, total / seconds,
                                times[len(times) // 2], times[-1]))
    print("resident memory: %.1f MB after a quarter of them, %.1f MB at the end" % (quarter / 1e6, load.sizes[-1] / 1e6))
    for fault in load.lost[:3]:
        print("  " + fault)
    good = token <= FIRST_TOKEN_BAR and not load.lost and len(load.answers) == 1
    return 0 if good and load.sizes[-1] - quarter <= GROWTH_BAR else 1


sys.exit(main())
