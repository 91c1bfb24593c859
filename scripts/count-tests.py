#!/usr/bin/env python3
"""Adds up what the test programs reported and prints the totals.

usage: count-tests.py TESTLOG.json TALLY

TESTLOG.json is Meson's log, one JSON object a line, one per program. A cmocka program reports how many of its tests
passed, failed and were skipped, and so does one that prints a line like ours. Any other program counts as one test,
and one that died on the way as one failure (its finished tests count too). TALLY holds lines "passed NAME" or "failed NAME" of checks that are not test programs.
Exit code 0 only when at least one test passed and none failed.
"""
import json
import re
import sys


def count_program(record):
    """(passed, failed, skipped) of one program."""
    text = record.get("stdout", "") + "\n" + record.get("stderr", "")

    def total(word):
        return sum(int(n) for n in re.findall(r"^\[\s*%s\s*\] (\d+) test\(s\)" % word, text, re.M))

    passed, failed, skipped = total("PASSED"), total("FAILED"), total("SKIPPED")
    own = re.findall(r"^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$", record.get("stdout", ""), re.M)
    if own:  # a program with totals of its own, as the goldens runner
        passed, failed, skipped = (int(n or 0) for n in own[-1])
    result = record["result"]
    if result == "SKIP":
        return passed, failed, max(skipped, 1)
    if result in ("OK", "EXPECTEDFAIL"):
        return (passed, failed, skipped) if passed + failed + skipped > 0 else (1, 0, 0)
    if passed + failed == 0:  # died before its summary
        passed = len(re.findall(r"^\[\s*OK\s*\] ", text, re.M))
    return passed, max(failed, 1), skipped


def main():
    log, tally = sys.argv[1:]
    passed = failed = skipped = 0
    names = []
    try:
        with open(log, encoding="utf-8", errors="replace") as lines:
            records = [json.loads(line) for line in lines if line.strip()]
    except OSError as e:
        print("no test log (%s): did the build succeed?" % e)
        records = []
        failed += 1
    for record in records:
        p, f, s = count_program(record)
        passed, failed, skipped = passed + p, failed + f, skipped + s
        if f > 0:
            names.append("%s (%s)" % (record["name"], record["result"].lower()))
        text = record.get("stdout", "") + record.get("stderr", "")
        for name in sorted(set(re.findall(r"^\[\s*FAILED\s*\] (?!\d+ test\(s\))(\S+)", text, re.M))):
            names.append("  %s" % name)
    with open(tally, encoding="utf-8") as lines:
        for line in lines:
            verdict, name = line.rstrip("\n").split(" ", 1)
            passed, failed = passed + (verdict == "passed"), failed + (verdict == "failed")
            if verdict == "failed":
                names.append(name)
    if names:
        print("Failed:\n  " + "\n  ".join(names))
    print("%d passed, %d failed" % (passed, failed) + (", %d skipped" % skipped if skipped else ""))
    sys.exit(0 if passed > 0 and failed == 0 else 1)


main()
