#!/usr/bin/env python3
"""Shows that every rule of check-tree.py and the counting of count-tests.py can fail: breaks a tiny tree once per rule."""
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
GOOD = {
    "src/base/alloc.h": "/* alloc.h - memory. */\n",
    "src/base/alloc.c": '/* alloc.c - memory. */\n#include "alloc.h"\n',
    "src/base/README.md": "# base\n",
    "src/ops/op.h": '/* op.h - ops. */\n#include "alloc.h"\n',
    "src/ops/op.c": '/* op.c - ops; says "malloc(" only in text: malloc(1). */\n#include "op.h"\n',
    "src/ops/README.md": "# ops\nSee `src/base/alloc.h`.\n",
    "src/cli/main.c": '/* main.c - the program. */\n#include "ascribe/base.h"\n',
    "src/cli/README.md": "# cli\n",
    "include/ascribe/base.h": "/* base.h */\n",
}
# What is changed -> what the complaint must contain.
BROKEN = [
    ({"src/base/alloc.c": '#include "op.h"\n'}, "src/base may not include src/ops"),
    ({"src/cli/main.c": '#include "op.h"\n'}, "programs see public headers only"),
    ({"src/backends/cpu/x.c": '#include "exec.h"\n', "src/exec/exec.h": "", "src/backends/cpu/README.md": ""},
     "a back-end sees"),
    ({"src/ops/op.c": '#include "../base/alloc.h"\n'}, "include by file name only"),
    ({"src/extra/x.c": "", "src/extra/README.md": ""}, "no place in the include order"),
    ({"examples/x.c": '#include "op.h"\n'}, "only public headers"),
    ({"src/ops/op.c": "\n" * 501}, "501 lines, at most 500"),
    ({"src/ops/op.c": "/* %s */\n" % ("x" * 110)}, "116 columns"),
    ({"src/ops/op.c": "int x; \n"}, "trailing blank"),
    ({"src/ops/op.c": "void f(void) { free(0); }\n"}, "free(): the library allocates"),
    ({"src/ops/op.c": "void f(void) { printf(0); }\n"}, "printf(): the library"),
    ({"src/ops/op.c": "double f(void) { return strtod(0, 0); }\n"}, "base/plain.h"),
    ({"src/ops/op.c": "void f(void) { snprintf(t, 9, \"%d;\" X \"a %.3g\", 1, 2.0); }\n"}, "base/plain.h"),
    ({"src/base/op.c": ""}, "the base name is taken"),
    ({"src/ops/op.c": "/* TO" "DO */\n"}, "finish it or drop it"),
    ({"src/ops/op.c": "/* see /home/" "me/notes */\n"}, "a path of somebody's machine"),
    ({"src/ops/README.md": None}, "README.md: missing"),
    ({"src/ops/README.md": "x\n" * 21}, "21 lines, at most 20"),
    ({"src/ops/README.md": "`src/ops/gone.c`\n"}, "there is no src/ops/gone.c"),
    ({"src/ops/README.md": "`src/ops/op.c:gone`\n"}, "src/ops/op.c has no gone"),
    ({"src/ops/README.md": "[x](gone.md)\n"}, "there is no src/ops/gone.md"),
]


def complaints(tree):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["git", "init", "-q", folder], check=True)
        for path, text in tree.items():
            if text is not None:
                os.makedirs(os.path.join(folder, os.path.dirname(path)), exist_ok=True)
                with open(os.path.join(folder, path), "w", encoding="utf-8") as f:
                    f.write(text)
        r = subprocess.run([sys.executable, os.path.join(HERE, "check-tree.py"), folder], capture_output=True, text=True,
                           check=False)
        return r.returncode, r.stdout + r.stderr


def count(records):
    with tempfile.TemporaryDirectory() as folder:
        log, tally = os.path.join(folder, "log"), os.path.join(folder, "tally")
        with open(log, "w", encoding="utf-8") as f:
            f.writelines(json.dumps(r) + "\n" for r in records)
        open(tally, "w", encoding="utf-8").close()
        r = subprocess.run([sys.executable, os.path.join(HERE, "count-tests.py"), log, tally], capture_output=True,
                           text=True, check=False)
        return r.returncode, r.stdout.strip().split("\n")[-1]


def main():
    bad = 0

    def expect(what, condition, seen):
        nonlocal bad
        if not condition:
            bad += 1
            print("test-check-tree: %s: %s" % (what, seen))

    code, text = complaints(GOOD)
    expect("the good tree", code == 0, text)
    for change, want in BROKEN:
        code, text = complaints({**GOOD, **change})
        expect("should complain: " + want, code == 1 and want in text, text)

    passed = {"name": "a", "result": "OK", "stdout": "", "stderr": "[  PASSED  ] 3 test(s).\n[  SKIPPED ] 1 test(s), listed below:\n"}
    failed = {"name": "b", "result": "FAIL", "stdout": "", "stderr": "[  PASSED  ] 2 test(s).\n[  FAILED  ] 1 test(s), listed below:\n"}
    died = {"name": "c", "result": "FAIL", "stdout": "[       OK ] one\n", "stderr": ""}
    plain = {"name": "d", "result": "OK", "stdout": "replayed 3 files\n", "stderr": ""}
    totals = {"name": "e", "result": "OK", "stdout": "x\n7 passed, 0 failed, 2 skipped\n", "stderr": ""}
    for records, want in [([passed, plain], (0, "4 passed, 0 failed, 1 skipped")),
                          ([passed, failed], (1, "5 passed, 1 failed, 1 skipped")),
                          ([totals], (0, "7 passed, 0 failed, 2 skipped")),
                          ([died], (1, "1 passed, 1 failed")), ([], (1, "0 passed, 0 failed"))]:
        got = count(records)
        expect("counting", got == want, got)
    print("test-check-tree: %d rules broken and noticed, %d wrong" % (len(BROKEN), bad))
    return 1 if bad else 0


sys.exit(main())
