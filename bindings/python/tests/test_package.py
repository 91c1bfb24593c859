"""The package itself: what an import costs and brings, and that its types say what the library says."""
import os
import subprocess
import sys
import unittest

import support

import ascribe


class Package(unittest.TestCase):

    def test_import_is_light(self):
        # what makes an import slow, told by name: how long one takes is the machine's matter
        heavy = {"asyncio", "concurrent.futures", "ctypes", "email", "html", "http", "logging", "multiprocessing",
                 "numpy", "socket", "ssl", "subprocess", "tempfile", "unittest", "urllib.request"}
        code, out = support.python("""
import sys
before = set(sys.modules)
import ascribe
print(*sorted(set(sys.modules) - before))
""")
        self.assertEqual(code, 0, out)
        brought = set(out.split())
        self.assertIn("ascribe._ascribe", brought)
        self.assertEqual(brought & heavy, set())
        for lazy in ("captum", "nets", "_net_ops"):
            self.assertNotIn("ascribe." + lazy, brought)

    def test_hints_are_those_of_the_library(self):
        done = subprocess.run([sys.executable, os.path.join(support.ROOT, "scripts", "gen-python-keys.py"), "--check",
                               support.BUILD], stderr=subprocess.PIPE, check=False)
        self.assertEqual(done.returncode, 0, done.stderr.decode())

    def test_tables(self):
        for kind in ("decoder", "encoder", "net"):
            names = [k.name for k in ascribe.keys(kind)]
            self.assertIn("method", names)
            self.assertEqual(len(names), len(set(names)))
        self.assertIn("integrated-gradients", [m.name for m in ascribe.methods()])
        with self.assertRaises(ascribe.InvalidArgument):
            ascribe.keys("car")

    def test_names(self):
        for name in ascribe.__all__:
            self.assertTrue(hasattr(ascribe, name), name)
        self.assertRegex(ascribe.__version__, r"^\d+\.\d+\.\d+")

    def test_nothing_is_printed(self):
        code, out = support.python("import ascribe; ascribe.load(%r)" % support.DECODER)
        self.assertEqual((code, out), (0, ""))

    def test_it_survives_odd_ends(self):
        code, out = support.python("""
import ascribe, threading
m = ascribe.load(%r, threads=1)
r = m.explain("one two", target=" x")
s = r.scores
it = m.generate("one", 100000, stream=True, ignore_eos=True)
next(it)
""" % support.DECODER)
        self.assertEqual((code, out), (0, ""))


if __name__ == "__main__":
    unittest.main()
