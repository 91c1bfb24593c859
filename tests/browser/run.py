#!/usr/bin/env python3
"""Runs the browser's cases against servers that are up: run.py [--shots DIR] [--only NAME]... KIND=URL...

Kinds: decoder (a language model that can chat), vision, encoder, locked (a decoder behind the token in ASCRIBE_TOKEN).
Cases of a kind that is not there are skipped, and counted so. Exit code 0 when none failed; 77 without a Chromium.
"""
import argparse
import os
import sys
import tempfile
import time
import traceback

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cases  # noqa: E402
import chrome  # noqa: E402


class Setting:
    def __init__(self, browser, urls, shots, picture):
        self.browser, self.urls, self.shots, self.picture = browser, urls, shots, picture
        self.token = os.environ.get("ASCRIBE_TOKEN", "")
        self.tabs = []
        self.folder = tempfile.mkdtemp(prefix="ascribe-files-")
        self.long_prompt = "In the year 1889 a tower was built in the capital of a country that is known for its food. " * 3

    def page(self):
        self.tabs.append(self.browser.page())
        return self.tabs[-1]

    def shot(self, page, name):
        if self.shots:
            page.shot(os.path.join(self.shots, name + ".png"), full=True)

    def close_tabs(self):
        for p in self.tabs:
            p.close()
        self.tabs = []


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--shots")
    parser.add_argument("--only", action="append")
    parser.add_argument("urls", nargs="+")
    a = parser.parse_args()
    if not chrome.find():
        print("browser: no chromium here, nothing was tried")
        return 77
    urls = dict(u.split("=", 1) for u in a.urls)
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    if a.shots:
        os.makedirs(a.shots, exist_ok=True)
    browser = chrome.Chrome()
    t = Setting(browser, {k: v.rstrip("/") for k, v in urls.items()}, a.shots, os.path.join(root, "examples", "turned.png"))
    passed, failed, skipped = 0, [], 0
    try:
        for name, case in cases.CASES:
            if a.only and name not in a.only:
                continue
            if cases.NEEDS.get(name, "decoder") not in urls:
                skipped += 1
                continue
            begun = time.time()
            try:
                case(t)
                passed += 1
                print("ok      %-36s %5.1f s" % (name, time.time() - begun), flush=True)
            except Exception:  # a tab that is gone fails its case only
                failed.append(name)
                print("FAILED  %s\n%s" % (name, traceback.format_exc()), flush=True)
                for p in t.tabs:
                    try:
                        if a.shots:
                            p.shot(os.path.join(a.shots, "failed-%s.png" % name), full=True)
                        if p.errors:
                            print("        the tab said:", p.errors[:5])
                    except Exception:
                        pass
            finally:
                t.close_tabs()
    finally:
        browser.close()
    print("browser: %d passed, %d failed, %d skipped" % (passed, len(failed), skipped))
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
