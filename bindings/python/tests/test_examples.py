"""The examples run and write their pages: with the demonstration's model where it is (ASC_MODEL), else a tiny one."""
import os
import subprocess
import sys
import tempfile
import unittest

import support

FOLDER = os.path.join(support.ROOT, "bindings", "python", "examples")


class Examples(unittest.TestCase):

    def run_one(self, name, *models):
        with tempfile.TemporaryDirectory() as folder:
            page = os.path.join(folder, "page.html")
            done = subprocess.run([sys.executable, os.path.join(FOLDER, name + ".py"), *models, page], timeout=support.PATIENCE,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, cwd=folder)
            self.assertEqual(done.returncode, 0, done.stdout)
            with open(page, encoding="utf-8") as f:
                self.assertIn("<html", f.read()[:200])
        return done.stdout

    def test_image(self):
        out = self.run_one("image")
        for line in out.splitlines():
            if "lies on the square" in line:
                self.assertGreater(int(line.split(":")[1].split("%")[0]), 70, line)

    def test_table(self):
        out = self.run_one("table")
        scores = {w[:16].strip(): float(w.split()[-1]) for w in out.splitlines() if "#" in w}
        self.assertEqual(min(scores, key=lambda k: scores[k]), "colour of form")
        self.assertEqual(len(scores), 4)

    def test_word_importance(self):
        self.assertIn("shapley-values", self.run_one("word_importance", support.REAL or support.DECODER))

    def test_contrast(self):
        self.assertIn("Spain", self.run_one("contrast", support.REAL or support.DECODER))

    def test_chat_with_passages(self):
        out = self.run_one("chat_with_passages", support.REAL or support.DECODER)
        if support.REAL:
            self.assertIn("most from: bridge", out)

    def test_every_example_has_cells_and_a_test(self):
        names = sorted(n[:-3] for n in os.listdir(FOLDER) if n.endswith(".py"))
        self.assertEqual(names, ["chat_with_passages", "contrast", "image", "table", "word_importance"])
        for name in names:
            with open(os.path.join(FOLDER, name + ".py"), encoding="utf-8") as f:
                text = f.read()
            self.assertTrue(text.startswith("# %% [markdown]\n# # "), name)


if __name__ == "__main__":
    unittest.main()
